#!/bin/sh
# SPDX-License-Identifier: MIT
#
# piglit.sh GL: some of piglit's tests through zink, with checks and without. No result
# changes, and nothing is reported. GL is gpuval-gl, which knows whether there is zink.

set -u

skip() # REASON
{
   echo "$1"
   exit 77
}

command -v piglit >/dev/null || skip "there is no piglit (Debian: piglit)"
gl=$(readlink -f -- "$1")
folder=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-piglit.XXXXXX") || exit 99
trap 'rm -rf "$folder"' EXIT
trap 'exit 99' INT TERM HUP
cd "$folder" || exit 99

export MESA_LOADER_DRIVER_OVERRIDE=zink LIBGL_ALWAYS_SOFTWARE=1
export PIGLIT_NO_FAST_SKIP=1 # which asks wflinfo
"$gl" >reason || skip "$(tail -n 1 reason)"

# Buffers, images, compute
suite() # RESULTS
{
   piglit run -1 -p surfaceless_egl -t 'arb_shader_storage_buffer_object@execution' \
      -t 'arb_shader_image_size@' -t 'arb_compute_shader@execution@basic' shader "$1" >log 2>&1 || {
      cat log
      exit 1
   }
}

unset GPUVAL GPUVAL_LOG GPUVAL_REPORT
suite plain
mkdir reports
GPUVAL=basic GPUVAL_LOG=/dev/null GPUVAL_REPORT=$folder/reports/%p.jsonl suite checked

piglit summary console --diff plain checked >difference || exit 1
cat difference
number() # ROW COLUMN
{
   awk -v row="$1:" -v column="$2" '$1 == row { print $(1 + column) }' difference
}

[ "$(number changes 2)" = 0 ] || exit 1
[ "$(number skip 1)" != "$(number total 1)" ] || skip "piglit skips all of these tests here"
[ "$(number pass 1)" -gt 0 ] || exit 1
if ! ls reports/*.jsonl >/dev/null 2>&1; then
   echo "there are no reports"
   exit 1
fi
! grep -h '"severity":"error"' reports/*.jsonl
