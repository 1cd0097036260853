#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Packages on machines that have nothing: the tarball of this build runs in a minimal Debian, with
# the packages that its REQUIRES names and a program to run; so does the .deb in the release that it was
# made on, and leaves nothing there.
#
#    packages.sh RUNNER COMMAND NO_DEVICE LAVAPIPE RADV SHIM MESA MACHINES RELEASE

# shellcheck source-path=SCRIPTDIR source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

skip()
{
   echo "$1"
   exit 77
}

[ $# -eq 9 ] || skip 'there is no RADV in this build, and packages have both drivers'
[ "$(id -u)" = 0 ] || skip 'making a machine needs root'
for name in debootstrap unshare; do
   command -v "$name" >/dev/null || skip "making a machine needs $name"
done
unshare --mount true 2>/dev/null || skip 'namespaces of mounts cannot be made here'
mirror=$(debian_mirror)
[ -n "$mirror" ] || skip 'this machine has no APT source for Debian'

# shellcheck source-path=SCRIPTDIR source=../cli/checkout.sh
. "$(dirname "$0")/../cli/checkout.sh"
make_packable "$2" "$7"
shim=$(absolute "$6")
machines=$8
release=$9
kept=$machines/$release
machine=$kept

# It is kept, with the programs that are run and nothing that a package has to bring along; what is
# tried is tried in a copy.
get_machine()
{
   if [ ! -f "$kept/ready" ]; then
      rm -rf --one-file-system "$kept"
      mkdir -p "$machines"
      if ! { bootstrap_machine "$kept" "$release" &&
         apt install xvfb xauth vulkan-tools; } >"$machines/$release.log" 2>&1; then
         tail -n 5 "$machines/$release.log"
         skip "there is no way to a minimal Debian $release: see $machines/$release.log"
      fi
      touch "$kept/ready"
   fi
   machine=$kept.copy
   trap 'rm -rf --one-file-system "$private" "$machine"' EXIT
   rm -rf --one-file-system "$machine"
   cp -a "$kept" "$machine" || exit 99
}

inside() # COMMAND...
{
   run_in_machine "$machine" env -i LANG=C.UTF-8 HOME=/root PATH="$machine_path" \
      DEBIAN_FRONTEND=noninteractive "$@"
}

apt() # install PACKAGE..., purge PACKAGE...
{
   action=$1
   shift
   inside apt-get update -qq
   inside apt-get "$action" -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "$@"
}

tried() # GPUVAL
{
   inside "$1" doctor >out 2>err
   status=$?
   exits 0
   inside "$1" demo >out 2>err
   status=$?
   exits 0
   lines out ': error: bounds/buffer-oob: ' 3
   inside "$1" run --error-exitcode 9 -- xvfb-run -a vkcube --c 10 >out 2>err
   status=$?
   exits 0
   lines err '^gpuval: no errors: [0-9]* shaders, 10 commands; .* llvmpipe, ' 1
   # All symbols at once, of a driver that makes a device without a GPU
   cp "$shim" "$machine/srv/shim.so"
   inside env LD_BIND_NOW=1 AMDGPU_GPU_ID=navi31 "$1" run --driver radv -- \
      env LD_PRELOAD=/srv/shim.so "$2/demos/demo-particles" >out 2>err
   lines err '; radv, Mesa [0-9.]+(-devel)?; ' 1
   inside env LD_BIND_NOW=1 "$1" run -- vulkaninfo --summary >out 2>err
   lines out 'deviceName *= llvmpipe ' 1
}

get_machine
"$command" dist --output "$private/packages" >/dev/null 2>"$private/said" || show "$private/said"

begin "the tarball in $release"
! inside sh -c 'command -v cc || command -v gcc || command -v python3' >out ||
   wrong "there is more than in a minimal Debian: $(cat out)"
mkdir -p "$machine/srv/here"
tar -xzf "$private"/packages/*.tar.gz -C "$machine/srv/here"
place=$(cd "$machine" && echo srv/here/*)
# shellcheck disable=SC2046 # names of packages
apt install $(awk '$1 == "library" { print $4 }' "$machine/$place/REQUIRES" | sort -u) >said 2>&1 || show said
tried "/$place/bin/gpuval" "/$place/lib/gpuval"

deb=$(cd "$private/packages" && echo ./*.deb)
case $deb in
*+deb12_*) made_on=bookworm ;;
*+deb13_*) made_on=trixie ;;
*) made_on= ;;
esac
if [ "$made_on" = "$release" ]; then
   begin "the .deb in $release"
   cp "$private/packages/$deb" "$machine/srv"
   apt install "/srv/$deb" >said 2>&1 || show said
   tried gpuval /usr/lib/gpuval
   apt purge gpuval >said 2>&1 || show said
   [ -z "$(find "$machine/usr" -name '*gpuval*')" ] || wrong 'something is left'
fi
finish
