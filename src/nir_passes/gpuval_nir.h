/* SPDX-License-Identifier: MIT */

/* The passes: what they need from a driver, and what they leave behind.
 *
 * Instrumenting and reporting are two steps. gpuval_nir_instrument() runs
 * right after the last nir_lower_explicit_io and leaves @report_gpuval
 * intrinsics: a condition, and no control flow, no memory access and no call.
 * So whatever the driver decides from shader_info or from the control flow
 * (early depth tests, uniform inlining, unrolling) it decides as it would
 * without us. What runs when a condition is true is NIR as well, the same for
 * all drivers (gpuval_nir_build_report), but where it goes is the driver's:
 * code size in the shader decides how long that compiles.
 */

#ifndef GPUVAL_NIR_H
#define GPUVAL_NIR_H

#include "gpuval/src/base/gpuval_checks.h"
#include "gpuval/src/base/gpuval_descriptor.h"
#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval/src/compat/gpuval_nir_memory.h"
#include "gpuval/src/compat/gpuval_nir_names.h"
#include "util/format/u_format.h"
#include "nir_builder.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What memory an array is in. */
enum gpuval_array_type {
   GPUVAL_ARRAY_BLOCK, /* of a descriptor, whose type the layout has */
   GPUVAL_ARRAY_PRIVATE,
   GPUVAL_ARRAY_SHARED,
   GPUVAL_ARRAY_TASK_PAYLOAD,
   GPUVAL_ARRAY_CONSTANT,
   GPUVAL_ARRAY_INPUT,
   GPUVAL_ARRAY_OUTPUT,
   GPUVAL_ARRAY_PUSH_CONSTANT,
   GPUVAL_ARRAY_ADDRESS,
   GPUVAL_ARRAY_TYPE_COUNT,
};

/** One instrumented SPIR-V instruction. */
struct gpuval_site {
   enum gpuval_kind kind;
   enum gpuval_op op;
   uint32_t spirv_offset; /* bytes, and how it was called: gpuval_call_tree.h; 0: not known */

   /* Descriptor, as far as known when compiling: -1 if not. */
   int32_t set;
   int32_t binding;

   uint32_t num_kinds; /* of the same access, whose sites stand side by side */
   bool same_value;    /* of what the one before is, where a store changes nothing */
   bool by_filter;     /* sync: the filter finds it, beside shadow memory */
   bool has_rays;      /* sync: it reads an acceleration structure */

   uint32_t alignment; /* address/misaligned: bytes that the pointer is aligned to; else 0 */

   /* array */
   uint32_t name;   /* offset in gpuval_nir_table::names, + 1; 0: none */
   uint32_t length; /* elements */
   uint8_t array;   /* enum gpuval_array_type */
};

/** What a shader accesses through, as far as known when compiling. */
struct gpuval_nir_buffer {
   int set;       /* -1: not known */
   int binding;   /* -1: not known */
   uint32_t size; /* bytes, where there is no descriptor but the layout says it
                   * all (inline uniform blocks); else 0 */
};

/** A binding of the layout, as the shadow of its set has it: gpuval_descriptor.h */
struct gpuval_nir_binding {
   uint32_t first_slot;
   uint32_t stride;  /* slots an element */
   uint32_t count;   /* elements; a variable count is never more */
   bool is_variable; /* each set says how many there are */
   bool is_unknown;  /* no descriptor, or none that could be replaced or looked up */
   bool is_late;     /* bad_uses() cannot tell: what it is may change until the command runs */
};

/* What an access asks of a descriptor */
struct gpuval_nir_use {
   uint32_t required;   /* GPUVAL_OFFERS_*, and above those the format */
   uint32_t first_slot; /* of the binding */
   uint32_t num_slots;
   uint8_t set;
   uint16_t flags;
};

enum {
   /* The slot is first_slot itself, and with VARIABLE num_slots is the element. */
   GPUVAL_USE_CONSTANT = 0x1,
   /* The set knows how many elements there are; num_slots is the stride. */
   GPUVAL_USE_VARIABLE = 0x2,
   /* Kinds that can occur, beside the three that always can: they have sites. */
   GPUVAL_USE_MAY_BE_WRONG_VIEW = 0x4,
   GPUVAL_USE_MAY_BE_OUTSIDE = 0x8,
   /* Not about the descriptor at all: the index is not uniform. */
   GPUVAL_USE_NOT_UNIFORM = 0x10,
   /* Behind the entry of its texture: what is wrong with both is reported of that. */
   GPUVAL_USE_SAMPLER = 0x20,
   /* Not about the descriptor: of init, is all written that it leads to? Without CONSTANT: all that
    * the descriptors of the binding lead to, which are images or textures.
    */
   GPUVAL_USE_WRITTEN = 0x40,
   /* Nor this: num_slots is race's, GPUVAL_RACE_USE_*. */
   GPUVAL_USE_RACE = 0x80,
   /* Of a constant use that is told by a bit: only what GPUVAL_SAFE does not perform. */
   GPUVAL_USE_HARMFUL = 0x100,
   /* The same, not about the descriptor's type: of bounds, has its range num_slots bytes? */
   GPUVAL_USE_SIZE = 0x200,
};

