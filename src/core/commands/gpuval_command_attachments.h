/* SPDX-License-Identifier: MIT */

/* Attachments of a rendering: what load operations, draws, store operations and resolves access. */

#ifndef GPUVAL_COMMAND_ATTACHMENTS_H
#define GPUVAL_COMMAND_ATTACHMENTS_H

#include "gpuval_command_access.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_attachment {
   const VkRenderingAttachmentInfo *info;
   const struct vk_image_view *view;
   const char *name;
   VkImageAspectFlags aspects;
   uint32_t number; /* of color attachments, or some other */
   uint32_t layers; /* their number, or with views a bit each */
   bool has_views;
   bool is_whole;   /* the render area is all of it */
   bool is_resolve; /* where the one of @info is resolved to */
};

/** What happens to an attachment. */
enum gpuval_attachment_event {
   GPUVAL_ATTACHMENT_LOAD, /* by its load operation, where a rendering begins and does not resume */
   GPUVAL_ATTACHMENT_DRAW, /* by a draw */
   GPUVAL_ATTACHMENT_CLEAR, /* by vkCmdClearAttachments() */
   GPUVAL_ATTACHMENT_STORE, /* by its store operation, where a rendering ends and is not suspended */
   GPUVAL_ATTACHMENT_RESOLVE_FROM, /* it is resolved, likewise */
   GPUVAL_ATTACHMENT_RESOLVE_TO,   /* @is_resolve: another one is resolved to it, likewise */
};

typedef void (*gpuval_attachment_function)(void *data, const struct gpuval_attachment *attachment);

/** Visits the attachments of a rendering. @is_resolve: those resolved to, else those drawn to. */
void gpuval_visit_attachments(const VkRenderingInfo *info, bool is_resolve,
                              gpuval_attachment_function function, void *data);

/** Returns the bit of the attachment among those of its rendering. */
uint32_t gpuval_attachment_bit(const struct gpuval_attachment *attachment);
/** Returns the bits of those that vkCmdClearAttachments() clears. */
uint32_t gpuval_cleared_attachments(uint32_t count, const VkClearAttachment *cleared);

/** Visits the subresources of an attachment, as ranges of one level. */
typedef void (*gpuval_range_function)(void *data, const VkImageSubresourceRange *range);
void gpuval_visit_attachment(const struct gpuval_attachment *attachment,
                             gpuval_range_function function, void *data);

/** Visits what an event accesses, which may be nothing. @area: of the rendering. */
void gpuval_visit_attachment_accesses(const struct gpuval_attachment *attachment,
                                      const VkRect2D *area, enum gpuval_attachment_event event,
                                      gpuval_access_function function, void *data);

#ifdef __cplusplus
}
#endif

#endif
