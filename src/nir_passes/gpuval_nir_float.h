/* SPDX-License-Identifier: MIT */

/* What is not a number, or infinite, is found by its bits: no optimization of floats has a
 * say in that. Of any size, component by component.
 */

#ifndef GPUVAL_NIR_FLOAT_H
#define GPUVAL_NIR_FLOAT_H

#include "nir_builder.h"

/** Without the sign: above gpuval_nir_infinity() are NaNs. */
static inline nir_def *
gpuval_nir_magnitude(nir_builder *b, nir_def *value)
{
   return nir_iand_imm(b, value, BITFIELD64_MASK(value->bit_size - 1));
}

static inline nir_def *
gpuval_nir_infinity(nir_builder *b, unsigned bit_size)
{
   uint64_t bits = bit_size == 16 ? 0x7c00 : bit_size == 32 ? 0x7f800000 : 0x7ff0000000000000;
   return nir_imm_intN_t(b, bits, bit_size);
}

static inline nir_def *
gpuval_nir_is_nan(nir_builder *b, nir_def *value)
{
   return nir_ult(b, gpuval_nir_infinity(b, value->bit_size), gpuval_nir_magnitude(b, value));
}

static inline nir_def *
gpuval_nir_is_infinite(nir_builder *b, nir_def *value)
{
   return nir_ieq(b, gpuval_nir_magnitude(b, value), gpuval_nir_infinity(b, value->bit_size));
}

#endif
