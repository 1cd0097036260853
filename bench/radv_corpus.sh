#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What checks make of shaders that were not written to be checked, by ACO's code, for GPUs that
# need not be there:
#
#    radv_corpus.sh BENCH DEMOS SHIM DRIVER [GPU]...
#
# BENCH is gpuval-bench, of which it takes the workloads' shaders, DEMOS the folder with the
# demos (without their bugs). Where piglit is installed, its tests of buffers go through the
# system's zink. Through BENCH-spirv go the SPIR-V that Mesa makes for itself, beside DRIVER,
# and *.spv below the folders of GPUVAL_BENCH_SPIRV, which is /usr (amber.py fills a folder).
# GPUVAL_BENCH_CHECKS are the sets of checks, `basic` and what it consists of among them.
# A table row a GPU and set: of all shaders the geometric mean of checked over
# plain (registers: the mean of what is more), and how many lose occupancy. "Executed" are
# instructions that are executed although nothing fails (radv_path.py). A shader with
# nothing in it to check counts as well.

set -u

bench=$1
demos=$2
shim=$3
driver=$4
shift 4
[ $# -gt 0 ] || set -- navi21 navi31

here=$(dirname "$0")
piglit=/usr/lib/$(uname -m)-linux-gnu/piglit
[ -d "$piglit" ] || piglit=/usr/lib/piglit
spirv=${GPUVAL_BENCH_SPIRV:-/usr}
all_checks=${GPUVAL_BENCH_CHECKS:-assume bounds descriptor address export array loop basic sync init all}

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
export RADV_DEBUG=shaderstats,asm GPUVAL_SELF_TEST=0 GPUVAL_LOG=/dev/null
export GPUVAL_TEST_MARK_FAILURES=1
# What is defined as robust is code, too.
export GPUVAL_ROBUST=1
# Nothing is executed: memory would only be cleared.
export GPUVAL_BLOOM_SIZE_LOG2=16 GPUVAL_SHADOW_SIZE=16777216
export MESA_LOADER_DRIVER_OVERRIDE=zink ZINK_DEBUG=nobgc PIGLIT_PLATFORM=surfaceless_egl

# One line a shader: radv_path.py
shaders() # GPUVAL=CHECKS|"" PROGRAM...
{
   setting=$1
   shift
   # Mesa 25's shim knows no GFX12, but its null winsys does.
   if grep -aqw "$gpu" "$shim"; then
      device=AMDGPU_GPU_ID=$gpu preload=LD_PRELOAD=$shim
   else
      device=RADV_FORCE_FAMILY=$gpu preload=
   fi
   { env "$device" ${preload:+"$preload"} ${setting:+"$setting"} \
      timeout 300 "$@" <"$folder/stdin" 3>/dev/null; } 2>&1 | python3 "$here/radv_path.py"
}

# Programs compile one shader after the other, so both sides have the same order. Without checks
# each runs once for a GPU.
compare() # PART PROGRAM...
{
   part=$1
   shift
   number=$((number + 1))
   [ -f "$folder/$gpu.$number" ] || shaders "" "$@" >"$folder/$gpu.$number"
   shaders "GPUVAL=$checks" "$@" >"$folder/checked"
   if [ "$(cut -d' ' -f1 "$folder/$gpu.$number")" = "$(cut -d' ' -f1 "$folder/checked")" ]; then
      paste -d' ' "$folder/$gpu.$number" "$folder/checked" | sed "s/^/$part /" >>"$folder/pairs"
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
   # shellcheck disable=SC2086 # words
   find $spirv -type f -name '*.spv' 2>/dev/null | LC_ALL=C sort
}

compare_files() # PART; names of files come in
{
   while read -r one; do
      set -- "$@" "$one"
      [ $# -lt 17 ] || { compare_some "$@"; set -- "$1"; }
   done
   [ $# -eq 1 ] || compare_some "$@"
}

compare_some() # PART FILE...
{
   of=$1
   shift
   compare "$of" "$bench-spirv" "$@"
}

echo "RADV: what ACO makes of shaders with checks, over plain"
printf '%-8s %-10s %-8s %7s %12s %8s %8s %10s %6s %6s %18s\n' GPU checks shaders number \
   instructions executed latency 'code size' VGPRs SGPRs 'lose occupancy'
mesa_spirv >"$folder/mesa"
installed_spirv >"$folder/packages"
for gpu; do
   for checks in $all_checks; do
      : >"$folder/pairs"
      left_out=0
      number=0
      compare_files spirv <"$folder/packages"
      for name in $("$bench" --list | awk '{ print $1 }' | grep -v "^sync-"); do
         compare bench "$bench" --worker "$name" --time-limit 60
      done
      for program in "$demos"/demo-*-fixed; do
         compare demos "$program"
      done
      case $checks in
      # Of Mesa's own, addresses are nearly all there is to check.
      address) compare_files mesa <"$folder/mesa" ;;
      bounds | basic)
         for test in $(piglit_tests); do
            compare piglit "$piglit/bin/shader_runner" "$test" -auto -fbo
         done
         ;;
      esac
      awk -v gpu="$gpu" -v checks="$checks" -v left_out="$left_out" '
         {
            for (i = 0; i < 2; i++) {
               part = i ? "all" : $1
               count[part]++
               instructions[part] += log($11 / $3)
               executed[part] += log($12 / $4)
               vgprs[part] += $13 - $5
               sgprs[part] += $14 - $6
               lost[part] += $15 < $7
               latency[part] += log($16 / $8)
               bytes[part] += log($17 / $9)
            }
         }
         END {
            n = split("spirv bench demos piglit mesa all", parts, " ")
            for (i = 1; i <= n; i++) {
               p = parts[i]
               if (c = count[p])
                  printf "%-8s %-10s %-8s %7d %12.2f %8.2f %8.2f %10.2f %+6.1f %+6.1f %10d (%4.1f%%)\n",
                     gpu, checks, p, c, exp(instructions[p] / c), exp(executed[p] / c),
                     exp(latency[p] / c), exp(bytes[p] / c), vgprs[p] / c, sgprs[p] / c, lost[p],
                     100 * lost[p] / c
            }
            if (left_out)
               printf "%-8s %-10s %d programs left out: not the same shaders\n", gpu, checks, left_out
         }' "$folder/pairs"
   done
done
