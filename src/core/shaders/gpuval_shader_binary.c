/* SPDX-License-Identifier: MIT */

/* Shaders in the binaries that drivers give to programs and keep in their caches: all that a device
 * registers of them. What comes back may be damaged, or made by others, so each number is looked at
 * before anything goes by it.
 */

#include "core/memory/gpuval_cells.h"
#include "core/memory/gpuval_marks.h"
#include "report/gpuval_report.h"
#include "gpuval_shader.h"

#include "util/ralloc.h"

/* Words at once: the blob's own functions take most of the time of what is a word each. */
#define write_words(blob, ...)                                                                     \
   do {                                                                                            \
      const uint32_t words_[] = {__VA_ARGS__};                                                     \
      blob_write_bytes(blob, words_, sizeof(words_));                                              \
   } while (0)

void
gpuval_shader_write_info(struct blob *blob, const struct gpuval_shader_info *info,
                         const struct gpuval_nir_table *table)
{
   blob_write_uint32(blob, info->stage);
   blob_write_string(blob, info->entry);
   blob_write_uint8(blob, info->name != NULL);
   blob_write_string(blob, info->name ? info->name : "");

   blob_write_uint32(blob, info->num_bindings);
   for (unsigned i = 0; i < info->num_bindings; i++) {
      const struct gpuval_binding *binding = &info->bindings[i];
      write_words(blob, binding->set, binding->binding, binding->type, binding->first_slot,
                  binding->array_size, binding->stride, binding->inline_size, binding->is_variable);
   }

   blob_write_uint32(blob, util_dynarray_num_elements(&table->sites, struct gpuval_site));
   util_dynarray_foreach (&table->sites, struct gpuval_site, site) {
      write_words(
         blob, site->kind, site->op, site->spirv_offset, site->set, site->binding, site->num_kinds,
         site->alignment, site->length,
         site->array | site->same_value << 8 | site->by_filter << 9 | site->has_rays << 10);
      blob_write_string(blob, gpuval_site_name(table->names.data, site) ?: "");
   }

   blob_write_uint32(blob, util_dynarray_num_elements(&table->entries, struct gpuval_nir_entry));
   util_dynarray_foreach (&table->entries, struct gpuval_nir_entry, entry)
      write_words(blob, entry->offset, entry->size, entry->site, entry->instance, entry->num_slots,
                  entry->set | entry->flags << 8);

   blob_write_uint32(blob, util_dynarray_num_elements(&table->uses, struct gpuval_nir_use));
   util_dynarray_foreach (&table->uses, struct gpuval_nir_use, use)
      write_words(blob, use->required, use->first_slot, use->num_slots, use->set | use->flags << 8);

   blob_write_uint32(blob, util_dynarray_num_elements(&table->formats, struct gpuval_nir_format));
   util_dynarray_foreach (&table->formats, struct gpuval_nir_format, format) {
      blob_write_uint64(blob, format->id);
      blob_write_string(blob, format->string);
      blob_write_uint32(blob, format->site);
      blob_write_uint8(blob, format->has_invocation);
      blob_write_uint8(blob, format->is_numbered);
      blob_write_uint32(blob, format->num_arguments);
      for (unsigned i = 0; i < format->num_arguments; i++) {
         blob_write_uint8(blob, format->arguments[i].type);
         blob_write_uint8(blob, format->arguments[i].bit_size);
         blob_write_uint8(blob, format->arguments[i].components);
      }
   }
}

static void
write_shader(const struct gpuval_shader *shader, struct blob *blob)
{
   blob_write_uint8(blob, shader != NULL);
   if (!shader)
      return;

   const struct gpuval_shader_info info = {
      .spirv = shader->module->words,
      .spirv_size = shader->module->size,
      .hash = shader->module->hash,
      .stage = shader->stage,
      .entry = shader->entry,
      .name = shader->name,
      .bindings = shader->bindings,
      .num_bindings = shader->num_bindings,
   };
   const struct gpuval_nir_table table = {
      .sites = {.data = shader->sites, .size = shader->num_sites * sizeof(*shader->sites)},
      .entries = {.data = shader->entries, .size = shader->num_entries * sizeof(*shader->entries)},
      .formats = {.data = shader->formats, .size = shader->num_formats * sizeof(*shader->formats)},
      .names = {.data = shader->names, .size = shader->names_size},
      .uses = {.data = shader->uses, .size = shader->num_uses * sizeof(*shader->uses)},
   };
   blob_write_uint32(blob, info.spirv_size);
   blob_write_bytes(blob, info.spirv, info.spirv_size);
   gpuval_shader_write_info(blob, &info, &table);
}

