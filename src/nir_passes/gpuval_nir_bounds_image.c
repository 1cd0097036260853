/* SPDX-License-Identifier: MIT */

/* The check of image accesses: storage images, fetches and texel buffers, whose
 * coordinates have to be inside of the view: texel, layer, level and sample.
 *
 * Coordinates are signed where users see them, and one unsigned comparison each finds
 * those that are negative, too. Sampling has no limits, and size queries have none to
 * keep. What is outside reads 0 and writes nothing, by the hardware and by llvmpipe, so
 * GPUVAL_SAFE needs nothing here.
 */

#include "gpuval_nir_private.h"

/* Reports that wait for others, as those of gpuval_nir_bounds.c */
#define MAX_PENDING 8

struct pass {
   struct gpuval_nir_state *state;
   struct gpuval_nir_report pending[MAX_PENDING];
   unsigned num_pending;
};

/* At b->cursor */
static void
flush(struct pass *pass)
{
   for (unsigned i = 0; i < pass->num_pending; i++)
      gpuval_nir_report(pass->state, &pass->pending[i]);
   pass->num_pending = 0;
}

static void
add_report(struct pass *pass, const struct gpuval_access_use *use, enum gpuval_kind kind,
           uint32_t words, nir_def *failed, nir_def *slot, nir_def *detail)
{
   struct gpuval_nir_state *state = pass->state;
   const struct gpuval_access *access = use->access;
   const struct gpuval_site site = {
      .kind = kind,
      .op = access->spirv_op,
      .spirv_offset = gpuval_nir_spirv_offset(state, access->instance),
      .set = use->set,
      .binding = use->binding,
   };
   const struct gpuval_nir_entry entry = {
      .num_slots = words,
      .set = use->set,
      .site = gpuval_nir_add_site(state, &site),
      .instance = access->instance,
   };

   /* One failing access gives one report. */
   if (access->bad)
      failed = nir_iand(&state->b, failed, nir_inot(&state->b, access->bad));
   if (access->forbidden)
      failed = nir_iand(&state->b, failed, nir_inot(&state->b, access->forbidden));

   if (pass->num_pending == MAX_PENDING)
      flush(pass);
   pass->pending[pass->num_pending++] = (struct gpuval_nir_report){
      .failed = failed,
      .detail = detail,
      .slot = slot,
      .set = GPUVAL_REPORT_EXACT,
      .first_entry = gpuval_nir_add_entry(state, &entry),
      .num_entries = 1,
   };
}

static void
instrument_image(struct pass *pass, const struct gpuval_access_use *use)
{
   struct gpuval_nir_state *state = pass->state;
   const struct gpuval_nir_driver *driver = state->options->driver;
   nir_builder *b = &state->b;

   struct gpuval_nir_operands operands;
   struct gpuval_nir_extent extent;
   nir_def *slot = gpuval_nir_get_extent(b, driver, use, &operands, &extent);
   nir_def *zero = nir_imm_int(b, 0);
   nir_def *last = operands.level ? operands.level : operands.sample ? operands.sample : zero;
   nir_def *detail =
      nir_vec4(b, operands.coord[0], operands.num_coords > 1 ? operands.coord[1] : zero,
               operands.num_coords > 2 ? operands.coord[2] : zero, last);
   uint32_t words = operands.num_coords | (operands.level    ? GPUVAL_IMAGE_HAS_LEVEL
                                           : operands.sample ? GPUVAL_IMAGE_HAS_SAMPLE
                                                             : 0);
   add_report(pass, use, GPUVAL_KIND_IMAGE_OOB, words, gpuval_nir_is_outside(b, &operands, &extent),
              slot, detail);
}

static bool
instrument_texel(struct pass *pass, const struct gpuval_access_use *use)
{
   struct gpuval_nir_state *state = pass->state;
   const struct gpuval_nir_driver *driver = state->options->driver;
   nir_builder *b = &state->b;
   struct gpuval_nir_texels texels;

   if (!driver->texels ||
       !driver->texels(driver, b, use->access->instr, use->access->resource, &texels))
      return false;

   /* None at all: no descriptor, or a null one */
   nir_def *index = gpuval_nir_texel_index(b, use->access->instr);
   nir_def *outside = nir_iand(b, nir_uge(b, index, texels.count), nir_ine_imm(b, texels.count, 0));
   nir_def *detail = nir_vec4(b, nir_imul(b, index, texels.size), texels.size,
                              nir_imul(b, texels.count, texels.size), nir_imm_int(b, 0));
   add_report(pass, use, GPUVAL_KIND_TEXEL_BUFFER_OOB, 0, outside, texels.slot, detail);
   return true;
}

static bool
is_robust(const struct gpuval_nir_options *options, const struct gpuval_access *access)
{
   if (access->type != GPUVAL_ACCESS_TEXEL_BUFFER)
      return options->robust_image;
   return access->instr->type == nir_instr_type_tex ? options->robust_uniform
                                                    : options->robust_storage;
}

static bool
instrument(struct pass *pass, const struct gpuval_access *access)
{
   struct gpuval_nir_state *state = pass->state;
   struct gpuval_access_use use;

   bool has_coords = access->op != GPUVAL_OP_QUERY && access->op != GPUVAL_OP_SAMPLE &&
                     (access->type == GPUVAL_ACCESS_TEXEL_BUFFER ||
                      access->type == GPUVAL_ACCESS_IMAGE || access->type == GPUVAL_ACCESS_TEXTURE);
   if (!has_coords || is_robust(state->options, access) ||
       !gpuval_nir_find_use(state, access, false, &use) ||
       use.nir.required & GPUVAL_OFFERS_INPUT_ATTACHMENT)
      return false;

   state->b.cursor = nir_before_instr(access->instr);
   if (access->type == GPUVAL_ACCESS_TEXEL_BUFFER)
      return instrument_texel(pass, &use);
   if (!state->options->driver->extent)
      return false;
   instrument_image(pass, &use);
   return true;
}

bool
gpuval_nir_instrument_bounds_image(struct gpuval_nir_state *state)
{
   if (!state->options->driver->descriptors)
      return false;

   struct pass pass = {.state = state};
   nir_block *block = NULL;
   bool progress = false;

   gpuval_nir_foreach_access(state, access)
   {
      if (block && block != access->block) {
         state->b.cursor = nir_after_block_before_jump(block);
         flush(&pass);
      }
      block = access->block;

      if (access->is_edge) {
         state->b.cursor = nir_before_instr(access->instr);
         flush(&pass);
      }
      progress |= instrument(&pass, access);
   }
   if (block) {
      state->b.cursor = nir_after_block_before_jump(block);
      flush(&pass);
   }
   return progress;
}
