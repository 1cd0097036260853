/* SPDX-License-Identifier: MIT */

/*
 * The SPIR-V of stages, and the modules that they are in. A stage takes the result of the one
 * before it, goes through random statements that change it by what they read, writes to what it
 * may write to, and hands the result on.
 */

#include "legal_shader.h"

#include <stdlib.h>

/* --- Built-in values ------------------------------------------------------ */

/* A variable of the interface between stages, or a built-in one */
static uint32_t
interface_variable(struct legal_shader *shader, SpvStorageClass storage, uint32_t type,
                   SpvDecoration decoration, uint32_t value)
{
   const uint32_t id = legal_global(shader, storage, type);
   spv_decorate(&shader->spv, id, decoration, value);
   legal_add_interface(shader, id);
   return id;
}

static uint32_t
read_builtin(struct legal_shader *shader, SpvBuiltIn builtin, uint32_t type)
{
   const uint32_t id =
      interface_variable(shader, SpvStorageClassInput, type, SpvDecorationBuiltIn, builtin);
   if (shader->stage == VK_SHADER_STAGE_FRAGMENT_BIT && builtin != SpvBuiltInFragCoord)
      spv_decorate(&shader->spv, id, SpvDecorationFlat);
   return legal_value(shader, SpvOpLoad, type, id);
}

/* --- Stages --------------------------------------------------------------- */

static uint32_t
local_index(struct legal_shader *shader)
{
   return read_builtin(shader, SpvBuiltInLocalInvocationIndex, spv_uint(&shader->spv, 1));
}

static uint32_t
compute_slot(struct legal_shader *shader)
{
   const uint32_t type = spv_uint(&shader->spv, 1);
   const uint32_t group = read_builtin(shader, SpvBuiltInWorkgroupId, spv_uint(&shader->spv, 3));
   const uint32_t x = legal_value(shader, SpvOpCompositeExtract, type, group, 0);
   const uint32_t y = legal_value(shader, SpvOpCompositeExtract, type, group, 1);
   uint32_t slot = legal_uint(shader, SpvOpIMul, y, constant(shader, shader->program->groups[0]));

   slot = legal_uint(shader, SpvOpIAdd, slot, x);
   slot = legal_uint(shader, SpvOpIMul, slot, constant(shader, legal_workgroup_size(shader)));
   return legal_uint(shader, SpvOpIAdd, slot, local_index(shader));
}

static uint32_t
fragment_slot(struct legal_shader *shader)
{
   const uint32_t at = read_builtin(shader, SpvBuiltInFragCoord, spv_float(&shader->spv, 4));
   uint32_t parts[2];

   for (unsigned i = 0; i < 2; i++)
      parts[i] =
         legal_value(shader, SpvOpConvertFToU, spv_uint(&shader->spv, 1),
                     legal_value(shader, SpvOpCompositeExtract, spv_float(&shader->spv, 1), at, i));
   return legal_uint(shader, SpvOpIAdd, parts[0],
                     legal_uint(shader, SpvOpIMul, parts[1], constant(shader, LEGAL_TARGET_SIZE)));
}

static uint32_t
launch_slot(struct legal_shader *shader)
{
   const uint32_t type = spv_uint(&shader->spv, 1);
   const uint32_t id = read_builtin(shader, SpvBuiltInLaunchIdKHR, spv_uint(&shader->spv, 3));
   const uint32_t row =
      legal_uint(shader, SpvOpIMul, legal_value(shader, SpvOpCompositeExtract, type, id, 1),
                 constant(shader, shader->program->groups[0]));
   return legal_uint(shader, SpvOpIAdd, row,
                     legal_value(shader, SpvOpCompositeExtract, type, id, 0));
}

/* A signed built-in, as uint */
static uint32_t
signed_slot(struct legal_shader *shader, SpvBuiltIn builtin)
{
   const uint32_t value = read_builtin(shader, builtin, spv_int(&shader->spv, 1));
   return legal_value(shader, SpvOpBitcast, spv_uint(&shader->spv, 1), value);
}

