#!/bin/sh
# SPDX-License-Identifier: MIT
#
# `gpuval run --gl`: OpenGL through the system's zink.
#
#    gl.sh RUNNER COMMAND PROGRAM LAVAPIPE [RADV SHIM]

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=checkout.sh
. "$(dirname "$0")/checkout.sh"

program=$(absolute "$3")
unset MESA_LOADER_DRIVER_OVERRIDE LIBGL_ALWAYS_SOFTWARE GALLIUM_DRIVER

# zink enables robustness, which makes the access defined.
begin 'OpenGL'
GPUVAL_ROBUST=1 "$command" run --gl --checks bounds --error-exitcode 9 -- "$program" >out 2>err
status=$?
if [ "$status" -eq 77 ]; then
   cat out
   exit 77
fi
exits 9
lines out '^zink .*llvmpipe' 1
lines err '^gpuval: error: bounds/buffer-oob: store of 4 bytes at offset 8 is outside ' 1
last_line err 'gpuval: 1 error (2 occurrences), 0 records lost'

begin 'robustness'
gpuval run --gl --checks bounds --error-exitcode 9 -- "$program"
exits 0
last_line err 'gpuval: no errors'

begin 'OpenGL without --gl is not on our driver'
gpuval run --checks bounds --error-exitcode 9 -- "$program"
exits 9
lines err 'nothing was checked$' 1

finish
