/* SPDX-License-Identifier: MIT */

/* What core/ has of each check: functions that the rows of base/gpuval_check_table.h name. Each of
 * these structs stands in the file of its check, gpuval_check_NAME.c.
 */

#ifndef GPUVAL_CHECK_H
#define GPUVAL_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/gpuval_checks.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_device;
struct gpuval_event;
struct gpuval_record;
struct gpuval_site;

/** What a device has for a check; any function may be NULL. */
struct gpuval_check_host {
   /* Called when a device is created on which a shader may get the check. Allocates buffers, and
    * fills in the root, which shaders cannot see yet. Returns false if there is no memory.
    */
   bool (*init)(struct gpuval_device *device);
   /* Called when a device is destroyed, whether init() was called or not. */
   void (*finish)(struct gpuval_device *device);
};

/** The words of a record, from gpuval_record::offset on, by kind; any function may be NULL. */
struct gpuval_words {
   /* Returns the SPIR-V offset of what has failed, for sites of several instructions. */
   uint32_t (*get_spirv_offset)(const struct gpuval_record *record);
   /* Fills in what the site alone says of the resource. */
   void (*describe_site)(struct gpuval_event *event, const struct gpuval_site *site);
   /* Fills in what the record says. device->mutex is held. */
   void (*read)(struct gpuval_device *device, struct gpuval_event *event,
                const struct gpuval_record *record);
};

#define CHECK(id, name, sets, needs, early, pass, host, summary)                                   \
   extern const struct gpuval_check_host gpuval_host_##host;
#define KIND(id, check, name, words, sentence, text)                                               \
   extern const struct gpuval_words gpuval_words_##words;
#include "base/gpuval_check_table.h"

/** Never NULL. */
const struct gpuval_words *gpuval_words_of_kind(enum gpuval_kind kind);

/** Calls gpuval_check_host::init of the checks that are on. */
bool gpuval_device_init_checks(struct gpuval_device *device);
/** Calls gpuval_check_host::finish of all checks, in reverse order. */
void gpuval_device_finish_checks(struct gpuval_device *device);

#ifdef __cplusplus
}
#endif

#endif
