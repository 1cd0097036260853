/* SPDX-License-Identifier: MIT */

/* @sync_gpuval: what the checks sync and shared leave at an access, and what becomes of it. */

#ifndef GPUVAL_NIR_SYNC_H
#define GPUVAL_NIR_SYNC_H

#include "gpuval/src/base/gpuval_bloom.h"
#include "gpuval/src/base/gpuval_shadow.h"
#include "gpuval_nir.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What shadow memory has to know of the command; 32 bit where nothing else is said. */
struct gpuval_nir_shadow_command {
   nir_def *root;   /* 64 bit, */
   nir_def *layout; /* 64 bit: struct gpuval_shadow_layout, */
   nir_def *words;  /* 64 bit, */
   nir_def *order;  /* 64 bit, and fields of struct gpuval_command_data */
   nir_def *command, *ordered, *others, *order_class;
   nir_def *now; /* of the layout, as it was when the invocation began, or NULL */
};

/** Loads it at b->cursor. */
struct gpuval_nir_shadow_command
gpuval_nir_load_shadow_command(nir_builder *b, const struct gpuval_nir_driver *driver);

/** What a @sync_gpuval hands over; 32 bit where nothing else is said. */
struct gpuval_nir_access_params {
   nir_def *address;       /* 64 bit */
   nir_def *size;          /* bytes, 1 to 16 */
   nir_def *type;          /* enum gpuval_bloom_type: load, store or atomic */
   nir_def *access;        /* shadow: enum gpuval_order_access */
   nir_def *orders;        /* 1 bit, shadow: no access, but GPUVAL_SYNC_RELEASE and so on */
   nir_def *entry;         /* absolute: with gpuval_nir_driver::entry_base */
   nir_def *invocation_id; /* @invocation_gpuval, or what does for it */
   nir_def *has_phases;    /* 1 bit: the workgroup exchanges data, see below */
   nir_def *token;         /* of the workgroup; shadow: GPUVAL_SHADOW_CONTEXT */
   nir_def *phase;         /* barriers before; GPUVAL_NIR_PHASE_MASK */
   nir_def *value;         /* what a store stores, gpuval_nir_value.c; else anything */
   nir_def *has_value;     /* 1 bit */
   nir_def *is_constant;   /* 1 bit, shadow: GPUVAL_SYNC_CONSTANT; NULL: it is not */
   nir_def *was_taken;     /* 1 bit, shadow: GPUVAL_SYNC_WAS_TAKEN; NULL: it was not */
   nir_def *is_visible;    /* 1 bit, shadow: GPUVAL_SYNC_MAY_BE_VISIBLE; NULL: never */
   nir_def *set;           /* or GPUVAL_REPORT_PLAIN: through an address */
   nir_def *offset;        /* in the range of the descriptor; of an image: GPUVAL_TEXEL_* */
   nir_def *slot;
   nir_def *invocation[3];

   /* Shadow memory: NULL, it is loaded here */
   const struct gpuval_nir_shadow_command *command;
   bool notes; /* gpuval_shadow_note_loaded() is used in this shader */
   /* With gpuval_nir_driver::has_table, of 64 bits: address of the struct gpuval_shadow_area where
    * accesses like this one have been, or 0. NULL: nobody remembers.
    */
   nir_variable *last_area;

   /* ~0, and 0 in invocations that are not, for whoever looks at others of its
    * quad. NULL where the driver cannot tell, or does not care.
    */
   nir_def *here;
};

/** Emits the check at b->cursor; @hashes: GPUVAL_BLOOM_HASHES. */
void gpuval_nir_build_access(nir_builder *b, const struct gpuval_nir_driver *driver,
                             unsigned hashes, const struct gpuval_nir_access_params *params);

/* In the place of @sync_gpuval's size where its flags have GPUVAL_SYNC_ORDERS: what an
 * atomic, or a memory barrier, does to the order. Wider scopes are higher numbers.
 */
enum gpuval_sync_order {
   GPUVAL_SYNC_NOTHING,
   /* Before an atomic that writes, behind a barrier */
   GPUVAL_SYNC_RELEASE_SUBGROUP,
   GPUVAL_SYNC_RELEASE_WORKGROUP,
   GPUVAL_SYNC_RELEASE,
   GPUVAL_SYNC_HAND_ON, /* to all, what others have released, and nothing of its own */
   /* After an atomic that reads */
   GPUVAL_SYNC_FIND,
   /* At a barrier */
   GPUVAL_SYNC_ACQUIRE_SUBGROUP,
   GPUVAL_SYNC_ACQUIRE_WORKGROUP,
   GPUVAL_SYNC_ACQUIRE,
};

