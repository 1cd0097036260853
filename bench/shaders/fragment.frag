/* SPDX-License-Identifier: MIT
 *
 * Fragments: each pixel walks the lights of its tile.
 */
#version 450

const uint LIGHTS_PER_TILE = 8;
const uint TILES_PER_ROW = 16;

layout(location = 0) in vec2 coord;
layout(location = 0) out vec4 color;

layout(set = 0, binding = 0) uniform View {
   vec4 ambient;
   vec4 gain[4];
} view;
layout(set = 0, binding = 1, std430) readonly buffer Tiles { uint tiles[]; };
layout(set = 0, binding = 2, std430) readonly buffer Lights { vec4 lights[]; };

void
main()
{
   uvec2 pixel = uvec2(gl_FragCoord.xy);
   uvec2 tile = pixel / 32u;
   uint first = (tile.y * TILES_PER_ROW + tile.x) * LIGHTS_PER_TILE;
   vec3 sum = view.ambient.rgb;

   for (uint i = 0u; i < LIGHTS_PER_TILE; i++) {
      vec4 light = lights[tiles[first + i]];
      vec2 towards = light.xy - coord;

      sum += light.zww / (1.0 + dot(towards, towards));
   }
   color = vec4(sum * view.gain[(pixel.x ^ pixel.y) & 3u].rgb, 1.0);
}