/* What generated code depends on beside the options, as the device has it: which engine of sync
 * there is room for. 32 bit, of a binary.
 */
static uint32_t
get_engine(const struct gpuval_device *device)
{
   return gpuval_device_has_shadow(device) | gpuval_device_has_cells(device) << 1;
}

/* Beside get_engine(): gpuval_instrument_info::is_unmarked */
#define BINARY_IS_UNMARKED BITFIELD_BIT(31)

void
gpuval_device_write_shader(const struct gpuval_device *device, const struct gpuval_shader *shader,
                           bool is_unmarked, struct blob *blob)
{
   blob_write_uint32(blob, get_engine(device) | (is_unmarked ? BINARY_IS_UNMARKED : 0));
   write_shader(shader, blob);
}

/* Room for @count elements, none of which takes less than @element_size bytes
 * in the blob. */
static void *
array_for(struct blob_reader *blob, void *mem_ctx, uint32_t count, unsigned element_size,
          size_t size)
{
   if (blob->overrun || count > (size_t)(blob->end - blob->current) / element_size) {
      blob->overrun = true;
      return NULL;
   }
   return rzalloc_array_size(mem_ctx, size, MAX2(count, 1));
}

/* blob_read_string() asserts that nothing has gone wrong before. */
static const char *
read_string(struct blob_reader *blob)
{
   return blob->overrun ? NULL : blob_read_string(blob);
}

/* The arguments of @format */
static bool
read_arguments(struct blob_reader *blob, void *mem_ctx, struct gpuval_nir_format *format)
{
   struct gpuval_nir_argument *arguments =
      array_for(blob, mem_ctx, format->num_arguments, 3, sizeof(*arguments));
   for (unsigned i = 0; arguments && i < format->num_arguments; i++) {
      arguments[i].type = blob_read_uint8(blob);
      arguments[i].bit_size = blob_read_uint8(blob);
      arguments[i].components = blob_read_uint8(blob);
      bool is_size = arguments[i].bit_size >= 8 && arguments[i].bit_size <= 64 &&
                     util_is_power_of_two_nonzero(arguments[i].bit_size);
      if (arguments[i].type >= GPUVAL_ARGUMENT_TYPE_COUNT || !is_size ||
          arguments[i].components > NIR_MAX_VEC_COMPONENTS)
         return false;
   }
   format->arguments = arguments;
   return arguments != NULL;
}

static bool
is_site_of(const struct gpuval_nir_table *table, uint32_t site, enum gpuval_kind kind)
{
   return site < util_dynarray_num_elements(&table->sites, struct gpuval_site) &&
          util_dynarray_element(&table->sites, struct gpuval_site, site)->kind == kind;
}

static bool
read_formats(struct blob_reader *blob, struct gpuval_nir_table *table)
{
   uint32_t num_formats = blob_read_uint32(blob);

   for (unsigned i = 0; i < num_formats && !blob->overrun; i++) {
      struct gpuval_nir_format format;
      format.id = blob_read_uint64(blob);
      format.string = read_string(blob);
      format.site = blob_read_uint32(blob);
      format.has_invocation = blob_read_uint8(blob);
      format.is_numbered = blob_read_uint8(blob);
      format.num_arguments = blob_read_uint32(blob);
      if (blob->overrun || format.id >> GPUVAL_PRINTF_ID_BITS ||
          !is_site_of(table, format.site, GPUVAL_KIND_MESSAGE) ||
          !read_arguments(blob, table->mem_ctx, &format))
         return false;
      util_dynarray_append_typed(&table->formats, struct gpuval_nir_format, format);
   }
   return !blob->overrun;
}

static bool
read_bindings(struct blob_reader *blob, void *mem_ctx, struct gpuval_shader_info *info)
{
   info->num_bindings = blob_read_uint32(blob);

   uint32_t words[8] = {0};
   struct gpuval_binding *bindings =
      array_for(blob, mem_ctx, info->num_bindings, sizeof(words), sizeof(*bindings));
   for (unsigned i = 0; bindings && i < info->num_bindings; i++) {
      blob_copy_bytes(blob, words, sizeof(words));
      bindings[i] = (struct gpuval_binding){
         .set = words[0],
         .binding = words[1],
         .type = words[2],
         .first_slot = words[3],
         .array_size = words[4],
         .stride = words[5],
         .inline_size = words[6],
         .is_variable = words[7],
      };
   }
   info->bindings = bindings;
   return bindings != NULL;
}

