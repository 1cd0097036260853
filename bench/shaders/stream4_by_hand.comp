/* SPDX-License-Identifier: MIT
 *
 * stream4.comp with by_hand.glsl's checks.
 */
#version 460
#extension GL_GOOGLE_include_directive : require

#include "by_hand.glsl"

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1, std430) readonly buffer B { vec4 b[]; };
layout(set = 0, binding = 2, std430) buffer C { vec4 c[]; };

void
main()
{
   uint i = gl_GlobalInvocationID.x;

   begin_invocation();
   validate(0u, 0u, i * 16u, 16u, ACCESS_LOAD, i < a.length());
   validate(1u, 1u, i * 16u, 16u, ACCESS_LOAD, i < b.length());
   validate(2u, 2u, i * 16u, 16u, ACCESS_LOAD, i < c.length());
   vec4 value = a[i] * b[i] + 0.5 * c[i];
   validate(3u, 2u, i * 16u, 16u, ACCESS_STORE, i < c.length());
   c[i] = value;
}
