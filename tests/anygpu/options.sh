#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What gpuval-anygpu takes: options.sh ANYGPU GLSLANG. Sequences, shared memory of buffers, one
# message for what it does not take, and reductions.

set -eu
anygpu=$(realpath "$1") glslang=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat >store.comp <<'END'
#version 460
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
layout(push_constant) uniform Push { uint first, in_b; };
void main()
{
   if (in_b != 0)
      b[gl_GlobalInvocationID.x + first] = in_b;
   else
      a[gl_GlobalInvocationID.x + first] = 5u;
}
END
cat >reduce.comp <<'END'
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
void main()
{
   uint x = subgroupAdd(1u) + subgroupInclusiveMax(gl_LocalInvocationIndex);
   bool all_odd = subgroupAnd((x & 1u) != 0u ? 1u : 0u) != 0u;
   float sum = subgroupExclusiveAdd(float(x));
   // The lanes of a subgroup, the last of them, and what is before it
   a[gl_LocalInvocationIndex & (x < 1000u && !all_odd && sum >= 0.0 ? 31u : 0xffffu)] = x;
}
END
for name in store reduce; do
   "$glslang" --quiet -V --target-env vulkan1.2 -o $name.spv $name.comp
done

die()
{
   echo "$*" >&2
   cat out >&2
   exit 1
}

run()
{
   rm -f report.jsonl
   status=0
   "$anygpu" --checks sync,bounds --log log --report report.jsonl "$@" >out 2>&1 || status=$?
}

# Refused: one line, which says WHAT
refused() # WHAT ARGUMENTS...
{
   what=$1
   shift
   run "$@" store.spv
   [ "$status" = 2 ] || die "$what: status $status"
   grep -q "^gpuval: error: anygpu: .*$what" out || die "$what: not said"
   [ "$(grep -c error out)" = 1 ] || die "$what: more than one message"
}

refused 'cannot be read' --sequence missing
printf 'dispatch 1,1,1\n\n# nothing\nnonsense\n' >bad
refused 'bad:4: a line is' --sequence bad
printf 'dispatch 1,1\n' >bad
refused 'bad:1: "dispatch" takes' --sequence bad
printf 'dispatch 1,1,1 0000000\n' >bad
refused 'bad:1: "dispatch" takes' --sequence bad
printf 'dispatch 1,1,1 00 00\n' >bad
refused 'bad:1: "dispatch" takes' --sequence bad
printf 'wait 3\n' >bad
refused 'only "dispatch"' --sequence bad
printf '# nothing\n' >bad
refused 'nothing to run' --sequence bad
yes 'dispatch 1,1,1' | head -n 1025 >bad
refused '1,024 dispatches' --sequence bad
printf 'dispatch 1,1,1 @2\n' >bad
refused 'no such buffer' --buffer 256 --buffer 256 --sequence bad
refused 'no such buffer' --buffer 256 --push @1
refused 'a buffer before this one' --buffer @0
refused 'a buffer before this one' --buffer 256 --uniform @0 --buffer @1
refused 'a buffer before this one' --buffer 256 --buffer @x

reported() # CHECK COUNT ARGUMENTS...: so many reports of it
{
   check=$1 count=$2
   shift 2
   run "$@"
   [ "$status" = 0 ] || die "$*: status $status"
   [ "$(grep -c "\"check\": *\"$check\"" report.jsonl)" = "$count" ] ||
      die "$*: not $count reports of $check: $(cat report.jsonl)"
}

first=0000000000000000 next=0100000000000000 in_b=0100000007000000
for between in barrier wait; do
   printf 'dispatch 1,1,1 %s\n%s\ndispatch 1,1,1 %s\n' $first $between $next >sequence
   reported sync 0 --buffer 256 --buffer 256 --sequence sequence store.spv
done
printf 'dispatch 1,1,1 %s\nhidden-barrier\ndispatch 1,1,1 %s # moves\n' $first $next >sequence
reported sync 1 --buffer 256 --buffer 256 --sequence sequence store.spv
# The other buffer is other memory, if it is not the same.
printf 'dispatch 1,1,1 %s\nhidden-barrier\ndispatch 1,1,1 %s\n' $first $in_b >sequence
reported sync 0 --buffer 256 --buffer 256 --sequence sequence store.spv
reported sync 1 --buffer 256 --buffer @0 --sequence sequence store.spv
reported bounds 1 --buffer 64 --buffer @0 --push $in_b store.spv

reported bounds 0 --buffer 256 reduce.spv
