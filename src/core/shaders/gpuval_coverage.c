/* SPDX-License-Identifier: MIT */

#include "gpuval_coverage.h"

#include <inttypes.h>

#include "base/gpuval_options.h"
#include "core/spirv/gpuval_spirv_blocks.h"
#include "report/gpuval_lcov.h"
#include "util/ralloc.h"

/* An entry point of a module */
struct covered {
   struct gpuval_spirv_blocks *blocks;
   struct hash_table *by_offset; /* SPIR-V offset -> index of block + 1 */
   struct gpuval_lcov_file **files;
   uint64_t *counts; /* one a block */

   /* What of that has been handed over */
   struct hash_table_u64 *lines; /* key_of_line() -> uint64_t */
   uint64_t *functions, *edges;
};

bool
gpuval_coverage_init(struct gpuval_device *device)
{
   struct gpuval_coverage *coverage = device->coverage;

   if (!gpuval_options()->coverage)
      return true;
   coverage->modules = _mesa_hash_table_create(device, _mesa_hash_string, _mesa_key_string_equal);
   return gpuval_device_alloc(device, &coverage->counters,
                              device->info.max_entries * sizeof(uint64_t));
}

void
gpuval_coverage_finish(struct gpuval_device *device)
{
   gpuval_device_free(device, &device->coverage->counters);
}

static void
find_files(struct covered *covered, const struct gpuval_shader *shader)
{
   struct gpuval_spirv_blocks *blocks = covered->blocks;
   char stand_in[64];

   snprintf(stand_in, sizeof(stand_in), "%016" PRIx64 "%s", shader->module->hash,
            blocks->is_listing ? ".spvasm" : ".source");
   covered->files = rzalloc_array(covered, struct gpuval_lcov_file *, MAX2(blocks->num_files, 1));
   for (uint32_t i = 0; i < blocks->num_files; i++) {
      covered->files[i] =
         gpuval_lcov_get_file(blocks->files[i].name, blocks->files[i].text, stand_in);
      ralloc_free(blocks->files[i].text);
      blocks->files[i].text = NULL;
   }
}

/* Returns what is known of the shader's entry point, or NULL where the module cannot be read. */
static struct covered *
get_covered(struct gpuval_device *device, struct gpuval_shader *shader)
{
   struct gpuval_coverage *coverage = device->coverage;
   char *key = ralloc_asprintf(device, "%016" PRIx64 "%u%s", shader->module->hash, shader->stage,
                               shader->entry);
   struct hash_entry *entry = _mesa_hash_table_search(coverage->modules, key);
   if (entry) {
      ralloc_free(key);
      return entry->data;
   }

   struct covered *covered = rzalloc(device, struct covered);
   struct gpuval_spirv *spirv = gpuval_module_spirv(shader->module);
   if (spirv)
      covered->blocks = gpuval_spirv_find_blocks(covered, spirv, shader->entry,
                                                 gpuval_stage_to_spirv(shader->stage));
   if (!covered->blocks) {
      ralloc_free(covered);
      covered = NULL;
   } else {
      covered->counts = rzalloc_array(covered, uint64_t, MAX2(covered->blocks->num_blocks, 1));
      covered->functions =
         rzalloc_array(covered, uint64_t, MAX2(covered->blocks->num_functions, 1));
      covered->edges = rzalloc_array(covered, uint64_t, MAX2(covered->blocks->num_edges, 1));
      covered->lines = _mesa_hash_table_u64_create(covered);
      covered->by_offset = _mesa_pointer_hash_table_create(covered);
      for (uint32_t i = 0; i < covered->blocks->num_blocks; i++)
         _mesa_hash_table_insert(covered->by_offset,
                                 (void *)(uintptr_t)covered->blocks->blocks[i].offset,
                                 (void *)(uintptr_t)(i + 1));
      find_files(covered, shader);
   }
   _mesa_hash_table_insert(coverage->modules, key, covered);
   return covered;
}

/* Without atomics on that memory, nobody may use it meanwhile. */
static uint64_t
take_count(const struct gpuval_device *device, uint64_t *counter)
{
   uint64_t count = __atomic_load_n(counter, __ATOMIC_RELAXED);

   if (count && !device->info.clear_when_idle)
      return __atomic_exchange_n(counter, 0, __ATOMIC_RELAXED);
   if (count)
      __atomic_store_n(counter, 0, __ATOMIC_RELAXED);
   return count;
}

/* Adds to the count of the block that an entry stands for. */
static void
add_count(struct covered *covered, const struct gpuval_site *site, uint64_t count)
{
   struct hash_entry *block =
      _mesa_hash_table_search(covered->by_offset, (void *)(uintptr_t)site->spirv_offset);

   if (block && site->spirv_offset)
      covered->counts[(uintptr_t)block->data - 1] += count;
}

void
gpuval_coverage_take(struct gpuval_device *device, struct gpuval_shader *shader)
{
   uint64_t *counters = device->coverage->counters.map;
   struct covered *covered = NULL;

   if (!counters || !gpuval_device_is_intact(device))
      return;
   uint64_t *taken = rzalloc_array(NULL, uint64_t, MAX2(shader->num_entries, 1));
   for (uint32_t i = 0; i < shader->num_entries; i++) {
      const struct gpuval_nir_entry *entry = &shader->entries[i];
      const struct gpuval_site *site = &shader->sites[entry->site];
      if (site->kind != GPUVAL_KIND_COVERED)
         continue;
      if (!covered && !(covered = get_covered(device, shader)))
         break;

      /* The entry that has the counter comes first. */
      if (entry->offset == i)
         taken[i] = take_count(device, &counters[shader->entry_base + i]);
      if (entry->offset <= i)
         add_count(covered, site, taken[entry->offset] * entry->size);
   }
   ralloc_free(taken);
}

