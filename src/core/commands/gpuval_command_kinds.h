/* SPDX-License-Identifier: MIT */

/* Kinds of commands. Each type of vk_cmd_queue has one; a unit test fails where Mesa has got a
 * command that is not in the table.
 */

#ifndef GPUVAL_COMMAND_KINDS_H
#define GPUVAL_COMMAND_KINDS_H

#include "vk_cmd_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

enum gpuval_command_kind {
   GPUVAL_COMMAND_UNKNOWN,  /* not in the table */
   GPUVAL_COMMAND_HARMLESS, /* accesses no memory, and nothing of what others access depends
                             * on it */
   GPUVAL_COMMAND_BINDS, /* binds shaders or descriptors, by which later commands access memory */
   GPUVAL_COMMAND_STATE, /* says what later commands access without a shader, or whether */
   GPUVAL_COMMAND_TRANSFER,  /* clears, copies, fills: accesses memory without a shader */
   GPUVAL_COMMAND_STRUCTURE, /* builds or copies acceleration structures */
   GPUVAL_COMMAND_DRAW,
   GPUVAL_COMMAND_DISPATCH,
   GPUVAL_COMMAND_TRACE,
   GPUVAL_COMMAND_GENERATED,  /* executes generated commands */
   GPUVAL_COMMAND_PREPROCESS, /* generates commands */
   GPUVAL_COMMAND_RENDERING,  /* begins or ends a rendering, or clears its attachments */
   GPUVAL_COMMAND_DEPENDENCY, /* barriers and events */
   GPUVAL_COMMAND_EXECUTES,   /* secondary command buffers */
   GPUVAL_COMMAND_VIDEO,
   GPUVAL_COMMAND_REPLACED,    /* Mesa's runtime calls a newer command in its place */
   GPUVAL_COMMAND_NOT_OFFERED, /* of an extension that none of our drivers has */
};

enum gpuval_command_kind gpuval_command_kind(enum vk_cmd_type type);

#ifdef __cplusplus
}
#endif

#endif
