/* SPDX-License-Identifier: MIT */

/*
 * The program of a scenario: creates a device with what the scenario uses,
 * executes the statements of [run], and writes down the memory it leaves.
 */

#include "scenario_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Words ---------------------------------------------------------------- */

bool
run_has_word(const struct run *run, unsigned i)
{
   return i < run->statement->word_count;
}

const char *
run_word(struct run *run, unsigned i)
{
   if (!run_has_word(run, i))
      RUN_ERROR(run, "%s needs more words", run->statement->words[0]);
   return run->statement->words[i];
}

uint64_t
run_number(struct run *run, unsigned i)
{
   char *end;
   const char *word = run_word(run, i);
   const uint64_t value = strtoull(word, &end, 0);
   if (end == word || *end)
      RUN_ERROR(run, "'%s' is no number", word);
   return value;
}

uint64_t
run_number_or(struct run *run, unsigned i, uint64_t fallback)
{
   return run_has_word(run, i) ? run_number(run, i) : fallback;
}

const char *
run_debug_name(const struct run *run, const char *name)
{
   return run->names ? name : NULL;
}

struct run_buffer *
run_find_buffer(struct run *run, const char *name)
{
   for (unsigned i = 0; i < run->buffer_count; i++) {
      if (strcmp(run->buffers[i].name, name) == 0)
         return &run->buffers[i];
   }
   RUN_ERROR(run, "there is no buffer %s", name);
}

/* Returns the bytes written to `out` (at most 8). */
static size_t
parse_value(struct run *run, const char *type, const char *word, void *out)
{
   char *end;
   const unsigned bits = (unsigned)atoi(type + 1);
   const double real = strtod(word, &end);

   if (*end && type[0] == 'f')
      RUN_ERROR(run, "'%s' is no number", word);
   if (strcmp(type, "f32") == 0) {
      const float value = (float)real;
      memcpy(out, &value, 4);
   } else if (strcmp(type, "f64") == 0) {
      memcpy(out, &real, 8);
   } else if ((type[0] == 'u' || type[0] == 'i') && bits && bits % 8 == 0 && bits <= 64) {
      const uint64_t value = strtoull(word, &end, 0);
      if (*end)
         RUN_ERROR(run, "'%s' is no whole number", word);
      memcpy(out, &value, bits / 8);
   } else {
      RUN_ERROR(run, "%s is no type", type);
   }
   return bits / 8;
}

size_t
run_values(struct run *run, const char *type, unsigned first, void *out, size_t capacity)
{
   size_t used = 0;
   for (unsigned i = first; run_has_word(run, i); i++) {
      uint64_t value;
      const size_t size = parse_value(run, type, run_word(run, i), &value);
      if (used + size > capacity)
         RUN_ERROR(run, "too many values");
      memcpy((char *)out + used, &value, size);
      used += size;
   }
   return used;
}

/* --- Device --------------------------------------------------------------- */

/* Feature structs of extensions; the chain has those that are wanted. */
struct wanted {
   const char *extensions[32];
   unsigned extension_count;
   void *chain;
   bool robust_buffer_access;
   bool compute_queue;
   bool device_memory;

   VkPhysicalDeviceMeshShaderFeaturesEXT mesh;
   VkPhysicalDeviceAccelerationStructureFeaturesKHR accel;
   VkPhysicalDeviceRayTracingPipelineFeaturesKHR rays;
   VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT library;
   VkPhysicalDeviceShaderObjectFeaturesEXT shader_object;
   VkPhysicalDeviceDescriptorBufferFeaturesEXT descriptor_buffer;
   VkPhysicalDeviceRobustness2FeaturesEXT robustness2;
   VkPhysicalDevicePipelineRobustnessFeaturesEXT pipeline_robustness;
   VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float;
   VkPhysicalDeviceConditionalRenderingFeaturesEXT conditional;
   VkPhysicalDeviceShaderExpectAssumeFeaturesKHR expect_assume;
};

static void
want_extension(struct wanted *wanted, const char *name)
{
   for (unsigned i = 0; i < wanted->extension_count; i++) {
      if (strcmp(wanted->extensions[i], name) == 0)
         return;
   }
   if (wanted->extension_count == VKH_COUNT(wanted->extensions))
      vkh_die("too many extensions");
   wanted->extensions[wanted->extension_count++] = name;
}

/* Chains a feature struct, once; its members are the caller's to set. */
static void
want_struct(struct wanted *wanted, void *features, VkStructureType type)
{
   VkBaseOutStructure *base = features;
   if (base->sType == type)
      return;
   base->sType = type;
   base->pNext = wanted->chain;
   wanted->chain = base;
}

