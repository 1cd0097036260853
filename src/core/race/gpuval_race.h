/* SPDX-License-Identifier: MIT */

/* The check `race`: two commands use one subresource, or the same bytes of a buffer, one of them
 * writes, and nothing orders the two. Who has used what, and what is ordered before that; which
 * command uses what is the driver's to know.
 *
 * A subresource has a list of uses that a later one may be unordered with: the order is that of
 * dependencies (gpuval_order_model.h) and not the clock's, so that a race is found in each run.
 *
 * Whether a shader has used something is known when it has run. So uses are noted in the order
 * of commands, with what is ordered before them, and looked at when nothing of that runs: all
 * at once, or, where several submits are in flight, one segment of notes after the other.
 *
 * Notes are for one thread at a time, and so is looking at them; but that may be another one.
 */

#ifndef GPUVAL_RACE_H
#define GPUVAL_RACE_H

#include "base/gpuval_checks.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPUVAL_RACE_NO_SITE UINT32_MAX

/** How much of a subresource is used */
enum gpuval_race_extent {
   GPUVAL_RACE_WHOLE,
   GPUVAL_RACE_BOX,       /* what gpuval_race_use::begin and end say */
   GPUVAL_RACE_SOMEWHERE, /* a shader's */
};

/** One use by a command */
struct gpuval_race_use {
   unsigned source; /* gpuval_order_source() */
   uint32_t serial;
   uint32_t command_id;
   const char *host_op; /* static; not NULL: it is the host that uses it, and no command */
   uint32_t pass;       /* that it is in; 0: none. What is in one is not in a race */
   uint32_t recording;  /* a number of the primary command buffer's execution: ids may be of what
                         * is executed several times */
   uint32_t site;       /* of a shader, device-wide; GPUVAL_RACE_NO_SITE: of the command itself */
   uint64_t shader_serial; /* gpuval_shader_serial(): the site may be another's by now */
   enum gpuval_op op;
   bool is_write;
   bool is_storage;    /* of an image that shaders may store to: sync's */
   bool has_texels;    /* GPUVAL_RACE_USE_HAS_TEXELS: it is in no race with another such use */
   bool is_atomic;     /* two of them are no race */
   bool acquires;      /* a shader's memory barrier makes visible what others have released, */
   bool releases;      /* or makes available what it has written */
   bool is_transition; /* of the layout: in a race with what is of the same recording only */
   bool goes_on;       /* with one that was noted before, and is not looked at again */
   bool is_barrier;    /* no use: what is there has had a barrier for its memory */
   bool is_covered;    /* there has been one since */
   bool lacks_access;  /* of a race: a dependency orders execution, and no memory */
   uint32_t behind;    /* 0, or 1 + the recording of a transition that comes after this use. Uses of
                        * that recording are compared with the transition instead, which is in no
                        * race with uses of others. */
   uint32_t view;      /* id of the view that a shader uses; 0: none */
   uint32_t object;    /* id of the image or buffer, gpuval_objects.h; 0: a shader's view has it */
   bool is_buffer;
   enum gpuval_race_extent extent;
   int32_t begin[3], end[3]; /* texels */
};

struct gpuval_race;

/** A race: @use comes after @other. */
typedef void (*gpuval_race_function)(void *data, const struct gpuval_race_use *use,
                                     const struct gpuval_race_use *other);

struct gpuval_race *gpuval_race_create(gpuval_race_function report, void *data);
void gpuval_race_destroy(struct gpuval_race *race);

/** Zeroed memory that lives as long as what is noted next. */
void *gpuval_race_alloc(struct gpuval_race *race, unsigned size);

/**
 * Notes @use. @before: the serials up to which sources are ordered before it. It counts if
 * @flag is NULL, or has one of @bits when it is looked at. @dependent: as @before, without what is
 * ordered by nothing but barriers for images and buffers, whose memory dependencies are for these
 * only; NULL: that is all the same. @available: the serials up to which what sources have written
 * has been made available by anything; NULL: nobody knows. These and @flag live until then.
 */
void gpuval_race_note(struct gpuval_race *race, const struct gpuval_race_use *use,
                      const uint32_t *before, const uint32_t *dependent, const uint32_t *available,
                      const uint32_t *flag, uint32_t bits);
/**
 * What the last one is a use of: a subresource, by the address of its first texel. Of several
 * a shader has used one or another.
 */
void gpuval_race_note_subresource(struct gpuval_race *race, uint64_t address);
/** Or some bytes of a buffer; @use has no extent then. */
void gpuval_race_note_bytes(struct gpuval_race *race, uint64_t address, uint64_t size);

/** Nothing runs: looks at what has been noted. */
void gpuval_race_flush(struct gpuval_race *race);

/* The same in two steps, with notes of others in between */

struct gpuval_race_segment;

/** What has been noted so far; notes begin anew. */
struct gpuval_race_segment *gpuval_race_take(struct gpuval_race *race);
/** Nothing of @segment runs, or of what is ordered before it. Frees it. */
void gpuval_race_judge(struct gpuval_race *race, struct gpuval_race_segment *segment);
void gpuval_race_drop(struct gpuval_race_segment *segment);

/**
 * Of flags that others will write over: returns where they are copied to, as flags for notes,
 * by gpuval_race_fetch(), which takes those of @owner, or all with NULL, once each.
 */
const uint32_t *gpuval_race_watch(struct gpuval_race *race, const void *owner,
                                  const uint32_t *flags, unsigned count);
void gpuval_race_fetch(struct gpuval_race_segment *segment, const void *owner);

/** Forgets what was used: all of it, with what has been noted, as serials begin again; */
void gpuval_race_restart(struct gpuval_race *race);
/** or what is in memory that is freed. Any thread */
void gpuval_race_forget(struct gpuval_race *race, uint64_t address, uint64_t size);

#ifdef __cplusplus
}
#endif

#endif
