/*
 * SPDX-License-Identifier: MIT
 */

/*
 * gpuval-bench-spirv FILE...: has the driver compile each entry point of SPIR-V files, for what
 * it then prints of them (RADV_DEBUG=shaderstats). A file is a module, or such a one as text,
 * words in hexadecimal, which is what `glslang -x` makes.
 *
 * Compute shaders become pipelines, vertex, mesh and fragment shaders parts of such
 * (VK_EXT_graphics_pipeline_library), which one stage makes. (Shader objects would be simpler, but
 * RADV has no statistics of them.) Layouts are what the module's variables say,
 * specialization constants have their defaults, arrays without a size RUNTIME_ARRAY
 * descriptors. Nothing is executed.
 *
 * Each file has a process of its own: drivers trust SPIR-V, and one that is not valid may be
 * the end of it.
 */

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "compiler/spirv/spirv.h"
#include "vk_headless.h"

#define RUNTIME_ARRAY 64
#define PUSH_BYTES    256
/* The SPIR-V specification's universal limit of ids */
#define MAX_BOUND 0x3fffffu
/* Drivers have tables as large as the highest binding. */
#define MAX_BINDING    0xffffu
#define MAX_TYPE_DEPTH 16

/* What an id is, as far as it matters here */
struct id {
   const uint32_t *definition; /* instruction of a type or a constant */
   uint32_t set, binding;
   bool buffer_block;
};

struct binding {
   uint32_t set, binding;
   VkDescriptorType type;
   uint32_t count;
};

struct entry_point {
   SpvExecutionModel model;
   const char *name;
};

struct module {
   const char *path;
   uint32_t *words;
   size_t word_count;
   uint32_t bound;
   struct id *ids;

   struct binding *bindings;
   uint32_t binding_count;
   struct entry_point *entry_points;
   uint32_t entry_point_count;
   uint32_t set_count;
};

/* What the processes have done together */
struct counts {
   uint32_t compiled;
   uint32_t left_out;
};

static const struct {
   SpvExecutionModel model;
   const char *name;
   VkShaderStageFlagBits stage; /* 0: nothing can be made of it alone */
} stages[] = {
   {SpvExecutionModelVertex, "vertex", VK_SHADER_STAGE_VERTEX_BIT},
   {SpvExecutionModelFragment, "fragment", VK_SHADER_STAGE_FRAGMENT_BIT},
   {SpvExecutionModelGLCompute, "compute", VK_SHADER_STAGE_COMPUTE_BIT},
   {SpvExecutionModelMeshEXT, "mesh", VK_SHADER_STAGE_MESH_BIT_EXT},
   {SpvExecutionModelTessellationControl, "tessellation control", 0},
   {SpvExecutionModelTessellationEvaluation, "tessellation evaluation", 0},
   {SpvExecutionModelGeometry, "geometry", 0},
   {SpvExecutionModelTaskEXT, "task", 0},
   {SpvExecutionModelKernel, "OpenCL kernel", 0},
   {SpvExecutionModelRayGenerationKHR, "ray generation", 0},
   {SpvExecutionModelIntersectionKHR, "intersection", 0},
   {SpvExecutionModelAnyHitKHR, "any-hit", 0},
   {SpvExecutionModelClosestHitKHR, "closest-hit", 0},
   {SpvExecutionModelMissKHR, "miss", 0},
   {SpvExecutionModelCallableKHR, "callable", 0},
};

/* --- The module ----------------------------------------------------------- */

static void
read_hexadecimal(struct module *module, const char *text)
{
   module->words = vkh_calloc(strlen(text) / 2 + 1, sizeof(*module->words));
   while (*text) {
      if (strncmp(text, "//", 2) == 0) {
         text += strcspn(text, "\n");
      } else if (strncmp(text, "0x", 2) == 0 && isxdigit((unsigned char)text[2])) {
         char *end;
         module->words[module->word_count++] = (uint32_t)strtoul(text, &end, 16);
         text = end;
      } else if (isspace((unsigned char)*text) || *text == ',') {
         text++;
      } else {
         module->word_count = 0;
         return;
      }
   }
}

