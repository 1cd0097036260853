/* SPDX-License-Identifier: MIT */

/* The look-up of a descriptor: is there one, and does it lead to what the access
 * wants? gpuval_descriptor.h has the tables.
 */

#include "gpuval_nir_functions.h"
#include "gpuval_nir_private.h"

static nir_def *
has_any(nir_builder *b, nir_def *bits, uint32_t mask)
{
   return nir_ine_imm(b, nir_iand_imm(b, bits, mask), 0);
}

/* 1 bit: is the object alive that @id was given to? Where the id is the same in all lanes, that is
 * a scalar load: nothing that a command may use dies while it runs.
 */
static nir_def *
is_alive(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *id)
{
   nir_def *index = nir_iand_imm(b, id, BITFIELD_MASK(driver->descriptors->object_index_bits));
   nir_def *offset = nir_imul_imm(b, nir_u2u64(b, index), sizeof(struct gpuval_object));
   nir_def *there = nir_build_load_global(
      b, 1, 32, nir_iadd(b, driver->descriptors->objects_address(driver, b), offset),
      .align_mul = 4, .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER);

   return nir_ieq(b, there, id);
}

/* Bits of @required that are not there, of format and view. *harmful: bits that say that the
 * view is not just one of another format or class.
 */
static nir_def *
fits_view(nir_builder *b, const struct gpuval_nir_use_params *params, nir_def *offers,
          nir_def *format, nir_def **harmful)
{
   nir_def *required = params->required;
   nir_def *missing =
      nir_iand_imm(b, nir_iand(b, required, nir_inot(b, offers)), GPUVAL_OFFERS_VIEWS);
   nir_def *fits = nir_ieq_imm(b, missing, 0);

   if (params->texel) {
      nir_def *other_size = nir_iand(b, params->texel, nir_inot(b, offers));
      *harmful = nir_ior(b, nir_iand_imm(b, missing, ~GPUVAL_OFFERS_CLASSES), other_size);
   }
   if (params->may_require >> GPUVAL_USE_FORMAT_SHIFT) {
      nir_def *wanted = nir_ushr_imm(b, required, GPUVAL_USE_FORMAT_SHIFT);
      /* gpuval_format_bits() */
      nir_def *bits = nir_ior(b, wanted, nir_ishl_imm(b, nir_inot(b, wanted), 16));
      nir_def *other = nir_ine_imm(b, nir_iand(b, bits, nir_inot(b, format)), 0);
      fits = nir_iand(b, fits, nir_inot(b, nir_iand(b, nir_ine_imm(b, wanted, 0), other)));
   }
   return fits;
}

/* 1 bit: is there nothing that is alive and of the right type? */
static nir_def *
is_absent(nir_builder *b, const struct gpuval_nir_verdict *verdict)
{
   nir_def *missing = nir_ior(b, verdict->unwritten, verdict->wrong_type);
   return nir_ior(b, verdict->index_oob, nir_ior(b, missing, verdict->destroyed));
}

