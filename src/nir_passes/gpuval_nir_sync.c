/* SPDX-License-Identifier: MIT */

/* Missing barriers: which accesses to buffers the bloom filter gets to see.
 *
 * Loads, stores and atomics of uniform, storage and texel buffers and through
 * buffer device addresses become @sync_gpuval intrinsics right before them,
 * each with the address, an id of the invocation and whether the access is in
 * bounds: others are skipped, as in seed 000. Inline uniform blocks and push
 * constants are in no buffer; shared memory and private variables are no
 * business of this check.
 *
 * Workgroups may exchange data in buffers across a barrier whose semantics
 * cover buffer memory. A barrier() alone is no such thing, but together with
 * a memory barrier beside it that does it is. Each such pair begins a phase.
 *
 * Inside a fragment shader interlock accesses are ordered among each other,
 * and so they count as atomics: conflicts with all others remain.
 */

#include "gpuval/src/core/gpuval_bloom.h"
#include "spirv/spirv.h"
#include "gpuval_nir.h"

struct pass {
   struct gpuval_nir_state *state;
   bool interlocked;
   bool has_phases;
   nir_variable *phase; /* NULL: there is but one */
   nir_def *context;    /* invocation id, token, for those without phases also 0 */
};

struct access {
   nir_intrinsic_instr *intrin;
   enum gpuval_op op;
   enum gpuval_bloom_type type;
   bool is_address; /* no descriptor */
   unsigned bytes;  /* of a component */
   unsigned components;
   uint32_t mask; /* of components */
};

static bool
classify(nir_intrinsic_instr *intrin, struct access *access)
{
   nir_def *data = &intrin->def;

   *access = (struct access){.intrin = intrin};
   switch (intrin->intrinsic) {
   case nir_intrinsic_load_global:
   case nir_intrinsic_load_global_constant:
      access->is_address = true;
      FALLTHROUGH;
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_load_ssbo:
      access->op = GPUVAL_OP_LOAD;
      access->type = GPUVAL_BLOOM_LOAD;
      break;
   case nir_intrinsic_store_global:
      access->is_address = true;
      FALLTHROUGH;
   case nir_intrinsic_store_ssbo:
      access->op = GPUVAL_OP_STORE;
      access->type = GPUVAL_BLOOM_STORE;
      data = intrin->src[0].ssa;
      break;
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
      access->is_address = true;
      FALLTHROUGH;
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
      access->op = GPUVAL_OP_ATOMIC;
      access->type = GPUVAL_BLOOM_ATOMIC;
      break;
   default:
      return false;
   }

   access->bytes = data->bit_size / 8;
   access->components = data->num_components;
   access->mask = access->op == GPUVAL_OP_STORE ? nir_intrinsic_write_mask(intrin)
                                                : BITFIELD_MASK(data->num_components);
   return access->mask;
}

/* OpAtomicLoad and OpAtomicStore are loads and stores in NIR. */
static bool
is_atomic(const struct gpuval_nir_state *state, const nir_instr *instr)
{
   const struct gpuval_nir_options *options = state->options;
   size_t offset = gpuval_nir_spirv_offset(state, instr->index);
   if (!options->spirv || !offset || offset + 4 > options->spirv_size)
      return false;

   uint16_t opcode = options->spirv[offset / 4] & SpvOpCodeMask;
   return opcode == SpvOpAtomicLoad || opcode == SpvOpAtomicStore;
}

/* Ray-tracing stages of one invocation are shaders of their own: its id comes
 * from where it is in the launch.
 */
static nir_def *
build_invocation_id(struct gpuval_nir_state *state, nir_builder *b)
{
   if (!gl_shader_stage_is_rt(b->shader->info.stage))
      return nir_invocation_gpuval(b);

   nir_def *words = gpuval_nir_invocation(state);
   nir_def *id = nir_imul_imm(b, state->options->driver->command_id(b), 0x27d4eb2f);
   for (unsigned i = 0; i < 3; i++)
      id = nir_imul_imm(b, nir_ixor(b, id, nir_channel(b, words, i)), 0x9e3779b1);
   return id;
}

/* Of the workgroup, or of the patch: different enough from others */
static nir_def *
build_token(struct gpuval_nir_state *state, nir_builder *b)
{
   nir_def *token = nir_imul_imm(b, state->options->driver->command_id(b), 0x27d4eb2f);
   if (b->shader->info.stage == MESA_SHADER_TESS_CTRL)
      return nir_iadd(b, token, nir_imul_imm(b, nir_load_primitive_id(b), 0x9e3779b1));

   nir_def *group = nir_load_workgroup_id(b);
   for (unsigned i = 0; i < 3; i++)
      token = nir_imul_imm(b, nir_ixor(b, token, nir_channel(b, group, i)), 0x9e3779b1);
   return token;
}