/* Of GPUVAL_USE_RACE: a site, and what it does there */
#define GPUVAL_RACE_USE_SITE_MASK 0x7fffffu
/* It is in no race with another such use: which texels they access is what matters to sync, which
 * knows that, or has nobody who does.
 */
#define GPUVAL_RACE_USE_HAS_TEXELS 0x800000u
#define GPUVAL_RACE_USE_IS_WRITE   0x1000000u
#define GPUVAL_RACE_USE_IS_ATOMIC  0x2000000u
/* The shader has a memory barrier of the device before it, or behind it. */
#define GPUVAL_RACE_USE_ACQUIRES 0x4000000u
#define GPUVAL_RACE_USE_RELEASES 0x8000000u
#define GPUVAL_RACE_USE_OP_SHIFT 28 /* enum gpuval_op */

#define GPUVAL_USE_FORMAT_SHIFT 23 /* enum pipe_format; 0: any */
static_assert(GPUVAL_OFFERS_TYPES + GPUVAL_OFFERS_VIEWS == (1u << GPUVAL_USE_FORMAT_SHIFT) - 1,
              "one word for all");

/** Can a view that does not fit be harmless? */
static inline bool
gpuval_nir_may_be_harmless(uint32_t required)
{
   return required >> GPUVAL_USE_FORMAT_SHIFT || required & GPUVAL_OFFERS_CLASSES;
}

/** GPUVAL_OFFERS_TEXELS of the format that is required; 0: of any size */
static inline uint32_t
gpuval_nir_texel_of_use(uint32_t required)
{
   enum pipe_format format = (enum pipe_format)(required >> GPUVAL_USE_FORMAT_SHIFT);
   return format ? gpuval_offers_of_texel(util_format_get_blocksize(format)) : 0;
}

/** The same in NIR, 32 bit where nothing else is said. */
struct gpuval_nir_use_params {
   nir_def *set;
   nir_def *slot;
   nir_def *required;
   nir_def *first_slot;
   nir_def *num_slots;
   nir_def *is_constant; /* 1 bit */
   nir_def *is_variable; /* 1 bit */
   nir_def *texel;       /* gpuval_nir_texel_of_use(); NULL: gpuval_nir_verdict::harmful is not
                          * asked for */
   uint32_t may_require; /* bits that @required may have */
};

/** What was found out about a descriptor: 1 bit each, the first that is true counts. */
struct gpuval_nir_verdict {
   nir_def *index_oob;
   nir_def *unwritten;
   nir_def *wrong_type;
   nir_def *destroyed;
   nir_def *wrong_view;
   nir_def *harmful;    /* 1 bit: any of these, but for a view whose format or class of components
                         * is another one and whose texels are as large */
   nir_def *descriptor; /* struct gpuval_descriptor: 4 x 32 bit */
   nir_def *num_elements;
};

/** One descriptor of an access */
struct gpuval_nir_replacement {
   nir_instr *instr;
   bool is_resource; /* of the instruction; and, or, */
   bool is_sampler;
   uint32_t set, binding;
   nir_def *slot;
   nir_def *bad;  /* 1 bit */
   nir_def *word; /* not 0 where it is bad, the same in all lanes; NULL: the slot is no constant */
};

/**
 * Returns the variable that a chain of derefs begins with, or NULL where it begins with something
 * else: a cast, or a pointer that is known when the shader runs only.
 */
static inline nir_variable *
gpuval_nir_find_variable(const nir_deref_instr *deref)
{
   while (deref && deref->deref_type != nir_deref_type_var)
      deref = deref->deref_type == nir_deref_type_cast ? NULL : nir_deref_instr_parent(deref);
   return deref ? deref->var : NULL;
}

struct gpuval_nir_driver;

/** Descriptors and their shadows, by driver. All but the first emit NIR at b->cursor. */
struct gpuval_nir_descriptors {
   unsigned object_index_bits;
   unsigned max_uses; /* how many bad_uses() can tell */