static void
read_module(struct module *module)
{
   struct stat status;
   if (stat(module->path, &status) != 0 || !S_ISREG(status.st_mode))
      vkh_die("%s: there is no such file", module->path);

   size_t size;
   char *data = vkh_read_file(module->path, &size);
   if (size >= 4 && memcmp(data, &(uint32_t){SpvMagicNumber}, 4) == 0) {
      if (size % 4)
         vkh_die("%s: %zu bytes are no whole words", module->path, size);
      module->words = (uint32_t *)data;
      module->word_count = size / 4;
   } else {
      read_hexadecimal(module, data);
      free(data);
   }

   if (module->word_count < 5 || module->words[0] != SpvMagicNumber)
      vkh_die("%s: not SPIR-V", module->path);
   module->bound = module->words[3];
   if (module->bound > MAX_BOUND)
      vkh_die("%s: damaged: %" PRIu32 " ids", module->path, module->bound);
   module->ids = vkh_calloc(module->bound, sizeof(*module->ids));
}

/* 0 of an operand that is not there */
static uint32_t
operand(const uint32_t *instruction, uint32_t index)
{
   return index < instruction[0] >> SpvWordCountShift ? instruction[index] : 0;
}

static SpvOp
opcode(const uint32_t *instruction)
{
   return (SpvOp)(instruction[0] & SpvOpCodeMask);
}

static struct id *
get_id(struct module *module, uint32_t id)
{
   if (id >= module->bound)
      vkh_die("%s: damaged: id %" PRIu32 " of %" PRIu32, module->path, id, module->bound);
   return &module->ids[id];
}

/* What is not a type or a constant is nothing. */
static const uint32_t *
definition(struct module *module, uint32_t id)
{
   static const uint32_t nothing[] = {1u << SpvWordCountShift | SpvOpNop};
   const struct id *found = get_id(module, id);
   return found->definition ? found->definition : nothing;
}

static VkDescriptorType
image_type(const uint32_t *image)
{
   const bool storage = operand(image, 7) == 2;
   switch (operand(image, 3)) {
   case SpvDimBuffer:
      return storage ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER
                     : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
   case SpvDimSubpassData:
      return VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT;
   default:
      return storage ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE : VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
   }
}

/* VK_DESCRIPTOR_TYPE_MAX_ENUM of what is no descriptor */
static VkDescriptorType
descriptor_type(struct module *module, uint32_t type_id, SpvStorageClass storage_class)
{
   const uint32_t *type = definition(module, type_id);
   switch (opcode(type)) {
   case SpvOpTypeStruct:
      return storage_class == SpvStorageClassStorageBuffer || get_id(module, type_id)->buffer_block
                ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
   case SpvOpTypeSampler:
      return VK_DESCRIPTOR_TYPE_SAMPLER;
   case SpvOpTypeImage:
      return image_type(type);
   case SpvOpTypeSampledImage: {
      const uint32_t *image = definition(module, operand(type, 2));
      return operand(image, 3) == SpvDimBuffer ? VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER
                                               : VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
   }
   case SpvOpTypeAccelerationStructureKHR:
      return VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR;
   default:
      return VK_DESCRIPTOR_TYPE_MAX_ENUM;
   }
}

/* Several variables may share a binding: images and samplers of a combined one, or
 * views of a buffer.
 */
static void
add_binding(struct module *module, struct binding added)
{
   if (added.binding > MAX_BINDING)
      vkh_die("%s: binding %" PRIu32 " is too high", module->path, added.binding);

   for (uint32_t i = 0; i < module->binding_count; i++) {
      struct binding *binding = &module->bindings[i];
      if (binding->set != added.set || binding->binding != added.binding)
         continue;
      if (added.type != binding->type) {
         const bool images = added.type <= VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE &&
                             binding->type <= VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
         if (!images)
            vkh_die("%s: set %" PRIu32 ", binding %" PRIu32 " has descriptors of two types",
                    module->path, added.set, added.binding);
         binding->type = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
      }
      if (binding->count < added.count)
         binding->count = added.count;
      return;
   }

   module->bindings =
      realloc(module->bindings, (module->binding_count + 1) * sizeof(*module->bindings));
   if (!module->bindings)
      vkh_die("out of memory");
   module->bindings[module->binding_count++] = added;
   if (module->set_count <= added.set)
      module->set_count = added.set + 1;
}

