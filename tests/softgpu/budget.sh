#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Shadow memory on RADV takes no more video memory than it may: what comes beyond that is the
# filter's, which is said once. Of both the same is reported; who was there first is certain
# where there are cells, and likely where not.
#
#    budget.sh RUNNER SOFTGPU SCENARIO

set -u

# shellcheck source-path=SCRIPTDIR source=logged.sh
. "$(dirname "$0")/logged.sh"

run() # BYTES [ENGINE]
{
   run_logged "$1 bytes" GPUVAL=sync GPUVAL_SYNC="${2-shadow}" GPUVAL_SHADOW_SIZE="$1"
}

runner=$1 softgpu=$2 scenario=$3

run 1073741824
counted 0 'gpuval: warning:'
counted 3 '^gpuval: error: sync/read-after-write'
counted 3 '^gpuval:    after the store at '
counted 0 'likely'

run 65536
counted 1 'gpuval: warning:'
counted 1 'gpuval: warning: sync: shadow memory has .* the bloom filter looks at what it does not'
counted 3 '^gpuval: error: sync/read-after-write'
counted 1 '^gpuval:    after the store at '
counted 2 '^gpuval:    likely after the store at '

# Cells are the engine where none is asked for, and the filter where that is.
run 1073741824 ''
counted 3 '^gpuval:    after the store at '
run 1073741824 bloom
counted 3 '^gpuval:    likely after the store at '
exit $bad
