/* SPDX-License-Identifier: MIT */

/* A draw that is right must cost next to nothing: its vertices and instances are
 * compared with how many all buffers have, and indices are only looked at where
 * some index of their type could be outside. Looking is a minimum and a maximum,
 * in loops that become SIMD code. What exactly is wrong, and how often,
 * is found out when something is.
 */

#include "gpuval_vertex.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/macros.h"

#define MANY UINT64_MAX

/* Elements of its buffer that the attribute is wholly inside of, from the first on */
static uint64_t
count_elements(const struct gpuval_vertex_input *input,
               const struct gpuval_vertex_attribute *attribute)
{
   const struct gpuval_vertex_binding *binding = &input->bindings[attribute->binding];
   uint64_t end = (uint64_t)attribute->offset + attribute->size;

   if (binding->is_null)
      return MANY;
   if (end > binding->range.size)
      return 0;
   return binding->stride ? (binding->range.size - end) / binding->stride + 1 : MANY;
}

void
gpuval_vertex_input_update(struct gpuval_vertex_input *input)
{
   input->num_vertices = MANY;
   input->has_instances = false;

   for (unsigned i = 0; i < input->num_attributes; i++) {
      const struct gpuval_vertex_attribute *attribute = &input->attributes[i];

      if (input->bindings[attribute->binding].per_instance)
         input->has_instances = true;
      else
         input->num_vertices = MIN2(input->num_vertices, count_elements(input, attribute));
   }
}

/* Indices */

struct extremes {
   uint32_t min, max;
   bool any;
};

/* At -O2, gcc makes no SIMD code of such loops, which clang always does. */
#if defined(__GNUC__) && !defined(__clang__)
#define VECTORIZED __attribute__((optimize("O3")))
#else
#define VECTORIZED
#endif

/* @next is what is added to each index for the maximum: where the greatest index is none,
 * 1 makes a 0 of it.
 */
#define FIND_EXTREMES(name, type)                                                                  \
   VECTORIZED static struct extremes name(const type *indices, uint32_t count, bool restart)       \
   {                                                                                               \
      type min = (type)~0, max = 0, next = restart;                                                \
                                                                                                   \
      for (uint32_t i = 0; i < count; i++) {                                                       \
         type index = indices[i], raised = index + next;                                           \
         min = index < min ? index : min;                                                          \
         max = raised > max ? raised : max;                                                        \
      }                                                                                            \
      return (struct extremes){min, (uint32_t)max - next, count && max >= next};                   \
   }

FIND_EXTREMES(find_extremes_8, uint8_t)
FIND_EXTREMES(find_extremes_16, uint16_t)
FIND_EXTREMES(find_extremes_32, uint32_t)

static struct extremes
find_extremes(const struct gpuval_index_buffer *indices, uint32_t first, uint32_t count)
{
   const void *start = (const char *)indices->data + (uint64_t)first * indices->index_size;

   switch (indices->index_size) {
   case 1:
      return find_extremes_8(start, count, indices->restart);
   case 2:
      return find_extremes_16(start, count, indices->restart);
   default:
      return find_extremes_32(start, count, indices->restart);
   }
}

static uint32_t
get_index(const struct gpuval_index_buffer *indices, uint64_t i)
{
   switch (indices->index_size) {
   case 1:
      return ((const uint8_t *)indices->data)[i];
   case 2:
      return ((const uint16_t *)indices->data)[i];
   default:
      return ((const uint32_t *)indices->data)[i];
   }
}

static uint32_t
greatest_index(const struct gpuval_index_buffer *indices)
{
   return BITFIELD_MASK(indices->index_size * 8);
}

/* How many of the draw's indices, from the first on, are in the buffer */
static uint32_t
count_inside(const struct gpuval_index_buffer *indices, const struct gpuval_draw *draw)
{
   if (indices->is_null)
      return draw->count;

   uint64_t there = indices->index_size ? indices->range.size / indices->index_size : 0;
   return there > draw->first ? MIN2(there - draw->first, draw->count) : 0;
}

