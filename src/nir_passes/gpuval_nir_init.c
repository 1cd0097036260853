/* SPDX-License-Identifier: MIT */

/* The check of initialization: does an access read what nobody has written? Which memory
 * has been written is in bytes beside it, see gpuval_init.h.
 *
 * Mostly all is written that a descriptor leads to, and that does not change while a
 * command runs: the driver says so when it begins one, with a bit for each descriptor of
 * a constant index, and for each binding where it is none (gpuval_nir_descriptors::unwritten_uses).
 * Then neither a load has to look nor a store to mark, and an access costs the test of a bit.
 * Everything else is done by the report's function: it marks what is written, looks at what is
 * read, and reports that if need be.
 *
 * On RADV nothing is known when a command begins: each access is looked at or marked, and nothing
 * is said here that is control flow.
 *
 * Images are looked at in gpuval_nir_init_images.c.
 */

#include "gpuval/src/base/gpuval_init.h"
#include "gpuval/src/base/gpuval_shadow.h"
#include "gpuval_nir_init_pass.h"

static bool
is_write(const struct gpuval_access *access)
{
   return access->op == GPUVAL_OP_STORE || access->op == GPUVAL_OP_ATOMIC;
}

/* Others are to find marked what they read: so what may tell them that it is there waits for
 * nothing, and nothing waits for it. On RADV reports come together by themselves.
 */
static bool
may_wait(const struct gpuval_init_pass *pass, const struct gpuval_access *access)
{
   if (pass->driver->has_marks || access->is_atomic ||
       (access->type != GPUVAL_ACCESS_BUFFER && access->type != GPUVAL_ACCESS_ADDRESS))
      return false;

   const nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   return !nir_intrinsic_has_access(intrin) ||
          !(nir_intrinsic_access(intrin) & (ACCESS_COHERENT | ACCESS_VOLATILE));
}

/* Is it looked at in its place? */
static bool
ends_waiting(const struct gpuval_init_pass *pass, const struct gpuval_access *access)
{
   switch (access->type) {
   case GPUVAL_ACCESS_BUFFER:
   case GPUVAL_ACCESS_ADDRESS:
      return !may_wait(pass, access);
   case GPUVAL_ACCESS_TEXEL_BUFFER:
   case GPUVAL_ACCESS_IMAGE:
   case GPUVAL_ACCESS_TEXTURE:
      return true;
   default:
      return access->is_edge;
   }
}

/* Are @size bytes whole words, whose marks are in a word of marks that is aligned? */
static bool
has_marks_in_word(const nir_intrinsic_instr *intrin, uint32_t skipped, uint32_t size)
{
   const uint32_t unit = 4 << GPUVAL_INIT_WORD_LOG2;
   if (!nir_intrinsic_has_align_mul(intrin) || size > unit)
      return false;

   const uint32_t begin = (nir_intrinsic_align_offset(intrin) + skipped) & (unit - 1);
   if (nir_intrinsic_align_mul(intrin) >= unit)
      return !((begin | size) & 3) && begin + size <= unit;
   return size >= 4 && util_is_power_of_two_nonzero(size) &&
          !((skipped | nir_intrinsic_align(intrin)) & (size - 1));
}

/* Mostly what an address leads to has been written, and where that is a few whole words their bytes
 * say so in one load. Returns those bytes, or 0.
 */
static uint32_t
get_marks(const struct gpuval_init_range *range)
{
   if (!has_marks_in_word(range->intrin, range->skipped, range->size))
      return 0;
   return BITFIELD_MASK((range->size >> GPUVAL_INIT_WORD_LOG2) * 8);
}

static nir_def *
get_range_detail(nir_builder *b, nir_def *address, nir_def *size, uint32_t marks)
{
   return nir_vec4(b, nir_unpack_64_2x32_split_x(b, address),
                   nir_unpack_64_2x32_split_y(b, address), size, nir_imm_int(b, marks));
}

