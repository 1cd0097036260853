/* SPDX-License-Identifier: MIT */

/* A tracefile of LCOV in memory (geninfo(1), "FILES"): what lines, functions and branches source
 * files have, and how often each was executed. Callers lock.
 */

#ifndef GPUVAL_TRACEFILE_H
#define GPUVAL_TRACEFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "gpuval/src/compat/gpuval_dynarray.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hash_table;

struct gpuval_line_count {
   uint32_t number;
   uint64_t count;
};

struct gpuval_function_count {
   uint32_t line; /* where it begins */
   const char *name;
   uint64_t count;
};

struct gpuval_branch_count {
   uint32_t line, block, number;
   bool reached; /* the block that ends in it was */
   uint64_t count;
};

/** A source file */
struct gpuval_lcov_file {
   char *path;
   /* One each, in no order until they are sorted; index: key -> number + 1 */
   struct util_dynarray lines, functions, branches;
   struct hash_table *index_of_lines, *index_of_functions, *index_of_branches;
};

struct gpuval_tracefile {
   void *mem_ctx;            /* of all, for ralloc_free() */
   struct hash_table *files; /* path -> struct gpuval_lcov_file */
};

void gpuval_tracefile_init(struct gpuval_tracefile *trace);

/** Returns the file of that path, which is made where there is none. */
struct gpuval_lcov_file *gpuval_tracefile_get_file(struct gpuval_tracefile *trace,
                                                   const char *path);

/** Each adds to the count of what is there already; counts end at what lcov can read. */
void gpuval_tracefile_add_line(struct gpuval_lcov_file *file, uint32_t number, uint64_t count);
void gpuval_tracefile_add_function(struct gpuval_lcov_file *file, uint32_t line, const char *name,
                                   uint64_t count);
void gpuval_tracefile_add_branch(struct gpuval_lcov_file *file,
                                 const struct gpuval_branch_count *added);

/** Adds all that @from has. */
void gpuval_tracefile_add(struct gpuval_tracefile *trace, const struct gpuval_tracefile *from);

/** Returns whether the text is a tracefile of LCOV 1 or 2, or nothing yet, and adds it to @trace. */
bool gpuval_tracefile_read(struct gpuval_tracefile *trace, FILE *f);

/**
 * The same of the file @name, and nothing if there is none. Returns NULL, or what is wrong with it:
 * @trace has a part of it then.
 */
const char *gpuval_tracefile_read_named(struct gpuval_tracefile *trace, const char *name);

/** Returns the files by path, each sorted by line: nothing can be added to them afterwards. */
struct gpuval_lcov_file **gpuval_tracefile_sort(const struct gpuval_tracefile *trace,
                                                unsigned *count);

/** Writes it in the format of LCOV 1, which LCOV 2 reads, too. Sorts. */
void gpuval_tracefile_write(const struct gpuval_tracefile *trace, FILE *f);

#ifdef __cplusplus
}
#endif

#endif
