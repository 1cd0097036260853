/* SPDX-License-Identifier: MIT */

/* Between the files of core/ only. */

#ifndef GPUVAL_DEVICE_H
#define GPUVAL_DEVICE_H

#include "base/gpuval_bloom.h"
#include "base/gpuval_shadow.h"
#include "nir_passes/gpuval_nir.h"
#include "report/gpuval_report.h"
#include "gpuval.h"
#include "gpuval_addresses.h"
#include "gpuval_cells.h"
#include "gpuval_image_marks.h"
#include "gpuval_marks.h"
#include "gpuval_numbers.h"
#include "gpuval_objects.h"
#include "gpuval_printf.h"
#include "gpuval_spirv.h"
#include "gpuval_structures.h"
#include "gpuval_written.h"

#include "c11/threads.h"
#include "util/hash_table.h"
#include "util/list.h"
#include "util/mesa-blake3.h"
#include "util/u_dynarray.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One SPIR-V module, shared by the shaders made from it. */
struct gpuval_module {
   uint64_t hash;
   unsigned users;
   uint32_t *words;
   size_t size;                /* bytes */
   struct gpuval_spirv *spirv; /* NULL until something has to be looked up */
};

/** What has become of a site */
struct gpuval_site_state {
   struct gpuval_event *event; /* NULL: it has not failed */
   uint64_t count;             /* what of its counter has gone into the event */
};

/** gpuval_shader.c says how long it lives. */
struct gpuval_shader {
   uint8_t key[GPUVAL_SHADER_KEY_SIZE];
   struct gpuval_device *device;
   uint64_t serial; /* by registration, from 1 */
   unsigned users;
   struct list_head link; /* among those without users */
   bool is_ending;        /* which are these */
   struct gpuval_module *module;
   gl_shader_stage stage;
   char *entry;
   char *name;

   struct gpuval_binding *bindings;
   unsigned num_bindings;

   struct gpuval_site *sites;
   struct gpuval_site_state *states; /* of the sites */
   unsigned num_sites;
   uint32_t first_site; /* device-wide */

   struct gpuval_nir_entry *entries;
   unsigned num_entries;
   uint32_t entry_base;

   struct gpuval_nir_format *formats;
   unsigned num_formats;

   struct gpuval_nir_use *uses;
   unsigned num_uses;
};

/** The cells of sync, and which commands they name. */
struct gpuval_shadow_device {
   bool is_on;
   struct gpuval_shadow *memory; /* NULL: where it is, gpuval_cells.h says */
   struct gpuval_buffer layout;  /* struct gpuval_shadow_layout */
   struct gpuval_buffer serials; /* uint32_t, by number of a command */
   struct gpuval_shadow_command *commands;
   uint32_t next; /* number */
   struct gpuval_shadow_behind {
      uint32_t serial, number; /* 0: not known */
   } behind[2];                /* what was found last */
   bool warned;
};

/** Records, as gpuval_drain.c reads them */
struct gpuval_device_slots {
   struct gpuval_buffer buffer;         /* struct gpuval_slots */
   uint16_t seen[GPUVAL_CONTROL_WORDS]; /* read but not given back yet */
   unsigned num_seen;
   bool is_clean; /* nobody has used it since all of it was given back */
};

struct gpuval_device {
   struct gpuval_device_info info;
   struct list_head link; /* in the list of live devices, until it is retired */
   uint32_t visited;      /* gpuval_live_visit() */
   bool is_complete;      /* it was created, and has all that follows */

   struct gpuval_shadow_device shadow; /* where sync is on, instead */
   struct gpuval_written *written;     /* where init is on, and */
   struct gpuval_shadow *window;       /* where that has no other */
   struct gpuval_buffer window_layout;
   struct gpuval_buffer root_buffer, counters, failing, entries;
   struct gpuval_buffer bloom_buffer, claims; /* where sync is on */
   struct gpuval_buffer bloom_sample;         /* where the host does not see them */
   struct gpuval_buffer structures_buffer;    /* where ray is on */
   struct gpuval_structures structures;
   bool warned_structures;
   struct gpuval_root *root;
   struct gpuval_bloom bloom;
   unsigned bloom_samples; /* taken, and */
   bool warned_bloom;      /* said: by who executes barriers */

