/* SPDX-License-Identifier: MIT */

/* Is there a descriptor at a slot that the shader computes? Compiled once for a process:
 *
 *    if the slot is the same in all lanes, and the descriptor there is good:
 *       return 0
 *    result = GPUVAL_FUNCTION_DESCRIPTOR(...)
 *    call GPUVAL_FUNCTION_REPORT for the lanes where it is bad, and where the index differs
 *    return result
 *
 * An index may differ between lanes and yet mostly does not, and what is the same in all lanes is
 * looked up by two dozen scalar instructions. Here anything that could be wrong is not good, as in
 * gpuval_nir_build_constant_use(). Shaders that do not look often have that in front of the call
 * as well: values that are kept across calls are stored and loaded.
 */

#include "gpuval_lvp_look.h"

#include "gallivm/lp_bld_jit_types.h"

#include "gpuval/src/base/gpuval_descriptor.h"
#include "gpuval/src/lvp_glue/gpuval_lvp_nir.h"
#include "gpuval/src/nir_passes/gpuval_nir_functions.h"
#include "gpuval_lvp_cells_private.h"

struct look {
   struct cells c;
   LLVMValueRef args[GPUVAL_LVP_LOOK_COUNT];
   LLVMValueRef words[GPUVAL_LVP_LOOK_TABLE_SIZE]; /* of the table, numbers */
   LLVMValueRef lanes, running;                    /* 1 bit each */
   LLVMValueRef slot;                              /* of a lane that runs */
   LLVMValueRef objects;                           /* where their table begins */
};

static LLVMValueRef
get_more(const struct look *look, enum gpuval_lvp_look_word word)
{
   return look->words[GPUVAL_FUNCTION_DESCRIPTOR_WORDS + word];
}

static void
begin(struct look *look)
{
   const struct cells *c = &look->c;

   look->objects = load_data(c, offsetof(struct gpuval_lvp_command_data, objects_address), c->i64);
   look->lanes = compare(c, LLVMIntNE, look->args[GPUVAL_LVP_LOOK_MASK], LLVMConstNull(c->vec32));
}

static LLVMValueRef
has_flag(const struct look *look, LLVMValueRef flags, uint32_t flag)
{
   const struct cells *c = &look->c;

   return compare(c, LLVMIntNE, and_(c, flags, imm(c, flag << 8)), imm(c, 0));
}

/* 1 bit: has a lane another slot, or index, than the first one? */
static LLVMValueRef
find_others(struct look *look)
{
   const struct cells *c = &look->c;
   LLVMValueRef lane = gpuval_lvp_first_bit(c->gallivm, look->lanes), other = NULL;

   for (unsigned i = GPUVAL_LVP_LOOK_SLOT; i <= GPUVAL_LVP_LOOK_INDEX; i++) {
      LLVMValueRef picked = LLVMBuildExtractElement(c->b, look->args[i], lane, "");
      LLVMValueRef differs = compare(c, LLVMIntNE, look->args[i], each(c, picked));
      other = other ? or_(c, other, differs) : differs;
      if (i == GPUVAL_LVP_LOOK_SLOT)
         look->slot = picked;
   }
   return any(c, and_(c, other, look->lanes));
}

/* Not 0 where the object that @id was given to is not alive */
static LLVMValueRef
find_other_id(const struct look *look, LLVMValueRef id)
{
   const struct cells *c = &look->c;
   LLVMValueRef index = and_(c, id, imm(c, BITFIELD_MASK(GPUVAL_OBJECT_INDEX_BITS)));
   LLVMValueRef offset = LLVMBuildMul(c->b, LLVMBuildZExt(c->b, index, c->i64, ""),
                                      imm64(c, sizeof(struct gpuval_object)), "");
   LLVMValueRef object = LLVMBuildAdd(c->b, look->objects, offset, "");

   return differs(c, load_at(c, object, offsetof(struct gpuval_object, id), c->i32), id);
}

/* Bits of @required that a word of the descriptor does not have */
static LLVMValueRef
find_missing(const struct look *look, LLVMValueRef descriptor, unsigned offset,
             LLVMValueRef required)
{
   const struct cells *c = &look->c;

   return and_(c, not_(c, load_at(c, descriptor, offset, c->i32)), required);
}

/* The same of what it leads to, if one of @types is required */
static LLVMValueRef
find_dead(const struct look *look, LLVMValueRef descriptor, unsigned offset, LLVMValueRef required,
          uint32_t types)
{
   const struct cells *c = &look->c;
   LLVMValueRef is_required = compare(c, LLVMIntNE, and_(c, required, imm(c, types)), imm(c, 0));

   if (LLVMIsConstant(is_required) && LLVMIsNull(is_required))
      return imm(c, 0);
   LLVMValueRef id = load_at(c, descriptor, offset, c->i32);

   /* Of 0, nothing is known: it is alive. */
   return find_other_id(look, LLVMBuildSelect(c->b, is_required, id, imm(c, 0), ""));
}

