/* SPDX-License-Identifier: MIT */

/* @check_address_gpuval */

#ifndef GPUVAL_NIR_INLINE_ADDRESS_H
#define GPUVAL_NIR_INLINE_ADDRESS_H

#include "gpuval_nir_turns.h"

struct gpuval_nir_driver;

/** The buffer that an invocation met last: see GPUVAL_ADDRESS_ROOM */
struct gpuval_nir_last_buffer {
   nir_variable *begin, *limit; /* NULL: not there yet */
};

/** Can @check be made where the first of the group is? Instructions are numbered. */
bool gpuval_nir_may_join_addresses(const struct group *group, const nir_intrinsic_instr *check);

/** Makes code of the group at the first of them, and takes them away. */
void gpuval_nir_inline_addresses(struct nir_builder *b, const struct gpuval_nir_driver *driver,
                                 struct gpuval_nir_last_buffer *met, const struct group *group);

#endif