/* Vertices of one draw */
struct vertices {
   const struct gpuval_vertex_input *input;
   const struct gpuval_draw *draw;
   uint32_t num_indices; /* that are in the buffer; of a draw without: its vertices */
};

static bool
looks_at_indices(const struct vertices *vertices)
{
   return vertices->draw->indexed && !vertices->input->indices.is_null;
}

/* Returns false for what restarts a primitive. */
static bool
get_vertex(const struct vertices *vertices, uint32_t i, int64_t *vertex)
{
   const struct gpuval_index_buffer *indices = &vertices->input->indices;
   uint32_t index = get_index(indices, (uint64_t)vertices->draw->first + i);

   *vertex = (int64_t)index + vertices->draw->vertex_offset;
   return !indices->restart || index != greatest_index(indices);
}

/* Vertices that are not among the first @limit, one for each index; *first is the
 * first of them. Takes its time: something is wrong.
 */
static uint64_t
count_outside(const struct vertices *vertices, uint64_t limit, int64_t *first)
{
   const struct gpuval_draw *draw = vertices->draw;
   uint64_t count = 0;
   int64_t vertex;

   if (!draw->indexed) {
      *first = MAX2(draw->first, limit);
      return (uint64_t)draw->first + draw->count - *first;
   }
   if (!looks_at_indices(vertices)) {
      *first = draw->vertex_offset;
      return vertices->num_indices;
   }

   for (uint32_t i = 0; i < vertices->num_indices; i++) {
      if (get_vertex(vertices, i, &vertex) && (vertex < 0 || (uint64_t)vertex >= limit) && !count++)
         *first = vertex;
   }
   return count;
}

static uint64_t
count_vertices(const struct vertices *vertices)
{
   uint64_t count = 0;
   int64_t vertex;

   const struct gpuval_index_buffer *indices = &vertices->input->indices;

   if (!looks_at_indices(vertices) || !indices->restart || !indices->data)
      return vertices->num_indices;
   for (uint32_t i = 0; i < vertices->num_indices; i++)
      count += get_vertex(vertices, i, &vertex);
   return count;
}

/* Is any index inside? */
static bool
all_are_inside(const struct vertices *vertices, uint64_t limit)
{
   int64_t greatest = greatest_index(&vertices->input->indices);
   int32_t vertex_offset = vertices->draw->vertex_offset;

   return vertex_offset >= 0 && greatest + vertex_offset < limit;
}

bool
gpuval_draw_needs_indices(const struct gpuval_vertex_input *input, const struct gpuval_draw *draw,
                          uint32_t *num_indices)
{
   const struct vertices vertices = {.input = input, .draw = draw};

   *num_indices = draw->indexed ? count_inside(&input->indices, draw) : 0;
   return *num_indices && draw->num_instances && !input->robust_attributes &&
          input->num_vertices != MANY && looks_at_indices(&vertices) &&
          !all_are_inside(&vertices, input->num_vertices);
}

/* Is some vertex of the draw outside of buffers that have @limit of them? */
static bool
exceeds(const struct vertices *vertices, uint64_t limit)
{
   const struct gpuval_draw *draw = vertices->draw;

   if (limit == MANY || !vertices->num_indices)
      return false;
   if (!draw->indexed)
      return (uint64_t)draw->first + draw->count > limit;
   if (!looks_at_indices(vertices))
      return draw->vertex_offset < 0 || draw->vertex_offset >= limit;

   if (all_are_inside(vertices, limit) || !vertices->input->indices.data)
      return false;

   struct extremes found =
      find_extremes(&vertices->input->indices, draw->first, vertices->num_indices);
   return found.any && ((int64_t)found.min + draw->vertex_offset < 0 ||
                        (int64_t)found.max + draw->vertex_offset >= (int64_t)limit);
}

