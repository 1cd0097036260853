/* SPDX-License-Identifier: MIT */

/* nan, for export: where the NaN or the infinity in an output came up.
 *
 * Beside each value that an output is made of goes a word: the SPIR-V offset of the operation that
 * has made NaN or infinity of finite operands, or 0. Moving and selecting move and select it; an
 * operation that passes on what is not finite passes on the word of the first such operand. In
 * front of each store to an output that word is left for gpuval_nir_export.c, as a report of
 * nothing.
 */

#include "gpuval_nir_float.h"
#include "gpuval_nir_operation.h"

#include "util/hash_table.h"
#include "util/ralloc.h"

struct origins {
   nir_builder *b;
   void *mem_ctx;
   struct hash_table *births; /* nir_def to struct gpuval_nir_birth */
   struct hash_table *words;  /* nir_def to nir_def *[NIR_MAX_VEC_COMPONENTS] */
   nir_def *none;
};

static nir_def *get_word(struct origins *origins, nir_def *def, unsigned component);

/* Behind @instr, and in front of what stands behind it already */
static nir_cursor
behind(nir_instr *instr)
{
   nir_instr *next = nir_instr_next(instr);
   return next ? nir_before_instr(next) : nir_after_block_before_jump(instr->block);
}

static bool
is_none(const struct origins *origins, const nir_def *word)
{
   return word == origins->none;
}

static bool
is_float_like(const nir_def *def)
{
   return def->bit_size >= 16;
}

/* Component of source @index that @component of the result is made of; -1: several */
static int
get_component(const nir_alu_instr *alu, unsigned index, unsigned component)
{
   return nir_op_infos[alu->op].input_sizes[index] ? -1 : alu->src[index].swizzle[component];
}

/* The word of a source: the first of its components that are not finite */
static nir_def *
build_source(struct origins *origins, const nir_alu_instr *alu, unsigned index, unsigned component)
{
   nir_builder *b = origins->b;
   nir_def *def = alu->src[index].src.ssa, *word = origins->none;
   int only = get_component(alu, index, component);
   unsigned count = only < 0 ? nir_op_infos[alu->op].input_sizes[index] : 1;

   if (!is_float_like(def))
      return word;
   for (unsigned i = count; i-- > 0;) {
      unsigned from = only < 0 ? alu->src[index].swizzle[i] : (unsigned)only;
      nir_def *of_component = get_word(origins, def, from);
      if (is_none(origins, of_component))
         continue;
      nir_def *magnitude = gpuval_nir_magnitude(b, nir_channel(b, def, from));
      nir_def *is_finite = nir_ult(b, magnitude, gpuval_nir_infinity(b, def->bit_size));
      word = nir_bcsel(b, is_finite, word, of_component);
   }
   return word;
}

/* Finds, or builds, the words of sources before the cursor is set. */
static void
prepare(struct origins *origins, const nir_alu_instr *alu, unsigned component)
{
   for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++) {
      int only = get_component(alu, i, component);
      unsigned count = only < 0 ? nir_op_infos[alu->op].input_sizes[i] : 1;
      for (unsigned j = 0; j < count; j++)
         get_word(origins, alu->src[i].src.ssa, only < 0 ? alu->src[i].swizzle[j] : (unsigned)only);
   }
}

static nir_def *
build_alu(struct origins *origins, nir_alu_instr *alu, unsigned component)
{
   nir_builder *b = origins->b;
   nir_def *word = origins->none;

   if (nir_op_is_vec_or_mov(alu->op)) {
      bool is_mov = alu->op == nir_op_mov;
      const nir_alu_src *src = &alu->src[is_mov ? 0 : component];
      return get_word(origins, src->src.ssa, src->swizzle[is_mov ? component : 0]);
   }

   prepare(origins, alu, component);
   b->cursor = behind(&alu->instr);
   if (alu->op == nir_op_bcsel) {
      nir_def *first = get_word(origins, alu->src[1].src.ssa, alu->src[1].swizzle[component]);
      nir_def *second = get_word(origins, alu->src[2].src.ssa, alu->src[2].swizzle[component]);
      nir_def *condition = nir_channel(b, alu->src[0].src.ssa, alu->src[0].swizzle[component]);
      return first == second ? first : nir_bcsel(b, condition, first, second);
   }
   for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++) {
      nir_def *source = build_source(origins, alu, i, component);
      if (is_none(origins, source))
         continue;
      word = is_none(origins, word) ? source : nir_bcsel(b, nir_ine_imm(b, word, 0), word, source);
   }
   struct hash_entry *entry = _mesa_hash_table_search(origins->births, &alu->def);
   if (entry) {
      const struct gpuval_nir_birth *birth = entry->data;
      b->cursor = behind(nir_def_instr(birth->born));
      return nir_bcsel(b, birth->born, nir_imm_int(b, birth->spirv_offset), word);
   }
   return word;
}

