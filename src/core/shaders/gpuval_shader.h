/* SPDX-License-Identifier: MIT */

/* The shaders of a device: whose code it may run, and what each of their sites is. */

#ifndef GPUVAL_SHADER_H
#define GPUVAL_SHADER_H

#include "core/device/gpuval_device.h"
#include "core/spirv/gpuval_spirv.h"
#include "nir_passes/gpuval_nir.h"
#include "gpuval_numbers.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/hash_table.h"
#include "util/list.h"
#include "util/mesa-blake3.h"

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
   mesa_shader_stage stage;
   char *entry;
   char *name;

   struct gpuval_binding *bindings;
   unsigned num_bindings;

   struct gpuval_site *sites;
   struct gpuval_site_state *states; /* of the sites */
   unsigned num_sites;
   char *names; /* gpuval_nir_table::names */
   uint32_t names_size;
   uint32_t first_site; /* device-wide */

   struct gpuval_nir_entry *entries;
   unsigned num_entries;
   uint32_t entry_base;

   struct gpuval_nir_format *formats;
   unsigned num_formats;

   struct gpuval_nir_use *uses;
   unsigned num_uses;
};

/** gpuval_device::shaders */
struct gpuval_shaders {
   struct hash_table *modules;   /* hash -> struct gpuval_module */
   struct hash_table *by_key;    /* key -> struct gpuval_shader */
   struct util_dynarray by_site; /* struct gpuval_shader *, by device-wide site; or NULL */
   struct gpuval_numbers numbers;
   struct list_head retired; /* shaders that work of the current phase may use */
   struct list_head ending;  /* those that only work of the other one may use */
   bool warned_full, warned_of_shared;
};

/** When a device is created. */
void gpuval_shaders_init(struct gpuval_device *device);
void gpuval_shaders_finish(struct gpuval_device *device);

/** The shader of a device-wide site, or NULL. device->mutex is held. */
struct gpuval_shader *gpuval_device_site_shader(struct gpuval_device *device, uint32_t site);
/** Whose table @entry is in, or NULL. */
struct gpuval_shader *gpuval_device_entry_shader(struct gpuval_device *device, uint32_t entry);

/**
 * Frees the shaders without users that no work can use any more. What they counted and
 * printed has to be read, see gpuval_device_drain(). device->mutex is held.
 */
void gpuval_device_free_shaders(struct gpuval_device *device);

/**
 * Writes everything that makes two shaders of a module different, in the form in which binaries
 * hold it, too.
 */
void gpuval_shader_write_info(struct blob *blob, const struct gpuval_shader_info *info,
                              const struct gpuval_nir_table *table);

/** Index of the module, made at first use; NULL if it cannot be read. */
struct gpuval_spirv *gpuval_module_spirv(struct gpuval_module *module);

#ifdef __cplusplus
}
#endif

#endif
