/* SPDX-License-Identifier: MIT */

/*
 * SOFTGPU_MODE=views: host and GPU each see memory that they share, and that caches do not
 * have, in a way of their own. What one writes gets to the other when a job begins, when it
 * ends, and now and then in between, in a piece; what both have written meanwhile is the
 * GPU's, so that what the host does in two steps, an atomic for instance, is none.
 *
 * Within a buffer, what is behind gets there first, and of buffers the one with the lowest
 * address last: stores that are ordered before others of a GPU are seen before them.
 */

#include "softgpu_device.h"

#include <stdlib.h>
#include <string.h>

/* Larger ones are shared at once: this is about what both write. */
#define MAX_SIZE (UINT64_C(2) << 20)

/* Bytes that are compared at once */
#define PIECE UINT64_C(4096)

/* Steps of shaders between two meetings: more where much is compared, which took most of the time */
#define STEPS        2000
#define BYTES_A_STEP 512

static uint64_t compared; /* bytes, in the last meeting */

static bool
is_on(void)
{
   static int on = -1;
   if (on < 0)
      on = softgpu_has_mode("views");
   return on;
}

char *
softgpu_gpu_view(const struct softgpu_mapping *mapping)
{
   struct softgpu_buffer *buffer = mapping->buffer;
   char *host = softgpu.memory + buffer->base.mem_addr;

   if (!is_on() || !mapping->uncached || buffer->size > MAX_SIZE)
      return host;
   if (!buffer->view) {
      buffer->view = malloc(buffer->size);
      buffer->met = malloc(buffer->size);
      if (!buffer->view || !buffer->met)
         abort();
      memcpy(buffer->view, host, buffer->size);
      memcpy(buffer->met, host, buffer->size);
   }
   return buffer->view;
}

static void
meet_words(uint64_t *host, uint64_t *gpu, uint64_t *met, uint64_t count)
{
   for (uint64_t i = count; i-- > 0;) {
      if (gpu[i] != met[i]) {
         met[i] = gpu[i];
         __atomic_store_n(&host[i], gpu[i], __ATOMIC_RELEASE);
      } else {
         met[i] = gpu[i] = __atomic_load_n(&host[i], __ATOMIC_ACQUIRE);
      }
   }
}

/* Most pieces have been written by neither. */
static void
meet(struct softgpu_buffer *buffer)
{
   char *host = softgpu.memory + buffer->base.mem_addr;

   for (uint64_t end = buffer->size & ~UINT64_C(7); end > 0;) {
      const uint64_t size = MIN2(end, PIECE), at = end - size;
      if (memcmp(buffer->view + at, buffer->met + at, size) ||
          memcmp(host + at, buffer->met + at, size))
         meet_words((uint64_t *)(host + at), (uint64_t *)(buffer->view + at),
                    (uint64_t *)(buffer->met + at), size / 8);
      end = at;
   }
}

void
softgpu_meet(void)
{
   if (!is_on())
      return;
   compared = 0;
   for (unsigned i = util_dynarray_num_elements(&softgpu.mappings, struct softgpu_mapping);
        i-- > 0;) {
      struct softgpu_buffer *buffer =
         util_dynarray_element(&softgpu.mappings, struct softgpu_mapping, i)->buffer;
      if (buffer && buffer->view) {
         meet(buffer);
         compared += buffer->size;
      }
   }
}

void
softgpu_meet_sometimes(void)
{
   static uint64_t steps;

   if (is_on() && ++steps >= MAX2(STEPS, compared / BYTES_A_STEP)) {
      softgpu_meet();
      steps = 0;
   }
}

void
softgpu_scramble(void)
{
   util_dynarray_foreach (&softgpu.mappings, struct softgpu_mapping, mapping) {
      struct softgpu_buffer *buffer = mapping->buffer;
      if (!buffer || !mapping->uncached)
         continue;
      uint32_t *words = (uint32_t *)(softgpu.memory + buffer->base.mem_addr);
      for (uint64_t i = 0; i < buffer->size / 4; i++)
         words[i] = (uint32_t)i * 0x9e3779b1u | 1;
   }
}
