/* SPDX-License-Identifier: MIT */

/* What of gpuval llvmpipe itself needs: it compiles shaders long after
 * lavapipe has let go of them.
 */

#ifndef GPUVAL_LVP_NIR_H
#define GPUVAL_LVP_NIR_H

#include "gpuval/src/base/gpuval_layout.h"
#include "gpuval/src/compat/gpuval_lvp_descriptor.h"
#include "gpuval/src/compat/gpuval_nir_memory.h"
#include "gpuval/src/compat/gpuval_nir_names.h"
#include "gpuval/src/lvp_glue/gpuval_lvp.h"
#include "nir_builder.h"

/* Where struct gpuval_command_data lies in constant buffer 0: behind the 256
 * bytes that lavapipe offers for push constants.
 */
#define GPUVAL_LVP_COMMAND_DATA_OFFSET 256

#ifdef __cplusplus
extern "C" {
#endif

/* Where in it, in units of 8 bytes, shaders find the functions that are compiled once
 * for a device (gpuval_lvp_gallivm.c has the calls, nir_passes/gpuval_nir_functions.c what is
 * called).
 */
#define GPUVAL_LVP_FUNCTIONS_INDEX                                                                 \
   ((GPUVAL_LVP_COMMAND_DATA_OFFSET + offsetof(struct gpuval_command_data, functions)) / 8)

/* The exact size of a buffer in struct lp_descriptor */
#define GPUVAL_LVP_DESCRIPTOR_BUFFER_SIZE 12

/* lp_descriptor::functions, which buffers have none of, of a range that a dynamic offset has moved
 * past the end of its buffer: its size is 0, as that of a null descriptor.
 */
#define GPUVAL_LVP_PAST_END 1

/** Right before the shadow of a set (gpuval_lvp_sets.h), where shaders read it */
struct gpuval_lvp_set_header {
   uint32_t variable_count; /* elements of the binding that is a variable-count one */
   uint32_t update;         /* number of the set's last update, which no other update has */
   uint32_t reserved[2];
};

/* What only lavapipe has behind that */
struct gpuval_lvp_command_data {
   struct gpuval_command_data base;
   uint64_t objects_address;              /* struct gpuval_object[] */
   uint64_t shadows[GPUVAL_LVP_MAX_SETS]; /* struct gpuval_descriptor[], see
                                           * gpuval_lvp_sets.h; 0: there is none */
   uint32_t bad_uses[8];                  /* of constant indices, by mesa_shader_stage */
   uint32_t harmful_uses[8];              /* of these */
   uint32_t unwritten_uses[8];            /* init: the same */
   uint32_t race_uses[8];                 /* race: those that are to be marked, */
   uint64_t used_address;                 /* race: in uint32_t[8] */
};
static_assert(GPUVAL_LVP_COMMAND_DATA_OFFSET + sizeof(struct gpuval_lvp_command_data) ==
                 GPUVAL_LVP_CONSTANTS_SIZE,
              "lavapipe uploads all of it");
#define GPUVAL_LVP_MAX_USES 32

/* These words of one shader. Those of a ray-tracing pipeline, of which a stage has many shaders,
 * are behind all of that, by the number of a shader's first entry, which no other shader of the
 * device has. Pages that no shader has are never touched.
 */
struct gpuval_lvp_use_words {
   uint32_t bad, harmful, unwritten;
   uint32_t reserved;
};
#define GPUVAL_LVP_RAY_CONSTANTS_SIZE                                                              \
   (GPUVAL_LVP_CONSTANTS_SIZE + sizeof(struct gpuval_lvp_use_words) * GPUVAL_MAX_ENTRIES)
static_assert(GPUVAL_LVP_CONSTANTS_SIZE % sizeof(struct gpuval_lvp_use_words) == 0,
              "words of one shader are not on two pages");

/** Where a shader of rays finds its struct gpuval_lvp_use_words, once @first_entry is known */
void gpuval_lvp_nir_rebase_uses(nir_shader *nir, uint32_t first_entry);

/* gpuval_nir_driver::data: what only the frontend knows */
struct gpuval_lvp_nir_binding {
   uint32_t first_slot;
   uint32_t stride; /* slots an array element */
   uint32_t count;
   bool is_variable;
   bool has_conversion;  /* immutable samplers with a YCbCr conversion */
   uint32_t inline_size; /* bytes of an inline uniform block, 0 for any other binding */
   uint32_t stand_in;    /* slot of a null descriptor; that of no structure is behind it */
};

/* Indices that have got another one for the case that they are bad: the last ones, as the next
 * access of a block often has the same.
 */
struct gpuval_lvp_stand_ins {
   struct {
      nir_scalar set, slot;
      nir_def *bad, *index;
   } made[8];
   unsigned count;
};

struct gpuval_lvp_nir_layout {
   struct gpuval_lvp_nir_binding (*binding)(const struct gpuval_lvp_nir_layout *layout,
                                            uint32_t set, uint32_t binding);
   struct gpuval_lvp_stand_ins *stand_ins; /* of the shader, zero at first */
};

/* gpuval_lvp_nir_descriptors.c */
extern const struct gpuval_nir_descriptors gpuval_lvp_nir_descriptors;

/** Lowers shared memory and task payloads as lavapipe would do, but behind our hook: it
 * finds nothing left to do.
 */
void gpuval_lvp_nir_lower_shared(nir_shader *nir);

/** Without its data, as functions have it: then what asks for the layout is not there. */
extern const struct gpuval_nir_driver gpuval_lvp_nir_driver;

#ifdef __cplusplus
}
#endif

#endif
