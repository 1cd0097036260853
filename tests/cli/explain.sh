#!/bin/sh
# SPDX-License-Identifier: MIT
#
# `gpuval explain`: what failures mean.
#
#    explain.sh RUNNER COMMAND NO_DEVICE LAVAPIPE [RADV SHIM]

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=checkout.sh
. "$(dirname "$0")/checkout.sh"

begin 'one'
gpuval explain bounds/buffer-oob
exits 0
empty err
lines out '^bounds/buffer-oob: Access outside the range of a buffer' 1
lines out 'Compare the offset with the size' 1
lines out '^https://' 1
lines out '^.{81}' 0

begin 'a list, of which each can be explained'
gpuval explain
exits 0
empty err
cp out list
lines list '^[a-z-]+/[a-z-]+$' 30 99
lines list '^sync/read-after-write$' 1
while read -r name; do
   gpuval explain "$name" </dev/null
   exits 0
   lines out "^$name: " 1
   lines out '^https://' 1
done <list
table=$tests/../../src/base/gpuval_check_table.h
lines list '' "$(grep '^KIND(' "$table" | grep -c -v '^KIND(COVERED,')"

begin 'a check'
gpuval explain descriptor
exits 0
lines out '^descriptor/[a-z-]*: ' 6
gpuval explain sync-compute/read-after-write
exits 0
lines out '^sync/read-after-write: ' 1

begin 'one that does not exist'
gpuval explain bounds/bufer-oob
exits 2
empty out
lines err 'no failure "bounds/bufer-oob"; did you mean "bounds/buffer-oob"\?' 1
gpuval explain read-after-write
exits 2
lines err 'no failure "read-after-write"' 1
gpuval explain something/else
exits 2
lines err './gpuval explain lists them' 1
gpuval explain ''
exits 2
gpuval explain a b
exits 2

finish
