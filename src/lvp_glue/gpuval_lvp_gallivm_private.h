/* SPDX-License-Identifier: MIT */

/* What the files that make LLVM's code of our intrinsics share. */

#ifndef GPUVAL_LVP_GALLIVM_PRIVATE_H
#define GPUVAL_LVP_GALLIVM_PRIVATE_H

#include "gpuval_lvp_gallivm.h"

#include "gallivm/lp_bld_nir.h"

#include "gpuval/src/nir_passes/gpuval_nir_functions.h"

/**
 * The lanes that run. Where a call has a result, those of helper invocations do, too:
 * what they compute may have a derivative.
 */
LLVMValueRef gpuval_lvp_get_mask(struct gpuval_lvp_soa *soa, bool with_helpers);

/**
 * @value in the lanes whose @condition is not 0, and 0 in the others. It is a select, as
 * InstCombine makes of an `and`. An `and` with the mask of the lanes would be a reason for LLVM's
 * Reassociate to order that mask's operands anew: where they are 2,000 conditions of the shader,
 * InstCombine takes half a minute for the new order.
 */
LLVMValueRef gpuval_lvp_where(struct gpuval_lvp_soa *soa, LLVMValueRef condition,
                              LLVMValueRef value);

/** 1 bit: is one set of a vector of bits? Of one of words, @mask: is a lane in it? */
LLVMValueRef gpuval_lvp_any_bit(struct gallivm_state *gallivm, LLVMValueRef vector);
LLVMValueRef gpuval_lvp_any_lane(struct gpuval_lvp_soa *soa, LLVMValueRef mask);
/** A number: the first bit that is set in a vector of bits, or the last one where none is */
LLVMValueRef gpuval_lvp_first_bit(struct gallivm_state *gallivm, LLVMValueRef vector);
/** A number: the first lane in @mask, or the last one where there is none */
LLVMValueRef gpuval_lvp_find_lane(struct gpuval_lvp_soa *soa, LLVMValueRef mask);
LLVMValueRef gpuval_lvp_get_component(struct gpuval_lvp_soa *soa, const nir_src *src,
                                      unsigned component);

/** A source of 1 bit: ~0 or 0 in each lane; and what an instruction of 1 bit leaves of such a mask */
LLVMValueRef gpuval_lvp_get_bool(struct gpuval_lvp_soa *soa, const nir_src *src);
LLVMValueRef gpuval_lvp_bool_result(struct gpuval_lvp_soa *soa, LLVMValueRef mask);

/** Halves of a value of 64 bits; @shift is 32, of its type. */
void gpuval_lvp_split_64(struct gallivm_state *gallivm, LLVMValueRef value, LLVMValueRef shift,
                         LLVMTypeRef half_type, LLVMValueRef halves[2]);

/** As many lanes as @length; those that there are not are zero, and with that inactive. */
LLVMValueRef gpuval_lvp_resize(struct gpuval_lvp_soa *soa, LLVMValueRef value, unsigned length);
/** A word as functions have it */
LLVMValueRef gpuval_lvp_argument(struct gpuval_lvp_soa *soa, LLVMValueRef word);
LLVMValueRef gpuval_lvp_constant(struct gpuval_lvp_soa *soa, uint32_t word);
/** Calls one for the lanes in @mask. */
LLVMValueRef gpuval_lvp_call(struct gpuval_lvp_soa *soa, unsigned function, LLVMValueRef mask,
                             const LLVMValueRef *words, unsigned num_words, unsigned num_results);

/** A constant of the module, of at most GPUVAL_LVP_MAX_TABLE words: a pointer to the first one */
LLVMValueRef gpuval_lvp_add_table(struct gpuval_lvp_soa *soa, const uint32_t *words,
                                  unsigned count);
#define GPUVAL_LVP_MAX_TABLE 64
static_assert(GPUVAL_LVP_RANGES_HEADER + GPUVAL_LVP_MAX_PENDING * GPUVAL_LVP_RANGE_WORDS <=
                    GPUVAL_LVP_MAX_TABLE &&
                 GPUVAL_LVP_REPORTS_HEADER + GPUVAL_LVP_MAX_PENDING * GPUVAL_LVP_REPORTS_WORDS <=
                    GPUVAL_LVP_MAX_TABLE &&
                 GPUVAL_LVP_LOOK_TABLE_SIZE <= GPUVAL_LVP_MAX_TABLE &&
                 GPUVAL_LVP_OUTSIDE_WORDS <= GPUVAL_LVP_MAX_TABLE,
              "");

/** Function number @function of the table in constant buffer 0 */
LLVMValueRef gpuval_lvp_load_function(struct gpuval_lvp_soa *soa, unsigned function,
                                      LLVMTypeRef type);
/** Loads the same for a function that calls another one. @type: of that one */
LLVMValueRef gpuval_lvp_load_called(struct gallivm_state *gallivm, LLVMTypeRef resources_type,
                                    LLVMValueRef resources, unsigned function, LLVMTypeRef type);

static inline bool
gpuval_lvp_is_of_set(const nir_intrinsic_instr *instr, unsigned set)
{
   return instr->intrinsic == nir_intrinsic_report_gpuval && nir_intrinsic_desc_set(instr) == set;
}

/* gpuval_lvp_gallivm_conditions.c */

