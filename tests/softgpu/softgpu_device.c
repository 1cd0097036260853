/* SPDX-License-Identifier: MIT */

/*
 * In the place of Mesa's src/drm-shim/device.c: what open(), ioctl() and mmap()
 * of the render node end up in. Queries of the device are answered by Mesa's
 * amdgpu_noop_drm_shim.c, which is compiled into this library as well.
 */

#include "softgpu.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "drm-shim/drm_shim.h"
#include "drm-uapi/amdgpu_drm.h"
#include "drm-uapi/drm.h"
#include "util/hash_table.h"
#include "util/os_time.h"
#include "util/u_atomic.h"
#include "util/u_debug.h"
#include "util/u_dynarray.h"
#include "util/u_math.h"

#define MEMORY_SIZE (UINT64_C(4) << 30)

/* Addresses have 48 bits, and the rest repeats the highest. */
#define ADDRESS_MASK ((UINT64_C(1) << 48) - 1)

/* Allocated in the place of Mesa's struct: what it does not have follows. */
struct buffer {
   struct shim_bo base;
   uint64_t size; /* the other one has 32 bits */
   uint64_t flags;
   uint64_t listed; /* the last submit that lists it */
};

/* Sorted by start, without overlaps. */
struct mapping {
   uint64_t start;
   uint64_t end;
   struct buffer *buffer; /* NULL: sparse, and nothing is bound */
   uint64_t offset;
   bool writeable;
};

/* Binary ones use point 0. */
struct syncobj {
   bool exists;
   const struct shim_fd *owner;
   bool signaled;
   uint64_t point;
};

static struct {
   mtx_t lock;
   cnd_t signaled;
   char *memory; /* all of it */
   struct util_dynarray mappings;
   struct util_dynarray syncobjs; /* by handle; 0 is never used */
   uint64_t submit;
   bool failed; /* in this submit */
   bool lost;
   bool leaked;
} gpu;

struct shim_device shim_device;

/* --- Errors --------------------------------------------------------------- */

void
softgpu_error(const char *format, ...)
{
   char text[512];
   va_list arguments;

   if (gpu.failed)
      return;
   gpu.failed = true;
   va_start(arguments, format);
   vsnprintf(text, sizeof(text), format, arguments);
   va_end(arguments);
   fprintf(stderr, "softgpu: error: %s\n", text);
}

bool
softgpu_failed(void)
{
   return gpu.failed;
}

void
softgpu_pause(void)
{
   mtx_unlock(&gpu.lock);
   os_time_sleep(1000);
   mtx_lock(&gpu.lock);
}

/* --- Addresses ------------------------------------------------------------ */

