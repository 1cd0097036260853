/* SPDX-License-Identifier: MIT */

/* What binaries of shaders have of gpuval, at their end, behind what RADV puts there: so that code
 * which comes out of a cache, of this process or of another one, is checked as if it had just been
 * compiled.
 *
 *    words: struct header
 *    relocations, a word each: a dword of the code, and whose entries' first number is to be added
 *    for each shader, two where stages are merged: struct made_from, which ends with
 *    gpuval_device_write_shader()
 *
 * Code has no other number of its shader in it. What it has of the device is in `device` and in the
 * keys of caches. That of ray tracing is different, see gpuval_radv_stays().
 */

#include "gpuval_radv_private.h"
#include "gpuval_radv_softgpu.h"

#include <stdlib.h>
#include <unistd.h>

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "aco_shader_info.h"
#include "radv_device.h"
#include "radv_shader.h"
#include "sid.h"

#include "gpuval/src/core/descriptors/gpuval_objects.h"
#include "gpuval/src/core/memory/gpuval_cells.h"
#include "gpuval/src/core/memory/gpuval_marks.h"
#include "gpuval/src/core/shaders/gpuval_instrument.h"
#include "gpuval/src/core/shaders/gpuval_shader.h"
#include "util/blob.h"
#include "util/os_time.h"
#include "util/u_atomic.h"
#define XXH_INLINE_ALL
#include "util/xxhash.h"
#include "vk_pipeline.h"
#include "vk_pipeline_cache.h"
#include "vk_shader_module.h"

/* The shader of one stage that a binary is made from, as the binary has it */
struct made_from {
   uint32_t stage;
   uint32_t selection; /* BITFIELD_BIT(enum gpuval_radv_selection) */
   uint32_t hash[2];   /* of the SPIR-V, where there is no table */
};

/* A relocation: the dword, and the stage from here on */
#define STAGE_SHIFT 27
static_assert(GPUVAL_STAGE_COUNT <= 1u << (32 - STAGE_SHIFT), "they fit");

struct header {
   uint32_t device[2]; /* which can use it: get_device_id() */
   uint32_t num_shaders;
   uint32_t num_relocations;
};

static uint32_t
get_dword(uint32_t relocation)
{
   return relocation & BITFIELD_MASK(STAGE_SHIFT);
}

struct gpuval_radv_part {
   const struct gpuval_device *device;
   struct header header;
   struct made_from made_from[2];
   uint32_t relocations[]; /* sorted as ACO has them */
};

/* Caches */

/* Addresses and engines that code has as constants; they do not change while the device lives. With
 * the same driver, GPU and options they are the same in each process that creates its device first.
 */
static uint64_t
get_device_id(const struct gpuval_radv *gpuval)
{
   struct gpuval_device *device = gpuval->device;
   const struct gpuval_objects *objects = gpuval_device_objects(device);
   const uint64_t constants[] = {
      objects ? gpuval_objects_address(objects) : 0,
      gpuval->stand_in,
      gpuval->null_structure,
      gpuval_radv_data_size(gpuval),
      gpuval_device_has_shadow(device) | gpuval_device_has_cells(device) << 1 |
         (gpuval->radv->trap_handler_shader != NULL) << 2,
      gpuval_options()->record,
      gpuval_options()->marks_failures,
   };
   return XXH64(constants, sizeof(constants), 0);
}

void
gpuval_radv_hash_device(const struct gpuval_radv *gpuval, bool stays, struct mesa_sha1 *ctx)
{
   /* What is dumped has to be compiled. */
   const bool is_own = stays || gpuval_options()->dump;
   const uint64_t words[] = {
      get_device_id(gpuval),
      gpuval->broken_checks,
      gpuval->swaps | gpuval_device_has_marks(gpuval->device) << 1,
      is_own ? gpuval->nonce : 0,
   };
   _mesa_sha1_update(ctx, words, sizeof(words));
}

