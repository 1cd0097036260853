/* SPDX-License-Identifier: MIT */

/*
 * In the place of Mesa's src/drm-shim/device.c: what open(), ioctl() and mmap()
 * of the render node end up in. Queries of the device are answered by Mesa's
 * amdgpu_noop_drm_shim.c, which is compiled into this library as well.
 */

#include "softgpu.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
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
#include "util/list.h"
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
   uint64_t listed; /* the last job that lists it */
};

/* Sorted by start, without overlaps. */
struct mapping {
   uint64_t start;
   uint64_t end;
   struct buffer *buffer; /* NULL: sparse, and nothing is bound */
   uint64_t offset;
   bool writeable;
};

/* A submit until it is done. Changes of addresses are jobs, too: as in the kernel,
 * work that was submitted before does not see them.
 */
struct job {
   struct list_head link;
   uint64_t number;
   struct util_dynarray buffers;  /* struct shim_bo *: what it may access, referenced */
   struct util_dynarray commands; /* struct drm_amdgpu_cs_chunk_ib */
   struct change {
      uint32_t operation;      /* AMDGPU_VA_OP_*; 0: none */
      struct mapping mapping;  /* of addresses to its buffer */
      struct buffer *unmapped; /* instead: from all its addresses; referenced */
   } change;
};

/* The fence of a submit. Jobs are done in the order of their numbers; 0: it is
 * signaled already.
 */
struct point {
   uint64_t value; /* 0: a binary one */
   uint64_t job;
};

struct syncobj {
   bool exists;
   const struct shim_fd *owner;
   struct util_dynarray points; /* by value; none: nobody has submitted yet */
};

static struct {
   mtx_t lock;
   int waiting; /* threads that would like to have it */
   cnd_t work;  /* there is a job */
   cnd_t done;  /* a job is done, or a fence is there */
   thrd_t worker;
   bool has_worker;
   struct list_head jobs; /* of struct job */
   uint64_t submitted;    /* number of the last job */
   uint64_t completed;
   uint64_t current; /* job that is executed */