/* The detail is made where it is needed: otherwise it is alive along with the address. */
static void
complete(struct gpuval_init_pass *pass, struct gpuval_init_waiting *waiting)
{
   nir_builder *b = &pass->state->b;
   const struct gpuval_init_range *range = &waiting->range;
   bool has_marks = pass->driver->has_marks;

   if (!range->address)
      return;
   if (!has_marks)
      waiting->report.set = GPUVAL_REPORT_RANGE;
   waiting->report.detail = get_range_detail(b, range->address, nir_imm_int(b, range->size),
                                             has_marks ? 0 : get_marks(range));
}

/* In the order of the accesses, as one may write what another one reads. */
static void
flush(struct gpuval_init_pass *pass)
{
   nir_builder *b = &pass->state->b;

   if (pass->num_waiting)
      b->cursor = nir_after_instr(pass->last);
   for (unsigned i = 0; i < pass->num_waiting; i++)
      complete(pass, &pass->waiting[i]);
   for (unsigned i = 0; i < pass->num_waiting; i++)
      gpuval_nir_report(pass->state, &pass->waiting[i].report);
   pass->num_waiting = 0;
}

static void
add_report(struct gpuval_init_pass *pass, const struct gpuval_init_look *look,
           const struct gpuval_nir_report *report)
{
   struct gpuval_init_waiting waiting = {*report, look->range};

   if (!may_wait(pass, look->access)) {
      complete(pass, &waiting);
      gpuval_nir_report(pass->state, &waiting.report);
      return;
   }
   pass->waiting[pass->num_waiting++] = waiting;
   pass->last = look->access->instr;
   if (pass->num_waiting == MAX_WAITING)
      flush(pass);
}

/* The bit of a use, or -1. Where the index is no constant, the bit stands for all descriptors of
 * the binding. A binding of buffers has none then: the host may have to read their memory, which
 * the program may free while it does if no shader accesses it.
 */
static int
find_bit(struct gpuval_init_pass *pass, const struct gpuval_nir_use *use)
{
   const struct gpuval_nir_descriptors *descriptors = pass->driver->descriptors;
   struct util_dynarray *uses = &pass->state->table->uses;
   const struct gpuval_nir_use wanted = {
      .required = use->required & GPUVAL_OFFERS_RESOURCES,
      .first_slot = use->first_slot,
      .num_slots = use->num_slots,
      .set = use->set,
      .flags = (use->flags & (GPUVAL_USE_VARIABLE | GPUVAL_USE_CONSTANT)) | GPUVAL_USE_WRITTEN,
   };
   int bit = 0;

   if (!(use->flags & GPUVAL_USE_CONSTANT) && use->required & GPUVAL_OFFERS_BUFFERS)
      return -1;
   if (!descriptors->unwritten_uses ||
       (mesa_shader_stage_is_rt(pass->state->b.shader->info.stage) && !descriptors->tells_rays))
      return -1;

   util_dynarray_foreach (uses, struct gpuval_nir_use, known) {
      if (!(known->flags & GPUVAL_USE_WRITTEN))
         continue;
      if (known->required == wanted.required && known->first_slot == wanted.first_slot &&
          known->num_slots == wanted.num_slots && known->set == wanted.set &&
          known->flags == wanted.flags)
         return bit;
      bit++;
   }
   if (bit == (int)descriptors->max_uses)
      return -1;
   util_dynarray_append_typed(uses, struct gpuval_nir_use, wanted);
   return bit;
}

