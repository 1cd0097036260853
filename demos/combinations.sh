#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A demo has the same reports whichever checks are on: those that each check has
# alone. Its fixed twin has none.
#
#    combinations.sh SCENARIO_RUNNER DEMO FIXED_DEMO

set -u
runner=$1
demo=$2
fixed=$3
bad=0

folder=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-demo.XXXXXX") || exit 99
trap 'rm -rf "$folder"' EXIT

# One invocation after the other: who comes second is always the same one.
LP_NUM_THREADS=0
export LP_NUM_THREADS

# The reports in CHECKS's file, sorted, without what differs from run to run.
reports() # PROGRAM CHECKS NAME
{
   GPUVAL=$2 GPUVAL_REPORT=$folder/$3.jsonl GPUVAL_LOG=$folder/$3.log "$1" >"$folder/out" 2>&1
   if ! grep -q '"summary"' "$folder/$3.jsonl"; then
      echo "$1 with $2: no report"
      cat "$folder/out"
      exit 1
   fi
   if ! grep -q '"lost":0' "$folder/$3.jsonl"; then
      echo "$1 with $2: records were lost"
      bad=1
   fi
   grep -v '^{"summary"' "$folder/$3.jsonl" | sed 's/0x[0-9a-f]*/ADDRESS/g' | sort >"$folder/$3"
}

same() # CHECKS NAME EXPECTED...
{
   checks=$1
   name=$2
   shift 2
   reports "$demo" "$checks" "$name"
   cat "$@" | sort >"$folder/expected"
   if ! cmp -s "$folder/expected" "$folder/$name"; then
      echo "$demo with $checks (>), and with each alone (<):"
      diff "$folder/expected" "$folder/$name" | cut -c 1-300
      bad=1
   fi
}

set --
all=
for check in $("$runner" --list-checks); do
   reports "$demo" "$check" "$check"
   for other in "$@"; do
      # What pairs do that have nothing to say is a matter of scenarios.
      [ -s "$folder/$other" ] || [ -s "$folder/$check" ] || continue
      same "$other,$check" "$other+$check" "$folder/$other" "$folder/$check"
   done
   set -- "$@" "$check"
   all=$all${all:+,}$check
   reports "$fixed" "$check" "fixed-$check"
done
(cd "$folder" && cat "$@") >"$folder/each"
same all all "$folder/each"
if ! [ -s "$folder/each" ]; then
   echo "$demo: no check has a report"
   bad=1
fi

reports "$fixed" "$all" fixed-all
for name in "$folder"/fixed-*; do
   case $name in
   *.log | *.jsonl) continue ;;
   esac
   if [ -s "$name" ]; then
      echo "$fixed has to be without errors, ${name##*/}:"
      cut -c 1-300 "$name"
      bad=1
   fi
done
exit $bad
