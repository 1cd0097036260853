/* SPDX-License-Identifier: MIT */

/* What the application's shader does, found before any check adds code.
 *
 * The one walk over a shader, and the one place that names every intrinsic
 * which accesses something. Checks work on the list that it makes and never
 * look at instructions themselves: so what one check emits (a descriptor's
 * size is a load, too) is not the application's for the next one.
 */

#include "gpuval_nir_private.h"

#include "spirv/spirv.h"

/* Of the instruction in SPIR-V; OpNop: not known */
static SpvOp
get_opcode(const struct gpuval_nir_state *state, uint32_t instance)
{
   const struct gpuval_nir_options *options = state->options;
   size_t offset = gpuval_nir_place(state, instance);
   if (!options->spirv || !offset || offset + 4 > options->spirv_size)
      return SpvOpNop;
   return (SpvOp)(options->spirv[offset / 4] & SpvOpCodeMask);
}

static bool
reads_and_writes(SpvOp opcode)
{
   return (opcode >= SpvOpAtomicExchange && opcode <= SpvOpAtomicXor) ||
          opcode == SpvOpAtomicFAddEXT || opcode == SpvOpAtomicFMinEXT ||
          opcode == SpvOpAtomicFMaxEXT;
}

/* OpAtomicLoad and OpAtomicStore are loads and stores in NIR. Since Mesa 26.0
 * (nir_opt_intrinsics.c) so are an OpAtomicExchange whose result nobody uses, and what adds 0.
 */
static bool
is_atomic_in_spirv(const struct gpuval_nir_state *state, uint32_t instance)
{
   SpvOp opcode = get_opcode(state, instance);
   return opcode == SpvOpAtomicLoad || opcode == SpvOpAtomicStore || reads_and_writes(opcode);
}

static enum gpuval_op
get_spirv_op(const struct gpuval_nir_state *state, enum gpuval_op op, uint32_t instance)
{
   bool may_be_atomic = op == GPUVAL_OP_LOAD || op == GPUVAL_OP_STORE;
   return may_be_atomic && reads_and_writes(get_opcode(state, instance)) ? GPUVAL_OP_ATOMIC : op;
}

/* Returns whether vtn has made the barrier of an access that is MakePointerAvailable or
 * MakePointerVisible (vtn_emit_make_available_barrier()). It acquires or releases in NIR; in SPIR-V
 * it is about that access only, and orders no others.
 */
static bool
is_barrier_of_access(const struct gpuval_nir_state *state, uint32_t instance)
{
   switch (get_opcode(state, instance)) {
   case SpvOpLoad:
   case SpvOpStore:
   case SpvOpCopyMemory:
   case SpvOpCopyMemorySized:
   case SpvOpImageFetch:
   case SpvOpImageRead:
   case SpvOpImageWrite:
   case SpvOpImageSparseRead:
   case SpvOpCooperativeMatrixLoadKHR:
   case SpvOpCooperativeMatrixStoreKHR:
      return true;
   default:
      return false;
   }
}

/* Buffers, addresses, memory of a workgroup: what has a data operand */
static bool
classify_memory(nir_intrinsic_instr *intrin, struct gpuval_access *access)
{
   switch (intrin->intrinsic) {
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_load_ssbo:
   case nir_intrinsic_store_ssbo:
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
      access->type = GPUVAL_ACCESS_BUFFER;
      break;
   case nir_intrinsic_load_global:
   case nir_intrinsic_load_global_constant:
   case nir_intrinsic_store_global:
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
      access->type = GPUVAL_ACCESS_ADDRESS;
      break;
   case nir_intrinsic_load_shared:
   case nir_intrinsic_store_shared:
   case nir_intrinsic_shared_atomic:
   case nir_intrinsic_shared_atomic_swap:
      access->type = GPUVAL_ACCESS_SHARED;
      break;
   case nir_intrinsic_load_task_payload:
   case nir_intrinsic_store_task_payload:
   case nir_intrinsic_task_payload_atomic:
   case nir_intrinsic_task_payload_atomic_swap:
      access->type = GPUVAL_ACCESS_TASK_PAYLOAD;
      break;
   default:
      return false;
   }

   nir_def *data =
      nir_intrinsic_infos[intrin->intrinsic].has_dest ? &intrin->def : intrin->src[0].ssa;
   access->component_bytes = data->bit_size / 8;
   access->components = BITFIELD_MASK(data->num_components);
   if (nir_intrinsic_has_atomic_op(intrin)) {
      access->op = GPUVAL_OP_ATOMIC;
   } else if (nir_intrinsic_infos[intrin->intrinsic].has_dest) {
      access->op = GPUVAL_OP_LOAD;
   } else {
      access->op = GPUVAL_OP_STORE;
      access->components = nir_intrinsic_write_mask(intrin);
   }
   return access->components;
}

