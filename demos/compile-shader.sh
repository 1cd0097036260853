#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compiles a shader to a C header, from within the folder of its source: so
# the debug information, and every report, says "particles.comp" wherever the
# build directory is.
#
# usage: compile-shader.sh GLSLANG OUTPUT SOURCE [ARGUMENTS…]
set -eu

glslang=$1
output=$(realpath -m -- "$2")
source=$3
shift 3

cd "$(dirname -- "$source")"
exec "$glslang" --quiet -V -g --target-env vulkan1.3 "$@" -o "$output" \
   "$(basename -- "$source")"
