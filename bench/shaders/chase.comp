/* SPDX-License-Identifier: MIT
 *
 * Pointer chasing by device addresses: each node names the next one.
 */
#version 460
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 64) in;

layout(buffer_reference) buffer Node;
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Node {
   Node next;
   float value;
   float unused;
};

struct Start {
   Node next;
   float value;
   float unused;
};

layout(set = 0, binding = 0, std430) readonly buffer Starts { Start starts[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Result { float result[]; };

void
main()
{
   uint i = gl_GlobalInvocationID.x;
   Node node = starts[i].next;
   float sum = 0.0;

   for (int k = 0; k < 16; k++) {
      sum += node.value;
      node = node.next;
   }
   result[i] = sum;
}