   /* What the layout says of a binding */
   void (*binding)(const struct gpuval_nir_driver *driver, uint32_t set, uint32_t binding,
                   struct gpuval_nir_binding *out);
   /* A descriptor's shadow, 4 x 32 bit */
   nir_def *(*load)(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set,
                    nir_def *slot);
   /* Is there one? 1 bit; NULL: always. */
   nir_def *(*has_shadow)(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set);
   /* Elements of the set's binding that has a variable count, 32 bit */
   nir_def *(*variable_count)(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set);
   /* struct gpuval_object[], 64 bit */
   nir_def *(*objects_address)(const struct gpuval_nir_driver *driver, nir_builder *b);
   /* The shadow of a descriptor at a constant slot, 4 x 32 bit, as good as any where there is none,
    * and the id that struct gpuval_object has for one: for little code where all lanes look at the
    * same. NULL, or load_constant() returns NULL: load() does it.
    */
   nir_def *(*load_constant)(const struct gpuval_nir_driver *driver, nir_builder *b, uint32_t set,
                             uint32_t slot);
   nir_def *(*load_id)(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *id);
   /* Which of the shader's constant uses (gpuval_nir_table::uses) are bad, one bit each,
    * where the host knows when a command begins; else NULL.
    */
   nir_def *(*bad_uses)(const struct gpuval_nir_driver *driver, nir_builder *b);
   bool tells_sizes; /* uses with GPUVAL_USE_SIZE have bits there */
   bool tells_rays;  /* ... and those of ray-tracing stages, which have many shaders; the same of
                      * harmful_uses() and unwritten_uses() */
   /* Of these, those that GPUVAL_SAFE does not perform: gpuval_nir_verdict::harmful. NULL: they
    * are uses with GPUVAL_USE_HARMFUL, which have bits of bad_uses() of their own.
    */
   nir_def *(*harmful_uses)(const struct gpuval_nir_driver *driver, nir_builder *b);
   /* The same of those with GPUVAL_USE_WRITTEN, which are counted for themselves: not all is
    * written. NULL: init is not checked.
    */
   nir_def *(*unwritten_uses)(const struct gpuval_nir_driver *driver, nir_builder *b);
   /* race: those with GPUVAL_USE_RACE that have to mark themselves; NULL: it is not checked. */
   nir_def *(*race_uses)(const struct gpuval_nir_driver *driver, nir_builder *b);
   /* Something harmless stands in for what is bad. */
   void (*replace)(const struct gpuval_nir_driver *driver, nir_builder *b,
                   const struct gpuval_nir_replacement *replacement);
};

/** A view's size, for an access to one of its levels; all 32 bit. */
struct gpuval_nir_extent {
   nir_def *size[3]; /* texels; layers are the last, whatever the dimension */
   nir_def *levels;  /* textures only */
   nir_def *samples; /* where it is multisampled */
   nir_def *known;   /* 1 bit: is there a view? */
};

/** The texels of a storage image, one bound to memory that is one piece */
struct gpuval_nir_strides {
   nir_def *address;   /* 64 bit: of the first texel */
   nir_def *size;      /* bytes of a texel; 32 bit, as what follows */
   nir_def *row;       /* bytes from one row to the next, */
   nir_def *layer;     /* from a layer, face or slice, */
   nir_def *sample;    /* and from a sample */
   nir_def *is_linear; /* 1 bit: the above is all there is to say */
};

/** A subresource behind a descriptor, and what limits there are; 32 bit */
struct gpuval_nir_subresource {
   nir_def *set, *slot;
   nir_def *is_texture; /* 1 bit; else as a storage image or an input attachment */
   nir_def *level, *layer;
};

/** A texel buffer */
struct gpuval_nir_texels {
   int set, binding;
   nir_def *slot;    /* 32 bit */
   nir_def *address; /* 64 bit */
   nir_def *count;   /* 32 bit; 0 for a descriptor that is null or was never written */
   nir_def *size;    /* bytes each, 32 bit */
};

/** Is @address in @table? Both of 64 bits; gpuval_structures.h says how. */
nir_def *gpuval_nir_find_structure(nir_builder *b, nir_def *table, nir_def *address);

/** A driver, as the passes see it. All but the first emit NIR at b->cursor. */
struct gpuval_nir_driver {
   const void *data;       /* the driver's own: each function gets its driver */
   unsigned hashes;        /* GPUVAL_BLOOM_HASHES */
   unsigned num_lanes;     /* where gpuval_nir_functions[] are called: of the vectors that call */
   unsigned merged_lanes;  /* of a wave, one lane reports for all that fail at its site; 0: each
                            * reports */
   bool broadcasts;        /* what is the same in all lanes should look so */
   bool swaps;             /* bits of records are set by compare-and-swap */
   bool records_first;     /* of a site that failed already no more records are wanted */
   bool inlines_functions; /* what is called becomes code of the shader: it may have branches */
   bool has_carry;         /* of an addition, beside its sum */

   /* How does @intrin find its buffer? Returns false for an access that is not to be
    * checked.
    */
   bool (*describe)(const struct gpuval_nir_driver *driver, const nir_intrinsic_instr *intrin,
                    struct gpuval_nir_buffer *buffer);

