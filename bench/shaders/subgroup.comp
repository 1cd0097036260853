/* SPDX-License-Identifier: MIT
 *
 * What invocations do together: shuffles, broadcasts, reductions inside of a branch, and
 * barriers between the steps of a sum over the workgroup.
 */
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly buffer Numbers { uint numbers[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Result { vec4 result[]; };

shared uint sums[64];

void
main()
{
   uint i = gl_GlobalInvocationID.x, local = gl_LocalInvocationID.x;
   uint number = numbers[i];
   uint sum = 0u;

   if ((gl_WorkGroupID.x & 1u) == 0u) {
      for (uint mask = gl_SubgroupSize / 2u; mask > 0u; mask /= 2u)
         sum += subgroupShuffleXor(number, mask);
   } else {
      sum = subgroupBroadcast(number, 0u) + subgroupAdd(number & 0xffu);
   }
   sums[local] = sum;
   for (uint width = 32u; width > 0u; width /= 2u) {
      barrier();
      if (local < width)
         sums[local] += sums[local + width];
   }
   barrier();
   result[i] = vec4(sums[0], sum, subgroupBallotBitCount(subgroupBallot((number & 1u) == 0u)), i);
}
