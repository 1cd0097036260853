# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# `gpuval install`, and the tree that it and `gpuval dist` make of what is built:
#
#    bin/gpuval                    a link to lib/gpuval/gpuval
#    lib/gpuval/gpuval, command/   this command, and its rooms that need no source
#    lib/gpuval/bin/               programs that the rooms call
#    lib/gpuval/lib/               the drivers, and the LLVM that they were built with
#    lib/gpuval/share/             ICD files, drirc.d
#    lib/gpuval/demos/             the demos and their list
#    lib/gpuval/installed          what was made, one fact a line (fact() of common.sh)
#    lib/gpuval/REQUIRES           what it needs of a system (requires.sh)
#    share/                        manual page, documents, licences, completion
#
# Nothing in it names its own place, so that it can be moved. The ICD files are where the Vulkan
# loader does not look by itself: other programs go on using the system's drivers.

installed_rooms="anygpu.sh collect.sh common.sh completion.bash completion.sh demo.sh doctor.sh drivers.sh
   explain.sh report.sh run.sh"

# The functions that make a tree run in a subshell, which the first failure ends.
put() # MODE SOURCE TARGET
{
   mkdir -p -- "$(dirname -- "$3")" && cp -- "$2" "$3" && chmod "$1" -- "$3" || exit 1
}

# Text for people who have no checkout
put_text() # MODE SOURCE TARGET
{
   mkdir -p -- "$(dirname -- "$3")" && sed 's,\./gpuval\>,gpuval,g' -- "$2" >"$3" && chmod "$1" -- "$3" ||
      exit 1
}

# A program or a library, without what only debuggers and linkers read
put_binary() # MODE SOURCE TARGET
{
   mkdir -p -- "$(dirname -- "$3")" && tool strip --strip-unneeded -o "$3" -- "$2" && chmod "$1" -- "$3" ||
      exit 1
}

put_command() # TREE
{
   home=$1/lib/gpuval
   put_text 755 "$root/gpuval" "$home/gpuval"
   for file in $installed_rooms; do
      put_text 644 "$rooms/$file" "$home/command/$file"
   done
   mkdir -p "$1/bin" && ln -s ../lib/gpuval/gpuval "$1/bin/gpuval" || exit 1
   for name in gpuval-check-names gpuval-report; do
      put_binary 755 "$prefix/bin/$name" "$home/bin/$name"
   done
   put_binary 755 "$anygpu" "$home/bin/gpuval-anygpu"
}