   /* The descriptor that @intrin uses, and where gpuval_nir_buffer::set is -1
    * the number of its set; 32 bit.
    */
   nir_def *(*slot)(const struct gpuval_nir_driver *driver, nir_builder *b,
                    nir_intrinsic_instr *intrin);
   nir_def *(*set)(const struct gpuval_nir_driver *driver, nir_builder *b,
                   nir_intrinsic_instr *intrin);

   /* Exact size in bytes of the range behind a descriptor, 32 bit. 0 for a
    * descriptor that is null or was never written.
    */
   nir_def *(*buffer_size)(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set,
                           nir_def *slot);
   /* A look at a descriptor may report what it finds, as @look_gpuval. */
   bool reports_uses;
   /* What bounds compares is left to it, as @check_buffer_gpuval, where the set is known. */
   bool checks_buffers;
   /* So is what export compares, as GPUVAL_REPORT_VALUES. */
   bool checks_values;
   /* Where that range begins, 64 bit */
   nir_def *(*buffer_address)(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set,
                              nir_def *slot);
   /* 1 bit, of a size of 0: is a buffer bound there whose range a dynamic offset has moved past the
    * buffer's end? NULL: there is none.
    */
   nir_def *(*is_past_end)(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set,
                           nir_def *slot);

   /* The texel buffer of @instr, which the texture's or image's @deref leads to. Returns false
    * where that is not known.
    */
   bool (*texels)(const struct gpuval_nir_driver *driver, nir_builder *b, nir_instr *instr,
                  nir_deref_instr *deref, struct gpuval_nir_texels *texels);

   /* sync: where the texels of a storage image are. NULL: they are not looked at. */
   void (*strides)(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set,
                   nir_def *slot, struct gpuval_nir_strides *strides);

   /* The view in a descriptor, as a storage image or a texture, whose @level, which may be
    * NULL, is accessed. NULL: images are not checked.
    */
   void (*extent)(const struct gpuval_nir_driver *driver, nir_builder *b, bool is_texture,
                  enum glsl_sampler_dim dim, uint32_t set, nir_def *slot, nir_def *level,
                  struct gpuval_nir_extent *extent);

   /* init: the address of a subresource's first texel, 64 bit; 0 where there is none. With
    * has_marks it is that of its marks (gpuval_init.h), and 0 where it is written anyway.
    */
   nir_def *(*subresource)(const struct gpuval_nir_driver *driver, nir_builder *b,
                           const struct gpuval_nir_subresource *subresource);
   /* Levels of a texture, 32 bit */
   nir_def *(*levels)(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set,
                      nir_def *slot);
   /* Of a sampler: the lowest level of detail, the highest one, a bias; 3 x 32 bit. All of them
    * UINT32_MAX: it is not known.
    */
   nir_def *(*lod_limits)(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set,
                          nir_def *slot);

   const struct gpuval_nir_descriptors *descriptors; /* NULL: they are not checked */
   /* race: where GPUVAL_REPORT_USED marks what is used, 64 bit; NULL: it does not come. */
   nir_def *(*used_address)(const struct gpuval_nir_driver *driver, nir_builder *b);
   bool reports_descriptors; /* functions: what shaders may report */
   bool reports_unwritten;
   bool has_marks; /* init: what is written is in the table of gpuval_command_data::marks_address,
                    * and beside images */
   bool has_table; /* sync: cells are in gpuval_shadow_layout::table, not in a window */
   bool has_quads; /* compute shaders can read from others of four lanes */
   bool names_buffers; /* reports of what is outside of a range say which buffer is bound */

   /* The address of an acceleration structure, as traces and ray queries have it for
    * an operand; 64 bit, and itself such an operand. NULL: not to be had.
    */
   nir_def *(*structure_address)(const struct gpuval_nir_driver *driver, nir_builder *b,
                                 nir_def *structure);
   /* The address of one without instances; NULL: it is 0. */
   nir_def *(*empty_structure)(const struct gpuval_nir_driver *driver, nir_builder *b);

   /* Fields of struct gpuval_command_data */
   nir_def *(*root_address)(const struct gpuval_nir_driver *driver, nir_builder *b);
   nir_def *(*command_id)(const struct gpuval_nir_driver *driver, nir_builder *b);
   /* By which sync's filter numbers the invocations of dispatches, since an atomic to one address
    * takes long. NULL: as those of other stages.
    */
   nir_def *(*execution)(const struct gpuval_nir_driver *driver, nir_builder *b);
   /* What @invocation_gpuval is, where that may be found out late; NULL: it has been replaced */
   nir_def *(*number)(const struct gpuval_nir_driver *driver, nir_builder *b);
   nir_def *(*epoch)(const struct gpuval_nir_driver *driver, nir_builder *b);
   nir_def *(*sync_flags)(const struct gpuval_nir_driver *driver, nir_builder *b);
   nir_def *(*epoch_command)(const struct gpuval_nir_driver *driver, nir_builder *b);
   nir_def *(*command_data)(const struct gpuval_nir_driver *driver, nir_builder *b,
                            unsigned bit_size, unsigned offset);
   /* Where the entries of the shader of a stage begin in the table; NULL: reports have that in
    * them, see gpuval_nir_rebase().
    */
   nir_def *(*entry_base)(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *stage);

