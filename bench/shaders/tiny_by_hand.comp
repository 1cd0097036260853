/* SPDX-License-Identifier: MIT
 *
 * tiny.comp with by_hand.glsl's checks.
 */
#version 460
#extension GL_GOOGLE_include_directive : require

#include "by_hand.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Command { uint number; } command;

layout(set = 0, binding = 0, std430) buffer Data { uint data[]; };

void
main()
{
   uint i = command.number * 64u + gl_GlobalInvocationID.x;

   begin_invocation();
   validate(0u, 0u, i * 4u, 4u, ACCESS_LOAD, i < data.length());
   uint value = data[i] + 1u;
   validate(1u, 0u, i * 4u, 4u, ACCESS_STORE, i < data.length());
   data[i] = value;
}
