/* SPDX-License-Identifier: MIT */

/* Between the files of this folder only. */

#ifndef GPUVAL_RADV_PRIVATE_H
#define GPUVAL_RADV_PRIVATE_H

#include "gpuval_radv.h"
#include "gpuval_radv_nir.h"

#include "gpuval/src/gpuval.h"

#include "util/hash_table.h"
#include "util/list.h"
#include "util/simple_mtx.h"

#include "vk_command_buffer.h"
#include "vk_dispatch_table.h"
#include "vk_queue.h"
#include "vk_sync.h"

#include "gpuval/src/core/gpuval_hooks.h"
#include "gpuval/src/core/inputs/gpuval_arguments.h"
#include "winsys/gpuval_winsys_radv.h"

struct gpuval_descriptor;
struct gpuval_hang;
struct gpuval_nir_use;
struct gpuval_race_segment;
struct gpuval_command_access;
struct gpuval_draw;
struct gpuval_radv_batch;
struct gpuval_radv_bytes;
struct gpuval_radv_bytes_batch;
struct gpuval_radv_indices;
struct gpuval_sync_conflict;
struct gpuval_vertex_input;
struct gpuval_radv_race;
struct gpuval_radv_race_note;
struct gpuval_race_step;

struct gpuval_radv {
   struct gpuval_device *device;
   struct radv_device *radv;
   struct gpuval_winsys_radv winsys;
   uint64_t nonce;                         /* of this device, in all processes */
   struct vk_pipeline_cache *memory_cache; /* of shaders that stay in this process, or NULL */
   uint32_t warned_capture_replay;
   uint32_t broken_checks; /* BITFIELD_BIT(enum gpuval_check): what this GPU cannot */
   bool executes_nothing;  /* what stands in for the kernel drops all work */
   bool swaps;             /* it has compare-and-swap where atomic bits get lost */

   struct gpuval_hooks hooks;            /* RADV's entry points among them, in hooks.next */
   struct radeon_winsys_bo *stand_in_bo; /* GPUVAL_RADV_STAND_IN_BYTES */
   uint32_t stand_in;                    /* its address, low half */
   uint64_t null_structure;              /* or 0 */
   struct gpuval_radv_images *images;    /* gpuval_radv_written_images.c's, or NULL */
   uint64_t unpoisoned;                  /* bytes that could not be filled */
   bool visits_commands;                 /* some check observes them, gpuval_radv_walk.h */
   VkResult (*driver_submit)(struct vk_queue *queue, struct vk_queue_submit *submit);

   simple_mtx_t mutex;
   struct hash_table_u64 *commands; /* ids -> what is known of them, in chunks */
   uint32_t next_chunk;
   int64_t next_submission;
   struct gpuval_labels *left_labels[GPUVAL_MAX_QUEUES]; /* open since earlier command buffers */

   struct hash_table_u64 *retained; /* VkPipeline -> what its library keeps alive */

   bool looks_run;             /* gpuval_radv_looks_run() has ever been called */
   struct list_head readbacks; /* unused blocks of gpuval_radv_readback.c */

   void *description; /* strings of the last gpuval_radv_describe_command() */

   simple_mtx_t submit_mutex;
   struct list_head starting; /* submits that the driver is about to make */
   struct list_head in_flight;
   struct list_head unused;
   struct gpuval_hang *suspect; /* gpuval_radv_hang.c; NULL: none */
   int64_t last_landed;         /* number of the submit that was seen to end last; -1: none was */
   bool is_loss_reported;

   /* Where sync or race is on */
   simple_mtx_t sync_mutex; /* all that follows, and what commands are told */
   unsigned submitting;     /* submits that have been looked at, but may not be in flight yet */
   uint64_t visit;          /* number of the submit that is gone through */
   bool warned_pending;
   uint32_t serial;     /* of the last command */
   uint32_t executions; /* of commands */

   struct gpuval_radv_race *race;     /* NULL: not checked */
   struct gpuval_radv_shadow *shadow; /* NULL: the filter is all there is */
   struct gpuval_radv_clear *clear;
   struct gpuval_radv_filter *filter; /* where the host does not see it, or NULL */
};

/* gpuval_radv_commands.c */

void gpuval_radv_init_commands(struct gpuval_radv *gpuval);
void gpuval_radv_finish_commands(struct gpuval_radv *gpuval);
bool gpuval_radv_describe_command(void *data, uint32_t command_id, mesa_shader_stage stage,
                                  struct gpuval_command *command);