static nir_def *
get_context(struct pass *pass)
{
   if (!pass->context) {
      nir_function_impl *impl = pass->state->b.impl;
      gpuval_nir_invocation(pass->state);
      nir_builder at_top =
         nir_builder_at(nir_after_instr(gpuval_nir_invocation(pass->state)->parent_instr));
      if (!gl_shader_stage_is_rt(impl->function->shader->info.stage))
         at_top.cursor = nir_before_impl(impl);
      nir_def *id = build_invocation_id(pass->state, &at_top);
      nir_def *token =
         pass->has_phases ? build_token(pass->state, &at_top) : nir_imm_int(&at_top, 0);
      pass->context = nir_vec2(&at_top, id, token);
   }
   return pass->context;
}

/* Where the range of @access's descriptor begins and how many bytes it has. A
 * variable pointer may lead to any set that has buffers.
 */
static void
build_range(struct gpuval_nir_state *state, const struct access *access, int set, nir_def *slot,
            nir_def **address, nir_def **size)
{
   nir_builder *b = &state->b;
   const struct gpuval_nir_driver *driver = state->options->driver;

   if (set >= 0) {
      *address = driver->buffer_address(b, nir_imm_int(b, set), slot);
      *size = driver->buffer_size(b, nir_imm_int(b, set), slot);
      return;
   }

   *address = nir_imm_int64(b, 0);
   *size = nir_imm_int(b, 0);
   nir_def *actual = driver->set(b, access->intrin);
   u_foreach_bit (candidate, gpuval_nir_buffer_sets(b->shader)) {
      nir_def *is = nir_ieq_imm(b, actual, candidate);
      nir_def *number = nir_imm_int(b, candidate);
      *address = nir_bcsel(b, is, driver->buffer_address(b, number, slot), *address);
      *size = nir_bcsel(b, is, driver->buffer_size(b, number, slot), *size);
   }
}

static const enum gpuval_kind kinds[] = {
   [GPUVAL_BLOOM_LOAD] = GPUVAL_KIND_READ_AFTER_WRITE,
   [GPUVAL_BLOOM_STORE] = GPUVAL_KIND_WRITE_AFTER_ACCESS,
   [GPUVAL_BLOOM_ATOMIC] = GPUVAL_KIND_ATOMIC_CONFLICT,
};

/* What @sync_gpuval needs, of one piece of at most 16 bytes */
struct piece {
   nir_def *active, *address, *size, *offset, *slot;
   int set, binding; /* -1: not known */
   bool is_address;  /* no descriptor */
   uint32_t const_size;
};

static void
emit(struct pass *pass, nir_instr *instr, enum gpuval_op op, enum gpuval_bloom_type type,
     const struct piece *piece)
{
   struct gpuval_nir_state *state = pass->state;
   nir_builder *b = &state->b;

   if (pass->interlocked || is_atomic(state, instr))
      type = GPUVAL_BLOOM_ATOMIC;

   const struct gpuval_site site = {
      .kind = kinds[type],
      .op = op,
      .spirv_offset = gpuval_nir_spirv_offset(state, instr->index),
      .set = piece->set,
      .binding = piece->binding,
   };
   const struct gpuval_nir_entry entry = {
      .size = piece->const_size,
      .site = gpuval_nir_add_site(state, &site),
      .instance = instr->index,
   };
   uint32_t base = util_dynarray_num_elements(&state->table->entries, struct gpuval_nir_entry);
   util_dynarray_append(&state->table->entries, struct gpuval_nir_entry, entry);

   nir_def *context = get_context(pass);
   nir_def *phase = pass->has_phases ? nir_load_var(b, pass->phase) : nir_imm_int(b, 0);
   nir_sync_gpuval(b, piece->active, piece->address, piece->size, piece->offset, piece->slot,
                   nir_vec3(b, nir_channel(b, context, 0), nir_channel(b, context, 1), phase),
                   gpuval_nir_invocation(state), .base = base,
                   .desc_set = piece->is_address ? GPUVAL_REPORT_PLAIN : MAX2(piece->set, 0),
                   .flags = type | (pass->has_phases ? GPUVAL_SYNC_HAS_PHASES : 0));
}