static uint32_t
get_slot(struct legal_shader *shader)
{
   switch (shader->stage) {
   case VK_SHADER_STAGE_COMPUTE_BIT:
      return compute_slot(shader);
   case VK_SHADER_STAGE_FRAGMENT_BIT:
      return fragment_slot(shader);
   case VK_SHADER_STAGE_VERTEX_BIT:
      return legal_uint(shader, SpvOpBitwiseAnd, signed_slot(shader, SpvBuiltInVertexIndex),
                        constant(shader, LEGAL_SLOTS - 1));
   case VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT:
   case VK_SHADER_STAGE_GEOMETRY_BIT:
      return signed_slot(shader, SpvBuiltInInvocationId);
   case VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT:
      return signed_slot(shader, SpvBuiltInPrimitiveId);
   default:
      return legal_is_ray_stage(shader->stage) ? launch_slot(shader) : local_index(shader);
   }
}

/* --- Interfaces between stages -------------------------------------------- */

static uint32_t
declare_output(struct legal_shader *shader, uint32_t type)
{
   return interface_variable(shader, SpvStorageClassOutput, type, SpvDecorationLocation, 0);
}

static uint32_t
declare_input(struct legal_shader *shader, uint32_t type)
{
   return interface_variable(shader, SpvStorageClassInput, type, SpvDecorationLocation, 0);
}

/* A pointer to element @index of an array in an interface */
static uint32_t
element(struct legal_shader *shader, SpvStorageClass storage, uint32_t type, uint32_t array,
        uint32_t index)
{
   return legal_value(shader, SpvOpAccessChain, spv_pointer(&shader->spv, storage, type), array,
                      index);
}

static uint32_t
load(struct legal_shader *shader, uint32_t type, uint32_t pointer)
{
   return legal_value(shader, SpvOpLoad, type, pointer);
}

static uint32_t
vector4(struct legal_shader *shader, uint32_t x, uint32_t y)
{
   return legal_value(shader, SpvOpCompositeConstruct, spv_float(&shader->spv, 4), x, y,
                      spv_constant_float(&shader->spv, 0.0f),
                      spv_constant_float(&shader->spv, 1.0f));
}

/* Corner @index of a triangle that covers the target */
static uint32_t
corner(struct legal_shader *shader, uint32_t index)
{
   const uint32_t type = spv_float(&shader->spv, 1);
   uint32_t parts[2];

   for (unsigned i = 0; i < 2; i++)
      parts[i] = legal_value(
         shader, SpvOpSelect, type,
         legal_value(shader, SpvOpIEqual, spv_bool(&shader->spv), index, constant(shader, i + 1)),
         spv_constant_float(&shader->spv, 3.0f), spv_constant_float(&shader->spv, -1.0f));
   return vector4(shader, parts[0], parts[1]);
}

static uint32_t
position_output(struct legal_shader *shader, uint32_t type)
{
   return interface_variable(shader, SpvStorageClassOutput, type, SpvDecorationBuiltIn,
                             SpvBuiltInPosition);
}

static uint32_t
position_input(struct legal_shader *shader, uint32_t type)
{
   return interface_variable(shader, SpvStorageClassInput, type, SpvDecorationBuiltIn,
                             SpvBuiltInPosition);
}

static void
begin_vertex(struct legal_shader *shader)
{
   const struct legal_program *program = shader->program;
   const uint32_t type = spv_uint(&shader->spv, 1);

   for (uint32_t i = 0; i < program->attribute_count; i++)
      legal_mix(shader, load(shader, type,
                             interface_variable(shader, SpvStorageClassInput, type,
                                                SpvDecorationLocation, i)));
   const uint32_t vertex = legal_uint(shader, SpvOpISub, shader->function->slot,
                                      constant(shader, program->first_vertex));
   legal_op(shader, SpvOpStore, position_output(shader, spv_float(&shader->spv, 4)),
            corner(shader, vertex));
}

