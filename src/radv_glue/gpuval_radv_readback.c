/* SPDX-License-Identifier: MIT */

/* Memory that the GPU writes and the host reads: of the host's, and cached there. The upload
 * buffer of a command buffer is write-combined or in video memory, where a load takes the host
 * about a microsecond. Blocks belong to a command buffer until it is reset, and to the device
 * afterwards, for the next one. The GPU does no atomics here, since not every bus has them.
 */

#include "gpuval_radv_crumbs.h"
#include "gpuval_radv_private.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"

#include "radv_buffer.h"
#include "radv_cmd_buffer.h"
#include "radv_device.h"

/* Bytes of a block. What is larger gets one of its own, which is not kept. */
#define BLOCK_SIZE (64 * 1024)

struct gpuval_radv_readback {
   struct list_head link; /* of a command buffer, or unused */
   struct radeon_winsys_bo *bo;
   uint8_t *map;
   uint64_t size;
   uint64_t used;
};

static void
destroy_block(struct gpuval_radv *gpuval, struct gpuval_radv_readback *block)
{
   struct radv_device *device = gpuval->radv;

   if (block->bo) {
      device->ws->buffer_make_resident(device->ws, block->bo, false);
      radv_bo_destroy(device, NULL, block->bo);
   }
   free(block);
}

static struct gpuval_radv_readback *
create_block(struct gpuval_radv *gpuval, uint64_t size)
{
   struct radv_device *device = gpuval->radv;
   struct gpuval_radv_readback *block = calloc(1, sizeof(*block));

   if (!block)
      return NULL;
   block->size = align64(size, BLOCK_SIZE);
   if (radv_bo_create(
          device, NULL, block->size, 4096, RADEON_DOMAIN_GTT,
          RADEON_FLAG_CPU_ACCESS | RADEON_FLAG_NO_INTERPROCESS_SHARING | GPUVAL_RADV_UNCACHED,
          RADV_BO_PRIORITY_UPLOAD_BUFFER, 0, true, &block->bo) != VK_SUCCESS) {
      free(block);
      return NULL;
   }
   if (device->ws->buffer_make_resident(device->ws, block->bo, true) != VK_SUCCESS ||
       !(block->map = radv_buffer_map(device->ws, block->bo))) {
      destroy_block(gpuval, block);
      return NULL;
   }
   return block;
}

static struct gpuval_radv_readback *
take_block(struct gpuval_radv *gpuval, uint64_t size)
{
   struct gpuval_radv_readback *block = NULL;

   simple_mtx_lock(&gpuval->mutex);
   if (size <= BLOCK_SIZE && !list_is_empty(&gpuval->readbacks)) {
      block = list_first_entry(&gpuval->readbacks, struct gpuval_radv_readback, link);
      list_del(&block->link);
   }
   simple_mtx_unlock(&gpuval->mutex);
   return block ? block : create_block(gpuval, size);
}

void *
gpuval_radv_add_readback(struct radv_cmd_buffer *cmd_buffer, uint64_t size, uint64_t *address)
{
   struct gpuval_radv *gpuval = radv_cmd_buffer_device(cmd_buffer)->gpuval;
   struct list_head *blocks = gpuval_radv_readbacks(cmd_buffer);
   struct gpuval_radv_readback *block =
      list_is_empty(blocks) ? NULL : list_first_entry(blocks, struct gpuval_radv_readback, link);

   size = align64(size, 16);
   if (!block || block->size - block->used < size) {
      block = take_block(gpuval, size);
      if (!block)
         return NULL;
      block->used = 0;
      list_add(&block->link, blocks);
   }
   uint64_t offset = block->used;
   block->used += size;
   *address = radv_buffer_get_va(block->bo) + offset;
   return memset(block->map + offset, 0, size);
}

void *
gpuval_radv_add_readback_buffer(struct radv_cmd_buffer *cmd_buffer, uint64_t size,
                                struct radv_buffer *buffer)
{
   uint64_t address;
   void *map = gpuval_radv_add_readback(cmd_buffer, size, &address);

   if (!map)
      return NULL;
   const struct gpuval_radv_readback *block =
      list_first_entry(gpuval_radv_readbacks(cmd_buffer), struct gpuval_radv_readback, link);
   *buffer = gpuval_radv_make_buffer(block->bo, address, size);
   return map;
}

void
gpuval_radv_remove_readbacks(struct gpuval_radv *gpuval, struct list_head *blocks)
{
   list_for_each_entry_safe (struct gpuval_radv_readback, block, blocks, link) {
      list_del(&block->link);
      if (block->size > BLOCK_SIZE) {
         destroy_block(gpuval, block);
         continue;
      }
      simple_mtx_lock(&gpuval->mutex);
      list_add(&block->link, &gpuval->readbacks);
      simple_mtx_unlock(&gpuval->mutex);
   }
}

void
gpuval_radv_finish_readbacks(struct gpuval_radv *gpuval)
{
   list_for_each_entry_safe (struct gpuval_radv_readback, block, &gpuval->readbacks, link)
      destroy_block(gpuval, block);
   list_inithead(&gpuval->readbacks);
}
