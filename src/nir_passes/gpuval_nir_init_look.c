/* SPDX-License-Identifier: MIT */

/* What the report's function does for the check of initialization: marks what is written,
 * looks at what is read, and reports it where nobody has written it.
 */

#include "gpuval/src/base/gpuval_descriptor.h"
#include "gpuval/src/base/gpuval_init.h"
#include "gpuval/src/base/gpuval_shadow.h"
#include "gpuval_nir_init.h"
#include "gpuval_nir_private.h"

struct entry {
   nir_def *flags;
   nir_def *size;
   nir_def *set;
   nir_def *image_flags;
};

static nir_def *
has_flag(nir_builder *b, nir_def *flags, uint32_t flag)
{
   return nir_ine_imm(b, nir_iand_imm(b, flags, flag), 0);
}

/* All lanes have the same one. */
static struct entry
load_entry(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *index)
{
   nir_def *entries = gpuval_nir_load_root(b, driver->root_address(driver, b), 64,
                                           offsetof(struct gpuval_root, entries_address));
   nir_def *entry =
      nir_iadd(b, entries, nir_imul_imm(b, nir_u2u64(b, index), sizeof(struct gpuval_entry)));
   nir_def *words = gpuval_load_global(b, entry, 4, 4, 32);
   nir_def *set = nir_iand_imm(b, nir_ushr_imm(b, nir_channel(b, words, 3), 16), 0xff);

   return (struct entry){
      .flags = nir_read_first_invocation(b, nir_channel(b, words, 0)),
      .size = nir_channel(b, words, 1),
      .set = nir_read_first_invocation(b, set),
      .image_flags = gpuval_load_global(
         b, nir_iadd_imm(b, entry, offsetof(struct gpuval_entry, num_slots)), 4, 1, 32),
   };
}

/* The byte of the word at @address, or one that is never 0 if there is none */
static nir_def *
byte_address(nir_builder *b, nir_def *root, nir_def *address)
{
   nir_def *written = gpuval_nir_load_root(b, root, 64, offsetof(struct gpuval_root, written));
   return nir_iadd(b, written, nir_ushr_imm(b, address, GPUVAL_INIT_WORD_LOG2));
}

/* Is the memory in the window? 1 bit */
static nir_def *
is_tracked(nir_builder *b, nir_def *root, nir_def *address)
{
   nir_def *window =
      gpuval_nir_load_root(b, root, 64, offsetof(struct gpuval_root, written_window));
   return nir_ult_imm(b, nir_isub(b, address, window), 1ull << GPUVAL_SHADOW_WINDOW_LOG2);
}

/* With marks: @bits are those of an entry; stencil has a word of its own. */
static nir_def *
mark_address(nir_builder *b, nir_def *marks, nir_def *bits)
{
   nir_def *is_color = has_flag(b, bits, GPUVAL_INIT_COLOR);
   return nir_bcsel(b, is_color, marks, nir_iadd_imm(b, marks, GPUVAL_INIT_STENCIL_OFFSET));
}

static void
mark_byte(nir_builder *b, nir_def *address)
{
   nir_build_store_global(b, nir_imm_intN_t(b, GPUVAL_INIT_ALL, 8), address, .align_mul = 1,
                          .access = ACCESS_COHERENT);
}

static nir_def *
load_byte(nir_builder *b, nir_def *address)
{
   return nir_u2u32(
      b, nir_build_load_global(b, 1, 8, address, .align_mul = 1, .access = ACCESS_COHERENT));
}

/* Poisoned memory that has anything else was written by somebody, the host perhaps: 1 << unit_log2
 * bytes, of which one word is enough. 1 bit
 */
static nir_def *
is_poison(nir_builder *b, nir_def *root, nir_def *address, unsigned unit_log2)
{
   const unsigned unit = 1u << unit_log2;
   nir_def *poison = gpuval_nir_load_root(b, root, 32, offsetof(struct gpuval_root, poison));
   nir_def *words =
      nir_build_load_global(b, unit / 4, 32, address, .align_mul = unit, .access = ACCESS_COHERENT);
   nir_def *is_same = nir_imm_true(b);

   for (unsigned i = 0; i < unit / 4; i++)
      is_same = nir_iand(b, is_same, nir_ieq(b, poison, nir_channel(b, words, i)));
   return nir_ior(b, nir_ieq_imm(b, poison, 0), is_same);
}

