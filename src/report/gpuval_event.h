/* SPDX-License-Identifier: MIT */

/* What there is to say of a failure: one struct, which all printers print. */

#ifndef GPUVAL_EVENT_H
#define GPUVAL_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/gpuval_checks.h"
#include "base/gpuval_command.h"
#include "base/gpuval_frame.h"
#include "gpuval/src/compat/gpuval_stages.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What was accessed, of what is known: a range of bytes, or texels of an image. */
struct gpuval_event_access {
   enum gpuval_op op;
   int64_t size;     /* bytes; -1: not known */
   int64_t offset;   /* bytes from the start of the bound range; -1: not known */
   uint64_t address; /* 0: not known, or */
   bool is_null;     /* it is that of nothing */
   bool has_index;   /* array: of an element, and how many there are */
   int64_t index, length;
   uint32_t alignment; /* bytes that an address should be aligned to; 0: not known, or is aligned */

   unsigned num_coords; /* 0 to 3 */
   int32_t coord[3];
   bool has_level, has_sample;
   int32_t level, sample;
};

/**
 * Where in the program something happened: an instruction of a shader, run by a
 * command; or a command that reads its arguments.
 */
struct gpuval_place {
   bool has_shader;
   struct {
      uint64_t hash;
      uint64_t code_hash; /* without what only debugging needs; 0: not known */
      mesa_shader_stage stage;
      char *entry;
      char *name;
   } shader;

   struct {
      char *file;
      uint32_t line;   /* 0: not known */
      uint32_t column; /* 0: not known */
      char *text;
      char *function;
      const char *const *extract; /* lines around it, and the number of the first */
      uint32_t extract_line, extract_count;
   } source;

   struct {
      uint32_t offset; /* bytes, 0: not known */
      int64_t instruction;
      int64_t code_instruction; /* the same as shader.code_hash counts */
      char *way;                /* of the calls that lead there; NULL: none */
   } spirv;

   const struct gpuval_frame *stack; /* the function was called from there, innermost first */
   unsigned stack_count;

   struct gpuval_event_access access;

   bool has_command;
   struct gpuval_command command;
};

/**
 * A distinct failure. Strings belong to the event (they are children of it in
 * ralloc's sense); NULL, -1 and the has_ flags say what is not known.
 */
struct gpuval_event {
   enum gpuval_kind kind;
   char *message;
   uint64_t count;
   uint32_t period;      /* gpuval_report_period(), when it was reported */
   char fingerprint[17]; /* 16 hexadecimal digits, see gpuval_event_set_fingerprint() */
   bool same_value;      /* nothing but what was there, or what the conflicting access wrote */
   uint64_t kept_count;  /* what the journal has as its count, 0: nothing yet (gpuval_journal.h) */
   bool is_reported;     /* in the log: neither suppressed nor outside of a session */
   bool was_warning;     /* in the log, before it proved to be an error */

   struct gpuval_place place;
   char *detail; /* what is wrong, by kind */

   bool has_record;        /* what is known of one invocation, and its command */
   uint32_t invocation[3]; /* docs/protocols.rst, "Invocations" */

   const struct gpuval_named_value *values; /* of the failing expression */
   unsigned num_values;
   bool has_operands; /* arithmetic: of scalars, the first two */
   uint32_t operands[2];

   struct {
      int64_t set, binding;
      bool has_index, is_array; /* of descriptors; index is negative where the shader's is */
      int64_t index;
      uint32_t stride;  /* slots an element, where records count slots; 0: they do not */
      const char *type; /* static */
      char *name;
      uint64_t object;      /* 0: not known */
      uint32_t object_type; /* VkObjectType */
      uint32_t calls;       /* gpuval_backtrace_capture(), when the object was created */
      char *object_name;
      int64_t object_offset; /* of the access */
      uint64_t parent;       /* the image or buffer of a view, 0: not known */
      char *parent_name;
      int64_t offset;  /* of the range in its buffer */
      uint64_t memory; /* VkDeviceMemory, 0: not known */
      char *memory_name;
      int64_t memory_offset;
      int64_t size;         /* bytes of the range */
      unsigned num_extents; /* of an image's view: texels, and layers last */
      uint32_t extent[3];
   } resource;

   /* sync, race: what is missing between the two, what would do, and what is there. Names are
    * static and Vulkan's: COMPUTE_SHADER.
    */
   struct {
      const char *missing; /* gpuval_barrier_missing_name() */
      char *there;         /* gpuval_barrier_text() */
      struct {
         const char *src_stage, *src_access, *dst_stage, *dst_access;
      } needs;
   } barrier;

   /* hang: what is in flight, and commands that have begun and not ended, a line each */
   const char *const *in_flight;
   unsigned num_in_flight;

   /* sync, race: who has used the same memory before */
   bool has_other;
   bool other_is_certain;
   struct gpuval_place other;
};

/** One of which nothing is known yet, for ralloc_free(). */
struct gpuval_event *gpuval_event_create(enum gpuval_kind kind);

/** Returns "error" or "warning", or "info" for a note or a message that a shader has printed. */
const char *gpuval_event_severity(const struct gpuval_event *event);
bool gpuval_event_is_message(const struct gpuval_event *event);
/** Returns whether the event says something that is no failure: `hang/slow-submit`. */
bool gpuval_event_is_note(const struct gpuval_event *event);
/**
 * Returns whether the failure is a warning: a race of stores that have never changed a value,
 * without GPUVAL_STRICT. Such a failure becomes an error when it changes one.
 */
bool gpuval_event_is_warning(const struct gpuval_event *event);

/** As reports name a stage: tess_ctrl, any_hit. */
const char *gpuval_stage_name(mesa_shader_stage stage);

/** "image view", or "object": of a VkObjectType. */
const char *gpuval_object_type_name(uint32_t type);

/**
 * Sets gpuval_event::message from what else is known, by kind; not that of a
 * message, which is the text that was printed.
 */
void gpuval_event_describe(struct gpuval_event *event);

/**
 * Sets gpuval_event::fingerprint: what the failure is, the same in each run of the
 * program and on other machines. So there is no address, handle, count or path in it,
 * nor what may be another one the next time (the conflicting access, the invocation).
 *
 * @set and @binding: of the site (-1: not known). @site: its number in the shader, where
 * that says what it is and not gpuval_place::spirv; else 0.
 */
void gpuval_event_set_fingerprint(struct gpuval_event *event, int32_t set, int32_t binding,
                                  uint32_t site);

#ifdef __cplusplus
}
#endif

#endif