void
gpuval_draw_find_vertices(const struct gpuval_vertex_input *input, const struct gpuval_draw *draw,
                          struct gpuval_vertices *out)
{
   const struct vertices vertices = {
      .input = input,
      .draw = draw,
      .num_indices = count_inside(&input->indices, draw),
   };
   *out = (struct gpuval_vertices){0};
   if (!vertices.num_indices || !input->indices.data)
      return;

   struct extremes found = find_extremes(&input->indices, draw->first, vertices.num_indices);
   int64_t first = (int64_t)found.min + draw->vertex_offset;
   int64_t last = (int64_t)found.max + draw->vertex_offset;
   if (!found.any || last < 0)
      return;

   out->first = MAX2(first, 0);
   out->count = last - out->first + 1;
   out->used = calloc(BITSET_WORDS(out->count), sizeof(BITSET_WORD));
   if (!out->used) {
      out->count = 0;
      return;
   }
   for (uint32_t i = 0; i < vertices.num_indices; i++) {
      int64_t vertex;
      if (get_vertex(&vertices, i, &vertex) && vertex >= 0)
         BITSET_SET(out->used, vertex - out->first);
   }
}

/* Failures */

static struct gpuval_command_failure
describe_fetch(const struct gpuval_vertex_input *input,
               const struct gpuval_vertex_attribute *attribute, uint64_t count, int64_t element,
               const char *what, int64_t number)
{
   const struct gpuval_vertex_binding *binding = &input->bindings[attribute->binding];
   struct gpuval_command_failure failure = {
      .kind = GPUVAL_KIND_ATTRIBUTE_OOB,
      .op = GPUVAL_OP_FETCH,
      .part = attribute->location,
      .count = count,
      /* As of other accesses, modulo 2^32 where it is negative */
      .offset = element < 0 ? (uint32_t)(attribute->offset + element * binding->stride)
                            : attribute->offset + element * binding->stride,
      .size = attribute->size,
      .range = binding->range,
   };

   snprintf(failure.detail, sizeof(failure.detail), "attribute %" PRIu32 " of %s %" PRId64,
            attribute->location, what, number);
   return failure;
}

static unsigned
check_by_vertex(const struct vertices *vertices, const struct gpuval_vertex_attribute *attribute,
                struct gpuval_command_failure *failure)
{
   uint64_t limit = count_elements(vertices->input, attribute);
   int64_t first = 0;

   if (!exceeds(vertices, limit))
      return 0;

   uint64_t outside = count_outside(vertices, limit, &first);
   *failure = describe_fetch(vertices->input, attribute, outside * vertices->draw->num_instances,
                             first, "vertex", first);
   return 1;
}

/* The first instance that is outside, counted from the draw's first one */
static uint64_t
first_instance_outside(uint64_t limit, uint32_t divisor, uint32_t first_instance)
{
   if (first_instance >= limit)
      return 0;
   return divisor && limit - first_instance <= UINT32_MAX ? (limit - first_instance) * divisor
                                                          : MANY;
}

static unsigned
check_by_instance(const struct vertices *vertices, const struct gpuval_vertex_attribute *attribute,
                  struct gpuval_command_failure *failure)
{
   const struct gpuval_draw *draw = vertices->draw;
   const struct gpuval_vertex_binding *binding = &vertices->input->bindings[attribute->binding];
   uint64_t outside = first_instance_outside(count_elements(vertices->input, attribute),
                                             binding->divisor, draw->first_instance);
   uint64_t num_vertices = outside < draw->num_instances ? count_vertices(vertices) : 0;

   if (!num_vertices)
      return 0;

   uint64_t element = draw->first_instance + (binding->divisor ? outside / binding->divisor : 0);
   *failure =
      describe_fetch(vertices->input, attribute, (draw->num_instances - outside) * num_vertices,
                     element, "instance", draw->first_instance + outside);
   return 1;
}