/** Returns the number of the submit. */
int64_t gpuval_radv_submitted(struct gpuval_radv *gpuval, unsigned queue,
                              struct vk_command_buffer *const *buffers, uint32_t count);
/**
 * The application records an action. Returns false for a part of another one.
 * @op: its name in snake case, a constant. @is_counted: it has a number in its command buffer.
 */
bool gpuval_radv_begin_action(struct radv_cmd_buffer *cmd_buffer, const char *op, bool has_draws,
                              bool is_counted);
/** @is_ours: what gpuval_radv_begin_action() has returned. */
void gpuval_radv_end_action(struct radv_cmd_buffer *cmd_buffer, bool is_ours);
/** Is what is recorded now a part of an action? */
bool gpuval_radv_is_in_action(const struct radv_cmd_buffer *cmd_buffer);
/** Within an action: the GPU chooses the pipelines. */
void gpuval_radv_change_pipelines(struct radv_cmd_buffer *cmd_buffer, bool changes);
bool gpuval_radv_changes_pipelines(const struct radv_cmd_buffer *cmd_buffer);
void gpuval_radv_add_secondary(struct gpuval_radv *gpuval, struct radv_cmd_buffer *primary,
                               struct radv_cmd_buffer *cmd_buffer);
/** A region of labels ends there that has begun in an earlier command buffer. */
void gpuval_radv_end_earlier_label(struct radv_cmd_buffer *cmd_buffer);

/** Gives the command that is being recorded an id. @descriptors: NULL where it has no pipeline. */
uint32_t gpuval_radv_add_command(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer,
                                 const struct radv_descriptor_state *descriptors);
/**
 * Gives command @op an id, which is no action. Returns false for what Mesa makes another one of.
 */
bool gpuval_radv_identify_command(struct radv_cmd_buffer *cmd_buffer, const char *op,
                                  uint32_t *command_id);

/** What gpuval_radv_inputs.c, sync and race need to know of a command buffer. */
struct util_dynarray *gpuval_radv_failures(struct radv_cmd_buffer *cmd_buffer);
struct util_dynarray *gpuval_radv_built(struct radv_cmd_buffer *cmd_buffer);
struct util_dynarray *gpuval_radv_looks(struct radv_cmd_buffer *cmd_buffer);
struct list_head *gpuval_radv_readbacks(struct radv_cmd_buffer *cmd_buffer);
/** gpuval_radv_indices.c's, for ralloc_free(); NULL until it sets it */
struct gpuval_radv_indices **gpuval_radv_indices(struct radv_cmd_buffer *cmd_buffer,
                                                 void **mem_ctx);
/** gpuval_radv_bytes.c's, the same */
struct gpuval_radv_bytes **gpuval_radv_bytes(struct radv_cmd_buffer *cmd_buffer, void **mem_ctx);
/** A dispatch of ours looks at memory, which nothing waits for. */
void gpuval_radv_looks_run(struct radv_cmd_buffer *cmd_buffer);
/** In front of a barrier of the program's, which waits for those, too. */
void gpuval_radv_wait_for_looks(struct radv_cmd_buffer *cmd_buffer);
/** Submits with it, as gpuval_radv_submit.c knows them, where it has looks. */
unsigned *gpuval_radv_in_flight(struct radv_cmd_buffer *cmd_buffer);
/** Appends it and its secondaries (struct radv_cmd_buffer *), those that have looks. */
void gpuval_radv_collect_looks(struct radv_cmd_buffer *cmd_buffer, struct util_dynarray *buffers);
struct util_dynarray *gpuval_radv_notes(struct radv_cmd_buffer *cmd_buffer);
uint64_t *gpuval_radv_visit(struct radv_cmd_buffer *cmd_buffer);

struct gpuval_radv_told {
   uint64_t table; /* gpuval_command_data::marks_address, if it is the same of all; 0: of none */
   uint64_t visit; /* as gpuval_radv_visit() */
   bool executes;  /* secondaries */
};

/**
 * Whose descriptors they are, and for what. Generated commands with an execution set take
 * those of another command buffer than the one that they are prepared in.
 */
const struct radv_cmd_buffer *gpuval_radv_owner(const struct radv_cmd_buffer *cmd_buffer,
                                                const struct radv_descriptor_state *descriptors,
                                                unsigned *bind_point);
