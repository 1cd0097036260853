/* SPDX-License-Identifier: MIT */

/* The tables of checks, kinds and operations: what every printer, every option
 * and the building of events go by. A new check is a row of each.
 */

#ifndef GPUVAL_CHECKS_H
#define GPUVAL_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gpuval_check {
   GPUVAL_CHECK_ASSUME,
   GPUVAL_CHECK_PRINTF,
   GPUVAL_CHECK_BOUNDS,
   GPUVAL_CHECK_DESCRIPTOR,
   GPUVAL_CHECK_ADDRESS,
   GPUVAL_CHECK_INDIRECT,
   GPUVAL_CHECK_VERTEX,
   GPUVAL_CHECK_RAY,
   GPUVAL_CHECK_EXPORT,
   GPUVAL_CHECK_SYNC,
   GPUVAL_CHECK_SYNC_COMPUTE,
   GPUVAL_CHECK_SHARED,
   GPUVAL_CHECK_RACE,
   GPUVAL_CHECK_INIT,
   GPUVAL_CHECK_COUNT,
};

/* Where several checks have a kind of one name, all but sync's have the check's
 * in front of it.
 */
enum gpuval_kind {
   /* assume */
   GPUVAL_KIND_ASSUMPTION_FAILED,
   /* printf */
   GPUVAL_KIND_MESSAGE,
   /* bounds */
   GPUVAL_KIND_BUFFER_OOB,
   GPUVAL_KIND_TEXEL_BUFFER_OOB,
   GPUVAL_KIND_IMAGE_OOB,
   /* descriptor */
   GPUVAL_KIND_INDEX_OOB,
   GPUVAL_KIND_UNWRITTEN,
   GPUVAL_KIND_WRONG_TYPE,
   GPUVAL_KIND_DESTROYED,
   GPUVAL_KIND_NOT_UNIFORM,
   GPUVAL_KIND_WRONG_VIEW,
   /* address */
   GPUVAL_KIND_INVALID_ADDRESS,
   GPUVAL_KIND_MISALIGNED,
   /* indirect */
   GPUVAL_KIND_INDIRECT_ARGUMENT_OOB,
   GPUVAL_KIND_INDIRECT_COUNT,
   GPUVAL_KIND_INDIRECT_LIMIT,
   GPUVAL_KIND_INDIRECT_FIRST_INSTANCE,
   /* vertex */
   GPUVAL_KIND_INDEX_BUFFER_OOB,
   GPUVAL_KIND_ATTRIBUTE_OOB,
   /* ray */
   GPUVAL_KIND_RAY_NAN,
   GPUVAL_KIND_RAY_RANGE,
   GPUVAL_KIND_RAY_FLAGS,
   GPUVAL_KIND_RAY_UNINITIALIZED_QUERY,
   GPUVAL_KIND_RAY_BAD_STRUCTURE,
   /* export */
   GPUVAL_KIND_EXPORT_NAN,
   GPUVAL_KIND_EXPORT_INF,
   GPUVAL_KIND_EXPORT_NAN_INF,
   /* sync, sync-compute */
   GPUVAL_KIND_READ_AFTER_WRITE,
   GPUVAL_KIND_WRITE_AFTER_ACCESS,
   GPUVAL_KIND_ATOMIC_CONFLICT,
   GPUVAL_KIND_INDIRECT_AFTER_WRITE,
   /* shared */
   GPUVAL_KIND_SHARED_READ_AFTER_WRITE,
   GPUVAL_KIND_SHARED_WRITE_AFTER_ACCESS,
   GPUVAL_KIND_SHARED_ATOMIC_CONFLICT,
   /* race */
   GPUVAL_KIND_RESOURCE_RACE,
   /* init */
   GPUVAL_KIND_UNINITIALIZED_READ,
   GPUVAL_KIND_COUNT,
};

/** What was done when it failed: access.op. */
enum gpuval_op {
   GPUVAL_OP_NONE,
   GPUVAL_OP_LOAD,
   GPUVAL_OP_STORE,
   GPUVAL_OP_ATOMIC,
   GPUVAL_OP_SAMPLE,
   GPUVAL_OP_FETCH,
   GPUVAL_OP_QUERY,    /* a size, a number of levels or samples, a level of detail */
   GPUVAL_OP_INDIRECT, /* a command reads its arguments: of no shader */
   GPUVAL_OP_COUNT,
};

/** What a record has beside invocation and command: see struct gpuval_record. */
enum gpuval_words {
   GPUVAL_WORDS_NONE,
   GPUVAL_WORDS_RANGE,      /* an access of bytes in the range of a descriptor */
   GPUVAL_WORDS_HAZARD,     /* the same, by its address, and the other party */
   GPUVAL_WORDS_SHARED,     /* an access to memory of a workgroup, and the other party */
   GPUVAL_WORDS_IMAGE,      /* an access of texels: struct gpuval_record_image */
   GPUVAL_WORDS_TEXELS,     /* the same of a texel buffer */
   GPUVAL_WORDS_DESCRIPTOR, /* gpuval_nir_report.c, find_descriptor() */
   GPUVAL_WORDS_ADDRESS,    /* offset and slot: the two words of an address */
   GPUVAL_WORDS_EXPORT,     /* see GPUVAL_EXPORT_* */
   GPUVAL_WORDS_RAY,        /* what is wrong with it: gpuval_record::offset */
   GPUVAL_WORDS_STRUCTURE,  /* an address: gpuval_record::offset and slot */
   GPUVAL_WORDS_UNWRITTEN,  /* RANGE, or IMAGE where there is GPUVAL_IMAGE_IS_ONE */
   GPUVAL_WORDS_COUNT,
};

struct gpuval_check_info {
   const char *name;
   bool available; /* in this version */
};

struct gpuval_kind_info {
   enum gpuval_check check;
   const char *name; /* unique within the check */
   enum gpuval_words words;
};

struct gpuval_op_info {
   const char *name; /* NULL: there was no access */
   bool has_site;    /* of a shader */
};

extern const struct gpuval_check_info gpuval_check_infos[GPUVAL_CHECK_COUNT];
extern const struct gpuval_kind_info gpuval_kind_infos[GPUVAL_KIND_COUNT];
extern const struct gpuval_op_info gpuval_op_infos[GPUVAL_OP_COUNT];

/** The name of the check that @kind belongs to. */
const char *gpuval_kind_check_name(enum gpuval_kind kind);

/**
 * Checks named by @name, a check or a set of @length bytes (which need not end
 * in NUL), as BITFIELD_BIT(enum gpuval_check). 0 if there is none such.
 */
uint32_t gpuval_checks_from_name(const char *name, unsigned length);

/** "assume, printf, ...; basic, ...": all that gpuval_checks_from_name() knows. */
const char *gpuval_checks_names(void);

/** Those that this version has. */
uint32_t gpuval_checks_available(void);

#ifdef __cplusplus
}
#endif

#endif