/* The bytes of a range of memory */
struct marks {
   nir_def *tracked; /* 1 bit: there are some */
   nir_def *bytes;   /* the one of the words at A is at this plus A >> unit_log2 */
   unsigned unit_log2;
};

static struct marks
find_marks(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *root, nir_def *address,
           nir_def *size)
{
   if (!driver->has_marks) {
      nir_def *last = nir_iadd(b, address, nir_u2u64(b, nir_iadd_imm(b, size, -1)));
      return (struct marks){
         .tracked = nir_iand(b, is_tracked(b, root, address), is_tracked(b, root, last)),
         .bytes = gpuval_nir_load_root(b, root, 64, offsetof(struct gpuval_root, written)),
         .unit_log2 = GPUVAL_INIT_WORD_LOG2,
      };
   }

   nir_def *table =
      driver->command_data(driver, b, 64, offsetof(struct gpuval_command_data, marks_address));
   nir_def *ranges = nir_iadd_imm(b, table, offsetof(struct gpuval_marked_table, ranges));
   const unsigned stride = sizeof(struct gpuval_marked_range);
   nir_def *count = gpuval_nir_count_ranges(b, table, ranges, stride, address, true);

   nir_def *all_written = nir_build_load_global(
      b, 1, 32, nir_iadd_imm(b, root, offsetof(struct gpuval_root, all_written)), .align_mul = 4,
      .access = ACCESS_COHERENT);

   /* Before the first range there is an empty one. */
   nir_def *range = gpuval_nir_element_address(b, table, count, stride);
   nir_def *distance = nir_isub(b, address, gpuval_load_fixed(b, range, 8, 1, 64));
   nir_def *bound = gpuval_load_fixed(b, nir_iadd_imm(b, range, 8), 8, 1, 64);
   return (struct marks){
      .tracked = nir_iand(b, nir_ieq_imm(b, all_written, 0),
                          nir_iand(b, nir_ult(b, distance, bound),
                                   nir_uge(b, nir_isub(b, bound, distance), nir_u2u64(b, size)))),
      .bytes = gpuval_load_fixed(b, nir_iadd_imm(b, range, 16), 8, 1, 64),
      .unit_log2 = GPUVAL_INIT_GRANULE_LOG2,
   };
}

/* Marks or looks at the words of a range. Returns whether one of them has never been written,
 * 1 bit.
 */
static nir_def *
visit_words(nir_builder *b, nir_def *root, const struct marks *marks, nir_def *write,
            nir_def *address, nir_def *size)
{
   const unsigned unit = 1u << marks->unit_log2;
   nir_def *end = nir_iadd(b, address, nir_u2u64(b, size));
   nir_variable *at_var = nir_local_variable_create(b->impl, glsl_uint_type(), "at");
   nir_variable *unwritten_var = nir_local_variable_create(b->impl, glsl_bool_type(), "unwritten");
   nir_def *first = nir_iand_imm(b, address, ~(uint64_t)(unit - 1));
   nir_def *length = nir_u2u32(b, nir_isub(b, end, first));

   nir_store_var(b, at_var, nir_imm_int(b, 0), 0x1);
   nir_store_var(b, unwritten_var, nir_imm_false(b), 0x1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *at = nir_load_var(b, at_var);
      nir_break_if(b, nir_uge(b, at, length));
      nir_store_var(b, at_var, nir_iadd_imm(b, at, unit), 0x1);

      nir_def *word = nir_iadd(b, first, nir_u2u64(b, at));
      nir_def *byte = nir_iadd(b, marks->bytes, nir_ushr_imm(b, word, marks->unit_log2));
      nir_push_if(b, nir_ine_imm(b, load_byte(b, byte), GPUVAL_INIT_ALL));
      {
         nir_push_if(b, write);
         mark_byte(b, byte);
         nir_push_else(b, NULL);
         nir_push_if(b, is_poison(b, root, word, marks->unit_log2));
         nir_store_var(b, unwritten_var, nir_imm_true(b), 0x1);
         nir_pop_if(b, NULL);
         nir_pop_if(b, NULL);
      }
      nir_pop_if(b, NULL);
   }
   nir_pop_loop(b, loop);
   return nir_load_var(b, unwritten_var);
}

static nir_def *
get_bits(nir_builder *b, nir_def *flags, unsigned shift, unsigned count)
{
   return nir_ubitfield_extract_imm(b, flags, shift, count);
}

