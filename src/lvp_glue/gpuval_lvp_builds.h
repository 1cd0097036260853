/* SPDX-License-Identifier: MIT */

/* Builds of acceleration structures, where lavapipe records dispatches of its own in their place
 * (GPUVAL_LVP_RECORDS_BUILDS): the command itself is recorded in front of them, for those who
 * observe commands, and executed as nothing. The shaders of these dispatches are not checked.
 */

#ifndef GPUVAL_LVP_BUILDS_H
#define GPUVAL_LVP_BUILDS_H

#include "gpuval/src/compat/gpuval_lvp_build.h"

struct gpuval_lvp;
struct gpuval_lvp_builds;

/** Puts entry points into the dispatch table of @device. */
struct gpuval_lvp_builds *gpuval_lvp_builds_create(void *mem_ctx, struct lvp_device *device);
/** NULL: lavapipe executes builds. */
struct gpuval_lvp_builds *gpuval_lvp_get_builds(struct gpuval_lvp *gpuval);

/** Returns whether what this thread compiles is lavapipe's own. */
bool gpuval_lvp_compiles_own(void);

/* On the queue's thread */

/**
 * Before each command: returns whether it is part of a build, so that nobody else looks at it.
 * @builds may be NULL.
 */
bool gpuval_lvp_builds_contain(struct gpuval_lvp_builds *builds, enum vk_cmd_type type);
/** Returns a command that is executed as nothing. It stands where @command does in its list. */
struct vk_cmd_queue_entry *gpuval_lvp_builds_skip(struct gpuval_lvp_builds *builds,
                                                  const struct vk_cmd_queue_entry *command);

#endif
