#!/bin/sh
# SPDX-License-Identifier: MIT
#
# GPUVAL_BACKTRACE: where commands were recorded and objects created.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

program=$(absolute "$2")
plain=$(absolute "$3")
plugin=$(absolute "$4")
report=$(absolute "$5")
source=$tests/backtrace.c
# RADV's sync does not look at transfers.
check=sync failure=sync/read-after-write
[ -z "${GPUVAL_TEST_PRELOAD-}" ] || check=race failure=race/resource-race

command -v addr2line >/dev/null || { echo 'skip: no addr2line'; exit 77; }

# The line of the source with that comment
line_of() # FILE COMMENT
{
   grep -n -F "/* $2 */" "$1" | cut -d: -f1
}

call=$(line_of "$source" 'the call')
copy=$(line_of "$source" 'the copy')
fill=$(line_of "$source" 'the fill')
creation=$(line_of "$source" 'the creation')

# traced NAME=VALUE... -- PROGRAM ARG...
traced()
{
   variables=
   while [ "$1" != -- ]; do
      variables="$variables $1"
      shift
   done
   shift
   # shellcheck disable=SC2086 # no spaces in them
   env ${GPUVAL_TEST_PRELOAD:+"LD_PRELOAD=$GPUVAL_TEST_PRELOAD"} GPUVAL="$check" $variables "$@" \
      >out 2>err
   status=$?
   [ "$status" -eq 0 ] || wrong "the program exited with $status"
   [ "$status" -eq 0 ] || show out err
}

# In JSON: a frame of a function, with all facts or without a line
frame() # FUNCTION LINE
{
   printf '{"function":"%s","file":"[^"]*backtrace.c","line":%s,"module":"[^"]*"}' "$1" "$2"
}

begin 'off, nothing is said'
traced GPUVAL_REPORT=r.jsonl,r.csv -- "$program"
lines err "^gpuval: error: $failure: " 1
lines err '^gpuval: +(recorded|created) by ' 0
lines r.jsonl '"recorded"|"created"' 0
cp r.jsonl "$private/off.jsonl"

begin 'command and object'
traced GPUVAL_BACKTRACE=1 GPUVAL_REPORT=r.jsonl,r.csv,r.html,r.sarif -- "$program"
lines r.jsonl "\"recorded\":\\[$(frame record_copy "$copy"),$(frame run "$call"),$(frame main "[0-9]+")\\]" 1
lines r.jsonl "\"created\":\\[\\{[^]]*$(frame create_source "$creation"),$(frame run '[0-9]+')," 1
lines err "^gpuval:    recorded by [^ ]*backtrace.c:$copy in record_copy\\(\\), from [^ ]*backtrace.c:$call in run\\(\\), from [^ ]*backtrace.c:[0-9]+ in main\\(\\)\$" 1
lines err "^gpuval:    created by .*backtrace.c:$creation in create_source\\(\\), …\$" 1
lines r.jsonl "\"other\":.*\"recorded\":\\[$(frame record_fill "$fill")," 1
lines err "^gpuval:    recorded by [^ ]*backtrace.c:$fill in record_fill\\(\\), from " 1
lines r.csv "backtrace.c:$copy in record_copy\\(\\) < [^ ]*backtrace.c:$call in run\\(\\) < " 1
lines r.csv ',command_recorded' 1
lines r.sarif "\"startLine\":$copy" 1 100
# What it depends on is the same with and without.
fingerprint=$(sed -n 's/.*"fingerprint":"\([0-9a-f]*\)".*/\1/p' r.jsonl)
lines "$private/off.jsonl" "\"fingerprint\":\"$fingerprint\"" 1
cp r.jsonl "$private/on.jsonl"

begin 'two places'
traced GPUVAL_BACKTRACE=1 GPUVAL_REPORT=r.jsonl -- "$program" two
other=$(line_of "$source" 'the other call')
inlined=$(line_of "$source" 'the inlined call')
lines r.jsonl "\"recorded\":\\[$(frame record_copy "$copy"),$(frame run "$call")," 1
lines r.jsonl "\"recorded\":\\[$(frame record_copy "$copy"),$(frame record_inlined "$inlined"),$(frame run "$other")," 1

begin 'deep calls'
recursion=$(line_of "$source" 'the recursion')
traced GPUVAL_BACKTRACE=1 GPUVAL_REPORT=r.jsonl -- "$program" deep
lines r.jsonl "\"recorded\":\\[$(frame record_copy "$copy"),$(frame record_deep '[0-9]+'),$(frame record_deep "$recursion")," 1
lines err '^gpuval:    recorded by .*, …$' 1

# The software GPU has a thread, which no child has.
if [ -z "${GPUVAL_TEST_PRELOAD-}" ]; then
   begin 'a child that was forked'
   traced GPUVAL_BACKTRACE=1 GPUVAL_REPORT=r.%p.jsonl -- "$program" fork
   cat r.*.jsonl >all
   lines all "\"recorded\":\\[$(frame record_copy "$copy"),$(frame run "$call")," 2
fi

begin 'a library that has been unloaded'
traced GPUVAL_BACKTRACE=1 GPUVAL_REPORT=r.jsonl -- "$program" unload "$plugin"
line=$(line_of "$tests/backtrace_plugin.c" "the library's copy")
lines r.jsonl "\"recorded\":\\[\\{\"function\":\"plugin_record\",\"file\":\"[^\"]*backtrace_plugin.c\",\"line\":$line,\"module\":\"$plugin\"\\},\\{\"function\":\"record_by_library\"" 1

begin 'without debug information'
traced GPUVAL_BACKTRACE=1 GPUVAL_REPORT=r.jsonl -- "$plain"
lines r.jsonl "\"recorded\":\\[\\{\"module\":\"$plain\",\"offset\":\"0x[0-9a-f]+\"\\}," 1
lines r.jsonl '"recorded":[^]]*"(file|line)"' 0
lines err "^gpuval:    recorded by $plain\\+0x[0-9a-f]+, from " 2

begin 'without addr2line'
mkdir empty
traced PATH="$PWD/empty" GPUVAL_BACKTRACE=1 GPUVAL_REPORT=r.jsonl -- "$program"
lines err '^gpuval: note: GPUVAL_BACKTRACE: addr2line ' 1
lines r.jsonl '"recorded":\[\{' 1
lines r.jsonl '"recorded":[^]]*"(file|line)"' 0

begin 'a value that makes no sense'
traced GPUVAL_BACKTRACE=yes GPUVAL_REPORT=r.jsonl -- "$program"
one_complaint err GPUVAL_BACKTRACE yes
lines r.jsonl '"recorded"' 0

begin 'merged'
"$report" "$private/on.jsonl" "$private/off.jsonl" -o merged.jsonl >out 2>err || wrong 'it failed'
lines merged.jsonl "\"recorded\":\\[$(frame record_copy "$copy"),$(frame run "$call"),$(frame main "[0-9]+")\\]" 1
lines merged.jsonl "\"created\":\\[\\{" 1

finish
