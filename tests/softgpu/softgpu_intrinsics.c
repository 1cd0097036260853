/* SPDX-License-Identifier: MIT */

/*
 * The intrinsics that RADV leaves in a compute shader, as ACO and the hardware
 * understand them. What ACO makes uniform (descriptors, addresses of scalar
 * loads) has to be so already: an error, where the hardware would take what the
 * first lane has.
 */

#include "softgpu_wave.h"

#include <string.h>

#include "util/os_time.h"
#include "util/u_math.h"
#include "nir_constant_expressions.h"

#include "sid.h"

static void
set_uint(struct softgpu_wave *wave, nir_intrinsic_instr *instr, unsigned lane, unsigned component,
         uint64_t value)
{
   softgpu_value(wave, &instr->def, lane)[component] =
      nir_const_value_for_raw_uint(value, instr->def.bit_size);
}

/* The same in all active lanes. */
static void
set_all(struct softgpu_wave *wave, nir_intrinsic_instr *instr, unsigned component, uint64_t value)
{
   softgpu_foreach_lane(lane, wave->exec) set_uint(wave, instr, lane, component, value);
}

static const char *
name(const nir_intrinsic_instr *instr)
{
   return nir_intrinsic_infos[instr->intrinsic].name;
}

static unsigned
first_lane(const struct softgpu_wave *wave)
{
   return (unsigned)ffsll((long long)wave->exec) - 1;
}

uint64_t
softgpu_uniform(const struct softgpu_wave *wave, const nir_src *src, unsigned component,
                const char *what)
{
   const uint64_t value = softgpu_uint(wave, src, component, first_lane(wave));
   softgpu_foreach_lane(lane, wave->exec)
   {
      if (softgpu_uint(wave, src, component, lane) != value)
         softgpu_error("%s: a source is not uniform", what);
   }
   return value;
}

static uint64_t
uniform(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr, unsigned src,
        unsigned component)
{
   return softgpu_uniform(wave, &instr->src[src], component, name(instr));
}

/* --- Arguments ------------------------------------------------------------ */

static void
load_arg(struct softgpu_wave *wave, nir_intrinsic_instr *instr, unsigned index, bool vector)
{
   const struct ac_shader_args *args = &wave->shader->args;
   const unsigned first = index < args->arg_count ? args->args[index].offset : 0;
   const unsigned end = first + instr->def.num_components;

   if (index >= args->arg_count || (args->args[index].file == AC_ARG_VGPR) != vector ||
       end > (vector ? 1 : wave->sgpr_count)) {
      softgpu_error("%s: there is no argument %u", name(instr), index);
      return;
   }
   softgpu_foreach_lane(lane, wave->exec)
   {
      for (unsigned i = 0; i < instr->def.num_components; i++)
         set_uint(wave, instr, lane, i, vector ? wave->vgpr[lane] : wave->sgprs[first + i]);
   }
}

static void
load_num_workgroups(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const struct ac_shader_args *args = &wave->shader->args;
   const unsigned index = args->num_work_groups.arg_index;
   uint32_t count[3];

   if (!args->num_work_groups.used) {
      softgpu_error("%s: no argument for it", name(instr));
   } else if (args->args[index].size == 3) {
      load_arg(wave, instr, index, false);
   } else {
      const uint32_t *sgprs = &wave->sgprs[args->args[index].offset];
      if (softgpu_read(sgprs[0] | (uint64_t)sgprs[1] << 32, count, sizeof(count))) {
         for (unsigned i = 0; i < 3; i++)
            set_all(wave, instr, i, count[i]);
      }
   }
}

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
      set_uint(wave, instr, lane, i, load_bytes(&data[i * bytes], bytes));
}

