/* SPDX-License-Identifier: MIT */

/* What commands use of images and buffers, for whoever keeps track of it. */

#ifndef GPUVAL_LVP_IMAGES_H
#define GPUVAL_LVP_IMAGES_H

#include "lvp_private.h"

#include "gpuval/src/core/gpuval_transfers.h"

struct vk_cmd_queue_entry;

/* Subresources */

/** Of its first texel; 0: there is none. A level of a three-dimensional image is one. */
uint64_t gpuval_lvp_subresource_address(const struct lvp_image *image, unsigned plane,
                                        uint32_t level, uint32_t layer);

/** GPUVAL_INIT_*; COLOR is depth, too. */
uint8_t gpuval_lvp_aspect_bits(const struct lvp_image *image, VkImageAspectFlags aspects);

/** @address may be 0. */
typedef void (*gpuval_lvp_visit_function)(void *data, uint64_t address, uint8_t bits);

void gpuval_lvp_visit_image(const struct lvp_image *image, const VkImageSubresourceRange *range,
                            gpuval_lvp_visit_function function, void *data);

/** The same of an attachment */
void gpuval_lvp_visit_attachment(const struct gpuval_attachment *attachment,
                                 gpuval_lvp_visit_function function, void *data);

/** Each part of @command, which may be any. */
void gpuval_lvp_visit_transfers(const struct vk_cmd_queue_entry *command,
                                gpuval_transfer_function function, void *data);

#endif