/** What gpuval_radv_race.c has noted of draws of the rendering that is being recorded, or NULL. */
struct gpuval_race_step **gpuval_radv_race_draws(struct radv_cmd_buffer *cmd_buffer);
/** What its commands have been told of init; with sync_mutex from when it is submitted on. */
struct gpuval_radv_told *gpuval_radv_told(struct radv_cmd_buffer *cmd_buffer);

/** gpuval_radv_sets.c's; *mem_ctx, which may be NULL, is what lives as long. */
struct gpuval_radv_bound **gpuval_radv_bound(struct radv_cmd_buffer *cmd_buffer, void **mem_ctx);
/** gpuval_radv_uses.c's, the same */
struct gpuval_radv_uses **gpuval_radv_uses(struct radv_cmd_buffer *cmd_buffer, void **mem_ctx);
/** gpuval_radv_walk.c's, the same */
struct gpuval_radv_walk **gpuval_radv_walk(struct radv_cmd_buffer *cmd_buffer, void **mem_ctx);

/* gpuval_radv_self_test.c */

/**
 * Asks the GPU for what is relied on, and says in the log what it has answered; false: there
 * is nothing that could be checked. The device must be as it is without checks.
 */
bool gpuval_radv_self_test(struct gpuval_radv *gpuval);

/* gpuval_radv_meta.c */

/** Makes the shader of a pipeline that is found by @key; it is the caller's. */
typedef nir_shader *(*gpuval_radv_build_shader)(struct radv_device *device, const void *key);

/**
 * Finds or makes a compute pipeline among RADV's meta operations, which live as long as the device.
 * @key begins with a type that none of RADV's has; @constants_size: bytes of push constants.
 */
VkResult gpuval_radv_get_meta_pipeline(struct radv_device *device, const void *key, size_t key_size,
                                       uint32_t constants_size, gpuval_radv_build_shader build,
                                       VkPipeline *pipeline, VkPipelineLayout *layout);

/* gpuval_radv_inputs.c */

/** What is wrong with a recorded command. */
struct gpuval_radv_failure {
   uint32_t command_id;
   uint64_t bound;
   struct gpuval_command_failure failure;
   struct gpuval_sync_conflict *conflict; /* NULL, or instead of these: malloc()ed */
};

/** Appends @failures of one command to @found (struct gpuval_radv_failure). */
void gpuval_radv_add_failures(struct util_dynarray *found, uint32_t command_id, uint64_t bound,
                              const struct gpuval_command_failure *failures, unsigned count);
void gpuval_radv_report_failure(struct gpuval_radv *gpuval,
                                const struct gpuval_radv_failure *failure);
/** A command buffer is submitted, or executed by one that is. */
void gpuval_radv_report_failures(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer);

/* gpuval_radv_command_data.c */

/** Bytes of struct gpuval_radv_command_data that this device has use for, from its beginning. */
uint32_t gpuval_radv_data_size(const struct gpuval_radv *gpuval);

/* gpuval_radv_readback.c */

/**
 * Returns memory that the GPU may store to, zeroed, for as long as what the command buffer has
 * recorded; NULL: there is none. The GPU must not do atomics there. Aligned to 16 bytes.
 */
void *gpuval_radv_add_readback(struct radv_cmd_buffer *cmd_buffer, uint64_t size,
                               uint64_t *address);
/** A command buffer is reset. @blocks: gpuval_radv_readbacks() */
void gpuval_radv_remove_readbacks(struct gpuval_radv *gpuval, struct list_head *blocks);
void gpuval_radv_finish_readbacks(struct gpuval_radv *gpuval);

/* gpuval_radv_looks.c */

/** What a command reads from buffers. */
struct gpuval_radv_look {
   uint32_t command_id;
   uint64_t bound;
   bool checks_arguments; /* by indirect */

   struct gpuval_arguments arguments; /* as many as there may be */
   struct gpuval_arguments_limits limits;
   uint64_t count_address; /* 0: their number is known */
   uint32_t max_count;

   /* A direct draw's indices: those that the range of arguments has */
   bool is_indexed;
   bool is_whole;           /* all of them or none */
   struct gpuval_draw draw; /* that, or one whose count a counter has */

   /* Struct gpuval_command_failure: known already, should it be executed */
   struct util_dynarray failures;
   bool is_conditional;

   /* ray: the arguments are instances that this is built of. */
   const struct vk_object_base *top_level;
   bool is_gathered; /* out of where an array of pointers leads to */

   /* init: the arguments are words of marks, and this fails where one is 0: in that layer */
   const struct gpuval_command_failure *load;
   uint32_t first_layer;

