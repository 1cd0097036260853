#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The device is lost while a program runs, and what was in its memory with it: what has been
# found is in the log, and nothing is reported of what is in the memory then.
#
#    lost.sh RUNNER SOFTGPU SCENARIO

set -u

private=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-lost.XXXXXX") || exit 99
trap 'rm -rf "$private"' EXIT

# 1 is the self-test; the program does three, and dies of the next one.
for submit in 1 2 3 4; do
   env LD_PRELOAD="$2" GPUVAL=bounds SOFTGPU_MODE="lost=$submit" \
      "$1" --kind monolithic --child-only "$3" >"$private/out" 2>&1
   fail()
   {
      echo "lost in submit $submit: $*"
      tail -n 20 "$private/out"
      exit 1
   }
   grep -q '^softgpu: the device is lost$' "$private/out" || fail "it is not lost"
   # As many as were counted, or once for what has a record; none if it was lost too early.
   last=$(grep '^gpuval: ' "$private/out" | tail -n 1)
   case $submit-$last in
   1-*) grep -q '^gpuval: warning: self-test' "$private/out" || fail "$last" ;;
   [23]-'gpuval: no errors') ;;
   [23]-'gpuval: 1 error (1 occurrences), 0 records lost') ;;
   [34]-'gpuval: 1 error (4 occurrences), 0 records lost') ;;
   4-'gpuval: 1 error (8 occurrences), 0 records lost') ;;
   *) fail "$last" ;;
   esac
   echo "lost in submit $submit: $last"
done
