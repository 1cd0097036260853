#!/bin/sh
# SPDX-License-Identifier: MIT
#
# runner.sh CTS.SH: what the runner says of a deqp-vk that crashes, hangs, changes its
# results and reports, and which of its reports are explained.

set -u

runner=$(readlink -f -- "$1")
folder=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-cts.XXXXXX") || exit 99
trap 'rm -rf "$folder"' EXIT
trap 'exit 99' INT TERM HUP
cd "$folder" || exit 99

cat >deqp-vk <<'EOF'
#!/bin/sh
# Does what the names of cases say; the order is not the list's.
for argument in "$@"; do
   case $argument in
   --deqp-caselist-file=*) list=${argument#*=} ;;
   esac
done
echo "dEQP Core imitation starting.."
[ -z "${GPUVAL_REPORT-}" ] || : >"$GPUVAL_REPORT"
for name in $(sort -r "$list"); do
   case $name in
   *.missing*) continue ;;
   esac
   printf "\nTest case '%s'..\n" "$name"
   result=Pass
   case $name/${GPUVAL-} in
   *.crash*/all) kill -SEGV $$ ;;
   *.hang*/all) sleep 100 ;;
   *.slow*) sleep 1 ;;
   *.differ*/all) result=Fail ;;
   *.together/all) [ "$(wc -l <"$list")" -eq 1 ] || result=Fail ;;
   *.report*/all)
      [ "$GPUVAL_LOG" != stdout ] || echo "gpuval: error: bounds/buffer-oob: store of 4 bytes"
      [ -z "${GPUVAL_REPORT-}" ] ||
         echo '{"check":"bounds","kind":"buffer-oob","severity":"error","message":"store of 4 bytes","count":7,"shader":{}}' >>"$GPUVAL_REPORT"
      ;;
   *.unsupported*) result=NotSupported ;;
   esac
   echo "  $result (it is so)"
done
printf '\nDONE!\n'
EOF
chmod +x deqp-vk

for name in a.pass.1 a.crash.1 a.crash.2 a.pass.2 a.report.1 a.hang.1 a.missing a.slow.1 a.slow.2 \
   a.slow.3 b.differ b.together b.unsupported b.pass; do
   echo "dEQP-VK.$name"
done >cases

bad=0
same() # FILE TEXT
{
   [ "$(cat "$1")" != "$2" ] || return
   echo "$1 is not as it should be:"
   printf '%s\n' "$2" | diff - "$1"
   bad=1
}

VK_DRIVER_FILES=none \
   "$runner" --deqp ./deqp-vk --output results --limit 2 --cases cases >out 2>err
status=$?
[ "$status" -eq 1 ] || {
   echo "status $status"
   cat err
   bad=1
}
same results/plain "$(sort cases | sed -e 's/^/Pass /' \
   -e 's/^Pass \(.*missing\)/Missing \1/' -e 's/^Pass \(.*unsupported\)/NotSupported \1/')"
same results/checked "$(sed -e 's/^Pass \(.*crash\)/Crash \1/' -e 's/^Pass \(.*hang\)/Timeout \1/' \
   -e 's/^Pass \(.*differ\)/Fail \1/' -e 's/^Pass \(.*together\)/Fail \1/' results/plain)"
same out "\
group                      cases    pass changed   crash reporting   unknown
a                             10       9       3       3         1         1
b                              4       3       2       0         0         0
changed: dEQP-VK.a.crash.1: Pass, with checks Crash
changed: dEQP-VK.a.crash.2: Pass, with checks Crash
changed: dEQP-VK.a.hang.1: Pass, with checks Timeout
changed: dEQP-VK.b.differ: Pass, with checks Fail
changed: dEQP-VK.b.together: Pass, with checks Fail (alone: Pass)
reported: error bounds/buffer-oob 7 dEQP-VK.a.report.1"

VK_DRIVER_FILES=none "$runner" --deqp ./deqp-vk --output few --cases cases 'a\.pass' 'b\.p' >out 2>err ||
   bad=1
same few/checked "Pass dEQP-VK.a.pass.1
Pass dEQP-VK.a.pass.2
Pass dEQP-VK.b.pass"
same err "" # where nothing is to run again, nothing does

# What is explained as a warning is not as an error
explain() # SEVERITY
{
   echo "$1 bounds/buffer-oob ^dEQP-VK\.a\.report" >explained
   VK_DRIVER_FILES=none \
      "$runner" --deqp ./deqp-vk --output few --cases cases --known explained 'report' >out 2>err
}
explain error || bad=1
same few/known "error bounds/buffer-oob 7 dEQP-VK.a.report.1"
same few/unknown ""
! explain warning || bad=1
same few/known ""
same few/unknown "error bounds/buffer-oob 7 dEQP-VK.a.report.1"
sed -i 's/"error"/"warning"/; s/error: bounds/warning: bounds/' deqp-vk
for severity in error warning; do
   explain "$severity" || bad=1
   same few/known "warning bounds/buffer-oob 7 dEQP-VK.a.report.1"
done

# A run that takes the results without checks from another
VK_DRIVER_FILES=none "$runner" --deqp ./deqp-vk --output few --cases cases --plain results/plain \
   'report' 'differ' >out 2>err
same few/plain "$(grep -e report -e differ results/plain)"
grep -q 'changed: dEQP-VK.b.differ: Pass, with checks Fail' out || bad=1

complain() # WORD ARGUMENT...
{
   word=$1
   shift
   VK_DRIVER_FILES=none "$runner" "$@" >out 2>err
   [ $? -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q -- "$word" err && return
   echo "about $* it does not say '$word' but:"
   cat err
   bad=1
}
complain nowhere --deqp nowhere --output results
complain output --deqp ./deqp-vk
complain 'no case' --deqp ./deqp-vk --output results --cases cases nothing
echo "bounds/buffer-oob ^dEQP" >explained
complain 'line 1' --deqp ./deqp-vk --output results --cases cases --known explained
complain --speed --deqp ./deqp-vk --speed 3
exit "$bad"
