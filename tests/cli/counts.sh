#!/bin/sh
# SPDX-License-Identifier: MIT
#
# How `gpuval test` counts: what it makes of Meson's results. Meson is played here.
#
#    counts.sh COMMAND

set -u

rooms=$(dirname "$(readlink -f "$1")")/command
private=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-counts.XXXXXX") || exit 99
trap 'rm -rf "$private"' EXIT
trap 'exit 99' INT TERM HUP
mkdir "$private/meson-logs"

# shellcheck disable=SC2034 # for common.sh
root=$private
# shellcheck source-path=SCRIPTDIR/../../command
. "$rooms/common.sh"
# shellcheck source-path=SCRIPTDIR/../../command
. "$rooms/test.sh"

bad=0
number=0

tool() # meson test -C FOLDER ...
{
   case " $* " in
   *' --list '*) cat "$private/list" ;;
   *) [ ! -f "$private/results" ] || cp "$private/results" "$private/meson-logs/gpuval.json" ;;
   esac
}

test_named() # NAME RESULT [STDOUT]
{
   echo "mesa:gpuval / $1" >>"$private/list"
   [ "$2" = - ] || printf '{"name": "mesa:gpuval / %s", "stdout": "%s", "result": "%s", "starttime": 1.5, "duration": 2, "returncode": 0, "env": {"A": "result"}, "command": ["a"], "stderr": "no \\"result\\": \\"OK\\""}\n' \
      "$1" "${3-}" "$2" >>"$private/results"
}

# What was listed so far gives these last words, and this on the way.
counts() # LINE STATUS PATTERN...
{
   number=$((number + 1))
   passed=0 failed=0 skipped=0 failures=
   run_tests tests "$private" 2>"$private/err" >"$private/out"
   line=$(count_tests 2>>"$private/err")
   status=$?
   if [ "$line" != "$1" ] || [ "$status" -ne "$2" ]; then
      echo "$number: '$line', $status instead of '$1', $2"
      bad=$((bad + 1))
   fi
   shift 2
   for pattern in "$@"; do
      grep -q -x -F -e "gpuval: $pattern" -e "$pattern" "$private/err" && continue
      echo "$number: no line '$pattern' in:"
      sed 's/^/   /' "$private/err"
      bad=$((bad + 1))
   done
   rm -f "$private/list" "$private/results" "$private/meson-logs/gpuval.json"
}

test_named 'scenario one' OK
test_named 'scenario two' OK 'words\n'
test_named three EXPECTEDFAIL
counts '3 passed, 0 failed' 0 'tests: 3 tests'

test_named one OK
test_named two FAIL 'first\nlast \"words\"\n\n'
test_named three TIMEOUT
test_named four ERROR
test_named five UNEXPECTEDPASS
test_named six INTERRUPT
counts '1 passed, 5 failed' 1 'failed: mesa:gpuval / two (tests): FAIL' \
   'failed: mesa:gpuval / six (tests): INTERRUPT' 'first' 'last "words"' 'no "result": "OK"'

test_named one OK
test_named two SKIP 'a word\nno \"GPU\"\n'
test_named three SKIP
counts '1 passed, 1 failed, 1 skipped' 1 'skipped: mesa:gpuval / two: no "GPU"' \
   'failed: mesa:gpuval / three: skipped without a reason (tests)'

test_named one SKIP 'why\n'
counts '0 passed, 0 failed, 1 skipped' 1

# Meson was killed, or a test crashed it.
test_named one OK
test_named 'two words' -
test_named 'two words' OK
test_named three -
counts '2 passed, 2 failed' 1 'failed: mesa:gpuval / two words: no result (tests)' \
   'failed: mesa:gpuval / three: no result (tests)'

test_named one -
counts '0 passed, 1 failed' 1 'failed: mesa:gpuval / one: no result (tests)'

: >"$private/list"
counts '0 passed, 0 failed' 1 'tests: 0 tests'

[ "$bad" -eq 0 ] || exit 1
echo "$number cases"
