/* SPDX-License-Identifier: MIT */

/* Descriptor sets of lavapipe and their shadows.
 *
 * A set's memory goes on behind its descriptors and inline uniform blocks, so that
 * whatever copies a set (dynamic offsets, push descriptors) copies its shadow:
 *
 *    struct lp_descriptor[size]     lavapipe's, from slot 0 on
 *    inline uniform blocks          lavapipe's
 *    struct lp_descriptor           stands in for whatever is bad: a null descriptor
 *    struct lp_descriptor           the same for an acceleration structure: zero
 *    struct gpuval_lvp_set_header
 *    struct gpuval_descriptor[size] the shadow
 *
 * Where that begins follows from the layout. In descriptor buffers, which are the
 * application's, there is nothing of it.
 */

#ifndef GPUVAL_LVP_SETS_H
#define GPUVAL_LVP_SETS_H

#include "gpuval/src/compat/gpuval_lvp_driver.h"
#include "gpuval_lvp_nir.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_descriptor;
struct gpuval_lvp_use_words;
struct gpuval_nir_use;
struct gpuval_objects;

/** The first of our two descriptors, as a slot of the set */
uint32_t gpuval_lvp_stand_in_slot(const struct lvp_descriptor_set_layout *layout);

/** Bytes from the start of a set to its header */
static inline uint64_t
gpuval_lvp_header_offset(const struct lvp_descriptor_set_layout *layout)
{
   return (gpuval_lvp_stand_in_slot(layout) + 2ull) * sizeof(struct lp_descriptor);
}

static inline uint64_t
gpuval_lvp_shadow_offset(const struct lvp_descriptor_set_layout *layout)
{
   return gpuval_lvp_header_offset(layout) + sizeof(struct gpuval_lvp_set_header);
}

/**
 * Before each command: notes in @buffers, by enum lvp_pipeline_type, which sets are in
 * descriptor buffers of the application. They have no shadow. @moved: which of the others have been
 * bound with dynamic offsets.
 */
void gpuval_lvp_note_sets(const struct vk_cmd_queue_entry *command, uint32_t *buffers,
                          uint32_t *moved);

/**
 * Ends ranges that dynamic offsets have moved where their buffers end. @moved: bits of sets, which
 * are lavapipe's copies for what is bound. No shader of a command that uses them runs yet.
 */
void gpuval_lvp_trim_sets(struct gpuval_objects *objects, struct lvp_descriptor_set *const *sets,
                          uint32_t moved);

/** What @use, which has GPUVAL_USE_CONSTANT, leads to; NULL: it is outside. */
const struct gpuval_descriptor *gpuval_lvp_find_descriptor(const struct gpuval_nir_use *use,
                                                           const struct lvp_descriptor_set *set);

/**
 * What shaders need to know of the sets of a command, and how those are of their
 * descriptors whose index is a constant. @buffers: bits of sets that are in descriptor
 * buffers.
 */
void gpuval_lvp_emit_sets(struct gpuval_lvp *gpuval, uint32_t stages,
                          struct lvp_shader *const *shaders, struct lvp_descriptor_set *const *sets,
                          uint32_t buffers, struct gpuval_lvp_command_data *data);
/** The same of the shaders of a ray-tracing pipeline, in @uses[gpuval_shader_entry_base()]. */
void gpuval_lvp_emit_ray_sets(struct gpuval_lvp *gpuval, const struct lvp_pipeline *pipeline,
                              struct lvp_descriptor_set *const *sets, uint32_t buffers,
                              struct gpuval_lvp_use_words *uses);

#ifdef __cplusplus
}
#endif

#endif
