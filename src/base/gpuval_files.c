/* SPDX-License-Identifier: MIT */

#include "gpuval_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "util/u_debug.h"

bool
gpuval_files_are_forbidden(void)
{
   return !__normal_user() || getauxval(AT_SECURE);
}

static bool
is_trusted_link(const char *name)
{
   struct stat status;

   return !lstat(name, &status) && (status.st_uid == geteuid() || !status.st_uid);
}

FILE *
gpuval_files_open(const char *name, bool append)
{
   int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC);
   int fd = open(name, flags | O_NOFOLLOW, 0666);

   /* Who owns a trusted link is the only one who can put another one there. */
   if (fd < 0 && errno == ELOOP) {
      if (is_trusted_link(name))
         fd = open(name, flags, 0666);
      else
         errno = EPERM;
   }
   if (fd < 0)
      return NULL;

   FILE *f = fdopen(fd, append ? "a" : "w");
   if (!f)
      close(fd);
   return f;
}
