/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_FRAME_H
#define GPUVAL_FRAME_H

#include <stdint.h>

/** One call of a stack, as far as it is known: NULL and 0 are not. */
struct gpuval_frame {
   const char *function;
   const char *file;
   uint32_t line;
   uint32_t column;
   const char *text;     /* of that line */
   uint32_t instruction; /* shader: of the call, from 0; no call is the first one */
   const char *module;   /* host: program or library */
   uint64_t offset;      /* host, where there is no line: of the call in its module */
};

/** A variable of a failing expression, and what it was. */
struct gpuval_named_value {
   const char *name;
   const char *value;
};

#endif
