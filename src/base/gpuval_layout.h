/* SPDX-License-Identifier: MIT */

/* What shader and host share: the layout of everything in GPU memory.
 *
 * All of it is little-endian. Whatever the host reads back from here is
 * untrusted: shaders of the application can overwrite it.
 */

#ifndef GPUVAL_LAYOUT_H
#define GPUVAL_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Control block (docs/protocols.rst): 1 KiB of u32. The low half of a word claims its 16
 * slots, the high half publishes them.
 */
#define GPUVAL_CONTROL_WORDS   256
#define GPUVAL_SLOTS_PER_WORD  16
#define GPUVAL_SLOT_COUNT_LOG2 12
#define GPUVAL_SLOT_COUNT      (1u << GPUVAL_SLOT_COUNT_LOG2)
static_assert(GPUVAL_SLOT_COUNT == GPUVAL_CONTROL_WORDS * GPUVAL_SLOTS_PER_WORD, "all slots");
static_assert(GPUVAL_CONTROL_WORDS * sizeof(uint32_t) == 1024, "docs/protocols.rst: 1 KiB");

/* Slots that a failure tries one after the other until it finds a free one, or a record of its
 * own site and command. The first one is that of docs/protocols.rst, "Slots":
 *
 *    (site * 97 ^ hash_lo ^ hash_hi ^ command_id * 51329) & (slots - 1)
 *
 * In vkd3d-proton's shaders hash_lo ^ hash_hi is one constant, and a shader gives up when the slot
 * is taken. That hash is the same for many pairs of consecutive sites and commands, so the
 * distance to the next slot is another one. It is odd: no slot comes twice.
 */
#define GPUVAL_SLOT_SITE_FACTOR    97u
#define GPUVAL_SLOT_COMMAND_FACTOR 51329u
#define GPUVAL_STEP_SITE_FACTOR    0x9e3779b1u
#define GPUVAL_STEP_COMMAND_FACTOR 0x85ebca6bu
#define GPUVAL_SLOT_TRIES          16

/** The slot that comes @attempt-th, from 0 on. gpuval_nir_record.c builds the same. */
static inline uint32_t
gpuval_slot(uint32_t site, uint32_t hash_lo, uint32_t hash_hi, uint32_t command_id,
            unsigned attempt)
{
   uint32_t first =
      site * GPUVAL_SLOT_SITE_FACTOR ^ hash_lo ^ hash_hi ^ command_id * GPUVAL_SLOT_COMMAND_FACTOR;
   uint32_t step = (site * GPUVAL_STEP_SITE_FACTOR + command_id * GPUVAL_STEP_COMMAND_FACTOR) >>
                   (32 - GPUVAL_SLOT_COUNT_LOG2);
   return (first + (step | 1) * attempt) & (GPUVAL_SLOT_COUNT - 1);
}

/* Device-wide numbers: those of the shaders that live at a time. Only memory that is
 * touched costs anything where the driver can reserve address space.
 */
#define GPUVAL_MAX_SITES   (1u << 22)
#define GPUVAL_MAX_ENTRIES (1u << 22)

/* Bits of the index in an object's id: so many may be alive at once. */
#define GPUVAL_OBJECT_INDEX_BITS 22

/* What reads arguments of commands is no shader, but may be the conflicting access of
 * one: the last entry stands for it, and the last site.
 */
#define GPUVAL_INDIRECT_SITE  (GPUVAL_MAX_SITES - 1)
#define GPUVAL_INDIRECT_ENTRY (GPUVAL_MAX_ENTRIES - 1)

/* What the host polls: on a graphics card it is in memory of the host's, which the host has cached.
 * Shaders only store there, as the way to it may have no atomics.
 */
struct gpuval_poll {
   uint32_t failed;  /* not 0: some counter moved, or a record was published; the host clears it
                      * before it looks */
   uint32_t printed; /* not 0: there has been a message; it stays so */
};

/* The one address that every shader gets. What shaders write has a cache line of its
 * own: the others are read at every access that sync looks at.
 */