void
gpuval_radv_mix_name(const VkPipelineShaderStageCreateInfo *info, uint8_t sha1[SHA1_DIGEST_LENGTH])
{
   VK_FROM_HANDLE(vk_shader_module, module, info->module);
   const char *name = module ? module->base.object_name : NULL;

   if (!name)
      return;
   struct mesa_sha1 ctx;
   _mesa_sha1_init(&ctx);
   _mesa_sha1_update(&ctx, sha1, SHA1_DIGEST_LENGTH);
   _mesa_sha1_update(&ctx, name, strlen(name));
   _mesa_sha1_final(&ctx, sha1);
}

struct vk_pipeline_cache *
gpuval_radv_memory_cache(const struct gpuval_radv *gpuval)
{
   return gpuval->memory_cache ? gpuval->memory_cache : gpuval->radv->mem_cache;
}

void
gpuval_radv_init_binaries(struct gpuval_radv *gpuval)
{
   static uint32_t devices;
   gpuval->nonce =
      (uint64_t)p_atomic_inc_return(&devices) << 32 ^ os_time_get_nano() ^ (uint64_t)getpid() << 48;

   const struct vk_pipeline_cache_create_info info = {.weak_ref = true, .skip_disk_cache = true};
   gpuval->memory_cache = vk_pipeline_cache_create(&gpuval->radv->vk, &info, NULL);
}

void
gpuval_radv_finish_binaries(struct gpuval_radv *gpuval)
{
   if (gpuval->memory_cache)
      vk_pipeline_cache_destroy(gpuval->memory_cache, NULL);
}

/* Compiling */

/* nir_shader::info.source_blake3 has it behind the key of the shader. */
void
gpuval_radv_select(nir_shader *nir, uint32_t selection)
{
   static_assert(sizeof(nir->info.source_blake3) - GPUVAL_SHADER_KEY_SIZE == sizeof(selection),
                 "it fits");
   memcpy(nir->info.source_blake3 + GPUVAL_SHADER_KEY_SIZE, &selection, sizeof(selection));
}

/* 0: it has not been looked at. */
static uint32_t
get_selection(const nir_shader *nir)
{
   uint32_t selection;

   if (nir->info.internal && !gpuval_options()->internal)
      return 0;
   memcpy(&selection, nir->info.source_blake3 + GPUVAL_SHADER_KEY_SIZE, sizeof(selection));
   /* Those of ray tracing have their numbers in their code. */
   return gpuval_radv_stays(nir->info.stage) ? 0 : selection;
}

/* Of what this thread has compiled last */
static thread_local struct {
   uint32_t *words;
   unsigned count;
} noted;

static void
forget_symbols(void)
{
   free(noted.words);
   noted.words = NULL;
   noted.count = 0;
}

void
gpuval_radv_note_symbols(const struct aco_symbol *symbols, unsigned count)
{
   forget_symbols();
   for (unsigned i = 0; i < count; i++)
      noted.count += symbols[i].id >= aco_symbol_gpuval;
   if (!noted.count)
      return;

   noted.words = malloc(noted.count * sizeof(*noted.words));
   uint32_t *word = noted.words;
   for (unsigned i = 0; noted.words && i < count; i++) {
      if (symbols[i].id >= aco_symbol_gpuval)
         *word++ = symbols[i].offset | (symbols[i].id - aco_symbol_gpuval) << STAGE_SHIFT;
   }
}

static void
write_part(const struct gpuval_radv_part *part, struct gpuval_shader *const shaders[2],
           struct blob *blob)
{
   blob_write_bytes(blob, &part->header, sizeof(part->header));
   blob_write_bytes(blob, part->relocations,
                    part->header.num_relocations * sizeof(*part->relocations));