   /* What is at count_address is a counter of VK_EXT_transform_feedback. */
   bool is_counter;
   uint32_t counter_offset;
   uint32_t counter_stride;

   const struct gpuval_vertex_input *input; /* NULL: vertex does not look at it */
   const struct gpuval_radv_look *indices;  /* of indirect draws: all that are there, or NULL */

   /* gpuval_radv_indices.c's or gpuval_radv_bytes.c's: instead of all that */
   const struct gpuval_radv_batch *batch;
   const struct gpuval_radv_bytes_batch *bytes;

   struct gpuval_radv_copy *copy; /* gpuval_radv_looks.c's */
   uint32_t num_copied;           /* structs */
};

/**
 * Has the GPU copy it, in front of the command that is recorded next. NULL: there is nothing
 * to look at. It lives as long as what the command buffer has recorded; what is only known
 * behind the command may be filled in then.
 */
struct gpuval_radv_look *gpuval_radv_add_look(struct radv_cmd_buffer *cmd_buffer,
                                              const struct gpuval_radv_look *look);
/** Sets its input to a copy of @input, where the look before has another one. */
void gpuval_radv_look_at_vertices(struct radv_cmd_buffer *cmd_buffer, struct gpuval_radv_look *look,
                                  const struct gpuval_vertex_input *input);

/**
 * Looks at what the GPU has copied, and appends what is wrong (struct gpuval_radv_failure).
 * No submit of the command buffer is in flight.
 */
void gpuval_radv_check_looks(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer,
                             struct util_dynarray *found);

/* gpuval_radv_structures.c */

void gpuval_radv_init_structures(struct gpuval_radv *gpuval);
/** A command buffer is submitted: what it builds is there. */
void gpuval_radv_note_built(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer);

/* gpuval_radv_filter.c */

/** Before there are hooks. What does not work is among the broken checks then. */
void gpuval_radv_init_filter(struct gpuval_radv *gpuval);
void gpuval_radv_finish_filter(struct gpuval_radv *gpuval);
/** sync: an epoch begins, and nothing is in flight, or the filter wants it; with sync_mutex. */
void gpuval_radv_begin_filter(struct gpuval_radv *gpuval);
bool gpuval_radv_wants_filter(struct gpuval_radv *gpuval);
/** Commands to be executed in front of submit @visit to @queue, or NULL. */
struct vk_command_buffer *gpuval_radv_take_filter(struct gpuval_radv *gpuval,
                                                  const struct vk_queue *queue, uint64_t visit);

/* gpuval_radv_poison.c */

/** Says what was not filled. */
void gpuval_radv_finish_poison(struct gpuval_radv *gpuval);

/* gpuval_radv_written.c */

/**
 * Is this memory that nobody else can write? @may_be_image: also where it is for one image only.
 */
bool gpuval_radv_is_private(const VkMemoryAllocateInfo *info, bool may_be_image);

/* gpuval_radv_written_images.c */

void gpuval_radv_init_written_images(struct gpuval_radv *gpuval);
void gpuval_radv_finish_written_images(struct gpuval_radv *gpuval);

/* gpuval_radv_bytes.c: where shadow memory is the engine of sync, else these do nothing */

/** The accesses of one command that are of one class: cells know them by a number of their own. */
struct gpuval_radv_bytes_part {
   uint32_t class_; /* enum gpuval_order_class */
   uint32_t command_id;
   struct gpuval_command_data *data; /* where the GPU reads it, */
   uint64_t address;                 /* which is there for it */
   uint32_t serial;                  /* of the last execution */
};

/** Are bytes of buffers that commands access the business of sync there, and not of race? */
bool gpuval_radv_looks_at_bytes(const struct radv_cmd_buffer *cmd_buffer);
/** What a draw fetches that has that id. */
void gpuval_radv_add_fetch(struct radv_cmd_buffer *cmd_buffer, uint32_t command_id,
                           const struct gpuval_vertex_input *input, const struct gpuval_draw *draw);
/**
 * In front of a command that is no draw, behind a pass, and at the end of the command buffer: has
 * the GPU look at what has been added.
 */
void gpuval_radv_flush_bytes(struct radv_cmd_buffer *cmd_buffer);
/** Appends what has been found (gpuval_radv_failure) when it has been executed. */
void gpuval_radv_check_bytes(struct gpuval_radv *gpuval,
                             const struct gpuval_radv_bytes_batch *batch,
                             struct util_dynarray *found);

/* gpuval_radv_indices.c */