   /* Where shared memory is in the address space, 64 bit; NULL: not there */
   nir_def *(*shared_address)(const struct gpuval_nir_driver *driver, nir_builder *b);
   /* How much of it a workgroup of a stage may have; NULL: any */
   uint32_t (*max_shared_size)(const struct gpuval_nir_driver *driver, mesa_shader_stage stage);
   bool has_debug_break; /* the backend makes something of @debug_break */
   /* converge: bits of the active invocations of the subgroup that have @condition, helper
    * invocations included; 32 or 64 bit. NULL: not checked.
    */
   nir_def *(*active_lanes)(const struct gpuval_nir_driver *driver, nir_builder *b,
                            nir_def *condition);
   unsigned subgroup_bits; /* of the number of an invocation in its subgroup */
   /* Where invocations of a workgroup are in subgroups by their index, which then is cheap */
   bool has_linear_subgroups;

   /* 3 x 32 bit: docs/protocols.rst, "Invocations". Emitted once, first thing. */
   nir_def *(*invocation)(const struct gpuval_nir_driver *driver, nir_builder *b);
};

/**
 * @slot of what @instr accesses. Where no decoration says that it may differ between invocations, it
 * is the first invocation's, as drivers have it: then a look at the descriptor is the same for all.
 */
nir_def *gpuval_nir_uniform_slot(nir_builder *b, const struct gpuval_nir_driver *driver,
                                 const nir_instr *instr, nir_def *slot);

/** Table of one shader, entries with shader-local site numbers. */
struct gpuval_nir_table {
   struct util_dynarray sites;   /* struct gpuval_site */
   struct util_dynarray entries; /* struct gpuval_nir_entry */
   struct util_dynarray formats; /* struct gpuval_nir_format */
   struct util_dynarray names;   /* char, each with its 0: what sites call their resource */
   struct util_dynarray uses;    /* struct gpuval_nir_use: of constant slots, by bit */
   void *mem_ctx;                /* ralloc: owns what formats point to */
   bool shared_is_full;          /* the check shared has found no room */
   bool writes_unknown;          /* init: something is written that is not marked */
};

/** Returns what @site calls its resource, or NULL. @names: gpuval_nir_table::names. */
static inline const char *
gpuval_site_name(const char *names, const struct gpuval_site *site)
{
   return site->name ? names + site->name - 1 : NULL;
}

/** Returns gpuval_site::name for @name. */
uint32_t gpuval_nir_add_name(struct gpuval_nir_table *table, const char *name);

/** Type of a DebugPrintf's argument */
enum gpuval_argument_type {
   GPUVAL_ARGUMENT_NONE, /* not printable, and not in the payload */
   GPUVAL_ARGUMENT_UINT,
   GPUVAL_ARGUMENT_INT,
   GPUVAL_ARGUMENT_FLOAT,
   GPUVAL_ARGUMENT_BOOL,
   GPUVAL_ARGUMENT_ADDRESS,
   GPUVAL_ARGUMENT_TYPE_COUNT,
};

struct gpuval_nir_argument {
   uint8_t type;     /* enum gpuval_argument_type */
   uint8_t bit_size; /* 8 to 64: in the shader, not in the payload */
   uint8_t components;
};

/** Format string of one DebugPrintf, with LLPC's names for what is known of it. */
struct gpuval_nir_format {
   uint64_t id;        /* .index */
   const char *string; /* .string */
   uint32_t num_arguments;
   const struct gpuval_nir_argument *arguments; /* .64bit_arguments and more */
   uint32_t site;                               /* index in gpuval_nir_table::sites */
   bool has_invocation;                         /* behind the arguments: 3 dwords */
   bool is_numbered; /* ... in front of these, which there are then: the command's id, and how many
                      * messages the invocation had printed */
};

/** Empty. All that it holds becomes @mem_ctx's, in ralloc's sense. */
static inline void
gpuval_nir_table_init(struct gpuval_nir_table *table, void *mem_ctx)
{
   util_dynarray_init(&table->sites, mem_ctx);
   util_dynarray_init(&table->entries, mem_ctx);
   util_dynarray_init(&table->formats, mem_ctx);
   util_dynarray_init(&table->names, mem_ctx);
   util_dynarray_init(&table->uses, mem_ctx);
   table->mem_ctx = mem_ctx;
   table->shared_is_full = false;
   table->writes_unknown = false;
}

