# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# `gpuval test`: builds what tests compare with, runs them, and counts.

passed=0
failed=0
skipped=0
failures= # what count_tests() says again at the end

# "RESULT NAME" of each test in one of Meson's logs, an object a line.
test_results() # JSON
{
   sed -n 's/^{"name": "\([^"]*\)".*"result": "\([A-Z]*\)".*/\2 \1/p' "$1"
}

# The last lines that a test has printed there.
last_words() # JSON NAME stdout|stderr LINES
{
   { grep -F "{\"name\": \"$2\"," "$1" || true; } | head -n 1 |
      sed -n 's/^.*"'"$3"'": "\(\([^"\\]\|\\.\)*\)".*$/\1/p' |
      sed 's/\\n/\n/g; s/\\"/"/g; s/\\\\/\\/g' |
      awk -v limit="$4" '
         { lines[NR] = $0 }
         $0 != "" { last = NR }
         END { for (i = last > limit ? last - limit + 1 : 1; i <= last; i++) print lines[i] }'
}

listed_tests() # OBJ SELECTION...
{
   folder=$1
   shift
   tool meson test -C "$folder" --no-rebuild --list "$@" 2>/dev/null |
      grep -v -e '^ninja:' -e '^$' -e '^No suitable tests'
}

fail_test() # TEXT [OUTPUT]
{
   failed=$((failed + 1))
   failures="$failures
failed: $1${2:+
$2}"
   say "failed: $1"
}

# A test that says nothing has not said why it was skipped.
skip_test() # JSON NAME LABEL
{
   reason=$(last_words "$1" "$2" stdout 1)
   if [ -z "$reason" ]; then
      fail_test "$2: skipped without a reason ($3)"
      return
   fi
   skipped=$((skipped + 1))
   say "skipped: $2: $reason"
}

# Names of the first list that the second one lacks, each as often as it does.
without() # LIST LIST
{
   { printf '%s\n' "$2" | sed 's/^/-/' && printf '%s\n' "$1" | sed 's/^/+/'; } |
      awk '/^-/ { there[substr($0, 2)]++ }
           /^[+]./ { if (there[substr($0, 2)]-- <= 0) print substr($0, 2) }'
}

# Runs tests and adds up what became of them. A test that is listed but left
# no result has failed.
run_tests() # LABEL OBJ SELECTION...
{
   label=$1
   folder=$2
   shift 2
   listed=$(listed_tests "$folder" "$@")
   rm -f "$folder"/meson-logs/gpuval*.json
   say "$label: $(printf '%s\n' "$listed" | grep -c .) tests"
   tool meson test -C "$folder" --no-rebuild --print-errorlogs --logbase gpuval "$@" </dev/null
   log=$(find "$folder/meson-logs" -name 'gpuval*.json') # with a setup, behind a hyphen
   [ -n "$log" ] || : >"${log:=$folder/meson-logs/gpuval.json}"
   results=$(test_results "$log")
   while read -r result name <&4; do
      case $result in
      '') ;; # no results at all
      OK | EXPECTEDFAIL) passed=$((passed + 1)) ;;
      SKIP | IGNORED) skip_test "$log" "$name" "$label" ;;
      *)
         output=$(last_words "$log" "$name" stdout 10 && last_words "$log" "$name" stderr 10)
         fail_test "$name ($label): $result" "$output"
         ;;
      esac
   done 4<<EOF
$results
EOF
   missed=$(without "$listed" "$(printf '%s\n' "$results" | sed 's/^[A-Z]* //')") ||
      fail "tests and results cannot be compared"
   while read -r name <&4; do
      [ -z "$name" ] || fail_test "$name: no result ($label)"
   done 4<<EOF
$missed
EOF
}

# Tells tests where unpatched drivers are: comparing with none is a failure then.
use_plain()
{
   GPUVAL_TEST_PLAIN_ICD_DIR=$plain/icd.d
   export GPUVAL_TEST_PLAIN_ICD_DIR
}

