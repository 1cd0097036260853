/* SPDX-License-Identifier: MIT */

/*
 * What a seed stands for. The shaders come from the same seed, by a stream of random numbers
 * for each stage.
 */

#include "legal.h"

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
choose_rays(struct legal_program *program, struct legal_random *random)
{
   static const VkShaderStageFlagBits others[] = {
      VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR,
      VK_SHADER_STAGE_ANY_HIT_BIT_KHR,
      VK_SHADER_STAGE_INTERSECTION_BIT_KHR,
      VK_SHADER_STAGE_CALLABLE_BIT_KHR,
   };

   program->bind_point = VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR;
   program->groups[0] = 1 + legal_below(random, 8);
   program->groups[1] = 1 + legal_below(random, 8);
   program->repeats = legal_chance(random, 20) ? 2 : 1;
   add_stage(program, VK_SHADER_STAGE_RAYGEN_BIT_KHR);
   add_stage(program, VK_SHADER_STAGE_MISS_BIT_KHR);
   for (unsigned i = 0; i < VKH_COUNT(others); i++) {
      if (legal_chance(random, 50))
         add_stage(program, others[i]);
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
      if (compute || !(features & LEGAL_LIBRARIES))
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
      return true;
   case VK_SHADER_STAGE_RAYGEN_BIT_KHR:
   case VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR:
   case VK_SHADER_STAGE_MISS_BIT_KHR:
   case VK_SHADER_STAGE_CALLABLE_BIT_KHR:
      /* Each ray generation shader traces one ray, and calls one shader. */
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
   const bool may_have_inputs = program->render_pass && program->input_count < LEGAL_MAX_INPUTS &&
                                legal_has_stage(program, VK_SHADER_STAGE_FRAGMENT_BIT);
   VkDescriptorType type = types[legal_below(random, VKH_COUNT(types))];

   const bool push = set->update == LEGAL_PUSH;
   const bool rays =
      program->ray_queries || program->bind_point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR;
   if (rays && legal_chance(random, 15))
      type = VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR;
   if (may_have_inputs && legal_chance(random, 25))
      type = VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT;
   if (is_dynamic(type) && (push || program->descriptor_buffers || *dynamic_count >= MAX_DYNAMIC))
      type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
   /* lvp_CreateDescriptorSetLayout() takes the number of bindings for the highest of their
    * numbers when it places inline blocks: behind that they overlap descriptors.
    */
   if (type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK && (push || number >= set->planned))
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
   if (binding->type == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT)
      binding->count = 1 + legal_below(random, LEGAL_MAX_INPUTS - program->input_count);
   binding->allocated = binding->count;
   if (last && !push && !is_dynamic(binding->type) && !program->old_style &&
       binding->type != VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT && legal_chance(random, 20)) {
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
       binding->type != VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR &&
       binding->type != VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT && legal_chance(random, 15))
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
   if (binding->type == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT) {
      binding->stages = VK_SHADER_STAGE_FRAGMENT_BIT;
      binding->users &= VK_SHADER_STAGE_FRAGMENT_BIT;
   }
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
   if (binding->type == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT) {
      binding->dim = LEGAL_2D; /* what the image is */
      binding->input = program->input_count;
      for (uint32_t i = 0; i < binding->count; i++)
         program->inputs[program->input_count++] = binding->numbers;
   }
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

/* Types that all devices with mutable descriptors know together */
static bool
may_be_mutable(VkDescriptorType type)
{
   switch (type) {
   case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
   case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
   case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
      return true;
   default:
      return false;
   }
}

/* Makes the last binding of @set mutable, and may add another one with its number. */
static void
choose_mutable(struct legal_program *program, struct legal_set *set, struct legal_random *random)
{
   struct legal_binding *binding = &set->bindings[set->binding_count - 1];
   unsigned dynamic_count = MAX_DYNAMIC;

   if (set->update == LEGAL_PUSH || !may_be_mutable(binding->type) || !binding->count ||
       binding->flags & VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT ||
       !legal_chance(random, 40))
      return;
   binding->is_mutable = true;
   if (set->binding_count == LEGAL_MAX_BINDINGS || !legal_chance(random, 60))
      return;

   struct legal_binding other = {.number = binding->number};
   choose_binding(program, set, &other, random, false, &dynamic_count);
   if (!may_be_mutable(other.type) || !other.count)
      return;
   other.is_mutable = other.is_shared = true;
   other.first = binding->count;
   other.flags = binding->flags;
   if (other.valid < other.count)
      other.flags |= VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT;
   binding->flags = other.flags;
   binding->count += other.count;
   other.count = other.allocated = binding->allocated = binding->count;
   binding->stages |= other.stages;
   other.stages = binding->stages;
   set->bindings[set->binding_count++] = other;
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
      set->planned = legal_chance(random, 8) ? 0 : 1 + legal_below(random, 5);
      for (uint32_t j = 0; j < set->planned && set->binding_count < LEGAL_MAX_BINDINGS; j++) {
         struct legal_binding *binding = &set->bindings[set->binding_count++];
         binding->number = number;
         choose_binding(program, set, binding, random, j + 1 == set->planned, &dynamic_count);
         if (features & LEGAL_MUTABLE)
            choose_mutable(program, set, random);
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

static bool
is_library(const struct legal_program *program)
{
   return program->creation == LEGAL_LIBRARY || program->creation == LEGAL_LIBRARY_OPTIMIZED;
}

static void
choose_push(struct legal_program *program, struct legal_random *random, uint32_t features)
{
   struct legal_push *push = &program->push;
   const VkShaderStageFlagBits writer = choose_writer(program, random);

   if (!legal_chance(random, 60) && program->set_count)
      return;
   /* lvp_compile_ray_tracing_stages() forgets that stages of libraries have them. */
   if (!(features & LEGAL_LINKED_RAYS_PUSH) && is_library(program) &&
       program->bind_point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR)
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
   if (program->ray_queries || program->bind_point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR)
      push->has_scene = legal_chance(random, 50);
   if (push->has_scene) {
      push->scene_at = align(at, 8);
      at = push->scene_at + 8;
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
   if (features & LEGAL_RAY_PIPELINES && legal_chance(&random, 15))
      choose_rays(program, &random);
   else if (features & LEGAL_GRAPHICS && legal_chance(&random, 50))
      choose_graphics(program, &random, features);
   else
      choose_compute(program, &random);
   choose_creation(program, &random, features);

   program->version = versions[legal_below(&random, VKH_COUNT(versions))];
   program->ray_queries = features & LEGAL_RAY_QUERIES && legal_chance(&random, 25);
   const bool is_new = legal_has_stage(program, VK_SHADER_STAGE_MESH_BIT_EXT) ||
                       program->bind_point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR ||
                       program->ray_queries;
   if (is_new && program->version < 0x10400)
      program->version = 0x10500;
   program->old_style = !is_new && legal_chance(&random, 15);
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
   program->render_pass = features & LEGAL_INPUT_ATTACHMENTS &&
                          program->bind_point == VK_PIPELINE_BIND_POINT_GRAPHICS &&
                          !is_made_of_objects(program) && legal_chance(&random, 40);
   program->interlock = features & LEGAL_INTERLOCK && !program->old_style &&
                        legal_has_stage(program, VK_SHADER_STAGE_FRAGMENT_BIT) &&
                        legal_chance(&random, 25);
   choose_sets(program, &random, features);
   choose_push(program, &random, features);
}
