/* SPDX-License-Identifier: MIT */

/* Between the files of the passes only. */

#ifndef GPUVAL_NIR_PRIVATE_H
#define GPUVAL_NIR_PRIVATE_H

#include "gpuval_nir.h"
#include "gpuval_nir_sync.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What an access goes through. */
enum gpuval_access_type {
   GPUVAL_ACCESS_NONE,         /* an edge only */
   GPUVAL_ACCESS_BUFFER,       /* uniform or storage buffer, or inline uniform block */
   GPUVAL_ACCESS_LENGTH,       /* size of a storage buffer: its descriptor only */
   GPUVAL_ACCESS_TEXEL_BUFFER, /* as a texture or an image */
   GPUVAL_ACCESS_IMAGE,        /* storage image */
   GPUVAL_ACCESS_TEXTURE,      /* sampled image, input attachment */
   GPUVAL_ACCESS_ADDRESS,
   GPUVAL_ACCESS_SHARED,
   GPUVAL_ACCESS_TASK_PAYLOAD,
   GPUVAL_ACCESS_OUTPUT,     /* a store to one, but not of tessellation control */
   GPUVAL_ACCESS_RAYS,       /* a trace, or something with a ray query */
   GPUVAL_ACCESS_LANES,      /* a subgroup operation that reads another invocation */
   GPUVAL_ACCESS_DERIVATIVE, /* of a value; what samples is TEXTURE */
   GPUVAL_ACCESS_BARRIER,    /* no access, but stands between some */
};

/** One thing that the application's shader does. */
struct gpuval_access {
   nir_instr *instr;
   nir_block *block; /* before any check has added control flow */
   enum gpuval_access_type type;
   enum gpuval_op op;
   enum gpuval_op spirv_op; /* what it is in SPIR-V, for reports */
   uint32_t instance;       /* of its SPIR-V instruction: gpuval_nir_spirv_offset() */

   /* Reports of what stands before it must not wait for it. */
   bool is_edge;
   bool is_atomic;      /* also a load or store that is one in SPIR-V */
   bool is_interlocked; /* between the ends of a fragment shader interlock */

   /* Whatever has data: BUFFER, ADDRESS, SHARED, TASK_PAYLOAD */
   uint8_t component_bytes;
   uint16_t components; /* mask of those that are accessed */

   /* 1 bit: a check before has reported it, so that others are to keep silent, and it is
    * not to be performed; NULL: never
    */
   nir_def *bad;
   /* 1 bit: a check before has reported it, and it is performed; NULL: never */
   nir_def *forbidden;

   /* ADDRESS: as the shader has it, where an address that is bad is replaced; else NULL. RAYS: the
    * same of the structure
    */
   nir_def *address;

   /* BUFFER */
   bool is_described; /* else it is not to be checked */
   struct gpuval_nir_buffer buffer;

   /* TEXEL_BUFFER, IMAGE, TEXTURE, OUTPUT */
   nir_deref_instr *resource;
   nir_deref_instr *sampler; /* NULL: none */

   /* OUTPUT: SPIR-V offset of the assignment, 32 bit; NULL: not known */
   nir_def *assigned;
   nir_def *born; /* of what the check nan has reported last; NULL: not on */
};

/** Operands of an access to an image or a texture, 32 bit; NULL: it has none. */
struct gpuval_nir_operands {
   nir_def *coord[3];
   unsigned num_coords; /* layer included, which comes last */
   bool is_array;
   enum glsl_sampler_dim dim;
   nir_def *level;
   nir_def *sample;
   bool is_texture;
};

/** The texel that an access to a storage image is about, 32 bit where nothing else is said */
struct gpuval_nir_texel {
   uint32_t set, binding;
   nir_def *slot;
   nir_def *active;  /* 1 bit: there is one, and its address is known */
   nir_def *address; /* 64 bit */
   nir_def *size;    /* bytes */
   nir_def *offset;  /* GPUVAL_TEXEL_* */
};

/** One descriptor of an access: gpuval_nir_use.c */
struct gpuval_access_use {
   const struct gpuval_access *access;
   bool is_sampler; /* and not the resource */
   struct gpuval_nir_use nir;
   uint32_t set, binding;

   nir_def *index; /* flattened; NULL: @constant */
   uint32_t constant;
   nir_scalar scalar; /* the index, where there is but one */
   uint32_t count;    /* elements that the shader declares; UINT32_MAX: open */
   bool is_non_uniform;

   struct gpuval_nir_binding layout;
};

