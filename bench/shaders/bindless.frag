/* SPDX-License-Identifier: MIT
 *
 * Bindless: each pixel samples two of 64 textures, whose numbers a buffer has.
 */
#version 450
#extension GL_EXT_nonuniform_qualifier : require

layout(location = 0) in vec2 coord;
layout(location = 0) out vec4 color;

layout(set = 0, binding = 0) uniform sampler2D textures[64];
layout(set = 0, binding = 1, std430) readonly buffer Materials { uint materials[]; };

void
main()
{
   uvec2 tile = uvec2(gl_FragCoord.xy) / 16u;
   uint material = (tile.y * 32u + tile.x) * 2u;
   vec2 at = coord * 0.5 + 0.5;

   color = textureLod(textures[nonuniformEXT(materials[material])], at, 0.0) +
           textureLod(textures[nonuniformEXT(materials[material + 1u])], at * 2.0, 0.0);
}