/* Levels of detail are exact to 1/256, and samplers are less so (mipmapPrecisionBits). */
#define LOD_TOLERANCE (1.0 / 32)

/* First and last level that are read */
static void
get_levels(nir_builder *b, const struct gpuval_nir_driver *driver, const struct entry *entry,
           const struct gpuval_nir_report_params *params, nir_def **first, nir_def **last)
{
   nir_def *kind = get_bits(b, entry->flags, GPUVAL_INIT_ENTRY_LEVEL_SHIFT, 3);
   nir_def *zero = nir_imm_int(b, 0);
   nir_def *count = driver->levels(driver, b, entry->set, params->slot);
   nir_def *top = nir_iadd_imm(b, nir_umax_imm(b, count, 1), -1);

   /* Its bits are a number of another kind where it is none. */
   nir_def *lod =
      nir_fmin(b, nir_fmax(b, params->detail[3], nir_imm_float(b, 0)), nir_u2f32(b, top));
   nir_def *below = nir_f2u32(b, nir_ffloor(b, nir_fadd_imm(b, lod, LOD_TOLERANCE)));
   nir_def *above = nir_f2u32(b, nir_fceil(b, nir_fadd_imm(b, lod, -LOD_TOLERANCE)));
   above = nir_umin(b, nir_umax(b, above, below), top);

   /* Any number, of which there is a next one */
   nir_def *exact = nir_umin_imm(b, params->detail[3], INT32_MAX);
   nir_def *is_exact = nir_ieq_imm(b, kind, GPUVAL_INIT_LEVEL_EXACT);
   nir_def *is_float = nir_ior(b, nir_ieq_imm(b, kind, GPUVAL_INIT_LEVEL_SAMPLED),
                               nir_ieq_imm(b, kind, GPUVAL_INIT_LEVEL_EXPLICIT));
   nir_def *is_nan =
      nir_ult(b, nir_imm_int(b, 0x7f800000), nir_iand_imm(b, params->detail[3], 0x7fffffff));
   nir_def *is_unknown = nir_ieq_imm(b, kind, GPUVAL_INIT_LEVEL_UNKNOWN);
   is_unknown = nir_ior(b, is_unknown, nir_iand(b, is_float, is_nan));
   is_float = nir_iand(b, is_float, nir_inot(b, is_nan));
   *first = nir_bcsel(b, is_exact, exact, nir_bcsel(b, is_float, below, zero));
   *last = nir_bcsel(b, is_exact, exact,
                     nir_bcsel(b, is_float, above, nir_bcsel(b, is_unknown, top, zero)));
}

/* Marks or looks at one level after the other. Returns whether what is read has never been
 * written, 1 bit, and a level that has not.
 */
