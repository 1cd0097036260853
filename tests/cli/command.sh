#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The command `./gpuval`: what it says to right and wrong arguments, and `env`.
#
#    command.sh RUNNER COMMAND NO_DEVICE LAVAPIPE [RADV SHIM]

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=checkout.sh
. "$(dirname "$0")/checkout.sh"

# --- Arguments -------------------------------------------------------------

begin 'help'
for arguments in --help -h help 'run --help' 'env --help' 'setup --help' 'demo --help' \
   'test --help' 'bench --help' 'report --help' 'anygpu --help' 'doctor --help' 'completion --help'; do
   # shellcheck disable=SC2086 # words
   gpuval $arguments
   exits 0
   empty err
   lines out '^usage: ./gpuval' 1
done
gpuval --help
for word in setup run demo test bench anygpu report env doctor completion; do
   lines out "^ *$word " 1 9
done

begin 'version'
gpuval --version
exits 0
lines out '^gpuval [0-9.]+ ' 1
version=$(cut -d ' ' -f 2 out)
lines "$tests/../../src/base/gpuval_version.h" "^#define GPUVAL_VERSION \"$version\"\$" 1

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
refused "unknown command 'reprot'; did you mean 'report'[?]" reprot
refused "unknown option '--bogus'" report --bogus
refused "unknown option '--chekcs'; did you mean '--checks'[?]" run --chekcs all -- true
refused "'--nonsense' .see" run --nonsense -- true
refused "[.]codequality[.]json; did you mean 'a[.]jsonl'[?]" run --report a.json -- true
refused "did you mean 'a[.]junit[.]xml'[?]" run --report a.xml -- true
refused "did you mean '[.]html'[?]" run --report a.htlm -- true
refused 'source-map is FROM=TO' run --source-map a -- true
refused 'source-map: a comma' run --source-map a=b,c -- true
refused program run
refused program run --checks bounds --
refused checks run --checks
refused "checks: ',' names no check" run --checks , -- true
refused vulkan run --driver vulkan -- true
refused report.txt run --report report.txt -- true
refused 256 run --error-exitcode 256 -- true
refused abc run --error-exitcode abc -- true
refused suppressions run --suppressions
refused "suppressions: there is no file 'missing'" run --suppressions missing -- true
refused "shaders: there is no file 'missing'" run --shaders missing -- true
refused 'shaders: .* is a folder' run --shaders /tmp -- true
refused 'log: .* is a folder' run --log /tmp -- true
refused 'log: .*/proc/self/log. cannot be written' run --log /proc/self/log -- true
refused 'report: .*/proc/self/a.csv. cannot be written' run --report /proc/self/a.csv -- true
refused 'coverage: .* is a folder' run --coverage /tmp -- true
refused 'coverage: .*passwd. is there, and no tracefile' run --coverage /etc/passwd -- true
refused 'coverage: .*/proc/self/a.info. cannot be written' run --coverage /proc/self/a.info -- true
refused 'checks: .*"bonds"; did you mean "bounds"[?] .*concurrency' run --checks bonds -- true
refused 'checks: .*"bonds"; did you mean "bounds"[?]' run --checks sync --checks=-bonds -- true
refused 'checks: .*"nonsense" .there are assume' run --checks nonsense -- true
refused comma run --suppressions a,b -- true
refused nonsense env nonsense
refused nonsense env --nonsense
refused 'checks: .*"bonds"; did you mean "bounds"[?]' env --checks bonds
refused nonsense setup --nonsense
refused nonsense demo nonsense
refused nonsense doctor nonsense
refused shell completion
refused nonsense completion nonsense

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

begin 'env with checks in several options'
gpuval env --checks basic --checks sync --checks=-export
is GPUVAL basic,sync,-export

begin 'env with everything'
touch rules a.supp b.supp
gpuval env --checks bounds,assume --driver=radv --log "it's a log" --report a.jsonl \
   --report "$PWD/b c.csv" --shaders=rules --printf-prefix --suppressions a.supp \
   --suppressions=b.supp --gen-suppressions --progress --backtrace
exits 0
lines out "^export [A-Z_]+='" 11
is GPUVAL_BACKTRACE 1
is GPUVAL_PROGRESS 1
is GPUVAL_SUPPRESSIONS "$PWD/a.supp,$PWD/b.supp"
is GPUVAL_GEN_SUPPRESSIONS 1
is GPUVAL_PRINTF_PREFIX 1
is GPUVAL bounds,assume
is GPUVAL_LOG "$PWD/it's a log"
is GPUVAL_REPORT "$PWD/a.jsonl,$PWD/b c.csv"
is GPUVAL_SHADERS "$PWD/rules"
is VK_DRIVER_FILES "$icd/radeon_icd.test.json"

begin 'env for OpenGL'
gpuval env --gl
is MESA_LOADER_DRIVER_OVERRIDE zink
is LIBGL_ALWAYS_SOFTWARE 1
gpuval env --gl --driver radv
is MESA_LOADER_DRIVER_OVERRIDE zink
is LIBGL_ALWAYS_SOFTWARE ''

begin 'env for a shell'
gpuval env --checks bounds --log log
(eval "$(cat out)" && "$runner" --child-only "$tests/two_errors.scn" >program.out 2>&1)
two_errors log
empty program.out

# --- Setting up ------------------------------------------------------------

# What goes wrong first is far enough.
begin 'a checkout that is not set up'
rm "$checkout/build/stamps/ready" && : >"$checkout/build/log"
for arguments in setup 'run true' env demo bench test; do
   # shellcheck disable=SC2086 # words
   gpuval $arguments
   exits 1
   empty out
   lines err '^gpuval: .* cannot be written to' 1
done

finish
