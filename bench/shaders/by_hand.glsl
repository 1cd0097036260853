/* SPDX-License-Identifier: MIT
 *
 * vkd3d-proton's synchronization check as a shader author would write it, for
 * comparison: 16 hash functions, one 64-bit atomic or each, and one for each lock
 * set. Buffers are found by addresses that the host writes into a table, where
 * vkd3d-proton has its heap of descriptors.
 */
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_atomic_int64 : require

#define ACCESS_LOAD   0
#define ACCESS_STORE  1
#define ACCESS_ATOMIC 2

layout(set = 0, binding = 3, std430) buffer Filter { uint64_t buckets[]; } filter_marks;
layout(set = 0, binding = 3, std430) buffer FilterHalves { uvec2 buckets[]; } filter_locks;

layout(set = 0, binding = 4, std430) buffer Control {
   uint claims[256];
   uint next_invocation;
   uint command;
   uvec2 addresses[3];
   uvec4 failures[4096];
} control;

const uint primes[16] = {
   1103515245u, 1103518333u, 1103539331u, 1103633207u, 10006121u, 4004951u, 5005159u, 6004811u,
   383u, 821u, 661u, 1091u, 1117u, 3947u, 4253u, 7691u,
};

/* What an access makes invalid: bytes for loads, bytes for stores, words for
 * atomics, words for indirect commands. */
const uint64_t invalidated[3] = {
   68719411200ul,
   1099511627775ul,
   1035087118335ul,
};

uint invocation;
bool silent = false;

void
begin_invocation()
{
   invocation = atomicAdd(control.next_invocation, 1103633207u);
}

uint
hash_address(uvec2 address, uint prime)
{
   uvec2 state = uvec2(address.x >> 4, address.y & 0xffffu);

   [[unroll]] for (int i = 0; i < 6; i++)
      state = ((state >> 8) ^ state.yx) * prime;
   return state.x;
}

uint
lock_bits(uint index)
{
   /* 9 bits of the id a bucket, as far as they go */
   uint part = bitfieldExtract(invocation * (1u + index / 3u * 0x9e3779b0u), int(index % 3u) * 9, 9);

   return 1u << (8u + (part & 7u)) | 1u << (16u + ((part >> 3) & 7u)) | 1u << (24u + (part >> 6));
}

void
report(uint site)
{
   if (silent)
      return;
   silent = true;

   uint slot = (site * 97u ^ 2536414114u ^ control.command * 51329u) & 4095u;
   uint bit = 1u << (slot & 15u);
   if ((atomicOr(control.claims[slot >> 4], bit) & bit) == 0u) {
      control.failures[slot] = uvec4(2523780806u, 21187940u, site, control.command);
      memoryBarrierBuffer();
      atomicOr(control.claims[slot >> 4], bit << 16);
      memoryBarrierBuffer();
   }
}

/* Bytes of the next granule are left out. */
void
validate(uint site, uint buffer_number, uint offset, uint size, uint type, bool in_bounds)
{
   if (!in_bounds)
      return;

   uvec2 address = control.addresses[buffer_number];
   uint carry;
   address.x = uaddCarry(address.x, offset, carry);
   address.y += carry;

   uint first = address.x & 15u;
   uint bytes = (((1u << size) - 1u) << first) & 0xffffu;
   uint words = (((1u << (((address.x & 3u) + size + 3u) >> 2)) - 1u) << (first >> 2)) & 15u;
   uint64_t marks = invalidated[type] & packUint2x32(uvec2(bytes | bytes << 16, words | words << 4));

   uint mask = uint(filter_marks.buckets.length()) - 1u;
   uint places[16];
   uint64_t found = ~0ul;
   [[unroll]] for (int i = 0; i < 16; i++) {
      places[i] = hash_address(address, primes[i]) & mask;
      found &= atomicOr(filter_marks.buckets[places[i]], marks);
   }

   uvec2 before = unpackUint2x32(found);
   bool first_claim = ((before.x >> 16) & bytes) == 0u;
   bool is_own = true;
   [[unroll]] for (uint i = 0u; i < 16u; i++) {
      uint lock = lock_bits(i);
      uint locked = atomicOr(filter_locks.buckets[places[i]].y, first_claim ? lock : 0u);
      is_own = is_own && (locked & lock) == lock;
   }

   bool hazard = type == ACCESS_LOAD    ? (before.x & bytes) != 0u
                 : type == ACCESS_STORE ? ((before.x >> 16) & bytes) != 0u
                                        : (before.y & words) != 0u;
   if (hazard && !is_own)
      report(site);
}
