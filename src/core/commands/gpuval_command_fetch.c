/* SPDX-License-Identifier: MIT */

#include "gpuval_command_fetch.h"

#include "gpuval_vertex.h"

#include "util/macros.h"
#include "util/u_math.h"

struct fetch {
   gpuval_access_function function;
   void *data;
};

/* @count elements of @size bytes, @stride bytes apart, the first one @offset bytes behind the
 * beginning of @range
 */
static void
visit_elements(const struct fetch *fetch, VkPipelineStageFlags2 stage, VkAccessFlags2 access,
               const struct gpuval_command_range *range, uint64_t offset, uint32_t stride,
               uint64_t count, uint32_t size)
{
   if (!range->address || !count || offset >= range->size)
      return;

   uint64_t bytes = (count - 1) * stride + size;
   fetch->function(fetch->data, &(struct gpuval_command_access){
                                   .stages = stage,
                                   .access = access,
                                   .address = range->address + offset,
                                   .size = MIN2(bytes, range->size - offset),
                                   .has_gaps = count > 1 && stride > size,
                                });
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

   if (!binding->per_instance && draw->indexed)
      return;
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
   const struct fetch fetch = {function, data};

   if (!draw->count || !draw->num_instances)
      return;
   if (draw->indexed)
      visit_elements(&fetch, VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT, VK_ACCESS_2_INDEX_READ_BIT,
                     &indices->range, (uint64_t)draw->first * indices->index_size,
                     indices->index_size, draw->count, indices->index_size);
   for (unsigned i = 0; i < input->num_attributes; i++)
      visit_attribute(&fetch, input, &input->attributes[i], draw);
}
