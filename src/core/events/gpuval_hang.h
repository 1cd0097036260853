/* SPDX-License-Identifier: MIT */

/* Work that does not end: a submit that takes long, or the loss of the device. The driver knows
 * what is in flight and collects it here, on any thread; what the program knows by names is found
 * when it is reported.
 */

#ifndef GPUVAL_HANG_H
#define GPUVAL_HANG_H

#include <stdint.h>

#include "base/gpuval_checks.h"
#include "util/macros.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_device;
struct gpuval_hang;

/** The GPU has accessed what is not mapped, as the kernel tells. */
struct gpuval_hang_fault {
   uint64_t address; /* of the page's first byte */
   uint64_t size;    /* of the page, bytes */
   const char *op;   /* "read", "write" or, if that is not known, "access"; static */
   uint32_t status;  /* the hardware's own word */
};

/** Begins the report of a submit that takes long. @where: "submission 7 on queue 0" */
struct gpuval_hang *gpuval_hang_create_slow(const char *where, double seconds);
/** The same of the device's loss. */
struct gpuval_hang *gpuval_hang_create_lost(void);
/** The same where it is not certain: a submit, @where, has ended without having been executed. */
struct gpuval_hang *gpuval_hang_create_cut_off(const char *where);

/** Appends a line about what is in flight. */
void gpuval_hang_say(struct gpuval_hang *hang, const char *format, ...) PRINTFLIKE(2, 3);
/**
 * A command that has begun and has not ended, by its id as gpuval_device_info::describe_command has
 * it; the oldest first. Of many, the report has some, and how many more there are.
 */
void gpuval_hang_add_command(struct gpuval_hang *hang, uint32_t command_id);
void gpuval_hang_set_fault(struct gpuval_hang *hang, const struct gpuval_hang_fault *fault);

/** Finds what is known of the commands, before it may be gone. device->mutex is not held. */
void gpuval_hang_resolve(struct gpuval_hang *hang, struct gpuval_device *device);
/** Reports @hang, behind what shaders have reported by now, and frees it. No lock is held. */
void gpuval_hang_report(struct gpuval_hang *hang, struct gpuval_device *device);
/** Frees @hang, which may be NULL. */
void gpuval_hang_drop(struct gpuval_hang *hang);

#ifdef __cplusplus
}
#endif

#endif
