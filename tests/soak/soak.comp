/* SPDX-License-Identifier: MIT
 *
 * Interprets the instructions of a dispatch or draw (soak.h), which are push constants. Lines of
 * accesses are 200 + 10 * op, and where an op has a second one the line behind.
 *
 * VARIANT: modules that differ in this only have sites of their own. BARRIERS: with
 * those of workgroups and subgroups. MORE: images, texel buffers, and
 * more ways to access buffers. VERTEX, FRAGMENT: the same as another shader, which draws points, each
 * to a pixel of its own.
 */
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require

#if defined(VERTEX) || defined(FRAGMENT)
#define DRAW
#ifdef FRAGMENT
#define FRAGMENT_BIT 1u
#else
#define FRAGMENT_BIT 0u
#endif
#else
layout(local_size_x = 32) in;
#endif

layout(push_constant) uniform Constants
{
   uvec2 address; /* of the memory */
   uint count;    /* of instructions */
   uint never;    /* a value that no memory has */
   uvec4 code[6];
} constants;

layout(set = 0, binding = 0, std430) buffer Bytes { uint8_t bytes[]; };
layout(set = 0, binding = 0, std430) buffer Halves { uint16_t halves[]; };
layout(set = 0, binding = 0, std430) buffer Words { uint words[]; };
layout(set = 0, binding = 0, std430) volatile buffer VolatileWords { uint volatile_words[]; };
layout(set = 0, binding = 0, std430) buffer Longs { uint64_t longs[]; };
layout(set = 0, binding = 0, std430) buffer Vectors { uvec4 vectors[]; };
layout(set = 0, binding = 0, scalar) buffer Shifted { uint before; uvec4 shifted[]; };
layout(set = 0, binding = 1, std140) uniform Uniforms { uvec4 uniforms[1024]; };
layout(set = 0, binding = 2, std430) buffer Sink { uint sink[]; };
layout(set = 0, binding = 3, std430) buffer Flags { uint flags[]; };
#ifdef MORE
layout(set = 0, binding = 4) uniform utextureBuffer texels;
layout(set = 0, binding = 5, r32ui) uniform uimageBuffer image;
layout(set = 0, binding = 6, r32ui) uniform uimageBuffer flag_texels;
layout(set = 0, binding = 7, r32ui) uniform uimage1D image_words;
layout(set = 0, binding = 8, rg32ui) uniform uimage1D image_pairs;
#endif

#define ALL_SEMANTICS (gl_StorageSemanticsBuffer | gl_StorageSemanticsImage)

#ifndef DRAW
shared uint shared_words[128];
shared uvec4 shared_vectors[32];
shared uint8_t shared_bytes[512];
#endif

