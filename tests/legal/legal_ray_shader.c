/* SPDX-License-Identifier: MIT */

/*
 * SPIR-V of rays: queries in any stage, and what the stages of ray tracing pipelines have that
 * others have not.
 */

#include "legal_shader.h"

#include <string.h>

#define spv(shader) (&(shader)->spv)

bool
legal_is_ray_stage(VkShaderStageFlagBits stage)
{
   return (stage & (VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_ANY_HIT_BIT_KHR |
                    VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR | VK_SHADER_STAGE_MISS_BIT_KHR |
                    VK_SHADER_STAGE_INTERSECTION_BIT_KHR | VK_SHADER_STAGE_CALLABLE_BIT_KHR)) != 0;
}

/* --- Acceleration structures ---------------------------------------------- */

uint32_t
legal_structure_type(struct legal_shader *shader)
{
   if (shader->program->ray_queries) {
      spv_capability(spv(shader), SpvCapabilityRayQueryKHR);
      spv_extension(spv(shader), "SPV_KHR_ray_query");
   } else {
      spv_capability(spv(shader), SpvCapabilityRayTracingKHR);
      spv_extension(spv(shader), "SPV_KHR_ray_tracing");
   }
   return spv_type_words(spv(shader), SpvOpTypeAccelerationStructureKHR, 0, NULL);
}

/* The structure whose address is in push constants */
static uint32_t
structure_at_address(struct legal_shader *shader)
{
   const uint32_t pair = spv_uint(spv(shader), 2);
   const uint32_t pointer = legal_value(shader, SpvOpAccessChain,
                                        spv_pointer(spv(shader), SpvStorageClassPushConstant, pair),
                                        shader->push, constant(shader, shader->push_scene));
   const uint32_t structure = legal_structure_type(shader);
   uint32_t address = legal_value(shader, SpvOpLoad, pair, pointer);

   if (chance(shader, 50)) {
      spv_capability(spv(shader), SpvCapabilityInt64);
      address =
         legal_value(shader, SpvOpBitcast, spv_type(spv(shader), SpvOpTypeInt, 64, 0), address);
   }
   return legal_value(shader, SpvOpConvertUToAccelerationStructureKHR, structure, address);
}

/* A structure that rays may be sent through, or 0 */
static uint32_t
find_structure(struct legal_shader *shader)
{
   for (unsigned i = 0; i < shader->variable_count; i++) {
      const struct legal_variable *variable = &shader->variables[i];
      if (variable->binding->type == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR &&
          variable->binding->valid)
         return legal_load_structure(shader, variable);
   }
   return shader->push && shader->program->push.has_scene ? structure_at_address(shader) : 0;
}

/* --- Rays ----------------------------------------------------------------- */

/* Operands of a ray along z, at x = slot / 16 and a bit, y = a bit, from z = 0 to 10 */
struct ray {
   uint32_t flags, mask, origin, min, direction, max;
};

static struct ray
make_ray(struct legal_shader *shader)
{
   static const uint32_t flags[] = {
      SpvRayFlagsMaskNone,
      SpvRayFlagsOpaqueKHRMask,
      SpvRayFlagsTerminateOnFirstHitKHRMask,
   };
   const uint32_t real = spv_float(spv(shader), 1), vector = spv_float(spv(shader), 3);
   const uint32_t zero = constant_float(shader, 0.0f);
   uint32_t x = legal_value(shader, SpvOpConvertUToF, real, shader->function->slot);

   x = legal_value(shader, SpvOpFMul, real, x, constant_float(shader, 1.0f / 16));
   x = legal_value(shader, SpvOpFAdd, real, x, constant_float(shader, 1.0f / 32));
   return (struct ray){
      .flags = constant(shader, flags[below(shader, VKH_COUNT(flags))]),
      .mask = constant(shader, 0xff),
      .origin = legal_value(shader, SpvOpCompositeConstruct, vector, x,
                            constant_float(shader, 1.0f / 64), zero),
      .min = zero,
      .direction = legal_value(shader, SpvOpCompositeConstruct, vector, zero, zero,
                               constant_float(shader, 1.0f)),
      .max = constant_float(shader, 10.0f),
   };
}

/* --- Queries -------------------------------------------------------------- */

static uint32_t
intersection_type(struct legal_shader *shader, uint32_t query, uint32_t which)
{
   return legal_value(shader, SpvOpRayQueryGetIntersectionTypeKHR, spv_uint(spv(shader), 1), query,
                      constant(shader, which));
}

