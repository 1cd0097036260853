/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_NIR_DELAY_H
#define GPUVAL_NIR_DELAY_H

#include "gpuval/src/compat/gpuval_nir_names.h"

/** Moves reports to where others are, see gpuval_nir_delay.c. Before gpuval_nir_collect_groups(). */
bool gpuval_nir_delay_reports(nir_function_impl *impl);

#endif
