/* SPDX-License-Identifier: MIT */

/* Between the files of the check of initialization: what an entry of it says. */

#ifndef GPUVAL_NIR_INIT_H
#define GPUVAL_NIR_INIT_H

#include "nir_builder.h"

/* gpuval_entry::offset */
enum {
   GPUVAL_INIT_ENTRY_IS_WRITE = 1u << 0,
   GPUVAL_INIT_ENTRY_IS_BUFFER = 1u << 1, /* the detail: offset; and, or, */
   GPUVAL_INIT_ENTRY_IS_IMAGE = 1u << 2,  /* coordinates, level; else address, bytes */
   GPUVAL_INIT_ENTRY_IS_TEXTURE = 1u << 3,
   GPUVAL_INIT_ENTRY_MASK_SHIFT = 4,   /* 8 bits: GPUVAL_INIT_*, those that are read */
   GPUVAL_INIT_ENTRY_LAYER_SHIFT = 12, /* which word of the detail has the layer; 3: none */
   GPUVAL_INIT_ENTRY_LEVEL_SHIFT = 14, /* enum gpuval_init_level */
   /* A sampler's set, 6 bits; the detail: a bit for each axis on which nothing but a border may be
    * sampled, the sampler's slot, and the rest as above
    */
   GPUVAL_INIT_ENTRY_SAMPLER_SHIFT = 17,
   GPUVAL_INIT_ENTRY_IS_SAMPLE = 1u << 23,
};

/* What the last word of the detail is */
enum gpuval_init_level {
   GPUVAL_INIT_LEVEL_NONE,     /* level 0, whatever it is */
   GPUVAL_INIT_LEVEL_EXACT,    /* a number, 32 bit */
   GPUVAL_INIT_LEVEL_SAMPLED,  /* a level of detail: where it lies between two, both are read */
   GPUVAL_INIT_LEVEL_EXPLICIT, /* the same, but one of them may be */
   GPUVAL_INIT_LEVEL_UNKNOWN,  /* any */
};

#define GPUVAL_INIT_LAYER_NONE      3
#define GPUVAL_INIT_SAMPLER_UNKNOWN 63 /* or what has an index that is not constant */

/* Bytes of a range from @offset on; 0: that is outside. */
static inline nir_def *
gpuval_nir_rest(nir_builder *b, nir_def *bound, nir_def *offset)
{
   return nir_bcsel(b, nir_ult(b, offset, bound), nir_isub(b, bound, offset), nir_imm_int(b, 0));
}

#endif
