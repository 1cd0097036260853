/* SPDX-License-Identifier: MIT
 *
 * Shared memory: a matrix product, tile by tile.
 */
#version 450

const uint TILE = 16;
const uint SIZE = 256;

layout(local_size_x = TILE, local_size_y = TILE) in;

layout(set = 0, binding = 0, std430) readonly buffer A { float a[]; };
layout(set = 0, binding = 1, std430) readonly buffer B { float b[]; };
layout(set = 0, binding = 2, std430) writeonly buffer C { float c[]; };

shared float tile_a[TILE][TILE];
shared float tile_b[TILE][TILE];

void
main()
{
   uvec2 local = gl_LocalInvocationID.xy;
   uvec2 global = gl_GlobalInvocationID.xy;
   float sum = 0.0;

   for (uint first = 0u; first < SIZE; first += TILE) {
      tile_a[local.y][local.x] = a[global.y * SIZE + first + local.x];
      tile_b[local.y][local.x] = b[(first + local.y) * SIZE + global.x];
      barrier();
      for (uint k = 0u; k < TILE; k++)
         sum += tile_a[local.y][k] * tile_b[k][local.x];
      barrier();
   }
   c[global.y * SIZE + global.x] = sum;
}
