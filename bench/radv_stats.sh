#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What ACO says of shaders with checks beside the same without, for a GPU that
# need not be there:
#
#    radv_stats.sh COMPILE RUNNER SHIM DRIVER FOLDER [GPU]
#
# COMPILE is tests/radv/compile.sh, FOLDER has the scenarios whose shaders are
# taken. Sums over a scenario's shaders; of registers the most that one needs.

set -u

compile=$1
runner=$2
shim=$3
driver=$4
folder=$5
gpu=${6:-navi31}

echo "RADV, $gpu: what ACO makes of it, plain -> with checks"
printf '%-24s %-14s %16s %10s %10s %18s %18s\n' \
   shaders checks instructions VGPRs SGPRs latency 'inv. throughput'
for checks in assume bounds sync; do
   for name in assume_graphics bounds_store bounds_types stage_vertex stage_tessellation \
      stage_geometry stage_fragment stage_mesh stage_rays; do
      GPUVAL_TEST_STATS=1 "$compile" "$gpu" "$runner" "$shim" "$driver" \
         "$checks" "$folder/$name.scn" || exit
   done | awk -v checks="$checks" '
      NF != 13 { print; next }
      {
         printf "%-24s %-14s %7d ->%6d %3d ->%4d %3d ->%4d %8d ->%7d %8d ->%7d\n", $1, checks,
            $2, $8, $3, $9, $4, $10, $5, $11, $6, $12
         log_sum += log($8 / $2)
         count++
      }
      END { if (count) printf "%-24s %-14s %.2f times the instructions\n", "geometric mean", checks,
                              exp(log_sum / count) }'
done
