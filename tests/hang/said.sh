#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What the log, and the report in JSON Lines, say of work that does not end. The scenario has it: an
# extended regular expression behind `# LOG` or `# JSON`. The program is ended as soon as all is
# there. With `# NOT` it has to end by itself, and no line of the log may be like that.
#
# usage: said.sh SCENARIO-RUNNER SCENARIO CHECKS

set -u

folder=$(mktemp -d) || exit 1
log=$folder/log
report=$folder/report.jsonl
scenario=$2
GPUVAL=$3 GPUVAL_LOG=$log GPUVAL_REPORT=$report \
   setsid "$1" --kind monolithic --child-only "$2" >"$folder/output" 2>&1 &
program=$!

# The runner's own child hangs, too: the whole group goes.
end()
{
   kill -9 "-$program" 2>/dev/null
   rm -rf "$folder"
}
trap end EXIT

show()
{
   echo "the log:"
   cat "$log" "$folder/output"
   exit 1
}

expected() # KEYWORD
{
   sed -n "s/^# $1 //p" "$scenario"
}

# Prints the first line that FILE does not have.
missing() # KEYWORD FILE
{
   expected "$1" | while IFS= read -r line; do
      grep -Eq -e "$line" "$2" 2>/dev/null && continue
      printf '%s\n' "$line"
      break
   done
}

if [ -n "$(expected NOT)" ]; then
   wait "$program" || {
      echo "the program has failed"
      show
   }
   if grep -Ee "$(expected NOT)" "$log"; then
      echo "the log has what it should not have"
      show
   fi
   exit 0
fi

# Half a minute is for a busy machine.
tries=0
while
   what=$(missing LOG "$log")$(missing JSON "$report")
   [ -n "$what" ]
do
   tries=$((tries + 1))
   if [ "$tries" -gt 300 ]; then
      echo "not there within 30 seconds: $what"
      show
   fi
   sleep 0.1
done