struct gpuval_root {
   uint64_t slots_address;      /* struct gpuval_slots; the host changes it while shaders run */
   uint64_t canary;             /* GPUVAL_ROOT_CANARY, or this memory was lost */
   uint64_t counters_address;   /* uint64_t[GPUVAL_MAX_SITES] */
   uint64_t entries_address;    /* struct gpuval_entry[GPUVAL_MAX_ENTRIES] */
   uint64_t printf_address;     /* struct gpuval_printf_header, entries behind it; the
                                 * host changes it while shaders run */
   uint64_t printf_size;        /* bytes behind the header */
   uint64_t bloom_address;      /* sync: uint64_t[], see gpuval_bloom.h */
   uint64_t claims_address;     /* sync: uint64_t[], see gpuval_bloom.h */
   uint32_t bloom_line_mask;    /* sync: number of lines of 8 buckets, minus 1 */
   uint32_t claims_mask;        /* sync: number of claims, minus 1 */
   uint32_t max_entry;          /* sync: what a claim may name */
   uint32_t all_structures;     /* ray: not 0: all are there, whatever the table has */
   uint64_t shadow_address;     /* sync: struct gpuval_shadow_layout, see gpuval_shadow.h */
   uint64_t structures_address; /* ray: uint64_t[GPUVAL_STRUCTURE_SLOTS] */
   uint64_t addresses_address;  /* struct gpuval_address_table, see gpuval_address_table.h */
   uint64_t failing_address;    /* uint32_t[max_failing]: sites whose counters have left 0 */
   uint32_t max_failing;
   uint32_t poison;           /* init: what memory has that was never written; 0: anything */
   uint64_t written;          /* init: the byte of a word at A is at this plus A / 4, modulo
                               * 2^64; see gpuval_init.h */
   uint64_t written_window;   /* init: memory from here on has such bytes */
   uint32_t all_written;      /* init: not 0: all counts as written, whatever marks say */
   uint32_t end_loops;        /* loop: not 0: whatever loop runs is to end */
   uint64_t coverage_address; /* coverage: uint64_t[GPUVAL_MAX_ENTRIES], by entry; or 0 */
   uint64_t poll_address;     /* struct gpuval_poll: `poll` below, or elsewhere */
   uint32_t reserved[8];

   struct gpuval_poll poll;
   uint64_t printf_lost; /* messages for which there was no room */
   uint32_t invocations; /* sync: the counter that numbers invocations */
   uint32_t num_failing; /* goes on beyond max_failing */
   uint32_t written_reserved[10];
};
static_assert(sizeof(struct gpuval_root) == 256, "shaders know the offsets");
static_assert(offsetof(struct gpuval_root, poll) == 192, "a cache line of its own");

/* Behind it: what accesses go to that are not performed, bytes from the root's start */
#define GPUVAL_ROOT_ZEROS         256 /* nobody writes there */
#define GPUVAL_ROOT_SCRATCH       512
#define GPUVAL_ROOT_ALL_ADDRESSES 768 /* a table that has them all */
#define GPUVAL_ROOT_SIZE          1024

#define GPUVAL_ROOT_CANARY 0x6c61767570672121ull /* !!gpuval */

/* One access of a shader, as the failing path reads it. Entries of accesses
 * which share a descriptor and everything of the offset but a constant stand
 * side by side, and one comparison checks them all.
 */
struct gpuval_entry {
   /* Bytes behind the lowest access of the group, modulo 2^32, and how many; of a
    * descriptor the first words of struct gpuval_nir_use
    */
   uint32_t offset;
   uint32_t size;
   uint32_t site;  /* device-wide; of a descriptor the first of several, one a kind */
   uint16_t stage; /* SPIR-V execution model */
   uint8_t set;    /* of a descriptor, as what follows: GPUVAL_USE_* */
   uint8_t flags;
   uint32_t shader_hash[2];
   uint32_t instance; /* as of the entry before: a piece of the same access */
   uint32_t num_slots;
};
static_assert(sizeof(struct gpuval_entry) == 32, "shaders know the stride");
static_assert(offsetof(struct gpuval_entry, shader_hash) == 16, "shaders know the offsets");

/* One failure in detail: docs/protocols.rst, "Records" and "Invocations". */
struct gpuval_record {
   uint32_t shader_hash[2];
   uint32_t site;
   uint32_t command_id;
   uint32_t stage;         /* SPIR-V execution model */
   uint32_t invocation[3]; /* the third one of vertices: 1 + the draw, 0: not known */
   uint32_t offset;        /* buffer accesses: bytes from the start of the range; of sync's to
                            * storage images: GPUVAL_TEXEL_* */
   uint32_t access_size;
   uint32_t bound;      /* bytes of the range; sync: see other */
   uint32_t slot;       /* of the descriptor in its set */
   uint32_t address[2]; /* of the start of the range; sync: of the access */
   uint32_t set;        /* or GPUVAL_REPORT_*; sync through an address: PLAIN */
   uint32_t other;      /* bounds: id of the buffer that is bound, or 0;
                         * sync: bits 0 to 21 are the device-wide site that is
                         * likely the conflicting access, bit 31 says that it is known;
                         * bound has the low 18 bits of its command id then; with
                         * shadow memory bound and other are the two halves of a
                         * party, see gpuval_shadow.h */
};
static_assert(sizeof(struct gpuval_record) == 64, "one cache line a record");

