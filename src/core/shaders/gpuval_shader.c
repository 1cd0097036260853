/* SPDX-License-Identifier: MIT */

/* Shaders and their tables of sites, and how long they live.
 *
 * A shader has users, objects of the driver that hold code made from it: a pipeline's
 * NIR on lavapipe, which pipelines and libraries share. When the last one is gone, work
 * that was begun before may still run that code. So what is without users waits until
 * all such work has ended, whose failures are read then like any others:
 *
 *    users -> device->shaders->retired -> device->shaders->ending -> free
 *
 * Work counts for the phase in which it begins. Shaders are retired in the current
 * phase. When no work of the other one is left, nothing can use what is ending: that is
 * freed, what is retired becomes what is ending, and the other phase begins. So nothing
 * has to be idle, and no list of work is needed. Where nothing is in flight, a shader is
 * freed at once.
 *
 * Numbers of its sites and entries are used again, see gpuval_numbers.h. Events have
 * copies of all that they say.
 */

#include "gpuval_shader.h"
#include "core/memory/gpuval_addresses.h"
#include "core/memory/gpuval_cells.h"
#include "core/memory/gpuval_marks.h"
#include "core/printf/gpuval_printf.h"
#include "gpuval_coverage.h"

#include <string.h>

#include "util/ralloc.h"
#include "util/u_atomic.h"

/* Keys that are hashes themselves, and may lie anywhere */
static uint32_t
hash_of_hash(const void *key)
{
   uint32_t hash;
   memcpy(&hash, key, sizeof(hash));
   return hash;
}

static bool
hashes_equal(const void *a, const void *b)
{
   return !memcmp(a, b, sizeof(uint64_t));
}

static bool
keys_equal(const void *a, const void *b)
{
   return !memcmp(a, b, GPUVAL_SHADER_KEY_SIZE);
}

void
gpuval_shaders_init(struct gpuval_device *device)
{
   struct gpuval_shaders *shaders = device->shaders;

   shaders->modules = _mesa_hash_table_create(device, hash_of_hash, hashes_equal);
   shaders->by_key = _mesa_hash_table_create(device, hash_of_hash, keys_equal);
   util_dynarray_init(&shaders->by_site, device);
   /* The last of each is for what is in no shader (GPUVAL_INDIRECT_*). */
   gpuval_numbers_init(&shaders->numbers, device, device->info.max_sites - 1,
                       device->info.max_entries - 1);
   list_inithead(&shaders->retired);
   list_inithead(&shaders->ending);
}

void
gpuval_shaders_finish(struct gpuval_device *device)
{
   gpuval_numbers_finish(&device->shaders->numbers);
}

static uint64_t
first_bits(const blake3_hash hash)
{
   uint64_t first;
   memcpy(&first, hash, sizeof(first));
   return first;
}

uint64_t
gpuval_shader_hash(const uint32_t *spirv, size_t spirv_size)
{
   blake3_hash hash;
   _mesa_blake3_compute(spirv, spirv_size, hash);
   return first_bits(hash);
}

struct gpuval_shader *
gpuval_device_site_shader(struct gpuval_device *device, uint32_t site)
{
   if (site >= util_dynarray_num_elements(&device->shaders->by_site, struct gpuval_shader *))
      return NULL;
   return *util_dynarray_element(&device->shaders->by_site, struct gpuval_shader *, site);
}

struct gpuval_shader *
gpuval_device_entry_shader(struct gpuval_device *device, uint32_t entry)
{
   const struct gpuval_entry *entries = device->entries.map;
   if (entry >= device->info.max_entries)
      return NULL;

   /* The table is not cleared: who has that site now may have other entries. */
   struct gpuval_shader *shader = gpuval_device_site_shader(device, entries[entry].site);
   return shader && entry - shader->entry_base < shader->num_entries ? shader : NULL;
}

struct gpuval_spirv *
gpuval_module_spirv(struct gpuval_module *module)
{
   if (!module->spirv && module->words)
      module->spirv = gpuval_spirv_create(module, module->words, module->size / 4);
   return module->spirv;
}

static struct gpuval_module *
create_module(const struct gpuval_shader_info *info, uint64_t hash)
{
   struct gpuval_module *module = rzalloc(NULL, struct gpuval_module);

   module->hash = hash;
   module->words = ralloc_memdup(module, info->spirv, info->spirv_size);
   module->size = info->spirv_size;
   return module;
}

