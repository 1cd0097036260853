/* SPDX-License-Identifier: MIT */

/*
 * Buffers, and the map of GPU addresses to them.
 */

#include "softgpu_device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "drm-uapi/amdgpu_drm.h"
#include "util/hash_table.h"
#include "util/u_atomic.h"
#include "util/u_math.h"

/* Addresses have 48 bits, and the rest repeats the highest. */
#define ADDRESS_MASK ((UINT64_C(1) << 48) - 1)

/* --- Addresses ------------------------------------------------------------ */

/* The first mapping that ends behind the address, as an index. */
static unsigned
find_mapping(uint64_t address)
{
   const struct softgpu_mapping *mappings = util_dynarray_begin(&softgpu.mappings);
   unsigned first = 0, end = util_dynarray_num_elements(&softgpu.mappings, struct softgpu_mapping);

   while (first < end) {
      const unsigned middle = (first + end) / 2;
      if (mappings[middle].end <= address)
         first = middle + 1;
      else
         end = middle;
   }
   return first;
}

static void
insert_mapping(unsigned at, const struct softgpu_mapping *mapping)
{
   struct softgpu_mapping *space = util_dynarray_grow(&softgpu.mappings, struct softgpu_mapping, 1);
   struct softgpu_mapping *mappings = util_dynarray_begin(&softgpu.mappings);

   memmove(&mappings[at + 1], &mappings[at], (char *)space - (char *)&mappings[at]);
   mappings[at] = *mapping;
   if (mapping->buffer)
      drm_shim_bo_get(&mapping->buffer->base);
}

static void
remove_mapping(unsigned at)
{
   struct softgpu_mapping *mappings = util_dynarray_begin(&softgpu.mappings);
   const unsigned count = util_dynarray_num_elements(&softgpu.mappings, struct softgpu_mapping);
   struct softgpu_buffer *buffer = mappings[at].buffer;

   memmove(&mappings[at], &mappings[at + 1], (count - at - 1) * sizeof(*mappings));
   (void)util_dynarray_pop(&softgpu.mappings, struct softgpu_mapping);
   if (buffer)
      drm_shim_bo_put(&buffer->base);
}

void
softgpu_remove_mappings_of(const struct softgpu_buffer *buffer)
{
   for (unsigned i = 0;
        i < util_dynarray_num_elements(&softgpu.mappings, struct softgpu_mapping);) {
      if (util_dynarray_element(&softgpu.mappings, struct softgpu_mapping, i)->buffer == buffer)
         remove_mapping(i);
      else
         i++;
   }
}

/* Removes what is mapped between both addresses, parts of mappings as well. */
static void
unmap(uint64_t start, uint64_t end)
{
   unsigned at = find_mapping(start);

   while (at < util_dynarray_num_elements(&softgpu.mappings, struct softgpu_mapping)) {
      struct softgpu_mapping old =
         *util_dynarray_element(&softgpu.mappings, struct softgpu_mapping, at);
      if (old.start >= end)
         break;
      struct softgpu_mapping before = old, behind = old;
      before.end = start;
      behind.start = end;
      behind.offset += end - old.start;
      if (behind.start < behind.end)
         insert_mapping(at + 1, &behind);
      if (before.start < before.end)
         insert_mapping(at++, &before);
      remove_mapping(at);
   }
}

/* Returns what is mapped at an address, or NULL with the reason. */
static const struct softgpu_mapping *
look_up(uint64_t va, enum softgpu_access access, const char **reason)
{
   const uint64_t address = va & ADDRESS_MASK;
   const unsigned at = find_mapping(address);

   *reason = "nothing is mapped there";
   if (at >= util_dynarray_num_elements(&softgpu.mappings, struct softgpu_mapping))
      return NULL;
   const struct softgpu_mapping *mapping =
      util_dynarray_element(&softgpu.mappings, struct softgpu_mapping, at);
   if (mapping->start > address)
      return NULL;

   *reason = "no memory is bound there";
   if (!mapping->buffer)
      return NULL;
   *reason = "it is mapped read-only";
   if (access == SOFTGPU_WRITE && !mapping->writeable)
      return NULL;
   *reason = "its buffer is not in the submit's list";
   if (!(mapping->buffer->flags & AMDGPU_GEM_CREATE_VM_ALWAYS_VALID) &&
       mapping->buffer->listed != softgpu.current)
      return NULL;
   return mapping;
}

