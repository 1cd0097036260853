/* SPDX-License-Identifier: MIT
 *
 * Streaming: neighbouring invocations read and write neighbouring vectors.
 */
#version 450

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1, std430) readonly buffer B { vec4 b[]; };
layout(set = 0, binding = 2, std430) buffer C { vec4 c[]; };

void
main()
{
   uint i = gl_GlobalInvocationID.x;

   c[i] = a[i] * b[i] + 0.5 * c[i];
}
