/* SPDX-License-Identifier: MIT */

/* Shadow memory: the exact engine of the sync check.
 *
 * Each word of 4 bytes of the device's memory has a cell of 16 bytes at an address
 * that arithmetic gives. It says who wrote the word last and who has read it
 * since:
 *
 *    first 64 bits    the writer, or those that have accessed it by atomics
 *    second 64 bits   the readers
 *
 * each of them, 0 being nobody:
 *
 *    first 32 bits    0..7   which access of the shader; 255: one beyond the 254th
 *                     8..29  invocation in its command, modulo 2^22
 *                    30..31  enum gpuval_shadow_share
 *    second 32 bits   0..2   barriers of the subgroup in this phase; 7: not known
 *                     3..10  phase of the workgroup; 255: not known
 *                    11      by an atomic (readers: all of them)
 *                    12..15  enum gpuval_order_class
 *                    16..31  command, a number that grows from 1
 *
 * This is what FastTrack keeps of a variable, with one difference: of readers (or
 * atomics) that nothing has ordered, it does not keep all but says how far apart
 * they are (enum gpuval_shadow_share), which decides everything that can come
 * later. What is forgotten can only be missed:
 *
 * - readers of one class when another class, or a later command that is not ordered
 *   after them by a watermark of that class, reads the same word;
 * - atomic readers when there are others that are not;
 * - a writer whom an atomic comes after;
 * - atomics of one class or command when those of another come, which stand in for nobody: a report
 *   of who comes behind both, which is nearly always about the latter, would not know the
 *   instruction, or each look would have two commands to ask about;
 * - an invocation that is 2^22 times N away counts as the same one.
 *
 * An access to a part of a word turns the cell over to the bytes: the writer becomes
 * GPUVAL_SHADOW_BYTES, and each byte has a cell of its own in another window. A
 * store of the whole word that is ordered after all of them turns it back.
 *
 * Commands have 16 bits. When these are used up, all cells become nobody's: what came
 * before is forgotten.
 *
 * Where no address space can be reserved, which is so for video memory, a table has the memory
 * that has cells, those of each allocation in a buffer of its own. Bytes have theirs out of a
 * pool, as few words are accessed in part: the lower half of such a word's writer is the number
 * of its four cells there, from 1; 0: there were none left, and nobody is found there.
 *
 * There, memory is wide and what checks cost is how much of it they touch. So each block of 16
 * bytes has a cell, too, which stands for its four words where all of them are accessed alike: by
 * one invocation, or by the four of a quad, a word each. In a block's cell GPUVAL_SHADOW_QUAD, in
 * the place of GPUVAL_SHADOW_ATOMIC, says the latter; the invocation is the first one's then. Any
 * other access turns the cell over to the words: its writer becomes GPUVAL_SHADOW_BYTES. A store of
 * the whole block that is ordered after all of them turns it back.
 * Meanwhile the half of the readers says which of the words several workgroups of a command have
 * loaded, so that its other loads need not look at their cells: command and class in the second 32
 * bits, the words as bits beside GPUVAL_SHADOW_WORKGROUPS in the first.
 */

#ifndef GPUVAL_SHADOW_H
#define GPUVAL_SHADOW_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPUVAL_SHADOW_WORD        4
#define GPUVAL_SHADOW_BLOCK       16
#define GPUVAL_SHADOW_CELL_SIZE   16
#define GPUVAL_SHADOW_WORDS_SCALE (GPUVAL_SHADOW_CELL_SIZE / GPUVAL_SHADOW_WORD)
#define GPUVAL_SHADOW_BYTES_SCALE GPUVAL_SHADOW_CELL_SIZE
#define GPUVAL_SHADOW_READERS     8 /* where they begin in a cell */

/* A build or a copy of an acceleration structure writes all of it: of one that is read, it is
 * enough to look at where it begins.
 */
#define GPUVAL_SHADOW_STRUCTURE_BEGIN GPUVAL_SHADOW_BLOCK