static void
want_robustness(struct wanted *wanted, const char *name)
{
   want_extension(wanted, VK_EXT_ROBUSTNESS_2_EXTENSION_NAME);
   want_struct(wanted, &wanted->robustness2,
               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT);
   if (strcmp(name, "nullDescriptor") == 0) {
      wanted->robustness2.nullDescriptor = VK_TRUE;
   } else {
      wanted->robustness2.robustBufferAccess2 = VK_TRUE;
      wanted->robust_buffer_access = true;
   }
}

/* `feature NAME` */
static void
want_feature(struct run *run, struct wanted *wanted)
{
   const char *name = run_word(run, 1);

   if (strcmp(name, "robustBufferAccess") == 0) {
      wanted->robust_buffer_access = true;
   } else if (strcmp(name, "robustBufferAccess2") == 0 || strcmp(name, "nullDescriptor") == 0) {
      want_robustness(wanted, name);
   } else if (strcmp(name, "pipelineRobustness") == 0) {
      want_extension(wanted, VK_EXT_PIPELINE_ROBUSTNESS_EXTENSION_NAME);
      want_struct(wanted, &wanted->pipeline_robustness,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_ROBUSTNESS_FEATURES_EXT);
      wanted->pipeline_robustness.pipelineRobustness = VK_TRUE;
   } else if (strcmp(name, "shaderBufferFloat32AtomicAdd") == 0) {
      want_extension(wanted, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
      want_struct(wanted, &wanted->atomic_float,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT);
      wanted->atomic_float.shaderBufferFloat32AtomicAdd = VK_TRUE;
   } else {
      RUN_ERROR(run, "%s is not known here, or enabled anyway", name);
   }
}

static void
want_update(struct wanted *wanted, const char *update)
{
   if (strcmp(update, "push") == 0) {
      want_extension(wanted, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
   } else if (strcmp(update, "buffer") == 0) {
      want_extension(wanted, VK_EXT_DESCRIPTOR_BUFFER_EXTENSION_NAME);
      want_struct(wanted, &wanted->descriptor_buffer,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_FEATURES_EXT);
      wanted->descriptor_buffer.descriptorBuffer = VK_TRUE;
   }
}

static void
want_stage(struct wanted *wanted, const struct scenario_section *section)
{
   if (section->stage->bit == VK_SHADER_STAGE_MESH_BIT_EXT) {
      want_extension(wanted, VK_EXT_MESH_SHADER_EXTENSION_NAME);
      want_struct(wanted, &wanted->mesh,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT);
      wanted->mesh.meshShader = VK_TRUE;
      wanted->mesh.taskShader = VK_TRUE;
   } else if (section->stage->bit == VK_SHADER_STAGE_RAYGEN_BIT_KHR) {
      want_extension(wanted, VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME);
      want_extension(wanted, VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME);
      want_extension(wanted, VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME);
      want_struct(wanted, &wanted->accel,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR);
      want_struct(wanted, &wanted->rays,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR);
      wanted->accel.accelerationStructure = VK_TRUE;
      wanted->rays.rayTracingPipeline = VK_TRUE;
      wanted->rays.rayTracingPipelineTraceRaysIndirect = VK_TRUE;
   }
   if (strstr(section->text, "SPV_KHR_expect_assume")) {
      want_extension(wanted, VK_KHR_SHADER_EXPECT_ASSUME_EXTENSION_NAME);
      want_struct(wanted, &wanted->expect_assume,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_EXPECT_ASSUME_FEATURES_KHR);
      wanted->expect_assume.shaderExpectAssume = VK_TRUE;
   }
}

static void
want_kind(struct wanted *wanted, enum scenario_kind kind)
{
   switch (kind) {
   case SCENARIO_LIBRARY:
   case SCENARIO_LIBRARY_LTO:
      want_extension(wanted, VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME);
      want_extension(wanted, VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME);
      want_struct(wanted, &wanted->library,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT);
      wanted->library.graphicsPipelineLibrary = VK_TRUE;
      break;
   case SCENARIO_SHADER_OBJECT:
   case SCENARIO_SHADER_OBJECT_BINARY:
      want_extension(wanted, VK_EXT_SHADER_OBJECT_EXTENSION_NAME);
      want_struct(wanted, &wanted->shader_object,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT);
      wanted->shader_object.shaderObject = VK_TRUE;
      break;
   default:
      break;
   }
}

/* Reads ahead what has to be known before the device and the layouts are. */
static void
read_ahead(struct run *run, struct wanted *wanted)
{
   const struct scenario *scenario = run->scenario;

   for (unsigned i = 0; i < scenario->statement_count; i++) {
      run->statement = &scenario->statements[i];
      const char *word = run_word(run, 0);
      if (strcmp(word, "feature") == 0) {
         want_feature(run, wanted);
      } else if (strcmp(word, "extension") == 0) {
         want_extension(wanted, run_word(run, 1));
      } else if (strcmp(word, "update") == 0) {
         want_update(wanted, run_word(run, 2));
      } else if (strcmp(word, "compute_queue") == 0) {
         wanted->compute_queue = true;
      } else if (strcmp(word, "conditional") == 0) {
         want_extension(wanted, VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME);
         want_struct(wanted, &wanted->conditional,
                     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT);
         wanted->conditional.conditionalRendering = VK_TRUE;
      } else if (strcmp(word, "device_memory") == 0) {
         wanted->device_memory = true;
      } else if (strcmp(word, "unnamed") == 0) {
         run->names = false;
      } else if (strcmp(word, "push") == 0) {
         run->push_size = MAX_PUSH;
      } else if (strcmp(word, "resubmit") == 0) {
         run->resubmits = true;
      } else if (strcmp(word, "target") == 0) {
         run->width = (unsigned)run_number(run, 1);
         run->height = (unsigned)run_number(run, 2);
      } else if (strcmp(word, "depth") == 0) {
         run->has_depth = true;
         run->clear_depth = strtof(run_word(run, 1), NULL);
      }
   }
   for (unsigned i = 0; i < scenario->section_count; i++)
      want_stage(wanted, &scenario->sections[i]);
   run->statement = NULL;
}

/* May be called by a thread of the driver, hence one fprintf() a message. */
static VkBool32 VKAPI_PTR
on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
           VkDebugUtilsMessageTypeFlagsEXT message_types,
           const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
   const struct run *run = user;
   const char *id = data->pMessageIdName ? data->pMessageIdName : "";

   if (strcmp(id, "gpuval-printf-message") == 0 &&
       severity == VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT) {
      scenario_printf_write_message(run->messages, data->pMessage);
   } else if (strncmp(id, "gpuval-", 7) == 0) {
      const bool error = severity == VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT &&
                         message_types == VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
      fprintf(run->messages, "%s%s %.*s\n", error ? "" : "not-an-error ", id,
              (int)strcspn(data->pMessage, "\n"), data->pMessage);
      fflush(run->messages);
   } else if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT) {
      /* Of validation layers */
      fprintf(stderr, "%s: %s\n", id, data->pMessage);
   }
   return VK_FALSE;
}

