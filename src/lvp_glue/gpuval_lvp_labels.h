/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_LVP_LABELS_H
#define GPUVAL_LVP_LABELS_H

#include <stdint.h>

/** The labels that are open from a point in a command buffer on. */
struct gpuval_lvp_labels {
   uint32_t count;
   char names[]; /* one after the other, each with its NUL */
};

#endif
