/* SPDX-License-Identifier: MIT */

/* vertex: what draws fetch before a shader runs. */

#ifndef GPUVAL_VERTEX_H
#define GPUVAL_VERTEX_H

#include <stdbool.h>

#include "base/gpuval_failure.h"

#include "util/bitset.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPUVAL_MAX_ATTRIBUTES 32
#define GPUVAL_MAX_BINDINGS   32

struct gpuval_vertex_attribute {
   uint32_t location;
   uint32_t binding;
   uint32_t offset; /* in an element */
   uint32_t size;   /* bytes of its format */
};

struct gpuval_vertex_binding {
   /* Size 0: there is no buffer. */
   struct gpuval_command_range range;
   bool is_null; /* and that is defined */
   uint32_t stride;
   bool per_instance;
   uint32_t divisor; /* 0: all instances have the first one's */
};

struct gpuval_index_buffer {
   struct gpuval_command_range range; /* size 0: there is no buffer */
   const void *data;                  /* its first byte; NULL: the host cannot read it */
   bool is_null;                      /* and that is defined: all indices are 0 */
   uint8_t index_size;                /* bytes: 1, 2 or 4 */
   bool restart;                      /* the greatest index is none */
};

/** All that draws have in common until something is bound or set. */
struct gpuval_vertex_input {
   /* Those that the vertex shader reads */
   struct gpuval_vertex_attribute attributes[GPUVAL_MAX_ATTRIBUTES];
   unsigned num_attributes;
   struct gpuval_vertex_binding bindings[GPUVAL_MAX_BINDINGS];
   struct gpuval_index_buffer indices;

   /* What is out of range is defined: it is not to be checked. */
   bool robust_attributes;
   bool robust_indices;

   /* Vertices that all attributes have; see gpuval_vertex_input_update(). */
   uint64_t num_vertices;
   bool has_instances; /* an attribute goes by instances */
};

/** After attributes and bindings have changed. */
void gpuval_vertex_input_update(struct gpuval_vertex_input *input);

struct gpuval_draw {
   bool indexed;
   uint32_t first; /* vertex or index */
   uint32_t count;
   int32_t vertex_offset; /* of an indexed draw */
   uint32_t first_instance;
   uint32_t num_instances;
};

/**
 * Does it depend on what the indices are whether attributes that go by vertices are inside?
 * Without them (gpuval_index_buffer::data), gpuval_check_draw() is silent about those.
 * *num_indices: how many, from the draw's first one on, are in the buffer.
 */
bool gpuval_draw_needs_indices(const struct gpuval_vertex_input *input,
                               const struct gpuval_draw *draw, uint32_t *num_indices);

/** Vertices that the indices of a draw name: bit i stands for vertex first + i. */
struct gpuval_vertices {
   uint64_t first, count;
   BITSET_WORD *used; /* to be freed by free(); NULL: count is 0 */
};

/** None are known where the host cannot read the indices. Negative vertices are left out. */
void gpuval_draw_find_vertices(const struct gpuval_vertex_input *input,
                               const struct gpuval_draw *draw, struct gpuval_vertices *out);

#define GPUVAL_DRAW_MAX_FAILURES (GPUVAL_MAX_ATTRIBUTES + 1)

/**
 * Returns the number of @failures. Each index that is outside counts once an instance.
 * Each fetch of an attribute that is outside counts: once for each instance of each
 * vertex or index that is drawn, whether what was fetched before is used again or not.
 */
unsigned gpuval_check_draw(const struct gpuval_vertex_input *input, const struct gpuval_draw *draw,
                           struct gpuval_command_failure failures[GPUVAL_DRAW_MAX_FAILURES]);

/**
 * Indices of one draw that name a vertex which is not among the first @limit, where the GPU has
 * looked at them.
 */
struct gpuval_outside {
   uint64_t limit;
   uint64_t count;
   uint32_t first; /* the first of them, as it is in the buffer */
};

/**
 * Of a draw that needs its indices (gpuval_draw_needs_indices()): writes each number of vertices
 * that some attribute has, and that an index of their type may exceed, to @limits once. Returns
 * how many.
 */
unsigned gpuval_draw_limits(const struct gpuval_vertex_input *input, const struct gpuval_draw *draw,
                            uint64_t limits[GPUVAL_MAX_ATTRIBUTES]);

/** Indices from *first to *last name vertices among the first @limit; none where *first > *last. */
void gpuval_draw_good_indices(const struct gpuval_draw *draw, uint64_t limit, uint32_t *first,
                              uint32_t *last);

/** What gpuval_check_draw() says of attributes that go by vertices, from what the GPU has found. */
unsigned gpuval_check_outside(const struct gpuval_vertex_input *input,
                              const struct gpuval_draw *draw, const struct gpuval_outside *outside,
                              struct gpuval_command_failure failures[GPUVAL_DRAW_MAX_FAILURES]);

#ifdef __cplusplus
}
#endif

#endif
