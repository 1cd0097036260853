/* SPDX-License-Identifier: MIT */

/* mesh: what task and mesh shaders give out.
 *
 * The counts of OpSetMeshOutputsEXT are kept in variables of the invocation: all of a workgroup
 * execute that instruction, with the same counts. Stores to outputs compare with them; where the
 * counts are set first thing, as they mostly are, nothing else is left of this. In both drivers
 * outputs of mesh shaders are variables at this point, whose first index is that of the vertex or
 * the primitive.
 *
 * With GPUVAL_SAFE, counts are not above what the shader declares, an index that is no vertex's is
 * 0, and a task that would launch too many workgroups launches none.
 */

#include "gpuval_nir_private.h"

struct pass {
   struct gpuval_nir_state *state;
   nir_variable *is_set, *vertices, *primitives;
};

/* One thing that is wrong with an instruction: GPUVAL_MESH_* */
struct fault {
   unsigned reason;
   nir_def *found; /* 1 bit */
   nir_def *value; /* 32 bit */
   nir_def *bound; /* 32 bit */
};

/* The first of @faults that is true is what is reported. Returns whether any is, 1 bit. */
static nir_def *
report(struct gpuval_nir_state *state, const struct gpuval_access *access, enum gpuval_kind kind,
       const struct fault *faults, unsigned count)
{
   nir_builder *b = &state->b;
   nir_def *failed = nir_imm_false(b), *word = nir_imm_int(b, 0), *value = word;
   const struct gpuval_site site = {
      .kind = kind,
      .spirv_offset = gpuval_nir_spirv_offset(state, access->instance),
      .set = -1,
      .binding = -1,
   };

   for (unsigned i = count; i-- > 0;) {
      const struct fault *fault = &faults[i];
      nir_def *bound = nir_umin(b, fault->bound, nir_imm_int(b, GPUVAL_MESH_MAX_BOUND));
      nir_def *both =
         nir_ior_imm(b, nir_ishl_imm(b, bound, GPUVAL_MESH_BOUND_SHIFT), fault->reason);

      failed = nir_ior(b, failed, fault->found);
      word = nir_bcsel(b, fault->found, both, word);
      value = nir_bcsel(b, fault->found, fault->value, value);
   }
   gpuval_nir_report_plain(state, &site, 0, failed, word, value);
   return failed;
}

static void
check_counts(struct pass *pass, const struct gpuval_access *access)
{
   nir_builder *b = &pass->state->b;
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);

   b->cursor = nir_before_instr(access->instr);
   nir_def *max_vertices = nir_imm_int(b, b->shader->info.mesh.max_vertices_out);
   nir_def *max_primitives = nir_imm_int(b, b->shader->info.mesh.max_primitives_out);
   nir_def *vertices = intrin->src[0].ssa, *primitives = intrin->src[1].ssa;
   nir_def *zero = nir_imm_int(b, 0);
   const struct fault faults[] = {
      {GPUVAL_MESH_SET_TWICE, nir_load_var(b, pass->is_set), zero, zero},
      {GPUVAL_MESH_TOO_MANY_VERTICES, nir_ult(b, max_vertices, vertices), vertices, max_vertices},
      {GPUVAL_MESH_TOO_MANY_PRIMITIVES, nir_ult(b, max_primitives, primitives), primitives,
       max_primitives},
   };
   report(pass->state, access, GPUVAL_KIND_MESH_COUNT, faults, ARRAY_SIZE(faults));

   if (pass->state->options->safe) {
      vertices = nir_umin(b, vertices, max_vertices);
      primitives = nir_umin(b, primitives, max_primitives);
      nir_src_rewrite(&intrin->src[0], vertices);
      nir_src_rewrite(&intrin->src[1], primitives);
   }
   nir_store_var(b, pass->is_set, nir_imm_true(b), 0x1);
   nir_store_var(b, pass->vertices, vertices, 0x1);
   nir_store_var(b, pass->primitives, primitives, 0x1);
}

