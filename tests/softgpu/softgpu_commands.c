/* SPDX-License-Identifier: MIT */

/*
 * The command processor: walks the packets of a submit in their order. Caches
 * and engines are not modelled, so there is nothing to wait for, but what other
 * agents write.
 *
 * Names of packets, fields and registers are Mesa's (src/amd/common/sid.h and
 * amdgfxregs.h).
 */

#include "softgpu_counters.h"
#include "softgpu_processor.h"

#include <stdio.h>
#include <string.h>

#include "util/os_time.h"
#include "util/u_math.h"

#define MAX_DEPTH   8
#define MAX_PACKETS (1u << 20) /* of a submit */
#define MAX_WAIT_NS INT64_C(20000000000)

/* Numbers of ATOMIC_MEM, 32 bits: sid.h names only some of them. 64 bits: plus
 * 32; without returning the old value: plus 64.
 */
enum {
   ATOMIC_SWAP = 7,
   ATOMIC_CMPSWAP = 8,
   ATOMIC_ADD = 15,
   ATOMIC_SUB = 16,
   ATOMIC_SMIN = 17,
   ATOMIC_UMIN = 18,
   ATOMIC_SMAX = 19,
   ATOMIC_UMAX = 20,
   ATOMIC_AND = 21,
   ATOMIC_OR = 22,
   ATOMIC_XOR = 23,
};
static_assert(ATOMIC_CMPSWAP + 64 == TC_OP_ATOMIC_CMPSWAP_32, "see sid.h");
static_assert(ATOMIC_SUB + 32 == TC_OP_ATOMIC_SUB_RTN_64, "see sid.h");
static_assert(ATOMIC_XOR + 32 + 64 == TC_OP_ATOMIC_XOR_64, "see sid.h");

/* Nothing is known of what an earlier submit has set: others may have submitted
 * in between.
 */
static struct softgpu_processor processors[2];

bool
softgpu_need(const struct softgpu_packet *packet, unsigned count)
{
   if (packet->count >= count)
      return true;
   softgpu_error("packet 0x%02x has %u dwords only", packet->opcode, packet->count);
   return false;
}

/* --- Registers ------------------------------------------------------------ */

void
softgpu_set_registers(uint32_t *registers, unsigned size, unsigned first, const uint32_t *values,
                      unsigned count)
{
   if (first >= size || count > size - first) {
      softgpu_error("there are not %u registers at %u", count, first);
      return;
   }
   memcpy(&registers[first], values, count * 4);
}

static void
set_sh_regs(struct softgpu_processor *processor, unsigned first, const uint32_t *values,
            unsigned count)
{
   softgpu_set_registers(processor->sh, SOFTGPU_SH_REGS, first, values, count);
}

/* A register by its number, as COPY_DATA and WRITE_DATA have it. */
static void
write_register(struct softgpu_processor *processor, uint32_t number, uint32_t value)
{
   const uint32_t reg = number * 4;
   if (reg >= SI_SH_REG_OFFSET && reg < SI_SH_REG_END)
      processor->sh[SH_REG(reg)] = value;
   else if (reg < CIK_UCONFIG_REG_OFFSET || reg >= CIK_UCONFIG_REG_END)
      softgpu_error("writing register 0x%x is not supported", reg);
}

/* --- Dispatches ----------------------------------------------------------- */

