/* SPDX-License-Identifier: MIT */

/* Missing barriers: which accesses shadow memory and the bloom filter get to see.
 *
 * Loads, stores and atomics of uniform, storage and texel buffers, of storage images and through
 * buffer device addresses become @sync_gpuval intrinsics right before them,
 * each with the address, an id of the invocation and whether the access is in
 * bounds: others are skipped. Inline uniform blocks and push
 * constants are in no buffer; shared memory and private variables are no
 * business of this check. Traces and ray queries are loads of where their acceleration
 * structure begins: what writes one are builds and copies, which only shadow memory knows of.
 *
 * Workgroups may exchange data in buffers across a barrier whose semantics
 * cover buffer memory: gpuval_nir_phases.c.
 *
 * Inside a fragment shader interlock accesses are ordered among each other,
 * and so they count as atomics: conflicts with all others remain.
 */

#include "gpuval/src/base/gpuval_bloom.h"
#include "gpuval/src/base/gpuval_order.h"
#include "gpuval/src/base/gpuval_shadow.h"
#include "gpuval_nir_local.h"
#include "gpuval_nir_sync_pass.h"

/* Ray-tracing stages of one invocation are shaders of their own, and a vertex may be shaded more
 * than once: they are numbered by what they are.
 */
static bool
has_numbers(mesa_shader_stage stage)
{
   return mesa_shader_stage_is_rt(stage) || stage == MESA_SHADER_VERTEX ||
          stage == MESA_SHADER_TESS_EVAL;
}

/* Of a workgroup in its command, then of an invocation in its workgroup */
static nir_def *
build_linear_group(nir_builder *b)
{
   nir_def *id = nir_load_workgroup_id(b), *count = nir_load_num_workgroups(b);
   nir_def *row = nir_iadd(b, nir_channel(b, id, 1),
                           nir_imul(b, nir_channel(b, id, 2), nir_channel(b, count, 1)));

   return nir_iadd(b, nir_channel(b, id, 0), nir_imul(b, row, nir_channel(b, count, 0)));
}

/* No other invocation of a dispatch has it, and those of other executions hardly ever. */
static nir_def *
build_linear_id(struct gpuval_nir_state *state, nir_builder *b)
{
   const struct gpuval_nir_driver *driver = state->options->driver;
   const shader_info *info = &b->shader->info;
   unsigned size = info->workgroup_size[0] * info->workgroup_size[1] * info->workgroup_size[2];
   nir_def *id =
      nir_iadd(b, nir_imul_imm(b, build_linear_group(b), size), gpuval_nir_local_index(driver, b));

   id = nir_iadd(b, id, nir_imul_imm(b, driver->execution(driver, b), 0x27d4eb2f));
   return nir_imul_imm(b, id, GPUVAL_BLOOM_INVOCATION_STEP);
}

static nir_def *
build_invocation_id(struct gpuval_nir_state *state, nir_builder *b)
{
   if (state->options->driver->execution && b->shader->info.stage == MESA_SHADER_COMPUTE &&
       !b->shader->info.workgroup_size_variable)
      return build_linear_id(state, b);
   if (!has_numbers(b->shader->info.stage))
      return nir_invocation_gpuval(b);

   nir_def *words = gpuval_nir_invocation(state);
   const struct gpuval_nir_driver *driver = state->options->driver;
   nir_def *id = nir_imul_imm(b, driver->command_id(driver, b), 0x27d4eb2f);
   for (unsigned i = 0; i < 3; i++)
      id = nir_imul_imm(b, nir_ixor(b, id, nir_channel(b, words, i)), 0x9e3779b1);
   return id;
}

/* Of the workgroup or subgroup, or of the patch: different enough from others */
static nir_def *
build_token(struct gpuval_sync_pass *pass, nir_builder *b)
{
   const struct gpuval_nir_driver *driver = pass->state->options->driver;
   nir_def *token = nir_imul_imm(b, driver->command_id(driver, b), 0x27d4eb2f);
   if (b->shader->info.stage == MESA_SHADER_TESS_CTRL)
      return nir_iadd(b, token, nir_imul_imm(b, nir_load_primitive_id(b), 0x9e3779b1));

   nir_def *group = nir_load_workgroup_id(b);
   for (unsigned i = 0; i < 3; i++)
      token = nir_imul_imm(b, nir_ixor(b, token, nir_channel(b, group, i)), 0x9e3779b1);
   if (pass->is_subgroup)
      token = nir_imul_imm(b, nir_ixor(b, token, nir_load_subgroup_id(b)), 0x9e3779b1);
   return token;
}

