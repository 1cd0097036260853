/* SPDX-License-Identifier: MIT
 *
 * Accesses of all kinds, one a push constant: each invocation does one, to the
 * element START + STRIDE * i. Lines are 100 + 10 * op (soak.h), and where an op has a
 * second access the line behind.
 */
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = 16) in;

layout(push_constant) uniform Constants
{
   uint op;
   uint count;
   uint start;
   uint stride;
   uvec2 address; /* of the buffer */
   uint never;    /* a value that no memory has */
} constants;

layout(set = 0, binding = 0, std430) buffer Bytes { uint8_t bytes[]; };
layout(set = 0, binding = 0, std430) buffer Halves { uint16_t halves[]; };
layout(set = 0, binding = 0, std430) buffer Words { uint words[]; };
layout(set = 0, binding = 0, std430) volatile buffer VolatileWords { uint volatile_words[]; };
layout(set = 0, binding = 0, std430) buffer Longs { uint64_t longs[]; };
layout(set = 0, binding = 0, std430) buffer Vectors { uvec4 vectors[]; };
layout(set = 0, binding = 1, std140) uniform Uniforms { uvec4 uniforms[1024]; };
layout(set = 0, binding = 2, std430) buffer Sink { uint sink[]; };

layout(buffer_reference, std430, buffer_reference_align = 4) buffer WordsAt { uint words[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer VectorsAt { uvec4 vectors[]; };

void
main()
{
   uint i = gl_GlobalInvocationID.x;
   if (i >= constants.count)
      return;

   uint element = constants.start + constants.stride * i;
   uint result = 0u;

   switch (constants.op) {
   case 0:
#line 100
      result = uint(bytes[element]);
      break;
   case 1:
#line 110
      result = uint(halves[element]);
      break;
   case 2:
#line 120
      result = words[element];
      break;
   case 3:
#line 130
      result = uint(longs[element]);
      break;
   case 4: {
#line 140
      uvec4 vector = vectors[element];
      result = vector.x + vector.y + vector.z + vector.w;
      break;
   }
   case 5: {
#line 150
      uvec4 vector = uniforms[element];
      result = vector.x + vector.y + vector.z + vector.w;
      break;
   }
   case 6:
#line 160
      result = WordsAt(constants.address).words[element];
      break;
   case 7:
#line 170
      bytes[element] = uint8_t(1);
      break;
   case 8:
#line 180
      halves[element] = uint16_t(1);
      break;
   case 9:
#line 190
      words[element] = 1u;
      break;
   case 10:
#line 200
      longs[element] = 1ul;
      break;
   case 11:
#line 210
      vectors[element] = uvec4(1u);
      break;
   case 12:
#line 220
      VectorsAt(constants.address).vectors[element] = uvec4(1u);
      break;
   case 13:
#line 230
      atomicOr(words[element], 1u);
      break;
   case 14:
#line 240
      atomicOr(longs[element], 1ul);
      break;
   case 15:
#line 250
      atomicOr(WordsAt(constants.address).words[element], 1u);
      break;
   case 16:
#line 260
      result = words[element];
      words[element] = result | 1u;
      break;
   case 17:
#line 270
      volatile_words[element] = 1u;
      result = volatile_words[element];
      break;
   }

   /* Nobody looks at what was loaded, but the compiler must not know. */
   if (result == constants.never)
      sink[i] = result;
}