# SARIF's JSON schema is not ours to copy: it comes with a package of npm's, where
# there is npm. A test that lacks it is skipped and says so.
use_sarif_schema()
{
   schema=$download/sarif-2.1.0.json
   package=sarif-multitool-linux
   if [ ! -f "$schema" ] && have npm; then
      mkdir -p "$download"
      (cd "$temporary" &&
         timeout 120 npm pack "@microsoft/$package@5.7.0" </dev/null &&
         tar -xzf "microsoft-$package-5.7.0.tgz" package/sarif-2.1.0.json &&
         mv package/sarif-2.1.0.json "$schema") >"$logs/npm.log" 2>&1 || true
   fi
   [ -f "$schema" ] || return 0
   GPUVAL_TEST_SARIF_SCHEMA=$schema
   export GPUVAL_TEST_SARIF_SCHEMA
}

count_tests()
{
   total="$passed passed, $failed failed"
   [ "$skipped" -eq 0 ] || total="$total, $skipped skipped"
   [ -z "$failures" ] || say "what failed:$failures"
   echo "$total"
   [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# A build that fails counts as one failed test, and the others go on.
try_build() # FUNCTION
{
   (
      trap 'explain_end $?' EXIT
      "$1"
   ) && return
   fail_test "$1"
   return 1
}

# Programs that this project neither has nor builds: their file is an option.
test_cts()
{
   clean_environment
   ensure_setup
   VK_DRIVER_FILES=$(icd_file lavapipe) || fail "there is no lavapipe here"
   VK_ICD_FILENAMES=$VK_DRIVER_FILES
   VK_LOADER_LAYERS_DISABLE='~all~'
   export VK_DRIVER_FILES VK_ICD_FILENAMES VK_LOADER_LAYERS_DISABLE
   exec "$root/tests/cts/cts.sh" --output "$build/cts" "$@"
}

command_test()
{
   if [ "${1:-}" = cts ]; then
      shift
      test_cts "$@"
   fi
   all=no
   if [ "${1:-}" = --all ]; then
      all=yes
      shift
   fi
   [ $# -gt 0 ] || all=yes
   case $*/$# in
   --quick/1) set -- --suite gpuval-quick --setup gpuval_quick ;;
   radv/1) set -- --suite gpuval-radv ;;
   'radv --mode '*/3) set -- --suite gpuval-modes --setup "softgpu_$3" ;;
   esac
   [ $# -gt 0 ] || set -- --suite gpuval --suite nir --suite spirv
   clean_environment
   enter_setup
   setup_all
   compile main "$obj" all meson-test-prereq
   use_sarif_schema
   has_asan=no
   has_tsan=no
   if [ "$all" = no ]; then
      [ ! -d "$plain/icd.d" ] || use_plain # as it was left
   else
      check_space 1000000 "building for tests"
      use_plain
      try_build build_plain
      try_build build_asan && has_asan=yes
      try_build build_tsan && has_tsan=yes
   fi
   unlock_build # tests may call this command themselves
   run_tests "tests" "$obj" "$@"
   if [ "$has_asan" = yes ]; then
      run_tests "tests under AddressSanitizer and UBSan" "$asan/obj" --suite gpuval-asan
   fi
   if [ "$has_tsan" = yes ]; then
      run_tests "tests under ThreadSanitizer" "$tsan/obj" --suite gpuval-tsan
   fi
   count_tests
}

help_test()
{
   cat <<EOF
usage: ./gpuval test [--all] [ARGS]
       ./gpuval test --quick
       ./gpuval test radv [--mode busy|views|both|prompt]
       ./gpuval test cts --deqp FILE [--output FOLDER] [--checks LIST] [--jobs N]
                         [--limit SECONDS] [--cases FILE] [--plain FILE]
                         [--known FILE] [PATTERN...]

Runs every test of this project and Mesa's own tests of NIR and SPIR-V, then
the tests of the suites gpuval-asan and gpuval-tsan in builds with sanitizers.
Mesa is also built unpatched, for tests that compare. The last line says how many passed
and failed.

   ARGS    handed to 'meson test' (names of tests, --suite NAME, ...): only
           these tests run, and only in the main build
   --all   with ARGS: the unpatched build and those with sanitizers too
   --quick what is worth running before each commit, in three minutes: unit tests, style, and
           each scenario once on both drivers
   radv    the tests of RADV, which need no AMD GPU; with --mode those of programs on a
           software GPU that is never idle (busy), that shows host and GPU late
           what the other one writes (views), both, or that is done at once (prompt)
   cts     a sample of the Vulkan CTS by a deqp-vk that you have, without checks and
           with all, see docs/conformance.rst; PATTERN selects cases
EOF
}