static FILE *
open_result(const struct run *run, const char *name, const char *ending, const char *mode)
{
   char *path = scenario_format("%s/%s.%s", run->folder, name, ending);
   FILE *file = fopen(path, mode);
   if (!file)
      vkh_die("cannot write %s", path);
   free(path);
   return file;
}

static void
create_device(struct run *run)
{
   struct wanted wanted = {0};
   want_kind(&wanted, run->kind);
   read_ahead(run, &wanted);

   const struct vkh_options options = {
      .application = run->scenario->path,
      .extensions = wanted.extensions,
      .extension_count = wanted.extension_count,
      .features_next = wanted.chain,
      .robust_buffer_access = wanted.robust_buffer_access,
      .compute_queue = wanted.compute_queue,
      .device_memory = wanted.device_memory,
      .messenger = on_message,
      .messenger_data = run,
   };
   run->ctx = vkh_context_create(&options);
   if (run->compile_only)
      return;
   run->color = vkh_image_create(run->ctx, run->color_format, run->width, run->height,
                                 run_debug_name(run, "color"));
   if (run->has_depth)
      run->depth = vkh_image_create(run->ctx, VK_FORMAT_D32_SFLOAT, run->width, run->height,
                                    run_debug_name(run, "depth"));
}

/* --- Command buffers ------------------------------------------------------ */

VkCommandBuffer
run_need_commands(struct run *run)
{
   if (!run->cmd) {
      run->cmd = run->resubmits ? run_begin_reusable(run) : vkh_begin(run->ctx);
      vkh_name(run->ctx, VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)run->cmd,
               run->cmd_name);
      run->cmd_name = NULL;
   }
   return run->cmd;
}

void
run_end_rendering(struct run *run)
{
   if (run->rendering)
      vkCmdEndRendering(run->cmd);
   run->rendering = false;
}