static void
store_global(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr, unsigned lane,
             uint64_t va)
{
   const unsigned bytes = instr->src[0].ssa->bit_size / 8;
   u_foreach_bit (i, nir_intrinsic_write_mask(instr)) {
      const uint64_t value = softgpu_uint(wave, &instr->src[0], i, lane);
      softgpu_write(va + i * bytes, &value, bytes);
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
      softgpu_error("%s: address is not aligned", name(instr));
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
   set_uint(wave, instr, lane, 0, old);
}

void
softgpu_atomic(struct softgpu_wave *wave, nir_intrinsic_instr *instr, unsigned lane, uint64_t va,
               unsigned data)
{
   void *memory = softgpu_map(va, instr->def.bit_size / 8, SOFTGPU_WRITE);
   if (memory)
      do_atomic(wave, instr, lane, memory, data);
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
   uint64_t va = uniform(wave, instr, 0, 0);
   if (instr->src[0].ssa->bit_size == 32)
      va |= (uint64_t)wave->shader->address32_hi << 32;
   va += uniform(wave, instr, 1, 0);
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
      words[i] = (uint32_t)uniform(wave, instr, src, i);

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
                    name(instr), words[0], words[1], words[2], words[3]);
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
         set_uint(wave, instr, lane, i, value);
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
   softgpu_foreach_lane(lane, wave->exec)
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
   softgpu_foreach_lane(lane, wave->exec)
   {
      const uint64_t offset = softgpu_uint(wave, &instr->src[1], 0, lane);
      if (offset + bytes <= descriptor.size)
         softgpu_atomic(wave, instr, lane, descriptor.base + offset, 2);
      else
         set_uint(wave, instr, lane, 0, 0);
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
   const uint64_t size = wave->shader->nir->scratch_size;
   return (struct local){wave->group->scratch + (wave->index * wave->size + lane) * size, size};
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
      const uint64_t offset = softgpu_uint(wave, &instr->src[0], 0, lane) +
                              (scratch ? 0 : (uint32_t)nir_intrinsic_base(instr));
      for (unsigned i = 0; i < instr->def.num_components; i++)
         set_uint(wave, instr, lane, i, load_local(local, offset + i * bytes, bytes));
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
      const uint64_t offset = softgpu_uint(wave, &instr->src[1], 0, lane) +
                              (scratch ? 0 : (uint32_t)nir_intrinsic_base(instr));
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
      const uint64_t base = softgpu_uint(wave, &instr->src[store], 0, lane);
      for (unsigned i = 0; i < 2; i++) {
         const uint64_t at = base + offsets[i] * stride;
         if (store)
            store_local(shared_memory(wave), at, softgpu_uint(wave, &instr->src[0], i, lane),
                        bytes);
         else
            set_uint(wave, instr, lane, i, load_local(shared_memory(wave), at, bytes));
      }
   }
}

static void
shared_atomic(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const struct local local = shared_memory(wave);

   softgpu_foreach_lane(lane, wave->exec)
   {
      const uint64_t offset =
         softgpu_uint(wave, &instr->src[0], 0, lane) + (uint32_t)nir_intrinsic_base(instr);
      if (offset + instr->def.bit_size / 8 <= local.size)
         do_atomic(wave, instr, lane, local.memory + offset, 1);
      else
         set_uint(wave, instr, lane, 0, 0);
   }
}

static void
shared_append(struct softgpu_wave *wave, nir_intrinsic_instr *instr, bool append)
{
   const uint32_t offset = (uint32_t)nir_intrinsic_base(instr);
   const uint32_t old = (uint32_t)load_local(shared_memory(wave), offset, 4);
   const uint32_t lanes = util_bitcount64(wave->exec);

   store_local(shared_memory(wave), offset, append ? old + lanes : old - lanes, 4);
   set_all(wave, instr, 0, old);
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
         set_uint(wave, instr, lane, i, load_local(local, offset + i * bytes, bytes));
   }
}

/* --- Subgroups ------------------------------------------------------------ */

/* Components of a mask of lanes. */
static void
set_mask(struct softgpu_wave *wave, nir_intrinsic_instr *instr, uint64_t mask)
{
   for (unsigned i = 0; i < instr->def.num_components; i++) {
      const unsigned shift = i * instr->def.bit_size;
      set_all(wave, instr, i, shift < 64 ? mask >> shift & u_uintN_max(instr->def.bit_size) : 0);
   }
}

