/* SPDX-License-Identifier: MIT */

/* init, for drivers whose memory is in no window: the marks of images, as base/gpuval_init.h has
 * them. An image that has none counts as written.
 *
 * Marks are an image's and not its memory's, which compression and tiling leave no word of that
 * would stand for a subresource: whoever may share memory with others by Vulkan's rules has none.
 * When they are there, it is not the host that sets them, but commands when they are executed,
 * and shaders.
 *
 * Any thread may call what follows, without gpuval_device::mutex where nothing else is said.
 */

#ifndef GPUVAL_IMAGE_MARKS_H
#define GPUVAL_IMAGE_MARKS_H

#include "gpuval.h"

#include "vk_image.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hash_table;

struct gpuval_image_marks {
   struct hash_table *images; /* struct vk_image * -> struct image; NULL: init is off */
   struct util_dynarray chunks;
   bool warned;
};

void gpuval_image_marks_init(struct gpuval_device *device);
void gpuval_image_marks_finish(struct gpuval_device *device);

/**
 * May an image have marks, as it was created? Not one that shares its memory, that the host or
 * others write, or that has several planes.
 */
bool gpuval_image_may_have_marks(const VkImageCreateInfo *info);

/** An image that nobody has written gets marks. */
void gpuval_image_marks_add(struct gpuval_device *device, const struct vk_image *image);
/** It is about to be destroyed, whether it has marks or not. */
void gpuval_image_marks_remove(struct gpuval_device *device, const struct vk_image *image);
/** Somebody may write it who cannot be followed: it has none any more, nor have its views. */
void gpuval_image_marks_forget(struct gpuval_device *device, const struct vk_image *image);
/** A view is there that descriptors may have; it has its place in the table of objects. */
void gpuval_image_marks_add_view(struct gpuval_device *device, const struct vk_image_view *view);

/** GPUVAL_INIT_*, COLOR being depth, too: what some aspects of an image are. */
uint8_t gpuval_image_aspect_bits(const struct vk_image *image, VkImageAspectFlags aspects);

/** Some words at @address, which is a multiple of 4: each of them to become GPUVAL_INIT_ALL, or 0 */
typedef void (*gpuval_image_marks_function)(void *data, uint64_t address, uint32_t count);
/** Calls nothing for an image without marks. */
void gpuval_image_marks_visit(struct gpuval_device *device, const struct vk_image *image,
                              const VkImageSubresourceRange *range,
                              gpuval_image_marks_function function, void *data);

#ifdef __cplusplus
}
#endif

#endif