   char *memory; /* all of it */
   struct util_dynarray mappings;
   struct util_dynarray syncobjs; /* by handle; 0 is never used */
   bool failed;                   /* in this job */
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

/* Without asking for it, a thread would hardly ever get the lock. */
static void
lock_gpu(void)
{
   p_atomic_inc(&gpu.waiting);
   mtx_lock(&gpu.lock);
   p_atomic_dec(&gpu.waiting);
}

void
softgpu_yield(void)
{
   if (!p_atomic_read(&gpu.waiting))
      return;
   mtx_unlock(&gpu.lock);
   while (p_atomic_read(&gpu.waiting))
      thrd_yield();
   mtx_lock(&gpu.lock);
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
       mapping->buffer->listed != gpu.current)
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

static void
apply_change(const struct change *change)
{
   const struct mapping *mapping = &change->mapping;
   const unsigned at = find_mapping(mapping->start);

   if (change->unmapped) {
      remove_mappings_of(change->unmapped);
      return;
   }
   if (change->operation == AMDGPU_VA_OP_MAP &&
       at < util_dynarray_num_elements(&gpu.mappings, struct mapping) &&
       util_dynarray_element(&gpu.mappings, struct mapping, at)->start < mapping->end) {
      fprintf(stderr, "softgpu: error: something is mapped at address 0x%" PRIx64 " already\n",
              mapping->start);
      gpu.lost = true;
      return;
   }
   unmap(mapping->start, mapping->end);
   if (change->operation == AMDGPU_VA_OP_MAP || change->operation == AMDGPU_VA_OP_REPLACE)
      insert_mapping(find_mapping(mapping->start), mapping);
}

/* At once when nothing is submitted, and otherwise behind that. */
static int
change_addresses(const struct change *change)
{
   if (gpu.completed == gpu.submitted) {
      apply_change(change);
      return 0;
   }
   struct job *job = calloc(1, sizeof(*job));
   if (!job)
      return -ENOMEM;
   util_dynarray_init(&job->buffers, NULL);
   util_dynarray_init(&job->commands, NULL);
   job->number = ++gpu.submitted;
   job->change = *change;
   struct buffer *buffer = change->unmapped ? change->unmapped : change->mapping.buffer;
   if (buffer) {
      drm_shim_bo_get(&buffer->base);
      util_dynarray_append(&job->buffers, struct shim_bo *, &buffer->base);
   }
   list_addtail(&job->link, &gpu.jobs);
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
   const struct change change = {.operation = AMDGPU_VA_OP_UNMAP, .unmapped = buffer};
   const int result = change_addresses(&change);
   drm_shim_bo_put(&buffer->base);
   return result;
}

static int
gem_va(int fd, unsigned long request, void *argument)
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
   const struct change change = {
      .operation = va->operation,
      .mapping =
         {
            .start = start,
            .end = start + va->map_size,
            .buffer = (struct buffer *)bo,
            .offset = va->offset_in_bo,
            .writeable = va->flags & AMDGPU_VM_PAGE_WRITEABLE,
         },
   };
   const bool fits = !bo || (va->offset_in_bo <= change.mapping.buffer->size &&
                             va->map_size <= change.mapping.buffer->size - va->offset_in_bo);
   const int result = fits ? change_addresses(&change) : -EINVAL;
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

static bool
is_done(uint64_t job)
{
   return job <= gpu.completed;
}

/* The fence at a point, or at a later one; value 0: the last fence. NULL: there
 * is none yet.
 */
static const struct point *
find_point(const struct syncobj *syncobj, uint64_t value)
{
   const unsigned count = util_dynarray_num_elements(&syncobj->points, struct point);

   for (unsigned i = value || !count ? 0 : count - 1; i < count; i++) {
      const struct point *point = util_dynarray_element(&syncobj->points, struct point, i);
      if (point->value >= value)
         return point;
   }
   return NULL;
}

static int
set_fence(uint32_t handle, uint64_t value, uint64_t job)
{
   struct syncobj *syncobj = find_syncobj(handle);
   if (!syncobj)
      return -ENOENT;
   if (!value)
      util_dynarray_clear(&syncobj->points);
   util_dynarray_append(&syncobj->points, struct point, ((struct point){value, job}));
   cnd_broadcast(&gpu.done);
   return 0;
}

static int
create_syncobj(int fd, struct drm_syncobj_create *create)
{
   struct syncobj syncobj = {.exists = true, .owner = drm_shim_fd_lookup(fd)};
   uint32_t handle = 1;

   util_dynarray_init(&syncobj.points, NULL);
   while (find_syncobj(handle))
      handle++;
   if (handle < util_dynarray_num_elements(&gpu.syncobjs, struct syncobj))
      *util_dynarray_element(&gpu.syncobjs, struct syncobj, handle) = syncobj;
   else
      util_dynarray_append(&gpu.syncobjs, struct syncobj, syncobj);
   create->handle = handle;
   return create->flags & DRM_SYNCOBJ_CREATE_SIGNALED ? set_fence(handle, 0, 0) : 0;
}

static int
destroy_syncobj(const struct drm_syncobj_destroy *destroy)
{
   struct syncobj *syncobj = find_syncobj(destroy->handle);
   if (!syncobj)
      return -EINVAL;
   util_dynarray_fini(&syncobj->points);
   memset(syncobj, 0, sizeof(*syncobj));
   return 0;
}

static int
transfer_syncobj(const struct drm_syncobj_transfer *transfer)
{
   const struct syncobj *source = find_syncobj(transfer->src_handle);
   const struct point *point = source ? find_point(source, transfer->src_point) : NULL;
   if (!point)
      return source ? -EINVAL : -ENOENT;
   return set_fence(transfer->dst_handle, transfer->dst_point, point->job);
}

static int
change_syncobjs(const uint32_t *handles, const uint64_t *points, uint32_t count, bool reset)
{
   int result = 0;

   for (uint32_t i = 0; i < count && result == 0; i++) {
      struct syncobj *syncobj = find_syncobj(handles[i]);
      if (!syncobj)
         result = -ENOENT;
      else if (reset)
         util_dynarray_clear(&syncobj->points);
      else
         result = set_fence(handles[i], points ? points[i] : 0, 0);
   }
   return result;
}

static int
query_syncobjs(const struct drm_syncobj_timeline_array *query)
{
   const uint32_t *handles = (const uint32_t *)(uintptr_t)query->handles;
   uint64_t *values = (uint64_t *)(uintptr_t)query->points;

   for (uint32_t i = 0; i < query->count_handles; i++) {
      const struct syncobj *syncobj = find_syncobj(handles[i]);
      if (!syncobj)
         return -ENOENT;
      values[i] = 0;
      util_dynarray_foreach (&syncobj->points, struct point, point) {
         if (!is_done(point->job))
            break;
         values[i] = point->value;
      }
   }
   return 0;
}

/* cnd_timedwait() has another clock than the kernel: look again now and then. */
static int
wait_for_change(int64_t deadline)
{
   const int64_t now = os_time_get_nano();
   struct timespec until;

   if (now >= deadline)
      return -ETIME;
   timespec_get(&until, TIME_UTC);
   const int64_t nanoseconds = until.tv_nsec + MIN2(deadline - now, INT64_C(500000000));
   until.tv_sec += nanoseconds / 1000000000;
   until.tv_nsec = nanoseconds % 1000000000;
   cnd_timedwait(&gpu.done, &gpu.lock, &until);
   return 0;
}

/* Waits on behalf of the host. */
static int
wait_syncobjs(const uint32_t *handles, const uint64_t *points, uint32_t count, uint32_t flags,
              int64_t deadline, uint32_t *first)
{
   const bool all = flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL;
   const bool available = flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE;
   const bool for_submit = available || (flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT);

   for (;;) {
      uint32_t satisfied = 0;
      for (uint32_t i = count; i-- > 0;) {
         const struct syncobj *syncobj = find_syncobj(handles[i]);
         if (!syncobj)
            return -ENOENT;
         const struct point *point = find_point(syncobj, points ? points[i] : 0);
         if (!point && !for_submit)
            return -EINVAL;
         if (point && (available || is_done(point->job))) {
            satisfied++;
            *first = i;
         }
      }
      if (all ? satisfied == count : satisfied > 0)
         return 0;
      const int result = wait_for_change(deadline);
      if (result)
         return result;
   }
}

/* --- Submits -------------------------------------------------------------- */

static void
free_job(struct job *job)
{
   util_dynarray_foreach (&job->buffers, struct shim_bo *, bo)
      drm_shim_bo_put(*bo);
   util_dynarray_fini(&job->buffers);
   util_dynarray_fini(&job->commands);
   free(job);
}

static void
execute_job(const struct job *job)
{
   gpu.current = job->number;
   gpu.failed = false;
   util_dynarray_foreach (&job->buffers, struct shim_bo *, bo)
      ((struct buffer *)*bo)->listed = job->number;
   softgpu_begin_submit();

   util_dynarray_foreach (&job->commands, struct drm_amdgpu_cs_chunk_ib, ib) {
      if (gpu.failed)
         break;
      if (ib->ip_type == AMDGPU_HW_IP_GFX)
         softgpu_execute(SOFTGPU_QUEUE_GRAPHICS, ib->va_start, ib->ib_bytes / 4);
      else if (ib->ip_type == AMDGPU_HW_IP_COMPUTE)
         softgpu_execute(SOFTGPU_QUEUE_COMPUTE, ib->va_start, ib->ib_bytes / 4);
      else
         softgpu_error("queues of type %u are not supported", ib->ip_type);
   }
   gpu.lost |= gpu.failed;
}

/* One job after the other, whatever the queue. A job waits for jobs before it
 * only, which are done then. When the device is lost, what is left is done
 * without being executed, as in the kernel.
 */
static int
work(void *unused)
{
   sigset_t signals;
   sigfillset(&signals);
   pthread_sigmask(SIG_BLOCK, &signals, NULL);

   mtx_lock(&gpu.lock);
   for (;;) {
      while (list_is_empty(&gpu.jobs))
         cnd_wait(&gpu.work, &gpu.lock);
      struct job *job = list_first_entry(&gpu.jobs, struct job, link);
      list_del(&job->link);
      if (job->change.operation)
         apply_change(&job->change);
      else if (!gpu.lost)
         execute_job(job);
      gpu.completed = job->number;
      free_job(job);
      cnd_broadcast(&gpu.done);
   }
   return 0;
}

static int
list_buffers(struct shim_fd *shim_fd, const struct drm_amdgpu_bo_list_in *list, struct job *job)
{
   const struct drm_amdgpu_bo_list_entry *entries =
      (const struct drm_amdgpu_bo_list_entry *)(uintptr_t)list->bo_info_ptr;

   if (list->bo_info_size != sizeof(*entries))
      return -EINVAL;
   for (uint32_t i = 0; i < list->bo_number; i++) {
      struct shim_bo *bo = drm_shim_bo_lookup(shim_fd, (int)entries[i].bo_handle);
      if (!bo)
         return -ENOENT;
      util_dynarray_append(&job->buffers, struct shim_bo *, bo);
   }
   return 0;
}

/* What a submit waits for has to be submitted. */
static int
check_waits(const struct drm_amdgpu_cs_chunk *chunk)
{
   const bool timeline = chunk->chunk_id == AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT;
   const struct drm_amdgpu_cs_chunk_syncobj *points = (const void *)(uintptr_t)chunk->chunk_data;
   const struct drm_amdgpu_cs_chunk_sem *binaries = (const void *)(uintptr_t)chunk->chunk_data;
   const uint32_t count = chunk->length_dw * 4 / (timeline ? sizeof(*points) : sizeof(*binaries));

   for (uint32_t i = 0; i < count; i++) {
      const struct syncobj *syncobj =
         find_syncobj(timeline ? points[i].handle : binaries[i].handle);
      if (!syncobj || !find_point(syncobj, timeline ? points[i].point : 0))
         return -EINVAL;
   }
   return 0;
}

static int
add_fences(const struct drm_amdgpu_cs_chunk *chunk, uint64_t job)
{
   const bool timeline = chunk->chunk_id == AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL;
   const struct drm_amdgpu_cs_chunk_syncobj *points = (const void *)(uintptr_t)chunk->chunk_data;
   const struct drm_amdgpu_cs_chunk_sem *binaries = (const void *)(uintptr_t)chunk->chunk_data;
   const uint32_t count = chunk->length_dw * 4 / (timeline ? sizeof(*points) : sizeof(*binaries));
   int result = 0;

   for (uint32_t i = 0; i < count && result == 0; i++)
      result = timeline ? set_fence(points[i].handle, points[i].point, job)
                        : set_fence(binaries[i].handle, 0, job);
   return result;
}

/* Fences last: nothing may be left of a submit that fails. */
static int
read_chunks(struct shim_fd *shim_fd, const union drm_amdgpu_cs *cs, struct job *job)
{
   const uint64_t *chunks = (const uint64_t *)(uintptr_t)cs->in.chunks;
   int result = 0;

   for (unsigned fences = 0; fences < 2; fences++) {
      for (uint32_t i = 0; i < cs->in.num_chunks && result == 0; i++) {
         const struct drm_amdgpu_cs_chunk *chunk =
            (const struct drm_amdgpu_cs_chunk *)(uintptr_t)chunks[i];
         const void *data = (const void *)(uintptr_t)chunk->chunk_data;

         switch (chunk->chunk_id) {
         case AMDGPU_CHUNK_ID_IB:
            if (!fences)
               util_dynarray_append(&job->commands, struct drm_amdgpu_cs_chunk_ib,
                                    *(const struct drm_amdgpu_cs_chunk_ib *)data);
            break;
         case AMDGPU_CHUNK_ID_BO_HANDLES:
            if (!fences)
               result = list_buffers(shim_fd, data, job);
            break;
         case AMDGPU_CHUNK_ID_SYNCOBJ_IN:
         case AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT:
            if (!fences)
               result = check_waits(chunk);
            break;
         case AMDGPU_CHUNK_ID_SYNCOBJ_OUT:
         case AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL:
            if (fences)
               result = add_fences(chunk, job->number);
            break;
         case AMDGPU_CHUNK_ID_FENCE: /* for the user; RADV does not read it */
            break;
         default:
            fprintf(stderr, "softgpu: error: part %u of a submit is not known\n", chunk->chunk_id);
            result = -EINVAL;
         }
      }
   }
   return result;
}

static int
submit(int fd, unsigned long request, void *argument)
{
   union drm_amdgpu_cs *cs = argument;

   if (gpu.lost)
      return -ECANCELED;
   if (!gpu.has_worker && thrd_create(&gpu.worker, work, NULL) != thrd_success)
      return -ENOMEM;
   gpu.has_worker = true;

   struct job *job = calloc(1, sizeof(*job));
   if (!job)
      return -ENOMEM;
   job->number = gpu.submitted + 1;
   util_dynarray_init(&job->buffers, NULL);
   util_dynarray_init(&job->commands, NULL);
   const int result = read_chunks(drm_shim_fd_lookup(fd), cs, job);
   if (result) {
      free_job(job);
      return result;
   }
   gpu.submitted = job->number;
   list_addtail(&job->link, &gpu.jobs);
   cnd_signal(&gpu.work);
   memset(cs, 0, sizeof(*cs));
   cs->out.handle = job->number;
   return 0;
}

static int
wait_for_submit(int fd, unsigned long request, void *argument)
{
   union drm_amdgpu_wait_cs *wait = argument;
   const uint64_t job = wait->in.handle == UINT64_MAX ? gpu.submitted : wait->in.handle;
   const int64_t deadline = (int64_t)MIN2(wait->in.timeout, (uint64_t)INT64_MAX);
   int result = 0;

   while (!is_done(job) && result == 0)
      result = wait_for_change(deadline);
   memset(wait, 0, sizeof(*wait));
   wait->out.status = !is_done(job);
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
   cnd_init(&gpu.work);
   cnd_init(&gpu.done);
   list_inithead(&gpu.jobs);
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
   shim_device.driver_ioctls[DRM_AMDGPU_WAIT_CS] = wait_for_submit;
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

/* Programs do not get to know of either, and tests look at the status. */
static void __attribute__((destructor)) fail_at_exit(void)
{
   if (gpu.leaked || gpu.lost) {
      fflush(NULL);
      _exit(99);
   }
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

   lock_gpu();
   while (!is_done(gpu.submitted))
      (void)wait_for_change(INT64_MAX);
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

   lock_gpu();
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
