/* SPDX-License-Identifier: MIT */

/* The command processor's packets for graphics: state, and draws of all kinds. */

#include "softgpu_processor.h"

#include <string.h>

#include "util/macros.h"

#define MAX_DRAWS 4096 /* of one packet */

/* --- State ---------------------------------------------------------------- */

/* Numbers of registers alternate with values; packed, two numbers are in one dword ahead of
 * their values, and the first dword counts.
 */
static void
set_pairs(uint32_t *registers, unsigned size, const struct softgpu_packet *packet, bool packed)
{
   const uint32_t *words = packet->words;

   for (unsigned i = packed; i + 1 + packed < packet->count; i += 2 + packed) {
      softgpu_set_registers(registers, size, words[i] & 0xffff, &words[i + 1], 1);
      if (packed)
         softgpu_set_registers(registers, size, words[i] >> 16, &words[i + 2], 1);
   }
}

static void
set_sequence(uint32_t *registers, unsigned size, const struct softgpu_packet *packet)
{
   if (softgpu_need(packet, 2))
      softgpu_set_registers(registers, size, packet->words[0] & 0xffff, packet->words + 1,
                            packet->count - 1);
}

static void
load_context(struct softgpu_processor *processor, const struct softgpu_packet *packet)
{
   uint32_t values[64];

   if (!softgpu_need(packet, 4))
      return;
   const unsigned count = packet->words[3] & 0x3fff;
   if (count > ARRAY_SIZE(values))
      softgpu_error("LOAD_CONTEXT_REG_INDEX of %u registers", count);
   else if (softgpu_read(softgpu_address(packet->words) & ~UINT64_C(3), values, count * 4))
      softgpu_set_registers(processor->context, SOFTGPU_CONTEXT_REGS, packet->words[2] & 0xffff,
                            values, count);
}

/* --- Draws ---------------------------------------------------------------- */

unsigned
softgpu_index_size(const struct softgpu_processor *processor)
{
   switch (G_03090C_INDEX_TYPE(processor->uconfig[UCONFIG_REG(R_03090C_VGT_INDEX_TYPE)])) {
   case V_03090C_VGT_INDEX_32:
      return 4;
   case V_03090C_VGT_INDEX_8:
      return 1;
   default:
      return 2;
   }
}

/* Indices from number `first` of the buffer on */
static void
draw_indexed(const struct softgpu_processor *processor, uint64_t base, uint32_t available,
             uint32_t first, uint32_t count, uint32_t instances)
{
   const struct softgpu_draw draw = {
      .indexed = true,
      .indices = base + (uint64_t)first * softgpu_index_size(processor),
      .index_count = first < available ? available - first : 0,
      .count = count,
      .instances = instances,
   };
   softgpu_draw(processor, &draw);
}

/* The arguments are VkDrawIndirectCommand or VkDrawIndexedIndirectCommand. */
static void
draw_indirect(struct softgpu_processor *processor, const struct softgpu_packet *packet,
              bool indexed, bool multi)
{
   const uint32_t *words = packet->words;
   uint32_t arguments[5], count = 1, limit;

   if (!softgpu_need(packet, multi ? 9 : 4))
      return;
   if (multi)
      count = words[4];
   if (multi && (words[3] & S_2C3_COUNT_INDIRECT_ENABLE(1))) {
      if (!softgpu_read(softgpu_address(words + 5), &limit, 4))
         return;
      count = MIN2(count, limit);
   }
   for (uint32_t i = 0; i < count && !softgpu_failed(); i++) {
      if (i == MAX_DRAWS) {
         softgpu_error("%u draws", count);
         return;
      }
      const uint64_t va =
         processor->indirect_base + words[0] + (multi ? (uint64_t)i * words[7] : 0);
      if (!softgpu_read(va, arguments, indexed ? 20 : 16))
         return;
      softgpu_set_registers(processor->sh, SOFTGPU_SH_REGS, words[1] & 0xffff,
                            &arguments[indexed ? 3 : 2], 1);
      if (words[2] & 0xffff)
         softgpu_set_registers(processor->sh, SOFTGPU_SH_REGS, words[2] & 0xffff,
                               &arguments[indexed ? 4 : 3], 1);
      if (multi && (words[3] & S_2C3_DRAW_INDEX_ENABLE(1)))
         softgpu_set_registers(processor->sh, SOFTGPU_SH_REGS, words[3] & 0xffff, &i, 1);
      if (indexed)
         draw_indexed(processor, processor->index_base, processor->index_count, arguments[2],
                      arguments[0], arguments[1]);
      else
         softgpu_draw(processor,
                      &(struct softgpu_draw){.count = arguments[0], .instances = arguments[1]});
   }
}

