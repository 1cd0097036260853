#!/bin/sh
# SPDX-License-Identifier: MIT
#
# GPUVAL_ON_ERROR: what a failure does beside its report, which is complete by then.
#
#    on_error.sh RUNNER TRAPS

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

traps=$(absolute "$2")

# Like run, of a program that need not end well.
try() # NAME=VALUE ... SCENARIO
{
   for scenario in "$@"; do :; done
   status=0
   # shellcheck disable=SC2154 # runner
   (run GPUVAL=bounds GPUVAL_REPORT=a.jsonl "$@"; exit "$status") >/dev/null || status=$?
}

is_complete() # JSONL SHADERS
{
   last_line "$1" "{\"summary\":{\"errors\":1,\"occurrences\":2,\"lost\":0,\"messages\":0,\"lost_messages\":0,\"shaders\":$2,\"warnings\":0}}"
   lines "$1" '"count":2,' 1
}

begin 'continue'
try GPUVAL_ON_ERROR=continue two_submits
[ "$status" -eq 0 ] || wrong "exited with $status"
is_complete a.jsonl 1

begin 'abort'
try GPUVAL_ON_ERROR=abort two_submits
lines out ' the program was killed by signal 6 ' 1
lines err '^gpuval: 2 times: bounds/buffer-oob at first.comp' 1
lines err '^gpuval: 1 error \(2 occurrences\), 0 records lost$' 1
is_complete a.jsonl 1

begin 'abort without an error'
try GPUVAL_ON_ERROR=abort no_errors
[ "$status" -eq 0 ] || wrong "exited with $status"
last_line err 'gpuval: no errors'

begin 'abort, but what fails is suppressed'
echo bounds >known
try GPUVAL_ON_ERROR=abort GPUVAL_SUPPRESSIONS=known two_submits
[ "$status" -eq 0 ] || wrong "exited with $status"

begin 'abort does not mind what is printed'
run GPUVAL=printf GPUVAL_ON_ERROR=abort prints
lines err '^printf: ' 1 999

begin 'device-lost'
try GPUVAL_ON_ERROR=device-lost two_submits
[ "$status" -ne 0 ] || wrong 'the program did not mind'
lines err ' returned VkResult -4$' 1
lines err '^gpuval: 1 error \(2 occurrences\), 0 records lost$' 1
is_complete a.jsonl 1

begin 'break without a debugger'
run GPUVAL=bounds GPUVAL_ON_ERROR=break two_errors
lines err '^gpuval: warning: GPUVAL_ON_ERROR=break: no debugger' 1
two_errors err

begin 'break'
"$traps" /dev/null true
if [ $? -eq 77 ]; then
   echo 'break: processes cannot be traced here'
else
   real=$runner
   printf '#!/bin/sh\nexec "%s" "%s/a.jsonl" "%s" "$@"\n' "$traps" "$PWD" "$real" >runner
   chmod +x runner
   runner=$PWD/runner
   # shellcheck disable=SC2030 # for this case only
   run GPUVAL=bounds GPUVAL_ON_ERROR=break GPUVAL_REPORT="$PWD/a.jsonl" two_errors
   runner=$real
   # Both are in one submit, so it is one stop.
   [ "$(cat out)" = 'trap: report' ] || wrong "the traps are: $(cat out)"
   two_errors err
   no_complaint err
fi

finish
