#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs gpuval-queues, a thread a queue, on the software GPU in all of its modes: failures are
# counted, whichever queue they are of, and nothing else is found.
#
#    queues.sh PROGRAM SPIRV SOFTGPU QUEUES

set -u

program=$1 spirv=$2 softgpu=$3 queues=$4

log=$(mktemp "${TMPDIR:-/tmp}/gpuval-queues.XXXXXX") || exit 99
trap 'rm -f "$log"' EXIT
bad=0

wrong() # TEXT
{
   echo "wrong, mode '$mode', $checks, $engine: $1"
   cut -c 1-200 "$log" | tail -n 10
   bad=1
}

summary="gpuval: 1 error ($((queues * 30)) occurrences), 0 records lost"
for mode in '' busy views busy,views prompt; do
   for run in 'bounds bloom' 'bounds,sync bloom' 'bounds,sync shadow' 'bounds,race bloom'; do
      checks=${run% *}
      engine=${run#* }
      GPUVAL=$checks GPUVAL_LOG=$log GPUVAL_SYNC=$engine GPUVAL_BLOOM_SIZE_LOG2=16 \
         GPUVAL_SHADOW_SIZE=33554432 SOFTGPU_MODE=$mode \
         LD_PRELOAD=$softgpu timeout 60 "$program" "$queues" "$spirv"
      status=$?
      [ $status -eq 77 ] && exit 77
      [ $status -eq 0 ] || wrong "exit status $status"
      [ "$(tail -n 1 "$log")" = "$summary" ] || wrong "the last line is not: $summary"
      ! grep -q '^gpuval: warning' "$log" || wrong 'there are warnings'
      rm -f "$log"
   done
done
exit $bad