static bool
is_canonical(uint64_t va)
{
   const int64_t high = (int64_t)va >> 47;
   return high == 0 || high == -1;
}

void *
softgpu_map_some(uint64_t va, uint64_t size, enum softgpu_access access, uint64_t *available)
{
   const char *reason = "it is no address";
   const struct softgpu_mapping *mapping = is_canonical(va) ? look_up(va, access, &reason) : NULL;
   if (!mapping) {
      softgpu_note_fault(va, access == SOFTGPU_WRITE);
      softgpu_error("cannot %s %" PRIu64 " bytes at address 0x%" PRIx64 ": %s",
                    access == SOFTGPU_WRITE ? "write" : "read", size, va, reason);
      return NULL;
   }
   const uint64_t address = va & ADDRESS_MASK;
   *available = MIN2(size, mapping->end - address);
   return softgpu_gpu_view(mapping) + mapping->offset + (address - mapping->start);
}

void *
softgpu_map(uint64_t va, uint64_t size, enum softgpu_access access)
{
   uint64_t available;
   void *memory = softgpu_map_some(va, size, access, &available);
   if (memory && available < size) {
      softgpu_error("%" PRIu64 " bytes at address 0x%" PRIx64 " are not in one buffer", size, va);
      return NULL;
   }
   return memory;
}

const void *
softgpu_find(uint64_t va, uint64_t size)
{
   const char *reason;
   const struct softgpu_mapping *mapping = look_up(va, SOFTGPU_READ, &reason);
   const uint64_t address = va & ADDRESS_MASK;
   if (!mapping || mapping->end - address < size)
      return NULL;
   return softgpu_gpu_view(mapping) + mapping->offset + (address - mapping->start);
}

bool
softgpu_is_uncached(uint64_t va)
{
   const char *reason;
   const struct softgpu_mapping *mapping = look_up(va, SOFTGPU_READ, &reason);
   return mapping && mapping->uncached;
}

bool
softgpu_read(uint64_t va, void *data, uint64_t size)
{
   for (uint64_t done = 0, part; done < size; done += part) {
      const void *memory = softgpu_map_some(va + done, size - done, SOFTGPU_READ, &part);
      if (!memory)
         return false;
      memcpy((char *)data + done, memory, part);
   }
   return true;
}

bool
softgpu_write(uint64_t va, const void *data, uint64_t size)
{
   for (uint64_t done = 0, part; done < size; done += part) {
      void *memory = softgpu_map_some(va + done, size - done, SOFTGPU_WRITE, &part);
      if (!memory)
         return false;
      memcpy(memory, (const char *)data + done, part);
   }
   return true;
}

/* What this thread asks mmap() for next */
static _Thread_local bool next_is_slow;

/* --- Buffers -------------------------------------------------------------- */

/* References are counted from 1 here, the handle's included. */
int
drm_shim_bo_init(struct shim_bo *bo, size_t size)
{
   mtx_lock(&shim_device.mem_lock);
   bo->mem_addr = util_vma_heap_alloc(&shim_device.mem_heap, size, 4096);
   mtx_unlock(&shim_device.mem_lock);
   if (!bo->mem_addr)
      return -ENOMEM;
   bo->refcount = 1;
   return 0;
}

void
drm_shim_bo_get(struct shim_bo *bo)
{
   p_atomic_inc(&bo->refcount);
}

