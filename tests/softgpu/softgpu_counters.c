/* SPDX-License-Identifier: MIT */

/*
 * SOFTGPU_COUNTERS=FILE: counts what is slow on a real card, which no software GPU can time. At
 * end of a process that has submitted work, FILE has a line `NAME NUMBER` for each counter.
 *
 * What the driver loads from video memory or from write-combined memory is not cached: a load takes
 * about a microsecond. So such memory is mapped without access. An access faults, is counted, and
 * is executed by a single step with access to the buffer. What an instruction both loads and
 * stores counts as a store. With SOFTGPU_LOADS=1 each load is said on stderr, with the function
 * that makes it.
 */

#include "softgpu_counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "util/hash_table.h"
#include "util/simple_mtx.h"
#include "util/u_atomic.h"
#include "softgpu_device.h"

uint64_t softgpu_counters[SOFTGPU_NUM_COUNTERS];

static const char *const names[] = {
   [SOFTGPU_DMA_COPY_BYTES] = "dma_copy_bytes",
   [SOFTGPU_DMA_FILL_BYTES] = "dma_fill_bytes",
   [SOFTGPU_CP_SYNCS] = "cp_syncs",
   [SOFTGPU_PFP_SYNCS] = "pfp_syncs",
   [SOFTGPU_WAITS] = "waits",
   [SOFTGPU_PACKETS] = "packets",
   [SOFTGPU_PACKET_DWORDS] = "packet_dwords",
   [SOFTGPU_DRAWS] = "draws",
   [SOFTGPU_DISPATCHES] = "dispatches",
   [SOFTGPU_INSTRUCTIONS] = "shader_instructions",
   [SOFTGPU_BRANCHES] = "shader_branches",
   [SOFTGPU_UNCACHED_LOADS] = "shader_uncached_loads",
   [SOFTGPU_ATOMICS] = "shader_atomics",
   [SOFTGPU_SAME_ATOMICS] = "shader_atomics_to_one_address",
   [SOFTGPU_HOST_LOADS] = "host_slow_loads",
   [SOFTGPU_HOST_STORES] = "host_slow_stores",
   [SOFTGPU_HOST_BYTES] = "host_slow_store_bytes",
};
static_assert(ARRAY_SIZE(names) == SOFTGPU_NUM_COUNTERS, "a name each");

bool
softgpu_counts(void)
{
   static int on = -1;
   if (on < 0)
      on = getenv("SOFTGPU_COUNTERS") != NULL;
   return on;
}

void
softgpu_count_atomic(uint64_t va)
{
   static struct hash_table_u64 *addresses;

   if (!softgpu_counts())
      return;
   if (!addresses)
      addresses = _mesa_hash_table_u64_create(NULL);
   const uint64_t count = (uintptr_t)_mesa_hash_table_u64_search(addresses, va) + 1;
   _mesa_hash_table_u64_insert(addresses, va, (void *)(uintptr_t)count);
   softgpu_count(SOFTGPU_ATOMICS, 1);
   softgpu_counters[SOFTGPU_SAME_ATOMICS] = MAX2(softgpu_counters[SOFTGPU_SAME_ATOMICS], count);
}

/* --- What the host accesses ------------------------------------------------ */

#ifdef __x86_64__

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#define LINE        64
#define PAGE        4096
#define MAX_REGIONS 4096
#define FAULT_WRITE 2     /* of an error code */
#define TRAP_FLAG   0x100 /* of EFLAGS */

/* A mapping of slow memory. Regions are added only; the last one at an address is meant. */
struct region {
   char *start;
   size_t size;
   uint8_t *lines; /* a bit each for those that were stored to */
};

static struct region regions[MAX_REGIONS];
static unsigned num_regions;

/* What the next instruction may access: a page and the next one, as to open all of a large region
 * and to close it again takes milliseconds
 */
static _Thread_local struct {
   char *start;
   size_t size;
} stepping[4];
static _Thread_local unsigned num_stepping;

/* The driver's code: what the program itself reads is its own affair. */
static uintptr_t code_start, code_end;

static int
find_code(struct dl_phdr_info *info, size_t size, void *data)
{
   if (!strstr(info->dlpi_name, "libvulkan_radeon"))
      return 0;
   for (unsigned i = 0; i < info->dlpi_phnum; i++) {
      const ElfW(Phdr) *header = &info->dlpi_phdr[i];
      if (header->p_type == PT_LOAD && header->p_flags & PF_X) {
         code_start = info->dlpi_addr + header->p_vaddr;
         code_end = code_start + header->p_memsz;
      }
   }
   return 1;
}

static bool
is_code(greg_t address)
{
   return (uintptr_t)address >= code_start && (uintptr_t)address < code_end;
}

