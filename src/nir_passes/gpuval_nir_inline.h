/* SPDX-License-Identifier: MIT */

/* For drivers that cannot call functions: the code of checks in the shader itself. */

#ifndef GPUVAL_NIR_INLINE_H
#define GPUVAL_NIR_INLINE_H

#include "gpuval_nir.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_nir_inline_options {
   /* Needs what reports, accesses and messages ask for. The optional functions that only some
    * kinds of reports need are used for those alone.
    */
   const struct gpuval_nir_driver *driver;
   bool has_shadow;   /* shadow memory is the engine of sync */
   uint32_t sync_off; /* bits of gpuval_command_data::sync_flags of commands that sync skips */
   /* For measuring, on AMD's hardware: what is executed only where something fails, or where one
    * look at a cell is not enough, begins with s_sleep GPUVAL_NIR_FAILURE_MARK.
    */
   bool marks_failures;
};

#define GPUVAL_NIR_FAILURE_MARK 0x67

/**
 * Replaces @report_gpuval, @check_address_gpuval, @sync_gpuval and @printf_gpuval by code. To be
 * called when the driver has decided what side effects change. Returns whether there were any.
 */
bool gpuval_nir_inline_checks(nir_shader *nir, const struct gpuval_nir_inline_options *options);

/** Emits the function of a @call_gpuval at b->cursor, and returns its result. */
nir_def *gpuval_nir_inline_call(nir_builder *b, const struct gpuval_nir_driver *driver,
                                nir_intrinsic_instr *call);

#ifdef __cplusplus
}
#endif

#endif
