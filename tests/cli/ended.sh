#!/bin/sh
# SPDX-License-Identifier: MIT
#
# `gpuval run` and programs that do not come to their end: what was found until then is in the log
# and in each report, which say how the program ended.
#
#    ended.sh RUNNER COMMAND NO_DEVICE LAVAPIPE [RADV SHIM]

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=checkout.sh
. "$(dirname "$0")/checkout.sh"
forks=$(dirname "$(absolute "$3")")/gpuval-forks

# ending NAME: the scenario SCENARIO.scn with this end, here
ending() # SCENARIO NAME
{
   sed "s/^\[run\]\$/&\nfinish $2/" "$tests/$1.scn" >"$1.scn"
}

run_ending() # SCENARIO OPTION...
{
   scenario=$1
   shift
   gpuval run --checks bounds "$@" -- "$runner" --child-only "$PWD/$scenario.scn"
}

last_words() # FILE HOW SUMMARY
{
   last_line "$1" "$3"
   case $2 in
   killed) words='was killed [(]SIGKILL[)]' ;;
   unknown) words='has not come to its end, and nobody knows why' ;;
   exit) words='has called _exit[(][)]' ;;
   *) words="was ended by $2" ;;
   esac
   lines "$1" "^gpuval: warning: the program $words; this is what was known until then\$" 1
}

