/* SPDX-License-Identifier: MIT */

/* Checks, the kinds of their failures, and operations, by number. The rows of the first two are in
 * gpuval_check_table.h, of which this is what all folders go by.
 */

#ifndef GPUVAL_CHECKS_H
#define GPUVAL_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CHECK(id, name, sets, needs, early, pass, host, summary) GPUVAL_CHECK_##id,
#define KIND(id, check, name, words, sentence, text)
enum gpuval_check {
#include "gpuval_check_table.h"
   GPUVAL_CHECK_COUNT,
};

#define CHECK(id, name, sets, needs, early, pass, host, summary)
#define KIND(id, check, name, words, sentence, text) GPUVAL_KIND_##id,
enum gpuval_kind {
#include "gpuval_check_table.h"
   GPUVAL_KIND_COUNT,
};

/** Sets of checks, which users name as they name checks. */
enum gpuval_set {
   GPUVAL_SET_BASIC = 0x1,
   GPUVAL_SET_CONCURRENCY = 0x2,
   GPUVAL_SET_RESIDENCY = 0x4,
   GPUVAL_SET_SHADER = 0x8,
   GPUVAL_SET_SEARCH = 0x10, /* none, and not in `all`: what the check finds may be meant */
   GPUVAL_SET_COMING = 0x20, /* none: users may name the check, which this version does not have */
   GPUVAL_SET_ALWAYS = 0x80, /* none: it is on with any check, and users do not name it */
   GPUVAL_SET_HIDDEN = 0x40, /* none: another option asks for it, and it reports no failures */
};

/** What a device keeps for those checks that need it. */
enum gpuval_needs {
   GPUVAL_NEEDS_OBJECTS = 0x1, /* which objects are alive, and what descriptors lead to */
};

/** What was done when it failed: access.op. */
enum gpuval_op {
   GPUVAL_OP_NONE,
   GPUVAL_OP_LOAD,
   GPUVAL_OP_STORE,
   GPUVAL_OP_ATOMIC,
   GPUVAL_OP_SAMPLE,
   GPUVAL_OP_FETCH,
   GPUVAL_OP_QUERY, /* a size, a number of levels or samples, a level of detail */

   /* What commands do without a shader */
   GPUVAL_OP_INDIRECT, /* they read their arguments */
   GPUVAL_OP_TRANSFER_READ,
   GPUVAL_OP_TRANSFER_WRITE,
   GPUVAL_OP_INDEX,
   GPUVAL_OP_ATTRIBUTE,
   GPUVAL_OP_COUNTER, /* transform feedback's, or a predicate */
   GPUVAL_OP_BUILD,
   GPUVAL_OP_CLEAR,
   GPUVAL_OP_ATTACHMENT_READ,
   GPUVAL_OP_ATTACHMENT_WRITE,
   GPUVAL_OP_COUNT,
};

struct gpuval_check_info {
   const char *name;
   uint32_t sets;       /* enum gpuval_set */
   uint32_t needs;      /* enum gpuval_needs */
   const char *summary; /* what it finds */
};

struct gpuval_kind_info {
   enum gpuval_check check;
   const char *name; /* unique within the check */
};

struct gpuval_op_info {
   const char *name; /* NULL: there was no access */
   bool has_site;    /* of a shader */
};

extern const struct gpuval_check_info gpuval_check_infos[GPUVAL_CHECK_COUNT];
extern const struct gpuval_kind_info gpuval_kind_infos[GPUVAL_KIND_COUNT];
extern const struct gpuval_op_info gpuval_op_infos[GPUVAL_OP_COUNT];

/** Is @kind none that reports have (GPUVAL_SET_HIDDEN)? */
static inline bool
gpuval_kind_is_hidden(enum gpuval_kind kind)
{
   return gpuval_check_infos[gpuval_kind_infos[kind].check].sets & GPUVAL_SET_HIDDEN;
}

/** The name of the check that @kind belongs to. */
const char *gpuval_kind_check_name(enum gpuval_kind kind);

/**
 * Checks named by @name, a check or a set of @length bytes (which need not end
 * in NUL), as BITFIELD_BIT(enum gpuval_check). 0 if there is none such.
 */
uint32_t gpuval_checks_from_name(const char *name, unsigned length);

/** "assume, printf, ...; basic, ...": all that gpuval_checks_from_name() knows. */
const char *gpuval_checks_names(void);

/** Returns the checks that this version has and users can name, as BITFIELD_BIT(enum gpuval_check).
 */
uint32_t gpuval_checks_available(void);

/** Returns the checks that need one of @needs, as BITFIELD_BIT(enum gpuval_check). */
uint32_t gpuval_checks_with_needs(uint32_t needs);

#ifdef __cplusplus
}
#endif

#endif
