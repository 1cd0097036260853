/* SPDX-License-Identifier: MIT */

/* The functions that shaders call, for drivers that can. They are the same for all
 * stages and use nothing of a shader but what gpuval_nir_driver finds.
 */

#include "gpuval_nir_functions.h"
#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval_nir_private.h"

/* First two words of whatever has entries: see gpuval_nir_function_word(). */
enum {
   ENTRY,
   WORD = GPUVAL_FUNCTION_WORD,
   NUM_ENTRY_WORDS,
};

static nir_def *
get_entry(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   return nir_iadd(b, words[ENTRY],
                   driver->entry_base(driver, b, nir_ushr_imm(b, words[WORD], 24)));
}

static nir_def *
get_set(nir_builder *b, nir_def *const *words)
{
   return nir_iand_imm(b, nir_ushr_imm(b, words[WORD], 16), 0xff);
}

static nir_def *
get_low(nir_builder *b, nir_def *const *words)
{
   return nir_iand_imm(b, words[WORD], 0xffff);
}

/* Sources of @report_gpuval */
enum {
   REPORT_DETAIL = NUM_ENTRY_WORDS,
   REPORT_SLOT = REPORT_DETAIL + 4,
   REPORT_INVOCATION,
   REPORT_NUM_WORDS = REPORT_INVOCATION + 3,
};

static nir_def *
build_report(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   nir_def *const *detail = &words[REPORT_DETAIL];
   nir_def *const *invocation = &words[REPORT_INVOCATION];

   gpuval_nir_build_report(b, driver,
                           &(struct gpuval_nir_report_params){
                              .first_entry = get_entry(b, driver, words),
                              .num_entries = get_low(b, words),
                              .set = get_set(b, words),
                              .detail = {detail[0], detail[1], detail[2], detail[3]},
                              .slot = words[REPORT_SLOT],
                              .invocation = {invocation[0], invocation[1], invocation[2]},
                           });
   return NULL;
}

static struct gpuval_nir_access_params
get_access(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   nir_def *const *invocation = &words[GPUVAL_SYNC_WORD_INVOCATION];
   nir_def *flags = get_low(b, words);
   /* Those that do not call are no helpers, but gallivm has one mask only. What lanes of a GPU have
    * that are not here is not defined.
    */
   nir_def *is_here = driver->has_table ? NULL : nir_inot(b, nir_load_helper_invocation(b, 1));

   return (struct gpuval_nir_access_params){
      .address = nir_pack_64_2x32_split(b, words[GPUVAL_SYNC_WORD_ADDRESS],
                                        words[GPUVAL_SYNC_WORD_ADDRESS + 1]),
      .size = words[GPUVAL_SYNC_WORD_SIZE],
      .type = nir_iand_imm(b, flags, GPUVAL_SYNC_TYPE_MASK),
      .access = nir_iand_imm(b, nir_ushr_imm(b, flags, GPUVAL_SYNC_ACCESS_SHIFT), 7),
      .orders = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_ORDERS), 0),
      .entry = get_entry(b, driver, words),
      .invocation_id = words[GPUVAL_SYNC_WORD_ID],
      .has_phases = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_HAS_PHASES), 0),
      .token = words[GPUVAL_SYNC_WORD_TOKEN],
      .phase = words[GPUVAL_SYNC_WORD_PHASE],
      .value = words[GPUVAL_SYNC_WORD_VALUE],
      .has_value = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_HAS_VALUE), 0),
      .is_constant = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_CONSTANT), 0),
      .is_visible = gpuval_nir_is_visible(b, flags, words[GPUVAL_SYNC_WORD_ID]),
      .was_taken = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_WAS_TAKEN), 0),
      .set = get_set(b, words),
      .offset = words[GPUVAL_SYNC_WORD_OFFSET],
      .slot = words[GPUVAL_SYNC_WORD_SLOT],
      .invocation = {invocation[0], invocation[1], invocation[2]},
      .here = is_here ? nir_ineg(b, nir_b2i32(b, is_here)) : NULL,
   };
}