struct gpuval_init_look
gpuval_init_begin(struct gpuval_init_pass *pass, const struct gpuval_access *access)
{
   struct gpuval_init_look look = {.access = access};
   nir_builder *b = &pass->state->b;

   look.has_use = gpuval_nir_find_use(pass->state, access, false, &look.use);
   b->cursor = nir_before_instr(access->instr);

   int bit = look.has_use ? find_bit(pass, &look.use.nir) : -1;
   if (bit >= 0) {
      if (!pass->unwritten_uses) {
         nir_builder at_top = nir_builder_at(nir_before_impl(b->impl));
         pass->unwritten_uses = pass->driver->descriptors->unwritten_uses(pass->driver, &at_top);
      }
      look.condition = nir_ine_imm(b, nir_iand_imm(b, pass->unwritten_uses, BITFIELD_BIT(bit)), 0);
   } else {
      look.condition = nir_imm_true(b);
   }
   look.is_constant = look.has_use && look.use.nir.flags & GPUVAL_USE_CONSTANT &&
                      (bit >= 0 || pass->driver->has_marks);
   return look;
}

nir_def *
gpuval_init_get_condition(struct gpuval_init_pass *pass, const struct gpuval_init_look *look)
{
   nir_builder *b = &pass->state->b;
   const struct gpuval_access *access = look->access;
   if (!access->bad || (is_write(access) && !pass->state->options->safe))
      return look->condition;
   return nir_iand(b, look->condition, nir_inot(b, access->bad));
}

void
gpuval_init_report(struct gpuval_init_pass *pass, const struct gpuval_init_look *look,
                   nir_def *condition, uint32_t flags, uint32_t size, uint32_t image_flags,
                   nir_def *slot, nir_def *detail)
{
   struct gpuval_nir_state *state = pass->state;
   const struct gpuval_access *access = look->access;
   struct gpuval_site site = {
      .kind = GPUVAL_KIND_UNINITIALIZED_READ,
      .op = access->spirv_op,
      .spirv_offset = gpuval_nir_spirv_offset(state, access->instance),
      .set = look->has_use ? (int32_t)look->use.set : -1,
      .binding = look->has_use ? (int32_t)look->use.binding : -1,
   };
   if (!look->has_use && access->type == GPUVAL_ACCESS_BUFFER) {
      site.set = access->buffer.set;
      site.binding = access->buffer.binding;
   }

   const struct gpuval_nir_entry entry = {
      .offset = flags | (is_write(access) ? GPUVAL_INIT_ENTRY_IS_WRITE : 0),
      .size = size,
      .num_slots = image_flags,
      .set = site.set >= 0 ? site.set : GPUVAL_REPORT_PLAIN,
      .site = gpuval_nir_add_site(state, &site),
      .instance = access->instance,
   };
   bool is_image = pass->driver->has_marks && flags & GPUVAL_INIT_ENTRY_IS_IMAGE;
   add_report(pass, look,
              &(struct gpuval_nir_report){
                 .failed = condition,
                 .detail = detail,
                 .slot = slot,
                 .set = is_image ? GPUVAL_REPORT_UNWRITTEN_IMAGE : GPUVAL_REPORT_UNWRITTEN,
                 .first_entry = gpuval_nir_add_entry(state, &entry),
                 .num_entries = 1,
              });
}

/* Buffers */

static void
report_address(struct gpuval_init_pass *pass, const struct gpuval_init_look *look,
               nir_def *condition, nir_def *address, nir_def *size, nir_def *slot)
{
   gpuval_init_report(pass, look, condition, 0, 0, 0, slot,
                      get_range_detail(&pass->state->b, address, size, 0));
}

/* Bytes of a load that nobody uses do not count. Returns whether there are others. */
static bool
get_bytes(const struct gpuval_access *access, uint32_t *skipped, uint32_t *size)
{
   const nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   struct gpuval_access used = *access;

   if (access->op == GPUVAL_OP_LOAD)
      used.components &= nir_def_components_read(&intrin->def);
   if (!used.components)
      return false;
   *skipped = gpuval_nir_access_skipped(&used);
   *size = gpuval_nir_access_bytes(&used);
   return true;
}

