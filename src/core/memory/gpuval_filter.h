/* SPDX-License-Identifier: MIT */

/* The bloom filter of a device, of sync. */

#ifndef GPUVAL_FILTER_H
#define GPUVAL_FILTER_H

#include "base/gpuval_bloom.h"
#include "core/device/gpuval_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** gpuval_device::filter */
struct gpuval_filter {
   struct gpuval_buffer buckets, claims; /* where sync is on */
   struct gpuval_buffer sample;          /* where the host does not see them */
   struct gpuval_bloom bloom;
   unsigned num_samples; /* taken, and */
   bool warned;          /* said: by who executes barriers, without the mutex */
};

/** sync's filter, as large as the environment says; false: there is no memory. It goes with the
 * other buffers.
 */
bool gpuval_device_alloc_filter(struct gpuval_device *device);
/** gpuval_root::bloom_line_mask */
uint32_t gpuval_device_line_mask(const struct gpuval_buffer *buckets);

#ifdef __cplusplus
}
#endif

#endif
