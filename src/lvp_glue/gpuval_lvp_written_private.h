/* SPDX-License-Identifier: MIT */

/* Between the files that keep track of what is written. */

#ifndef GPUVAL_LVP_WRITTEN_PRIVATE_H
#define GPUVAL_LVP_WRITTEN_PRIVATE_H

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

typedef void (*gpuval_lvp_visit_function)(struct gpuval_written *written, uint64_t address,
                                          uint8_t bits);

/** 0: there is none. A level of a three-dimensional image is one. */
uint64_t gpuval_lvp_subresource_address(const struct lvp_image *image, unsigned plane,
                                        uint32_t level, uint32_t layer);

/** GPUVAL_INIT_COLOR is depth, too. */
uint8_t gpuval_lvp_aspect_bits(const struct lvp_image *image, VkImageAspectFlags aspects);

void gpuval_lvp_visit_subresources(struct gpuval_lvp_written *state, const struct lvp_image *image,
                                   VkImageAspectFlags aspects, uint32_t level, uint32_t level_count,
                                   uint32_t layer, uint32_t layer_count,
                                   gpuval_lvp_visit_function function);

bool gpuval_lvp_is_always_written(const struct gpuval_lvp_written *state,
                                  const struct lvp_image *image);

/* Attachments of the current pass: gpuval_lvp_written_attachments.c */
void gpuval_lvp_written_begin_rendering(struct gpuval_lvp_written *state,
                                        const VkRenderingInfo *info);
void gpuval_lvp_written_draw(struct gpuval_lvp_written *state);
void gpuval_lvp_written_end_rendering(struct gpuval_lvp_written *state);

#endif
