# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# `gpuval bench`.

command_bench()
{
   if [ "${1-}" = card ] && [ $# -le 2 ]; then # the loader's variables are the user's
      ensure_setup
      bench_card "${2-9}"
      exit
   fi
   spirv=${GPUVAL_BENCH_SPIRV-} checks=${GPUVAL_BENCH_CHECKS-}
   clean_environment
   export GPUVAL_BENCH_SPIRV="$spirv" GPUVAL_BENCH_CHECKS="$checks"
   ensure_setup
   GPUVAL_BENCH_ICD=$(icd_file lavapipe)
   export GPUVAL_BENCH_ICD
   case $*/$# in
   radv/1 | radv\ */2)
      bench_radv "${2-navi31}"
      exit
      ;;
   reports/1)
      bench_reports
      exit
      ;;
   compile/1 | compile\ */*)
      shift
      bench_compile "$@"
      exit
      ;;
   game/1 | game\ */*)
      shift
      export VK_DRIVER_FILES="$GPUVAL_BENCH_ICD"
      unset GPUVAL_BENCH_SPIRV GPUVAL_BENCH_CHECKS GPUVAL_BENCH_ICD # no variables of gpuval's
      exec "$root/bench/game.sh" "$@"
      ;;
   '--section printf/2' | '--section=printf/1') ;;
   */0)
      "$obj/src/gpuval/bench/gpuval-bench" || exit
      bench_radv navi31 || exit
      bench_reports
      ;;
   *) exec "$obj/src/gpuval/bench/gpuval-bench" "$@" ;;
   esac
   exec "$obj/src/gpuval/bench/gpuval-bench-printf"
}

# What ACO says of shaders with checks
bench_radv() # GPU|all
{
   shim=$obj/src/amd/drm-shim/libamdgpu_noop_drm_shim.so
   driver=$obj/src/amd/vulkan/libvulkan_radeon.so
   tool ninja -C "$obj" --quiet src/gpuval/tests/scenarios/gpuval-scenario ||
      fail "the scenarios' runner cannot be built"
   gpus=$1
   gfx1150=gfx1150
   grep -aqw gfx1150 "$shim" || gfx1150=strix1 # in Mesa 26
   [ "$gpus" != all ] || gpus="navi21 navi31 $gfx1150 gfx1201"
   # shellcheck disable=SC2086 # words
   "$root/bench/radv_corpus.sh" "$obj/src/gpuval/bench/gpuval-bench" "$obj/src/gpuval/demos" \
      "$shim" "$driver" $gpus || return
   for gpu in $gpus; do
      "$root/bench/radv_stats.sh" "$root/tests/radv/compile.sh" \
         "$obj/src/gpuval/tests/scenarios/gpuval-scenario" "$shim" "$driver" \
         "$root/tests/scenarios" "$gpu" || return
   done
}

# GPU time on the driver that the user's loader finds
bench_card() # ROUNDS
{
   target=src/gpuval/src/anygpu/gpuval-anygpu
   tool ninja -C "$obj" --quiet "$target" || fail "gpuval-anygpu cannot be built"
   for shader in "$root"/bench/shaders/*.comp; do
      name=$(basename "$shader" .comp)
      mkdir -p "$build/card" || fail "$build cannot be written to"
      tool glslangValidator --quiet -V --target-env vulkan1.2 -o "$build/card/$name.spv" "$shader" ||
         fail "$name.comp cannot be compiled"
   done
   "$root/bench/card.sh" "$obj/$target" "$build/card" "$1"
}

# What checks add to the time that shaders take to compile
bench_compile() # [ARGUMENTS] [SCENARIO...]
{
   runner=$obj/src/gpuval/tests/scenarios/gpuval-scenario
   tool ninja -C "$obj" --quiet src/gpuval/tests/scenarios/gpuval-scenario ||
      fail "the scenarios' runner cannot be built"
   export VK_DRIVER_FILES="$GPUVAL_BENCH_ICD"
   python3 "$root/bench/compile.py" --runner "$runner" --folder "$root/bench/compile" "$@"
}

# How long a large report takes to open, and many to merge
bench_reports()
{
   tool ninja -C "$obj" --quiet src/gpuval/gpuval-report || fail "gpuval-report cannot be built"
   python3 "$root/bench/reports.py" "$root/tests/report" "$obj/src/gpuval/gpuval-report"
}

help_bench()
{
   cat <<EOF
usage: ./gpuval bench [ARGS]
       ./gpuval bench radv [GPU|all]
       ./gpuval bench reports
       ./gpuval bench card [ROUNDS]
       ./gpuval bench compile [--rounds N] [--checks LIST] [--cache] [WORKLOAD...]
       ./gpuval bench game [--size WIDTHxHEIGHT] [--seconds N] [--rounds N] [CHECKS...]

Measures run time, pipeline creation, first use, page faults and a barrier with
checks on over the same with checks off, on lavapipe, on one thread and on all, and
sync beside the same scheme written by hand in GLSL; what RADV's compiler says of
shaders with checks beside the same without; how long Chromium takes to open a report
of 5,000 messages, and how long 10,000 reports take to merge; then how many messages of
DebugPrintf come through in a second, beside GPU-AV's.
ARGS are handed to the benchmark, which then is all that runs; '--section printf'
measures the messages only, 'card' the GPU time of compute shaders with checks, by anygpu,
on whatever Vulkan driver the loader finds (docs/anygpu.rst), 'compile' the user time of
processes that compile shaders which are hard to check, and run them once, 'game' how fast
SuperTuxKart draws without checks and with the sets CHECKS (basic, sync, init and all), where Debian's
packages supertuxkart and xvfb are installed, 'reports' the reports only, 'radv' asks RADV's compiler only,
for GPU (navi31) or navi21, navi31, gfx1150 (strix1 on Mesa 26) and gfx1201, which need
not be there. Among its shaders is what packages have installed as *.spv below /usr, or below the folders that
GPUVAL_BENCH_SPIRV names; GPUVAL_BENCH_CHECKS are the sets of checks.
EOF
}
