# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# Long commands: what they print goes into build/log, how far they are to the user.

setup_steps=6
worked=no # whether this setup had anything to do
failed_log= # of the command that has ended it

step()
{
   worked=yes
   say "[$1/$setup_steps] $2"
}

# The end of build/log/NAME.log, from ninja's first FAILED on where there is one. What is behind
# that may be known: explain_end().
fail_with_log() # NAME TEXT
{
   failed_log=$logs/$1.log
   shift
   {
      if grep -qs '^FAILED' "$failed_log"; then
         sed -n '/^FAILED/,$p' "$failed_log" | cut -c 1-400 | head -n 40
      else
         tail -n 15 "$failed_log" | cut -c 1-400
      fi
   } | sed 's/^/   | /' >&2
   fail "$*; the whole log: $failed_log"
}

# logged NAME FILTER COMMAND...: COMMAND with its output in build/log/NAME.log;
# the function FILTER turns that output into progress. No file has the status: there may be no
# room for it.
logged()
{
   log=$logs/$1.log
   filter=$2
   shift 2
   ended=$({
      {
         "$@" </dev/null 2>&1 3>&-
         echo $? >&3
      } | tee "$log" | "$filter" >&2
   } 3>&1)
   return "${ended:-1}"
}

# "FOLDER has N MB left" of the fullest disk among those that a setup writes to, if that is full
# or a log says that one was.
full_disk() # LOG
{
   limit=20000 # kilobytes
   ! grep -qs -e 'No space left on device' -e 'Disk quota exceeded' "$1" || limit=
   for folder in "$build" "${TMPDIR:-/tmp}" "${CCACHE_DIR:-${HOME-}/.cache}" /var/cache; do
      df -Pk "$folder" 2>/dev/null |
         awk -v folder="$folder" 'NR == 2 { print $4, int($4 / 1000), folder }'
   done | sort -n -s | {
      read -r kilobytes megabytes folder || return
      [ -z "$limit" ] || [ "$kilobytes" -lt "$limit" ] || return
      echo "$folder has $megabytes MB left"
   }
}

was_killed() # LOG
{
   [ "${ended:-0}" -gt 128 ] ||
      grep -qs -e '[Kk]illed signal terminated program' -e '^FAILED: \[code=13[79]\]' \
         -e '^Killed$' "$1"
}

# What APT could not reach
lost_network() # LOG
{
   grep -s -h -o -e "Temporary failure resolving '[^']*'" -e "Could not resolve '[^']*'" \
      -e 'Could not connect to [^ ]*' -e 'Unable to connect to [^ ]*' -e 'Cannot initiate the connection to [^ ]*' \
      -e 'Connection \(timed out\|refused\|failed\)[^]]*' -e 'Network is unreachable' "$1" | head -n 1
}

# Why a setup has ended that has failed, where that can be known, and what to do: the last line.
explain_end() # STATUS
{
   again='and call ./gpuval setup again: it goes on from there'
   log=${failed_log:-}
   case $1 in
   0) return ;;
   129 | 130 | 143)
      say 'interrupted; ./gpuval setup goes on from there'
      return
      ;;
   esac
   full=$(full_disk "$log")
   lost=$(lost_network "$log")
   if [ -n "$full" ]; then
      say "the disk is full: $full. Make room, $again"
   elif grep -qs 'dpkg was interrupted' "$log"; then
      say "an installation of packages was interrupted: run 'dpkg --configure -a' as root, $again"
   elif [ -n "$lost" ]; then
      say "there is no network, or no way to the mirror: $lost. Connect, or set a proxy for APT, $again"
   elif [ -n "$log" ] && was_killed "$log"; then
      say "a process of the build was killed, probably for want of memory: close other programs, or" \
         "run 'ninja -C build/obj -j 1', $again"
   fi
}

quietly()
{
   cat >/dev/null
}

# Reads "NUMBER TOTAL" lines. A terminal sees each, a log file one in ten percent.
show_progress()
{
   tenths=0
   while read -r number total; do
      if [ -t 2 ]; then
         printf '\r   %d of %d ' "$number" "$total"
      elif [ $((number * 10 / total)) -gt "$tenths" ]; then
         tenths=$((number * 10 / total))
         echo "   ${tenths}0% ($number of $total)"
      fi
   done
   if [ -t 2 ]; then
      printf '\r\033[K'
   fi
}

# The heading comes with the first line, because ninja often has nothing to do
# but look at Mesa's git_sha1.h, which it always does.
ninja_progress()
{
   sed -un -e '/git_sha1/d' -e 's/^\[\([0-9]*\)\/\([0-9]*\)\].*/\1 \2/p' | {
      if read -r first; then
         step 5 "$heading"
         { echo "$first" && cat; } | show_progress
      fi
   }
}

apt_progress()
{
   sed -un -e 's/^\([0-9]*\) upgraded, \([0-9]*\) newly.*/total \1 \2/p' \
           -e 's/^Setting up .*/one/p' | {
      total=0
      number=0
      while read -r what upgraded new; do
         case $what in
         total) total=$((upgraded + new)) ;;
         one)
            number=$((number + 1))
            [ "$number" -gt "$total" ] || echo "$number $total"
            ;;
         esac
      done
   } | show_progress
}
