/* SPDX-License-Identifier: MIT */

/* RADV, as the passes see it.
 *
 * Descriptors are named by their byte offset in the set, or, dynamic ones, by
 * that in the block of push constants with GPUVAL_RADV_DYNAMIC.
 */

#ifndef GPUVAL_RADV_NIR_H
#define GPUVAL_RADV_NIR_H

#include <stdbool.h>
#include <stdint.h>

#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval/src/compat/gpuval_nir_memory.h"
#include "gpuval/src/radv_glue/gpuval_radv.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPUVAL_RADV_DYNAMIC 0x80000000u

enum gpuval_radv_binding {
   GPUVAL_RADV_BINDING_NONE, /* not in the layout */
   GPUVAL_RADV_BINDING_SET,
   GPUVAL_RADV_BINDING_DYNAMIC, /* behind the push constants */
   GPUVAL_RADV_BINDING_INLINE,  /* inline uniform block: no descriptor */
};

/* struct gpuval_command_data::sync_flags, beside those of all drivers: sync does
 * not look at this command.
 */
#define GPUVAL_RADV_SYNC_OFF 0x80000000u

/* Sets that can be bound, and objects that descriptors may lead to (8 MiB) */
#define GPUVAL_RADV_MAX_SETS          32
#define GPUVAL_RADV_OBJECT_INDEX_BITS 18

/* Stages that mark what they use, up to MESA_SHADER_MESH, and uses that each can tell */
#define GPUVAL_RADV_RACE_STAGES 8
#define GPUVAL_RADV_MAX_USES    32

/* Stages of one command whose constant uses of descriptors the host judges */
#define GPUVAL_RADV_USE_WORDS 5

/* In front of the table of descriptor sets, which the shader has a pointer to. Pointers are the low
 * halves of addresses, as in that table. Shadows of sets: gpuval_radv_sets.h
 *
 * What a device needs for no check is cut off, at the end (gpuval_radv_base_size()), and what
 * a command does not need at the beginning: a draw has one of these.
 */
struct gpuval_radv_command_data {
   uint32_t race_used[GPUVAL_RADV_RACE_STAGES]; /* race: a bit each of what was used; shaders
                                                 * write here */
   uint32_t shadows[GPUVAL_RADV_MAX_SETS];      /* backwards, gpuval_radv_shadow() */
   uint32_t dynamic_shadow; /* of a descriptor with GPUVAL_RADV_DYNAMIC, without that */
   uint32_t bad_uses[GPUVAL_RADV_USE_WORDS]; /* gpuval_radv_uses.c, by gpuval_radv_use_word() */
   struct gpuval_command_data base;
};

/* What is the same for all commands of a device is a constant in shaders: @load_command_gpuval has
 * one of these in the place of an offset.
 */
enum {
   GPUVAL_RADV_OBJECTS_LO = 0x10000, /* struct gpuval_object[], where descriptors are looked at */
   GPUVAL_RADV_OBJECTS_HI,
   GPUVAL_RADV_STAND_IN, /* null descriptors, for what is bad, and behind them what shadows are
                          * where there are none: GPUVAL_RADV_STAND_IN_BYTES each */
};

#define GPUVAL_RADV_STAND_IN_BYTES 8192

/* Of struct gpuval_command_data, what has to be there for any check; the rest is for sync, race
 * and init.
 */
#define GPUVAL_RADV_SMALL_BASE offsetof(struct gpuval_command_data, entry_base)

/* The index of a set's shadow in gpuval_radv_command_data::shadows */
static inline unsigned
gpuval_radv_shadow(unsigned set)
{
   return GPUVAL_RADV_MAX_SETS - 1 - set;
}

/* Hash functions of sync's filter where nobody asks for a number: on a card each is an atomic to a
 * cache line of its own, which takes long (docs/sync.rst).
 */
#define GPUVAL_RADV_HASHES 4

/* The index in gpuval_radv_command_data::bad_uses: compute, task and mesh shaders are never beside
 * those whose words they have.
 */
static inline unsigned
gpuval_radv_use_word(mesa_shader_stage stage)
{
   return stage % GPUVAL_RADV_USE_WORDS;
}

struct gpuval_nir_binding;

/* gpuval_nir_driver::data: what only the frontend knows */
struct gpuval_radv_nir_layout {
   /* Where the shadow of a binding's descriptors is; slots are bytes. */
   void (*describe)(const struct gpuval_radv_nir_layout *layout, uint32_t set, uint32_t binding,
                    struct gpuval_nir_binding *out);
   uint64_t null_structure; /* an acceleration structure without instances, or 0 */
   uint32_t address32_hi;
   uint32_t sets_with_conversions; /* of YCbCr */
   /* *size: bytes of an inline uniform block */
   enum gpuval_radv_binding (*find)(const struct gpuval_radv_nir_layout *layout, uint32_t set,
                                    uint32_t binding, uint32_t *size);
   bool looks_up;            /* the check descriptor is on */
   bool texels_in_bytes;     /* NUM_RECORDS of texel buffers is in bytes: GFX8 */
   uint32_t max_shared_size; /* bytes of a compute shader */
};

