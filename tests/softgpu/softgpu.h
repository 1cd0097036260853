/* SPDX-License-Identifier: MIT */

/*
 * A software GPU behind RADV, for tests on machines without an AMD GPU. A
 * library that is preloaded stands in for the kernel's driver (Mesa's drm-shim
 * does the same, and executes nothing):
 *
 *    softgpu_device.c      ioctls, submits
 *    softgpu_memory.c      buffers and addresses
 *    softgpu_syncobjs.c    syncobjs
 *    softgpu_commands.c    the packets of a submit
 *    softgpu_shader.c      finds the shader at a program address
 *    softgpu_graphics.c    those that draw
 *    softgpu_dispatch.c    dispatches
 *    softgpu_rays.c        dispatches of ray tracing: stages that call each other
 *    softgpu_bvh.c         rays, boxes and triangles
 *    softgpu_draw.c        draws: primitives and their vertices
 *    softgpu_tessellation.c what becomes of patches
 *    softgpu_geometry.c    shaded vertices and primitives
 *    softgpu_prolog.c      prologs, which fetch attributes
 *    softgpu_pixels.c      their pixels
 *    softgpu_depth.c       tests of depth and stencil
 *    softgpu_targets.c     what is written of pixels
 *    softgpu_execute.c     waves, control flow
 *    softgpu_intrinsics.c  NIR's intrinsics
 *    softgpu_access.c      those that access memory
 *    softgpu_inputs.c      those of vertices and fragments
 *    softgpu_subgroups.c   those between the lanes of a wave
 *    softgpu_texels.c      texel buffers
 *    softgpu_images.c      images
 *    softgpu_samplers.c    the same through samplers
 *    softgpu_surface.c     where texels of images are
 *    softgpu_views.c       what host and GPU see, where it is not the same
 *
 * What a program can get wrong is told, and the device is lost: an address
 * where nothing is mapped, a buffer that the submit does not list, a packet, an
 * intrinsic or an operation that is not known here.
 *
 * SOFTGPU_BROKEN names what does not work on memory that host and GPU share, as behind a bus
 * that cannot do it: `add32`, `add64`, `or32`, `or64`, `swap32` are atomics without an effect, with
 * `order` plain stores come at the end of a workgroup only. With `hang` no submit ends.
 *
 * SOFTGPU_MODE names what a GPU may do to annoy: with `busy` a fence is signaled when there is
 * another submit, or some milliseconds late, with `views` host and GPU do not see at once what
 * the other one writes (softgpu_views.c), and with `lost=N` the device is lost in submit N of
 * those that have work, and what is in the memory of our buffers with it. With `prompt` work is
 * done when its submit returns. With `patient` a shader that does not end goes on and on.
 *
 * With SOFTGPU_FAULTS=1 it has a kernel that tells at which page the GPU has faulted last: where
 * it has accessed what is not mapped.
 *
 * With SOFTGPU_BLIND=1 it leaves out draws whose stages it does not know, and blending, and
 * images are 0 that it does not know or whose memory is gone: enough for a program's reports, if
 * not for its results.
 *
 * One generation, GFX11; all stages but those of meshes. What is drawn has one sample in
 * a pixel, one viewport and no clipping. Not known are triangle strips with adjacency, attributes
 * that are not aligned and have a prolog, transform feedback, queries of what is drawn, blending,
 * and compressed images, for which RADV is told not to have any. A thread executes what was
 * submitted, under the lock that ioctls take as well.
 */

#ifndef SOFTGPU_H
#define SOFTGPU_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/compiler.h"
#include "util/macros.h"

/* --- softgpu_device.c ----------------------------------------------------- */

/* The first message after a submit has begun is the reason why the device is
 * lost; the rest of that submit is not executed.
 */
void softgpu_error(const char *format, ...) PRINTFLIKE(1, 2);
bool softgpu_failed(void);

/* What is not known of draws and images is to be left out. */
bool softgpu_is_blind(void);

/* What is not uniform is as the hardware has it, where ACO takes it from the first lane;
 * else it is an error.
 */
bool softgpu_takes_first_lane(void);

/* To be called often: lets in who waits. Afterwards, what was mapped may be mapped
 * no more.
 */
void softgpu_yield(void);
/* For a while. */
void softgpu_pause(void);

/* The GPU has accessed what is not mapped. */
void softgpu_note_fault(uint64_t va, bool is_write);

/* SOFTGPU_BROKEN, SOFTGPU_MODE */
bool softgpu_is_broken(const char *what);
bool softgpu_has_mode(const char *mode);

/* --- softgpu_memory.c ----------------------------------------------------- */

enum softgpu_access {
   SOFTGPU_READ,
   SOFTGPU_WRITE,
};

/* Returns where `size` bytes at an address of the GPU are, which lie in one
 * buffer, or NULL with an error.
 */
void *softgpu_map(uint64_t va, uint64_t size, enum softgpu_access access);

/* As softgpu_map(); `available` becomes how many bytes can be used from there,
 * at most `size`.
 */
void *softgpu_map_some(uint64_t va, uint64_t size, enum softgpu_access access, uint64_t *available);

/* Whether it is mapped; no error otherwise. */
const void *softgpu_find(uint64_t va, uint64_t size);

/* Memory that GPU and host share, and its caches do not have. */
bool softgpu_is_uncached(uint64_t va);

bool softgpu_read(uint64_t va, void *data, uint64_t size);
bool softgpu_write(uint64_t va, const void *data, uint64_t size);

/* --- softgpu_commands.c --------------------------------------------------- */

enum softgpu_queue {
   SOFTGPU_QUEUE_GRAPHICS,
   SOFTGPU_QUEUE_COMPUTE,
};

void softgpu_begin_submit(void);
void softgpu_execute(enum softgpu_queue queue, uint64_t va, uint32_t dwords);

/* --- softgpu_shader.c ----------------------------------------------------- */

struct softgpu_shader;

/* Returns NULL, with an error if it is needed, when there is none. */
const struct softgpu_shader *softgpu_find_shader(uint64_t va, bool needed);

/* --- softgpu_dispatch.c --------------------------------------------------- */

#define SOFTGPU_USER_SGPRS 16

/* What the command processor hands over. */
struct softgpu_dispatch {
   uint64_t program;
   uint32_t user_data[SOFTGPU_USER_SGPRS];
   unsigned user_sgprs;
   bool workgroup_id[3]; /* in SGPRs behind the user's */
   bool workgroup_info;

   unsigned wave_size;
   unsigned threads[3]; /* of a workgroup */
   unsigned start[3];   /* workgroups */
   unsigned end[3];
   unsigned partial[3];       /* of the last workgroup; 0: all of its threads */
   uint32_t scratch_per_wave; /* in bytes */
};

void softgpu_run(const struct softgpu_dispatch *dispatch);

/* --- softgpu_views.c ------------------------------------------------------ */

/* To be called often. */
void softgpu_meet_sometimes(void);

/* --- softgpu_access.c ----------------------------------------------------- */

/* SOFTGPU_BROKEN=order: what has been stored gets where it belongs. */
void softgpu_flush_stores(void);

#endif
