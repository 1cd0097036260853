/* SPDX-License-Identifier: MIT */

/*
 * What a seed stands for. The shaders come from the same seed, by a stream of random numbers
 * for each stage.
 */

#include "legal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_DYNAMIC 4 /* dynamic buffers, of which Vulkan guarantees that many */

/* --- Random numbers ------------------------------------------------------- */

struct legal_random
legal_random(uint64_t seed, uint64_t stream)
{
   struct legal_random random = {seed * 0x9e3779b97f4a7c15ull ^
                                 (stream + 1) * 0xd1342543de82ef95ull};
   legal_next(&random);
   return random;
}

/* SplitMix64 */
uint32_t
legal_next(struct legal_random *random)
{
   uint64_t x = random->state += 0x9e3779b97f4a7c15ull;
   x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
   x = (x ^ x >> 27) * 0x94d049bb133111ebull;
   return (uint32_t)((x ^ x >> 31) >> 16);
}

uint32_t
legal_below(struct legal_random *random, uint32_t count)
{
   return legal_next(random) % count;
}

bool
legal_chance(struct legal_random *random, unsigned percent)
{
   return legal_below(random, 100) < percent;
}

/* --- Stages --------------------------------------------------------------- */

bool
legal_has_stage(const struct legal_program *program, VkShaderStageFlagBits stage)
{
   for (unsigned i = 0; i < program->stage_count; i++) {
      if (program->stages[i] == stage)
         return true;
   }
   return false;
}

static void
add_stage(struct legal_program *program, VkShaderStageFlagBits stage)
{
   program->stages[program->stage_count++] = stage;
}

static VkShaderStageFlags
all_stages(const struct legal_program *program)
{
   VkShaderStageFlags stages = 0;
   for (unsigned i = 0; i < program->stage_count; i++)
      stages |= program->stages[i];
   return stages;
}

static void
choose_compute(struct legal_program *program, struct legal_random *random)
{
   static const uint32_t sizes[][3] = {{1, 1, 1}, {4, 1, 1}, {8, 1, 1}, {16, 1, 1},
                                       {4, 4, 1}, {2, 2, 2}, {3, 1, 1}, {32, 1, 1}};
   const unsigned size = legal_below(random, VKH_COUNT(sizes));
   const uint32_t invocations = sizes[size][0] * sizes[size][1] * sizes[size][2];

   memcpy(program->local_size, sizes[size], sizeof(program->local_size));
   program->groups[0] = 1 + legal_below(random, 2);
   if (invocations * program->groups[0] * 2 <= LEGAL_SLOTS)
      program->groups[1] += legal_below(random, 2);
   program->indirect = legal_chance(random, 15);
   program->repeats = legal_chance(random, 20) ? 2 : 1;
   program->bind_point = VK_PIPELINE_BIND_POINT_COMPUTE;
   add_stage(program, VK_SHADER_STAGE_COMPUTE_BIT);
}

static void
choose_graphics(struct legal_program *program, struct legal_random *random, uint32_t features)
{
   const bool mesh = features & LEGAL_MESH_SHADERS && legal_chance(random, 20);

   program->bind_point = VK_PIPELINE_BIND_POINT_GRAPHICS;
   if (mesh) {
      static const uint32_t sizes[] = {1, 3, 8, 32};
      program->local_size[0] = sizes[legal_below(random, VKH_COUNT(sizes))];
      if (legal_chance(random, 50))
         add_stage(program, VK_SHADER_STAGE_TASK_BIT_EXT);
      add_stage(program, VK_SHADER_STAGE_MESH_BIT_EXT);
   } else {
      add_stage(program, VK_SHADER_STAGE_VERTEX_BIT);
      if (features & LEGAL_TESSELLATION && legal_chance(random, 25)) {
         add_stage(program, VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT);
         add_stage(program, VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT);
         program->tessellation_level = 1 + legal_below(random, 3);
      }
      if (features & LEGAL_TESSELLATION && legal_chance(random, 25))
         add_stage(program, VK_SHADER_STAGE_GEOMETRY_BIT);
      program->attribute_count = legal_chance(random, 40) ? 1 + legal_below(random, 3) : 0;
      program->first_vertex = legal_chance(random, 30) ? legal_below(random, 8) : 0;
      program->indexed = legal_chance(random, 30);
      program->indirect = legal_chance(random, 15);
   }
   if (legal_chance(random, 85)) {
      add_stage(program, VK_SHADER_STAGE_FRAGMENT_BIT);
      program->has_color = legal_chance(random, 80);
   }
}