/* The first mapping that ends behind the address, as an index. */
static unsigned
find_mapping(uint64_t address)
{
   const struct mapping *mappings = util_dynarray_begin(&gpu.mappings);
   unsigned first = 0, end = util_dynarray_num_elements(&gpu.mappings, struct mapping);

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
insert_mapping(unsigned at, const struct mapping *mapping)
{
   struct mapping *space = util_dynarray_grow(&gpu.mappings, struct mapping, 1);
   struct mapping *mappings = util_dynarray_begin(&gpu.mappings);

   memmove(&mappings[at + 1], &mappings[at], (char *)space - (char *)&mappings[at]);
   mappings[at] = *mapping;
   if (mapping->buffer)
      drm_shim_bo_get(&mapping->buffer->base);
}

static void
remove_mapping(unsigned at)
{
   struct mapping *mappings = util_dynarray_begin(&gpu.mappings);
   const unsigned count = util_dynarray_num_elements(&gpu.mappings, struct mapping);
   struct buffer *buffer = mappings[at].buffer;

   memmove(&mappings[at], &mappings[at + 1], (count - at - 1) * sizeof(*mappings));
   (void)util_dynarray_pop(&gpu.mappings, struct mapping);
   if (buffer)
      drm_shim_bo_put(&buffer->base);
}

static void
remove_mappings_of(const struct buffer *buffer)
{
   for (unsigned i = 0; i < util_dynarray_num_elements(&gpu.mappings, struct mapping);) {
      if (util_dynarray_element(&gpu.mappings, struct mapping, i)->buffer == buffer)
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

   while (at < util_dynarray_num_elements(&gpu.mappings, struct mapping)) {
      struct mapping old = *util_dynarray_element(&gpu.mappings, struct mapping, at);
      if (old.start >= end)
         break;
      struct mapping before = old, behind = old;
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
static const struct mapping *
look_up(uint64_t va, enum softgpu_access access, const char **reason)
{
   const uint64_t address = va & ADDRESS_MASK;
   const unsigned at = find_mapping(address);

   *reason = "nothing is mapped there";
   if (at >= util_dynarray_num_elements(&gpu.mappings, struct mapping))
      return NULL;
   const struct mapping *mapping = util_dynarray_element(&gpu.mappings, struct mapping, at);
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
       mapping->buffer->listed != gpu.submit)
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
   const struct mapping *mapping = is_canonical(va) ? look_up(va, access, &reason) : NULL;
   if (!mapping) {
      softgpu_error("cannot %s %" PRIu64 " bytes at address 0x%" PRIx64 ": %s",
                    access == SOFTGPU_WRITE ? "write" : "read", size, va, reason);
      return NULL;
   }
   const uint64_t address = va & ADDRESS_MASK;
   *available = MIN2(size, mapping->end - address);
   return gpu.memory + mapping->buffer->base.mem_addr + mapping->offset +
          (address - mapping->start);
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
   const struct mapping *mapping = look_up(va, SOFTGPU_READ, &reason);
   const uint64_t address = va & ADDRESS_MASK;
   if (!mapping || mapping->end - address < size)
      return NULL;
   return gpu.memory + mapping->buffer->base.mem_addr + mapping->offset +
          (address - mapping->start);
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
   struct buffer *buffer = (struct buffer *)bo;

   if (!p_atomic_dec_zero(&bo->refcount))
      return;
   /* The kernel gives nobody what somebody else has left in memory. */
   (void)madvise(gpu.memory + bo->mem_addr, buffer->size, MADV_REMOVE);
   mtx_lock(&shim_device.mem_lock);
   util_vma_heap_free(&shim_device.mem_heap, bo->mem_addr, buffer->size);
   mtx_unlock(&shim_device.mem_lock);
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

static int
gem_create(int fd, unsigned long request, void *argument)
{
   union drm_amdgpu_gem_create *create = argument;
   struct shim_fd *shim_fd = drm_shim_fd_lookup(fd);
   struct buffer *buffer = calloc(1, sizeof(*buffer));
   if (!buffer)
      return -ENOMEM;

   buffer->size = align64(create->in.bo_size, 4096);
   buffer->flags = create->in.domain_flags;
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

static int
gem_mmap(int fd, unsigned long request, void *argument)
{
   union drm_amdgpu_gem_mmap *map = argument;
   struct shim_fd *shim_fd = drm_shim_fd_lookup(fd);
   struct shim_bo *bo = drm_shim_bo_lookup(shim_fd, (int)map->in.handle);
   if (!bo)
      return -ENOENT;

   map->out.addr_ptr = drm_shim_bo_get_mmap_offset(shim_fd, bo);
   drm_shim_bo_put(bo);
   return 0;
}

static int
gem_close(int fd, void *argument)
{
   const struct drm_gem_close *close = argument;
   struct shim_fd *shim_fd = drm_shim_fd_lookup(fd);
   void *key = (void *)(uintptr_t)close->handle;

   mtx_lock(&shim_fd->handle_lock);
   struct hash_entry *entry = _mesa_hash_table_search(shim_fd->handles, key);
   struct buffer *buffer = entry ? entry->data : NULL;
   if (entry)
      _mesa_hash_table_remove(shim_fd->handles, entry);
   mtx_unlock(&shim_fd->handle_lock);
   if (!buffer)
      return -EINVAL;

   /* As in the kernel, its addresses go with it. */
   remove_mappings_of(buffer);
   drm_shim_bo_put(&buffer->base);
   return 0;
}

static int
gem_va(int fd, unsigned long request, void *argument)
{
   const struct drm_amdgpu_gem_va *va = argument;
   struct shim_fd *shim_fd = drm_shim_fd_lookup(fd);
   struct shim_bo *bo = NULL;
   const uint64_t start = va->va_address & ADDRESS_MASK;
   int result = 0;

   if ((va->va_address | va->offset_in_bo | va->map_size) & 4095)
      return -EINVAL;
   if (va->handle) {
      bo = drm_shim_bo_lookup(shim_fd, (int)va->handle);
      if (!bo)
         return -ENOENT;
   }

   const struct mapping mapping = {
      .start = start,
      .end = start + va->map_size,
      .buffer = (struct buffer *)bo,
      .offset = va->offset_in_bo,
      .writeable = va->flags & AMDGPU_VM_PAGE_WRITEABLE,
   };
   const unsigned at = find_mapping(start);
   const bool taken = at < util_dynarray_num_elements(&gpu.mappings, struct mapping) &&
                      util_dynarray_element(&gpu.mappings, struct mapping, at)->start < mapping.end;
   const bool fits = !bo || (va->offset_in_bo <= mapping.buffer->size &&
                             va->map_size <= mapping.buffer->size - va->offset_in_bo);

   switch (va->operation) {
   case AMDGPU_VA_OP_MAP:
   case AMDGPU_VA_OP_REPLACE:
      if (!fits || (taken && va->operation == AMDGPU_VA_OP_MAP)) {
         result = -EINVAL;
         break;
      }
      unmap(mapping.start, mapping.end);
      insert_mapping(find_mapping(mapping.start), &mapping);
      break;
   case AMDGPU_VA_OP_UNMAP:
   case AMDGPU_VA_OP_CLEAR:
      unmap(mapping.start, mapping.end);
      break;
   default:
      result = -EINVAL;
   }
   if (bo)
      drm_shim_bo_put(bo);
   return result;
}

/* --- Syncobjs ------------------------------------------------------------- */

static struct syncobj *
find_syncobj(uint32_t handle)
{
   if (handle >= util_dynarray_num_elements(&gpu.syncobjs, struct syncobj))
      return NULL;
   struct syncobj *syncobj = util_dynarray_element(&gpu.syncobjs, struct syncobj, handle);
   return syncobj->exists ? syncobj : NULL;
}

/* Work is done when its submit returns, so a fence that is there is signaled. */
static int
signal_syncobj(uint32_t handle, uint64_t point)
{
   struct syncobj *syncobj = find_syncobj(handle);
   if (!syncobj)
      return -ENOENT;
   syncobj->signaled = true;
   syncobj->point = MAX2(syncobj->point, point);
   cnd_broadcast(&gpu.signaled);
   return 0;
}

static bool
is_signaled(const struct syncobj *syncobj, uint64_t point)
{
   return point ? syncobj->point >= point : syncobj->signaled;
}

static int
create_syncobj(int fd, struct drm_syncobj_create *create)
{
   const struct syncobj syncobj = {
      .exists = true,
      .owner = drm_shim_fd_lookup(fd),
      .signaled = create->flags & DRM_SYNCOBJ_CREATE_SIGNALED,
   };
   uint32_t handle = 1;

   while (find_syncobj(handle))
      handle++;
   if (handle < util_dynarray_num_elements(&gpu.syncobjs, struct syncobj))
      *util_dynarray_element(&gpu.syncobjs, struct syncobj, handle) = syncobj;
   else
      util_dynarray_append(&gpu.syncobjs, struct syncobj, syncobj);
   create->handle = handle;
   return 0;
}

static int
destroy_syncobj(const struct drm_syncobj_destroy *destroy)
{
   struct syncobj *syncobj = find_syncobj(destroy->handle);
   if (!syncobj)
      return -EINVAL;
   memset(syncobj, 0, sizeof(*syncobj));
   return 0;
}

static int
transfer_syncobj(const struct drm_syncobj_transfer *transfer)
{
   const struct syncobj *source = find_syncobj(transfer->src_handle);
   if (!source)
      return -ENOENT;
   if (!is_signaled(source, transfer->src_point))
      return -EINVAL;
   return signal_syncobj(transfer->dst_handle, transfer->dst_point);
}

static int
change_syncobjs(const uint32_t *handles, const uint64_t *points, uint32_t count, bool reset)
{
   int result = 0;

   for (uint32_t i = 0; i < count && result == 0; i++) {
      struct syncobj *syncobj = find_syncobj(handles[i]);
      if (!syncobj) {
         result = -ENOENT;
      } else if (reset) {
         syncobj->signaled = false;
         syncobj->point = 0;
      } else {
         result = signal_syncobj(handles[i], points ? points[i] : 0);
      }
   }
   return result;
}

static int
query_syncobjs(const struct drm_syncobj_timeline_array *query)
{
   const uint32_t *handles = (const uint32_t *)(uintptr_t)query->handles;
   uint64_t *points = (uint64_t *)(uintptr_t)query->points;

   for (uint32_t i = 0; i < query->count_handles; i++) {
      const struct syncobj *syncobj = find_syncobj(handles[i]);
      if (!syncobj)
         return -ENOENT;
      points[i] = syncobj->point;
   }
   return 0;
}

/* Waits on behalf of the host. All flags but WAIT_ALL say what to do as long as
 * nobody has submitted yet: wait, or else it is an error.
 */
static int
wait_syncobjs(const uint32_t *handles, const uint64_t *points, uint32_t count, uint32_t flags,
              int64_t deadline, uint32_t *first)
{
   const bool all = flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL;

   for (;;) {
      uint32_t signaled = 0;
      for (uint32_t i = count; i-- > 0;) {
         const struct syncobj *syncobj = find_syncobj(handles[i]);
         if (!syncobj)
            return -ENOENT;
         if (is_signaled(syncobj, points ? points[i] : 0)) {
            signaled++;
            *first = i;
         }
      }
      if (all ? signaled == count : signaled > 0)
         return 0;
      if (!(flags &
            (DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE)))
         return -EINVAL;

      const int64_t now = os_time_get_nano();
      if (now >= deadline)
         return -ETIME;
      /* cnd_timedwait() has another clock: look again twice a second. */
      struct timespec until;
      timespec_get(&until, TIME_UTC);
      const int64_t nanoseconds = until.tv_nsec + MIN2(deadline - now, INT64_C(500000000));
      until.tv_sec += nanoseconds / 1000000000;
      until.tv_nsec = nanoseconds % 1000000000;
      cnd_timedwait(&gpu.signaled, &gpu.lock, &until);
   }
}

/* --- Submits -------------------------------------------------------------- */

static int
list_buffers(struct shim_fd *shim_fd, const struct drm_amdgpu_bo_list_in *list)
{
   const struct drm_amdgpu_bo_list_entry *entries =
      (const struct drm_amdgpu_bo_list_entry *)(uintptr_t)list->bo_info_ptr;

   if (list->bo_info_size != sizeof(*entries))
      return -EINVAL;
   for (uint32_t i = 0; i < list->bo_number; i++) {
      struct shim_bo *bo = drm_shim_bo_lookup(shim_fd, (int)entries[i].bo_handle);
      if (!bo)
         return -ENOENT;
      ((struct buffer *)bo)->listed = gpu.submit;
      drm_shim_bo_put(bo);
   }
   return 0;
}

/* Waits have been satisfied when a submit gets here: without work that goes on
 * behind the back of the host, a fence that is there is signaled.
 */
static int
check_waits(const struct drm_amdgpu_cs_chunk *chunk)
{
   const void *data = (const void *)(uintptr_t)chunk->chunk_data;
   const bool timeline = chunk->chunk_id == AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT;
   const uint32_t count = chunk->length_dw * 4 /
                          (timeline ? sizeof(struct drm_amdgpu_cs_chunk_syncobj)
                                    : sizeof(struct drm_amdgpu_cs_chunk_sem));

   for (uint32_t i = 0; i < count; i++) {
      const struct drm_amdgpu_cs_chunk_syncobj *point = data;
      const struct drm_amdgpu_cs_chunk_sem *binary = data;
      const struct syncobj *syncobj = find_syncobj(timeline ? point[i].handle : binary[i].handle);
      if (!syncobj || !is_signaled(syncobj, timeline ? point[i].point : 0))
         return -EINVAL;
   }
   return 0;
}

static void
signal_all(const struct drm_amdgpu_cs_chunk *chunk)
{
   const void *data = (const void *)(uintptr_t)chunk->chunk_data;
   const bool timeline = chunk->chunk_id == AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL;
   const uint32_t count = chunk->length_dw * 4 /
                          (timeline ? sizeof(struct drm_amdgpu_cs_chunk_syncobj)
                                    : sizeof(struct drm_amdgpu_cs_chunk_sem));

   for (uint32_t i = 0; i < count; i++) {
      const struct drm_amdgpu_cs_chunk_syncobj *point = data;
      const struct drm_amdgpu_cs_chunk_sem *binary = data;
      if (timeline)
         (void)signal_syncobj(point[i].handle, point[i].point);
      else
         (void)signal_syncobj(binary[i].handle, 0);
   }
}

static void
execute_chunk(const struct drm_amdgpu_cs_chunk *chunk)
{
   const struct drm_amdgpu_cs_chunk_ib *ib =
      (const struct drm_amdgpu_cs_chunk_ib *)(uintptr_t)chunk->chunk_data;

   switch (ib->ip_type) {
   case AMDGPU_HW_IP_GFX:
      softgpu_execute(SOFTGPU_QUEUE_GRAPHICS, ib->va_start, ib->ib_bytes / 4);
      break;
   case AMDGPU_HW_IP_COMPUTE:
      softgpu_execute(SOFTGPU_QUEUE_COMPUTE, ib->va_start, ib->ib_bytes / 4);
      break;
   default:
      softgpu_error("queues of type %u are not supported", ib->ip_type);
   }
}

static int
submit(int fd, unsigned long request, void *argument)
{
   union drm_amdgpu_cs *cs = argument;
   struct shim_fd *shim_fd = drm_shim_fd_lookup(fd);
   const uint64_t *chunks = (const uint64_t *)(uintptr_t)cs->in.chunks;
   const uint32_t count = cs->in.num_chunks;
   int result = 0;

   if (gpu.lost)
      return -ECANCELED;
   gpu.submit++;
   softgpu_begin_submit();

   for (uint32_t i = 0; i < count && result == 0; i++) {
      const struct drm_amdgpu_cs_chunk *chunk =
         (const struct drm_amdgpu_cs_chunk *)(uintptr_t)chunks[i];
      switch (chunk->chunk_id) {
      case AMDGPU_CHUNK_ID_BO_HANDLES:
         result = list_buffers(shim_fd, (const void *)(uintptr_t)chunk->chunk_data);
         break;
      case AMDGPU_CHUNK_ID_SYNCOBJ_IN:
      case AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT:
         result = check_waits(chunk);
         break;
      case AMDGPU_CHUNK_ID_IB:
      case AMDGPU_CHUNK_ID_FENCE:
      case AMDGPU_CHUNK_ID_SYNCOBJ_OUT:
      case AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL:
         break;
      default:
         softgpu_error("part %u of a submit is not known", chunk->chunk_id);
         result = -EINVAL;
      }
   }
   if (result)
      return result;

   for (uint32_t i = 0; i < count && !gpu.failed; i++) {
      const struct drm_amdgpu_cs_chunk *chunk =
         (const struct drm_amdgpu_cs_chunk *)(uintptr_t)chunks[i];
      if (chunk->chunk_id == AMDGPU_CHUNK_ID_IB)
         execute_chunk(chunk);
   }
   if (gpu.failed) {
      gpu.lost = true;
      return -ENODATA;
   }
   for (uint32_t i = 0; i < count; i++) {
      const struct drm_amdgpu_cs_chunk *chunk =
         (const struct drm_amdgpu_cs_chunk *)(uintptr_t)chunks[i];
      if (chunk->chunk_id == AMDGPU_CHUNK_ID_SYNCOBJ_OUT ||
          chunk->chunk_id == AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL)
         signal_all(chunk);
   }
   memset(cs, 0, sizeof(*cs));
   cs->out.handle = gpu.submit;
   return 0;
}

static int
no_user_memory(int fd, unsigned long request, void *argument)
{
   return -EINVAL;
}

/* --- Mesa's drm-shim ------------------------------------------------------ */

static uint32_t
hash_number(const void *key)
{
   return (uint32_t)(uintptr_t)key;
}

static bool
same_number(const void *a, const void *b)
{
   return a == b;
}

void
drm_shim_device_init(void)
{
   shim_device.fd_map = _mesa_hash_table_create(NULL, hash_number, same_number);
   mtx_init(&shim_device.mem_lock, mtx_plain);
   mtx_init(&gpu.lock, mtx_plain);
   cnd_init(&gpu.signaled);
   util_dynarray_init(&gpu.mappings, NULL);
   util_dynarray_init(&gpu.syncobjs, NULL);
   util_dynarray_append(&gpu.syncobjs, struct syncobj, (struct syncobj){0});

   shim_device.mem_fd = memfd_create("softgpu", MFD_CLOEXEC);
   if (shim_device.mem_fd >= 0 && ftruncate(shim_device.mem_fd, MEMORY_SIZE) == 0) {
      gpu.memory = mmap(NULL, MEMORY_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                        shim_device.mem_fd, 0);
   }
   if (!gpu.memory || gpu.memory == MAP_FAILED) {
      fprintf(stderr, "softgpu: error: no memory\n");
      abort();
   }
   util_vma_heap_init(&shim_device.mem_heap, 4096, MEMORY_SIZE - 4096);

   drm_shim_driver_init();
   shim_device.driver_ioctls[DRM_AMDGPU_GEM_CREATE] = gem_create;
   shim_device.driver_ioctls[DRM_AMDGPU_GEM_MMAP] = gem_mmap;
   shim_device.driver_ioctls[DRM_AMDGPU_GEM_VA] = gem_va;
   shim_device.driver_ioctls[DRM_AMDGPU_GEM_USERPTR] = no_user_memory;
   shim_device.driver_ioctls[DRM_AMDGPU_CS] = submit;
}

void
drm_shim_fd_register(int fd, struct shim_fd *shim_fd)
{
   if (shim_fd) {
      p_atomic_inc(&shim_fd->refcount);
   } else {
      shim_fd = calloc(1, sizeof(*shim_fd));
      if (!shim_fd)
         abort();
      shim_fd->fd = fd;
      shim_fd->refcount = 1;
      mtx_init(&shim_fd->handle_lock, mtx_plain);
      shim_fd->handles = _mesa_hash_table_create(NULL, hash_number, same_number);
   }
   mtx_lock(&shim_device.mem_lock);
   _mesa_hash_table_insert(shim_device.fd_map, (void *)(uintptr_t)(fd + 1), shim_fd);
   mtx_unlock(&shim_device.mem_lock);
}

struct shim_fd *
drm_shim_fd_lookup(int fd)
{
   if (fd < 0)
      return NULL;
   mtx_lock(&shim_device.mem_lock);
   struct hash_entry *entry =
      _mesa_hash_table_search(shim_device.fd_map, (void *)(uintptr_t)(fd + 1));
   struct shim_fd *shim_fd = entry ? entry->data : NULL;
   mtx_unlock(&shim_device.mem_lock);
   return shim_fd;
}

/* What the driver has left when it closes the device; SOFTGPU_LEAKS=0 in the
 * environment: whatever it has.
 */
static void
check_leaks(const struct shim_fd *shim_fd)
{
   const unsigned buffers = shim_fd->handles->entries;
   unsigned syncobjs = 0;

   util_dynarray_foreach (&gpu.syncobjs, struct syncobj, syncobj)
      syncobjs += syncobj->exists && syncobj->owner == shim_fd;
   if ((!buffers && !syncobjs) || !debug_get_bool_option("SOFTGPU_LEAKS", true))
      return;
   fprintf(stderr, "softgpu: error: left behind: %u buffers, %u syncobjs\n", buffers, syncobjs);
   hash_table_foreach (shim_fd->handles, entry) {
      const struct buffer *buffer = entry->data;
      fprintf(stderr, "softgpu: a buffer of %" PRIu64 " bytes, flags 0x%" PRIx64 "\n", buffer->size,
              buffer->flags);
   }
   gpu.leaked = true;
}

/* Nobody has been told yet, and tests look at the status. */
static void __attribute__((destructor))
fail_for_leaks(void)
{
   if (gpu.leaked)
      _exit(99);
}

static void
put_buffer(struct hash_entry *entry)
{
   drm_shim_bo_put(entry->data);
}

void
drm_shim_fd_unregister(int fd)
{
   struct shim_fd *shim_fd = drm_shim_fd_lookup(fd);
   if (!shim_fd)
      return;
   mtx_lock(&shim_device.mem_lock);
   _mesa_hash_table_remove_key(shim_device.fd_map, (void *)(uintptr_t)(fd + 1));
   mtx_unlock(&shim_device.mem_lock);
   if (!p_atomic_dec_zero(&shim_fd->refcount))
      return;

   mtx_lock(&gpu.lock);
   check_leaks(shim_fd);
   hash_table_foreach (shim_fd->handles, entry)
      remove_mappings_of(entry->data);
   _mesa_hash_table_destroy(shim_fd->handles, put_buffer);
   mtx_unlock(&gpu.lock);
   free(shim_fd);
}

static int
core_ioctl(int fd, unsigned long request, void *argument)
{
   switch (request) {
   case DRM_IOCTL_VERSION: {
      struct drm_version *version = argument;
      version->version_major = shim_device.version_major;
      version->version_minor = shim_device.version_minor;
      version->version_patchlevel = shim_device.version_patchlevel;
      /* libdrm asks for the lengths first, and wants none of them to be 0. */
      if (version->name)
         strncpy(version->name, shim_device.driver_name, version->name_len);
      if (version->date)
         strncpy(version->date, "softgpu", version->date_len);
      if (version->desc)
         strncpy(version->desc, "softgpu", version->desc_len);
      version->name_len = strlen(shim_device.driver_name);
      version->date_len = strlen("softgpu");
      version->desc_len = strlen("softgpu");
      return 0;
   }
   case DRM_IOCTL_GET_UNIQUE:
      ((struct drm_unique *)argument)->unique_len = 0;
      return 0;
   case DRM_IOCTL_GET_CAP: {
      struct drm_get_cap *cap = argument;
      if (cap->capability != DRM_CAP_PRIME && cap->capability != DRM_CAP_SYNCOBJ &&
          cap->capability != DRM_CAP_SYNCOBJ_TIMELINE)
         return -EINVAL;
      cap->value = 1;
      return 0;
   }
   case DRM_IOCTL_GEM_CLOSE:
      return gem_close(fd, argument);
   case DRM_IOCTL_SYNCOBJ_CREATE:
      return create_syncobj(fd, argument);
   case DRM_IOCTL_SYNCOBJ_DESTROY:
      return destroy_syncobj(argument);
   case DRM_IOCTL_SYNCOBJ_TRANSFER:
      return transfer_syncobj(argument);
   case DRM_IOCTL_SYNCOBJ_RESET:
   case DRM_IOCTL_SYNCOBJ_SIGNAL: {
      const struct drm_syncobj_array *array = argument;
      return change_syncobjs((const uint32_t *)(uintptr_t)array->handles, NULL,
                             array->count_handles, request == DRM_IOCTL_SYNCOBJ_RESET);
   }
   case DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL: {
      const struct drm_syncobj_timeline_array *array = argument;
      return change_syncobjs((const uint32_t *)(uintptr_t)array->handles,
                             (const uint64_t *)(uintptr_t)array->points, array->count_handles,
                             false);
   }
   case DRM_IOCTL_SYNCOBJ_QUERY:
      return query_syncobjs(argument);
   case DRM_IOCTL_SYNCOBJ_WAIT: {
      struct drm_syncobj_wait *wait = argument;
      return wait_syncobjs((const uint32_t *)(uintptr_t)wait->handles, NULL, wait->count_handles,
                           wait->flags, wait->timeout_nsec, &wait->first_signaled);
   }
   case DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT: {
      struct drm_syncobj_timeline_wait *wait = argument;
      return wait_syncobjs((const uint32_t *)(uintptr_t)wait->handles,
                           (const uint64_t *)(uintptr_t)wait->points, wait->count_handles,
                           wait->flags, wait->timeout_nsec, &wait->first_signaled);
   }
   default:
      return -EINVAL;
   }
}

int
drm_shim_ioctl(int fd, unsigned long request, void *argument)
{
   const unsigned number = _IOC_NR(request);
   int result = -EINVAL;

   mtx_lock(&gpu.lock);
   if (number < DRM_COMMAND_BASE || number >= DRM_COMMAND_END) {
      result = core_ioctl(fd, request, argument);
   } else if (number - DRM_COMMAND_BASE < (unsigned)shim_device.driver_ioctl_count &&
              shim_device.driver_ioctls[number - DRM_COMMAND_BASE]) {
      result = shim_device.driver_ioctls[number - DRM_COMMAND_BASE](fd, request, argument);
   }
   mtx_unlock(&gpu.lock);
   if (result >= 0)
      return result;
   errno = -result;
   return -1;
}

void *
drm_shim_mmap(struct shim_fd *shim_fd, size_t length, int prot, int flags, int fd, off64_t offset)
{
   return mmap64(NULL, length, prot, flags, shim_device.mem_fd, offset);
}