/* What a tessellation control shader gives out, beside the result */
static void
begin_tess_control(struct legal_shader *shader)
{
   const uint32_t type = spv_uint(&shader->spv, 1), real = spv_float(&shader->spv, 1);
   const uint32_t vector = spv_float(&shader->spv, 4);
   const uint32_t in = position_input(shader, spv_array(&shader->spv, vector, 32, 0));
   const uint32_t out = position_output(shader, spv_array(&shader->spv, vector, 3, 0));
   const uint32_t results = declare_input(shader, spv_array(&shader->spv, type, 32, 0));
   const uint32_t slot = shader->function->slot;
   const uint32_t level =
      spv_constant_float(&shader->spv, (float)shader->program->tessellation_level);

   legal_mix(shader,
             load(shader, type, element(shader, SpvStorageClassInput, type, results, slot)));
   legal_op(shader, SpvOpStore, element(shader, SpvStorageClassOutput, vector, out, slot),
            load(shader, vector, element(shader, SpvStorageClassInput, vector, in, slot)));
   for (unsigned i = 0; i < 2; i++) {
      const uint32_t levels = interface_variable(
         shader, SpvStorageClassOutput, spv_array(&shader->spv, real, i ? 2 : 4, 0),
         SpvDecorationBuiltIn, i ? SpvBuiltInTessLevelInner : SpvBuiltInTessLevelOuter);
      spv_emit(&shader->spv.annotations, SpvOpDecorate, levels, SpvDecorationPatch);
      for (unsigned j = 0; j < (i ? 1 : 3); j++)
         legal_op(shader, SpvOpStore,
                  element(shader, SpvStorageClassOutput, real, levels, constant(shader, j)), level);
   }
}

/* The vertex is where its coordinates are in the triangle; the result comes from the patch. */
static void
begin_tess_evaluation(struct legal_shader *shader)
{
   const uint32_t type = spv_uint(&shader->spv, 1), real = spv_float(&shader->spv, 1);
   const uint32_t vector = spv_float(&shader->spv, 4);
   const uint32_t in = position_input(shader, spv_array(&shader->spv, vector, 32, 0));
   const uint32_t results = declare_input(shader, spv_array(&shader->spv, type, 32, 0));
   const uint32_t at = read_builtin(shader, SpvBuiltInTessCoord, spv_float(&shader->spv, 3));
   uint32_t position = 0;

   for (unsigned i = 0; i < 3; i++) {
      const uint32_t corner = load(
         shader, vector, element(shader, SpvStorageClassInput, vector, in, constant(shader, i)));
      const uint32_t part = legal_value(shader, SpvOpVectorTimesScalar, vector, corner,
                                        legal_value(shader, SpvOpCompositeExtract, real, at, i));
      position = i ? legal_value(shader, SpvOpFAdd, vector, position, part) : part;
      legal_mix(shader,
                load(shader, type,
                     element(shader, SpvStorageClassInput, type, results, constant(shader, i))));
   }
   legal_op(shader, SpvOpStore, position_output(shader, vector), position);
}

/* Hands a triangle on, and the result with each of its vertices. */
static void
finish_geometry(struct legal_shader *shader, uint32_t positions, uint32_t output)
{
   const uint32_t vector = spv_float(&shader->spv, 4);
   const uint32_t position = position_output(shader, vector);
   const uint32_t result = legal_result(shader);

   for (unsigned i = 0; i < 3; i++) {
      legal_op(shader, SpvOpStore, position,
               load(shader, vector,
                    element(shader, SpvStorageClassInput, vector, positions, constant(shader, i))));
      legal_op(shader, SpvOpStore, output, result);
      spv_emit_words(legal_code(shader), SpvOpEmitVertex, 0, NULL);
   }
   spv_emit_words(legal_code(shader), SpvOpEndPrimitive, 0, NULL);
}

static uint32_t
begin_geometry(struct legal_shader *shader)
{
   const uint32_t type = spv_uint(&shader->spv, 1);
   const uint32_t vector = spv_float(&shader->spv, 4);
   const uint32_t results = declare_input(shader, spv_array(&shader->spv, type, 3, 0));

   for (unsigned i = 0; i < 3; i++)
      legal_mix(shader,
                load(shader, type,
                     element(shader, SpvStorageClassInput, type, results, constant(shader, i))));
   return position_input(shader, spv_array(&shader->spv, vector, 3, 0));
}

