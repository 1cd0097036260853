# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# What every command uses: where things are, messages, the tools of the machine.

build=$root/build
temporary=$build/tmp
download=$build/download
anygpu_target=src/gpuval/src/anygpu/gpuval-anygpu
default_series=25.0 # Debian 13's, which APT gets

# Each series has places of its own; those of the default one have plain names.
use_series() # KEY
{
   used_series=$1
   suffix=
   as_chosen= # what a command that is proposed has to say
   if [ "$1" != "$default_series" ]; then
      suffix=-$1
      as_chosen=" --mesa $1"
   fi
   stamps=$build/stamps$suffix
   logs=$build/log$suffix
   mesa=$build/mesa$suffix
   mesa_source=$build/mesa-src$suffix
   native=$build/native$suffix.ini
   obj=$build/obj$suffix
   prefix=$build/prefix$suffix
   plain=$build/plain$suffix
   asan=$build/asan$suffix
   tsan=$build/tsan$suffix
   demos=$obj/src/gpuval/demos
   anygpu=$obj/$anygpu_target
}
use_series "$default_series"

# What `gpuval install` and `gpuval dist` make (install.sh) has this file, and neither source nor build.
facts=$root/installed

is_installed()
{
   [ -f "$facts" ]
}

fact() # NAME
{
   sed -n "s/^$1 //p" "$facts"
}

if is_installed; then
   prefix=$root
   demos=$root/demos
   anygpu=$root/bin/gpuval-anygpu
fi

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

fail_with() # STATUS TEXT
{
   say "$2"
   exit "$1"
}

# --mesa VERSION; commands that tests call inherit it
choose_mesa() # VERSION
{
   ! is_installed || usage_error "--mesa: an installation has the drivers of one version, $(fact mesa)"
   [ -f "$root/mesa/$1/series" ] ||
      usage_error "--mesa: there are no patches for Mesa '$1'; versions that work: $(series_versions | tr '\n' ' ')"
   use_series "$1"
   GPUVAL_TEST_MESA=$1
   export GPUVAL_TEST_MESA
}

usage_error()
{
   say "$1 (see ./gpuval ${command:+$command }--help)"
   exit 2
}

# "; did you mean 'WORD'?" of the word that differs least, if that is little; else nothing. The
# distance is that of gpuval_suggest_distance(), in which two letters that are swapped are one
# mistake.
did_you_mean() # WORD KNOWN...
{
   printf '%s\n' "$@" | awk '
      function distance(a, b, i, j, same, best, d) {
         for (i = 0; i <= length(a); i++)
            d[i, 0] = i
         for (j = 0; j <= length(b); j++)
            d[0, j] = j
         for (i = 1; i <= length(a); i++) {
            for (j = 1; j <= length(b); j++) {
               same = substr(a, i, 1) == substr(b, j, 1)
               best = d[i - 1, j - 1] + !same
               if (d[i - 1, j] + 1 < best)
                  best = d[i - 1, j] + 1
               if (d[i, j - 1] + 1 < best)
                  best = d[i, j - 1] + 1
               if (i > 1 && j > 1 && substr(a, i - 1, 1) == substr(b, j, 1) &&
                   substr(a, i, 1) == substr(b, j - 1, 1) && d[i - 2, j - 2] + 1 < best)
                  best = d[i - 2, j - 2] + 1
               d[i, j] = best
            }
         }
         return d[length(a), length(b)]
      }
      NR == 1 {
         word = $0
         limit = length(word) / 3
         limit = limit < 1 ? 1 : limit > 3 ? 3 : limit
         next
      }
      length(word) < 64 && (d = distance(word, $0)) <= limit {
         limit = d - 0.5
         nearest = $0
      }
      END {
         if (nearest)
            printf "; did you mean \047%s\047?", nearest
      }'
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
