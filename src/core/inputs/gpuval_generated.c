/* SPDX-License-Identifier: MIT */

#include "gpuval_generated.h"

#include "gpuval.h"
#include "gpuval_arguments.h"

struct check {
   struct gpuval_device *device;
   const struct vk_device *vk;
   gpuval_report_function report;
   void *data;
   const VkGeneratedCommandsInfoEXT *info;
   bool has_task;

   /* All sequences, as far as there is memory */
   struct gpuval_command_range range;
   uint64_t stride;
   uint32_t count;
   bool good;
};

static void
add_failures(struct check *check, const struct gpuval_command_failure *failures, unsigned count)
{
   for (unsigned i = 0; i < count; i++)
      check->report(check->data, &failures[i]);
   check->good &= count == 0;
}

static void
check_bytes(struct check *check, const struct gpuval_command_range *range, uint64_t offset,
            uint32_t size, const char *what)
{
   struct gpuval_command_failure failure;
   add_failures(check, &failure, gpuval_check_argument_bytes(range, offset, size, what, &failure));
}

static void
check_arguments(struct check *check, const struct gpuval_arguments *arguments)
{
   const struct gpuval_arguments_limits limits =
      gpuval_arguments_get_limits(check->vk, arguments->type, check->has_task);
   struct gpuval_command_failure failures[GPUVAL_ARGUMENTS_MAX_FAILURES];

   add_failures(check, failures, gpuval_check_arguments(arguments, &limits, failures));
}

/* One struct of each sequence */
static void
check_structs(struct check *check, enum gpuval_arguments_type type, uint32_t offset)
{
   check_arguments(check, &(struct gpuval_arguments){
                             .type = type,
                             .range = check->range,
                             .data = (const void *)(uintptr_t)check->range.address,
                             .offset = offset,
                             .stride = check->stride,
                             .count = check->count,
                             .counted = check->info->sequenceCountAddress != 0,
                          });
}

/* Structs that are somewhere else, a number of them a sequence */
static void
check_draws(struct check *check, enum gpuval_arguments_type type,
            const VkDrawIndirectCountIndirectCommandEXT *draws)
{
   check_arguments(check,
                   &(struct gpuval_arguments){
                      .type = type,
                      .range = gpuval_find_range(check->device, draws->bufferAddress, UINT64_MAX),
                      .data = (const void *)(uintptr_t)draws->bufferAddress,
                      .stride = draws->stride,
                      .count = MIN2(draws->commandCount, check->info->maxDrawCount),
                      .counted = true,
                   });
}

static void
check_buffer(struct check *check, uint64_t address, uint32_t size, const char *what)
{
   struct gpuval_command_range range = gpuval_find_range(check->device, address, UINT64_MAX);

   if (address)
      check_bytes(check, &range, 0, size, what);
}

/* What @data of one sequence refers to */
static void
check_reference(struct check *check, VkIndirectCommandsTokenTypeEXT type, const void *data)
{
   const VkBindIndexBufferIndirectCommandEXT *indices = data;
   const VkBindVertexBufferIndirectCommandEXT *vertices = data;

   switch ((unsigned)type) {
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_COUNT_EXT:
      check_draws(check, GPUVAL_ARGUMENTS_DRAW, data);
      break;
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_INDEXED_COUNT_EXT:
      check_draws(check, GPUVAL_ARGUMENTS_DRAW_INDEXED, data);
      break;
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_MESH_TASKS_COUNT_EXT:
      check_draws(check, GPUVAL_ARGUMENTS_DRAW_MESH_TASKS, data);
      break;
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_INDEX_BUFFER_EXT:
      check_buffer(check, indices->bufferAddress, indices->size, "an index buffer");
      break;
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_VERTEX_BUFFER_EXT:
      check_buffer(check, vertices->bufferAddress, vertices->size, "a vertex buffer");
      break;
   }
}

static void
check_references(struct check *check, VkIndirectCommandsTokenTypeEXT type, uint32_t offset,
                 uint32_t size)
{
   for (uint32_t i = 0; i < check->count; i++) {
      uint64_t at = offset + check->stride * i;
      if (at + size > check->range.size) {
         check_bytes(check, &check->range, at, size, "a token");
         return;
      }
      check_reference(check, type, (const char *)(uintptr_t)check->range.address + at);
   }
}

static void
check_token(struct check *check, const VkIndirectCommandsLayoutTokenEXT *token)
{
   switch ((unsigned)token->type) {
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_EXT:
      check_structs(check, GPUVAL_ARGUMENTS_DRAW, token->offset);
      break;
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_INDEXED_EXT:
      check_structs(check, GPUVAL_ARGUMENTS_DRAW_INDEXED, token->offset);
      break;
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_MESH_TASKS_EXT:
      check_structs(check, GPUVAL_ARGUMENTS_DRAW_MESH_TASKS, token->offset);
      break;
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_DISPATCH_EXT:
      check_structs(check, GPUVAL_ARGUMENTS_DISPATCH, token->offset);
      break;
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_TRACE_RAYS2_EXT:
      check_structs(check, GPUVAL_ARGUMENTS_TRACE_RAYS2, token->offset);
      break;
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_COUNT_EXT:
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_INDEXED_COUNT_EXT:
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_MESH_TASKS_COUNT_EXT:
      check_references(check, token->type, token->offset,
                       sizeof(VkDrawIndirectCountIndirectCommandEXT));
      break;
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_INDEX_BUFFER_EXT:
      check_references(check, token->type, token->offset,
                       sizeof(VkBindIndexBufferIndirectCommandEXT));
      break;
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_VERTEX_BUFFER_EXT:
      check_references(check, token->type, token->offset,
                       sizeof(VkBindVertexBufferIndirectCommandEXT));
      break;
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_EXECUTION_SET_EXT:
      check_references(check, token->type, token->offset, sizeof(uint32_t));
      break;
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_PUSH_CONSTANT_EXT:
      check_references(check, token->type, token->offset,
                       token->data.pPushConstant->updateRange.size);
      break;
   }
}

/* How many sequences there are; 0 where that cannot be read */
static uint32_t
get_count(struct check *check)
{
   uint64_t address = check->info->sequenceCountAddress;
   if (!address)
      return check->info->maxSequenceCount;

   struct gpuval_command_range range = gpuval_find_range(check->device, address, sizeof(uint32_t));
   check_bytes(check, &range, 0, sizeof(uint32_t), "the count");
   return check->good ? MIN2(*(const uint32_t *)(uintptr_t)address, check->info->maxSequenceCount)
                      : 0;
}

bool
gpuval_check_generated(struct gpuval_device *device, const struct vk_device *vk,
                       const VkGeneratedCommandsInfoEXT *info,
                       const struct gpuval_generated_layout *layout, bool has_task,
                       gpuval_report_function report, void *data)
{
   struct check check = {
      .device = device,
      .vk = vk,
      .report = report,
      .data = data,
      .info = info,
      .has_task = has_task,
      .stride = layout->stride,
      .good = true,
   };

   check.range = gpuval_find_range(check.device, info->indirectAddress, info->indirectAddressSize);
   check.count = get_count(&check);
   for (uint32_t i = 0; i < layout->num_tokens; i++)
      check_token(&check, &layout->tokens[i]);
   return check.good;
}
