#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What RADV asks the kernel for with checks on: our buffers, where they have to be;
# every submit reaches them; they go with the device. And without memory for them:
# one warning, and the program runs on.
#
#    ioctls.sh IOCTLS RUNNER SHIM DRIVER SCENARIO

set -u

absolute() # FILE
{
   case $1 in
   /*) printf '%s\n' "$1" ;;
   *) printf '%s/%s\n' "$PWD" "$1" ;;
   esac
}

ioctls=$(absolute "$1")
runner=$2
shim=$(absolute "$3")
driver=$(absolute "$4")
scenario=$5

private=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-radv.XXXXXX") || exit 99
trap 'rm -rf "$private"' EXIT
printf '{"file_format_version": "1.0.1",
 "ICD": {"api_version": "1.4.303", "library_path": "%s"}}\n' "$driver" >"$private/icd.json"
# On the shim nothing is ever written.
sed '/^check/d' "$scenario" >"$private/scenario.scn"

run() # OUTPUT [NAME=VALUE...]
{
   output=$private/$1
   shift
   env VK_DRIVER_FILES="$private/icd.json" VK_ICD_FILENAMES="$private/icd.json" \
      VK_LOADER_LAYERS_DISABLE='~all~' MESA_SHADER_CACHE_DISABLE=true AMDGPU_GPU_ID=navi31 \
      LD_PRELOAD="$ioctls $shim" "$@" "$runner" --kind monolithic --child-only \
      "$private/scenario.scn" >"$output" 2>&1
}

fail()
{
   echo "$*"
   grep -v '^DRM_IOCTL' "$output" | tail -n 20
   exit 1
}

last() # WORD: what follows it where it was said last by the program itself
{
   sed -n "s/^$1 //p" "$output" | sort -n | tail -n 1
}

run off || fail "the program fails without checks"
grep -q '^ours' "$output" && fail "there are buffers of ours without checks"
leaked=$(last leaked)

run on GPUVAL=bounds || fail "the program fails with checks"
[ "$(grep -c '^ours' "$output")" -eq 8 ] ||
   fail "there should be seven buffers of ours, and that of the self-test"
[ "$(grep -c '^ours 1024$' "$output")" -eq 1 ] || fail "the root has 1024 bytes"
[ "$(grep -c '^ours 263168$' "$output")" -eq 2 ] || fail "there are two buffers of records"
for size in 4194304 8388608 33554432; do
   grep -q "^ours $size\$" "$output" || fail "no buffer of $size bytes"
done
submits=$(last submits)
[ "${submits% *}" -gt 0 ] || fail "there are no submits"
[ "${submits#* }" -eq 0 ] || fail "submits do not reach our buffers"
[ "$(last leaked)" -eq "$leaked" ] || fail "buffers are leaked"
grep -q '^gpuval: no errors' "$output" || fail "there is no summary"

run none GPUVAL=bounds GPUVAL_TEST_FAIL=1 || fail "the program fails without memory for us"
[ "$(grep -c 'gpuval: warning: no memory for the buffers' "$output")" -eq 1 ] ||
   fail "there should be one warning"
[ "$(last leaked)" -eq "$leaked" ] || fail "buffers are leaked without memory"

run both GPUVAL=bounds RADV_DEBUG=gpuval || fail "RADV_DEBUG=gpuval beside GPUVAL"
run flag RADV_DEBUG=gpuval || fail "RADV_DEBUG=gpuval"
grep -q '^ours' "$output" || fail "RADV_DEBUG=gpuval does not switch checks on"
echo "our buffers are where they should be"
