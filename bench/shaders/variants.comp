/* SPDX-License-Identifier: MIT
 *
 * Many pipelines: a small shader that is another one for each VARIANT.
 */
#version 450

layout(local_size_x = 64) in;

layout(constant_id = 0) const uint VARIANT = 0;

layout(set = 0, binding = 0) uniform Parameters { vec4 parameters[16]; };
layout(set = 0, binding = 1, std430) readonly buffer Data { float data[]; };
layout(set = 0, binding = 2, std430) buffer Result { float result[]; };

void
main()
{
   uint i = gl_GlobalInvocationID.x;
   float value = data[i + VARIANT] * parameters[VARIANT & 15u].x;

   if ((VARIANT & 1u) != 0u)
      value = sqrt(abs(value)) + data[(i * VARIANT) & 4095u];
   if ((VARIANT & 2u) != 0u)
      value += sin(value) * parameters[i & 15u].y;
   if ((VARIANT & 4u) != 0u)
      value += result[i];
   for (uint k = 0u; k < VARIANT % 5u; k++)
      value = value * 0.5 + data[(i ^ k) & 4095u];
   result[i] = value;
}