/** Dwords of payload that an argument takes. */
static inline unsigned
gpuval_nir_argument_words(const struct gpuval_nir_argument *argument)
{
   return argument->components * (argument->bit_size == 64 ? 2 : 1);
}

struct gpuval_nir_entry {
   union {
      uint32_t offset;
      uint32_t required; /* of a descriptor: struct gpuval_nir_use, and all that follows */
   };
   union {
      uint32_t size;
      uint32_t first_slot;
   };
   uint32_t site;     /* index in gpuval_nir_table::sites */
   uint32_t instance; /* the same in entries side by side: pieces of one access */
   uint32_t num_slots;
   uint8_t set;
   uint8_t flags;
};

struct gpuval_nir_options {
   const struct gpuval_nir_driver *driver;

   uint32_t checks;     /* BITFIELD_BIT(enum gpuval_check) */
   bool robust_uniform; /* accesses out of range are defined: do not check */
   bool robust_storage;
   bool robust_image;
   bool safe;                          /* GPUVAL_SAFE */
   bool shadow;                        /* sync: shadow memory, else the bloom filter */
   bool filter_beside;                 /* with shadow: the filter, too, for what has no cells */
   uint32_t loop_limit;                /* loop: GPUVAL_LOOP_LIMIT */
   uint32_t max_mesh_workgroups[3];    /* mesh: what a task may launch */
   uint32_t max_mesh_workgroups_total; /* 0: not known */
   bool marks_written; /* init may look at other shaders: what this one writes counts anyway */

   uint64_t shader_hash;   /* part of the ids of formats */
   bool printf_invocation; /* messages carry gpuval_nir_driver::invocation */

   /* The module, for what NIR does not tell: is a load atomic? May be NULL. */
   const uint32_t *spirv;
   size_t spirv_size; /* bytes */
};

/** To be called for spirv_to_nir_options::wants_location: may a check report @opcode? */
bool gpuval_nir_wants_location(unsigned opcode);
/** The same where the check converge is on, which reports derivatives. */
bool gpuval_nir_wants_derivatives(unsigned opcode);

/** To be called for spirv_to_nir_options::emit_assume. */
void gpuval_nir_emit_assume(nir_builder *b, nir_def *condition, size_t spirv_offset);

/** To be called for spirv_to_nir_options::emit_debug_printf. */
void gpuval_nir_emit_printf(nir_builder *b, const char *format, nir_def **args,
                            const struct glsl_type **types, unsigned num_args, size_t spirv_offset);

/** To be called for spirv_to_nir_options::emit_operation. */
void gpuval_nir_emit_operation(nir_builder *b, unsigned opcode, nir_def **srcs, unsigned num_srcs,
                               nir_def *result, size_t spirv_offset);

/** To be called for spirv_to_nir_options::emit_block. */
void gpuval_nir_emit_block(nir_builder *b, size_t spirv_offset);

/** To be called for spirv_to_nir_options::finish: tells calls of a function apart. */
void gpuval_nir_name_calls(nir_shader *nir, const uint32_t *words, size_t word_count);

/**
 * To be called when functions have been inlined, and before variables become registers: of
 * @options, the checks and what is safe count. Leaves @early_report_gpuval for
 * gpuval_nir_instrument().
 */
void gpuval_nir_instrument_early(nir_shader *nir, const struct gpuval_nir_options *options);

/**
 * For drivers that turn the temporaries of outputs into SSA values before they call
 * gpuval_nir_instrument(), with the same @options: to be called when nir_lower_io_to_temporaries
 * has made them local variables.
 */
void gpuval_nir_note_assignments(nir_shader *nir, const struct gpuval_nir_options *options);

/**
 * Instruments the entrypoint of @nir and strips its debug info.
 *
 * @table, which is empty, is filled. Returns whether any
 * check was left in the shader.
 */
bool gpuval_nir_instrument(nir_shader *nir, const struct gpuval_nir_options *options,
                           struct gpuval_nir_table *table);

/**
 * Moves the entries of all reports in @nir up by @base: for stages that end up
 * in one shader with others and so have no base of their own.
 */
void gpuval_nir_rebase(nir_shader *nir, uint32_t base);

/** Takes out what gpuval_nir_instrument() has left: there is no room for its sites. */
void gpuval_nir_remove(nir_shader *nir);

/* gpuval_site::binding of the check export: the location of a colour, + SECOND_SOURCE for
 * dual-source blending; or
 */
enum {
   GPUVAL_OUTPUT_SECOND_SOURCE = 32,
   GPUVAL_OUTPUT_DEPTH = 64,
   GPUVAL_OUTPUT_POSITION,
};