   for (unsigned i = 0; i < part->header.num_shaders; i++) {
      const struct made_from *from = &part->made_from[i];

      blob_write_bytes(blob, from, sizeof(*from));
      if (shaders[i])
         blob_write_bytes(blob, shaders[i]->key, sizeof(shaders[i]->key));
      intptr_t size = blob_reserve_uint32(blob);
      struct blob table;
      blob_init(&table);
      gpuval_device_write_shader(part->device, shaders[i],
                                 from->selection & BITFIELD_BIT(GPUVAL_RADV_IS_UNMARKED), &table);
      blob_overwrite_uint32(blob, size, table.size);
      blob_write_bytes(blob, table.data, table.size);
      blob_finish(&table);
   }
}

/* Returns the byte where the part of gpuval begins, which is no less than binary->total_size if
 * there is none.
 */
static size_t
find_part(const struct radv_shader_binary *binary)
{
   const struct radv_shader_binary_legacy *legacy = (const void *)binary;
   const size_t size = sizeof(*legacy) + (size_t)legacy->stats_size + legacy->code_size +
                       legacy->ir_size + legacy->disasm_size + legacy->debug_info_size;

   return align64(size, sizeof(uint32_t));
}

static struct radv_shader_binary *
append(struct radv_shader_binary *binary, const struct blob *blob)
{
   const size_t begin = find_part(binary);
   struct radv_shader_binary *longer =
      blob->out_of_memory ? NULL : realloc(binary, begin + blob->size);

   if (!longer) {
      free(binary);
      return NULL;
   }
   memset((char *)longer + longer->total_size, 0, begin - longer->total_size);
   memcpy((char *)longer + begin, blob->data, blob->size);
   longer->total_size = begin + blob->size;
   return longer;
}

struct radv_shader_binary *
gpuval_radv_add_part(const struct radv_device *radv, struct radv_shader_binary *binary,
                     nir_shader *const *nirs, unsigned count)
{
   const struct gpuval_radv *gpuval = radv->gpuval;
   struct gpuval_shader *shaders[2] = {0};
   const size_t relocations_size = noted.count * sizeof(*noted.words);
   struct gpuval_radv_part *part = gpuval && binary && binary->type == RADV_BINARY_TYPE_LEGACY
                                      ? calloc(1, sizeof(*part) + relocations_size)
                                      : NULL;

   if (!part) {
      forget_symbols();
      return binary;
   }

   bool is_own = false;
   for (unsigned i = 0; i < count && i < ARRAY_SIZE(shaders); i++) {
      const uint32_t selection = get_selection(nirs[i]);
      if (!selection)
         continue;

      unsigned index = part->header.num_shaders++;
      part->made_from[index] = (struct made_from){
         .stage = nirs[i]->info.stage,
         .selection = selection,
      };
      /* Without a table there is no key, and vtn's hash of the SPIR-V is there. */
      memcpy(part->made_from[index].hash, nirs[i]->info.source_blake3, sizeof(uint64_t));
      is_own |= selection & BITFIELD_BIT(GPUVAL_RADV_IS_LEFT_OUT);
      if (selection & BITFIELD_BIT(GPUVAL_RADV_HAS_TABLE))
         shaders[index] = gpuval_device_find_shader(gpuval->device, nirs[i]->info.source_blake3);
   }
   const bool stays = gpuval_radv_stays(nirs[0]->info.stage);
   uint64_t device = is_own || stays ? gpuval->nonce : get_device_id(gpuval);
   part->device = gpuval->device;
   part->header.device[0] = device;
   part->header.device[1] = device >> 32;
   part->header.num_relocations = noted.words ? noted.count : 0;
   if (noted.words)
      memcpy(part->relocations, noted.words, relocations_size);
   forget_symbols();

   if (part->header.num_shaders || stays) {
      struct blob blob;
      blob_init(&blob);
      write_part(part, shaders, &blob);
      binary = append(binary, &blob);
      blob_finish(&blob);
   }
   for (unsigned i = 0; i < ARRAY_SIZE(shaders); i++) {
      if (shaders[i])
         gpuval_shader_release(shaders[i]);
   }
   free(part);
   return binary;
}

