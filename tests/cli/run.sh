#!/bin/sh
# SPDX-License-Identifier: MIT
#
# `gpuval run`: the program it runs, what it says of it, how it ends.
#
#    run.sh RUNNER COMMAND NO_DEVICE LAVAPIPE [RADV SHIM]

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=checkout.sh
. "$(dirname "$0")/checkout.sh"

no_device=$(absolute "$3")
shim=${6:+$(absolute "$6")}

# What `gpuval OPTIONS -- PROGRAM` does with the program of a scenario.
run_scenario() # SCENARIO OPTION...
{
   scenario=$tests/$1.scn
   shift
   gpuval run "$@" -- "$runner" --child-only "$scenario"
}

begin 'run'
run_scenario two_errors
exits 0
empty out
two_errors err

begin 'run without an error'
run_scenario no_errors --checks bounds
exits 0
empty out
[ "$(without_scope <err)" = 'gpuval: no errors' ] || wrong "the log is: $(cat err)"

begin 'run without --'
gpuval run --checks=bounds "$runner" --child-only "$tests/two_errors.scn"
exits 0
two_errors err

begin 'run through a link, elsewhere'
ln -s "$command" link
./link run --checks bounds -- "$runner" --child-only "$tests/two_errors.scn" >out 2>err ||
   wrong "exited with $?"
two_errors err

begin 'run with GPUVAL of the environment'
GPUVAL=assume "$command" run -- "$runner" --child-only "$tests/two_errors.scn" 2>err
last_line err 'gpuval: no errors'
GPUVAL=assume "$command" run --checks bounds -- "$runner" --child-only "$tests/two_errors.scn" 2>err
two_errors err

begin 'run with relative names'
mkdir elsewhere
# shellcheck disable=SC2016 # for the inner shell
gpuval run --checks bounds --log log --report a.jsonl --report=b.csv -- \
   sh -c 'cd elsewhere && exec "$@"' sh "$runner" --child-only "$tests/two_errors.scn"
exits 0
empty err
two_errors log
lines a.jsonl '' 3
lines b.csv '' 3
[ -z "$(names elsewhere)" ] || wrong "elsewhere has: $(names elsewhere)"

begin 'run into folders that are not there'
run_scenario two_errors --checks bounds --log logs/today/log --report reports/today/a.jsonl
exits 0
two_errors logs/today/log
lines reports/today/a.jsonl '' 3
: >file
gpuval run --checks bounds --report file/a.jsonl -- true
exits 2
lines err "the folder 'file' cannot be made" 1

begin 'run with chosen shaders'
printf '0000000000000000-0000000000000001 bounds\n' >rules
run_scenario two_errors --checks bounds --shaders rules
exits 0
last_line err 'gpuval: no errors'

begin 'arguments reach the program'
gpuval run -- printf '<%s>' 'a b' "it's" '' --checks '*'
exits 0
[ "$(cat out)" = "<a b><it's><><--checks><*>" ] || wrong "they are $(cat out)"

for options in '' '--error-exitcode 7'; do
   begin "exit status $options"
   # shellcheck disable=SC2086 # words
   gpuval run $options -- sh -c 'exit 42'
   exits 42
   # shellcheck disable=SC2086,SC2016
   gpuval run $options -- sh -c 'kill -TERM $$'
   exits 143
   # shellcheck disable=SC2086
   gpuval run $options -- "$private/missing"
   exits 127
   # shellcheck disable=SC2086
   echo input | "$command" run $options -- cat >out
   [ "$(cat out)" = input ] || wrong 'the input has not reached the program'
done

begin 'error exit code'
run_scenario two_errors --checks bounds --error-exitcode 7
exits 7
two_errors err
run_scenario two_errors --checks bounds --error-exitcode=0
exits 0
run_scenario no_errors --checks bounds --error-exitcode 7
exits 0
last_line err 'gpuval: no errors'

begin 'error exit code and a variable that makes no sense'
for variable in GPUVAL=bounds,nonsense GPUVAL_SAFE=yes GPUVAL_REPORT=a.txt GPUVAL_SHADERS=missing; do
   export "${variable?}"
   run_scenario no_errors --error-exitcode 7
   unset "${variable%%=*}"
   exits 7
   lines err '^gpuval: error: ' 1
done

begin 'a file of an earlier run is gone when the program starts'
echo old >a.jsonl
echo old >log
gpuval run --report a.jsonl --log log --report b.csv -- sh -c 'ls'
lines out '^(a[.]jsonl|log|b[.]csv)$' 0
gpuval run --log /dev/null -- true
[ -c /dev/null ] || wrong '/dev/null is gone'
gpuval run --checks nonsense --report a.jsonl -- true
exits 2

begin 'error exit code and a report'
run_scenario two_errors --checks bounds --error-exitcode 7 --report a.jsonl --log log
exits 7
lines a.jsonl '' 3
two_errors log
[ "$(names .)" = 'a.jsonl err log out ' ] || wrong "the folder has: $(names .)"

