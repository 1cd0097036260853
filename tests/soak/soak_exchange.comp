/* SPDX-License-Identifier: MIT
 *
 * A workgroup whose invocations read what their neighbours have written, across a
 * barrier: in order, as long as nobody else is there.
 */
#version 460

layout(local_size_x = 16) in;

layout(push_constant) uniform Constants
{
   uint op;
   uint count;
   uint start;
   uint stride;
   uvec2 address;
   uint never;
} constants;

layout(set = 0, binding = 0, std430) buffer Vectors { uvec4 vectors[]; };
layout(set = 0, binding = 2, std430) buffer Sink { uint sink[]; };

void
main()
{
   uint i = gl_LocalInvocationID.x;

#line 280
   vectors[constants.start + constants.stride * i] = uvec4(1u);
   memoryBarrierBuffer();
   barrier();
#line 281
   uvec4 vector = vectors[constants.start + constants.stride * ((i + 1u) % 16u)];

   uint result = vector.x + vector.y + vector.z + vector.w;
   if (result == constants.never)
      sink[i] = result;
}
