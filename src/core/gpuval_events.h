/* SPDX-License-Identifier: MIT */

/* Between the files that make events of failures. device->mutex is held. */

#ifndef GPUVAL_EVENTS_H
#define GPUVAL_EVENTS_H

#include "gpuval_device.h"

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
};

/** @event happened @count times more; if @key is known, it is another one's, and freed. */
void gpuval_events_count(struct gpuval_device *device, const struct gpuval_failure_key *key,
                         struct gpuval_event *event, uint64_t count);

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
/** Shader, source and access of @place */
void gpuval_events_describe_site(const struct gpuval_event *event, struct gpuval_place *place,
                                 const struct gpuval_shader *shader,
                                 const struct gpuval_site *site);

/** Of a failure that the host finds. @bound: as gpuval_device_report_command() has it */
struct gpuval_failure_key gpuval_events_command_key(const struct gpuval_command_failure *failure,
                                                    uint64_t bound,
                                                    const struct gpuval_event *event);
struct gpuval_event *gpuval_events_create_of_command(struct gpuval_device *device,
                                                     uint32_t command_id,
                                                     const struct gpuval_command_failure *failure);

#endif
