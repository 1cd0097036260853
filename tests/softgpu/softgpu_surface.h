/* SPDX-License-Identifier: MIT */

/* Images in memory: where their texels are, whoever accesses them. */

#ifndef SOFTGPU_SURFACE_H
#define SOFTGPU_SURFACE_H

#include "softgpu.h"

#include "util/format/u_format.h"

/* As descriptors and registers have it. Of level 0 are the sizes, in texels. */
struct softgpu_surface {
   uint64_t base; /* its low bits are what addresses are XORed with */
   enum pipe_format format;
   unsigned swizzle_mode; /* AddrSwizzleMode */
   unsigned dimensions;
   unsigned width;
   unsigned height;
   unsigned depth; /* of 3 dimensions */
   unsigned levels;
   unsigned samples;
};

/* Of a level, from that of level 0 */
unsigned softgpu_minify(unsigned size, unsigned level);

/* The address of a texel, or of the block that it is in; `z` is the layer, too. 0, with an
 * error: there is none.
 */
uint64_t softgpu_find_texel(const struct softgpu_surface *surface, unsigned x, unsigned y,
                            unsigned z, unsigned level, unsigned sample);

/* With SOFTGPU_BLIND, what is in memory that is no more reads 0 and cannot be written. */
bool softgpu_is_gone(const struct softgpu_surface *surface, uint64_t va);

/* Components as shaders have them: floats or integers. Returns false with an error, or where
 * they are gone.
 */
bool softgpu_read_texel(const struct softgpu_surface *surface, unsigned x, unsigned y, unsigned z,
                        unsigned level, unsigned sample, uint32_t texel[4]);
bool softgpu_write_texel(const struct softgpu_surface *surface, unsigned x, unsigned y, unsigned z,
                         unsigned level, unsigned sample, const uint32_t texel[4]);

#endif