static void
dispatch(const struct softgpu_processor *processor, const uint32_t *size, uint32_t initiator)
{
   const uint32_t *sh = processor->sh;
   const uint32_t rsrc2 = sh[SH_REG(R_00B84C_COMPUTE_PGM_RSRC2)];

   if (!G_00B800_COMPUTE_SHADER_EN(initiator))
      return;
   if (G_00B800_ORDERED_APPEND_ENBL(initiator) || G_00B800_INTERLEAVE_2D_EN(initiator)) {
      softgpu_error("dispatch initiator 0x%x is not supported", initiator);
      return;
   }

   struct softgpu_dispatch dispatch = {
      .program = softgpu_program(&sh[SH_REG(R_00B830_COMPUTE_PGM_LO)]),
      .user_sgprs = G_00B84C_USER_SGPR(rsrc2),
      .workgroup_id =
         {
            G_00B84C_TGID_X_EN(rsrc2),
            G_00B84C_TGID_Y_EN(rsrc2),
            G_00B84C_TGID_Z_EN(rsrc2),
         },
      .workgroup_info = G_00B84C_TG_SIZE_EN(rsrc2),
      .wave_size = G_00B800_CS_W32_EN(initiator) ? 32 : 64,
      .scratch_per_wave = G_00B84C_SCRATCH_EN(rsrc2)
                             ? G_00B860_WAVESIZE(sh[SH_REG(R_00B860_COMPUTE_TMPRING_SIZE)]) * 256
                             : 0,
   };
   if (dispatch.user_sgprs > SOFTGPU_USER_SGPRS) {
      softgpu_error("%u user SGPRs", dispatch.user_sgprs);
      return;
   }
   memcpy(dispatch.user_data, &sh[SH_REG(R_00B900_COMPUTE_USER_DATA_0)],
          sizeof(dispatch.user_data));

   for (unsigned i = 0; i < 3; i++) {
      const uint32_t num_thread = sh[SH_REG(R_00B81C_COMPUTE_NUM_THREAD_X) + i];
      const unsigned full = G_00B81C_NUM_THREAD_FULL_GFX6(num_thread);
      if (full == 0) {
         softgpu_error("a workgroup without threads");
         return;
      }
      dispatch.threads[i] = full;
      dispatch.start[i] =
         G_00B800_FORCE_START_AT_000(initiator) ? 0 : sh[SH_REG(R_00B810_COMPUTE_START_X) + i];
      dispatch.end[i] = size[i];
      if (G_00B800_USE_THREAD_DIMENSIONS(initiator)) {
         dispatch.end[i] = DIV_ROUND_UP(size[i], full);
         dispatch.partial[i] = size[i] % full;
      } else if (G_00B800_PARTIAL_TG_EN(initiator)) {
         dispatch.partial[i] = G_00B81C_NUM_THREAD_PARTIAL(num_thread);
      }
   }
   softgpu_count(SOFTGPU_DISPATCHES, 1);
   softgpu_run(&dispatch);
}

static void
dispatch_indirect(const struct softgpu_processor *processor, const struct softgpu_packet *packet)
{
   const bool compute = processor->queue == SOFTGPU_QUEUE_COMPUTE;
   uint32_t size[3];

   if (!softgpu_need(packet, compute ? 3 : 2))
      return;
   const uint64_t va =
      compute ? softgpu_address(packet->words) : processor->indirect_base + packet->words[0];
   if (softgpu_read(va, size, sizeof(size)))
      dispatch(processor, size, packet->words[compute ? 2 : 1]);
}

/* --- Memory --------------------------------------------------------------- */

static void
write_data(struct softgpu_processor *processor, const struct softgpu_packet *packet)
{
   if (!softgpu_need(packet, 4))
      return;
   const unsigned destination = G_370_DST_SEL(packet->words[0]);
   const uint32_t *values = packet->words + 3;
   const unsigned count = packet->count - 3;

   switch (destination) {
   case V_370_MEM_MAPPED_REGISTER:
      for (unsigned i = 0; i < count; i++)
         write_register(processor, packet->words[1] + i, values[i]);
      break;
   case V_370_MEM_GRBM:
   case V_370_TC_L2:
   case V_370_MEM:
      if (G_370_WR_ONE_ADDR(packet->words[0]))
         softgpu_write(softgpu_address(packet->words + 1), &values[count - 1], 4);
      else
         softgpu_write(softgpu_address(packet->words + 1), values, count * 4);
      break;
   default:
      softgpu_error("WRITE_DATA to %u is not supported", destination);
   }
}

