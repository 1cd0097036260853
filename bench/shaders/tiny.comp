/* SPDX-License-Identifier: MIT
 *
 * Hardly any work: what a command costs.
 */
#version 450

layout(local_size_x = 64) in;

layout(push_constant) uniform Command { uint number; } command;

layout(set = 0, binding = 0, std430) buffer Data { uint data[]; };

void
main()
{
   data[command.number * 64u + gl_GlobalInvocationID.x] += 1u;
}
