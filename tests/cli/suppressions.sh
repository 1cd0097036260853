#!/bin/sh
# SPDX-License-Identifier: MIT
#
# GPUVAL_SUPPRESSIONS and GPUVAL_GEN_SUPPRESSIONS.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# What is left of two_errors when one of them is suppressed: the store, 2 times, or
# the load, 3 times.
one_left() # store|load
{
   case $1 in
   store) left=2 gone=3 ;;
   *) left=3 gone=2 ;;
   esac
   times="$gone occurrences"
   lines err '^gpuval: error: bounds/buffer-oob: ' 1
   lines err "^gpuval: error: bounds/buffer-oob: $1 " 1
   last_line err "gpuval: 1 error ($left occurrences), 0 records lost, 1 suppressed ($times)"
   lines a.jsonl '^\{"check":' 1
   last_line a.jsonl "{\"summary\":{\"errors\":1,\"occurrences\":$left,\"lost\":0,\"messages\":0,\"lost_messages\":0,\"shaders\":2,\"warnings\":0,\"suppressed\":1,\"suppressed_occurrences\":$gone}}"
}

# The first shader has a store through "A", in binding 0; the second a load of "B".
entry() # ENTRY store|load|both|none
{
   begin "entry: $1"
   printf '%s\n' "$1" >known
   run GPUVAL=bounds GPUVAL_SUPPRESSIONS=known GPUVAL_REPORT=a.jsonl two_errors
   no_complaint err
   case $2 in
   both)
      lines err '^gpuval: error: ' 0
      lines err '^gpuval: 2 suppressed \(5 occurrences\) by .*/known:1: ' 1
      last_line err 'gpuval: no errors, 2 suppressed (5 occurrences)'
      ;;
   none)
      two_errors err
      lines err '^gpuval: suppression not used: .*/known:1: ' 1
      lines a.jsonl suppressed 0
      ;;
   *) one_left "$2" ;;
   esac
}

entry 'bounds file:first.comp' load
entry 'bounds/buffer-oob file:second.comp' store
entry 'bounds/buffer-oob' both
entry '*' both
entry 'b*/*-oob' both
entry 'check:bounds kind:buffer-oob' both
entry 'bounds/image-oob' none
entry 'kind:buffer-oob file:fir*   # the first one' load
entry 'file:"sec?nd.comp"' store
entry 'file:cond.comp' none
entry 'file:*cond.comp' store
entry 'file:FIRST.comp' none
entry 'function:main' both
entry 'variable:A' none
entry 'variable:a' load
entry 'variable:b file:first.comp' none
entry 'shader:*[0-9]*' none
entry 'shader:f?rst' load
entry 'shader:????????????????' both
entry 'shader:0123456789abcdef' none
entry 'name:"a"' load
entry 'label:*' none
entry 'pipeline:on\*' none

begin 'names, labels'
printf '%s\n' 'label:"frame*\e"' >known
run GPUVAL=bounds GPUVAL_SUPPRESSIONS=known hostile
last_line err 'gpuval: 1 error (2 occurrences), 0 records lost'
printf 'bounds label:"frame?gpuval:forged*"\n' >known
run GPUVAL=bounds GPUVAL_SUPPRESSIONS=known hostile
last_line err 'gpuval: no errors, 1 suppressed (2 occurrences)'

begin 'by fingerprint'
run GPUVAL=bounds two_errors
sed -n 's/.*times: .* at first.comp.* fingerprint \(.*\)/bounds fingerprint:\1/p' err >known
run GPUVAL=bounds GPUVAL_SUPPRESSIONS=known GPUVAL_REPORT=a.jsonl two_errors
one_left load

begin 'several files, several entries'
printf '# nothing\n\n   \nfile:first.comp\nassume\n' >a
printf 'file:*.comp\r\n' >b # two match, and each is used
run GPUVAL=bounds GPUVAL_SUPPRESSIONS=a,b two_errors
lines err '^gpuval: 1 suppressed \(2 occurrences\) by .*/a:4: file:first.comp$' 1
lines err '^gpuval: 1 suppressed \(3 occurrences\) by .*/b:1: file:\*.comp$' 1
lines err '^gpuval: suppression not used: .*/a:5: assume$' 1
lines err suppression 1
last_line err 'gpuval: no errors, 2 suppressed (5 occurrences)'

begin 'a byte-order mark'
printf '\357\273\277file:*.comp\n' >known
run GPUVAL=bounds GPUVAL_SUPPRESSIONS=known two_errors
no_complaint err
last_line err 'gpuval: no errors, 2 suppressed (5 occurrences)'

# One message each, and the rest of the file works.
bad() # LINE WORD
{
   begin "bad: $1"
   printf 'assume\n%s\nfile:first.comp\n' "$1" >known
   run GPUVAL=bounds GPUVAL_SUPPRESSIONS=known GPUVAL_REPORT=a.jsonl two_errors
   one_complaint err GPUVAL_SUPPRESSIONS /known:2: "$2" ignored
   one_left load
}

bad 'bouns' 'no check'
bad 'bounds/oob' 'no kind'
bad 'bounds first.comp' 'KEY:PATTERN'
bad 'bounds line:3' 'keys are'
bad 'file:"first' 'quote'
bad 'file:"first"comp' 'quote'
bad 'file:' 'pattern'
bad 'file: first.comp' 'pattern'

begin 'a file that is not there'
echo 'file:first.comp' >known
run GPUVAL=bounds GPUVAL_SUPPRESSIONS=missing,known GPUVAL_REPORT=a.jsonl two_errors
one_complaint err GPUVAL_SUPPRESSIONS /missing: 'suppresses nothing'
one_left load

begin 'a folder'
run GPUVAL=bounds GPUVAL_SUPPRESSIONS=. two_errors
one_complaint err GPUVAL_SUPPRESSIONS 'suppresses nothing'
two_errors err

begin 'what shaders print is no failure'
echo '*' >known
run GPUVAL=printf GPUVAL_SUPPRESSIONS=known prints
lines err '^printf: ' 1 999
lines err '^gpuval: suppression not used: ' 1

# --- Generated ---------------------------------------------------------------

begin 'generated'
run GPUVAL=bounds GPUVAL_GEN_SUPPRESSIONS=1 two_errors
two_errors err
lines err '^bounds/buffer-oob fingerprint:[0-9a-f]{16}$' 2
lines err '^#bounds/buffer-oob shader:"first" file:"first.comp" variable:"a" name:"a"$' 1
grep -v '^gpuval: ' err >known
lines known '' 8
run GPUVAL=bounds GPUVAL_SUPPRESSIONS=known GPUVAL_GEN_SUPPRESSIONS=1 two_errors
last_line err 'gpuval: no errors, 2 suppressed (5 occurrences)'
lines err fingerprint 2 # the entries that were used
grep '^#bounds' known | sed 's/^#//' >other
run GPUVAL=bounds GPUVAL_SUPPRESSIONS=other two_errors
last_line err 'gpuval: no errors, 2 suppressed (5 occurrences)'

finish