/* ... gpuval_record::offset: bits of components that are NaN, and from here on infinite;
 * slot is the SPIR-V offset of the assignment.
 */
#define GPUVAL_EXPORT_INF_SHIFT    8
#define GPUVAL_EXPORT_OUTPUT_SHIFT 16

/** gpuval_record::access_size of the check arithmetic; offset and slot are operands. */
enum gpuval_arithmetic {
   GPUVAL_ARITHMETIC_NONE,
   GPUVAL_ARITHMETIC_DIVIDE,
   GPUVAL_ARITHMETIC_REMAINDER,
   GPUVAL_ARITHMETIC_SHIFT_LEFT,
   GPUVAL_ARITHMETIC_SHIFT_RIGHT,
   GPUVAL_ARITHMETIC_CONVERT,
   GPUVAL_ARITHMETIC_SQRT,
   GPUVAL_ARITHMETIC_INVERSESQRT,
   GPUVAL_ARITHMETIC_LOG,
   GPUVAL_ARITHMETIC_LOG2,
   GPUVAL_ARITHMETIC_POW,
   GPUVAL_ARITHMETIC_ASIN,
   GPUVAL_ARITHMETIC_ACOS,
   GPUVAL_ARITHMETIC_ATAN,
   GPUVAL_ARITHMETIC_NORMALIZE,
   GPUVAL_ARITHMETIC_CLAMP,
   GPUVAL_ARITHMETIC_SMOOTHSTEP,
   GPUVAL_ARITHMETIC_INSERT,
   GPUVAL_ARITHMETIC_EXTRACT,
   GPUVAL_ARITHMETIC_COUNT,
};
#define GPUVAL_ARITHMETIC_MASK 0xff
#define GPUVAL_ARITHMETIC_BITS_SHIFT                                                               \
   8 /* bits of the operands, of a conversion those of its result */
#define GPUVAL_ARITHMETIC_IS_SIGNED (1u << 16)
#define GPUVAL_ARITHMETIC_IS_FLOAT  (1u << 17) /* operands, as 32 bits */

/** gpuval_record::access_size of the check undefined. */
enum gpuval_undefined_use {
   GPUVAL_UNDEFINED_CONDITION, /* of a branch */
   GPUVAL_UNDEFINED_INDEX,
   GPUVAL_UNDEFINED_ADDRESS,
   GPUVAL_UNDEFINED_VALUE_STORED,
   GPUVAL_UNDEFINED_OUTPUT,
   GPUVAL_UNDEFINED_COORDINATE, /* or another parameter of an access to an image */
   GPUVAL_UNDEFINED_USE_COUNT,
};

/* In the place of a descriptor set */
enum {
   /* export, for functions: detail: components of 32 bits. The driver finds out whether one of them
    * is a NaN or infinite, whatever the condition says.
    */
   GPUVAL_REPORT_VALUES = 0xf5,
   /* coverage: detail[0] is added to the counter of the entry. Not a failure. */
   GPUVAL_REPORT_COVERED = 0xf6,
   /* export, until gpuval_nir_instrument() takes it: detail: SPIR-V offset of the assignment */
   GPUVAL_REPORT_ASSIGNED = 0xf9,
   /* init, for functions: detail is the address, the size and its marks (both constants), see
    * gpuval_lvp_rows.c.
    */
   GPUVAL_REPORT_RANGE = 0xf7,
   /* init, of images where gpuval_nir_driver::has_marks: as GPUVAL_REPORT_UNWRITTEN */
   GPUVAL_REPORT_UNWRITTEN_IMAGE = 0xf8,
   /* race, gpuval_nir_race.c: detail: offset behind used_address, bit. Not a failure. */
   GPUVAL_REPORT_USED = 0xfa,
   /* init, gpuval_nir_init.c: each entry has its set. */
   GPUVAL_REPORT_UNWRITTEN = 0xfb,
   /* All is known: what comes in the record's offset, access_size, bound, and the first of
    * address. Each entry has its set.
    */
   GPUVAL_REPORT_EXACT = 0xfc,
   GPUVAL_REPORT_DESCRIPTOR = 0xfd, /* each entry has its own */
   GPUVAL_REPORT_INLINE = 0xfe,     /* inline uniform block: no descriptor */
   GPUVAL_REPORT_PLAIN =
      0xff, /* not about a buffer; detail[1]: which of the entries, [3]: a word */
};

