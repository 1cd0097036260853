#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The soak's random programs on whatever GPU the loader finds: soak.sh ANYGPU SOAK [option of
# gpuval-soak...]. With one thread of lavapipe (the unpatched one of
# GPUVAL_TEST_PLAIN_ICD_DIR) all races are known, elsewhere --any-order leaves programs whose answer is the same in any order. CHECKS: beside sync; FOLDER: keeps the files.

set -eu
anygpu=$1 soak=$2
shift 2
plain=${GPUVAL_TEST_PLAIN_ICD_DIR:+$(echo "$GPUVAL_TEST_PLAIN_ICD_DIR"/lvp_icd.*.json)}
[ "$plain" ] && export VK_DRIVER_FILES="$plain"
case " $* " in
*' --any-order '*) ;;
*) export LP_NUM_THREADS=0 ;;
esac
folder=${FOLDER:-$(mktemp -d)}
[ "${FOLDER:-}" ] || trap 'rm -rf "$folder"' EXIT

"$soak" "$@" --write-sequences "$folder"
for sequence in "$folder"/*.seq; do
   name=${sequence%.seq}
   status=0
   "$anygpu" --checks "sync,shared${CHECKS:+,$CHECKS}" --report "$name.jsonl" --log "$name.log" \
      --buffer 16384 --uniform @0 --buffer 128 --buffer 65536:1 --sequence "$sequence" \
      "$name.spv" || status=$?
   if [ "$status" != 0 ]; then
      tail -n 3 "$name.log" >&2
      exit "$status"
   fi
done
"$soak" "$@" --judge "$folder"