static void
describe_outside_index(const struct vertices *vertices, struct gpuval_command_failure *failure)
{
   const struct gpuval_index_buffer *indices = &vertices->input->indices;
   const struct gpuval_draw *draw = vertices->draw;
   uint64_t index = (uint64_t)draw->first + vertices->num_indices;

   *failure = (struct gpuval_command_failure){
      .kind = GPUVAL_KIND_INDEX_BUFFER_OOB,
      .op = GPUVAL_OP_FETCH,
      .count = (uint64_t)(draw->count - vertices->num_indices) * draw->num_instances,
      .offset = index * indices->index_size,
      .size = indices->index_size,
      .range = indices->range,
   };
   snprintf(failure->detail, sizeof(failure->detail), "index %" PRIu64, index);
}

unsigned
gpuval_check_draw(const struct gpuval_vertex_input *input, const struct gpuval_draw *draw,
                  struct gpuval_command_failure failures[GPUVAL_DRAW_MAX_FAILURES])
{
   const struct vertices vertices = {
      .input = input,
      .draw = draw,
      .num_indices = draw->indexed ? count_inside(&input->indices, draw) : draw->count,
   };
   unsigned num_failures = 0;

   if (!draw->count || !draw->num_instances)
      return 0;
   if (vertices.num_indices < draw->count && !input->robust_indices)
      describe_outside_index(&vertices, &failures[num_failures++]);
   if (input->robust_attributes)
      return num_failures;

   bool vertices_fail = exceeds(&vertices, input->num_vertices);
   for (unsigned i = 0; (vertices_fail || input->has_instances) && i < input->num_attributes; i++) {
      const struct gpuval_vertex_attribute *attribute = &input->attributes[i];

      if (input->bindings[attribute->binding].per_instance)
         num_failures += check_by_instance(&vertices, attribute, &failures[num_failures]);
      else if (vertices_fail)
         num_failures += check_by_vertex(&vertices, attribute, &failures[num_failures]);
   }
   return num_failures;
}

/* What the GPU has looked at */

static bool
has_limit(const uint64_t *limits, unsigned count, uint64_t limit)
{
   for (unsigned i = 0; i < count; i++) {
      if (limits[i] == limit)
         return true;
   }
   return false;
}

unsigned
gpuval_draw_limits(const struct gpuval_vertex_input *input, const struct gpuval_draw *draw,
                   uint64_t limits[GPUVAL_MAX_ATTRIBUTES])
{
   const struct vertices vertices = {.input = input, .draw = draw};
   unsigned count = 0;

   for (unsigned i = 0; i < input->num_attributes; i++) {
      const struct gpuval_vertex_attribute *attribute = &input->attributes[i];
      if (input->bindings[attribute->binding].per_instance)
         continue;

      uint64_t limit = count_elements(input, attribute);
      if (limit != MANY && !all_are_inside(&vertices, limit) && !has_limit(limits, count, limit))
         limits[count++] = limit;
   }
   return count;
}

void
gpuval_draw_good_indices(const struct gpuval_draw *draw, uint64_t limit, uint32_t *first,
                         uint32_t *last)
{
   /* No index leads behind that many vertices. */
   int64_t end = (int64_t)MIN2(limit, (uint64_t)1 << 34) - draw->vertex_offset;
   int64_t begin = MAX2(-(int64_t)draw->vertex_offset, 0);

   *first = end > begin ? begin : 1;
   *last = end > begin ? MIN2(end - 1, UINT32_MAX) : 0;
}

unsigned
gpuval_check_outside(const struct gpuval_vertex_input *input, const struct gpuval_draw *draw,
                     const struct gpuval_outside *outside,
                     struct gpuval_command_failure failures[GPUVAL_DRAW_MAX_FAILURES])
{
   int64_t vertex = (int64_t)outside->first + draw->vertex_offset;
   unsigned count = 0;

   for (unsigned i = 0; outside->count && i < input->num_attributes; i++) {
      const struct gpuval_vertex_attribute *attribute = &input->attributes[i];

      if (!input->bindings[attribute->binding].per_instance &&
          count_elements(input, attribute) == outside->limit)
         failures[count++] = describe_fetch(input, attribute, outside->count * draw->num_instances,
                                            vertex, "vertex", vertex);
   }
   return count;
}