static void
choose_creation(struct legal_program *program, struct legal_random *random, uint32_t features)
{
   const bool compute = program->bind_point == VK_PIPELINE_BIND_POINT_COMPUTE;
   const bool graphics = program->bind_point == VK_PIPELINE_BIND_POINT_GRAPHICS;

   program->creation = legal_below(random, LEGAL_CREATIONS);
   switch (program->creation) {
   case LEGAL_LIBRARY:
   case LEGAL_LIBRARY_OPTIMIZED:
      if (!graphics || !(features & LEGAL_LIBRARIES))
         program->creation = LEGAL_MONOLITHIC;
      break;
   case LEGAL_OBJECTS_LINKED:
   case LEGAL_OBJECTS:
   case LEGAL_OBJECT_BINARIES:
      if ((!graphics && !compute) || !(features & LEGAL_SHADER_OBJECTS))
         program->creation = LEGAL_MONOLITHIC;
      break;
   case LEGAL_PIPELINE_BINARY:
      if (!(features & LEGAL_PIPELINE_BINARIES))
         program->creation = LEGAL_CACHE;
      break;
   case LEGAL_MONOLITHIC:
   case LEGAL_CACHE:
   case LEGAL_CREATIONS:
      break;
   }
   program->one_module = legal_chance(random, 25);
}

/* --- Bindings ------------------------------------------------------------- */

/* Whether invocations of a stage run exactly once, so that they may write */
static bool
can_write(const struct legal_program *program, VkShaderStageFlagBits stage)
{
   switch (stage) {
   case VK_SHADER_STAGE_COMPUTE_BIT:
   case VK_SHADER_STAGE_FRAGMENT_BIT:
   case VK_SHADER_STAGE_TASK_BIT_EXT:
   case VK_SHADER_STAGE_MESH_BIT_EXT:
   case VK_SHADER_STAGE_RAYGEN_BIT_KHR:
      return true;
   case VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT:
      return true;
   case VK_SHADER_STAGE_VERTEX_BIT:
      /* Vulkan leaves open how often a vertex is shaded. */
      return false;
   default:
      return false;
   }
}

static VkShaderStageFlagBits
choose_writer(const struct legal_program *program, struct legal_random *random)
{
   const VkShaderStageFlagBits stage = program->stages[legal_below(random, program->stage_count)];
   return can_write(program, stage) ? stage : 0;
}

