/* SPDX-License-Identifier: MIT */

/*
 * In the place of Mesa's src/drm-shim/device.c: what open(), ioctl() and mmap()
 * of the render node end up in, and the thread that executes what was submitted.
 * Queries of the device are answered by Mesa's amdgpu_noop_drm_shim.c, which is
 * compiled into this library as well.
 */

#include "softgpu_device.h"
#include "softgpu_counters.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "drm-uapi/amdgpu_drm.h"
#include "util/hash_table.h"
#include "util/os_time.h"
#include "util/u_atomic.h"
#include "util/u_debug.h"
#include "sid.h"

#define MEMORY_SIZE  (UINT64_C(4) << 30)
#define LINGER_NS    5000000
#define PAUSES       16 /* until host and GPU meet */
#define NOTHING_SIZE (UINT64_C(1) << 20)

struct softgpu softgpu;
struct shim_device shim_device;

/* --- Errors --------------------------------------------------------------- */

void
softgpu_error(const char *format, ...)
{
   char text[512];
   va_list arguments;

   if (softgpu.failed)
      return;
   softgpu.failed = true;
   va_start(arguments, format);
   vsnprintf(text, sizeof(text), format, arguments);
   va_end(arguments);
   fprintf(stderr, "softgpu: error: %s\n", text);
}

static bool
is_set(const char *name)
{
   const char *value = getenv(name);
   return value && !strcmp(value, "1");
}

bool
softgpu_is_blind(void)
{
   return is_set("SOFTGPU_BLIND");
}

bool
softgpu_takes_first_lane(void)
{
   return is_set("SOFTGPU_FIRST_LANE");
}

static bool
has_word(const char *list, const char *what)
{
   const size_t length = strlen(what);

   while (list && *list) {
      const size_t word = strcspn(list, ",");
      if (word == length && !strncmp(list, what, length))
         return true;
      list += word + (list[word] == ',');
   }
   return false;
}

bool
softgpu_is_broken(const char *what)
{
   return has_word(getenv("SOFTGPU_BROKEN"), what);
}

/* The first counts: the job ends there. */
void
softgpu_note_fault(uint64_t va, bool is_write)
{
   if (softgpu.failed)
      return;
   softgpu.fault_address = va & ~UINT64_C(4095);
   softgpu.fault_status = S_00A130_MORE_FAULTS(1) | S_00A130_RW(is_write);
}

bool
softgpu_has_mode(const char *mode)
{
   return has_word(getenv("SOFTGPU_MODE"), mode);
}

/* Of lost=N; 0: it is not lost */
static unsigned
lost_in_submit(void)
{
   const char *mode = getenv("SOFTGPU_MODE");
   const char *number = mode ? strstr(mode, "lost=") : NULL;
   return number ? (unsigned)atoi(number + strlen("lost=")) : 0;
}

bool
softgpu_failed(void)
{
   return softgpu.failed;
}

/* Without asking for it, a thread would hardly ever get the lock. */
static void
lock_gpu(void)
{
   p_atomic_inc(&softgpu.waiting);
   mtx_lock(&softgpu.lock);
   p_atomic_dec(&softgpu.waiting);
}

void
softgpu_yield(void)
{
   if (!p_atomic_read(&softgpu.waiting))
      return;
   mtx_unlock(&softgpu.lock);
   while (p_atomic_read(&softgpu.waiting))
      thrd_yield();
   mtx_lock(&softgpu.lock);
}

/* Who waits for what the host writes is to see it some time. */
void
softgpu_pause(void)
{
   static unsigned pauses;

   mtx_unlock(&softgpu.lock);
   os_time_sleep(1000);
   mtx_lock(&softgpu.lock);
   if (++pauses % PAUSES == 0)
      softgpu_meet();
}

/* RADV is told to leave its images as they are: without compression, so without clears that
 * write what tells of it.
 */
static void __attribute__((constructor)) switch_compression_off(void)
{
   static const char *without = "nodcc,nohiz,nofastclears";
   const char *flags = getenv("RADV_DEBUG");
   char all[1024];

   if (flags && strstr(flags, without))
      return;
   snprintf(all, sizeof(all), "%s%s%s", flags ? flags : "", flags ? "," : "", without);
   setenv("RADV_DEBUG", all, 1);
}

/* --- Submits -------------------------------------------------------------- */

static void
free_job(struct softgpu_job *job)
{
   util_dynarray_foreach (&job->buffers, struct shim_bo *, bo)
      drm_shim_bo_put(*bo);
   util_dynarray_fini(&job->buffers);
   util_dynarray_fini(&job->commands);
   free(job);
}

