/* SPDX-License-Identifier: MIT */

/* Vertex input: what pipelines say of it, buffers that are bound, and draws of several
 * kinds that read them.
 */

#include "scenario_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Options of a pipeline ------------------------------------------------ */

/* BINDING:STRIDE[:instance[:DIVISOR]] */
static bool
read_binding(struct run_vertex_input *input, const char *text)
{
   unsigned binding, stride, divisor = 1;
   int length = 0;

   if (input->binding_count == MAX_VERTEX_BINDINGS ||
       sscanf(text, "%u:%u%n", &binding, &stride, &length) != 2)
      return false;
   const bool instance = strncmp(text + length, ":instance", 9) == 0;
   if (instance)
      length += 9;
   if (text[length] && (!instance || sscanf(text + length, ":%u", &divisor) != 1))
      return false;

   input->bindings[input->binding_count++] = (VkVertexInputBindingDescription2EXT){
      .sType = VK_STRUCTURE_TYPE_VERTEX_INPUT_BINDING_DESCRIPTION_2_EXT,
      .binding = binding,
      .stride = stride,
      .inputRate = instance ? VK_VERTEX_INPUT_RATE_INSTANCE : VK_VERTEX_INPUT_RATE_VERTEX,
      .divisor = divisor,
   };
   return true;
}

/* LOCATION:BINDING:FORMAT:OFFSET */
static bool
read_attribute(struct run_vertex_input *input, const char *text)
{
   static const struct {
      const char *name;
      VkFormat format;
   } formats[] = {
      {"f32", VK_FORMAT_R32_SFLOAT},         {"f32x2", VK_FORMAT_R32G32_SFLOAT},
      {"f32x3", VK_FORMAT_R32G32B32_SFLOAT}, {"f32x4", VK_FORMAT_R32G32B32A32_SFLOAT},
      {"u8x4", VK_FORMAT_R8G8B8A8_UNORM},    {"f16x2", VK_FORMAT_R16G16_SFLOAT},
      {"u32", VK_FORMAT_R32_UINT},
   };
   unsigned location, binding, offset;
   char name[16];

   if (input->attribute_count == MAX_VERTEX_ATTRIBUTES ||
       sscanf(text, "%u:%u:%15[^:]:%u", &location, &binding, name, &offset) != 4)
      return false;
   for (unsigned i = 0; i < VKH_COUNT(formats); i++) {
      if (strcmp(formats[i].name, name) != 0)
         continue;
      input->attributes[input->attribute_count++] = (VkVertexInputAttributeDescription2EXT){
         .sType = VK_STRUCTURE_TYPE_VERTEX_INPUT_ATTRIBUTE_DESCRIPTION_2_EXT,
         .location = location,
         .binding = binding,
         .format = formats[i].format,
         .offset = offset,
      };
      return true;
   }
   return false;
}

bool
run_read_vertex_input(struct run_vertex_input *input, const char *key, const char *value)
{
   if (strcmp(key, "binding") == 0)
      return read_binding(input, value);
   if (strcmp(key, "attribute") == 0)
      return read_attribute(input, value);
   return false;
}

void
run_fill_vertex_input(const struct run_vertex_input *input, struct run_static_vertex_input *out)
{
   *out = (struct run_static_vertex_input){0};
   unsigned divisors = 0;

   for (unsigned i = 0; i < input->binding_count; i++) {
      const VkVertexInputBindingDescription2EXT *binding = &input->bindings[i];
      out->bindings[i] = (VkVertexInputBindingDescription){
         binding->binding,
         binding->stride,
         binding->inputRate,
      };
      if (binding->divisor != 1)
         out->divisors[divisors++] = (VkVertexInputBindingDivisorDescriptionEXT){
            binding->binding,
            binding->divisor,
         };
   }
   for (unsigned i = 0; i < input->attribute_count; i++) {
      const VkVertexInputAttributeDescription2EXT *attribute = &input->attributes[i];
      out->attributes[i] = (VkVertexInputAttributeDescription){
         attribute->location,
         attribute->binding,
         attribute->format,
         attribute->offset,
      };
   }
   out->divisor = (VkPipelineVertexInputDivisorStateCreateInfoEXT){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT,
      .vertexBindingDivisorCount = divisors,
      .pVertexBindingDivisors = out->divisors,
   };
   out->info = (VkPipelineVertexInputStateCreateInfo){
      .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
      .pNext = divisors ? &out->divisor : NULL,
      .vertexBindingDescriptionCount = input->binding_count,
      .pVertexBindingDescriptions = out->bindings,
      .vertexAttributeDescriptionCount = input->attribute_count,
      .pVertexAttributeDescriptions = out->attributes,
   };
}

