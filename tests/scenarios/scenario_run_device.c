/* SPDX-License-Identifier: MIT */

/*
 * The device of a scenario's program, with what the scenario uses: extensions,
 * features, and a messenger that writes down what it hears.
 */

#include "scenario_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Device --------------------------------------------------------------- */

/* Feature structs of extensions; the chain has those that are wanted. */
struct wanted {
   const char *extensions[32];
   unsigned extension_count;
   void *chain;
   bool robust_buffer_access, robust_image_access;
   bool presents;
   bool compute_queue;
   bool second_queue;
   bool exclusive_buffers;
   bool device_memory;
   bool no_first_instance;
   VkBufferUsageFlags buffer_usage;

   VkPhysicalDeviceMeshShaderFeaturesEXT mesh;
   VkPhysicalDeviceAccelerationStructureFeaturesKHR accel;
   VkPhysicalDeviceRayTracingPipelineFeaturesKHR rays;
   VkPhysicalDeviceRayQueryFeaturesKHR query;
   VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT library;
   VkPhysicalDeviceShaderObjectFeaturesEXT shader_object;
   VkPhysicalDeviceDescriptorBufferFeaturesEXT descriptor_buffer;
   VkPhysicalDeviceRobustness2FeaturesEXT robustness2;
   VkPhysicalDevicePipelineRobustnessFeaturesEXT pipeline_robustness;
   VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float;
   VkPhysicalDeviceConditionalRenderingFeaturesEXT conditional;
   VkPhysicalDeviceDeviceGeneratedCommandsFeaturesEXT generated;
   VkPhysicalDeviceMultiDrawFeaturesEXT multi_draw;
   VkPhysicalDeviceNestedCommandBufferFeaturesEXT nested;
   VkPhysicalDeviceIndexTypeUint8FeaturesEXT index_uint8;
   VkPhysicalDeviceVertexInputDynamicStateFeaturesEXT dynamic_input;
   VkPhysicalDeviceVertexAttributeDivisorFeaturesEXT divisor;
   VkPhysicalDeviceMaintenance5FeaturesKHR maintenance5;
   VkPhysicalDeviceMaintenance6FeaturesKHR maintenance6;
   VkPhysicalDeviceTransformFeedbackFeaturesEXT transform_feedback;
   VkPhysicalDeviceRayTracingMaintenance1FeaturesKHR rays_maintenance;
   VkPhysicalDeviceShaderExpectAssumeFeaturesKHR expect_assume;
   VkPhysicalDeviceMutableDescriptorTypeFeaturesEXT mutable_type;
   VkPhysicalDeviceHostImageCopyFeaturesEXT host_image_copy;
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
   } else if (strcmp(name, "robustImageAccess2") == 0) {
      wanted->robustness2.robustImageAccess2 = VK_TRUE;
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
   } else if (strcmp(name, "robustImageAccess") == 0) {
      wanted->robust_image_access = true;
   } else if (strcmp(name, "robustBufferAccess2") == 0 || strcmp(name, "nullDescriptor") == 0 ||
              strcmp(name, "robustImageAccess2") == 0) {
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
want_mutable(struct wanted *wanted)
{
   want_extension(wanted, VK_EXT_MUTABLE_DESCRIPTOR_TYPE_EXTENSION_NAME);
   want_struct(wanted, &wanted->mutable_type,
               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MUTABLE_DESCRIPTOR_TYPE_FEATURES_EXT);
   wanted->mutable_type.mutableDescriptorType = VK_TRUE;
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
want_structures(struct wanted *wanted)
{
   want_extension(wanted, VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME);
   want_extension(wanted, VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME);
   want_struct(wanted, &wanted->accel,
               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR);
   wanted->accel.accelerationStructure = VK_TRUE;
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
      want_structures(wanted);
      want_extension(wanted, VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME);
      want_struct(wanted, &wanted->rays,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR);
      wanted->rays.rayTracingPipeline = VK_TRUE;
      wanted->rays.rayTracingPipelineTraceRaysIndirect = VK_TRUE;
   }
   if (strstr(section->text, "GL_EXT_ray_query")) {
      want_structures(wanted);
      want_extension(wanted, VK_KHR_RAY_QUERY_EXTENSION_NAME);
      want_struct(wanted, &wanted->query, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_QUERY_FEATURES_KHR);
      wanted->query.rayQuery = VK_TRUE;
   }
   if (strstr(section->text, "SPV_KHR_expect_assume")) {
      want_extension(wanted, VK_KHR_SHADER_EXPECT_ASSUME_EXTENSION_NAME);
      want_struct(wanted, &wanted->expect_assume,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_EXPECT_ASSUME_FEATURES_KHR);
      wanted->expect_assume.shaderExpectAssume = VK_TRUE;
   }
}

static void
want_library(struct wanted *wanted)
{
   want_extension(wanted, VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME);
   want_extension(wanted, VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME);
   want_struct(wanted, &wanted->library,
               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT);
   wanted->library.graphicsPipelineLibrary = VK_TRUE;
}

static void
want_kind(struct wanted *wanted, enum scenario_kind kind)
{
   switch (kind) {
   case SCENARIO_LIBRARY:
   case SCENARIO_LIBRARY_LTO:
      want_library(wanted);
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

/* What draws read before a shader runs */
static void
want_inputs(struct run *run, struct wanted *wanted)
{
   const char *word = run_word(run, 0);

   if (strncmp(word, "draw_multi", 10) == 0) {
      want_extension(wanted, VK_EXT_MULTI_DRAW_EXTENSION_NAME);
      want_struct(wanted, &wanted->multi_draw,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTI_DRAW_FEATURES_EXT);
      wanted->multi_draw.multiDraw = VK_TRUE;
   } else if (strcmp(word, "generated") == 0) {
      want_extension(wanted, VK_KHR_MAINTENANCE_5_EXTENSION_NAME);
      want_extension(wanted, VK_EXT_DEVICE_GENERATED_COMMANDS_EXTENSION_NAME);
      want_struct(wanted, &wanted->generated,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_GENERATED_COMMANDS_FEATURES_EXT);
      wanted->generated.deviceGeneratedCommands = VK_TRUE;
   } else if (strcmp(word, "execute_nested") == 0) {
      want_extension(wanted, VK_EXT_NESTED_COMMAND_BUFFER_EXTENSION_NAME);
      want_struct(wanted, &wanted->nested,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_NESTED_COMMAND_BUFFER_FEATURES_EXT);
      wanted->nested.nestedCommandBuffer = VK_TRUE;
      wanted->nested.nestedCommandBufferRendering = VK_TRUE;
      wanted->nested.nestedCommandBufferSimultaneousUse = VK_TRUE;
   } else if (strcmp(word, "draw_byte_count") == 0 || strcmp(word, "draw_captured") == 0) {
      wanted->buffer_usage |= VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT |
                              VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_COUNTER_BUFFER_BIT_EXT;
      want_extension(wanted, VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME);
      want_struct(wanted, &wanted->transform_feedback,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT);
      wanted->transform_feedback.transformFeedback = VK_TRUE;
   } else if (strcmp(word, "host_copy_image") == 0 || strcmp(word, "host_copy_to_image") == 0 ||
              strcmp(word, "host_copy_from_image") == 0 ||
              strcmp(word, "host_discard_image") == 0) {
      run->copies_on_host = true;
      want_extension(wanted, VK_KHR_COPY_COMMANDS_2_EXTENSION_NAME);
      want_extension(wanted, VK_KHR_FORMAT_FEATURE_FLAGS_2_EXTENSION_NAME);
      want_extension(wanted, VK_EXT_HOST_IMAGE_COPY_EXTENSION_NAME);
      want_struct(wanted, &wanted->host_image_copy,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_FEATURES_EXT);
      wanted->host_image_copy.hostImageCopy = VK_TRUE;
   } else if (strcmp(word, "vertex_input") == 0) {
      want_extension(wanted, VK_EXT_VERTEX_INPUT_DYNAMIC_STATE_EXTENSION_NAME);
      want_struct(wanted, &wanted->dynamic_input,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VERTEX_INPUT_DYNAMIC_STATE_FEATURES_EXT);
      wanted->dynamic_input.vertexInputDynamicState = VK_TRUE;
   } else if (strcmp(word, "trace_indirect2") == 0) {
      want_extension(wanted, VK_KHR_RAY_TRACING_MAINTENANCE_1_EXTENSION_NAME);
      want_struct(wanted, &wanted->rays_maintenance,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_MAINTENANCE_1_FEATURES_KHR);
      wanted->rays_maintenance.rayTracingMaintenance1 = VK_TRUE;
      wanted->rays_maintenance.rayTracingPipelineTraceRaysIndirect2 = VK_TRUE;
   }
}

/* `index_buffer ITEM TYPE` */
static void
want_indices(struct run *run, struct wanted *wanted)
{
   const bool null = strcmp(run_word(run, 1), "null") == 0;

   if (strcmp(run_word(run, 2), "u8") == 0) {
      want_extension(wanted, VK_EXT_INDEX_TYPE_UINT8_EXTENSION_NAME);
      want_struct(wanted, &wanted->index_uint8,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_INDEX_TYPE_UINT8_FEATURES_EXT);
      wanted->index_uint8.indexTypeUint8 = VK_TRUE;
   }
   if (null || strchr(run_word(run, 1), ':')) {
      want_extension(wanted, VK_KHR_MAINTENANCE_5_EXTENSION_NAME);
      want_struct(wanted, &wanted->maintenance5,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR);
      wanted->maintenance5.maintenance5 = VK_TRUE;
   }
   if (null) {
      want_extension(wanted, VK_KHR_MAINTENANCE_6_EXTENSION_NAME);
      want_struct(wanted, &wanted->maintenance6,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_6_FEATURES_KHR);
      wanted->maintenance6.maintenance6 = VK_TRUE;
   }
}

/* A binding by instances may have any divisor. */
static void
want_divisors(struct run *run, struct wanted *wanted)
{
   for (unsigned i = 1; run_has_word(run, i); i++) {
      if (strncmp(run_word(run, i), "binding=", 8) != 0 || !strstr(run_word(run, i), ":instance:"))
         continue;
      want_extension(wanted, VK_EXT_VERTEX_ATTRIBUTE_DIVISOR_EXTENSION_NAME);
      want_struct(wanted, &wanted->divisor,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VERTEX_ATTRIBUTE_DIVISOR_FEATURES_EXT);
      wanted->divisor.vertexAttributeInstanceRateDivisor = VK_TRUE;
      wanted->divisor.vertexAttributeInstanceRateZeroDivisor = VK_TRUE;
   }
}

/* `without drawIndirectFirstInstance` */
static void
want_without(struct run *run, struct wanted *wanted)
{
   if (strcmp(run_word(run, 1), "drawIndirectFirstInstance") != 0)
      RUN_ERROR(run, "%s cannot be switched off here", run_word(run, 1));
   wanted->no_first_instance = true;
}

static void
tune_features(struct vkh_features *features, void *data)
{
   const struct wanted *wanted = data;

   if (wanted->no_first_instance)
      features->core.features.drawIndirectFirstInstance = VK_FALSE;
   features->v13.robustImageAccess = wanted->robust_image_access;
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
      } else if (strcmp(word, "bind") == 0 && strcmp(run_word(run, 3), "mutable") == 0) {
         want_mutable(wanted);
      } else if (strcmp(word, "compute_queue") == 0) {
         wanted->compute_queue = true;
      } else if (strcmp(word, "queue") == 0) {
         wanted->second_queue = true;
      } else if (strcmp(word, "present") == 0) {
         want_extension(wanted, VK_KHR_SWAPCHAIN_EXTENSION_NAME);
         wanted->presents = true;
      } else if (strcmp(word, "exclusive") == 0) {
         wanted->exclusive_buffers = true;
      } else if (strcmp(word, "structure") == 0 && run_has_word(run, 3)) {
         wanted->buffer_usage |= VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR;
         want_structures(wanted);
      } else if (strcmp(word, "conditional") == 0) {
         want_extension(wanted, VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME);
         want_struct(wanted, &wanted->conditional,
                     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT);
         wanted->conditional.conditionalRendering = VK_TRUE;
      } else if (strcmp(word, "device_memory") == 0) {
         wanted->device_memory = true;
      } else if (strcmp(word, "without") == 0) {
         want_without(run, wanted);
      } else if (strcmp(word, "index_buffer") == 0) {
         want_indices(run, wanted);
      } else if (strcmp(word, "pipeline") == 0) {
         want_divisors(run, wanted);
      } else if (strcmp(word, "unnamed") == 0) {
         run->names = false;
      } else if (strcmp(word, "null_set") == 0) {
         want_library(wanted);
      } else if (strcmp(word, "push") == 0) {
         run->push_size = MAX_PUSH - run->push_first;
      } else if (strcmp(word, "push_range") == 0) {
         run->push_first = (uint32_t)run_number(run, 1);
         if (run->push_first % 4 || run->push_first >= MAX_PUSH)
            RUN_ERROR(run, "no range of push constants begins at %u", run->push_first);
         run->push_size = MAX_PUSH - run->push_first;
      } else if (strcmp(word, "resubmit") == 0) {
         run->resubmits = true;
      } else if (strcmp(word, "target") == 0) {
         run->width = (unsigned)run_number(run, 1);
         run->height = (unsigned)run_number(run, 2);
      } else if (strcmp(word, "depth") == 0) {
         run->has_depth = true;
         run->clear_depth = strtof(run_word(run, 1), NULL);
      } else {
         want_inputs(run, wanted);
      }
   }
   for (unsigned i = 0; i < scenario->section_count; i++)
      want_stage(wanted, &scenario->sections[i]);
   run->statement = NULL;
}

/* One line: the lines of a message end in vertical tabs, and so do the objects behind them. */
static void
write_error(const struct run *run, const char *prefix,
            const VkDebugUtilsMessengerCallbackDataEXT *data)
{
   char *text = scenario_format("%s%s %s", prefix, data->pMessageIdName, data->pMessage);
   for (char *c = text; (c = strchr(c, '\n'));)
      *c = '\v';
   for (uint32_t i = 0; i < data->objectCount; i++) {
      const VkDebugUtilsObjectNameInfoEXT *object = &data->pObjects[i];
      char *longer =
         scenario_format("%s@0x%llx %s\v", text, (unsigned long long)object->objectHandle,
                         object->pObjectName ? object->pObjectName : "");
      free(text);
      text = longer;
   }
   for (char *c = text; (c = strchr(c, '\n'));)
      *c = '?'; /* of names */
   fprintf(run->messages, "%s\n", text);
   fflush(run->messages);
   free(text);
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
      const bool validation = message_types == VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
      const bool error = severity == VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
      const bool warning = severity == VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
      write_error(run,
                  validation && error     ? ""
                  : validation && warning ? "warning "
                                          : "not-an-error ",
                  data);
   } else if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT) {
      /* Of validation layers */
      fprintf(stderr, "%s: %s\n", id, data->pMessage);
   }
   return VK_FALSE;
}

FILE *
run_open_result(const struct run *run, const char *name, const char *ending, const char *mode)
{
   char *path = scenario_format("%s/%s.%s", run->folder, name, ending);
   FILE *file = fopen(path, mode);
   if (!file)
      vkh_die("cannot write %s", path);
   free(path);
   return file;
}

void
run_create_device(struct run *run)
{
   struct wanted wanted = {0};
   want_kind(&wanted, run->kind);
   read_ahead(run, &wanted);

   const struct vkh_options options = {
      .application = run->scenario->path,
      .extensions = wanted.extensions,
      .extension_count = wanted.extension_count,
      .features_next = wanted.chain,
      .robust_buffer_access = wanted.robust_buffer_access || !run->checks_on,
      .compute_queue = wanted.compute_queue,
      .second_queue = wanted.second_queue,
      .presents = wanted.presents,
      .exclusive_buffers = wanted.exclusive_buffers,
      .device_memory = wanted.device_memory,
      .buffer_usage = wanted.buffer_usage,
      .tune_features = tune_features,
      .tune_data = &wanted,
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