static nir_def *
build_sync(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   struct gpuval_nir_access_params access = get_access(b, driver, words);

   access.orders = nir_imm_false(b);
   if (driver->hashes)
      gpuval_nir_build_access(b, driver, driver->hashes, &access);
   else
      gpuval_nir_build_shadow(b, driver, &access);
   return NULL;
}

/* The filter knows no order. */
static nir_def *
build_order(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   struct gpuval_nir_access_params access = get_access(b, driver, words);

   access.orders = nir_imm_true(b);
   if (!driver->hashes)
      gpuval_nir_build_shadow(b, driver, &access);
   return NULL;
}

static nir_def *
build_shared(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   const struct gpuval_nir_access_params access = get_access(b, driver, words);

   gpuval_nir_build_shared(b, driver, &access);
   return NULL;
}

enum {
   PRINTF_HEADER,
   PRINTF_ADDRESS = PRINTF_HEADER + 2,
   PRINTF_NUM_WORDS = PRINTF_ADDRESS + 2,
};

/* The payload of all lanes */
struct payload {
   nir_def *address;
   nir_def *num_words;
   unsigned num_lanes;
};

static void
store_payload(nir_builder *b, nir_def *address, const void *data)
{
   const struct payload *payload = data;
   nir_def *lane = nir_u2u64(b, nir_load_subgroup_invocation(b));
   nir_def *source = nir_iadd(b, payload->address, nir_imul_imm(b, lane, 4));

   nir_variable *i_var = nir_local_variable_create(b->impl, glsl_uint_type(), "i");
   nir_store_var(b, i_var, nir_imm_int(b, 0), 0x1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *i = nir_load_var(b, i_var);
      nir_break_if(b, nir_uge(b, i, payload->num_words));
      nir_store_var(b, i_var, nir_iadd_imm(b, i, 1), 0x1);

      nir_def *i_64 = nir_u2u64(b, i);
      nir_def *word = gpuval_load_global(
         b, nir_iadd(b, source, nir_imul_imm(b, i_64, payload->num_lanes * 4)), 4, 1, 32);
      gpuval_store_global(b, nir_iadd(b, address, nir_imul_imm(b, i_64, 4)), 4, word, 0x1);
   }
   nir_pop_loop(b, loop);
}

static nir_def *
build_printf(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   nir_def *size = nir_iand_imm(b, words[PRINTF_HEADER], 0xffff);
   const struct payload payload = {
      .address = nir_pack_64_2x32_split(b, words[PRINTF_ADDRESS], words[PRINTF_ADDRESS + 1]),
      .num_words = nir_iadd_imm(b, size, -GPUVAL_PRINTF_ENTRY_WORDS),
      .num_lanes = driver->num_lanes,
   };

   gpuval_nir_build_printf(b, driver,
                           &(struct gpuval_nir_printf_params){
                              .header = {words[PRINTF_HEADER], words[PRINTF_HEADER + 1]},
                              .store_payload = store_payload,
                              .data = &payload,
                           });
   return NULL;
}

/* One atomic for all lanes */
static nir_def *
build_invocation(nir_builder *b, const struct gpuval_nir_driver *driver, nir_def *const *words)
{
   nir_def *counter =
      nir_iadd_imm(b, driver->root_address(driver, b), offsetof(struct gpuval_root, invocations));
   nir_def *step = nir_imm_int(b, GPUVAL_BLOOM_INVOCATION_STEP * driver->num_lanes);
   nir_def *zero = nir_imm_int(b, 0);

   nir_push_if(b, nir_elect(b, 1));
   nir_def *first = nir_global_atomic(b, 32, counter, step, .atomic_op = nir_atomic_op_iadd);
   nir_pop_if(b, NULL);
   first = nir_read_first_invocation(b, nir_if_phi(b, first, zero));

   return nir_iadd(b, first,
                   nir_imul_imm(b, nir_load_subgroup_invocation(b), GPUVAL_BLOOM_INVOCATION_STEP));
}

#define SYNC_CHECKS (BITFIELD_BIT(GPUVAL_CHECK_SYNC) | BITFIELD_BIT(GPUVAL_CHECK_SYNC_COMPUTE))