static void
execute_job(const struct softgpu_job *job)
{
   softgpu.current = job->number;
   softgpu.failed = false;
   util_dynarray_foreach (&job->buffers, struct shim_bo *, bo)
      ((struct softgpu_buffer *)*bo)->listed = job->number;
   softgpu_begin_submit();
   while (softgpu_is_broken("hang"))
      softgpu_pause();

   softgpu_meet();
   util_dynarray_foreach (&job->commands, struct drm_amdgpu_cs_chunk_ib, ib) {
      if (softgpu.failed)
         break;
      if (ib->ip_type == AMDGPU_HW_IP_GFX)
         softgpu_execute(SOFTGPU_QUEUE_GRAPHICS, ib->va_start, ib->ib_bytes / 4);
      else if (ib->ip_type == AMDGPU_HW_IP_COMPUTE)
         softgpu_execute(SOFTGPU_QUEUE_COMPUTE, ib->va_start, ib->ib_bytes / 4);
      else
         softgpu_error("queues of type %u are not supported", ib->ip_type);
   }
   softgpu_meet();
   softgpu.lost |= softgpu.failed;

   static unsigned submits;
   if (++submits == lost_in_submit()) {
      fprintf(stderr, "softgpu: the device is lost\n");
      softgpu_scramble();
      softgpu.lost = softgpu.lost_as_asked = true;
   }
}

static bool
has_submit(void)
{
   list_for_each_entry (struct softgpu_job, job, &softgpu.jobs, link) {
      if (!job->change.operation)
         return true;
   }
   return false;
}

/* SOFTGPU_MODE=busy: until there is another submit, but not for ever. */
static void
linger(void)
{
   const int64_t end = os_time_get_nano() + LINGER_NS;
   while (!has_submit() && os_time_get_nano() < end)
      softgpu_pause();
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

   mtx_lock(&softgpu.lock);
   for (;;) {
      while (list_is_empty(&softgpu.jobs))
         cnd_wait(&softgpu.work, &softgpu.lock);
      struct softgpu_job *job = list_first_entry(&softgpu.jobs, struct softgpu_job, link);
      list_del(&job->link);
      if (job->change.operation)
         softgpu_apply_change(&job->change);
      else if (!softgpu.lost)
         execute_job(job);
      if (softgpu_has_mode("busy"))
         linger();
      softgpu.completed = job->number;
      free_job(job);
      cnd_broadcast(&softgpu.done);
   }
   return 0;
}

static int
list_buffers(struct shim_fd *shim_fd, const struct drm_amdgpu_bo_list_in *list,
             struct softgpu_job *job)
{
   const struct drm_amdgpu_bo_list_entry *entries =
      (const struct drm_amdgpu_bo_list_entry *)(uintptr_t)list->bo_info_ptr;

