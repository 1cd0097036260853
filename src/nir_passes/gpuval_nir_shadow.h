/* SPDX-License-Identifier: MIT */

/* Between the files of the exact engine only. */

#ifndef GPUVAL_NIR_SHADOW_H
#define GPUVAL_NIR_SHADOW_H

#include "gpuval/src/base/gpuval_shadow.h"
#include "gpuval_nir_private.h"

/** A half of a cell */
struct gpuval_shadow_half {
   nir_def *lo, *hi;
};

/** An access that looks at cells. What says nothing else is 32 bit. */
struct gpuval_shadow_self {
   struct gpuval_shadow_half mark;
   nir_def *share;     /* enum gpuval_shadow_share of the mark, which has it; NULL: alone */
   nir_def *is_read;   /* 1 bit: a load, also an atomic one */
   nir_def *is_atomic; /* 1 bit */
   nir_def *ordered;   /* upper halves below this are of what is ordered before */
   bool is_command;    /* one without a shader: gpuval_nir_build_command_access() */
   nir_def *phase, *sub;
   nir_def *ordered_phase; /* phases of the workgroup below this are ordered before */
   nir_def *workgroup_shift, *subgroup_shift;

   /* NULL in cells of a workgroup's memory, where there is one command: */
   nir_def *layout;

   nir_def *order;           /* 64 bit: address of struct gpuval_order_table, or 0 */
   nir_def *class_;          /* of its stage */
   nir_def *access;          /* enum gpuval_order_access */
   nir_def *tag, *workgroup; /* as gpuval_nir_clocks.c has them */
   nir_def *subgroup;

   /* 64 bit, gpuval_shadow_find_order(): */
   nir_def *row;     /* of this class, and for the address of this access */
   nir_def *serials; /* address of those of all commands */
};

static inline bool
gpuval_shadow_is_always(nir_def *condition, bool value)
{
   nir_scalar scalar = nir_get_scalar(condition, 0);
   return nir_scalar_is_const(scalar) && nir_scalar_as_bool(scalar) == value;
}

/* Is an access one to a word, or may it be, where turns of a loop choose it? */
static inline bool
gpuval_shadow_may_be_word(const struct gpuval_nir_access_params *params)
{
   nir_scalar size = nir_scalar_chase_movs(nir_get_scalar(params->size, 0));
   return !nir_scalar_is_const(size) || nir_scalar_as_uint(size) == GPUVAL_SHADOW_WORD;
}

static inline nir_def *
gpuval_shadow_bits(nir_builder *b, nir_def *word, unsigned first, unsigned count)
{
   return nir_iand_imm(b, nir_ushr_imm(b, word, first), BITFIELD_MASK(count));
}

struct gpuval_shadow_half gpuval_shadow_select(nir_builder *b, nir_def *condition,
                                               struct gpuval_shadow_half a,
                                               struct gpuval_shadow_half otherwise);

/** This very invocation, in this very phase, alone, and alike; its access may differ. 1 bit */
nir_def *gpuval_shadow_is_self(nir_builder *b, const struct gpuval_shadow_self *self,
                               struct gpuval_shadow_half party);
/** This very invocation, in any phase, alone, and none of both by an atomic. 1 bit */
nir_def *gpuval_shadow_is_own(nir_builder *b, const struct gpuval_shadow_self *self,
                              struct gpuval_shadow_half party);
/**
 * 1 bit: of a plain access of this command whom @self, alike, is certainly not ordered
 * after, unless something was acquired; *joined stands for both. @is_own: of this party
 */
nir_def *gpuval_shadow_joins(nir_builder *b, const struct gpuval_shadow_self *self,
                             struct gpuval_shadow_half party, nir_def *is_own,
                             struct gpuval_shadow_half *joined);
/** 1 bit: of the same phase, and no further apart */
nir_def *gpuval_shadow_is_as_far(nir_builder *b, struct gpuval_shadow_half a,
                                 struct gpuval_shadow_half other);
/** Several workgroups of this command and class, as atomic or not as this one. 1 bit */
nir_def *gpuval_shadow_is_everybody(nir_builder *b, const struct gpuval_shadow_self *self,
                                    struct gpuval_shadow_half party);

/**
 * Whom @self meets, and what the halves of the cell become. Returns, 1 bit, whether that
 * is a hazard, with *other, who came last of those in it, and *stored, the writer if that is one.
 */
nir_def *gpuval_shadow_meet(nir_builder *b, const struct gpuval_shadow_self *self,
                            struct gpuval_shadow_half *writer, struct gpuval_shadow_half *readers,
                            struct gpuval_shadow_half *other, struct gpuval_shadow_half *stored);

/** 1 bit: is it a store that changes nothing? @there: it stores what is there. @other: who has
 * stored.
 */
nir_def *gpuval_shadow_is_same(nir_builder *b, const struct gpuval_nir_driver *driver,
                               const struct gpuval_nir_access_params *params,
                               const struct gpuval_shadow_self *self,
                               struct gpuval_shadow_half other, nir_def *is_lane, nir_def *there);

