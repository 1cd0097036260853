/* SPDX-License-Identifier: MIT */
#version 450

layout(set = 0, binding = 0, std430) buffer Data { uint data[]; };
layout(set = 0, binding = 1) uniform sampler2D image;
layout(location = 0) out vec4 color;

layout(push_constant) uniform Command { uint index; } command;

void
main()
{
   color = texelFetch(image, ivec2(gl_FragCoord.xy) & 3, 0);
   if (ivec2(gl_FragCoord.xy) == ivec2(0))
      data[command.index] = 1;
}
