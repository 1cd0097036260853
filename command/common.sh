# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# What every command uses: where things are, messages, the tools of the machine.

build=$root/build
stamps=$build/stamps
logs=$build/log
temporary=$build/tmp
download=$build/download
mesa=$build/mesa
obj=$build/obj
prefix=$build/prefix
plain=$build/plain
asan=$build/asan
tsan=$build/tsan

# All messages go to stderr: `run` and `env` must keep stdout clean.
say()
{
   printf 'gpuval: %s\n' "$*" >&2
}

fail()
{
   say "$*"
   exit 1
}

usage_error()
{
   say "$1 (see ./gpuval ${command:+$command }--help)"
   exit 2
}

# Build tools run with /usr/bin first: Mesa's generators need the Python that
# has the distribution's modules, and a user's own python3 often comes earlier.
# Variables that change what the tools do or print are removed.
tool()
{
   env -u DESTDIR -u LD_PRELOAD -u NINJA_STATUS PATH="/usr/bin:/bin:$PATH" "$@"
}

have()
{
   command -v "$1" >/dev/null 2>&1
}