/** A field of struct gpuval_shadow_layout. */
nir_def *gpuval_shadow_load_layout(nir_builder *b, nir_def *layout, unsigned bit_size,
                                   unsigned offset);

/** Where the cells of an access are; both 64 bit */
struct gpuval_shadow_cells {
   nir_def *address; /* what they are found by; 0: there are none */
   nir_def *words;   /* the cell of the word at such an address is at this plus 4 times that */
   nir_def *blocks;  /* of the block, at this plus that; NULL: there are none */
};

/** Whoever makes the access, in @command */
struct gpuval_shadow_self gpuval_shadow_make_self(nir_builder *b,
                                                  const struct gpuval_nir_driver *driver,
                                                  const struct gpuval_nir_shadow_command *command,
                                                  const struct gpuval_nir_access_params *params);

struct gpuval_shadow_cells gpuval_shadow_find_cells(nir_builder *b,
                                                    const struct gpuval_nir_driver *driver,
                                                    const struct gpuval_nir_shadow_command *command,
                                                    const struct gpuval_nir_access_params *params);

/** What one look is about: all of a word, or all of a block. 1 bit */
struct gpuval_shadow_look {
   nir_def *is_whole;
   nir_def *may_join;
   nir_def *is_block; /* NULL: never */
   nir_def *in_quad;  /* of a block: as the first of a quad, each of which accesses a word of it */
};

/** What such a look comes to */
struct gpuval_shadow_decision {
   nir_def *is_easy;                /* that is all there is to do: */
   nir_def *is_covered;             /* nothing, */
   struct gpuval_shadow_half mark;  /* or to leave this one; */
   struct gpuval_shadow_half other; /* the half that this access is not about, as it was */
   nir_def *forgets;                /* a store replaces what its own invocation has loaded */
};

/**
 * The same as gpuval_shadow_meet() where there is nothing to find: one's own accesses, in whatever
 * phase, what is past, and loads that join other loads.
 */
struct gpuval_shadow_decision gpuval_shadow_decide(nir_builder *b,
                                                   const struct gpuval_shadow_self *self,
                                                   const struct gpuval_shadow_look *look,
                                                   struct gpuval_shadow_half writer,
                                                   struct gpuval_shadow_half readers);
/**
 * Does it. @may_meet: 1 bit, others in lockstep may do the same at this cell. Returns and
 * *was_taken as gpuval_shadow_look_once().
 */
nir_def *gpuval_shadow_do(nir_builder *b, const struct gpuval_shadow_self *self, nir_def *cell,
                          const struct gpuval_shadow_decision *decision, nir_def *may_meet,
                          nir_def **was_taken);

/**
 * One word or block, and all of it: returns, 1 bit, whether that was all there is to do. If not,
 * *was_taken says that somebody has taken the mark away a moment later.
 */
nir_def *gpuval_shadow_look_once(nir_builder *b, const struct gpuval_shadow_self *self,
                                 nir_def *cell, const struct gpuval_shadow_look *look,
                                 nir_def **was_taken);
/**
 * Loads of one word or block by invocations in lockstep take the mark away from each other, and
 * then join each other.
 */
nir_def *gpuval_shadow_look_some_times(nir_builder *b, const struct gpuval_shadow_self *self,
                                       nir_def *cell, const struct gpuval_shadow_look *look,
                                       nir_def **was_taken);

/** An access that may be to all of a block. All 1 bit */
struct gpuval_shadow_block {
   nir_def *fits;    /* is it? */
   nir_def *in_quad; /* with the three others of a quad of invocations, a word each */
   nir_def *leads;   /* looks, of the quad the first one */
};

/** @is_able: 1 bit, it is one that may. */
struct gpuval_shadow_block gpuval_shadow_find_block(nir_builder *b,
                                                    const struct gpuval_nir_driver *driver,
                                                    const struct gpuval_nir_access_params *params,
                                                    nir_def *is_able);
/** What the first of the quad has found out, 1 bit, for the others of it */
nir_def *gpuval_shadow_share_quad(nir_builder *b, const struct gpuval_shadow_block *block,
                                  nir_def *value);

/** The same as the first active invocation's of the subgroup? 1 bit */
static inline nir_def *
gpuval_shadow_is_first_s(nir_builder *b, nir_def *value)
{
   return nir_ieq(b, value, nir_read_first_invocation(b, value));
}
/**
 * On GPUs, before words: looks at the block's cell, and where a subgroup loads the same for all of
 * it. Returns, 1 bit, whether that was all there is to do; if not, *was_taken says that somebody
 * has taken the mark away.
 */
nir_def *gpuval_shadow_look_at_block(nir_builder *b, const struct gpuval_nir_driver *driver,
                                     const struct gpuval_shadow_self *self,
                                     const struct gpuval_nir_access_params *params,
                                     const struct gpuval_shadow_cells *cells, nir_def *may_join,
                                     struct gpuval_shadow_block *block, nir_def **was_taken);
/** Who has stored all of a block, and met nobody, has it to itself: @is_clean, 1 bit. */
void gpuval_shadow_make_whole(nir_builder *b, const struct gpuval_nir_driver *driver,
                              const struct gpuval_shadow_self *self,
                              const struct gpuval_shadow_cells *cells,
                              const struct gpuval_shadow_block *block, nir_def *is_clean);

