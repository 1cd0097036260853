/* SPDX-License-Identifier: MIT */

/*
 * Syncobjs, binary ones and timelines: points in time that are jobs.
 */

#include "softgpu_device.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "util/os_time.h"
#include "util/u_math.h"

struct softgpu_syncobj *
softgpu_find_syncobj(uint32_t handle)
{
   if (handle >= util_dynarray_num_elements(&softgpu.syncobjs, struct softgpu_syncobj))
      return NULL;
   struct softgpu_syncobj *syncobj =
      util_dynarray_element(&softgpu.syncobjs, struct softgpu_syncobj, handle);
   return syncobj->exists ? syncobj : NULL;
}

bool
softgpu_is_done(uint64_t job)
{
   return job <= softgpu.completed;
}

/* The fence at a point, or at a later one; value 0: the last fence. NULL: there
 * is none yet.
 */
const struct softgpu_point *
softgpu_find_point(const struct softgpu_syncobj *syncobj, uint64_t value)
{
   const unsigned count = util_dynarray_num_elements(&syncobj->points, struct softgpu_point);

   for (unsigned i = value || !count ? 0 : count - 1; i < count; i++) {
      const struct softgpu_point *point =
         util_dynarray_element(&syncobj->points, struct softgpu_point, i);
      if (point->value >= value)
         return point;
   }
   return NULL;
}

int
softgpu_set_fence(uint32_t handle, uint64_t value, uint64_t job)
{
   struct softgpu_syncobj *syncobj = softgpu_find_syncobj(handle);
   if (!syncobj)
      return -ENOENT;
   if (!value)
      util_dynarray_clear(&syncobj->points);
   util_dynarray_append_typed(&syncobj->points, struct softgpu_point,
                              ((struct softgpu_point){value, job}));
   cnd_broadcast(&softgpu.done);
   return 0;
}

int
softgpu_create_syncobj(int fd, struct drm_syncobj_create *create)
{
   struct softgpu_syncobj syncobj = {.exists = true, .owner = drm_shim_fd_lookup(fd)};
   uint32_t handle = 1;

   util_dynarray_init(&syncobj.points, NULL);
   while (softgpu_find_syncobj(handle))
      handle++;
   if (handle < util_dynarray_num_elements(&softgpu.syncobjs, struct softgpu_syncobj))
      *util_dynarray_element(&softgpu.syncobjs, struct softgpu_syncobj, handle) = syncobj;
   else
      util_dynarray_append_typed(&softgpu.syncobjs, struct softgpu_syncobj, syncobj);
   create->handle = handle;
   return create->flags & DRM_SYNCOBJ_CREATE_SIGNALED ? softgpu_set_fence(handle, 0, 0) : 0;
}

int
softgpu_destroy_syncobj(const struct drm_syncobj_destroy *destroy)
{
   struct softgpu_syncobj *syncobj = softgpu_find_syncobj(destroy->handle);
   if (!syncobj)
      return -EINVAL;
   util_dynarray_fini(&syncobj->points);
   memset(syncobj, 0, sizeof(*syncobj));
   return 0;
}

int
softgpu_transfer_syncobj(const struct drm_syncobj_transfer *transfer)
{
   const struct softgpu_syncobj *source = softgpu_find_syncobj(transfer->src_handle);
   const struct softgpu_point *point =
      source ? softgpu_find_point(source, transfer->src_point) : NULL;
   if (!point)
      return source ? -EINVAL : -ENOENT;
   return softgpu_set_fence(transfer->dst_handle, transfer->dst_point, point->job);
}

int
softgpu_change_syncobjs(const uint32_t *handles, const uint64_t *points, uint32_t count, bool reset)
{
   int result = 0;

   for (uint32_t i = 0; i < count && result == 0; i++) {
      struct softgpu_syncobj *syncobj = softgpu_find_syncobj(handles[i]);
      if (!syncobj)
         result = -ENOENT;
      else if (reset)
         util_dynarray_clear(&syncobj->points);
      else
         result = softgpu_set_fence(handles[i], points ? points[i] : 0, 0);
   }
   return result;
}

int
softgpu_query_syncobjs(const struct drm_syncobj_timeline_array *query)
{
   const uint32_t *handles = (const uint32_t *)(uintptr_t)query->handles;
   uint64_t *values = (uint64_t *)(uintptr_t)query->points;

   for (uint32_t i = 0; i < query->count_handles; i++) {
      const struct softgpu_syncobj *syncobj = softgpu_find_syncobj(handles[i]);
      if (!syncobj)
         return -ENOENT;
      values[i] = 0;
      util_dynarray_foreach (&syncobj->points, struct softgpu_point, point) {
         if (!softgpu_is_done(point->job))
            break;
         values[i] = point->value;
      }
   }
   return 0;
}

/* cnd_timedwait() has another clock than the kernel: look again now and then. */
int
softgpu_wait_for_change(int64_t deadline)
{
   const int64_t now = os_time_get_nano();
   struct timespec until;

   if (now >= deadline)
      return -ETIME;
   timespec_get(&until, TIME_UTC);
   const int64_t nanoseconds = until.tv_nsec + MIN2(deadline - now, INT64_C(500000000));
   until.tv_sec += nanoseconds / 1000000000;
   until.tv_nsec = nanoseconds % 1000000000;
   cnd_timedwait(&softgpu.done, &softgpu.lock, &until);
   return 0;
}

/* Waits on behalf of the host. */
int
softgpu_wait_syncobjs(const uint32_t *handles, const uint64_t *points, uint32_t count,
                      uint32_t flags, int64_t deadline, uint32_t *first)
{
   const bool all = flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL;
   const bool available = flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE;
   const bool for_submit = available || (flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT);

   for (;;) {
      uint32_t satisfied = 0;
      for (uint32_t i = count; i-- > 0;) {
         const struct softgpu_syncobj *syncobj = softgpu_find_syncobj(handles[i]);
         if (!syncobj)
            return -ENOENT;
         const struct softgpu_point *point = softgpu_find_point(syncobj, points ? points[i] : 0);
         if (!point && !for_submit)
            return -EINVAL;
         if (point && (available || softgpu_is_done(point->job))) {
            satisfied++;
            *first = i;
         }
      }
      if (all ? satisfied == count : satisfied > 0)
         return 0;
      const int result = softgpu_wait_for_change(deadline);
      if (result)
         return result;
   }
}
