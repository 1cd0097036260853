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

for mode; do
   SOFTGPU_MODE=$mode "$runner" --brief --preload "$softgpu" "$scenario"
   status=$?
   if [ $status -ne 0 ]; then
      echo "in mode $mode"
      exit $status
   fi
done
