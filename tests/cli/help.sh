#!/bin/sh
# SPDX-License-Identifier: MIT
#
# help.sh COMMAND: --help, the man page and the completion of shells know the same options
# and variables; what is printed for a shell works there.

set -u

command=$(readlink -f -- "$1")
root=$(dirname "$command")
manual=$root/docs/gpuval.1
bad=0

wrong() # TEXT
{
   echo "$1"
   bad=$((bad + 1))
}

# --- The man page ------------------------------------------------------------

if command -v man >/dev/null && command -v groff >/dev/null; then
   said=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$manual" \
      2>&1 >/dev/null)
   [ -z "$said" ] || wrong "man: $said"
else
   echo "no man, no groff: the man page is not formatted"
fi

# Without what roff does to hyphens
page=$(sed 's/\\-/-/g' "$manual")

in_page() # TEXT
{
   case $page in
   *"$1"*) ;;
   *) wrong "the man page has no $1" ;;
   esac
}

options() # COMMAND
{
   "$command" "$1" --help | sed -n 's/^   \(-o, \)\{0,1\}\(--[a-z-]*\).*/\2/p'
}

for name in setup run env test anygpu report doctor dist install; do
   [ -n "$(options "$name")" ] || wrong "$name has no options"
   for option in $(options "$name"); do
      in_page "$option"
   done
done
for option in $(printf '%s\n' "$page" | grep -o -e '--[a-z][a-z-]*' | sort -u); do
   for name in setup run env test anygpu report doctor dist install; do
      options "$name"
   done | grep -q -x -e "$option" || wrong "only the man page knows $option"
done
# shellcheck disable=SC2013 # names without spaces
for name in $(sed -n 's/.*"\(GPUVAL[A-Z0-9_]*\)".*/\1/p' "$root/src/base/gpuval_options.c" | sort -u); do
   case $name in
   GPUVAL_MARK) ;;                   # between `run` and the driver
   GPUVAL_CHECKS | GPUVAL_TEST_*) ;; # which are no variables of gpuval
   *) in_page "$name" ;;
   esac
done

# --- Completion --------------------------------------------------------------

if ! command -v bash >/dev/null; then
   echo "no bash: completion is not tried"
else
   complete_words() # WORD...: what the last one may become
   {
      # shellcheck disable=SC2016 # of bash
      bash -c 'eval "$("$1" completion bash)"; shift
               COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _gpuval; echo ${COMPREPLY[*]}' \
         bash "$command" "$@" 2>&1
   }

   completes() # EXPECTED WORD...
   {
      expected=$1
      shift
      [ "$(complete_words "$@")" = "$expected" ] ||
         wrong "$* becomes '$(complete_words "$@")' instead of '$expected'"
   }

   completes 'demo doctor dist' gpuval d
   completes 'report' gpuval rep
   completes '--checks --coverage' gpuval run --c
   completes 'lavapipe radv' gpuval run --driver ''
   completes 'radv' gpuval run --driver = r
   completes 'bounds,sync bounds,sync-compute' gpuval run --checks bounds,sy
   completes 'all,-ray all,-race all,-residency' gpuval run --checks all,-r
   completes '' gpuval run --error-exitcode 9
   completes 'bash' gpuval completion b
   completes "$root/docs/usage.rst" gpuval run --log "$root/docs/us"
   completes "$root/docs/usage.rst" gpuval run -- ./program "$root/docs/us"
   for name in setup run env test anygpu report doctor dist install; do
      for option in $(options "$name"); do
         case " $(complete_words gpuval "$name" "$option") " in # --mesa is the beginning of --mesa-src
         *" $option "*) ;;
         *) wrong "the completion of $name does not know $option" ;;
         esac
      done
   done
   # shellcheck disable=SC2013 # names without spaces
   for name in $(sed -n -e '/GPUVAL_SET_COMING/d' -e '/GPUVAL_SET_HIDDEN/d' -e '/GPUVAL_SET_ALWAYS/d' -e 's/^CHECK([A-Z_]*, "\([a-z-]*\)", .*/\1/p' \
      -e 's/^   {"\([a-z-]*\)", .*/\1/p' "$root/src/base/gpuval_check_table.h" \
      "$root/src/base/gpuval_checks.c"); do
      case " $(complete_words gpuval run --checks "$name") " in
      *" $name "*) ;;
      *) wrong "the completion does not know the check $name" ;;
      esac
   done
   zsh=$("$command" completion zsh | head -n 1)
   case $zsh in
   *bashcompinit*) ;;
   *) wrong "for zsh: $zsh" ;;
   esac
fi

fish=$("$command" completion fish)
case $fish in
*"seen_subcommand_from run' -l checks -r -F"*) ;;
*) wrong "for fish: $fish" ;;
esac
! printf '%s\n' "$fish" | grep -v '^complete -c gpuval ' || wrong 'what is that?'
if command -v fish >/dev/null; then
   printf '%s\n' "$fish" | fish -n || wrong "fish does not take it"
fi

[ "$bad" -eq 0 ] || exit 1
echo "all options are known"
