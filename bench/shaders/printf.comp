/* SPDX-License-Identifier: MIT */

#version 460
#extension GL_EXT_debug_printf : require

layout(local_size_x = 64) in;

/* 2 dwords of header, 6 of payload */
void main()
{
   vec4 v = vec4(gl_GlobalInvocationID.x) * vec4(0.5, 0.25, 0.125, 1.0);
   debugPrintfEXT("invocation %u of %d: %v4f", gl_GlobalInvocationID.x, 7, v);
}
