#!/bin/sh
# SPDX-License-Identifier: MIT
#
# `gpuval doctor`
#
#    doctor.sh RUNNER COMMAND NO_DEVICE LAVAPIPE [RADV SHIM]

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=checkout.sh
. "$(dirname "$0")/checkout.sh"

problem() # PATTERN
{
   exits 1
   lines out "^   problem: $1" 1
   lines err '^gpuval: 1 problem, see above$' 1
}

begin 'all is well'
if [ $# -ge 5 ]; then
   gpuval doctor
   exits 0
   lines out 'problem' 0
   lines out '^   set up, and nothing has changed since$' 1
   lines out "^   $icd/lvp_icd.test.json: $prefix/lib/libvulkan_lvp.so$" 1
   lines out "^   $icd/radeon_icd.test.json: " 1
   lines out '^   /.*libvulkan\.so\.1' 1
   lines out "^   none of them is gpuval's" 1
else
   touch "$prefix/lib/libvulkan_radeon.so"
fi

begin 'an ICD by hand'
printf '{"ICD": {"library_path": "./libother.so"}}' >other.json
touch libother.so
VK_DRIVER_FILES=$PWD/other.json:$PWD/missing.json GPUVAL=bounds "$command" doctor >out 2>err
lines out "^   $PWD/other.json: $PWD/./libother.so$" 1
lines out "^   $PWD/missing.json: cannot be read$" 1
lines out '^   GPUVAL=bounds$' 1
VK_DRIVER_FILES=$icd/lvp_icd.test.json "$command" doctor >out 2>err
lines out "none of them is gpuval's" 0

begin 'ICDs of the system'
mkdir -p data/vulkan/icd.d
printf '{"ICD": {"library_path": "libother.so.1"}}' >data/vulkan/icd.d/other.json
XDG_DATA_HOME=$PWD/data "$command" doctor >out 2>err
lines out "^   $PWD/data/vulkan/icd.d/other.json: libother.so.1$" 1

begin 'changed since'
touch "$checkout/gpuval"
gpuval doctor
exits 0
lines out '^   set up; something has changed since' 1

begin 'a library is gone'
mv "$prefix/lib/libvulkan_lvp.so" .
gpuval doctor
problem '.*/lvp_icd.test.json is of no use'
mv libvulkan_lvp.so "$prefix/lib"

begin 'not set up'
mv "$checkout/build/stamps/ready" .
gpuval doctor
problem 'not set up'
mv ready "$checkout/build/stamps"

begin 'nothing is changed'
find "$checkout" -newer "$checkout/gpuval" -type f >changed
empty changed

begin 'one file for all'
demos=$checkout/build/obj/src/gpuval/demos
mkdir -p "$checkout/demos" "$demos"
echo 'small	a demo' >"$checkout/demos/list"
cat >"$demos/demo-small" <<'EOF'
#!/bin/sh
echo 'gpuval: note: self-test on a GPU: passed' >"$GPUVAL_LOG"
echo 'gpuval: no errors' >>"$GPUVAL_LOG"
echo "$GPUVAL, $VK_DRIVER_FILES"
: >"$GPUVAL_DUMP/shader"
exit 3
EOF
chmod +x "$demos/demo-small"
echo 'what my game said' >my.log
GPUVAL=sync RADV_DEBUG=hang gpuval doctor --collect all.tar.gz my.log
exits 0
lines out '^   self-test on a GPU: passed$' 1
lines out '^   demo-small: no errors, exit status: 3$' 1
lines err 'all.tar.gz has all of it: look at what you send' 1
tar -xzf all.tar.gz
for file in doctor.txt machine.txt cards.txt kernel.txt result.txt given/my.log \
   demo-small/log.txt demo-small/dump/shader; do
   [ -f "gpuval/$file" ] || wrong "there is no $file"
done
lines gpuval/machine.txt '^gpuval ' 1
lines gpuval/environment.txt '^RADV_DEBUG=hang$' 1
lines gpuval/demo-small/output.txt "^basic, $icd/radeon_icd.test.json$" 1

gpuval doctor --collect
exits 2
lines err 'collect needs a file' 1
gpuval doctor --collect no/such/folder.tar.gz
exits 1
gpuval doctor --collect=all.tar.gz no-such.log
exits 1
lines err 'no-such.log cannot be read' 1

finish
