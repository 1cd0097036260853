/* SPDX-License-Identifier: MIT */

/* Between the files of the check race. */

#ifndef GPUVAL_LVP_RACE_PRIVATE_H
#define GPUVAL_LVP_RACE_PRIVATE_H

#include "gpuval_lvp_images.h"
#include "gpuval_lvp_race.h"

#include "gpuval/src/core/gpuval_race.h"
#include "gpuval/src/core/gpuval_submits.h"

struct gpuval_lvp_race {
   struct gpuval_lvp *gpuval;
   struct gpuval_race *race;
   struct gpuval_submits *submits;

   bool waits;                       /* the last command: nothing runs behind it */
   const VkRenderingInfo *rendering; /* NULL: outside of passes */
   uint32_t rendering_command;
   bool ends;                 /* the rendering */
   bool has_ended_subpass;    /* the last command */
   uint32_t pass, num_passes; /* the pass that has begun, 0: none; how many have */
   uint32_t recording;        /* gpuval_race_use::recording */

   uint32_t serial;        /* the last one */
   uint64_t version;       /* of what is ordered before what comes now: */
   uint32_t *ordered;      /* rows by class, as many sources each; and */
   const uint32_t *before; /* the same for notes; NULL: not yet */
};

/** A use in the stages of @class_ that comes now */
struct gpuval_race_use gpuval_lvp_race_use(struct gpuval_lvp_race *state, uint32_t command_id,
                                           unsigned class_, bool is_write);
/** What is ordered before it */
const uint32_t *gpuval_lvp_race_before(const struct gpuval_lvp_race *state, unsigned class_);

/**
 * Notes a use of an image: what is there of @range; of a box of texels if @begin is not NULL.
 */
void gpuval_lvp_race_image(struct gpuval_lvp_race *state, struct gpuval_race_use use,
                           const uint32_t *before, const struct lvp_image *image,
                           const VkImageSubresourceRange *range, const int32_t *begin,
                           const int32_t *end);

#endif