/* What becomes of a candidate: each is a hit, or for some invocations */
static void
handle_candidate(struct legal_shader *shader, uint32_t query)
{
   const uint32_t then = spv_id(spv(shader)), merge = spv_id(spv(shader));
   const bool always = chance(shader, 50);

   if (!always) {
      const uint32_t some = legal_condition(shader, LEGAL_CONDITION_DIFFERS);
      legal_op(shader, SpvOpSelectionMerge, merge, SpvSelectionControlMaskNone);
      legal_op(shader, SpvOpBranchConditional, some, then, merge);
      label(shader, then);
   }
   if (legal_scene_of(shader->program) == LEGAL_SCENE_TRIANGLE)
      legal_op(shader, SpvOpRayQueryConfirmIntersectionKHR, query);
   else
      legal_op(shader, SpvOpRayQueryGenerateIntersectionKHR, query, constant_float(shader, 1.5f));
   if (!always) {
      if (chance(shader, 20))
         legal_op(shader, SpvOpRayQueryTerminateKHR, query);
      legal_op(shader, SpvOpBranch, merge);
      label(shader, merge);
   }
}

static void
proceed(struct legal_shader *shader, uint32_t query)
{
   const uint32_t header = spv_id(spv(shader)), test = spv_id(spv(shader));
   const uint32_t body = spv_id(spv(shader)), next = spv_id(spv(shader));
   const uint32_t merge = spv_id(spv(shader));

   legal_op(shader, SpvOpBranch, header);
   label(shader, header);
   legal_op(shader, SpvOpLoopMerge, merge, next, SpvLoopControlMaskNone);
   legal_op(shader, SpvOpBranch, test);
   label(shader, test);
   const uint32_t more = legal_value(shader, SpvOpRayQueryProceedKHR, spv_bool(spv(shader)), query);
   legal_op(shader, SpvOpBranchConditional, more, body, merge);
   label(shader, body);
   handle_candidate(shader, query);
   legal_op(shader, SpvOpBranch, next);
   label(shader, next);
   legal_op(shader, SpvOpBranch, header);
   label(shader, merge);
}

/* What was met: its custom index, or the type of nothing */
static uint32_t
read_committed(struct legal_shader *shader, uint32_t query)
{
   const uint32_t type = spv_uint(spv(shader), 1);
   const uint32_t before = spv_id(spv(shader)), then = spv_id(spv(shader));
   const uint32_t merge = spv_id(spv(shader)), committed = 1;

   legal_op(shader, SpvOpBranch, before);
   label(shader, before);
   const uint32_t kind = intersection_type(shader, query, committed);
   const uint32_t hit =
      legal_value(shader, SpvOpINotEqual, spv_bool(spv(shader)), kind, constant(shader, 0));
   legal_op(shader, SpvOpSelectionMerge, merge, SpvSelectionControlMaskNone);
   legal_op(shader, SpvOpBranchConditional, hit, then, merge);
   label(shader, then);
   const uint32_t index = legal_value(shader, SpvOpRayQueryGetIntersectionInstanceCustomIndexKHR,
                                      type, query, constant(shader, committed));
   legal_op(shader, SpvOpBranch, merge);
   label(shader, merge);
   return legal_value(shader, SpvOpPhi, type, index, then, kind, before);
}

/* A query, or one of an array of them */
static uint32_t
declare_query(struct legal_shader *shader)
{
   const uint32_t type = spv_type_words(spv(shader), SpvOpTypeRayQueryKHR, 0, NULL);
   const bool is_private = chance(shader, 30);
   const SpvStorageClass storage = is_private ? SpvStorageClassPrivate : SpvStorageClassFunction;
   const bool is_array = chance(shader, 20);
   const uint32_t whole = is_array ? spv_array(spv(shader), type, 2, 0) : type;
   const uint32_t variable =
      is_private ? legal_global(shader, storage, whole) : legal_local(shader, whole);
   bool ignored;

   if (is_private)
      legal_add_interface(shader, variable);
   if (!is_array)
      return variable;
   return legal_value(shader, SpvOpAccessChain, spv_pointer(spv(shader), storage, type), variable,
                      legal_index(shader, 2, false, &ignored));
}

uint32_t
legal_ray_query(struct legal_shader *shader, uint32_t structure)
{
   if (!shader->program->ray_queries)
      return legal_uniform_value(shader);

   const struct ray ray = make_ray(shader);
   const uint32_t query = declare_query(shader);
   legal_op(shader, SpvOpRayQueryInitializeKHR, query, structure, ray.flags, ray.mask, ray.origin,
            ray.min, ray.direction, ray.max);
   if (chance(shader, 10))
      legal_op(shader, SpvOpRayQueryTerminateKHR, query);
   proceed(shader, query);
   return read_committed(shader, query);
}

