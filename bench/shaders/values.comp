/* SPDX-License-Identifier: MIT
 *
 * Values that are assigned on some paths alone: locals behind branches, a part of a vector,
 * an array that a loop fills.
 */
#version 450

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly buffer Numbers { uint numbers[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Result { vec4 result[]; };

void
main()
{
   uint i = gl_GlobalInvocationID.x;
   vec4 nearest;
   float distance;
   uint found;
   float list[8];
   uint count = 0u;

   for (uint j = 0u; j < 8u; j++) {
      uint number = numbers[(8u * i + j) & 0xffffu];

      if (number < 0x800000u || j == 0u) {
         distance = float(number);
         found = j;
         nearest.xy = vec2(number & 0xffu, j);
         list[count++ & 7u] = distance;
      }
   }
   nearest.zw = vec2(found);
   for (uint j = 0u; j < count; j++)
      nearest.x += list[j & 7u] * distance;
   if (distance > 3.0)
      nearest.w = 1.0;
   result[i] = nearest;
}