/* The index of the vertex or the primitive that a store is of, or NULL */
static nir_def *
get_index(nir_deref_instr *deref)
{
   while (deref && deref->deref_type != nir_deref_type_var) {
      nir_deref_instr *parent = nir_deref_instr_parent(deref);
      if (parent && parent->deref_type == nir_deref_type_var)
         return deref->deref_type == nir_deref_type_array ? deref->arr.index.ssa : NULL;
      deref = parent;
   }
   return NULL;
}

/* Which component of the indices of a primitive is no vertex? The last one counts. */
static struct fault
find_bad_vertex(nir_builder *b, const nir_intrinsic_instr *store, nir_def *vertices)
{
   struct fault fault = {
      .reason = GPUVAL_MESH_NO_VERTEX,
      .found = nir_imm_false(b),
      .value = nir_imm_int(b, 0),
      .bound = vertices,
   };

   u_foreach_bit (i, nir_intrinsic_write_mask(store)) {
      nir_scalar scalar = nir_scalar_chase_movs(nir_get_scalar(store->src[1].ssa, i));
      if (nir_def_instr(scalar.def)->type == nir_instr_type_undef)
         continue;
      nir_def *index = nir_u2u32(b, nir_channel(b, scalar.def, scalar.comp));
      nir_def *is_bad = nir_uge(b, index, vertices);
      fault.found = nir_ior(b, fault.found, is_bad);
      fault.value = nir_bcsel(b, is_bad, index, fault.value);
   }
   return fault;
}

static void
make_indices_safe(nir_builder *b, nir_intrinsic_instr *store, nir_def *vertices)
{
   nir_def *indices = store->src[1].ssa;
   nir_def *limit =
      nir_replicate(b, nir_u2uN(b, vertices, indices->bit_size), indices->num_components);

   nir_src_rewrite(&store->src[1],
                   nir_bcsel(b, nir_ult(b, indices, limit), indices,
                             nir_imm_zero(b, indices->num_components, indices->bit_size)));
}

static bool
check_store(struct pass *pass, const struct gpuval_access *access)
{
   nir_builder *b = &pass->state->b;
   nir_intrinsic_instr *store = nir_instr_as_intrinsic(access->instr);
   const nir_variable *var = gpuval_nir_find_variable(access->resource);
   nir_def *index = var ? get_index(access->resource) : NULL;
   if (!index)
      return false;

   b->cursor = nir_before_instr(access->instr);
   index = nir_u2u32(b, index);
   bool is_indices = var->data.location == VARYING_SLOT_PRIMITIVE_INDICES;
   bool is_primitive = var->data.per_primitive || is_indices;
   nir_def *is_set = nir_load_var(b, pass->is_set);
   nir_def *count = nir_load_var(b, is_primitive ? pass->primitives : pass->vertices);
   nir_def *declared = nir_imm_int(b, is_primitive ? b->shader->info.mesh.max_primitives_out
                                                   : b->shader->info.mesh.max_vertices_out);
   nir_def *is_beyond = nir_iand(b, nir_uge(b, index, count), nir_ult(b, index, declared));
   const struct fault faults[] = {
      {GPUVAL_MESH_NOT_SET, nir_inot(b, is_set), nir_imm_int(b, 0), nir_imm_int(b, 0)},
      {is_primitive ? GPUVAL_MESH_PRIMITIVE_BEYOND : GPUVAL_MESH_VERTEX_BEYOND, is_beyond, index,
       count},
   };
   report(pass->state, access, GPUVAL_KIND_MESH_COUNT, faults, ARRAY_SIZE(faults));
   if (!is_indices)
      return true;

   nir_def *vertices = nir_load_var(b, pass->vertices);
   struct fault fault = find_bad_vertex(b, store, vertices);
   fault.found = nir_iand(b, fault.found, nir_iand(b, is_set, nir_ult(b, index, count)));
   report(pass->state, access, GPUVAL_KIND_PRIMITIVE_INDEX, &fault, 1);
   if (pass->state->options->safe)
      make_indices_safe(b, store, vertices);
   return true;
}