void
run_set_vertex_input(struct run *run, const struct run_vertex_input *input)
{
   VKH_PROC(run->ctx, vkCmdSetVertexInputEXT)
   (run->cmd, input->binding_count, input->bindings, input->attribute_count, input->attributes);
}

/* --- Statements: what is bound -------------------------------------------- */

/* NAME[+OFFSET][:RANGE], or `null` */
static VkBuffer
read_part(struct run *run, const char *text, VkDeviceSize *offset, VkDeviceSize *size)
{
   char name[64];
   const size_t length = strcspn(text, "+:");
   const char *rest = text + length;

   *offset = 0;
   *size = VK_WHOLE_SIZE;
   if (strcmp(text, "null") == 0)
      return VK_NULL_HANDLE;
   if (*rest == '+')
      *offset = strtoull(rest + 1, (char **)&rest, 0);
   if (*rest == ':')
      *size = strtoull(rest + 1, (char **)&rest, 0);
   if (length >= sizeof(name) || *rest)
      RUN_ERROR(run, "%s is no part of a buffer", text);
   snprintf(name, sizeof(name), "%.*s", (int)length, text);
   return run_find_buffer(run, name)->vk.buffer;
}

/* `vertex_buffer BINDING ITEM [STRIDE]` */
void
run_vertex_buffer(struct run *run)
{
   VkDeviceSize offset, size;
   const VkBuffer buffer = read_part(run, run_word(run, 2), &offset, &size);
   const uint32_t binding = (uint32_t)run_number(run, 1);

   run_need_commands(run);
   if (run_has_word(run, 3)) {
      const VkDeviceSize stride = run_number(run, 3);
      vkCmdBindVertexBuffers2(run->cmd, binding, 1, &buffer, &offset, &size, &stride);
   } else if (size != VK_WHOLE_SIZE) {
      vkCmdBindVertexBuffers2(run->cmd, binding, 1, &buffer, &offset, &size, NULL);
   } else {
      vkCmdBindVertexBuffers(run->cmd, binding, 1, &buffer, &offset);
   }
}

/* `index_buffer ITEM TYPE`, of u8, u16, u32 */
void
run_index_buffer(struct run *run)
{
   const char *type = run_word(run, 2);
   VkDeviceSize offset, size;
   const VkBuffer buffer = read_part(run, run_word(run, 1), &offset, &size);
   const VkIndexType index_type = strcmp(type, "u8") == 0    ? VK_INDEX_TYPE_UINT8_EXT
                                  : strcmp(type, "u16") == 0 ? VK_INDEX_TYPE_UINT16
                                                             : VK_INDEX_TYPE_UINT32;

   run_need_commands(run);
   if (size != VK_WHOLE_SIZE || !buffer)
      VKH_PROC(run->ctx, vkCmdBindIndexBuffer2KHR)(run->cmd, buffer, offset, size, index_type);
   else
      vkCmdBindIndexBuffer(run->cmd, buffer, offset, index_type);
}

/* `vertex_input OPTION…`: dynamic, the pipeline's options `binding=`, `attribute=` */
void
run_vertex_input(struct run *run)
{
   struct run_vertex_input input = {0};

   for (unsigned i = 1; run_has_word(run, i); i++) {
      char *key = scenario_format("%s", run_word(run, i));
      char *value = strchr(key, '=');
      if (value)
         *value++ = 0;
      if (!value || !run_read_vertex_input(&input, key, value))
         RUN_ERROR(run, "%s is no vertex input", run_word(run, i));
      free(key);
   }
   run_need_commands(run);
   run_set_vertex_input(run, &input);
}