/* The variable through which a task shader hands its result to mesh shaders */
static uint32_t
declare_payload(struct legal_shader *shader)
{
   const uint32_t type = spv_uint(&shader->spv, 1);
   const uint32_t payload = spv_struct(&shader->spv, 1, &type, NULL);
   const uint32_t id = legal_global(shader, SpvStorageClassTaskPayloadWorkgroupEXT, payload);
   legal_add_interface(shader, id);
   return id;
}

/* One invocation writes the payload; all of them emit. */
static void
finish_task(struct legal_shader *shader)
{
   const uint32_t type = spv_uint(&shader->spv, 1), one = constant(shader, 1);
   const uint32_t payload = declare_payload(shader);
   const uint32_t then = spv_id(&shader->spv), merge = spv_id(&shader->spv);
   const uint32_t first = legal_value(shader, SpvOpIEqual, spv_bool(&shader->spv),
                                      shader->function->slot, constant(shader, 0));

   legal_op(shader, SpvOpSelectionMerge, merge, SpvSelectionControlMaskNone);
   legal_op(shader, SpvOpBranchConditional, first, then, merge);
   label(shader, then);
   legal_op(
      shader, SpvOpStore,
      element(shader, SpvStorageClassTaskPayloadWorkgroupEXT, type, payload, constant(shader, 0)),
      legal_result(shader));
   legal_op(shader, SpvOpBranch, merge);
   label(shader, merge);
   legal_op(shader, SpvOpEmitMeshTasksEXT, one, one, one, payload);
}

static void
begin_mesh(struct legal_shader *shader)
{
   const uint32_t type = spv_uint(&shader->spv, 1);

   if (!legal_has_stage(shader->program, VK_SHADER_STAGE_TASK_BIT_EXT))
      return;
   legal_mix(shader, load(shader, type,
                          element(shader, SpvStorageClassTaskPayloadWorkgroupEXT, type,
                                  declare_payload(shader), constant(shader, 0))));
}

/* The first invocation writes the one triangle. */
static void
finish_mesh(struct legal_shader *shader)
{
   struct spv *spv = &shader->spv;
   const uint32_t type = spv_uint(spv, 1), vector = spv_float(spv, 4), indices = spv_uint(spv, 3);
   const uint32_t then = spv_id(spv), merge = spv_id(spv);
   const uint32_t block = spv_struct(spv, 1, &vector, NULL);
   const uint32_t vertices =
      legal_global(shader, SpvStorageClassOutput, spv_array(spv, block, 3, 0));
   const uint32_t primitives =
      interface_variable(shader, SpvStorageClassOutput, spv_array(spv, indices, 1, 0),
                         SpvDecorationBuiltIn, SpvBuiltInPrimitiveTriangleIndicesEXT);
   const uint32_t output = declare_output(shader, spv_array(spv, type, 3, 0));

   spv_decorate(spv, block, SpvDecorationBlock);
   spv_decorate_member(spv, block, 0, SpvDecorationBuiltIn, SpvBuiltInPosition);
   legal_add_interface(shader, vertices);
   legal_op(shader, SpvOpSetMeshOutputsEXT, constant(shader, 3), constant(shader, 1));
   const uint32_t first =
      legal_value(shader, SpvOpIEqual, spv_bool(spv), shader->function->slot, constant(shader, 0));
   legal_op(shader, SpvOpSelectionMerge, merge, SpvSelectionControlMaskNone);
   legal_op(shader, SpvOpBranchConditional, first, then, merge);
   label(shader, then);
   for (unsigned i = 0; i < 3; i++) {
      const uint32_t pointer =
         legal_value(shader, SpvOpAccessChain, spv_pointer(spv, SpvStorageClassOutput, vector),
                     vertices, constant(shader, i), constant(shader, 0));
      legal_op(shader, SpvOpStore, pointer, corner(shader, constant(shader, i)));
      legal_op(shader, SpvOpStore,
               element(shader, SpvStorageClassOutput, type, output, constant(shader, i)),
               legal_result(shader));
   }
   legal_op(shader, SpvOpStore,
            element(shader, SpvStorageClassOutput, indices, primitives, constant(shader, 0)),
            legal_value(shader, SpvOpCompositeConstruct, indices, constant(shader, 0),
                        constant(shader, 1), constant(shader, 2)));
   legal_op(shader, SpvOpBranch, merge);
   label(shader, merge);
}