/**
 * A half of a block's cell says who has accessed it in the same way, or nothing that goes together
 * with this access: 1 bit. What says which way is taken out of it.
 */
nir_def *gpuval_shadow_take_form(nir_builder *b, const struct gpuval_shadow_look *look,
                                 struct gpuval_shadow_half *half);
/** And given to a mark */
struct gpuval_shadow_half gpuval_shadow_give_form(nir_builder *b,
                                                  const struct gpuval_shadow_look *look,
                                                  struct gpuval_shadow_half mark);

/** Turns the cell of the block at @address over to its words, unless it is. */
void gpuval_shadow_split_block(nir_builder *b, const struct gpuval_shadow_cells *cells,
                               nir_def *address);

/** Where the struct gpuval_shadow_area is that @address may be in. 64 bit */
nir_def *gpuval_shadow_find_area(nir_builder *b, nir_def *table, nir_def *address);
/**
 * The word at @address, of a block that is split, has these in its cell. If several workgroups have
 * loaded it, and @self does, the block will say so, to gpuval_nir_glance(); of readers, it has
 * @said that. @is_able: 1 bit, @self has looked at the word
 */
void gpuval_shadow_note_loaded(nir_builder *b, const struct gpuval_shadow_self *self,
                               const struct gpuval_shadow_cells *cells, nir_def *address,
                               struct gpuval_shadow_half writer, struct gpuval_shadow_half readers,
                               nir_def *is_able, struct gpuval_shadow_half said);

/** And no longer after a store to the word at @address, or an atomic */
void gpuval_shadow_forget_loaded(nir_builder *b, const struct gpuval_shadow_self *self,
                                 const struct gpuval_shadow_cells *cells, nir_def *address);

static inline nir_def *
gpuval_shadow_block_cell(nir_builder *b, const struct gpuval_shadow_cells *cells, nir_def *address)
{
   return nir_iadd(b, cells->blocks,
                   nir_iand_imm(b, address, ~(uint64_t)(GPUVAL_SHADOW_BLOCK - 1)));
}

/**
 * The cells of the bytes of the word at @word, which has its own at @cell: they are there where
 * the word has some, or @is_whole is false. 0, 64 bit: it should have, but there are none.
 * *has_bytes: 1 bit.
 */
nir_def *gpuval_shadow_find_bytes(nir_builder *b, const struct gpuval_nir_driver *driver,
                                  nir_def *layout, nir_def *cell, nir_def *word, nir_def *is_whole,
                                  nir_def **has_bytes);

void gpuval_shadow_load_cell(nir_builder *b, nir_def *cell, struct gpuval_shadow_half *writer,
                             struct gpuval_shadow_half *readers);
struct gpuval_shadow_half gpuval_shadow_load_half(nir_builder *b, nir_def *cell, unsigned offset);
void gpuval_shadow_store_half(nir_builder *b, nir_def *cell, unsigned offset,
                              struct gpuval_shadow_half half);

/** Finds what gpuval_shadow_is_past() needs, for an access to @address. */
void gpuval_shadow_find_order(nir_builder *b, struct gpuval_shadow_self *self, nir_def *address);
/** 1 bit: do dependencies order a write by another command, @hi of a half, before? */
nir_def *gpuval_shadow_is_past(nir_builder *b, const struct gpuval_shadow_self *self, nir_def *hi);

/**
 * What an atomic on the word at @address, or a memory barrier, does to the order. @op is an enum
 * gpuval_sync_order; @is_found: 1 bit, the word has a time of its own.
 */
void gpuval_shadow_build_order(nir_builder *b, const struct gpuval_nir_driver *driver,
                               struct gpuval_shadow_self *self, nir_def *op, nir_def *address,
                               nir_def *is_found);

/**
 * 1 bit: may @party be ordered before by what was released and acquired? Whether it is of the
 * same command and class, workgroup, and subgroup: 1 bit each
 */
nir_def *gpuval_shadow_may_be_acquired(nir_builder *b, const struct gpuval_shadow_self *self,
                                       struct gpuval_shadow_half party, nir_def *same,
                                       nir_def *same_workgroup, nir_def *same_subgroup);

/** What an access has met so far */
struct gpuval_shadow_found {
   nir_variable *hazard;
   nir_variable *lo, *hi;               /* the other party of the first, */
   nir_variable *stored_lo, *stored_hi; /* and the one that has stored, if that is another */
   nir_variable *is_lane; /* that runs in lockstep, and has stored at the same moment */
   /* Of commands: which byte of the access the cell that is looked at begins with, and that of the
    * first hazard. NULL: nobody asks.
    */
   nir_variable *now, *byte;
};

/** Nothing yet */
struct gpuval_shadow_found gpuval_shadow_create_found(nir_builder *b);
/** The first hazard stays. */
void gpuval_shadow_remember(nir_builder *b, const struct gpuval_shadow_found *found,
                            nir_def *hazard, struct gpuval_shadow_half other,
                            struct gpuval_shadow_half stored, nir_def *is_lane);

#endif