void
drm_shim_bo_put(struct shim_bo *bo)
{
   struct softgpu_buffer *buffer = (struct softgpu_buffer *)bo;

   if (!p_atomic_dec_zero(&bo->refcount))
      return;
   /* The kernel gives nobody what somebody else has left in memory. */
   (void)madvise(softgpu.memory + bo->mem_addr, buffer->size, MADV_REMOVE);
   mtx_lock(&shim_device.mem_lock);
   util_vma_heap_free(&shim_device.mem_heap, bo->mem_addr, buffer->size);
   mtx_unlock(&shim_device.mem_lock);
   free(buffer->view);
   free(buffer->met);
   free(buffer);
}

struct shim_bo *
drm_shim_bo_lookup(struct shim_fd *shim_fd, int handle)
{
   mtx_lock(&shim_fd->handle_lock);
   struct hash_entry *entry = _mesa_hash_table_search(shim_fd->handles, (void *)(uintptr_t)handle);
   struct shim_bo *bo = entry ? entry->data : NULL;
   if (bo)
      drm_shim_bo_get(bo);
   mtx_unlock(&shim_fd->handle_lock);
   return bo;
}

int
drm_shim_bo_get_handle(struct shim_fd *shim_fd, struct shim_bo *bo)
{
   int handle = 1;

   mtx_lock(&shim_fd->handle_lock);
   while (_mesa_hash_table_search(shim_fd->handles, (void *)(uintptr_t)handle))
      handle++;
   drm_shim_bo_get(bo);
   _mesa_hash_table_insert(shim_fd->handles, (void *)(uintptr_t)handle, bo);
   mtx_unlock(&shim_fd->handle_lock);
   return handle;
}

uint64_t
drm_shim_bo_get_mmap_offset(struct shim_fd *shim_fd, struct shim_bo *bo)
{
   return bo->mem_addr;
}

int
softgpu_gem_create(int fd, unsigned long request, void *argument)
{
   union drm_amdgpu_gem_create *create = argument;
   struct shim_fd *shim_fd = drm_shim_fd_lookup(fd);
   struct softgpu_buffer *buffer = calloc(1, sizeof(*buffer));
   if (!buffer)
      return -ENOMEM;

   buffer->size = align64(create->in.bo_size, 4096);
   buffer->flags = create->in.domain_flags;
   buffer->slow = create->in.domains & AMDGPU_GEM_DOMAIN_VRAM ||
                  create->in.domain_flags & AMDGPU_GEM_CREATE_CPU_GTT_USWC;
   const int result = drm_shim_bo_init(&buffer->base, buffer->size);
   if (result) {
      free(buffer);
      return result;
   }
   memset(create, 0, sizeof(*create));
   create->out.handle = (uint32_t)drm_shim_bo_get_handle(shim_fd, &buffer->base);
   drm_shim_bo_put(&buffer->base);
   return 0;
}

bool
softgpu_next_is_slow(void)
{
   const bool slow = next_is_slow;
   next_is_slow = false;
   return slow;
}

int
softgpu_gem_mmap(int fd, unsigned long request, void *argument)
{
   union drm_amdgpu_gem_mmap *map = argument;
   struct shim_fd *shim_fd = drm_shim_fd_lookup(fd);
   struct shim_bo *bo = drm_shim_bo_lookup(shim_fd, (int)map->in.handle);
   if (!bo)
      return -ENOENT;

   map->out.addr_ptr = drm_shim_bo_get_mmap_offset(shim_fd, bo);
   next_is_slow = ((struct softgpu_buffer *)bo)->slow;
   drm_shim_bo_put(bo);
   return 0;
}