/* x * y * z > total, where none of them is above its limit */
static nir_def *
is_above_total(nir_builder *b, nir_def *const *size, nir_def *total)
{
   nir_def *layer = nir_imul(b, size[0], size[1]);
   nir_def *high = nir_ior(b, nir_umul_high(b, size[0], size[1]), nir_umul_high(b, layer, size[2]));
   nir_def *is_above =
      nir_ior(b, nir_ine_imm(b, high, 0), nir_ult(b, total, nir_imul(b, layer, size[2])));

   return nir_iand(b, nir_ine_imm(b, size[2], 0), is_above);
}

static bool
check_launch(struct gpuval_nir_state *state, const struct gpuval_access *access)
{
   nir_builder *b = &state->b;
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   const uint32_t *max = state->options->max_mesh_workgroups;
   struct fault faults[4];
   nir_def *size[3];

   if (!state->options->max_mesh_workgroups_total)
      return false;

   b->cursor = nir_before_instr(access->instr);
   for (unsigned i = 0; i < 3; i++) {
      nir_def *bound = nir_imm_int(b, max[i]);
      size[i] = nir_channel(b, intrin->src[0].ssa, i);
      faults[i] =
         (struct fault){GPUVAL_MESH_TASK_X + i, nir_ult(b, bound, size[i]), size[i], bound};
   }
   nir_def *total = nir_imm_int(b, state->options->max_mesh_workgroups_total);
   nir_def *launched = nir_imul(b, nir_imul(b, size[0], size[1]), size[2]);
   faults[3] =
      (struct fault){GPUVAL_MESH_TASK_TOTAL, is_above_total(b, size, total), launched, total};
   nir_def *failed = report(state, access, GPUVAL_KIND_TASK_COUNT, faults, ARRAY_SIZE(faults));

   if (state->options->safe)
      nir_src_rewrite(&intrin->src[0],
                      nir_bcsel(b, failed, nir_imm_zero(b, 3, 32), intrin->src[0].ssa));
   return true;
}

static bool
check_tasks(struct gpuval_nir_state *state)
{
   bool progress = false;

   gpuval_nir_foreach_access(state, access)
   {
      if (access->instr->type != nir_instr_type_intrinsic)
         continue;
      nir_intrinsic_op op = nir_instr_as_intrinsic(access->instr)->intrinsic;
      if (op == nir_intrinsic_launch_mesh_workgroups ||
          op == nir_intrinsic_launch_mesh_workgroups_with_payload_deref)
         progress |= check_launch(state, access);
   }
   return progress;
}

static nir_variable *
create_variable(nir_builder *at_top, const struct glsl_type *type, const char *name)
{
   nir_variable *var = nir_local_variable_create(at_top->impl, type, name);
   bool is_bool = glsl_type_is_boolean(type);

   nir_store_var(at_top, var, is_bool ? nir_imm_false(at_top) : nir_imm_int(at_top, 0), 0x1);
   return var;
}

static bool
is_set_counts(const nir_instr *instr)
{
   return instr->type == nir_instr_type_intrinsic &&
          nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_set_vertex_and_primitive_count;
}

static bool
check_outputs(struct gpuval_nir_state *state)
{
   nir_builder at_top = nir_builder_at(nir_before_impl(state->b.impl));
   bool progress = false;
   struct pass pass = {
      .state = state,
      .is_set = create_variable(&at_top, glsl_bool_type(), "gpuval is set"),
      .vertices = create_variable(&at_top, glsl_uint_type(), "gpuval vertices"),
      .primitives = create_variable(&at_top, glsl_uint_type(), "gpuval primitives"),
   };

   gpuval_nir_foreach_access(state, access)
   {
      if (is_set_counts(access->instr)) {
         check_counts(&pass, access);
         progress = true;
      } else if (access->type == GPUVAL_ACCESS_OUTPUT) {
         progress |= check_store(&pass, access);
      }
   }
   nir_lower_vars_to_ssa(state->b.shader);
   return progress;
}

bool
gpuval_nir_instrument_mesh(struct gpuval_nir_state *state)
{
   if (!(state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_MESH)))
      return false;

   switch (state->b.shader->info.stage) {
   case MESA_SHADER_TASK:
      return check_tasks(state);
   case MESA_SHADER_MESH:
      return check_outputs(state);
   default:
      return false;
   }
}