static bool
classify_image(nir_intrinsic_instr *intrin, struct gpuval_access *access)
{
   switch (intrin->intrinsic) {
   case nir_intrinsic_image_deref_load:
   case nir_intrinsic_image_deref_sparse_load:
      access->op = GPUVAL_OP_LOAD;
      break;
   case nir_intrinsic_image_deref_store:
      access->op = GPUVAL_OP_STORE;
      break;
   case nir_intrinsic_image_deref_atomic:
   case nir_intrinsic_image_deref_atomic_swap:
      access->op = GPUVAL_OP_ATOMIC;
      break;
   case nir_intrinsic_image_deref_size:
   case nir_intrinsic_image_deref_levels:
   case nir_intrinsic_image_deref_samples:
      access->op = GPUVAL_OP_QUERY;
      break;
   default:
      return false;
   }

   access->type = nir_intrinsic_image_dim(intrin) == GLSL_SAMPLER_DIM_BUF
                     ? GPUVAL_ACCESS_TEXEL_BUFFER
                     : GPUVAL_ACCESS_IMAGE;
   access->resource = nir_src_as_deref(intrin->src[0]);
   return access->resource != NULL;
}

/* Only the beginning goes through a descriptor. */
static bool
classify_output(const nir_shader *nir, nir_intrinsic_instr *intrin, struct gpuval_access *access)
{
   if (intrin->intrinsic != nir_intrinsic_store_deref || nir->info.stage == MESA_SHADER_TESS_CTRL)
      return false;

   access->resource = nir_src_as_deref(intrin->src[0]);
   if (!nir_deref_mode_is(access->resource, nir_var_shader_out))
      return false;

   access->type = GPUVAL_ACCESS_OUTPUT;
   access->op = GPUVAL_OP_STORE;
   return true;
}

static bool
classify_rays(nir_intrinsic_instr *intrin, struct gpuval_access *access)
{
   switch (intrin->intrinsic) {
   case nir_intrinsic_trace_ray:
   case nir_intrinsic_rq_initialize:
      access->op = GPUVAL_OP_LOAD;
      access->type = GPUVAL_ACCESS_RAYS;
      return true;
   case nir_intrinsic_rq_terminate:
   case nir_intrinsic_rq_proceed:
   case nir_intrinsic_rq_generate_intersection:
   case nir_intrinsic_rq_confirm_intersection:
   case nir_intrinsic_rq_load:
      access->type = GPUVAL_ACCESS_RAYS;
      return true;
   default:
      return false;
   }
}

/* Operations on other invocations, which are no access to memory */
static bool
classify_lanes(const nir_intrinsic_instr *intrin, struct gpuval_access *access)
{
   switch (intrin->intrinsic) {
   case nir_intrinsic_shuffle:
   case nir_intrinsic_shuffle_xor:
   case nir_intrinsic_shuffle_up:
   case nir_intrinsic_shuffle_down:
   case nir_intrinsic_read_invocation:
   case nir_intrinsic_quad_broadcast:
   case nir_intrinsic_quad_swap_horizontal:
   case nir_intrinsic_quad_swap_vertical:
   case nir_intrinsic_quad_swap_diagonal:
   case nir_intrinsic_quad_swizzle_amd:
   case nir_intrinsic_masked_swizzle_amd:
      access->type = GPUVAL_ACCESS_LANES;
      return true;
   case nir_intrinsic_ddx:
   case nir_intrinsic_ddx_fine:
   case nir_intrinsic_ddx_coarse:
   case nir_intrinsic_ddy:
   case nir_intrinsic_ddy_fine:
   case nir_intrinsic_ddy_coarse:
      access->type = GPUVAL_ACCESS_DERIVATIVE;
      return true;
   default:
      return false;
   }
}

bool
gpuval_nir_reads_lanes(nir_instr *instr)
{
   struct gpuval_access access;

   if (instr->type == nir_instr_type_tex)
      return nir_tex_instr_has_implicit_derivative(nir_instr_as_tex(instr));
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   const nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
   return intrin->intrinsic == nir_intrinsic_rotate || classify_lanes(intrin, &access);
}

static bool
classify_texture(nir_tex_instr *tex, struct gpuval_access *access)
{
   int texture = nir_tex_instr_src_index(tex, nir_tex_src_texture_deref);
   int sampler = nir_tex_instr_src_index(tex, nir_tex_src_sampler_deref);
   if (texture < 0)
      return false;

   switch (tex->op) {
   case nir_texop_txf:
   case nir_texop_txf_ms:
   case nir_texop_txf_ms_fb:
   case nir_texop_txf_ms_mcs_intel:
      access->op = GPUVAL_OP_FETCH;
      break;
   case nir_texop_txs:
   case nir_texop_query_levels:
   case nir_texop_texture_samples:
   case nir_texop_lod:
      access->op = GPUVAL_OP_QUERY;
      break;
   default:
      access->op = GPUVAL_OP_SAMPLE;
      break;
   }

   access->type =
      tex->sampler_dim == GLSL_SAMPLER_DIM_BUF ? GPUVAL_ACCESS_TEXEL_BUFFER : GPUVAL_ACCESS_TEXTURE;
   access->resource = nir_src_as_deref(tex->src[texture].src);
   access->sampler = sampler >= 0 ? nir_src_as_deref(tex->src[sampler].src) : NULL;
   return access->resource != NULL;
}

