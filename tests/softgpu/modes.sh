#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A scenario on a GPU that annoys (SOFTGPU_MODE, softgpu.h), once in each of these modes, with the
# first of its kinds of pipelines.
#
#    modes.sh RUNNER SOFTGPU SCENARIO MODE...

set -u

runner=$1 softgpu=$2 scenario=$3
shift 3
kind=$(sed -n 's/^kinds \([a-z_]*\).*/\1/p' "$scenario")

for mode; do
   SOFTGPU_MODE=$mode "$runner" --kind "${kind:-monolithic}" --preload "$softgpu" "$scenario"
   status=$?
   if [ $status -ne 0 ]; then
      echo "in mode $mode"
      exit $status
   fi
done