/* A site whose store changes nothing stands behind that of the same store which does. */
static bool
is_valid_site(const struct gpuval_nir_table *table, const struct gpuval_site *site)
{
   if (site->kind >= GPUVAL_KIND_COUNT || site->array >= GPUVAL_ARRAY_TYPE_COUNT ||
       site->op >= GPUVAL_OP_COUNT || !gpuval_op_infos[site->op].has_site)
      return false;
   if (!site->same_value)
      return true;
   if (!table->sites.size)
      return false;

   const struct gpuval_site *before =
      util_dynarray_top_ptr((struct util_dynarray *)&table->sites, struct gpuval_site);
   return !before->same_value && before->kind == site->kind && before->op == site->op &&
          before->spirv_offset == site->spirv_offset;
}

static bool
read_sites(struct blob_reader *blob, struct gpuval_nir_table *table)
{
   uint32_t num_sites = blob_read_uint32(blob);

   for (unsigned i = 0; i < num_sites && !blob->overrun; i++) {
      uint32_t words[9] = {0};
      blob_copy_bytes(blob, words, sizeof(words));
      const char *name = read_string(blob);
      const struct gpuval_site site = {
         .kind = words[0],
         .op = words[1],
         .spirv_offset = words[2],
         .set = words[3],
         .binding = words[4],
         .num_kinds = words[5],
         .alignment = words[6],
         .length = words[7],
         .array = words[8],
         .same_value = words[8] >> 8 & 1,
         .by_filter = words[8] >> 9 & 1,
         .has_rays = words[8] >> 10 & 1,
         .name = name && *name ? gpuval_nir_add_name(table, name) : 0,
      };
      if (!is_valid_site(table, &site))
         return false;
      util_dynarray_append_typed(&table->sites, struct gpuval_site, site);
   }
   return !blob->overrun;
}

/* Has the layout a descriptor in this slot? */
static bool
is_slot(const struct gpuval_shader_info *info, uint32_t set, uint32_t slot)
{
   for (unsigned i = 0; i < info->num_bindings; i++) {
      const struct gpuval_binding *binding = &info->bindings[i];

      if (binding->set == set && slot >= binding->first_slot &&
          slot - binding->first_slot < (uint64_t)binding->array_size * binding->stride)
         return true;
   }
   return false;
}

/* The kinds of a failing access are sites side by side, the entry has the first. Shaders look
 * up the descriptor whose slot an entry of the check `descriptor` names.
 */
static bool
is_valid_entry(const struct gpuval_device *device, const struct gpuval_shader_info *info,
               const struct gpuval_nir_table *table, const struct gpuval_nir_entry *entry)
{
   uint32_t num_sites = util_dynarray_num_elements(&table->sites, struct gpuval_site);
   if (entry->site >= num_sites ||
       (entry->set >= device->info.max_sets && entry->set != GPUVAL_REPORT_PLAIN))
      return false;

   const struct gpuval_site *site =
      util_dynarray_element(&table->sites, struct gpuval_site, entry->site);
   bool has_slot = gpuval_kind_infos[site->kind].check == GPUVAL_CHECK_DESCRIPTOR &&
                   entry->flags & GPUVAL_USE_CONSTANT;
   return MAX2(site->num_kinds, 1) <= num_sites - entry->site &&
          (!has_slot || is_slot(info, entry->set, entry->first_slot));
}

static bool
read_entries(struct blob_reader *blob, const struct gpuval_device *device,
             const struct gpuval_shader_info *info, struct gpuval_nir_table *table)
{
   uint32_t num_entries = blob_read_uint32(blob);

   for (unsigned i = 0; i < num_entries && !blob->overrun; i++) {
      uint32_t words[6] = {0};
      blob_copy_bytes(blob, words, sizeof(words));
      const struct gpuval_nir_entry entry = {
         .offset = words[0],
         .size = words[1],
         .site = words[2],
         .instance = words[3],
         .num_slots = words[4],
         .set = words[5],
         .flags = words[5] >> 8,
      };
      if (!is_valid_entry(device, info, table, &entry))
         return false;
      util_dynarray_append_typed(&table->entries, struct gpuval_nir_entry, entry);
   }
   return !blob->overrun;
}

/* Drivers look up the set and the slot of a use for each command, and what `init` and `race` ask
 * for is one type of descriptor.
 */