/* Must reports of what stands before not wait for this? Whatever ends invocations,
 * lets others run, or is not known here; loads and writes to memory may be waited
 * for.
 */
static bool
is_edge(const nir_intrinsic_instr *intrin)
{
   switch (intrin->intrinsic) {
   case nir_intrinsic_store_deref:
   case nir_intrinsic_copy_deref:
   case nir_intrinsic_deref_atomic:
   case nir_intrinsic_deref_atomic_swap:
   case nir_intrinsic_store_ssbo:
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
   case nir_intrinsic_store_global:
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
   case nir_intrinsic_store_shared:
   case nir_intrinsic_shared_atomic:
   case nir_intrinsic_shared_atomic_swap:
   case nir_intrinsic_image_deref_store:
   case nir_intrinsic_image_deref_atomic:
   case nir_intrinsic_image_deref_atomic_swap:
   case nir_intrinsic_assume_gpuval:
   case nir_intrinsic_debug_break:
   case nir_intrinsic_printf_gpuval:
   case nir_intrinsic_report_gpuval: /* a note of gpuval_nir_export.c */
      return false;
   default:
      return !(nir_intrinsic_infos[intrin->intrinsic].flags & NIR_INTRINSIC_CAN_ELIMINATE);
   }
}

/* An access of which nothing is known is an instance of its own. */
static uint32_t
get_instance(struct gpuval_nir_state *state, const nir_instr *instr)
{
   if (instr->index)
      return instr->index;

   util_dynarray_append_typed(&state->instances, uint32_t, 0);
   return util_dynarray_num_elements(&state->instances, uint32_t) - 1;
}

static bool
classify(const nir_shader *nir, nir_instr *instr, struct gpuval_access *access)
{
   if (instr->type == nir_instr_type_tex)
      return classify_texture(nir_instr_as_tex(instr), access);
   if (instr->type != nir_instr_type_intrinsic)
      return false;

   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
   if (intrin->intrinsic == nir_intrinsic_barrier) {
      access->type = GPUVAL_ACCESS_BARRIER;
      access->is_edge = true;
      return true;
   }

   access->is_edge = is_edge(intrin);
   if (intrin->intrinsic == nir_intrinsic_get_ssbo_size) {
      access->type = GPUVAL_ACCESS_LENGTH;
      access->op = GPUVAL_OP_QUERY;
      return true;
   }
   return classify_memory(intrin, access) || classify_image(intrin, access) ||
          classify_output(nir, intrin, access) || classify_rays(intrin, access) ||
          classify_lanes(intrin, access) || access->is_edge;
}

void
gpuval_nir_find_accesses(struct gpuval_nir_state *state)
{
   const struct gpuval_nir_driver *driver = state->options->driver;
   bool interlocked = false;

   nir_foreach_block (block, state->b.impl) {
      nir_foreach_instr (instr, block) {
         struct gpuval_access access = {
            .instr = instr,
            .block = block,
            .is_interlocked = interlocked,
         };
         if (instr->type == nir_instr_type_intrinsic) {
            nir_intrinsic_op op = nir_instr_as_intrinsic(instr)->intrinsic;
            interlocked = (interlocked || op == nir_intrinsic_begin_invocation_interlock) &&
                          op != nir_intrinsic_end_invocation_interlock;
         }
         if (!classify(state->b.shader, instr, &access))
            continue;

         access.instance = get_instance(state, instr);
         if (access.type == GPUVAL_ACCESS_BARRIER && is_barrier_of_access(state, access.instance))
            continue;
         access.is_atomic =
            access.op == GPUVAL_OP_ATOMIC || is_atomic_in_spirv(state, access.instance);
         access.spirv_op = get_spirv_op(state, access.op, access.instance);
         if (access.type == GPUVAL_ACCESS_BUFFER)
            access.is_described =
               driver->describe(driver, nir_instr_as_intrinsic(instr), &access.buffer);
         util_dynarray_append_typed(&state->accesses, struct gpuval_access, access);
      }
   }
}

nir_def *
gpuval_nir_access_offset(const struct gpuval_access *access)
{
   return access->address ? access->address
                          : nir_get_io_offset_src(nir_instr_as_intrinsic(access->instr))->ssa;
}