/* gpuval_nir_access_params::phase: barriers of the workgroup before, how many of the latest of
 * them do not order memory, and above these the barriers of the subgroup since the last one that
 * does. All bits of the first or the last mean that it is not known.
 */
#define GPUVAL_NIR_PHASE_MASK   0xffu
#define GPUVAL_NIR_BEHIND_SHIFT 8
#define GPUVAL_NIR_BEHIND_MASK  0xff00u
#define GPUVAL_NIR_SUB_ONE      0x10000u
#define GPUVAL_NIR_SUB_UNKNOWN  0xffff0000u

/** The same with cells of shadow memory. */
void gpuval_nir_build_shadow(nir_builder *b, const struct gpuval_nir_driver *driver,
                             const struct gpuval_nir_access_params *params);
/**
 * Looks at the cells of what a command accesses without a shader, and leaves its mark, with
 * gpuval_nir_driver::has_table; of @params the address, the size, the type, the access, the id, the
 * token, whose site is what a cell names the command by, and the command. What is not in one
 * block is looked at word by word. Returns, 1 bit, whether somebody has been there whom the command
 * is not ordered after, with the half of the cell that names him, and from which byte of the access
 * on.
 */
nir_def *gpuval_nir_build_command_access(nir_builder *b, const struct gpuval_nir_driver *driver,
                                         const struct gpuval_nir_access_params *params,
                                         nir_def *other[2], nir_def **byte);

/** The part of struct gpuval_shadow_area that glances need, of the area that one has been in */
struct gpuval_nir_near {
   nir_variable *begin;  /* 64 bit */
   nir_variable *size;   /* 32 bit; 0: in none. Of larger areas, what 32 bits can say */
   nir_variable *blocks; /* 64 bit */
};

/**
 * With gpuval_nir_driver::has_table, before gpuval_nir_build_shadow(): one look at an access that
 * finds nothing in its cell but what is past, or what it would write, as most do. Looks at several
 * accesses may begin before the first of them ends, for memory is far away.
 */
struct gpuval_nir_quick {
   nir_def *active;
   nir_def *done, *was_taken; /* 1 bit, at its end: done; gpuval_nir_access_params::was_taken */
   struct gpuval_shadow_quick *look; /* from its beginning to its end */
};

/** What the place of a load depends on, which says whether others load from there, too */
enum {
   GPUVAL_NIR_DEPENDS_ON_INVOCATION = BITFIELD_BIT(0),
   GPUVAL_NIR_DEPENDS_ON_TURN = BITFIELD_BIT(1),   /* of a loop, or on the way control has taken */
   GPUVAL_NIR_DEPENDS_ON_OTHERS = BITFIELD_BIT(2), /* memory, or what is not looked into */
   GPUVAL_NIR_IS_FOLDED = BITFIELD_BIT(3),         /* by a mask, a quotient and so on */
};
unsigned gpuval_nir_find_dependences(nir_scalar value);

/**
 * Of a load, before a look, in shaders where nothing is released or acquired: 1 bit, is there
 * certainly nothing to look at? Always so of who is not @active.
 */
nir_def *gpuval_nir_glance(nir_builder *b, const struct gpuval_nir_driver *driver,
                           const struct gpuval_nir_access_params *params,
                           const struct gpuval_nir_near *near, nir_def *active);
/** For whole functions: @near is nowhere at first. */
void gpuval_nir_create_near(nir_builder *at_top, struct gpuval_nir_near *near);
/**
 * Sets it to where @address is, unless it is that. @last_area: gpuval_nir_access_params::last_area,
 * which becomes the same
 */
void gpuval_nir_come_near(nir_builder *b, const struct gpuval_nir_shadow_command *command,
                          nir_def *address, nir_variable *last_area,
                          const struct gpuval_nir_near *near);

/** @active: 1 bit; whoever is not active looks, too, but leaves nothing. */
void gpuval_nir_begin_quick(nir_builder *b, const struct gpuval_nir_driver *driver,
                            const struct gpuval_nir_access_params *params, nir_def *active,
                            struct gpuval_nir_quick *quick);
void gpuval_nir_end_quick(nir_builder *b, struct gpuval_nir_quick *quick);

/** What is known of a shader's loads in struct gpuval_shadow_loads, as it was when the invocation
 * began
 */
