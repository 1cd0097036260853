/* SPDX-License-Identifier: MIT */

/* Captures call stacks and keeps each of them once.
 *
 * Unwinding takes microseconds, recording a draw less than a tenth of one. So each thread remembers
 * its last stacks with the places of their return addresses: when it comes to the same place of its
 * stack and all return addresses are what and where they were, the stack is the one that is known.
 * They are compared from the innermost on: while they are equal, the frames are alive, and the
 * next place can be read.
 */

#include "gpuval_backtrace.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>
#include <sys/auxv.h>

#include "c11/threads.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/hash_table.h"
#include "util/macros.h"
#include "util/ralloc.h"
#include "util/simple_mtx.h"
#include "util/u_thread.h"
#include "gpuval_log.h"
#include "gpuval_options.h"

#define MAX_DEPTH  48
#define MAX_FRAMES 32        /* that are told */
#define MAX_STACKS (1 << 16) /* distinct ones that are kept */
/* Of a thread: so many, by where they are, and that many of each */
#define KNOWN_PLACES   16
#define KNOWN_STACKS   4
#define MAX_KNOWN_SPAN (1 << 20) /* bytes of a stack that is remembered */

/* A return address, and where it is (0: not known) */
struct returns {
   uintptr_t pc, place;
};

struct walk {
   unsigned count;
   struct returns frames[MAX_DEPTH];
};

struct known {
   uintptr_t frame; /* of gpuval_backtrace_capture_from(); 0: none */
   uint32_t number;
   struct walk walk; /* from that function's return on */
};

struct place {
   struct known stacks[KNOWN_STACKS];
   unsigned next; /* to be replaced */
};

struct thread {
   const struct known *recent; /* what the thread has captured last, if that is remembered */
   struct place places[KNOWN_PLACES];
};

/* A stack, as a key, and what it leads to */
struct stack {
   unsigned count;
   const uintptr_t *pcs;
   struct gpuval_call **calls; /* of the application, innermost first */
   unsigned num_calls;
   struct gpuval_frame *frames; /* NULL: not looked up yet */
   unsigned num_frames;
};

static simple_mtx_t mutex = SIMPLE_MTX_INITIALIZER; /* all that follows */
static void *mem_ctx;
static struct hash_table *stacks;       /* struct stack -> its number */
static struct util_dynarray by_number;  /* struct stack *, from 1 */
static struct hash_table_u64 *calls;    /* struct gpuval_call by return address */
static unsigned long long num_unloaded; /* modules, when @calls began */
static bool warned_full;

static simple_mtx_t symbols_mutex = SIMPLE_MTX_INITIALIZER; /* frames; taken before @mutex */

static once_flag thread_once = ONCE_FLAG_INIT;
static tss_t thread_key;

static void
create_thread_key(void)
{
   tss_create(&thread_key, free);
}

static struct thread *
create_thread(void)
{
   struct thread *thread = calloc(1, sizeof(*thread));

   call_once(&thread_once, create_thread_key);
   if (thread)
      thread->recent = &thread->places[0].stacks[0];
   tss_set(thread_key, thread);
   return thread;
}

/* The unwinder has the stack pointer behind the call for the canonical frame address: on x86, the
 * return address is the word below.
 */
static uintptr_t
find_place(struct _Unwind_Context *context, uintptr_t pc)
{
#if defined(__x86_64__) || defined(__i386__)
   uintptr_t place = _Unwind_GetCFA(context) - sizeof(pc);
   return *(const uintptr_t *)place == pc ? place : 0;
#else
   return 0;
#endif
}

static _Unwind_Reason_Code
add_frame(struct _Unwind_Context *context, void *data)
{
   struct walk *walk = data;
   uintptr_t pc = _Unwind_GetIP(context);

   if (!pc || walk->count == MAX_DEPTH)
      return _URC_END_OF_STACK;
   /* The first one is unwind() itself. */
   uintptr_t place = walk->count ? find_place(context, pc) : 0;
   walk->frames[walk->count++] = (struct returns){pc, place};
   return _URC_NO_REASON;
}

static inline bool
is_known(const struct known *known, uintptr_t frame)
{
   if (known->frame != frame)
      return false;
   const struct returns *end = known->walk.frames + known->walk.count;
   for (const struct returns *at = known->walk.frames; at < end; at++) {
      if (*(const uintptr_t *)at->place != at->pc)
         return false;
   }
   return true;
}

