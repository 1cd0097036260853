/* SPDX-License-Identifier: MIT */

/* Accesses to whole words anywhere: lane by lane the cells are taken, and stored what becomes
 * of them, one word of each lane at a time. What is in between is code for all lanes at once.
 */

#include "gpuval_lvp_cells_private.h"

void
gpuval_lvp_cells_return_rest(const struct cells *c, unsigned function, LLVMValueRef mask,
                             LLVMValueRef addresses, LLVMValueRef flag)
{
   LLVMTypeRef array_type = gpuval_lvp_sync_array_type(c->gallivm);
   LLVMValueRef args[LP_RESV_FUNC_ARGS + GPUVAL_SYNC_WORD_COUNT] = {
      mask,
      c->args[GPUVAL_LVP_SYNC_RESOURCES],
   };
   LLVMValueRef *words = &args[LP_RESV_FUNC_ARGS];

   words[0] = each(c, c->args[GPUVAL_LVP_SYNC_ENTRY]);
   words[GPUVAL_FUNCTION_WORD] = or_(c, each(c, c->args[GPUVAL_LVP_SYNC_WORD]), flag);
   gpuval_lvp_split_64(c->gallivm, addresses, each(c, imm64(c, 32)), c->vec32,
                       &words[GPUVAL_SYNC_WORD_ADDRESS]);
   words[GPUVAL_SYNC_WORD_SIZE] = c->args[GPUVAL_LVP_SYNC_SIZE];
   words[GPUVAL_SYNC_WORD_ID] = c->args[GPUVAL_LVP_SYNC_ID];
   words[GPUVAL_SYNC_WORD_TOKEN] = each(c, c->token);
   words[GPUVAL_SYNC_WORD_PHASE] = c->args[GPUVAL_LVP_SYNC_PHASE];
   for (unsigned i = 0; i < GPUVAL_LVP_SYNC_ARRAY_SIZE; i++) {
      LLVMValueRef indices[2] = {imm(c, 0), imm(c, i)};
      LLVMValueRef element = LLVMBuildGEP2(c->b, array_type, c->args[GPUVAL_LVP_SYNC_ARRAY],
                                           indices, ARRAY_SIZE(indices), "");
      bool is_there = gpuval_lvp_sync_array[i] != GPUVAL_SYNC_WORD_VALUE || !c->is_read;
      words[gpuval_lvp_sync_array[i]] =
         is_there ? LLVMBuildLoad2(c->b, c->vec32, element, "") : LLVMConstNull(c->vec32);
   }
   LLVMTypeRef type =
      gpuval_lvp_function_type(c->gallivm, LLVMTypeOf(args[1]), GPUVAL_SYNC_WORD_COUNT, 0);
   LLVMValueRef rest =
      gpuval_lvp_load_called(c->gallivm, c->resources_type, args[1], function, type);
   gpuval_lvp_cells_return_call(c, type, rest, args);
}

/* Loads and stores of cells at @addresses; lanes that do not run access memory of nobody. */
static void
get_pointers(const struct cells *c, LLVMValueRef addresses, LLVMValueRef runs, LLVMValueRef nobody,
             unsigned offset, LLVMTypeRef type, LLVMValueRef *pointers)
{
   addresses = LLVMBuildSelect(c->b, runs, addresses, each(c, nobody), "");
   gpuval_lvp_lane_pointers(c->gallivm, addresses, offset, type, pointers);
}

static LLVMValueRef
is_own(const struct cells *c, const struct half *half)
{
   return and_(c, below(c, differs(c, half->hi, c->mark.hi), GPUVAL_SHADOW_ATOMIC),
               below(c, differs(c, half->lo, c->mark.lo), SITES));
}

static LLVMValueRef
is_past(const struct cells *c, const struct half *half)
{
   return or_(c, compare(c, LLVMIntULT, half->hi, each(c, c->ordered)), is_own(c, half));
}

