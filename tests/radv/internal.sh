#!/bin/sh
# SPDX-License-Identifier: MIT
#
# RADV's own SPIR-V, which builds acceleration structures, is left alone unless
# GPUVAL has `internal`.
#
#    internal.sh RUNNER SHIM DRIVER SCENARIO

set -u

absolute() # FILE
{
   case $1 in
   /*) printf '%s\n' "$1" ;;
   *) printf '%s/%s\n' "$PWD" "$1" ;;
   esac
}

runner=$1
shim=$(absolute "$2")
driver=$(absolute "$3")
scenario=$4

private=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-radv.XXXXXX") || exit 99
trap 'rm -rf "$private"' EXIT
printf '{"file_format_version": "1.0.1",
 "ICD": {"api_version": "1.4.303", "library_path": "%s"}}\n' "$driver" >"$private/icd.json"
# On the shim nothing is ever written.
sed '/^check/d' "$scenario" >"$private/scenario.scn"

fail() # NAME TEXT
{
   echo "$1: $2"
   grep -v '^DRM_IOCTL' "$private/$1.out" | tail -n 20
   exit 1
}

run() # NAME CHECKS
{
   mkdir "$private/$1"
   env VK_DRIVER_FILES="$private/icd.json" VK_ICD_FILENAMES="$private/icd.json" \
      VK_LOADER_LAYERS_DISABLE='~all~' MESA_SHADER_CACHE_DISABLE=true AMDGPU_GPU_ID=navi31 \
      ACO_DEBUG=validateir,validatera LD_PRELOAD="$shim" GPUVAL="$2" GPUVAL_DUMP="$private/$1" \
      "$runner" --kind monolithic --child-only "$private/scenario.scn" >"$private/$1.out" 2>&1 ||
      fail "$1" "the program fails"
   if grep -q 'ACO ERROR\|validation failed\|gpuval: error\|gpuval: warning' "$private/$1.out"; then
      fail "$1" "the log has complaints"
   fi
}

shaders() # NAME: those that were looked at
{
   find "$private/$1" -name '*.before.nir' -exec basename {} \; | sed 's/\..*//' | sort -u
}

run without bounds,assume,printf
run with bounds,assume,printf,internal
run again bounds,internal,assume,-internal,printf

count=$(shaders without | wc -l)
[ "$count" -gt 0 ] || fail without "nothing is checked"
[ "$(shaders again)" = "$(shaders without)" ] || fail again "-internal does not switch it off"
internal=$(($(shaders with | wc -l) - count))
[ "$internal" -gt 0 ] || fail with "no shader of RADV's own is checked"
echo "$count shaders of the application, $internal of RADV's own"
