/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_PRINTED_H
#define GPUVAL_PRINTED_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_device;
struct gpuval_record;

/**
 * Keeps what an invocation has printed. @origin: gpuval_printf_message::origin. device->mutex is
 * held.
 */
void gpuval_printed_add(struct gpuval_device *device, uint64_t shader, const uint32_t origin[5],
                        const char *text);

/**
 * Returns the latest of the @count messages that the record's invocation has printed before, each
 * in quotation marks, as @mem_ctx's; NULL: none is known. device->mutex is held.
 */
char *gpuval_printed_before(struct gpuval_device *device, const struct gpuval_record *record,
                            uint32_t count, void *mem_ctx);

#ifdef __cplusplus
}
#endif

#endif
