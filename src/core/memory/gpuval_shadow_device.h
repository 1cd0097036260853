/* SPDX-License-Identifier: MIT */

/* The shadow memory of a device, of sync. */

#ifndef GPUVAL_SHADOW_DEVICE_H
#define GPUVAL_SHADOW_DEVICE_H

#include "base/gpuval_shadow.h"
#include "core/device/gpuval_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** gpuval_device::shadow: the cells of sync, and which commands they name. */
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

bool gpuval_device_init_shadow(struct gpuval_device *device);
void gpuval_device_finish_shadow(struct gpuval_device *device);

/** Whom a half of a cell names. */
struct gpuval_shadow_party {
   uint32_t command_id;
   uint32_t class_;         /* enum gpuval_order_class */
   uint32_t serial;         /* of the command */
   enum gpuval_op op;       /* of a command without a shader; GPUVAL_OP_NONE: it is a shader's */
   bool is_write;           /* ... does it write? */
   mesa_shader_stage stage; /* MESA_SHADER_NONE: not known */
   uint32_t entry_base;     /* of its shader, */
   uint64_t max_serial;     /* which was not registered later than this one */
   uint32_t number;         /* which access of it; GPUVAL_SHADOW_SITE_UNKNOWN */
};
struct gpuval_order_row;

/* Beside enum gpuval_op in a cell, where shaders have the number of an access: it writes. */
#define GPUVAL_SHADOW_COMMAND_WRITES 0x80u
static_assert(GPUVAL_OP_COUNT <= GPUVAL_SHADOW_COMMAND_WRITES, "it is a bit of its own");

/** Bytes that a command accesses without a shader, or for one to fetch. */
struct gpuval_shadow_access {
   uint64_t address, size;
   bool is_write;
   enum gpuval_order_class class_;
   enum gpuval_order_access read; /* of reads: which of the class */
   enum gpuval_op op;
};

/**
 * Marks what @access is to, and returns the half of a cell that names the first conflicting access
 * that is not ordered before, or 0; *@where is the address then. @data: by
 * gpuval_device_shadow_command(). @row: of the access's class, for all of its addresses.
 */
uint64_t gpuval_device_shadow_access(struct gpuval_device *device,
                                     const struct gpuval_shadow_access *access,
                                     const struct gpuval_command_data *data,
                                     const struct gpuval_order_row *row, uint64_t *where);
/** The same of a command that reads arguments. @row may be NULL. */
uint64_t gpuval_device_shadow_read(struct gpuval_device *device, uint64_t address, uint32_t size,
                                   const struct gpuval_command_data *data,
                                   const struct gpuval_order_row *row);

/** Serial of the command that has that number. */
uint32_t gpuval_shadow_serial(const struct gpuval_shadow_device *shadow, uint32_t number);
/**
 * When a command has come that cells name: its serial, and whether it is of another queue than the
 * first. Returns the number that cells have for it, which is the higher the later it was submitted;
 * 0 of one that is not looked at, or any more.
 */
uint32_t gpuval_device_shadow_serial(struct gpuval_device *device, uint32_t command_id,
                                     bool *is_of_other, uint32_t *serial);
/** Are numbers of commands short, so that several share one? */
bool gpuval_device_shadow_is_short(const struct gpuval_device *device);

bool gpuval_device_shadow_party(struct gpuval_device *device, uint32_t lo, uint32_t hi,
                                struct gpuval_shadow_party *party);

#ifdef __cplusplus
}
#endif

#endif