const struct gpuval_nir_function gpuval_nir_functions[GPUVAL_FUNCTION_COUNT] = {
   [GPUVAL_FUNCTION_REPORT] =
      {
         .name = "report",
         .checks = ~0u,
         .num_words = REPORT_NUM_WORDS,
         .build = build_report,
      },
   [GPUVAL_FUNCTION_SYNC] =
      {
         .name = "sync",
         .checks = SYNC_CHECKS,
         .num_words = GPUVAL_SYNC_WORD_COUNT,
         .build = build_sync,
      },
   [GPUVAL_FUNCTION_ORDER] =
      {
         .name = "order",
         .checks = SYNC_CHECKS,
         .num_words = GPUVAL_SYNC_WORD_COUNT,
         .build = build_order,
      },
   [GPUVAL_FUNCTION_SYNC_LOAD] =
      {
         .name = "sync load",
         .checks = SYNC_CHECKS,
         .num_words = GPUVAL_SYNC_WORD_COUNT,
      },
   [GPUVAL_FUNCTION_SYNC_STORE] =
      {
         .name = "sync store",
         .checks = SYNC_CHECKS,
         .num_words = GPUVAL_SYNC_WORD_COUNT,
      },
   [GPUVAL_FUNCTION_PRINTF] =
      {
         .name = "printf",
         .checks = BITFIELD_BIT(GPUVAL_CHECK_PRINTF),
         .num_words = PRINTF_NUM_WORDS,
         .build = build_printf,
      },
   [GPUVAL_FUNCTION_INVOCATION] =
      {
         .name = "invocation",
         .checks = SYNC_CHECKS,
         .num_results = 1,
         .build = build_invocation,
      },
   [GPUVAL_FUNCTION_ADDRESS] =
      {
         .name = "address",
         .checks = BITFIELD_BIT(GPUVAL_CHECK_ADDRESS),
         .num_words = 3,
         .num_results = 2,
         .build = gpuval_nir_build_address,
      },
   [GPUVAL_FUNCTION_ADDRESSES] =
      {
         .name = "addresses",
         .checks = BITFIELD_BIT(GPUVAL_CHECK_ADDRESS),
      },
   [GPUVAL_FUNCTION_DESCRIPTOR] =
      {
         .name = "descriptor",
         .checks = BITFIELD_BIT(GPUVAL_CHECK_DESCRIPTOR),
         .num_words = GPUVAL_FUNCTION_DESCRIPTOR_WORDS,
         .num_results = 1,
         .build = gpuval_nir_build_called_use,
      },
   [GPUVAL_FUNCTION_LOOK] =
      {
         .name = "look",
         .checks = BITFIELD_BIT(GPUVAL_CHECK_DESCRIPTOR),
      },
   [GPUVAL_FUNCTION_OUTSIDE] =
      {
         .name = "outside",
         .checks = BITFIELD_BIT(GPUVAL_CHECK_BOUNDS),
      },
   [GPUVAL_FUNCTION_SHARED] =
      {
         .name = "shared",
         .checks = BITFIELD_BIT(GPUVAL_CHECK_SHARED),
         .num_words = GPUVAL_SYNC_WORD_COUNT,
         .build = build_shared,
      },
   [GPUVAL_FUNCTION_SHARED_LOAD] =
      {
         .name = "shared load",
         .checks = BITFIELD_BIT(GPUVAL_CHECK_SHARED),
         .num_words = GPUVAL_SYNC_WORD_COUNT,
      },
   [GPUVAL_FUNCTION_SHARED_STORE] =
      {
         .name = "shared store",
         .checks = BITFIELD_BIT(GPUVAL_CHECK_SHARED),
         .num_words = GPUVAL_SYNC_WORD_COUNT,
      },
   [GPUVAL_FUNCTION_LOOP] =
      {
         .name = "loop",
         .checks = BITFIELD_BIT(GPUVAL_CHECK_LOOP),
         .num_words = 2,
         .num_results = 1,
         .build = gpuval_nir_build_loop,
      },
   [GPUVAL_FUNCTION_RANGES] =
      {
         .name = "ranges",
         .checks = BITFIELD_BIT(GPUVAL_CHECK_INIT),
      },
   [GPUVAL_FUNCTION_REPORTS] =
      {
         .name = "reports",
         .checks = ~0u,
      },
};
