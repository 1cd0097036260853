/* SPDX-License-Identifier: MIT */

/* What fragments write. */

#ifndef SOFTGPU_TARGETS_H
#define SOFTGPU_TARGETS_H

#include "softgpu_processor.h"
#include "softgpu_surface.h"
#include "softgpu_wave.h"

#define SOFTGPU_MAX_TARGETS 8

/* What a wave of fragments exports, by lane: as SPI_SHADER_COL_FORMAT has it, or as outputs of
 * a shader with an epilog, which would bring them into that format
 */
struct softgpu_colors {
   bool are_outputs;
   uint64_t written[SOFTGPU_MAX_TARGETS]; /* lanes */
   uint32_t values[SOFTGPU_MAX_TARGETS][SOFTGPU_MAX_LANES][4];
   bool depth_is_output;
   uint32_t depth[SOFTGPU_MAX_LANES][4]; /* as SPI_SHADER_Z_FORMAT has it, or depth and stencil */
};

struct softgpu_target {
   unsigned mask; /* of components; 0: it is none */
   struct softgpu_surface surface;
   unsigned level;
   unsigned first_layer;
   unsigned last_layer;
};

struct softgpu_targets {
   bool any;
   struct softgpu_target targets[SOFTGPU_MAX_TARGETS];
};

/* Registers of tests are kept as they are. */
struct softgpu_depth {
   bool has_depth;
   bool has_stencil;
   bool early;         /* tested ahead of the shader, */
   bool before_shader; /* and written as well */
   bool exports_depth;
   bool exports_stencil;
   bool exports_halves;
   uint32_t control;
   uint32_t operations;
   uint32_t references[2]; /* of the front and the back */
   float range[2];
   unsigned level;
   unsigned first_layer;
   unsigned last_layer;
   struct softgpu_surface depth;
   struct softgpu_surface stencil;
};

struct softgpu_fragment {
   unsigned x, y, layer;
   bool back;
   float z;
   int stencil; /* -1: the register's */
};

/* --- softgpu_targets.c ---------------------------------------------------- */

void softgpu_read_targets(const struct softgpu_processor *processor,
                          struct softgpu_targets *targets);

/* Of a lane; `sample` -1: all of them */
void softgpu_write_colors(const struct softgpu_processor *processor,
                          const struct softgpu_targets *targets,
                          const struct softgpu_colors *colors, unsigned lane, unsigned x,
                          unsigned y, unsigned layer, int sample);

/* --- softgpu_depth.c ------------------------------------------------------ */

void softgpu_read_depth(const struct softgpu_processor *processor, struct softgpu_depth *depth);

/* Whether fragments write nothing that depends on the shader, which then need not run: the shader
 * may ask for it all the same (DB_SHADER_CONTROL).
 */
bool softgpu_is_noop(const struct softgpu_processor *processor,
                     const struct softgpu_targets *targets, const struct softgpu_depth *depth);

/* Whether a fragment passes; `sample` -1: in any of its samples. May write what becomes of it. */
bool softgpu_test_depth(const struct softgpu_depth *depth, const struct softgpu_fragment *f,
                        int sample, bool write);

#endif
