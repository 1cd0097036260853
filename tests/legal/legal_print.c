/* SPDX-License-Identifier: MIT */

/*
 * Programs in words
 */

#include "legal.h"

#include <stdio.h>

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
   const char *type = binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK ? "inline block"
                      : binding->type == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR
                         ? "acceleration structure"
                         : types[binding->type];

   printf("      binding %u: %s, %u", binding->number, type, binding->count);
   if (binding->allocated != binding->count)
      printf(", %u allocated", binding->allocated);
   if (binding->valid != binding->allocated)
      printf(", %u written from %u on", binding->valid, binding->first);
   if (binding->is_mutable)
      printf(", mutable");
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
   printf("; SPIR-V 0x%x%s%s%s%s%s%s%s%s\n", program->version,
          program->one_module ? ", one module" : "", program->old_style ? ", old style" : "",
          program->names ? ", names" : "", program->physical ? ", addresses" : "",
          program->vulkan_memory_model ? ", Vulkan memory model" : "",
          program->specialization ? ", specialization" : "",
          program->ray_queries ? ", ray queries" : "", program->interlock ? ", interlock" : "");
   printf("   local size %u %u %u, groups %u %u %u, repeats %u%s%s%s%s%s\n", program->local_size[0],
          program->local_size[1], program->local_size[2], program->groups[0], program->groups[1],
          program->groups[2], program->repeats, program->indirect ? ", indirect" : "",
          program->indexed ? ", indexed" : "", program->secondary ? ", secondary" : "",
          program->independent_sets ? ", independent sets" : "",
          program->render_pass ? ", render pass" : "");
   for (unsigned i = 0; i < program->set_count; i++) {
      const struct legal_set *set = &program->sets[i];
      printf("   set %u%s, %s\n", i, set->null ? ": null" : "", updates[set->update]);
      for (unsigned j = 0; j < set->binding_count; j++)
         print_binding(&set->bindings[j]);
   }
   if (program->push.stages)
      printf("   push constants: offset %u, size %u%s%s%s, %u words at %u, stages 0x%x\n",
             program->push.offset, program->push.size,
             program->push.has_source ? ", address to read" : "",
             program->push.has_output ? ", address to write" : "",
             program->push.has_scene ? ", address of a scene" : "", program->push.word_count,
             program->push.words_at, program->push.stages);
}