/* Returns false for a stack that cannot be compared: a place is not known, or not on one stack. */
static bool
remember(struct known *known, uintptr_t frame, const struct walk *walk)
{
   uintptr_t last = frame;

   known->frame = 0;
   known->walk.count = 0;
   for (unsigned i = 1; i < walk->count; i++) {
      const struct returns *returns = &walk->frames[i];
      if (last == frame && returns->place < frame)
         continue; /* of this function's own calls */
      if (returns->place <= last || returns->place - frame > MAX_KNOWN_SPAN)
         return false;
      last = returns->place;
      known->walk.frames[known->walk.count++] = *returns;
   }
   known->frame = known->walk.count ? frame : 0;
   return known->walk.count;
}

static uint32_t
hash_stack(const void *key)
{
   const struct stack *stack = key;
   return _mesa_hash_data(stack->pcs, stack->count * sizeof(*stack->pcs));
}

static bool
stacks_equal(const void *a, const void *b)
{
   const struct stack *one = a, *other = b;
   return one->count == other->count &&
          !memcmp(one->pcs, other->pcs, one->count * sizeof(*one->pcs));
}

static int
get_num_unloaded(struct dl_phdr_info *info, size_t size, void *data)
{
   *(unsigned long long *)data = info->dlpi_subs;
   return 1;
}

/* What comes to where a module was that has been unloaded is another one. */
static void
forget_unloaded(void)
{
   unsigned long long now = 0;

   dl_iterate_phdr(get_num_unloaded, &now);
   if (!mem_ctx) {
      mem_ctx = ralloc_context(NULL);
      util_dynarray_init(&by_number, mem_ctx);
      util_dynarray_append_typed(&by_number, struct stack *, NULL);
   } else if (now == num_unloaded) {
      return;
   }
   num_unloaded = now;
   if (stacks) {
      _mesa_hash_table_destroy(stacks, NULL);
      _mesa_hash_table_u64_destroy(calls);
   }
   stacks = _mesa_hash_table_create(mem_ctx, hash_stack, stacks_equal);
   calls = _mesa_hash_table_u64_create(mem_ctx);
}

static const char *
get_program(void)
{
   char *path = ralloc_size(mem_ctx, PATH_MAX);
   ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

   if (length < 0)
      return NULL;
   path[length] = '\0';
   return path;
}

/* The name of the loader's and the driver's libraries begins so, that of layers, and what is
 * between an OpenGL program and the driver.
 */
static bool
is_foreign(const char *module)
{
   static const char *const names[] = {
      "libvulkan", "libVkLayer", "libgallium", "libGL", "libEGL", "libOpenGL",
   };
   const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;

   for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
      if (!strncmp(name, names[i], strlen(names[i])))
         return true;
   }
   return false;
}

/* Calls in this module, wherever it is linked to, are the driver's. */
static bool
is_driver(const Dl_info *info)
{
   Dl_info own;
   return dladdr((const void *)gpuval_backtrace_capture_from, &own) &&
          own.dli_fbase == info->dli_fbase;
}