/** Behind a pass, and at the end of the command buffer: looks at the indices of its draws. */
void gpuval_radv_flush_indices(struct radv_cmd_buffer *cmd_buffer);
/** Appends what has been found (gpuval_radv_failure) when it has been executed. */
void gpuval_radv_check_batch(const struct gpuval_radv_batch *batch, struct util_dynarray *found);

/* gpuval_radv_safe.c */

/**
 * With GPUVAL_SAFE, right before a command that reads them: has the GPU make a copy of the
 * arguments, packed, of which those that are above a limit do nothing. False: there is none,
 * and none is needed as a rule. *copy is good for recording that one command.
 */
bool gpuval_radv_make_safe(struct radv_cmd_buffer *cmd_buffer,
                           const struct gpuval_arguments *arguments,
                           const struct gpuval_arguments_limits *limits, struct radv_buffer *copy);

/**
 * Has the GPU copy that many instances, in front of the command that is recorded next. Those that
 * refer to nothing in @structures (gpuval_device_bottom_structures(); 0: whatever they refer to)
 * become inactive. Returns where the copy is, an array of instances: good for recording that one
 * command; 0 if there is no room.
 */
uint64_t gpuval_radv_copy_instances(struct radv_cmd_buffer *cmd_buffer, uint64_t address,
                                    uint32_t count, bool array_of_pointers, uint64_t structures);

/* gpuval_radv_users.c */

/** By the call that this thread is in, which is a user of @shader. */
void gpuval_radv_registered(struct gpuval_shader *shader);
void gpuval_radv_init_users(struct gpuval_radv *gpuval);

/* gpuval_radv_binary.c */
void gpuval_radv_init_binaries(struct gpuval_radv *gpuval);
void gpuval_radv_finish_binaries(struct gpuval_radv *gpuval);

/* What has become of a shader's NIR: gpuval_radv_select() */
enum gpuval_radv_selection {
   GPUVAL_RADV_HAS_TABLE,   /* it is registered */
   GPUVAL_RADV_IS_COUNTED,  /* it has been looked at */
   GPUVAL_RADV_IS_UNMARKED, /* gpuval_instrument_info::is_unmarked */
   GPUVAL_RADV_IS_LEFT_OUT, /* there was no room */
};
/** @nir keeps @selection, BITFIELD_BIT(enum gpuval_radv_selection). */
void gpuval_radv_select(nir_shader *nir, uint32_t selection);

/* gpuval_radv_sets.c: where a check asks for descriptors */

void gpuval_radv_init_sets(struct gpuval_radv *gpuval);
void gpuval_radv_finish_sets(struct gpuval_radv *gpuval);
/** What shaders need to know of the sets that are bound. */
void gpuval_radv_record_sets(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer,
                             const struct radv_descriptor_state *descriptors,
                             struct gpuval_radv_command_data *data);

/**
 * Finds the descriptor that a constant use of the command that is recorded means; NULL where there
 * is no such element. Returns false where nothing is known of it.
 */
bool gpuval_radv_find_descriptor(const struct radv_cmd_buffer *owner, unsigned bind_point,
                                 const struct gpuval_nir_use *use,
                                 const struct gpuval_descriptor **descriptor);

/* gpuval_radv_uses.c */

/**
 * Judges the constant uses of the command that is being recorded. @words: what it is told, which
 * @told_words, its place in the command's data, is to get from the caller.
 */
void gpuval_radv_record_uses(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer,
                             const struct radv_descriptor_state *descriptors,
                             uint32_t words[GPUVAL_RADV_USE_WORDS], uint32_t *told_words);
/** A command buffer is about to be executed: finds what has been destroyed since it was recorded. */
void gpuval_radv_renew_uses(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer);

/* gpuval_radv_submit.c */

/** The submit with that number */
bool gpuval_radv_is_in_flight(struct gpuval_radv *gpuval, int64_t number);
/** What gpuval_radv_begin_epochs() has given that number */
bool gpuval_radv_is_visited(struct gpuval_radv *gpuval, uint64_t visit);

/** Is no work in flight, as far as has been looked? */
bool gpuval_radv_is_idle(struct gpuval_radv *gpuval);

/** Before what a command buffer has recorded goes: looks at what has been executed of it. */
void gpuval_radv_forget_looks(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer);

void gpuval_radv_init_submits(struct gpuval_radv *gpuval);
void gpuval_radv_finish_submits(struct gpuval_radv *gpuval);
void gpuval_radv_wait_for_work(void *data, bool at_exit);
/** As gpuval_device_info::look_for_hang */
void gpuval_radv_look_for_hang(void *data, int64_t limit);
/** Everything that has failed in work that is done gets into the log. */
void gpuval_radv_look(void *data);

