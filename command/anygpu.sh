# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# `gpuval anygpu`: src/anygpu does it.

build_anygpu()
{
   is_installed && return
   said=$(tool ninja -C "$obj" --quiet "$anygpu_target" 2>&1) && return
   printf '%s\n' "$said" >&2
   fail "gpuval-anygpu cannot be built"
}

command_anygpu()
{
   ensure_setup
   build_anygpu
   if [ "$*" = --print-program ]; then
      echo "$anygpu"
      exit
   fi
   exec "$anygpu" "$@"
}

help_anygpu()
{
   cat <<EOF
usage: ./gpuval anygpu [options] SHADER.spv
       ./gpuval anygpu --print-program

Runs one compute shader with checks on whatever Vulkan driver the loader finds: the
shader goes through gpuval's passes and back to SPIR-V. Buffers are bound to set 0.

   --checks LIST       checks and sets to switch on (default basic); none: the shader
                       goes the same way, nothing is checked
   --report FILE       write a report; may be given several times (see run --help)
   --log FILE          the text log; default: stderr
   --buffer BYTES      a storage buffer for the next binding, from 0 on; its contents
                       are random, and the same each time. BYTES:N: words are below N;
                       BYTES:nodes: each 16 bytes begin with the address of some
                       @N: the same memory as buffer N
   --uniform BYTES     a uniform buffer for the next binding
   --push HEX          push constants: bytes, two digits each; @N in between is the
                       address of buffer N, and commas may stand between bytes
   --groups X,Y,Z      workgroups of a dispatch (default 1,1,1)
   --dispatches N      how many dispatches (default 1); 1,024 of them are a submission
   --barriers 0|1      a full barrier between dispatches (default 1)
   --sequence FILE     in place of those three: dispatches with push constants of their
                       own, barriers and waits (docs/anygpu.rst)
   --time              GPU time of the shader as it is, and with checks, in turns
   --rounds N          turns of --time (default 9)
   --as-is             the shader as it is, for a driver that checks by itself
   --entry NAME        the entry point (default main)
   --device TEXT       the first device whose name has TEXT (default: the first)
   --write-spv FILE    write the SPIR-V with checks that is run
   --print-program     print the file name of the program: it needs nothing but a
                       Vulkan loader, on any x86-64 Linux

Exits with 2 when the shader could not be run. GPUVAL_SYNC, GPUVAL_SAFE and the other
variables have their meaning; GPUVAL_SYNC is shadow by default.
EOF
}
