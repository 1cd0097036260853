#!/bin/sh
# SPDX-License-Identifier: MIT
#
# GPUVAL_SHADERS: which shaders are checked.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

hash_of() # NAME: from a report, as a user does
{
   sed -n "s/.*\"shader\":{\"hash\":\"\([0-9a-f]*\)\"[^}]*\"name\":\"$1\".*/\1/p" report.jsonl
}

begin 'hashes'
run GPUVAL=bounds GPUVAL_REPORT="$PWD/report.jsonl" two_errors
first=$(hash_of first)
second=$(hash_of second)
if [ "${#first}" -ne 16 ] || [ "${#second}" -ne 16 ] || [ "$first" = "$second" ]; then
   wrong "the hashes are '$first' and '$second'"
   show err report.jsonl
   finish
fi
every=0000000000000000-ffffffffffffffff

# Runs with the rules of standard input.
with_rules() # NAME
{
   begin "$1"
   cat >rules
   run GPUVAL=bounds,assume GPUVAL_SHADERS="$PWD/rules" GPUVAL_REPORT="$PWD/report.jsonl" \
      two_errors
}

checked() # NUMBER
{
   lines report.jsonl "\"summary\":.*,\"shaders\":$1,\"warnings\":0,\"commands\":[12],\"checks\":" 1
}

only_first()
{
   no_complaint err
   lines err '^gpuval: error: .* store of 4 bytes' 1
   last_line err 'gpuval: 1 error (2 occurrences), 0 records lost'
}

only_second()
{
   no_complaint err
   lines err '^gpuval: error: .* load of 4 bytes' 1
   last_line err 'gpuval: 1 error (3 occurrences), 0 records lost'
}

with_rules 'one shader' <<EOF
$first-$first bounds
EOF
only_first
checked 1

with_rules 'the other shader, in capitals' <<EOF
$(echo "$second-$second" | tr a-f A-F) bounds
EOF
only_second

with_rules 'a range' <<EOF
$every bounds
EOF
no_complaint err
two_errors err

with_rules 'a set' <<EOF
$every basic
EOF
two_errors err
checked 2

with_rules 'the last line wins' <<EOF
$every bounds
$first-$first assume
EOF
only_second

with_rules 'the last line wins, a range' <<EOF
$first-$first assume
$every bounds
EOF
no_complaint err
two_errors err

with_rules 'several modes' <<EOF
$every assume,bounds
$second-$second bounds,-bounds
EOF
only_first

with_rules 'comments and space' <<EOF
# $every bounds

   # more
	$first-$first 	bounds   # $second-$second bounds
EOF
only_first

with_rules 'by name' <<EOF
name:f?rst bounds
EOF
only_first
checked 1

with_rules 'by name, the last line wins' <<EOF
name:* bounds
name:"first" assume   # not bounds
name:missing assume
EOF
only_second

with_rules 'by name, and by hash' <<EOF
name:sec* bounds
$every assume
$first-$first bounds
EOF
only_first

begin 'line ends of another system, no last one'
printf '%s-%s bounds\r\n%s-%s assume' "$first" "$first" "$second" "$second" >rules
run GPUVAL=bounds GPUVAL_SHADERS="$PWD/rules" two_errors
only_first

with_rules 'no line matches' <<EOF
0000000000000000-0000000000000001 bounds
EOF
no_complaint err
last_line err 'gpuval: no errors'

with_rules 'an empty file' </dev/null
no_complaint err
last_line err 'gpuval: no errors'

for line in 'nonsense' '123-456 bounds' "$second bounds" "$second-$second" \
   "$second-$second-$second bounds" "${second}0-${second}0 bounds" 'name: bounds' 'name:"second bounds' \
   'name:second' 'name:"second"bounds'; do
   with_rules "a broken line: $line" <<EOF
$first-$first bounds
$line
EOF
   one_complaint err GPUVAL_SHADERS 'line 2' rules LO-HI name:PATTERN
   lines err 'bounds/buffer-oob: store' 1
   last_line err 'gpuval: 1 error (2 occurrences), 0 records lost'
done

with_rules 'an unknown mode' <<EOF
$first-$first bounds
$second-$second nonsense
EOF
one_complaint err GPUVAL_SHADERS 'line 2' rules nonsense
last_line err 'gpuval: 1 error (2 occurrences), 0 records lost'

begin 'no file'
run GPUVAL=bounds GPUVAL_SHADERS="$PWD/missing" two_errors
one_complaint err GPUVAL_SHADERS "$PWD/missing"
two_errors err

# What is cached for one choice is not taken for another.
begin 'one cache for all choices'
mkdir cache
printf '%s-%s bounds\n' "$first" "$first" >rules
run MESA_SHADER_CACHE_DIR="$PWD/cache" GPUVAL=bounds two_errors
two_errors err
run MESA_SHADER_CACHE_DIR="$PWD/cache" GPUVAL=bounds GPUVAL_SHADERS="$PWD/rules" two_errors
only_first
printf '%s-%s bounds\n' "$second" "$second" >rules
run MESA_SHADER_CACHE_DIR="$PWD/cache" GPUVAL=bounds GPUVAL_SHADERS="$PWD/rules" two_errors
only_second
echo 'name:first bounds' >rules
run MESA_SHADER_CACHE_DIR="$PWD/cache" GPUVAL=bounds GPUVAL_SHADERS="$PWD/rules" two_errors
only_first
run MESA_SHADER_CACHE_DIR="$PWD/cache" two_errors
empty err

begin 'a folder'
run GPUVAL=bounds GPUVAL_SHADERS="$PWD" two_errors
one_complaint err GPUVAL_SHADERS "$PWD"
two_errors err
with_rules 'a range the wrong way round' <<EOF
$first-$first bounds
ffffffffffffffff-0000000000000000 bounds
EOF
one_complaint err GPUVAL_SHADERS 'line 2'

# What a shader writes that is not looked at is written all the same.
begin 'init, of the shader that reads'
echo 'name:reader init' >rules
run GPUVAL=init GPUVAL_SHADERS="$PWD/rules" GPUVAL_REPORT="$PWD/report.jsonl" written_by_another
lines err '^gpuval: error: .*load of 4 bytes' 1
last_line err 'gpuval: 1 error (12 occurrences), 0 records lost'

# What shaders out of another process's binaries write and read is looked at as in that process.
begin 'init, of binaries that another process has made'
mkdir binaries
for process in first second; do
   GPUVAL=init GPUVAL_TEST_BINARIES="$PWD/binaries" "$runner" --child-only \
      --kind shader_object_binary "$tests/written_by_another.scn" >out 2>err ||
      wrong "the $process process exited with $?"
   lines err '^gpuval: error: .*load of 4 bytes' 1
   last_line err 'gpuval: 1 error (12 occurrences), 0 records lost'
   made=$(find binaries -type f | wc -l)
   [ "$made" -eq 2 ] || wrong "the $process process leaves $made binaries"
done

finish
