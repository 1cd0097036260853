# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# `gpuval demo`.

# Whether a process has reported an error, by its JSON Lines report; without a
# summary (the process was killed) by the errors before it.
has_errors() # FILE...
{
   grep -q -s -e '^{"summary": *{"errors": *[1-9]' -e '"severity": *"error"' "$@"
}

run_demo() # NAME: 0 errors found, 1 none found, 2 it did not run
{
   program=$demos/demo-$1
   report=$private/$1.jsonl
   shown=$program
   is_installed || shown=${program#"$root/"}
   echo "\$ ./gpuval run$as_chosen -- $shown"
   GPUVAL=basic GPUVAL_LOG=stderr GPUVAL_REPORT=$report \
      VK_DRIVER_FILES=$(icd_file lavapipe) VK_ICD_FILENAMES=$(icd_file lavapipe) \
      "$program" 2>&1
   demo_status=$?
   echo
   grep -q '^{"summary"' "$report" 2>/dev/null || return 2
   has_errors "$report"
}

# A demo is as it should be when its bug is found and its fixed twin is clean.
show_demo() # NAME DESCRIPTION
{
   printf '\n=== %s: %s\n\n' "$1" "$2"
   if ! run_demo "$1"; then
      echo "gpuval demo: the bug of $1 was not found"
      return 1
   fi
   echo "--- the fixed twin"
   echo
   run_demo "$1-fixed"
   if [ $? -ne 1 ] || [ "$demo_status" -ne 0 ]; then
      echo "gpuval demo: $1-fixed is not clean (exit status $demo_status)"
      return 1
   fi
}

command_demo()
{
   [ $# -eq 0 ] || usage_error "unknown argument '$1'"
   clean_environment
   ensure_setup
   private=$(mktemp -d /tmp/gpuval.XXXXXX) || exit 1
   trap 'rm -rf "$private"' EXIT
   demo_count=0
   failed=0
   while read -r name description <&4; do
      case $name in
      '' | '#'*) continue ;;
      esac
      demo_count=$((demo_count + 1))
      show_demo "$name" "$description" || failed=$((failed + 1))
   done 4<"$root/demos/list"
   echo "Your own program: ./gpuval run$as_chosen -- PROGRAM (see ./gpuval run --help)"
   [ "$demo_count" -gt 0 ] && [ "$failed" -eq 0 ]
}

help_demo()
{
   cat <<EOF
usage: ./gpuval demo

Runs the programs in demos/ on lavapipe, each with its bug and then fixed. The
exit status is 0 when each bug was found and each fixed program was clean.
EOF
}
