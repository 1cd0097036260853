/* SPDX-License-Identifier: MIT
 *
 * Arithmetic without a defined result for some operands: divisions, shifts, conversions,
 * roots and logarithms of what a buffer has.
 */
#version 450

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly buffer Numbers { uint numbers[]; };
layout(set = 0, binding = 1, std430) readonly buffer Floats { float floats[]; };
layout(set = 0, binding = 2, std430) writeonly buffer Result { vec4 result[]; };

void
main()
{
   uint i = gl_GlobalInvocationID.x;
   uint number = numbers[i];
   float value = floats[i & 0xffffu] + 0.5;
   vec3 direction = normalize(vec3(value, value * 2.0, 1.0));
   uint hash = i;

   for (uint j = 0u; j < 8u; j++) {
      uint divisor = (number >> j) + 1u;

      hash = hash / divisor + hash % divisor + (1u << (hash & 15u));
      hash += bitfieldExtract(number, int(j), 4) + uint(value * 16.0);
      value = sqrt(value + float(j)) + log2(value + 1.0) * 0.25;
      direction += min(pow(abs(direction) + 0.1, vec3(value)), 1.0);
   }
   result[i] = vec4(direction * inversesqrt(value), float(hash) + atan(value, direction.x));
}