static LLVMValueRef
is_self(const struct cells *c, const struct half *half)
{
   return and_(c, compare(c, LLVMIntEQ, half->hi, c->mark.hi),
               below(c, differs(c, half->lo, c->mark.lo), SITES));
}

/* What there is to do in a word, 1 bit a lane */
struct verdict {
   LLVMValueRef covered; /* nothing: the cell says already what this access would write */
   LLVMValueRef writes;  /* its mark, with */
   LLVMValueRef lo;
   LLVMValueRef forgets; /* the readers; NULL: of a load */
};

/* Whether anything was released and acquired: then loads do not join others unseen. */
static LLVMValueRef
load_may_join(const struct cells *c)
{
   LLVMValueRef root = load_data(c, offsetof(struct gpuval_command_data, root_address), c->i64);
   LLVMValueRef layout = load_at(c, root, offsetof(struct gpuval_root, shadow_address), c->i64);
   LLVMValueRef now = load_at(c, layout, offsetof(struct gpuval_shadow_layout, now), c->i32);

   return compare(c, LLVMIntEQ, now, imm(c, 0));
}

/* As gpuval_shadow_joins() and gpuval_shadow_is_as_far() have it */
static struct verdict
look_at_readers(const struct cells *c, const struct half *writer, const struct half *readers,
                LLVMValueRef may_join)
{
   LLVMValueRef lo = differs(c, readers->lo, c->mark.lo), hi = differs(c, readers->hi, c->mark.hi);
   LLVMValueRef same_phase = compare(c, LLVMIntEQ, hi, LLVMConstNull(c->vec32));
   LLVMValueRef alike = below(c, hi, GPUVAL_SHADOW_ATOMIC);
   LLVMValueRef past = is_past(c, readers);
   LLVMValueRef covered =
      or_(c, is_self(c, readers),
          and_(c, alike, compare(c, LLVMIntUGE, readers->lo, each_imm(c, EVERYBODY))));

   LLVMValueRef zero = LLVMConstNull(c->vec32);
   LLVMValueRef distance = LLVMBuildLShr(c->b, and_(c, lo, each_imm(c, INVOCATION)),
                                         each_imm(c, GPUVAL_SHADOW_INVOCATION_SHIFT), "");
   LLVMValueRef workgroup_shift = each(c, bits(c, c->token, 0, 31));
   LLVMValueRef subgroup_shift = each(c, bits(c, c->token, 8, 31));
   LLVMValueRef same_workgroup =
      compare(c, LLVMIntEQ, LLVMBuildLShr(c->b, distance, workgroup_shift, ""), zero);
   LLVMValueRef same_subgroup =
      compare(c, LLVMIntEQ, LLVMBuildLShr(c->b, distance, subgroup_shift, ""), zero);
   LLVMValueRef far = LLVMBuildSelect(c->b, same_subgroup, each_imm(c, GPUVAL_SHADOW_SUBGROUP),
                                      each_imm(c, GPUVAL_SHADOW_WORKGROUP), "");
   far = LLVMBuildSelect(c->b, same_workgroup, far, each_imm(c, GPUVAL_SHADOW_WORKGROUPS), "");
   LLVMValueRef share =
      LLVMBuildLShr(c->b, readers->lo, each_imm(c, GPUVAL_SHADOW_SHARE_SHIFT), "");
   far = most(c, far, share);
   LLVMValueRef joined =
      or_(c, c->mark.lo, LLVMBuildShl(c->b, far, each_imm(c, GPUVAL_SHADOW_SHARE_SHIFT), ""));

   LLVMValueRef phase =
      and_(c, c->mark.hi, each_imm(c, GPUVAL_SHADOW_PHASE_UNKNOWN << GPUVAL_SHADOW_PHASE_SHIFT));
   LLVMValueRef sub = and_(c, c->mark.hi, each_imm(c, GPUVAL_SHADOW_SUB_UNKNOWN));
   LLVMValueRef is_known =
      and_(c,
           compare(c, LLVMIntNE, phase,
                   each_imm(c, GPUVAL_SHADOW_PHASE_UNKNOWN << GPUVAL_SHADOW_PHASE_SHIFT)),
           compare(c, LLVMIntNE, sub, each_imm(c, GPUVAL_SHADOW_SUB_UNKNOWN)));
   LLVMValueRef apart = or_(c, and_(c, same_phase, is_known), not_(c, same_workgroup));
   LLVMValueRef joins = and_(c, and_(c, alike, apart), and_(c, each(c, may_join), not_(c, past)));
   LLVMValueRef as_far = and_(c, same_phase, compare(c, LLVMIntEQ, far, share));

   covered = or_(c, covered, and_(c, joins, as_far));
   LLVMValueRef other_past = is_past(c, writer);
   return (struct verdict){
      .covered = and_(c, other_past, covered),
      .writes = and_(c, other_past, and_(c, or_(c, past, joins), not_(c, covered))),
      .lo = LLVMBuildSelect(c->b, past, c->mark.lo, joined, ""),
   };
}