static uint64_t
key_of_line(const struct gpuval_spirv_line *line)
{
   return (uint64_t)line->file << 32 | line->number;
}

/* How much there is now that has not been handed over. Shaders may run meanwhile, so that a number
 * which comes of several counters may be smaller than it was.
 */
static uint64_t
get_news(uint64_t *published, uint64_t now)
{
   uint64_t before = *published;
   *published = MAX2(before, now);
   return *published - before;
}

static void
publish_functions(struct covered *covered)
{
   const struct gpuval_spirv_blocks *blocks = covered->blocks;

   for (uint32_t i = 0; i < blocks->num_functions; i++) {
      const struct gpuval_spirv_function *function = &blocks->functions[i];
      uint64_t count = covered->counts[function->first_block];
      if (function->line.number)
         gpuval_lcov_add_function(covered->files[function->line.file], function->line.number,
                                  function->name, get_news(&covered->functions[i], count));
   }
}

/* A line was executed as often as that of its blocks which was executed most. */
static void
note_line(struct hash_table_u64 *lines, const struct gpuval_spirv_line *line, uint64_t count)
{
   uint64_t *most = _mesa_hash_table_u64_search(lines, key_of_line(line));

   if (!most) {
      most = rzalloc(lines, uint64_t);
      _mesa_hash_table_u64_insert(lines, key_of_line(line), most);
   }
   *most = MAX2(*most, count);
}

/* The line where a function begins is one of them, as of gcov: LCOV 2 demands that. */
static void
publish_lines(struct covered *covered)
{
   const struct gpuval_spirv_blocks *blocks = covered->blocks;
   struct hash_table_u64 *lines = _mesa_hash_table_u64_create(NULL);

   for (uint32_t i = 0; i < blocks->num_functions; i++) {
      const struct gpuval_spirv_function *function = &blocks->functions[i];
      if (function->line.number)
         note_line(lines, &function->line, covered->counts[function->first_block]);
   }
   for (uint32_t i = 0; i < blocks->num_blocks; i++) {
      const struct gpuval_spirv_block *block = &blocks->blocks[i];
      for (uint32_t j = 0; j < block->num_lines; j++)
         note_line(lines, &blocks->lines[block->first_line + j], covered->counts[i]);
      if (block->num_edges > 1 && block->branch.number)
         note_line(lines, &block->branch, covered->counts[i]);
   }
   hash_table_u64_foreach (lines, entry) {
      uint64_t *published = _mesa_hash_table_u64_search(covered->lines, entry.key);
      if (!published) {
         published = rzalloc(covered, uint64_t);
         _mesa_hash_table_u64_insert(covered->lines, entry.key, published);
      }
      gpuval_lcov_add_line(covered->files[entry.key >> 32], (uint32_t)entry.key,
                           get_news(published, *(uint64_t *)entry.data));
   }
   _mesa_hash_table_u64_destroy(lines);
}

/* Blocks that branch on one line are numbered in the order of the module. A way of which it is not
 * known how often it was taken, which only modules without structure have, counts as not taken.
 */
static void
publish_branches(struct covered *covered)
{
   const struct gpuval_spirv_blocks *blocks = covered->blocks;
   uint64_t *taken = rzalloc_array(NULL, uint64_t, MAX2(blocks->num_edges, 1));
   struct hash_table_u64 *lines = _mesa_hash_table_u64_create(NULL);

   gpuval_spirv_count_edges(blocks, covered->counts, taken);
   for (uint32_t i = 0; i < blocks->num_blocks; i++) {
      const struct gpuval_spirv_block *block = &blocks->blocks[i];
      if (block->num_edges < 2 || !block->branch.number)
         continue;

      uint64_t key = key_of_line(&block->branch);
      uintptr_t number = (uintptr_t)_mesa_hash_table_u64_search(lines, key);
      _mesa_hash_table_u64_insert(lines, key, (void *)(number + 1));
      for (uint32_t j = 0; j < block->num_edges; j++) {
         const uint32_t edge = block->first_edge + j;
         uint64_t count = taken[edge] == GPUVAL_SPIRV_UNKNOWN ? 0 : taken[edge];
         gpuval_lcov_add_branch(covered->files[block->branch.file], block->branch.number, number, j,
                                covered->counts[i] > 0, get_news(&covered->edges[edge], count));
      }
   }
   _mesa_hash_table_u64_destroy(lines);
   ralloc_free(taken);
}

static void
say_left_out(struct gpuval_coverage *coverage)
{
   if (coverage->left_out == coverage->said)
      return;
   gpuval_log_warning("coverage: there was no room for the counters of %u shaders: they are not in "
                      "it",
                      coverage->left_out - coverage->said);
   coverage->said = coverage->left_out;
}

void
gpuval_device_publish_coverage(struct gpuval_device *device)
{
   struct gpuval_coverage *coverage = device->coverage;

   if (!coverage->modules)
      return;
   if (gpuval_device_is_idle(device) || !device->info.clear_when_idle) {
      hash_table_foreach (device->shaders->by_key, entry)
         gpuval_coverage_take(device, entry->data);
   }
   hash_table_foreach (coverage->modules, entry) {
      struct covered *covered = entry->data;
      if (!covered)
         continue;
      publish_functions(covered);
      publish_lines(covered);
      publish_branches(covered);
   }
   say_left_out(coverage);
}
