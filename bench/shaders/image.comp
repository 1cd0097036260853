/* SPDX-License-Identifier: MIT
 *
 * Storage images: a blur.
 */
#version 450

const int SIZE = 256;

layout(local_size_x = 8, local_size_y = 8) in;

layout(set = 0, binding = 0, rgba8) readonly uniform image2D source;
layout(set = 0, binding = 1, rgba8) writeonly uniform image2D blurred;

vec4
texel(ivec2 coord)
{
   return imageLoad(source, clamp(coord, ivec2(0), ivec2(SIZE - 1)));
}

void
main()
{
   ivec2 coord = ivec2(gl_GlobalInvocationID.xy);
   vec4 sum = texel(coord) + texel(coord + ivec2(1, 0)) +
              texel(coord - ivec2(1, 0)) + texel(coord + ivec2(0, 1)) +
              texel(coord - ivec2(0, 1));

   imageStore(blurred, coord, sum * 0.2);
}
