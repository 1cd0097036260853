/* SPDX-License-Identifier: MIT */

/* Call stacks of the application (GPUVAL_BACKTRACE). What is kept of one is a number, equal for
 * equal stacks; names and lines are looked up when a report needs them.
 *
 * Any thread may call any of these functions.
 */

#ifndef GPUVAL_BACKTRACE_H
#define GPUVAL_BACKTRACE_H

#include "gpuval_frame.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Returns the number of the calls that have led here; 0 if GPUVAL_BACKTRACE is off or nothing is
 * known. A thread that comes again with the same calls is served without unwinding.
 */
#define gpuval_backtrace_capture() gpuval_backtrace_capture_from(__builtin_return_address(0))

/** @caller: tells callers of one function apart, to find what is remembered. */
uint32_t gpuval_backtrace_capture_from(const void *caller);

/**
 * Returns the calls, innermost first, without those in the driver, the loader, layers and the C
 * library around main(). They live as long as the process.
 */
const struct gpuval_frame *gpuval_backtrace_frames(uint32_t calls, unsigned *count);

/** A return address, and where it is. */
struct gpuval_call {
   const char *module;          /* file; NULL: not known */
   const char *symbol;          /* of the module's dynamic symbols, or NULL */
   uint64_t offset;             /* of the call, as the module's file counts addresses */
   struct gpuval_frame *frames; /* itself, and functions that it was inlined into; NULL: not yet */
   unsigned num_frames;
};

/**
 * Fills in the frames of @calls: lines come from addr2line, where there is one, names else from
 * the symbol. Not to be called by two threads at once.
 */
void gpuval_symbols_find(struct gpuval_call *const *calls, unsigned count);

#ifdef __cplusplus
}
#endif

#endif