/* `primitive_restart 0|1`, dynamic */
void
run_primitive_restart(struct run *run)
{
   vkCmdSetPrimitiveRestartEnable(run_need_commands(run), run_number(run, 1) != 0);
}

/* --- Statements: draws ---------------------------------------------------- */

/* FIRST:COUNT[:VERTEX_OFFSET] … */
#define MAX_DRAWS 16

/* `draw_multi INSTANCES FIRST_INSTANCE FIRST:COUNT…` */
void
run_draw_multi(struct run *run)
{
   VkMultiDrawInfoEXT draws[MAX_DRAWS];
   uint32_t count = 0;

   run_prepare_command(run);
   for (unsigned i = 3; run_has_word(run, i) && count < MAX_DRAWS; i++) {
      if (sscanf(run_word(run, i), "%u:%u", &draws[count].firstVertex, &draws[count].vertexCount) !=
          2)
         RUN_ERROR(run, "a draw is FIRST:COUNT");
      count++;
   }
   VKH_PROC(run->ctx, vkCmdDrawMultiEXT)
   (run->cmd, count, draws, (uint32_t)run_number(run, 1), (uint32_t)run_number(run, 2),
    sizeof(draws[0]));
}

/* `draw_multi_indexed INSTANCES FIRST_INSTANCE FIRST:COUNT:VERTEX_OFFSET…` */
void
run_draw_multi_indexed(struct run *run)
{
   VkMultiDrawIndexedInfoEXT draws[MAX_DRAWS];
   uint32_t count = 0;

   run_prepare_command(run);
   for (unsigned i = 3; run_has_word(run, i) && count < MAX_DRAWS; i++) {
      if (sscanf(run_word(run, i), "%u:%u:%i", &draws[count].firstIndex, &draws[count].indexCount,
                 &draws[count].vertexOffset) != 3)
         RUN_ERROR(run, "a draw is FIRST:COUNT:VERTEX_OFFSET");
      count++;
   }
   VKH_PROC(run->ctx, vkCmdDrawMultiIndexedEXT)
   (run->cmd, count, draws, (uint32_t)run_number(run, 1), (uint32_t)run_number(run, 2),
    sizeof(draws[0]), NULL);
}

/* `draw_byte_count BUFFER OFFSET STRIDE [COUNTER_OFFSET [INSTANCES]]` */
void
run_draw_byte_count(struct run *run)
{
   run_prepare_command(run);
   VKH_PROC(run->ctx, vkCmdDrawIndirectByteCountEXT)
   (run->cmd, (uint32_t)run_number_or(run, 5, 1), 0,
    run_find_buffer(run, run_word(run, 1))->vk.buffer, run_number(run, 2),
    (uint32_t)run_number_or(run, 4, 0), (uint32_t)run_number(run, 3));
}

/* `draw_captured VERTICES BUFFER OFFSET BYTES [COUNTER_BUFFER OFFSET [resumes]]`: by transform
 * feedback, which goes on where the counter says
 */
void
run_draw_captured(struct run *run)
{
   const VkBuffer buffer = run_find_buffer(run, run_word(run, 2))->vk.buffer;
   const VkDeviceSize offset = run_number(run, 3), size = run_number(run, 4);
   const bool has_counter = run_has_word(run, 5);
   const VkBuffer counter =
      has_counter ? run_find_buffer(run, run_word(run, 5))->vk.buffer : VK_NULL_HANDLE;
   const VkDeviceSize counter_offset = run_number_or(run, 6, 0);
   const bool resumes = run_has_word(run, 7);

   run_prepare_command(run);
   VKH_PROC(run->ctx, vkCmdBindTransformFeedbackBuffersEXT)
   (run->cmd, 0, 1, &buffer, &offset, &size);
   VKH_PROC(run->ctx, vkCmdBeginTransformFeedbackEXT)
   (run->cmd, 0, resumes, &counter, &counter_offset);
   vkCmdDraw(run->cmd, (uint32_t)run_number(run, 1), 1, 0, 0);
   VKH_PROC(run->ctx, vkCmdEndTransformFeedbackEXT)
   (run->cmd, 0, has_counter, &counter, &counter_offset);
}