begin 'error exit code and a warning'
export LP_NUM_THREADS=0
run_scenario warning --checks sync --error-exitcode 7
exits 0
last_line err 'gpuval: 0 errors (0 occurrences), 1 warning, 0 records lost'
export GPUVAL_STRICT=1
run_scenario warning --checks sync --error-exitcode 7
exits 7
unset GPUVAL_STRICT LP_NUM_THREADS

begin 'error exit code of a program that fails itself'
# shellcheck disable=SC2016 # for the inner shell
gpuval run --checks bounds --error-exitcode 7 -- sh -c '"$@"; exit 3' sh \
   "$runner" --child-only "$tests/two_errors.scn"
exits 3
two_errors err

begin 'error exit code of the second of two processes'
# shellcheck disable=SC2016
gpuval run --checks bounds --error-exitcode 7 -- \
   sh -c '"$1" --child-only "$2" && "$1" --child-only "$3"' sh \
   "$runner" "$tests/two_errors.scn" "$tests/no_errors.scn"
exits 7

# --- How the program ends ----------------------------------------------------

# Once the program is there, a signal that ./gpuval gets is the program's.
begin 'signals'
for signal in HUP INT QUIT TERM USR1 USR2; do
   rm -f there
   # shellcheck disable=SC2016 # for the inner shell
   env --default-signal=HUP,INT,QUIT,TERM,USR1,USR2 "$command" run -- sh -c '
      trap "kill \$!; exit 42" "$1"
      sleep 100 &
      touch there
      wait' sh "$signal" 2>err &
   process=$!
   wait_for there
   kill -s "$signal" "$process"
   wait "$process"
   status=$?
   exits 42
done

# Ended, it may stay as a zombie where process 1 reaps no others, as in a container.
lives() # PID
{
   read -r _ _ state _ <"/proc/$1/stat" || return 1
   [ "$state" != Z ]
} 2>/dev/null

# shellcheck disable=SC2016
begin 'a signal that nothing can catch'
"$command" run -- sh -c 'echo $$ >there.new && mv there.new there && exec sleep 100' &
process=$!
wait_for there
kill -s KILL "$process"
wait "$process" 2>/dev/null
tries=100
while lives "$(cat there)" && [ "$tries" -gt 0 ]; do
   tries=$((tries - 1))
   sleep 0.1
done
[ "$tries" -gt 0 ] || wrong 'the program lives on'

# shellcheck disable=SC2016
begin 'descriptors'
"$command" run -- sh -c 'cat <&3; cat' <<-EOF1 3<<-EOF2 >out
	stdin
EOF1
	three
