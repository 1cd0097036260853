# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# What the tests of the environment and of the command share. A test is called
# with the scenario runner, which stands in for an application; the scenarios
# here are two_errors (2 errors, 5 occurrences) and no_errors.
#
# Cases are written as `run ...` and then what the user has to see: the program's
# status in $status, its streams in the files out and err of the current folder,
# which is a new one for each case.

set -u

absolute() # FILE
{
   case $1 in
   /*) printf '%s\n' "$1" ;;
   *) printf '%s/%s\n' "$PWD" "$1" ;;
   esac
}

runner=$(absolute "$1")
tests=$(cd "$(dirname "$0")" && pwd)
bad=0
case_name=

private=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-cli.XXXXXX") || exit 99
trap 'rm -rf "$private"' EXIT
trap 'exit 99' INT TERM HUP

# What a developer's shell has set.
for name in $(env | sed -nE 's/^(GPUVAL[A-Z0-9_]*|RADV_DEBUG)=.*/\1/p'); do
   case $name in
   GPUVAL_TEST_*) ;;
   *) unset "$name" ;;
   esac
done

unset GITHUB_ACTIONS GITHUB_WORKSPACE GITHUB_STEP_SUMMARY
# Which Mesa `gpuval test` was told to use: the checkouts of tests have one of their own.
unset GPUVAL_TEST_MESA
# Of RADV, a line in the log
[ -z "${GPUVAL_TEST_PRELOAD-}" ] || export GPUVAL_SELF_TEST=0

case_number=0
begin() # NAME
{
   case_name=$1
   case_number=$((case_number + 1))
   mkdir "$private/$case_number" && cd "$private/$case_number" || exit 99
}

wrong() # TEXT
{
   echo "$case_name: $1"
   bad=$((bad + 1))
}

show() # FILE...
{
   for shown in "$@"; do
      if [ -s "$shown" ]; then
         sed "s,^,   $shown | ," "$shown" | cut -c 1-200
      fi
   done
}

# run [NAME=VALUE ...] SCENARIO
run()
{
   for scenario in "$@"; do :; done
   count=$#
   while [ "$count" -gt 1 ]; do
      set -- "$@" "$1"
      shift
      count=$((count - 1))
   done
   shift # the scenario is first now
   env "$@" "$runner" --child-only "$tests/$scenario.scn" >out 2>err
   status=$?
   [ "$status" -eq 0 ] || wrong "the program exited with $status"
   [ "$status" -eq 0 ] || show out err
}

# The number of lines that match is within LOW..HIGH, or is exactly LOW.
lines() # FILE PATTERN LOW [HIGH]
{
   found=$(grep -c -E -e "$2" "$1")
   if [ "$found" -lt "$3" ] || [ "$found" -gt "${4:-$3}" ]; then
      wrong "$1 has $found lines with '$2' instead of $3${4:+ to $4}"
      show "$1"
   fi
}

empty() # FILE
{
   if [ -s "$1" ]; then
      wrong "$1 is not empty"
      show "$1"
   fi
}

absent() # FILE
{
   [ ! -e "$1" ] || wrong "there is a file $1"
}

# What a summary says of the machine, the process and what was checked is left out.
last_line() # FILE TEXT
{
   last=$(tail -n 1 "$1" | without_run | without_scope)
   [ "$last" = "$2" ] || wrong "$1 does not end with '$2' but '$last'"
}

without_run()
{
   sed 's/^\({"summary":.*\),"run":{"host":"[^"]*","program":"[^"]*","time":"[^"]*","pid":[0-9]*}/\1/
   /^{"summary":/s/,"commands":[0-9]*//
   /^{"summary":/s/,"checks":\["[a-z",-]*"\],"driver":"[^"]*","seconds":[0-9.]*//'
}

# A log without what "no errors" is said of
without_scope()
{
   sed -E '/^gpuval: not looked for: /d
      s/^(gpuval: no errors[^:]*): [0-9]+ shaders?, [0-9]+ commands?; checks?: [a-z, -]+; .*$/\1/'
}

# One error line about a variable or a file, which has all these words; nothing
# else is said before the program goes on with what it does otherwise.
one_complaint() # FILE WORD...
{
   complaints=$(grep -E '^gpuval: (error|warning): ' "$1" | grep -v -E ': (error|warning): [a-z-]+/[a-z-]+: ')
   file=$1
   shift
   if [ "$(echo "$complaints" | grep -c .)" -ne 1 ]; then
      wrong "not one complaint in $file"
      show "$file"
      return
   fi
   for word in "$@"; do
      case $complaints in
      "gpuval: error: "*"$word"*) ;;
      *) wrong "no '$word' in: $complaints" ;;
      esac
   done
}

no_complaint() # FILE
{
   if grep -E '^gpuval: (error|warning): ' "$1" | grep -q -v -E ': (error|warning): [a-z-]+/[a-z-]+: '; then
      wrong "there is a complaint"
      show "$1"
   fi
}

# A log of the program two_errors with all its errors.
two_errors() # FILE
{
   lines "$1" '^gpuval: error: bounds/buffer-oob: ' 2
   last_line "$1" 'gpuval: 2 errors (5 occurrences), 0 records lost'
}

# What a folder has, on one line.
names() # FOLDER
{
   find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' | LC_ALL=C sort | tr '\n' ' '
}

one_name_like() # PATTERN
{
   [ "$(names . | tr ' ' '\n' | grep -c -E -e "$1")" -eq 1 ] || wrong "not one '$1' in: $(names .)"
}

finish()
{
   if [ "$bad" -gt 0 ]; then
      echo "$bad expectations are not met"
      exit 1
   fi
   echo "$case_number cases"
   exit 0
}

wait_for() # FILE
{
   tries=300
   until [ -e "$1" ] || [ "$tries" -eq 0 ]; do
      tries=$((tries - 1))
      sleep 0.1
   done
   [ "$tries" -gt 0 ] || wrong "there is no $1"
}