put_drivers() # TREE
{
   home=$1/lib/gpuval
   for driver in lavapipe radv; do
      icd=$(icd_file "$driver") || exit 1
      library=$(icd_library "$icd")
      put_binary 644 "$library" "$home/lib/${library##*/}"
      name=share/vulkan/icd.d/${icd##*/}
      mkdir -p "$home/share/vulkan/icd.d" &&
         sed "s,\(\"library_path\" *: *\"\)[^\"]*\",\1../../../lib/${library##*/}\"," "$icd" >"$home/$name" ||
         exit 1
   done
   for file in "$mesa/src/util/00-mesa-defaults.conf" "$mesa/src/util/00-radv-defaults.conf"; do
      put 644 "$file" "$home/share/drirc.d/${file##*/}"
   done
}

# "NAME FILE" of the LLVM that the drivers are linked with
find_llvm_library()
{
   for driver in lavapipe radv; do
      tool ldd "$(icd_library "$(icd_file "$driver")")" 2>/dev/null
   done | sed -n 's,^[[:space:]]*\(libLLVM[^ ]*\) => \(/[^ ]*\) .*,\1 \2,p' | head -n 1
}

# Releases of other systems have another LLVM, and it has the version in its name. Its licence,
# Apache 2.0 with exceptions, allows to pass it on with a copy of the licence.
put_llvm() # TREE
{
   llvm=$(find_llvm_library)
   [ -n "$llvm" ] || return 0
   put 644 "${llvm#* }" "$1/lib/gpuval/lib/${llvm%% *}"
   put 644 "$(llvm_licence)" "$1/share/doc/gpuval/licences/LLVM"
}

llvm_licence()
{
   llvm=$(find_llvm_library)
   echo "/usr/share/doc/$(packages_of_files "${llvm#* }" | sed '1s/ .*//;q')/copyright"
}

put_demos() # TREE
{
   put 644 "$root/demos/list" "$1/lib/gpuval/demos/list"
   while read -r name _; do
      for twin in "$name" "$name-fixed"; do
         put_binary 755 "$demos/demo-$twin" "$1/lib/gpuval/demos/demo-$twin"
      done
   done <"$root/demos/list" || exit 1
}

put_documents() # TREE
{
   share=$1/share
   put_text 644 "$root/docs/gpuval.1" "$share/man/man1/gpuval.1"
   mkdir -p "$share/bash-completion/completions" &&
      sed -e 's/^_gpuval_source_commands=.*/_gpuval_source_commands=/' -e 's, \./gpuval$,,' \
         "$rooms/completion.bash" >"$share/bash-completion/completions/gpuval" || exit 1
   put_text 644 "$root/README.rst" "$share/doc/gpuval/README.rst"
   for file in "$root"/docs/*.rst; do
      put_text 644 "$file" "$share/doc/gpuval/docs/${file##*/}"
   done
   put 644 "$root/LICENSE" "$share/doc/gpuval/licences/gpuval"
   licence=$mesa/docs/license.rst
   [ -f "$licence" ] || licence=$mesa/licenses/MIT # in a tree without documents
   put 644 "$licence" "$share/doc/gpuval/licences/Mesa"
}

system_name()
{
   (
      PRETTY_NAME=$(uname -s)
      # shellcheck source=/dev/null # not a file of this project
      [ ! -r /etc/os-release ] || . /etc/os-release
      echo "$PRETTY_NAME, $(uname -m)"
   )
}

put_facts() # TREE
{
   {
      echo "version $gpuval_version"
      echo "mesa $(cat "$mesa/VERSION")"
      echo "system $(system_name)"
   } >"$1/lib/gpuval/installed" && requires "$1" >"$1/lib/gpuval/REQUIRES" || exit 1
   put 644 "$1/lib/gpuval/REQUIRES" "$1/share/doc/gpuval/REQUIRES"
}

make_tree() # TREE [LLVM: yes or no]
{
   umask 022
   put_command "$1"
   put_drivers "$1"
   [ "${2:-yes}" = no ] || put_llvm "$1"
   put_demos "$1"
   put_documents "$1"
   put_facts "$1"
}

# Runs what writes below FOLDER in a subshell; when it fails, one line says why.
writing() # FOLDER FUNCTION [ARGUMENT...]
{
   folder=$1
   shift
   (
      trap - EXIT
      "$@"
   ) 2>"$private/errors" && return
   reason=$(sed -n '$s/.*: //p' "$private/errors" 2>/dev/null)
   refuse "$folder: cannot be written${reason:+: $reason}"
}

# Something else than bad options ends a command with 2 as well, before it has changed anything.
refuse()
{
   say "$*"
   exit 2
}

# What has to be there before a tree can be made
prepare_tree_parts()
{
   . "$rooms/requires.sh"
   . "$rooms/anygpu.sh"
   ensure_setup
   build_anygpu
   private=$(mktemp -d "${TMPDIR:-/tmp}/gpuval.XXXXXX") || exit 2
   trap 'rm -rf "$private"' EXIT
   llvm=$(find_llvm_library)
   [ -z "$llvm" ] || [ -r "$(llvm_licence)" ] ||
      refuse "the licence of ${llvm#* } is not in /usr/share/doc, and goes with it"
}

# The folder that would have to be written to for FOLDER to be made: the nearest that is there
nearest_folder() # FOLDER
{
   nearest=$1
   while [ ! -e "$nearest" ]; do
      nearest=$(dirname -- "$nearest")
   done
   printf '%s\n' "$nearest"
}

check_writable() # FOLDER
{
   nearest=$(nearest_folder "$1")
   [ -d "$nearest" ] || refuse "$1: '$nearest' is no folder"
   [ -w "$nearest" ] || refuse "$1: '$nearest' cannot be written to by $(id -un)"
}

absolute_folder() # FOLDER
{
   folder=$1
   while [ "${folder%/}" != "$folder" ]; do
      folder=${folder%/}
   done
   case $1 in
   /*) printf '%s\n' "$folder" ;;
   *) printf '%s\n' "$PWD/$folder" ;;
   esac
}

# What is replaced has to be of an earlier installation.
check_replaced() # TARGET
{
   if [ -e "$1/lib/gpuval" ] && [ ! -f "$1/lib/gpuval/installed" ]; then
      refuse "$1/lib/gpuval is there, and not of an earlier installation"
   fi
   if [ -e "$1/bin/gpuval" ] || [ -L "$1/bin/gpuval" ]; then
      [ "$(readlink -- "$1/bin/gpuval")" = ../lib/gpuval/gpuval ] ||
         refuse "$1/bin/gpuval is there, and not of an earlier installation"
   fi
}

# Files and folders that are put into their place by a rename each, in this order
installed_parts="lib/gpuval share/doc/gpuval share/man/man1/gpuval.1
   share/bash-completion/completions/gpuval bin/gpuval"

# A folder cannot be renamed onto another one: the old one goes aside first.
switch_parts() # STAGED TARGET
{
   for part in $installed_parts; do
      mkdir -p -- "$2/${part%/*}" || exit 1
      if [ -d "$2/$part" ] && [ ! -L "$2/$part" ]; then
         mkdir -p -- "$1/old/${part%/*}" && mv -- "$2/$part" "$1/old/$part" || exit 1
      fi
      mv -f -T -- "$1/$part" "$2/$part" || exit 1
   done
}

# However it ends: an interrupted exchange is taken back, nothing half made stays.
end_install()
{
   if [ -d "$staged/old/lib/gpuval" ] && [ ! -e "$target/lib/gpuval" ]; then
      mv -- "$staged/old/lib/gpuval" "$target/lib/gpuval"
   fi
   rm -rf -- "$staged" "$private"
   [ ! -d "$made" ] || find "$made" -depth -type d -empty -delete
}

# The first folder of PATH that has to be made, or nothing
first_missing() # FOLDER
{
   missing_folder=
   folder=$1
   while [ ! -e "$folder" ]; do
      missing_folder=$folder
      folder=$(dirname -- "$folder")
   done
   printf '%s\n' "$missing_folder"
}

command_install()
{
   install_prefix=
   while [ $# -gt 0 ]; do
      case $1 in
      --prefix)
         [ $# -ge 2 ] || usage_error "--prefix needs a folder"
         install_prefix=$2
         shift
         ;;
      --prefix=*) install_prefix=${1#*=} ;;
      --help | -h)
         help_install
         exit
         ;;
      *) usage_error "unknown argument '$1'" ;;
      esac
      [ -n "$install_prefix" ] || usage_error "--prefix needs a folder"
      shift
   done
   [ -n "$install_prefix" ] || usage_error "no --prefix given"
   target=$(absolute_folder "$install_prefix")
   [ -z "${DESTDIR-}" ] || target=$(absolute_folder "$DESTDIR")$target
   check_writable "$target/lib"
   check_replaced "$target"
   prepare_tree_parts
   made=$(first_missing "$target")
   staged=$target/.gpuval-$$
   trap end_install EXIT
   writing "$target" mkdir -p -- "$staged"
   writing "$target" make_tree "$staged"
   writing "$target" switch_parts "$staged" "$target"
   say "installed in $target; ${target}/bin/gpuval demo tries it"
}

help_install()
{
   cat <<EOF
usage: ./gpuval install --prefix DIR

Installs what is built: the command in DIR/bin, the drivers and what else it needs
in DIR/lib/gpuval, manual page and documents in DIR/share. An earlier installation
there is replaced. The source is not needed afterwards, and the files can be moved.
DESTDIR in the environment goes in front of DIR, as packagers want it.

   --prefix DIR   where to: /usr/local, \$HOME/.local, ...

docs/install.rst says what is where and how to remove it. Exits with 2 when DIR
cannot be written; then nothing there has changed.

   ./gpuval install --prefix /usr/local
EOF
}
