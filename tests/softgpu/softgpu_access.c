/* SPDX-License-Identifier: MIT */

/*
 * Intrinsics that access memory: by address, through the descriptor of a buffer,
 * and that of workgroups and invocations. Atomics are atomic for the host as well.
 */

#include "softgpu_counters.h"
#include "softgpu_wave.h"

#include <string.h>

#include "util/u_debug.h"
#include "util/u_math.h"
#include "nir_constant_expressions.h"

#include "sid.h"

#include "gpuval/src/compat/gpuval_nir_memory.h"

/* --- Memory --------------------------------------------------------------- */

static uint64_t
load_bytes(const void *memory, unsigned bytes)
{
   uint64_t value = 0;
   memcpy(&value, memory, bytes);
   return value;
}

/* Components that are not in `writemask` are left out. */
static void
load_global(struct softgpu_wave *wave, nir_intrinsic_instr *instr, unsigned lane, uint64_t va)
{
   const unsigned bytes = instr->def.bit_size / 8;
   uint8_t data[NIR_MAX_VEC_COMPONENTS * 8];

   if (!softgpu_read(va, data, instr->def.num_components * bytes))
      return;
   for (unsigned i = 0; i < instr->def.num_components; i++)
      softgpu_set_uint(wave, instr, lane, i, load_bytes(&data[i * bytes], bytes));
}

/* An instruction of a wave loads there. */
static void
count_load(uint64_t va)
{
   if (softgpu_counts() && softgpu_is_uncached(va))
      softgpu_count(SOFTGPU_UNCACHED_LOADS, 1);
}

/* Stores that the host does not see yet */
static struct {
   unsigned count;
   struct {
      uint64_t va, value;
      unsigned bytes;
   } stores[4096];
} late;

void
softgpu_flush_stores(void)
{
   if (late.count)
      softgpu_pause(); /* the host has a look */
   for (unsigned i = 0; i < late.count; i++)
      softgpu_write(late.stores[i].va, &late.stores[i].value, late.stores[i].bytes);
   late.count = 0;
}

static void
write_global(uint64_t va, uint64_t value, unsigned bytes)
{
   static int is_late = -1;
   if (is_late < 0)
      is_late = softgpu_is_broken("order");

   if (!is_late || !softgpu_is_uncached(va)) {
      softgpu_write(va, &value, bytes);
      return;
   }
   if (late.count == ARRAY_SIZE(late.stores))
      softgpu_flush_stores();
   late.stores[late.count].va = va;
   late.stores[late.count].value = value;
   late.stores[late.count++].bytes = bytes;
}

static void
store_global(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr, unsigned lane,
             uint64_t va)
{
   const unsigned bytes = instr->src[0].ssa->bit_size / 8;
   u_foreach_bit (i, nir_intrinsic_write_mask(instr)) {
      write_global(va + i * bytes, softgpu_uint(wave, &instr->src[0], i, lane), bytes);
   }
}

static uint64_t
compute_atomic(nir_atomic_op operation, unsigned bits, uint64_t old, uint64_t data, uint64_t swap)
{
   switch (operation) {
   case nir_atomic_op_xchg:
      return data;
   case nir_atomic_op_cmpxchg:
      return old == data ? swap : old;
   case nir_atomic_op_inc_wrap:
      return old >= data ? 0 : old + 1;
   case nir_atomic_op_dec_wrap:
      return old == 0 || old > data ? data : old - 1;
   default: {
      const nir_op op = nir_atomic_op_to_alu(operation);
      if (op == nir_num_opcodes) {
         softgpu_error("atomic operation %u is not supported", operation);
         return old;
      }
      nir_const_value a = nir_const_value_for_raw_uint(old, bits);
      nir_const_value b = nir_const_value_for_raw_uint(data, bits);
      nir_const_value result = {0};
      nir_eval_const_opcode(op, &result, 1, bits, (nir_const_value *[]){&a, &b}, 0);
      return nir_const_value_as_uint(result, bits);
   }
   }
}

