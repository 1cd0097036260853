/* SPDX-License-Identifier: MIT */

/* What a failure means and how to mend it, for each kind. */

#ifndef GPUVAL_KIND_HELP_H
#define GPUVAL_KIND_HELP_H

#include "gpuval_checks.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_kind_help {
   const char *meaning; /* what has happened, and what may come of it */
   const char *mending; /* where to look, and what to change */
   const char *uri;     /* of Vulkan's specification */
};

extern const struct gpuval_kind_help gpuval_kind_helps[GPUVAL_KIND_COUNT];

#ifdef __cplusplus
}
#endif

#endif