/* gpuval_radv_shadow.c: where shadow memory is the engine of sync, else these do nothing */

void gpuval_radv_init_shadow(struct gpuval_radv *gpuval);
void gpuval_radv_finish_shadow(struct gpuval_radv *gpuval);

/* gpuval_radv_clear.c */
/** A pool of the queue family's, and @count primary command buffers in it */
VkResult gpuval_radv_create_commands(struct gpuval_radv *gpuval, uint32_t family,
                                     VkCommandPool *pool, VkCommandBuffer *commands,
                                     uint32_t count);
void gpuval_radv_init_clear(struct gpuval_radv *gpuval);
void gpuval_radv_finish_clear(struct gpuval_radv *gpuval);
/** Nothing is in flight: shadow memory may be cleared on @queue until it is NULL. */
void gpuval_radv_allow_clear(struct gpuval_radv *gpuval, struct vk_queue *queue);

/** A buffer has got its memory. */
void gpuval_radv_bind_cells(struct gpuval_radv *gpuval, const struct radv_buffer *buffer);

/** Entry bases of what work runs, by stage; returns the classes (bits) of its stages. */
uint32_t gpuval_radv_note_entries(const struct radv_cmd_buffer *cmd_buffer, unsigned bind_point,
                                  uint32_t entry_base[GPUVAL_STAGE_COUNT]);
/** No work is in flight; with sync_mutex, as what follows. */
void gpuval_radv_begin_shadow(struct gpuval_radv *gpuval);
/** gpuval_submits_work() with all that shadow memory needs, in @data. */
/** The same of a command without a shader, with shadow memory only. */
void gpuval_radv_order_command(struct gpuval_radv *gpuval, unsigned queue,
                               enum gpuval_order_class class_, struct gpuval_command_data *data);
void gpuval_radv_order_work(struct gpuval_radv *gpuval, unsigned queue, uint32_t classes,
                            struct gpuval_command_data *data);

/* gpuval_radv_sync.c */

void gpuval_radv_init_sync(struct gpuval_radv *gpuval);
void gpuval_radv_finish_sync(struct gpuval_radv *gpuval);
/** Does a check ask for it? */
bool gpuval_radv_needs_order(void);
/** Has what command buffers do to be noted? */
bool gpuval_radv_needs_notes(const struct gpuval_radv *gpuval);
/** Lives as long as what the command buffer has recorded. @events: NULL: of a pipeline barrier */
struct gpuval_dependency *gpuval_radv_create_dependency(struct radv_cmd_buffer *cmd_buffer,
                                                        uint32_t count, const VkEvent *events,
                                                        const VkDependencyInfo *infos);
void gpuval_radv_note_work(struct gpuval_radv *gpuval, struct util_dynarray *notes,
                           const struct radv_cmd_buffer *cmd_buffer, unsigned bind_point,
                           struct gpuval_command_data *data, uint32_t command_id,
                           const struct gpuval_radv_race_note *race);
void gpuval_radv_note_bytes(struct radv_cmd_buffer *cmd_buffer,
                            struct gpuval_radv_bytes_part *part);
void gpuval_radv_note_race(struct radv_cmd_buffer *cmd_buffer, const struct gpuval_race_step *step);
void gpuval_radv_note_execute(struct radv_cmd_buffer *primary, struct radv_cmd_buffer *secondary);
/** A command has been recorded with that table of init. */
void gpuval_radv_note_table(struct radv_cmd_buffer *cmd_buffer, uint64_t table);
/**
 * Tells the commands that are about to be submitted their epochs, and returns the submit's
 * number. When they are in flight, or when that has failed, gpuval_radv_end_epochs() has to
 * be called. *@race: as gpuval_radv_race.h has it, or NULL.
 */
uint64_t gpuval_radv_begin_epochs(struct gpuval_radv *gpuval, struct vk_queue *queue,
                                  struct vk_command_buffer *const *buffers, uint32_t count,
                                  struct gpuval_race_segment **race);
void gpuval_radv_end_epochs(struct gpuval_radv *gpuval);
/** Instead of both, where nobody will know when the submit ends: init gives up. */
void gpuval_radv_give_up(struct gpuval_radv *gpuval, struct vk_command_buffer *const *buffers,
                         uint32_t count);

#endif
