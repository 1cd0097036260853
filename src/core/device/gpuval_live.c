/* SPDX-License-Identifier: MIT */

/* The devices that there are, and the end of the process: what has failed by then and
 * is not yet said, and the last words.
 */

#include "gpuval_device.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/os_time.h"
#include "util/u_atomic.h"

static mtx_t visits; /* recursive: who visits devices */

static mtx_t mutex; /* all that follows; held for moments only */
static struct list_head devices;
static uint32_t current_visit;         /* of visits */
static struct gpuval_device *visiting; /* the device that is visited, */
static thrd_t visiting_thread;         /* by whom, */
static cnd_t visited;                  /* and has been */

static once_flag once = ONCE_FLAG_INIT;
static pid_t process;

static void init_process(void);

/* exit() may be called from anywhere, even where a device's mutex is held (a signal's
 * handler).
 */
static bool
lock_at_exit(struct gpuval_device *device)
{
   for (unsigned i = 0; i < 100; i++) {
      if (mtx_trylock(&device->mutex) == thrd_success)
         return true;
      os_time_sleep(1000);
   }
   return false;
}

static struct gpuval_device *
next_to_visit(void)
{
   visiting = NULL;
   visiting_thread = thrd_current();
   list_for_each_entry (struct gpuval_device, device, &devices, link) {
      if (device->visited != current_visit)
         visiting = device;
   }
   if (visiting)
      visiting->visited = current_visit;
   return visiting;
}

void
gpuval_live_visit(void (*visit)(struct gpuval_device *device))
{
   struct gpuval_device *device;

   call_once(&once, init_process);
   mtx_lock(&visits);
   mtx_lock(&mutex);
   current_visit++;
   while ((device = next_to_visit())) {
      mtx_unlock(&mutex);
      visit(device);
      mtx_lock(&mutex);
      cnd_broadcast(&visited);
   }
   mtx_unlock(&mutex);
   mtx_unlock(&visits);
}

/* Waits for work in flight. What does not come back may be in a loop: shaders then leave all loops,
 * and report those that they were in.
 */
static void
wait_for_work(struct gpuval_device *device)
{
   device->info.wait_for_work(device->info.data, true);
   if (gpuval_device_is_idle(device) || !gpuval_options()->safe ||
       !gpuval_options_may_check(GPUVAL_CHECK_LOOP))
      return;

   p_atomic_set(&device->root->end_loops, 1);
   device->info.wait_for_work(device->info.data, true);
}

static void
look_at_exit(struct gpuval_device *device)
{
   if (device->info.wait_for_work)
      wait_for_work(device);
   if (lock_at_exit(device)) {
      gpuval_device_drain(device, true);
      gpuval_device_drain_all_messages(device);
      gpuval_device_publish_coverage(device);
      gpuval_device_unlock(device);
   }
}

/* Devices that live on may still be at work. A child that was forked and made no device has
 * nothing to say: it is not there that the work was done.
 */
static void
at_exit(void)
{
   if (getpid() != process)
      return;

   gpuval_live_visit(look_at_exit);
   gpuval_report_finish();
}

/* The loader unloads drivers with the last instance; reports are the
 * process's and must outlive that.
 */
static void
stay_loaded(void)
{
   Dl_info info;
   if (dladdr((void *)(uintptr_t)at_exit, &info) && info.dli_fname)
      dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static void
init_devices(void)
{
   mtx_init(&visits, mtx_plain | mtx_recursive);
   mtx_init(&mutex, mtx_plain);
   cnd_init(&visited);
   list_inithead(&devices);
   visiting = NULL;
   process = getpid();
}

static void
init_process(void)
{
   init_devices();
   stay_loaded();
   atexit(at_exit);
}

/* The parent's devices are not the child's, and its threads, which may hold mutexes, are not
 * there.
 */
void
gpuval_live_begin(void)
{
   call_once(&once, init_process);
   if (getpid() == process)
      return;

   list_for_each_entry_safe (struct gpuval_device, device, &devices, link)
      device->link.next = NULL;
   init_devices();
   gpuval_report_begin_process();
}

/* More than anybody's compiler needs; each takes some memory. */
#define MAX_RENEWALS 16

void
gpuval_live_renew(void)
{
   static unsigned count;

   call_once(&once, init_process);
   if (p_atomic_inc_return(&count) <= MAX_RENEWALS)
      atexit(at_exit);
}

void
gpuval_live_add(struct gpuval_device *device)
{
   call_once(&once, init_process);
   mtx_lock(&mutex);
   list_addtail(&device->link, &devices);
   mtx_unlock(&mutex);
}

void
gpuval_device_retire(struct gpuval_device *device)
{
   if (!device->link.next)
      return;

   mtx_lock(&device->hang_mutex);
   device->is_retired = true;
   mtx_unlock(&device->hang_mutex);

   mtx_lock(&mutex);
   /* A messenger that is called meanwhile may destroy its device. */
   while (visiting == device && !thrd_equal(visiting_thread, thrd_current()))
      cnd_wait(&visited, &mutex);
   list_del(&device->link);
   device->link.next = NULL;
   mtx_unlock(&mutex);
}