/** Sources of @check_buffer_gpuval */
enum {
   GPUVAL_LVP_CHECK_BUFFER_INDEX, /* as lvp_lower_pipeline_layout makes it: set + 1, slot */
   GPUVAL_LVP_CHECK_BUFFER_OFFSET,
   GPUVAL_LVP_CHECK_BUFFER_EXCLUDED,
   GPUVAL_LVP_CHECK_BUFFER_INVOCATION,
};

/** Of an intrinsic that has one: ~0 or 0 in each lane */
LLVMValueRef gpuval_lvp_get_condition(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr);

/* gpuval_lvp_gallivm_sync.c */

/** Is it one that gpuval_lvp_call_sync() calls: of loads and stores that are no atomics? */
bool gpuval_lvp_is_plain_sync(unsigned function);
/** Calls GPUVAL_FUNCTION_SYNC_LOAD and its like; @words are as of GPUVAL_FUNCTION_SYNC. */
void gpuval_lvp_call_sync(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr,
                          unsigned function, LLVMValueRef mask, const LLVMValueRef *words);

/** Is this @sync_gpuval a load that is the same in all invocations of a command? */
bool gpuval_lvp_is_uniform_load(const nir_intrinsic_instr *instr);
/** 1 bit: is there nothing to do for these loads? */
LLVMValueRef gpuval_lvp_are_known_loads(struct gpuval_lvp_soa *soa,
                                        const nir_intrinsic_instr *const *instrs, unsigned count);

/* gpuval_lvp_gallivm_address.c */

/** @check_address_gpuval */
LLVMValueRef gpuval_lvp_check_address(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *check);

/* gpuval_lvp_gallivm_rows.c */

/** Looks at @ranges, @count of GPUVAL_REPORT_RANGE. */
void gpuval_lvp_call_ranges(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *const *ranges,
                            unsigned count);

/**
 * Calls the report's function for the first of @reports whose words are constants, each for the
 * lanes in its one of @masks. Returns how many these are, at most @count.
 */
unsigned gpuval_lvp_call_reports(struct gpuval_lvp_soa *soa,
                                 const nir_intrinsic_instr *const *reports,
                                 const LLVMValueRef *masks, unsigned count);

/* gpuval_lvp_gallivm_coverage.c */

/** Adds to the counter of @report, one of GPUVAL_REPORT_COVERED. */
void gpuval_lvp_add_covered(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *report);

/* gpuval_lvp_gallivm_descriptor.c */

/** @look_gpuval, or @call_gpuval of GPUVAL_FUNCTION_DESCRIPTOR: its result, a word in each lane */
LLVMValueRef gpuval_lvp_look(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr);
/** @check_buffer_gpuval by GPUVAL_FUNCTION_OUTSIDE */
void gpuval_lvp_call_outside(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *check);

/* gpuval_lvp_gallivm_load.c */

/** Words of the source of @load_descriptor_gpuval: the set's constant buffer, which descriptor, and
 * which four of its words, a constant in bytes
 */
enum {
   GPUVAL_LVP_LOAD_BUFFER,
   GPUVAL_LVP_LOAD_SLOT,
   GPUVAL_LVP_LOAD_OFFSET,
};

/**
 * Four words of a descriptor, @offset bytes from where it begins; 0 where no set is bound that has
 * it. Returns whether @slot is the same in all lanes: then they are numbers, else vectors.
 */
bool gpuval_lvp_load_descriptor(struct gpuval_lvp_soa *soa, LLVMValueRef buffer, nir_scalar slot,
                                unsigned offset, LLVMValueRef words[4]);
/** Is the slot of @load, one of @load_descriptor_gpuval, a constant; the same in all lanes? */
bool gpuval_lvp_loads_constant(const nir_intrinsic_instr *load);
bool gpuval_lvp_loads_one(const nir_intrinsic_instr *load);
bool gpuval_lvp_is_one_slot(nir_scalar slot);
/** @load_descriptor_gpuval */
void gpuval_lvp_visit_load(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *load,
                           LLVMValueRef result[4]);

/* gpuval_lvp_gallivm_lanes.c */

/** As gpuval_lvp_visit_intrinsic(): loads and stores of cells. */
bool gpuval_lvp_visit_lanes(struct gpuval_lvp_soa *soa, const nir_intrinsic_instr *instr,
                            LLVMValueRef *result);

/* Addresses are vectors of 64 bits, pointers one a lane, words vectors of 32 bits. */
void gpuval_lvp_lane_pointers(struct gallivm_state *gallivm, LLVMValueRef addresses, unsigned base,
                              LLVMTypeRef type, LLVMValueRef *pointers);
/** Of vectors of four words; @length lanes, @alignment in bytes */
void gpuval_lvp_load_fours(struct gallivm_state *gallivm, const LLVMValueRef *pointers,
                           unsigned length, unsigned alignment, LLVMValueRef words[4]);
/** Of 64 bits */
void gpuval_lvp_load_twos(struct gallivm_state *gallivm, const LLVMValueRef *pointers,
                          unsigned length, LLVMValueRef words[2]);
void gpuval_lvp_store_twos(struct gallivm_state *gallivm, const LLVMValueRef words[2],
                           const LLVMValueRef *pointers);

#endif
