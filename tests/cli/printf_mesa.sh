#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Whose DebugPrintf is: with printf among the checks gpuval takes all calls, without it Mesa's own
# prints as it does without gpuval.
#
#    printf_mesa.sh RUNNER yes|no (whether this Mesa has one)

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

export RADV_PRINTF_BUFFER_SIZE=65536

begin 'off'
run prints
cp out "$private/off"
empty err
if [ "$2" = yes ]; then
   lines out 'one "' 1
else
   empty out
fi

begin 'not asked for'
run GPUVAL=bounds prints
cmp -s out "$private/off" || wrong "Mesa prints other things: $(cat out)"
lines err '^printf: ' 0
last_line err 'gpuval: no errors'

begin 'asked for'
run GPUVAL=printf prints
empty out
lines err '^printf: ' 8
last_line err 'gpuval: no errors'

finish