uint32_t
legal_query_address(struct legal_shader *shader)
{
   return legal_ray_query(shader, structure_at_address(shader));
}

/* --- Stages --------------------------------------------------------------- */

static uint32_t
declare(struct legal_shader *shader, SpvStorageClass storage)
{
   const uint32_t variable = legal_global(shader, storage, spv_uint(spv(shader), 1));
   legal_add_interface(shader, variable);
   return variable;
}

static uint32_t
load(struct legal_shader *shader, uint32_t variable)
{
   return legal_value(shader, SpvOpLoad, spv_uint(spv(shader), 1), variable);
}

/* What is handed over to this stage, or 0 */
static uint32_t
declare_incoming(struct legal_shader *shader)
{
   switch (shader->stage) {
   case VK_SHADER_STAGE_CALLABLE_BIT_KHR:
      return declare(shader, SpvStorageClassIncomingCallableDataKHR);
   case VK_SHADER_STAGE_MISS_BIT_KHR:
   case VK_SHADER_STAGE_ANY_HIT_BIT_KHR:
   case VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR:
      return declare(shader, SpvStorageClassIncomingRayPayloadKHR);
   default:
      return 0;
   }
}

uint32_t
legal_begin_ray_stage(struct legal_shader *shader)
{
   const VkShaderStageFlags hits =
      VK_SHADER_STAGE_ANY_HIT_BIT_KHR | VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR;

   spv_capability(spv(shader), SpvCapabilityRayTracingKHR);
   spv_extension(spv(shader), "SPV_KHR_ray_tracing");
   const uint32_t incoming = declare_incoming(shader);
   if (incoming)
      legal_mix(shader, load(shader, incoming));
   /* What an intersection shader gives out */
   if (shader->stage & hits && legal_scene_of(shader->program) == LEGAL_SCENE_BOX)
      legal_mix(shader, load(shader, declare(shader, SpvStorageClassHitAttributeKHR)));
   return incoming;
}

static void
trace(struct legal_shader *shader)
{
   const uint32_t structure = find_structure(shader), zero = constant(shader, 0);

   if (structure) {
      const uint32_t payload = declare(shader, SpvStorageClassRayPayloadKHR);
      const struct ray ray = make_ray(shader);
      legal_op(shader, SpvOpStore, payload, legal_result(shader));
      legal_op(shader, SpvOpTraceRayKHR, structure, ray.flags, ray.mask, zero, zero, zero,
               ray.origin, ray.min, ray.direction, ray.max, payload);
      legal_mix(shader, load(shader, payload));
   }
   if (legal_has_stage(shader->program, VK_SHADER_STAGE_CALLABLE_BIT_KHR)) {
      const uint32_t data = declare(shader, SpvStorageClassCallableDataKHR);
      legal_op(shader, SpvOpStore, data, legal_result(shader));
      legal_op(shader, SpvOpExecuteCallableKHR, zero, data);
      legal_mix(shader, load(shader, data));
   }
}

static void
report(struct legal_shader *shader)
{
   const uint32_t attribute = declare(shader, SpvStorageClassHitAttributeKHR);

   legal_op(shader, SpvOpStore, attribute, legal_result(shader));
   legal_value(shader, SpvOpReportIntersectionKHR, spv_bool(spv(shader)),
               constant_float(shader, 1.5f), constant(shader, below(shader, 0x7f)));
}

/* Hits that are none, or that are the last */
static void
end_any_hit(struct legal_shader *shader)
{
   const uint32_t then = spv_id(spv(shader)), merge = spv_id(spv(shader));
   const uint32_t some = legal_condition(shader, LEGAL_CONDITION_DIFFERS);

   legal_op(shader, SpvOpSelectionMerge, merge, SpvSelectionControlMaskNone);
   legal_op(shader, SpvOpBranchConditional, some, then, merge);
   label(shader, then);
   spv_emit_words(legal_code(shader),
                  chance(shader, 50) ? SpvOpIgnoreIntersectionKHR : SpvOpTerminateRayKHR, 0, NULL);
   label(shader, merge);
}

void
legal_finish_ray_stage(struct legal_shader *shader, uint32_t incoming)
{
   if (shader->stage == VK_SHADER_STAGE_RAYGEN_BIT_KHR)
      trace(shader);
   legal_write(shader, legal_result(shader));
   if (incoming)
      legal_op(shader, SpvOpStore, incoming, legal_result(shader));
   if (shader->stage == VK_SHADER_STAGE_INTERSECTION_BIT_KHR)
      report(shader);
   if (shader->stage == VK_SHADER_STAGE_ANY_HIT_BIT_KHR && chance(shader, 40))
      end_any_hit(shader);
}
