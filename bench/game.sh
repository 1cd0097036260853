#!/bin/sh
# SPDX-License-Identifier: MIT
#
# game.sh [--size WIDTHxHEIGHT] [--seconds N] [--rounds N] [CHECKS...]: how fast SuperTuxKart draws
# without checks and with each of the sets CHECKS, on the driver of VK_DRIVER_FILES, as a table.
# Sets take turns; what is printed is the median of a set's rounds. The game draws at
# most 120 frames a second, so that where it comes near them only the time of the processor tells.
# Windows are Xvfb's, and the game's files those of a folder that is thrown away. A run may take
# GAME_LIMIT seconds.

set -u
export LC_ALL=C

die()
{
   echo "game: $1" >&2
   exit 1
}

is_positive()
{
   case $1 in
   '' | *[!0-9]* | 0* | ???????*) return 1 ;;
   esac
}

size=320x240 seconds=15 rounds=1
while [ $# -gt 0 ]; do
   case $1 in
   --size | --seconds | --rounds) [ $# -gt 1 ] || die "$1 needs a value" ;;
   esac
   case $1 in
   --size)
      case $2 in
      *x*) is_positive "${2%%x*}" && is_positive "${2#*x}" ;;
      *) false ;;
      esac || die "--size is WIDTHxHEIGHT, not '$2'"
      size=$2
      ;;
   --seconds)
      is_positive "$2" || die "--seconds is a number, not '$2'"
      seconds=$2
      ;;
   --rounds)
      is_positive "$2" || die "--rounds is a number, not '$2'"
      rounds=$2
      ;;
   -*) die "there is no option $1" ;;
   *) break ;;
   esac
   shift 2
done
[ $# -gt 0 ] || set -- basic sync init all
limit=${GAME_LIMIT:-$((seconds * 20 + 120))}

game=$(PATH=$PATH:/usr/games command -v supertuxkart) || die "supertuxkart is not installed (Debian's package supertuxkart)"
command -v Xvfb >/dev/null || die "Xvfb is not installed (Debian's package xvfb)"

folder=$(mktemp -d) || exit 1
server=
stop()
{
   [ -z "$server" ] || kill "$server" 2>/dev/null
   rm -rf "$folder"
}
trap stop EXIT
trap 'exit 1' INT TERM HUP

Xvfb -displayfd 3 -screen 0 1920x1080x24 -nolisten tcp -noreset 3>"$folder/display" 2>"$folder/xvfb" &
server=$!
waited=0
until [ -s "$folder/display" ]; do
   sleep 0.1
   waited=$((waited + 1))
   { kill -0 "$server" && [ "$waited" -lt 300 ]; } 2>/dev/null ||
      die "Xvfb does not start: $(tail -n 1 "$folder/xvfb")"
done
DISPLAY=:$(cat "$folder/display")
export DISPLAY HOME="$folder" XDG_CONFIG_HOME="$folder" XDG_DATA_HOME="$folder" XDG_CACHE_HOME="$folder/cache"
export MESA_SHADER_CACHE_DISABLE=true
unset WAYLAND_DISPLAY

# "FRAMES-PER-SECOND PROCESSOR-SECONDS FAILURES" to the file of the set
play() # CHECKS|off FILE
{
   rm -f "$folder/log"
   times >"$folder/before"
   (
      [ "$1" = off ] || export GPUVAL="$1" GPUVAL_LOG="$folder/log"
      # In the group of this script: Ctrl-C is for the game, too.
      exec timeout --foreground -k 5 "$limit" "$game" --render-driver=vulkan --profile-time="$seconds" \
         --screensize="$size" --windowed </dev/null
   ) >"$folder/output" 2>&1
   status=$?
   times >"$folder/after"
   # It draws by OpenGL where it finds no driver for Vulkan, or has just failed to open a window.
   grep -q 'Vulkan renderer: ' "$folder/output" ||
      die "supertuxkart with checks '$1' ended with status $status and did not use Vulkan"
   case $status in
   124 | 137) die "supertuxkart with checks '$1' did not end in $limit seconds" ;;
   esac
   frames=$(sed -n 's/.*Average FPS: \([0-9.]*\).*/\1/p' "$folder/output" | tail -n 1)
   [ -n "$frames" ] ||
      die "supertuxkart with checks '$1' ended with status $status and measured nothing: $(grep -i -E 'error|fatal' "$folder/output" | tail -n 1)"
   failures=$(grep -c -E '^gpuval: (error|warning): [a-z-]+/[a-z-]+: ' "$folder/log" 2>/dev/null)
   echo "$frames $(cat "$folder/before" "$folder/after" | of_children) ${failures:-0}" >>"$2"
}

# User and system time of what has ended between two outputs of times, in seconds
of_children()
{
   tr ms '  ' | awk '{ time[NR] = $1 * 60 + $2 + $3 * 60 + $4 } END { print time[4] - time[2] }'
}

round=0
while [ "$round" -lt "$rounds" ]; do
   number=0
   for checks in off "$@"; do
      play "$checks" "$folder/set.$number"
      number=$((number + 1))
   done
   round=$((round + 1))
done

median() # COLUMN FILE
{
   cut -d ' ' -f "$1" "$2" | sort -n | awk '{ a[NR] = $1 } END { print (a[int((NR + 1) / 2)] + a[int(NR / 2) + 1]) / 2 }'
}

printf '%-24s %9s %7s %13s %7s %9s\n' "SuperTuxKart, $size" 'frames/s' slower 'processor, s' ratio failures
number=0
plain_frames=$(median 1 "$folder/set.0") plain_time=$(median 2 "$folder/set.0")
for checks in off "$@"; do
   awk -v name="$checks" -v frames="$(median 1 "$folder/set.$number")" -v time="$(median 2 "$folder/set.$number")" \
      -v failures="$(median 3 "$folder/set.$number")" -v f="$plain_frames" -v t="$plain_time" 'BEGIN {
         printf "%-24s %9.1f %7.2f %13.1f %7.2f %9d\n", name, frames, f / frames, time, time / t, failures }'
   number=$((number + 1))
done