static uint64_t
mask_of_true(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr)
{
   uint64_t mask = 0;
   softgpu_foreach_lane(lane, wave->exec)
   {
      if (softgpu_uint(wave, &instr->src[0], 0, lane))
         mask |= UINT64_C(1) << lane;
   }
   return mask;
}

static unsigned
vote(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr, unsigned lane)
{
   const bool quad = instr->intrinsic == nir_intrinsic_quad_vote_all ||
                     instr->intrinsic == nir_intrinsic_quad_vote_any;
   const bool all =
      instr->intrinsic == nir_intrinsic_vote_all || instr->intrinsic == nir_intrinsic_quad_vote_all;
   const uint64_t group = wave->exec & (quad ? UINT64_C(15) << (lane & ~3u) : UINT64_MAX);
   const uint64_t mask = mask_of_true(wave, instr) & group;
   return all ? mask == group : mask != 0;
}

/* Lanes from which a value is moved; ~0: none, the result is 0. */
static unsigned
source_lane(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr, unsigned lane)
{
   switch (instr->intrinsic) {
   case nir_intrinsic_read_first_invocation:
   case nir_intrinsic_as_uniform:
      return first_lane(wave);
   case nir_intrinsic_read_invocation:
      return (unsigned)uniform(wave, instr, 1, 0) % wave->size;
   case nir_intrinsic_shuffle:
      return (unsigned)softgpu_uint(wave, &instr->src[1], 0, lane) % wave->size;
   case nir_intrinsic_rotate: {
      const unsigned cluster = nir_intrinsic_cluster_size(instr);
      const unsigned size = cluster ? MIN2(cluster, wave->size) : wave->size;
      const unsigned delta = (unsigned)softgpu_uint(wave, &instr->src[1], 0, lane);
      return (lane & ~(size - 1)) | ((lane + delta) & (size - 1));
   }
   case nir_intrinsic_quad_broadcast:
      return (lane & ~3u) | (softgpu_uint(wave, &instr->src[1], 0, lane) & 3);
   case nir_intrinsic_quad_swap_horizontal:
      return lane ^ 1;
   case nir_intrinsic_quad_swap_vertical:
      return lane ^ 2;
   case nir_intrinsic_quad_swap_diagonal:
      return lane ^ 3;
   case nir_intrinsic_quad_swizzle_amd:
      return (lane & ~3u) | (nir_intrinsic_swizzle_mask(instr) >> (lane & 3) * 2 & 3);
   case nir_intrinsic_masked_swizzle_amd: {
      const unsigned mask = nir_intrinsic_swizzle_mask(instr);
      return (lane & ~31u) | ((((lane & 31) & mask) | (mask >> 5 & 31)) ^ (mask >> 10 & 31));
   }
   case nir_intrinsic_dpp16_shift_amd: {
      const int at = (int)(lane & 15) + nir_intrinsic_base(instr);
      return at < 0 || at > 15 ? ~0u : (lane & ~15u) | (unsigned)at;
   }
   case nir_intrinsic_lane_permute_16_amd: {
      const uint64_t select = uniform(wave, instr, lane & 8 ? 2 : 1, 0);
      return (lane & ~15u) | (select >> (lane & 7) * 4 & 15);
   }
   default:
      unreachable("no move between lanes");
   }
}

/* Where other lanes that are not active give 0, not whatever they have. */
static bool
zero_if_inactive(const nir_intrinsic_instr *instr)
{
   switch (instr->intrinsic) {
   case nir_intrinsic_dpp16_shift_amd:
      return true;
   case nir_intrinsic_quad_swizzle_amd:
   case nir_intrinsic_masked_swizzle_amd:
      return !nir_intrinsic_fetch_inactive(instr);
   default:
      return false;
   }
}