/* The same in shadow memory. Numbers of vertices near each other differ, those of others mostly. */
static nir_def *
build_vertex_number(struct gpuval_sync_pass *pass, nir_builder *b)
{
   if (b->shader->info.stage == MESA_SHADER_TESS_EVAL) /* of a hash, the upper bits */
      return nir_ushr_imm(b, build_invocation_id(pass->state, b),
                          32 - GPUVAL_SHADOW_INVOCATION_BITS);

   nir_def *words = gpuval_nir_invocation(pass->state);
   nir_def *instance = nir_imul_imm(b, nir_channel(b, words, 1), 0x9e3779b1);
   nir_def *draw = nir_imul_imm(b, nir_load_draw_id(b), 0x27d4eb2f);
   return nir_iadd(b, nir_channel(b, words, 0), nir_iadd(b, instance, draw));
}

/* Is there a barrier that may order accesses of a workgroup, or of a patch, to buffers? */
static bool
has_barriers(const struct gpuval_sync_pass *pass)
{
   const nir_variable_mode modes = nir_var_mem_ssbo | nir_var_mem_global | nir_var_image;

   gpuval_nir_foreach_access(pass->state, access)
   {
      if (access->type == GPUVAL_ACCESS_BARRIER &&
          nir_intrinsic_memory_modes(nir_instr_as_intrinsic(access->instr)) & modes)
         return true;
   }
   return false;
}

/* Bits of the number of an invocation in a workgroup of @size, the lower ones of which are its
 * number in its subgroup. Subgroups may be half as large as the driver's largest ones.
 */
static unsigned
get_subgroup_bits(const struct gpuval_sync_pass *pass, unsigned size, unsigned *lane_bits)
{
   *lane_bits = pass->state->options->driver->subgroup_bits;
   unsigned least = MAX2((1u << *lane_bits) / 2, 1);
   return *lane_bits + util_logbase2_ceil(DIV_ROUND_UP(size, least));
}

/* What shadow memory calls an invocation: a number in its command, of which the upper
 * bits are its workgroup's and those in the middle its subgroup's. *shifts says where.
 * Stages without workgroups have numbers that no other invocation has. So have patches and mesh
 * workgroups where no barrier orders buffers: their ids begin anew with each instance, or each task
 * workgroup.
 */
static nir_def *
build_number(struct gpuval_sync_pass *pass, nir_builder *b)
{
   const shader_info *info = &b->shader->info;
   unsigned bits;
   nir_def *local, *group;

   if ((info->stage == MESA_SHADER_TESS_CTRL || info->stage == MESA_SHADER_MESH) &&
       !has_barriers(pass))
      return nir_invocation_gpuval(b);

   if (info->stage == MESA_SHADER_TESS_CTRL) {
      local = nir_load_invocation_id(b);
      group = nir_load_primitive_id(b);
      bits = 5;
   } else if (mesa_shader_stage_uses_workgroup(info->stage)) {
      unsigned size =
         info->workgroup_size_variable
            ? 1024
            : info->workgroup_size[0] * info->workgroup_size[1] * info->workgroup_size[2];
      bits = util_logbase2_ceil(MAX2(size, 1));
      local = gpuval_nir_local_index(pass->state->options->driver, b);
      if (pass->has_subgroups) {
         /* Where subgroups are is the driver's business. */
         unsigned lane_bits;
         bits = get_subgroup_bits(pass, size, &lane_bits);
         pass->shifts |= lane_bits << 8;
         local = nir_ior(b, nir_ishl_imm(b, nir_load_subgroup_id(b), lane_bits),
                         nir_load_subgroup_invocation(b));
      }
      group = build_linear_group(b);
   } else if (mesa_shader_stage_is_rt(info->stage)) {
      nir_def *id = gpuval_nir_invocation(pass->state), *size = nir_load_ray_launch_size(b);
      nir_def *row = nir_iadd(b, nir_channel(b, id, 1),
                              nir_imul(b, nir_channel(b, id, 2), nir_channel(b, size, 1)));
      return nir_iadd(b, nir_channel(b, id, 0), nir_imul(b, row, nir_channel(b, size, 0)));
   } else if (has_numbers(info->stage)) {
      return build_vertex_number(pass, b);
   } else {
      return nir_invocation_gpuval(b);
   }

   pass->shifts |= bits;
   return nir_ior(b, nir_ishl_imm(b, group, bits), local);
}

