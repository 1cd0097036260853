/* SPDX-License-Identifier: MIT */

/* The tracefile of GPUVAL_COVERAGE, in LCOV's format (geninfo(1)): how often lines, functions and
 * branches of shaders were executed.
 *
 * What is added waits in memory until it is written, and is then added to what the file has:
 * several runs, and several processes at a time, add up, as with gcov. Callers of all but write()
 * need no lock.
 */

#ifndef GPUVAL_LCOV_H
#define GPUVAL_LCOV_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A source file; lives as long as the process. */
struct gpuval_lcov_file;

/** Looks at the file that the options name, and says in the log if it cannot be written. */
void gpuval_lcov_init(void);

/** In a child that was forked: what waits is the parent's. */
void gpuval_lcov_begin_process(void);

/**
 * Returns the file that @name means. Where there is no such file, or one with other lines than
 * @text, @text is written to a folder beside the tracefile, from which genhtml takes it. Both may
 * be NULL: @stand_in is the name then.
 */
struct gpuval_lcov_file *gpuval_lcov_get_file(const char *name, const char *text,
                                              const char *stand_in);

/** A line that has code was executed @count times more. */
void gpuval_lcov_add_line(struct gpuval_lcov_file *file, uint32_t line, uint64_t count);

/** The same of a function that begins at @line. */
void gpuval_lcov_add_function(struct gpuval_lcov_file *file, uint32_t line, const char *name,
                              uint64_t count);

/** Branch @number of those that line @line has from its block @block. @reached: the block was. */
void gpuval_lcov_add_branch(struct gpuval_lcov_file *file, uint32_t line, uint32_t block,
                            uint32_t number, bool reached, uint64_t count);

/** Adds what waits to the file; where that fails the log says so, once. */
void gpuval_lcov_write(void);

#ifdef __cplusplus
}
#endif

#endif