/* Some pixels are not drawn. */
static void
add_discard(struct legal_shader *shader)
{
   const uint32_t then = spv_id(&shader->spv), merge = spv_id(&shader->spv);
   const uint32_t value = legal_condition(shader, LEGAL_CONDITION_DIFFERS);
   const bool terminate = shader->program->version >= 0x10600;

   legal_op(shader, SpvOpSelectionMerge, merge, SpvSelectionControlMaskNone);
   legal_op(shader, SpvOpBranchConditional, value, then, merge);
   label(shader, then);
   spv_emit_words(legal_code(shader), terminate ? SpvOpTerminateInvocation : SpvOpKill, 0, NULL);
   label(shader, merge);
}

static void
begin_fragment(struct legal_shader *shader)
{
   const uint32_t type = spv_uint(&shader->spv, 1);
   const uint32_t input = declare_input(shader, type);

   spv_emit(&shader->spv.annotations, SpvOpDecorate, input, SpvDecorationFlat);
   legal_mix(shader, load(shader, type, input));
}

/* --- Modules -------------------------------------------------------------- */

static SpvExecutionModel
execution_model(VkShaderStageFlagBits stage)
{
   switch (stage) {
   case VK_SHADER_STAGE_VERTEX_BIT:
      return SpvExecutionModelVertex;
   case VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT:
      return SpvExecutionModelTessellationControl;
   case VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT:
      return SpvExecutionModelTessellationEvaluation;
   case VK_SHADER_STAGE_GEOMETRY_BIT:
      return SpvExecutionModelGeometry;
   case VK_SHADER_STAGE_FRAGMENT_BIT:
      return SpvExecutionModelFragment;
   case VK_SHADER_STAGE_TASK_BIT_EXT:
      return SpvExecutionModelTaskEXT;
   case VK_SHADER_STAGE_MESH_BIT_EXT:
      return SpvExecutionModelMeshEXT;
   case VK_SHADER_STAGE_RAYGEN_BIT_KHR:
      return SpvExecutionModelRayGenerationKHR;
   case VK_SHADER_STAGE_ANY_HIT_BIT_KHR:
      return SpvExecutionModelAnyHitKHR;
   case VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR:
      return SpvExecutionModelClosestHitKHR;
   case VK_SHADER_STAGE_MISS_BIT_KHR:
      return SpvExecutionModelMissKHR;
   case VK_SHADER_STAGE_INTERSECTION_BIT_KHR:
      return SpvExecutionModelIntersectionKHR;
   case VK_SHADER_STAGE_CALLABLE_BIT_KHR:
      return SpvExecutionModelCallableKHR;
   default:
      return SpvExecutionModelGLCompute;
   }
}

#define mode(shader, main, ...)                                                                    \
   spv_emit(&(shader)->spv.modes, SpvOpExecutionMode, main, __VA_ARGS__)

