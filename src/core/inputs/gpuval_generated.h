/* SPDX-License-Identifier: MIT */

/* The check `indirect`, the memory that generated commands are made of, where its addresses are
 * the host's.
 */

#ifndef GPUVAL_GENERATED_H
#define GPUVAL_GENERATED_H

#include <stdbool.h>

#include <vulkan/vulkan_core.h>

#include "base/gpuval_failure.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_device;
struct vk_device;

/** How a layout says that sequences are to be read */
struct gpuval_generated_layout {
   const VkIndirectCommandsLayoutTokenEXT *tokens;
   uint32_t num_tokens;
   uint64_t stride;
};

/**
 * Looks at what commands are generated of, before a driver reads it. Returns whether it may.
 * @has_task: a task shader is bound. Failures are told to @report.
 */
bool gpuval_check_generated(struct gpuval_device *device, const struct vk_device *vk,
                            const VkGeneratedCommandsInfoEXT *info,
                            const struct gpuval_generated_layout *layout, bool has_task,
                            gpuval_report_function report, void *data);

#ifdef __cplusplus
}
#endif

#endif