static struct gpuval_call *
add_call(uintptr_t pc)
{
   struct gpuval_call *call = rzalloc(mem_ctx, struct gpuval_call);
   struct link_map *map = NULL;
   Dl_info info;

   /* A return address may be the first one of what comes next. */
   _mesa_hash_table_u64_insert(calls, pc, call);
   if (!dladdr1((const void *)(pc - 1), &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
      return call;
   call->module = *map->l_name ? ralloc_strdup(mem_ctx, map->l_name) : get_program();
   if (call->module && (is_driver(&info) || is_foreign(call->module)))
      call->module = NULL;
   if (info.dli_sname)
      call->symbol = ralloc_strdup(mem_ctx, info.dli_sname);
   call->offset = pc - 1 - map->l_addr;
   return call;
}

/* What has called main() or begun the thread: the C library, and in the program _start, which its
 * entry point is.
 */
static bool
is_beginning(uintptr_t pc, const struct gpuval_call *call)
{
   const char *slash = strrchr(call->module, '/');

   return !strncmp(slash ? slash + 1 : call->module, "libc.so", 7) || pc - getauxval(AT_ENTRY) < 64;
}

static void
find_calls(struct stack *stack)
{
   unsigned end = 0;

   stack->calls = ralloc_array(mem_ctx, struct gpuval_call *, MIN2(stack->count, MAX_FRAMES));
   for (unsigned i = 0; i < stack->count && stack->num_calls < MAX_FRAMES; i++) {
      struct gpuval_call *call = _mesa_hash_table_u64_search(calls, stack->pcs[i]);
      if (!call)
         call = add_call(stack->pcs[i]);
      if (!call->module)
         continue;
      stack->calls[stack->num_calls++] = call;
      if (!is_beginning(stack->pcs[i], call))
         end = stack->num_calls;
   }
   stack->num_calls = end;
}

static uint32_t
number_of(const struct walk *walk)
{
   uintptr_t pcs[MAX_DEPTH];
   const struct stack key = {.count = walk->count, .pcs = pcs};

   for (unsigned i = 0; i < walk->count; i++)
      pcs[i] = walk->frames[i].pc;

   simple_mtx_lock(&mutex);
   forget_unloaded();
   struct hash_entry *entry = _mesa_hash_table_search(stacks, &key);
   uint32_t number =
      entry ? (uintptr_t)entry->data : util_dynarray_num_elements(&by_number, struct stack *);
   bool is_full = !entry && number == MAX_STACKS;
   bool warn = is_full && !warned_full;

   warned_full |= is_full;
   if (is_full) {
      number = 0;
   } else if (!entry) {
      struct stack *stack = rzalloc(mem_ctx, struct stack);
      stack->count = walk->count;
      stack->pcs = ralloc_memdup(mem_ctx, pcs, walk->count * sizeof(*pcs));
      find_calls(stack);
      util_dynarray_append_typed(&by_number, struct stack *, stack);
      _mesa_hash_table_insert(stacks, stack, (void *)(uintptr_t)number);
   }
   simple_mtx_unlock(&mutex);

   if (warn)
      gpuval_log_warning(
         "GPUVAL_BACKTRACE: there are more than %u call stacks: reports say nothing "
         "of the others",
         MAX_STACKS - 1);
   return number;
}

static uint32_t
unwind(struct thread *thread, struct place *place, uintptr_t frame)
{
   struct walk walk = {0};

   _Unwind_Backtrace(add_frame, &walk);
   uint32_t number = number_of(&walk);
   struct known *known = &place->stacks[place->next++ % KNOWN_STACKS];
   known->number = number;
   if (remember(known, frame, &walk))
      thread->recent = known;
   return number;
}

static __THREAD_INITIAL_EXEC struct thread *this_thread;

/* Not inlined: the way that mostly is taken needs few registers. */
static __attribute__((noinline)) uint32_t
capture(uintptr_t frame, const void *caller)
{
   if (!gpuval_options()->backtrace)
      return 0;
   if (!this_thread)
      this_thread = create_thread();
   struct thread *thread = this_thread;
   if (!thread)
      return 0;

   struct place *place = &thread->places[((frame >> 4) ^ (uintptr_t)caller) % KNOWN_PLACES];
   for (unsigned i = 0; i < KNOWN_STACKS; i++) {
      if (is_known(&place->stacks[i], frame)) {
         thread->recent = &place->stacks[i];
         return place->stacks[i].number;
      }
   }
   return unwind(thread, place, frame);
}

__attribute__((noinline)) uint32_t
gpuval_backtrace_capture_from(const void *caller)
{
   uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
   const struct thread *thread = this_thread;

   if (thread && is_known(thread->recent, frame))
      return thread->recent->number;
   return capture(frame, caller);
}

const struct gpuval_frame *
gpuval_backtrace_frames(uint32_t number, unsigned *count)
{
   *count = 0;
   if (!number)
      return NULL;

   simple_mtx_lock(&symbols_mutex);
   simple_mtx_lock(&mutex);
   struct stack *stack = *util_dynarray_element(&by_number, struct stack *, number);
   simple_mtx_unlock(&mutex);
   if (!stack->frames) {
      gpuval_symbols_find(stack->calls, stack->num_calls);
      stack->frames = calloc(MAX_FRAMES, sizeof(*stack->frames));
      for (unsigned i = 0; stack->frames && i < stack->num_calls; i++) {
         const struct gpuval_call *call = stack->calls[i];
         unsigned room = MIN2(call->num_frames, MAX_FRAMES - stack->num_frames);
         if (room)
            memcpy(stack->frames + stack->num_frames, call->frames, room * sizeof(*call->frames));
         stack->num_frames += room;
      }
   }
   simple_mtx_unlock(&symbols_mutex);
   *count = stack->num_frames;
   return stack->frames;
}