EOF2
[ "$(cat out)" = 'three
stdin' ] || wrong "the program has read: $(cat out)"
"$command" run -- sh -c 'exit 3' <&-
status=$?
exits 3

# --- Nothing was checked -----------------------------------------------------

unchecked='gpuval: warning: no Vulkan device was created on this driver: nothing was checked'

only_unchecked() # FILE
{
   [ "$(cat "$1")" = "$unchecked" ] || wrong "$1 is: $(cat "$1")"
}

begin 'nothing was checked'
gpuval run -- echo text
exits 0
[ "$(cat out)" = text ] || wrong "the output is: $(cat out)"
only_unchecked err
gpuval run --error-exitcode 7 -- true
exits 7
only_unchecked err
gpuval run --error-exitcode 7 -- sh -c 'exit 3'
exits 3
only_unchecked err

begin 'nothing was checked: none were asked for'
gpuval run --checks none -- true
exits 0
[ "$(cat err)" = 'gpuval: warning: no checks were asked for: nothing was checked' ] ||
   wrong "the error is: $(cat err)"

begin 'nothing was checked: the driver lacks a library'
mkdir bin
printf '#!/bin/sh\necho "	libodd.so.3 => not found"\n' >bin/ldd
chmod +x bin/ldd
PATH="$PWD/bin:$PATH" "$command" run -- true 2>err
[ "$(cat err)" = "$unchecked
gpuval:    lavapipe needs libodd.so.3, which is not there" ] || wrong "the error is: $(cat err)"

begin 'nothing was checked: log to stdout'
gpuval run --log stdout -- echo text
empty err
[ "$(cat out)" = "text
$unchecked" ] || wrong "the output is: $(cat out)"

begin 'nothing was checked: log to a file'
echo 'gpuval: no errors' >log
gpuval run --log log -- true
empty out
empty err
only_unchecked log
GPUVAL_LOG=log.%p "$command" run -- true
one_name_like '^log[.][1-9][0-9]*$'
only_unchecked log.[1-9]*

begin 'nothing was checked: log that cannot be written'
GPUVAL_LOG=$private "$command" run -- true 2>err
only_unchecked err

begin 'nothing was checked: an instance, but no device'
gpuval run --checks bounds --error-exitcode 7 -- "$no_device"
exits 7
only_unchecked err

begin 'nothing was checked: another driver'
gpuval run --error-exitcode 7 -- env -u VK_DRIVER_FILES -u VK_ICD_FILENAMES -u GPUVAL \
   "VK_DRIVER_FILES=$icd/lvp_icd.test.json" "$runner" --child-only "$tests/two_errors.scn"
exits 7
only_unchecked err

begin 'nothing was checked: no such check'
GPUVAL=nonsense run_scenario two_errors --error-exitcode 7
exits 7
lines err "^$unchecked" 1
lines err '^gpuval: ' 2
lines err '^gpuval: error: GPUVAL: .*nonsense' 1

begin 'nothing was checked: a program that is killed'
# shellcheck disable=SC2016
gpuval run --error-exitcode 7 -- sh -c 'kill -KILL $$'
exits 137
lines err "^$unchecked" 1

# --- Several processes -------------------------------------------------------

begin 'a device in one of three processes'
# shellcheck disable=SC2016
gpuval run --checks bounds --error-exitcode 7 -- \
   sh -c '"$1"; "$2" --child-only "$3" & "$1"; wait' sh \
   "$no_device" "$runner" "$tests/no_errors.scn"
exits 0
[ "$(without_scope <err)" = 'gpuval: no errors' ] || wrong "the log is: $(cat err)"

begin 'an error in the child of a child'
# shellcheck disable=SC2016
gpuval run --checks bounds --error-exitcode 7 -- sh -c '(sh -c "\"\$@\"" sh "$@" & wait); true' sh \
   "$runner" --child-only "$tests/two_errors.scn"
exits 7
two_errors err

# Nothing is written at the end of a process that has none.
begin 'an error in a child that is killed'
sed 's/^dispatch 1$/&\nfinish abort/' "$tests/two_errors.scn" >two_errors.scn
# shellcheck disable=SC2016
gpuval run --checks bounds --error-exitcode 7 -- sh -c '"$@"; true' sh \
   "$runner" --child-only "$PWD/two_errors.scn"
exits 7
lines err '^gpuval: error: bounds/' 2

begin 'run within run'
gpuval run --checks bounds --error-exitcode 7 -- "$command" run -- \
   "$runner" --child-only "$tests/no_errors.scn"
exits 0
[ "$(without_scope <err)" = 'gpuval: no errors' ] || wrong "the log is: $(cat err)"
gpuval run --checks bounds --error-exitcode 7 -- "$command" run -- \
   "$runner" --child-only "$tests/two_errors.scn"
exits 7
two_errors err

begin 'nothing is left behind'
mkdir folder
TMPDIR=$PWD/folder gpuval run -- true
TMPDIR=$PWD/folder run_scenario two_errors --checks bounds --error-exitcode 7
[ -z "$(names folder)" ] || wrong "there is: $(names folder)"

begin 'a disk that is full is no missing device'
mkdir full
# shellcheck disable=SC2016 # of the inner shell
if unshare -m sh -c 'mount -t tmpfs -o size=4k none full && head -c 4096 /dev/zero >full/all' \
   2>/dev/null; then
   unshare -m sh -c 'mount -t tmpfs -o size=4k none full && head -c 4096 /dev/zero >full/all &&
      TMPDIR=$PWD/full exec "$@"' sh "$command" run --checks bounds -- \
      env TMPDIR="$private" "$runner" --child-only "$tests/two_errors.scn" >out 2>err
   lines err 'nothing can be written to .*/full. [(]is the disk full[?][)]' 1
   lines err 'no Vulkan device' 0
   lines err '^gpuval: error: bounds/buffer-oob' 2
   unshare -m sh -c 'mount -t tmpfs -o size=4k none full && head -c 4096 /dev/zero >full/all &&
      TMPDIR=$PWD/full exec "$@"' sh "$command" run --checks bounds --error-exitcode 7 -- \
      "$runner" --child-only "$tests/two_errors.scn" >out 2>err
   status=$?
   exits 2
   lines err 'is the disk full' 1
fi

# --- RADV ----------------------------------------------------------------------

# Its device is real, its GPU is not: nothing runs there.
if [ -n "$shim" ]; then
   begin 'RADV'
   gpuval run --driver radv --checks bounds --error-exitcode 7 -- \
      env LD_PRELOAD="$shim" AMDGPU_GPU_ID=navi31 "$runner" --child-only "$tests/no_errors.scn"
   exits 0
   last_line err 'gpuval: no errors'
   gpuval run --driver radv --checks bounds --error-exitcode 7 -- \
      env LD_PRELOAD="$shim" AMDGPU_GPU_ID=navi31 "$no_device"
   exits 7
   last_line err "$unchecked"
fi

finish
