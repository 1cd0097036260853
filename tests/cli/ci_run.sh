#!/bin/sh
# SPDX-License-Identifier: MIT
#
# .ci/run: which parts run, why one does not, and that its last line counts all of them. Setting
# up and testing is a script's here, which says what $setup_says and $quick_says are.
#
#    ci_run.sh RUNNER .ci/run

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p "$private/checkout/.ci" && cp "$2" "$private/checkout/.ci/run" || exit 99
cat >"$private/checkout/gpuval" <<'EOF'
#!/bin/sh
echo "$*" >>called
case $* in
'setup --mesa 26.0 --mesa-src a tree')
   echo "gpuval: $setup_says" >&2
   [ "$setup_says" = ready ]
   ;;
'test --mesa 26.0 --quick')
   echo "$quick_says"
   exit "${quick_exits:-0}"
   ;;
test)
   echo 'gpuval: skipped: one: a reason' >&2
   echo "${whole_says:-40 passed, 0 failed, 1 skipped}"
   exit "${whole_exits:-0}"
   ;;
*) exit 9 ;;
esac
EOF
chmod +x "$private/checkout/gpuval"

ci() # STATUS LAST-LINE [NAME=VALUE]...
{
   wanted=$1
   line=$2
   shift 2
   rm -f called
   env "$@" "$private/checkout/.ci/run" >out 2>err
   status=$?
   [ "$status" -eq "$wanted" ] || wrong "it exited with $status instead of $wanted"
   [ "$(tail -n 1 out)" = "$line" ] || wrong "the last line is: $(tail -n 1 out)"
}

newer='GPUVAL_MESA_26_SRC=a tree'

begin 'no tree'
ci 0 '40 passed, 0 failed, 2 skipped' GPUVAL_MESA_26_SRC=
lines err '^gpuval: skipped: mesa-26.0-quick: GPUVAL_MESA_26_SRC names no source of Mesa 26.0$' 1
[ "$(cat called)" = test ] || wrong "there was called: $(cat called)"

begin 'a tree'
ci 0 '47 passed, 0 failed, 1 skipped' "$newer" setup_says=ready quick_says='7 passed, 0 failed'
lines called . 3

begin 'tools that are too old'
ci 0 '40 passed, 0 failed, 2 skipped' "$newer" \
   setup_says="Mesa 26.0 asks for glslang 12.2, and Debian 12's is too old: build on Debian 13"
lines err "^gpuval: skipped: mesa-26.0-quick: Mesa 26.0 asks for glslang 12.2, and Debian 12's is too old$" 1
lines called . 2

begin 'a tree that cannot be set up'
ci 1 '40 passed, 1 failed, 1 skipped' "$newer" setup_says='a tree is not a Mesa source tree'
lines err '^gpuval: failed: mesa-26.0-quick: it cannot be set up$' 1

begin 'a test of it fails'
ci 1 '46 passed, 1 failed, 1 skipped' "$newer" setup_says=ready \
   quick_says='6 passed, 1 failed' quick_exits=1

begin 'it ends without a count'
ci 1 '40 passed, 1 failed, 1 skipped' "$newer" setup_says=ready quick_says=Killed quick_exits=137
lines err '^gpuval: failed: mesa-26.0-quick: exit status 137$' 1

begin 'the whole suite fails'
ci 1 '46 passed, 3 failed' "$newer" setup_says=ready quick_says='7 passed, 0 failed' \
   whole_says='39 passed, 3 failed' whole_exits=1

finish
