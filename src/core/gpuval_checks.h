/* SPDX-License-Identifier: MIT */

/* The one table of checks, kinds and sets. */

#ifndef GPUVAL_CHECKS_H
#define GPUVAL_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gpuval_check {
   GPUVAL_CHECK_ASSUME,
   GPUVAL_CHECK_PRINTF,
   GPUVAL_CHECK_BOUNDS,
   GPUVAL_CHECK_DESCRIPTOR,
   GPUVAL_CHECK_ADDRESS,
   GPUVAL_CHECK_EXPORT,
   GPUVAL_CHECK_SYNC,
   GPUVAL_CHECK_SYNC_COMPUTE,
   GPUVAL_CHECK_RACE,
   GPUVAL_CHECK_INIT,
   GPUVAL_CHECK_COUNT,
};

enum gpuval_kind {
   GPUVAL_KIND_ASSUMPTION_FAILED,
   GPUVAL_KIND_MESSAGE,
   GPUVAL_KIND_BUFFER_OOB,
   GPUVAL_KIND_READ_AFTER_WRITE,
   GPUVAL_KIND_WRITE_AFTER_ACCESS,
   GPUVAL_KIND_ATOMIC_CONFLICT,
   GPUVAL_KIND_INDIRECT_AFTER_WRITE,
   GPUVAL_KIND_COUNT,
};

struct gpuval_check_info {
   const char *name;
   bool available; /* in this version */
};

struct gpuval_kind_info {
   enum gpuval_check check;
   const char *name;
};

extern const struct gpuval_check_info gpuval_check_infos[GPUVAL_CHECK_COUNT];
extern const struct gpuval_kind_info gpuval_kind_infos[GPUVAL_KIND_COUNT];

/**
 * Checks named by @name, a check or a set of @length bytes (which need not end
 * in NUL), as BITFIELD_BIT(enum gpuval_check). 0 if there is none such.
 */
uint32_t gpuval_checks_from_name(const char *name, unsigned length);

/** Those that this version has. */
uint32_t gpuval_checks_available(void);

#ifdef __cplusplus
}
#endif

#endif
