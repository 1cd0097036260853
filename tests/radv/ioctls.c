/* SPDX-License-Identifier: MIT */

/* To be preloaded in front of the drm-shim: sees what RADV asks the kernel for.
 *
 * At exit it prints, a line each,
 *
 *    ours SIZE          a buffer that was placed as winsys/gpuval_winsys_radv.c asks
 *    submits N M        of which M could not reach all of these
 *    leaked N           buffers that nobody has closed
 *
 * GPUVAL_TEST_FAIL=1 refuses these buffers, as a kernel without memory does.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drm-uapi/amdgpu_drm.h"

#define MAX_BUFFERS 65536

struct buffer {
   uint64_t size;
   bool alive, ours, always_valid;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct buffer buffers[MAX_BUFFERS]; /* by handle */
static unsigned submits, incomplete;

/* Nothing of RADV's own is zeroed video memory that the host sees, unless it is for
 * debugging.
 */
static bool
is_ours(const struct drm_amdgpu_gem_create_in *create)
{
   const uint64_t flags = AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED | AMDGPU_GEM_CREATE_VRAM_CLEARED;

   return create->domains & AMDGPU_GEM_DOMAIN_VRAM && (create->domain_flags & flags) == flags;
}

static void
see_submit(const union drm_amdgpu_cs *cs)
{
   const uint64_t *chunks = (const uint64_t *)(uintptr_t)cs->in.chunks;
   static bool listed[MAX_BUFFERS];
   bool complete = true;

   memset(listed, 0, sizeof(listed));
   for (unsigned i = 0; i < cs->in.num_chunks; i++) {
      const struct drm_amdgpu_cs_chunk *chunk = (const void *)(uintptr_t)chunks[i];
      if (chunk->chunk_id != AMDGPU_CHUNK_ID_BO_HANDLES)
         continue;

      const struct drm_amdgpu_bo_list_in *list = (const void *)(uintptr_t)chunk->chunk_data;
      const struct drm_amdgpu_bo_list_entry *entries = (const void *)(uintptr_t)list->bo_info_ptr;
      for (unsigned j = 0; j < list->bo_number; j++)
         listed[entries[j].bo_handle % MAX_BUFFERS] = true;
   }

   for (unsigned i = 0; i < MAX_BUFFERS; i++) {
      const struct buffer *buffer = &buffers[i];
      complete &= !buffer->alive || !buffer->ours || buffer->always_valid || listed[i];
   }
   submits++;
   incomplete += !complete;
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...);

__attribute__((visibility("default"))) int
ioctl(int fd, unsigned long request, ...)
{
   static int (*next)(int, unsigned long, ...);
   va_list list;
   va_start(list, request);
   void *argument = va_arg(list, void *);
   va_end(list);
   if (!next)
      next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");

   if (request == DRM_IOCTL_AMDGPU_GEM_CREATE) {
      union drm_amdgpu_gem_create *create = argument;
      const struct drm_amdgpu_gem_create_in in = create->in;

      if (is_ours(&in) && getenv("GPUVAL_TEST_FAIL")) {
         errno = ENOMEM;
         return -1;
      }
      int result = next(fd, request, argument);
      if (!result) {
         pthread_mutex_lock(&mutex);
         buffers[create->out.handle % MAX_BUFFERS] = (struct buffer){
            .size = in.bo_size,
            .alive = true,
            .ours = is_ours(&in),
            .always_valid = in.domain_flags & AMDGPU_GEM_CREATE_VM_ALWAYS_VALID,
         };
         if (is_ours(&in))
            fprintf(stderr, "ours %llu\n", (unsigned long long)in.bo_size);
         pthread_mutex_unlock(&mutex);
      }
      return result;
   }

   if (request == DRM_IOCTL_GEM_CLOSE) {
      pthread_mutex_lock(&mutex);
      buffers[((struct drm_gem_close *)argument)->handle % MAX_BUFFERS].alive = false;
      pthread_mutex_unlock(&mutex);
   } else if (request == DRM_IOCTL_AMDGPU_CS) {
      pthread_mutex_lock(&mutex);
      see_submit(argument);
      pthread_mutex_unlock(&mutex);
   }
   return next(fd, request, argument);
}

__attribute__((destructor)) static void
finish(void)
{
   unsigned leaked = 0;

   for (unsigned i = 0; i < MAX_BUFFERS; i++)
      leaked += buffers[i].alive;
   fprintf(stderr, "submits %u %u\nleaked %u\n", submits, incomplete, leaked);
}
