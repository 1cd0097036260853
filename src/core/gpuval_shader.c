/* SPDX-License-Identifier: MIT */

/* Shaders and their tables of sites. */

#include "gpuval_device.h"

#include <string.h>

#include "util/ralloc.h"

uint64_t
gpuval_shader_hash(const uint32_t *spirv, size_t spirv_size)
{
   blake3_hash hash;
   uint64_t first;

   _mesa_blake3_compute(spirv, spirv_size, hash);
   memcpy(&first, hash, sizeof(first));
   return first;
}

struct gpuval_shader *
gpuval_device_site_shader(struct gpuval_device *device, uint32_t site)
{
   if (site >= util_dynarray_num_elements(&device->by_site, struct gpuval_shader *))
      return NULL;
   return *util_dynarray_element(&device->by_site, struct gpuval_shader *, site);
}

struct gpuval_shader *
gpuval_device_entry_shader(struct gpuval_device *device, uint32_t entry)
{
   const struct gpuval_entry *entries = device->entries.map;

   return entry < device->num_entries ? gpuval_device_site_shader(device, entries[entry].site)
                                      : NULL;
}

struct gpuval_spirv *
gpuval_module_spirv(struct gpuval_module *module)
{
   if (!module->spirv && module->words)
      module->spirv = gpuval_spirv_create(module, module->words, module->size / 4);
   return module->spirv;
}

static struct gpuval_module *
get_module(struct gpuval_device *device, const uint32_t *spirv, size_t spirv_size)
{
   uint64_t hash = gpuval_shader_hash(spirv, spirv_size);
   struct hash_entry *entry = _mesa_hash_table_search(device->modules, &hash);
   if (entry)
      return entry->data;

   struct gpuval_module *module = rzalloc(device, struct gpuval_module);
   module->hash = hash;
   module->words = ralloc_memdup(module, spirv, spirv_size);
   module->size = spirv_size;
   _mesa_hash_table_insert(device->modules, &module->hash, module);
   return module;
}

/* Everything that makes two shaders different, in the form in which binaries
 * hold it, too.
 */
static void
write_info(struct blob *blob, const struct gpuval_shader_info *info,
           const struct gpuval_nir_table *table)
{
   blob_write_uint32(blob, info->spirv_size);
   blob_write_bytes(blob, info->spirv, info->spirv_size);
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
   }

   blob_write_uint32(blob, util_dynarray_num_elements(&table->sites, struct gpuval_site));
   util_dynarray_foreach (&table->sites, struct gpuval_site, site) {
      blob_write_uint32(blob, site->kind);
      blob_write_uint32(blob, site->op);
      blob_write_uint32(blob, site->spirv_offset);
      blob_write_uint32(blob, site->set);
      blob_write_uint32(blob, site->binding);
      blob_write_uint32(blob, site->num_kinds);
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
      blob_write_uint8(blob, use->flags);
   }

   blob_write_uint32(blob, util_dynarray_num_elements(&table->formats, struct gpuval_nir_format));
   util_dynarray_foreach (&table->formats, struct gpuval_nir_format, format) {
      blob_write_uint64(blob, format->id);
      blob_write_string(blob, format->string);
      blob_write_uint32(blob, format->site);
      blob_write_uint8(blob, format->has_invocation);
      blob_write_uint32(blob, format->num_arguments);
      for (unsigned i = 0; i < format->num_arguments; i++) {
         blob_write_uint8(blob, format->arguments[i].type);
         blob_write_uint8(blob, format->arguments[i].bit_size);
         blob_write_uint8(blob, format->arguments[i].components);
      }
   }
}

static bool
has_room(struct gpuval_device *device, unsigned num_sites, unsigned num_entries)
{
   uint32_t sites = util_dynarray_num_elements(&device->by_site, struct gpuval_shader *);

   /* The last of each is for what is in no shader (GPUVAL_INDIRECT_*). */
   if (num_sites <= device->info.max_sites - 1 - sites &&
       num_entries <= device->info.max_entries - 1 - device->num_entries)
      return true;

   if (!device->warned_full)
      gpuval_log_warning("this program has more than %u accesses in its shaders: shaders that "
                         "are created from here on are not checked",
                         device->info.max_entries);
   device->warned_full = true;
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
      if (device->printf.formats)
         gpuval_printf_add_format(&device->printf, format, shader,
                                  shader->first_site + format->site);
   }
}

