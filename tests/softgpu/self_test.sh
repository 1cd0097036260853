#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The self-test of a device: what it says, and what is switched off, on a GPU that cannot do
# what is relied on.
#
#    self_test.sh RUNNER SOFTGPU SHIM SCENARIO

set -u

runner=$1
softgpu=$2
shim=$3
scenario=$4
private=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-self-test.XXXXXX") || exit 99
trap 'rm -rf "$private"' EXIT
# Its results are none of ours.
sed '/^check/d' "$scenario" >"$private/scenario.scn"

run() # LIBRARY [NAME=VALUE...]
{
   library=$1
   shift
   env LD_PRELOAD="$library" GPUVAL=bounds,sync "$@" "$runner" --kind monolithic --child-only \
      "$private/scenario.scn" >"$private/out" 2>&1
   status=$?
}

fail()
{
   echo "$*"
   grep -v '^DRM_IOCTL' "$private/out" | tail -n 20
   exit 1
}

expect() # COUNT TEXT: so many lines with it
{
   [ "$(grep -c "$2" "$private/out")" -eq "$1" ] || fail "there should be $1 lines with '$2'"
}

run "$softgpu"
[ "$status" -eq 0 ] || fail "the program fails"
expect 1 'self-test'
expect 1 'gpuval: note: self-test on .*: passed, .* ms'
expect 1 'gpuval: error: bounds/buffer-oob'

run "$softgpu" GPUVAL_SELF_TEST=0
expect 0 'self-test'
expect 1 'gpuval: error: bounds/buffer-oob'

run "$softgpu" GPUVAL=
expect 0 'gpuval'

for broken in add32 add64 or32,swap32 order; do
   run "$softgpu" SOFTGPU_BROKEN=$broken
   # Of the order nothing is known when the host was kept from looking in time, and the log says
   # that it has seen none.
   tries=1
   while [ "$broken" = order ] && [ $tries -lt 20 ] &&
      grep -q 'passed.*the host sees none of its reports' "$private/out"; do
      run "$softgpu" SOFTGPU_BROKEN=$broken
      tries=$((tries + 1))
   done
   [ "$status" -eq 0 ] || fail "the program fails with $broken"
   expect 1 'self-test'
   expect 1 'gpuval: warning: self-test on .*: nothing is checked'
   expect 0 'gpuval: error'
done

# What PCI Express has
run "$softgpu" SOFTGPU_BROKEN=or32
[ "$status" -eq 0 ] || fail "the program fails without atomic bits"
expect 1 'gpuval: note: self-test on .*: atomic bits get lost: compare-and-swap takes their place'
expect 1 'gpuval: note: self-test on .*: passed'
expect 1 'gpuval: error: bounds/buffer-oob'
expect 1 'gpuval:    compute shader'

run "$softgpu" SOFTGPU_BROKEN=swap32
expect 1 'self-test'
expect 1 'gpuval: note: self-test on .*: passed, .* ms'
expect 1 'gpuval: error: bounds/buffer-oob'

run "$softgpu" SOFTGPU_BROKEN=or64
expect 1 'self-test'
expect 1 'gpuval: warning: self-test on .*: atomic bits of 64 get lost: sync is not checked'
expect 1 'gpuval: error: bounds/buffer-oob'

# Submits do nothing there, and it does not wait for them.
run "$shim" GPUVAL_TEST_COMPILE_ONLY=1
[ "$status" -eq 0 ] || fail "the program fails on the shim"
expect 1 'self-test'
expect 1 'gpuval: note: self-test: nothing was executed on .*: it is no real GPU'

# Submits that do not end: so is the program's own, which is not waited for here.
run "$softgpu" SOFTGPU_BROKEN=hang GPUVAL_TEST_COMPILE_ONLY=1 SOFTGPU_LEAKS=0
expect 1 'gpuval: warning: self-test: it does not end: nothing is checked'

echo "the self-test says what a GPU can do"
