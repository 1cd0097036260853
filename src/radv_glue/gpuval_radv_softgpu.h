/* SPDX-License-Identifier: MIT */

/*
 * Shaders for the software GPU of the tests (tests/softgpu), a library that is
 * preloaded and executes the NIR which RADV hands to ACO. Without it in the
 * process, nothing here does anything, and without Mesa's option build-tests
 * nothing of it is in RADV.
 */

#ifndef GPUVAL_RADV_SOFTGPU_H
#define GPUVAL_RADV_SOFTGPU_H

#include <stddef.h>
#include <stdint.h>

#include "gpuval/gpuval_build.h"

struct ac_shader_args;
struct nir_shader;
struct radv_device;
struct radv_shader_binary;
struct radv_shader_part_binary;
struct radv_shader_stage;
struct radv_vs_prolog_key;

/* What the library exports, and what is given to it: it recognizes a shader by
 * the code that it finds at the program's address, so that it does not matter
 * where and how often that is uploaded.
 */
#define GPUVAL_SOFTGPU_ADD_SHADER "gpuval_softgpu_add_shader"

struct gpuval_softgpu_shader {
   const void *code;
   size_t code_size;
   /* A number, and so many of nir_serialize(): stages that are merged, or a shader of ray tracing
    * and where it resumes
    */
   const void *nir;
   size_t nir_size;
   const struct ac_shader_args *args;
   uint32_t address32_hi;
   unsigned vertex_inputs; /* the first VGPR that a prolog sets */
   unsigned next_stage;    /* the SGPR with the stage that it goes on with; 0: it is complete */
};

typedef void (*gpuval_softgpu_add_shader_func)(const struct gpuval_softgpu_shader *shader);

/* The same code at another place: with numbers in it that are known there only. Where the NIR of a
 * stage has @entry_base_gpuval, it is that stage's number.
 */
#define GPUVAL_SOFTGPU_ADD_COPY "gpuval_softgpu_add_copy"
#define GPUVAL_SOFTGPU_STAGES   32

struct gpuval_softgpu_copy {
   const void *code; /* of struct gpuval_softgpu_shader */
   const void *relocated;
   size_t code_size; /* of both */
   const uint32_t *entry_bases;
};

typedef void (*gpuval_softgpu_add_copy_func)(const struct gpuval_softgpu_copy *copy);

/* The same of what runs ahead of a vertex shader. Masks are of attributes. */
#define GPUVAL_SOFTGPU_ADD_PROLOG "gpuval_softgpu_add_prolog"

struct gpuval_softgpu_prolog {
   const void *code;
   size_t code_size;
   unsigned attribute_count;
   uint32_t instance_rate;
   uint32_t nontrivial_divisors;
   uint32_t zero_divisors;
   uint32_t misaligned;
};

typedef void (*gpuval_softgpu_add_prolog_func)(const struct gpuval_softgpu_prolog *prolog);

/* And of what vkCmdTraceRaysKHR() begins with: arguments of a dispatch become those of the stages
 * of ray tracing.
 */
#define GPUVAL_SOFTGPU_ADD_RT_PROLOG "gpuval_softgpu_add_rt_prolog"

struct gpuval_softgpu_rt_prolog {
   const void *code;
   size_t code_size;
   const struct ac_shader_args *in;
   const struct ac_shader_args *out;
};

typedef void (*gpuval_softgpu_add_rt_prolog_func)(const struct gpuval_softgpu_rt_prolog *prolog);

#if GPUVAL_SOFTGPU

/* Before ACO edits the shader. Returns what gpuval_radv_softgpu_add() takes, NULL
 * when there is nothing to do.
 */
struct blob *gpuval_radv_softgpu_keep(struct nir_shader *const *shaders, int shader_count);

/* Frees `nir`. */
void gpuval_radv_softgpu_add(struct radv_device *device, struct blob *nir,
                             const struct radv_shader_binary *binary,
                             const struct radv_shader_stage *stage);

void gpuval_radv_softgpu_add_prolog(const struct radv_shader_part_binary *binary,
                                    const struct radv_vs_prolog_key *key);

void gpuval_radv_softgpu_add_rt_prolog(const struct radv_shader_binary *binary,
                                       const struct ac_shader_args *in,
                                       const struct ac_shader_args *out);

void gpuval_radv_softgpu_copy(const void *code, const void *relocated, size_t code_size,
                              const uint32_t entry_bases[static GPUVAL_SOFTGPU_STAGES]);

#else

static inline struct blob *
gpuval_radv_softgpu_keep(struct nir_shader *const *shaders, int shader_count)
{
   return NULL;
}

static inline void
gpuval_radv_softgpu_add(struct radv_device *device, struct blob *nir,
                        const struct radv_shader_binary *binary,
                        const struct radv_shader_stage *stage)
{
}

static inline void
gpuval_radv_softgpu_add_prolog(const struct radv_shader_part_binary *binary,
                               const struct radv_vs_prolog_key *key)
{
}

static inline void
gpuval_radv_softgpu_add_rt_prolog(const struct radv_shader_binary *binary,
                                  const struct ac_shader_args *in, const struct ac_shader_args *out)
{
}

static inline void
gpuval_radv_softgpu_copy(const void *code, const void *relocated, size_t code_size,
                         const uint32_t entry_bases[static GPUVAL_SOFTGPU_STAGES])
{
}

#endif

#endif
