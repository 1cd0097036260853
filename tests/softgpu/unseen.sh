#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sync's filter in memory that the host does not see: the GPU clears it in front of a submit when it
# has filled up, and tells the host how full it is, one time later; also where it is never idle.
#
#    unseen.sh RUNNER SOFTGPU

set -u

folder=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-unseen.XXXXXX") || exit 99
trap 'rm -rf "$folder"' EXIT
scenario=$folder/unseen.scn
log=$folder/log
runner=$1 softgpu=$2
bad=0

# Each submit marks 16 buckets an invocation, of 8,192. What one submit has stored the next one
# loads, which is no hazard, as it has been waited for; the last one has a hazard.
write() # INVOCATIONS SUBMITS
{
   cat <<EOF
[compute store]
#version 450
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Data { uvec4 x[]; } data;
void main()
{
   data.x[gl_GlobalInvocationID.x].x += 1u;
}

[run]
buffer data $(($1 * 16))
pipeline store store
bind 0 0 storage data
use store
EOF
   i=0
   while [ $((i += 1)) -le "$2" ]; do
      if [ "$mode" = busy ]; then
         printf 'barrier\ndispatch %d\nsubmit signal=t@%d\n' $(($1 / 16)) "$i"
         [ "$i" -le 2 ] || echo "wait_semaphore t $((i - 2))"
      else
         printf 'dispatch %d\nsubmit\n' $(($1 / 16))
      fi
   done
   [ "$mode" != busy ] || echo barrier
   printf 'dispatch %d\ndispatch %d\nsubmit\n' $(($1 / 16)) $(($1 / 16))
}

# Where it is full, hazards are missed.
check() # INVOCATIONS SUBMITS WARNINGS
{
   write "$1" "$2" >"$scenario"
   GPUVAL=sync GPUVAL_SYNC=bloom GPUVAL_BLOOM_SIZE_LOG2=16 GPUVAL_BLOOM_HASHES=16 GPUVAL_LOG=$log \
      SOFTGPU_VISIBLE_MIB=256 SOFTGPU_MODE=$mode LD_PRELOAD=$softgpu \
      timeout 100 "$runner" --child-only --kind monolithic "$scenario" >/dev/null 2>&1 ||
      wrong "exit status $?"
   [ "$(grep -c 'gpuval: warning: sync: the bloom filter got' "$log")" -eq "$3" ] ||
      wrong "not $3 warnings of a full filter"
   [ "$(grep -c '^gpuval: warning' "$log")" -eq "$3" ] || wrong 'other warnings'
   ! grep -q 'the bloom filter has' "$log" || wrong 'a smaller filter'
   grep -q "^gpuval: error: sync/" "$log" || wrong 'the hazard is not found'
   [ "$3" -eq 1 ] || grep -q "^gpuval: $1 times: sync/read-after-write" "$log" ||
      wrong 'not each invocation, once, has a hazard'
   rm -f "$log"
}

wrong() # TEXT
{
   echo "mode '$mode', $1"
   cut -c 1-200 "$log"
   bad=1
}

for mode in '' views; do
   check 16 300 0
   check 4096 3 1
done
mode=busy
check 512 80 1
exit $bad
