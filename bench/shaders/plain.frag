/* SPDX-License-Identifier: MIT
 *
 * What a pixel costs at least.
 */
#version 450

layout(location = 0) in vec2 coord;
layout(location = 0) out vec4 color;

void
main()
{
   color = vec4(coord, 0.0, 1.0);
}