static void
copy_data(struct softgpu_processor *processor, const struct softgpu_packet *packet)
{
   if (!softgpu_need(packet, 5))
      return;
   const uint32_t control = packet->words[0];
   const unsigned size = control & COPY_DATA_COUNT_SEL ? 8 : 4;
   const unsigned source = control & 0xf, destination = (control >> 8) & 0xf;
   uint64_t value = softgpu_address(packet->words + 1);

   switch (source) {
   case COPY_DATA_SRC_MEM:
   case COPY_DATA_TC_L2:
      if (!softgpu_read(softgpu_address(packet->words + 1), &value, size))
         return;
      break;
   case COPY_DATA_IMM:
      break;
   case COPY_DATA_TIMESTAMP:
      value = (uint64_t)os_time_get_nano();
      break;
   default:
      softgpu_error("COPY_DATA from %u is not supported", source);
      return;
   }

   switch (destination) {
   case COPY_DATA_REG:
      write_register(processor, packet->words[3], (uint32_t)value);
      if (size == 8)
         write_register(processor, packet->words[3] + 1, (uint32_t)(value >> 32));
      break;
   case COPY_DATA_DST_MEM_GRBM:
   case COPY_DATA_TC_L2:
   case COPY_DATA_DST_MEM:
      softgpu_write(softgpu_address(packet->words + 3), &value, size);
      break;
   default:
      softgpu_error("COPY_DATA to %u is not supported", destination);
   }
}

static void
dma_data(const struct softgpu_packet *packet)
{
   if (!softgpu_need(packet, 6))
      return;
   const uint32_t header = packet->words[0], command = packet->words[5];
   const unsigned source = G_411_SRC_SEL(header), destination = G_411_DST_SEL(header);
   const uint64_t from = softgpu_address(packet->words + 1),
                  to = softgpu_address(packet->words + 3);
   const uint64_t size = G_415_BYTE_COUNT_GFX9(command);

   if (G_411_CP_SYNC(header))
      softgpu_count(SOFTGPU_CP_SYNCS, 1);
   if (destination == V_411_NOWHERE)
      return; /* prefetch */
   if (destination == V_411_GDS ||
       (source != V_411_DATA && source != V_411_SRC_ADDR && source != V_411_SRC_ADDR_TC_L2)) {
      softgpu_error("DMA_DATA from %u to %u is not supported", source, destination);
      return;
   }

   softgpu_count(source == V_411_DATA ? SOFTGPU_DMA_FILL_BYTES : SOFTGPU_DMA_COPY_BYTES, size);
   for (uint64_t done = 0, part; done < size; done += part) {
      char *target = softgpu_map_some(to + done, size - done, SOFTGPU_WRITE, &part);
      if (!target)
         return;
      if (source == V_411_DATA) {
         const uint32_t value = packet->words[1];
         for (uint64_t i = 0; i < part; i++)
            target[i] = (char)(value >> (done + i) % 4 * 8);
         continue;
      }
      const char *origin = softgpu_map_some(from + done, part, SOFTGPU_READ, &part);
      if (!origin)
         return;
      memmove(target, origin, part);
   }
}

static uint64_t
compute_atomic(unsigned operation, unsigned bits, uint64_t old, uint64_t data)
{
   const int64_t signed_old = util_sign_extend(old, bits);
   const int64_t signed_data = util_sign_extend(data, bits);

   switch (operation) {
   case ATOMIC_SWAP:
   case ATOMIC_CMPSWAP:
      return data;
   case ATOMIC_ADD:
      return old + data;
   case ATOMIC_SUB:
      return old - data;
   case ATOMIC_SMIN:
      return signed_old < signed_data ? old : data;
   case ATOMIC_UMIN:
      return MIN2(old, data);
   case ATOMIC_SMAX:
      return signed_old > signed_data ? old : data;
   case ATOMIC_UMAX:
      return MAX2(old, data);
   case ATOMIC_AND:
      return old & data;
   case ATOMIC_OR:
      return old | data;
   case ATOMIC_XOR:
      return old ^ data;
   default:
      softgpu_error("operation %u of ATOMIC_MEM is not supported", operation);
      return old;
   }
}