static void
add_modes(struct legal_shader *shader, uint32_t main)
{
   const uint32_t *size = shader->program->local_size;

   switch (shader->stage) {
   case VK_SHADER_STAGE_FRAGMENT_BIT:
      mode(shader, main, SpvExecutionModeOriginUpperLeft);
      if (shader->program->interlock) {
         spv_capability(&shader->spv, SpvCapabilityFragmentShaderPixelInterlockEXT);
         spv_extension(&shader->spv, "SPV_EXT_fragment_shader_interlock");
         mode(shader, main,
              chance(shader, 50) ? SpvExecutionModePixelInterlockOrderedEXT
                                 : SpvExecutionModePixelInterlockUnorderedEXT);
      }
      break;
   case VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT:
      spv_capability(&shader->spv, SpvCapabilityTessellation);
      mode(shader, main, SpvExecutionModeOutputVertices, 3);
      break;
   case VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT:
      spv_capability(&shader->spv, SpvCapabilityTessellation);
      mode(shader, main, SpvExecutionModeTriangles);
      mode(shader, main, SpvExecutionModeSpacingEqual);
      mode(shader, main, SpvExecutionModeVertexOrderCcw);
      break;
   case VK_SHADER_STAGE_GEOMETRY_BIT:
      spv_capability(&shader->spv, SpvCapabilityGeometry);
      mode(shader, main, SpvExecutionModeTriangles);
      mode(shader, main, SpvExecutionModeInvocations, 1);
      mode(shader, main, SpvExecutionModeOutputTriangleStrip);
      mode(shader, main, SpvExecutionModeOutputVertices, 3);
      break;
   case VK_SHADER_STAGE_MESH_BIT_EXT:
      mode(shader, main, SpvExecutionModeOutputVertices, 3);
      mode(shader, main, SpvExecutionModeOutputPrimitivesEXT, 1);
      mode(shader, main, SpvExecutionModeOutputTrianglesEXT);
      /* fallthrough */
   case VK_SHADER_STAGE_TASK_BIT_EXT:
      spv_capability(&shader->spv, SpvCapabilityMeshShadingEXT);
      spv_extension(&shader->spv, "SPV_EXT_mesh_shader");
      mode(shader, main, SpvExecutionModeLocalSize, size[0], 1, 1);
      break;
   case VK_SHADER_STAGE_COMPUTE_BIT:
      mode(shader, main, SpvExecutionModeLocalSize, size[0], size[1], size[2]);
      break;
   default:
      break;
   }
}

const char *
legal_entry(const struct legal_program *program, VkShaderStageFlagBits stage)
{
   /* Entry points may have one name if their stages differ. */
   return program->one_module && program->seed % 2 ? legal_stage_name(stage) : "main";
}

void
legal_spec_values(const struct legal_program *program, uint32_t values[LEGAL_SPEC_COUNT])
{
   struct legal_random random = legal_random(program->seed, 99);
   for (unsigned i = 0; i < LEGAL_SPEC_COUNT; i++)
      values[i] = legal_below(&random, 1000);
}

static void
begin_module(struct legal_shader *shader)
{
   const struct legal_program *program = shader->program;
   struct spv *spv = &shader->spv;

   spv_init(spv, program->version);
   spv_capability(spv, SpvCapabilityShader);
   if (program->physical) {
      spv_capability(spv, SpvCapabilityPhysicalStorageBufferAddresses);
      if (program->version < 0x10500)
         spv_extension(spv, "SPV_KHR_physical_storage_buffer");
   }
   if (program->vulkan_memory_model)
      spv_capability(spv, SpvCapabilityVulkanMemoryModel);
   spv_emit(
      &spv->memory_model, SpvOpMemoryModel,
      program->physical ? SpvAddressingModelPhysicalStorageBuffer64 : SpvAddressingModelLogical,
      program->vulkan_memory_model ? SpvMemoryModelVulkan : SpvMemoryModelGLSL450);
   for (unsigned i = 0; i < LEGAL_SPEC_COUNT && program->specialization; i++) {
      shader->specs[i] = spv_result(spv, &spv->globals, SpvOpSpecConstant, spv_uint(spv, 1), 7 * i);
      spv_decorate(spv, shader->specs[i], SpvDecorationSpecId, i);
   }
}

/* What goes on to the next stage, or to an attachment: a variable to store to, or 0 */
static uint32_t
declare_result(struct legal_shader *shader)
{
   const uint32_t type = spv_uint(&shader->spv, 1);

   switch (shader->stage) {
   case VK_SHADER_STAGE_FRAGMENT_BIT:
      return shader->program->has_color ? declare_output(shader, type) : 0;
   case VK_SHADER_STAGE_VERTEX_BIT:
   case VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT:
   case VK_SHADER_STAGE_GEOMETRY_BIT:
      return declare_output(shader, type);
   case VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT:
      return element(shader, SpvStorageClassOutput, type,
                     declare_output(shader, spv_array(&shader->spv, type, 3, 0)),
                     shader->function->slot);
   default:
      return 0;
   }
}

