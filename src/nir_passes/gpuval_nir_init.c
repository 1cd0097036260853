/* SPDX-License-Identifier: MIT */

/* The check of initialization: does an access read what nobody has written? Which memory
 * has been written is in bytes beside it, see gpuval_init.h.
 *
 * Mostly all is written that a descriptor leads to, and that does not change while a
 * command runs: the driver says so when it begins one, with a bit for each descriptor of
 * a constant index (gpuval_nir_descriptors::unwritten_uses). Then neither a load has to
 * look nor a store to mark, and an access costs the test of a bit. Everything else is
 * done by the report's function: it marks what is written, looks at what is read, and
 * reports that if need be.
 *
 * On RADV nothing is known when a command begins: each access is looked at or marked, and nothing
 * is said here that is control flow.
 *
 * The level that is sampled is known to the sampler only. Where it has to be known, a
 * query asks for it, behind a branch which all invocations take together, as the bit is
 * the command's: so derivatives are there, and helper invocations come along. On RADV it stands
 * beside the access itself.
 */

#include "gpuval_nir_init.h"
#include "gpuval/src/base/gpuval_init.h"
#include "gpuval/src/base/gpuval_shadow.h"
#include "gpuval_nir_private.h"

/* Reports that wait for others, so that one branch will do for them. */
#define MAX_WAITING 8

/* @size bytes behind @address, of which the first is @skipped bytes behind where @intrin accesses */
struct range {
   nir_def *address; /* NULL: there is none */
   const nir_intrinsic_instr *intrin;
   uint32_t skipped, size;
};

struct waiting {
   struct gpuval_nir_report report;
   struct range range; /* its detail is made with those of the others */
};

struct pass {
   struct gpuval_nir_state *state;
   const struct gpuval_nir_driver *driver;
   nir_def *unwritten_uses; /* once it is asked for */
   unsigned num_uses;

   /* Of accesses of @block, @last being the last one that has one */
   struct waiting waiting[MAX_WAITING];
   unsigned num_waiting;
   nir_instr *last;
   const nir_block *block;
};

/* What is left of an access */
struct look {
   const struct gpuval_access *access;
   struct range range;
   struct gpuval_access_use use;
   bool has_use;
   bool is_constant;   /* the descriptor and @condition are the same in all invocations */
   nir_def *condition; /* 1 bit */
};

static bool
is_write(const struct gpuval_access *access)
{
   return access->op == GPUVAL_OP_STORE || access->op == GPUVAL_OP_ATOMIC;
}

/* Others are to find marked what they read: so what may tell them that it is there waits for
 * nothing, and nothing waits for it. On RADV reports come together by themselves.
 */