static LLVMValueRef
is_descriptor_good(const struct look *look, LLVMValueRef descriptor)
{
   const struct cells *c = &look->c;
   LLVMValueRef required = look->words[GPUVAL_USE_WORD_REQUIRED];
   LLVMValueRef bad =
      find_missing(look, descriptor, offsetof(struct gpuval_descriptor, offers),
                   and_(c, required, imm(c, GPUVAL_OFFERS_TYPES | GPUVAL_OFFERS_VIEWS)));

   bad = or_(c, bad,
             find_missing(look, descriptor, offsetof(struct gpuval_descriptor, format),
                          get_more(look, GPUVAL_LVP_LOOK_FORMAT)));
   bad = or_(c, bad,
             find_dead(look, descriptor, offsetof(struct gpuval_descriptor, object), required,
                       GPUVAL_OFFERS_RESOURCES));
   bad = or_(c, bad,
             find_dead(look, descriptor, offsetof(struct gpuval_descriptor, sampler), required,
                       GPUVAL_OFFERS_SAMPLER));
   return compare(c, LLVMIntEQ, bad, imm(c, 0));
}

/* 1 bit: is the slot inside of its binding? */
static LLVMValueRef
is_slot_inside(const struct look *look, LLVMValueRef flags, LLVMValueRef shadow,
               LLVMValueRef has_shadow)
{
   const struct cells *c = &look->c;
   LLVMValueRef is_variable = has_flag(look, flags, GPUVAL_USE_VARIABLE);
   LLVMValueRef is_constant = has_flag(look, flags, GPUVAL_USE_CONSTANT);
   LLVMValueRef num_slots = look->words[GPUVAL_USE_WORD_NUM_SLOTS];

   /* struct gpuval_lvp_set_header; in front of the table of objects is nothing. */
   LLVMValueRef header =
      LLVMBuildSub(c->b, shadow, imm64(c, sizeof(struct gpuval_lvp_set_header)), "");
   header = LLVMBuildSelect(c->b, has_shadow, header, shadow, "");
   LLVMValueRef count =
      load_at(c, header, offsetof(struct gpuval_lvp_set_header, variable_count), c->i32);
   LLVMValueRef limit =
      LLVMBuildSelect(c->b, is_constant, count, LLVMBuildMul(c->b, count, num_slots, ""), "");
   limit = LLVMBuildSelect(c->b, is_variable, limit, num_slots, "");

   /* Of a constant and a variable count, @num_slots is the element. */
   LLVMValueRef relative =
      LLVMBuildSub(c->b, look->slot, look->words[GPUVAL_USE_WORD_FIRST_SLOT], "");
   relative = LLVMBuildSelect(c->b, and_(c, is_variable, is_constant), num_slots, relative, "");
   return compare(c, LLVMIntULT, relative, limit);
}

/* 1 bit. Where there is no shadow or no such slot, it looks at something else. */
static LLVMValueRef
is_good(struct look *look)
{
   const struct cells *c = &look->c;
   LLVMValueRef others = find_others(look);
   LLVMValueRef flags = look->words[GPUVAL_USE_WORD_FLAGS];
   LLVMValueRef set = LLVMBuildZExt(c->b, and_(c, flags, imm(c, 0xff)), c->i64, "");
   LLVMValueRef place =
      LLVMBuildAdd(c->b, c->data, LLVMBuildMul(c->b, set, imm64(c, sizeof(uint64_t)), ""), "");
   LLVMValueRef shadow =
      load_at(c, place, offsetof(struct gpuval_lvp_command_data, shadows), c->i64);
   LLVMValueRef has_shadow = compare(c, LLVMIntNE, shadow, imm64(c, 0));
   shadow = LLVMBuildSelect(c->b, has_shadow, shadow, look->objects, "");

   LLVMValueRef is_inside = is_slot_inside(look, flags, shadow, has_shadow);
   LLVMValueRef is_there = and_(c, has_shadow, is_inside);
   LLVMValueRef slot =
      LLVMBuildZExt(c->b, LLVMBuildSelect(c->b, is_there, look->slot, imm(c, 0), ""), c->i64, "");
   LLVMValueRef descriptor = LLVMBuildAdd(
      c->b, shadow, LLVMBuildMul(c->b, slot, imm64(c, sizeof(struct gpuval_descriptor)), ""), "");
   LLVMValueRef good = and_(c, is_inside, is_descriptor_good(look, descriptor));
   good = and_(c, or_(c, good, not_(c, has_shadow)), not_(c, others));
   return or_(c, good, not_(c, any(c, look->lanes)));
}

LLVMValueRef
gpuval_lvp_build_good(struct gpuval_lvp_soa *soa, const LLVMValueRef *args, const uint32_t *table)
{
   struct look look;
   struct cells *c = &look.c;

   gpuval_lvp_cells_init(c, soa->gallivm, soa->consts_ptr);
   memcpy(look.args, args, sizeof(look.args));
   for (unsigned i = 0; i < ARRAY_SIZE(look.words); i++)
      look.words[i] = imm(c, table[i]);
   begin(&look);
   return is_good(&look);
}

