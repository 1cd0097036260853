/* SPDX-License-Identifier: MIT */

/* What a turn of a group's loop is about: selected from what all of them are about. */

#ifndef GPUVAL_NIR_TURNS_H
#define GPUVAL_NIR_TURNS_H

#include "gpuval_nir_groups.h"

struct turn {
   nir_def *i; /* number in the group, the same in all lanes */
   /* ... in binary, 1 bit each: each is one condition, whatever is selected by it. */
   nir_def *bits[MAX_GROUP_LOG2];
   /* It is executed only where something fails: what it needs is computed there once more, and not
    * kept in registers until then.
    */
   bool is_failure;
};

struct turn gpuval_nir_begin_turn(struct nir_builder *b, nir_def *i);

/* In this turn, which may be NULL where there is but one. */

nir_def *gpuval_nir_select(struct nir_builder *b, const struct turn *turn,
                           const nir_scalar *scalars, unsigned count);
nir_def *gpuval_nir_select_value(struct nir_builder *b, const struct turn *turn,
                                 const uint32_t *values, unsigned count);
nir_def *gpuval_nir_select_src(struct nir_builder *b, const struct group *group,
                               const struct turn *turn, unsigned src, unsigned component);
nir_def *gpuval_nir_select_constant(struct nir_builder *b, const struct group *group,
                                    const struct turn *turn,
                                    uint32_t (*get)(const nir_intrinsic_instr *intrin));
/** A report's first entry, device-wide. */
nir_def *gpuval_nir_select_entry(struct nir_builder *b, const struct gpuval_nir_driver *driver,
                                 const struct group *group, const struct turn *turn);
/** A source's word that tells the invocation. */
nir_def *gpuval_nir_select_invocation(struct nir_builder *b, const struct group *group,
                                      const struct turn *turn, unsigned src, unsigned component);

#endif
