/* SPDX-License-Identifier: MIT
 *
 * Atomics: a histogram.
 */
#version 450

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly buffer Data { uint data[]; };
layout(set = 0, binding = 1, std430) buffer Bins { uint bins[256]; };

void
main()
{
   uint value = data[gl_GlobalInvocationID.x];

   atomicAdd(bins[value & 255u], 1u);
   atomicMax(bins[(value >> 8) & 255u], value & 1023u);
}
