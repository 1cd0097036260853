# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# Long commands: what they print goes into build/log, how far they are to the user.

setup_steps=6
worked=no # whether this setup had anything to do

step()
{
   worked=yes
   say "[$1/$setup_steps] $2"
}

# The end of build/log/NAME.log, from ninja's first FAILED on where there is one.
fail_with_log()
{
   log=$logs/$1.log
   shift
   {
      if grep -q '^FAILED' "$log"; then
         sed -n '/^FAILED/,$p' "$log" | cut -c 1-400 | head -n 40
      else
         tail -n 15 "$log" | cut -c 1-400
      fi
   } | sed 's/^/   | /' >&2
   say "$*"
   fail "the whole log: $log"
}

# logged NAME FILTER COMMAND...: COMMAND with its output in build/log/NAME.log;
# the function FILTER turns that output into progress.
logged()
{
   log=$logs/$1.log
   filter=$2
   shift 2
   {
      "$@" </dev/null 2>&1
      echo $? >"$log.status"
   } | tee "$log" | "$filter" >&2
   status=$(cat "$log.status")
   rm -f "$log.status"
   return "$status"
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