static void
atomic_mem(const struct softgpu_packet *packet)
{
   if (!softgpu_need(packet, 8))
      return;
   const unsigned code = packet->words[0] & 0x3f; /* returning or not */
   const unsigned bits = code & 32 ? 64 : 32;
   const bool loop = (packet->words[0] >> 8 & 3) == ATOMIC_COMMAND_LOOP;
   const uint64_t va = softgpu_address(packet->words + 1);
   const uint64_t mask = u_uintN_max(bits);
   const uint64_t data = softgpu_address(packet->words + 3) & mask;
   const uint64_t compare = softgpu_address(packet->words + 5) & mask;
   const int64_t deadline = os_time_get_nano() + MAX_WAIT_NS;

   for (;;) {
      void *memory = softgpu_map(va, bits / 8, SOFTGPU_WRITE);
      uint64_t old = 0;
      if (!memory)
         return;
      memcpy(&old, memory, bits / 8);
      if ((code & 31) != ATOMIC_CMPSWAP || old == compare) {
         const uint64_t value = compute_atomic(code & 31, bits, old, data);
         memcpy(memory, &value, bits / 8);
         return;
      }
      if (!loop || softgpu_failed())
         return;
      if (os_time_get_nano() > deadline) {
         softgpu_error("ATOMIC_MEM waits for ever");
         return;
      }
      softgpu_pause();
   }
}

static bool
compare(unsigned function, uint32_t value, uint32_t reference)
{
   switch (function) {
   case 0:
      return true;
   case 1:
      return value < reference;
   case 2:
      return value <= reference;
   case WAIT_REG_MEM_EQUAL:
      return value == reference;
   case WAIT_REG_MEM_NOT_EQUAL:
      return value != reference;
   case WAIT_REG_MEM_GREATER_OR_EQUAL:
      return value >= reference;
   default:
      return value > reference;
   }
}

static void
wait_reg_mem(const struct softgpu_packet *packet)
{
   if (!softgpu_need(packet, 6))
      return;
   const uint32_t control = packet->words[0], mask = packet->words[4];
   const int64_t deadline = os_time_get_nano() + MAX_WAIT_NS;

   if ((control & WAIT_REG_MEM_MEM_SPACE(3)) != WAIT_REG_MEM_MEM_SPACE(1)) {
      softgpu_error("WAIT_REG_MEM of a register is not supported");
      return;
   }
   for (;;) {
      uint32_t value;
      if (softgpu_failed() || !softgpu_read(softgpu_address(packet->words + 1), &value, 4) ||
          compare(control & 7, value & mask, packet->words[3]))
         return;
      if (os_time_get_nano() > deadline) {
         softgpu_error("WAIT_REG_MEM waits for ever: 0x%x at address 0x%" PRIx64 ", reference 0x%x",
                       value, softgpu_address(packet->words + 1), packet->words[3]);
         return;
      }
      softgpu_pause();
   }
}

static void
release_mem(const struct softgpu_packet *packet)
{
   if (!softgpu_need(packet, 6))
      return;
   const unsigned select = packet->words[1] >> 29;
   uint64_t value = softgpu_address(packet->words + 4);

   switch (select) {
   case EOP_DATA_SEL_DISCARD:
      break;
   case EOP_DATA_SEL_VALUE_32BIT:
      softgpu_write(softgpu_address(packet->words + 2), &value, 4);
      break;
   case EOP_DATA_SEL_TIMESTAMP:
      value = (uint64_t)os_time_get_nano();
      FALLTHROUGH;
   case EOP_DATA_SEL_VALUE_64BIT:
      softgpu_write(softgpu_address(packet->words + 2), &value, 8);
      break;
   default:
      softgpu_error("RELEASE_MEM of %u is not supported", select);
   }
}

