/* SPDX-License-Identifier: MIT
 *
 * Each invocation writes the word that it has the address of, with a value that differs between
 * dispatches if the host says so.
 */
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

layout(local_size_x = 64) in;

layout(push_constant) uniform Command { uint count, added; } command;

layout(std430, buffer_reference, buffer_reference_align = 4) writeonly buffer Word { uint value; };

layout(set = 0, binding = 0, std430) readonly buffer Addresses { uvec2 addresses[]; };

void
main()
{
   uint i = gl_GlobalInvocationID.x;

   if (i < command.count)
      Word(addresses[i]).value = i + command.added; // EXPECT
}
