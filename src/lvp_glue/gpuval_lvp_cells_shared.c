/* SPDX-License-Identifier: MIT */

/* What comes first of the check shared, for loads and stores of one granule that are no atomics:
 * two functions of LLVM's own code, as gpuval_lvp_cells.c has them for sync.
 *
 *    a load whose lanes all have the same address
 *       one look, and one mark that stands for all of them
 *    else
 *       a look and a mark a lane
 *    what this does not tell, and lanes that take marks away from each other
 *       nir_passes/gpuval_nir_shared_cells.c, which has the cells, too
 *
 * A workgroup runs on one thread, so that nobody comes between a look and a mark.
 */

#include "gpuval_lvp_cells_private.h"

/* Of a half of a cell */
#define SITE_BITS        0xffu
#define INVOCATION_SHIFT 8
#define INVOCATION_MASK  GPUVAL_SHARED_INVOCATION_MASK
#define SHARE_SHIFT      18
#define SHARE_MASK       (3u << SHARE_SHIFT)
#define SUB_SHIFT        20
#define PHASE_SHIFT      23
#define PHASE_MASK       0xffu
#define ATOMIC           (1u << 31)
/* Which invocation, alone, and by no atomic */
#define OWN_MASK ((INVOCATION_MASK << INVOCATION_SHIFT) | SHARE_MASK | ATOMIC)

struct shared {
   LLVMValueRef phase;   /* of each lane, as the shader counts it; the same in all that run */
   LLVMValueRef ordered; /* scalar: phases below are past */
   LLVMValueRef mark;    /* of each lane */
   LLVMValueRef is_known, subgroup_shift;
   LLVMValueRef first; /* which lane is the first one that runs */
   LLVMValueRef addresses;
};

/* Vectors or numbers alike: x with a constant */

static LLVMValueRef
like(const struct cells *c, LLVMValueRef x, uint32_t value)
{
   return LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind ? each_imm(c, value) : imm(c, value);
}

static LLVMValueRef
masked(const struct cells *c, LLVMValueRef x, uint32_t mask)
{
   return and_(c, x, like(c, x, mask));
}

static LLVMValueRef
shifted(const struct cells *c, LLVMValueRef x, unsigned bits)
{
   return LLVMBuildLShr(c->b, x, like(c, x, bits), "");
}

static LLVMValueRef
is_none(const struct cells *c, LLVMValueRef x)
{
   return compare(c, LLVMIntEQ, x, LLVMConstNull(LLVMTypeOf(x)));
}

/* Nobody, or one of an earlier phase */
static LLVMValueRef
is_past(const struct cells *c, const struct shared *s, LLVMValueRef half)
{
   const bool is_vector = LLVMGetTypeKind(LLVMTypeOf(half)) == LLVMVectorTypeKind;
   LLVMValueRef phase = masked(c, shifted(c, half, PHASE_SHIFT), PHASE_MASK);
   LLVMValueRef ordered = is_vector ? each(c, s->ordered) : s->ordered;

   return or_(c, is_none(c, half), compare(c, LLVMIntULT, phase, ordered));
}

/* Somebody of the same phase, and barriers of the subgroup in it, by no atomic */
static LLVMValueRef
is_alike(const struct cells *c, LLVMValueRef half, LLVMValueRef mark)
{
   return and_(c, is_none(c, shifted(c, differs(c, half, mark), SUB_SHIFT)),
               not_(c, is_none(c, half)));
}

static LLVMValueRef
is_own(const struct cells *c, LLVMValueRef half, LLVMValueRef mark)
{
   return is_none(c, masked(c, differs(c, half, mark), OWN_MASK));
}

/* All lanes that run? @condition: of each lane */
static LLVMValueRef
all_running(const struct cells *c, LLVMValueRef condition)
{
   return all_of(c, or_(c, condition, not_(c, c->lanes)), BITFIELD64_MASK(c->num_lanes));
}

static LLVMValueRef
of_first(const struct cells *c, const struct shared *s, LLVMValueRef vector)
{
   return LLVMBuildExtractElement(c->b, vector, s->first, "");
}