static void
begin_rendering(struct run *run, VkRenderingFlags flags)
{
   const struct vkh_target target = {
      .color = &run->color,
      .depth = run->has_depth ? &run->depth : NULL,
      .load = run->cleared,
      .clear_depth = run->clear_depth,
      .flags = flags,
   };
   if (run->rendering)
      return;
   vkh_begin_rendering(run_need_commands(run), &target);
   run->cleared = true;
   run->rendering = true;
}

/* Binds all that the current pipeline needs, and starts or ends rendering. */
struct run_pipeline *
run_prepare_command(struct run *run)
{
   if (run->current_pipeline < 0)
      RUN_ERROR(run, "no pipeline yet");
   struct run_pipeline *pipeline = &run->pipelines[run->current_pipeline];
   const bool graphics = pipeline->bind_point == VK_PIPELINE_BIND_POINT_GRAPHICS;

   run_need_commands(run);
   if (!run->in_secondary && !run->in_pass && graphics)
      begin_rendering(run, 0);
   else if (!graphics)
      run_end_rendering(run);
   run_bind_pipeline(run, pipeline);
   run_bind_sets(run, pipeline);
   if (run->push_size)
      vkCmdPushConstants(run->cmd, run->layout, VK_SHADER_STAGE_ALL, 0, run->push_size, run->push);
   return pipeline;
}

static void
finish_process(enum scenario_finish finish)
{
   if (finish == SCENARIO_FINISH_ABORT || finish == SCENARIO_FINISH_ABORT_FENCE)
      abort();
   exit(0);
}

/* Submits what was recorded. The last submit is the place where `finish` may
 * end the process.
 */
static void
submit(struct run *run, bool last)
{
   const enum scenario_finish finish = run->scenario->finish;
   const bool busy = finish == SCENARIO_FINISH_DESTROY_BUSY || finish == SCENARIO_FINISH_EXIT_BUSY;

   if (!run->cmd)
      return;
   run_end_rendering(run);
   VkCommandBuffer cmd = run->cmd;
   run->cmd = VK_NULL_HANDLE;
   if (!last || finish == SCENARIO_FINISH_DESTROY) {
      vkh_barrier(cmd);
      vkh_submit_wait(run->ctx, cmd);
      return;
   }

   VkFence fence = VK_NULL_HANDLE;
   if (finish == SCENARIO_FINISH_ABORT_FENCE) {
      const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
      VKH_CHECK(vkCreateFence(run->ctx->device, &info, NULL, &fence));
   }
   vkh_submit(run->ctx, cmd, fence);
   if (fence)
      VKH_CHECK(vkWaitForFences(run->ctx->device, 1, &fence, VK_TRUE, UINT64_MAX));
   else if (!busy)
      VKH_CHECK(vkQueueWaitIdle(run->ctx->queue));
   if (finish != SCENARIO_FINISH_DESTROY_BUSY)
      finish_process(finish);
}

/* --- Statements: resources ------------------------------------------------ */

/* `buffer NAME BYTES` */
static void
do_buffer(struct run *run)
{
   run->buffers = scenario_grow(run->buffers, &run->buffer_count, sizeof(*run->buffers));
   struct run_buffer *buffer = &run->buffers[run->buffer_count - 1];
   buffer->name = run_word(run, 1);
   buffer->vk = vkh_buffer_create(run->ctx, run_number(run, 2), run_debug_name(run, buffer->name));
}

/* `data NAME OFFSET TYPE VALUE…` */
static void
do_data(struct run *run)
{
   struct run_buffer *buffer = run_find_buffer(run, run_word(run, 1));
   const uint64_t offset = run_number(run, 2);
   if (offset > buffer->vk.size)
      RUN_ERROR(run, "the offset is behind the buffer's end");
   run_values(run, run_word(run, 3), 4, (char *)buffer->vk.map + offset, buffer->vk.size - offset);
}

/* `fill NAME TYPE VALUE` */
static void
do_fill(struct run *run)
{
   struct run_buffer *buffer = run_find_buffer(run, run_word(run, 1));
   uint64_t value;
   const size_t size = parse_value(run, run_word(run, 2), run_word(run, 3), &value);
   for (size_t at = 0; at + size <= buffer->vk.size; at += size)
      memcpy((char *)buffer->vk.map + at, &value, size);
}

/* `address BUFFER OFFSET OTHER`: writes the device address of OTHER. */
static void
do_address(struct run *run)
{
   struct run_buffer *buffer = run_find_buffer(run, run_word(run, 1));
   const uint64_t offset = run_number(run, 2);
   if (offset + 8 > buffer->vk.size)
      RUN_ERROR(run, "the offset is behind the buffer's end");
   memcpy((char *)buffer->vk.map + offset, &run_find_buffer(run, run_word(run, 3))->vk.address, 8);
}