   mtx_t mutex; /* all that follows */
   cnd_t work_begins;
   thrd_t thread;
   bool has_thread;
   bool stop;
   bool is_asleep;   /* the thread, until work begins */
   unsigned work[2]; /* in flight, by phase in which it began */
   unsigned phase;

   struct hash_table *modules;   /* hash -> struct gpuval_module */
   struct hash_table *shaders;   /* key -> struct gpuval_shader */
   struct util_dynarray by_site; /* struct gpuval_shader *, by device-wide site; or NULL */
   struct gpuval_numbers numbers;
   uint64_t num_registered;  /* ever; read without the mutex, too */
   struct list_head retired; /* shaders that work of the current phase may use */
   struct list_head ending;  /* those that only work of the other one may use */
   bool warned_full, warned_of_shared;

   struct gpuval_buffer objects_buffer; /* where a check asks for descriptors */
   struct gpuval_objects *objects;

   /* struct vk_object_base * -> struct gpuval_range */
   struct hash_table *buffers, *allocations;
   struct gpuval_addresses addresses; /* of buffers */
   struct gpuval_marks marks;         /* where init is on without a window */
   struct gpuval_image_marks image_marks;
   struct gpuval_cells cells; /* where shadow memory is */

   /* Shaders use one of them; there is another one where the host has no atomics. */
   struct gpuval_device_slots slots[2];
   unsigned active; /* which */
   bool has_failed; /* something, since counters were read */
   bool warned_memory;

   struct hash_table *failures; /* struct gpuval_failure_key -> struct gpuval_event */
   struct hash_table *unnamed;  /* struct gpuval_failure_key -> struct gpuval_unnamed */
   unsigned num_command_events; /* of failures, those that no shader is in, and */
   uint32_t command_period;     /* when: gpuval_report_period() */
   bool warned_command_events;

   struct gpuval_buffer printf_buffers[2]; /* where printf is on */
   struct gpuval_printf printf;
   struct hash_table *message_events; /* text of a format -> struct gpuval_event; NULL if
                                       * nobody wants them */
   uint32_t messages_full;            /* the period in which there are enough, + 1 */
   struct util_dynarray messages;     /* struct gpuval_message: to be reported */
   uint64_t printf_lost;              /* of both counters, what has been said */
   bool printed;                      /* at the last look */

   struct gpuval_notices notices; /* for gpuval_device_unlock() */
   int64_t reaction_at;           /* os_time_get_nano(): at the latest; 0: there is none due */
};

static inline bool
gpuval_device_is_idle(const struct gpuval_device *device)
{
   return !device->work[0] && !device->work[1];
}

/** A buffer, or memory */
struct gpuval_range {
   const struct vk_object_base *object;
   uint64_t address, size;
   struct rb_node node; /* in gpuval_addresses::tree, if */
   bool is_addressed;
};

/** The shader of a device-wide site, or NULL. device->mutex is held. */
struct gpuval_shader *gpuval_device_site_shader(struct gpuval_device *device, uint32_t site);
/** Whose table @entry is in, or NULL. */
struct gpuval_shader *gpuval_device_entry_shader(struct gpuval_device *device, uint32_t entry);

/**
 * Frees the shaders without users that no work can use any more. What they counted and
 * printed has to be read, see gpuval_device_drain(). device->mutex is held.
 */
void gpuval_device_free_shaders(struct gpuval_device *device);

/** Index of the module, made at first use; NULL if it cannot be read. */
struct gpuval_spirv *gpuval_module_spirv(struct gpuval_module *module);

/**
 * The event of a site; one that other sites share if they are the same failure.
 * @record may be NULL. device->mutex is held.
 */
struct gpuval_event *gpuval_device_get_event(struct gpuval_device *device, uint32_t site,
                                             const struct gpuval_record *record);

/** Arguments that a shader has written since the last barrier; @claim may name it. */
void gpuval_device_report_indirect(struct gpuval_device *device,
                                   const struct gpuval_indirect_read *read, uint64_t claim);

/** An event of a message: what is known of the site. */
struct gpuval_event *gpuval_device_create_message(struct gpuval_device *device, uint32_t site,
                                                  const char *text, const uint32_t *invocation);

