/* SPDX-License-Identifier: MIT */

/* Images as shaders have them: through descriptors. */

#ifndef SOFTGPU_IMAGES_H
#define SOFTGPU_IMAGES_H

#include "softgpu_surface.h"
#include "softgpu_wave.h"

/* A descriptor. Levels, layers and slices are numbers in the image. */
struct softgpu_image {
   bool exists; /* else it is a null descriptor */
   struct softgpu_surface surface;
   unsigned swizzle[4];
   unsigned first_level;
   unsigned last_level;
   unsigned first_layer;
   unsigned last_layer; /* not of 3 dimensions */
   float min_lod;
};

/* --- softgpu_texels.c ----------------------------------------------------- */

/* Component `i`, of what is in memory or always the same */
uint32_t softgpu_select(enum pipe_format format, const unsigned swizzle[4], const uint32_t raw[4],
                        unsigned i);

/* RADV has data of 16 bits where that is enough. */
uint32_t softgpu_narrow(uint32_t value, nir_alu_type type, unsigned bits);
uint32_t softgpu_widen(uint32_t value, nir_alu_type type, unsigned bits);

/* --- softgpu_images.c ----------------------------------------------------- */

/* false: with an error */
bool softgpu_read_image(const struct softgpu_wave *wave, const nir_src *src, const char *what,
                        struct softgpu_image *image);

/* Of a level, in texels; layers count in the last one that the image has */
void softgpu_image_size(const struct softgpu_image *image, unsigned level, unsigned size[3]);

/* Out of range, components are 0 that are in memory. */
void softgpu_fetch(const struct softgpu_image *image, const int64_t at[3], unsigned level,
                   unsigned sample, uint32_t texel[4]);

/* A source as a number with a sign, or a float, whatever its size is */
int64_t softgpu_signed(const struct softgpu_wave *wave, const nir_src *src, unsigned component,
                       unsigned lane);
float softgpu_float(const struct softgpu_wave *wave, const nir_src *src, unsigned component,
                    unsigned lane);

/* What a lane gets of a texture */
void softgpu_set_texel(const struct softgpu_wave *wave, const nir_tex_instr *tex, unsigned lane,
                       const uint32_t texel[4]);

void softgpu_fetch_texture(struct softgpu_wave *wave, const nir_tex_instr *tex,
                           const struct softgpu_image *image);
void softgpu_access_image(struct softgpu_wave *wave, nir_intrinsic_instr *instr,
                          const struct softgpu_image *image);

/* --- softgpu_samplers.c --------------------------------------------------- */

void softgpu_sample_texture(struct softgpu_wave *wave, const nir_tex_instr *tex,
                            const struct softgpu_image *image);

#endif