/* `push OFFSET TYPE VALUE…` */
static void
do_push(struct run *run)
{
   const uint64_t offset = run_number(run, 1);
   if (offset > MAX_PUSH)
      RUN_ERROR(run, "there are %u bytes of push constants", MAX_PUSH);
   run_values(run, run_word(run, 2), 3, run->push + offset, MAX_PUSH - offset);
}

/* `check BUFFER OFFSET TYPE VALUE…`, after everything submitted so far. */
static void
do_check(struct run *run)
{
   uint8_t expected[256];
   submit(run, false);
   const struct run_buffer *buffer = run_find_buffer(run, run_word(run, 1));
   const uint64_t offset = run_number(run, 2);
   const char *type = run_word(run, 3);
   const size_t size = run_values(run, type, 4, expected, sizeof(expected));
   const size_t step = (size_t)atoi(type + 1) / 8;
   if (offset + size > buffer->vk.size)
      RUN_ERROR(run, "the values are behind the buffer's end");

   const uint8_t *got = (const uint8_t *)buffer->vk.map + offset;
   for (size_t i = 0; i < size; i += step) {
      uint64_t value = 0;
      if (memcmp(got + i, expected + i, step) == 0)
         continue;
      memcpy(&value, got + i, step);
      printf("%s:%u: %s at byte %llu: expected %s, got 0x%llx\n", run->scenario->path,
             run->statement->line, buffer->name, (unsigned long long)(offset + i),
             run_word(run, 4 + (unsigned)(i / step)), (unsigned long long)value);
      exit(1);
   }
}

static void
do_check_on(struct run *run)
{
   if (run->checks_on)
      do_check(run);
}

static void
do_check_off(struct run *run)
{
   if (!run->checks_on)
      do_check(run);
}

/* --- Statements: commands ------------------------------------------------- */

static void
do_use(struct run *run)
{
   for (unsigned i = 0; i < run->pipeline_count; i++) {
      if (strcmp(run->pipelines[i].name, run_word(run, 1)) == 0) {
         run->current_pipeline = (int)i;
         return;
      }
   }
   RUN_ERROR(run, "there is no pipeline %s", run_word(run, 1));
}

static void
do_dispatch(struct run *run)
{
   run_prepare_command(run);
   vkCmdDispatch(run->cmd, (uint32_t)run_number(run, 1), (uint32_t)run_number_or(run, 2, 1),
                 (uint32_t)run_number_or(run, 3, 1));
}

static void
do_dispatch_base(struct run *run)
{
   run_prepare_command(run);
   vkCmdDispatchBase(run->cmd, (uint32_t)run_number(run, 1), (uint32_t)run_number(run, 2),
                     (uint32_t)run_number(run, 3), (uint32_t)run_number(run, 4),
                     (uint32_t)run_number(run, 5), (uint32_t)run_number(run, 6));
}

/* `draw VERTICES [INSTANCES [FIRST_VERTEX [FIRST_INSTANCE]]]` */
static void
do_draw(struct run *run)
{
   run_prepare_command(run);
   vkCmdDraw(run->cmd, (uint32_t)run_number(run, 1), (uint32_t)run_number_or(run, 2, 1),
             (uint32_t)run_number_or(run, 3, 0), (uint32_t)run_number_or(run, 4, 0));
}

/* `draw_indexed INDEX_BUFFER INDICES [INSTANCES]`, 32-bit indices */
static void
do_draw_indexed(struct run *run)
{
   run_prepare_command(run);
   vkCmdBindIndexBuffer(run->cmd, run_find_buffer(run, run_word(run, 1))->vk.buffer, 0,
                        VK_INDEX_TYPE_UINT32);
   vkCmdDrawIndexed(run->cmd, (uint32_t)run_number(run, 2), (uint32_t)run_number_or(run, 3, 1), 0,
                    0, 0);
}

static void
do_draw_mesh(struct run *run)
{
   run_prepare_command(run);
   VKH_PROC(run->ctx, vkCmdDrawMeshTasksEXT)
   (run->cmd, (uint32_t)run_number(run, 1), (uint32_t)run_number_or(run, 2, 1),
    (uint32_t)run_number_or(run, 3, 1));
}

