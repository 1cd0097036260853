#!/bin/sh
# SPDX-License-Identifier: MIT
#
# card.sh PROGRAM SHADERS [ROUNDS]: what checks cost on the Vulkan driver that the loader finds, as
# a table. PROGRAM is gpuval-anygpu, SHADERS a folder with the compute shaders of the benchmark as
# NAME.spv. Ratios are medians of GPU times by timestamps, with and without checks in turns. Each
# of the columns has to end with "no errors", for the workloads have none. GPUVAL_BENCH_SHRINK
# divides sizes, for drivers on which they are too large. GPUVAL_BENCH_COLUMNS names the columns that
# are wanted, of basic, init, cells, filter and all.

set -u

[ $# -ge 2 ] || { echo "usage: $0 PROGRAM SHADERS [ROUNDS]" >&2; exit 2; }
program=$1
shaders=$2
rounds=${3:-9}
shrink=${GPUVAL_BENCH_SHRINK:-1}
columns=${GPUVAL_BENCH_COLUMNS:-basic init cells filter all}
unset GPUVAL_BENCH_SHRINK GPUVAL_BENCH_COLUMNS # no variables of gpuval's
results=$(mktemp -d) || exit 1
trap 'rm -rf "$results"' EXIT

# NAME COLUMN-ARGUMENTS...: a cell of the table, the ratio or what went wrong
measure() # NAME COLUMN CHECKS ENGINE ARGUMENTS...
{
   name=$1 column=$2 checks=$3 engine=$4
   shift 4
   log=$results/log
   rm -f "$log"
   line=$(GPUVAL_SYNC=$engine "$program" --time --rounds "$rounds" --checks "$checks" --log "$log" \
      "$@" 2>"$results/errors")
   if ! grep -q '^gpuval: no errors' "$log" 2>/dev/null; then
      echo "$name, $column: $(tail -n 1 "$results/errors") $(tail -n 1 "$log" 2>/dev/null)" >&2
      echo '-'
      echo yes >"$results/failed"
      return
   fi
   case $line in
   *' ratio '*) ;;
   *)
      echo "$name, $column: $(head -n 1 "$results/errors")" >&2
      echo '-'
      echo yes >"$results/failed"
      return
      ;;
   esac
   echo "$line" | sed 's/^plain \([0-9.]*\) us.*/\1/' >"$results/plain"
   echo "$line" | sed 's/.*(median of [^(]*dispatches, \(.*\))$/\1/' >"$results/device"
   ratio=$(echo "$line" | sed 's/.* ratio \([0-9.]*\) .*/\1/')
   echo "$ratio" >>"$results/ratios-$column"
   echo "$ratio"
}

row() # NAME SHADER ARGUMENTS...
{
   name=$1
   shader=$shaders/$2.spv
   shift 2
   cells=
   for column in 'basic basic shadow' 'init init shadow' 'cells sync shadow' \
      'filter sync bloom' 'all all shadow'; do
      case " $columns " in
      *" ${column%% *} "*) ;;
      *) cells="$cells         -"; continue ;;
      esac
      # shellcheck disable=SC2086 # words
      set -- ${column} "$@"
      what=$1 checks=$2 engine=$3
      shift 3
      cells="$cells $(printf %9s "$(measure "$name" "$what" "$checks" "$engine" "$@" "$shader")")"
   done
   printf '%-16s %10s %s\n' "$name" "$(cat "$results/plain" 2>/dev/null)" "$cells"
}

mean() # COLUMN
{
   awk '{ sum += log($1) } END { if (NR) printf "%.2f", exp(sum / NR); else printf "-" }' \
      "$results/ratios-$1" 2>/dev/null || echo '-'
}

printf '%-16s %10s %s\n' workload 'plain, us' '     basic      init sync,cells sync,filter   all'
mi=$((1048576 / shrink))
groups=$((16384 / shrink)) # of 64 invocations: one for each word of mi
row 'stream' stream --buffer $((64 * mi)) --buffer $((64 * mi)) --buffer $((64 * mi)) \
   --groups $((16 * groups)),1,1
row 'stream vec4' stream4 --buffer $((64 * mi)) --buffer $((64 * mi)) --buffer $((64 * mi)) \
   --groups $((4 * groups)),1,1
row 'gather' gather --buffer $((16 * mi)):$((4 * mi)) --buffer $((16 * mi)) --buffer $((16 * mi)) \
   --groups $((4 * groups)),1,1
row 'chase' chase --buffer $((16 * mi)):nodes --buffer $((4 * mi)) --groups $groups,1,1
row 'uniform' uniform --uniform 2272 --buffer $((16 * mi)) --groups $groups,1,1
row 'shared' matmul --buffer $((4 * mi)) --buffer 262144 --buffer $((4 * mi)) \
   --groups 16,$((groups / 64)),1
row 'nbody' nbody --buffer $mi --buffer $mi --groups $((groups / 16)),1,1
row 'atomics' histogram --buffer $((64 * mi)) --buffer 1024 --groups $((16 * groups)),1,1
row 'storage-200' storage --buffer 262144 --buffer $((20 * mi)) --groups $((groups / 4)),1,1
row 'tiny, 1,000' tiny --buffer $((4 * mi)) --push 00000000 --groups 1,1,1 --dispatches 1000
printf '%-16s %10s %s\n' 'geometric mean' '' " $(for column in basic init cells filter all; do
   printf ' %9s' "$(mean "$column")"
done)"
cat "$results/device" 2>/dev/null
[ ! -e "$results/failed" ]
