/* SPDX-License-Identifier: MIT */

/* Reports: one stream of events, several printers.
 *
 * Everything here belongs to the process, not to a device: the log and the
 * report files are shared by all.
 */

#ifndef GPUVAL_REPORT_H
#define GPUVAL_REPORT_H

#include <stdio.h>

#include "nir_passes/gpuval_nir.h"
#include "gpuval.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Where in the program something happened: an instruction of a shader, run by a
 * command; or a command that reads its arguments.
 */
struct gpuval_place {
   bool has_shader;
   struct {
      uint64_t hash;
      gl_shader_stage stage;
      char *entry;
      char *name;
   } shader;

   struct {
      char *file;
      uint32_t line;   /* 0: not known */
      uint32_t column; /* 0: not known */
      char *text;
      char *function;
   } source;

   struct {
      uint32_t offset; /* bytes, 0: not known */
      int64_t instruction;
   } spirv;

   enum gpuval_op op;

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

   struct gpuval_place place;

   bool has_record; /* invocation and access are known */
   uint32_t invocation[3];

   struct {
      uint32_t size;
      int64_t offset;
      uint64_t address; /* 0: not known */
   } access;

   struct {
      int64_t set, binding, index;
      const char *type; /* static */
      char *name;
      uint64_t object; /* VkBuffer, 0: not known */
      char *object_name;
      int64_t object_offset;
      uint64_t memory; /* VkDeviceMemory, 0: not known */
      char *memory_name;
      int64_t memory_offset;
      int64_t size;
   } resource;

   /* sync: who is likely to have accessed the same memory before */
   bool has_other;
   struct gpuval_place other;
};

struct gpuval_summary {
   uint64_t errors;
   uint64_t occurrences;
   uint64_t lost;
   uint64_t messages;
   uint64_t lost_messages;
};

/** For people; NULL of GPUVAL_OP_NONE. */
extern const char *const gpuval_op_names[];

/** "error", or "info" of a message that a shader has printed. */
const char *gpuval_event_severity(const struct gpuval_event *event);
bool gpuval_event_is_message(const struct gpuval_event *event);

/** As reports name a stage: tess_ctrl, any_hit. */
const char *gpuval_stage_name(gl_shader_stage stage);

/** Writes one file. Events in the order in which they were seen. */
struct gpuval_report_format {
   const char *ending;
   void (*write)(FILE *f, struct gpuval_event *const *events, unsigned num_events,
                 const struct gpuval_summary *summary);
};

/** By the file's ending, NULL if there is none such. */
const struct gpuval_report_format *gpuval_report_format(const char *file);

extern const struct gpuval_report_format gpuval_report_jsonl;
extern const struct gpuval_report_format gpuval_report_csv;

/** A string of JSON, with its quotes. */
void gpuval_jsonl_write_string(FILE *f, const char *string);

/** The text log's block for one event, without its count. */
void gpuval_text_write_event(FILE *f, const struct gpuval_event *event);
/** "compute shader HASH, invocation (0, 0, 0)" */
void gpuval_text_write_shader(FILE *f, const struct gpuval_event *event);
void gpuval_text_write_counts(FILE *f, struct gpuval_event *const *events, unsigned num_events);
void gpuval_text_write_summary(FILE *f, const struct gpuval_summary *summary);

/**
 * The first sight of a failure: to the log and to the messengers of @vk's
 * instance. The event is taken over; its count may be changed until
 * gpuval_report_finish() by whoever holds gpuval_report_lock().
 */
void gpuval_report_event(struct vk_device *vk, struct gpuval_event *event);

/** Something that a shader has printed. */
struct gpuval_message {
   struct gpuval_event *event; /* of this text at this site, or NULL */
   const char *text;
};

/**
 * To the log, and to the messengers of @vk's instance. Counts them, each one's
 * event too.
 */
void gpuval_report_messages(struct vk_device *vk, const struct gpuval_message *messages,
                            unsigned count);

/**
 * Takes over the event of a message that was not seen before, for the report
 * files. False: there are enough of them; the event is still the caller's.
 */
bool gpuval_report_add_message_event(struct gpuval_event *event);

/** Is there a file that wants events of messages? */
bool gpuval_report_wants_messages(void);

void gpuval_report_add_lost_messages(uint64_t count);

void gpuval_report_lock(void);
void gpuval_report_unlock(void);

/** Records that told nothing. */
void gpuval_report_add_lost(uint64_t count);

/**
 * A line to the file that `gpuval run` looks at when the program has ended: of
 * any of its processes, however they end.
 */
void gpuval_report_mark(const char *line);

/** Say now, and not at exit, when the log or a report file cannot be written. */
void gpuval_report_open_log(void);
bool gpuval_report_try_file(const char *name);

/** Writes the report files anew, with what is known by now. */
void gpuval_report_write_files(void);

/** The last words, at exit: counts and summary, and the files. */
void gpuval_report_finish(void);

#ifdef __cplusplus
}
#endif

#endif
