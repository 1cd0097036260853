/* SPDX-License-Identifier: MIT */

/*
 * The command processor alone, on memory of its own: packets that programs
 * seldom get RADV to write, and garbage.
 */

#include "softgpu_counters.h"
#include "softgpu_processor.h"

uint64_t softgpu_counters[SOFTGPU_NUM_COUNTERS];

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/rand_xor.h"

#define BASE   UINT64_C(0xffff800000100000)
#define DWORDS 4096
#define CODE   3072 /* where the packets are */

#define EXPECT(condition)                                                                          \
   do {                                                                                            \
      if (!(condition)) {                                                                          \
         printf("%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #condition, message);              \
         exit(1);                                                                                  \
      }                                                                                            \
   } while (0)

static uint32_t memory[DWORDS];
static char message[512];
static struct softgpu_dispatch last;
static unsigned dispatches;
static unsigned accesses, max_accesses = 100000000; /* garbage may go round and round */

static uint32_t code[DWORDS - CODE];
static unsigned length;

/* --- What the rest of the library does ------------------------------------ */

void
softgpu_error(const char *format, ...)
{
   va_list arguments;
   if (*message)
      return;
   va_start(arguments, format);
   vsnprintf(message, sizeof(message), format, arguments);
   va_end(arguments);
}

bool
softgpu_is_blind(void)
{
   return false;
}

bool
softgpu_failed(void)
{
   return *message != 0;
}

/* Two buffers beside each other, so that parts are asked for. */
void *
softgpu_map_some(uint64_t va, uint64_t size, enum softgpu_access access, uint64_t *available)
{
   const uint64_t half = sizeof(memory) / 2, at = va - BASE;
   if (--accesses == 0)
      softgpu_error("enough of it");
   if (at >= sizeof(memory)) {
      softgpu_error("nothing is mapped at 0x%" PRIx64, va);
      return NULL;
   }
   *available = MIN2(size, (at < half ? half : sizeof(memory)) - at);
   return (char *)memory + at;
}

void *
softgpu_map(uint64_t va, uint64_t size, enum softgpu_access access)
{
   uint64_t available;
   void *data = softgpu_map_some(va, size, access, &available);
   if (data && available < size) {
      softgpu_error("not in one buffer");
      return NULL;
   }
   return data;
}

bool
softgpu_read(uint64_t va, void *data, uint64_t size)
{
   for (uint64_t done = 0, part; done < size; done += part) {
      const void *from = softgpu_map_some(va + done, size - done, SOFTGPU_READ, &part);
      if (!from)
         return false;
      memcpy((char *)data + done, from, part);
   }
   return true;
}

bool
softgpu_write(uint64_t va, const void *data, uint64_t size)
{
   for (uint64_t done = 0, part; done < size; done += part) {
      void *to = softgpu_map_some(va + done, size - done, SOFTGPU_WRITE, &part);
      if (!to)
         return false;
      memcpy(to, (const char *)data + done, part);
   }
   return true;
}

void
softgpu_yield(void)
{
}

/* A wait that nobody ends. */
void
softgpu_pause(void)
{
   softgpu_error("waits");
}

void
softgpu_draw(const struct softgpu_processor *processor, const struct softgpu_draw *draw)
{
}

void
softgpu_run(const struct softgpu_dispatch *dispatch)
{
   last = *dispatch;
   dispatches++;
}

/* --- Packets -------------------------------------------------------------- */

static void
emit(uint32_t word)
{
   code[length++] = word;
}

static void
emit_address(unsigned dword)
{
   emit((uint32_t)(BASE + dword * 4));
   emit((uint32_t)((BASE + dword * 4) >> 32));
}

static void
run(enum softgpu_queue queue)
{
   memcpy(&memory[CODE], code, length * 4);
   *message = 0;
   dispatches = 0;
   accesses = max_accesses;
   softgpu_begin_submit();
   softgpu_execute(queue, BASE + CODE * 4, length);
   length = 0;
}

static void
set_sh_reg(uint32_t reg, uint32_t value)
{
   emit(PKT3(PKT3_SET_SH_REG, 1, 0));
   emit((reg - SI_SH_REG_OFFSET) / 4);
   emit(value);
}

static void
dispatch_setup(void)
{
   set_sh_reg(R_00B830_COMPUTE_PGM_LO, 0x1234);
   set_sh_reg(R_00B834_COMPUTE_PGM_HI, 0x80);
   set_sh_reg(R_00B84C_COMPUTE_PGM_RSRC2,
              S_00B84C_USER_SGPR(6) | S_00B84C_TGID_X_EN(1) | S_00B84C_TG_SIZE_EN(1));
   set_sh_reg(R_00B81C_COMPUTE_NUM_THREAD_X, 64);
   set_sh_reg(R_00B820_COMPUTE_NUM_THREAD_Y, 2);
   set_sh_reg(R_00B824_COMPUTE_NUM_THREAD_Z, 1);
}

static void
dispatch_direct(uint32_t initiator)
{
   emit(PKT3(PKT3_DISPATCH_DIRECT, 3, 0));
   emit(130);
   emit(4);
   emit(1);
   emit(S_00B800_COMPUTE_SHADER_EN(1) | initiator);
}

static void
test_dispatch(void)
{
   dispatch_setup();
   set_sh_reg(R_00B810_COMPUTE_START_X, 3);
   dispatch_direct(S_00B800_CS_W32_EN(1));
   run(SOFTGPU_QUEUE_COMPUTE);
   EXPECT(!*message && dispatches == 1);
   EXPECT(last.program == UINT64_C(0xffff800000123400));
   EXPECT(last.user_sgprs == 6 && last.workgroup_id[0] && !last.workgroup_id[1]);
   EXPECT(last.workgroup_info && last.wave_size == 32);
   EXPECT(last.threads[0] == 64 && last.threads[1] == 2 && last.threads[2] == 1);
   EXPECT(last.start[0] == 3 && last.end[0] == 130 && last.end[1] == 4 && last.partial[0] == 0);

   dispatch_setup();
   dispatch_direct(S_00B800_USE_THREAD_DIMENSIONS(1) | S_00B800_FORCE_START_AT_000(1));
   run(SOFTGPU_QUEUE_COMPUTE);
   EXPECT(last.wave_size == 64 && last.start[0] == 0);
   EXPECT(last.end[0] == 3 && last.partial[0] == 2 && last.end[1] == 2 && last.partial[1] == 0);

   dispatch_setup();
   set_sh_reg(R_00B81C_COMPUTE_NUM_THREAD_X,
              S_00B81C_NUM_THREAD_FULL_GFX6(64) | S_00B81C_NUM_THREAD_PARTIAL(5));
   dispatch_direct(S_00B800_PARTIAL_TG_EN(1));
   run(SOFTGPU_QUEUE_COMPUTE);
   EXPECT(last.end[0] == 130 && last.partial[0] == 5);

   /* Registers of an earlier submit are gone. */
   dispatch_direct(0);
   run(SOFTGPU_QUEUE_COMPUTE);
   EXPECT(*message && dispatches == 0);
}

/* User data by each packet that can set it. */
static void
test_user_data(void)
{
   memory[10] = 0xabcd;
   memory[11] = 11;
   memory[12] = 12;
   dispatch_setup();
   set_sh_reg(R_00B900_COMPUTE_USER_DATA_0, 100);
   emit(PKT3(PKT3_COPY_DATA, 4, 0));
   emit(COPY_DATA_SRC_SEL(COPY_DATA_SRC_MEM) | COPY_DATA_DST_SEL(COPY_DATA_REG));
   emit_address(10);
   emit(R_00B904_COMPUTE_USER_DATA_1 / 4);
   emit(0);
   emit(PKT3(PKT3_LOAD_SH_REG_INDEX, 3, 0));
   emit_address(11);
   emit((R_00B908_COMPUTE_USER_DATA_2 - SI_SH_REG_OFFSET) / 4);
   emit(2);
   emit(PKT3(PKT3_SET_SH_REG_PAIRS_PACKED, 3, 0));
   emit(2);
   emit((R_00B910_COMPUTE_USER_DATA_4 - SI_SH_REG_OFFSET) / 4 |
        (R_00B914_COMPUTE_USER_DATA_5 - SI_SH_REG_OFFSET) / 4 << 16);
   emit(104);
   emit(105);
   dispatch_direct(0);
   run(SOFTGPU_QUEUE_GRAPHICS);
   EXPECT(!*message);
   const uint32_t expected[] = {100, 0xabcd, 11, 12, 104, 105};
   EXPECT(memcmp(last.user_data, expected, sizeof(expected)) == 0);
}

static void
test_indirect(void)
{
   memory[20] = 7;
   memory[21] = 8;
   memory[22] = 9;
   dispatch_setup();
   emit(PKT3(PKT3_SET_BASE, 2, 0));
   emit(1);
   emit_address(16);
   emit(PKT3(PKT3_DISPATCH_INDIRECT, 1, 0));
   emit(16);
   emit(S_00B800_COMPUTE_SHADER_EN(1));
   run(SOFTGPU_QUEUE_GRAPHICS);
   EXPECT(!*message && last.end[0] == 7 && last.end[1] == 8 && last.end[2] == 9);

   dispatch_setup();
   emit(PKT3(PKT3_DISPATCH_INDIRECT, 2, 0));
   emit_address(21);
   emit(S_00B800_COMPUTE_SHADER_EN(1));
   run(SOFTGPU_QUEUE_COMPUTE);
   EXPECT(!*message && last.end[0] == 8 && last.end[1] == 9);
}

static void
atomic(unsigned operation, unsigned command, uint64_t data, uint64_t compare)
{
   emit(PKT3(PKT3_ATOMIC_MEM, 7, 0));
   emit(ATOMIC_OP(operation) | ATOMIC_COMMAND(command));
   emit_address(30);
   emit((uint32_t)data);
   emit((uint32_t)(data >> 32));
   emit((uint32_t)compare);
   emit((uint32_t)(compare >> 32));
   emit(10);
   run(SOFTGPU_QUEUE_GRAPHICS);
}

static void
test_atomics(void)
{
   memory[30] = 5;
   memory[31] = 1;
   atomic(79, ATOMIC_COMMAND_SEND_NO_RTN, 3, 0); /* add, 32 bits */
   EXPECT(!*message && memory[30] == 8 && memory[31] == 1);
   atomic(TC_OP_ATOMIC_SUB_64, ATOMIC_COMMAND_SEND_NO_RTN, 9, 0);
   EXPECT(!*message && memory[30] == 0xffffffff && memory[31] == 0);
   atomic(81, ATOMIC_COMMAND_SEND_NO_RTN, 2, 0); /* signed minimum */
   EXPECT(memory[30] == 0xffffffff);
   atomic(82, ATOMIC_COMMAND_SEND_NO_RTN, 2, 0); /* unsigned minimum */
   EXPECT(memory[30] == 2);
   atomic(TC_OP_ATOMIC_CMPSWAP_32, ATOMIC_COMMAND_LOOP, 40, 2);
   EXPECT(!*message && memory[30] == 40);
   atomic(TC_OP_ATOMIC_CMPSWAP_32, ATOMIC_COMMAND_SEND_NO_RTN, 41, 2);
   EXPECT(!*message && memory[30] == 40);
   atomic(TC_OP_ATOMIC_CMPSWAP_32, ATOMIC_COMMAND_LOOP, 41, 2);
   EXPECT(strcmp(message, "waits") == 0);
   atomic(1, ATOMIC_COMMAND_SEND_NO_RTN, 41, 2);
   EXPECT(strstr(message, "not supported"));
}

static void
dma(uint32_t header, uint64_t from, uint64_t to, uint32_t size)
{
   emit(PKT3(PKT3_DMA_DATA, 5, 0));
   emit(header);
   emit((uint32_t)from);
   emit((uint32_t)(from >> 32));
   emit((uint32_t)to);
   emit((uint32_t)(to >> 32));
   emit(S_415_BYTE_COUNT_GFX9(size));
   run(SOFTGPU_QUEUE_GRAPHICS);
}

static void
test_memory(void)
{
   char *bytes = (char *)memory;

   emit(PKT3(PKT3_WRITE_DATA, 4, 0));
   emit(S_370_DST_SEL(V_370_MEM));
   emit_address(40);
   emit(1);
   emit(2);
   emit(PKT3(PKT3_COPY_DATA, 4, 0));
   emit(COPY_DATA_SRC_SEL(COPY_DATA_SRC_MEM) | COPY_DATA_DST_SEL(COPY_DATA_DST_MEM) |
        COPY_DATA_COUNT_SEL);
   emit_address(40);
   emit_address(50);
   emit(PKT3(PKT3_COPY_DATA, 4, 0));
   emit(COPY_DATA_SRC_SEL(COPY_DATA_IMM) | COPY_DATA_DST_SEL(COPY_DATA_DST_MEM));
   emit(77);
   emit(88);
   emit_address(52);
   emit(PKT3(PKT3_RELEASE_MEM, 6, 0));
   emit(0);
   emit(EOP_DATA_SEL(EOP_DATA_SEL_VALUE_64BIT));
   emit_address(54);
   emit(5);
   emit(6);
   emit(0);
   emit(PKT3(PKT3_WAIT_REG_MEM, 5, 0));
   emit(WAIT_REG_MEM_EQUAL | WAIT_REG_MEM_MEM_SPACE(1));
   emit_address(54);
   emit(1);
   emit(3);
   emit(4);
   memory[53] = 99;
   run(SOFTGPU_QUEUE_COMPUTE);
   EXPECT(!*message && memory[50] == 1 && memory[51] == 2);
   EXPECT(memory[52] == 77 && memory[53] == 99 && memory[54] == 5 && memory[55] == 6);

   /* Across both buffers, and with overlaps. */
   dma(S_411_SRC_SEL(V_411_DATA), 0x04030201, BASE + sizeof(memory) / 2 - 6, 13);
   EXPECT(!*message);
   const char pattern[] = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 0};
   EXPECT(memcmp(&bytes[sizeof(memory) / 2 - 6], pattern, 13) == 0);
   dma(0, BASE + sizeof(memory) / 2 - 5, BASE + 1001, 12);
   EXPECT(!*message && memcmp(&bytes[1001], &pattern[1], 12) == 0 && bytes[1013] == 0);
   dma(0, BASE + 1001, BASE - 4, 12);
   EXPECT(*message);
   dma(S_411_DST_SEL(V_411_NOWHERE), 1, 1, 12);
   EXPECT(!*message);
}

static void
test_flow(void)
{
   /* Skips the first of two writes. */
   memory[60] = 0;
   memory[61] = 0;
   memory[62] = 0;
   for (unsigned i = 0; i < 2; i++) {
      emit(PKT3(PKT3_COND_EXEC, 3, 0));
      emit_address(60 + i);
      emit(0);
      emit(5);
      emit(PKT3(PKT3_WRITE_DATA, 3, 0));
      emit(S_370_DST_SEL(V_370_MEM));
      emit_address(62);
      emit(i + 1);
      memory[61] = 1;
   }
   run(SOFTGPU_QUEUE_COMPUTE);
   EXPECT(!*message && memory[62] == 2);

   /* A call comes back, a chain does not; both have a buffer at 100. */
   memory[100] = PKT3(PKT3_WRITE_DATA, 3, 0);
   memory[101] = S_370_DST_SEL(V_370_MEM);
   memory[102] = (uint32_t)(BASE + 63 * 4);
   memory[103] = (uint32_t)((BASE + 63 * 4) >> 32);
   memory[104] = 42;
   memory[105] = PKT3_NOP_PAD;
   for (unsigned chain = 0; chain < 2; chain++) {
      memory[63] = 0;
      memory[64] = 0;
      emit(PKT3(PKT3_INDIRECT_BUFFER, 2, 0));
      emit_address(100);
      emit(6 | S_3F2_CHAIN(chain));
      emit(PKT3(PKT3_WRITE_DATA, 3, 0));
      emit(S_370_DST_SEL(V_370_MEM));
      emit_address(64);
      emit(43);
      run(SOFTGPU_QUEUE_GRAPHICS);
      EXPECT(!*message && memory[63] == 42 && memory[64] == (chain ? 0 : 43));
   }

   /* Buffers that call or chain themselves. */
   for (unsigned chain = 0; chain < 2; chain++) {
      emit(PKT3(PKT3_INDIRECT_BUFFER, 2, 0));
      emit_address(CODE);
      emit(4 | S_3F2_CHAIN(chain));
      run(SOFTGPU_QUEUE_GRAPHICS);
      EXPECT(strstr(message, "too many"));
   }
}

static void
test_errors(void)
{
   emit(PKT3(0xee, 0, 0));
   emit(0);
   run(SOFTGPU_QUEUE_GRAPHICS);
   EXPECT(strcmp(message, "packet 0xee is not supported") == 0);
   emit(PKT3(PKT3_WRITE_DATA, 100, 0));
   emit(0);
   run(SOFTGPU_QUEUE_GRAPHICS);
   EXPECT(strstr(message, "longer than its buffer"));
   emit(PKT3(PKT3_SET_SH_REG, 1, 0));
   emit(0xffff);
   emit(0);
   run(SOFTGPU_QUEUE_GRAPHICS);
   EXPECT(*message);
   emit(PKT3(PKT3_DISPATCH_DIRECT, 1, 0));
   emit(0);
   emit(0);
   run(SOFTGPU_QUEUE_GRAPHICS);
   EXPECT(strstr(message, "dwords only"));
}

/* Known opcodes with random words, addresses often valid. */
static void
test_garbage(void)
{
   static const uint8_t opcodes[] = {
      PKT3_NOP,
      PKT3_SET_BASE,
      PKT3_DISPATCH_DIRECT,
      PKT3_DISPATCH_INDIRECT,
      PKT3_ATOMIC_MEM,
      PKT3_SET_PREDICATION,
      PKT3_COND_EXEC,
      PKT3_WRITE_DATA,
      PKT3_COPY_DATA,
      PKT3_INDIRECT_BUFFER,
      PKT3_WAIT_REG_MEM,
      PKT3_RELEASE_MEM,
      PKT3_DMA_DATA,
      PKT3_LOAD_SH_REG_INDEX,
      PKT3_SET_SH_REG,
      PKT3_SET_SH_REG_INDEX,
      PKT3_EVENT_WRITE,
      PKT3_SET_SH_REG_PAIRS,
      PKT3_SET_SH_REG_PAIRS_PACKED,
   };
   uint64_t seed[2] = {1, 2};
   max_accesses = 1000;

   for (unsigned i = 0; i < 200000; i++) {
      const uint64_t random = rand_xorshift128plus(seed);
      const unsigned count = random % 10;
      emit(PKT3(opcodes[random / 16 % ARRAY_SIZE(opcodes)], count, random >> 20 & 1));
      for (unsigned j = 0; j <= count; j++) {
         const uint64_t word = rand_xorshift128plus(seed);
         if (word % 4 == 0 && j + 1 <= count) {
            emit_address(word >> 8 & 0xfff);
            j++;
         } else {
            emit((uint32_t)(word >> 32) >> (word & 31));
         }
      }
      run(random >> 21 & 1);
   }
}

int
main(void)
{
   test_dispatch();
   test_user_data();
   test_indirect();
   test_atomics();
   test_memory();
   test_flow();
   test_errors();
   test_garbage();
   return 0;
}
