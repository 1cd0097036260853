#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Children that are forked by a program which has made a device.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

forks=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")

# with_child NAME=VALUE... -- [device]
with_child()
{
   count=$#
   for word in "$@"; do
      [ "$word" != -- ] || word=$forks
      set -- "$@" "$word"
   done
   shift "$count"
   env "$@" >out 2>err
   status=$?
   [ "$status" -eq 0 ] || wrong "the program exited with $status"
   [ "$status" -eq 0 ] || show out err
   child=$(cat child)
}

begin 'a child without a device says nothing'
with_child GPUVAL=bounds GPUVAL_REPORT=report.jsonl --
lines err '^gpuval: no errors' 1
lines report.jsonl '^{"summary":' 1
[ "$(names .)" = 'child err out report.jsonl ' ] || wrong "there are $(names .)"

begin 'a child with a device has its own summary'
with_child GPUVAL=bounds -- device
lines err '^gpuval: no errors' 2

begin 'and files with its own process id'
with_child GPUVAL=bounds GPUVAL_LOG=log.%p GPUVAL_REPORT=report.%p.jsonl,other.%p.csv -- device
empty err
lines "log.$child" '^gpuval: no errors' 1
lines "report.$child.jsonl" "\"pid\":$child" 1
one_name_like "^other\\.$child\\.csv\$"
[ "$(names . | tr ' ' '\n' | grep -c '^log\.')" -eq 2 ] || wrong "not two logs in: $(names .)"
[ "$(names . | tr ' ' '\n' | grep -c '^report\.')" -eq 2 ] || wrong "not two reports in: $(names .)"

begin 'which it gets where the name has none'
with_child GPUVAL=bounds GPUVAL_REPORT=report.jsonl,report.junit.xml -- device
lines report.jsonl '^{"summary":' 1
lines report.jsonl "\"pid\":$child" 0
lines "report.$child.jsonl" "\"pid\":$child" 1
one_name_like "^report\\.$child\\.junit\\.xml\$"

finish
