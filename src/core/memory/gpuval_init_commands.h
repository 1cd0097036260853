/* SPDX-License-Identifier: MIT */

/* The check `init`, what commands write, read by load operations, or leave undefined: an observer
 * of commands. Where that is remembered is the driver's.
 */

#ifndef GPUVAL_INIT_COMMANDS_H
#define GPUVAL_INIT_COMMANDS_H

#include "core/commands/gpuval_commands.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Functions that change or look at the init state of memory */
struct gpuval_init_memory {
   /* A command writes some bytes, which are in the buffer, or subresources. At an address @size may
    * be VK_WHOLE_SIZE: how much it is, is not known.
    */
   void (*write_buffer)(void *data, const struct vk_buffer *buffer, uint64_t offset, uint64_t size);
   void (*write_address)(void *data, VkDeviceAddress address, uint64_t size);
   void (*write_image)(void *data, const struct vk_image *image,
                       const VkImageSubresourceRange *range);

   /* Subresources become undefined. @later: others that run may still read them. */
   void (*discard_image)(void *data, const struct vk_image *image,
                         const VkImageSubresourceRange *range, bool later);

   /* Bytes at addresses of which some are written, and nobody knows which, count as written. Else
    * they are left as they are: that is scratch memory, where nothing is to be read.
    */
   bool takes_gaps;

   /* A load operation reads an attachment. */
   void (*load)(void *data, const struct gpuval_attachment *attachment);
};

struct gpuval_init_commands;

/** @data: for the functions of @memory */
struct gpuval_init_commands *
gpuval_init_commands_create(void *mem_ctx, const struct gpuval_init_memory *memory, void *data);

/** For a struct gpuval_init_commands */
extern const struct gpuval_command_observer gpuval_init_observer;

#ifdef __cplusplus
}
#endif

#endif
