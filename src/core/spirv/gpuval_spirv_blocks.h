/* SPDX-License-Identifier: MIT */

/* The blocks that an entry point can come to: which lines they have, what they go on to, and how
 * often each way was taken where it is known how often each block was executed. For coverage.
 */

#ifndef GPUVAL_SPIRV_BLOCKS_H
#define GPUVAL_SPIRV_BLOCKS_H

#include "gpuval_spirv.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A line of a file; number 0: not known. */
struct gpuval_spirv_line {
   uint32_t file; /* index in gpuval_spirv_blocks::files */
   uint32_t number;
};

struct gpuval_spirv_block {
   uint32_t offset;                 /* of its OpLabel, bytes */
   uint32_t first_line, num_lines;  /* in gpuval_spirv_blocks::lines */
   uint32_t first_edge, num_edges;  /* in gpuval_spirv_blocks::edges */
   struct gpuval_spirv_line branch; /* where it branches, if it has several edges */
   bool is_entry;                   /* of its function */
   bool may_lose;                   /* invocations may end within it */
};

struct gpuval_spirv_function {
   const char *name;
   struct gpuval_spirv_line line;
   uint32_t first_block, num_blocks; /* in gpuval_spirv_blocks::blocks */
};

struct gpuval_spirv_file {
   const char *name; /* NULL: it has none */
   char *text;       /* all of it, as far as the module has it; or NULL */
};

/** Freed by ralloc_free(); no string is of the module. */
struct gpuval_spirv_blocks {
   bool is_listing; /* without debug information: the one file is gpuval_spirv_list() */
   struct gpuval_spirv_block *blocks; /* those of a function side by side */
   struct gpuval_spirv_function *functions;
   struct gpuval_spirv_line *lines;
   uint32_t *edges; /* indices of blocks */
   struct gpuval_spirv_file *files;
   uint32_t num_blocks, num_functions, num_files, num_edges;
};

/**
 * Returns the blocks of the functions that the entry point @entry of @execution_model calls, of
 * @mem_ctx; NULL where there is no such entry point.
 */
struct gpuval_spirv_blocks *gpuval_spirv_find_blocks(void *mem_ctx, struct gpuval_spirv *spirv,
                                                     const char *entry, uint32_t execution_model);

/** What of @num_edges is not known, as gpuval_spirv_count_edges() has it. */
#define GPUVAL_SPIRV_UNKNOWN UINT64_MAX

/**
 * Fills @taken, one an edge, with how often that was taken, where @counts, one a block, says how
 * often each block was executed.
 */
void gpuval_spirv_count_edges(const struct gpuval_spirv_blocks *blocks, const uint64_t *counts,
                              uint64_t *taken);

/**
 * Returns the instructions of a module, one a line, of @mem_ctx: instruction N of
 * gpuval_spirv_location is on line N + 1.
 */
char *gpuval_spirv_list(void *mem_ctx, const struct gpuval_spirv *spirv);

#ifdef __cplusplus
}
#endif

#endif