for pair in SIGINT=SIGINT=130 SIGTERM=SIGTERM=143 SIGSEGV=SIGSEGV=139 abort=SIGABRT=134 \
   SIGKILL=killed=137 _exit=unknown=0; do # which the runner's child has called
   how=${pair#*=}
   expected_status=${how#*=}
   how=${how%=*}
   begin "reports of a program with two errors, ${pair%%=*}"
   ending two_errors "${pair%%=*}"
   run_ending two_errors --log log --report a.jsonl --report b.csv --report c.html \
      --report d.sarif --report e.junit.xml --report f.codequality.json --report %p.jsonl
   exits "$expected_status"
   lines err '^gpuval' 0 # a shell names the signal
   lines log '^gpuval: error: bounds/buffer-oob: ' 2
   last_words log "$how" 'gpuval: 2 errors (5 occurrences), 0 records lost'
   for file in a.jsonl [1-9]*.jsonl; do
      lines "$file" '^[{]"check":"bounds",.*[}]$' 2
      lines "$file" "^[{]\"summary\":[{]\"errors\":2,\"occurrences\":5,.*\"shaders\":2,.*\"ended\":\"$how\"[}][}]\$" 1
      lines "$file" '' 3
   done
   lines b.csv '^"bounds","buffer-oob",' 2
   lines c.html "\"ended\":\"$how\"" 1
   lines d.sarif '"executionSuccessful":false' 1
   lines e.junit.xml "<property name=\"ended\" value=\"$how\"/>" 1
   lines e.junit.xml '<failure' 2
   lines f.codequality.json '"check_name":"bounds/buffer-oob"' 2
done

begin 'the log of a program that is killed and has no report'
ending two_errors SIGTERM
run_ending two_errors
exits 143
last_words err SIGTERM 'gpuval: 2 errors (5 occurrences), 0 records lost'

begin 'a program that is killed before there is an error'
ending no_errors SIGKILL
run_ending no_errors --report a.jsonl --error-exitcode 7
exits 137
last_words err killed 'gpuval: no errors'
lines a.jsonl '"errors":0,.*"ended":"killed"' 1

begin 'one of two processes does not come to its end'
ending two_errors SIGTERM
# shellcheck disable=SC2016
gpuval run --checks bounds --report %p.jsonl -- sh -c '"$1" --child-only "$2"; exec "$1" --child-only "$3"' \
   sh "$runner" "$tests/no_errors.scn" "$PWD/two_errors.scn"
exits 143
last_words err SIGTERM 'gpuval: 2 errors (5 occurrences), 0 records lost'
lines err '^gpuval: no errors(:|$)' 1
grep -l '"ended":"SIGTERM"' [1-9]*.jsonl >ended
lines ended '' 1
grep -L '"ended"' [1-9]*.jsonl >normal
lines normal '' 1

begin 'a program that another one has started, which hides how it has ended'
ending two_errors SIGSEGV
# shellcheck disable=SC2016
gpuval run --checks bounds --report a.jsonl -- sh -c '"$1" --child-only "$2"; true' \
   sh "$runner" "$PWD/two_errors.scn"
exits 0
last_words err unknown 'gpuval: 2 errors (5 occurrences), 0 records lost'
lines a.jsonl '"errors":2,.*"ended":"unknown"' 1
[ "$(names . | tr ' ' '\n' | grep -c '[.]jsonl$')" -eq 1 ] || wrong "there are $(names .)"

begin 'a forked child that is killed leaves the report of its parent alone'
gpuval run --checks bounds --report a.jsonl --report b.csv -- \
   "$forks" device killed
exits 0
forked=$(cat child)
lines a.jsonl '"ended"' 0
lines "a.$forked.jsonl" '"ended":"unknown"' 1
one_name_like "^b[.]${forked}[.]csv\$"
one_name_like '^b[.]csv$'

begin 'a run in which nothing was looked at'
true >none
gpuval run --checks bounds --shaders none --error-exitcode 7 -- "$runner" --child-only \
   "$tests/two_errors.scn"
exits 7
lines err '^gpuval: warning: no shader and no command was looked at: nothing was checked$' 1

# Without `run` nobody is left to write a summary: the lines that are there are whole.
begin 'lines of a process that is killed'
ending two_errors SIGKILL
env GPUVAL=bounds GPUVAL_REPORT=a.jsonl VK_DRIVER_FILES="$icd/lvp_icd.test.json" \
   "$runner" --child-only "$PWD/two_errors.scn" >out 2>err
lines a.jsonl '^[{]"check":"bounds",.*[}]$' 2
lines a.jsonl '' 2

begin 'a program that is killed at any time leaves whole lines'
for delay in 0.05 0.1 0.15 0.2 0.25 0.3 0.4 0.5; do
   timeout -s KILL "$delay" env GPUVAL=bounds GPUVAL_REPORT="$PWD/a.jsonl,$PWD/b.csv" \
      VK_DRIVER_FILES="$icd/lvp_icd.test.json" "$runner" --child-only "$tests/two_errors.scn" \
      >out 2>err
   [ ! -s a.jsonl ] || [ "$(tail -c 2 a.jsonl)" = '}' ] || wrong "a.jsonl ends in half a line after $delay s"
   [ ! -s b.csv ] || [ "$(tail -c 1 b.csv | wc -l)" -eq 1 ] || wrong "b.csv ends in half a line after $delay s"
   rm -f a.jsonl b.csv
done

begin 'nothing is left behind'
ending two_errors SIGKILL
mkdir folder
TMPDIR=$PWD/folder run_ending two_errors
[ -z "$(names folder)" ] || wrong "there is: $(names folder)"

begin 'a program that is killed in its second session'
# What is submitted last is submitted by the end.
ending session_labels SIGKILL
sed '/^queue_label gpuval:end$/,$d' session_labels.scn | sed '$d' >open.scn
GPUVAL_RECORD=manual run_ending open --report a.jsonl --report a.csv
last_words err killed 'gpuval: 3 errors (9 occurrences), 0 records lost'
lines a.1.jsonl '"errors":1,"occurrences":4,.*"session":1' 1
lines a.1.jsonl '"ended"' 0
lines a.2.jsonl '"errors":2,"occurrences":5,.*"session":2' 1
lines a.2.jsonl '"ended":"killed"' 1
lines a.2.csv '^"bounds","buffer-oob",[23],' 2
absent a.jsonl
absent a.csv
absent a.3.jsonl

begin 'a program that is killed behind its sessions'
ending session_labels SIGKILL
sed '$d' session_labels.scn >behind.scn
GPUVAL_RECORD=manual run_ending behind --report a.jsonl
last_words err killed 'gpuval: 3 errors (9 occurrences), 0 records lost'
lines a.2.jsonl '"errors":2,"occurrences":5,.*"session":2' 1
absent a.jsonl
absent a.3.jsonl

finish