static void
do_trace(struct run *run)
{
   const struct run_pipeline *pipeline = run_prepare_command(run);
   VKH_PROC(run->ctx, vkCmdTraceRaysKHR)
   (run->cmd, &pipeline->regions[0], &pipeline->regions[1], &pipeline->regions[2],
    &pipeline->regions[3], (uint32_t)run_number(run, 1), (uint32_t)run_number_or(run, 2, 1),
    (uint32_t)run_number_or(run, 3, 1));
}

/* `fill_buffer BUFFER OFFSET BYTES VALUE` */
static void
do_fill_buffer(struct run *run)
{
   run_end_rendering(run);
   vkCmdFillBuffer(run_need_commands(run), run_find_buffer(run, run_word(run, 1))->vk.buffer,
                   run_number(run, 2), run_number(run, 3), (uint32_t)run_number(run, 4));
}

/* `update_buffer BUFFER OFFSET TYPE VALUE…` */
static void
do_update_buffer(struct run *run)
{
   uint8_t data[256];
   const size_t size = run_values(run, run_word(run, 3), 4, data, sizeof(data));
   run_end_rendering(run);
   vkCmdUpdateBuffer(run_need_commands(run), run_find_buffer(run, run_word(run, 1))->vk.buffer,
                     run_number(run, 2), size, data);
}

/* `copy_buffer FROM OFFSET TO OFFSET BYTES` */
static void
do_copy_buffer(struct run *run)
{
   const VkBufferCopy region = {run_number(run, 2), run_number(run, 4), run_number(run, 5)};
   run_end_rendering(run);
   vkCmdCopyBuffer(run_need_commands(run), run_find_buffer(run, run_word(run, 1))->vk.buffer,
                   run_find_buffer(run, run_word(run, 3))->vk.buffer, 1, &region);
}

/* `conditional BUFFER OFFSET [inverted]` */
static void
do_conditional(struct run *run)
{
   const VkConditionalRenderingBeginInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT,
      .buffer = run_find_buffer(run, run_word(run, 1))->vk.buffer,
      .offset = run_number(run, 2),
      .flags = run_has_word(run, 3) ? VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT : 0,
   };
   run_end_rendering(run);
   VKH_PROC(run->ctx, vkCmdBeginConditionalRenderingEXT)(run_need_commands(run), &info);
}

static void
do_conditional_end(struct run *run)
{
   run_end_rendering(run);
   VKH_PROC(run->ctx, vkCmdEndConditionalRenderingEXT)(run_need_commands(run));
}

static void
do_label(struct run *run)
{
   run_end_rendering(run);
   vkh_label_begin(run->ctx, run_need_commands(run), run_word(run, 1));
}

static void
do_label_end(struct run *run)
{
   run_end_rendering(run);
   vkh_label_end(run->ctx, run_need_commands(run));
}

static void
do_label_insert(struct run *run)
{
   vkh_label_insert(run->ctx, run_need_commands(run), run_word(run, 1));
}

/* `command_buffer NAME`: the name of the next one. */
static void
do_command_buffer(struct run *run)
{
   submit(run, false);
   run->cmd_name = run_debug_name(run, run_word(run, 1));
}

/* `submit`, or `submit WORD…`, which neither waits nor puts a barrier at the end */
static void
do_submit(struct run *run)
{
   if (!run_has_word(run, 1)) {
      submit(run, false);
      return;
   }
   run_end_rendering(run);
   VkCommandBuffer cmd = run_need_commands(run);
   run->cmd = VK_NULL_HANDLE;
   VKH_CHECK(vkEndCommandBuffer(cmd));
   run_submit(run, cmd);
}

/* --- Statements: secondary command buffers -------------------------------- */

/* `secondary NAME [render]`: records until `secondary_end`. */
static void
do_secondary(struct run *run)
{
   const bool render = run_has_word(run, 2);
   run_end_rendering(run);
   run->secondaries =
      scenario_grow(run->secondaries, &run->secondary_count, sizeof(*run->secondaries));
   struct run_secondary *secondary = &run->secondaries[run->secondary_count - 1];
   secondary->name = run_word(run, 1);

   const VkCommandBufferAllocateInfo allocate_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = run->ctx->command_pool,
      .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
      .commandBufferCount = 1,
   };
   VKH_CHECK(vkAllocateCommandBuffers(run->ctx->device, &allocate_info, &secondary->cmd));
   vkh_name(run->ctx, VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)secondary->cmd,
            run_debug_name(run, secondary->name));

   const VkCommandBufferInheritanceRenderingInfo rendering = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
      .colorAttachmentCount = 1,
      .pColorAttachmentFormats = &run->color_format,
      .depthAttachmentFormat = run->has_depth ? VK_FORMAT_D32_SFLOAT : VK_FORMAT_UNDEFINED,
      .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
   };
   const VkCommandBufferInheritanceInfo inheritance = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
      .pNext = render ? &rendering : NULL,
   };
   const VkCommandBufferBeginInfo begin = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
      .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT |
               (render ? VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT : 0),
      .pInheritanceInfo = &inheritance,
   };
   VKH_CHECK(vkBeginCommandBuffer(secondary->cmd, &begin));
   if (render)
      vkh_set_viewport(secondary->cmd, run->width, run->height);

   run->in_secondary = true;
   run->secondary_renders = render;
   run->primary = run->cmd;
   run->cmd = secondary->cmd;
}

