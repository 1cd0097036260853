/* SPDX-License-Identifier: MIT */

/* Shader stages, as Mesa names them since 25.2 */

#ifndef GPUVAL_STAGES_H
#define GPUVAL_STAGES_H

#include "compiler/shader_enums.h"

#include "gpuval/src/compat/gpuval_mesa.h"

#if GPUVAL_MESA < 2600
typedef gl_shader_stage mesa_shader_stage;
#define mesa_shader_stage_is_rt          gl_shader_stage_is_rt
#define mesa_shader_stage_uses_workgroup gl_shader_stage_uses_workgroup
#endif

#endif
