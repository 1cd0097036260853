/* SPDX-License-Identifier: MIT */

/* Between the stages of a draw. */

#ifndef SOFTGPU_DRAW_H
#define SOFTGPU_DRAW_H

#include "softgpu_processor.h"
#include "softgpu_wave.h"

#define SOFTGPU_MAX_PARAMETERS 32

/* What a wave of vertices and primitives exports, by lane */
struct softgpu_exports {
   uint32_t positions[4][SOFTGPU_MAX_LANES][4]; /* and what else rasterization takes */
   uint32_t parameters[SOFTGPU_MAX_PARAMETERS][SOFTGPU_MAX_LANES][4];
   uint64_t has_primitive;
   uint32_t primitives[SOFTGPU_MAX_LANES];
};

/* A vertex in the framebuffer */
struct softgpu_corner {
   unsigned vertex;
   double x, y, z, w;
};

struct softgpu_primitive {
   const struct softgpu_processor *processor;
   const struct softgpu_exports *exports;
   unsigned size;  /* in vertices */
   bool rectangle; /* three of its vertices are known */
   bool back;
   struct softgpu_corner corners[3]; /* those which it does not have are as the first */
   double area;                      /* twice, with a sign */
   double box[4];                    /* left, top, right, bottom */
   unsigned layer;
   const struct softgpu_targets *targets;
   const struct softgpu_depth *depth;
};

/* --- softgpu_draw.c ------------------------------------------------------- */

/* Nothing where the shader does not have that argument. */
void softgpu_set_vgpr(struct softgpu_wave *wave, struct ac_arg arg, unsigned component,
                      unsigned lane, uint32_t value);
void softgpu_set_sgpr(struct softgpu_wave *wave, struct ac_arg arg, uint32_t value);
uint32_t softgpu_get_sgpr(const struct softgpu_wave *wave, struct ac_arg arg);

/* --- softgpu_inputs.c ----------------------------------------------------- */

/* Where `bytes` of an element are, or 0 out of bounds. */
uint64_t softgpu_find_element(const uint32_t words[4], uint64_t index, uint64_t offset,
                              unsigned bytes);

/* --- softgpu_prolog.c ----------------------------------------------------- */

struct softgpu_prolog;

/* NULL: it is none */
const struct softgpu_prolog *softgpu_find_prolog(uint64_t va);
/* The shader behind it, from the first two user SGPRs */
uint64_t softgpu_find_main(const struct softgpu_prolog *prolog, uint64_t inputs);
/* Sets the VGPRs with attributes. */
void softgpu_run_prolog(const struct softgpu_prolog *prolog, struct softgpu_wave *wave,
                        uint64_t inputs, const uint32_t *vertices, unsigned count,
                        uint32_t instance);

/* --- softgpu_pixels.c ----------------------------------------------------- */

/* Primitives have `size` vertices. */
void softgpu_draw_pixels(const struct softgpu_processor *processor,
                         const struct softgpu_exports *exports, unsigned size, bool rectangles);

#endif
