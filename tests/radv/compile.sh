#!/bin/sh
# SPDX-License-Identifier: MIT
#
# RADV makes code of the scenarios' shaders for a GPU that is not there, with
# ACO's validation of IR and register allocation, plain and instrumented:
#
#    compile.sh GPU RUNNER SHIM DRIVER CHECKS SCENARIO... [-- CHECKS SCENARIO...]...
#
# GPU is one of Mesa's drm-shim (polaris10), which is SHIM, or a family that only
# RADV's null winsys knows (gfx1201). GPUVAL_TEST_BRIEF: only the first of a scenario's
# kinds of pipelines. Fails when something does not compile, when
# ACO complains, when a shader with checks in it is not larger than without, or
# when it spills vector registers by hundreds where it did not before.
#
# GPUVAL_TEST_SYNC is the engine of sync.
#
# With GPUVAL_TEST_STATS=1 it prints what ACO says of both instead: per scenario
# instructions, VGPRs, SGPRs, latency and inverse throughput, plain and checked.

set -u

absolute() # FILE
{
   case $1 in
   /*) printf '%s\n' "$1" ;;
   *) printf '%s/%s\n' "$PWD" "$1" ;;
   esac
}

gpu=$1
runner=$2
shim=$(absolute "$3")
driver=$(absolute "$4")
shift 4

# What a developer's shell may have set would hold here, too.
for name in $(env | sed -nE 's/^((GPUVAL|RADV|ACO|NIR)[A-Z0-9_]*)=.*/\1/p'); do
   case $name in
   GPUVAL_TEST_*) ;;
   *) unset "$name" ;;
   esac
done

private=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-radv.XXXXXX") || exit 99
trap 'rm -rf "$private"' EXIT
trap 'exit 99' INT TERM HUP

printf '{"file_format_version": "1.0.1",
 "ICD": {"api_version": "1.4.303", "library_path": "%s"}}\n' "$driver" >"$private/icd.json"
export VK_DRIVER_FILES="$private/icd.json" VK_ICD_FILENAMES="$private/icd.json"
export VK_LOADER_LAYERS_DISABLE='~all~' MESA_SHADER_CACHE_DISABLE=true
export ACO_DEBUG=validateir,validatera RADV_DEBUG=shaderstats
# nothing is executed: memory would only be cleared
export GPUVAL_BLOOM_SIZE_LOG2=16 GPUVAL_SHADOW_SIZE=16777216
if [ -n "${GPUVAL_TEST_SYNC-}" ]; then
   export GPUVAL_SYNC="$GPUVAL_TEST_SYNC"
fi

export GPUVAL_TEST_COMPILE_ONLY=1
# The shim of Mesa 25.0 knows no GFX12, and since 26.0 there is nothing but the shim.
if grep -aqw "$gpu" "$shim"; then
   export AMDGPU_GPU_ID="$gpu"
   preload=$shim
else
   export RADV_FORCE_FAMILY="$gpu"
   preload=
fi

run() # FILE SIDE [GPUVAL=CHECKS]
{
   env ${preload:+"LD_PRELOAD=$preload"} ${3:+"$3"} "$runner" --child-only "$1" >"$private/$2" 2>&1
}

# Sums of ACO's statistics, registers as the most that a shader has: instructions
# VGPRs SGPRs latency inverse-throughput spilled-VGPRs
sum_stats() # SIDE
{
   awk -F': ' '
      $1 == "Instructions" { instructions += $2 }
      $1 == "VGPRs" && $2 > vgprs { vgprs = $2 }
      $1 == "Pre-Sched SGPRs" && $2 > sgprs { sgprs = $2 }
      $1 == "Latency" { latency += $2 }
      $1 == "Inverse Throughput" { inverse += $2 }
      $1 == "Spilled VGPRs" { spilled += $2 }
      END { print instructions + 0, vgprs + 0, sgprs + 0, latency + 0, inverse + 0, spilled + 0 }
   ' "$private/$1"
}

fail() # NAME TEXT
{
   echo "$1: $2"
   grep -v '^DRM_IOCTL' "$private/checked" | tail -n 5
   bad=$((bad + 1))
}

compare_stats() # the words of sum_stats, plain, then checked
{
   if [ "${GPUVAL_TEST_STATS-}" = 1 ]; then
      echo "$name $*"
   elif [ "$7" -lt "$1" ]; then
      fail "$name, $checks" "$7 instructions with checks, $1 without"
   elif [ "${12}" -gt $(($6 + 256)) ]; then
      fail "$name, $checks" "${12} spilled VGPRs with checks, $6 without"
   else
      [ "$7" -le "$1" ] || larger=$((larger + 1))
      good=$((good + 1))
   fi
}

# Without checks it is the same in each list.
run_plain() # FILE NAME
{
   if [ ! -f "$private/$2.status" ]; then
      run "$1" "$2.plain"
      echo "$?" >"$private/$2.status"
   fi
   read -r status <"$private/$2.status"
}

bad=0
good=0
larger=0
checks=$1
shift
for file do
   if [ "$file" = -- ]; then
      checks=
      continue
   elif [ -z "$checks" ]; then
      checks=$file
      continue
   fi
   name=${file##*/}
   name=${name%.scn}
   run_plain "$file" "$name"
   if [ "$status" -eq 77 ]; then
      echo "$name: not on this device"
      continue
   fi
   run "$file" checked "GPUVAL=$checks"
   checked_status=$?
   if [ "$status" -ne 0 ] || [ "$checked_status" -ne 0 ]; then
      fail "$name, $checks" "does not compile"
      continue
   fi
   # What RADV says of the limits of some checks is none.
   complaint=$(grep 'ACO ERROR\|validation failed\|gpuval: error\|gpuval: warning' "$private/checked" |
      grep -v 'on this driver' | head -n 1)
   if [ -n "$complaint" ]; then
      fail "$name, $checks" "$complaint"
      continue
   fi

   # shellcheck disable=SC2046 # words
   compare_stats $(sum_stats "$name.plain") $(sum_stats checked)
done

[ "${GPUVAL_TEST_STATS-}" != 1 ] || exit 0
if [ "$bad" -gt 0 ]; then
   echo "$bad scenarios are not as they should be on $gpu"
   exit 1
fi
[ "$good" -gt 0 ] || exit 77
if [ "$larger" -lt $((good / 2)) ]; then
   echo "only $larger of $good scenarios have checks in their code: is the driver patched?"
   exit 1
fi
echo "$good scenarios compile for $gpu, $larger of them with checks in their code"
