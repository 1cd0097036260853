#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What checks may cost a frame on a real card, counted on the software GPU beside the same frame
# without checks (softgpu_counters.h):
#
#    frame.sh RUNNER SOFTGPU SCENARIO CHECKS COUNTER MORE [COUNTER MORE]...
#
# COUNTER must not be more than without checks by more than MORE.

set -u

runner=$1 softgpu=$2 scenario=$3 checks=$4
shift 4
folder=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-frame.XXXXXX") || exit 99
trap 'rm -rf "$folder"' EXIT
bad=0

# What memset() and memcpy() do byte by byte otherwise, each of which is a step: softgpu_counters.c
GLIBC_TUNABLES=glibc.cpu.x86_rep_stosb_threshold=1073741824:glibc.cpu.x86_rep_movsb_threshold=1073741824
export GLIBC_TUNABLES

run() # CHECKS COUNTERS
{
   env GPUVAL="$1" GPUVAL_SELF_TEST=0 GPUVAL_LOG="$folder/log" MESA_SHADER_CACHE_DISABLE=true \
      SOFTGPU_COUNTERS="$folder/$2" LD_PRELOAD="$softgpu" \
      "$runner" --child-only --kind monolithic "$scenario" >"$folder/output" 2>&1 || {
      echo "exit status $? with GPUVAL=$1"
      cut -c 1-200 "$folder/output"
      exit 1
   }
}

count() # COUNTER COUNTERS
{
   awk -v name="$1" '$1 == name { print $2 }' "$folder/$2"
}

run '' plain
run "$checks" checked
# Nothing is wrong with the frame, and it was looked at.
grep -q '^gpuval: no errors: [12] shaders*, [1-9]' "$folder/log" || {
   cat "$folder/log"
   exit 1
}

while [ $# -ge 2 ]; do
   plain=$(count "$1" plain)
   checked=$(count "$1" checked)
   echo "$1: $plain without checks, $checked with $checks, $2 more are allowed"
   [ -n "$plain" ] && [ -n "$checked" ] && [ $((checked - plain)) -le "$2" ] || bad=1
   shift 2
done
exit $bad
