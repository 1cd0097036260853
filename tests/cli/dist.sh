#!/bin/sh
# SPDX-License-Identifier: MIT
#
# `gpuval install` and `gpuval dist`: what they make works in any folder, without the checkout and
# with no other commands than REQUIRES names.
#
#    dist.sh RUNNER COMMAND NO_DEVICE LAVAPIPE RADV SHIM MESA

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

if [ $# -lt 7 ]; then
   echo "there is no RADV in this build, and packages have both drivers"
   exit 77
fi
if ! command -v dpkg-shlibdeps >/dev/null; then
   echo "there is no dpkg-shlibdeps (Debian: dpkg-dev)"
   exit 77
fi

# shellcheck source-path=SCRIPTDIR source=checkout.sh
. "$(dirname "$0")/checkout.sh"

make_packable "$2" "$7"
shim=$(absolute "$6")

complaint() # STATUS TEXT
{
   exits "$1"
   lines err . 1
   lines err "^gpuval: $2" 1
}

# A shell that has only what REQUIRES says
with_required() # TREE COMMAND...
{
   tree=$1
   shift
   mkdir -p "$private/required"
   # shellcheck disable=SC2013 # names without spaces
   for name in $(sed -n 's/^command //p' "$tree/lib/gpuval/REQUIRES"); do
      [ -e "$private/required/$name" ] || ln -s "$(command -v "$name")" "$private/required/$name"
   done
   env -i PATH="$private/required" HOME="$PWD" TMPDIR="$private" \
      MESA_SHADER_CACHE_DIR="$private/cache" VK_LOADER_LAYERS_DISABLE='~all~' "$@" >out 2>err
   status=$?
}

bad_arguments()
{
   begin 'bad arguments'
   gpuval install
   complaint 2 'no --prefix given'
   gpuval install --prefix
   complaint 2 '--prefix needs a folder'
   gpuval install --prefix ''
   complaint 2 '--prefix needs a folder'
   gpuval install --prefix x --force
   complaint 2 "unknown argument '--force'"
   gpuval dist --output=
   complaint 2 '--output needs a folder'
   gpuval dist away
   complaint 2 "unknown argument 'away'"
   touch file
   gpuval install --prefix file/below
   complaint 2 "$PWD/file/below/lib: '$PWD/file' is no folder"
   gpuval dist --output file
   complaint 2 "$PWD/file: '$PWD/file' is no folder"
   mkdir -p taken/lib/gpuval link/bin
   gpuval install --prefix taken
   complaint 2 "$PWD/taken/lib/gpuval is there, and not of an earlier installation"
   ln -s /bin/true link/bin/gpuval
   gpuval install --prefix link
   complaint 2 "$PWD/link/bin/gpuval is there, and not of an earlier installation"
   [ "$(names .)" = 'err file link out taken ' ] || wrong "there is more: $(names .)"
   [ -z "$(find taken link -type f)" ] || wrong 'something was installed'

   if [ "$(id -u)" != 0 ]; then
      mkdir closed
      chmod 555 closed
      gpuval install --prefix closed
      complaint 2 "$PWD/closed/lib: '$PWD/closed' cannot be written to by"
      gpuval dist --output closed/below
      complaint 2 "$PWD/closed/below: '$PWD/closed' cannot be written to by"
   fi
}

# A file that cannot become longer fails as one on a full disk does.
full_disk() # COMMAND ARGUMENT...
{
   (
      trap '' XFSZ
      ulimit -f 4000
      "$command" "$@"
   ) >out 2>err
   status=$?
}

no_room()
{
   begin 'no room'
   full_disk install --prefix new/place
   exits 2
   lines err "^gpuval: $PWD/new/place: cannot be written: ." 1
   absent new
   mkdir -p there/share
   full_disk install --prefix there
   exits 2
   [ "$(names there)" = 'share ' ] || wrong "the prefix has $(names there)"
   full_disk dist --output packages
   exits 2
   lines err "^gpuval: $PWD/packages: cannot be written: " 1
   absent packages
}

installed()
{
   begin 'installed'
   mkdir -p usr/share/doc/other
   gpuval install --prefix usr/
   exits 0
   listing=$(cd usr && find . | LC_ALL=C sort)
   DESTDIR=root "$command" install --prefix "$PWD/usr" >out 2>err
   [ "$listing" = "$( (cd "root$PWD/usr" && find . && echo ./share/doc/other) | LC_ALL=C sort)" ] ||
      wrong 'DESTDIR makes a difference'
   rm -rf root

   touch usr/lib/gpuval/lib/old.so usr/share/doc/gpuval/old.rst
   umask 077
   gpuval install --prefix usr
   umask 022
   exits 0
   [ "$listing" = "$(cd usr && find . | LC_ALL=C sort)" ] || wrong 'once more makes a difference'
   [ -z "$(find usr ! -type l ! -perm -444)" ] || wrong 'not everybody can read all'

   # It goes on while another one is made, and stays when that is interrupted.
   "$command" install --prefix usr >out 2>err &
   tries=300
   until [ -n "$(find usr -name '.gpuval-*')" ] || [ "$tries" -eq 0 ]; do
      tries=$((tries - 1))
      sleep 0.1
   done
   [ -x usr/bin/gpuval ] || wrong 'the old one is gone'
   kill "$!"
   wait "$!"
   status=$?
   exits 143
   [ "$listing" = "$(cd usr && find . | LC_ALL=C sort)" ] || wrong 'the interruption leaves something'

   # As docs/install.rst says
   (cd usr && rm -r lib/gpuval share/doc/gpuval bin/gpuval share/man/man1/gpuval.1 \
      share/bash-completion/completions/gpuval)
   [ -z "$(find usr ! -type d)" ] || wrong "there is left: $(find usr ! -type d)"
}

# What the tarball has, and where it was unpacked
unpacked()
{
   begin 'a tarball'
   gpuval dist --output 'some packages'
   exits 0
   absent "$checkout/build/dist"
   packages=$PWD/'some packages'
   lines err "^gpuval: made $packages/" 3
   name=gpuval-0.1.0-$(uname -m)
   mkdir 'another place'
   tar -xzf "$packages/$name.tar.gz" -C 'another place' || wrong 'it cannot be unpacked'
   unpacked=$PWD/another\ place/$name
   [ "$(names 'another place')" = "$name " ] || wrong 'it has no folder of its own'
   mv "$checkout" "$private/away" # which it does not need
   grep -r -I -l -F "$private" "$unpacked" && wrong 'these files have the name of the build'
   find "$unpacked" -name '*.so*' | grep -q libLLVM || wrong 'there is no LLVM'
   [ -s "$unpacked/share/doc/gpuval/licences/LLVM" ] || wrong 'there is no licence of LLVM'
   [ -z "$(find "$unpacked" -type f \
      -exec sh -c 'readelf -SW "$0" 2>/dev/null | grep "\.symtab"' {} \;)" ] ||
      wrong 'there are symbols'
}

ran()
{
   begin 'it runs'
   with_required "$unpacked" "$unpacked/bin/gpuval" demo
   exits 0
   lines out ': error: bounds/buffer-oob: ' 3
   lines out "^\\\$ gpuval run -- $unpacked/lib/gpuval/demos/demo-tonemap\$" 1
   empty err

   ln -s "$unpacked/bin/gpuval" a-link
   with_required "$unpacked" ./a-link run --report r.jsonl --error-exitcode 9 -- \
      "$unpacked/lib/gpuval/demos/demo-particles"
   exits 9
   lines r.jsonl '"file":"particles.comp"' 1
   lines r.jsonl '"driver":"llvmpipe, Mesa [0-9.]+(-devel)? \(LLVM' 1
   with_required "$unpacked" "$unpacked/bin/gpuval" report r.jsonl -o r.html
   exits 0
   [ -s r.html ] || wrong 'there is no HTML'
   with_required "$unpacked" "$unpacked/bin/gpuval" explain bounds/buffer-oob
   exits 0
   with_required "$unpacked" "$unpacked/bin/gpuval" env --driver radv
   exits 0
   lines out "^export VK_DRIVER_FILES='$unpacked/lib/gpuval/share/vulkan/icd.d/radeon" 1
   lines out "^export DRIRC_CONFIGDIR='$unpacked/lib/gpuval/share/drirc.d'$" 1
   with_required "$unpacked" "$unpacked/bin/gpuval" anygpu --print-program
   exits 0
   with_required "$unpacked" "$(cat out)" --help
   exits 0
   for name in lvp radeon; do
      ldd "$unpacked/lib/gpuval/lib/libvulkan_$name.so" >out
      lines out "libLLVM.* => $unpacked/lib/gpuval/lib/libLLVM" 1
   done

   # A device of RADV's, which needs no GPU as long as nothing is executed
   AMDGPU_GPU_ID=navi31 "$unpacked/bin/gpuval" run --driver radv -- \
      env LD_PRELOAD="$shim" "$unpacked/lib/gpuval/demos/demo-particles" >out 2>err
   lines err '; radv, Mesa [0-9.]+(-devel)?; ' 1
}

said()
{
   begin 'what it says'
   for missing in setup test bench dist install; do
      with_required "$unpacked" "$unpacked/bin/gpuval" "$missing" --help
      complaint 2 "'$missing' needs the source: this is an installation, in $unpacked/lib/gpuval"
      empty out
   done
   with_required "$unpacked" "$unpacked/bin/gpuval" --version
   lines out '^gpuval 0.1.0 for Mesa [0-9.]+(-devel)?$' 1
   with_required "$unpacked" "$unpacked/bin/gpuval" --help
   exits 0
   lines out '^   (setup|dist)' 0
   lines out '\./gpuval' 0
   for shell in bash zsh fish; do
      with_required "$unpacked" "$unpacked/bin/gpuval" completion "$shell"
      exits 0
      empty err
      lines out '(setup|bench) ' 0
   done
   with_required "$unpacked" "$unpacked/bin/gpuval" doctor
   exits 0
   lines out '^   installed; made on ' 1
   mv "$unpacked/lib/gpuval/lib/libvulkan_lvp.so" .
   with_required "$unpacked" "$unpacked/bin/gpuval" doctor
   exits 1
   mv libvulkan_lvp.so "$unpacked/lib/gpuval/lib"
}

# By readelf: by objdump it was made.
required()
{
   begin 'what it needs'
   if ! command -v readelf >/dev/null; then
      echo 'no readelf: REQUIRES is not compared'
      return
   fi
   find "$unpacked/lib/gpuval" -type f \( -perm -100 -o -name '*.so*' \) \
      -exec readelf -dVW {} + 2>/dev/null | grep -e NEEDED -e ' Name: GLIBC_' >dump
   find "$unpacked" -name '*.so*' -printf '%f\n' >there
   sed -n 's/.*NEEDED.*\[\(.*\)\]$/\1/p' dump | sort -u | grep -v -x -F -f there >needed
   sed -n 's/^library \([^ ]*\) .*/\1/p' "$unpacked/REQUIRES" | sort -u | diff needed - || wrong 'other libraries'
   lines "$unpacked/REQUIRES" "^library libc.so.6 \
$(sed -n 's/.* Name: \(GLIBC_2[0-9.]*\) .*/\1/p' dump | sort -V | tail -n 1 | sed 's/\./\\./g') " 1
   lines "$unpacked/REQUIRES" "^system $(uname -m) Linux$" 1
   if command -v dpkg >/dev/null; then
      lines "$unpacked/REQUIRES" '^library libc.so.6 .* libc6$' 1
      lines "$unpacked/REQUIRES" '^library .* -$' 0
      lines "$unpacked/README" '^   (.* )?libvulkan1 ' 1
   fi
}

packaged()
{
   begin 'a package'
   deb=$(find "$packages" -name '*.deb')
   dpkg-deb -f "$deb" >control || wrong 'it cannot be read'
   lines control '^Depends: .*libc6 \(>= 2\.[0-9]*\), .*libllvm[0-9.]+( \([^)]*\))?,.* libvulkan1' 1
   lines control '^Version: 0\.1\.0\+deb' 1
   dpkg-deb -e "$deb" control.d
   dpkg-deb -x "$deb" root
   (cd root && md5sum --quiet -c ../control.d/md5sums) || wrong 'its sums are wrong'
   [ "$(find root -type f | wc -l)" -eq "$(wc -l <control.d/md5sums)" ] || wrong 'not all files have sums'
   [ -s root/usr/share/doc/gpuval/copyright ] || wrong 'there is no copyright'
   [ -z "$(find root -name '*LLVM*')" ] || wrong 'it has an LLVM of its own'
   ! sed -n 's/^library \([^ ]*\) .*/\1/p' root/usr/lib/gpuval/REQUIRES | grep -q LLVM &&
      wrong 'it does not say that it needs LLVM'
   with_required root/usr root/usr/bin/gpuval demo
   exits 0
   grep -q -x -F "COPY ${deb##*/} /tmp/" "$packages/Containerfile" || wrong 'the container gets another one'
   lines "$packages/Containerfile" '^FROM debian:[a-z]+-slim$' 1
}

bad_arguments
no_room
installed
unpacked
ran
said
required
packaged
finish