bool
softgpu_execute_graphics(struct softgpu_processor *processor, const struct softgpu_packet *packet)
{
   const uint32_t *words = packet->words;

   switch (packet->opcode) {
   case PKT3_SET_CONTEXT_REG:
      set_sequence(processor->context, SOFTGPU_CONTEXT_REGS, packet);
      break;
   case PKT3_SET_CONTEXT_REG_PAIRS:
   case PKT3_SET_CONTEXT_REG_PAIRS_PACKED:
      set_pairs(processor->context, SOFTGPU_CONTEXT_REGS, packet,
                packet->opcode == PKT3_SET_CONTEXT_REG_PAIRS_PACKED);
      break;
   case PKT3_LOAD_CONTEXT_REG_INDEX:
      load_context(processor, packet);
      break;
   case PKT3_SET_UCONFIG_REG:
   case PKT3_SET_UCONFIG_REG_INDEX:
      set_sequence(processor->uconfig, SOFTGPU_UCONFIG_REGS, packet);
      break;
   case PKT3_SET_UCONFIG_REG_PAIRS:
      set_pairs(processor->uconfig, SOFTGPU_UCONFIG_REGS, packet, false);
      break;
   case PKT3_INDEX_TYPE:
      if (softgpu_need(packet, 1))
         processor->uconfig[UCONFIG_REG(R_03090C_VGT_INDEX_TYPE)] = words[0];
      break;
   case PKT3_INDEX_BASE:
      if (softgpu_need(packet, 2))
         processor->index_base = softgpu_address(words);
      break;
   case PKT3_INDEX_BUFFER_SIZE:
      if (softgpu_need(packet, 1))
         processor->index_count = words[0];
      break;
   case PKT3_NUM_INSTANCES:
      if (softgpu_need(packet, 1))
         processor->instances = words[0];
      break;

   case PKT3_DRAW_INDEX_AUTO:
      if (softgpu_need(packet, 2))
         softgpu_draw(processor,
                      &(struct softgpu_draw){.count = words[0], .instances = processor->instances});
      break;
   case PKT3_DRAW_INDEX_2:
      if (softgpu_need(packet, 5))
         draw_indexed(processor, softgpu_address(words + 1), words[0], 0, words[3],
                      processor->instances);
      break;
   case PKT3_DRAW_INDEX_OFFSET_2:
      if (softgpu_need(packet, 4))
         draw_indexed(processor, processor->index_base, words[0], words[1], words[2],
                      processor->instances);
      break;
   case PKT3_DRAW_INDIRECT:
   case PKT3_DRAW_INDIRECT_MULTI:
      draw_indirect(processor, packet, false, packet->opcode == PKT3_DRAW_INDIRECT_MULTI);
      break;
   case PKT3_DRAW_INDEX_INDIRECT:
   case PKT3_DRAW_INDEX_INDIRECT_MULTI:
      draw_indirect(processor, packet, true, packet->opcode == PKT3_DRAW_INDEX_INDIRECT_MULTI);
      break;
   case PKT3_DISPATCH_MESH_INDIRECT_MULTI:
   case PKT3_DISPATCH_MESH_DIRECT:
      if (!softgpu_is_blind())
         softgpu_error("packet 0x%02x is not supported", packet->opcode);
      break;
   default:
      return false;
   }
   return true;
}