/* The bits of a close look */
static LLVMValueRef
find_result(const struct look *look)
{
   const struct cells *c = &look->c;
   LLVMValueRef words[GPUVAL_FUNCTION_DESCRIPTOR_WORDS];

   for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
      words[i] = each(c, look->words[i]);
   words[GPUVAL_USE_WORD_SLOT] = look->args[GPUVAL_LVP_LOOK_SLOT];
   words[GPUVAL_USE_WORD_INDEX] = look->args[GPUVAL_LVP_LOOK_INDEX];
   words[GPUVAL_USE_WORD_IS_HELPER] =
      LLVMBuildSExt(c->b, and_(c, look->lanes, not_(c, look->running)), c->vec32, "");
   LLVMValueRef result =
      gpuval_lvp_cells_call(c, GPUVAL_FUNCTION_DESCRIPTOR, look->args[GPUVAL_LVP_LOOK_RESOURCES],
                            look->lanes, words, ARRAY_SIZE(words), 1);
   result = LLVMBuildExtractValue(c->b, result, 0, "");
   return LLVMBuildSelect(c->b, look->lanes, result, LLVMConstNull(c->vec32), "");
}

/* Of those @lanes that run; @number: of the entry, behind the first one */
static void
report(const struct look *look, LLVMValueRef lanes, unsigned number)
{
   const struct cells *c = &look->c;
   LLVMValueRef zero = LLVMConstNull(c->vec32);
   LLVMValueRef words[10] = {
      each(c, LLVMBuildAdd(c->b, get_more(look, GPUVAL_LVP_LOOK_ENTRY), imm(c, number), "")),
      each(c, get_more(look, GPUVAL_LVP_LOOK_REPORT)),
      zero, /* detail */
      zero,
      zero,
      zero,
      look->args[GPUVAL_LVP_LOOK_SLOT],
   };
   LLVMBasicBlockRef fails = create_block(c, "report"), next = create_block(c, "next");

   lanes = and_(c, lanes, look->running);
   LLVMBuildCondBr(c->b, any(c, lanes), fails, next);

   continue_at(c, fails);
   for (unsigned i = 0; i < 3; i++)
      words[7 + i] = load_vector(c, look->args[GPUVAL_LVP_LOOK_INVOCATION], i);
   gpuval_lvp_cells_call(c, GPUVAL_FUNCTION_REPORT, look->args[GPUVAL_LVP_LOOK_RESOURCES], lanes,
                         words, ARRAY_SIZE(words), 0);
   LLVMBuildBr(c->b, next);
   continue_at(c, next);
}

static LLVMValueRef
has_result(const struct look *look, LLVMValueRef result, uint32_t mask, uint32_t bits)
{
   const struct cells *c = &look->c;

   return compare(c, LLVMIntEQ, and_(c, result, each_imm(c, mask)), each_imm(c, bits));
}

static void
build_body(struct look *look)
{
   const struct cells *c = &look->c;
   LLVMBasicBlockRef good = create_block(c, "good"), bad = create_block(c, "bad");
   LLVMBasicBlockRef reports = create_block(c, "reports"), end = create_block(c, "end");
   LLVMBuildCondBr(c->b, is_good(look), good, bad);

   continue_at(c, good);
   LLVMBuildRet(c->b, LLVMConstNull(c->vec32));

   continue_at(c, bad);
   LLVMValueRef result = find_result(look);
   LLVMValueRef is_reported =
      compare(c, LLVMIntNE, get_more(look, GPUVAL_LVP_LOOK_REPORT), imm(c, 0));
   LLVMBuildCondBr(c->b, is_reported, reports, end);

   continue_at(c, reports);
   report(look, has_result(look, result, 1, 1), 0);
   report(look, has_result(look, result, 3, 2), 1);
   LLVMBuildBr(c->b, end);

   continue_at(c, end);
   LLVMBuildRet(c->b, result);
}

LLVMValueRef
gpuval_lvp_build_look(struct gallivm_state *gallivm, LLVMTypeRef resources_type, const char *name)
{
   LLVMTypeRef type = gpuval_lvp_look_type(gallivm, LLVMPointerType(resources_type, 0));
   struct look look;
   struct cells *c = &look.c;

   gpuval_lvp_cells_begin(c, gallivm, resources_type, LLVMAddFunction(gallivm->module, name, type),
                          GPUVAL_LVP_LOOK_RESOURCES);
   LLVMGetParams(c->function, look.args);
   for (unsigned i = 0; i < ARRAY_SIZE(look.words); i++) {
      LLVMValueRef place = imm(c, i);
      look.words[i] = LLVMBuildLoad2(
         c->b, c->i32, LLVMBuildGEP2(c->b, c->i32, look.args[GPUVAL_LVP_LOOK_TABLE], &place, 1, ""),
         "");
   }
   begin(&look);
   look.running =
      compare(c, LLVMIntNE, look.args[GPUVAL_LVP_LOOK_RUNNING], LLVMConstNull(c->vec32));
   build_body(&look);
   gallivm_verify_function(gallivm, c->function);
   return c->function;
}
