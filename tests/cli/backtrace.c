/* SPDX-License-Identifier: MIT */

/* A program that fills a buffer and copies it without a barrier, from places that GPUVAL_BACKTRACE
 * has to name. It is built with and without debug information; the test finds the lines by their
 * comments.
 *
 *    backtrace [two | deep | fork | unload LIBRARY | time COUNT]
 *
 * two: another copy comes from another line. deep: the same from the calls of a recursive function.
 * fork: a child does the same once more. unload: the copy is recorded by a library that is gone
 * when it is reported. time: prints how many nanoseconds it takes to record so many draws.
 */

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/wait.h>

#include "vk_headless.h"

#define SIZE 64

static VkBuffer from, to;

/* Arguments of its own keep the compiler from making one function of all. */
__attribute__((noinline)) static void
record_copy(VkCommandBuffer cmd, VkDeviceSize offset)
{
   const VkBufferCopy region = {.srcOffset = offset, .dstOffset = offset, .size = 16};

   vkCmdCopyBuffer(cmd, from, to, 1, &region); /* the copy */
   __asm__ volatile("");
}

__attribute__((noinline)) static void
record_fill(VkCommandBuffer cmd, uint32_t value)
{
   vkCmdFillBuffer(cmd, from, 0, SIZE, value); /* the fill */
   __asm__ volatile("");
}

__attribute__((noinline)) static void
record_deep(VkCommandBuffer cmd, unsigned depth)
{
   if (depth)
      record_deep(cmd, depth - 1); /* the recursion */
   else
      record_copy(cmd, 0);
   __asm__ volatile("");
}

static inline __attribute__((always_inline)) void
record_inlined(VkCommandBuffer cmd)
{
   record_copy(cmd, 32); /* the inlined call */
}

__attribute__((noinline)) static struct vkh_buffer
create_source(struct vkh_context *ctx)
{
   struct vkh_buffer buffer = vkh_buffer_create(ctx, SIZE, "source"); /* the creation */
   __asm__ volatile("");
   return buffer;
}

static void
record_by_library(VkCommandBuffer cmd, const char *name)
{
   void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
   void (*record)(VkCommandBuffer, VkBuffer, VkBuffer) = NULL;

   if (library)
      *(void **)&record = dlsym(library, "plugin_record");
   if (!record)
      vkh_die("%s", dlerror());
   record(cmd, from, to);
   dlclose(library);
}

static uint64_t
now(void)
{
   struct timespec time;
   clock_gettime(CLOCK_MONOTONIC, &time);
   return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void
record_draws(struct vkh_context *ctx, unsigned count)
{
   struct vkh_image image = vkh_image_create(ctx, VK_FORMAT_R8G8B8A8_UNORM, 16, 16, NULL);
   uint64_t best = UINT64_MAX;

   for (unsigned round = 0; round < 20; round++) {
      VkCommandBuffer cmd = vkh_begin(ctx);
      vkh_begin_rendering(cmd, &(struct vkh_target){.color = &image});
      uint64_t begin = now();
      for (unsigned i = 0; i < count; i++)
         vkCmdDraw(cmd, 3, 1, 0, i);
      uint64_t time = now() - begin;
      best = time < best ? time : best;
      vkCmdEndRendering(cmd);
      VKH_CHECK(vkEndCommandBuffer(cmd));
   }
   printf("%" PRIu64 "\n", best);
   vkh_image_destroy(ctx, &image);
}

__attribute__((noinline)) static void
run(struct vkh_context *ctx, const char *mode, const char *argument)
{
   struct vkh_buffer source = create_source(ctx);
   struct vkh_buffer target = vkh_buffer_create(ctx, SIZE, "target");
   VkCommandBuffer cmd = vkh_begin(ctx);

   from = source.buffer;
   to = target.buffer;
   record_fill(cmd, 1);
   if (!strcmp(mode, "unload"))
      record_by_library(cmd, argument);
   else if (!strcmp(mode, "deep"))
      record_deep(cmd, 100);
   else
      record_copy(cmd, 0); /* the call */
   if (!strcmp(mode, "two")) {
      vkh_label_begin(ctx, cmd, "other");
      record_inlined(cmd); /* the other call */
      vkh_label_end(ctx, cmd);
   }
   vkh_submit_wait(ctx, cmd);
   vkh_buffer_destroy(ctx, &target);
   vkh_buffer_destroy(ctx, &source);
}

int
main(int argc, char **argv)
{
   const char *mode = argc > 1 ? argv[1] : "";
   struct vkh_context *ctx = vkh_context_create(NULL);

   if (!strcmp(mode, "time"))
      record_draws(ctx, atoi(argv[2]));
   else
      run(ctx, mode, argc > 2 ? argv[2] : NULL);
   vkh_context_destroy(ctx);

   pid_t child = strcmp(mode, "fork") ? -1 : fork();
   int status = 0;
   if (!child) {
      ctx = vkh_context_create(NULL);
      run(ctx, mode, NULL);
      vkh_context_destroy(ctx);
   } else if (child > 0 && (waitpid(child, &status, 0) != child || status)) {
      return 98;
   }
   return 0;
}
