/* SPDX-License-Identifier: MIT */

#include "gpuval_arguments.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/macros.h"
#include "gpuval.h"
#include "vk_device.h"
#include "vk_physical_device.h"

uint32_t
gpuval_arguments_size(enum gpuval_arguments_type type)
{
   switch (type) {
   case GPUVAL_ARGUMENTS_DRAW:
      return sizeof(VkDrawIndirectCommand);
   case GPUVAL_ARGUMENTS_DRAW_INDEXED:
      return sizeof(VkDrawIndexedIndirectCommand);
   case GPUVAL_ARGUMENTS_DRAW_MESH_TASKS:
      return sizeof(VkDrawMeshTasksIndirectCommandEXT);
   case GPUVAL_ARGUMENTS_DISPATCH:
      return sizeof(VkDispatchIndirectCommand);
   case GPUVAL_ARGUMENTS_TRACE_RAYS:
      return sizeof(VkTraceRaysIndirectCommandKHR);
   case GPUVAL_ARGUMENTS_TRACE_RAYS2:
      return sizeof(VkTraceRaysIndirectCommand2KHR);
   }
   UNREACHABLE("no type of arguments");
}

struct gpuval_arguments_limits
gpuval_arguments_get_limits(const struct vk_device *device, enum gpuval_arguments_type type,
                            bool has_task)
{
   const struct vk_properties *properties = &device->physical->properties;
   const uint32_t *groups = properties->maxComputeWorkGroupCount;
   struct gpuval_arguments_limits limits = {
      .first_instance = device->enabled_features.drawIndirectFirstInstance,
      .total = UINT64_MAX,
      .stride = UINT64_MAX,
   };
   bool is_trace = type == GPUVAL_ARGUMENTS_TRACE_RAYS || type == GPUVAL_ARGUMENTS_TRACE_RAYS2;

   if (type == GPUVAL_ARGUMENTS_DRAW_MESH_TASKS) {
      groups = has_task ? properties->maxTaskWorkGroupCount : properties->maxMeshWorkGroupCount;
      limits.total =
         has_task ? properties->maxTaskWorkGroupTotalCount : properties->maxMeshWorkGroupTotalCount;
   } else if (is_trace) {
      limits.total = properties->maxRayDispatchInvocationCount;
      limits.stride = properties->maxShaderGroupStride;
   }
   /* VUID-VkTraceRaysIndirectCommandKHR-width-03638: invocations of workgroups */
   for (unsigned i = 0; i < 3; i++)
      limits.groups[i] =
         (uint64_t)groups[i] * (is_trace ? properties->maxComputeWorkGroupSize[i] : 1);
   return limits;
}

uint32_t
gpuval_arguments_inside(const struct gpuval_arguments *arguments)
{
   uint32_t size = gpuval_arguments_size(arguments->type);

   if (size > arguments->range.size || arguments->offset > arguments->range.size - size)
      return 0;
   if (!arguments->stride)
      return arguments->count;

   uint64_t inside = (arguments->range.size - size - arguments->offset) / arguments->stride + 1;
   return MIN2(inside, arguments->count);
}

/* Arguments are aligned to 4 bytes only. */
static const void *
get_struct(const struct gpuval_arguments *arguments, uint32_t index)
{
   return (const char *)arguments->data + arguments->offset + arguments->stride * index;
}

/* Multiplication of three numbers of 32 bits may need 96. */
static bool
product_exceeds(const uint32_t factors[3], uint64_t limit)
{
   uint64_t product = (uint64_t)factors[0] * factors[1];
   return factors[2] && product > limit / factors[2];
}

static bool
groups_are_valid(const struct gpuval_arguments_limits *limits, const uint32_t groups[3])
{
   for (unsigned i = 0; i < 3; i++) {
      if (groups[i] > limits->groups[i])
         return false;
   }
   return !product_exceeds(groups, limits->total);
}

static bool
strides_are_valid(const struct gpuval_arguments_limits *limits,
                  const VkTraceRaysIndirectCommand2KHR *trace)
{
   return trace->missShaderBindingTableStride <= limits->stride &&
          trace->hitShaderBindingTableStride <= limits->stride &&
          trace->callableShaderBindingTableStride <= limits->stride;
}