static bool
may_wait(const struct pass *pass, const struct gpuval_access *access)
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
ends_waiting(const struct pass *pass, const struct gpuval_access *access)
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
get_marks(const struct range *range)
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
complete(struct pass *pass, struct waiting *waiting)
{
   nir_builder *b = &pass->state->b;
   const struct range *range = &waiting->range;
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
flush(struct pass *pass)
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
add_report(struct pass *pass, const struct look *look, const struct gpuval_nir_report *report)
{
   struct waiting waiting = {*report, look->range};

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

/* The bit of a constant use, or -1 */
static int
find_bit(struct pass *pass, const struct gpuval_nir_use *use)
{
   const struct gpuval_nir_descriptors *descriptors = pass->driver->descriptors;
   struct util_dynarray *uses = &pass->state->table->uses;
   const struct gpuval_nir_use wanted = {
      .required = use->required & GPUVAL_OFFERS_RESOURCES,
      .first_slot = use->first_slot,
      .num_slots = use->num_slots,
      .set = use->set,
      .flags = (use->flags & GPUVAL_USE_VARIABLE) | GPUVAL_USE_CONSTANT | GPUVAL_USE_WRITTEN,
   };
   int bit = 0;

   if (!(use->flags & GPUVAL_USE_CONSTANT) || !descriptors->unwritten_uses ||
       mesa_shader_stage_is_rt(pass->state->b.shader->info.stage))
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

static struct look
begin(struct pass *pass, const struct gpuval_access *access)
{
   struct look look = {.access = access};
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
      look.is_constant = true;
   } else {
      look.condition = nir_imm_true(b);
      look.is_constant =
         pass->driver->has_marks && look.has_use && look.use.nir.flags & GPUVAL_USE_CONSTANT;
   }
   return look;
}

/* What another check has found wrong is not performed with GPUVAL_SAFE, and a load is not reported
 * twice; without GPUVAL_SAFE a store writes all the same.
 */
static nir_def *
get_condition(struct pass *pass, const struct look *look)
{
   nir_builder *b = &pass->state->b;
   const struct gpuval_access *access = look->access;
   if (!access->bad || (is_write(access) && !pass->state->options->safe))
      return look->condition;
   return nir_iand(b, look->condition, nir_inot(b, access->bad));
}

static void
report(struct pass *pass, const struct look *look, nir_def *condition, uint32_t flags,
       uint32_t size, uint32_t image_flags, nir_def *slot, nir_def *detail)
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
report_address(struct pass *pass, const struct look *look, nir_def *condition, nir_def *address,
               nir_def *size, nir_def *slot)
{
   report(pass, look, condition, 0, 0, 0, slot,
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
instrument_buffer(struct pass *pass, const struct gpuval_access *access)
{
   const struct gpuval_nir_driver *driver = pass->driver;
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   nir_builder *b = &pass->state->b;
   uint32_t skipped, size;
   if (!access->is_described || access->buffer.size || !get_bytes(access, &skipped, &size))
      return false;

   struct look look = begin(pass, access);
   nir_def *offset = nir_iadd_imm(b, nir_u2u32(b, nir_get_io_offset_src(intrin)->ssa), skipped);
   nir_def *condition = get_condition(pass, &look);
   nir_def *slot = driver->slot(driver, b, intrin);
   if (look.has_use) {
      nir_def *zero = nir_imm_int(b, 0);
      report(pass, &look, condition, GPUVAL_INIT_ENTRY_IS_BUFFER, size, 0, slot,
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
instrument_range(struct pass *pass, const struct gpuval_access *access, const struct range *range)
{
   const struct look look = {
      .access = access,
      .range = *range,
      .condition = nir_imm_true(&pass->state->b),
   };

   report(pass, &look, get_condition(pass, &look), 0, 0, 0, NULL, NULL);
}

static bool
instrument_address(struct pass *pass, const struct gpuval_access *access)
{
   nir_builder *b = &pass->state->b;
   uint32_t skipped, size;
   if (!get_bytes(access, &skipped, &size))
      return false;

   b->cursor = nir_before_instr(access->instr);
   instrument_range(pass, access,
                    &(struct range){
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
instrument_words(struct pass *pass, struct gpuval_nir_words *words,
                 const struct gpuval_access *last)
{
   nir_builder *b = &pass->state->b;

   remove_unused(words);
   for (unsigned i = 0, count; i < words->count; i += count) {
      const struct gpuval_nir_word *word = &words->words[i];
      count = gpuval_nir_count_words(words, i, 4);
      b->cursor = nir_before_instr(words->first->instr);
      instrument_range(pass, last,
                       &(struct range){
                          .address = nir_iadd_imm(b, gpuval_nir_access_offset(words->first),
                                                  word->offset - words->offset),
                          .intrin = nir_instr_as_intrinsic(word->access->instr),
                          .skipped = 4 * word->component,
                          .size = 4 * count,
                       });
   }
   return words->count;
}

static nir_def *
get_src(const nir_tex_instr *tex, nir_tex_src_type type)
{
   int index = nir_tex_instr_src_index(tex, type);
   return index < 0 ? NULL : tex->src[index].src.ssa;
}

static bool
instrument_texels(struct pass *pass, const struct gpuval_access *access)
{
   const struct gpuval_nir_driver *driver = pass->driver;
   nir_instr *instr = access->instr;
   nir_builder *b = &pass->state->b;

   struct look look = begin(pass, access);
   if (!look.has_use && !driver->has_marks)
      return false;

   nir_def *condition = get_condition(pass, &look);
   if (!driver->has_marks)
      nir_push_if(b, condition);
   struct gpuval_nir_texels texels;
   if (driver->texels(driver, b, access->resource, &texels)) {
      nir_def *coord = instr->type == nir_instr_type_tex
                          ? get_src(nir_instr_as_tex(instr), nir_tex_src_coord)
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

/* Images */

/* Formats of stencil are read as integers, those of depth as numbers; colours have all. */
static uint32_t
get_mask(nir_alu_type type)
{
   uint32_t mask =
      nir_alu_type_get_base_type(type) == nir_type_float ? GPUVAL_INIT_COLOR : GPUVAL_INIT_STENCIL;
   return mask << GPUVAL_INIT_ENTRY_MASK_SHIFT;
}

/* Integer coordinates as the record has them; the layer is the last one of an array. */
static nir_def *
get_detail(nir_builder *b, nir_def *coord, unsigned num_coords, nir_def *last)
{
   nir_def *words[4];

   for (unsigned i = 0; i < 3; i++)
      words[i] = i < num_coords ? nir_u2u32(b, nir_channel(b, coord, i)) : nir_imm_int(b, 0);
   words[3] = last ? nir_u2u32(b, last) : nir_imm_int(b, 0);
   return nir_vec(b, words, 4);
}

static bool
instrument_image(struct pass *pass, const struct gpuval_access *access)
{
   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   enum glsl_sampler_dim dim = nir_intrinsic_image_dim(intrin);
   nir_builder *b = &pass->state->b;

   struct look look = begin(pass, access);
   if (!look.has_use)
      return false;

   /* An input attachment's layer is that of the view; so it has been lowered. */
   bool is_input = dim == GLSL_SAMPLER_DIM_SUBPASS || dim == GLSL_SAMPLER_DIM_SUBPASS_MS;
   bool is_cube = dim == GLSL_SAMPLER_DIM_CUBE;
   unsigned num_coords = is_input ? 3
                                  : glsl_get_sampler_dim_coordinate_components(dim) +
                                       (nir_intrinsic_image_array(intrin) && !is_cube);
   bool has_layer = is_input || is_cube || nir_intrinsic_image_array(intrin);
   uint32_t layer = has_layer ? num_coords - 1 : GPUVAL_INIT_LAYER_NONE;
   uint32_t mask = access->op == GPUVAL_OP_LOAD ? get_mask(nir_intrinsic_dest_type(intrin)) : 0;

   report(pass, &look, get_condition(pass, &look),
          GPUVAL_INIT_ENTRY_IS_IMAGE | mask | layer << GPUVAL_INIT_ENTRY_LAYER_SHIFT |
             GPUVAL_INIT_LEVEL_NONE << GPUVAL_INIT_ENTRY_LEVEL_SHIFT,
          0, MIN2(num_coords, 3) | GPUVAL_IMAGE_IS_ONE, gpuval_nir_get_slot(b, &look.use),
          get_detail(b, intrin->src[1].ssa, num_coords, NULL));
   return true;
}

static void
fetch(struct pass *pass, const struct look *look, nir_tex_instr *tex, nir_def *slot)
{
   nir_builder *b = &pass->state->b;
   nir_def *level = get_src(tex, nir_tex_src_lod);
   bool is_multisampled = tex->sampler_dim == GLSL_SAMPLER_DIM_MS;
   nir_def *last = is_multisampled ? get_src(tex, nir_tex_src_ms_index) : level;
   uint32_t layer = tex->is_array ? tex->coord_components - 1 : GPUVAL_INIT_LAYER_NONE;
   uint32_t kind = level && !is_multisampled ? GPUVAL_INIT_LEVEL_EXACT : GPUVAL_INIT_LEVEL_NONE;

   report(pass, look, get_condition(pass, look),
          GPUVAL_INIT_ENTRY_IS_IMAGE | GPUVAL_INIT_ENTRY_IS_TEXTURE | get_mask(tex->dest_type) |
             layer << GPUVAL_INIT_ENTRY_LAYER_SHIFT | kind << GPUVAL_INIT_ENTRY_LEVEL_SHIFT,
          0,
          tex->coord_components | GPUVAL_IMAGE_IS_ONE |
             (is_multisampled                   ? GPUVAL_IMAGE_HAS_SAMPLE
              : kind == GPUVAL_INIT_LEVEL_EXACT ? GPUVAL_IMAGE_HAS_LEVEL
                                                : 0),
          slot, get_detail(b, get_src(tex, nir_tex_src_coord), tex->coord_components, last));
}

/* Face of a cube that a direction hits: Vulkan, "Cube Map Face Selection" */
static nir_def *
get_face(nir_builder *b, nir_def *direction)
{
   nir_def *x = nir_channel(b, direction, 0);
   nir_def *y = nir_channel(b, direction, 1);
   nir_def *z = nir_channel(b, direction, 2);
   nir_def *abs_x = nir_fabs(b, x), *abs_y = nir_fabs(b, y), *abs_z = nir_fabs(b, z);
   nir_def *zero = nir_imm_floatN_t(b, 0, direction->bit_size);
   nir_def *face_x = nir_b2i32(b, nir_flt(b, x, zero));
   nir_def *face_y = nir_iadd_imm(b, nir_b2i32(b, nir_flt(b, y, zero)), 2);
   nir_def *face_z = nir_iadd_imm(b, nir_b2i32(b, nir_flt(b, z, zero)), 4);
   nir_def *is_z = nir_iand(b, nir_fge(b, abs_z, abs_x), nir_fge(b, abs_z, abs_y));

   return nir_bcsel(b, is_z, face_z, nir_bcsel(b, nir_fge(b, abs_y, abs_x), face_y, face_x));
}

/* Of the resource, as the sampler will find it: 32 bit */
static nir_def *
get_sampled_layer(nir_builder *b, const nir_tex_instr *tex)
{
   nir_def *coord = get_src(tex, nir_tex_src_coord);
   nir_def *layer = NULL;

   if (tex->is_array) {
      nir_def *last = nir_channel(b, coord, tex->coord_components - 1);
      nir_def *zero = nir_imm_floatN_t(b, 0, coord->bit_size);
      layer = nir_f2u32(b, nir_fround_even(b, nir_fmax(b, last, zero)));
   }
   if (tex->sampler_dim == GLSL_SAMPLER_DIM_CUBE) {
      nir_def *face = get_face(b, coord);
      layer = layer ? nir_iadd(b, nir_imul_imm(b, layer, 6), face) : face;
   }
   return layer;
}

/* What textureQueryLod() says: the level, between those of the view, rounded where the
 * sampler takes the nearest.
 */
static nir_def *
query_level(nir_builder *b, nir_tex_instr *tex)
{
   static const nir_tex_src_type types[] = {
      nir_tex_src_texture_deref,
      nir_tex_src_sampler_deref,
   };
   nir_tex_instr *query = nir_tex_instr_create(b->shader, 1 + ARRAY_SIZE(types));
   nir_def *coord = get_src(tex, nir_tex_src_coord);

   query->op = nir_texop_lod;
   query->sampler_dim = tex->sampler_dim;
   query->is_array = tex->is_array;
   query->is_shadow = tex->is_shadow;
   query->coord_components = tex->coord_components - tex->is_array;
   query->dest_type = nir_type_float32;
   query->src[0] =
      nir_tex_src_for_ssa(nir_tex_src_coord, nir_trim_vector(b, coord, query->coord_components));
   for (unsigned i = 0; i < ARRAY_SIZE(types); i++)
      query->src[1 + i] = nir_tex_src_for_ssa(types[i], get_src(tex, types[i]));
   nir_def_init(&query->instr, &query->def, 2, 32);
   nir_builder_instr_insert(b, &query->instr);
   return nir_channel(b, &query->def, 0);
}

/* The sampler of an access, whose resource has @slot: returns its set, or
 * GPUVAL_INIT_SAMPLER_UNKNOWN.
 */
static uint32_t
find_sampler(struct pass *pass, const struct look *look, nir_def *slot, nir_def **sampler_slot)
{
   nir_builder *b = &pass->state->b;
   struct gpuval_access_use sampler;

   *sampler_slot = slot;
   if (look->use.nir.required & GPUVAL_OFFERS_SAMPLER)
      return look->use.set;

   nir_cursor cursor = b->cursor;
   bool found = gpuval_nir_find_use(pass->state, look->access, true, &sampler);
   b->cursor = cursor;
   if (!found || !(sampler.nir.flags & GPUVAL_USE_CONSTANT))
      return GPUVAL_INIT_SAMPLER_UNKNOWN;
   *sampler_slot = gpuval_nir_get_slot(b, &sampler);
   return sampler.set;
}

/* What textureLod() asks for, within the sampler's limits */
static nir_def *
get_explicit_level(struct pass *pass, const nir_tex_instr *tex, uint32_t set, nir_def *slot)
{
   const struct gpuval_nir_driver *driver = pass->driver;
   nir_builder *b = &pass->state->b;
   nir_def *limits = driver->lod_limits(driver, b, nir_imm_int(b, set), slot);
   nir_def *lowest = nir_channel(b, limits, 0);

   nir_def *lod =
      nir_fadd(b, nir_f2f32(b, get_src(tex, nir_tex_src_lod)), nir_channel(b, limits, 2));
   lod = nir_fmax(b, nir_fmin(b, lod, nir_channel(b, limits, 1)), lowest);
   /* What is no number is not known. */
   return nir_bcsel(b, nir_ieq_imm(b, lowest, UINT32_MAX), lowest, lod);
}

/* What is asked of llvmpipe leaves out limits of the sampler that are equal: @level, or the only
 * one there is; between two of them it is not known.
 */
static nir_def *
get_only_level(struct pass *pass, nir_def *level, uint32_t set, nir_def *slot)
{
   const struct gpuval_nir_driver *driver = pass->driver;
   nir_builder *b = &pass->state->b;
   nir_def *limits = driver->lod_limits(driver, b, nir_imm_int(b, set), slot);
   nir_def *lowest = nir_channel(b, limits, 0);
   nir_def *only =
      nir_bcsel(b, nir_feq(b, lowest, nir_ffloor(b, lowest)), lowest, nir_imm_int(b, UINT32_MAX));

   return nir_bcsel(b, nir_feq(b, lowest, nir_channel(b, limits, 1)), only, level);
}

/* A bit for each axis on which the coordinate lies outside of the image, or may */
static nir_def *
get_outside(nir_builder *b, nir_tex_instr *tex)
{
   unsigned count = tex->sampler_dim == GLSL_SAMPLER_DIM_1D     ? 1
                    : tex->sampler_dim == GLSL_SAMPLER_DIM_3D   ? 3
                    : tex->sampler_dim == GLSL_SAMPLER_DIM_CUBE ? 0
                                                                : 2;
   nir_def *coord = get_src(tex, nir_tex_src_coord);
   nir_def *outside = nir_imm_int(b, 0);

   if (get_src(tex, nir_tex_src_offset) || nir_tex_instr_has_explicit_tg4_offsets(tex))
      return nir_imm_int(b, BITFIELD_MASK(count));
   for (unsigned i = 0; i < count; i++) {
      nir_def *at = nir_channel(b, coord, i);
      nir_def *is_inside = nir_feq(b, at, nir_fsat(b, at));
      outside = nir_bcsel(b, is_inside, outside, nir_ior_imm(b, outside, BITFIELD_BIT(i)));
   }
   return outside;
}

static void
sample(struct pass *pass, const struct look *look, nir_tex_instr *tex, nir_def *slot)
{
   nir_builder *b = &pass->state->b;
   bool has_derivatives = b->shader->info.stage == MESA_SHADER_FRAGMENT;
   enum gpuval_init_level kind = GPUVAL_INIT_LEVEL_UNKNOWN;
   nir_def *level = nir_imm_int(b, 0);

   /* It may be so in a subgroup only, and then there are no derivatives. */
   if (!pass->driver->has_marks)
      nir_push_if(b, look->condition);
   nir_def *sampler_slot;
   uint32_t sampler_set = find_sampler(pass, look, slot, &sampler_slot);
   if (tex->op == nir_texop_tg4) {
      kind = GPUVAL_INIT_LEVEL_NONE;
   } else if (tex->op == nir_texop_txl && sampler_set != GPUVAL_INIT_SAMPLER_UNKNOWN) {
      level = get_explicit_level(pass, tex, sampler_set, sampler_slot);
      kind = GPUVAL_INIT_LEVEL_EXPLICIT;
   } else if (tex->op == nir_texop_tex && has_derivatives && look->is_constant &&
              (pass->driver->has_marks || sampler_set != GPUVAL_INIT_SAMPLER_UNKNOWN) &&
              get_src(tex, nir_tex_src_sampler_deref) && !get_src(tex, nir_tex_src_min_lod)) {
      /* Hardware may say where it lies before it takes the nearest. */
      level = query_level(b, tex);
      kind = pass->driver->has_marks ? GPUVAL_INIT_LEVEL_EXPLICIT : GPUVAL_INIT_LEVEL_SAMPLED;
      if (!pass->driver->has_marks)
         level = get_only_level(pass, level, sampler_set, sampler_slot);
   }

   nir_def *layer = get_sampled_layer(b, tex);
   nir_def *zero = nir_imm_int(b, 0);
   nir_def *good = look->access->bad ? nir_inot(b, look->access->bad) : nir_imm_true(b);
   report(pass, look, good,
          GPUVAL_INIT_ENTRY_IS_IMAGE | GPUVAL_INIT_ENTRY_IS_TEXTURE | get_mask(tex->dest_type) |
             (layer ? 2 : GPUVAL_INIT_LAYER_NONE) << GPUVAL_INIT_ENTRY_LAYER_SHIFT |
             kind << GPUVAL_INIT_ENTRY_LEVEL_SHIFT | GPUVAL_INIT_ENTRY_IS_SAMPLE |
             sampler_set << GPUVAL_INIT_ENTRY_SAMPLER_SHIFT,
          0, GPUVAL_IMAGE_IS_ONE | GPUVAL_IMAGE_HAS_LEVEL, slot,
          nir_vec4(b, get_outside(b, tex), sampler_slot, layer ? layer : zero, level));
   if (!pass->driver->has_marks)
      nir_pop_if(b, NULL);
}

static bool
instrument_texture(struct pass *pass, const struct gpuval_access *access)
{
   nir_tex_instr *tex = nir_instr_as_tex(access->instr);
   nir_builder *b = &pass->state->b;
   struct look look = begin(pass, access);
   if (!look.has_use)
      return false;

   nir_def *slot = gpuval_nir_get_slot(b, &look.use);
   if (access->op == GPUVAL_OP_FETCH)
      fetch(pass, &look, tex, slot);
   else
      sample(pass, &look, tex, slot);
   return true;
}

static bool
instrument(struct pass *pass, const struct gpuval_access *access)
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
      return instrument_image(pass, access);
   case GPUVAL_ACCESS_TEXTURE:
      return access->instr->type == nir_instr_type_tex && instrument_texture(pass, access);
   default:
      return false;
   }
}

bool
gpuval_nir_instrument_init(struct gpuval_nir_state *state)
{
   const struct gpuval_nir_driver *driver = state->options->driver;
   struct pass pass = {.state = state, .driver = driver};
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
