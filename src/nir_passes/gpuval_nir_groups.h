/* SPDX-License-Identifier: MIT */

/* What the passes leave in a shader, in groups that become code together. */

#ifndef GPUVAL_NIR_GROUPS_H
#define GPUVAL_NIR_GROUPS_H

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval/src/compat/gpuval_nir_names.h"
#include "gpuval/src/nir_passes/gpuval_nir_sync.h"

#define MAX_GROUP_LOG2 5
#define MAX_GROUP      (1u << MAX_GROUP_LOG2)

/* Intrinsics of one block and of one kind with nothing between them that they
 * must not wait for
 */
struct group {
   nir_intrinsic_instr *intrins[MAX_GROUP];
   unsigned count;
};

static inline bool
is_shared(const nir_intrinsic_instr *access)
{
   return nir_intrinsic_flags(access) & GPUVAL_SYNC_SHARED;
}

/* Beside shadow memory */
static inline bool
is_for_filter(const nir_intrinsic_instr *access)
{
   return nir_intrinsic_flags(access) & GPUVAL_SYNC_FILTER;
}

/* Sources of @sync_gpuval */
enum {
   ACCESS_ACTIVE,
   ACCESS_ADDRESS,
   ACCESS_SIZE,
   ACCESS_OFFSET,
   ACCESS_SLOT,
   ACCESS_CONTEXT,
   ACCESS_INVOCATION,
};

static inline bool
is_load(const nir_intrinsic_instr *access)
{
   return (nir_intrinsic_flags(access) & (GPUVAL_SYNC_TYPE_MASK | GPUVAL_SYNC_ORDERS)) ==
          GPUVAL_BLOOM_LOAD;
}

static inline nir_scalar
get_src(const struct group *group, unsigned i, unsigned src, unsigned component)
{
   return nir_scalar_chase_movs(nir_get_scalar(group->intrins[i]->src[src].ssa, component));
}

/**
 * Intrinsics of a group may wait for loads and for writes to memory, but not for what ends
 * invocations or lets others run. Is it that? @before_writes: nor for writes.
 */
bool gpuval_nir_ends_group(nir_instr *instr, bool before_writes);

/**
 * The groups of @check_address_gpuval, of @report_gpuval, and then those of @sync_gpuval; with
 * @has_shadow the ones for shadow memory before those for the filter beside it.
 */
void gpuval_nir_collect_groups(nir_function_impl *impl, bool has_shadow,
                               struct util_dynarray *groups);

/** Are the conditions of these reports nothing but comparisons that can be made once more? */
bool gpuval_nir_are_comparisons(const struct group *group);
/** Has any of them failed? Of offsets with one limit the highest tells. */
nir_def *gpuval_nir_build_any(struct nir_builder *b, const struct group *group);
/** Is it the one report that fails where gpuval_nir_build_any() is true? */
bool gpuval_nir_is_any_exact(const struct group *group);

/** Loads that not only one invocation makes from where they are, and all other accesses */
void gpuval_nir_part_loads(const struct group *group, struct group *loads, struct group *others);
/**
 * Is gpuval_nir_glance() worth it? It is little less than a look. It is for several loads, or if
 * one is repeated in a loop in which each invocation has its own place, like those of a tile, which
 * other workgroups load, too.
 */
bool gpuval_nir_are_worth_a_glance(const struct group *loads);

#endif
