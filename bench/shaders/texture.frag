/* SPDX-License-Identifier: MIT
 *
 * Control: sampling, which has no buffer access to check.
 */
#version 450

layout(location = 0) in vec2 coord;
layout(location = 0) out vec4 color;

layout(set = 0, binding = 0) uniform sampler2D picture;

void
main()
{
   color = texture(picture, coord) + texture(picture, coord.yx * 0.5) +
           texture(picture, coord + vec2(0.25, 0.125));
}
