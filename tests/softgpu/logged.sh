# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# For tests that look at the log of $scenario on $softgpu, which $runner runs; in the end they
# exit with $bad.

log=$(mktemp "${TMPDIR:-/tmp}/gpuval-log.XXXXXX") || exit 99
trap 'rm -f "$log"' EXIT
bad=0

run_logged() # WHAT NAME=VALUE...
{
   what=$1
   shift
   env "$@" GPUVAL_LOG="$log" LD_PRELOAD="$softgpu" \
      "$runner" --child-only --kind monolithic "$scenario" >/dev/null 2>&1 || {
      echo "$what: exit status $?"
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