struct gpuval_nir_state {
   nir_builder b;
   const struct gpuval_nir_options *options;
   struct gpuval_nir_table *table;
   nir_def *invocation;
   nir_def *bad_uses;              /* once it is asked for */
   struct util_dynarray instances; /* uint32_t SPIR-V offsets, by nir_instr::index */
   struct util_dynarray accesses;  /* struct gpuval_access, in the order of blocks */
   /* struct gpuval_nir_replacement: made last, other checks see the application's own. */
   struct util_dynarray replacements;
   struct hash_table *sites; /* struct gpuval_site to index + 1 */
   nir_variable *printed;    /* messages of the invocation, for assert; NULL: not counted */
   bool counts_blocks;       /* coverage has left something, */
   bool has_globals;         /* and variables, as long as passes run */
};

/** Does @instr, of any kind, need other invocations to be there? */
bool gpuval_nir_reads_lanes(nir_instr *instr);
/** Fills state->accesses. */
void gpuval_nir_find_accesses(struct gpuval_nir_state *state);

#define gpuval_nir_foreach_access(state, access)                                                   \
   util_dynarray_foreach (&(state)->accesses, struct gpuval_access, access)

/** Bytes from the first that @access touches to behind the last. */
static inline uint32_t
gpuval_nir_access_bytes(const struct gpuval_access *access)
{
   return (util_last_bit(access->components) - (ffs(access->components) - 1)) *
          access->component_bytes;
}

/** Bytes that a store leaves out first. */
static inline uint32_t
gpuval_nir_access_skipped(const struct gpuval_access *access)
{
   return (ffs(access->components) - 1) * access->component_bytes;
}

static inline nir_def *
gpuval_nir_phase(nir_builder *b, nir_def *word)
{
   return nir_iand_imm(b, word, GPUVAL_NIR_PHASE_MASK);
}

/** Phases below this are ordered before. */
static inline nir_def *
gpuval_nir_ordered_phase(nir_builder *b, nir_def *word)
{
   nir_def *behind =
      nir_ushr_imm(b, nir_iand_imm(b, word, GPUVAL_NIR_BEHIND_MASK), GPUVAL_NIR_BEHIND_SHIFT);
   return nir_isub(b, gpuval_nir_phase(b, word), behind);
}

/** Barriers of a shader with workgroups, counted as they come: gpuval_nir_phases.c */
struct gpuval_nir_phases {
   nir_variable_mode modes; /* memory that they have to order, one of these */
   uint32_t types;          /* accesses to it: BITFIELD_BIT(enum gpuval_access_type) */
   bool is_plain;           /* subgroups and workgroups are one count */
   nir_variable *ended;     /* set to 0 when a phase of the workgroup begins, or NULL */

   /* Filled in */
   uint32_t scopes;      /* of those that there are: BITFIELD_BIT(mesa_scope) */
   nir_variable *var;    /* the count, while there are scopes */
   nir_def *lanes;       /* invocations of the subgroup at the beginning */
   nir_variable *fenced; /* gpuval_nir_phases.c, if barriers and memory barriers stand apart */
};

void gpuval_nir_count_phases(struct gpuval_nir_state *state, struct gpuval_nir_phases *phases);
/** Does a barrier order memory of any of @modes? */
bool gpuval_nir_covers(const nir_intrinsic_instr *barrier, nir_variable_mode modes);

/** What a store of @count components of @data stores, 32 bit: gpuval_nir_value.c */
nir_def *gpuval_nir_value(nir_builder *b, nir_def *data, unsigned first, unsigned count);
/** 1 bit: are the @size bytes at @address what the store of @params stores? Of loads: no. */
nir_def *gpuval_nir_has_value_at(nir_builder *b, const struct gpuval_nir_access_params *params,
                                 nir_def *address, nir_def *size);
/** 1 bit: does a lane whose two words @mark are @other store @value, too? */
nir_def *gpuval_nir_is_lanes_value(nir_builder *b, unsigned num_lanes, nir_def *const *mark,
                                   nir_def *const *other, nir_def *value);

/**
 * Is it a memory barrier, of @scope or wider, that makes nobody wait for the others of its scope,
 * and is none of those which begin a phase?
 */
bool gpuval_nir_is_fence(const struct gpuval_nir_state *state, const struct gpuval_access *access,
                         nir_variable_mode modes, mesa_scope scope);

/** A field of struct gpuval_root. */
nir_def *gpuval_nir_load_root(nir_builder *b, nir_def *root, unsigned bit_size, unsigned offset);
/**
 * An address there, which does not change for the shader that runs. @scalar: on a GPU, one load
 * for all lanes.
 */
