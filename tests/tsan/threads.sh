#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs gpuval-threads with several sets of checks: what it does wrong is counted, and nothing else
# is found, by ThreadSanitizer neither, where the program is built for that.
#
#    threads.sh PROGRAM FOLDER QUEUES OCCURRENCES

set -u

program=$1 folder=$2 queues=$3 occurrences=$4

log=$(mktemp "${TMPDIR:-/tmp}/gpuval-threads.XXXXXX") || exit 99
output=$log.output
trap 'rm -f "$log" "$output"' EXIT
bad=0

wrong() # TEXT
{
   echo "wrong, $checks, $engine: $1"
   cut -c 1-200 "$log" | tail -n 10
   head -n 300 "$output"
   bad=1
}

summary="gpuval: 1 error ($occurrences occurrences), 0 records lost"
for run in 'bounds,race,init shadow' 'basic,race bloom' 'all,-address shadow' 'all bloom'; do
   checks=${run% *}
   engine=${run#* }
   GPUVAL=$checks GPUVAL_LOG=$log GPUVAL_SYNC=$engine GPUVAL_BLOOM_SIZE_LOG2=16 \
      GPUVAL_SHADOW_SIZE=33554432 \
      timeout 250 env LD_PRELOAD="${GPUVAL_TEST_PRELOAD-}" "$program" "$queues" "$folder" \
      >"$output" 2>&1
   status=$?
   if [ $status -eq 77 ]; then
      cat "$output"
      exit 77
   fi
   [ $status -eq 0 ] || wrong "exit status $status"
   [ "$(tail -n 1 "$log")" = "$summary" ] || wrong "the last line is not: $summary"
   ! grep -q '^gpuval: warning' "$log" || wrong 'there are warnings'
   rm -f "$log"
done
exit $bad