static bool
is_buffer(VkDescriptorType type)
{
   return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER || type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER ||
          type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC ||
          type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

static bool
is_dynamic(VkDescriptorType type)
{
   return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC ||
          type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

static VkDescriptorType
choose_type(const struct legal_program *program, const struct legal_set *set, uint32_t number,
            struct legal_random *random, unsigned *dynamic_count)
{
   static const VkDescriptorType types[] = {
      VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,         VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
      VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,         VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
      VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,         VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
      VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
      VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER,   VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
      VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,          VK_DESCRIPTOR_TYPE_SAMPLER,
      VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
      VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,          VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK,
   };
   VkDescriptorType type = types[legal_below(random, VKH_COUNT(types))];

   const bool push = set->update == LEGAL_PUSH;
   if (is_dynamic(type) && (push || program->descriptor_buffers || *dynamic_count >= MAX_DYNAMIC))
      type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
   /* lvp_CreateDescriptorSetLayout() takes the number of bindings for the highest of their
    * numbers when it places inline blocks: behind that they overlap descriptors.
    */
   if (type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK && (push || number >= set->binding_count))
      type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
   *dynamic_count += is_dynamic(type);
   return type;
}

/* How many elements of a binding there are, and which of them have descriptors */
static void
choose_count(const struct legal_program *program, const struct legal_set *set,
             struct legal_binding *binding, struct legal_random *random, bool last)
{
   const bool push = set->update == LEGAL_PUSH;

   if (binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
      binding->count = binding->allocated = 16 * (1 + legal_below(random, 8));
      binding->valid = binding->count;
      binding->size = binding->count;
      return;
   }
   binding->count = 1;
   if (legal_chance(random, 35))
      binding->count = 1 + legal_below(random, 5);
   if (legal_chance(random, 5) && !push && !is_dynamic(binding->type))
      binding->count = 40;
   if (is_dynamic(binding->type))
      binding->count = 1;
   binding->allocated = binding->count;
   if (last && !push && !is_dynamic(binding->type) && !program->old_style &&
       legal_chance(random, 20)) {
      binding->flags |= VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT;
      binding->count += legal_below(random, 10);
      binding->allocated = 1 + legal_below(random, binding->count);
      if (program->descriptor_buffers)
         binding->allocated = binding->count;
   }
   binding->valid = binding->allocated;
   if (!push && !is_dynamic(binding->type) && legal_chance(random, 25)) {
      binding->flags |= VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT;
      binding->valid = legal_below(random, binding->allocated + 1);
   }
   if (!push && !is_dynamic(binding->type) && !program->descriptor_buffers &&
       legal_chance(random, 15))
      binding->flags |= VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT;
}

/* Which stages see a binding, which use it, and which one writes to it */
static void
choose_users(struct legal_program *program, struct legal_binding *binding,
             struct legal_random *random)
{
   const bool storage = binding->type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER ||
                        binding->type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC ||
                        binding->type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER ||
                        binding->type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
   const VkShaderStageFlags all = all_stages(program);
   const VkShaderStageFlagBits writer = choose_writer(program, random);

   binding->users = 0;
   for (unsigned i = 0; i < program->stage_count; i++)
      binding->users |= legal_chance(random, 60) ? program->stages[i] : 0;
   if (storage && writer && binding->valid <= 5 &&
       (legal_chance(random, 60) || program->region_count == 0)) {
      binding->writable = true;
      binding->users = writer;
   }
   /* What no shader uses need not be there. */
   if (!binding->users && legal_chance(random, 50) &&
       binding->type != VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK && !is_dynamic(binding->type))
      binding->valid = 0;
   /* handle_descriptor_buffer_offsets() of lavapipe takes each bit for a stage that it has. */
   binding->stages = !legal_chance(random, 50)     ? binding->users
                     : program->descriptor_buffers ? all
                                                   : VK_SHADER_STAGE_ALL;
   if (!binding->stages)
      binding->stages = all;
}

static void
choose_binding(struct legal_program *program, const struct legal_set *set,
               struct legal_binding *binding, struct legal_random *random, bool last,
               unsigned *dynamic_count)
{
   binding->type = choose_type(program, set, binding->number, random, dynamic_count);
   if (legal_chance(random, 5)) {
      /* A number that is reserved */
      binding->type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      binding->stages = all_stages(program);
      return;
   }
   choose_count(program, set, binding, random, last);
   choose_users(program, binding, random);
   binding->dim = legal_below(random, LEGAL_DIMS);
   binding->numbers = legal_below(random, LEGAL_NUMBERS);
   if (binding->type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE) {
      static const enum legal_dim dims[] = {LEGAL_1D, LEGAL_2D, LEGAL_3D, LEGAL_2D_ARRAY};
      binding->dim = dims[legal_below(random, VKH_COUNT(dims))];
   }
   if (binding->type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER ||
       binding->type == VK_DESCRIPTOR_TYPE_SAMPLER)
      binding->immutable_samplers = !program->descriptor_buffers && legal_chance(random, 25);
   if (is_buffer(binding->type)) {
      binding->size = 64 * (1 + legal_below(random, 4));
      binding->source = 256 * legal_below(random, 32);
   }
   if (binding->writable) {
      binding->size = LEGAL_REGION;
      binding->region = program->region_count;
      if (binding->type != VK_DESCRIPTOR_TYPE_STORAGE_IMAGE)
         program->region_count += binding->valid;
   }
}

/* Sets that are updated after they are bound have no dynamic buffers. */
static void
clear_after_bind(struct legal_set *set)
{
   bool dynamic = false;

   for (unsigned i = 0; i < set->binding_count; i++)
      dynamic |= is_dynamic(set->bindings[i].type);
   for (unsigned i = 0; i < set->binding_count && dynamic; i++)
      set->bindings[i].flags &= ~VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT;
}

static bool
is_made_of_objects(const struct legal_program *program)
{
   return program->creation == LEGAL_OBJECTS || program->creation == LEGAL_OBJECTS_LINKED ||
          program->creation == LEGAL_OBJECT_BINARIES;
}

static void
choose_sets(struct legal_program *program, struct legal_random *random, uint32_t features)
{
   static const uint32_t counts[] = {0, 1, 1, 1, 2, 2, 3, 4};
   static const uint32_t steps[] = {1, 1, 1, 1, 2, 5, 1000};
   unsigned dynamic_count = 0;
   bool has_push = false;

   /* RADV adds the sizes of push constants of such objects up, and does not find what is behind
    * them (radv_bind_graphics_shaders()).
    */
   if (!(features & LEGAL_DYNAMIC_OBJECTS) && is_made_of_objects(program) &&
       program->bind_point == VK_PIPELINE_BIND_POINT_GRAPHICS)
      dynamic_count = MAX_DYNAMIC;
   program->set_count = counts[legal_below(random, VKH_COUNT(counts))];
   for (unsigned i = 0; i < program->set_count; i++) {
      struct legal_set *set = &program->sets[i];
      uint32_t number = legal_chance(random, 70) ? 0 : legal_below(random, 6);

      if (program->descriptor_buffers) {
         set->update = LEGAL_BUFFER;
      } else if (!has_push && features & LEGAL_PUSH_DESCRIPTORS && legal_chance(random, 15)) {
         set->update = LEGAL_PUSH;
         has_push = true;
      } else {
         static const enum legal_update updates[] = {LEGAL_WRITE, LEGAL_WRITE, LEGAL_TEMPLATE,
                                                     LEGAL_COPY};
         set->update = updates[legal_below(random, VKH_COUNT(updates))];
      }
      if (program->independent_sets && legal_chance(random, 15)) {
         set->null = true;
         continue;
      }
      set->binding_count = legal_chance(random, 8) ? 0 : 1 + legal_below(random, 5);
      for (unsigned j = 0; j < set->binding_count; j++) {
         set->bindings[j].number = number;
         choose_binding(program, set, &set->bindings[j], random, j + 1 == set->binding_count,
                        &dynamic_count);
         number += steps[legal_below(random, VKH_COUNT(steps))];
      }
      clear_after_bind(set);
   }
}

/* --- Push constants ------------------------------------------------------- */

static uint32_t
align(uint32_t value, uint32_t alignment)
{
   return (value + alignment - 1) / alignment * alignment;
}

static void
choose_push(struct legal_program *program, struct legal_random *random)
{
   struct legal_push *push = &program->push;
   const VkShaderStageFlagBits writer = choose_writer(program, random);

   if (!legal_chance(random, 60) && program->set_count)
      return;
   push->stages = legal_chance(random, 50) ? VK_SHADER_STAGE_ALL : all_stages(program);
   push->offset = legal_chance(random, 50) ? 0 : 4 * legal_below(random, 10);
   uint32_t at = push->offset;
   if (program->physical) {
      push->has_source = legal_chance(random, 70);
      push->has_output = writer && legal_chance(random, 60);
   }
   if (push->has_source) {
      push->source_at = align(at, 8);
      at = push->source_at + 8;
   }
   if (push->has_output) {
      push->output_at = align(at, 8);
      at = push->output_at + 8;
      push->writer = writer;
      push->region = program->region_count++;
   }
   push->word_count = legal_below(random, 9);
   if (at == push->offset && !push->word_count)
      push->word_count = 1;
   push->words_at = align(at, 4);
   at = push->words_at + 4 * push->word_count;
   if (legal_chance(random, 30))
      at += 4 * legal_below(random, 4); /* that no shader knows */
   push->size = at - push->offset;
}

/* --- Programs ------------------------------------------------------------- */

void
legal_generate(uint64_t seed, uint32_t features, struct legal_program *program)
{
   static const uint32_t versions[] = {0x10300, 0x10400, 0x10500, 0x10500, 0x10600};
   struct legal_random random = legal_random(seed, 0);

   *program = (struct legal_program){
      .seed = seed,
      .local_size = {1, 1, 1},
      .groups = {1, 1, 1},
      .repeats = 1,
   };
   if (features & LEGAL_GRAPHICS && legal_chance(&random, 50))
      choose_graphics(program, &random, features);
   else
      choose_compute(program, &random);
   choose_creation(program, &random, features);

   program->version = versions[legal_below(&random, VKH_COUNT(versions))];
   const bool mesh = legal_has_stage(program, VK_SHADER_STAGE_MESH_BIT_EXT);
   if (mesh && program->version < 0x10400)
      program->version = 0x10500;
   program->old_style = !mesh && legal_chance(&random, 15);
   if (program->old_style)
      program->version = 0x10000;
   program->physical = !program->old_style && legal_chance(&random, 50);
   program->vulkan_memory_model = program->version >= 0x10500 && legal_chance(&random, 25);
   program->names = legal_chance(&random, 60);
   program->lines = program->names && legal_chance(&random, 50);
   program->specialization = legal_chance(&random, 40);
   program->unwritten = features & LEGAL_UNWRITTEN;
   program->differing_atomics = features & LEGAL_DIFFERING_ATOMICS;
   program->secondary = legal_chance(&random, 10);

   program->descriptor_buffers = features & LEGAL_DESCRIPTOR_BUFFERS && legal_chance(&random, 15);
   program->independent_sets =
      (program->creation == LEGAL_LIBRARY || program->creation == LEGAL_LIBRARY_OPTIMIZED) &&
      legal_chance(&random, 50);
   choose_sets(program, &random, features);
   choose_push(program, &random);
}

/* --- Words ---------------------------------------------------------------- */

const char *
legal_stage_name(VkShaderStageFlagBits stage)
{
   switch (stage) {
   case VK_SHADER_STAGE_COMPUTE_BIT:
      return "comp";
   case VK_SHADER_STAGE_VERTEX_BIT:
      return "vert";
   case VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT:
      return "tesc";
   case VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT:
      return "tese";
   case VK_SHADER_STAGE_GEOMETRY_BIT:
      return "geom";
   case VK_SHADER_STAGE_FRAGMENT_BIT:
      return "frag";
   case VK_SHADER_STAGE_TASK_BIT_EXT:
      return "task";
   case VK_SHADER_STAGE_MESH_BIT_EXT:
      return "mesh";
   case VK_SHADER_STAGE_RAYGEN_BIT_KHR:
      return "rgen";
   case VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR:
      return "rchit";
   case VK_SHADER_STAGE_ANY_HIT_BIT_KHR:
      return "rahit";
   case VK_SHADER_STAGE_MISS_BIT_KHR:
      return "rmiss";
   case VK_SHADER_STAGE_INTERSECTION_BIT_KHR:
      return "rint";
   case VK_SHADER_STAGE_CALLABLE_BIT_KHR:
      return "rcall";
   default:
      return "?";
   }
}

static void
print_binding(const struct legal_binding *binding)
{
   static const char *const types[] = {
      "sampler",
      "combined image sampler",
      "sampled image",
      "storage image",
      "uniform texels",
      "storage texels",
      "uniform buffer",
      "storage buffer",
      "dynamic uniform buffer",
      "dynamic storage buffer",
      "input attachment",
   };
   const bool inline_block = binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;

   printf("      binding %u: %s, %u", binding->number,
          inline_block ? "inline block" : types[binding->type], binding->count);
   if (binding->allocated != binding->count)
      printf(", %u allocated", binding->allocated);
   if (binding->valid != binding->allocated)
      printf(", %u written", binding->valid);
   if (binding->writable)
      printf(", writable");
   if (binding->immutable_samplers)
      printf(", immutable samplers");
   if (binding->flags)
      printf(", flags 0x%x", binding->flags);
   printf(", dim %u, numbers %u, stages 0x%x, used by 0x%x\n", binding->dim, binding->numbers,
          binding->stages, binding->users);
}

void
legal_print(const struct legal_program *program)
{
   static const char *const creations[] = {
      "monolithic", "through a cache", "libraries",       "libraries, optimized",
      "objects",    "linked objects",  "object binaries", "pipeline binaries",
   };
   static const char *const updates[] = {"written", "by a template", "copied", "pushed",
                                         "in a descriptor buffer"};

   printf("   %s:", creations[program->creation]);
   for (unsigned i = 0; i < program->stage_count; i++)
      printf(" %s", legal_stage_name(program->stages[i]));
   printf("; SPIR-V 0x%x%s%s%s%s%s%s\n", program->version,
          program->one_module ? ", one module" : "", program->old_style ? ", old style" : "",
          program->names ? ", names" : "", program->physical ? ", addresses" : "",
          program->vulkan_memory_model ? ", Vulkan memory model" : "",
          program->specialization ? ", specialization" : "");
   printf("   local size %u %u %u, groups %u %u %u, repeats %u%s%s%s%s\n", program->local_size[0],
          program->local_size[1], program->local_size[2], program->groups[0], program->groups[1],
          program->groups[2], program->repeats, program->indirect ? ", indirect" : "",
          program->indexed ? ", indexed" : "", program->secondary ? ", secondary" : "",
          program->independent_sets ? ", independent sets" : "");
   for (unsigned i = 0; i < program->set_count; i++) {
      const struct legal_set *set = &program->sets[i];
      printf("   set %u%s, %s\n", i, set->null ? ": null" : "", updates[set->update]);
      for (unsigned j = 0; j < set->binding_count; j++)
         print_binding(&set->bindings[j]);
   }
   if (program->push.stages)
      printf("   push constants: offset %u, size %u%s%s, %u words at %u, stages 0x%x\n",
             program->push.offset, program->push.size,
             program->push.has_source ? ", address to read" : "",
             program->push.has_output ? ", address to write" : "", program->push.word_count,
             program->push.words_at, program->push.stages);
}