#define GPUVAL_SHADOW_SITE_UNKNOWN     255u
#define GPUVAL_SHADOW_INVOCATION_SHIFT 8
#define GPUVAL_SHADOW_INVOCATION_BITS  22
#define GPUVAL_SHADOW_INVOCATION_MASK  ((1u << GPUVAL_SHADOW_INVOCATION_BITS) - 1)
#define GPUVAL_SHADOW_SHARE_SHIFT      30

#define GPUVAL_SHADOW_SUB_UNKNOWN   7u
#define GPUVAL_SHADOW_PHASE_SHIFT   3
#define GPUVAL_SHADOW_PHASE_UNKNOWN 255u
#define GPUVAL_SHADOW_ATOMIC        (1u << 11)
#define GPUVAL_SHADOW_QUAD          GPUVAL_SHADOW_ATOMIC /* in cells of blocks */
#define GPUVAL_SHADOW_CLASS_SHIFT   12
#define GPUVAL_SHADOW_COMMAND_SHIFT 16
#define GPUVAL_SHADOW_MAX_COMMAND   0xfffeu

/* In the place of the writer's upper half: see the cells of the bytes. */
#define GPUVAL_SHADOW_BYTES 0xffffffffu

/** How far apart are those that a half of a cell stands for? */
enum gpuval_shadow_share {
   GPUVAL_SHADOW_ONE,        /* one invocation */
   GPUVAL_SHADOW_SUBGROUP,   /* several, since its last barrier of a subgroup */
   GPUVAL_SHADOW_WORKGROUP,  /* several, in this phase */
   GPUVAL_SHADOW_WORKGROUPS, /* of several workgroups, or without any */
};

/* Loads by a subgroup in lockstep: each of its invocations looks at a cell again so many times,
 * once alone, once with one other; then all of them stand for each other.
 */
#define GPUVAL_SHADOW_MAX_JOINS 2

/* What a shader says with each access, gpuval_nir_access_params::token: shifts that make
 * numbers of workgroups and subgroups out of those of invocations, the class, and which
 * access it is.
 */
#define GPUVAL_SHADOW_CONTEXT(workgroup_shift, subgroup_shift, class, site)                        \
   ((workgroup_shift) | (subgroup_shift) << 8 | (class) << 16 | (uint32_t)(site) << 24)

/* In gpuval_nir_access_params::invocation_id, above the bits that a cell keeps: a memory barrier
 * has made visible to the invocation what was executed before its command. It counts where the
 * access has GPUVAL_SYNC_MAY_BE_VISIBLE.
 */
#define GPUVAL_SHADOW_VISIBLE (1u << 31)

/** Memory outside the window that has its cells inside it nevertheless. */
struct gpuval_shadow_range {
   uint64_t begin, size;
   uint64_t alias; /* an address in the window */
};
#define GPUVAL_SHADOW_MAX_RANGES 64

/* The window is aligned to its size, 256 GiB: whether an address is in it is one
 * comparison. ThreadSanitizer leaves programs less of the address space.
 */
#ifdef __SANITIZE_THREAD__
#define GPUVAL_SHADOW_WINDOW_LOG2 34
#else
#define GPUVAL_SHADOW_WINDOW_LOG2 38
#endif

/* Nothing lies in the last bytes of the window, as many as the largest page has, so that all of an
 * access that begins in front of them is in the window.
 */
#define GPUVAL_SHADOW_WINDOW_MARGIN 65536

/* Order by atomics: an invocation that has accessed something, then passed a memory barrier
 * and written to a word by an atomic, *releases* there; one that finds what was released by an
 * atomic that reads, then passes a memory barrier, *acquires* it. Releases have a time, a
 * number that grows as long as cells are kept. Each word has the time of its last release, each
 * workgroup that of its first release and of the latest one that it has acquired. Where a stage
 * has no workgroups, each invocation is one.
 *
 * That is not all there is to know: it does not tell what of a workgroup's accesses came
 * before its releases, or which of them is meant. So what came first may be ordered
 * before, whatever its command, if its workgroup has released anything by the time that was
 * acquired, and is not reported then. It is reported if there was no release, or nothing that
 * was acquired, or that was too early: where a barrier is missing, or is of too small a scope,
 * or nobody looks at the flag.
 *
 * Who has acquired from a command that no dependency orders before may hand it on by a
 * dependency. The latest time that was acquired like that counts for all commands that come
 * to what another command has accessed.
 *
 * The first release of a workgroup is one for buffers and images: memoryBarrierBuffer() counts as
 * one of a texel that was stored. To tell them apart would take a second time in each clock, and a
 * second one to raise wherever a shader that has images releases.
 *
 * Memory barriers of workgroup scope do so for the workgroup only, those of subgroup scope for
 * the subgroup. Of these it is known whether something was released, and something acquired
 * after that.
 */