static bool
is_valid_use(const struct gpuval_device *device, const struct gpuval_shader_info *info,
             const struct gpuval_nir_table *table, const struct gpuval_nir_use *use)
{
   bool has_array = (use->flags & (GPUVAL_USE_WRITTEN | GPUVAL_USE_RACE)) == GPUVAL_USE_WRITTEN &&
                    !(use->required & GPUVAL_OFFERS_BUFFERS);
   if (!(use->flags & GPUVAL_USE_CONSTANT || has_array) || use->set >= device->info.max_sets ||
       !is_slot(info, use->set, use->first_slot))
      return false;

   bool is_one = util_is_power_of_two_nonzero(use->required & GPUVAL_OFFERS_RESOURCES);
   if (use->flags & GPUVAL_USE_RACE) {
      uint32_t op = use->num_slots >> GPUVAL_RACE_USE_OP_SHIFT;
      return is_one && op < GPUVAL_OP_COUNT && gpuval_op_infos[op].has_site &&
             is_site_of(table, use->num_slots & GPUVAL_RACE_USE_SITE_MASK,
                        GPUVAL_KIND_RESOURCE_RACE);
   }
   return !(use->flags & GPUVAL_USE_WRITTEN) ||
          (is_one && !(use->required & ~GPUVAL_OFFERS_RESOURCES));
}

static bool
read_uses(struct blob_reader *blob, const struct gpuval_device *device,
          const struct gpuval_shader_info *info, struct gpuval_nir_table *table)
{
   uint32_t num_uses = blob_read_uint32(blob);

   for (unsigned i = 0; i < num_uses && !blob->overrun; i++) {
      uint32_t words[4] = {0};
      blob_copy_bytes(blob, words, sizeof(words));
      const struct gpuval_nir_use use = {
         .required = words[0],
         .first_slot = words[1],
         .num_slots = words[2],
         .set = words[3],
         .flags = words[3] >> 8,
      };
      if (!is_valid_use(device, info, table, &use))
         return false;
      util_dynarray_append_typed(&table->uses, struct gpuval_nir_use, use);
   }
   return !blob->overrun;
}

static bool
read_info(struct blob_reader *blob, const struct gpuval_device *device, void *mem_ctx,
          struct gpuval_shader_info *info, struct gpuval_nir_table *table)
{
   info->spirv_size = blob_read_uint32(blob);
   const void *spirv = blob_read_bytes(blob, info->spirv_size);
   if (!spirv || info->spirv_size % 4)
      return false;
   info->spirv = ralloc_memdup(mem_ctx, spirv, info->spirv_size);
   info->hash = gpuval_shader_hash(info->spirv, info->spirv_size);
   info->stage = blob_read_uint32(blob);
   info->entry = read_string(blob);
   bool has_name = blob_read_uint8(blob);
   info->name = read_string(blob);
   if (blob->overrun || info->stage >= GPUVAL_STAGE_COUNT ||
       gpuval_stage_to_spirv(info->stage) == UINT32_MAX)
      return false;
   if (!has_name)
      info->name = NULL;

   return read_bindings(blob, mem_ctx, info) && read_sites(blob, table) &&
          read_entries(blob, device, info, table) && read_uses(blob, device, info, table) &&
          read_formats(blob, table);
}

/* What stands behind the first word */
static bool
read_shader(struct gpuval_device *device, struct blob_reader *blob, struct gpuval_shader **shader)
{
   if (!blob_read_uint8(blob))
      return !blob->overrun;

   void *mem_ctx = ralloc_context(NULL);
   struct gpuval_shader_info info = {0};
   struct gpuval_nir_table table;
   gpuval_nir_table_init(&table, mem_ctx);

   if (read_info(blob, device, mem_ctx, &info, &table)) {
      uint8_t key[GPUVAL_SHADER_KEY_SIZE];
      *shader = gpuval_device_add_shader(device, &info, &table, key);
      if (*shader)
         gpuval_report_add_shader(info.hash, info.stage);
   }

   ralloc_free(mem_ctx);
   return *shader != NULL;
}

bool
gpuval_device_read_shader(struct gpuval_device *device, struct blob_reader *blob,
                          struct gpuval_shader **shader)
{
   uint32_t word = blob_read_uint32(blob);

   *shader = NULL;
   if (blob->overrun || (word & ~BINARY_IS_UNMARKED) != get_engine(device) ||
       !read_shader(device, blob, shader))
      return false;
   if (word & BINARY_IS_UNMARKED)
      gpuval_marks_give_up(device); /* as the device that it was made on */
   return true;
}
