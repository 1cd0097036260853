#!/bin/sh
# SPDX-License-Identifier: MIT
#
# docs/radv.rst, "For the first tester", with the software GPU in the card's place and demos in
# that of what needs a screen. Commands and lines of the log are taken from the page: what it
# says in ``…`` is either followed here or known as a mere word.
#
#    first_tester.sh RUNNER COMMAND NO_DEVICE LAVAPIPE RADV SOFTGPU SHIM DEMO...

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
page=$(dirname "$(absolute "$2")")/docs/radv.rst
softgpu=$(absolute "$6")
shim=$(absolute "$7")
# shellcheck source-path=SCRIPTDIR source=checkout.sh
. "$(dirname "$0")/checkout.sh"

demos=$checkout/build/obj/src/gpuval/demos
mkdir -p "$demos" "$checkout/demos" && cp "$(dirname "$2")/demos/list" "$checkout/demos" || exit 99
shift 7
for demo; do
   ln -s "$(absolute "$demo")" "$demos"
done
touch "$checkout/build/stamps/ready" # newer than all of that
computes=$demos/demo-particles
draws=$demos/demo-tonemap

# Its card, and a home where nothing is yet
unset GPUVAL_SELF_TEST
root=$private/root
render=$root/sys/class/drm/renderD128/device
mkdir -p "$render" "$root/dev/dri" "$private/home" && echo 0x1002 >"$render/vendor" || exit 99
touch "$root/dev/dri/renderD128"
export MESA_SHADER_CACHE_DIR="$private/home/.cache" # where the software GPU looks, too
export GPUVAL_TEST_ROOT="$root" HOME="$private/home" LD_PRELOAD="$softgpu" SOFTGPU_LEAKS=0

# --- The page ---

sed -n '/^For the first tester$/,/^What has been tried/p' "$page" >"$private/section"
# On one line, and what it has in ``…`` or as commands of their own
tr '\n' ' ' <"$private/section" | sed 's/  */ /g' >"$private/text"
{
   # shellcheck disable=SC2016 # no commands
   grep -o '``[^`]*``' "$private/text" | sed 's/``//g'
   sed -n '/::$/,/^ *[0-9]\. \|^[^ ]/s/^      \([^ ].*\)/\1/p' "$private/section"
} >"$private/literals"
: >"$private/followed"

# The page has this text.
says() # TEXT
{
   grep -qF -e "$1" "$private/text" || wrong "the page does not say: $1"
}

follows() # LITERAL...
{
   for literal; do
      grep -qxF -e "$literal" "$private/literals" || wrong "the page does not have: $literal"
      printf '%s\n' "$literal" >>"$private/followed"
   done
}

# Runs a command of the page in the checkout. @program takes the place of what SED says.
do_as_told() # LITERAL [SED]
{
   follows "$1"
   told=$(printf '%s\n' "$1" | sed "${2:-}")
   here=$PWD
   (cd "$checkout" && eval "$told") >"$here/out" 2>"$here/err"
   status=$?
}

# The program's log has the line that the page shows, so many times.
logged() # FILE LITERAL COUNT
{
   follows "$2"
   pattern=$(printf '%s\n' "$2" | sed 's/CARD/.*/g; s/ *…/.*/g')
   lines "$1" "^gpuval: $pattern" "$3"
}

# --- Step by step ---

begin '1: setup and doctor'
follows './gpuval setup'
# That is how the checkout has come to be.
do_as_told './gpuval doctor'
exits 0
lines out '^radv, as ./gpuval run --driver radv' 1
lines out '^   /dev/dri/renderD128$' 1
says 'where the card is, and that you may use it'
rm "$root/dev/dri/renderD128"
gpuval doctor
lines out '^   /dev/dri/renderD128, which .* may not use \(Debian: group render\)$' 1