/** The driver at the time of gpuval_nir_instrument(), without its data. */
extern const struct gpuval_nir_driver gpuval_radv_nir_driver;

/* Of a buffer's descriptor: bytes of the range, 32 bit, and where it begins, 64 bit */
nir_def *gpuval_radv_nir_exact_size(struct nir_builder *b, nir_def *descriptor);
nir_def *gpuval_radv_nir_base_address(struct nir_builder *b, nir_def *descriptor);

/* Arguments of a shader, as nir_load_scalar_arg_amd numbers them */
struct gpuval_radv_nir_args {
   uint32_t sets;          /* radv_upload_indirect_descriptor_sets()'s table */
   int32_t push_constants; /* with dynamic descriptors behind them, or -1 */
   uint32_t address32_hi;  /* of both */
   uint32_t data_size;     /* in front of the table: of all of struct gpuval_radv_command_data */
   uint32_t hashes;        /* GPUVAL_BLOOM_HASHES */
   uint64_t objects_address;
   uint32_t stand_in;
   bool swaps;         /* gpuval_nir_driver::swaps */
   bool records_first; /* gpuval_nir_driver::records_first */
   bool has_shadow;    /* shadow memory is the engine of sync */
   bool is_relocated;  /* entries count from 0 in each shader: gpuval_radv_stays() */
};

/* gpuval_radv_nir_descriptors.c */

struct gpuval_nir_driver;
struct gpuval_nir_extent;
struct gpuval_nir_strides;
struct gpuval_nir_subresource;

/** Of gpuval_radv_nir_driver */
extern const struct gpuval_nir_descriptors gpuval_radv_nir_descriptors;
void gpuval_radv_nir_extent(const struct gpuval_nir_driver *driver, struct nir_builder *b,
                            bool is_texture, enum glsl_sampler_dim dim, uint32_t set, nir_def *slot,
                            nir_def *level, struct gpuval_nir_extent *extent);
void gpuval_radv_nir_strides(const struct gpuval_nir_driver *driver, struct nir_builder *b,
                             nir_def *set, nir_def *slot, struct gpuval_nir_strides *strides);

/** A descriptor's offset in its set, or 0 if it is behind the end, where that is known. */
nir_def *gpuval_radv_nir_clamp(const struct gpuval_nir_driver *driver, struct nir_builder *b,
                               uint32_t set, nir_def *slot);

/** 1 bit: has the word of @has_bits_gpuval or @pick_gpuval one of its bits? */
nir_def *gpuval_radv_nir_has_bits(struct nir_builder *b, const nir_intrinsic_instr *intrin);

/** gpuval_nir_descriptors::load_constant */
nir_def *gpuval_radv_nir_load_constant(const struct gpuval_nir_driver *driver,
                                       struct nir_builder *b, uint32_t set, uint32_t slot);

nir_def *gpuval_radv_nir_lod_limits(const struct gpuval_nir_driver *driver, struct nir_builder *b,
                                    nir_def *set, nir_def *slot);

/** Of a driver whose data is struct gpuval_radv_nir_args */
extern const struct gpuval_nir_descriptors gpuval_radv_nir_late_descriptors;
nir_def *gpuval_radv_nir_levels(const struct gpuval_nir_driver *driver, struct nir_builder *b,
                                nir_def *set, nir_def *slot);
nir_def *gpuval_radv_nir_subresource(const struct gpuval_nir_driver *driver, struct nir_builder *b,
                                     const struct gpuval_nir_subresource *subresource);

/** What @load_command_gpuval of @base is if that is no offset; else NULL. */
nir_def *gpuval_radv_nir_constant(struct nir_builder *b, const struct gpuval_radv_nir_args *args,
                                  unsigned base);

/** What gpuval_radv_nir_driver has left: right after radv_nir_apply_pipeline_layout(). */
bool gpuval_radv_nir_lower_queries(nir_shader *nir, const struct gpuval_radv_nir_args *args);

/**
 * Makes code of @report_gpuval and @sync_gpuval. When everything has been
 * decided, for these have side effects; but before ac_nir_lower_global_access
 * and nir_lower_int64.
 */
bool gpuval_radv_nir_lower_reports(nir_shader *nir, const struct gpuval_radv_nir_args *args);

#ifdef __cplusplus
}
#endif

#endif