/* All are read before the first is written. */
static void
move_lanes(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const bool zero = zero_if_inactive(instr);
   const unsigned count = instr->def.num_components;
   nir_const_value values[SOFTGPU_MAX_LANES][NIR_MAX_VEC_COMPONENTS];

   softgpu_foreach_lane(lane, wave->exec)
   {
      const unsigned from = source_lane(wave, instr, lane);
      memset(values[lane], 0, sizeof(values[lane]));
      if (from < wave->size && !(zero && !(wave->exec >> from & 1)))
         memcpy(values[lane], softgpu_value(wave, instr->src[0].ssa, from),
                count * sizeof(nir_const_value));
   }
   softgpu_foreach_lane(lane, wave->exec)
      memcpy(softgpu_value(wave, &instr->def, lane), values[lane], count * sizeof(nir_const_value));
}

static void
reduce(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   const nir_op op = nir_intrinsic_reduction_op(instr);
   const unsigned bits = instr->def.bit_size;
   const unsigned cluster =
      instr->intrinsic == nir_intrinsic_reduce ? nir_intrinsic_cluster_size(instr) : 0;
   const unsigned size = cluster ? MIN2(cluster, wave->size) : wave->size;

   for (unsigned c = 0; c < instr->def.num_components; c++) {
      nir_const_value results[SOFTGPU_MAX_LANES];
      for (unsigned first = 0; first < wave->size; first += size) {
         const uint64_t group = wave->exec & (u_uintN_max(size) << first);
         nir_const_value sum = nir_alu_binop_identity(op, bits);
         softgpu_foreach_lane(lane, group)
         {
            nir_const_value value = softgpu_value(wave, instr->src[0].ssa, lane)[c];
            nir_const_value next = {0};
            nir_eval_const_opcode(op, &next, 1, bits, (nir_const_value *[]){&sum, &value}, 0);
            results[lane] = instr->intrinsic == nir_intrinsic_exclusive_scan ? sum : next;
            sum = next;
         }
         if (instr->intrinsic == nir_intrinsic_reduce) {
            softgpu_foreach_lane(lane, group) results[lane] = sum;
         }
      }
      softgpu_foreach_lane(lane, wave->exec) softgpu_value(wave, &instr->def, lane)[c] =
         results[lane];
   }
}

static unsigned
count_lanes_below(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr, unsigned lane)
{
   const uint64_t mask = softgpu_uint(wave, &instr->src[0], 0, lane);
   return util_bitcount64(mask & BITFIELD64_MASK(lane)) +
          (unsigned)softgpu_uint(wave, &instr->src[1], 0, lane);
}

/* --- All of them ---------------------------------------------------------- */

