/* SPDX-License-Identifier: MIT */
#version 450
layout(local_size_x = 4, local_size_y = 4) in;

layout(set = 0, binding = 0, std430) buffer Data { uint data[]; };
layout(set = 0, binding = 1) uniform sampler2D image;

void
main()
{
   uint i = gl_LocalInvocationIndex;
   data[1 + i] = uint(texelFetch(image, ivec2(gl_LocalInvocationID.xy), 0).x * 255);
}