/* @copy, which is taken over, is it if there is none yet. */
static struct gpuval_module *
get_module(struct gpuval_device *device, struct gpuval_module *copy)
{
   struct hash_entry *entry = _mesa_hash_table_search(device->shaders->modules, &copy->hash);
   struct gpuval_module *module = entry ? entry->data : copy;

   if (entry) {
      ralloc_free(copy);
   } else {
      ralloc_steal(device, module);
      _mesa_hash_table_insert(device->shaders->modules, &module->hash, module);
   }
   module->users++;
   return module;
}

/* Everything that makes two shaders of a module different, in the form in which binaries
 * hold it, too.
 */
static void
write_info(struct blob *blob, const struct gpuval_shader_info *info,
           const struct gpuval_nir_table *table)
{
   blob_write_uint32(blob, info->stage);
   blob_write_string(blob, info->entry);
   blob_write_uint8(blob, info->name != NULL);
   blob_write_string(blob, info->name ? info->name : "");

   blob_write_uint32(blob, info->num_bindings);
   for (unsigned i = 0; i < info->num_bindings; i++) {
      blob_write_uint32(blob, info->bindings[i].set);
      blob_write_uint32(blob, info->bindings[i].binding);
      blob_write_uint32(blob, info->bindings[i].type);
      blob_write_uint32(blob, info->bindings[i].first_slot);
      blob_write_uint32(blob, info->bindings[i].array_size);
      blob_write_uint32(blob, info->bindings[i].stride);
      blob_write_uint32(blob, info->bindings[i].inline_size);
      blob_write_uint8(blob, info->bindings[i].is_variable);
   }

   blob_write_uint32(blob, util_dynarray_num_elements(&table->sites, struct gpuval_site));
   util_dynarray_foreach (&table->sites, struct gpuval_site, site) {
      blob_write_uint32(blob, site->kind);
      blob_write_uint32(blob, site->op);
      blob_write_uint32(blob, site->spirv_offset);
      blob_write_uint32(blob, site->set);
      blob_write_uint32(blob, site->binding);
      blob_write_uint32(blob, site->num_kinds);
      blob_write_uint8(blob, site->same_value);
      blob_write_uint8(blob, site->by_filter);
      blob_write_string(blob, gpuval_site_name(table->names.data, site) ?: "");
      blob_write_uint32(blob, site->length);
      blob_write_uint8(blob, site->array);
   }

   blob_write_uint32(blob, util_dynarray_num_elements(&table->entries, struct gpuval_nir_entry));
   util_dynarray_foreach (&table->entries, struct gpuval_nir_entry, entry) {
      blob_write_uint32(blob, entry->offset);
      blob_write_uint32(blob, entry->size);
      blob_write_uint32(blob, entry->site);
      blob_write_uint32(blob, entry->instance);
      blob_write_uint32(blob, entry->num_slots);
      blob_write_uint8(blob, entry->set);
      blob_write_uint8(blob, entry->flags);
   }

   blob_write_uint32(blob, util_dynarray_num_elements(&table->uses, struct gpuval_nir_use));
   util_dynarray_foreach (&table->uses, struct gpuval_nir_use, use) {
      blob_write_uint32(blob, use->required);
      blob_write_uint32(blob, use->first_slot);
      blob_write_uint32(blob, use->num_slots);
      blob_write_uint8(blob, use->set);
      blob_write_uint16(blob, use->flags);
   }

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
release_module(struct gpuval_device *device, struct gpuval_module *module)
{
   if (--module->users)
      return;

   _mesa_hash_table_remove_key(device->shaders->modules, &module->hash);
   ralloc_free(module);
}

static bool
alloc_numbers(struct gpuval_device *device, struct gpuval_number_range *range)
{
   if (gpuval_numbers_alloc(&device->shaders->numbers, range))
      return true;

   if (!device->shaders->warned_full)
      gpuval_log_warning("the shaders of this program have more than %u accesses at a time: "
                         "those that do not fit are not checked",
                         device->info.max_entries);
   device->shaders->warned_full = true;
   return false;
}

static void
upload_entries(struct gpuval_device *device, const struct gpuval_shader *shader)
{
   struct gpuval_entry *entries = (struct gpuval_entry *)device->entries.map + shader->entry_base;

   for (unsigned i = 0; i < shader->num_entries; i++) {
      entries[i] = (struct gpuval_entry){
         .offset = shader->entries[i].offset,
         .size = shader->entries[i].size,
         .site = shader->first_site + shader->entries[i].site,
         .stage = gpuval_stage_to_spirv(shader->stage),
         .shader_hash = {shader->module->hash, shader->module->hash >> 32},
         .instance = shader->entries[i].instance,
         .num_slots = shader->entries[i].num_slots,
         .set = shader->entries[i].set,
         .flags = shader->entries[i].flags,
      };
   }
}

static void
add_formats(struct gpuval_device *device, struct gpuval_shader *shader,
            const struct util_dynarray *formats)
{
   shader->num_formats = util_dynarray_num_elements(formats, struct gpuval_nir_format);
   shader->formats =
      ralloc_memdup(shader, util_dynarray_begin((struct util_dynarray *)formats), formats->size);

   for (unsigned i = 0; i < shader->num_formats; i++) {
      struct gpuval_nir_format *format = &shader->formats[i];
      format->string = ralloc_strdup(shader, format->string);
      format->arguments = ralloc_memdup(shader, format->arguments,
                                        format->num_arguments * sizeof(*format->arguments));
      if (device->printf->formats)
         gpuval_printf_add_format(device->printf, format, shader,
                                  shader->first_site + format->site);
   }
}

static struct gpuval_shader *
register_shader(struct gpuval_device *device, const struct gpuval_shader_info *info,
                struct gpuval_module *module, const struct gpuval_nir_table *table,
                const uint8_t *key)
{
   struct gpuval_number_range range = {
      .num_sites = util_dynarray_num_elements(&table->sites, struct gpuval_site),
      .num_entries = util_dynarray_num_elements(&table->entries, struct gpuval_nir_entry),
   };
   if (!alloc_numbers(device, &range)) {
      device->coverage->left_out++;
      ralloc_free(module);
      return NULL;
   }

   struct gpuval_shader *shader = rzalloc(device, struct gpuval_shader);
   memcpy(shader->key, key, sizeof(shader->key));
   shader->device = device;
   shader->module = get_module(device, module);
   shader->stage = info->stage;
   shader->entry = ralloc_strdup(shader, info->entry);
   shader->name = info->name ? ralloc_strdup(shader, info->name) : NULL;
   shader->num_bindings = info->num_bindings;
   shader->bindings =
      ralloc_memdup(shader, info->bindings, info->num_bindings * sizeof(*info->bindings));
   shader->num_sites = range.num_sites;
   shader->first_site = range.first_site;
   shader->states = rzalloc_array(shader, struct gpuval_site_state, MAX2(range.num_sites, 1));
   shader->sites = ralloc_memdup(shader, util_dynarray_begin((struct util_dynarray *)&table->sites),
                                 table->sites.size);
   shader->names = ralloc_memdup(shader, util_dynarray_begin((struct util_dynarray *)&table->names),
                                 table->names.size);
   shader->names_size = table->names.size;
   shader->num_entries = range.num_entries;
   shader->entry_base = range.first_entry;
   shader->entries = ralloc_memdup(
      shader, util_dynarray_begin((struct util_dynarray *)&table->entries), table->entries.size);
   shader->num_uses = util_dynarray_num_elements(&table->uses, struct gpuval_nir_use);
   shader->uses = ralloc_memdup(shader, util_dynarray_begin((struct util_dynarray *)&table->uses),
                                table->uses.size);

   uint32_t num_known =
      util_dynarray_num_elements(&device->shaders->by_site, struct gpuval_shader *);
   for (; num_known < range.first_site + range.num_sites; num_known++)
      util_dynarray_append_typed(&device->shaders->by_site, struct gpuval_shader *, NULL);
   for (unsigned i = 0; i < range.num_sites; i++)
      *util_dynarray_element(&device->shaders->by_site, struct gpuval_shader *,
                             range.first_site + i) = shader;
   upload_entries(device, shader);
   add_formats(device, shader, &table->formats);

   shader->users = 1;
   shader->serial = device->num_registered + 1;
   p_atomic_set(&device->num_registered, shader->serial);
   _mesa_hash_table_insert(device->shaders->by_key, shader->key, shader);
   return shader;
}

static void
free_shader(struct gpuval_device *device, struct gpuval_shader *shader)
{
   gpuval_coverage_take(device, shader);
   for (unsigned i = 0; device->printf->formats && i < shader->num_formats; i++)
      gpuval_printf_remove_format(device->printf, shader->formats[i].id, shader);
   for (unsigned i = 0; i < shader->num_sites; i++)
      *util_dynarray_element(&device->shaders->by_site, struct gpuval_shader *,
                             shader->first_site + i) = NULL;
   gpuval_numbers_free(&device->shaders->numbers, &(struct gpuval_number_range){
                                                     .first_site = shader->first_site,
                                                     .num_sites = shader->num_sites,
                                                     .first_entry = shader->entry_base,
                                                     .num_entries = shader->num_entries,
                                                  });
   _mesa_hash_table_remove_key(device->shaders->by_key, shader->key);
   release_module(device, shader->module);
   list_del(&shader->link);
   ralloc_free(shader);
}

void
gpuval_device_free_shaders(struct gpuval_device *device)
{
   while (!device->work[!device->phase]) {
      /* Of what has been printed, some may still have to wait for its turn. */
      bool is_printing = device->printf->formats && gpuval_printf_has_news(device->printf);

      gpuval_device_drain_ending(device);
      list_for_each_entry_safe (struct gpuval_shader, shader, &device->shaders->ending, link) {
         if (!is_printing || !shader->num_formats)
            free_shader(device, shader);
      }
      gpuval_marks_free_ending(device);
      gpuval_addresses_free_ending(device);
      if (!gpuval_device_give_back(device) && list_is_empty(&device->shaders->retired) &&
          !gpuval_marks_has_retired(device) && !gpuval_addresses_has_retired(device))
         return;

      list_for_each_entry (struct gpuval_shader, shader, &device->shaders->retired, link)
         shader->is_ending = true;
      list_splicetail(&device->shaders->retired, &device->shaders->ending);
      list_inithead(&device->shaders->retired);
      gpuval_marks_turn(device);
      gpuval_addresses_turn(device);
      device->phase = !device->phase;
      gpuval_device_turn(device);
   }
}

static struct gpuval_shader *
find_shader(struct gpuval_device *device, const uint8_t *key)
{
   struct hash_entry *entry = _mesa_hash_table_search(device->shaders->by_key, key);
   return entry ? entry->data : NULL;
}

static void
use(struct gpuval_shader *shader)
{
   if (!shader->users++) {
      list_del(&shader->link); /* just in time */
      shader->is_ending = false;
   }
}

struct gpuval_shader *
gpuval_device_find_shader(struct gpuval_device *device, const uint8_t key[GPUVAL_SHADER_KEY_SIZE])
{
   mtx_lock(&device->mutex);
   struct gpuval_shader *shader = find_shader(device, key);
   if (shader)
      use(shader);
   mtx_unlock(&device->mutex);

   return shader;
}

struct gpuval_shader *
gpuval_device_add_shader(struct gpuval_device *device, const struct gpuval_shader_info *info,
                         const struct gpuval_nir_table *table, uint8_t key[GPUVAL_SHADER_KEY_SIZE])
{
   blake3_hash spirv_hash, hash;
   struct blob blob;

   _mesa_blake3_compute(info->spirv, info->spirv_size, spirv_hash);
   blob_init(&blob);
   blob_write_bytes(&blob, spirv_hash, sizeof(spirv_hash));
   write_info(&blob, info, table);
   _mesa_blake3_compute(blob.data, blob.size, hash);
   blob_finish(&blob);
   static_assert(sizeof(hash) >= GPUVAL_SHADER_KEY_SIZE, "keys are BLAKE3 hashes");
   memcpy(key, hash, GPUVAL_SHADER_KEY_SIZE);

   struct gpuval_shader *shader = gpuval_device_find_shader(device, key);
   if (shader)
      return shader;

   /* What takes long is done without the mutex: many threads create shaders. Another one
    * may have created the same meanwhile. */
   struct gpuval_module *module = create_module(info, first_bits(spirv_hash));
   mtx_lock(&device->mutex);
   shader = find_shader(device, key);
   if (shader) {
      use(shader);
      ralloc_free(module);
   } else {
      shader = register_shader(device, info, module, table, key);
   }
   mtx_unlock(&device->mutex);

   return shader;
}

struct gpuval_shader *
gpuval_device_hold_shader(struct gpuval_device *device, uint32_t number)
{
   mtx_lock(&device->mutex);
   struct gpuval_shader *shader = number ? gpuval_device_site_shader(device, number - 1) : NULL;
   if (shader && shader->first_site != number - 1)
      shader = NULL;
   if (shader)
      use(shader);
   mtx_unlock(&device->mutex);

   return shader;
}

void
gpuval_shader_hold(struct gpuval_shader *shader)
{
   mtx_lock(&shader->device->mutex);
   shader->users++;
   mtx_unlock(&shader->device->mutex);
}

void
gpuval_shader_release(struct gpuval_shader *shader)
{
   struct gpuval_device *device = shader->device;

   mtx_lock(&device->mutex);
   assert(shader->users);
   if (!--shader->users) {
      list_addtail(&shader->link, &device->shaders->retired);
      gpuval_device_free_shaders(device);
   }
   gpuval_device_unlock(device);
}

uint32_t
gpuval_shader_entry_base(const struct gpuval_shader *shader)
{
   return shader->entry_base;
}

mesa_shader_stage
gpuval_shader_stage(const struct gpuval_shader *shader)
{
   return shader->stage;
}

const struct gpuval_nir_use *
gpuval_shader_uses(const struct gpuval_shader *shader, uint32_t *num_uses)
{
   *num_uses = shader->num_uses;
   return shader->uses;
}

uint32_t
gpuval_shader_site(const struct gpuval_shader *shader, uint32_t number)
{
   return shader->first_site + MIN2(number, shader->num_sites - 1);
}

uint64_t
gpuval_shader_serial(const struct gpuval_shader *shader)
{
   return shader->serial;
}

uint32_t
gpuval_shader_number(const struct gpuval_shader *shader)
{
   return shader->first_site + 1;
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
   write_info(blob, &info, &table);
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

   struct gpuval_binding *bindings =
      array_for(blob, mem_ctx, info->num_bindings, 29, sizeof(*bindings));
   for (unsigned i = 0; bindings && i < info->num_bindings; i++) {
      bindings[i].set = blob_read_uint32(blob);
      bindings[i].binding = blob_read_uint32(blob);
      bindings[i].type = blob_read_uint32(blob);
      bindings[i].first_slot = blob_read_uint32(blob);
      bindings[i].array_size = blob_read_uint32(blob);
      bindings[i].stride = blob_read_uint32(blob);
      bindings[i].inline_size = blob_read_uint32(blob);
      bindings[i].is_variable = blob_read_uint8(blob);
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
      struct gpuval_site site = {0};
      site.kind = blob_read_uint32(blob);
      site.op = blob_read_uint32(blob);
      site.spirv_offset = blob_read_uint32(blob);
      site.set = blob_read_uint32(blob);
      site.binding = blob_read_uint32(blob);
      site.num_kinds = blob_read_uint32(blob);
      site.same_value = blob_read_uint8(blob);
      site.by_filter = blob_read_uint8(blob);
      const char *name = read_string(blob);
      site.name = name && *name ? gpuval_nir_add_name(table, name) : 0;
      site.length = blob_read_uint32(blob);
      site.array = blob_read_uint8(blob);
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
      struct gpuval_nir_entry entry;
      entry.offset = blob_read_uint32(blob);
      entry.size = blob_read_uint32(blob);
      entry.site = blob_read_uint32(blob);
      entry.instance = blob_read_uint32(blob);
      entry.num_slots = blob_read_uint32(blob);
      entry.set = blob_read_uint8(blob);
      entry.flags = blob_read_uint8(blob);
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
   if (!(use->flags & GPUVAL_USE_CONSTANT) || use->set >= device->info.max_sets ||
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
      struct gpuval_nir_use use;
      use.required = blob_read_uint32(blob);
      use.first_slot = blob_read_uint32(blob);
      use.num_slots = blob_read_uint32(blob);
      use.set = blob_read_uint8(blob);
      use.flags = blob_read_uint16(blob);
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
