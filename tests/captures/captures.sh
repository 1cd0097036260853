#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A capture that was made on a driver without checks has, when it is replayed with checks, the same
# failures as the program itself: same kind, same number of times, same fingerprint.
#
#    captures.sh RUNNER DEMO...
#
# Captures are made on an unpatched lavapipe: of GPUVAL_TEST_PLAIN_ICD_DIR, else the system's; else on
# the patched one without GPUVAL. The replay is on the one that VK_DRIVER_FILES names.

started=$PWD
# shellcheck source-path=SCRIPTDIR source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
shift

layer=VK_LAYER_LUNARG_gfxreconstruct
if ! command -v gfxrecon-replay >/dev/null; then
   echo 'there is no gfxrecon-replay (Debian: gfxreconstruct)'
   exit 77
fi

find_stock()
{
   for file in "${GPUVAL_TEST_PLAIN_ICD_DIR-/usr/share/vulkan/icd.d}"/lvp_icd.*json; do
      if [ -f "$file" ]; then
         echo "$file"
         return
      fi
   done
   echo "$VK_DRIVER_FILES"
}

# "CHECK/KIND COUNT FINGERPRINT", sorted
failures() # REPORT
{
   sed -n 's/^{"check":"\([^"]*\)","kind":"\([^"]*\)",.*"count":\([0-9]*\),.*"fingerprint":"\([^"]*\)".*/\1\/\2 \3 \4/p' \
      "$1" | sort
}

stock=$(find_stock)
for demo in "$@"; do
   case $demo in
   /*) ;;
   *) demo=$started/$demo ;;
   esac
   begin "$(basename "$demo")"
   # No layer but this one
   env -u VK_LOADER_LAYERS_DISABLE VK_DRIVER_FILES="$stock" VK_ICD_FILENAMES="$stock" \
      VK_INSTANCE_LAYERS=$layer GFXRECON_CAPTURE_FILE="$PWD/demo.gfxr" \
      GFXRECON_CAPTURE_FILE_TIMESTAMP=false "$demo" >out 2>err || wrong 'the demo fails'
   if [ ! -s demo.gfxr ]; then
      wrong 'there is no capture'
      show out err
      continue
   fi
   GPUVAL=all GPUVAL_REPORT=here.jsonl GPUVAL_LOG=here.log "$demo" >/dev/null 2>&1
   GPUVAL=all GPUVAL_REPORT=replay.jsonl GPUVAL_LOG=replay.log gfxrecon-replay demo.gfxr >out 2>err ||
      wrong 'the replay fails'
   failures here.jsonl >here
   failures replay.jsonl >replay
   if ! diff here replay >differences; then
      wrong 'the replay has other failures'
      show differences err
   fi
   case $demo in
   *-fixed) empty replay ;;
   *) [ -s replay ] || wrong 'the replay has no failures' ;;
   esac
   lines replay.log '^gpuval: .*(0 records lost|no errors)' 1
done
finish
