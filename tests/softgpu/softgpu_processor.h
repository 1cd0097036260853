/* SPDX-License-Identifier: MIT */

/* What the command processor knows. */

#ifndef SOFTGPU_PROCESSOR_H
#define SOFTGPU_PROCESSOR_H

#include "softgpu.h"

#include "amd_family.h"
#include "sid.h"

#define SOFTGPU_SH_REGS      ((SI_SH_REG_END - SI_SH_REG_OFFSET) / 4)
#define SOFTGPU_CONTEXT_REGS ((SI_CONTEXT_REG_END - SI_CONTEXT_REG_OFFSET) / 4)
#define SOFTGPU_UCONFIG_REGS ((CIK_UCONFIG_REG_END - CIK_UCONFIG_REG_OFFSET) / 4)

/* Where in struct softgpu_processor a register is */
#define SH_REG(reg)      (((reg)-SI_SH_REG_OFFSET) / 4)
#define CONTEXT_REG(reg) (((reg)-SI_CONTEXT_REG_OFFSET) / 4)
#define UCONFIG_REG(reg) (((reg)-CIK_UCONFIG_REG_OFFSET) / 4)

struct softgpu_processor {
   enum softgpu_queue queue;
   uint32_t sh[SOFTGPU_SH_REGS];
   uint32_t context[SOFTGPU_CONTEXT_REGS];
   uint32_t uconfig[SOFTGPU_UCONFIG_REGS];
   uint64_t indirect_base;
   bool skip_predicated;
   unsigned depth; /* of indirect buffers */
   unsigned packets;

   uint64_t index_base;
   uint32_t index_count; /* that the buffer has */
   uint32_t instances;
};

/* A packet without its header. */
struct softgpu_packet {
   unsigned opcode;
   const uint32_t *words;
   unsigned count;
};

static inline uint64_t
softgpu_address(const uint32_t *words)
{
   return words[0] | (uint64_t)words[1] << 32;
}

/* The address of a program in two registers, which has 48 bits. */
static inline uint64_t
softgpu_program(const uint32_t *registers)
{
   const uint64_t va = (uint64_t)registers[0] << 8 | (uint64_t)(registers[1] & 0xff) << 40;
   return (uint64_t)((int64_t)(va << 16) >> 16);
}

/* --- softgpu_commands.c --------------------------------------------------- */

/* Whether a packet is that long; else it is an error. */
bool softgpu_need(const struct softgpu_packet *packet, unsigned count);

/* Sets `count` of `size` registers from number `first` on. */
void softgpu_set_registers(uint32_t *registers, unsigned size, unsigned first,
                           const uint32_t *values, unsigned count);

/* --- softgpu_graphics.c --------------------------------------------------- */

/* false: it is none of graphics */
bool softgpu_execute_graphics(struct softgpu_processor *processor,
                              const struct softgpu_packet *packet);

/* Of an index, in bytes */
unsigned softgpu_index_size(const struct softgpu_processor *processor);

/* --- softgpu_draw.c ------------------------------------------------------- */

struct softgpu_draw {
   bool indexed;
   uint64_t indices;     /* where the first one is */
   uint32_t index_count; /* that can be read from there; all others are 0 */
   uint32_t count;       /* of vertices */
   uint32_t instances;
};

void softgpu_draw(const struct softgpu_processor *processor, const struct softgpu_draw *draw);

#endif