/* @skip: bytes behind what the instruction says */
static void
emit_piece(struct pass *pass, const struct access *access, const struct gpuval_nir_buffer *buffer,
           unsigned skip, unsigned size)
{
   struct gpuval_nir_state *state = pass->state;
   nir_builder *b = &state->b;
   nir_intrinsic_instr *intrin = access->intrin;
   struct piece piece = {
      .set = -1,
      .binding = -1,
      .is_address = access->is_address,
      .size = nir_imm_int(b, size),
      .const_size = size,
   };

   if (access->is_address) {
      piece.address = nir_iadd_imm(b, nir_get_io_offset_src(intrin)->ssa, skip);
      piece.active = nir_imm_true(b);
      piece.offset = piece.slot = nir_imm_int(b, 0);
   } else {
      nir_def *range;
      piece.set = buffer->set;
      piece.binding = buffer->binding;
      piece.offset = nir_iadd_imm(b, nir_get_io_offset_src(intrin)->ssa, skip);
      piece.slot = state->options->driver->slot(b, intrin);
      build_range(state, access, buffer->set, piece.slot, &piece.address, &range);
      piece.active = nir_iand(b, nir_uge_imm(b, range, size),
                              nir_uge(b, nir_iadd_imm(b, range, -(int64_t)size), piece.offset));
      piece.address = nir_iadd(b, piece.address, nir_u2u64(b, piece.offset));
   }

   emit(pass, &intrin->instr, access->op, access->type, &piece);
}

static bool
instrument_access(struct pass *pass, const struct access *access)
{
   struct gpuval_nir_state *state = pass->state;
   struct gpuval_nir_buffer buffer = {0};

   if (!access->is_address &&
       (!state->options->driver->describe(access->intrin, state->options->data, &buffer) ||
        buffer.size))
      return false;

   u_foreach_bit (i, access->mask) {
      /* A run of components, in pieces of 16 bytes */
      if (i && access->mask & BITFIELD_BIT(i - 1))
         continue;
      unsigned count = ffs(~(access->mask >> i)) - 1;
      for (unsigned done = 0; done < count * access->bytes; done += GPUVAL_BLOOM_GRANULE)
         emit_piece(pass, access, &buffer, i * access->bytes + done,
                    MIN2(count * access->bytes - done, GPUVAL_BLOOM_GRANULE));
   }
   return true;
}

static bool
instrument_texel(struct pass *pass, nir_instr *instr, enum gpuval_op op,
                 enum gpuval_bloom_type type, nir_deref_instr *deref, nir_def *coord)
{
   struct gpuval_nir_state *state = pass->state;
   nir_builder *b = &state->b;
   struct gpuval_nir_texels texels;

   if (!deref || !state->options->driver->texels ||
       !state->options->driver->texels(b, deref, state->options->data, &texels))
      return false;

   nir_def *index = nir_channel(b, coord, 0);
   struct piece piece = {
      .set = texels.set,
      .binding = texels.binding,
      .slot = texels.slot,
      .active = nir_ult(b, index, texels.count),
      .size = texels.size,
      .offset = nir_imul(b, index, texels.size),
   };
   piece.address = nir_iadd(b, texels.address, nir_u2u64(b, piece.offset));
   emit(pass, instr, op, type, &piece);
   return true;
}

static bool
instrument_texture(struct pass *pass, nir_tex_instr *tex)
{
   int texture = nir_tex_instr_src_index(tex, nir_tex_src_texture_deref);
   int coord = nir_tex_instr_src_index(tex, nir_tex_src_coord);

   if (tex->op != nir_texop_txf || tex->sampler_dim != GLSL_SAMPLER_DIM_BUF || texture < 0)
      return false;

   return instrument_texel(pass, &tex->instr, GPUVAL_OP_FETCH, GPUVAL_BLOOM_LOAD,
                           nir_src_as_deref(tex->src[texture].src), tex->src[coord].src.ssa);
}

static bool
instrument_image(struct pass *pass, nir_intrinsic_instr *intrin)
{
   enum gpuval_op op;
   enum gpuval_bloom_type type;

   switch (intrin->intrinsic) {
   case nir_intrinsic_image_deref_load:
   case nir_intrinsic_image_deref_sparse_load:
      op = GPUVAL_OP_LOAD;
      type = GPUVAL_BLOOM_LOAD;
      break;
   case nir_intrinsic_image_deref_store:
      op = GPUVAL_OP_STORE;
      type = GPUVAL_BLOOM_STORE;
      break;
   case nir_intrinsic_image_deref_atomic:
   case nir_intrinsic_image_deref_atomic_swap:
      op = GPUVAL_OP_ATOMIC;
      type = GPUVAL_BLOOM_ATOMIC;
      break;
   default:
      return false;
   }
   if (nir_intrinsic_image_dim(intrin) != GLSL_SAMPLER_DIM_BUF)
      return false;

   return instrument_texel(pass, &intrin->instr, op, type, nir_src_as_deref(intrin->src[0]),
                           intrin->src[1].ssa);
}