struct gpuval_nir_verdict
gpuval_nir_build_use(nir_builder *b, const struct gpuval_nir_driver *driver,
                     const struct gpuval_nir_use_params *params)
{
   const struct gpuval_nir_descriptors *descriptors = driver->descriptors;
   struct gpuval_nir_verdict verdict;
   nir_def *known =
      descriptors->has_shadow ? descriptors->has_shadow(driver, b, params->set) : nir_imm_true(b);
   nir_def *slot = nir_bcsel(b, params->is_constant, params->first_slot, params->slot);
   nir_def *relative = nir_isub(b, slot, params->first_slot);

   /* With a variable count, num_slots is the element if the slot is a constant, else
    * the stride.
    */
   nir_def *count =
      nir_bcsel(b, params->is_variable, descriptors->variable_count(driver, b, params->set),
                params->num_slots);
   nir_def *is_variable_constant = nir_iand(b, params->is_constant, params->is_variable);
   nir_def *limit = nir_bcsel(b, nir_iand(b, params->is_variable, nir_inot(b, params->is_constant)),
                              nir_imul(b, count, params->num_slots), count);
   nir_def *outside =
      nir_uge(b, nir_bcsel(b, is_variable_constant, params->num_slots, relative), limit);
   verdict.index_oob = nir_iand(b, known, outside);
   verdict.num_elements = count;

   /* Some place in the shadow, if it cannot be the right one */
   nir_def *zero = nir_imm_int(b, 0);
   verdict.descriptor = descriptors->load(
      driver, b, params->set, nir_bcsel(b, nir_ior(b, outside, nir_inot(b, known)), zero, slot));
   nir_def *offers = nir_channel(b, verdict.descriptor, 1);
   nir_def *required = params->required;

   /* A sampler that is part of the layout is there before the image is. */
   nir_def *wants_resource = has_any(b, required, GPUVAL_OFFERS_RESOURCES);
   nir_def *any_type = nir_bcsel(b, wants_resource, nir_imm_int(b, GPUVAL_OFFERS_RESOURCES),
                                 nir_imm_int(b, GPUVAL_OFFERS_TYPES));
   verdict.unwritten = nir_iand(b, known, nir_ieq_imm(b, nir_iand(b, offers, any_type), 0));
   verdict.wrong_type = nir_iand(
      b, known, has_any(b, nir_iand(b, required, nir_inot(b, offers)), GPUVAL_OFFERS_TYPES));

   nir_def *alive = nir_imm_true(b);
   if (params->may_require & GPUVAL_OFFERS_RESOURCES) {
      nir_def *object_alive = is_alive(b, driver, nir_channel(b, verdict.descriptor, 0));
      alive = nir_ior(b, object_alive, nir_inot(b, wants_resource));
   }
   if (params->may_require & GPUVAL_OFFERS_SAMPLER) {
      nir_def *sampler_alive = is_alive(b, driver, nir_channel(b, verdict.descriptor, 2));
      nir_def *wants_none = nir_inot(b, has_any(b, required, GPUVAL_OFFERS_SAMPLER));
      alive = nir_iand(b, alive, nir_ior(b, sampler_alive, wants_none));
   }
   verdict.destroyed = nir_iand(b, known, nir_inot(b, alive));

   verdict.wrong_view = nir_imm_false(b);
   nir_def *harmful = zero;
   if (params->may_require & ~GPUVAL_OFFERS_TYPES) {
      nir_def *fits = fits_view(b, params, offers, nir_channel(b, verdict.descriptor, 3), &harmful);
      verdict.wrong_view = nir_iand(b, known, nir_inot(b, fits));
   }
   verdict.harmful = NULL;
   if (params->texel) {
      nir_def *unfit = nir_iand(b, known, nir_ine_imm(b, harmful, 0));
      verdict.harmful = nir_ior(b, is_absent(b, &verdict), unfit);
   }
   return verdict;
}

/* Not 0 where the object that @id was given to is not alive. */
static nir_def *
find_other_id(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *id)
{
   return nir_ixor(b, driver->descriptors->load_id(driver, b, id), id);
}

/* The same as gpuval_nir_build_use(), in words: what is required and not there has a bit, whatever
 * it is, for which of these is wrong the report finds out. What was never written offers nothing.
 */
bool
gpuval_nir_build_constant_use(nir_builder *b, const struct gpuval_nir_driver *driver,
                              const struct gpuval_nir_use *use, struct gpuval_nir_constant_use *out)
{
   const struct gpuval_nir_descriptors *descriptors = driver->descriptors;
   const uint32_t bits = use->required & (GPUVAL_OFFERS_TYPES | GPUVAL_OFFERS_VIEWS);
   const uint32_t format = use->required >> GPUVAL_USE_FORMAT_SHIFT;

   if (!descriptors->load_constant ||
       (use->flags & (GPUVAL_USE_CONSTANT | GPUVAL_USE_VARIABLE)) != GPUVAL_USE_CONSTANT)
      return false;

   nir_def *words = descriptors->load_constant(driver, b, use->set, use->first_slot);
   if (!words)
      return false;

   nir_def *offers = nir_channel(b, words, 1);
   const uint32_t texel = gpuval_nir_texel_of_use(use->required);
   nir_def *missing = nir_iand(b, nir_imm_int(b, bits | texel), nir_inot(b, offers));
   out->harmful =
      bits & GPUVAL_OFFERS_CLASSES ? nir_iand_imm(b, missing, ~GPUVAL_OFFERS_CLASSES) : missing;
   if (bits & GPUVAL_OFFERS_RESOURCES)
      out->harmful = nir_ior(b, out->harmful, find_other_id(b, driver, nir_channel(b, words, 0)));
   if (bits & GPUVAL_OFFERS_SAMPLER)
      out->harmful = nir_ior(b, out->harmful, find_other_id(b, driver, nir_channel(b, words, 2)));

   out->bad = bits & GPUVAL_OFFERS_CLASSES ? nir_ior(b, out->harmful, missing) : out->harmful;
   if (format) {
      nir_def *other = nir_inot(b, nir_channel(b, words, 3));
      out->bad = nir_ior(b, out->bad, nir_iand_imm(b, other, gpuval_format_bits(format)));
   }
   return true;
}

nir_def *
gpuval_nir_load_object(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *set,
                       nir_def *slot)
{
   const struct gpuval_nir_descriptors *descriptors = driver->descriptors;
   nir_def *object = nir_channel(b, descriptors->load(driver, b, set, slot), 0);

   return descriptors->has_shadow
             ? nir_bcsel(b, descriptors->has_shadow(driver, b, set), object, nir_imm_int(b, 0))
             : object;
}

nir_def *
gpuval_nir_is_bad(nir_builder *b, const struct gpuval_nir_verdict *verdict)
{
   return nir_ior(b, is_absent(b, verdict), verdict->wrong_view);
}