layout(buffer_reference, std430, buffer_reference_align = 4) buffer WordAt { uint x; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer PairAt { uvec2 x; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer VectorAt { uvec4 x; };

uvec2
address(uint at)
{
   uint carry;
   uint low = uaddCarry(constants.address.x, at, carry);
   return uvec2(low, constants.address.y + carry);
}

/* Short branches have none in llvmpipe's code: invocations would wait for each other
 * whether there is a barrier in the program or not, and go on in another order.
 */
uint
branch()
{
   uint sum = 0u;
   for (uint i = 0u; i < constants.count >> 8; i++)
      sum ^= sum * 5u + i;
   return sum;
}

void
main()
{
#if defined(VERTEX)
   uint local = gl_VertexIndex;
   uint group = gl_InstanceIndex;
   gl_Position = vec4((vec2(local, group) + 0.5) / vec2(16.0, 1.5) - 1.0, 0.0, 1.0);
   gl_PointSize = 1.0;
#elif defined(FRAGMENT)
   uint local = uint(gl_FragCoord.x);
   uint group = uint(gl_FragCoord.y);
#else
   uint local = gl_LocalInvocationIndex;
   uint group = gl_WorkGroupID.x;
#endif
   bool gate = false;
   uint result = 0u;

   for (uint i = 0u; i < constants.count; i++) {
      uvec4 code = constants.code[i];
      uint op = code.x & 63u;
      uint at = code.y + (local ^ (code.x >> 26)) * (code.z & 0xffffu) + group * (code.z >> 16);

#ifdef DRAW
      if ((code.x >> 21 & 1u) != FRAGMENT_BIT)
         continue;
#endif
#ifdef BARRIERS
      if (op == 40u) {
         result += branch();
         memoryBarrier(gl_ScopeDevice, ALL_SEMANTICS, gl_SemanticsAcquireRelease);
         barrier();
         continue;
      }
      if (op == 41u) {
         result += branch();
         barrier();
         continue;
      }
      if (op == 42u) {
         result += branch();
         subgroupBarrier();
         continue;
      }
#endif

      if (((local - (code.x >> 6)) & 31u) > (code.x >> 11 & 31u) ||
          (code.x >> (16u + group) & 1u) == 0u || ((code.x >> 20 & 1u) != 0u && !gate))
         continue;

      uint value = (code.x >> 22 & 1u) != 0u ? 0u : i;

      switch (op) {
      case 0:
#line 200
         result += uint(bytes[at]);
         break;
#ifdef MORE
      case 1:
#line 210
         result += uint(halves[at / 2u]);
         break;
#endif
      case 2:
#line 220
         result += words[at / 4u];
         break;
#ifdef MORE
      case 3:
#line 230
         result += uint(longs[at / 8u]);
         break;
#endif
      case 4: {
#line 240
         uvec4 vector = vectors[at / 16u];
         result += vector.x + vector.y + vector.z + vector.w;
         break;
      }
      case 5: {
#line 250
         uvec4 vector = uniforms[at / 16u];
         result += vector.x + vector.y + vector.z + vector.w;
         break;
      }
#ifdef MORE
      case 6:
#line 260
         result += texelFetch(texels, int(at / 4u)).x;
         break;
      case 7:
#line 270
         result += imageLoad(image, int(at / 4u)).x;
         break;
      case 8:
#line 280
         result += WordAt(address(at)).x;
         break;
      case 9: {
#line 290
         uvec2 pair = PairAt(address(at)).x;
         result += pair.x + pair.y;
         break;
      }
#endif
      case 10: {
#line 300
         uvec4 vector = VectorAt(address(at)).x;
         result += vector.x + vector.y + vector.z + vector.w;
         break;
      }
#ifdef MORE
      case 11: {
#line 310
         uvec4 vector = shifted[at / 16u];
         result += vector.x + vector.y + vector.z + vector.w;
         break;
      }
#endif
      case 12:
#line 320
         bytes[at] = uint8_t(value);
         break;
#ifdef MORE
      case 13:
#line 330
         halves[at / 2u] = uint16_t(value);
         break;
#endif
      case 14:
#line 340
         words[at / 4u] = value;
         break;
      case 15:
#line 350
         longs[at / 8u] = uint64_t(value);
         break;
      case 16:
#line 360
         vectors[at / 16u] = uvec4(value);
         break;
#ifdef MORE
      case 17:
#line 370
         imageStore(image, int(at / 4u), uvec4(value));
         break;
      case 18:
#line 380
         PairAt(address(at)).x = uvec2(value);
         break;
#endif
      case 19:
#line 390
         VectorAt(address(at)).x = uvec4(value);
         break;
#ifdef MORE
      case 20:
#line 400
         shifted[at / 16u] = uvec4(value);
         break;
#endif
      case 21:
#line 410
         atomicOr(words[at / 4u], 1u);
         break;
      case 22:
#line 420
         atomicOr(longs[at / 8u], 1ul);
         break;
#ifdef MORE
      case 23:
#line 430
         atomicOr(WordAt(address(at)).x, 1u);
         break;
      case 24:
#line 440
         imageAtomicOr(image, int(at / 4u), 1u);
         break;
#endif
      case 25: {
#line 450
         uint word = words[at / 4u];
         words[at / 4u] = word | 1u;
         break;
      }
#ifdef MORE
      case 26:
#line 460
         volatile_words[at / 4u] = value;
         result += volatile_words[at / 4u];
         break;

#endif
#ifndef DRAW
      case 27:
#line 470
         result += shared_words[(at & 511u) / 4u];
         break;
      case 28:
#line 480
         shared_words[(at & 511u) / 4u] = value;
         break;
      case 29:
#line 490
         atomicOr(shared_words[(at & 511u) / 4u], 1u);
         break;
#ifdef MORE
      case 30: {
#line 500
         uint word = shared_words[(at & 511u) / 4u];
         shared_words[(at & 511u) / 4u] = word | 1u;
         break;
      }
      case 31: {
#line 510
         uvec4 vector = shared_vectors[(at & 511u) / 16u];
         result += vector.x + vector.y + vector.z + vector.w;
         break;
      }
      case 32:
#line 520
         shared_vectors[(at & 511u) / 16u] = uvec4(value);
         break;
      case 33:
#line 530
         result += uint(shared_bytes[at & 511u]);
         break;
#endif
      case 34:
#line 540
         shared_bytes[at & 511u] = uint8_t(value);
         break;
#endif

#ifdef MORE
      case 35:
#line 550
         result += imageLoad(image_words, int(at / 4u)).x;
         break;
      case 36: {
#line 560
         uvec4 pair = imageLoad(image_pairs, int(at / 8u));
         result += pair.x + pair.y;
         break;
      }
      case 37:
#line 570
         imageStore(image_words, int(at / 4u), uvec4(value));
         break;
      case 38:
#line 580
         imageStore(image_pairs, int(at / 8u), uvec4(value));
         break;
      case 39:
#line 590
         imageAtomicOr(image_words, int(at / 4u), 1u);
         break;

#endif
#ifndef DRAW
      case 43:
         memoryBarrier(gl_ScopeDevice, ALL_SEMANTICS, gl_SemanticsAcquireRelease);
         atomicExchange(flags[code.y], code.w);
         break;
      case 44:
         gate = atomicAdd(flags[code.y], 0u) == code.w;
         memoryBarrier(gl_ScopeDevice, ALL_SEMANTICS, gl_SemanticsAcquireRelease);
         break;
      case 45:
         atomicExchange(flags[code.y], code.w);
         break;
      case 46:
         gate = atomicAdd(flags[code.y], 0u) == code.w;
         break;
      case 47:
         memoryBarrier(gl_ScopeDevice, ALL_SEMANTICS, gl_SemanticsAcquireRelease);
         gate = atomicAdd(flags[code.y], 1u) + 1u == code.w;
         memoryBarrier(gl_ScopeDevice, ALL_SEMANTICS, gl_SemanticsAcquireRelease);
         break;
      case 48:
         gate = atomicAdd(flags[code.y], 1u) + 1u == code.w;
         break;
#ifdef MORE
      case 49:
         memoryBarrier(gl_ScopeDevice, ALL_SEMANTICS, gl_SemanticsAcquireRelease);
         imageAtomicExchange(flag_texels, int(code.y), code.w);
         break;
      case 50:
         gate = imageAtomicAdd(flag_texels, int(code.y), 0u) == code.w;
         memoryBarrier(gl_ScopeDevice, ALL_SEMANTICS, gl_SemanticsAcquireRelease);
         break;
#endif
      case 51:
         memoryBarrier(gl_ScopeSubgroup, ALL_SEMANTICS, gl_SemanticsRelease);
         atomicExchange(flags[code.y], code.w);
         break;
      case 52:
         gate = atomicAdd(flags[code.y], 0u) == code.w;
         memoryBarrier(gl_ScopeSubgroup, ALL_SEMANTICS, gl_SemanticsAcquire);
         break;
#endif
      }
   }

   /* Nobody looks at what was loaded, but the compiler must not know. */
   if (result == constants.never - VARIANT)
      sink[local] = result;
}