static struct verdict
look_at_writer(const struct cells *c, const struct half *writer, const struct half *readers)
{
   LLVMValueRef other_past = is_past(c, readers);
   LLVMValueRef self = is_self(c, writer);
   struct verdict verdict = {
      .covered = and_(c, other_past, self),
      .writes = and_(c, other_past, and_(c, is_past(c, writer), not_(c, self))),
      .lo = c->mark.lo,
   };

   verdict.forgets = and_(c, is_own(c, readers), or_(c, verdict.covered, verdict.writes));
   return verdict;
}

LLVMValueRef
gpuval_lvp_cells_nobody(const struct cells *c)
{
   LLVMTypeRef type = LLVMVectorType(c->i32, 4);
   LLVMValueRef nobody = LLVMBuildAlloca(c->b, type, "nobody");

   LLVMSetAlignment(nobody, GPUVAL_SHADOW_CELL_SIZE);
   return LLVMBuildPtrToInt(c->b, nobody, c->i64, "");
}

static LLVMValueRef
build_phi(const struct cells *c, LLVMTypeRef type, LLVMValueRef value, LLVMBasicBlockRef from)
{
   LLVMValueRef phi = LLVMBuildPhi(c->b, type, "");
   LLVMAddIncoming(phi, &value, &from, 1);
   return phi;
}

/* Leaves marks where @runs. Returns in which lanes they are still there: those that access the
 * same word take them away from each other.
 */
static LLVMValueRef
leave_marks(const struct cells *c, LLVMValueRef cells, LLVMValueRef runs, LLVMValueRef nobody,
            struct half mark)
{
   LLVMValueRef pointers[MAX_LANES], words[2] = {mark.lo, mark.hi}, now[2];

   get_pointers(c, cells, runs, nobody, c->is_read ? GPUVAL_SHADOW_READERS : 0, c->i64, pointers);
   gpuval_lvp_store_twos(c->gallivm, words, pointers);
   gpuval_lvp_load_twos(c->gallivm, pointers, c->num_lanes, now);
   return and_(c, compare(c, LLVMIntEQ, now[0], mark.lo), compare(c, LLVMIntEQ, now[1], mark.hi));
}

/* Lanes that load the same word take their marks away from each other, and then join each other, as
 * in gpuval_nir_shadow.c.
 */
