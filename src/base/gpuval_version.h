/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_VERSION_H
#define GPUVAL_VERSION_H

/* gpuval_version in ./gpuval is the same. */
#define GPUVAL_VERSION "0.1.0"

#endif
