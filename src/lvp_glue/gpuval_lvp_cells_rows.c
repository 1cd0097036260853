/* SPDX-License-Identifier: MIT */

/* Accesses of all lanes to whole words that stand side by side, as do their cells: then no
 * lane meets another, and one look is enough for all of them.
 */

#include "gpuval_lvp_cells_private.h"

/* A vector of these is four cells, each of them the writer's words and the readers'. */
#define FOUR            4
#define WORDS_OF_FOUR   (FOUR * GPUVAL_SHADOW_CELL_SIZE / 4)
#define HALVES_OF_FOUR  (FOUR * GPUVAL_SHADOW_CELL_SIZE / 8)
#define WRITERS_ARE_OLD 0x2222
#define ALL_ARE_OLD     0xaaaa
#define ALL_BUT_WRITERS 0xeeee /* ... lower words */

/* Of the cells from number @first on, if a lane has @per_lane of them: in their writers'
 * halves @writers, in their readers' @readers, of each lane 64 bits
 */
static LLVMValueRef
arrange(const struct cells *c, LLVMValueRef writers, LLVMValueRef readers, unsigned first,
        unsigned per_lane)
{
   LLVMValueRef elements[HALVES_OF_FOUR];

   for (unsigned i = 0; i < FOUR; i++) {
      unsigned lane = (first + i) / per_lane;
      elements[2 * i] = imm(c, lane);
      elements[2 * i + 1] = imm(c, c->num_lanes + lane);
   }
   return LLVMBuildShuffleVector(c->b, writers, readers, LLVMConstVector(elements, HALVES_OF_FOUR),
                                 "");
}

/* The same four words again and again */
static LLVMValueRef
repeat(const struct cells *c, LLVMValueRef const words[4])
{
   LLVMTypeRef type = LLVMVectorType(c->i32, WORDS_OF_FOUR);
   LLVMValueRef vector = LLVMGetUndef(type), elements[WORDS_OF_FOUR];

   for (unsigned i = 0; i < 4; i++)
      vector = LLVMBuildInsertElement(c->b, vector, words[i], imm(c, i), "");
   for (unsigned i = 0; i < WORDS_OF_FOUR; i++)
      elements[i] = imm(c, i % 4);
   return LLVMBuildShuffleVector(c->b, vector, vector, LLVMConstVector(elements, WORDS_OF_FOUR),
                                 "");
}

/* One half of each of four cells */
static void
store_halves(const struct cells *c, LLVMValueRef cells, LLVMValueRef pointer, bool readers)
{
   LLVMTypeRef types[2] = {LLVMTypeOf(cells), LLVMTypeOf(pointer)};
   LLVMTypeRef bit = LLVMInt1TypeInContext(c->gallivm->context);
   LLVMValueRef mask[HALVES_OF_FOUR];
   unsigned id = LLVMLookupIntrinsicID("llvm.masked.store", strlen("llvm.masked.store"));
   LLVMValueRef store = LLVMGetIntrinsicDeclaration(c->gallivm->module, id, types, 2);

   for (unsigned i = 0; i < HALVES_OF_FOUR; i++)
      mask[i] = LLVMConstInt(bit, i % 2 == readers, 0);
   LLVMValueRef args[] = {cells, pointer, imm(c, GPUVAL_SHADOW_CELL_SIZE),
                          LLVMConstVector(mask, HALVES_OF_FOUR)};
   LLVMBuildCall2(c->b, LLVMIntrinsicGetType(c->gallivm->context, id, types, 2), store, args,
                  ARRAY_SIZE(args), "");
}

/* All lanes have @per_lane words side by side, whose cells begin at @cells. What cannot be told
 * of all at once goes on at @otherwise.
 *
 *    a load, a store    all that there is in the cells is past
 *    a load             the writers are, and the readers are several workgroups' of this command
 *    a store            the writers are, and each lane has loaded itself what it stores
 */
