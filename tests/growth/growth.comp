/* SPDX-License-Identifier: MIT
 *
 * The program puts another number into each module in the place of NUMBER, so that
 * they are all different. With index 0 all is well.
 */
#version 450
#define NUMBER 0xc0ffeeu

layout(local_size_x = 1) in;

layout(push_constant) uniform Command { uint index; } command;

/* 32 words */
layout(set = 0, binding = 0, std430) buffer Data { uint data[]; };

void
main()
{
   uint i = command.index;

   data[i] = NUMBER; // EXPECT
   data[(i & 7) + 1] += data[(i & 7) + 2];
}