void
softgpu_apply_change(const struct softgpu_change *change)
{
   const struct softgpu_mapping *mapping = &change->mapping;
   const unsigned at = find_mapping(mapping->start);

   if (change->unmapped) {
      softgpu_remove_mappings_of(change->unmapped);
      return;
   }
   if (change->operation == AMDGPU_VA_OP_MAP &&
       at < util_dynarray_num_elements(&softgpu.mappings, struct softgpu_mapping) &&
       util_dynarray_element(&softgpu.mappings, struct softgpu_mapping, at)->start < mapping->end) {
      fprintf(stderr, "softgpu: error: something is mapped at address 0x%" PRIx64 " already\n",
              mapping->start);
      softgpu.lost = true;
      return;
   }
   unmap(mapping->start, mapping->end);
   if (change->operation == AMDGPU_VA_OP_MAP || change->operation == AMDGPU_VA_OP_REPLACE)
      insert_mapping(find_mapping(mapping->start), mapping);
}

/* At once when nothing is submitted, and otherwise behind that. */
static int
change_addresses(const struct softgpu_change *change)
{
   if (softgpu.completed == softgpu.submitted) {
      softgpu_apply_change(change);
      return 0;
   }
   struct softgpu_job *job = calloc(1, sizeof(*job));
   if (!job)
      return -ENOMEM;
   util_dynarray_init(&job->buffers, NULL);
   util_dynarray_init(&job->commands, NULL);
   job->number = ++softgpu.submitted;
   job->change = *change;
   struct softgpu_buffer *buffer = change->unmapped ? change->unmapped : change->mapping.buffer;
   if (buffer) {
      drm_shim_bo_get(&buffer->base);
      util_dynarray_append_typed(&job->buffers, struct shim_bo *, &buffer->base);
   }
   list_addtail(&job->link, &softgpu.jobs);
   return 0;
}

int
softgpu_gem_close(int fd, void *argument)
{
   const struct drm_gem_close *close = argument;
   struct shim_fd *shim_fd = drm_shim_fd_lookup(fd);
   void *key = (void *)(uintptr_t)close->handle;

   mtx_lock(&shim_fd->handle_lock);
   struct hash_entry *entry = _mesa_hash_table_search(shim_fd->handles, key);
   struct softgpu_buffer *buffer = entry ? entry->data : NULL;
   if (entry)
      _mesa_hash_table_remove(shim_fd->handles, entry);
   mtx_unlock(&shim_fd->handle_lock);
   if (!buffer)
      return -EINVAL;

   /* As in the kernel, its addresses go with it. */
   const struct softgpu_change change = {.operation = AMDGPU_VA_OP_UNMAP, .unmapped = buffer};
   const int result = change_addresses(&change);
   drm_shim_bo_put(&buffer->base);
   return result;
}

int
softgpu_gem_va(int fd, unsigned long request, void *argument)
{
   const struct drm_amdgpu_gem_va *va = argument;
   struct shim_bo *bo = NULL;

   if ((va->va_address | va->offset_in_bo | va->map_size) & 4095 ||
       va->operation < AMDGPU_VA_OP_MAP || va->operation > AMDGPU_VA_OP_REPLACE)
      return -EINVAL;
   if (va->handle) {
      bo = drm_shim_bo_lookup(drm_shim_fd_lookup(fd), (int)va->handle);
      if (!bo)
         return -ENOENT;
   }

   const uint64_t start = va->va_address & ADDRESS_MASK;
   const struct softgpu_change change = {
      .operation = va->operation,
      .mapping =
         {
            .start = start,
            .end = start + va->map_size,
            .buffer = (struct softgpu_buffer *)bo,
            .offset = va->offset_in_bo,
            .writeable = va->flags & AMDGPU_VM_PAGE_WRITEABLE,
            .uncached = (va->flags & AMDGPU_VM_MTYPE_MASK) == AMDGPU_VM_MTYPE_UC,
         },
   };
   const bool fits = !bo || (va->offset_in_bo <= change.mapping.buffer->size &&
                             va->map_size <= change.mapping.buffer->size - va->offset_in_bo);
   const int result = fits ? change_addresses(&change) : -EINVAL;
   if (bo)
      drm_shim_bo_put(bo);
   return result;
}