static LLVMValueRef
get_subgroup(const struct cells *c, const struct shared *s, LLVMValueRef half)
{
   const bool is_vector = LLVMGetTypeKind(LLVMTypeOf(half)) == LLVMVectorTypeKind;
   LLVMValueRef shift = is_vector ? each(c, s->subgroup_shift) : s->subgroup_shift;

   return LLVMBuildLShr(c->b, masked(c, shifted(c, half, INVOCATION_SHIFT), INVOCATION_MASK), shift,
                        "");
}

/* What a loads' half becomes when @mark joins it: those that are alike stand for each other. */
static LLVMValueRef
join(const struct cells *c, LLVMValueRef readers, LLVMValueRef mark, LLVMValueRef same_subgroup)
{
   LLVMValueRef far =
      LLVMBuildSelect(c->b, same_subgroup, like(c, mark, GPUVAL_SHADOW_SUBGROUP << SHARE_SHIFT),
                      like(c, mark, GPUVAL_SHADOW_WORKGROUP << SHARE_SHIFT), "");

   return or_(c, mark, most(c, masked(c, readers, SHARE_MASK), far));
}

/* Goes on at @slow unless all lanes access one granule, and count phases alike. */
static void
begin(struct cells *c, struct shared *s, LLVMBasicBlockRef slow)
{
   LLVMBasicBlockRef plain = create_block(c, "plain");

   s->first = gpuval_lvp_cells_first(c);
   s->phase = c->args[GPUVAL_LVP_SYNC_PHASE];
   LLVMValueRef first_phase = of_first(c, s, s->phase);
   LLVMValueRef sub = least(c, shifted(c, first_phase, 16), imm(c, GPUVAL_SHADOW_SUB_UNKNOWN));
   LLVMValueRef phase = masked(c, first_phase, PHASE_MASK);
   /* As gpuval_nir_ordered_phase() has it */
   LLVMValueRef behind = masked(c, first_phase, GPUVAL_NIR_BEHIND_MASK);
   s->ordered = LLVMBuildSub(c->b, phase,
                             LLVMBuildLShr(c->b, behind, imm(c, GPUVAL_NIR_BEHIND_SHIFT), ""), "");
   s->is_known = and_(c, compare(c, LLVMIntNE, phase, imm(c, GPUVAL_SHADOW_PHASE_UNKNOWN)),
                      compare(c, LLVMIntNE, sub, imm(c, GPUVAL_SHADOW_SUB_UNKNOWN)));
   s->subgroup_shift = bits(c, c->token, 8, 31);

   LLVMValueRef of_all = or_(c, LLVMBuildLShr(c->b, c->token, imm(c, 24), ""),
                             or_(c, LLVMBuildShl(c->b, sub, imm(c, SUB_SHIFT), ""),
                                 LLVMBuildShl(c->b, phase, imm(c, PHASE_SHIFT), "")));
   LLVMValueRef invocation = masked(c, c->args[GPUVAL_LVP_SYNC_ID], INVOCATION_MASK);
   invocation = LLVMBuildShl(c->b, invocation, each_imm(c, INVOCATION_SHIFT), "");
   s->mark = or_(c, each(c, of_all), invocation);

   LLVMValueRef size = masked(c, c->args[GPUVAL_LVP_SYNC_SIZE], ~GPUVAL_SHARED_SAME);
   LLVMValueRef granules = LLVMBuildLShr(c->b, size, each(c, bits(c, c->token, 0, 31)), "");
   LLVMValueRef is_plain = and_(c, compare(c, LLVMIntEQ, granules, each_imm(c, 1)),
                                compare(c, LLVMIntEQ, s->phase, each(c, first_phase)));
   LLVMBuildCondBr(c->b, all_running(c, is_plain), plain, slow);

   continue_at(c, plain);
   s->addresses = gpuval_lvp_cells_addresses(c);
}

