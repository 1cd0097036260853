/* SPDX-License-Identifier: MIT
 *
 * Loops whose number of rounds nobody knows: a binary search, a walk through a table until
 * something is found, a sum that converges.
 */
#version 450

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly buffer Numbers { uint numbers[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Result { vec4 result[]; };

void
main()
{
   uint i = gl_GlobalInvocationID.x;
   uint first = 0u, last = 0x10000u;

   while (first < last) {
      uint middle = (first + last) / 2u;

      if (numbers[middle] < i * 8u)
         first = middle + 1u;
      else
         last = middle;
   }

   uint slot = i & 0xffffu, steps = 0u;
   while (numbers[slot] > 0x100000u) {
      slot = (slot + 1u) & 0xffffu;
      steps++;
   }

   float term = 1.0, sum = 0.0;
   do {
      sum += term;
      term *= float(slot & 15u) / 32.0;
   } while (term > 0.001);
   result[i] = vec4(first, slot, steps, sum);
}
