/* SPDX-License-Identifier: MIT */
#version 450

layout(location = 0) in float shade;
layout(location = 0) out vec4 color;

void
main()
{
   color = vec4(shade, shade, shade, 1.0);
}
