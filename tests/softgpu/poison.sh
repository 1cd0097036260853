#!/bin/sh
# SPDX-License-Identifier: MIT
#
# GPUVAL_POISON on a GPU without a resizable BAR: what the host does not see is left alone, and the
# log says so, once, and in the end how much it was.
#
#    poison.sh RUNNER SOFTGPU SCENARIO

set -u

log=$(mktemp "${TMPDIR:-/tmp}/gpuval-poison.XXXXXX") || exit 99
trap 'rm -f "$log"' EXIT
bad=0

run() # VISIBLE-MIB POISON
{
   GPUVAL=bounds GPUVAL_POISON=$2 GPUVAL_LOG=$log SOFTGPU_VISIBLE_MIB=$1 LD_PRELOAD=$softgpu \
      "$runner" --child-only --kind monolithic "$scenario" >/dev/null 2>&1 || {
      echo "$1 MiB: exit status $?"
      bad=1
   }
}

counted() # NUMBER PATTERN
{
   count=$(grep -c "$2" "$log")
   [ "$count" -eq "$1" ] && return
   echo "$count lines instead of $1 match: $2"
   cut -c 1-200 "$log"
   bad=1
}

runner=$1 softgpu=$2 scenario=$3

run 0 1 # all of it
counted 0 POISON

run 256 1
counted 1 'gpuval: warning: GPUVAL_POISON=1: memory that the host does not see is not filled'
counted 1 'gpuval: note: GPUVAL_POISON=1: [1-9][0-9]* KiB of memory were not filled'

run 256 0
counted 0 POISON
exit $bad