/* One after the other, so that a shader needs one address only: it may be another one the
 * next time.
 */
struct gpuval_slots {
   uint32_t control[GPUVAL_CONTROL_WORDS];
   struct gpuval_record records[GPUVAL_SLOT_COUNT];
};
static_assert(offsetof(struct gpuval_slots, records) % 64 == 0, "in cache lines");

/* The same from gpuval_record::offset on, of an access to an image or a texel buffer. */
/* sync, of a texel of a storage image: gpuval_record::offset is the layer or slice, and above that
 * how many coordinates the view has.
 */
#define GPUVAL_TEXEL_LAYER_MASK   0xffffffu
#define GPUVAL_TEXEL_COORDS_SHIFT 24

struct gpuval_record_image {
   int32_t coord[3]; /* as the view has them: x, y, z or layer; of a texel buffer: bytes
                      * from the start of the range, of a texel, and in all */
   uint32_t slot;
   int32_t last;    /* level or sample */
   uint32_t object; /* id of the view, see gpuval_descriptor.h */
   uint32_t set;
   uint32_t flags; /* GPUVAL_IMAGE_* */
};
#define GPUVAL_IMAGE_COORDS_MASK 0x3u /* how many coordinates there are */
#define GPUVAL_IMAGE_HAS_LEVEL   0x4u
#define GPUVAL_IMAGE_HAS_SAMPLE  0x8u
#define GPUVAL_IMAGE_IS_ONE      0x10u /* init: else it is a buffer's */
static_assert(sizeof(struct gpuval_record_image) + offsetof(struct gpuval_record, offset) ==
                 sizeof(struct gpuval_record),
              "in the place of the words for buffers");
static_assert(offsetof(struct gpuval_record_image, slot) + offsetof(struct gpuval_record, offset) ==
                 offsetof(struct gpuval_record, slot),
              "the same for all");
static_assert(offsetof(struct gpuval_record_image, set) + offsetof(struct gpuval_record, offset) ==
                 offsetof(struct gpuval_record, set),
              "the same for all");

/* ray: the table of gpuval_root::structures_address has some places for each address. */
#define GPUVAL_STRUCTURE_SLOTS_LOG2 12
#define GPUVAL_STRUCTURE_SLOTS      (1u << GPUVAL_STRUCTURE_SLOTS_LOG2)
#define GPUVAL_STRUCTURE_PLACES     4

/* Odd, of no pattern */
static const uint32_t gpuval_structure_factors[GPUVAL_STRUCTURE_PLACES] = {
   0x9e3779b1,
   0x85ebca6b,
   0xc2b2ae35,
   0x27d4eb2f,
};

static inline uint32_t
gpuval_structure_slot(uint64_t address, unsigned place)
{
   uint32_t mixed = (uint32_t)(address >> 6) ^ (uint32_t)(address >> 32);
   return mixed * gpuval_structure_factors[place] >> (32 - GPUVAL_STRUCTURE_SLOTS_LOG2);
}

/* ray: gpuval_record::offset says what is wrong with parameters, or it is flags. */
#define GPUVAL_RAY_ORIGIN    (1u << 0) /* not finite */
#define GPUVAL_RAY_DIRECTION (1u << 1)
#define GPUVAL_RAY_T_MIN     (1u << 2) /* not a number */
#define GPUVAL_RAY_T_MAX     (1u << 3)
#define GPUVAL_RAY_NEGATIVE  (1u << 0) /* the range of t */
#define GPUVAL_RAY_INVERTED  (1u << 1)

/* mesh: gpuval_record::offset has what is wrong, and above it what the limit is; slot is the value.
 */
