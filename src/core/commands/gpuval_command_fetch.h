/* SPDX-License-Identifier: MIT */

/* What draws fetch from buffers before a vertex shader runs. */

#ifndef GPUVAL_COMMAND_FETCH_H
#define GPUVAL_COMMAND_FETCH_H

#include "gpuval_command_access.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_draw;
struct gpuval_vertex_input;

/**
 * Visits the indices that a draw fetches, attributes by instance and by vertex, as far as they are
 * in their buffers. Of an indexed draw the host reads the indices (gpuval_index_buffer::data).
 */
void gpuval_visit_fetch(const struct gpuval_vertex_input *input, const struct gpuval_draw *draw,
                        gpuval_access_function function, void *data);

#ifdef __cplusplus
}
#endif

#endif
