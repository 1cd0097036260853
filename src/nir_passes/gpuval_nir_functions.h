/* SPDX-License-Identifier: MIT */

/* Functions that checks leave calls of. A driver that can call compiles them once
 * for a device, another makes code of the intrinsic in each shader.
 *
 * @call_gpuval calls one that has a result and no effect, from anywhere, helper
 * invocations included: nir_call_gpuval(b, bit_size, condition, words, .base = number).
 * Where the condition is false, the result is 0.
 */

#ifndef GPUVAL_NIR_FUNCTIONS_H
#define GPUVAL_NIR_FUNCTIONS_H

#include "gpuval_nir.h"
#include "gpuval_nir_sync.h"

#ifdef __cplusplus
extern "C" {
#endif

enum gpuval_function {
   GPUVAL_FUNCTION_REPORT,     /* @report_gpuval, @check_buffer_gpuval */
   GPUVAL_FUNCTION_SYNC,       /* @sync_gpuval */
   GPUVAL_FUNCTION_ORDER,      /* the same with GPUVAL_SYNC_ORDERS */
   GPUVAL_FUNCTION_SYNC_LOAD,  /* the same, of a load by no atomic, with shadow memory: */
   GPUVAL_FUNCTION_SYNC_STORE, /* ... of a store; drivers have their own of these two */
   GPUVAL_FUNCTION_PRINTF,     /* @printf_gpuval */
   GPUVAL_FUNCTION_INVOCATION, /* @invocation_gpuval */
   GPUVAL_FUNCTION_ADDRESS,
   GPUVAL_FUNCTION_ADDRESSES,    /* @check_address_gpuval; drivers have their own */
   GPUVAL_FUNCTION_DESCRIPTOR,   /* gpuval_nir_call_use() */
   GPUVAL_FUNCTION_SHARED,       /* @sync_gpuval with GPUVAL_SYNC_SHARED */
   GPUVAL_FUNCTION_SHARED_LOAD,  /* the same, by no atomic; drivers have their own of these */
   GPUVAL_FUNCTION_SHARED_STORE, /* two, which leave to GPUVAL_FUNCTION_SHARED what they do not do */
   GPUVAL_FUNCTION_LOOK,         /* @look_gpuval; drivers have their own */
   GPUVAL_FUNCTION_OUTSIDE,      /* @check_buffer_gpuval; the same */
   GPUVAL_FUNCTION_RANGES,       /* @report_gpuval of GPUVAL_REPORT_RANGE; drivers have their own */
   GPUVAL_FUNCTION_REPORTS,      /* several reports of constant words; the same */
   GPUVAL_FUNCTION_LOOP,         /* gpuval_nir_build_loop() */
   GPUVAL_FUNCTION_COUNT,
};
#define GPUVAL_FUNCTION_MAX_WORDS 16

/** Arguments of GPUVAL_FUNCTION_DESCRIPTOR: struct gpuval_nir_use, in which only slot and index are
 * no constants
 */
enum gpuval_use_word {
   GPUVAL_USE_WORD_FLAGS, /* the set, enum gpuval_use_flags << 8, and: */
   GPUVAL_USE_WORD_SLOT,
   GPUVAL_USE_WORD_REQUIRED,
   GPUVAL_USE_WORD_FIRST_SLOT,
   GPUVAL_USE_WORD_NUM_SLOTS,
   GPUVAL_USE_WORD_INDEX, /* whether that differs is asked for */
   GPUVAL_USE_WORD_IS_HELPER,
   GPUVAL_USE_WORD_TEXEL, /* gpuval_nir_texel_of_use() */
   GPUVAL_FUNCTION_DESCRIPTOR_WORDS,
};
#define GPUVAL_USE_HAS_INDEX 0x10000

/** The function for a @sync_gpuval with these flags, of a driver that has its own */
static inline enum gpuval_function
gpuval_nir_sync_function(uint32_t flags)
{
   const bool is_shared = flags & GPUVAL_SYNC_SHARED;

   if (flags & GPUVAL_SYNC_ORDERS)
      return is_shared ? GPUVAL_FUNCTION_SHARED : GPUVAL_FUNCTION_ORDER;
   if (!is_shared && !(flags & GPUVAL_SYNC_SHADOW))
      return GPUVAL_FUNCTION_SYNC;

   switch (flags & GPUVAL_SYNC_TYPE_MASK) {
   case GPUVAL_BLOOM_LOAD:
      return is_shared ? GPUVAL_FUNCTION_SHARED_LOAD : GPUVAL_FUNCTION_SYNC_LOAD;
   case GPUVAL_BLOOM_STORE:
      return is_shared ? GPUVAL_FUNCTION_SHARED_STORE : GPUVAL_FUNCTION_SYNC_STORE;
   default:
      return is_shared ? GPUVAL_FUNCTION_SHARED : GPUVAL_FUNCTION_SYNC;
   }
}

struct gpuval_nir_function {
   const char *name;
   uint32_t checks;      /* that call it: BITFIELD_BIT(enum gpuval_check) */
   unsigned num_words;   /* arguments, of 32 bits */
   unsigned num_results; /* words: 0, 1, or 2 for 64 bits */

   /* Emits it at b->cursor, for the invocations that call, and returns its result. NULL: the
    * driver has it, and what it does not do itself it leaves to GPUVAL_FUNCTION_SYNC.
    */
   nir_def *(*build)(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words);
};

extern const struct gpuval_nir_function gpuval_nir_functions[GPUVAL_FUNCTION_COUNT];

/* The words of an intrinsic's function are its sources in order, but the condition, 64
 * bits being two words, the low one first. (@check_buffer_gpuval has those of a report.) Where
 * entries tell what it is about, two words come first: BASE, and this one:
 *
 *     0..15  RANGE, or FLAGS
 *    16..23  DESC_SET
 *    24..31  enum mesa_shader_stage
 *
 * Those of @printf_gpuval are the header of the entry and the address of the payload: an
 * array of vectors of gpuval_nir_driver::num_lanes, one a dword.
 */
#define GPUVAL_FUNCTION_WORD 1

/* The words of @sync_gpuval */
enum {
   GPUVAL_SYNC_WORD_ADDRESS = GPUVAL_FUNCTION_WORD + 1,
   GPUVAL_SYNC_WORD_SIZE = GPUVAL_SYNC_WORD_ADDRESS + 2,
   GPUVAL_SYNC_WORD_OFFSET,
   GPUVAL_SYNC_WORD_SLOT,
   GPUVAL_SYNC_WORD_ID, /* of the invocation */
   GPUVAL_SYNC_WORD_TOKEN,
   GPUVAL_SYNC_WORD_PHASE,
   GPUVAL_SYNC_WORD_VALUE,
   GPUVAL_SYNC_WORD_INVOCATION,
   GPUVAL_SYNC_WORD_COUNT = GPUVAL_SYNC_WORD_INVOCATION + 3,
};

static inline uint32_t
gpuval_nir_function_word(const nir_intrinsic_instr *intrin, mesa_shader_stage stage)
{
   uint32_t low =
      nir_intrinsic_has_range(intrin) ? nir_intrinsic_range(intrin) : nir_intrinsic_flags(intrin);
   return low | nir_intrinsic_desc_set(intrin) << 16 | (uint32_t)stage << 24;
}

#ifdef __cplusplus
}
#endif

#endif
