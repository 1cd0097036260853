/* SPDX-License-Identifier: MIT */

/* GPUVAL_RECORD=manual: sessions, begun and ended by SIGUSR1 or labels of queues. */

#ifndef GPUVAL_SESSION_H
#define GPUVAL_SESSION_H

#ifdef __cplusplus
extern "C" {
#endif

/** Takes over SIGUSR1, if there are sessions; once a process. */
void gpuval_session_init(void);

/** A queue got the label @name, which may begin or end a session. Waits for work then. */
void gpuval_session_label(const char *name);

#ifdef __cplusplus
}
#endif

#endif