nir_def *gpuval_nir_load_address(nir_builder *b, bool scalar, nir_def *root, unsigned offset);
nir_def *gpuval_nir_element_address(nir_builder *b, nir_def *array, nir_def *index,
                                    unsigned stride);

/** What a record is made of. */
struct gpuval_nir_failure {
   unsigned merged_lanes; /* gpuval_nir_driver::merged_lanes */
   bool swaps;            /* gpuval_nir_driver::swaps */
   bool is_one_site;      /* of all lanes that come here */
   bool is_first_only;    /* gpuval_nir_driver::records_first */
   nir_def *const *invocation;
   nir_def *root;
   nir_def *site;
   nir_def *stage;
   nir_def *hash_lo, *hash_hi;
   nir_def *command_id;
   nir_def *offset;
   nir_def *access_size;
   nir_def *bound;
   nir_def *slot;
   nir_def *set;
   nir_def *address; /* 64 bit */
   nir_def *other;   /* struct gpuval_record::other */
};

/** Counts it, and writes its record unless there is one. */
void gpuval_nir_record_failure(nir_builder *b, const struct gpuval_nir_failure *failure);

/**
 * Makes nir_instr::index the number of the instance of a SPIR-V instruction that it was made for,
 * whose offset is in @instances, uint32_t, which is empty before.
 */
void gpuval_nir_index_by_instance(nir_function_impl *impl, struct util_dynarray *instances);
uint32_t gpuval_nir_spirv_offset(const struct gpuval_nir_state *state, uint32_t instance);
/** Where that is in the module, however it was called. */
uint32_t gpuval_nir_place(const struct gpuval_nir_state *state, uint32_t instance);
/** Sets that have buffers, which a variable pointer may lead to. */
uint32_t gpuval_nir_buffer_sets(nir_shader *nir);
uint32_t gpuval_nir_add_site(struct gpuval_nir_state *state, const struct gpuval_site *site);
/** Those of a store that is a hazard: what changes something, and what does not */
uint32_t gpuval_nir_add_store_sites(struct gpuval_nir_state *state, const struct gpuval_site *site);
uint32_t gpuval_nir_add_sites(struct gpuval_nir_state *state, const struct gpuval_site *site,
                              const enum gpuval_kind *kinds, unsigned count);

struct gpuval_nir_report {
   nir_def *failed; /* 1 bit */
   nir_def *offset; /* lowest offset of the group; NULL: 0, or */
   nir_def *detail; /* all four words */
   nir_def *slot;   /* descriptor; GPUVAL_REPORT_INLINE: its size; NULL: 0 */
   unsigned set;    /* or GPUVAL_REPORT_* */
   /* gpuval_nir_driver::checks_buffers: in the place of failed and slot, */
   nir_def *index;    /* the access's; NULL: nothing of that */
   nir_def *excluded; /* 1 bit: not checked, or NULL */
   uint32_t span;     /* bytes */
   uint32_t first_entry;
   uint32_t num_entries;
};

/** Appends to the table; returns the entry's number in it. */
uint32_t gpuval_nir_add_entry(struct gpuval_nir_state *state, const struct gpuval_nir_entry *entry);

void gpuval_nir_report(struct gpuval_nir_state *state, const struct gpuval_nir_report *report);

/**
 * The report of what is about no descriptor, with an entry and perhaps a site of its own.
 * @size: bytes of the access, if it is one; the words, which may be NULL, are the record's
 * offset and slot.
 */
void gpuval_nir_report_plain(struct gpuval_nir_state *state, const struct gpuval_site *site,
                             uint32_t size, nir_def *failed, nir_def *offset, nir_def *slot);

/* Low bits of the command id in the first half of a claim */
nir_def *gpuval_nir_claim_command(nir_builder *b, nir_def *claim);

/* The report of a hazard, whose claim may name the other party. @same: 1 bit, a store that
 * changes nothing.
 */
void gpuval_nir_build_hazard(nir_builder *b, const struct gpuval_nir_driver *driver,
                             const struct gpuval_nir_access_params *params, nir_def *root,
                             nir_def *claim, nir_def *known, nir_def *same);

/** The same where a half of a cell of shadow memory names it. */
void gpuval_nir_build_shadow_hazard(nir_builder *b, const struct gpuval_nir_driver *driver,
                                    const struct gpuval_nir_access_params *params, nir_def *root,
                                    nir_def *other_lo, nir_def *other_hi, nir_def *same);
/**
 * Finds the resource of @access, with its sampler if they are one descriptor, or with
 * @is_sampler a sampler of its own. May emit the computation of the index before the access.
 * Returns false where there is none, or nothing is known of it.
 */
