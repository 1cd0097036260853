#!/bin/sh
# SPDX-License-Identifier: MIT
#
# GPUVAL_POISON on a GPU without a resizable BAR: what the host does not see is left alone, and the
# log says so, once, and in the end how much it was.
#
#    poison.sh RUNNER SOFTGPU SCENARIO

set -u

# shellcheck source-path=SCRIPTDIR source=logged.sh
. "$(dirname "$0")/logged.sh"

run() # VISIBLE-MIB POISON
{
   run_logged "$1 MiB" GPUVAL=bounds GPUVAL_POISON="$2" SOFTGPU_VISIBLE_MIB="$1"
}

runner=$1 softgpu=$2 scenario=$3

run 0 1 # all of it
counted 0 POISON

run 256 1
counted 1 'gpuval: warning: GPUVAL_POISON=1: memory that the host does not see is not filled'
counted 1 'gpuval: note: GPUVAL_POISON=1: [1-9][0-9]* KiB of memory were not filled'

run 256 0
counted 0 POISON
exit $bad
