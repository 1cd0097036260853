/* SPDX-License-Identifier: MIT */

#include "gpuval_beside.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "util/os_time.h"
#include "util/ralloc.h"

FILE *
gpuval_open_beside(const char *name, char **beside)
{
   int fd = -1;

   *beside = NULL;
   for (unsigned i = 0; i < 100 && fd < 0; i++) {
      ralloc_free(*beside);
      *beside =
         ralloc_asprintf(NULL, "%s.%d-%08x.new", name, (int)getpid(), (uint32_t)os_time_get_nano());
      fd = open(*beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd < 0 && errno != EEXIST)
         break;
   }

   FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
   if (!f) {
      int error = errno;
      if (fd >= 0) {
         close(fd);
         unlink(*beside);
      }
      ralloc_free(*beside);
      *beside = NULL;
      errno = error;
   }
   return f;
}

bool
gpuval_close_beside(FILE *f, const char *name, char *beside)
{
   bool written = !ferror(f);

   written &= !fclose(f);
   written = written && !rename(beside, name);
   int error = errno;
   if (!written)
      unlink(beside);
   ralloc_free(beside);
   errno = error;
   return written;
}