nir_def *
gpuval_sync_context(struct gpuval_sync_pass *pass)
{
   if (!pass->context) {
      nir_function_impl *impl = pass->state->b.impl;
      gpuval_nir_invocation(pass->state);
      nir_builder at_top =
         nir_builder_at(nir_after_instr(nir_def_instr(gpuval_nir_invocation(pass->state))));
      if (!has_numbers(impl->function->shader->info.stage))
         at_top.cursor = nir_before_impl(impl);
      bool shadow = pass->shadow;
      nir_def *id =
         shadow ? build_number(pass, &at_top) : build_invocation_id(pass->state, &at_top);
      nir_def *token =
         pass->has_phases && !shadow ? build_token(pass, &at_top) : nir_imm_int(&at_top, 0);
      pass->context = nir_vec2(&at_top, id, token);
   }
   return pass->context;
}

/* Where the range of @access's descriptor begins and how many bytes it has. A
 * variable pointer may lead to any set that has buffers.
 */
void
gpuval_sync_range(struct gpuval_nir_state *state, nir_intrinsic_instr *intrin, int set,
                  nir_def *slot, nir_def **address, nir_def **size)
{
   nir_builder *b = &state->b;
   const struct gpuval_nir_driver *driver = state->options->driver;

   if (set >= 0) {
      *address = driver->buffer_address(driver, b, nir_imm_int(b, set), slot);
      *size = driver->buffer_size(driver, b, nir_imm_int(b, set), slot);
      return;
   }

   *address = nir_imm_int64(b, 0);
   *size = nir_imm_int(b, 0);
   nir_def *actual = driver->set(driver, b, intrin);
   u_foreach_bit (candidate, gpuval_nir_buffer_sets(b->shader)) {
      nir_def *is = nir_ieq_imm(b, actual, candidate);
      nir_def *number = nir_imm_int(b, candidate);
      *address = nir_bcsel(b, is, driver->buffer_address(driver, b, number, slot), *address);
      *size = nir_bcsel(b, is, driver->buffer_size(driver, b, number, slot), *size);
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
   bool is_address;  /* no descriptor, or none with an offset */
   nir_def *value;   /* of a store; NULL: not known */
   bool is_constant; /* ... that is the same each time */
   uint32_t const_size;
};

static enum gpuval_order_access
order_access(const struct gpuval_access *access, enum gpuval_bloom_type type)
{
   if (type != GPUVAL_BLOOM_LOAD)
      return type == GPUVAL_BLOOM_STORE ? GPUVAL_ORDER_WRITE : GPUVAL_ORDER_ATOMIC;
   if (access->type == GPUVAL_ACCESS_RAYS)
      return GPUVAL_ORDER_RAY_READ;
   if (access->instr->type == nir_instr_type_tex)
      return GPUVAL_ORDER_SAMPLED_READ;
   return nir_instr_as_intrinsic(access->instr)->intrinsic == nir_intrinsic_load_ubo
             ? GPUVAL_ORDER_UNIFORM_READ
             : GPUVAL_ORDER_STORAGE_READ;
}

/* The filter's, where shadow memory has been before */
static bool
is_beside(const struct gpuval_sync_pass *pass)
{
   return !pass->shadow && pass->state->options->shadow;
}

static const struct gpuval_nir_phases *
get_phases(const struct gpuval_sync_pass *pass, const struct gpuval_access *access)
{
   switch (access->type) {
   case GPUVAL_ACCESS_IMAGE:
      return &pass->image_phases;
   case GPUVAL_ACCESS_TEXEL_BUFFER:
      return &pass->texel_phases;
   default:
      return &pass->phases;
   }
}

static void
emit(struct gpuval_sync_pass *pass, const struct gpuval_access *access, const struct piece *piece)
{
   struct gpuval_nir_state *state = pass->state;
   nir_builder *b = &state->b;
   bool is_load = access->op == GPUVAL_OP_LOAD || access->op == GPUVAL_OP_FETCH;
   enum gpuval_bloom_type type = access->is_interlocked || access->is_atomic ? GPUVAL_BLOOM_ATOMIC
                                 : access->op == GPUVAL_OP_STORE             ? GPUVAL_BLOOM_STORE
                                                                             : GPUVAL_BLOOM_LOAD;
   nir_def *is_visible = NULL;
   const bool is_always_visible =
      type != GPUVAL_BLOOM_STORE && gpuval_sync_is_visible(pass, access, &is_visible);
   if (is_always_visible && !pass->shadow)
      return;

   const struct gpuval_site site = {
      .kind = kinds[type],
      .op = access->spirv_op,
      .spirv_offset = gpuval_nir_spirv_offset(state, access->instance),
      .set = piece->set,
      .binding = piece->binding,
      .by_filter = is_beside(pass),
      .has_rays = access->type == GPUVAL_ACCESS_RAYS,
   };
   const struct gpuval_nir_entry entry = {
      .size = piece->const_size,
      .site = piece->value ? gpuval_nir_add_store_sites(state, &site)
                           : gpuval_nir_add_site(state, &site),
      .instance = access->instance,
   };
   uint32_t base = gpuval_nir_add_entry(state, &entry);

   /* What has been reported is not done, or undefined anyway. */
   nir_def *active =
      access->bad ? nir_iand(b, piece->active, nir_inot(b, access->bad)) : piece->active;
   if (pass->acquired)
      active = nir_iand(b, active, nir_inot(b, nir_load_var(b, pass->acquired)));
   nir_def *context = gpuval_sync_context(pass);
   nir_def *id = nir_channel(b, context, 0);
   nir_variable *phases = get_phases(pass, access)->var;
   nir_def *phase = phases ? nir_load_var(b, phases) : nir_imm_int(b, 0);
   nir_def *token = nir_channel(b, context, 1);
   unsigned flags = type | (pass->has_phases ? GPUVAL_SYNC_HAS_PHASES : 0) |
                    (piece->value ? GPUVAL_SYNC_HAS_VALUE : 0) |
                    (piece->is_constant && !mesa_shader_stage_is_rt(b->shader->info.stage)
                        ? GPUVAL_SYNC_CONSTANT /* sites of one class are of one shader */
                        : 0) |
                    (is_beside(pass) ? GPUVAL_SYNC_FILTER : 0);
   if (pass->shadow) {
      if (type == GPUVAL_BLOOM_ATOMIC && is_load)
         flags |= GPUVAL_SYNC_ATOMIC_LOAD;
      enum gpuval_order_access order =
         is_always_visible ? GPUVAL_ORDER_ACQUIRED_READ : order_access(access, type);
      flags |= order << GPUVAL_SYNC_ACCESS_SHIFT | GPUVAL_SYNC_SHADOW;
      uint32_t number = MIN2(pass->num_sites, GPUVAL_SHADOW_SITE_UNKNOWN);
      pass->num_sites++;
      if (is_visible) {
         flags |= GPUVAL_SYNC_MAY_BE_VISIBLE;
         id = nir_bcsel(b, is_visible, nir_ior_imm(b, id, GPUVAL_SHADOW_VISIBLE),
                        nir_iand_imm(b, id, ~GPUVAL_SHADOW_VISIBLE));
      }
      token = nir_imm_int(
         b, pass->shifts | GPUVAL_SHADOW_CONTEXT(
                              0, 0, gpuval_order_stage_class(b->shader->info.stage), number));
   } else if (is_visible) {
      active = nir_iand(b, active, nir_inot(b, is_visible));
   }
   nir_sync_gpuval(b, active, piece->address, piece->size, piece->offset, piece->slot,
                   nir_vec4(b, id, token, phase, piece->value ? piece->value : nir_imm_int(b, 0)),
                   gpuval_nir_invocation(state), .base = base,
                   .desc_set = piece->is_address ? GPUVAL_REPORT_PLAIN : MAX2(piece->set, 0),
                   .flags = flags);
}

static bool
are_constants(const nir_scalar *scalars, unsigned count)
{
   for (unsigned i = 0; i < count; i++) {
      if (!nir_scalar_is_const(nir_scalar_chase_movs(scalars[i])))
         return false;
   }
   return true;
}

/* @size bytes, from @skip bytes behind where @access begins. @values: what a store stores, @count
 * scalars; none of others
 */
static void
emit_range(struct gpuval_sync_pass *pass, const struct gpuval_access *access, int64_t skip,
           unsigned size, const nir_scalar *values, unsigned count)
{
   struct gpuval_nir_state *state = pass->state;
   const struct gpuval_nir_driver *driver = state->options->driver;
   nir_builder *b = &state->b;
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   struct piece piece = {
      .set = -1,
      .binding = -1,
      .is_address = access->type == GPUVAL_ACCESS_ADDRESS,
      .size = nir_imm_int(b, size),
      .const_size = size,
      .value = count
                  ? gpuval_nir_value(b, nir_vec_scalars(b, (nir_scalar *)values, count), 0, count)
                  : NULL,
      .is_constant = count && are_constants(values, count),
   };

   if (piece.is_address) {
      piece.address = nir_iadd_imm(b, gpuval_nir_access_offset(access), skip);
      piece.active = nir_imm_true(b);
      piece.offset = piece.slot = nir_imm_int(b, 0);
   } else {
      nir_def *range;
      piece.set = access->buffer.set;
      piece.binding = access->buffer.binding;
      piece.offset = nir_iadd_imm(b, nir_get_io_offset_src(intrin)->ssa, skip);
      piece.slot =
         gpuval_nir_uniform_slot(b, driver, access->instr, driver->slot(driver, b, intrin));
      gpuval_sync_range(state, intrin, piece.set, piece.slot, &piece.address, &range);
      piece.active = nir_iand(b, nir_uge_imm(b, range, size),
                              nir_uge(b, nir_iadd_imm(b, range, -(int64_t)size), piece.offset));
      piece.address = nir_iadd(b, piece.address, nir_u2u64(b, piece.offset));
   }

   emit(pass, access, &piece);
}

/* @count components from @first on, that stand side by side */
static void
emit_piece(struct gpuval_sync_pass *pass, const struct gpuval_access *access, unsigned first,
           unsigned count)
{
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   nir_scalar values[NIR_MAX_VEC_COMPONENTS];
   const unsigned num_values = access->op == GPUVAL_OP_STORE ? count : 0;

   for (unsigned i = 0; i < num_values; i++)
      values[i] = nir_get_scalar(intrin->src[0].ssa, first + i);
   emit_range(pass, access, first * access->component_bytes, count * access->component_bytes,
              values, num_values);
}

static bool
instrument_memory(struct gpuval_sync_pass *pass, const struct gpuval_access *access)
{
   if (access->type == GPUVAL_ACCESS_BUFFER && (!access->is_described || access->buffer.size))
      return false;

   u_foreach_bit (i, access->components) {
      /* A run of components, in pieces of 16 bytes */
      if (i && access->components & BITFIELD_BIT(i - 1))
         continue;
      unsigned count = ffs(~(access->components >> i)) - 1;
      unsigned piece = pass->shadow ? count : GPUVAL_BLOOM_GRANULE / access->component_bytes;
      for (unsigned done = 0; done < count; done += piece)
         emit_piece(pass, access, i + done, MIN2(count - done, piece));
   }
   return true;
}

/* All are looked at before the first of them. */
static void
instrument_words(struct gpuval_sync_pass *pass, const struct gpuval_nir_words *words)
{
   const struct gpuval_access *first = words->first;
   nir_builder *b = &pass->state->b;

   b->cursor = nir_before_instr(first->instr);
   for (unsigned i = 0, count; i < words->count; i += count) {
      const struct gpuval_nir_word *word = &words->words[i];
      nir_scalar values[GPUVAL_BLOOM_GRANULE / 4];
      count = gpuval_nir_count_words(words, i, ARRAY_SIZE(values));
      for (unsigned j = 0; j < count; j++)
         values[j] = word[j].value;
      emit_range(pass, first, word->offset - words->offset, 4 * count, values,
                 first->op == GPUVAL_OP_STORE ? count : 0);
   }
}

static bool
instrument_texel(struct gpuval_sync_pass *pass, const struct gpuval_access *access)
{
   struct gpuval_nir_state *state = pass->state;
   nir_builder *b = &state->b;
   const struct gpuval_nir_driver *driver = state->options->driver;
   struct gpuval_nir_texels texels;

   if (access->op == GPUVAL_OP_QUERY || !driver->texels ||
       !driver->texels(driver, b, access->instr, access->resource, &texels))
      return false;

   nir_def *index = gpuval_nir_texel_index(b, access->instr);
   struct piece piece = {
      .set = texels.set,
      .binding = texels.binding,
      .slot = texels.slot,
      .active = nir_ult(b, index, texels.count),
      .size = texels.size,
      .offset = nir_imul(b, index, texels.size),
   };
   piece.address = nir_iadd(b, texels.address, nir_u2u64(b, piece.offset));
   emit(pass, access, &piece);
   return true;
}

static bool
instrument_image(struct gpuval_sync_pass *pass, const struct gpuval_access *access)
{
   struct gpuval_nir_texel texel;

   if (access->op == GPUVAL_OP_QUERY || !gpuval_nir_find_texel(pass->state, access, &texel))
      return false;

   const struct piece piece = {
      .set = texel.set,
      .binding = texel.binding,
      .slot = texel.slot,
      .active = texel.active,
      .address = texel.address,
      .size = texel.size,
      .offset = texel.offset,
   };
   emit(pass, access, &piece);
   return true;
}

/* Only what begins to look at a structure; going on with a ray query does not begin anew. */
static bool
instrument_rays(struct gpuval_sync_pass *pass, const struct gpuval_access *access)
{
   struct gpuval_nir_state *state = pass->state;
   nir_builder *b = &state->b;
   const struct gpuval_nir_driver *driver = state->options->driver;
   const nir_src *structure = gpuval_nir_resource_src(nir_instr_as_intrinsic(access->instr));

   if (!pass->shadow || !structure || !driver->structure_address ||
       !(state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_SYNC)))
      return false;
   nir_def *address = driver->structure_address(driver, b, structure->ssa);
   if (!address)
      return false;

   struct gpuval_access_use use;
   bool is_known = driver->descriptors && gpuval_nir_find_use(state, access, false, &use);
   const struct piece piece = {
      .set = is_known ? (int)use.set : -1,
      .binding = is_known ? (int)use.binding : -1,
      .is_address = true,
      .slot = is_known ? gpuval_nir_get_slot(b, &use) : nir_imm_int(b, 0),
      .active = nir_ine_imm(b, address, 0),
      .address = address,
      .size = nir_imm_int(b, GPUVAL_SHADOW_STRUCTURE_BEGIN),
      .const_size = GPUVAL_SHADOW_STRUCTURE_BEGIN,
      .offset = nir_imm_int(b, 0),
   };
   emit(pass, access, &piece);
   return true;
}

