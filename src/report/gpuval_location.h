/* SPDX-License-Identifier: MIT */

/* Where a failure is, for formats that demand a file and a line. */

#ifndef GPUVAL_LOCATION_H
#define GPUVAL_LOCATION_H

#include "gpuval_row.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A line of source. Of a shader without debug information, the instruction's line in what
 * spirv-dis prints of the module, which is called HASH.spvasm. Of a command without a shader, the
 * command's name, line 1.
 */
struct gpuval_location {
   char *path; /* as gpuval_paths_relative() names it; never NULL */
   int64_t line;
   int64_t column; /* 0: not known */
   bool is_source;
};

/** @mem_ctx owns the path. @other: of the conflicting access. */
struct gpuval_location gpuval_row_location(void *mem_ctx, const struct gpuval_row *row, bool other);

#ifdef __cplusplus
}
#endif

#endif
