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

uint64_t
gpuval_shader_hash_of(const uint8_t *module_hash)
{
   uint64_t first;
   memcpy(&first, module_hash, sizeof(first));
   return first;
}

uint64_t
gpuval_shader_hash(const uint32_t *spirv, size_t spirv_size)
{
   blake3_hash hash;
   _mesa_blake3_compute(spirv, spirv_size, hash);
   return gpuval_shader_hash_of(hash);
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
create_module(const struct gpuval_shader_info *info)
{
   struct gpuval_module *module = rzalloc(NULL, struct gpuval_module);

   module->hash = info->hash;
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
   blake3_hash hash;
   struct blob blob;

   blob_init(&blob);
   blob_write_uint64(&blob, info->hash);
   gpuval_shader_write_info(&blob, info, table);
   _mesa_blake3_compute(blob.data, blob.size, hash);
   blob_finish(&blob);
   static_assert(sizeof(hash) >= GPUVAL_SHADER_KEY_SIZE, "keys are BLAKE3 hashes");
   memcpy(key, hash, GPUVAL_SHADER_KEY_SIZE);

   struct gpuval_shader *shader = gpuval_device_find_shader(device, key);
   if (shader)
      return shader;

   /* What takes long is done without the mutex: many threads create shaders. Another one
    * may have created the same meanwhile. */
   struct gpuval_module *module = create_module(info);
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