static bool
instrument(struct gpuval_sync_pass *pass, const struct gpuval_access *access)
{
   pass->state->b.cursor = nir_before_instr(access->instr);

   switch (access->type) {
   case GPUVAL_ACCESS_BUFFER:
   case GPUVAL_ACCESS_ADDRESS:
      return instrument_memory(pass, access);
   case GPUVAL_ACCESS_TEXEL_BUFFER:
      return instrument_texel(pass, access);
   case GPUVAL_ACCESS_IMAGE:
      return instrument_image(pass, access);
   case GPUVAL_ACCESS_RAYS:
      return instrument_rays(pass, access);
   default:
      return false;
   }
}

static bool
is_wanted(const struct gpuval_nir_state *state)
{
   uint32_t checks = state->options->checks;

   return checks & BITFIELD_BIT(GPUVAL_CHECK_SYNC) ||
          (checks & BITFIELD_BIT(GPUVAL_CHECK_SYNC_COMPUTE) &&
           state->b.shader->info.stage == MESA_SHADER_COMPUTE);
}

static bool
has_access(const struct gpuval_sync_pass *pass, uint32_t types)
{
   gpuval_nir_foreach_access(pass->state, access)
   {
      if (BITFIELD_BIT(access->type) & types && access->op != GPUVAL_OP_QUERY)
         return true;
   }
   return false;
}

