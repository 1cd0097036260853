/* SPDX-License-Identifier: MIT */

/* How lavapipe builds acceleration structures. In 25.0 the queue's thread executes the command. In
 * 26.0 the command buffer has dispatches of Mesa's own in its place, between two commands that save
 * and restore lavapipe's state.
 */

#ifndef GPUVAL_LVP_BUILD_H
#define GPUVAL_LVP_BUILD_H

#include "gpuval/src/compat/gpuval_lvp_driver.h"

/* What lavapipe 26.0 executes as nothing: a type that neither Vulkan nor itself knows */
#define GPUVAL_LVP_CMD_NOTHING ((enum vk_cmd_type)0xffff)

#if GPUVAL_MESA >= 2600

#define GPUVAL_LVP_RECORDS_BUILDS true

static inline bool
gpuval_lvp_begins_build(enum vk_cmd_type type)
{
   return type == LVP_CMD_SAVE_STATE;
}

static inline bool
gpuval_lvp_ends_build(enum vk_cmd_type type)
{
   return type == LVP_CMD_RESTORE_STATE;
}

#else

#define GPUVAL_LVP_RECORDS_BUILDS false

static inline bool
gpuval_lvp_begins_build(enum vk_cmd_type type)
{
   return false;
}

static inline bool
gpuval_lvp_ends_build(enum vk_cmd_type type)
{
   return false;
}

#endif

#endif
