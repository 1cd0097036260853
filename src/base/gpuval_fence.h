/* SPDX-License-Identifier: MIT */

#ifndef GPUVAL_FENCE_H
#define GPUVAL_FENCE_H

/* Memory of a graphics card is behind a bus. There, the host reads a cache line at a time, and in
 * any order, and what it writes waits until somebody asks for it.
 */
static inline void
gpuval_fence_video_memory(void)
{
#if defined(__x86_64__) || defined(__i386__)
   __builtin_ia32_mfence(); /* a locked instruction does not order streaming loads */
#endif
   __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
