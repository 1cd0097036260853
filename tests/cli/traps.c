/* SPDX-License-Identifier: MIT */

/* gpuval-traps FILE PROGRAM [ARGS]: a debugger, in so far as GPUVAL_ON_ERROR=break can
 * tell. For each SIGTRAP of a thread of PROGRAM it prints whether FILE is there, and goes
 * on. Exits with PROGRAM's status.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

int
main(int argc, char **argv)
{
   if (argc < 3)
      return 99;

   pid_t child = fork();
   if (child < 0)
      return 99;
   if (!child) {
      if (ptrace(PTRACE_TRACEME, 0, 0, 0)) {
         perror("ptrace");
         _exit(77);
      }
      execvp(argv[2], argv + 2);
      _exit(99);
   }

   /* The first stop is exec(). */
   int status;
   if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
      return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
   ptrace(PTRACE_SETOPTIONS, child, 0,
          PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |
             PTRACE_O_EXITKILL);
   ptrace(PTRACE_CONT, child, 0, 0);

   for (;;) {
      pid_t thread = waitpid(-1, &status, __WALL);
      if (thread < 0)
         return errno == ECHILD ? 99 : 98;
      if (thread == child && WIFEXITED(status))
         return WEXITSTATUS(status);
      if (thread == child && WIFSIGNALED(status))
         return 128 + WTERMSIG(status);
      if (!WIFSTOPPED(status))
         continue;

      int signal = WSTOPSIG(status);
      if (status >> 16 || signal == SIGSTOP) { /* a new thread or process */
         signal = 0;
      } else if (signal == SIGTRAP) {
         printf("trap: %s\n", access(argv[1], F_OK) ? "no report" : "report");
         fflush(stdout);
         signal = 0;
      }
      ptrace(PTRACE_CONT, thread, 0, signal);
   }
}
