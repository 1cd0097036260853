/* SPDX-License-Identifier: MIT
 *
 * Gathering: each address comes out of an index buffer.
 */
#version 450

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly buffer Indices { uint indices[]; };
layout(set = 0, binding = 1, std430) readonly buffer Data { float data[]; };
layout(set = 0, binding = 2, std430) writeonly buffer Result { float result[]; };

void
main()
{
   uint i = gl_GlobalInvocationID.x;
   uint near = indices[i];
   uint far = indices[i ^ 64u];

   result[i] = data[near] - data[far];
}
