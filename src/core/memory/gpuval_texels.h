/* SPDX-License-Identifier: MIT */

/* sync, for drivers whose images lie in memory as the GPU likes it: the texels of a storage image
 * have numbers in the place of addresses, row by row, with as many bytes to a texel as it has, or a
 * word. Nothing else lies where numbers are, and no image has those of another one, so that they
 * may have cells (gpuval_cells.h), and barriers of images are for ranges of them.
 *
 * Images with sparse binding, of several planes, or of compressed formats have none.
 *
 * Any thread may call what follows, without gpuval_device::mutex where nothing else is said.
 */

#ifndef GPUVAL_TEXELS_H
#define GPUVAL_TEXELS_H

#include "gpuval.h"

#include "vk_image.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hash_table;

struct gpuval_texels {
   struct hash_table *images; /* struct vk_image * -> struct image; NULL: nobody looks */
   uint64_t next;             /* number that no image has had */
};

void gpuval_texels_init(struct gpuval_device *device);
void gpuval_texels_finish(struct gpuval_device *device);

/** It has memory. */
void gpuval_texels_add(struct gpuval_device *device, const struct vk_image *image);
/** It is about to be destroyed, whether it has numbers or not. */
void gpuval_texels_remove(struct gpuval_device *device, const struct vk_image *image);
/** A view is there that descriptors may have; it has its place in the table of objects. */
void gpuval_texels_add_view(struct gpuval_device *device, const struct vk_image_view *view);

/** From the first number to behind the last one of @range; *address: 0 where there are none */
void gpuval_texels_range(struct gpuval_device *device, const struct vk_image *image,
                         const VkImageSubresourceRange *range, uint64_t *address, uint64_t *size);

/** The image, or NULL, that @number is of, and which texel. By who has the mutex. */
const struct vk_image *gpuval_texels_find(struct gpuval_device *device, uint64_t number,
                                          struct gpuval_texel *texel);

#ifdef __cplusplus
}
#endif

#endif