static void
set_predication(struct softgpu_processor *processor, const struct softgpu_packet *packet)
{
   if (!softgpu_need(packet, 3))
      return;
   const unsigned operation = packet->words[0] >> 16 & 7;
   const bool draw_if_set = packet->words[0] >> 8 & 1;
   uint64_t value = 0;

   switch (operation) {
   case PREDICATION_OP_CLEAR:
      processor->skip_predicated = false;
      break;
   case PREDICATION_OP_BOOL32:
   case PREDICATION_OP_BOOL64:
      if (softgpu_read(softgpu_address(packet->words + 1), &value,
                       operation == PREDICATION_OP_BOOL32 ? 4 : 8))
         processor->skip_predicated = (value != 0) != draw_if_set;
      break;
   default:
      softgpu_error("SET_PREDICATION of %u is not supported", operation);
   }
}

/* --- Packets -------------------------------------------------------------- */

static void execute_buffer(struct softgpu_processor *processor, uint64_t va, uint32_t dwords);

static void
load_sh_regs(struct softgpu_processor *processor, const struct softgpu_packet *packet)
{
   if (!softgpu_need(packet, 4))
      return;
   const unsigned count = packet->words[3] & 0x3fff;
   uint32_t values[SOFTGPU_SH_REGS];
   if (count > SOFTGPU_SH_REGS)
      softgpu_error("LOAD_SH_REG_INDEX of %u registers", count);
   else if (softgpu_read(softgpu_address(packet->words) & ~UINT64_C(3), values, count * 4))
      set_sh_regs(processor, packet->words[2] & 0xffff, values, count);
}

static bool
is_partial_flush(unsigned event)
{
   return event == V_028A90_CS_PARTIAL_FLUSH || event == V_028A90_PS_PARTIAL_FLUSH ||
          event == V_028A90_VS_PARTIAL_FLUSH;
}

/* Returns how many dwords are to be skipped behind it. */
static uint32_t
execute_packet(struct softgpu_processor *processor, const struct softgpu_packet *packet)
{
   const uint32_t *words = packet->words;
   uint32_t value;

   switch (packet->opcode) {
   /* There are no caches, and each packet waits for the one before. */
   case PKT3_PFP_SYNC_ME:
      softgpu_count(SOFTGPU_PFP_SYNCS, 1);
      return 0;
   case PKT3_NOP:
   case PKT3_ACQUIRE_MEM:
   case PKT3_CONTEXT_CONTROL:
   case PKT3_CLEAR_STATE:
   case PKT3_SET_CONFIG_REG:
      return 0;
   case PKT3_EVENT_WRITE:
      if (is_partial_flush(words[0] & 0x3f))
         softgpu_count(SOFTGPU_WAITS, 1);
      if (packet->count > 1 && (words[0] & 0x3f) != V_028A90_PIXEL_PIPE_STAT_CONTROL)
         softgpu_error("EVENT_WRITE of event %u to memory is not supported", words[0] & 0x3f);
      return 0;
   case PKT3_SET_SH_REG:
   case PKT3_SET_SH_REG_INDEX:
      if (softgpu_need(packet, 2))
         set_sh_regs(processor, words[0] & 0xffff, words + 1, packet->count - 1);
      return 0;
   case PKT3_SET_SH_REG_PAIRS:
      for (unsigned i = 0; i + 1 < packet->count; i += 2)
         set_sh_regs(processor, words[i] & 0xffff, &words[i + 1], 1);
      return 0;
   case PKT3_SET_SH_REG_PAIRS_PACKED:
   case PKT3_SET_SH_REG_PAIRS_PACKED_N:
      for (unsigned i = 1; i + 2 < packet->count; i += 3) {
         set_sh_regs(processor, words[i] & 0xffff, &words[i + 1], 1);
         set_sh_regs(processor, words[i] >> 16, &words[i + 2], 1);
      }
      return 0;
   case PKT3_LOAD_SH_REG_INDEX:
      load_sh_regs(processor, packet);
      return 0;
   case PKT3_SET_BASE:
      if (softgpu_need(packet, 3) && words[0] == 1)
         processor->indirect_base = softgpu_address(words + 1);
      return 0;
   case PKT3_DISPATCH_DIRECT:
      if (softgpu_need(packet, 4))
         dispatch(processor, words, words[3]);
      return 0;
   case PKT3_DISPATCH_INDIRECT:
      dispatch_indirect(processor, packet);
      return 0;
   case PKT3_WRITE_DATA:
      write_data(processor, packet);
      return 0;
   case PKT3_COPY_DATA:
      copy_data(processor, packet);
      return 0;
   case PKT3_DMA_DATA:
      dma_data(packet);
      return 0;
   case PKT3_ATOMIC_MEM:
      atomic_mem(packet);
      return 0;
   case PKT3_WAIT_REG_MEM:
      wait_reg_mem(packet);
      return 0;
   case PKT3_RELEASE_MEM:
      release_mem(packet);
      return 0;
   case PKT3_SET_PREDICATION:
      set_predication(processor, packet);
      return 0;
   case PKT3_COND_EXEC:
      if (softgpu_need(packet, 4) && softgpu_read(softgpu_address(words), &value, 4) && value == 0)
         return words[3] & 0x3fff;
      return 0;
   case PKT3_INDIRECT_BUFFER:
      if (softgpu_need(packet, 3))
         execute_buffer(processor, softgpu_address(words), words[2] & 0xfffff);
      return 0;
   default:
      if (!softgpu_execute_graphics(processor, packet))
         softgpu_error("packet 0x%02x is not supported", packet->opcode);
      return 0;
   }
}

