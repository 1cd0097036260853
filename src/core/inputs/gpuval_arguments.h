/* SPDX-License-Identifier: MIT */

/* indirect: arguments that commands read from buffers. */

#ifndef GPUVAL_ARGUMENTS_H
#define GPUVAL_ARGUMENTS_H

#include <stdbool.h>

#include "base/gpuval_failure.h"
#include "core/commands/gpuval_vertex.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vk_device;

enum gpuval_arguments_type {
   GPUVAL_ARGUMENTS_DRAW,
   GPUVAL_ARGUMENTS_DRAW_INDEXED,
   GPUVAL_ARGUMENTS_DRAW_MESH_TASKS,
   GPUVAL_ARGUMENTS_DISPATCH,
   GPUVAL_ARGUMENTS_TRACE_RAYS,
   GPUVAL_ARGUMENTS_TRACE_RAYS2, /* with the shader binding tables */
};

/** Bytes of one command's arguments. */
uint32_t gpuval_arguments_size(enum gpuval_arguments_type type);

/** What a command's arguments may be at most. */
struct gpuval_arguments_limits {
   bool first_instance; /* draws: it may be other than 0 */
   uint64_t groups[3];  /* workgroups, or rays */
   uint64_t total;      /* of the product */
   uint64_t stride;     /* of a shader binding table */
};

/** @has_task: a task shader is bound. Of draws that are not of meshes nothing counts. */
struct gpuval_arguments_limits gpuval_arguments_get_limits(const struct vk_device *device,
                                                           enum gpuval_arguments_type type,
                                                           bool has_task);

/** What a command reads: @count structs, @stride bytes apart. */
struct gpuval_arguments {
   enum gpuval_arguments_type type;
   struct gpuval_command_range range; /* that they have to be in */
   const void *data;                  /* its first byte; NULL: the host cannot read it */
   uint64_t offset;                   /* of the first struct in it */
   uint64_t stride;
   uint32_t count;
   uint32_t num_known; /* structs that @data has; 0: all of them */
   bool counted;       /* @count has been read from a buffer, and clamped */
};

/** How many of the structs, from the first on, are in the range. */
uint32_t gpuval_arguments_inside(const struct gpuval_arguments *arguments);

/** Is that struct, which is in the range, what the device can do? */
bool gpuval_arguments_are_valid(const struct gpuval_arguments *arguments,
                                const struct gpuval_arguments_limits *limits, uint32_t index);

/** The struct of a draw of vertices, which has to be in @data. */
struct gpuval_draw gpuval_arguments_get_draw(const struct gpuval_arguments *arguments,
                                             uint32_t index);

#define GPUVAL_ARGUMENTS_MAX_FAILURES 2

/** Returns the number of @failures. */
unsigned gpuval_check_arguments(const struct gpuval_arguments *arguments,
                                const struct gpuval_arguments_limits *limits,
                                struct gpuval_command_failure *failures);

struct gpuval_device;

/** The buffer at @address from there on, at most @size bytes of it; none has size 0. */
struct gpuval_command_range gpuval_find_range(struct gpuval_device *device, uint64_t address,
                                              uint64_t size);

/** Bytes of a range that are no struct of arguments: a count. Returns whether they fail. */
bool gpuval_check_argument_bytes(const struct gpuval_command_range *range, uint64_t offset,
                                 uint32_t size, const char *what,
                                 struct gpuval_command_failure *failure);

#ifdef __cplusplus
}
#endif

#endif