/* All lanes load the same cell. */
static void
build_same(const struct cells *c, const struct shared *s, LLVMBasicBlockRef slow)
{
   LLVMBasicBlockRef look = create_block(c, "look"), change = create_block(c, "change");
   LLVMBasicBlockRef leave = create_block(c, "leave"), done = create_block(c, "same_done");
   LLVMValueRef address = of_first(c, s, s->addresses), mark = of_first(c, s, s->mark);
   LLVMValueRef writer = load_at(c, address, 0, c->i32), readers = load_at(c, address, 4, c->i32);

   LLVMBuildCondBr(c->b, is_past(c, s, writer), look, slow);

   continue_at(c, look);
   LLVMValueRef alike = is_alike(c, readers, mark);
   LLVMValueRef is_wide = compare(c, LLVMIntUGE, masked(c, readers, SHARE_MASK),
                                  imm(c, (uint32_t)GPUVAL_SHADOW_WORKGROUP << SHARE_SHIFT));
   LLVMBuildCondBr(c->b, and_(c, alike, is_wide), done, change);

   /* Readers that are past make place for a mark, to which the other lanes come; those of this
    * phase are joined.
    */
   continue_at(c, change);
   LLVMValueRef mask =
      LLVMBuildBitCast(c->b, c->lanes, LLVMIntTypeInContext(c->gallivm->context, c->num_lanes), "");
   LLVMValueRef rest =
      and_(c, mask, LLVMBuildSub(c->b, mask, LLVMConstInt(LLVMTypeOf(mask), 1, 0), ""));
   LLVMValueRef is_one = is_none(c, rest), past = is_past(c, s, readers);
   LLVMValueRef subgroup = get_subgroup(c, s, mark);
   LLVMValueRef one_subgroup =
      all_running(c, compare(c, LLVMIntEQ, get_subgroup(c, s, s->mark), each(c, subgroup)));
   LLVMValueRef with_readers =
      and_(c, one_subgroup, compare(c, LLVMIntEQ, get_subgroup(c, s, readers), subgroup));
   LLVMValueRef fresh =
      LLVMBuildSelect(c->b, is_one, mark, join(c, imm(c, 0), mark, one_subgroup), "");
   LLVMValueRef joined = join(c, readers, mark, with_readers);
   LLVMValueRef own = and_(c, is_one, is_own(c, readers, mark));
   LLVMValueRef may_join = and_(c, and_(c, alike, not_(c, own)), s->is_known);
   LLVMValueRef is_easy = or_(c, past, or_(c, and_(c, alike, own), may_join));
   /* Its own load before stays: the same in all that matters. */
   LLVMValueRef value =
      LLVMBuildSelect(c->b, past, fresh, LLVMBuildSelect(c->b, may_join, joined, readers, ""), "");
   LLVMBuildCondBr(c->b, is_easy, leave, slow);

   continue_at(c, leave);
   LLVMValueRef half = LLVMBuildAdd(c->b, address, imm64(c, 4), "");
   LLVMBuildStore(c->b, value, pointer_to(c, half, c->i32));
   LLVMBuildBr(c->b, done);

   continue_at(c, done);
   LLVMBuildRetVoid(c->b);
}