/* Uploading */

static bool
is_valid_header(const struct gpuval_radv *gpuval, const struct header *header, size_t size)
{
   uint64_t device = header->device[0] | (uint64_t)header->device[1] << 32;

   return size >= sizeof(*header) && header->num_shaders <= 2 &&
          header->num_relocations <= size / sizeof(uint32_t) &&
          (device == get_device_id(gpuval) || device == gpuval->nonce);
}

/* Reads @from and its table, and becomes a user of *shader, which is NULL if there is no table.
 * Returns false if there is something wrong.
 */
static bool
read_made_from(const struct gpuval_radv *gpuval, struct blob_reader *blob, struct made_from *from,
               struct gpuval_shader **shader)
{
   struct gpuval_device *device = gpuval->device;
   uint8_t key[GPUVAL_SHADER_KEY_SIZE];

   *from = (struct made_from){0};
   blob_copy_bytes(blob, from, sizeof(*from));
   bool has_table = from->selection & BITFIELD_BIT(GPUVAL_RADV_HAS_TABLE);
   if (has_table)
      blob_copy_bytes(blob, key, sizeof(key));
   uint32_t size = blob_read_uint32(blob);
   const void *table = blob_read_bytes(blob, size);
   if (blob->overrun || !table || from->stage >= GPUVAL_STAGE_COUNT)
      return false;

   *shader = has_table ? gpuval_device_find_shader(device, key) : NULL;
   if (*shader)
      return true;

   struct blob_reader reader;
   blob_reader_init(&reader, table, size);
   if (!gpuval_device_read_shader(device, &reader, shader) || has_table != (*shader != NULL))
      return false;
   if (!has_table && from->selection & BITFIELD_BIT(GPUVAL_RADV_IS_COUNTED))
      gpuval_count_shader(from->hash[0] | (uint64_t)from->hash[1] << 32, from->stage);
   return true;
}

static bool
read_part(const struct gpuval_radv *gpuval, const void *data, size_t size,
          struct radv_shader *shader)
{
   struct header header = {0};
   struct blob_reader blob;

   blob_reader_init(&blob, data, size);
   blob_copy_bytes(&blob, &header, sizeof(header));
   if (!is_valid_header(gpuval, &header, size))
      return false;

   const size_t relocations_size = header.num_relocations * sizeof(uint32_t);
   shader->gpuval_part = calloc(1, sizeof(*shader->gpuval_part) + relocations_size);
   if (!shader->gpuval_part)
      return false;
   shader->gpuval_part->device = gpuval->device;
   shader->gpuval_part->header = header;
   blob_copy_bytes(&blob, shader->gpuval_part->relocations, relocations_size);
   for (unsigned i = 0; i < header.num_relocations; i++) {
      if (blob.overrun ||
          get_dword(shader->gpuval_part->relocations[i]) >= shader->code_size / sizeof(uint32_t))
         return false;
   }

   for (unsigned i = 0; i < header.num_shaders; i++) {
      if (!read_made_from(gpuval, &blob, &shader->gpuval_part->made_from[i], &shader->gpuval[i]))
         return false;
   }
   return !blob.overrun;
}

bool
gpuval_radv_read_part(const struct radv_device *device, struct radv_shader *shader,
                      const struct radv_shader_binary *binary)
{
   if (!device->gpuval || binary->type != RADV_BINARY_TYPE_LEGACY)
      return true;

   const size_t begin = find_part(binary);
   if (begin >= binary->total_size)
      return true;

   /* The part may be at any address: words of a blob have to be where words can be. */
   const size_t size = binary->total_size - begin;
   void *copy = malloc(size);
   bool is_valid = copy != NULL;
   if (is_valid) {
      memcpy(copy, (const char *)binary + begin, size);
      is_valid = read_part(device->gpuval, copy, size, shader);
   }
   free(copy);
   if (!is_valid)
      gpuval_radv_finish_shader(device, shader);
   return is_valid;
}