/* 1 bit: differs @index from that of the first of those that are @here? */
static nir_def *
build_differs(nir_builder *b, nir_def *index, nir_def *here)
{
   nir_def *no = nir_imm_false(b);

   nir_push_if(b, here);
   nir_def *differs = nir_ine(b, index, nir_read_first_invocation(b, index));
   nir_pop_if(b, NULL);
   return nir_if_phi(b, differs, no);
}

/* Is that known, here and now, to be none of @bits? */
static bool
has_none(nir_def *word, uint32_t bits)
{
   nir_scalar scalar = nir_scalar_resolved(word, 0);
   return nir_scalar_is_const(scalar) && !(nir_scalar_as_uint(scalar) & bits);
}

static nir_def *
get_use_words(nir_builder *b, const struct gpuval_nir_use *use, nir_def *slot, nir_def *index)
{
   nir_def *zero = nir_imm_int(b, 0);
   bool has_helpers = index && b->shader->info.stage == MESA_SHADER_FRAGMENT;
   nir_def *words[GPUVAL_FUNCTION_DESCRIPTOR_WORDS] = {
      [GPUVAL_USE_WORD_FLAGS] =
         nir_imm_int(b, use->set | use->flags << 8 | (index ? GPUVAL_USE_HAS_INDEX : 0)),
      [GPUVAL_USE_WORD_SLOT] = slot,
      [GPUVAL_USE_WORD_REQUIRED] = nir_imm_int(b, use->required),
      [GPUVAL_USE_WORD_FIRST_SLOT] = nir_imm_int(b, use->first_slot),
      [GPUVAL_USE_WORD_NUM_SLOTS] = nir_imm_int(b, use->num_slots),
      [GPUVAL_USE_WORD_INDEX] = index ? nir_u2u32(b, index) : zero,
      [GPUVAL_USE_WORD_IS_HELPER] =
         has_helpers ? nir_b2i32(b, nir_load_helper_invocation(b, 1)) : zero,
      [GPUVAL_USE_WORD_TEXEL] = nir_imm_int(b, gpuval_nir_texel_of_use(use->required)),
   };

   return nir_vec(b, words, GPUVAL_FUNCTION_DESCRIPTOR_WORDS);
}

nir_def *
gpuval_nir_call_use(nir_builder *b, const struct gpuval_nir_use *use, nir_def *slot, nir_def *index)
{
   return nir_call_gpuval(b, 32, nir_imm_true(b), get_use_words(b, use, slot, index),
                          .base = GPUVAL_FUNCTION_DESCRIPTOR);
}

nir_def *
gpuval_nir_look_at_use(struct gpuval_nir_state *state, const struct gpuval_nir_use *use,
                       nir_def *slot, nir_def *index, uint32_t first_entry, uint32_t num_entries)
{
   nir_builder *b = &state->b;

   return nir_look_gpuval(b, get_use_words(b, use, slot, index), gpuval_nir_invocation(state),
                          .base = first_entry, .range = num_entries,
                          .desc_set = GPUVAL_REPORT_DESCRIPTOR);
}

nir_def *
gpuval_nir_build_called_use(nir_builder *b, const struct gpuval_nir_driver *driver,
                            nir_def *const *words)
{
   nir_def *word = words[GPUVAL_USE_WORD_FLAGS];
   const struct gpuval_nir_use_params params = {
      .set = nir_iand_imm(b, word, 0xff),
      .slot = words[GPUVAL_USE_WORD_SLOT],
      .required = words[GPUVAL_USE_WORD_REQUIRED],
      .first_slot = words[GPUVAL_USE_WORD_FIRST_SLOT],
      .num_slots = words[GPUVAL_USE_WORD_NUM_SLOTS],
      .is_constant = has_any(b, word, GPUVAL_USE_CONSTANT << 8),
      .is_variable = has_any(b, word, GPUVAL_USE_VARIABLE << 8),
      .texel = words[GPUVAL_USE_WORD_TEXEL],
      .may_require = ~0u,
   };
   struct gpuval_nir_verdict verdict = gpuval_nir_build_use(b, driver, &params);

   nir_def *differs = nir_imm_false(b);
   if (!has_none(word, GPUVAL_USE_HAS_INDEX)) {
      nir_def *here = nir_iand(b, has_any(b, word, GPUVAL_USE_HAS_INDEX),
                               nir_ieq_imm(b, words[GPUVAL_USE_WORD_IS_HELPER], 0));
      differs = build_differs(b, words[GPUVAL_USE_WORD_INDEX], here);
   }
   nir_def *result = nir_ior(b, nir_b2i32(b, gpuval_nir_is_bad(b, &verdict)),
                             nir_ishl_imm(b, nir_b2i32(b, differs), 1));
   return nir_ior(b, result, nir_ishl_imm(b, nir_b2i32(b, verdict.harmful), 2));
}
