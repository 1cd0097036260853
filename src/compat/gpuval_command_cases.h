/* SPDX-License-Identifier: MIT */

/* Rows of gpuval_command_kind() for commands that not all versions of Mesa know */

#ifndef GPUVAL_COMMAND_CASES_H
#define GPUVAL_COMMAND_CASES_H

#include "gpuval/src/compat/gpuval_mesa.h"

#if GPUVAL_MESA >= 2600
#define GPUVAL_CASES_TRANSFER                                                                      \
   case VK_CMD_COPY_MEMORY_INDIRECT_KHR:                                                           \
   case VK_CMD_COPY_MEMORY_TO_IMAGE_INDIRECT_KHR:
#define GPUVAL_CASES_RENDERING case VK_CMD_END_RENDERING2_KHR:
#define GPUVAL_CASES_REPLACED  case VK_CMD_END_RENDERING:
#define GPUVAL_CASES_NOT_OFFERED                                                                   \
   case VK_CMD_BEGIN_CUSTOM_RESOLVE_EXT:                                                           \
   case VK_CMD_BUILD_CLUSTER_ACCELERATION_STRUCTURE_INDIRECT_NV:                                   \
   case VK_CMD_BUILD_PARTITIONED_ACCELERATION_STRUCTURES_NV:                                       \
   case VK_CMD_DECOMPRESS_MEMORY_EXT:                                                              \
   case VK_CMD_DECOMPRESS_MEMORY_INDIRECT_COUNT_EXT:                                               \
   case VK_CMD_BIND_TILE_MEMORY_QCOM:                                                              \
   case VK_CMD_CONVERT_COOPERATIVE_VECTOR_MATRIX_NV:                                               \
   case VK_CMD_DISPATCH_TILE_QCOM:                                                                 \
   case VK_CMD_BEGIN_PER_TILE_EXECUTION_QCOM:                                                      \
   case VK_CMD_END_PER_TILE_EXECUTION_QCOM:                                                        \
   case VK_CMD_COPY_TENSOR_ARM:                                                                    \
   case VK_CMD_DISPATCH_DATA_GRAPH_ARM:
#define GPUVAL_CASES_NONE                                                                          \
   case VK_CMD_TYPE_COUNT:                                                                         \
      break;
#else
#define GPUVAL_CASES_TRANSFER
#define GPUVAL_CASES_RENDERING case VK_CMD_END_RENDERING:
#define GPUVAL_CASES_REPLACED
#define GPUVAL_CASES_NOT_OFFERED
#define GPUVAL_CASES_NONE
#endif

#endif
