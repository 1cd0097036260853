/* SPDX-License-Identifier: MIT
 *
 * Implicit derivatives: a texture sampled behind branches that quads take together, and
 * the derivatives of a pattern.
 */
#version 450

layout(location = 0) in vec2 coord;
layout(location = 0) out vec4 color;

layout(set = 0, binding = 0) uniform sampler2D tex;

void
main()
{
   uvec2 tile = uvec2(gl_FragCoord.xy) / 32u;
   vec2 at = coord * 0.5 + 0.5;
   vec3 sum = vec3(0.0);

   if (((tile.x ^ tile.y) & 1u) == 0u) {
      sum = texture(tex, at).rgb;
      if ((tile.x & 2u) == 0u)
         sum += texture(tex, at * 2.0).rgb * fwidth(at.x);
   } else {
      for (uint i = 0u; i < 2u; i++)
         sum += texture(tex, at + vec2(i) * 0.1).rgb;
   }
   color = vec4(sum + vec3(dFdx(at.x) + dFdy(at.y)), 1.0);
}
