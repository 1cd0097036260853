/* SPDX-License-Identifier: MIT */

/* GPUVAL_ON_ERROR: what a failure does beside its report. Not when it is seen, but when
 * its report is complete: counts are known when the work that it is in has ended.
 */

#include "core/device/gpuval_device.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpuval_log.h"
#include "base/gpuval_options.h"
#include "util/os_time.h"
#include "util/u_atomic.h"
#include "vk_device.h"

/* A device that always has work still gets its reaction, with the counts so far. */
#define LATEST_NS 1000000000ll

bool
gpuval_device_take_reaction(struct gpuval_device *device)
{
   if (gpuval_options()->on_error == GPUVAL_ON_ERROR_CONTINUE)
      return false;

   if (device->notices.reported && !device->reaction_at)
      device->reaction_at = os_time_get_nano() + LATEST_NS;
   device->notices.reported = false;
   if (!device->reaction_at ||
       (!gpuval_device_is_idle(device) && os_time_get_nano() < device->reaction_at))
      return false;
   device->reaction_at = 0;
   return true;
}

static bool
has_debugger(void)
{
   char line[128];
   int tracer = 0;

   FILE *f = fopen("/proc/self/status", "re");
   while (f && fgets(line, sizeof(line), f)) {
      if (!strncmp(line, "TracerPid:", 10))
         tracer = atoi(line + 10);
   }
   if (f)
      fclose(f);
   return tracer != 0;
}

static void
stop_in_debugger(void)
{
   static uint32_t warned;

   if (has_debugger())
      raise(SIGTRAP);
   else if (!p_atomic_xchg(&warned, 1))
      gpuval_log_warning("GPUVAL_ON_ERROR=break: no debugger is attached, the program goes on");
}

void
gpuval_device_react(struct gpuval_device *device)
{
   switch (gpuval_options()->on_error) {
   case GPUVAL_ON_ERROR_CONTINUE:
      break;
   case GPUVAL_ON_ERROR_BREAK:
      gpuval_report_write_files();
      stop_in_debugger();
      break;
   case GPUVAL_ON_ERROR_ABORT:
      mtx_lock(&device->mutex);
      gpuval_device_publish_coverage(device);
      mtx_unlock(&device->mutex);
      gpuval_report_finish();
      abort();
   case GPUVAL_ON_ERROR_DEVICE_LOST:
      gpuval_report_write_files();
      p_atomic_set(&device->is_lost_on_purpose, true);
      if (device->info.vk)
         vk_device_set_lost(device->info.vk, "gpuval: GPUVAL_ON_ERROR=device-lost");
      break;
   }
}