static struct gpuval_shader *
register_shader(struct gpuval_device *device, const struct gpuval_shader_info *info,
                const struct gpuval_nir_table *table, const uint8_t *key)
{
   unsigned num_sites = util_dynarray_num_elements(&table->sites, struct gpuval_site);
   unsigned num_entries = util_dynarray_num_elements(&table->entries, struct gpuval_nir_entry);
   if (!has_room(device, num_sites, num_entries))
      return NULL;

   struct gpuval_shader *shader = rzalloc(device, struct gpuval_shader);
   memcpy(shader->key, key, sizeof(shader->key));
   shader->module = get_module(device, info->spirv, info->spirv_size);
   shader->stage = info->stage;
   shader->entry = ralloc_strdup(shader, info->entry);
   shader->name = info->name ? ralloc_strdup(shader, info->name) : NULL;
   shader->num_bindings = info->num_bindings;
   shader->bindings =
      ralloc_memdup(shader, info->bindings, info->num_bindings * sizeof(*info->bindings));
   shader->num_sites = num_sites;
   shader->sites = ralloc_memdup(shader, util_dynarray_begin((struct util_dynarray *)&table->sites),
                                 table->sites.size);
   shader->first_site = util_dynarray_num_elements(&device->by_site, struct gpuval_shader *);
   shader->num_entries = num_entries;
   shader->entries = ralloc_memdup(
      shader, util_dynarray_begin((struct util_dynarray *)&table->entries), table->entries.size);
   shader->num_uses = util_dynarray_num_elements(&table->uses, struct gpuval_nir_use);
   shader->uses = ralloc_memdup(shader, util_dynarray_begin((struct util_dynarray *)&table->uses),
                                table->uses.size);
   shader->entry_base = device->num_entries;
   device->num_entries += num_entries;

   for (unsigned i = 0; i < num_sites; i++) {
      util_dynarray_append(&device->by_site, struct gpuval_shader *, shader);
      util_dynarray_append(&device->site_events, struct gpuval_event *, NULL);
      util_dynarray_append(&device->site_counts, uint64_t, 0);
   }
   upload_entries(device, shader);
   add_formats(device, shader, &table->formats);

   _mesa_hash_table_insert(device->shaders, shader->key, shader);
   return shader;
}

static void
compute_key(const struct blob *blob, uint8_t key[GPUVAL_SHADER_KEY_SIZE])
{
   blake3_hash hash;
   static_assert(sizeof(hash) >= GPUVAL_SHADER_KEY_SIZE, "keys are BLAKE3 hashes");
   _mesa_blake3_compute(blob->data, blob->size, hash);
   memcpy(key, hash, GPUVAL_SHADER_KEY_SIZE);
}

static struct gpuval_shader *
find_or_register(struct gpuval_device *device, const struct gpuval_shader_info *info,
                 const struct gpuval_nir_table *table, const uint8_t *key)
{
   mtx_lock(&device->mutex);
   struct hash_entry *entry = _mesa_hash_table_search(device->shaders, key);
   struct gpuval_shader *shader = entry ? entry->data : register_shader(device, info, table, key);
   mtx_unlock(&device->mutex);

   return shader;
}

bool
gpuval_device_add_shader(struct gpuval_device *device, const struct gpuval_shader_info *info,
                         const struct gpuval_nir_table *table, uint8_t key[GPUVAL_SHADER_KEY_SIZE],
                         uint32_t *entry_base)
{
   struct blob blob;
   blob_init(&blob);
   write_info(&blob, info, table);
   compute_key(&blob, key);
   blob_finish(&blob);

   struct gpuval_shader *shader = find_or_register(device, info, table, key);
   if (shader)
      *entry_base = shader->entry_base;
   return shader != NULL;
}

bool
gpuval_device_find_shader(struct gpuval_device *device, const uint8_t key[GPUVAL_SHADER_KEY_SIZE],
                          uint32_t *entry_base)
{
   mtx_lock(&device->mutex);
   struct hash_entry *entry = _mesa_hash_table_search(device->shaders, key);
   if (entry)
      *entry_base = ((struct gpuval_shader *)entry->data)->entry_base;
   mtx_unlock(&device->mutex);

   return entry != NULL;
}

const struct gpuval_nir_use *
gpuval_device_shader_uses(struct gpuval_device *device, const uint8_t key[GPUVAL_SHADER_KEY_SIZE],
                          uint32_t *num_uses)
{
   mtx_lock(&device->mutex);
   struct hash_entry *entry = _mesa_hash_table_search(device->shaders, key);
   const struct gpuval_shader *shader = entry ? entry->data : NULL;
   mtx_unlock(&device->mutex);

   *num_uses = shader ? shader->num_uses : 0;
   return shader ? shader->uses : NULL;
}

