#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What shaders print: where it goes, and the format strings that are kept.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

begin 'to stderr'
run GPUVAL=printf prints
empty out
lines err '^printf: ' 8
lines err '^printf: one "[0-3]"$' 4
last_line err 'gpuval: no errors'

begin 'to a file'
run GPUVAL=printf GPUVAL_LOG="$PWD/log" prints
empty err
lines log '^printf: two 3 3[.]000000 3$' 1

begin 'among the basic checks'
run GPUVAL=basic prints
lines err '^printf: ' 8

begin 'not asked for'
run GPUVAL=bounds,assume GPUVAL_DUMP="$PWD" prints
[ "$(without_scope <err)" = 'gpuval: no errors' ] || wrong "the log is: $(cat err)"
[ -z "$(find . -name '*.json')" ] || wrong "there are format strings: $(names .)"
! grep -q printf_gpuval ./*.nir || wrong "there is a message in the shader"

begin 'by shader'
run GPUVAL=printf GPUVAL_DUMP="$PWD" prints
hash=$(names . | tr ' ' '\n' | sed -n 's/[.]compute.*after.nir$//p')
printf '%s-%s bounds\n' "$hash" "$hash" >rules
run GPUVAL=printf GPUVAL_SHADERS="$PWD/rules" prints
lines err '^printf: ' 0
printf '%s-%s printf\n' "$hash" "$hash" >rules
run GPUVAL=bounds GPUVAL_SHADERS="$PWD/rules" prints
lines err '^printf: ' 8

# LLPC's metadata: the third argument of the second is the one that is a
# 64-bit integer, the one before it is a double.
begin 'format strings'
run GPUVAL=printf GPUVAL_DUMP="$PWD" prints
file=$(find . -name '*.format_strings.json')
if [ -f "$file" ]; then
   lines "$file" '^[{]"amdpal.format_strings":[{]".version":1,".strings":\[$' 1
   one='".string":"one \"%u\"",".argument_count":1,".64bit_arguments":[0]}'
   two='".string":"two %u %f %lu",".argument_count":3,".64bit_arguments":[6]}'
   grep -q -F -e "$one" "$file" || wrong "no $one in $(cat "$file")"
   grep -q -F -e "$two" "$file" || wrong "no $two in $(cat "$file")"
   [ "$(grep -c -E '^[{]".index":[0-9]{1,15},' "$file")" -eq 2 ] || wrong "not two ids"
else
   wrong "no file with format strings: $(names .)"
fi

begin 'lost messages'
run GPUVAL=printf GPUVAL_PRINTF_SIZE=16 GPUVAL_REPORT="$PWD/report.jsonl" prints
lines err '^printf: ' 0
lines err '^gpuval: 0 messages of shaders printed, 8 lost$' 1
last_line err 'gpuval: no errors'
last_line report.jsonl \
   '{"summary":{"errors":0,"occurrences":0,"lost":0,"messages":0,"lost_messages":8,"shaders":1,"warnings":0}}'

begin 'reports'
run GPUVAL=printf GPUVAL_REPORT="$PWD/report.jsonl,$PWD/report.csv" prints
lines report.jsonl '^[{]"check":"printf","kind":"message","severity":"info",' 8
lines report.csv '^printf,message,1,' 8
last_line report.jsonl '{"summary":{"errors":0,"occurrences":0,"lost":0,"messages":8,"lost_messages":0,"shaders":1,"warnings":0}}'

begin 'after abort'
sed 's/^dispatch 1$/&\nfinish abort/' "$tests/prints.scn" >prints.scn
env GPUVAL=printf "$runner" --child-only "$PWD/prints.scn" >out 2>err
lines err '^printf: ' 8

finish