struct gpuval_nir_loads {
   nir_def *address; /* 64 bit, of that */
   nir_def *command, *entry;
   nir_def *groups; /* bits of those that need no look */
};

/** @entry: the first one of the shader's loads there. */
struct gpuval_nir_loads gpuval_nir_find_loads(nir_builder *b,
                                              const struct gpuval_nir_shadow_command *command,
                                              nir_def *entry);
/** From now on those of @group need none. */
void gpuval_nir_note_loads(nir_builder *b, const struct gpuval_nir_loads *loads, unsigned group);

/** 1 bit: may accesses be for the filter? Mostly all memory has cells. With
 * gpuval_nir_driver::has_table
 */
nir_def *gpuval_nir_may_have_no_cells(nir_builder *b, const struct gpuval_nir_driver *driver);
/** 1 bit: is the access one for the filter, where some are? */
nir_def *gpuval_nir_has_no_cells(nir_builder *b, const struct gpuval_nir_driver *driver,
                                 nir_def *address, nir_def *size);

/* The check shared: cells of shared memory and task payloads, gpuval_nir_shared.c */
#define GPUVAL_SHARED_ORDER_SIZE      16
#define GPUVAL_SHARED_CELL_SIZE       8
#define GPUVAL_SHARED_INVOCATION_MASK 0x3ffu
/* gpuval_nir_access_params::slot, beside how far the cells are behind the words of order; and where
 * cells have 64-bit addresses, above that, where the words of order begin, in units of 16 bytes
 */
#define GPUVAL_SHARED_IS_PAYLOAD    0x1u
#define GPUVAL_SHARED_DISTANCE_MASK 0xffff8u
#define GPUVAL_SHARED_BEGIN_SHIFT   20
/* In the token, in the place of the class: only phases of the workgroup order what is shared, so
 * that two who load in one are as good as all of it.
 */
#define GPUVAL_SHARED_BY_PHASES 1
/* ... size, beside the bytes: a store of what is there already. Of shared memory with 64-bit
 * addresses it is looked at when there is something to report.
 */
#define GPUVAL_SHARED_SAME 0x80000000u

/**
 * The same, where address is that of a cell: with 64 bits anywhere, with 32 bits in shared
 * memory. The offset is that of the access, in its memory; token has the size of a granule,
 * log2, in place of the workgroup's shift.
 */
void gpuval_nir_build_shared(nir_builder *b, const struct gpuval_nir_driver *driver,
                             const struct gpuval_nir_access_params *params);

/** Flags of @sync_gpuval */
enum {
   GPUVAL_SYNC_TYPE_MASK = 0x3,   /* enum gpuval_bloom_type, or: */
   GPUVAL_SYNC_ATOMIC_LOAD = 0x3, /* shadow memory only */
   GPUVAL_SYNC_HAS_PHASES = 0x4,
   GPUVAL_SYNC_ACCESS_SHIFT = 3, /* enum gpuval_order_access, 3 bits */
   GPUVAL_SYNC_ORDERS = 0x40,
   GPUVAL_SYNC_HAS_VALUE = 0x100, /* a store: with GPUVAL_SYNC_SHARED see there */
   GPUVAL_SYNC_WAS_TAKEN = 0x200, /* another lane has taken away the mark that this one left */
   GPUVAL_SYNC_SHARED = 0x80,     /* memory of a workgroup: gpuval_nir_build_shared() */
   GPUVAL_SYNC_FILTER = 0x400,    /* gpuval_nir_options::filter_beside: see there */
   GPUVAL_SYNC_SHADOW = 0x800,    /* the engine is shadow memory */
   /* Shadow: an invocation whose id has GPUVAL_SHADOW_VISIBLE reads as
    * GPUVAL_ORDER_ACQUIRED_READ.
    */
   GPUVAL_SYNC_MAY_BE_VISIBLE = 0x1000,
   GPUVAL_SYNC_CONSTANT = 0x2000, /* shadow: a store that stores the same each time */
};

/** gpuval_nir_access_params::is_visible */
static inline nir_def *
gpuval_nir_is_visible(nir_builder *b, nir_def *flags, nir_def *id)
{
   nir_def *may = nir_ine_imm(b, nir_iand_imm(b, flags, GPUVAL_SYNC_MAY_BE_VISIBLE), 0);
   return nir_iand(b, may, nir_ine_imm(b, nir_iand_imm(b, id, GPUVAL_SHADOW_VISIBLE), 0));
}

#ifdef __cplusplus
}
#endif

#endif
