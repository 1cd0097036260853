#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Shaders out of the cache that another process has filled: they are not compiled, and checked as if
# they had been.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

cached() # CHECKS SCENARIO
{
   run MESA_SHADER_CACHE_DIR="$PWD/cache" MESA_SHADER_CACHE_SHOW_STATS=true GPUVAL="$1" "$2"
   # Mesa's lines about its caches
   misses=$(($(sed -n 's/.*disk shader cache: *hits = [0-9]*, misses = //p' out err | paste -s -d +)))
   sed -e '/disk shader cache:/d' -e 's/; [0-9.]* s$//' err >log
}

all_hits()
{
   [ "$misses" -eq 0 ] || wrong "the cache is asked for $misses things that it has not"
}

# What is said of the run, without what differs by chance: which event comes first, for one
said() # FILE
{
   sed 's/0x[0-9a-f]*/0x/g' "$1" | LC_ALL=C sort
}

for checks in bounds descriptor,bounds,sync all; do
   begin "the same program, $checks"
   mkdir cache
   cached "$checks" two_errors
   [ "$misses" -gt 0 ] || wrong 'nothing was compiled'
   two_errors log
   said log >expected
   cached "$checks" two_errors
   all_hits
   said log >found
   cmp -s expected found || {
      wrong 'the second run says something else'
      show expected found
   }

   # The shader's numbers are others than in the process that compiled it: one more is there before.
   begin "another program with a shader of it, $checks"
   mkdir cache
   cached "$checks" cached_second
   last_line log 'gpuval: 1 error (3 occurrences), 0 records lost'
   cached "$checks" two_errors
   two_errors log
   lines log '^gpuval: *at second.comp:19 in main()' 1
   cached "$checks" cached_second
   all_hits
   lines log '^gpuval: *at second.comp:19 in main()' 1
   last_line log 'gpuval: 1 error (3 occurrences), 0 records lost'
done

begin 'what another choice of checks has filled'
mkdir cache
cached bounds two_errors
cached bounds,descriptor two_errors
[ "$misses" -gt 0 ] || wrong 'nothing was compiled'
two_errors log

begin 'counted, out of the cache, too'
mkdir cache
for round in 1 2; do
   cached bounds,assume no_errors
   [ "$status" -eq 0 ] || wrong "round $round: exit status $status"
   last_line log 'gpuval: no errors'
   cp log "log-$round"
done
cmp -s log-1 log-2 || {
   wrong 'the second run says something else'
   show log-1 log-2
}

finish
