/* SPDX-License-Identifier: MIT */

/* ray: which acceleration structures there are, and which have been built.
 *
 * The host knows all of them by their addresses, which is what instances refer to.
 * Shaders know those that a ray can be traced in, by a table with some places for each
 * address:
 *
 *    uint64_t table[GPUVAL_STRUCTURE_SLOTS]; 0: empty
 *    is there: table[gpuval_structure_slot(address, i)] == address, for one of the i
 *
 * None is ever moved, so that a shader which runs meanwhile does not miss it. Where the GPU
 * itself makes instances safe, it has such a table of what they may refer to.
 */

#ifndef GPUVAL_STRUCTURES_H
#define GPUVAL_STRUCTURES_H

#include <stdbool.h>
#include <stdint.h>

#include "c11/threads.h"
#include "util/list.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_device;
struct hash_table;
struct hash_table_u64;
struct vk_object_base;

enum gpuval_structure_state {
   GPUVAL_STRUCTURE_NONE, /* there is none with that address */
   GPUVAL_STRUCTURE_DESTROYED,
   GPUVAL_STRUCTURE_NOT_BUILT,
   GPUVAL_STRUCTURE_STALE, /* one that its instances refer to is destroyed */
   GPUVAL_STRUCTURE_TOP_LEVEL,
   GPUVAL_STRUCTURE_BOTTOM_LEVEL,
   GPUVAL_STRUCTURE_ANY_LEVEL, /* has come out of memory: it may be either */
};

/** May an instance refer to it? */
static inline bool
gpuval_structure_is_bottom(enum gpuval_structure_state state)
{
   return state == GPUVAL_STRUCTURE_BOTTOM_LEVEL || state == GPUVAL_STRUCTURE_ANY_LEVEL;
}

struct gpuval_structures {
   mtx_t mutex;
   struct hash_table *by_object;
   struct hash_table_u64 *by_address; /* of each address, the newest one */
   struct list_head referring;        /* those that have instances of others */
   uint64_t *table;                   /* NULL: shaders do not ask */
   uint64_t *bottom_table;            /* as well; behind its end: not 0: all are there */
   unsigned num_destroyed;            /* whose addresses are remembered */
};

/** Each zeroed, or NULL: @table of GPUVAL_STRUCTURE_SLOTS, @bottom_table of one more. */
void gpuval_structures_init(struct gpuval_structures *structures, uint64_t *table,
                            uint64_t *bottom_table);
void gpuval_structures_finish(struct gpuval_structures *structures);

/** @address: 0 if its buffer has no memory yet. */
void gpuval_structures_add(struct gpuval_structures *structures,
                           const struct vk_object_base *object, uint64_t address);
/** Gives a structure its address once its buffer has memory. Does nothing if it has one. */
void gpuval_structures_place(struct gpuval_structures *structures,
                             const struct vk_object_base *object, uint64_t address);
/** All top-level structures that refer to it are as if they had never been built. */
void gpuval_structures_remove(struct gpuval_structures *structures,
                              const struct vk_object_base *object);

/**
 * It has been built, or copied, and has an address. @references: addresses of bottom-level
 * structures. Returns false once there is no more room in the table: shaders find all there from
 * then on.
 */
bool gpuval_structures_built(struct gpuval_structures *structures,
                             const struct vk_object_base *object, enum gpuval_structure_state state,
                             const uint64_t *references, unsigned num_references);

/** The one with that address; *object is NULL if it is destroyed, or there never was one. */
enum gpuval_structure_state gpuval_structures_find(struct gpuval_structures *structures,
                                                   uint64_t address,
                                                   const struct vk_object_base **object);
/** @to becomes what @from is. */
bool gpuval_structures_copied(struct gpuval_structures *structures, const struct vk_object_base *to,
                              const struct vk_object_base *from);

/* Those of a device */

/** What there is of acceleration structures; NULL where nobody asks. */
struct gpuval_structures *gpuval_device_structures(struct gpuval_device *device);
/** For shaders, of gpuval_structures::bottom_table; 0: there is none, as without GPUVAL_SAFE. */
uint64_t gpuval_device_bottom_structures(const struct gpuval_device *device);
/**
 * Takes the address of a structure that was created before its buffer had memory. By now it must
 * have some, as where commands use the structure or its address is asked for.
 */
void gpuval_device_structure_used(struct gpuval_device *device,
                                  const struct vk_object_base *object);
/**
 * A structure has been built, @references being the addresses that its instances refer
 * to, or is a copy now. Only where gpuval_device_structures() is not NULL.
 */
void gpuval_device_structure_built(struct gpuval_device *device,
                                   const struct vk_object_base *object,
                                   enum gpuval_structure_state state, const uint64_t *references,
                                   unsigned num_references);
void gpuval_device_structure_copied(struct gpuval_device *device, const struct vk_object_base *to,
                                    const struct vk_object_base *from);

#ifdef __cplusplus
}
#endif

#endif
