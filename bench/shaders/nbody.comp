/* SPDX-License-Identifier: MIT
 *
 * A loop around storage accesses: gravity between all bodies.
 */
#version 450

const uint BODY_COUNT = 1024;

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly buffer Bodies { vec4 bodies[]; };
layout(set = 0, binding = 1, std430) buffer Speeds { vec4 speeds[]; };

void
main()
{
   uint i = gl_GlobalInvocationID.x;
   vec3 position = bodies[i].xyz;
   vec3 pull = vec3(0.0);

   for (uint other = 0u; other < BODY_COUNT; other++) {
      vec4 body = bodies[other];
      vec3 towards = body.xyz - position;
      float distance2 = dot(towards, towards) + 0.01;

      pull += towards * (body.w * inversesqrt(distance2) / distance2);
   }
   speeds[i].xyz += 0.001 * pull;
}
