/* SPDX-License-Identifier: MIT */

/* Between the files of lvp_glue/ only. */

#ifndef GPUVAL_LVP_PRIVATE_H
#define GPUVAL_LVP_PRIVATE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <vulkan/vulkan_core.h>

#include "gpuval/src/base/gpuval_checks.h"
#include "gpuval/src/gpuval.h"
#include "gpuval_lvp_nir.h"

struct gpuval_command_failure;
struct gpuval_device;
struct gpuval_lvp;

struct lvp_device;
struct lvp_pipeline_nir;

/** What a shader was selected for when it was compiled */
struct gpuval_lvp_selection {
   uint32_t checks : 30;       /* BITFIELD_BIT(enum gpuval_check) */
   uint32_t robust_vertex : 1; /* attributes out of range are defined */
   uint32_t is_unmarked : 1;   /* it does not mark all that it writes, for init */
};
static_assert(GPUVAL_CHECK_COUNT <= 30, "a bit each");

/** Of a shader that may be NULL */
struct gpuval_lvp_selection gpuval_lvp_get_selection(const struct lvp_pipeline_nir *pipeline_nir);

struct gpuval_lvp_written;
/** NULL: init is off. */
struct gpuval_lvp_written *gpuval_lvp_get_written(struct gpuval_lvp *gpuval);
struct gpuval_lvp_race_host *gpuval_lvp_get_race_host(struct gpuval_lvp *gpuval);

struct gpuval_device *gpuval_lvp_device(struct gpuval_lvp *gpuval);

/* Shaders between spirv_to_nir and what holds them: gpuval_lvp_shaders.c */
struct gpuval_lvp_pending *gpuval_lvp_pending_create(void *mem_ctx, struct lvp_device *device);
void gpuval_lvp_pending_destroy(struct gpuval_lvp_pending *pending);
struct gpuval_lvp_pending *gpuval_lvp_pending(struct gpuval_lvp *gpuval);

/** Id of the command that comes next, which is for reports only. On the queue's thread. */
uint32_t gpuval_lvp_command_id(struct gpuval_lvp *gpuval);

/** What is wrong with the command that comes next. On the queue's thread. */
void gpuval_lvp_report(struct gpuval_lvp *gpuval, const struct gpuval_command_failure *failure);

#endif
