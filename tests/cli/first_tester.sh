#!/bin/sh
# SPDX-License-Identifier: MIT
#
# docs/radv.rst, "For the first tester", step by step, with the software GPU in the card's place
# and a program that computes in the place of one that draws
#
#    first_tester.sh RUNNER COMMAND NO_DEVICE LAVAPIPE RADV SOFTGPU DEMO...

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
softgpu=$(absolute "$6")
# shellcheck source-path=SCRIPTDIR source=checkout.sh
. "$(dirname "$0")/checkout.sh"

demos=$checkout/build/obj/src/gpuval/demos
mkdir -p "$demos" "$checkout/demos" && cp "$(dirname "$2")/demos/list" "$checkout/demos" || exit 99
game=$demos/demo-particles
shift 6
for demo; do
   ln -s "$(absolute "$demo")" "$demos"
done
touch "$checkout/build/stamps/ready" # newer than all of that

# Its card; draws do nothing.
unset GPUVAL_SELF_TEST
export LD_PRELOAD="$softgpu" SOFTGPU_BLIND=1 SOFTGPU_LEAKS=0

begin '1: doctor'
gpuval doctor
lines out '^radv, as ./gpuval run --driver radv' 1
lines out '^AMD GPUs' 1

begin '2: the demos'
gpuval doctor --collect FIRST.tar.gz
exits 0
# What the self-test says besides is a matter of time.
lines out '^   self-test on .*: passed, .* ms' 1 6
lines out '^   demo-particles: [1-9][0-9]* errors? .*, exit status: 0$' 1
lines out '^   demo-particles-fixed: no errors, exit status: 0$' 1
lines out '^   demo-[a-z]*-fixed: no errors' 3
tar -xzf FIRST.tar.gz
lines gpuval/demo-particles/log.txt '^gpuval: error: bounds/' 1
[ -s gpuval/demo-particles/report.jsonl ] || wrong 'there is no report'
[ -n "$(ls gpuval/demo-particles/dump)" ] || wrong 'there are no dumps'
lines gpuval/machine.txt '^gpuval ' 1

begin '3: a program without errors'
gpuval run --driver radv --checks bounds,assume --log a.txt -- "$game-fixed"
exits 0
lines a.txt 'error:' 0
last_line a.txt 'gpuval: no errors'

begin '4: a game'
files=$(gpuval env --driver radv && sed -n 's/^export VK_DRIVER_FILES=//p' out | tr -d "'\"")
[ -r "$files" ] || wrong "no driver is at '$files'"
for checks in bounds,assume basic sync; do
   GPUVAL=$checks GPUVAL_LOG=$PWD/$checks.%p.txt VK_DRIVER_FILES=$files "$game" >out 2>err ||
      wrong "the game ends with $? and $checks"
   [ -s "$(echo "$PWD/$checks".[0-9]*.txt)" ] || wrong "there is no log of $checks"
done
lines "$(echo "$PWD"/basic.[0-9]*.txt)" '^gpuval: error: bounds/' 1

begin '5: what is sent'
cp "$private"/4/basic.*.txt "$private/3/a.txt" .
gpuval doctor --collect ALL.tar.gz basic.*.txt a.txt
exits 0
tar -xzf ALL.tar.gz
[ -f gpuval/given/a.txt ] || wrong 'a log is missing'

begin 'without the self-test'
GPUVAL=bounds GPUVAL_SELF_TEST=0 VK_DRIVER_FILES=$files "$game" >out 2>err
lines err 'self-test' 0
lines err '^gpuval: error: bounds/' 1

begin 'its shaders'
mkdir dump
GPUVAL=bounds GPUVAL_DUMP=$PWD/dump VK_DRIVER_FILES=$files "$game" >out 2>err
[ -n "$(ls dump)" ] || wrong 'there are no dumps'
hash=$(sed -n 's/^gpuval:    compute shader \([0-9a-f]*\) .*/\1/p' err | head -n 1)
echo "$hash-$hash assume" >shaders
GPUVAL=bounds GPUVAL_SHADERS=shaders VK_DRIVER_FILES=$files "$game" >out 2>err
lines err '^gpuval: error: bounds/' 0

begin 'without checks'
VK_DRIVER_FILES=$files "$game" >out 2>err
lines err 'gpuval' 0

finish