/** Returns whether there is more. device->mutex is held. */
bool gpuval_device_drain_printf(struct gpuval_device *device, bool idle);
/** All that there is, at the end. device->mutex is held, but for moments. */
void gpuval_device_drain_all_messages(struct gpuval_device *device);

/** Unlocks device->mutex, tells messengers what has been reported meanwhile, and reacts. */
void gpuval_device_unlock(struct gpuval_device *device);

/** Is it time for GPUVAL_ON_ERROR? The caller then has to react. device->mutex is held. */
bool gpuval_device_take_reaction(struct gpuval_device *device);
/** Does not return from `abort`. No lock is held. */
void gpuval_device_react(struct gpuval_device *device);

/** A device is about to be made: a child that was forked is a process of its own from here on. */
void gpuval_live_begin(void);
/** exit() will look at the device, until gpuval_device_retire(). */
void gpuval_live_add(struct gpuval_device *device);

/**
 * Calls @visit for each device, which is not destroyed meanwhile. No lock is held. What
 * that calls may call this again, in the same thread.
 */
void gpuval_live_visit(void (*visit)(struct gpuval_device *device));

/**
 * Reads and clears published records, and when no work is in flight (@idle)
 * the counters. device->mutex is held.
 */
void gpuval_device_drain(struct gpuval_device *device, bool idle);

/** A reset of the GPU may take what is in its memory. Says so once. */
bool gpuval_device_is_intact(struct gpuval_device *device);

/**
 * Where the host has no atomics on GPU memory, shaders get other slots and another printf
 * buffer now and then. No work of the other phase is left: what that has used is given back.
 * Returns whether others are wanted. device->mutex is held.
 */
bool gpuval_device_give_back(struct gpuval_device *device);
/** A phase begins: they get them. device->mutex is held. */
void gpuval_device_turn(struct gpuval_device *device);

/** Reads the counters of shaders that no work can use any more. device->mutex is held. */
void gpuval_device_drain_ending(struct gpuval_device *device);

/** Memory for shaders and host; false: there is none. */
bool gpuval_device_alloc(struct gpuval_device *device, struct gpuval_buffer *buffer, uint64_t size);
/** The same for what nobody does atomics on, and the host only writes. */
bool gpuval_device_alloc_plain(struct gpuval_device *device, struct gpuval_buffer *buffer,
                               uint64_t size);
void gpuval_device_free(struct gpuval_device *device, struct gpuval_buffer *buffer);
/** Of struct gpuval_buffer; none is left in it. */
void gpuval_device_free_buffers(struct gpuval_device *device, struct util_dynarray *buffers);
/** From one list to another */
void gpuval_move_buffers(struct util_dynarray *to, struct util_dynarray *from);

/** sync's filter, as large as the environment says; false: there is no memory. It goes with the
 * other buffers.
 */
bool gpuval_device_alloc_filter(struct gpuval_device *device);
/** gpuval_root::bloom_line_mask */
uint32_t gpuval_device_line_mask(const struct gpuval_buffer *buckets);

bool gpuval_device_init_shadow(struct gpuval_device *device);
void gpuval_device_finish_shadow(struct gpuval_device *device);

/** Whom a half of a cell names. */
struct gpuval_shadow_party {
   uint32_t command_id;
   uint32_t class_; /* enum gpuval_order_class */
   bool is_indirect;
   gl_shader_stage stage; /* MESA_SHADER_NONE: not known */
   uint32_t entry_base;   /* of its shader, */
   uint64_t max_serial;   /* which was not registered later than this one */
   uint32_t number;       /* which access of it; GPUVAL_SHADOW_SITE_UNKNOWN */
};
struct gpuval_order_row;

/**
 * A command reads arguments: marks them read, and returns the half of a cell that names
 * whoever has written them without being ordered before, or 0. @row may be NULL.
 */
uint64_t gpuval_device_shadow_read(struct gpuval_device *device, uint64_t address, uint32_t size,
                                   const struct gpuval_command_data *data,
                                   const struct gpuval_order_row *row);

bool gpuval_device_shadow_party(struct gpuval_device *device, uint32_t lo, uint32_t hi,
                                struct gpuval_shadow_party *party);

#ifdef __cplusplus
}
#endif

#endif