static nir_def *
visit_levels(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *root,
             const struct entry *entry, const struct gpuval_nir_report_params *params,
             nir_def *write, nir_def **unwritten_level)
{
   nir_def *zero = nir_imm_int(b, 0);
   nir_def *word = get_bits(b, entry->flags, GPUVAL_INIT_ENTRY_LAYER_SHIFT, 2);
   nir_def *layer = nir_bcsel(b, nir_ieq_imm(b, word, 0), params->detail[0], zero);
   layer = nir_bcsel(b, nir_ieq_imm(b, word, 1), params->detail[1], layer);
   layer = nir_bcsel(b, nir_ieq_imm(b, word, 2), params->detail[2], layer);
   nir_def *mask = get_bits(b, entry->flags, GPUVAL_INIT_ENTRY_MASK_SHIFT, 8);

   nir_def *first, *last;
   get_levels(b, driver, entry, params, &first, &last);

   nir_variable *level_var = nir_local_variable_create(b->impl, glsl_uint_type(), "level");
   nir_variable *found_var = nir_local_variable_create(b->impl, glsl_uint_type(), "found");
   nir_variable *unwritten_var = nir_local_variable_create(b->impl, glsl_uint_type(), "unwritten");
   nir_variable *read_var = nir_local_variable_create(b->impl, glsl_uint_type(), "read");
   nir_store_var(b, level_var, first, 0x1);
   nir_store_var(b, found_var, first, 0x1);
   nir_store_var(b, unwritten_var, zero, 0x1);
   nir_store_var(b, read_var, zero, 0x1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *level = nir_load_var(b, level_var);
      nir_break_if(b, nir_ult(b, last, level));
      nir_store_var(b, level_var, nir_iadd_imm(b, level, 1), 0x1);

      nir_def *address = driver->subresource(
         driver, b,
         &(struct gpuval_nir_subresource){
            .set = entry->set,
            .slot = params->slot,
            .is_texture = has_flag(b, entry->flags, GPUVAL_INIT_ENTRY_IS_TEXTURE),
            .level = level,
            .layer = layer,
         });
      nir_push_if(b, driver->has_marks ? nir_ine_imm(b, address, 0) : is_tracked(b, root, address));
      {
         nir_def *byte =
            driver->has_marks ? mark_address(b, address, mask) : byte_address(b, root, address);
         nir_push_if(b, write);
         mark_byte(b, driver->has_marks ? address : byte);
         if (driver->has_marks)
            mark_byte(b, nir_iadd_imm(b, address, GPUVAL_INIT_STENCIL_OFFSET));
         nir_push_else(b, NULL);
         nir_store_var(b, read_var, nir_iadd_imm(b, nir_load_var(b, read_var), 1), 0x1);
         nir_push_if(b, nir_ieq_imm(b, nir_iand(b, load_byte(b, byte), mask), 0));
         nir_store_var(b, unwritten_var, nir_iadd_imm(b, nir_load_var(b, unwritten_var), 1), 0x1);
         nir_store_var(b, found_var, level, 0x1);
         nir_pop_if(b, NULL);
         nir_pop_if(b, NULL);
      }
      nir_pop_if(b, NULL);
   }
   nir_pop_loop(b, loop);

   nir_def *kind = get_bits(b, entry->flags, GPUVAL_INIT_ENTRY_LEVEL_SHIFT, 3);
   nir_def *unwritten = nir_load_var(b, unwritten_var);
   nir_def *all = nir_ieq(b, unwritten, nir_load_var(b, read_var));
   nir_def *any_counts = nir_ult_imm(b, kind, GPUVAL_INIT_LEVEL_EXPLICIT);
   *unwritten_level = nir_load_var(b, found_var);
   return nir_iand(b, nir_ine_imm(b, unwritten, 0), nir_ior(b, any_counts, all));
}

/* Does a sample come to nothing but the border, where it would go beyond the image on an axis?
 * What is known of no sampler may have one.
 */
static nir_def *
is_border(nir_builder *b, const struct gpuval_nir_driver *driver, const struct entry *entry,
          const struct gpuval_nir_report_params *params)
{
   const struct gpuval_nir_descriptors *descriptors = driver->descriptors;
   nir_def *is_outside = nir_iand(b, has_flag(b, entry->flags, GPUVAL_INIT_ENTRY_IS_SAMPLE),
                                  nir_ine_imm(b, params->detail[0], 0));
   nir_def *set = get_bits(b, entry->flags, GPUVAL_INIT_ENTRY_SAMPLER_SHIFT, 6);
   nir_def *is_known = nir_ine_imm(b, set, GPUVAL_INIT_SAMPLER_UNKNOWN);
   nir_def *any = nir_imm_int(b, ~0);

   nir_push_if(b, nir_iand(b, is_outside, is_known));
   nir_def *id = nir_channel(b, descriptors->load(driver, b, set, params->detail[1]), 2);
   if (descriptors->has_shadow)
      id = nir_bcsel(b, descriptors->has_shadow(driver, b, set), id, nir_imm_int(b, 0));
   nir_def *index = nir_iand_imm(b, id, BITFIELD_MASK(descriptors->object_index_bits));
   nir_def *object = nir_iadd(b, descriptors->objects_address(driver, b),
                              nir_imul_imm(b, nir_u2u64(b, index), sizeof(struct gpuval_object)));
   nir_def *is_alive = nir_iand(b, nir_ine_imm(b, index, 0),
                                nir_ieq(b, gpuval_load_global(b, object, 4, 1, 32), id));
   nir_def *borders = gpuval_load_global(
      b, nir_iadd_imm(b, object, offsetof(struct gpuval_object, borders)), 4, 1, 32);
   borders = nir_bcsel(b, is_alive, borders, any);
   nir_pop_if(b, NULL);
   borders = nir_if_phi(b, borders, any);
   return nir_iand(b, is_outside, nir_ine_imm(b, nir_iand(b, borders, params->detail[0]), 0));
}

