#!/bin/sh
# SPDX-License-Identifier: MIT
#
# GPUVAL_COVERAGE: which lines, functions and branches were executed, and how often. The comments of
# the scenarios say so; what adds up, and what becomes of files.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# count KIND SCENARIO [NAME=VALUE ...]: one run, whose tracefile is a.info
count()
{
   kind=$1
   scenario=$2
   shift 2
   env GPUVAL=basic GPUVAL_COVERAGE=a.info "$@" "$runner" --child-only --kind "$kind" "$scenario" \
      >out 2>err
   status=$?
   [ "$status" -eq 0 ] || wrong "the program exited with $status"
   [ "$status" -eq 0 ] || show out err
   no_complaint err
}

# The tracefile FILE says what SCENARIO's comments say, N times.
as_in() # SCENARIO [N] [FILE]
{
   differences=$(awk -f "$tests/coverage_expect.awk" -v times="${2-}" "$1" "${3-a.info}" 2>&1)
   [ -z "$differences" ] || wrong "$differences"
}

# The scenario with one line more at its end, and another line for one of it
variant() # NAME LINE
{
   sed "s/^buffer a 1024/$2\\nbuffer a 1024/" "$tests/coverage_lines.scn" >"$1.scn"
}

checks=$(sed -n -e '/GPUVAL_SET_COMING/d' -e '/GPUVAL_SET_HIDDEN/d' -e '/GPUVAL_SET_ALWAYS/d' \
   -e 's/^CHECK([A-Z_]*, "\([a-z-]*\)", .*/\1/p' "$tests/../../src/base/gpuval_check_table.h")

scenarios='coverage_lines coverage_draw'
[ -n "${GPUVAL_TEST_PRELOAD-}" ] || scenarios="$scenarios coverage_stages coverage_mesh coverage_rays"
for name in $scenarios; do
   scenario=$tests/$name.scn
   for kind in $(sed -n 's/^kinds //p' "$scenario" | grep . || echo monolithic); do
      begin "$name: $kind"
      count "$kind" "$scenario"
      as_in "$scenario"
   done
   begin "$name: all checks"
   count monolithic "$scenario" GPUVAL=all
   as_in "$scenario"
done

for check in $checks; do
   begin "beside $check"
   count monolithic "$tests/coverage_lines.scn" GPUVAL="$check"
   as_in "$tests/coverage_lines.scn"
   count monolithic "$tests/coverage_draw.scn" GPUVAL="$check" GPUVAL_COVERAGE=b.info
   as_in "$tests/coverage_draw.scn" '' b.info
done

begin 'a warm shader cache'
count monolithic "$tests/coverage_lines.scn"
rm a.info
count monolithic "$tests/coverage_lines.scn"
as_in "$tests/coverage_lines.scn"

begin 'shaders that are not checked count, too'
echo '0000000000000000-0000000000000000 bounds' >shaders
count monolithic "$tests/coverage_lines.scn" GPUVAL_SHADERS=shaders
as_in "$tests/coverage_lines.scn"

begin 'with failures'
count monolithic "$tests/two_errors.scn"
two_errors err
lines a.info '^DA:[0-9]+,4$' 4 6 # the braces at which functions return are lines of some compilers
lines a.info '^DA:' 4 6

begin 'two runs add up'
count monolithic "$tests/coverage_lines.scn"
count monolithic "$tests/coverage_lines.scn"
as_in "$tests/coverage_lines.scn" 2
count monolithic "$tests/coverage_draw.scn"
lines a.info '^SF:' 4

begin 'what lcov 2 has written is added to'
count monolithic "$tests/coverage_lines.scn"
awk -F '[:,]' '
   BEGIN { print "# a comment" }
   /^SF:/ { print; print "VER:1"; delete number; count = 0; next }
   /^FN:/ { print "FNL:" count "," $2 ",99"; number[$3] = count++; next }
   /^FNDA:/ { print "FNA:" number[$3] "," $2 "," $3; next }
   /^BRF:/ { print "BRDA:1,0,a > b,5" }
   { print }' a.info >b.info
count monolithic "$tests/coverage_lines.scn" GPUVAL_COVERAGE=b.info
as_in "$tests/coverage_lines.scn" 2 b.info

begin 'four at a time add up'
for number in 1 2 3 4; do
   env GPUVAL=basic GPUVAL_COVERAGE=a.info "$runner" --child-only --kind monolithic \
      "$tests/coverage_lines.scn" >"out$number" 2>"err$number" &
done
wait
as_in "$tests/coverage_lines.scn" 4
one_name_like '\.info'

begin 'a process id'
count monolithic "$tests/coverage_lines.scn" GPUVAL_COVERAGE=%p.info
one_name_like '^[0-9]+\.info$'

