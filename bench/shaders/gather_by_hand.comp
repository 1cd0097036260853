/* SPDX-License-Identifier: MIT
 *
 * gather.comp with by_hand.glsl's checks.
 */
#version 460
#extension GL_GOOGLE_include_directive : require

#include "by_hand.glsl"

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly buffer Indices { uint indices[]; };
layout(set = 0, binding = 1, std430) readonly buffer Data { float data[]; };
layout(set = 0, binding = 2, std430) writeonly buffer Result { float result[]; };

void
main()
{
   uint i = gl_GlobalInvocationID.x;

   begin_invocation();
   validate(0u, 0u, i * 4u, 4u, ACCESS_LOAD, i < indices.length());
   uint near = indices[i];
   validate(1u, 0u, (i ^ 64u) * 4u, 4u, ACCESS_LOAD, (i ^ 64u) < indices.length());
   uint far = indices[i ^ 64u];
   validate(2u, 1u, near * 4u, 4u, ACCESS_LOAD, near < data.length());
   validate(3u, 1u, far * 4u, 4u, ACCESS_LOAD, far < data.length());
   float value = data[near] - data[far];

   validate(4u, 2u, i * 4u, 4u, ACCESS_STORE, i < result.length());
   result[i] = value;
}
