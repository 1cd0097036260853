/* SPDX-License-Identifier: MIT */

/* The host's side of the check `init`: what has been written, in the bytes of
 * base/gpuval_init.h. Addresses that have none count as written.
 *
 * Any thread may mark memory, and set and clear the bits of subresources (host image copies do);
 * everything else is for the thread that executes commands.
 */

#ifndef GPUVAL_WRITTEN_H
#define GPUVAL_WRITTEN_H

#include "base/gpuval_init.h"
#include "base/gpuval_shadow.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_written;

/** @poison: what each word has that was never written; 0: anything. */
struct gpuval_written *gpuval_written_create(const struct gpuval_shadow *window, uint32_t poison);
void gpuval_written_destroy(struct gpuval_written *written);
/** All is written from now on. */
void gpuval_written_give_up(struct gpuval_written *written);

/** Bytes that have been written, of a buffer, say. */
void gpuval_written_mark(struct gpuval_written *written, uint64_t address, uint64_t size);
/** Are they? Costs next to nothing where that was asked for before. */
bool gpuval_written_is_marked(struct gpuval_written *written, uint64_t address, uint64_t size);

/** Of the subresource whose first texel is at @address: GPUVAL_INIT_* */
void gpuval_written_set(struct gpuval_written *written, uint64_t address, uint8_t bits);
uint8_t gpuval_written_get(const struct gpuval_written *written, uint64_t address);
/** It has anything now, */
void gpuval_written_clear(struct gpuval_written *written, uint64_t address, uint8_t bits);
/** or will at the next gpuval_written_flush(), if nothing is written there before. */
void gpuval_written_clear_later(struct gpuval_written *written, uint64_t address, uint8_t bits);
void gpuval_written_flush(struct gpuval_written *written);

/** Memory is no more: what comes there has been written by nobody. */
void gpuval_written_forget(struct gpuval_written *written);

/** Subresources of a view, as descriptors of textures have them */
struct gpuval_written_view {
   uint64_t base;
   const uint32_t *offsets; /* of levels, and */
   const uint32_t *strides; /* of layers in them; by level */
   unsigned first_level, last_level, num_layers;
};

/** Is all of it? As gpuval_written_is_marked(). */
bool gpuval_written_is_view_marked(struct gpuval_written *written,
                                   const struct gpuval_written_view *view);

/** Many things that are kept at @address, such as descriptors */
struct gpuval_written_list {
   uint64_t address;
   uint64_t key; /* which things are there: another one whenever that changes */
   uint32_t count;
   bool (*is_marked)(void *data, uint32_t index);
   void *data;
};

/** Are all of them? As gpuval_written_is_marked(): goes on where the last time one was not. */
bool gpuval_written_is_list_marked(struct gpuval_written *written,
                                   const struct gpuval_written_list *list);

#ifdef __cplusplus
}
#endif

#endif
