/* SPDX-License-Identifier: MIT */

/* Between the stages of a draw. */

#ifndef SOFTGPU_DRAW_H
#define SOFTGPU_DRAW_H

#include "softgpu_processor.h"
#include "softgpu_wave.h"

#define SOFTGPU_MAX_PARAMETERS 32

#define SOFTGPU_MAX_VERTICES 256 /* and primitives, of a workgroup */
#define SOFTGPU_MAX_CORNERS  32  /* of a patch */

/* What a workgroup of vertices and primitives exports, by lane */
struct softgpu_exports {
   uint32_t positions[4][SOFTGPU_MAX_VERTICES][4]; /* and what else rasterization takes */
   uint32_t parameters[SOFTGPU_MAX_PARAMETERS][SOFTGPU_MAX_VERTICES][4];
   bool has_primitive[SOFTGPU_MAX_VERTICES];
   uint32_t primitives[SOFTGPU_MAX_VERTICES][4]; /* vertices; layer and viewport of meshes */
};

/* What a vertex shader gets, or a tessellation evaluation shader */
struct softgpu_vertex {
   uint32_t id;
   float u, v;
   uint32_t patch; /* in its workgroup */
   uint32_t patch_id;
};

/* What is drawn of an instance */
struct softgpu_assembly {
   struct softgpu_vertex *vertices;
   uint32_t *corners; /* `size` vertices of each primitive */
   uint32_t *primitive_ids;
   unsigned count;
   unsigned size;
   unsigned output_size; /* what of it is rasterized, without a geometry shader: 1 to 3 vertices */
   bool rectangles;
};

/* A program of two stages that are merged */
struct softgpu_stage {
   const struct softgpu_processor *processor;
   const struct softgpu_prolog *prolog; /* or NULL */
   const uint32_t *rings;               /* registers with their address */
   const uint32_t *user_data;
   unsigned wave_size;
   struct softgpu_run *run;
};

enum softgpu_hardware_stage {
   SOFTGPU_HULL,     /* vertices and tessellation control */
   SOFTGPU_GEOMETRY, /* vertices or tessellation evaluation, with or without geometry; meshes */
};

/* A vertex in the framebuffer */
struct softgpu_corner {
   unsigned vertex;
   double x, y, z, w;
};

struct softgpu_primitive {
   const struct softgpu_processor *processor;
   const struct softgpu_exports *exports;
   unsigned index; /* in its workgroup */
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

/* Finds the program of a stage; `run` is for so many threads of a workgroup, and the caller's to
 * free. Returns false when there is none.
 */
bool softgpu_open_stage(const struct softgpu_processor *processor,
                        enum softgpu_hardware_stage which, unsigned threads,
                        struct softgpu_stage *stage);
/* With its SGPRs, but for those of the system */
struct softgpu_wave *softgpu_start_stage(const struct softgpu_stage *stage, unsigned index);

/* --- softgpu_geometry.c --------------------------------------------------- */

struct softgpu_geometry;

/* NULL: there is none. To be freed with ralloc_free(). */
struct softgpu_geometry *softgpu_create_geometry(const struct softgpu_processor *processor);
void softgpu_draw_geometry(struct softgpu_geometry *geometry,
                           const struct softgpu_assembly *assembly, uint32_t instance);
/* How many of `count` threads are a wave's */
unsigned softgpu_threads_of(const struct softgpu_wave *wave, unsigned count);

/* --- softgpu_tessellation.c ----------------------------------------------- */

struct softgpu_tessellation;

/* NULL: there is none. To be freed with ralloc_free(). */
struct softgpu_tessellation *softgpu_create_tessellation(const struct softgpu_processor *processor);
/* Draws what becomes of patches. */
void softgpu_tessellate(struct softgpu_tessellation *tessellation,
                        struct softgpu_geometry *geometry, const struct softgpu_assembly *patches,
                        uint32_t instance);

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