begin '2: the demos'
export GPUVAL_TEST_PATIENCE=120 # for a busy machine
do_as_told './gpuval doctor --collect FIRST.tar.gz'
exits 0
lines out '^   self-test on .*: passed; while work runs, the host sees .*, the GPU .*' 1 4
for demo in particles skinning tonemap; do
   follows "demo-$demo"
   lines out "^   demo-$demo: [1-9][0-9]* errors? .*, exit status: 0$" 1
   lines out "^   demo-$demo-fixed: no errors, exit status: 0$" 1
done
follows 'demo-…-fixed'
lines out '^   demo-' 6
lines err 'FIRST.tar.gz has all of it: look at what you send' 1
tar -xzf "$checkout/FIRST.tar.gz"
for file in doctor.txt machine.txt cards.txt kernel.txt environment.txt result.txt; do
   lines "gpuval/$file" '^exit status: ' 1
done
lines gpuval/machine.txt '^gpuval ' 1
lines gpuval/demo-particles/log.txt '^gpuval: error: bounds/' 1
[ -s gpuval/demo-particles/report.jsonl ] || wrong 'there is no report'
[ -n "$(ls gpuval/demo-particles/dump)" ] || wrong 'there are no dumps'

# The self-test itself gives up after two seconds.
says 'Takes a minute at most'
says 'What hangs is ended'
for patience in 6 60; do
   GPUVAL_TEST_PATIENCE=$patience SOFTGPU_BROKEN=hang gpuval doctor --collect HANG.tar.gz
   ! grep -q 'self-test: it does not end' out || break
done
exits 0
lines out '^   self-test: it does not end: nothing is checked$' 1
lines out '^   demo-.*, exit status: 124: it did not end$' 2
lines out '^   demo-.*: no log, exit status: 125: left out, as others did not end$' 4

begin '3: a program without errors'
do_as_told './gpuval run --driver radv --checks bounds,assume --log a.txt -- vkcube --c 500' \
   "s,vkcube.*,$draws-fixed,"
exits 0
lines "$checkout/a.txt" 'error:' 0
last_line "$checkout/a.txt" 'gpuval: no errors'
follows a.txt

begin '4: a game'
do_as_told './gpuval env --driver radv'
files=$(sed -n 's/^export VK_DRIVER_FILES=//p' out | tr -d "'\"")
[ -r "$files" ] || wrong "no driver is at '$files'"
follows '--checks bounds,assume' bounds,assume basic sync
for game in "$computes" "$draws"; do
   for checks in bounds,assume basic sync; do
      do_as_told 'GPUVAL=bounds,assume GPUVAL_LOG=/tmp/gpuval.%p.txt VK_DRIVER_FILES=… %command%' \
         "s|=bounds,assume|=$checks|; s|/tmp/|$PWD/$checks.|; s|…|$files|; s|%command%|$game|"
      exits 0
   done