bool gpuval_nir_find_use(struct gpuval_nir_state *state, const struct gpuval_access *access,
                         bool is_sampler, struct gpuval_access_use *use);
/** Returns the bit of gpuval_nir_bad_uses() that @use has from now on, or -1: there is no room. */
int gpuval_nir_add_use(struct gpuval_nir_state *state, const struct gpuval_nir_use *use);
/** gpuval_nir_descriptors::bad_uses(), where the driver has that */
nir_def *gpuval_nir_bad_uses(struct gpuval_nir_state *state);
/** Its slot, 32 bit, at b->cursor */
nir_def *gpuval_nir_get_slot(nir_builder *b, const struct gpuval_access_use *use);
/** May @instr have other descriptors in other invocations, or is that not known? */
bool gpuval_nir_is_non_uniform(const nir_instr *instr, bool is_sampler);

/* gpuval_nir_operands.c */

void gpuval_nir_get_operands(nir_builder *b, const struct gpuval_access *access,
                             struct gpuval_nir_operands *operands);
/**
 * What the access of @use to an image accesses, and how large its view is, with
 * gpuval_nir_driver::extent. Returns the slot of the descriptor.
 */
nir_def *gpuval_nir_get_extent(nir_builder *b, const struct gpuval_nir_driver *driver,
                               const struct gpuval_access_use *use,
                               struct gpuval_nir_operands *operands,
                               struct gpuval_nir_extent *extent);
/** Is any of them outside of the view? 1 bit */
nir_def *gpuval_nir_is_outside(nir_builder *b, const struct gpuval_nir_operands *operands,
                               const struct gpuval_nir_extent *extent);
/** Of a texel buffer's access, 32 bit */
nir_def *gpuval_nir_texel_index(nir_builder *b, nir_instr *instr);
/** Returns false where the driver does not know, or it is no storage image. At b->cursor */
bool gpuval_nir_find_texel(struct gpuval_nir_state *state, const struct gpuval_access *access,
                           struct gpuval_nir_texel *texel);

/** Emits the look-up of a descriptor at b->cursor: gpuval_nir_descriptor.c */
struct gpuval_nir_verdict gpuval_nir_build_use(nir_builder *b,
                                               const struct gpuval_nir_driver *driver,
                                               const struct gpuval_nir_use_params *params);
/** Id of the object that a descriptor leads to, as far as it is known; else 0. 32 bit */
nir_def *gpuval_nir_load_object(nir_builder *b, const struct gpuval_nir_driver *driver,
                                nir_def *set, nir_def *slot);
/** Is anything true of that? 1 bit */
nir_def *gpuval_nir_is_bad(nir_builder *b, const struct gpuval_nir_verdict *verdict);

/**
 * Looks up @slot, 32 bit: bit 0 of the result says that the descriptor is bad. Bit 1: @index,
 * if it is not NULL, differs from that of the first invocation of the subgroup that is no
 * helper. Bit 2: gpuval_nir_verdict::harmful.
 */
nir_def *gpuval_nir_call_use(nir_builder *b, const struct gpuval_nir_use *use, nir_def *slot,
                             nir_def *index);
/** The same where gpuval_nir_driver::reports_uses: what it finds is reported by @first_entry, and
 * bit 1 without bit 0 by the next one, if there are two.
 */
nir_def *gpuval_nir_look_at_use(struct gpuval_nir_state *state, const struct gpuval_nir_use *use,
                                nir_def *slot, nir_def *index, uint32_t first_entry,
                                uint32_t num_entries);

/** What is wrong with a descriptor at a constant slot: 32 bit, the same in all lanes. */
struct gpuval_nir_constant_use {
   nir_def *bad;     /* not 0: as bit 0 of gpuval_nir_call_use() */
   nir_def *harmful; /* not 0: as bit 2 */
};

/** Emits that at b->cursor. Returns false where the driver has no code for it. */
bool gpuval_nir_build_constant_use(nir_builder *b, const struct gpuval_nir_driver *driver,
                                   const struct gpuval_nir_use *use,
                                   struct gpuval_nir_constant_use *out);
/* What it calls, with GPUVAL_FUNCTION_DESCRIPTOR_WORDS */
nir_def *gpuval_nir_build_called_use(nir_builder *b, const struct gpuval_nir_driver *driver,
                                     nir_def *const *words);

/** Returns @instr if it is a report of @check that stands in the shader since vtn, or NULL. */
const nir_intrinsic_instr *gpuval_nir_as_early_report(const nir_instr *instr,
                                                      enum gpuval_check check);