/* Each lane loads or stores a cell of its own, or several the same. */
static void
build_each(const struct cells *c, const struct shared *s, LLVMValueRef nobody,
           LLVMBasicBlockRef slow)
{
   LLVMBasicBlockRef easy = create_block(c, "easy"), write = create_block(c, "write");
   LLVMBasicBlockRef done = create_block(c, "done"), lost_some = create_block(c, "lost");
   LLVMValueRef pointers[MAX_LANES], words[2], now[2];
   LLVMValueRef addresses = LLVMBuildSelect(c->b, c->lanes, s->addresses, each(c, nobody), "");

   gpuval_lvp_lane_pointers(c->gallivm, addresses, 0, c->i64, pointers);
   gpuval_lvp_load_twos(c->gallivm, pointers, c->num_lanes, words);
   LLVMValueRef writer = words[0], readers = words[1], covered, fine;
   LLVMValueRef writer_past = is_past(c, s, writer), readers_past = is_past(c, s, readers);
   if (c->is_read) {
      LLVMValueRef alike = is_alike(c, readers, s->mark), own = is_own(c, readers, s->mark);
      LLVMValueRef same_subgroup =
         compare(c, LLVMIntEQ, get_subgroup(c, s, readers), get_subgroup(c, s, s->mark));
      LLVMValueRef joined = join(c, readers, s->mark, same_subgroup);
      LLVMValueRef joins = and_(c, and_(c, alike, not_(c, own)), each(c, s->is_known));
      LLVMValueRef share = masked(c, readers, SHARE_MASK);
      LLVMValueRef is_wide = compare(c, LLVMIntUGE, share,
                                     each_imm(c, (uint32_t)GPUVAL_SHADOW_WORKGROUP << SHARE_SHIFT));

      covered = and_(c, alike, or_(c, own, is_wide));
      covered = or_(c, covered,
                    and_(c, joins, compare(c, LLVMIntEQ, masked(c, joined, SHARE_MASK), share)));
      fine = and_(c, writer_past, or_(c, or_(c, covered, readers_past), joins));
      readers = LLVMBuildSelect(c->b, readers_past, s->mark, joined, "");
   } else {
      LLVMValueRef own = is_own(c, readers, s->mark);

      covered = LLVMConstNull(LLVMTypeOf(c->lanes));
      fine = and_(c, or_(c, writer_past, is_own(c, writer, s->mark)), or_(c, readers_past, own));
      /* A store replaces what its own invocation has loaded. */
      readers = LLVMBuildSelect(c->b, readers_past, readers, LLVMConstNull(c->vec32), "");
      writer = s->mark;
   }
   LLVMBuildCondBr(c->b, all_running(c, fine), easy, slow);

   continue_at(c, easy);
   LLVMValueRef writes = and_(c, c->lanes, not_(c, covered));
   LLVMBuildCondBr(c->b, any(c, writes), write, done);

   continue_at(c, write);
   const LLVMValueRef marks[2] = {writer, readers};
   addresses = LLVMBuildSelect(c->b, writes, s->addresses, each(c, nobody), "");
   gpuval_lvp_lane_pointers(c->gallivm, addresses, 0, c->i64, pointers);
   gpuval_lvp_store_twos(c->gallivm, marks, pointers);
   gpuval_lvp_load_twos(c->gallivm, pointers, c->num_lanes, now);
   LLVMValueRef mine =
      c->is_read ? compare(c, LLVMIntEQ, now[1], readers) : compare(c, LLVMIntEQ, now[0], writer);
   LLVMValueRef lost = and_(c, writes, not_(c, mine));
   LLVMBuildCondBr(c->b, any(c, lost), lost_some, done);

   continue_at(c, lost_some);
   gpuval_lvp_cells_return_rest(c, GPUVAL_FUNCTION_SHARED, LLVMBuildSExt(c->b, lost, c->vec32, ""),
                                s->addresses, each_imm(c, GPUVAL_SYNC_WAS_TAKEN));

   continue_at(c, done);
   LLVMBuildRetVoid(c->b);
}

void
gpuval_lvp_cells_build_shared(struct cells *c)
{
   LLVMBasicBlockRef slow = create_block(c, "slow"), apart = create_block(c, "apart");
   LLVMValueRef nobody = gpuval_lvp_cells_nobody(c);
   struct shared s;

   begin(c, &s, slow);
   if (c->is_read) {
      LLVMBasicBlockRef same = create_block(c, "same");
      LLVMValueRef first = each(c, of_first(c, &s, s.addresses));

      LLVMBuildCondBr(c->b, all_running(c, compare(c, LLVMIntEQ, s.addresses, first)), same, apart);
      continue_at(c, same);
      build_same(c, &s, slow);
   } else {
      LLVMBuildBr(c->b, apart);
   }
   continue_at(c, apart);
   build_each(c, &s, nobody, slow);

   continue_at(c, slow);
   gpuval_lvp_cells_return_rest(c, GPUVAL_FUNCTION_SHARED,
                                LLVMBuildSExt(c->b, c->lanes, c->vec32, ""),
                                gpuval_lvp_cells_addresses(c), LLVMConstNull(c->vec32));
}
