#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Variables with a number: a value that makes no sense gives one line, and the
# program goes on with the default.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

refused() # NAME VALUE ACCEPTED...
{
   begin "$1=$2"
   run GPUVAL=bounds,printf "$1=$2" two_errors
   one_complaint err "$@"
   two_errors err
}

accepted() # NAME VALUE
{
   begin "$1=$2"
   run GPUVAL=bounds,printf "$1=$2" two_errors
   no_complaint err
   two_errors err
}

refused GPUVAL_SAFE 7 0 1
refused GPUVAL_SAFE yes 0 1
accepted GPUVAL_SAFE 0
accepted GPUVAL_SAFE 1
accepted GPUVAL_SAFE ''
refused GPUVAL_ROBUST 2 0 1

refused GPUVAL_BLOOM_HASHES 99 1 16
refused GPUVAL_BLOOM_HASHES 0 1 16
refused GPUVAL_BLOOM_HASHES -3 1 16
accepted GPUVAL_BLOOM_HASHES 1
accepted GPUVAL_BLOOM_HASHES 16

refused GPUVAL_BLOOM_SIZE_LOG2 15 16 32
refused GPUVAL_BLOOM_SIZE_LOG2 33 16 32
refused GPUVAL_BLOOM_SIZE_LOG2 26MB 16 32
accepted GPUVAL_BLOOM_SIZE_LOG2 16

refused GPUVAL_SHADOW_SIZE 65535 65536 'the default is used'
accepted GPUVAL_SHADOW_SIZE 65536

refused GPUVAL_LOOP_LIMIT -1 0 4294967295
refused GPUVAL_LOOP_LIMIT 4294967296 0 4294967295
accepted GPUVAL_LOOP_LIMIT 0
accepted GPUVAL_LOOP_LIMIT 1000

refused GPUVAL_PRINTF_SIZE abc 2147483648
refused GPUVAL_PRINTF_SIZE 2147483649 2147483648
refused GPUVAL_PRINTF_SIZE 99999999999999999999 2147483648
refused GPUVAL_PRINTF_SIZE 15 16 2147483648
accepted GPUVAL_PRINTF_SIZE 16
accepted GPUVAL_PRINTF_SIZE 65536
accepted GPUVAL_PRINTF_SIZE 2147483648
refused GPUVAL_PRINTF_PREFIX yes 0 1
accepted GPUVAL_PRINTF_PREFIX 1

# One of several words
refused GPUVAL_SYNC nonsense shadow bloom
accepted GPUVAL_SYNC bloom
accepted GPUVAL_SYNC shadow
refused GPUVAL_ON_ERROR nonsense continue break abort device-lost
accepted GPUVAL_ON_ERROR continue
refused GPUVAL_RECORD nonsense auto manual
accepted GPUVAL_RECORD auto
refused GPUVAL_POISON 2 0 1
accepted GPUVAL_POISON 0
accepted GPUVAL_SUPPRESSIONS ''
refused GPUVAL_GEN_SUPPRESSIONS yes 0 1
refused GPUVAL_PROGRESS yes 0 1
refused GPUVAL_BACKTRACE on 0 1
accepted GPUVAL_BACKTRACE 1

begin 'off: not even looked at'
run GPUVAL_SYNC=nonsense GPUVAL_POISON=1 GPUVAL_SUPPRESSIONS=x GPUVAL_ON_ERROR=y GPUVAL_RECORD=z \
   two_errors
empty out
empty err

begin 'two at once'
run GPUVAL=bounds GPUVAL_SAFE=7 GPUVAL_BLOOM_HASHES=99 two_errors
lines err '^gpuval: error: GPUVAL_SAFE' 1
lines err '^gpuval: error: GPUVAL_BLOOM_HASHES' 1
two_errors err

begin 'the log has it'
run GPUVAL=bounds GPUVAL_SAFE=7 GPUVAL_LOG="$PWD/log" two_errors
empty err
one_complaint log GPUVAL_SAFE 7

finish
