/* SPDX-License-Identifier: MIT */

/* Where the subresources of images are. */

#ifndef GPUVAL_LVP_IMAGES_H
#define GPUVAL_LVP_IMAGES_H

#include "gpuval/src/compat/gpuval_lvp_driver.h"

struct gpuval_texel;

/** Of its first texel; 0: there is none. A level of a three-dimensional image is one. */
uint64_t gpuval_lvp_subresource_address(const struct lvp_image *image, unsigned plane,
                                        uint32_t level, uint32_t layer);

/** The memory that a range of it is in, or more; *address 0: that is in several places, or none. */
void gpuval_lvp_image_range(const struct lvp_image *image, const VkImageSubresourceRange *range,
                            uint64_t *address, uint64_t *size);
/** gpuval_device_info::find_texel */
void gpuval_lvp_find_texel(const struct vk_object_base *image, uint64_t address,
                           struct gpuval_texel *texel);

/* gpuval_hooks: the device knows images that shaders store to. */
void gpuval_lvp_bound_image(struct vk_image *image);
void gpuval_lvp_destroyed_image(struct vk_image *image);

/** GPUVAL_INIT_*; COLOR is depth, too. */
uint8_t gpuval_lvp_aspect_bits(const struct lvp_image *image, VkImageAspectFlags aspects);

/** @address may be 0. */
typedef void (*gpuval_lvp_visit_function)(void *data, uint64_t address, uint8_t bits);

void gpuval_lvp_visit_image(const struct lvp_image *image, const VkImageSubresourceRange *range,
                            gpuval_lvp_visit_function function, void *data);

#endif