static bool
instrument(struct pass *pass, nir_instr *instr)
{
   pass->state->b.cursor = nir_before_instr(instr);

   if (instr->type == nir_instr_type_tex)
      return instrument_texture(pass, nir_instr_as_tex(instr));
   if (instr->type != nir_instr_type_intrinsic)
      return false;

   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
   struct access access;
   switch (intrin->intrinsic) {
   case nir_intrinsic_begin_invocation_interlock:
      pass->interlocked = true;
      return false;
   case nir_intrinsic_end_invocation_interlock:
      pass->interlocked = false;
      return false;
   default:
      return classify(intrin, &access) ? instrument_access(pass, &access)
                                       : instrument_image(pass, intrin);
   }
}

static bool
covers_buffers(const nir_intrinsic_instr *barrier)
{
   return nir_intrinsic_memory_modes(barrier) & (nir_var_mem_ssbo | nir_var_mem_global) &&
          nir_intrinsic_memory_semantics(barrier) & (NIR_MEMORY_ACQUIRE | NIR_MEMORY_RELEASE);
}

/* What of a pair of barriers stands since the last access to a buffer */
struct barriers {
   bool execution, memory;
   bool begun; /* the phase that they make */
};

static bool
begins_phase(struct barriers *seen, const nir_intrinsic_instr *barrier)
{
   seen->execution |= nir_intrinsic_execution_scope(barrier) != SCOPE_NONE;
   seen->memory |= covers_buffers(barrier);
   if (!seen->execution || !seen->memory || seen->begun)
      return false;

   seen->begun = true;
   return true;
}

/* Calls @begin, if not NULL, behind whatever begins a phase. */
static bool
find_phases(struct pass *pass, void (*begin)(struct pass *pass, nir_instr *instr))
{
   bool found = false;

   nir_foreach_block (block, pass->state->b.impl) {
      struct barriers seen = {0};

      nir_foreach_instr_safe (instr, block) {
         struct access access;
         if (instr->type != nir_instr_type_intrinsic)
            continue;

         nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
         if (classify(intrin, &access)) {
            seen = (struct barriers){0};
         } else if (intrin->intrinsic == nir_intrinsic_barrier && begins_phase(&seen, intrin)) {
            found = true;
            if (begin)
               begin(pass, instr);
         }
      }
   }

   return found;
}

static void
begin_phase(struct pass *pass, nir_instr *instr)
{
   nir_builder *b = &pass->state->b;
   b->cursor = nir_after_instr(instr);
   nir_store_var(b, pass->phase, nir_iadd_imm(b, nir_load_var(b, pass->phase), 1), 0x1);
}

static bool
stage_has_workgroups(gl_shader_stage stage)
{
   return gl_shader_stage_uses_workgroup(stage) || stage == MESA_SHADER_TESS_CTRL;
}

static bool
is_wanted(const struct gpuval_nir_state *state)
{
   uint32_t checks = state->options->checks;

   return checks & BITFIELD_BIT(GPUVAL_CHECK_SYNC) ||
          (checks & BITFIELD_BIT(GPUVAL_CHECK_SYNC_COMPUTE) &&
           state->b.shader->info.stage == MESA_SHADER_COMPUTE);
}

bool
gpuval_nir_instrument_sync(struct gpuval_nir_state *state)
{
   struct pass pass = {.state = state};
   bool progress = false;

   if (!is_wanted(state))
      return false;

   pass.has_phases = stage_has_workgroups(state->b.shader->info.stage) && find_phases(&pass, NULL);
   if (pass.has_phases) {
      pass.phase = nir_local_variable_create(state->b.impl, glsl_uint_type(), "gpuval phase");
      nir_builder at_top = nir_builder_at(nir_before_impl(state->b.impl));
      nir_store_var(&at_top, pass.phase, nir_imm_int(&at_top, 0), 0x1);
      find_phases(&pass, begin_phase);
   }

   nir_foreach_block (block, state->b.impl) {
      nir_foreach_instr_safe (instr, block)
         progress |= instrument(&pass, instr);
   }

   if (pass.has_phases)
      nir_lower_vars_to_ssa(state->b.shader);
   return progress;
}
