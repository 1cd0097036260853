#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A failure or a message is in the log while its shader still runs, so that a
# hang cannot take it: the program never gets to end by itself.
#
# usage: hang.sh SCENARIO-RUNNER SCENARIO CHECKS LINE

set -u

folder=$(mktemp -d) || exit 1
log=$folder/log
GPUVAL=$3 GPUVAL_LOG=$log setsid "$1" --child-only "$2" >"$folder/output" 2>&1 &
program=$!

# The runner's own child hangs, too: the whole group goes.
end()
{
   kill -9 "-$program" 2>/dev/null
   rm -rf "$folder"
}
trap end EXIT

# Half a minute is for a busy machine; it takes as long as compiling does.
tries=0
until grep -q "^$4" "$log" 2>/dev/null; do
   tries=$((tries + 1))
   if [ "$tries" -gt 300 ]; then
      echo "no report within 30 seconds; the log:"
      cat "$log" "$folder/output"
      exit 1
   fi
   sleep 0.1
done

if ! kill -0 "$program" 2>/dev/null; then
   echo "the program has ended, so this shows nothing"
   exit 1
fi