static void
add_variable(struct module *module, const uint32_t *variable)
{
   const SpvStorageClass storage_class = (SpvStorageClass)operand(variable, 3);
   if (storage_class != SpvStorageClassUniformConstant && storage_class != SpvStorageClassUniform &&
       storage_class != SpvStorageClassStorageBuffer)
      return;

   uint32_t type_id = operand(definition(module, operand(variable, 1)), 3);
   uint64_t count = 1;
   for (uint32_t depth = 0; depth < MAX_TYPE_DEPTH; depth++) {
      const uint32_t *type = definition(module, type_id);
      if (opcode(type) == SpvOpTypeRuntimeArray)
         count *= RUNTIME_ARRAY;
      else if (opcode(type) == SpvOpTypeArray)
         count *= operand(definition(module, operand(type, 3)), 3);
      else
         break;
      if (count > UINT32_MAX)
         vkh_die("%s: %" PRIu64 " descriptors", module->path, count);
      type_id = operand(type, 2);
   }

   const struct id *id = get_id(module, operand(variable, 2));
   const struct binding binding = {
      .set = id->set,
      .binding = id->binding,
      .type = descriptor_type(module, type_id, storage_class),
      .count = count ? (uint32_t)count : 1, /* an expression of specialization constants */
   };
   if (binding.type != VK_DESCRIPTOR_TYPE_MAX_ENUM)
      add_binding(module, binding);
}

static void
add_decoration(struct module *module, const uint32_t *instruction)
{
   struct id *id = get_id(module, operand(instruction, 1));
   switch (operand(instruction, 2)) {
   case SpvDecorationDescriptorSet:
      id->set = operand(instruction, 3);
      break;
   case SpvDecorationBinding:
      id->binding = operand(instruction, 3);
      break;
   case SpvDecorationBufferBlock:
      id->buffer_block = true;
      break;
   default:
      break;
   }
}

static void
add_entry_point(struct module *module, const uint32_t *instruction, uint32_t length)
{
   const char *name = (const char *)&instruction[3];
   if (length < 4 || !memchr(name, 0, (length - 3) * 4))
      vkh_die("%s: damaged: an entry point has no name", module->path);

   module->entry_points =
      realloc(module->entry_points, (module->entry_point_count + 1) * sizeof(struct entry_point));
   if (!module->entry_points)
      vkh_die("out of memory");
   module->entry_points[module->entry_point_count++] = (struct entry_point){
      .model = (SpvExecutionModel)instruction[1],
      .name = name,
   };
}

/* What is used comes behind what it is made of: one pass is enough. */
static void
parse_module(struct module *module)
{
   for (size_t at = 5; at < module->word_count;) {
      const uint32_t *instruction = &module->words[at];
      const uint32_t length = instruction[0] >> SpvWordCountShift;
      if (length == 0 || length > module->word_count - at)
         vkh_die("%s: damaged: the instruction at word %zu has %" PRIu32 " words", module->path, at,
                 length);

      switch (opcode(instruction)) {
      case SpvOpEntryPoint:
         add_entry_point(module, instruction, length);
         break;
      case SpvOpDecorate:
         add_decoration(module, instruction);
         break;
      case SpvOpTypeSampler:
      case SpvOpTypeImage:
      case SpvOpTypeSampledImage:
      case SpvOpTypeAccelerationStructureKHR:
      case SpvOpTypeArray:
      case SpvOpTypeRuntimeArray:
      case SpvOpTypeStruct:
      case SpvOpTypePointer:
         get_id(module, operand(instruction, 1))->definition = instruction;
         break;
      case SpvOpConstant:
      case SpvOpSpecConstant:
         get_id(module, operand(instruction, 2))->definition = instruction;
         break;
      case SpvOpVariable:
         add_variable(module, instruction);
         break;
      default:
         break;
      }
      at += length;
   }
   if (module->entry_point_count == 0)
      vkh_die("%s: has no entry point", module->path);
}

/* --- The driver ----------------------------------------------------------- */

