/* SPDX-License-Identifier: MIT */

/* What commands use of images and buffers, for whoever keeps track of it. */

#ifndef GPUVAL_LVP_IMAGES_H
#define GPUVAL_LVP_IMAGES_H

#include "lvp_private.h"

struct vk_cmd_queue_entry;

/* Subresources */

/** Of its first texel; 0: there is none. A level of a three-dimensional image is one. */
uint64_t gpuval_lvp_subresource_address(const struct lvp_image *image, unsigned plane,
                                        uint32_t level, uint32_t layer);

/** GPUVAL_INIT_*; COLOR is depth, too. */
uint8_t gpuval_lvp_aspect_bits(const struct lvp_image *image, VkImageAspectFlags aspects);

/** As a range of one level */
VkImageSubresourceRange gpuval_lvp_layers_range(const VkImageSubresourceLayers *layers);

/** @address may be 0. */
typedef void (*gpuval_lvp_visit_function)(void *data, uint64_t address, uint8_t bits);

void gpuval_lvp_visit_image(const struct lvp_image *image, const VkImageSubresourceRange *range,
                            gpuval_lvp_visit_function function, void *data);

/* Attachments */

struct gpuval_lvp_attachment {
   const VkRenderingAttachmentInfo *info;
   const struct lvp_image_view *view;
   const char *name;
   VkImageAspectFlags aspects;
   uint32_t number; /* of color attachments, or some other */
   uint32_t layers; /* their number, or with views a bit each */
   bool has_views;
   bool is_whole;   /* the render area is all of it */
   bool is_resolve; /* where the one of @info is resolved to */
};

/** @is_resolve: those that are resolved to, else those that are drawn to */
typedef void (*gpuval_lvp_attachment_function)(void *data,
                                               const struct gpuval_lvp_attachment *attachment);
void gpuval_lvp_visit_attachments(const VkRenderingInfo *info, bool is_resolve,
                                  gpuval_lvp_attachment_function function, void *data);
void gpuval_lvp_visit_attachment(const struct gpuval_lvp_attachment *attachment,
                                 gpuval_lvp_visit_function function, void *data);

/* Copies, blits, resolves, clears, fills and updates */

struct gpuval_lvp_transfer {
   bool is_write;

   struct lvp_image *image; /* NULL: it is a buffer */
   VkImageSubresourceRange range;
   bool has_box; /* else all of it */
   int32_t begin[3], end[3];

   struct lvp_buffer *buffer;
   uint64_t offset, size;
   bool has_gaps; /* not all of these bytes */
};

typedef void (*gpuval_lvp_transfer_function)(void *data,
                                             const struct gpuval_lvp_transfer *transfer);
/** Each part of @command, which may be any. */
void gpuval_lvp_visit_transfers(const struct vk_cmd_queue_entry *command,
                                gpuval_lvp_transfer_function function, void *data);

#endif
