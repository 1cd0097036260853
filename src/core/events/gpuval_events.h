/* SPDX-License-Identifier: MIT */

/* Between the files that make events of failures. device->mutex is held. */

#ifndef GPUVAL_EVENTS_H
#define GPUVAL_EVENTS_H

#include "core/descriptors/gpuval_objects.h"
#include "core/device/gpuval_device.h"
#include "core/shaders/gpuval_shader.h"
#include "gpuval_check.h"

/* A distinct failure: the same instruction of the same shader, however many
 * pipelines it is in.
 */
struct gpuval_failure_key {
   uint64_t shader_hash;
   uint32_t stage;
   uint32_t kind;
   uint32_t op;
   uint32_t spirv_offset;
   int32_t set;
   int32_t binding;
   uint32_t site;   /* 0 where spirv_offset tells; else the number in its shader, from 1 */
   uint32_t shader; /* of its key; 0 where spirv_offset tells; else of labels */
   uint32_t object; /* of commands: tells objects without a name apart, see gpuval_unnamed */
   uint32_t zero;   /* no padding: keys are compared as bytes */
};

/** Objects without a name that fail alike: each has its number, as long as it lives. */
#define GPUVAL_MAX_UNNAMED 16
struct gpuval_unnamed {
   unsigned count;
   struct {
      uint32_t id; /* gpuval_objects.h; 0: a buffer's handle */
      uint64_t handle;
   } objects[GPUVAL_MAX_UNNAMED];
};

/** NULL: it is the first failure of this kind, in this period of the report. */
struct gpuval_event *gpuval_events_find(struct gpuval_device *device,
                                        const struct gpuval_failure_key *key);
/** Reports @event, which is found by @key from here on. */
void gpuval_events_add(struct gpuval_device *device, const struct gpuval_failure_key *key,
                       struct gpuval_event *event);

/** What is known of a command. */
void gpuval_events_describe_command(struct gpuval_device *device, const struct gpuval_event *event,
                                    struct gpuval_place *place, uint32_t command_id);

/** The same of what the host does, @op. */
void gpuval_events_describe_host(struct gpuval_place *place, const char *op);

/** What is bound, and what it is a view of. */
void gpuval_events_name_object(struct gpuval_event *event, const struct gpuval_object_info *info);

/** What a record says, to an event that has its kind. */
void gpuval_events_read_record(struct gpuval_device *device, struct gpuval_event *event,
                               const struct gpuval_record *record);

/** The failure of the @number-th site of @shader, as a key, */
struct gpuval_failure_key gpuval_events_site_key(const struct gpuval_shader *shader,
                                                 uint32_t number);
/** and its event; @record may be NULL. */
struct gpuval_event *gpuval_events_create(struct gpuval_device *device,
                                          const struct gpuval_shader *shader,
                                          const struct gpuval_site *site,
                                          const struct gpuval_record *record);
/** The same of a kind that is not the site's. */
struct gpuval_event *gpuval_events_create_kind(struct gpuval_device *device,
                                               const struct gpuval_shader *shader,
                                               const struct gpuval_site *site,
                                               enum gpuval_kind kind,
                                               const struct gpuval_record *record);
/** Shader, source and access of @place */
void gpuval_events_describe_site(const struct gpuval_event *event, struct gpuval_place *place,
                                 const struct gpuval_shader *shader,
                                 const struct gpuval_site *site);

/**
 * The event of a failure that the host finds. @bound: as gpuval_device_report_command() has it.
 * Where there is none yet, it is made, completed by @complete with @data, which may be NULL, and
 * reported.
 */
struct gpuval_event *gpuval_events_of_command(
   struct gpuval_device *device, uint32_t command_id, uint64_t bound,
   const struct gpuval_command_failure *failure,
   void (*complete)(struct gpuval_device *device, struct gpuval_event *event, const void *data),
   const void *data);

/** The one buffer or allocation of @ranges that @address is in, or NULL. */
const struct vk_object_base *gpuval_events_find_object(struct hash_table *ranges, uint64_t address,
                                                       int64_t *offset);
/** The resource of @event is @object, which lives. */
void gpuval_events_set_object(struct gpuval_event *event, const struct vk_object_base *object);
/**
 * Names the buffer that @address is in, if there is only one. @with_offset: the address is that
 * of the access, else it is where the accessed range begins.
 */
void gpuval_events_describe_buffer(struct gpuval_device *device, struct gpuval_event *event,
                                   uint64_t address, bool with_offset);
/** Reads a record that has a range of bytes and the offset of an access in it. */
void gpuval_events_read_range(struct gpuval_device *device, struct gpuval_event *event,
                              const struct gpuval_record *record);
/** Reads a record that has struct gpuval_record_image. */
void gpuval_events_read_image(struct gpuval_device *device, struct gpuval_event *event,
                              const struct gpuval_record *record);
/** The @number-th access of @shader that @check looks at, or NULL. */
const struct gpuval_site *gpuval_events_numbered_site(const struct gpuval_shader *shader,
                                                      enum gpuval_check check, unsigned number);

/** Hash of the conflicting access's module as a record names it; 0: not known, or it is none. */
uint64_t gpuval_events_other_hash(struct gpuval_device *device, enum gpuval_kind kind,
                                  const struct gpuval_record *record);

#endif
