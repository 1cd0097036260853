/* SPDX-License-Identifier: MIT
 *
 * histogram.comp with by_hand.glsl's checks.
 */
#version 460
#extension GL_GOOGLE_include_directive : require

#include "by_hand.glsl"

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly buffer Data { uint data[]; };
layout(set = 0, binding = 1, std430) buffer Bins { uint bins[256]; };

void
main()
{
   uint i = gl_GlobalInvocationID.x;

   begin_invocation();
   validate(0u, 0u, i * 4u, 4u, ACCESS_LOAD, i < data.length());
   uint value = data[i];
   uint low = value & 255u, high = (value >> 8) & 255u;

   validate(1u, 1u, low * 4u, 4u, ACCESS_ATOMIC, true);
   atomicAdd(bins[low], 1u);
   validate(2u, 1u, high * 4u, 4u, ACCESS_ATOMIC, true);
   atomicMax(bins[high], value & 1023u);
}
