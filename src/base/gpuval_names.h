/* SPDX-License-Identifier: MIT */

/* debug_utils names of objects. The application may change one while a thread of ours
 * copies it, and then Mesa's runtime frees it: so both happen under one lock.
 */

#ifndef GPUVAL_NAMES_H
#define GPUVAL_NAMES_H

#include "vk_object.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Around vkSetDebugUtilsObjectNameEXT, by the driver. What reads object_name without
 * gpuval_object_name() goes between them, too.
 */
void gpuval_names_lock(void);
void gpuval_names_unlock(void);

/** A copy of the name of @object, which lives: @mem_ctx's. NULL if it has none. */
char *gpuval_object_name(void *mem_ctx, const struct vk_object_base *object);

#ifdef __cplusplus
}
#endif

#endif