static uint32_t
get_entry_base(const struct radv_shader *shader, uint32_t relocation)
{
   for (unsigned i = 0; i < ARRAY_SIZE(shader->gpuval); i++) {
      if (shader->gpuval[i] && gpuval_shader_stage(shader->gpuval[i]) == relocation >> STAGE_SHIFT)
         return gpuval_shader_entry_base(shader->gpuval[i]);
   }
   return 0;
}

void
gpuval_radv_relocate(struct radv_shader *shader, const void *code, void *upload)
{
   const struct gpuval_radv_part *part = shader->gpuval_part;
   uint32_t bases[GPUVAL_SOFTGPU_STAGES] = {0};

   if (!part || !part->header.num_relocations)
      return;
   for (unsigned i = 0; i < part->header.num_relocations; i++) {
      uint32_t dword = get_dword(part->relocations[i]);
      uint32_t base = get_entry_base(shader, part->relocations[i]);
      ((uint32_t *)shader->code)[dword] += base;
      ((uint32_t *)upload)[dword] = ((uint32_t *)shader->code)[dword];
      bases[part->relocations[i] >> STAGE_SHIFT] = base;
   }
   gpuval_radv_softgpu_copy(code, shader->code, shader->code_size, bases);
}

/* Fragments that write nothing need not run, but where they print. */
void
gpuval_radv_adjust_registers(struct radv_shader *shader)
{
   if (shader->info.stage != MESA_SHADER_FRAGMENT)
      return;
   for (unsigned i = 0; i < ARRAY_SIZE(shader->gpuval); i++) {
      if (shader->gpuval[i] && shader->gpuval[i]->num_formats)
         *gpuval_radv_db_shader_control(shader) |= S_02880C_EXEC_ON_NOOP(1);
   }
}

/* Binaries of what has been uploaded */

/* Code as it is compiled: without numbers of this device */
static void
unlocate(const struct radv_shader *shader, uint8_t *code)
{
   const struct gpuval_radv_part *part = shader->gpuval_part;

   for (unsigned i = 0; i < part->header.num_relocations; i++) {
      uint8_t *place = code + get_dword(part->relocations[i]) * sizeof(uint32_t);
      uint32_t word;
      memcpy(&word, place, sizeof(word));
      word -= get_entry_base(shader, part->relocations[i]);
      memcpy(place, &word, sizeof(word));
   }
}

void
gpuval_radv_write_part(const struct radv_shader *shader, struct blob *blob, size_t begin)
{
   const struct gpuval_radv_part *part = shader->gpuval_part;
   const uint32_t padding = 0;
   struct blob written;

   if (!part)
      return;

   blob_init(&written);
   write_part(part, shader->gpuval, &written);
   const size_t size = blob->size - begin;
   blob_write_bytes(blob, &padding, align64(size, sizeof(padding)) - size);
   blob_write_bytes(blob, written.data, written.size);
   blob_finish(&written);
   /* Who only asks for the size has no memory. */
   if (blob->out_of_memory || !blob->data)
      return;

   struct radv_shader_binary_legacy binary;
   memcpy(&binary, blob->data + begin, sizeof(binary));
   binary.base.total_size = blob->size - begin;
   unlocate(shader, blob->data + begin + sizeof(binary) + binary.stats_size);
   memcpy(blob->data + begin, &binary, sizeof(binary));
}

void
gpuval_radv_finish_shader(const struct radv_device *device, struct radv_shader *shader)
{
   for (unsigned i = 0; device->gpuval && i < ARRAY_SIZE(shader->gpuval); i++) {
      if (shader->gpuval[i])
         gpuval_shader_release(shader->gpuval[i]);
      shader->gpuval[i] = NULL;
   }
   free(shader->gpuval_part);
   shader->gpuval_part = NULL;
}
