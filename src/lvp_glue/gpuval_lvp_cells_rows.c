/* SPDX-License-Identifier: MIT */

/* One look for all lanes: accesses to whole words that stand side by side, as do their cells, where
 * no lane meets another; and loads of the same words, which others have loaded before.
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

/* Where an access begins */
static LLVMValueRef
make_address(const struct cells *c, LLVMValueRef lo, LLVMValueRef hi)
{
   LLVMValueRef address =
      or_(c, LLVMBuildZExt(c->b, lo, c->i64, ""),
          LLVMBuildShl(c->b, LLVMBuildZExt(c->b, hi, c->i64, ""), imm64(c, 32), ""));
   return LLVMBuildAdd(c->b, address, c->args[GPUVAL_LVP_SYNC_BASE], "");
}

/* Goes on at @otherwise unless whole words, of one size, are looked at, at @address: one for all
 * lanes, or one each. Returns where the cells are.
 */
static LLVMValueRef
find_cells(const struct cells *c, LLVMValueRef address, LLVMBasicBlockRef otherwise)
{
   const bool is_vector = LLVMGetTypeKind(LLVMTypeOf(address)) == LLVMVectorTypeKind;
   const uint64_t all = BITFIELD64_MASK(c->num_lanes);
   LLVMBasicBlockRef plain = create_block(c, "plain");
   LLVMValueRef window = load_data(c, offsetof(struct gpuval_command_data, shadow_window), c->i64);
   LLVMValueRef words = load_data(c, offsetof(struct gpuval_command_data, shadow_words), c->i64);
   LLVMValueRef last = imm64(c, LAST_DISTANCE), parts = imm64(c, GPUVAL_SHADOW_WORD - 1);
   LLVMValueRef none = imm64(c, 0), scale = imm64(c, util_logbase2(GPUVAL_SHADOW_WORDS_SCALE));
   LLVMValueRef *each_one[] = {&window, &words, &last, &parts, &none, &scale};

   for (unsigned i = 0; i < ARRAY_SIZE(each_one) && is_vector; i++)
      *each_one[i] = each(c, *each_one[i]);
   LLVMValueRef distance = LLVMBuildSub(c->b, address, window, "");
   LLVMValueRef is_plain = and_(c, compare(c, LLVMIntULE, distance, last),
                                compare(c, LLVMIntEQ, and_(c, address, parts), none));
   if (is_vector)
      is_plain = all_of(c, is_plain, all);
   LLVMValueRef sizes = compare(c, LLVMIntEQ, c->args[GPUVAL_LVP_SYNC_SIZE], each(c, c->size));
   is_plain = and_(c, is_plain, all_of(c, or_(c, sizes, not_(c, c->lanes)), all));
   is_plain = and_(c, is_plain, compare(c, LLVMIntNE, c->command, imm(c, 0)));
   LLVMBuildCondBr(c->b, is_plain, plain, otherwise);

   continue_at(c, plain);
   return LLVMBuildAdd(c->b, words, LLVMBuildShl(c->b, address, scale, ""), "");
}

/* How the cells of @count words differ from what leaves a load nothing to do: the writers are past,
 * and the readers are several workgroups' of this command. The most of that and of @distance,
 * which may be NULL; is_known() says what it means.
 */
static LLVMValueRef
add_distance(const struct cells *c, LLVMValueRef cells, unsigned count, LLVMValueRef distance)
{
   const unsigned step = count % 2 ? 1 : 2; /* cells of one vector */
   LLVMTypeRef type = LLVMVectorType(c->i32, 4 * step);
   LLVMValueRef expected = LLVMGetUndef(type), hi = first_lane(c, c->mark.hi);

   for (unsigned i = 0; i < step; i++) {
      const LLVMValueRef cell[4] = {imm(c, 0), imm(c, 0), imm(c, UINT32_MAX), hi};
      for (unsigned j = 0; j < ARRAY_SIZE(cell); j++)
         expected = LLVMBuildInsertElement(c->b, expected, cell[j], imm(c, 4 * i + j), "");
   }
   for (unsigned i = 0; i < count; i += step) {
      LLVMValueRef cell = load_at(c, cells, i * GPUVAL_SHADOW_CELL_SIZE, type);
      LLVMSetAlignment(cell, GPUVAL_SHADOW_CELL_SIZE);
      LLVMValueRef is = differs(c, cell, expected);
      distance = distance ? most(c, distance, is) : is;
   }
   return distance;
}

static LLVMValueRef
is_known(const struct cells *c, LLVMValueRef distance)
{
   LLVMTypeRef type = LLVMTypeOf(distance);
   const LLVMValueRef limits[4] = {
      imm(c, UINT32_MAX), /* any */
      c->ordered,
      imm(c, ~EVERYBODY + 1),
      imm(c, GPUVAL_SHADOW_ATOMIC),
   };
   LLVMValueRef limit = LLVMGetUndef(type);

   for (unsigned i = 0; i < LLVMGetVectorSize(type); i++)
      limit = LLVMBuildInsertElement(c->b, limit, limits[i % 4], imm(c, i), "");
   return all_of(c, compare(c, LLVMIntULT, distance, limit),
                 ALL_BUT_WRITERS & BITFIELD_MASK(LLVMGetVectorSize(type)));
}

