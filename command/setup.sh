# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# `gpuval setup`, all steps of it.

allow_install=yes # no with --no-install
explicit_setup=no # yes for `gpuval setup`, no where another command needs it
mesa_src=         # --mesa-src

locked=no

# Whatever ends a setup
end_setup()
{
   explain_end "$1"
   [ "$locked" = no ] || unlock_build
}

# One setup at a time. The lock goes with the process, however it ends.
lock_build()
{
   { mkdir -p "$stamps" "$logs" && [ -w "$build" ] && [ -w "$stamps" ]; } 2>/dev/null ||
      fail "$build cannot be written to by $(id -un)"
   exec 9>"$build/lock"
   if have flock && ! flock -n 9; then
      say "another gpuval is setting up this checkout; waiting for it"
      flock 9
   fi
   locked=yes
   rm -rf "$temporary"
   mkdir "$temporary" || fail "$build cannot be written to"
}

# Root leaves nothing in a user's checkout that the user cannot change.
unlock_build()
{
   rm -rf "$temporary"
   owner=$(stat -c %u "$root")
   if [ "$(id -u)" = 0 ] && [ "$owner" != 0 ]; then
      find "$build" ! -user "$owner" -exec chown -h "$owner" {} +
   fi
   exec 9>&-
   locked=no
   trap - EXIT
}

setup_all()
{
   trap 'end_setup $?' EXIT
   lock_build
   touch "$temporary/ready"
   [ -f "$obj/build.ninja" ] || check_space 2000000 "setting up"
   [ -z "$mesa_src" ] || remember_source_directory
   get_packages
   is_developers_tree || get_source
   prepare_patched_tree
   build_main
   install_drivers
   mv "$temporary/ready" "$stamps/ready" || fail "$build cannot be written to"
}

command_setup()
{
   explicit_setup=yes
   while [ $# -gt 0 ]; do
      case $1 in
      --mesa-src)
         [ $# -ge 2 ] || usage_error "--mesa-src needs a directory"
         mesa_src=$2
         shift
         ;;
      --mesa-src=*) mesa_src=${1#*=} ;;
      --no-install) allow_install=no ;;
      --help | -h)
         help_setup
         exit
         ;;
      *) usage_error "unknown argument '$1'" ;;
      esac
      shift
   done
   [ -z "$mesa_src" ] || choose_series "$mesa_src"
   setup_all
   unlock_build
   if [ "$worked" = yes ]; then
      say "ready; ./gpuval demo$as_chosen shows what it finds, ./gpuval run$as_chosen -- PROGRAM runs your own"
   else
      say "ready; there was nothing to do"
   fi
}

help_setup()
{
   cat <<EOF
usage: ./gpuval setup [--mesa VERSION] [--mesa-src DIR] [--no-install]

Installs build dependencies (Debian 12 and 13), gets Mesa's source with APT,
applies the patch series, builds, and installs the drivers into build/prefix.
A second call does only what is left to do.

   --mesa VERSION   25.0 or 26.0; with --mesa-src the source says which
   --mesa-src DIR   copy Mesa's source from DIR, or from a tarball, which is not
                    changed; later calls go on using it (remove build/mesa-src to go
                    back). Versions that work: $(supported_versions). Each but $default_series
                    is in folders of its own, build/mesa-26.0, build/obj-26.0 and so on
   --no-install     never call the package manager; list what is missing
EOF
}
