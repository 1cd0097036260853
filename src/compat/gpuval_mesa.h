/* SPDX-License-Identifier: MIT */

/* Which Mesa this is compiled for: GPUVAL_MESA is 100 * major + minor version. Only the files of
 * src/compat/ ask for it, each of them for one concern. All others have the interfaces of the
 * newest Mesa, which these files give to older ones.
 */

#ifndef GPUVAL_MESA_H
#define GPUVAL_MESA_H

#include "gpuval/gpuval_build.h"

#if GPUVAL_MESA < 2600
#define UNREACHABLE unreachable
#endif

#endif
