#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What checks make of shaders that were not written to be checked, by ACO's statistics, for
# GPUs that need not be there:
#
#    radv_corpus.sh BENCH DEMOS SHIM DRIVER [GPU]...
#
# BENCH is gpuval-bench, of which it takes the workloads' shaders, DEMOS the folder with the
# demos (without their bugs). Where piglit is installed, its tests of buffers go through the
# system's zink. Through BENCH-spirv go the SPIR-V that Mesa makes for itself, beside DRIVER,
# and what packages have installed: *.spv below /usr, or below the folder GPUVAL_BENCH_SPIRV.
# A table row a GPU and check: of all shaders the geometric mean of checked over
# plain (registers: the mean of what is more), and how many lose occupancy. A shader with
# nothing in it to check counts as well.

set -u

bench=$1
demos=$2
shim=$3
driver=$4
shift 4
[ $# -gt 0 ] || set -- polaris10 vega10 navi10 navi21 navi31

piglit=/usr/lib/$(uname -m)-linux-gnu/piglit
[ -d "$piglit" ] || piglit=/usr/lib/piglit
spirv=${GPUVAL_BENCH_SPIRV:-/usr}

for name in $(env | sed -nE 's/^((GPUVAL|RADV|ACO|NIR)[A-Z0-9_]*)=.*/\1/p'); do
   unset "$name"
done

folder=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-corpus.XXXXXX") || exit 99
trap 'rm -rf "$folder"' EXIT
trap 'exit 99' INT TERM HUP

printf '{"file_format_version": "1.0.1",
 "ICD": {"api_version": "1.4.303", "library_path": "%s"}}\n' "$driver" >"$folder/icd.json"
printf x >"$folder/stdin" # of the benchmark: one round
export VK_DRIVER_FILES="$folder/icd.json" VK_ICD_FILENAMES="$folder/icd.json"
export VK_LOADER_LAYERS_DISABLE='~all~' MESA_SHADER_CACHE_DISABLE=true
export RADV_DEBUG=shaderstats GPUVAL_SELF_TEST=0 GPUVAL_LOG=/dev/null
# What is defined as robust is code, too.
export GPUVAL_ROBUST=1
export MESA_LOADER_DRIVER_OVERRIDE=zink ZINK_DEBUG=nobgc PIGLIT_PLATFORM=surfaceless_egl

# One line a shader: stage, instructions, latency, VGPRs, SGPRs, waves, bytes
shaders() # GPUVAL=CHECKS|-u PROGRAM...
{
   setting=$1
   shift
   { env AMDGPU_GPU_ID="$gpu" LD_PRELOAD="$shim" ${setting:+"$setting"} \
      timeout 300 "$@" <"$folder/stdin" 3>/dev/null; } 2>&1 | awk -F': ' '
      / Shader.*:$/ { stage = $0; gsub(/[ :]/, "", stage) }
      $1 == "SGPRs" || $1 == "Pre-Sched SGPRs" { sgprs = $2 }
      $1 == "VGPRs" { vgprs = $2 }
      $1 == "Code size" { bytes = $2 }
      $1 == "Subgroups per SIMD" { waves = $2 }
      $1 == "Instructions" { instructions = $2 }
      $1 == "Latency" { latency = $2 }
      $0 ~ /^\*\*\*\*\*\*\*\*/ { print stage, instructions, latency, vgprs, sgprs, waves, bytes }'
}

# Programs compile one shader after the other, so both sides have the same order.
compare() # PART PROGRAM...
{
   part=$1
   shift
   shaders "" "$@" >"$folder/plain"
   shaders "GPUVAL=$checks" "$@" >"$folder/checked"
   if [ "$(cut -d' ' -f1 "$folder/plain")" = "$(cut -d' ' -f1 "$folder/checked")" ]; then
      paste -d' ' "$folder/plain" "$folder/checked" | sed "s/^/$part /" >>"$folder/pairs"
   else
      left_out=$((left_out + 1))
   fi
}

piglit_tests()
{
   [ -x "$piglit/bin/shader_runner" ] || return
   find "$piglit/tests/spec" -name '*.shader_test' | grep -E \
      'arb_(shader_storage_buffer_object|compute_shader|shader_image_load_store)/execution|ubo_array_indexing|glsl-1.[45]0/uniform_buffer' |
      LC_ALL=C sort
}

mesa_spirv()
{
   find "${driver%/*}/bvh" "${driver%/*/*/*}/vulkan/runtime" -name '*.spv.h' | LC_ALL=C sort
}

installed_spirv()
{
   find "$spirv" -type f -name '*.spv' 2>/dev/null | LC_ALL=C sort
}

echo "RADV: what ACO makes of shaders with checks, over plain"
printf '%-10s %-8s %-8s %7s %12s %8s %10s %6s %6s %18s\n' GPU checks shaders number \
   instructions latency 'code size' VGPRs SGPRs 'lose occupancy'
for gpu; do
   for checks in assume bounds address; do
      : >"$folder/pairs"
      left_out=0
      for file in $(mesa_spirv); do
         compare mesa "$bench-spirv" "$file"
      done
      if [ "$checks" != address ]; then # of Mesa's own, nearly all there is to check
         for file in $(installed_spirv); do
            compare packages "$bench-spirv" "$file"
         done
         for name in $("$bench" --list | awk '{ print $1 }' | grep -v "^sync-"); do
            compare bench "$bench" --worker "$name" --time-limit 60
         done
         for program in "$demos"/demo-*-fixed; do
            compare demos "$program"
         done
      fi
      if [ "$checks" = bounds ]; then
         for test in $(piglit_tests); do
            compare piglit "$piglit/bin/shader_runner" "$test" -auto -fbo
         done
      fi
      awk -v gpu="$gpu" -v checks="$checks" -v left_out="$left_out" '
         {
            for (i = 0; i < 2; i++) {
               part = i ? "all" : $1
               count[part]++
               instructions[part] += log($10 / $3)
               latency[part] += log($11 / $4)
               bytes[part] += log($15 / $8)
               vgprs[part] += $12 - $5
               sgprs[part] += $13 - $6
               lost[part] += $14 < $7
            }
         }
         END {
            n = split("bench demos piglit mesa packages all", parts, " ")
            for (i = 1; i <= n; i++) {
               p = parts[i]
               if (c = count[p])
                  printf "%-10s %-8s %-8s %7d %12.2f %8.2f %10.2f %+6.1f %+6.1f %10d (%4.1f%%)\n",
                     gpu, checks, p, c, exp(instructions[p] / c), exp(latency[p] / c),
                     exp(bytes[p] / c), vgprs[p] / c, sgprs[p] / c, lost[p], 100 * lost[p] / c
            }
            if (left_out)
               printf "%-10s %-8s %d programs left out: not the same shaders\n", gpu, checks, left_out
         }' "$folder/pairs"
   done
done
