/* SPDX-License-Identifier: MIT */

#include "gpuval_session.h"

#include <semaphore.h>
#include <signal.h>
#include <string.h>

#include "base/gpuval_options.h"
#include "core/device/gpuval_device.h"
#include "util/u_thread.h"

/* What has been submitted before belongs to what was before. */
static void
finish_work(struct gpuval_device *device)
{
   if (device->info.wait_for_work)
      device->info.wait_for_work(device->info.data, false);
   mtx_lock(&device->mutex);
   gpuval_device_drain(device, gpuval_device_is_idle(device));
   gpuval_device_drain_all_messages(device);
   gpuval_device_unlock(device);
}

static void
change_session(enum gpuval_session_action action, const char *by)
{
   gpuval_live_visit(finish_work);
   gpuval_report_session(action, by);
}

void
gpuval_session_label(const char *name)
{
   if (!strcmp(name, "gpuval:begin"))
      change_session(GPUVAL_SESSION_BEGIN, "gpuval:begin");
   else if (!strcmp(name, "gpuval:end"))
      change_session(GPUVAL_SESSION_END, "gpuval:end");
}

/* A handler can do next to nothing, so a thread does it. */

static sem_t signals;
static struct sigaction previous;

static void
handle_signal(int number, siginfo_t *info, void *context)
{
   sem_post(&signals);
   if (previous.sa_flags & SA_SIGINFO)
      previous.sa_sigaction(number, info, context);
   else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN)
      previous.sa_handler(number);
}

static int
wait_for_signals(void *data)
{
   u_thread_setname("gpuval-session");
   for (;;) {
      if (!sem_wait(&signals))
         change_session(GPUVAL_SESSION_TOGGLE, "SIGUSR1");
   }
   return 0;
}

/* The application's signals are not for a thread of ours. */
static bool
create_thread(void)
{
   sigset_t all, before;
   thrd_t thread;

   sigfillset(&all);
   pthread_sigmask(SIG_SETMASK, &all, &before);
   bool created = thrd_create(&thread, wait_for_signals, NULL) == thrd_success;
   pthread_sigmask(SIG_SETMASK, &before, NULL);
   if (created)
      thrd_detach(thread);
   return created;
}

void
gpuval_session_init(void)
{
   const struct sigaction action = {
      .sa_sigaction = handle_signal,
      .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK,
   };

   if (gpuval_options()->record != GPUVAL_RECORD_MANUAL || !gpuval_options()->checks)
      return;
   if (!sem_init(&signals, 0, 0) && create_thread() && !sigaction(SIGUSR1, NULL, &previous))
      sigaction(SIGUSR1, &action, NULL);
}