static void
count_phases_of(struct gpuval_sync_pass *pass, struct gpuval_nir_phases *phases, uint32_t types,
                nir_variable_mode modes)
{
   *phases = (struct gpuval_nir_phases){
      .modes = modes,
      .types = types,
      .is_plain = !pass->shadow,
   };
   if (gpuval_sync_has_workgroups(pass->state->b.shader->info.stage) && has_access(pass, types))
      gpuval_nir_count_phases(pass->state, phases);
}

/* Barriers order images, or buffers, or both. A texel buffer is an image to SPIR-V, but what is
 * in there is a buffer's: either will do.
 */
static void
count_phases(struct gpuval_sync_pass *pass)
{
   count_phases_of(pass, &pass->phases,
                   BITFIELD_BIT(GPUVAL_ACCESS_BUFFER) | BITFIELD_BIT(GPUVAL_ACCESS_ADDRESS),
                   BUFFER_MODES);
   count_phases_of(pass, &pass->image_phases, BITFIELD_BIT(GPUVAL_ACCESS_IMAGE), nir_var_image);
   count_phases_of(pass, &pass->texel_phases, BITFIELD_BIT(GPUVAL_ACCESS_TEXEL_BUFFER),
                   BUFFER_MODES | nir_var_image);

   /* To the filter, barriers of both kinds in one shader are the workgroup's: what a
    * subgroup's leaves open between subgroups is missed then.
    */
   uint32_t scopes = pass->phases.scopes | pass->image_phases.scopes | pass->texel_phases.scopes;
   pass->has_phases = scopes != 0;
   pass->has_subgroups = scopes & BITFIELD_BIT(SCOPE_SUBGROUP);
   pass->is_subgroup = scopes == BITFIELD_BIT(SCOPE_SUBGROUP);
}