static void
finish_stage(struct legal_shader *shader, uint32_t handed)
{
   if (legal_is_ray_stage(shader->stage)) {
      legal_finish_ray_stage(shader, handed);
      spv_emit_words(legal_code(shader), SpvOpReturn, 0, NULL);
      return;
   }
   const uint32_t output = declare_result(shader);
   const bool interlock =
      shader->stage == VK_SHADER_STAGE_FRAGMENT_BIT && shader->program->interlock;

   if (shader->stage == VK_SHADER_STAGE_FRAGMENT_BIT && !interlock && chance(shader, 20))
      add_discard(shader);
   if (interlock)
      spv_emit_words(legal_code(shader), SpvOpBeginInvocationInterlockEXT, 0, NULL);
   legal_write(shader, legal_result(shader));
   if (interlock)
      spv_emit_words(legal_code(shader), SpvOpEndInvocationInterlockEXT, 0, NULL);
   if (shader->stage == VK_SHADER_STAGE_GEOMETRY_BIT)
      finish_geometry(shader, handed, output);
   else if (output)
      legal_op(shader, SpvOpStore, output, legal_result(shader));
   if (shader->stage == VK_SHADER_STAGE_MESH_BIT_EXT)
      finish_mesh(shader);
   if (shader->stage == VK_SHADER_STAGE_TASK_BIT_EXT)
      finish_task(shader);
   else
      spv_emit_words(legal_code(shader), SpvOpReturn, 0, NULL);
}

static void
add_stage(struct legal_shader *shader, VkShaderStageFlagBits stage)
{
   struct legal_function main;
   uint32_t handed = 0; /* by the stage before: a variable */

   shader->stage = stage;
   shader->random = legal_random(shader->program->seed, stage);
   shader->interface_count = 0;
   shader->counter = 0;
   shader->uniform = true;
   shader->never = false;
   shader->implicit = stage == VK_SHADER_STAGE_FRAGMENT_BIT;
   shader->budget = 24;
   legal_declare_resources(shader);
   legal_begin_function(shader, &main, spv_void(&shader->spv), 0, NULL, NULL);
   main.slot = get_slot(shader);
   main.result = legal_local(shader, spv_uint(&shader->spv, 1));
   legal_op(shader, SpvOpStore, main.result, constant(shader, below(shader, 1000)));
   if (stage == VK_SHADER_STAGE_VERTEX_BIT)
      begin_vertex(shader);
   else if (stage == VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT)
      begin_tess_control(shader);
   else if (stage == VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT)
      begin_tess_evaluation(shader);
   else if (stage == VK_SHADER_STAGE_GEOMETRY_BIT)
      handed = begin_geometry(shader);
   else if (stage == VK_SHADER_STAGE_MESH_BIT_EXT)
      begin_mesh(shader);
   else if (stage == VK_SHADER_STAGE_FRAGMENT_BIT)
      begin_fragment(shader);
   else if (legal_is_ray_stage(stage))
      handed = legal_begin_ray_stage(shader);
   legal_statements(shader, 0);
   finish_stage(shader, handed);
   legal_end_function(shader, NULL);

   add_modes(shader, main.id);
   const uint32_t head[] = {execution_model(stage), main.id};
   spv_emit_string(&shader->spv.entry_points, SpvOpEntryPoint, 2, head,
                   legal_entry(shader->program, stage), shader->interface_count, shader->interface);
   if (shader->program->names)
      spv_name(&shader->spv, main.id, "main");
}

struct legal_module
legal_module_create(const struct legal_program *program, unsigned stage)
{
   struct legal_shader *shader = vkh_calloc(1, sizeof(*shader));
   struct legal_module module;

   shader->program = program;
   begin_module(shader);
   for (unsigned i = 0; i < program->stage_count; i++) {
      if (i == stage || program->one_module)
         add_stage(shader, program->stages[i]);
   }
   module.code = spv_assemble(&shader->spv, &module.word_count);
   spv_finish(&shader->spv);
   free(shader);
   return module;
}
