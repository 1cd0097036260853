/* SPDX-License-Identifier: MIT
 *
 * One invocation loads or stores one texel of an image (soak.h). STORES: which of the two.
 */
#version 460

layout(local_size_x = 1) in;

layout(push_constant) uniform Constants
{
   uint never; /* a value that no texel has */
} constants;

layout(set = 0, binding = 0, r32ui) uniform uimage2D image;
layout(set = 0, binding = 1, std430) buffer Sink { uint sink; };

void
main()
{
#ifdef STORES
   imageStore(image, ivec2(0), uvec4(1));
#else
   uint texel = imageLoad(image, ivec2(0)).x;
   if (texel == constants.never)
      sink = texel;
#endif
}