done
[ "$(names . | wc -w)" -eq 8 ] || wrong "not a log each: $(names .)" # out and err are two
# shellcheck disable=SC2012,SC2046 # two names without blanks
lines $(ls -t basic.*.txt | tail -n 1) '^gpuval: error: bounds/' 1
mkdir logs && cp ./*.txt logs

begin '5: what is sent'
do_as_told './gpuval doctor --collect ALL.tar.gz /tmp/gpuval.*.txt' \
   "s,/tmp/gpuval.*,$private/$((case_number - 1))/logs/*,"
exits 0
tar -xzf "$checkout/ALL.tar.gz"
[ "$(names gpuval/given | wc -w)" -eq 6 ] || wrong "given: $(names gpuval/given)"

# --- What the log says first ---

# with NAME=VALUE...: the demo that computes, with all checks of the table
with()
{
   env GPUVAL=bounds,sync VK_DRIVER_FILES="$files" "$@" "$computes" >out 2>err
   status=$?
}

passed='note: self-test on CARD: passed …'
swaps='…: compare-and-swap takes their place'
nothing='warning: self-test …: nothing is checked'
no_sync='…: sync is not checked'
not_run='note: …: nothing was executed'

begin 'the self-test'
for mode in '' busy views prompt busy,views; do
   with SOFTGPU_MODE=$mode
   exits 0
   logged err "$passed" 1
   lines err 'self-test' 1
   lines err '^gpuval: error: bounds/' 1
done
says 'whether the host sees reports while work runs'

begin 'without atomic bits'
with SOFTGPU_BROKEN=or32
logged err "$swaps" 1
lines err '^gpuval: error: bounds/' 1

begin 'what nothing works without'
for broken in add32 add64 or32,swap32; do
   with SOFTGPU_BROKEN=$broken
   exits 0
   logged err "$nothing" 1
   lines err "self-test on .*: (atomic additions|atomic bits) get lost: " 1
   lines err '^gpuval: error' 0
done

begin 'without bits of 64'
with SOFTGPU_BROKEN=or64
exits 0
logged err "$no_sync" 1
lines err '^gpuval: error: bounds/' 1
lines err 'sync/' 0

begin 'no real GPU'
with LD_PRELOAD="$shim"
logged err "$not_run" 1

# --- Trouble ---

begin 'without the self-test'
follows GPUVAL_SELF_TEST=0 GPUVAL=assume
with GPUVAL_SELF_TEST=0
lines err 'self-test' 0
lines err '^gpuval: error: bounds/' 1
with GPUVAL=assume
lines err '^gpuval: error:' 0
lines err '^gpuval: no errors(:|$)' 1

# The first submit is the self-test's.
begin 'the device is lost'
says 'programs lose their device, and what was found by then is in the log'
with SOFTGPU_MODE=lost=1
logged err "$nothing" 1
with SOFTGPU_MODE=lost=3
lines err '^softgpu: the device is lost$' 1
lines err '^gpuval: error: bounds/' 1
tail -n 1 err >end
lines end '^gpuval: 2 errors \([1-9][0-9]* occurrences\)' 1
lines err '^gpuval: error: hang/device-lost: ' 1
follows GPUVAL_BREADCRUMBS=1
with SOFTGPU_MODE=lost=3 GPUVAL_BREADCRUMBS=1
lines err '^gpuval: error: hang/device-lost: ' 1

begin 'its shaders'
follows GPUVAL_SHADERS GPUVAL_DUMP=FOLDER
mkdir dump
with GPUVAL_DUMP="$PWD/dump"
[ -n "$(ls dump)" ] || wrong 'there are no dumps'
hash=$(sed -n 's/^gpuval:    compute shader \([0-9a-f]*\) .*/\1/p' err | head -n 1)
echo "$hash-$hash assume" >shaders
with GPUVAL_SHADERS=shaders
lines err '^gpuval: error: bounds/' 0

begin 'nothing stays behind'
says "without \`\`GPUVAL\`\`, \`\`RADV_DEBUG\`\` and \`\`VK_DRIVER_FILES\`\`"
[ -z "$(find "$HOME" -name '*gpuval*')" ] || wrong "in the home: $(find "$HOME" -name '*gpuval*')"
VK_DRIVER_FILES=$files "$computes" >out 2>err
lines err 'gpuval' 0
RADV_DEBUG=gpuval VK_DRIVER_FILES=$files "$computes" >out 2>err
lines err '^gpuval: error: bounds/' 1

begin 'the page'
follows 'AMDGPU_GPU_ID=navi31' LD_PRELOAD
for word in '%p' GPUVAL RADV_DEBUG VK_DRIVER_FILES dmesg render 'ring gfx timeout' \
   'rm -r build' 'softgpu first tester'; do
   follows "$word"
done
sort -u "$private/literals" | while read -r literal; do
   grep -qxF -e "$literal" "$private/followed" || echo "$literal"
done >left
[ ! -s left ] || wrong "the page says more than is followed here:"
show left

finish
