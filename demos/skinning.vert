/* SPDX-License-Identifier: MIT
 *
 * Rigid skinning: each vertex follows one bone.
 */
#version 450

layout(location = 0) in vec2 position;
layout(location = 1) in uint bone;

layout(set = 0, binding = 0) uniform Skeleton {
   mat4 bones[4];
} skeleton;

layout(location = 0) out float shade;

void
main()
{
   mat4 pose = skeleton.bones[bone];

   gl_Position = pose * vec4(position, 0.0, 1.0);
   shade = 1.0 - 0.18 * float(bone);
}