enum {
   GPUVAL_MESH_TOO_MANY_VERTICES = 1,
   GPUVAL_MESH_TOO_MANY_PRIMITIVES,
   GPUVAL_MESH_SET_TWICE,
   GPUVAL_MESH_NOT_SET,
   GPUVAL_MESH_VERTEX_BEYOND,
   GPUVAL_MESH_PRIMITIVE_BEYOND,
   GPUVAL_MESH_NO_VERTEX,
   GPUVAL_MESH_TASK_X,
   GPUVAL_MESH_TASK_Y,
   GPUVAL_MESH_TASK_Z,
   GPUVAL_MESH_TASK_TOTAL,
};
#define GPUVAL_MESH_BOUND_SHIFT 4
#define GPUVAL_MESH_MAX_BOUND   0xfffffff

/* loop: gpuval_record::slot says why a loop is reported, offset after how many rounds. */
#define GPUVAL_LOOP_LIMIT_REACHED 1
#define GPUVAL_LOOP_BY_HOST       2

#define GPUVAL_OTHER_KNOWN        (1u << 31)
#define GPUVAL_OTHER_SITE_MASK    (GPUVAL_MAX_SITES - 1)
#define GPUVAL_OTHER_COMMAND_BITS 18
static_assert(offsetof(struct gpuval_record, stage) == 16, "vkd3d-proton's 16 bytes come first");

/* What a driver hands to each command, beside the application's own push
 * constants or in registers.
 */
#define GPUVAL_STAGE_COUNT 16 /* indexed by mesa_shader_stage */
struct gpuval_command_data {
   uint64_t root_address;
   uint64_t functions; /* addresses of those that are not part of shaders */
   uint32_t command_id;
   uint32_t epoch;         /* sync: what lies before the last full barrier is another */
   uint32_t sync_flags;    /* GPUVAL_SYNC_* */
   uint32_t epoch_command; /* the first command id of the epoch, or an earlier one */
   uint32_t entry_base[GPUVAL_STAGE_COUNT];
   uint64_t order_address; /* sync: struct gpuval_order_table, see gpuval_order.h; 0: none */
   uint32_t serial;        /* sync: of the span that the command is in */
   uint32_t order_class;   /* sync: if not 0, instead of the class of a shader's stage */

   /* sync, shadow memory: see gpuval_shadow.h */
   union {
      uint64_t shadow_window; /* memory from here on has cells */
      uint64_t marks_address; /* init, where there is no window: struct gpuval_marked_table */
   };
   uint64_t shadow_words;   /* the cell of a word at A is at this plus A * 4, modulo 2^64; or
                             * where there is no window, struct gpuval_shadow_table */
   uint32_t shadow_command; /* as in the upper half of a party, without the rest; 0: the
                             * command is not looked at */
   uint32_t shadow_ordered; /* upper halves below this are of what is ordered before */
   uint32_t shadow_others;  /* the same for uniform and sampled reads, and rays */
   uint32_t execution;      /* sync: a number of this execution of the command */
};
static_assert(sizeof(struct gpuval_command_data) == 144, "shaders know the offsets");

/* GPUVAL_POISON: what memory is filled with when it is allocated. NaN as a half, a float, a
 * double and a bfloat16; 2,147,450,879 as an integer.
 */
#define GPUVAL_POISON_WORD 0x7fff7fffu

/* Printf buffer (docs/printf.rst, "Protocol"). Entries follow one another, aligned
 * to 4 bytes: this header, then the payload.
 *
 *    uint64_t size : 16;   in dwords, with this header
 *    uint64_t format : 48; which DebugPrintf this is
 *
 * The low dword is written last: an entry is whole once its size is not 0.
 */
struct gpuval_printf_header {
   uint64_t offset; /* in dwords, of the next free space behind this header; goes
                     * on beyond the end of the buffer */
   uint32_t reserved[2];
};
static_assert(sizeof(struct gpuval_printf_header) == 16, "docs/printf.rst: 16 bytes");
#define GPUVAL_PRINTF_ENTRY_WORDS 2
#define GPUVAL_PRINTF_ID_BITS     48
/* Beyond this, an offset is not used: 2 GiB, in dwords */
#define GPUVAL_PRINTF_MAX_OFFSET (1u << 29)

/* Since the epoch began there was an execution dependency from shaders to
 * shaders without a memory dependency: writes after reads are ordered, reads
 * after writes are not.
 */
#define GPUVAL_SYNC_WRITE_AFTER_READ_OK 1u

/* The same, and what has been written is available to later writes, but not visible to
 * reads.
 */
#define GPUVAL_SYNC_WRITE_AFTER_WRITE_OK 2u

#endif
