/* SPDX-License-Identifier: MIT
 *
 * Arrays: a table of constants, private arrays and a matrix, with indices that come from
 * a buffer, so that nothing proves them.
 */
#version 450

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly buffer Numbers { uint numbers[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Result { vec4 result[]; };

const vec2 taps[8] = vec2[](vec2(-1, -1), vec2(0, -1), vec2(1, -1), vec2(-1, 0), vec2(1, 0),
                            vec2(-1, 1), vec2(0, 1), vec2(1, 1));

void
main()
{
   uint i = gl_GlobalInvocationID.x;
   float stack[16];
   mat4 basis = mat4(1.0);
   vec4 sum = vec4(0.0);

   for (uint j = 0u; j < 16u; j++)
      stack[j] = float(j) * 0.5;
   for (uint j = 0u; j < 4u; j++) {
      uint number = numbers[(4u * i + j) & 0xffffu]; /* below 4 */

      basis[number].x += taps[number * 2u + j / 2u].x;
      stack[4u * j + number] += taps[number + j].y;
      sum += basis[number] * stack[number * 3u + j];
   }
   result[i] = sum;
}