/** Of a word, at times + (A - window) * 2, as 64 bits that only grow: its last release */
struct gpuval_shadow_release {
   uint32_t tag; /* command and class of whoever has released, as in a party */
   uint32_t time;
};
#define GPUVAL_SHADOW_TIMES_SCALE 2

/* Atomics on images have no address: their words are told apart by the texel's coordinates,
 * modulo this. So are those on memory that has no cells.
 */
#define GPUVAL_SHADOW_OTHER_TIMES 64

/* Who has a clock: its kind, beside command and class */
enum gpuval_shadow_clock_kind {
   GPUVAL_SHADOW_CLOCK_WORKGROUP,
   GPUVAL_SHADOW_CLOCK_SUBGROUP,
   GPUVAL_SHADOW_CLOCK_COMMAND, /* all workgroups of it */
};

/** 64 bits that only grow. A later owner's time takes the place of an earlier one's. */
struct gpuval_shadow_time {
   uint32_t time;
   uint32_t owner; /* command, class, and kind of clock */
};

/** At an index that follows from the owner and its number. If another one's time is here, of a
 * later command, this one's may have been, and counts as if everything was ordered. Of those of
 * one command that have the same place, all count as released or acquired what one of them has.
 */
struct gpuval_shadow_clock {
   struct gpuval_shadow_time first_release; /* ~time */
   struct gpuval_shadow_time found; /* by an atomic, and not acquired before a barrier comes */
   struct gpuval_shadow_time found_elsewhere; /* ... in a command that is not ordered before */
   struct gpuval_shadow_time acquired;
   /* 1: released for others of it; 2: and then acquired. GPUVAL_SHADOW_CLOCK_COMMAND has
    * nothing but its first release and where the numbers of its workgroups begin: at bit
    * inside - 1 of an invocation's, and at 32 - found. They differ if stages that count
    * otherwise share a class.
    */
   struct gpuval_shadow_time inside;
};
#define GPUVAL_SHADOW_CLOCKS (1u << 20)

/* Without a window: clocks, and times, which are of several words each. What is another one's
 * can only be later, so that more is taken to be ordered.
 */
#define GPUVAL_SHADOW_TABLE_CLOCKS (1u << 16)
#define GPUVAL_SHADOW_TABLE_TIMES  (1u << 18)

/** Four cells of bytes in the pool */
#define GPUVAL_SHADOW_SPLIT_SIZE (GPUVAL_SHADOW_WORD * GPUVAL_SHADOW_CELL_SIZE)

/** Without a window: memory that has cells */
struct gpuval_shadow_area {
   uint64_t begin, size;
   uint64_t words;  /* the cell of a word at A is at this plus A * 4, modulo 2^64; */
   uint64_t blocks; /* of a block, at this plus A */
};

/* What was mapped for the GPU after a command was submitted may not be for it, so each command
 * has the table that there was then: gpuval_command_data::shadow_words.
 */
struct gpuval_shadow_table {
   uint32_t count;      /* first */
   uint32_t has_others; /* not 0: shaders may access memory that has no cells */
   uint64_t no_size;    /* 0: as an area that ends before all others */
   uint64_t no_cells[2];
   struct gpuval_shadow_area areas[]; /* disjoint, ascending */
};
static_assert(offsetof(struct gpuval_shadow_table, areas) == sizeof(struct gpuval_shadow_area) &&
                 offsetof(struct gpuval_shadow_table, no_size) ==
                    offsetof(struct gpuval_shadow_area, size),
              "the area before the first one is empty");

