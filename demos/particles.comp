/* SPDX-License-Identifier: MIT
 *
 * A fountain: where each particle is, straight from the time.
 */
#version 450

layout(local_size_x = 64) in;

layout(push_constant) uniform Frame {
   float time;
   uint particle_count;
} frame;

layout(set = 0, binding = 0, std430) writeonly buffer Particles {
   vec4 position[];
} particles;

const float GRAVITY = 9.81;
const float LIFETIME = 2.0;

vec3
launch_velocity(uint i)
{
   float angle = 6.2831853 * float(i) / float(frame.particle_count);

   return vec3(cos(angle), 8.0 + sin(5.0 * angle), sin(angle));
}

void
main()
{
   uint i = gl_GlobalInvocationID.x;

#ifdef FIXED
   /* The dispatch is rounded up to whole workgroups. */
   if (i >= frame.particle_count)
      return;
#endif

   float age = mod(frame.time + float(i % 97u) / 97.0, LIFETIME);
   vec3 moved = launch_velocity(i) * age;
   moved.y -= 0.5 * GRAVITY * age * age;

   particles.position[i] = vec4(moved, age);
}