/* Of what has them */
static void
get_groups(const struct gpuval_arguments *arguments, uint32_t index, uint32_t groups[3])
{
   size_t offset = arguments->type == GPUVAL_ARGUMENTS_TRACE_RAYS2
                      ? offsetof(VkTraceRaysIndirectCommand2KHR, width)
                      : 0;
   memcpy(groups, (const char *)get_struct(arguments, index) + offset, 3 * sizeof(*groups));
}

static uint32_t
get_first_instance(const struct gpuval_arguments *arguments, uint32_t index)
{
   size_t offset = arguments->type == GPUVAL_ARGUMENTS_DRAW
                      ? offsetof(VkDrawIndirectCommand, firstInstance)
                      : offsetof(VkDrawIndexedIndirectCommand, firstInstance);
   uint32_t first_instance;
   memcpy(&first_instance, (const char *)get_struct(arguments, index) + offset, 4);
   return first_instance;
}

static bool
is_vertex_draw(enum gpuval_arguments_type type)
{
   return type == GPUVAL_ARGUMENTS_DRAW || type == GPUVAL_ARGUMENTS_DRAW_INDEXED;
}

bool
gpuval_arguments_are_valid(const struct gpuval_arguments *arguments,
                           const struct gpuval_arguments_limits *limits, uint32_t index)
{
   uint32_t groups[3];

   if (is_vertex_draw(arguments->type))
      return limits->first_instance || get_first_instance(arguments, index) == 0;

   get_groups(arguments, index, groups);
   if (!groups_are_valid(limits, groups))
      return false;
   if (arguments->type != GPUVAL_ARGUMENTS_TRACE_RAYS2)
      return true;

   VkTraceRaysIndirectCommand2KHR trace;
   memcpy(&trace, get_struct(arguments, index), sizeof(trace));
   return strides_are_valid(limits, &trace);
}

struct gpuval_draw
gpuval_arguments_get_draw(const struct gpuval_arguments *arguments, uint32_t index)
{
   VkDrawIndexedIndirectCommand indexed;
   VkDrawIndirectCommand plain;

   if (arguments->type == GPUVAL_ARGUMENTS_DRAW_INDEXED) {
      memcpy(&indexed, get_struct(arguments, index), sizeof(indexed));
      return (struct gpuval_draw){
         .indexed = true,
         .first = indexed.firstIndex,
         .count = indexed.indexCount,
         .vertex_offset = indexed.vertexOffset,
         .first_instance = indexed.firstInstance,
         .num_instances = indexed.instanceCount,
      };
   }
   memcpy(&plain, get_struct(arguments, index), sizeof(plain));
   return (struct gpuval_draw){
      .first = plain.firstVertex,
      .count = plain.vertexCount,
      .first_instance = plain.firstInstance,
      .num_instances = plain.instanceCount,
   };
}

/* "draw 3", where there may be several */
static int
print_index(const struct gpuval_arguments *arguments, uint32_t index, char *out)
{
   if (arguments->type == GPUVAL_ARGUMENTS_DISPATCH ||
       arguments->type == GPUVAL_ARGUMENTS_TRACE_RAYS ||
       arguments->type == GPUVAL_ARGUMENTS_TRACE_RAYS2)
      return 0;
   return snprintf(out, GPUVAL_FAILURE_DETAIL_SIZE, "draw %" PRIu32, index);
}

