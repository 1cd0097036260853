/* SPDX-License-Identifier: MIT */

#include "gpuval_command_fetch.h"

#include "gpuval_vertex.h"

#include <stdlib.h>

#include "util/macros.h"
#include "util/u_math.h"

struct fetch {
   gpuval_access_function function;
   void *data;
   const struct gpuval_vertices *vertices; /* of an indexed draw; NULL: they are not known */
};

/* @count elements of @size bytes, @stride bytes apart, the first one @offset bytes behind the
 * beginning of @range; those that are in it
 */
static void
visit_elements(const struct fetch *fetch, VkPipelineStageFlags2 stage, VkAccessFlags2 access,
               const struct gpuval_command_range *range, uint64_t offset, uint32_t stride,
               uint64_t count, uint32_t size)
{
   if (!range->address || !count || !size || range->size < size || offset > range->size - size)
      return;
   if (stride)
      count = MIN2(count, (range->size - size - offset) / stride + 1);
   else
      count = 1;

   bool has_gaps = count > 1 && stride > size;
   fetch->function(fetch->data, &(struct gpuval_command_access){
                                   .stages = stage,
                                   .access = access,
                                   .address = range->address + offset,
                                   .size = (count - 1) * stride + size,
                                   .has_gaps = has_gaps,
                                   .row_size = has_gaps ? size : 0,
                                   .row_stride = has_gaps ? stride : 0,
                                   .num_rows = has_gaps ? count : 0,
                                });
}

/* Vertices that indices name, each once: one access for those that follow one another. */
static void
visit_vertices(const struct fetch *fetch, const struct gpuval_vertex_input *input,
               const struct gpuval_vertex_attribute *attribute, const struct gpuval_draw *draw)
{
   const struct gpuval_vertex_binding *binding = &input->bindings[attribute->binding];
   const struct gpuval_vertices *vertices = fetch->vertices;

   for (uint64_t i = 0; vertices && i < vertices->count; i++) {
      if (!BITSET_TEST(vertices->used, i))
         continue;
      uint64_t first = i;
      while (i + 1 < vertices->count && BITSET_TEST(vertices->used, i + 1))
         i++;
      visit_elements(fetch, VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT,
                     VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT, &binding->range,
                     (vertices->first + first) * binding->stride + attribute->offset,
                     binding->stride, i + 1 - first, attribute->size);
   }
}

/* "Vertex Input Address Calculation": with a divisor of 0 all instances have the first one's. */
static void
visit_attribute(const struct fetch *fetch, const struct gpuval_vertex_input *input,
                const struct gpuval_vertex_attribute *attribute, const struct gpuval_draw *draw)
{
   const struct gpuval_vertex_binding *binding = &input->bindings[attribute->binding];
   uint64_t first = binding->per_instance ? draw->first_instance : draw->first;
   uint64_t count = !binding->per_instance ? draw->count
                    : binding->divisor     ? DIV_ROUND_UP(draw->num_instances, binding->divisor)
                                           : 1;

   if (!binding->per_instance && draw->indexed) {
      visit_vertices(fetch, input, attribute, draw);
      return;
   }
   visit_elements(fetch, VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT,
                  VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT, &binding->range,
                  first * binding->stride + attribute->offset, binding->stride, count,
                  attribute->size);
}

void
gpuval_visit_fetch(const struct gpuval_vertex_input *input, const struct gpuval_draw *draw,
                   gpuval_access_function function, void *data)
{
   const struct gpuval_index_buffer *indices = &input->indices;
   struct gpuval_vertices vertices = {0};
   const struct fetch fetch = {function, data, &vertices};

   if (!draw->count || !draw->num_instances)
      return;
   if (draw->indexed)
      gpuval_draw_find_vertices(input, draw, &vertices);
   if (draw->indexed)
      visit_elements(&fetch, VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT, VK_ACCESS_2_INDEX_READ_BIT,
                     &indices->range, (uint64_t)draw->first * indices->index_size,
                     indices->index_size, draw->count, indices->index_size);
   for (unsigned i = 0; i < input->num_attributes; i++)
      visit_attribute(&fetch, input, &input->attributes[i], draw);
   free(vertices.used);
}