static bool
instrument_all(struct gpuval_nir_state *state, bool shadow)
{
   struct gpuval_sync_pass pass = {.state = state, .shadow = shadow};
   bool progress = false;

   pass.has_texels = has_access(&pass, TEXEL_TYPES);
   count_phases(&pass);

   gpuval_sync_find_order(&pass);
   struct gpuval_access *access = util_dynarray_begin(&state->accesses);
   struct gpuval_access *end = util_dynarray_end(&state->accesses);
   while (access < end) {
      struct gpuval_nir_words words;
      struct gpuval_access *next = gpuval_nir_collect_words(access, end, &words);

      if (next - access > 1) {
         instrument_words(&pass, &words);
         progress = true;
      } else {
         gpuval_sync_note_barrier(&pass, access);
         progress |= instrument(&pass, access);
      }
      access = next;
   }

   if (pass.has_order)
      gpuval_sync_instrument_order(&pass);
   if (pass.has_phases || pass.has_order || pass.acquired || pass.visible_buffers ||
       pass.visible_images)
      nir_lower_vars_to_ssa(state->b.shader);
   return progress;
}

/* A cell names the accesses of a shader in their order: those of shadow memory come first. */
bool
gpuval_nir_instrument_sync(struct gpuval_nir_state *state)
{
   const struct gpuval_nir_options *options = state->options;

   if (!is_wanted(state))
      return false;

   bool progress = instrument_all(state, options->shadow);
   if (options->shadow && options->filter_beside)
      progress |= instrument_all(state, false);
   return progress;
}