/** What a @report_gpuval hands over; all 32 bit. */
struct gpuval_nir_report_params {
   nir_def *first_entry; /* absolute: with gpuval_nir_driver::entry_base */
   nir_def *num_entries;
   nir_def *set; /* or GPUVAL_REPORT_* */
   /* offset of the group's lowest entry, 0, 0; or 1 as the third word: what fails is inside of the
    * range, and the second is the record's bound. A fourth one that is not 0: the descriptor is
    * bad, which has been reported. Or see GPUVAL_REPORT_*
    */
   nir_def *detail[4];
   nir_def *slot; /* GPUVAL_REPORT_INLINE: the size of the block */
   nir_def *invocation[3];
   bool is_suspected; /* something is wrong, but perhaps not here: ranges only */
};

/** What was found out about the access of an entry: all 32 bit, as struct gpuval_record. */
struct gpuval_nir_finding {
   nir_def *offset, *access_size, *bound, *slot, *set;
   nir_def *address[2]; /* lo, hi */
   nir_def *other;
};

/**
 * Emits the report itself at b->cursor, for invocations that have failed. With
 * gpuval_nir_driver::merged_lanes, entries and set are the same in all lanes.
 */
void gpuval_nir_build_report(nir_builder *b, const struct gpuval_nir_driver *driver,
                             const struct gpuval_nir_report_params *params);

/* Messages: once instrumented, a @printf_gpuval is the header of its entry and
 * gpuval_nir_printf_num_words() dwords of payload.
 */

/** Most dwords that the arguments of one DebugPrintf may take. */
#define GPUVAL_PRINTF_MAX_ARGUMENT_WORDS 128
#define GPUVAL_PRINTF_MAX_WORDS          (GPUVAL_PRINTF_MAX_ARGUMENT_WORDS + 3)
/** What gpuval_nir_format::is_numbered adds to the arguments' dwords: within the same limit. */
#define GPUVAL_PRINTF_NUMBER_WORDS 2

#define GPUVAL_PRINTF_HEADER_SRC        0
#define GPUVAL_PRINTF_INVOCATION_SRC    1
#define GPUVAL_PRINTF_FIRST_PAYLOAD_SRC 2
#define GPUVAL_PRINTF_SRC_COMPONENTS    16

static inline unsigned
gpuval_nir_printf_num_words(const nir_intrinsic_instr *printf)
{
   nir_scalar header = nir_get_scalar(printf->src[GPUVAL_PRINTF_HEADER_SRC].ssa, 0);
   unsigned size = nir_scalar_as_uint(nir_scalar_chase_movs(header)) & 0xffff;

   return size - GPUVAL_PRINTF_ENTRY_WORDS;
}

/** The source that a dword of the payload is in; *channel is its component. */
static inline unsigned
gpuval_nir_printf_word(const nir_intrinsic_instr *printf, unsigned word, unsigned *channel)
{
   if (word >= nir_intrinsic_range(printf)) {
      *channel = word - nir_intrinsic_range(printf);
      return GPUVAL_PRINTF_INVOCATION_SRC;
   }
   *channel = word % GPUVAL_PRINTF_SRC_COMPONENTS;
   return GPUVAL_PRINTF_FIRST_PAYLOAD_SRC + word / GPUVAL_PRINTF_SRC_COMPONENTS;
}

struct gpuval_nir_printf_params {
   nir_def *header[2]; /* of the entry, 32 bit each */
   /* Emits stores of the payload to @address, which is 64 bit. */
   void (*store_payload)(nir_builder *b, nir_def *address, const void *data);
   const void *data;
};

/** Emits what writes a message at b->cursor. */
void gpuval_nir_build_printf(nir_builder *b, const struct gpuval_nir_driver *driver,
                             const struct gpuval_nir_printf_params *params);

/** For drivers without a function to call: @printf in its place, and each of a shader. */
void gpuval_nir_lower_message(nir_builder *b, const struct gpuval_nir_driver *driver,
                              nir_intrinsic_instr *printf);
bool gpuval_nir_lower_printf(nir_shader *nir, const struct gpuval_nir_driver *driver);

/* SPIR-V execution model, the way records name a stage. */
uint32_t gpuval_stage_to_spirv(mesa_shader_stage stage);

/** The source of a buffer access that says which buffer. */
static inline nir_src *
gpuval_nir_index_src(nir_intrinsic_instr *intrin)
{
   return &intrin->src[intrin->intrinsic == nir_intrinsic_store_ssbo ? 1 : 0];
}

/** The same of whatever has such an index, or NULL: of lengths, traces, ray queries, too */
static inline nir_src *
gpuval_nir_resource_src(nir_intrinsic_instr *intrin)
{
   switch (intrin->intrinsic) {
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_load_ssbo:
   case nir_intrinsic_store_ssbo:
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
   case nir_intrinsic_get_ssbo_size:
      return gpuval_nir_index_src(intrin);
   case nir_intrinsic_trace_ray:
      return &intrin->src[0];
   case nir_intrinsic_rq_initialize:
      return &intrin->src[1];
   default:
      return NULL;
   }
}

#ifdef __cplusplus
}
#endif

#endif
