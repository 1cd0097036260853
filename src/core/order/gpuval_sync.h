/* SPDX-License-Identifier: MIT */

/* Epochs: order as one number can say it.
 *
 * The bloom filter finds conflicts between accesses of one epoch only. So an epoch is
 * a number that commands carry, and what is ordered after something must not have its
 * epoch. Work begins a new epoch when some of what is in each of the latest ones is
 * ordered before it, as gpuval_order_model.h has it; then what else is in those is not
 * seen. docs/sync-scopes.rst says what that costs.
 */

#ifndef GPUVAL_SYNC_H
#define GPUVAL_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/gpuval_layout.h"
#include "gpuval_order_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Epochs that work may join; older ones are left. */
#define GPUVAL_SYNC_EPOCHS 4

struct gpuval_sync;

struct gpuval_sync *gpuval_sync_create(const struct gpuval_order *order);
void gpuval_sync_destroy(struct gpuval_sync *sync);

/** The model has been restarted. */
void gpuval_sync_restart(struct gpuval_sync *sync);

/**
 * The command of @data->command_id, with @data->serial, is about to run in the stages
 * of @classes. Fills in epoch, sync_flags and epoch_command of @data; returns whether
 * the epoch begins. Reads of indirect arguments come alone.
 */
bool gpuval_sync_work(struct gpuval_sync *sync, unsigned queue, uint32_t classes,
                      struct gpuval_command_data *data);

/**
 * Epochs that work may join, or begin, and that are not @epoch; returns how many. What
 * an indirect read has read may be written in them.
 */
unsigned gpuval_sync_other_epochs(const struct gpuval_sync *sync, uint32_t epoch,
                                  uint32_t out[GPUVAL_SYNC_EPOCHS]);

#ifdef __cplusplus
}
#endif

#endif
