#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A program with a window: vkcube on an X server without a screen. Nothing is
# reported, and there is a cube to be seen. ROOT_WINDOW closes the window once it has
# seen the cube: a cube of so many frames could be gone before.
#
#    window.sh ROOT_WINDOW
#
# The driver is the one that the environment names. ROOT_WINDOW is `-` when Mesa
# was built without X11.

set -u

case $1 in
- | /*) root_window=$1 ;;
*) root_window=$PWD/$1 ;;
esac
wanted=100 # colors: the cube has a photograph on its sides

skip()
{
   echo "$*"
   exit 77
}

[ "$root_window" != - ] || skip 'the driver was built without X11'
command -v Xvfb >/dev/null || skip 'no Xvfb'
command -v vkcube >/dev/null || skip 'no vkcube'

server=
watcher=
private=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-window.XXXXXX") || exit 99
stop()
{
   for process in $watcher $server; do
      kill "$process" 2>/dev/null
   done
   wait
   rm -rf "$private"
}
trap stop EXIT
trap 'exit 99' INT TERM HUP
cd "$private" || exit 99

fail()
{
   echo "$*"
   for file in xvfb.out colors vkcube.out log; do
      [ ! -s "$file" ] || sed "s/^/   $file | /" "$file"
   done
   exit 1
}

# The server chooses a display that is free and says which, when it can be used.
start_server()
{
   Xvfb -displayfd 3 -screen 0 800x600x24 -nolisten tcp 3>display >xvfb.out 2>&1 &
   server=$!
   tries=300
   while [ ! -s display ]; do
      kill -0 "$server" 2>/dev/null || fail 'Xvfb does not start'
      tries=$((tries - 1))
      [ "$tries" -gt 0 ] || fail 'Xvfb names no display'
      sleep 0.1
   done
   DISPLAY=:$(cat display)
   export DISPLAY
}

wait_for_first_look()
{
   while [ ! -s colors ]; do
      kill -0 "$watcher" 2>/dev/null || fail 'the screen cannot be looked at'
      sleep 0.1
   done
}

start_server
unset WAYLAND_DISPLAY
"$root_window" "$wanted" 60 >colors 2>&1 &
watcher=$!
wait_for_first_look

GPUVAL=basic GPUVAL_LOG=$private/log GPUVAL_REPORT=$private/report.jsonl \
   timeout 100 vkcube >vkcube.out 2>&1
status=$?
[ "$status" -eq 0 ] || fail "vkcube exited with $status"
wait "$watcher"
seen=$?
watcher=

[ "$seen" -eq 0 ] || fail 'no cube on the screen'
[ "$(sed -n 's/ at the start$//p' colors)" -lt 10 ] || fail 'the screen was not empty before'
tail -n 1 log | grep -q '^gpuval: no errors: ' || fail "the log does not end with 'gpuval: no errors'"
[ "$(sed 's/,"commands":.*/}}/' report.jsonl)" = '{"summary":{"errors":0,"occurrences":0,"lost":0,"messages":0,"lost_messages":0,"shaders":2,"warnings":0}}' ] ||
   fail "the report is: $(cat report.jsonl)"
echo "$(tail -n 1 colors) on the screen, and no errors"