void
gpuval_lvp_cells_build_lanes(struct cells *c)
{
   LLVMTypeRef lanes_type = LLVMTypeOf(c->lanes);
   LLVMTypeRef cell_type = LLVMVectorType(c->i32, 4);
   LLVMValueRef zero = LLVMConstNull(c->vec32);
   LLVMBasicBlockRef loop = create_block(c, "loop"), forget = create_block(c, "forget");
   LLVMBasicBlockRef look = create_block(c, "look"), leave = create_block(c, "leave");
   LLVMBasicBlockRef next = create_block(c, "next"), end = create_block(c, "end");
   LLVMBasicBlockRef left = create_block(c, "left"), done = create_block(c, "done");
   LLVMBasicBlockRef begin = create_block(c, "begin");
   LLVMValueRef pointers[MAX_LANES], words[4];

   LLVMValueRef nobody = gpuval_lvp_cells_nobody(c);
   LLVMValueRef may_join = c->is_read ? load_may_join(c) : NULL;
   LLVMBuildCondBr(c->b, compare(c, LLVMIntNE, c->command, imm(c, 0)), begin, done);

   continue_at(c, begin);
   LLVMValueRef address = gpuval_lvp_cells_addresses(c);
   LLVMValueRef lo = LLVMBuildTrunc(c->b, address, c->vec32, "");
   LLVMValueRef distance = LLVMBuildSub(
      c->b, address,
      each(c, load_data(c, offsetof(struct gpuval_command_data, shadow_window), c->i64)), "");
   LLVMValueRef parts = and_(c, or_(c, lo, each(c, c->size)), each_imm(c, GPUVAL_SHADOW_WORD - 1));
   LLVMValueRef plain =
      and_(c, compare(c, LLVMIntULE, distance, each(c, imm64(c, LAST_DISTANCE))),
           and_(c, compare(c, LLVMIntEQ, parts, zero),
                compare(c, LLVMIntEQ, c->args[GPUVAL_LVP_SYNC_SIZE], each(c, c->size))));
   plain = and_(c, plain, each(c, compare(c, LLVMIntNE, c->size, imm(c, 0))));
   plain = and_(c, plain, c->lanes);
   LLVMValueRef first = LLVMBuildAdd(
      c->b, each(c, load_data(c, offsetof(struct gpuval_command_data, shadow_words), c->i64)),
      LLVMBuildShl(c->b, address, each(c, imm64(c, util_logbase2(GPUVAL_SHADOW_WORDS_SCALE))), ""),
      "");
   LLVMBuildCondBr(c->b, any(c, plain), loop, end);

   continue_at(c, loop);
   LLVMValueRef runs = build_phi(c, lanes_type, plain, begin);
   LLVMValueRef open =
      build_phi(c, lanes_type, plain, begin); /* of these: not done with the word */
   LLVMValueRef joins = build_phi(c, c->i32, imm(c, 0), begin);
   LLVMValueRef taken = build_phi(c, lanes_type, LLVMConstNull(lanes_type), begin);
   LLVMValueRef cells = build_phi(c, c->vec64, first, begin);
   LLVMValueRef size = build_phi(c, c->i32, c->size, begin);
   get_pointers(c, cells, open, nobody, 0, cell_type, pointers);
   gpuval_lvp_load_fours(c->gallivm, pointers, c->num_lanes, 16, words);
   const struct half writer = {words[0], words[1]}, readers = {words[2], words[3]};
   struct verdict verdict = c->is_read ? look_at_readers(c, &writer, &readers, may_join)
                                       : look_at_writer(c, &writer, &readers);
   LLVMValueRef writes = and_(c, verdict.writes, open);
   if (verdict.forgets) {
      LLVMValueRef forgets = and_(c, verdict.forgets, open), nothing[2] = {zero, zero};
      LLVMBuildCondBr(c->b, any(c, forgets), forget, look);
      continue_at(c, forget);
      get_pointers(c, cells, forgets, nobody, GPUVAL_SHADOW_READERS, c->i64, pointers);
      gpuval_lvp_store_twos(c->gallivm, nothing, pointers);
      LLVMBuildBr(c->b, look);
   } else {
      LLVMBuildBr(c->b, look);
      continue_at(c, forget);
      LLVMBuildUnreachable(c->b);
   }

   continue_at(c, look);
   LLVMBuildCondBr(c->b, any(c, writes), leave, next);

   continue_at(c, leave);
   LLVMValueRef there =
      leave_marks(c, cells, writes, nobody, (struct half){verdict.lo, c->mark.hi});
   there = and_(c, there, writes);
   LLVMBasicBlockRef left_marks = LLVMGetInsertBlock(c->b);
   LLVMBuildBr(c->b, next);

   continue_at(c, next);
   LLVMValueRef is_there = build_phi(c, lanes_type, there, left_marks);
   LLVMValueRef none = LLVMConstNull(lanes_type);
   LLVMAddIncoming(is_there, &none, &look, 1);
   LLVMValueRef lost = and_(c, writes, not_(c, is_there));
   LLVMValueRef again = LLVMConstNull(LLVMInt1TypeInContext(c->gallivm->context));
   if (c->is_read)
      again = and_(c, and_(c, may_join, any(c, lost)),
                   compare(c, LLVMIntULT, joins, imm(c, GPUVAL_SHADOW_MAX_JOINS)));
   LLVMValueRef fails = and_(c, open, not_(c, or_(c, verdict.covered, is_there)));
   fails = and_(c, fails, not_(c, LLVMBuildSelect(c->b, again, lost, none, "")));
   LLVMValueRef next_runs = and_(c, runs, not_(c, fails));
   LLVMValueRef next_open = LLVMBuildSelect(c->b, again, lost, next_runs, "");
   LLVMValueRef next_joins =
      LLVMBuildSelect(c->b, again, LLVMBuildAdd(c->b, joins, imm(c, 1), ""), imm(c, 0), "");
   LLVMValueRef next_taken = or_(c, taken, LLVMBuildSelect(c->b, again, none, lost, ""));
   LLVMValueRef next_size = LLVMBuildSub(
      c->b, size, LLVMBuildSelect(c->b, again, imm(c, 0), imm(c, GPUVAL_SHADOW_WORD), ""), "");
   LLVMValueRef step =
      LLVMBuildSelect(c->b, again, imm64(c, 0), imm64(c, GPUVAL_SHADOW_CELL_SIZE), "");
   LLVMValueRef next_cells = LLVMBuildAdd(c->b, cells, each(c, step), "");
   LLVMAddIncoming(runs, &next_runs, &next, 1);
   LLVMAddIncoming(open, &next_open, &next, 1);
   LLVMAddIncoming(joins, &next_joins, &next, 1);
   LLVMAddIncoming(taken, &next_taken, &next, 1);
   LLVMAddIncoming(cells, &next_cells, &next, 1);
   LLVMAddIncoming(size, &next_size, &next, 1);
   LLVMBuildCondBr(c->b, and_(c, compare(c, LLVMIntNE, next_size, imm(c, 0)), any(c, next_runs)),
                   loop, end);

   continue_at(c, end);
   LLVMValueRef is_done = build_phi(c, lanes_type, next_runs, next);
   LLVMValueRef was_taken = build_phi(c, lanes_type, next_taken, next);
   LLVMAddIncoming(is_done, &plain, &begin, 1);
   LLVMAddIncoming(was_taken, &none, &begin, 1);
   LLVMValueRef rest_lanes = and_(c, c->lanes, not_(c, is_done));
   LLVMBuildCondBr(c->b, any(c, rest_lanes), left, done);

   continue_at(c, left);
   LLVMValueRef flag =
      LLVMBuildSelect(c->b, was_taken, each_imm(c, GPUVAL_SYNC_WAS_TAKEN), zero, "");
   gpuval_lvp_cells_return_rest(c, GPUVAL_FUNCTION_SYNC,
                                LLVMBuildSExt(c->b, rest_lanes, c->vec32, ""), address, flag);

   continue_at(c, done);
   LLVMBuildRetVoid(c->b);
}
