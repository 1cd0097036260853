/* SPDX-License-Identifier: MIT */

/*
 * What the kernel's driver keeps: memory, addresses, syncobjs, jobs. Private to
 * softgpu_device.c, softgpu_memory.c and softgpu_syncobjs.c. All of it is under
 * `lock`, which an ioctl takes and the thread that executes jobs.
 */

#ifndef SOFTGPU_DEVICE_H
#define SOFTGPU_DEVICE_H

#include "softgpu.h"

#include "c11/threads.h"
#include "drm-shim/drm_shim.h"
#include "drm-uapi/drm.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/list.h"

/* Allocated in the place of Mesa's struct: what it does not have follows. */
struct softgpu_buffer {
   struct shim_bo base;
   uint64_t size; /* the other one has 32 bits */
   uint64_t flags;
   bool slow;       /* for the host to read: it is not cached */
   uint64_t listed; /* the last job that lists it */
   char *view;      /* softgpu_views.c: as the GPU sees it, or NULL, */
   char *met;       /* and as both did when they met last */
};

/* Sorted by start, without overlaps. */
struct softgpu_mapping {
   uint64_t start;
   uint64_t end;
   struct softgpu_buffer *buffer; /* NULL: sparse, and nothing is bound */
   uint64_t offset;
   bool writeable;
   bool uncached;
};

/* A submit until it is done. Changes of addresses are jobs, too: as in the kernel,
 * work that was submitted before does not see them.
 */
struct softgpu_job {
   struct list_head link;
   uint64_t number;
   struct util_dynarray buffers;  /* struct shim_bo *: what it may access, referenced */
   struct util_dynarray commands; /* struct drm_amdgpu_cs_chunk_ib */
   struct softgpu_change {
      uint32_t operation;              /* AMDGPU_VA_OP_*; 0: none */
      struct softgpu_mapping mapping;  /* of addresses to its buffer */
      struct softgpu_buffer *unmapped; /* instead: from all its addresses; referenced */
   } change;
};

/* The fence of a submit. Jobs are done in the order of their numbers; 0: it is
 * signaled already.
 */
struct softgpu_point {
   uint64_t value; /* 0: a binary one */
   uint64_t job;
};

struct softgpu_syncobj {
   bool exists;
   const struct shim_fd *owner;
   struct util_dynarray points; /* by value; none: nobody has submitted yet */
};

struct softgpu {
   mtx_t lock;
   int waiting; /* threads that would like to have it */
   cnd_t work;  /* there is a job */
   cnd_t done;  /* a job is done, or a fence is there */
   thrd_t worker;
   bool has_worker;
   struct list_head jobs; /* of struct softgpu_job */
   uint64_t submitted;    /* number of the last job */
   uint64_t completed;
   uint64_t current; /* job that is executed */

   char *memory; /* all of it */
   struct util_dynarray mappings;
   struct util_dynarray syncobjs; /* by handle; 0 is never used */
   bool failed;                   /* in this job */
   bool lost;
   bool lost_as_asked;
   bool leaked;
   uint64_t fault_address; /* of softgpu_note_fault(): the page */
   uint32_t fault_status;  /* 0: there was none */
};

extern struct softgpu softgpu;

/* --- softgpu_memory.c ----------------------------------------------------- */

void softgpu_apply_change(const struct softgpu_change *change);
void softgpu_remove_mappings_of(const struct softgpu_buffer *buffer);
int softgpu_gem_create(int fd, unsigned long request, void *argument);
int softgpu_gem_mmap(int fd, unsigned long request, void *argument);
/* Whether the mapping that this thread has asked for is slow for the host to read */
bool softgpu_next_is_slow(void);
int softgpu_gem_va(int fd, unsigned long request, void *argument);
int softgpu_gem_close(int fd, void *argument);

/* --- softgpu_views.c ------------------------------------------------------ */

/* Where the GPU sees the buffer. */
char *softgpu_gpu_view(const struct softgpu_mapping *mapping);
/* All that one of both has written gets to the other. */
void softgpu_meet(void);
/* The device is lost, and memory with it. */
void softgpu_scramble(void);

/* --- softgpu_syncobjs.c --------------------------------------------------- */

bool softgpu_is_done(uint64_t job);
/* NULL: there is none */
struct softgpu_syncobj *softgpu_find_syncobj(uint32_t handle);
/* The fence at a point, or at a later one; value 0: the last fence. NULL: there
 * is none yet.
 */
const struct softgpu_point *softgpu_find_point(const struct softgpu_syncobj *syncobj,
                                               uint64_t value);
int softgpu_set_fence(uint32_t handle, uint64_t value, uint64_t job);
int softgpu_create_syncobj(int fd, struct drm_syncobj_create *create);
int softgpu_destroy_syncobj(const struct drm_syncobj_destroy *destroy);
int softgpu_transfer_syncobj(const struct drm_syncobj_transfer *transfer);
int softgpu_change_syncobjs(const uint32_t *handles, const uint64_t *points, uint32_t count,
                            bool reset);
int softgpu_query_syncobjs(const struct drm_syncobj_timeline_array *query);
/* Until something is done, or -ETIME; may come back early. */
int softgpu_wait_for_change(int64_t deadline);
/* Waits on behalf of the host. */
int softgpu_wait_syncobjs(const uint32_t *handles, const uint64_t *points, uint32_t count,
                          uint32_t flags, int64_t deadline, uint32_t *first);

#endif
