#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The command `./gpuval`: run, env, and what it says to wrong arguments. It runs
# in a checkout of its own that is set up as far as it can see, with the drivers
# of this build: nothing is installed, built or downloaded.
#
#    command.sh RUNNER COMMAND LAVAPIPE

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

checkout=$private/checkout
command=$checkout/gpuval
prefix=$checkout/build/prefix
icd=$prefix/share/vulkan/icd.d

mkdir -p "$checkout/build/stamps" "$prefix/lib" "$icd" && cp "$2" "$command" &&
   cp -R "$(dirname "$2")/command" "$checkout" || exit 99
ln -s "$(absolute "$3")" "$prefix/lib/libvulkan_lvp.so"
for name in lvp radeon; do
   printf '{"file_format_version": "1.0.1",
 "ICD": {"api_version": "1.4.303", "library_path": "%s/lib/libvulkan_%s.so"}}\n' \
      "$prefix" "$name" >"$icd/${name}_icd.test.json"
done
touch "$checkout/build/stamps/ready"
unset VK_DRIVER_FILES VK_ICD_FILENAMES

gpuval() # ARGUMENT...
{
   "$command" "$@" >out 2>err
   status=$?
}

exits() # STATUS
{
   [ "$status" -eq "$1" ] || wrong "exited with $status instead of $1"
   [ "$status" -eq "$1" ] || show err
}

# --- Arguments -------------------------------------------------------------

begin 'help'
for arguments in --help -h help 'run --help' 'env --help' 'setup --help' 'demo --help' \
   'test --help' 'bench --help'; do
   # shellcheck disable=SC2086 # words
   gpuval $arguments
   exits 0
   empty err
   lines out '^usage: ./gpuval' 1
done
gpuval --help
for word in setup run demo test bench env; do
   lines out "^ *$word " 1 9
done

begin 'version'
gpuval --version
exits 0
lines out '^gpuval [0-9.]+ ' 1

refused() # WORD ARGUMENT...
{
   word=$1
   shift
   begin "refused: $*"
   gpuval "$@"
   exits 2
   empty out
   lines err '' 1
   lines err "$word" 1
}

refused 'command'
refused nonsense nonsense
refused nonsense --nonsense
refused nonsense run --nonsense -- true
refused nonsense run --nonsense=3 -- true
refused program run
refused program run --checks bounds --
refused checks run --checks
refused vulkan run --driver vulkan -- true
refused report.txt run --report report.txt -- true
refused 256 run --error-exitcode 256 -- true
refused abc run --error-exitcode abc -- true
refused nonsense env nonsense
refused nonsense env --nonsense
refused nonsense setup --nonsense
refused nonsense demo nonsense

# --- env -------------------------------------------------------------------

# shellcheck disable=SC2154 # GPUVAL_LOG and so on come from eval
value_of() # NAME, of what `gpuval env` has printed
{
   (eval "$(cat out)" && eval "printf '%s\n' \"\${$1-}\"")
}

is() # NAME VALUE
{
   [ "$(value_of "$1")" = "$2" ] || wrong "$1 is '$(value_of "$1")' instead of '$2'"
}

begin 'env'
gpuval env
exits 0
empty err
is GPUVAL basic
is GPUVAL_LOG ''
is VK_DRIVER_FILES "$icd/lvp_icd.test.json"
is VK_ICD_FILENAMES "$icd/lvp_icd.test.json"
is GPUVAL_PRINTF_PREFIX ''

begin 'env with everything'
gpuval env --checks bounds,assume --driver=radv --log "it's a log" --report a.jsonl \
   --report "$PWD/b c.csv" --shaders=rules --printf-prefix
exits 0
lines out "^export [A-Z_]+='" 7
is GPUVAL_PRINTF_PREFIX 1
is GPUVAL bounds,assume
is GPUVAL_LOG "$PWD/it's a log"
is GPUVAL_REPORT "$PWD/a.jsonl,$PWD/b c.csv"
is GPUVAL_SHADERS "$PWD/rules"
is VK_DRIVER_FILES "$icd/radeon_icd.test.json"

begin 'env for a shell'
gpuval env --checks bounds --log log
(eval "$(cat out)" && "$runner" --child-only "$tests/two_errors.scn" >program.out 2>&1)
two_errors log
empty program.out

# --- run -------------------------------------------------------------------

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
[ "$(cat err)" = 'gpuval: no errors' ] || wrong "the log is: $(cat err)"

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

begin 'error exit code and a report'
run_scenario two_errors --checks bounds --error-exitcode 7 --report a.jsonl --log log
exits 7
lines a.jsonl '' 3
two_errors log
[ "$(names .)" = 'a.jsonl err log out ' ] || wrong "the folder has: $(names .)"

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

finish
