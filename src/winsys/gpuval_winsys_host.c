/* SPDX-License-Identifier: MIT */

/* Buffers for a driver whose shaders run on the host: reserved address space,
 * of which only the pages that are touched cost anything.
 */

#include "gpuval.h"

#include <string.h>
#include <sys/mman.h>

static void *
host_alloc(void *data, uint64_t size, uint64_t *address)
{
   void *map =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
   if (map == MAP_FAILED)
      return NULL;

   *address = (uintptr_t)map;
   return map;
}

static void
host_free(void *data, void *map, uint64_t size)
{
   munmap(map, size);
}

/* Pages that were never touched stay so. */
static void
host_clear(void *data, void *map, uint64_t size)
{
   if (madvise(map, size, MADV_DONTNEED))
      memset(map, 0, size);
}

const struct gpuval_winsys gpuval_winsys_host = {
   .alloc = host_alloc,
   .free = host_free,
   .clear = host_clear,
};
