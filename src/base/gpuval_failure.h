/* SPDX-License-Identifier: MIT */

/* What the host finds wrong with a command, before it runs. Checks are functions
 * of plain facts and know neither a driver nor a device; a driver collects the
 * facts and hands what they return to gpuval_device_report_command().
 */

#ifndef GPUVAL_FAILURE_H
#define GPUVAL_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpuval_checks.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vk_object_base;

/** A range of a buffer that a command uses. */
struct gpuval_command_range {
   const char *type;                    /* resource.type, static */
   int64_t binding;                     /* -1: there is no number */
   const struct vk_object_base *object; /* a buffer, which may be gone by now; NULL: not known */
   uint32_t object_id;                  /* of an image, gpuval_objects.h; 0: none, or not known */
   uint64_t object_offset;              /* of the range in it */
   uint64_t address;                    /* of the range's first byte; 0: not known */
   uint64_t size;                       /* bytes */
   bool is_image;                       /* there are no bytes to count */
};

#define GPUVAL_FAILURE_DETAIL_SIZE 160

/** One kind of failure of one command. */
struct gpuval_command_failure {
   enum gpuval_kind kind;
   enum gpuval_op op;
   uint32_t part;  /* tells failures of one kind apart: an attribute's location */
   uint64_t count; /* accesses that have failed, and of the first of them: */
   uint64_t offset;
   uint32_t size; /* bytes */
   struct gpuval_command_range range;
   const char *host_op;                     /* static; not NULL: in the place of a command */
   char detail[GPUVAL_FAILURE_DETAIL_SIZE]; /* goes into the message; may be empty */
};

/** Reports that something is wrong with the command that comes next. */
typedef void (*gpuval_report_function)(void *data, const struct gpuval_command_failure *failure);

#ifdef __cplusplus
}
#endif

#endif
