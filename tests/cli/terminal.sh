#!/bin/sh
# SPDX-License-Identifier: MIT
#
# GPUVAL_PROGRESS: the line that a user sees whose stderr is a terminal.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# What script(1) needs, too: some containers have no /dev/pts.
if ! command -v script >/dev/null; then
   echo 'there is no script(1), which makes pseudo-terminals'
   exit 77
fi
if ! script -q -e -c true /dev/null >/dev/null 2>&1 </dev/null; then
   echo 'no pseudo-terminal can be opened here'
   exit 77
fi

# What a program with an error leaves on a terminal, where stderr goes. It goes on when
# the screen has what is expected.
on_terminal() # TEXT NAME=VALUE ...
{
   expected=$1
   shift
   for setting in "$@"; do
      printf 'export %s\n' "$setting"
   done >settings
   printf '. ./settings\nexec "%s" --child-only "%s"\n' "$runner" \
      "$tests/session_signals.scn" >program
   script -q -e -f -c 'sh ./program' /dev/null >screen </dev/null &
   program=$!
   tries=300
   until { grep -q -F -e "$expected" screen && [ -e first.awaited ]; } || [ "$tries" -eq 0 ]; do
      tries=$((tries - 1))
      sleep 0.1
   done
   [ "$tries" -gt 0 ] || wrong "the screen does not have '$expected'"
   touch first second
   wait "$program" || wrong "exited with $?"
}

clear_line="$(printf '\033')[[]K"
status_line="$(printf '\r')gpuval: [0-9]:[0-9]{2}, (0 shaders|1 shader), (0 errors|1 error) [(](1 occurrence|[0-9] occurrences)[)], 0 lost$clear_line"
found=' 1 shader, 1 error (2 occurrences), 0 lost'
summary_line='gpuval: 1 error (6 occurrences), 0 records lost'

begin 'progress on a terminal, log in a file'
on_terminal "$found" GPUVAL=bounds GPUVAL_PROGRESS=1 GPUVAL_LOG=log
last_line log "$summary_line"
lines screen "^($status_line)+$(printf '\r')$clear_line\$" 1
lines screen '' 1

begin 'progress and log on a terminal'
on_terminal "$found" GPUVAL=bounds GPUVAL_PROGRESS=1 NO_COLOR=1
sed "s/^.*$(printf '\033')\[K//" screen | tr -d '\r' >plain
lines plain '^gpuval: error: bounds/buffer-oob: ' 1
lines plain '^gpuval: 6 times: ' 1
last_line plain "$summary_line"

begin 'colors'
for wish in TERM=xterm 'NO_COLOR=1 TERM=xterm' TERM=dumb TERM=; do
   rm -f first* second*
   # shellcheck disable=SC2086 # words
   on_terminal 'bounds/buffer-oob' GPUVAL=bounds $wish
   escape=$(printf '\033')
   if [ "$wish" = TERM=xterm ]; then
      lines screen "^gpuval: $escape\\[1;31merror: $escape\\[0m$escape\\[1mbounds/buffer-oob$escape\\[0m: " 1
      lines screen "^gpuval: $escape\\[1;31m1 error$escape\\[0m " 1
   else
      lines screen "$escape" 0
      lines screen '^gpuval: error: bounds/buffer-oob: ' 1
   fi
done

begin 'no progress that nobody wants'
on_terminal here 'GPUVAL=bounds GPUVAL_LOG=log; echo here'
[ "$(tr -d '\r' <screen)" = here ] || wrong "the screen has: $(cat screen)"

finish