static bool
instrument_buffer(struct gpuval_init_pass *pass, const struct gpuval_access *access)
{
   const struct gpuval_nir_driver *driver = pass->driver;
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   nir_builder *b = &pass->state->b;
   uint32_t skipped, size;
   if (!access->is_described || access->buffer.size || !get_bytes(access, &skipped, &size))
      return false;

   struct gpuval_init_look look = gpuval_init_begin(pass, access);
   nir_def *offset = nir_iadd_imm(b, nir_u2u32(b, nir_get_io_offset_src(intrin)->ssa), skipped);
   nir_def *condition = gpuval_init_get_condition(pass, &look);
   nir_def *slot =
      gpuval_nir_uniform_slot(b, driver, access->instr, driver->slot(driver, b, intrin));
   if (look.has_use) {
      nir_def *zero = nir_imm_int(b, 0);
      gpuval_init_report(pass, &look, condition, GPUVAL_INIT_ENTRY_IS_BUFFER, size, 0, slot,
                         nir_vec4(b, offset, zero, zero, zero));
      return true;
   }

   /* Which descriptor it is, is known only when it runs. */
   nir_def *set =
      access->buffer.set >= 0 ? nir_imm_int(b, access->buffer.set) : driver->set(driver, b, intrin);
   nir_def *bound = driver->buffer_size(driver, b, set, slot);
   nir_def *bytes = nir_imm_int(b, size);
   if (is_write(access)) /* what it leaves inside is written */
      bytes = nir_umin(b, bytes, gpuval_nir_rest(b, bound, offset));
   nir_def *inside =
      nir_iand(b, nir_uge(b, bound, bytes), nir_uge(b, nir_isub(b, bound, bytes), offset));
   nir_def *address =
      nir_iadd(b, driver->buffer_address(driver, b, set, slot), nir_u2u64(b, offset));
   report_address(pass, &look, nir_iand(b, condition, inside), address, bytes, slot);
   return true;
}

static void
instrument_range(struct gpuval_init_pass *pass, const struct gpuval_access *access,
                 const struct gpuval_init_range *range)
{
   const struct gpuval_init_look look = {
      .access = access,
      .range = *range,
      .condition = nir_imm_true(&pass->state->b),
   };

   gpuval_init_report(pass, &look, gpuval_init_get_condition(pass, &look), 0, 0, 0, NULL, NULL);
}

static bool
instrument_address(struct gpuval_init_pass *pass, const struct gpuval_access *access)
{
   nir_builder *b = &pass->state->b;
   uint32_t skipped, size;
   if (!get_bytes(access, &skipped, &size))
      return false;

   b->cursor = nir_before_instr(access->instr);
   instrument_range(pass, access,
                    &(struct gpuval_init_range){
                       .address = nir_iadd_imm(b, gpuval_nir_access_offset(access), skipped),
                       .intrin = nir_instr_as_intrinsic(access->instr),
                       .skipped = skipped,
                       .size = size,
                    });
   return true;
}

/* Drops words that are loaded and that nobody uses. */
static void
remove_unused(struct gpuval_nir_words *words)
{
   unsigned count = 0;

   for (unsigned i = 0; i < words->count; i++) {
      const struct gpuval_nir_word *word = &words->words[i];
      nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(word->access->instr);
      if (word->access->op != GPUVAL_OP_LOAD ||
          nir_def_components_read(&intrin->def) & BITFIELD_BIT(word->component))
         words->words[count++] = *word;
   }
   words->count = count;
}

/* Words behind addresses; @last is the access behind which they have all been accessed. */
static bool
instrument_words(struct gpuval_init_pass *pass, struct gpuval_nir_words *words,
                 const struct gpuval_access *last)
{
   nir_builder *b = &pass->state->b;

   remove_unused(words);
   for (unsigned i = 0, count; i < words->count; i += count) {
      const struct gpuval_nir_word *word = &words->words[i];
      count = gpuval_nir_count_words(words, i, 4);
      b->cursor = nir_before_instr(words->first->instr);
      instrument_range(pass, last,
                       &(struct gpuval_init_range){
                          .address = nir_iadd_imm(b, gpuval_nir_access_offset(words->first),
                                                  word->offset - words->offset),
                          .intrin = nir_instr_as_intrinsic(word->access->instr),
                          .skipped = 4 * word->component,
                          .size = 4 * count,
                       });
   }
   return words->count;
}