/** What several workgroups of a command have loaded already, of uniform buffers at places that are
 * the same for all of its invocations: what others of it load there needs no look. Whose word it is
 * that is found at a command's place, the word says.
 */
struct gpuval_shadow_loads {
   uint32_t groups; /* a bit for each of GPUVAL_SHADOW_LOAD_GROUPS; above: the command */
   uint32_t entry;  /* of the shader, in its device's table */
};
#define GPUVAL_SHADOW_LOAD_COMMANDS 256 /* modulo that */
#define GPUVAL_SHADOW_LOAD_STAGES   8
#define GPUVAL_SHADOW_LOAD_GROUPS   16

/** What shaders know of it beside struct gpuval_command_data, at
 * gpuval_root::shadow_address.
 */
struct gpuval_shadow_layout {
   uint64_t bytes;   /* cells of the bytes: of address A at bytes + A * 16, modulo 2^64; or
                      * the pool */
   uint64_t serials; /* uint32_t[]: of the span of each command, gpuval_order.h */
   uint64_t times;   /* struct gpuval_shadow_release of the word at A: at this plus
                      * (A & times_mask) * 2 */
   uint64_t times_mask;
   uint64_t clocks; /* struct gpuval_shadow_clock[clocks_mask + 1] */
   uint32_t clocks_mask;
   uint32_t now; /* time of the last release; 0: there was none */
   uint32_t num_ranges;
   uint32_t max_splits; /* words whose bytes have cells in the pool, */
   uint32_t num_splits; /* and how many have asked */
   uint32_t handed_on;  /* latest time that was acquired from a command not ordered before */
   struct gpuval_shadow_range ranges[GPUVAL_SHADOW_MAX_RANGES];
   struct gpuval_shadow_release other_times[GPUVAL_SHADOW_OTHER_TIMES];
   /* By command, and by stage; without a window */
   struct gpuval_shadow_loads loads[GPUVAL_SHADOW_LOAD_COMMANDS][GPUVAL_SHADOW_LOAD_STAGES];
};
static_assert(offsetof(struct gpuval_shadow_layout, ranges) == 64, "shaders know the offsets");

struct gpuval_shadow;

/**
 * Reserves address space for the memory of a device and for its cells; pages cost only
 * when they are touched. @layout is in memory that shaders read, and zero. NULL if there
 * is no such address space.
 */
struct gpuval_shadow *gpuval_shadow_create(struct gpuval_shadow_layout *layout);
void gpuval_shadow_destroy(struct gpuval_shadow *shadow);

/** For struct gpuval_command_data. */
uint64_t gpuval_shadow_window(const struct gpuval_shadow *shadow);
uint64_t gpuval_shadow_words(const struct gpuval_shadow *shadow);
/** init: the byte of a word at A is at this plus A / 4, modulo 2^64; see gpuval_init.h. */
uint64_t gpuval_shadow_written(const struct gpuval_shadow *shadow);

/**
 * Moves the mapping at @map of @size bytes, both multiples of a page, into the window.
 * Returns where it is now, or NULL, and then it has not moved.
 */
void *gpuval_shadow_place(struct gpuval_shadow *shadow, void *map, uint64_t size);
/** Moves it out again, and its cells are nobody's. NULL: it could not be. */
void *gpuval_shadow_take(struct gpuval_shadow *shadow, void *map, uint64_t size);

/** Gives memory that cannot be moved cells in the window. False: there is no more room. */
bool gpuval_shadow_add_range(struct gpuval_shadow *shadow, uint64_t address, uint64_t size);
void gpuval_shadow_remove_range(struct gpuval_shadow *shadow, uint64_t address);

/** The address in the window that @address has its cells by, or 0. */
uint64_t gpuval_shadow_translate(struct gpuval_shadow *shadow, uint64_t address);

/** Nobody has touched anything. No work may be in flight. */
void gpuval_shadow_forget(struct gpuval_shadow *shadow);

#ifdef __cplusplus
}
#endif

#endif