static void
build_row(const struct cells *c, LLVMValueRef cells, unsigned per_lane, LLVMBasicBlockRef otherwise)
{
   LLVMTypeRef words_type = LLVMVectorType(c->i32, WORDS_OF_FOUR);
   LLVMTypeRef halves_type = LLVMVectorType(c->i64, HALVES_OF_FOUR);
   unsigned count = c->num_lanes * per_lane / FOUR;
   LLVMValueRef pointers[MAX_LANES], fours[MAX_LANES], newest = NULL;

   for (unsigned i = 0; i < count; i++) {
      LLVMValueRef address =
         LLVMBuildAdd(c->b, cells, imm64(c, i * FOUR * GPUVAL_SHADOW_CELL_SIZE), "");
      pointers[i] = pointer_to(c, address, halves_type);
      fours[i] = LLVMBuildLoad2(c->b, words_type, pointer_to(c, address, words_type), "");
      LLVMSetAlignment(fours[i], GPUVAL_SHADOW_CELL_SIZE);
      newest = newest ? most(c, newest, fours[i]) : fours[i];
   }

   LLVMValueRef marks =
      LLVMBuildOr(c->b, LLVMBuildZExt(c->b, c->mark.lo, c->vec64, ""),
                  LLVMBuildShl(c->b, LLVMBuildZExt(c->b, c->mark.hi, c->vec64, ""),
                               splat(c, imm64(c, 32), c->num_lanes), ""),
                  "");
   LLVMValueRef nobody = LLVMConstNull(c->vec64);
   LLVMBasicBlockRef past = create_block(c, "past"), closer = create_block(c, "closer");
   LLVMBasicBlockRef known = create_block(c, "known");

   LLVMValueRef ordered = splat(c, c->ordered, WORDS_OF_FOUR);
   LLVMBuildCondBr(c->b, all_of(c, compare(c, LLVMIntULT, newest, ordered), ALL_ARE_OLD), past,
                   closer);

   continue_at(c, past);
   for (unsigned i = 0; i < count; i++)
      store_halves(c, arrange(c, marks, marks, i * FOUR, per_lane), pointers[i], c->is_read);
   LLVMBuildRetVoid(c->b);

   /* As unsigned numbers below these limits: writers as they are, and how readers differ from
    * what they are expected to be.
    */
   continue_at(c, closer);
   const LLVMValueRef limits[4] = {
      imm(c, 0),
      c->ordered,
      c->is_read ? imm(c, ~EVERYBODY + 1) : imm(c, SITES),
      imm(c, GPUVAL_SHADOW_ATOMIC),
   };
   LLVMValueRef expected =
      c->is_read ? or_(c, marks, splat(c, imm64(c, UINT32_MAX), c->num_lanes)) : marks;
   LLVMValueRef distance = NULL;
   for (unsigned i = 0; i < count; i++) {
      LLVMValueRef is = arrange(c, nobody, expected, i * FOUR, per_lane);
      is = differs(c, fours[i], LLVMBuildBitCast(c->b, is, words_type, ""));
      distance = distance ? most(c, distance, is) : is;
   }
   LLVMBuildCondBr(c->b,
                   all_of(c, compare(c, LLVMIntULT, distance, repeat(c, limits)), ALL_BUT_WRITERS),
                   known, otherwise);

   /* A store replaces what its own invocation has loaded. */
   continue_at(c, known);
   for (unsigned i = 0; i < count && !c->is_read; i++) {
      LLVMValueRef store =
         LLVMBuildStore(c->b, arrange(c, marks, nobody, i * FOUR, per_lane), pointers[i]);
      LLVMSetAlignment(store, GPUVAL_SHADOW_CELL_SIZE);
   }
   LLVMBuildRetVoid(c->b);
}

void
gpuval_lvp_cells_build_rows(struct cells *c, LLVMValueRef next)
{
   static const unsigned sizes[] = {1, 2, 3, 4};
   LLVMValueRef lo = c->args[GPUVAL_LVP_SYNC_ADDRESS], hi = c->args[GPUVAL_LVP_SYNC_ADDRESS + 1];
   LLVMValueRef first_lo = first_lane(c, lo), first_hi = first_lane(c, hi);
   LLVMBasicBlockRef row = create_block(c, "row"), rows = create_block(c, "rows");
   LLVMBasicBlockRef otherwise = create_block(c, "otherwise");
   LLVMValueRef lanes[MAX_LANES];

   for (unsigned i = 0; i < c->num_lanes; i++)
      lanes[i] = imm(c, i);
   LLVMValueRef offsets =
      LLVMBuildMul(c->b, each(c, c->size), LLVMConstVector(lanes, c->num_lanes), "");
   LLVMValueRef alike =
      and_(c,
           and_(c, c->lanes,
                compare(c, LLVMIntEQ, lo, LLVMBuildAdd(c->b, each(c, first_lo), offsets, ""))),
           and_(c, compare(c, LLVMIntEQ, hi, each(c, first_hi)),
                compare(c, LLVMIntEQ, c->args[GPUVAL_LVP_SYNC_SIZE], each(c, c->size))));
   LLVMBuildCondBr(c->b, all_of(c, alike, BITFIELD64_MASK(c->num_lanes)), row, otherwise);

   continue_at(c, row);
   LLVMValueRef address =
      or_(c, LLVMBuildZExt(c->b, first_lo, c->i64, ""),
          LLVMBuildShl(c->b, LLVMBuildZExt(c->b, first_hi, c->i64, ""), imm64(c, 32), ""));
   address = LLVMBuildAdd(c->b, address, c->args[GPUVAL_LVP_SYNC_BASE], "");
   LLVMValueRef distance = LLVMBuildSub(
      c->b, address, load_data(c, offsetof(struct gpuval_command_data, shadow_window), c->i64), "");
   LLVMValueRef is_plain = compare(c, LLVMIntULE, distance, imm64(c, LAST_DISTANCE));
   is_plain =
      and_(c, is_plain,
           compare(c, LLVMIntEQ, and_(c, address, imm64(c, GPUVAL_SHADOW_WORD - 1)), imm64(c, 0)));
   is_plain = and_(c, is_plain, compare(c, LLVMIntNE, c->command, imm(c, 0)));
   LLVMBuildCondBr(c->b, is_plain, rows, otherwise);

   continue_at(c, rows);
   LLVMValueRef words = load_data(c, offsetof(struct gpuval_command_data, shadow_words), c->i64);
   LLVMValueRef cells = LLVMBuildAdd(
      c->b, words,
      LLVMBuildShl(c->b, address, imm64(c, util_logbase2(GPUVAL_SHADOW_WORDS_SCALE)), ""), "");
   LLVMValueRef choice = LLVMBuildSwitch(c->b, c->size, otherwise, ARRAY_SIZE(sizes));
   for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
      LLVMBasicBlockRef block = create_block(c, "size");

      LLVMAddCase(choice, imm(c, sizes[i] * GPUVAL_SHADOW_WORD), block);
      continue_at(c, block);
      build_row(c, cells, sizes[i], otherwise);
   }

   continue_at(c, otherwise);
   gpuval_lvp_cells_return_call(
      c, gpuval_lvp_sync_type(c->gallivm, LLVMTypeOf(c->args[GPUVAL_LVP_SYNC_RESOURCES])), next,
      c->args);
}
