/* SPDX-License-Identifier: MIT */

/* Reports: one stream of events, several printers.
 *
 * Everything here belongs to the process, not to a device: the log and the
 * report files are shared by all.
 */

#ifndef GPUVAL_REPORT_H
#define GPUVAL_REPORT_H

#include <stdio.h>

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/list.h"
#include "gpuval_event.h"
#include "gpuval_formats.h"

struct vk_device;

#ifdef __cplusplus
extern "C" {
#endif

/** To be called once, when there are options: says now, and not at exit, which files
 * of them cannot be written.
 */
void gpuval_report_init(void);

/**
 * A child that was forked begins a report of its own: what its parent has reported is not in it.
 * Where a name of a file has no process id, it gets one, as the parent's file has the name.
 */
void gpuval_report_begin_process(void);

/** The text log's block for one event, without its count. */
void gpuval_text_write_event(FILE *f, const struct gpuval_event *event);
/** The same of a row, of which process ever. */
void gpuval_text_write_row(FILE *f, const struct gpuval_row *row);
/** "compute shader HASH, invocation (0, 0, 0)" */
void gpuval_text_write_shader(FILE *f, const struct gpuval_event *event);
/**
 * Returns the command of @event as the log has it, "dispatch 0 of command buffer …", to be freed by
 * free(); NULL: there is no memory.
 */
char *gpuval_text_of_command(const struct gpuval_event *event);
void gpuval_text_write_counts(FILE *f, struct gpuval_event *const *events, unsigned num_events);
void gpuval_text_write_summary(FILE *f, const struct gpuval_summary *summary);

/**
 * What the messengers of a device's instance are to be told. They are the
 * application's and may call Vulkan, so they are called when no lock of ours is held.
 */
struct gpuval_notices {
   struct vk_device *vk;      /* NULL: nobody is told */
   struct util_dynarray list; /* all zero: empty */
   struct list_head link;     /* while they are delivered */
   bool reported;             /* an error: set by gpuval_report_event() and _raise() */
};

/** Appends what is to be said; @event is NULL for a message of a shader. */
void gpuval_notices_add(struct gpuval_notices *notices, const struct gpuval_event *event,
                        const char *text);

/**
 * Takes over what is in @from, which is empty then. Whoever waits for notices from now
 * on, waits for these. Still with the lock that @from is under.
 */
void gpuval_notices_take(struct gpuval_notices *notices, struct gpuval_notices *from);

/** Calls the messengers with what was taken, and leaves nothing. */
void gpuval_notices_deliver(struct gpuval_notices *notices);

/** Waits for other threads that call messengers for @vk. */
void gpuval_notices_wait(const struct vk_device *vk);

/**
 * The first sight of a failure: to the log, and to @notices; unless it is suppressed, or outside
 * of a session. The event is taken over; its count may be changed until gpuval_report_finish() by
 * whoever holds gpuval_report_lock().
 */
void gpuval_report_event(struct gpuval_event *event, struct gpuval_notices *notices);

/**
 * Makes an error of @event, which gpuval_report_event() got with gpuval_event::same_value: a store
 * of the same failure has changed a value. What is known of that store, @conflict, which is
 * taken over, replaces what @event says, but for its count. Where @event was a warning in the log,
 * its block is written anew, as an error, and @notices hear of it.
 */
void gpuval_report_raise(struct gpuval_event *event, struct gpuval_event *conflict,
                         struct gpuval_notices *notices);

/** Something that a shader has printed. */
struct gpuval_message {
   struct gpuval_event *event; /* of this text at this site, or NULL */
   const char *text;
};

/**
 * To the log, and to @notices. Counts them, each one's event too.
 */
void gpuval_report_messages(const struct gpuval_message *messages, unsigned count,
                            struct gpuval_notices *notices);

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

/**
 * A device that is checked: from the first one on there is something to report. @driver: its name
 * and version; NULL: not known.
 */
void gpuval_report_add_device(const char *driver);

/** Draws, dispatches and traces that have run, and were looked at. From any thread. */
void gpuval_report_add_commands(uint64_t count);

/** That @event has occurred @count times more, which need not be reported yet. */
void gpuval_report_count(struct gpuval_event *event, uint64_t count);

/** A shader that is checked; counts once, however many pipelines and devices it is in. */
void gpuval_report_add_shader(uint64_t hash, mesa_shader_stage stage);

/** Records that told nothing. */
void gpuval_report_add_lost(uint64_t count);
/** How many that were so far. */
uint64_t gpuval_report_num_lost(void);

/**
 * A line to the file that `gpuval run` looks at when the program has ended: of
 * any of its processes, however they end.
 */
void gpuval_report_mark(const char *line);

/** Writes the report files anew, with what is known by now. */
void gpuval_report_write_files(void);

/**
 * Goes up when a session begins, and when it ends: an event of another period is none any
 * more, and who has it makes a new one. Always the same without sessions.
 */
uint32_t gpuval_report_period(void);

enum gpuval_session_action {
   GPUVAL_SESSION_BEGIN,
   GPUVAL_SESSION_END,
   GPUVAL_SESSION_TOGGLE,
};

/**
 * Begins or ends a session, which has files of its own; with GPUVAL_RECORD=manual only.
 * What devices have found so far has to be here. @by: for the log.
 */
void gpuval_report_session(enum gpuval_session_action action, const char *by);

/**
 * A line on the terminal with what is known by now, if the user wants it; not too often,
 * unless @last.
 */
void gpuval_report_progress(bool last);

/** The last words, at exit: counts and summary, and the files. */
void gpuval_report_finish(void);

#ifdef __cplusplus
}
#endif

#endif
