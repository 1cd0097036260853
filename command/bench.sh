# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# `gpuval bench`.

command_bench()
{
   clean_environment
   ensure_setup
   GPUVAL_BENCH_ICD=$(icd_file lavapipe)
   export GPUVAL_BENCH_ICD
   case $*/$# in
   radv/1 | radv\ */2)
      bench_radv "${2-navi31}"
      exit
      ;;
   html/1)
      bench_html
      exit
      ;;
   '--section printf/2' | '--section=printf/1') ;;
   */0)
      "$obj/src/gpuval/bench/gpuval-bench" || exit
      bench_radv navi31 || exit
      bench_html
      ;;
   *) exec "$obj/src/gpuval/bench/gpuval-bench" "$@" ;;
   esac
   exec "$obj/src/gpuval/bench/gpuval-bench-printf"
}

# What ACO says of shaders with checks
bench_radv() # GPU
{
   tool ninja -C "$obj" --quiet src/gpuval/tests/scenarios/gpuval-scenario ||
      fail "the scenarios' runner cannot be built"
   "$root/bench/radv_stats.sh" "$root/tests/radv/compile.sh" \
      "$obj/src/gpuval/tests/scenarios/gpuval-scenario" \
      "$obj/src/amd/drm-shim/libamdgpu_noop_drm_shim.so" \
      "$obj/src/amd/vulkan/libvulkan_radeon.so" "$root/tests/scenarios" "$1"
}

# How long a large report takes to open; where there is no Chromium, it says so
bench_html()
{
   tool ninja -C "$obj" --quiet src/gpuval/gpuval-report || fail "gpuval-report cannot be built"
   python3 "$root/bench/open_html.py" "$root/tests/report" "$obj/src/gpuval/gpuval-report"
}

help_bench()
{
   cat <<EOF
usage: ./gpuval bench [ARGS]
       ./gpuval bench radv [GPU]
       ./gpuval bench html

Measures run time, pipeline creation, first use, page faults and a barrier with
checks on over the same with checks off, on lavapipe, on one thread and on all, and
sync beside the same scheme written by hand in GLSL; what RADV's compiler says of shaders
with checks beside the same without; how long Chromium takes to open a report of 5,000
messages; then how many messages of DebugPrintf come through in a second, beside GPU-AV's.
ARGS are handed to the benchmark, which then is all that runs; '--section printf'
measures the messages only, 'html' the report only, 'radv' asks RADV's compiler only,
for GPU (navi31), which need not be there.
EOF
}