/* With the extensions that add stages, or types of descriptors */
static struct vkh_context *
create_device(void)
{
   struct vkh_context *ctx = vkh_instance_create(NULL);
   const char *extensions[7] = {
      VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
      VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME,
   };
   uint32_t count = 2;
   VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT libraries = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT,
      .graphicsPipelineLibrary = VK_TRUE,
   };
   VkPhysicalDeviceMeshShaderFeaturesEXT mesh = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT,
      .meshShader = VK_TRUE,
   };
   VkPhysicalDeviceAccelerationStructureFeaturesKHR structures = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR,
      .accelerationStructure = VK_TRUE,
   };
   VkPhysicalDeviceRayQueryFeaturesKHR queries = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_QUERY_FEATURES_KHR,
      .pNext = &structures,
      .rayQuery = VK_TRUE,
   };

   VkPhysicalDeviceDynamicRenderingLocalReadFeaturesKHR attachments = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DYNAMIC_RENDERING_LOCAL_READ_FEATURES_KHR,
      .dynamicRenderingLocalRead = VK_TRUE,
   };

   void *features = &libraries;
   if (vkh_has_extension(ctx, VK_KHR_RAY_QUERY_EXTENSION_NAME)) {
      extensions[count++] = VK_KHR_RAY_QUERY_EXTENSION_NAME;
      extensions[count++] = VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME;
      extensions[count++] = VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME;
      libraries.pNext = &queries;
   }
   if (vkh_has_extension(ctx, VK_EXT_MESH_SHADER_EXTENSION_NAME)) {
      extensions[count++] = VK_EXT_MESH_SHADER_EXTENSION_NAME;
      mesh.pNext = features;
      features = &mesh;
   }
   if (vkh_has_extension(ctx, VK_KHR_DYNAMIC_RENDERING_LOCAL_READ_EXTENSION_NAME)) {
      extensions[count++] = VK_KHR_DYNAMIC_RENDERING_LOCAL_READ_EXTENSION_NAME;
      attachments.pNext = features;
      features = &attachments;
   }

   vkh_device_create(ctx, &(struct vkh_options){
                             .extensions = extensions,
                             .extension_count = count,
                             .features_next = features,
                          });
   return ctx;
}

static VkDescriptorSetLayout
create_set_layout(struct vkh_context *ctx, const struct module *module, uint32_t set)
{
   VkDescriptorSetLayoutBinding *bindings = vkh_calloc(module->binding_count, sizeof(*bindings));
   uint32_t count = 0;
   for (uint32_t i = 0; i < module->binding_count; i++) {
      const struct binding *binding = &module->bindings[i];
      if (binding->set != set)
         continue;
      const bool attachment = binding->type == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT;
      bindings[count++] = (VkDescriptorSetLayoutBinding){
         .binding = binding->binding,
         .descriptorType = binding->type,
         .descriptorCount = binding->count,
         .stageFlags = attachment ? VK_SHADER_STAGE_FRAGMENT_BIT : VK_SHADER_STAGE_ALL,
      };
   }

   const VkDescriptorSetLayoutCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = count,
      .pBindings = bindings,
   };
   VkDescriptorSetLayoutSupport support = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_SUPPORT,
   };
   vkGetDescriptorSetLayoutSupport(ctx->device, &info, &support);
   if (!support.supported)
      vkh_die("%s: set %" PRIu32 " is more than the device takes", module->path, set);

   VkDescriptorSetLayout layout;
   VKH_CHECK(vkCreateDescriptorSetLayout(ctx->device, &info, NULL, &layout));
   free(bindings);
   return layout;
}

