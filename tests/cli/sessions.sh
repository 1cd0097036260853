#!/bin/sh
# SPDX-License-Identifier: MIT
#
# GPUVAL_RECORD=manual: sessions.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

session() # NUMBER ERRORS OCCURRENCES MESSAGES SHADERS
{
   last_line "a.$1.jsonl" "{\"summary\":{\"errors\":$2,\"occurrences\":$3,\"lost\":0,\"messages\":$4,\"lost_messages\":0,\"shaders\":$5,\"warnings\":0,\"session\":$1}}"
   lines "a.$1.jsonl" '"severity":"error"' "$2"
}

wait_for_line() # FILE PATTERN
{
   tries=300
   until grep -q -s -e "$2" "$1" || [ "$tries" -eq 0 ]; do
      tries=$((tries - 1))
      sleep 0.1
   done
   [ "$tries" -gt 0 ] || wrong "$1 has no line with '$2'"
}

begin 'labels'
run GPUVAL=bounds,printf GPUVAL_RECORD=manual GPUVAL_REPORT="$PWD/a.jsonl,$PWD/a.csv" session_labels
no_complaint err
session 1 1 4 2 2
session 2 2 5 1 2
absent a.3.jsonl
absent a.jsonl
lines a.1.csv '^bounds,buffer-oob,4,' 1
lines a.2.csv '^bounds,buffer-oob,[23],' 2
lines err '^gpuval: session [12] begins: gpuval:begin$' 2
lines err '^gpuval: session [12] ends: gpuval:end$' 2
lines err '^gpuval: error: bounds/buffer-oob: ' 3
lines err '^gpuval: 4 times: bounds/buffer-oob at first.comp:' 1
lines err '^gpuval: 2 times: bounds/buffer-oob at first.comp:' 1
lines err '^gpuval: 3 times: bounds/buffer-oob at second.comp:' 1
lines err '^printf: one$' 3
lines err '^gpuval: 1 error \(4 occurrences\), 0 records lost$' 1
last_line err \
   'gpuval: 3 errors (9 occurrences), 0 records lost, 3 outside of sessions (7 occurrences)'

begin 'labels mean nothing otherwise'
run GPUVAL=bounds GPUVAL_REPORT=a.jsonl session_labels
lines err session 0
last_line err 'gpuval: 2 errors (16 occurrences), 0 records lost'
absent a.1.jsonl

begin 'no session'
run GPUVAL=bounds GPUVAL_RECORD=manual GPUVAL_REPORT=a.jsonl two_errors
[ "$(without_scope <err)" = 'gpuval: no errors, 2 outside of sessions (5 occurrences)' ] ||
   wrong "the log is: $(cat err)"
[ "$(names .)" = 'err out ' ] || wrong "the folder has: $(names .)"

begin 'reactions and suppressions are for sessions'
printf 'file:first.comp\n' >known
run GPUVAL=bounds GPUVAL_RECORD=manual GPUVAL_SUPPRESSIONS=known GPUVAL_ON_ERROR=break \
   GPUVAL_REPORT=a.jsonl session_labels
lines err '^gpuval: no errors, 1 suppressed \(4 occurrences\)(:|$)' 1
lines err '^gpuval: 1 error \(3 occurrences\), 0 records lost, 1 suppressed \(2 occurrences\)$' 1
last_line err \
   'gpuval: 1 error (3 occurrences), 0 records lost, 2 suppressed (6 occurrences), 3 outside of sessions (7 occurrences)'

# Its log is named after it.
start() # NAME=VALUE ...
{
   run "$@" GPUVAL=bounds GPUVAL_LOG=log.%p GPUVAL_REPORT=a.jsonl session_signals &
   program=$!
   wait_for first.awaited
   log=$(echo log.*)
}

signal()
{
   kill -USR1 "${log#log.}"
}

begin 'signals'
start GPUVAL_TEST_SIGNALS=1 GPUVAL_RECORD=manual
signal
wait_for_line "$log" '^gpuval: session 1 begins: SIGUSR1$'
touch first
wait_for second.awaited
signal
wait_for_line "$log" '^gpuval: session 1 ends: SIGUSR1$'
wait_for a.1.jsonl
touch second
wait "$program"
session 1 1 2 0 1
lines out '^the application has a signal$' 2
last_line "$log" \
   'gpuval: 1 error (2 occurrences), 0 records lost, 2 outside of sessions (4 occurrences)'
absent a.2.jsonl

begin 'a session is open at the end'
start GPUVAL_RECORD=manual
signal
wait_for_line "$log" '^gpuval: session 1 begins: SIGUSR1$'
touch first second
wait "$program"
lines "$log" '^gpuval: session 1 ends: exit$' 1
session 1 1 4 0 1

begin 'otherwise the signal is for the application alone'
start GPUVAL_TEST_SIGNALS=1
signal
wait_for_line out '^the application has a signal$'
touch first second
wait "$program"
last_line "$log" 'gpuval: 1 error (6 occurrences), 0 records lost'
absent a.1.jsonl

finish