static void
do_secondary_end(struct run *run)
{
   if (!run->in_secondary)
      RUN_ERROR(run, "no secondary command buffer is being recorded");
   VKH_CHECK(vkEndCommandBuffer(run->cmd));
   run->cmd = run->primary;
   run->in_secondary = false;
}

static struct run_secondary *
find_secondary(struct run *run, const char *name)
{
   for (unsigned i = 0; i < run->secondary_count; i++) {
      if (strcmp(run->secondaries[i].name, name) == 0)
         return &run->secondaries[i];
   }
   RUN_ERROR(run, "there is no secondary command buffer %s", name);
}

/* `execute NAME…` or `execute_rendering NAME…` */
static void
execute(struct run *run, bool render)
{
   VkCommandBuffer cmds[16];
   unsigned count = 0;
   for (unsigned i = 1; run_has_word(run, i) && count < VKH_COUNT(cmds); i++)
      cmds[count++] = find_secondary(run, run_word(run, i))->cmd;

   run_end_rendering(run);
   if (render)
      begin_rendering(run, VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
   vkCmdExecuteCommands(run_need_commands(run), count, cmds);
   run_end_rendering(run);
}

static void
do_execute(struct run *run)
{
   execute(run, false);
}

static void
do_execute_rendering(struct run *run)
{
   execute(run, true);
}

/* --- The program ---------------------------------------------------------- */

/* Of statements that take effect before anything runs. */
static void
do_nothing(struct run *run)
{
}

static const struct {
   const char *word;
   void (*execute)(struct run *run);
} statements[] = {
   {"address", do_address},
   {"barrier", run_barrier},
   {"begin_pass", run_begin_pass},
   {"bind", run_bind},
   {"buffer", do_buffer},
   {"check", do_check},
   {"check_off", do_check_off},
   {"check_on", do_check_on},
   {"command_buffer", do_command_buffer},
   {"compute_queue", do_nothing},
   {"conditional", do_conditional},
   {"conditional_end", do_conditional_end},
   {"copy_buffer", do_copy_buffer},
   {"count", do_nothing},
   {"data", do_data},
   {"depth", do_nothing},
   {"device_memory", do_nothing},
   {"dispatch", do_dispatch},
   {"dispatch_base", do_dispatch_base},
   {"dispatch_indirect", run_dispatch_indirect},
   {"draw", do_draw},
   {"draw_indexed", do_draw_indexed},
   {"draw_indexed_indirect", run_draw_indexed_indirect},
   {"draw_indirect", run_draw_indirect},
   {"draw_indirect_count", run_draw_indirect_count},
   {"draw_mesh", do_draw_mesh},
   {"draw_mesh_indirect", run_draw_mesh_indirect},
   {"end_pass", run_end_pass},
   {"execute", do_execute},
   {"execute_rendering", do_execute_rendering},
   {"extension", do_nothing},
   {"feature", do_nothing},
   {"fill", do_fill},
   {"fill_buffer", do_fill_buffer},
   {"flags", do_nothing},
   {"label", do_label},
   {"label_end", do_label_end},
   {"label_insert", do_label_insert},
   {"next_subpass", run_next_subpass},
   {"offsets", run_offsets},
   {"pipeline", run_create_pipeline},
   {"poll_event", run_poll_event},
   {"poll_fence", run_poll_fence},
   {"poll_semaphore", run_poll_semaphore},
   {"push", do_push},
   {"render_pass", run_create_pass},
   {"resubmit", run_resubmit},
   {"scene", run_create_scene},
   {"secondary", do_secondary},
   {"secondary_end", do_secondary_end},
   {"set_event", run_set_event},
   {"submit", do_submit},
   {"target", do_nothing},
   {"trace", do_trace},
   {"trace_indirect", run_trace_indirect},
   {"unnamed", do_nothing},
   {"update", do_nothing},
   {"update_buffer", do_update_buffer},
   {"use", do_use},
   {"wait_event", run_wait_event},
   {"wait_fence", run_wait_fence},
   {"wait_idle", run_wait_idle},
   {"wait_semaphore", run_wait_semaphore},
};

static void
execute_statement(struct run *run)
{
   for (unsigned i = 0; i < VKH_COUNT(statements); i++) {
      if (strcmp(statements[i].word, run_word(run, 0)) == 0) {
         statements[i].execute(run);
         return;
      }
   }
   RUN_ERROR(run, "%s is no statement", run_word(run, 0));
}

static void
dump_memory(FILE *file, const char *name, const void *data, size_t size)
{
   fprintf(file, "%s %zu\n", name, size);
   fwrite(data, 1, size, file);
}

static void
dump_image(struct run *run, FILE *file, const char *name, const struct vkh_image *image)
{
   const size_t size = vkh_image_bytes(image);
   void *pixels = malloc(size);
   if (!pixels)
      vkh_die("out of memory");
   vkh_image_read(run->ctx, image, pixels);
   dump_memory(file, name, pixels, size);
   free(pixels);
}

/* The memory that the program leaves, for a comparison with another run. */
static void
dump_results(struct run *run, const char *name)
{
   FILE *file = open_result(run, name, "dump", "wb");
   for (unsigned i = 0; i < run->buffer_count; i++)
      dump_memory(file, run->buffers[i].name, run->buffers[i].vk.map, run->buffers[i].vk.size);
   if (run->cleared)
      dump_image(run, file, "color", &run->color);
   if (run->cleared && run->has_depth)
      dump_image(run, file, "depth", &run->depth);
   if (fclose(file) != 0)
      vkh_die("cannot write the memory's contents");
}

static void
destroy(struct run *run)
{
   run_destroy_pipelines(run);
   run_destroy_sets(run);
   run_destroy_scene(run);
   run_destroy_barriers(run);
   for (unsigned i = 0; i < run->buffer_count; i++)
      vkh_buffer_destroy(run->ctx, &run->buffers[i].vk);
   vkh_image_destroy(run->ctx, &run->color);
   if (run->has_depth)
      vkh_image_destroy(run->ctx, &run->depth);
   vkh_context_destroy(run->ctx);
   free(run->modules);
   free(run->codes);
   free(run->code_sizes);
}

/* Statements that make pipelines, or what they are made of */
static bool
is_compiled(const char *word)
{
   return strcmp(word, "pipeline") == 0 || strcmp(word, "render_pass") == 0;
}

static int
run_once(const struct scenario *scenario, const char *folder, const char *name,
         enum scenario_kind kind, bool checks_on)
{
   struct run run = {
      .scenario = scenario,
      .folder = folder,
      .kind = kind,
      .checks_on = checks_on,
      .compile_only = getenv("GPUVAL_TEST_COMPILE_ONLY") != NULL,
      .names = true,
      .current_pipeline = -1,
      .color_format = VK_FORMAT_R8G8B8A8_UNORM,
      .width = 16,
      .height = 16,
   };
   run.modules = calloc(scenario->section_count, sizeof(*run.modules));
   run.codes = calloc(scenario->section_count, sizeof(*run.codes));
   run.code_sizes = calloc(scenario->section_count, sizeof(*run.code_sizes));
   if (!run.modules || !run.codes || !run.code_sizes)
      vkh_die("out of memory");

   run.messages = open_result(&run, name, "messages", "ab");
   create_device(&run);
   run_prepare_sets(&run);
   for (unsigned i = 0; i < scenario->statement_count; i++) {
      run.statement = &scenario->statements[i];
      if (!run.compile_only || is_compiled(run_word(&run, 0)))
         execute_statement(&run);
   }
   run.statement = NULL;
   if (run.compile_only)
      return 0; /* RADV's null winsys cannot even wait for nothing */
   submit(&run, true);
   run_finish_submits(&run);
   if (scenario->finish == SCENARIO_FINISH_DESTROY_BUSY) {
      vkDestroyDevice(run.ctx->device, NULL);
      vkDestroyInstance(run.ctx->instance, NULL);
      return 0;
   }
   dump_results(&run, name);
   destroy(&run);
   fclose(run.messages);
   return 0;
}

int
scenario_run(const struct scenario *scenario, const char *folder, const char *name,
             enum scenario_kind kind, bool checks_on)
{
   int status = 0;
   for (unsigned i = 0; i < scenario->devices && status == 0; i++)
      status = run_once(scenario, folder, name, kind, checks_on);
   return status;
}