static void
describe_invalid(const struct gpuval_arguments *arguments,
                 const struct gpuval_arguments_limits *limits, uint32_t index, char *out)
{
   int used = print_index(arguments, index, out);
   used += snprintf(out + used, GPUVAL_FAILURE_DETAIL_SIZE - used, "%s", used ? ": " : "");
   size_t room = GPUVAL_FAILURE_DETAIL_SIZE - used;
   uint32_t groups[3];

   if (is_vertex_draw(arguments->type)) {
      snprintf(out + used, room,
               "firstInstance is %" PRIu32 ", but drawIndirectFirstInstance is not enabled",
               get_first_instance(arguments, index));
      return;
   }

   get_groups(arguments, index, groups);
   const char *what = arguments->type == GPUVAL_ARGUMENTS_TRACE_RAYS ||
                            arguments->type == GPUVAL_ARGUMENTS_TRACE_RAYS2
                         ? "rays"
                         : "workgroups";
   used += snprintf(out + used, room, "%" PRIu32 " x %" PRIu32 " x %" PRIu32 " %s", groups[0],
                    groups[1], groups[2], what);
   room = GPUVAL_FAILURE_DETAIL_SIZE - used;
   if (groups_are_valid(limits, groups))
      snprintf(out + used, room, ", strides of tables above the limit of %" PRIu64, limits->stride);
   else if (product_exceeds(groups, limits->total))
      snprintf(out + used, room, " are above the limit of %" PRIu64, limits->total);
   else
      snprintf(out + used, room, " are above the limits of %" PRIu64 " x %" PRIu64 " x %" PRIu64,
               limits->groups[0], limits->groups[1], limits->groups[2]);
}

unsigned
gpuval_check_arguments(const struct gpuval_arguments *arguments,
                       const struct gpuval_arguments_limits *limits,
                       struct gpuval_command_failure *failures)
{
   uint32_t inside = gpuval_arguments_inside(arguments);
   unsigned num_failures = 0;

   if (inside < arguments->count) {
      struct gpuval_command_failure *failure = &failures[num_failures++];
      *failure = (struct gpuval_command_failure){
         .kind =
            arguments->counted ? GPUVAL_KIND_INDIRECT_COUNT : GPUVAL_KIND_INDIRECT_ARGUMENT_OOB,
         .op = GPUVAL_OP_INDIRECT,
         .count = arguments->count - inside,
         .offset = arguments->offset + arguments->stride * inside,
         .size = gpuval_arguments_size(arguments->type),
         .range = arguments->range,
      };
      if (arguments->counted)
         snprintf(failure->detail, sizeof(failure->detail),
                  "the count is %" PRIu32 ", arguments are there for %" PRIu32, arguments->count,
                  inside);
      else
         print_index(arguments, inside, failure->detail);
   }

   uint32_t first = 0;
   uint64_t invalid = 0;
   bool looks = arguments->data && !(is_vertex_draw(arguments->type) && limits->first_instance);
   uint32_t num_known = arguments->num_known ? MIN2(inside, arguments->num_known) : inside;
   for (uint32_t i = 0; looks && i < num_known; i++) {
      if (!gpuval_arguments_are_valid(arguments, limits, i) && !invalid++)
         first = i;
   }
   if (invalid) {
      struct gpuval_command_failure *failure = &failures[num_failures++];
      *failure = (struct gpuval_command_failure){
         .kind = is_vertex_draw(arguments->type) ? GPUVAL_KIND_INDIRECT_FIRST_INSTANCE
                                                 : GPUVAL_KIND_INDIRECT_LIMIT,
         .op = GPUVAL_OP_INDIRECT,
         .count = invalid,
         .offset = arguments->offset + arguments->stride * first,
         .size = gpuval_arguments_size(arguments->type),
         .range = arguments->range,
      };
      describe_invalid(arguments, limits, first, failure->detail);
   }
   return num_failures;
}

struct gpuval_command_range
gpuval_find_range(struct gpuval_device *device, uint64_t address, uint64_t size)
{
   struct gpuval_command_range range = {.binding = -1};

   if (address && gpuval_device_find_buffer(device, address, size, &range)) {
      uint64_t offset = address - range.address;
      range.object_offset += offset;
      range.size = MIN2(range.size - offset, size);
   }
   range.type = "address";
   range.address = address;
   return range;
}

bool
gpuval_check_argument_bytes(const struct gpuval_command_range *range, uint64_t offset,
                            uint32_t size, const char *what, struct gpuval_command_failure *failure)
{
   if (size <= range->size && offset <= range->size - size)
      return false;

   *failure = (struct gpuval_command_failure){
      .kind = GPUVAL_KIND_INDIRECT_ARGUMENT_OOB,
      .op = GPUVAL_OP_INDIRECT,
      .count = 1,
      .offset = offset,
      .size = size,
      .range = *range,
   };
   snprintf(failure->detail, sizeof(failure->detail), "%s", what);
   return true;
}
