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

# Copies of a process find what others have left in the shim's memory, which is not what a self-test
# of a GPU expects that does nothing: alone() has it.
export GPUVAL_TEST_DRIVER="$driver" GPUVAL_SELF_TEST=0

complaints='ACO ERROR\|validation failed\|gpuval: error\|gpuval: warning'

# Runs the programs of LIST, a file a line, and sums up ACO's statistics, registers as the most that a
# shader has. A line each, of words, into STATS:
#
#    name status instructions VGPRs SGPRs latency inverse-throughput spilled-VGPRs complaint
run() # LIST STATS [GPUVAL=CHECKS]
{
   list=$1 stats=$2 setting=${3-}
   set --
   while read -r file; do
      set -- "$@" "$file"
   done <"$list"
   env ${preload:+"LD_PRELOAD=$preload"} ${setting:+"$setting"} "$runner" --each "$@" 2>&1 |
      awk -F': ' '
         $1 == "Instructions" { instructions += $2 }
         $1 == "VGPRs" && $2 > vgprs { vgprs = $2 }
         $1 == "Pre-Sched SGPRs" && $2 > sgprs { sgprs = $2 }
         $1 == "Latency" { latency += $2 }
         $1 == "Inverse Throughput" { inverse += $2 }
         $1 == "Spilled VGPRs" { spilled += $2 }
         # What RADV says of the limits of some checks is none.
         /ACO ERROR|validation failed|gpuval: error|gpuval: warning/ && !/on this driver/ {
            if (complaint == "")
               complaint = $0
         }
         $1 == "gpuval-scenario" && /\.scn [0-9]+$/ {
            count = split($2, words, " ")
            name = words[1]
            sub(".*/", "", name)
            sub("[.]scn$", "", name)
            print name, words[count], instructions + 0, vgprs + 0, sgprs + 0, latency + 0,
               inverse + 0, spilled + 0, complaint
            instructions = vgprs = sgprs = latency = inverse = spilled = 0
            complaint = ""
         }' >"$stats"
}

# What is made when a device is created has to compile, too, the shaders of the self-test among it.
alone() # FILE
{
   env ${preload:+"LD_PRELOAD=$preload"} GPUVAL=all GPUVAL_SELF_TEST=1 "$runner" --brief --child-only \
      "$1" >"$private/alone" 2>&1
   status=$?
   complaint=$(grep "$complaints" "$private/alone" | grep -v 'on this driver' | head -n 1)
   if [ $status -ne 0 ] || [ -n "$complaint" ]; then
      fail "$1, all" "exit status $status: $complaint"
   fi
}

fail() # NAME TEXT
{
   echo "$1: $2"
   bad=$((bad + 1))
}

# The files of each list of checks; without checks a file is the same in each.
number=0
checks=$1
shift
echo "$checks" >"$private/checks.0"
for file do
   if [ "$file" = -- ]; then
      number=$((number + 1))
      checks=
   elif [ -z "$checks" ]; then
      checks=$file
      echo "$checks" >"$private/checks.$number"
   else
      echo "$file" >>"$private/list.$number"
      echo "$file" >>"$private/list"
   fi
done
LC_ALL=C sort -u -o "$private/list" "$private/list"
run "$private/list" "$private/plain"

bad=0
good=0
larger=0
[ "${GPUVAL_TEST_STATS-}" = 1 ] || alone "${0%/*}/../scenarios/bounds_store.scn"
for number in $(seq 0 "$number"); do
   read -r checks <"$private/checks.$number"
   run "$private/list.$number" "$private/checked" "GPUVAL=$checks"
   [ "$(wc -l <"$private/checked")" -eq "$(wc -l <"$private/list.$number")" ] ||
      fail "$checks" "not all scenarios have ended"
   awk 'NR == FNR { plain[$1] = $1; for (i = 2; i <= 8; i++) plain[$1] = plain[$1] " " $i; next }
        { line = $0; sub("^[^ ]* ", "", line); print plain[$1], line }' \
      "$private/plain" "$private/checked" >"$private/both"
   while read -r name status i v s l t spills checked_status ci cv cs cl ct cspills complaint; do
      if [ "$status" -eq 77 ]; then
         echo "$name: not on this device"
      elif [ "$status" -ne 0 ] || [ "$checked_status" -ne 0 ]; then
         fail "$name, $checks" "does not compile: $complaint"
      elif [ -n "$complaint" ]; then
         fail "$name, $checks" "$complaint"
      elif [ "${GPUVAL_TEST_STATS-}" = 1 ]; then
         echo "$name $i $v $s $l $t $spills $ci $cv $cs $cl $ct $cspills"
      elif [ "$ci" -lt "$i" ]; then
         fail "$name, $checks" "$ci instructions with checks, $i without"
      elif [ "$cspills" -gt $((spills + 256)) ]; then
         fail "$name, $checks" "$cspills spilled VGPRs with checks, $spills without"
      else
         [ "$ci" -le "$i" ] || larger=$((larger + 1))
         good=$((good + 1))
      fi
   done <"$private/both"
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
