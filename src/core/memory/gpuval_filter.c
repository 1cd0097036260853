/* SPDX-License-Identifier: MIT */

/* A device's bloom filter for sync. Its sizes are in gpuval_bloom.h. */

#include "gpuval_filter.h"
#include "core/device/gpuval_device.h"

#include "util/macros.h"

static bool
alloc_unseen(struct gpuval_device *device, struct gpuval_buffer *buffer, uint64_t size)
{
   const struct gpuval_winsys *winsys = &device->info.winsys;

   buffer->map = winsys->alloc_unseen(winsys->data, size, &buffer->address);
   buffer->size = size;
   return buffer->map != NULL;
}

uint32_t
gpuval_device_line_mask(const struct gpuval_buffer *buckets)
{
   uint64_t lines = buckets->size / sizeof(uint64_t) >> GPUVAL_BLOOM_LINE_LOG2;
   return lines ? lines - 1 : 0;
}

/* Of the filter's buckets, where the host does not see them: the first 8,192 */
#define SAMPLE_SIZE (64u << 10)

static uint64_t
claims_size(unsigned size_log2)
{
   return MIN2((1ull << size_log2) / sizeof(uint64_t), GPUVAL_BLOOM_MAX_CLAIMS)
          << GPUVAL_CLAIM_SIZE_LOG2;
}

/* What the host has of it is the sample. */
static bool
alloc_where_unseen(struct gpuval_device *device, unsigned size_log2)
{
   if (!device->info.winsys.alloc_unseen)
      return false;
   if (alloc_unseen(device, &device->filter->buckets, 1ull << size_log2) &&
       alloc_unseen(device, &device->filter->claims, claims_size(size_log2)) &&
       gpuval_device_alloc_poll(device, &device->filter->sample, SAMPLE_SIZE))
      return true;
   gpuval_device_free(device, &device->filter->buckets);
   gpuval_device_free(device, &device->filter->claims);
   return false;
}

static bool
alloc_where_seen(struct gpuval_device *device, unsigned size_log2)
{
   unsigned max_log2 = device->info.max_bloom_size_log2;

   if (max_log2 && size_log2 > max_log2) {
      gpuval_log_note("sync: the host sees little of this device's memory (there is no resizable "
                      "BAR): the bloom filter has %u KiB, and hazards may be missed",
                      1u << (max_log2 - 10));
      size_log2 = max_log2;
   }
   return gpuval_device_alloc(device, &device->filter->buckets, 1ull << size_log2) &&
          gpuval_device_alloc(device, &device->filter->claims, claims_size(size_log2));
}

bool
gpuval_device_alloc_filter(struct gpuval_device *device)
{
   unsigned size_log2 = gpuval_options()->bloom_size_log2;
   bool is_unseen = alloc_where_unseen(device, size_log2);

   if (!is_unseen && !alloc_where_seen(device, size_log2))
      return false;

   const struct gpuval_buffer *seen =
      is_unseen ? &device->filter->sample : &device->filter->buckets;
   device->filter->bloom = (struct gpuval_bloom){
      .buckets = seen->map,
      .claims = is_unseen ? NULL : device->filter->claims.map,
      .line_mask = gpuval_device_line_mask(seen),
      .claims_mask = (device->filter->claims.size >> GPUVAL_CLAIM_SIZE_LOG2) - 1,
      .hashes = gpuval_options_hashes(device->info.bloom_hashes ? device->info.bloom_hashes
                                                                : GPUVAL_BLOOM_MAX_HASHES),
   };
   return true;
}

bool
gpuval_device_unseen_filter(const struct gpuval_device *device, struct gpuval_unseen_filter *filter)
{
   *filter = (struct gpuval_unseen_filter){
      .marks = device->filter->buckets,
      .sample = device->filter->sample,
   };
   return device->filter->sample.map != NULL;
}

/* The filter may be this full when an epoch begins. Marks of former epochs make it err at
 * a rate of fill ^ hashes, which claims make up for, but at a cost. With few hash functions
 * clearing would be all that is done, so there is a limit.
 */
static double
fill_limit(const struct gpuval_bloom *bloom)
{
   double believed = (double)gpuval_bloom_max_samples(bloom->hashes) / GPUVAL_BLOOM_SAMPLES;
   return MAX2(believed / 2, 0.02);
}

bool
gpuval_device_bloom_barrier(struct gpuval_device *device)
{
   struct gpuval_bloom *bloom = &device->filter->bloom;
   if (!bloom->buckets)
      return false;

   /* Enough of them to tell the limit from half of it, other ones each time */
   double limit = fill_limit(bloom);
   double fill = gpuval_bloom_fill(bloom, device->filter->num_samples++, 16 / limit);
   if (fill < limit)
      return false;

   if (fill > 0.5 && !device->filter->warned) {
      device->filter->warned = true;
      gpuval_log_warning(
         "sync: the bloom filter got %.0f %% full between two barriers: hazards may be missed; a "
         "larger GPUVAL_BLOOM_SIZE_LOG2 (it is %u) finds more",
         fill * 100, gpuval_options()->bloom_size_log2);
   }
   if (device->filter->sample.map)
      return true;
   device->info.winsys.clear(device->info.winsys.data, device->filter->buckets.map,
                             device->filter->buckets.size);
   return false;
}
