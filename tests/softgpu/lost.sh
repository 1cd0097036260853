#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The device is lost while a program runs, and what was in its memory with it: what has been
# found is in the log, and nothing is reported of what is in the memory then.
#
#    lost.sh RUNNER SOFTGPU SCENARIO OTHER...
#
# SCENARIO is lost.scn. Of other scenarios nothing is reported but what they say they have.

set -u

runner=$1 softgpu=$2 scenario=$3
shift 3
private=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-lost.XXXXXX") || exit 99
trap 'rm -rf "$private"' EXIT

fail()
{
   echo "$scenario, lost in submit $submit: $*"
   tail -n 20 "$private/out"
   exit 1
}

run() # CHECKS
{
   env LD_PRELOAD="$softgpu" GPUVAL="$1" SOFTGPU_MODE="lost=$submit" \
      timeout 120 "$runner" --kind monolithic --child-only "$scenario" >"$private/out" 2>&1
   status=$?
   last=$(grep '^gpuval: ' "$private/out" | tail -n 1)
}

# 1 is the self-test; the program does three, and dies of the next one.
for submit in 1 2 3 4; do
   run bounds
   grep -q '^softgpu: the device is lost$' "$private/out" || fail "it is not lost"
   # The loss, and as many failures as were counted, or once for what has a record; none if it was lost too early.
   case $submit-$last in
   1-*) grep -q '^gpuval: warning: self-test' "$private/out" || fail "$last" ;;
   [23]-'gpuval: 1 error (1 occurrence), 0 records lost') ;;
   [23]-'gpuval: 2 errors (2 occurrences), 0 records lost') ;;
   [34]-'gpuval: 2 errors (5 occurrences), 0 records lost') ;;
   4-'gpuval: 2 errors (9 occurrences), 0 records lost') ;;
   *) fail "$last" ;;
   esac
   [ "$submit" = 1 ] || grep -q '^gpuval: error: hang/device-lost: the device is lost$' "$private/out" ||
      fail "it does not say so"
   echo "lost in submit $submit: $last"
done

for scenario; do
   {
      grep -o 'EXPECT [a-z-]*/[a-z-]*' "$scenario" | sed 's/EXPECT \(.*\)/^\1$/'
      echo '^hang/device-lost$'
      sed -n 's/^allow \([^#]*\).*/\1/p' "$scenario" | tr -s ' ' '\n' | sed -n 's,^[a-z-]*$,^&/,p'
   } | sort -u | grep -v '^^/$' >"$private/kinds"
   losses=0
   for submit in 2 3 4; do
      run all
      ! grep -q '^softgpu: the device is lost$' "$private/out" || losses=$((losses + 1))
      [ "$status" -lt 124 ] || fail "it ends with $status"
      case $last in
      'gpuval: '*errors* | 'gpuval: 1 error '*) ;;
      *) fail "the last line is '$last'" ;;
      esac
      sed -n 's,^gpuval: error: \([a-z-]*/[a-z-]*\): .*,\1,p' "$private/out" | sort -u |
         grep -v -f "$private/kinds" >"$private/others" &&
         fail "it reports $(cat "$private/others")"
   done
   [ "$losses" -gt 0 ] || fail "it is never lost"
   echo "$(basename "$scenario"): lost $losses times"
done
