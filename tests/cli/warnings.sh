#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Warnings: failures that are no errors, unless GPUVAL_STRICT says so.
#
#    warnings.sh RUNNER

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

head='sync/write-after-access: '
export LP_NUM_THREADS=0 # or the value of another thread may not have arrived yet

begin 'a warning is no error'
run GPUVAL=sync GPUVAL_REPORT=a.jsonl warning
lines err "^gpuval: warning: $head" 1
lines err '^gpuval: error: ' 0
lines err ', never changing a value, fingerprint ' 1
last_line err 'gpuval: 0 errors (0 occurrences), 1 warning, 0 records lost'
lines a.jsonl '"severity":"warning".*"same_value":true' 1
last_line a.jsonl '{"summary":{"errors":0,"occurrences":0,"lost":0,"messages":0,"lost_messages":0,"shaders":1,"warnings":1}}'

begin 'strict'
run GPUVAL=sync GPUVAL_STRICT=1 GPUVAL_REPORT=a.jsonl warning
lines err "^gpuval: error: $head" 1
lines err '^gpuval: warning: ' 0
lines err '^gpuval: 1 error \([0-9]+ occurrences\), 0 records lost$' 1
lines a.jsonl '"severity":"error".*"same_value":true' 1
lines a.jsonl '"warnings":0' 1

begin 'a value of GPUVAL_STRICT that makes no sense'
run GPUVAL=sync GPUVAL_STRICT=yes warning
one_complaint err GPUVAL_STRICT yes '0 or 1'
lines err "^gpuval: warning: $head" 1

begin 'reactions are for errors'
run GPUVAL=sync GPUVAL_ON_ERROR=abort warning
lines err "^gpuval: warning: $head" 1
env GPUVAL=sync GPUVAL_ON_ERROR=abort GPUVAL_STRICT=1 \
   "$runner" --child-only "$tests/warning.scn" >out 2>err && wrong 'it has not aborted'
lines err "^gpuval: error: $head" 1

begin 'a warning can be suppressed'
echo 'sync/write-after-access' >known
run GPUVAL=sync GPUVAL_SUPPRESSIONS=known warning
lines err "^gpuval: warning: $head" 0
lines err '^gpuval: no errors, 1 suppressed ' 1

begin 'an annotation'
run GPUVAL=sync GITHUB_ACTIONS=true warning
lines err '^::warning .*title=gpuval sync/write-after-access::' 1

finish