/* Atomic for the host's threads as well. */
static void
do_atomic(struct softgpu_wave *wave, nir_intrinsic_instr *instr, unsigned lane, void *memory,
          unsigned data)
{
   const nir_atomic_op operation = nir_intrinsic_atomic_op(instr);
   const unsigned bits = instr->def.bit_size;
   const uint64_t operand = softgpu_uint(wave, &instr->src[data], 0, lane);
   const uint64_t swap =
      operation == nir_atomic_op_cmpxchg ? softgpu_uint(wave, &instr->src[data + 1], 0, lane) : 0;
   uint64_t old;

   if ((uintptr_t)memory % (bits / 8)) {
      softgpu_error("%s: address is not aligned", softgpu_name(instr));
      return;
   }
   if (bits == 32) {
      uint32_t before = __atomic_load_n((uint32_t *)memory, __ATOMIC_SEQ_CST);
      while (!__atomic_compare_exchange_n(
         (uint32_t *)memory, &before,
         (uint32_t)compute_atomic(operation, bits, before, operand, swap), false, __ATOMIC_SEQ_CST,
         __ATOMIC_SEQ_CST))
         ;
      old = before;
   } else {
      old = __atomic_load_n((uint64_t *)memory, __ATOMIC_SEQ_CST);
      while (!__atomic_compare_exchange_n((uint64_t *)memory, &old,
                                          compute_atomic(operation, bits, old, operand, swap),
                                          false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
         ;
   }
   softgpu_set_uint(wave, instr, lane, 0, old);
}

static bool
is_broken(const nir_intrinsic_instr *instr)
{
   static int broken = -1;
   if (broken < 0)
      broken = softgpu_is_broken("add32") | softgpu_is_broken("add64") << 1 |
               softgpu_is_broken("or32") << 2 | softgpu_is_broken("or64") << 3 |
               softgpu_is_broken("swap32") << 4;
   const nir_atomic_op op = nir_intrinsic_atomic_op(instr);
   const unsigned first = op == nir_atomic_op_iadd      ? 0
                          : op == nir_atomic_op_ior     ? 2
                          : op == nir_atomic_op_cmpxchg ? 4
                                                        : 8;

   return broken >> (first + (instr->def.bit_size == 64)) & 1;
}

void
softgpu_atomic(struct softgpu_wave *wave, nir_intrinsic_instr *instr, unsigned lane, uint64_t va,
               unsigned data)
{
   void *memory = softgpu_map(va, instr->def.bit_size / 8, SOFTGPU_WRITE);
   softgpu_count_atomic(va);
   if (is_broken(instr) && softgpu_is_uncached(va))
      softgpu_set_uint(wave, instr, lane, 0, 0);
   else if (memory)
      do_atomic(wave, instr, lane, memory, data);
}

/* SOFTGPU_SAME_ADDRESS=N: no more than N lanes may do an atomic at one address at once. */
static void
check_addresses(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr)
{
   static long max = -1;
   if (max < 0)
      max = debug_get_num_option("SOFTGPU_SAME_ADDRESS", 0);
   if (!max)
      return;

   softgpu_foreach_lane(lane, wave->exec)
   {
      long same = 0;
      softgpu_foreach_lane(other, wave->exec) same += softgpu_uint(wave, &instr->src[0], 0, lane) ==
                                                      softgpu_uint(wave, &instr->src[0], 0, other);
      if (same > max) {
         softgpu_error("%s: %ld lanes at one address", softgpu_name(instr), same);
         return;
      }
   }
}

/* An address with a constant and, as the last source, an offset of 32 bits. */
static uint64_t
global_address(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr, unsigned src,
               unsigned lane)
{
   const unsigned offset = nir_intrinsic_infos[instr->intrinsic].num_srcs - 1;
   return softgpu_uint(wave, &instr->src[src], 0, lane) +
          softgpu_uint(wave, &instr->src[offset], 0, lane) + (uint32_t)nir_intrinsic_base(instr);
}

static void
load_smem(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   uint64_t va = softgpu_uniform_source(wave, instr, 0, 0);
   if (instr->src[0].ssa->bit_size == 32)
      va |= (uint64_t)wave->shader->address32_hi << 32;
   va += softgpu_uniform_source(wave, instr, 1, 0);
   if (nir_intrinsic_has_base(instr))
      va += (uint32_t)nir_intrinsic_base(instr);
   count_load(va);
   softgpu_foreach_lane(lane, wave->exec)
      load_global(wave, instr, lane, va & ~UINT64_C(3)); /* the hardware ignores these */
}

/* --- Buffers with descriptors --------------------------------------------- */

struct descriptor {
   uint64_t base;
   uint64_t size;
   bool valid;
};

/* Raw buffers: no stride, no swizzle, and bounds in bytes. */
static struct descriptor
read_descriptor(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr, unsigned src)
{
   uint32_t words[4];
   for (unsigned i = 0; i < 4; i++)
      words[i] = (uint32_t)softgpu_uniform_source(wave, instr, src, i);

   struct descriptor descriptor = {
      .base = words[0] | (uint64_t)G_008F04_BASE_ADDRESS_HI(words[1]) << 32,
      .size = words[2],
      .valid = true,
   };
   descriptor.base = (uint64_t)((int64_t)(descriptor.base << 16) >> 16);
   /* Nothing is read through what has no size. */
   if (descriptor.size && (G_008F04_STRIDE(words[1]) || G_008F04_SWIZZLE_ENABLE_GFX11(words[1]) ||
                           G_008F0C_ADD_TID_ENABLE(words[3]) || G_008F0C_TYPE(words[3]) ||
                           G_008F0C_OOB_SELECT(words[3]) != V_008F0C_OOB_SELECT_RAW)) {
      softgpu_error("%s: descriptor 0x%08x 0x%08x 0x%08x 0x%08x is not that of a raw buffer",
                    softgpu_name(instr), words[0], words[1], words[2], words[3]);
      descriptor.valid = false;
   }
   return descriptor;
}

/* Out of bounds, a component is 0 or is not stored. */
static void
load_buffer(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const struct descriptor descriptor = read_descriptor(wave, instr, 0);
   const unsigned bytes = instr->def.bit_size / 8;

   if (!descriptor.valid)
      return;
   softgpu_foreach_lane(lane, wave->exec)
   {
      const uint64_t offset = softgpu_uint(wave, &instr->src[1], 0, lane);
      for (unsigned i = 0; i < instr->def.num_components; i++) {
         const uint64_t at = offset + i * bytes;
         uint64_t value = 0;
         if (at + bytes <= descriptor.size)
            softgpu_read(descriptor.base + at, &value, bytes);
         softgpu_set_uint(wave, instr, lane, i, value);
      }
   }
}

static void
store_buffer(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr)
{
   const struct descriptor descriptor = read_descriptor(wave, instr, 1);
   const unsigned bytes = instr->src[0].ssa->bit_size / 8;

   if (!descriptor.valid)
      return;
   softgpu_foreach_lane(lane, softgpu_writers(wave))
   {
      const uint64_t offset = softgpu_uint(wave, &instr->src[2], 0, lane);
      u_foreach_bit (i, nir_intrinsic_write_mask(instr)) {
         const uint64_t at = offset + i * bytes;
         const uint64_t value = softgpu_uint(wave, &instr->src[0], i, lane);
         if (at + bytes <= descriptor.size)
            softgpu_write(descriptor.base + at, &value, bytes);
      }
   }
}

static void
buffer_atomic(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const struct descriptor descriptor = read_descriptor(wave, instr, 0);
   const unsigned bytes = instr->def.bit_size / 8;

   if (!descriptor.valid)
      return;
   softgpu_foreach_lane(lane, softgpu_writers(wave))
   {
      const uint64_t offset = softgpu_uint(wave, &instr->src[1], 0, lane);
      if (offset + bytes <= descriptor.size)
         softgpu_atomic(wave, instr, lane, descriptor.base + offset, 2);
      else
         softgpu_set_uint(wave, instr, lane, 0, 0);
   }
}

/* --- Memory of workgroups and invocations --------------------------------- */

/* Both are bounded by what was allocated. */
struct local {
   uint8_t *memory;
   uint64_t size;
};

static struct local
shared_memory(const struct softgpu_wave *wave)
{
   return (struct local){wave->group->shared, wave->group->shared_size};
}

static struct local
scratch_memory(const struct softgpu_wave *wave, unsigned lane)
{
   const uint64_t size = wave->group->scratch_size;
   return (struct local){wave->group->scratch + (wave->index * wave->size + lane) * size, size};
}

/* Addresses have 32 bits: a negative one and what an instruction adds may be inside. */
static uint64_t
local_offset(const struct softgpu_wave *wave, const nir_src *src, unsigned lane, uint32_t base)
{
   return (uint32_t)softgpu_uint(wave, src, 0, lane) + base;
}

static uint64_t
load_local(struct local local, uint64_t offset, unsigned bytes)
{
   return offset + bytes <= local.size ? load_bytes(local.memory + offset, bytes) : 0;
}

static void
store_local(struct local local, uint64_t offset, uint64_t value, unsigned bytes)
{
   if (offset + bytes <= local.size)
      memcpy(local.memory + offset, &value, bytes);
}

static void
load_locals(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const unsigned bytes = instr->def.bit_size / 8;

   softgpu_foreach_lane(lane, wave->exec)
   {
      const bool scratch = instr->intrinsic == nir_intrinsic_load_scratch;
      const struct local local = scratch ? scratch_memory(wave, lane) : shared_memory(wave);
      const uint64_t offset =
         local_offset(wave, &instr->src[0], lane, scratch ? 0 : nir_intrinsic_base(instr));
      for (unsigned i = 0; i < instr->def.num_components; i++)
         softgpu_set_uint(wave, instr, lane, i, load_local(local, offset + i * bytes, bytes));
   }
}

static void
store_locals(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr)
{
   const unsigned bytes = instr->src[0].ssa->bit_size / 8;

   softgpu_foreach_lane(lane, wave->exec)
   {
      const bool scratch = instr->intrinsic == nir_intrinsic_store_scratch;
      const struct local local = scratch ? scratch_memory(wave, lane) : shared_memory(wave);
      const uint64_t offset =
         local_offset(wave, &instr->src[1], lane, scratch ? 0 : nir_intrinsic_base(instr));
      u_foreach_bit (i, nir_intrinsic_write_mask(instr))
         store_local(local, offset + i * bytes, softgpu_uint(wave, &instr->src[0], i, lane), bytes);
   }
}

/* Two values at offsets that count in their size, or in 64 times that. */
static void
access_shared2(struct softgpu_wave *wave, nir_intrinsic_instr *instr, bool store)
{
   const nir_def *value = store ? instr->src[0].ssa : &instr->def;
   const unsigned bytes = value->bit_size / 8;
   const unsigned stride = bytes * (nir_intrinsic_st64(instr) ? 64 : 1);
   const unsigned offsets[] = {nir_intrinsic_offset0(instr), nir_intrinsic_offset1(instr)};

   softgpu_foreach_lane(lane, wave->exec)
   {
      for (unsigned i = 0; i < 2; i++) {
         const uint64_t at = local_offset(wave, &instr->src[store], lane, offsets[i] * stride);
         if (store)
            store_local(shared_memory(wave), at, softgpu_uint(wave, &instr->src[0], i, lane),
                        bytes);
         else
            softgpu_set_uint(wave, instr, lane, i, load_local(shared_memory(wave), at, bytes));
      }
   }
}

static void
shared_atomic(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const struct local local = shared_memory(wave);

   softgpu_foreach_lane(lane, wave->exec)
   {
      const uint64_t offset = local_offset(wave, &instr->src[0], lane, nir_intrinsic_base(instr));
      if (offset + instr->def.bit_size / 8 <= local.size)
         do_atomic(wave, instr, lane, local.memory + offset, 1);
      else
         softgpu_set_uint(wave, instr, lane, 0, 0);
   }
}

static void
shared_append(struct softgpu_wave *wave, nir_intrinsic_instr *instr, bool append)
{
   const uint32_t offset = (uint32_t)nir_intrinsic_base(instr);
   const uint32_t old = (uint32_t)load_local(shared_memory(wave), offset, 4);
   const uint32_t lanes = util_bitcount64(wave->exec);

   store_local(shared_memory(wave), offset, append ? old + lanes : old - lanes, 4);
   softgpu_set_all(wave, instr, 0, old);
}

static void
load_constant(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const nir_shader *nir = wave->shader->nir;
   const unsigned base = nir_intrinsic_base(instr);
   const unsigned bytes = instr->def.bit_size / 8;
   const struct local local = {
      nir->constant_data,
      MIN2(base + nir_intrinsic_range(instr), nir->constant_data_size),
   };

   softgpu_foreach_lane(lane, wave->exec)
   {
      const uint64_t offset = softgpu_uint(wave, &instr->src[0], 0, lane) + base;
      for (unsigned i = 0; i < instr->def.num_components; i++)
         softgpu_set_uint(wave, instr, lane, i, load_local(local, offset + i * bytes, bytes));
   }
}

/* --- All of them ---------------------------------------------------------- */

bool
softgpu_execute_access(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   if (gpuval_is_lowered_smem(instr)) {
      load_smem(wave, instr);
      return true;
   }
   switch (instr->intrinsic) {
   case nir_intrinsic_load_global_amd:
      if (wave->exec)
         count_load(global_address(wave, instr, 0, (unsigned)ffsll((long long)wave->exec) - 1));
      softgpu_foreach_lane(lane, wave->exec)
         load_global(wave, instr, lane, global_address(wave, instr, 0, lane));
      break;
   case nir_intrinsic_store_global_amd:
      softgpu_foreach_lane(lane, softgpu_writers(wave))
         store_global(wave, instr, lane, global_address(wave, instr, 1, lane));
      break;
   case nir_intrinsic_global_atomic_amd:
   case nir_intrinsic_global_atomic_swap_amd:
      check_addresses(wave, instr);
      softgpu_foreach_lane(lane, softgpu_writers(wave))
         softgpu_atomic(wave, instr, lane, global_address(wave, instr, 0, lane), 1);
      break;
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_load_ssbo:
      load_buffer(wave, instr);
      break;
   case nir_intrinsic_store_ssbo:
      store_buffer(wave, instr);
      break;
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
      buffer_atomic(wave, instr);
      break;
   case nir_intrinsic_load_shared:
   case nir_intrinsic_load_scratch:
      load_locals(wave, instr);
      break;
   case nir_intrinsic_store_shared:
   case nir_intrinsic_store_scratch:
      store_locals(wave, instr);
      break;
   case nir_intrinsic_load_shared2_amd:
      access_shared2(wave, instr, false);
      break;
   case nir_intrinsic_store_shared2_amd:
      access_shared2(wave, instr, true);
      break;
   case nir_intrinsic_shared_atomic:
   case nir_intrinsic_shared_atomic_swap:
      shared_atomic(wave, instr);
      break;
   case nir_intrinsic_shared_append_amd:
   case nir_intrinsic_shared_consume_amd:
      shared_append(wave, instr, instr->intrinsic == nir_intrinsic_shared_append_amd);
      break;
   case nir_intrinsic_load_constant:
      load_constant(wave, instr);
      break;
   default:
      return false;
   }
   return true;
}