begin 'exit() without destroying the device'
sed 's/^kinds.*/finish exit/' "$tests/coverage_lines.scn" >ends.scn
count monolithic ends.scn
as_in "$tests/coverage_lines.scn"

begin 'abort at the first failure'
GPUVAL=bounds GPUVAL_ON_ERROR=abort GPUVAL_COVERAGE=a.info "$runner" --child-only \
   "$tests/two_errors.scn" >out 2>err
lines a.info '^DA:[0-9]+,4$' 2 6

begin 'debug information of another kind'
variant lines 'glslang -gVS'
count monolithic lines.scn
as_in lines.scn

begin 'without debug information'
variant lines 'glslang --quiet'
count monolithic lines.scn
lines a.info '^SF:/.*/gpuval-sources/[0-9a-f]{16}\.spvasm$' 2
lines a.info '^FNDA:128,main$' 1
lines a.info '^FNDA:170,twice$' 1
lines a.info '^FNDA:0,never$' 1
lines a.info '^BRDA:[0-9]+,0,0,192$' 1
lines a.info '^BRDA:[0-9]+,0,1,96$' 1
listing=$(sed -n 's/^SF://p' a.info | head -n 1)
line=$(sed -n 's/^FN:\([0-9]*\),main$/\1/p' a.info | head -n 1)
sed -n "${line}p" "$listing" | grep -q '^OpLabel ' || wrong "line $line of the listing is no block"

begin 'sources'
count monolithic "$tests/coverage_lines.scn"
lines a.info "^SF:$PWD/gpuval-sources/lines.comp$" 1
lines gpuval-sources/lines.comp 'FUNCTION 128' 1
cp gpuval-sources/lines.comp .
count monolithic "$tests/coverage_lines.scn" GPUVAL_COVERAGE=b.info
lines b.info "^SF:$PWD/lines.comp$" 1
sed -i 's/twice/thrice/' lines.comp
count monolithic "$tests/coverage_lines.scn" GPUVAL_COVERAGE=c.info
lines c.info "^SF:$PWD/gpuval-sources/lines.comp$" 1

begin 'a file that is something else'
echo 'of value' >a.info
env GPUVAL=basic GPUVAL_COVERAGE=a.info "$runner" --child-only --kind monolithic \
   "$tests/coverage_lines.scn" >out 2>err
one_complaint err GPUVAL_COVERAGE a.info tracefile
lines a.info '^of value$' 1

begin 'a script'
printf '#!/bin/sh\n# all of it\n' >a.info
env GPUVAL=basic GPUVAL_COVERAGE=a.info "$runner" --child-only --kind monolithic \
   "$tests/coverage_lines.scn" >out 2>err
one_complaint err GPUVAL_COVERAGE a.info tracefile
lines a.info '^#' 2

begin 'the report has it'
count monolithic "$tests/coverage_lines.scn" GPUVAL_REPORT=a.html
lines a.html '"file":"[^"]*/lines.comp"' 1
lines a.html '"missed":\[\[[0-9,]+\],\[[0-9,]+\]\]' 1

begin 'a folder that is not there'
env GPUVAL=basic GPUVAL_COVERAGE=missing/a.info "$runner" --child-only --kind monolithic \
   "$tests/coverage_lines.scn" >out 2>err
one_complaint err GPUVAL_COVERAGE missing/a.info

begin 'off without GPUVAL'
GPUVAL_COVERAGE=a.info "$runner" --child-only --kind monolithic "$tests/coverage_lines.scn" \
   >out 2>err
empty err
absent a.info
absent gpuval-sources

# Others than ours read it.
if command -v genhtml >/dev/null && [ -z "${GPUVAL_TEST_PRELOAD-}" ]; then
   begin 'genhtml'
   count monolithic "$tests/coverage_lines.scn"
   count monolithic "$tests/coverage_stages.scn"
   genhtml --branch-coverage -o html a.info >out 2>&1 || wrong "genhtml exited with $?"
   lines out '^ *lines\.*: [0-9.]+% \([0-9]+ of [0-9]+ lines\)' 1
   lines out '[Ww]arning|[Ee]rror' 0
   find html -name 'lines.comp.gcov.html' | grep -q . || wrong 'there is no page of lines.comp'

   begin 'lcov'
   count monolithic "$tests/coverage_lines.scn"
   count monolithic "$tests/coverage_lines.scn" GPUVAL_COVERAGE=b.info
   lcov --rc lcov_branch_coverage=1 -a a.info -a b.info -o c.info >out 2>&1 ||
      wrong "lcov exited with $?"
   as_in "$tests/coverage_lines.scn" 2 c.info
   lcov --summary a.info >out 2>&1 || wrong "lcov --summary exited with $?"
   lines out '(19|21) of 25 lines|(20|22) of 27 lines' 1
fi

finish
