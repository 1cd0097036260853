# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# `gpuval dist`: packages of what `gpuval install` installs (install.sh).
#
# The tarball has the LLVM that the drivers were built with, since other releases of Debian have
# other ones. The .deb depends on the package instead.

. "$rooms/install.sh"

# Debian's release, for the version of the package and the image of the container: "12 bookworm"
debian_version()
{
   (
      VERSION_ID='' VERSION_CODENAME=''
      # shellcheck source=/dev/null # not a file of this project
      [ ! -r /etc/os-release ] || . /etc/os-release
      echo "$VERSION_ID $VERSION_CODENAME"
   )
}

dist_readme()
{
   cat <<EOF
gpuval $gpuval_version: GPU validation inside Mesa's Vulkan drivers

   bin/gpuval demo                   shows what it finds
   bin/gpuval run -- ./my-program    checks a Vulkan program
   bin/gpuval doctor                 says what is missing when that does not work

Nothing has to be installed: this folder can be anywhere, and be moved. What it needs of the
system is in REQUIRES; Debian's names of the packages are

$(awk '$1 == "library" && $4 != "-" { print $4 }' "$1" | sort -u | tr '\n' ' ' | fold -s -w 90 | sed 's/^/   /')

share/doc/gpuval has the documents (docs/usage.rst first) and the licences.
EOF
}

make_tarball() # WORK NAME
{
   make_tree "$1/$2"
   put 644 "$1/$2/lib/gpuval/REQUIRES" "$1/$2/REQUIRES"
   dist_readme "$1/$2/REQUIRES" >"$1/$2/README" || exit 1
   tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
      -C "$1" -I 'gzip -n' -cf "$1/$2.tar.gz" "$2" || exit 1
   rm -rf "${1:?}/$2"
}

# Debian's names and versions of the packages with the libraries
deb_depends() # WORK
{
   mkdir -p "$1/debian" && printf 'Source: gpuval\n\nPackage: gpuval\nArchitecture: any\n' \
      >"$1/debian/control" || exit 1
   old_ifs=$IFS
   IFS='
'
   # shellcheck disable=SC2046 # a file a line
   set -- "$1" $(elf_files "$1/debian/gpuval")
   IFS=$old_ifs
   cd "$1" || exit 1
   shift
   tool dpkg-shlibdeps -O "$@" 2>"$private/shlibdeps" || {
      grep -v ': warning: ' "$private/shlibdeps" >&2
      exit 1
   }
}

# A maintainer is asked for by dpkg: who makes the package.
deb_control() # TREE DEPENDS
{
   cat <<EOF
Package: gpuval
Version: $deb_version
Architecture: $deb_architecture
Maintainer: ${DEBFULLNAME:-gpuval} <${DEBEMAIL:-gpuval@localhost}>
Section: devel
Priority: optional
Installed-Size: $(du -sk "$1" | cut -f 1)
Depends: ${2#shlibs:Depends=}
Description: GPU validation inside Mesa's Vulkan drivers
 Runs Vulkan programs on a driver that checks what shaders do while they run, on the
 CPU or on AMD GPUs, and reports what goes wrong with the line of source, the resource,
 the invocation and the command. The system's own drivers stay as they are.
EOF
}

make_deb() # WORK FILE
{
   tree=$1/debian/gpuval
   mkdir -p "$tree/DEBIAN" || exit 1
   make_tree "$tree/usr" no
   cat "$tree/usr/share/doc/gpuval/licences/gpuval" "$tree/usr/share/doc/gpuval/licences/Mesa" \
      >"$tree/usr/share/doc/gpuval/copyright" && chmod 644 "$tree/usr/share/doc/gpuval/copyright" || exit 1
   depends=$(deb_depends "$1") || exit 1
   (cd "$tree" && find usr -type f -exec md5sum {} +) >"$1/md5sums" || exit 1
   deb_control "$tree/usr" "$depends" >"$tree/DEBIAN/control" && mv "$1/md5sums" "$tree/DEBIAN" || exit 1
   tool dpkg-deb --root-owner-group -Zxz --build "$tree" "$1/$2" >/dev/null || exit 1
   rm -rf "${1:?}/debian"
}

containerfile() # DEB
{
   cat <<EOF
# SPDX-License-Identifier: MIT
#
# gpuval $gpuval_version in a container; $1 is beside this file:
#
#    docker build -t gpuval .        or podman build -t gpuval .
#    docker run --rm -v "\$PWD:/work" -w /work gpuval gpuval run -- ./my-program

FROM debian:${debian_codename:-stable}-slim
COPY $1 /tmp/
RUN apt-get update \\
 && apt-get install -y --no-install-recommends /tmp/$1 \\
 && rm -rf /tmp/$1 /var/lib/apt/lists/*
CMD ["gpuval", "demo"]
EOF
}

make_containerfile() # WORK DEB
{
   containerfile "$2" >"$1/Containerfile" || exit 1
}

place() # WORK OUTPUT NAME
{
   mv -f -- "$1/$3" "$2/$3" || exit 1
}

show_made() # FILE
{
   say "made $1 ($(du -h --apparent-size "$1" | cut -f 1))"
}

end_dist()
{
   rm -rf -- "$work" "$private"
   [ ! -d "$made" ] || find "$made" -depth -type d -empty -delete
}

command_dist()
{
   output=$build/dist
   while [ $# -gt 0 ]; do
      case $1 in
      --output)
         [ $# -ge 2 ] || usage_error "--output needs a folder"
         output=$2
         shift
         ;;
      --output=*) output=${1#*=} ;;
      --help | -h)
         help_dist
         exit
         ;;
      *) usage_error "unknown argument '$1'" ;;
      esac
      [ -n "$output" ] || usage_error "--output needs a folder"
      shift
   done
   output=$(absolute_folder "$output")
   check_writable "$output"
   prepare_tree_parts
   made=$(first_missing "$output")
   work=$output/.gpuval-$$
   trap end_dist EXIT
   writing "$output" mkdir -p -- "$work"

   export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(stat -c %Y "$stamps/ready")}"
   name=gpuval-$gpuval_version-$(uname -m)
   say "making $name.tar.gz"
   writing "$output" make_tarball "$work" "$name"
   writing "$output" place "$work" "$output" "$name.tar.gz"
   show_made "$output/$name.tar.gz"

   { have dpkg-deb && have dpkg-shlibdeps; } ||
      fail "no .deb and no Containerfile: dpkg-deb and dpkg-shlibdeps are missing (Debian: dpkg-dev)"
   debian_release=$(debian_version)
   debian_codename=${debian_release#* }
   deb_version=$gpuval_version+deb${debian_release%% *}
   deb_architecture=$(dpkg --print-architecture)
   deb=gpuval_${deb_version}_$deb_architecture.deb
   say "making $deb"
   writing "$output" make_deb "$work" "$deb"
   writing "$output" make_containerfile "$work" "$deb"
   writing "$output" place "$work" "$output" "$deb"
   writing "$output" place "$work" "$output" Containerfile
   show_made "$output/$deb"
   show_made "$output/Containerfile"
}

help_dist()
{
   cat <<EOF
usage: ./gpuval dist [--output DIR]

Makes packages of what is built: a tarball that runs from any folder, a .deb for the
release of Debian that this is, and a Containerfile for an image with the .deb.
What they need of a system is in the tarball's file REQUIRES and in the package's
Depends, computed from the files.

   --output DIR   where to (default: build/dist)

Exits with 2 when DIR cannot be written; no file is left half made there.
EOF
}