   if (list->bo_info_size != sizeof(*entries))
      return -EINVAL;
   for (uint32_t i = 0; i < list->bo_number; i++) {
      struct shim_bo *bo = drm_shim_bo_lookup(shim_fd, (int)entries[i].bo_handle);
      if (!bo)
         return -ENOENT;
      util_dynarray_append_typed(&job->buffers, struct shim_bo *, bo);
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
      const struct softgpu_syncobj *syncobj =
         softgpu_find_syncobj(timeline ? points[i].handle : binaries[i].handle);
      if (!syncobj || !softgpu_find_point(syncobj, timeline ? points[i].point : 0))
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
      result = timeline ? softgpu_set_fence(points[i].handle, points[i].point, job)
                        : softgpu_set_fence(binaries[i].handle, 0, job);
   return result;
}

/* Fences last: nothing may be left of a submit that fails. */
static int
read_chunks(struct shim_fd *shim_fd, const union drm_amdgpu_cs *cs, struct softgpu_job *job)
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
               util_dynarray_append_typed(&job->commands, struct drm_amdgpu_cs_chunk_ib,
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

   if (softgpu.lost)
      return -ECANCELED;
   if (!softgpu.has_worker && thrd_create(&softgpu.worker, work, NULL) != thrd_success)
      return -ENOMEM;
   softgpu.has_worker = true;

   struct softgpu_job *job = calloc(1, sizeof(*job));
   if (!job)
      return -ENOMEM;
   job->number = softgpu.submitted + 1;
   util_dynarray_init(&job->buffers, NULL);
   util_dynarray_init(&job->commands, NULL);
   const int result = read_chunks(drm_shim_fd_lookup(fd), cs, job);
   if (result) {
      free_job(job);
      return result;
   }
   softgpu.submitted = job->number;
   list_addtail(&job->link, &softgpu.jobs);
   cnd_signal(&softgpu.work);
   memset(cs, 0, sizeof(*cs));
   const uint64_t number = cs->out.handle = softgpu.submitted;
   while (softgpu_has_mode("prompt") && !softgpu_is_done(number))
      softgpu_wait_for_change(INT64_MAX);
   return 0;
}

static int
wait_for_submit(int fd, unsigned long request, void *argument)
{
   union drm_amdgpu_wait_cs *wait = argument;
   const uint64_t job = wait->in.handle == UINT64_MAX ? softgpu.submitted : wait->in.handle;
   const int64_t deadline = (int64_t)MIN2(wait->in.timeout, (uint64_t)INT64_MAX);
   int result = 0;

   while (!softgpu_is_done(job) && result == 0)
      result = softgpu_wait_for_change(deadline);
   memset(wait, 0, sizeof(*wait));
   wait->out.status = !softgpu_is_done(job);
   return 0;
}

static int
no_user_memory(int fd, unsigned long request, void *argument)
{
   return -EINVAL;
}

static ioctl_fn_t noop_info;

/* As Mesa's shim answers, but that
 *
 * - no memory is where the pointers of 32 bits to nothing lead,
 * - with SOFTGPU_FAULTS=1 it tells of faults,
 * - the host sees SOFTGPU_VISIBLE_MIB of video memory only, if that is set.
 */
static int
answer_info(int fd, unsigned long request, void *argument)
{
   const struct drm_amdgpu_info *info = argument;
   if (info->query == AMDGPU_INFO_GPUVM_FAULT && is_set("SOFTGPU_FAULTS")) {
      const struct drm_amdgpu_info_gpuvm_fault fault = {
         .addr = softgpu.fault_address,
         .status = softgpu.fault_status,
      };
      memcpy((void *)(uintptr_t)info->return_pointer, &fault,
             MIN2(sizeof(fault), info->return_size));
      return 0;
   }

   const int result = noop_info(fd, request, argument);
   const uint64_t visible = (uint64_t)debug_get_num_option("SOFTGPU_VISIBLE_MIB", 0) << 20;

   if (result == 0 && info->query == AMDGPU_INFO_DEV_INFO) {
      struct drm_amdgpu_info_device *device = (void *)(uintptr_t)info->return_pointer;
      device->high_va_offset += NOTHING_SIZE;
   } else if (result == 0 && info->query == AMDGPU_INFO_MEMORY && visible) {
      struct drm_amdgpu_memory_info *memory = (void *)(uintptr_t)info->return_pointer;
      memory->cpu_accessible_vram.total_heap_size = visible;
      memory->cpu_accessible_vram.usable_heap_size = visible;
      memory->cpu_accessible_vram.max_allocation = visible / 4 * 3;
   }
   return result;
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

/* Memory of zeros, where there was some before. */
static void
make_memory(void)
{
   const int place = shim_device.mem_fd, fd = memfd_create("softgpu", MFD_CLOEXEC);
   const int flags = MAP_SHARED | MAP_NORESERVE | (softgpu.memory ? MAP_FIXED : 0);

   shim_device.mem_fd = place < 0 || fd < 0 ? fd : dup3(fd, place, O_CLOEXEC);
   if (fd != shim_device.mem_fd)
      close(fd);
   if (shim_device.mem_fd >= 0 && ftruncate(shim_device.mem_fd, MEMORY_SIZE) == 0) {
      softgpu.memory =
         mmap(softgpu.memory, MEMORY_SIZE, PROT_READ | PROT_WRITE, flags, shim_device.mem_fd, 0);
   }
   if (!softgpu.memory || softgpu.memory == MAP_FAILED) {
      fprintf(stderr, "softgpu: error: no memory\n");
      abort();
   }
}

/* A copy of a process that has not opened the device begins with memory of its own. */
static void
make_memory_of_copy(void)
{
   if (_mesa_hash_table_num_entries(shim_device.fd_map) == 0)
      make_memory();
}

void
drm_shim_device_init(void)
{
   shim_device.fd_map = _mesa_hash_table_create(NULL, hash_number, same_number);
   mtx_init(&shim_device.mem_lock, mtx_plain);
   mtx_init(&softgpu.lock, mtx_plain);
   cnd_init(&softgpu.work);
   cnd_init(&softgpu.done);
   list_inithead(&softgpu.jobs);
   util_dynarray_init(&softgpu.mappings, NULL);
   util_dynarray_init(&softgpu.syncobjs, NULL);
   util_dynarray_append_typed(&softgpu.syncobjs, struct softgpu_syncobj,
                              (struct softgpu_syncobj){0});

   shim_device.mem_fd = -1;
   make_memory();
   pthread_atfork(NULL, NULL, make_memory_of_copy);
   util_vma_heap_init(&shim_device.mem_heap, 4096, MEMORY_SIZE - 4096);

   drm_shim_driver_init();
   if (is_set("SOFTGPU_FAULTS"))
      shim_device.version_minor = 55;
   shim_device.driver_ioctls[DRM_AMDGPU_GEM_CREATE] = softgpu_gem_create;
   shim_device.driver_ioctls[DRM_AMDGPU_GEM_MMAP] = softgpu_gem_mmap;
   shim_device.driver_ioctls[DRM_AMDGPU_GEM_VA] = softgpu_gem_va;
   shim_device.driver_ioctls[DRM_AMDGPU_GEM_USERPTR] = no_user_memory;
   noop_info = shim_device.driver_ioctls[DRM_AMDGPU_INFO];
   shim_device.driver_ioctls[DRM_AMDGPU_INFO] = answer_info;
   shim_device.driver_ioctls[DRM_AMDGPU_CS] = submit;
   shim_device.driver_ioctls[DRM_AMDGPU_WAIT_CS] = wait_for_submit;
}

/* Programs do not get to know of either, and tests look at the status. */
static void
fail_at_exit(void)
{
   softgpu_write_counters();
   if (softgpu.leaked || (softgpu.lost && !softgpu.lost_as_asked)) {
      fflush(NULL);
      _exit(99);
   }
}

/* Not before: what was registered earlier is not called in copies of a process
 * (scenario_process.c). */
static void
look_at_exit(void)
{
   static bool does;

   if (!does)
      atexit(fail_at_exit);
   does = true;
}

void
drm_shim_fd_register(int fd, struct shim_fd *shim_fd)
{
   look_at_exit();
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

   util_dynarray_foreach (&softgpu.syncobjs, struct softgpu_syncobj, syncobj)
      syncobjs += syncobj->exists && syncobj->owner == shim_fd;
   if ((!buffers && !syncobjs) || !debug_get_bool_option("SOFTGPU_LEAKS", true))
      return;
   fprintf(stderr, "softgpu: error: left behind: %u buffers, %u syncobjs\n", buffers, syncobjs);
   hash_table_foreach (shim_fd->handles, entry) {
      const struct softgpu_buffer *buffer = entry->data;
      fprintf(stderr, "softgpu: a buffer of %" PRIu64 " bytes, flags 0x%" PRIx64 "\n", buffer->size,
              buffer->flags);
   }
   softgpu.leaked = true;
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
   while (!softgpu_is_done(softgpu.submitted))
      (void)softgpu_wait_for_change(INT64_MAX);
   check_leaks(shim_fd);
   hash_table_foreach (shim_fd->handles, entry)
      softgpu_remove_mappings_of(entry->data);
   _mesa_hash_table_destroy(shim_fd->handles, put_buffer);
   mtx_unlock(&softgpu.lock);
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
      return softgpu_gem_close(fd, argument);
   case DRM_IOCTL_SYNCOBJ_CREATE:
      return softgpu_create_syncobj(fd, argument);
   case DRM_IOCTL_SYNCOBJ_DESTROY:
      return softgpu_destroy_syncobj(argument);
   case DRM_IOCTL_SYNCOBJ_TRANSFER:
      return softgpu_transfer_syncobj(argument);
   case DRM_IOCTL_SYNCOBJ_RESET:
   case DRM_IOCTL_SYNCOBJ_SIGNAL: {
      const struct drm_syncobj_array *array = argument;
      return softgpu_change_syncobjs((const uint32_t *)(uintptr_t)array->handles, NULL,
                                     array->count_handles, request == DRM_IOCTL_SYNCOBJ_RESET);
   }
   case DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL: {
      const struct drm_syncobj_timeline_array *array = argument;
      return softgpu_change_syncobjs((const uint32_t *)(uintptr_t)array->handles,
                                     (const uint64_t *)(uintptr_t)array->points,
                                     array->count_handles, false);
   }
   case DRM_IOCTL_SYNCOBJ_QUERY:
      return softgpu_query_syncobjs(argument);
   case DRM_IOCTL_SYNCOBJ_WAIT: {
      struct drm_syncobj_wait *wait = argument;
      return softgpu_wait_syncobjs((const uint32_t *)(uintptr_t)wait->handles, NULL,
                                   wait->count_handles, wait->flags, wait->timeout_nsec,
                                   &wait->first_signaled);
   }
   case DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT: {
      struct drm_syncobj_timeline_wait *wait = argument;
      return softgpu_wait_syncobjs((const uint32_t *)(uintptr_t)wait->handles,
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
   mtx_unlock(&softgpu.lock);
   if (result >= 0)
      return result;
   errno = -result;
   return -1;
}

void *
drm_shim_mmap(struct shim_fd *shim_fd, size_t length, int prot, int flags, int fd, off64_t offset)
{
   void *map = mmap64(NULL, length, prot, flags, shim_device.mem_fd, offset);

   if (softgpu_next_is_slow() && map != MAP_FAILED)
      softgpu_watch(map, length);
   return map;
}