static void
build_image(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *root,
            const struct entry *entry, const struct gpuval_nir_report_params *params,
            nir_def *write)
{
   nir_def *level;
   nir_def *unwritten = visit_levels(b, driver, root, entry, params, write, &level);

   nir_push_if(b, unwritten);
   nir_push_if(b, nir_inot(b, is_border(b, driver, entry, params)));
   {
      nir_def *has_level = has_flag(b, entry->image_flags, GPUVAL_IMAGE_HAS_LEVEL);
      nir_def *is_sample = has_flag(b, entry->flags, GPUVAL_INIT_ENTRY_IS_SAMPLE);
      nir_def *zero = nir_imm_int(b, 0);
      gpuval_nir_build_failure(
         b, driver, params->first_entry, params->invocation,
         &(struct gpuval_nir_finding){
            .offset = nir_bcsel(b, is_sample, zero, params->detail[0]),
            .access_size = nir_bcsel(b, is_sample, zero, params->detail[1]),
            .bound = params->detail[2],
            .slot = params->slot,
            .set = entry->set,
            .address = {nir_bcsel(b, has_level, level, params->detail[3]),
                        gpuval_nir_load_object(b, driver, entry->set, params->slot)},
            .other = entry->image_flags,
         });
   }
   nir_pop_if(b, NULL);
   nir_pop_if(b, NULL);
}

static void
build_buffer(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *root,
             const struct entry *entry, const struct gpuval_nir_report_params *params,
             nir_def *write)
{
   nir_def *is_buffer = has_flag(b, entry->flags, GPUVAL_INIT_ENTRY_IS_BUFFER);
   nir_def *zero = nir_imm_int(b, 0);
   nir_def *set = nir_bcsel(b, is_buffer, entry->set, zero);
   nir_def *slot = nir_bcsel(b, is_buffer, params->slot, zero);
   nir_def *bound = driver->buffer_size(driver, b, set, slot);
   nir_def *begin = driver->buffer_address(driver, b, set, slot);
   nir_def *offset = params->detail[0];
   nir_def *size = nir_bcsel(b, is_buffer, entry->size, params->detail[2]);
   nir_def *address = nir_bcsel(b, is_buffer, nir_iadd(b, begin, nir_u2u64(b, offset)),
                                nir_pack_64_2x32_split(b, params->detail[0], params->detail[1]));

   /* What is outside is not this check's business, but what a store leaves inside is written. */
   size = nir_bcsel(b, nir_iand(b, is_buffer, write),
                    nir_umin(b, size, gpuval_nir_rest(b, bound, offset)), size);
   nir_def *inside =
      nir_iand(b, nir_uge(b, bound, size), nir_uge(b, nir_isub(b, bound, size), offset));
   inside = nir_iand(b, nir_ior(b, inside, nir_inot(b, is_buffer)), nir_ine_imm(b, size, 0));
   const struct marks marks = find_marks(b, driver, root, address, size);

   nir_push_if(b, nir_iand(b, inside, marks.tracked));
   {
      nir_push_if(b, visit_words(b, root, &marks, write, address, size));
      gpuval_nir_build_failure(
         b, driver, params->first_entry, params->invocation,
         &(struct gpuval_nir_finding){
            .offset = nir_bcsel(b, is_buffer, offset, zero),
            .access_size = size,
            .bound = nir_bcsel(b, is_buffer, bound, zero),
            .slot = params->slot,
            .set = entry->set,
            .address = {nir_unpack_64_2x32_split_x(b, nir_bcsel(b, is_buffer, begin, address)),
                        nir_unpack_64_2x32_split_y(b, nir_bcsel(b, is_buffer, begin, address))},
            .other = zero,
         });
      nir_pop_if(b, NULL);
   }
   nir_pop_if(b, NULL);
}

void
gpuval_nir_build_init(nir_builder *b, const struct gpuval_nir_driver *driver,
                      const struct gpuval_nir_report_params *params)
{
   nir_def *root = driver->root_address(driver, b);
   struct entry entry = load_entry(b, driver, params->first_entry);
   nir_def *write = has_flag(b, entry.flags, GPUVAL_INIT_ENTRY_IS_WRITE);

   if (!driver->subresource) {
      build_buffer(b, driver, root, &entry, params, write);
      return;
   }
   nir_push_if(b, has_flag(b, entry.flags, GPUVAL_INIT_ENTRY_IS_IMAGE));
   build_image(b, driver, root, &entry, params, write);
   nir_push_else(b, NULL);
   build_buffer(b, driver, root, &entry, params, write);
   nir_pop_if(b, NULL);
}