/* Itself, or by memcpy() and its like, which have the return address on top of the stack. */
static bool
is_by_driver(const greg_t *registers)
{
   return is_code(registers[REG_RIP]) || is_code(*(const greg_t *)registers[REG_RSP]);
}

static struct region *
find_region(const char *address)
{
   for (unsigned i = p_atomic_read(&num_regions); i-- > 0;) {
      if (address >= regions[i].start && address < regions[i].start + regions[i].size)
         return &regions[i];
   }
   return NULL;
}

static void
say_load(const char *address, const greg_t *registers)
{
   /* Where memcpy() is called, if that is what loads */
   const void *instruction =
      (const void *)(is_code(registers[REG_RIP]) ? registers[REG_RIP]
                                                 : *(const greg_t *)registers[REG_RSP]);
   char text[256];
   Dl_info info = {0};
   static int says = -1;

   if (says < 0)
      says = getenv("SOFTGPU_LOADS") != NULL;
   if (!says)
      return;
   dladdr(instruction, &info);
   const int length = snprintf(text, sizeof(text), "softgpu: load from %p at %s+0x%zx (%s)\n",
                               (const void *)address, info.dli_fname ? info.dli_fname : "?",
                               (size_t)((const char *)instruction - (const char *)info.dli_fbase),
                               info.dli_sname ? info.dli_sname : "?");
   (void)!write(STDERR_FILENO, text, (size_t)length);
}

static void
count_store(struct region *region, const char *address)
{
   const size_t line = (size_t)(address - region->start) / LINE;
   const uint8_t bit = (uint8_t)(1u << line % 8);

   softgpu_count(SOFTGPU_HOST_STORES, 1);
   if (!(__atomic_fetch_or(&region->lines[line / 8], bit, __ATOMIC_RELAXED) & bit))
      softgpu_count(SOFTGPU_HOST_BYTES, LINE);
}

static void
on_fault(int number, siginfo_t *info, void *data)
{
   ucontext_t *context = data;
   greg_t *registers = context->uc_mcontext.gregs;
   struct region *region = find_region(info->si_addr);

   if (!region || num_stepping == ARRAY_SIZE(stepping)) {
      signal(SIGSEGV, SIG_DFL);
      return;
   }
   if (registers[REG_ERR] & FAULT_WRITE) {
      count_store(region, info->si_addr);
   } else if (is_by_driver(registers)) {
      softgpu_count(SOFTGPU_HOST_LOADS, 1);
      say_load(info->si_addr, registers);
   }

   const uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1);
   char *start = MAX2((char *)page, region->start);
   const size_t size = MIN2((size_t)(region->start + region->size - start), 2 * PAGE);
   mprotect(start, size, PROT_READ | PROT_WRITE);
   stepping[num_stepping].start = start;
   stepping[num_stepping++].size = size;
   registers[REG_EFL] |= TRAP_FLAG;
}

static void
on_step(int number, siginfo_t *info, void *data)
{
   ucontext_t *context = data;

   while (num_stepping) {
      num_stepping--;
      mprotect(stepping[num_stepping].start, stepping[num_stepping].size, PROT_NONE);
   }
   context->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void
install_handlers(void)
{
   struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};

   sigfillset(&action.sa_mask);
   action.sa_sigaction = on_fault;
   sigaction(SIGSEGV, &action, NULL);
   action.sa_sigaction = on_step;
   sigaction(SIGTRAP, &action, NULL);
   dl_iterate_phdr(find_code, NULL);
}

void
softgpu_watch(void *map, size_t size)
{
   static simple_mtx_t mutex = SIMPLE_MTX_INITIALIZER;

   if (!softgpu_counts())
      return;
   simple_mtx_lock(&mutex);
   if (!num_regions)
      install_handlers();
   if (num_regions < MAX_REGIONS) {
      regions[num_regions] = (struct region){
         .start = map,
         .size = size,
         .lines = calloc(1, size / LINE / 8 + 1),
      };
      if (!regions[num_regions].lines)
         abort();
      p_atomic_inc(&num_regions);
      mprotect(map, size, PROT_NONE);
   }
   simple_mtx_unlock(&mutex);
}

#else

void
softgpu_watch(void *map, size_t size)
{
}

#endif

/* --- The end ---------------------------------------------------------------- */

void
softgpu_write_counters(void)
{
   const char *path = getenv("SOFTGPU_COUNTERS");
   FILE *file = path && softgpu.submitted ? fopen(path, "w") : NULL;

   if (!file)
      return;
   for (unsigned i = 0; i < SOFTGPU_NUM_COUNTERS; i++)
      fprintf(file, "%s %" PRIu64 "\n", names[i], softgpu_counters[i]);
   fclose(file);
}