/** export: has the shader outputs, and are they checked? */
bool gpuval_nir_has_exports(const struct gpuval_nir_state *state);
/** To be called before any check, while temporaries are variables. */
void gpuval_nir_prepare_export(struct gpuval_nir_state *state);
/** Long before the hook: gpuval_nir_note_assignments() */
void gpuval_nir_note_exports(struct gpuval_nir_state *state);

/** Words that identify the invocation, taken first thing. */
nir_def *gpuval_nir_invocation(struct gpuval_nir_state *state);

/** The failure of an entry, its number being absolute. */
void gpuval_nir_build_failure(nir_builder *b, const struct gpuval_nir_driver *driver,
                              nir_def *entry, nir_def *const *invocation,
                              const struct gpuval_nir_finding *finding);
/** GPUVAL_REPORT_UNWRITTEN: marks, or looks and reports. */
void gpuval_nir_build_init(nir_builder *b, const struct gpuval_nir_driver *driver,
                           const struct gpuval_nir_report_params *params);

/** Makes code of what gpuval_nir_emit_block() has left: the check coverage. */
void gpuval_nir_count_blocks(struct gpuval_nir_state *state);

/**
 * What a report says of an output with these components, of 32 bits each: as @mask which are NaNs
 * and which infinite (GPUVAL_EXPORT_INF_SHIFT), and as @number which of its entries it is.
 */
void gpuval_nir_find_in_values(nir_builder *b, nir_def *const values[4], nir_def **mask,
                               nir_def **number);

/** Is a float certainly neither NaN nor infinite? */
bool gpuval_nir_is_finite(nir_scalar scalar);

/** Emits what GPUVAL_REPORT_COVERED does at b->cursor. */
void gpuval_nir_build_covered(nir_builder *b, const struct gpuval_nir_driver *driver,
                              const struct gpuval_nir_report_params *params);

/** GPUVAL_REPORT_USED: marks. */
void gpuval_nir_build_used(nir_builder *b, const struct gpuval_nir_driver *driver,
                           const struct gpuval_nir_report_params *params);

/**
 * How many of the @ranges, which are ascending, disjoint and @stride bytes apart, begin at
 * @address or before, 32 bit. @table begins with their number, and each range with its
 * address. @is_fixed: nobody writes it while a command runs.
 */
nir_def *gpuval_nir_count_ranges(nir_builder *b, nir_def *table, nir_def *ranges, unsigned stride,
                                 nir_def *address, bool is_fixed);

/** Returns the address or the offset of an access to memory, as the shader has it. */
nir_def *gpuval_nir_access_offset(const struct gpuval_access *access);

/** Returns a value that @address, or an offset, is *offset behind: that is a constant. */
nir_def *gpuval_nir_split_offset(nir_def *address, int64_t *offset);

/* gpuval_nir_words.c */

struct gpuval_nir_word {
   const struct gpuval_access *access;
   unsigned component;
   int64_t offset;   /* bytes behind the base */
   nir_scalar value; /* of a store; known before the first access */
};

struct gpuval_nir_words {
   const struct gpuval_access *first;
   const nir_def *base;
   int64_t offset;                   /* of @first behind the base */
   struct gpuval_nir_word words[64]; /* ascending */
   unsigned count;
};

/**
 * Collects words that belong together from @first on. Returns where in the list they end, which is
 * mostly behind @first.
 */
struct gpuval_access *gpuval_nir_collect_words(struct gpuval_access *first,
                                               const struct gpuval_access *end,
                                               struct gpuval_nir_words *words);
/** Returns how many words from @index on stand side by side. */
unsigned gpuval_nir_count_words(const struct gpuval_nir_words *words, unsigned index,
                                unsigned max_count);

/* GPUVAL_FUNCTION_LOOP: gpuval_nir_loop.c */
nir_def *gpuval_nir_build_loop(nir_builder *b, const struct gpuval_nir_driver *driver,
                               nir_def *const *words);

/* GPUVAL_FUNCTION_ADDRESS */
nir_def *gpuval_nir_build_address(nir_builder *b, const struct gpuval_nir_driver *driver,
                                  nir_def *const *words);

/* The passes of checks: each does nothing unless gpuval_nir_options::checks has its check, and
 * returns whether it has changed the shader.
 */
#define CHECK(id, name, sets, needs, early, pass, host, summary)                                   \
   bool gpuval_nir_instrument_##pass(struct gpuval_nir_state *state);
#define KIND(id, check, name, words, sentence, text)
#include "gpuval/src/base/gpuval_check_table.h"
/** The part of bounds that is about images and texel buffers. */
bool gpuval_nir_instrument_bounds_image(struct gpuval_nir_state *state);

#ifdef __cplusplus
}
#endif

#endif
