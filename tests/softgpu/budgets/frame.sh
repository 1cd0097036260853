#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What checks may cost a frame on a real card, counted on the software GPU beside the same frame
# without checks (softgpu_counters.h):
#
#    frame.sh RUNNER SOFTGPU SCENARIO CHECKS COUNTER MORE
#
# COUNTER must not be more than without checks by more than MORE.

set -u

runner=$1 softgpu=$2 scenario=$3 checks=$4 counter=$5 more=$6
folder=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-frame.XXXXXX") || exit 99
trap 'rm -rf "$folder"' EXIT

count() # CHECKS
{
   env GPUVAL="$1" GPUVAL_SELF_TEST=0 GPUVAL_LOG="$folder/log" MESA_SHADER_CACHE_DISABLE=true \
      SOFTGPU_COUNTERS="$folder/counters" LD_PRELOAD="$softgpu" \
      "$runner" --child-only --kind monolithic "$scenario" >"$folder/output" 2>&1 || {
      echo "exit status $? with GPUVAL=$1"
      cut -c 1-200 "$folder/output"
      exit 1
   }
   awk -v name="$counter" '$1 == name { print $2 }' "$folder/counters"
}

plain=$(count '') || { echo "$plain"; exit 1; }
checked=$(count "$checks") || { echo "$checked"; exit 1; }
echo "$counter: $plain without checks, $checked with $checks, $more more are allowed"
# Nothing is wrong with the frame, and it was looked at.
grep -q '^gpuval: no errors: [12] shaders*, [1-9]' "$folder/log" || {
   cat "$folder/log"
   exit 1
}
[ -n "$plain" ] && [ -n "$checked" ] && [ $((checked - plain)) -le "$more" ]