static bool
compile(struct vkh_context *ctx, const struct module *module, VkShaderModule shader,
        VkPipelineLayout layout, const struct entry_point *entry_point)
{
   uint32_t s = 0;
   while (s < VKH_COUNT(stages) && stages[s].model != entry_point->model)
      s++;

   const char *name = s < VKH_COUNT(stages) ? stages[s].name : "unknown stage";
   const VkShaderStageFlagBits stage = s < VKH_COUNT(stages) ? stages[s].stage : 0;
   const bool missing = stage == VK_SHADER_STAGE_MESH_BIT_EXT &&
                        !vkh_has_extension(ctx, VK_EXT_MESH_SHADER_EXTENSION_NAME);
   if (!stage || missing) {
      printf("%s: %s (%s) is left out: %s\n", module->path, entry_point->name, name,
             missing ? "the device has no such stage" : "not a stage that compiles alone");
      return false;
   }

   VkPipeline pipeline;
   if (stage == VK_SHADER_STAGE_COMPUTE_BIT) {
      pipeline = vkh_compute_pipeline(ctx, &(struct vkh_compute_desc){
                                              .module = shader,
                                              .entry = entry_point->name,
                                              .layout = layout,
                                           });
   } else {
      const VkGraphicsPipelineLibraryCreateInfoEXT part = {
         .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
         .flags = stage == VK_SHADER_STAGE_FRAGMENT_BIT
                     ? VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT
                     : VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT,
      };
      pipeline = vkh_graphics_pipeline(
         ctx, &(struct vkh_graphics_desc){
                 .stages = {{.stage = stage, .module = shader, .entry = entry_point->name}},
                 .stage_count = 1,
                 .layout = layout,
                 .flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR,
                 .next = &part,
              });
   }
   vkDestroyPipeline(ctx->device, pipeline, NULL);
   return true;
}

static void
compile_file(const char *path, struct counts *counts)
{
   struct module module = {.path = path};
   read_module(&module);
   parse_module(&module);

   struct vkh_context *ctx = create_device();
   const VkPhysicalDeviceLimits *limits = &ctx->properties.limits;
   if (module.set_count > limits->maxBoundDescriptorSets)
      vkh_die("%s: %" PRIu32 " descriptor sets are more than the device takes", path,
              module.set_count);
   VkDescriptorSetLayout *sets = vkh_calloc(module.set_count, sizeof(VkDescriptorSetLayout));
   for (uint32_t i = 0; i < module.set_count; i++)
      sets[i] = create_set_layout(ctx, &module, i);
   VkPipelineLayout layout = vkh_pipeline_layout(
      ctx, sets, module.set_count,
      limits->maxPushConstantsSize < PUSH_BYTES ? limits->maxPushConstantsSize : PUSH_BYTES);
   VkShaderModule shader = vkh_shader_module(ctx, module.words, module.word_count * 4, NULL);

   for (uint32_t i = 0; i < module.entry_point_count; i++) {
      if (compile(ctx, &module, shader, layout, &module.entry_points[i]))
         counts->compiled++;
      else
         counts->left_out++;
   }

   vkDestroyShaderModule(ctx->device, shader, NULL);
   vkDestroyPipelineLayout(ctx->device, layout, NULL);
   for (uint32_t i = 0; i < module.set_count; i++)
      vkDestroyDescriptorSetLayout(ctx->device, sets[i], NULL);
   vkh_context_destroy(ctx);
   free(sets);
   free(module.bindings);
   free(module.entry_points);
   free(module.ids);
   free(module.words);
}

int
main(int argc, char **argv)
{
   if (argc < 2 || argv[1][0] == '-') {
      fprintf(stderr, "usage: gpuval-bench-spirv FILE...\n"
                      "Has the driver compile all entry points of SPIR-V files.\n");
      return 2;
   }

   struct counts *counts =
      mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
   if (counts == MAP_FAILED)
      vkh_die("out of memory");

   uint32_t bad = 0;
   for (int i = 1; i < argc; i++) {
      fflush(stdout);
      const pid_t process = fork();
      if (process < 0)
         vkh_die("no process can be started");
      if (process == 0) {
         compile_file(argv[i], counts);
         exit(0);
      }

      int status;
      if (waitpid(process, &status, 0) != process)
         vkh_die("a process is gone");
      if (WIFSIGNALED(status))
         fprintf(stderr, "error: %s: the driver does not survive it (signal %d)\n", argv[i],
                 WTERMSIG(status));
      else if (WEXITSTATUS(status) == VKH_EXIT_SKIP)
         return VKH_EXIT_SKIP;
      bad += status != 0;
   }
   printf("%d files, %" PRIu32 " entry points compiled, %" PRIu32 " left out, %" PRIu32
          " files bad\n",
          argc - 1, counts->compiled, counts->left_out, bad);
   return bad != 0;
}