static nir_def *
build_phi(struct origins *origins, nir_phi_instr *phi, unsigned component, nir_def **memo)
{
   nir_phi_instr *result = nir_phi_instr_create(origins->b->shader);

   nir_def_init(&result->instr, &result->def, 1, 32);
   *memo = &result->def; /* it may be among its own sources */
   nir_foreach_phi_src (src, phi)
      nir_phi_instr_add_src(result, src->pred, get_word(origins, src->src.ssa, component));
   nir_instr_insert_before(&phi->instr, &result->instr);
   return &result->def;
}

/* Moves the cursor where it has to build something. */
static nir_def *
get_word(struct origins *origins, nir_def *def, unsigned component)
{
   nir_instr *instr = nir_def_instr(def);

   if (!is_float_like(def) ||
       (instr->type != nir_instr_type_alu && instr->type != nir_instr_type_phi))
      return origins->none;

   struct hash_entry *entry = _mesa_hash_table_search(origins->words, def);
   nir_def **memo = entry ? entry->data : NULL;
   if (!memo) {
      memo = rzalloc_array(origins->mem_ctx, nir_def *, NIR_MAX_VEC_COMPONENTS);
      _mesa_hash_table_insert(origins->words, def, memo);
   }
   if (!memo[component]) {
      nir_def *word = instr->type == nir_instr_type_phi
                         ? build_phi(origins, nir_instr_as_phi(instr), component, &memo[component])
                         : build_alu(origins, nir_instr_as_alu(instr), component);
      if (!memo[component]) /* else a loop has come here again */
         memo[component] = word;
   }
   return memo[component];
}

static void
leave_note(struct origins *origins, nir_intrinsic_instr *store, const nir_variable *var)
{
   nir_builder *b = origins->b;
   nir_def *value = store->src[1].ssa, *word = origins->none;

   u_foreach_bit (i, nir_intrinsic_write_mask(store))
      get_word(origins, value, i);
   b->cursor = nir_before_instr(&store->instr);
   for (int i = value->num_components - 1; i >= 0; i--) {
      nir_def *of_component = get_word(origins, value, i);
      if (!(nir_intrinsic_write_mask(store) & BITFIELD_BIT(i)) || is_none(origins, of_component))
         continue;
      nir_def *magnitude = gpuval_nir_magnitude(b, nir_channel(b, value, i));
      nir_def *is_finite = nir_ult(b, magnitude, gpuval_nir_infinity(b, value->bit_size));
      word = nir_bcsel(b, is_finite, word, of_component);
   }
   if (is_none(origins, word))
      return;
   gpuval_nir_report_early(b, &(struct gpuval_nir_early_report){
                                 .kind = GPUVAL_KIND_EXPORT_NAN,
                                 .binding = var->data.location,
                                 .failed = nir_imm_false(b),
                                 .words = {word},
                              });
}

void
gpuval_nir_leave_origins(struct gpuval_nir_early *early, struct hash_table *births)
{
   nir_function_impl *impl = early->b.impl;
   struct origins origins = {
      .b = &early->b,
      .mem_ctx = ralloc_context(NULL),
      .births = births,
   };

   origins.words = _mesa_pointer_hash_table_create(origins.mem_ctx);
   early->b.cursor = nir_before_impl(impl);
   origins.none = nir_imm_int(&early->b, 0);
   nir_foreach_block (block, impl) {
      nir_foreach_instr_safe (instr, block) {
         if (instr->type != nir_instr_type_intrinsic ||
             nir_instr_as_intrinsic(instr)->intrinsic != nir_intrinsic_store_deref)
            continue;
         nir_intrinsic_instr *store = nir_instr_as_intrinsic(instr);
         nir_deref_instr *deref = nir_src_as_deref(store->src[0]);
         const nir_variable *var = nir_deref_instr_get_variable(deref);
         if (var && var->data.mode == nir_var_shader_out &&
             glsl_type_is_float_16_32_64(glsl_without_array(deref->type)))
            leave_note(&origins, store, var);
      }
   }
   ralloc_free(origins.mem_ctx);
}