static void
return_if(const struct cells *c, LLVMValueRef condition, LLVMBasicBlockRef otherwise)
{
   LLVMBasicBlockRef known = create_block(c, "known");

   LLVMBuildCondBr(c->b, condition, known, otherwise);
   continue_at(c, known);
   LLVMBuildRetVoid(c->b);
}

/* All lanes load the same @count words, whose cells begin at @cells. */
static void
build_same(const struct cells *c, LLVMValueRef cells, unsigned count, LLVMBasicBlockRef otherwise)
{
   return_if(c, is_known(c, add_distance(c, cells, count, NULL)), otherwise);
}

/* Each lane loads @count words of its own, whose cells begin at its element of @cells. */
static void
build_each(const struct cells *c, LLVMValueRef cells, unsigned count, LLVMBasicBlockRef otherwise)
{
   LLVMValueRef distance = NULL;

   for (unsigned i = 0; i < c->num_lanes; i++) {
      LLVMValueRef first = LLVMBuildExtractElement(c->b, cells, imm(c, i), "");
      distance = add_distance(c, first, count, distance);
   }
   return_if(c, is_known(c, distance), otherwise);
}

/* Cases by how many words a lane accesses */
static void
build_sizes(const struct cells *c, LLVMValueRef cells,
            void (*build)(const struct cells *c, LLVMValueRef cells, unsigned count,
                          LLVMBasicBlockRef otherwise),
            LLVMBasicBlockRef otherwise)
{
   static const unsigned sizes[] = {1, 2, 3, 4};
   LLVMValueRef choice = LLVMBuildSwitch(c->b, c->size, otherwise, ARRAY_SIZE(sizes));

   for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
      LLVMBasicBlockRef block = create_block(c, "size");

      LLVMAddCase(choice, imm(c, sizes[i] * GPUVAL_SHADOW_WORD), block);
      continue_at(c, block);
      build(c, cells, sizes[i], otherwise);
   }
}

/* Loads of those lanes that run, which others have loaded before: of the same words, or of any */
static void
build_loads(const struct cells *c, LLVMBasicBlockRef otherwise)
{
   LLVMValueRef lo = c->args[GPUVAL_LVP_SYNC_ADDRESS], hi = c->args[GPUVAL_LVP_SYNC_ADDRESS + 1];
   LLVMBasicBlockRef same = create_block(c, "same"), apart = create_block(c, "apart");
   const uint64_t all = BITFIELD64_MASK(c->num_lanes);

   LLVMValueRef first = gpuval_lvp_cells_first(c);
   LLVMValueRef first_lo = LLVMBuildExtractElement(c->b, lo, first, "");
   LLVMValueRef first_hi = LLVMBuildExtractElement(c->b, hi, first, "");
   LLVMValueRef alike = and_(c, compare(c, LLVMIntEQ, lo, each(c, first_lo)),
                             compare(c, LLVMIntEQ, hi, each(c, first_hi)));
   LLVMValueRef idle = not_(c, c->lanes);
   LLVMBuildCondBr(c->b, all_of(c, or_(c, alike, idle), all), same, apart);

   continue_at(c, same);
   LLVMValueRef cells = find_cells(c, make_address(c, first_lo, first_hi), otherwise);
   build_sizes(c, cells, build_same, otherwise);

   /* Lanes that do not run load what the first one does. */
   continue_at(c, apart);
   LLVMValueRef addresses = gpuval_lvp_cells_addresses(c);
   addresses = LLVMBuildSelect(c->b, c->lanes, addresses,
                               each(c, LLVMBuildExtractElement(c->b, addresses, first, "")), "");
   build_sizes(c, find_cells(c, addresses, otherwise), build_each, otherwise);
}

void
gpuval_lvp_cells_build_rows(struct cells *c, LLVMValueRef next)
{
   LLVMValueRef lo = c->args[GPUVAL_LVP_SYNC_ADDRESS], hi = c->args[GPUVAL_LVP_SYNC_ADDRESS + 1];
   LLVMValueRef first_lo = first_lane(c, lo), first_hi = first_lane(c, hi);
   LLVMBasicBlockRef row = create_block(c, "row"), otherwise = create_block(c, "otherwise");
   LLVMBasicBlockRef no_row = c->is_read ? create_block(c, "no_row") : otherwise;
   LLVMValueRef lanes[MAX_LANES];

   for (unsigned i = 0; i < c->num_lanes; i++)
      lanes[i] = imm(c, i);
   LLVMValueRef offsets =
      LLVMBuildMul(c->b, each(c, c->size), LLVMConstVector(lanes, c->num_lanes), "");
   LLVMValueRef alike =
      and_(c, c->lanes,
           and_(c, compare(c, LLVMIntEQ, lo, LLVMBuildAdd(c->b, each(c, first_lo), offsets, "")),
                compare(c, LLVMIntEQ, hi, each(c, first_hi))));
   LLVMBuildCondBr(c->b, all_of(c, alike, BITFIELD64_MASK(c->num_lanes)), row, no_row);

   continue_at(c, row);
   LLVMValueRef cells = find_cells(c, make_address(c, first_lo, first_hi), otherwise);
   build_sizes(c, cells, build_row, otherwise);

   if (c->is_read) {
      continue_at(c, no_row);
      build_loads(c, otherwise);
   }

   continue_at(c, otherwise);
   gpuval_lvp_cells_return_call(
      c, gpuval_lvp_sync_type(c->gallivm, LLVMTypeOf(c->args[GPUVAL_LVP_SYNC_RESOURCES])), next,
      c->args);
}
