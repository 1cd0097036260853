/* SPDX-License-Identifier: MIT */

/* Between the files that keep track of what is written. */

#ifndef GPUVAL_LVP_WRITTEN_PRIVATE_H
#define GPUVAL_LVP_WRITTEN_PRIVATE_H

#include "gpuval_lvp_images.h"
#include "gpuval_lvp_written.h"

#include "lvp_private.h"

#include "gpuval/src/core/gpuval_written.h"

struct gpuval_lvp_written {
   struct lvp_device *device;
   struct gpuval_lvp *gpuval;
   struct gpuval_written *written;

   PFN_vkMapMemory2KHR map_memory;
   PFN_vkBindImageMemory2 bind_image_memory;
   PFN_vkCreateImageView create_image_view;
   PFN_vkCopyMemoryToImageEXT copy_memory_to_image;
   PFN_vkCopyImageToImageEXT copy_image_to_image;
   PFN_vkTransitionImageLayoutEXT transition_image_layout;
   bool has_sliced_views; /* ever */

   /* On the queue's thread */
   bool waits;                       /* the last command: nothing runs behind it */
   const VkRenderingInfo *rendering; /* NULL: outside of passes */
   bool has_drawn;                   /* in it */
};

/* gpuval_lvp_visit_function, @data being the state */
void gpuval_lvp_written_set(void *data, uint64_t address, uint8_t bits);
void gpuval_lvp_written_clear(void *data, uint64_t address, uint8_t bits);
void gpuval_lvp_written_clear_later(void *data, uint64_t address, uint8_t bits);

bool gpuval_lvp_is_always_written(const struct gpuval_lvp_written *state,
                                  const struct lvp_image *image);

/* Attachments of the current pass: gpuval_lvp_written_attachments.c */
void gpuval_lvp_written_begin_rendering(struct gpuval_lvp_written *state,
                                        const VkRenderingInfo *info);
void gpuval_lvp_written_draw(struct gpuval_lvp_written *state);
void gpuval_lvp_written_end_rendering(struct gpuval_lvp_written *state);

#endif