void
gpuval_device_write_shader(struct gpuval_device *device, const uint8_t key[GPUVAL_SHADER_KEY_SIZE],
                           struct blob *blob)
{
   mtx_lock(&device->mutex);
   struct hash_entry *entry = _mesa_hash_table_search(device->shaders, key);
   struct gpuval_shader *shader = entry ? entry->data : NULL;
   mtx_unlock(&device->mutex);

   blob_write_uint8(blob, shader != NULL);
   if (!shader)
      return;

   /* Registered shaders never change. */
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
      .uses = {.data = shader->uses, .size = shader->num_uses * sizeof(*shader->uses)},
   };
   write_info(blob, &info, &table);
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
      if (arguments[i].type >= GPUVAL_ARGUMENT_TYPE_COUNT)
         return false;
   }
   format->arguments = arguments;
   return arguments != NULL;
}

static bool
read_formats(struct blob_reader *blob, struct gpuval_nir_table *table, uint32_t num_sites)
{
   uint32_t num_formats = blob_read_uint32(blob);

   for (unsigned i = 0; i < num_formats && !blob->overrun; i++) {
      struct gpuval_nir_format format;
      format.id = blob_read_uint64(blob);
      format.string = read_string(blob);
      format.site = blob_read_uint32(blob);
      format.has_invocation = blob_read_uint8(blob);
      format.num_arguments = blob_read_uint32(blob);
      if (blob->overrun || format.id >> GPUVAL_PRINTF_ID_BITS || format.site >= num_sites ||
          !read_arguments(blob, table->mem_ctx, &format))
         return false;
      util_dynarray_append(&table->formats, struct gpuval_nir_format, format);
   }
   return !blob->overrun;
}

static bool
read_info(struct blob_reader *blob, void *mem_ctx, struct gpuval_shader_info *info,
          struct gpuval_nir_table *table)
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

   info->num_bindings = blob_read_uint32(blob);
   struct gpuval_binding *bindings =
      array_for(blob, mem_ctx, info->num_bindings, 28, sizeof(*bindings));
   for (unsigned i = 0; bindings && i < info->num_bindings; i++) {
      bindings[i].set = blob_read_uint32(blob);
      bindings[i].binding = blob_read_uint32(blob);
      bindings[i].type = blob_read_uint32(blob);
      bindings[i].first_slot = blob_read_uint32(blob);
      bindings[i].array_size = blob_read_uint32(blob);
      bindings[i].stride = blob_read_uint32(blob);
      bindings[i].inline_size = blob_read_uint32(blob);
   }
   info->bindings = bindings;

   uint32_t num_sites = blob_read_uint32(blob);
   for (unsigned i = 0; i < num_sites && !blob->overrun; i++) {
      struct gpuval_site site;
      site.kind = blob_read_uint32(blob);
      site.op = blob_read_uint32(blob);
      site.spirv_offset = blob_read_uint32(blob);
      site.set = blob_read_uint32(blob);
      site.binding = blob_read_uint32(blob);
      site.num_kinds = blob_read_uint32(blob);
      if (site.kind >= GPUVAL_KIND_COUNT || site.op >= GPUVAL_OP_COUNT ||
          !gpuval_op_infos[site.op].has_site)
         return false;
      util_dynarray_append(&table->sites, struct gpuval_site, site);
   }

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
      if (entry.site >= num_sites)
         return false;
      util_dynarray_append(&table->entries, struct gpuval_nir_entry, entry);
   }

   uint32_t num_uses = blob_read_uint32(blob);
   for (unsigned i = 0; i < num_uses && !blob->overrun; i++) {
      struct gpuval_nir_use use;
      use.required = blob_read_uint32(blob);
      use.first_slot = blob_read_uint32(blob);
      use.num_slots = blob_read_uint32(blob);
      use.set = blob_read_uint8(blob);
      use.flags = blob_read_uint8(blob);
      util_dynarray_append(&table->uses, struct gpuval_nir_use, use);
   }

   return !blob->overrun && read_formats(blob, table, num_sites);
}

bool
gpuval_device_read_shader(struct gpuval_device *device, struct blob_reader *blob)
{
   if (!blob_read_uint8(blob))
      return !blob->overrun;

   void *mem_ctx = ralloc_context(NULL);
   struct gpuval_shader_info info = {0};
   struct gpuval_nir_table table;
   gpuval_nir_table_init(&table, mem_ctx);

   bool read = read_info(blob, mem_ctx, &info, &table);
   if (read) {
      struct blob again;
      uint8_t key[GPUVAL_SHADER_KEY_SIZE];
      blob_init(&again);
      write_info(&again, &info, &table);
      compute_key(&again, key);
      blob_finish(&again);
      read = find_or_register(device, &info, &table, key) != NULL;
   }

   ralloc_free(mem_ctx);
   return read;
}
