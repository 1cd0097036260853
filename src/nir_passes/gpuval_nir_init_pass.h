/* SPDX-License-Identifier: MIT */

/* One walk of the check of initialization over a shader: gpuval_nir_init.c, and what it does to
 * images, gpuval_nir_init_images.c.
 */

#ifndef GPUVAL_NIR_INIT_PASS_H
#define GPUVAL_NIR_INIT_PASS_H

#include "gpuval_nir_init.h"
#include "gpuval_nir_private.h"

/* Reports that wait for others, so that one branch will do for them. */
#define MAX_WAITING 8

/* @size bytes behind @address, of which the first is @skipped bytes behind where @intrin accesses */
struct gpuval_init_range {
   nir_def *address; /* NULL: there is none */
   const nir_intrinsic_instr *intrin;
   uint32_t skipped, size;
};

struct gpuval_init_waiting {
   struct gpuval_nir_report report;
   struct gpuval_init_range range; /* its detail is made with those of the others */
};

struct gpuval_init_pass {
   struct gpuval_nir_state *state;
   const struct gpuval_nir_driver *driver;
   nir_def *unwritten_uses; /* once it is asked for */
   unsigned num_uses;

   /* Of accesses of @block, @last being the last one that has one */
   struct gpuval_init_waiting waiting[MAX_WAITING];
   unsigned num_waiting;
   nir_instr *last;
   const nir_block *block;
};

/* What is left of an access */
struct gpuval_init_look {
   const struct gpuval_access *access;
   struct gpuval_init_range range;
   struct gpuval_access_use use;
   bool has_use;
   bool is_constant;   /* the descriptor and @condition are the same in all invocations */
   nir_def *condition; /* 1 bit */
};

/** What is left of an access; b->cursor is in front of it then. */
struct gpuval_init_look gpuval_init_begin(struct gpuval_init_pass *pass,
                                          const struct gpuval_access *access);
/**
 * 1 bit: whether there is anything to do. What another check has found wrong is not performed with
 * GPUVAL_SAFE, and a load is not reported twice; without GPUVAL_SAFE a store writes all the same.
 */
nir_def *gpuval_init_get_condition(struct gpuval_init_pass *pass,
                                   const struct gpuval_init_look *look);
/** Marks or looks where @condition is true. @flags: GPUVAL_INIT_ENTRY_* */
void gpuval_init_report(struct gpuval_init_pass *pass, const struct gpuval_init_look *look,
                        nir_def *condition, uint32_t flags, uint32_t size, uint32_t image_flags,
                        nir_def *slot, nir_def *detail);

static inline nir_def *
gpuval_init_get_src(const nir_tex_instr *tex, nir_tex_src_type type)
{
   int index = nir_tex_instr_src_index(tex, type);
   return index < 0 ? NULL : tex->src[index].src.ssa;
}

/* Each returns whether the shader has changed. */
bool gpuval_init_instrument_image(struct gpuval_init_pass *pass,
                                  const struct gpuval_access *access);
bool gpuval_init_instrument_texture(struct gpuval_init_pass *pass,
                                    const struct gpuval_access *access);

#endif