static bool
instrument_texels(struct gpuval_init_pass *pass, const struct gpuval_access *access)
{
   const struct gpuval_nir_driver *driver = pass->driver;
   nir_instr *instr = access->instr;
   nir_builder *b = &pass->state->b;

   struct gpuval_init_look look = gpuval_init_begin(pass, access);
   if (!look.has_use && !driver->has_marks)
      return false;

   nir_def *condition = gpuval_init_get_condition(pass, &look);
   if (!driver->has_marks)
      nir_push_if(b, condition);
   struct gpuval_nir_texels texels;
   if (driver->texels(driver, b, access->instr, access->resource, &texels)) {
      nir_def *coord = instr->type == nir_instr_type_tex
                          ? gpuval_init_get_src(nir_instr_as_tex(instr), nir_tex_src_coord)
                          : nir_instr_as_intrinsic(instr)->src[1].ssa;
      nir_def *index = nir_u2u32(b, nir_channel(b, coord, 0));
      nir_def *offset = nir_imul(b, nir_u2u64(b, index), nir_u2u64(b, texels.size));
      nir_def *inside = nir_ult(b, index, texels.count);
      report_address(pass, &look, driver->has_marks ? nir_iand(b, condition, inside) : inside,
                     nir_iadd(b, texels.address, offset), texels.size, texels.slot);
   } else if (is_write(access)) {
      pass->state->table->writes_unknown = true;
   }
   if (!driver->has_marks)
      nir_pop_if(b, NULL);
   return true;
}

static bool
instrument(struct gpuval_init_pass *pass, const struct gpuval_access *access)
{
   if (access->op == GPUVAL_OP_QUERY)
      return false;

   switch (access->type) {
   case GPUVAL_ACCESS_BUFFER:
      return instrument_buffer(pass, access);
   case GPUVAL_ACCESS_ADDRESS:
      return instrument_address(pass, access);
   case GPUVAL_ACCESS_TEXEL_BUFFER:
      return instrument_texels(pass, access);
   case GPUVAL_ACCESS_IMAGE:
      return gpuval_init_instrument_image(pass, access);
   case GPUVAL_ACCESS_TEXTURE:
      return access->instr->type == nir_instr_type_tex &&
             gpuval_init_instrument_texture(pass, access);
   default:
      return false;
   }
}

bool
gpuval_nir_instrument_init(struct gpuval_nir_state *state)
{
   const struct gpuval_nir_driver *driver = state->options->driver;
   struct gpuval_init_pass pass = {.state = state, .driver = driver};
   bool progress = false;

   bool reports = state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_INIT);
   if ((!reports && !state->options->marks_written) || !driver->descriptors ||
       !(driver->descriptors->unwritten_uses || driver->has_marks))
      return false;

   struct gpuval_access *access = util_dynarray_begin(&state->accesses);
   const struct gpuval_access *end = util_dynarray_end(&state->accesses);
   while (access < end) {
      struct gpuval_nir_words words;
      struct gpuval_access *next = access + 1;

      if (access->block != pass.block || ends_waiting(&pass, access))
         flush(&pass);
      pass.block = access->block;
      if (access->type == GPUVAL_ACCESS_ADDRESS && may_wait(&pass, access))
         next = gpuval_nir_collect_words(access, end, &words);
      if (!reports && !is_write(access)) {
         access = next;
         continue;
      }
      progress |=
         next - access > 1 ? instrument_words(&pass, &words, next - 1) : instrument(&pass, access);
      access = next;
   }
   flush(&pass);
   if (progress)
      nir_progress(true, state->b.impl, nir_metadata_none); /* there are conditions */
   return progress;
}
