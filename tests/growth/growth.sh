#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs gpuval-growth with checks: its memory stays where it is, and its errors, one in
# the beginning and one at the end, or those of buffers that are gone, are reported with
# their line.

set -u

[ $# -eq 6 ] || { echo "usage: $0 PROGRAM SPIRV SOURCE CHECKS MODE COUNT" >&2; exit 2; }
program=$1 spirv=$2 source=$3 checks=$4 mode=$5 count=$6

log=$(mktemp "${TMPDIR:-/tmp}/gpuval-growth.XXXXXX") || exit 99
trap 'rm -f "$log"' EXIT
bad=0

wrong() # TEXT
{
   echo "wrong: $1"
   bad=1
}

GPUVAL=$checks GPUVAL_LOG=$log "$program" "$mode" "$spirv" "$count"
status=$?
[ $status -eq 77 ] && exit 77
[ $status -eq 0 ] || wrong "exit status $status"

# The same shader fails twice, or two fail once; one buffer of 1,000 is gone; 256 words of
# each GiB are written twice.
case $mode in
shaders) errors=2 summary='gpuval: 2 errors (2 occurrences), 0 records lost' ;;
buffers) errors=1 summary="gpuval: 1 error ($((count / 1000)) occurrences), 0 records lost" ;;
large) errors=1 summary="gpuval: 1 error ($((count * 256)) occurrences), 0 records lost" ;;
*) errors=1 summary='gpuval: 1 error (2 occurrences), 0 records lost' ;;
esac
line=$(grep -n EXPECT "$source" | cut -d : -f 1)
[ "$(grep -c "^gpuval:    at .*${source##*/}:$line " "$log")" = $errors ] ||
   wrong "not $errors errors in line $line"
[ "$(tail -n 1 "$log")" = "$summary" ] || wrong "the last line is not: $summary"
grep -q '^gpuval: warning' "$log" && wrong "there are warnings"

[ $bad -eq 0 ] || cut -c 1-200 "$log" | tail -n 20
exit $bad