static void
execute_buffer(struct softgpu_processor *processor, uint64_t va, uint32_t dwords)
{
   if (processor->depth == MAX_DEPTH) {
      softgpu_error("too many indirect buffers in each other");
      return;
   }
   processor->depth++;

   while (dwords && !softgpu_failed()) {
      const uint32_t *words = softgpu_map(va, (uint64_t)dwords * 4, SOFTGPU_READ);
      uint64_t next_va = 0;
      uint32_t next_dwords = 0, skip = 0;
      if (!words)
         break;

      for (uint32_t at = 0; at < dwords && !softgpu_failed();) {
         const uint32_t header = words[at];
         /* The header-only NOP and type 2 are padding. */
         if (header == PKT3_NOP_PAD || PKT_TYPE_G(header) == 2) {
            at++;
            continue;
         }
         const struct softgpu_packet packet = {
            .opcode = PKT3_IT_OPCODE_G(header),
            .words = &words[at + 1],
            .count = PKT_COUNT_G(header) + 1,
         };
         if (processor->packets++ == MAX_PACKETS) {
            softgpu_error("too many packets");
            break;
         }
         if (PKT_TYPE_G(header) != 3 || packet.count > dwords - at - 1) {
            softgpu_error("0x%08x is no packet, or is longer than its buffer", header);
            break;
         }
         at += packet.count + 1;
         softgpu_count(SOFTGPU_PACKETS, 1);
         softgpu_count(SOFTGPU_PACKET_DWORDS, packet.count + 1);
         if (PKT3_PREDICATE(header) && processor->skip_predicated)
            continue;
         /* The last one of a buffer may go on elsewhere without coming back. */
         if (packet.opcode == PKT3_INDIRECT_BUFFER && packet.count >= 3 &&
             packet.words[2] & S_3F2_CHAIN(1)) {
            next_va = softgpu_address(packet.words);
            next_dwords = packet.words[2] & 0xfffff;
            break;
         }
         skip = execute_packet(processor, &packet);
         at += MIN2(skip, dwords - at);
      }
      va = next_va;
      dwords = next_dwords;
   }
   processor->depth--;
}

void
softgpu_begin_submit(void)
{
   memset(processors, 0, sizeof(processors));
   for (unsigned i = 0; i < ARRAY_SIZE(processors); i++) {
      processors[i].queue = i;
      processors[i].instances = 1;
   }
}

void
softgpu_execute(enum softgpu_queue queue, uint64_t va, uint32_t dwords)
{
   execute_buffer(&processors[queue], va, dwords);
}
