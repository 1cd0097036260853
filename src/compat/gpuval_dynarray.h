/* SPDX-License-Identifier: MIT */

/* Arrays: appending names the type of an element where it is not that of the value. */

#ifndef GPUVAL_DYNARRAY_H
#define GPUVAL_DYNARRAY_H

#include "util/u_dynarray.h"

#include "gpuval/src/compat/gpuval_mesa.h"

#if GPUVAL_MESA < 2600
#define util_dynarray_append_typed util_dynarray_append
#endif

#endif
