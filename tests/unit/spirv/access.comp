/* SPDX-License-Identifier: MIT */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_samplerless_texture_functions : require

layout(local_size_x = 64) in;

layout(set = 1, binding = 3) buffer Particles { vec4 pos[]; } particles;
layout(set = 0, binding = 4) buffer Anonymous { int values[]; };
layout(set = 0, binding = 5) uniform Parameters { uint count; } parameters[4];
layout(set = 0, binding = 1) uniform sampler2D color;
layout(set = 0, binding = 2, rgba8) uniform image2D canvas;
layout(set = 0, binding = 6, r32ui) uniform uimage2D counters;
layout(set = 2, binding = 0) uniform texture2D textures[8];
layout(set = 2, binding = 1) uniform sampler nearest;

layout(buffer_reference) buffer Node;
layout(buffer_reference, std430) buffer Node { int payload; Node next; };
layout(push_constant) uniform Push { Node head; } push;

shared int scratch[64];

struct Pair { int a; int b; };

/* Anonymous has no instance name. */
#define values_of_anonymous values

#include "access.glsl"

int
pick(int index, Pair pair)
{
   if (index > 3)
      return values_of_anonymous[index + 1]; // AT load Anonymous
   return pair.a;
}

void
main()
{
   uint i = gl_GlobalInvocationID.x;

   particles.pos[i] = vec4(1); values[i] = fetch_scaled(3); // AT store particles, store Anonymous
   for (int k = 0; k < int(parameters[1].count); k++) { // AT load parameters
      atomicAdd(values[k], pick(k, Pair(1, 2))); // AT atomic Anonymous
   }
   if (i < parameters[i & 3u].count) values[i] = 4; // AT load parameters, store Anonymous
   values[1] = i > 3u ? values[7] : values[9]; // AT load Anonymous, store Anonymous
   if (values[1] > 2 && values[2] > 1 || values[3] == 0) values[4] = 1; // AT load Anonymous, store Anonymous
   while (values[5] > 3) { // AT load Anonymous
      values[5]--; // AT load Anonymous, store Anonymous
      scratch[i & 63u] = values.length(); // AT length Anonymous
   }
	particles.pos[i + 1u] = texelFetch(color, ivec2(0), 0);  	// AT load color, fetch color, store particles  	
   imageStore(canvas, ivec2(1), textureLod(color, vec2(0), 0.0)); // AT load color, sample color, load canvas, write canvas
   imageAtomicAdd(counters, ivec2(0), 1u); // AT atomic counters
   particles.pos[0] = imageLoad(canvas, ivec2(2)); // AT load canvas, read canvas, store particles
   particles.pos[1] = textureLod(sampler2D(textures[2], nearest), vec2(0), 0.0); // AT load textures, load nearest, sample textures, store particles
   push.head.next.payload = push.head.payload; // AT load push, load Node, store Node
}
