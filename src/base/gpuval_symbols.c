/* SPDX-License-Identifier: MIT */

/* Functions and lines of the application's calls.
 *
 * addr2line knows all formats of debug information, compressed and separate ones too, and what was
 * inlined. It is a process of its own, which runs when a report needs a stack that none has needed
 * before: once for each module that has calls in it.
 */

#include "gpuval_backtrace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include "util/macros.h"
#include "util/os_time.h"
#include "gpuval_log.h"

#define MAX_CALLS   64
#define MAX_INLINED 16
#define TIMEOUT_MS  20000
#define MAX_ANSWER  (1 << 20)

/* The signals and the environment of the application are not the child's: what it preloads would
 * come into it.
 */
static int
spawn(const char *const *args, int out, pid_t *child)
{
   posix_spawn_file_actions_t files;
   posix_spawnattr_t attributes;
   sigset_t none, pipe;
   char *const environment[] = {"LC_ALL=C", NULL};

   posix_spawn_file_actions_init(&files);
   posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
   posix_spawn_file_actions_adddup2(&files, out, 1);
   posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
   posix_spawnattr_init(&attributes);
   sigemptyset(&none);
   sigemptyset(&pipe);
   sigaddset(&pipe, SIGPIPE);
   posix_spawnattr_setsigmask(&attributes, &none);
   posix_spawnattr_setsigdefault(&attributes, &pipe);
   posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

   int error = posix_spawnp(child, args[0], &files, &attributes, (char *const *)args, environment);
   posix_spawnattr_destroy(&attributes);
   posix_spawn_file_actions_destroy(&files);
   return error;
}

/* Reads all that comes, up to a size and a time that no answer needs. */
static char *
read_answer(int in, bool *is_late)
{
   int64_t end = os_time_get_nano() / 1000000 + TIMEOUT_MS;
   char *text = malloc(MAX_ANSWER + 1);
   size_t size = 0;

   *is_late = false;
   while (text && size < MAX_ANSWER && !*is_late) {
      int64_t left = end - os_time_get_nano() / 1000000;
      struct pollfd ready = {.fd = in, .events = POLLIN};
      int count = left > 0 ? poll(&ready, 1, left) : 0;
      if (count < 0 && errno == EINTR)
         continue;
      *is_late = !count;
      ssize_t length = count > 0 ? read(in, text + size, MAX_ANSWER - size) : 0;
      if (length < 0 && errno == EINTR)
         continue;
      if (length <= 0)
         break;
      size += length;
   }
   if (text)
      text[size] = '\0';
   return text;
}

/* NULL: there is no answer. */
static char *
ask(const char *const *args)
{
   static bool is_missing;
   pid_t child;
   int ends[2];

   if (is_missing || pipe2(ends, O_CLOEXEC))
      return NULL;
   int error = spawn(args, ends[1], &child);
   close(ends[1]);
   if (error) {
      close(ends[0]);
      is_missing = true;
      gpuval_log_note("GPUVAL_BACKTRACE: %s (of binutils): %s; calls are reported without lines of "
                      "source",
                      args[0], strerror(error));
      return NULL;
   }

   bool is_late;
   char *answer = read_answer(ends[0], &is_late);
   close(ends[0]);
   if (is_late)
      kill(child, SIGKILL);
   while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
      ;
   return answer;
}

/* Cuts the next line off; NULL: there is none. */
static char *
next_line(char **text)
{
   char *line = *text, *end = line ? strchr(line, '\n') : NULL;

   if (!end)
      return NULL;
   *end = '\0';
   *text = end + 1;
   return line;
}

/* FILE:LINE, with what addr2line may say behind the number; ??:0 and FILE:? are not known. */
static void
read_place(char *place, struct gpuval_frame *frame)
{
   char *colon = strrchr(place, ':');
   unsigned long line = colon ? strtoul(colon + 1, NULL, 10) : 0;

   if (!line || line > UINT32_MAX)
      return;
   *colon = '\0';
   frame->file = strdup(place);
   frame->line = frame->file ? line : 0;
}

static void
set_frames(struct gpuval_call *call, const struct gpuval_frame *frames, unsigned count)
{
   call->frames = calloc(MAX2(count, 1), sizeof(*frames));
   call->num_frames = call->frames ? MAX2(count, 1) : 0;
   for (unsigned i = 0; i < call->num_frames; i++) {
      struct gpuval_frame *frame = &call->frames[i];
      if (count)
         *frame = frames[i];
      frame->module = call->module;
      if (!frame->function && i == call->num_frames - 1)
         frame->function = call->symbol;
      frame->offset = frame->line ? 0 : call->offset;
   }
}

/* Two lines a function, those that it was inlined into behind it, until the next address */
static void
read_frames(struct gpuval_call *call, char **answer)
{
   struct gpuval_frame frames[MAX_INLINED] = {0};
   unsigned count = 0;

   while (*answer && strncmp(*answer, "0x", 2)) {
      char *function = next_line(answer);
      char *place = function ? next_line(answer) : NULL;
      if (!place)
         break;
      if (count == MAX_INLINED)
         continue;
      if (strcmp(function, "??"))
         frames[count].function = strdup(function);
      read_place(place, &frames[count++]);
   }
   set_frames(call, frames, count);
}

/* Those of one module */
static void
find_in_module(struct gpuval_call *const *calls, unsigned count)
{
   const char *args[6 + MAX_CALLS + 1] = {"addr2line", "-afiC", "-e", calls[0]->module, "--"};
   char addresses[MAX_CALLS][24];

   for (unsigned i = 0; i < count; i++) {
      snprintf(addresses[i], sizeof(addresses[i]), "0x%" PRIx64, calls[i]->offset);
      args[5 + i] = addresses[i];
   }

   char *answer = ask(args), *at = answer;
   for (unsigned i = 0; i < count; i++) {
      if (at && next_line(&at))
         read_frames(calls[i], &at);
      else
         set_frames(calls[i], NULL, 0);
   }
   free(answer);
}

void
gpuval_symbols_find(struct gpuval_call *const *calls, unsigned count)
{
   for (unsigned i = 0; i < count; i++) {
      struct gpuval_call *of_module[MAX_CALLS];
      unsigned num = 0;

      for (unsigned j = i; j < count && num < MAX_CALLS; j++) {
         if (!calls[j]->frames && !strcmp(calls[j]->module, calls[i]->module))
            of_module[num++] = calls[j];
      }
      if (num)
         find_in_module(of_module, num);
   }
}