void
softgpu_execute_intrinsic(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   switch (instr->intrinsic) {
   case nir_intrinsic_load_scalar_arg_amd:
   case nir_intrinsic_load_vector_arg_amd:
      load_arg(wave, instr, nir_intrinsic_base(instr),
               instr->intrinsic == nir_intrinsic_load_vector_arg_amd);
      break;
   case nir_intrinsic_load_workgroup_id:
      for (unsigned i = 0; i < 3; i++)
         set_all(wave, instr, i, wave->group->id[i]);
      break;
   case nir_intrinsic_load_num_workgroups:
      load_num_workgroups(wave, instr);
      break;
   case nir_intrinsic_shader_clock: {
      const uint64_t now = (uint64_t)os_time_get_nano();
      set_all(wave, instr, 0, (uint32_t)now);
      set_all(wave, instr, 1, (uint32_t)(now >> 32));
      break;
   }

   case nir_intrinsic_load_smem_amd:
      load_smem(wave, instr);
      break;
   case nir_intrinsic_load_global_amd:
      softgpu_foreach_lane(lane, wave->exec)
         load_global(wave, instr, lane, global_address(wave, instr, 0, lane));
      break;
   case nir_intrinsic_store_global_amd:
      softgpu_foreach_lane(lane, wave->exec)
         store_global(wave, instr, lane, global_address(wave, instr, 1, lane));
      break;
   case nir_intrinsic_global_atomic_amd:
   case nir_intrinsic_global_atomic_swap_amd:
      softgpu_foreach_lane(lane, wave->exec)
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
   case nir_intrinsic_bindless_image_load:
   case nir_intrinsic_bindless_image_store:
   case nir_intrinsic_bindless_image_atomic:
   case nir_intrinsic_bindless_image_atomic_swap:
      softgpu_execute_image(wave, instr);
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

   /* What has an execution scope of a workgroup is not left to this. */
   case nir_intrinsic_barrier:
   case nir_intrinsic_sleep_amd:
   case nir_intrinsic_nop_amd:
      break;

   case nir_intrinsic_ballot:
   case nir_intrinsic_ballot_relaxed:
      set_mask(wave, instr, mask_of_true(wave, instr));
      break;
   case nir_intrinsic_inverse_ballot:
      softgpu_foreach_lane(lane, wave->exec)
      {
         const unsigned bits = instr->src[0].ssa->bit_size;
         set_uint(wave, instr, lane, 0,
                  softgpu_uint(wave, &instr->src[0], lane / bits, lane) >> lane % bits & 1);
      }
      break;
   case nir_intrinsic_elect:
      softgpu_foreach_lane(lane, wave->exec)
         set_uint(wave, instr, lane, 0, lane == first_lane(wave));
      break;
   case nir_intrinsic_first_invocation:
      set_all(wave, instr, 0, first_lane(wave));
      break;
   case nir_intrinsic_last_invocation:
      set_all(wave, instr, 0, util_last_bit64(wave->exec) - 1);
      break;
   case nir_intrinsic_vote_all:
   case nir_intrinsic_vote_any:
   case nir_intrinsic_quad_vote_all:
   case nir_intrinsic_quad_vote_any:
      softgpu_foreach_lane(lane, wave->exec)
         set_uint(wave, instr, lane, 0, vote(wave, instr, lane));
      break;
   case nir_intrinsic_read_first_invocation:
   case nir_intrinsic_as_uniform:
   case nir_intrinsic_read_invocation:
   case nir_intrinsic_shuffle:
   case nir_intrinsic_rotate:
   case nir_intrinsic_quad_broadcast:
   case nir_intrinsic_quad_swap_horizontal:
   case nir_intrinsic_quad_swap_vertical:
   case nir_intrinsic_quad_swap_diagonal:
   case nir_intrinsic_quad_swizzle_amd:
   case nir_intrinsic_masked_swizzle_amd:
   case nir_intrinsic_dpp16_shift_amd:
   case nir_intrinsic_lane_permute_16_amd:
      move_lanes(wave, instr);
      break;
   case nir_intrinsic_write_invocation_amd: {
      const unsigned to = (unsigned)uniform(wave, instr, 2, 0);
      softgpu_foreach_lane(lane, wave->exec)
         memcpy(softgpu_value(wave, &instr->def, lane),
                softgpu_value(wave, instr->src[lane == to].ssa, lane),
                instr->def.num_components * sizeof(nir_const_value));
      break;
   }
   case nir_intrinsic_reduce:
   case nir_intrinsic_inclusive_scan:
   case nir_intrinsic_exclusive_scan:
      reduce(wave, instr);
      break;
   case nir_intrinsic_mbcnt_amd:
      softgpu_foreach_lane(lane, wave->exec)
         set_uint(wave, instr, lane, 0, count_lanes_below(wave, instr, lane));
      break;
   case nir_intrinsic_is_subgroup_invocation_lt_amd: {
      const unsigned count =
         (unsigned)uniform(wave, instr, 0, 0) >> nir_intrinsic_base(instr) & 0xff;
      softgpu_foreach_lane(lane, wave->exec) set_uint(wave, instr, lane, 0, lane < count);
      break;
   }

   default:
      softgpu_error("the intrinsic %s is not supported", name(instr));
   }
}
