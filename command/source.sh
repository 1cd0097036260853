# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# Mesa's source: where it comes from, and the trees that are made of it.

mends=0000-mends.patch

# 25.0.7 -> 25.0, when there is a series for it.
series_of() # VERSION
{
   key=$(echo "$1" | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')
   [ -f "$root/mesa/$key/series" ] && echo "$key"
}

check_tree_version() # TREE
{
   if [ ! -f "$1/VERSION" ] || [ ! -f "$1/src/vulkan/meson.build" ]; then
      fail "$1 is not a Mesa source tree"
   fi
   version=$(cat "$1/VERSION")
   series_of "$version" >/dev/null ||
      fail "$1 is Mesa $version; versions that work: $(supported_versions)"
   check_marks "$1" "$(series_of "$version")"
}

# Development versions have one name for months: a series may say what its tree has, by lines of
# FILE WORD in mesa/KEY/marks.
check_marks() # TREE KEY
{
   [ -f "$root/mesa/$2/marks" ] || return 0
   while read -r file word; do
      grep -qsF "$word" "$1/$file" ||
         fail "$1 is Mesa $(cat "$1/VERSION"), but not the one that mesa/$2 is for: $file has no $word"
   done <"$root/mesa/$2/marks"
}

# The directory or tarball of an earlier or this call's --mesa-src, or nothing.
source_directory()
{
   cat "$mesa_source" 2>/dev/null
}

# VERSION of a directory or of a tarball
version_of() # SOURCE
{
   if [ -d "$1" ]; then
      cat "$1/VERSION" 2>/dev/null
   else
      tar -xOf "$1" --occurrence=1 --wildcards '*/VERSION' 2>/dev/null
   fi
}

source_tarball()
{
   find "$download" -name 'mesa_*.orig.tar.xz' 2>/dev/null | sort -V | tail -n 1
}

# Which series fits is the tree's to say; where --mesa says so as well, it has to be the same.
choose_series() # SOURCE
{
   [ -d "$1" ] || [ -f "$1" ] || fail "--mesa-src: $1 is neither a directory nor a tarball"
   version=$(version_of "$1")
   [ -n "$version" ] || fail "$1 is not a Mesa source tree"
   key=$(series_of "$version") ||
      fail "$1 is Mesa $version; versions that work: $(supported_versions)"
   [ -z "${GPUVAL_TEST_MESA-}" ] || [ "$GPUVAL_TEST_MESA" = "$key" ] ||
      fail "$1 is Mesa $version, and --mesa says $GPUVAL_TEST_MESA"
   choose_mesa "$key"
   say "$1 is Mesa $version: its patches are mesa/$key, its drivers those of --mesa $key"
}

remember_source_directory()
{
   directory=$(realpath -- "$mesa_src")
   case $directory/ in
   "$build"/*) fail "--mesa-src: $directory is gpuval's own copy; give another Mesa tree" ;;
   esac
   [ ! -d "$directory" ] || check_tree_version "$directory"
   echo "$directory" >"$temporary/mesa-src" && mv "$temporary/mesa-src" "$mesa_source"
}

# APT checks the tarball against the signed package lists. Only Mesa's own
# tarball is used, without Debian's patches.
download_tarball()
{
   prepare_apt
   version=$(private_apt apt-cache showsrc --only-source mesa 2>/dev/null |
      sed -n 's/^Version: //p' | sort -V | tail -n 1)
   [ -n "$version" ] || fail "the APT source $mirror has no source package of Mesa"
   series_of "$version" >/dev/null ||
      fail "Debian 13 has Mesa $version now; versions that work: $(supported_versions)." \
         "Give a tree with --mesa-src"
   mkdir "$temporary/download"
   (cd "$temporary/download" &&
      logged apt-source quietly private_apt apt-get source --download-only --only-source \
         "mesa=$version") ||
      fail_with_log apt-source "APT cannot get Mesa's source"
   mkdir -p "$download"
   mv "$temporary/download"/mesa_*.orig.tar.xz "$download/" || fail "APT has left no mesa_*.orig.tar.xz"
}

get_source()
{
   if [ -d "$(source_directory)" ]; then
      check_tree_version "$(source_directory)"
   elif [ -n "$(source_directory)" ]; then
      [ -f "$(source_directory)" ] || fail "$(source_directory) is gone: give it with --mesa-src"
   elif [ "$used_series" != "$default_series" ]; then
      fail "there is no source of Mesa $used_series yet: give it with ./gpuval setup --mesa-src DIR"
   elif [ -z "$(source_tarball)" ]; then
      if [ "$allow_install" = no ] || [ -z "$release" ]; then
         fail "there is no Mesa source yet: give one with --mesa-src DIR (versions that work:" \
            "$(supported_versions))"
      fi
      step 2 "downloading Mesa's source"
      download_tarball
   fi
}

# Patterns of what is not source in the user's tree: its repository, its build
# folders, and a link to this module.
not_source() # DIRECTORY
{
   echo ./.git
   echo ./src/gpuval
   (cd "$1" && find . -maxdepth 3 -type d -name meson-private) | sed 's,/meson-private$,,'
}

directory_state() # DIRECTORY
{
   not_source "$1" >"$temporary/not-source"
   (cd "$1" && find . ! -type d -printf '%p %s %T@ %l\n') | LC_ALL=C sort |
      awk 'NR == FNR { skip[$0]; next }
           { for (name in skip) if (index($0, name "/") == 1 || $1 == name) next; print }' \
         "$temporary/not-source" - | sha256sum
}

# What the source is, in one line that changes when the source does.
source_state()
{
   directory=$(source_directory)
   if [ -d "$directory" ]; then
      echo "$directory $(directory_state "$directory")"
   elif [ -n "$directory" ]; then
      echo "$directory $(stat -c '%s %Y' "$directory")"
   else
      basename "$(source_tarball)"
   fi
}

series_patches() # KEY
{
   sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$root/mesa/$1/series"
}

# Mistakes of Mesa's own that the series mends first: what is compared with has to be mended, too.
mends_state() # KEY
{
   [ ! -f "$root/mesa/$1/$mends" ] || sha256sum <"$root/mesa/$1/$mends"
}

patches_state()
{
   for key in $(series_versions); do
      echo "$key"
      series_patches "$key" | while read -r name; do
         echo "$name"
         cat "$root/mesa/$key/$name"
      done
   done | sha256sum
}

# Modification times are those of unpacking, not the tarball's: a file that
# loses a patch must look new to ninja.
unpack() # TREE
{
   mkdir "$1"
   directory=$(source_directory)
   if [ -d "$directory" ]; then
      not_source "$directory" >"$temporary/not-source"
      { tar -cf "$temporary/mesa.tar" -C "$directory" -X "$temporary/not-source" . &&
         tar -x --no-same-owner -m -f "$temporary/mesa.tar" -C "$1"; } ||
         fail "$directory cannot be copied to $build"
      rm -f "$temporary/mesa.tar"
   else
      tarball=${directory:-$(source_tarball)}
      tar -x --no-same-owner -m --strip-components=1 -f "$tarball" -C "$1" ||
         fail "$tarball cannot be unpacked: if it is damaged, remove it and set up again"
   fi
   check_tree_version "$1"
}

apply_patches() # TREE all|mends
{
   key=$(series_of "$(cat "$1/VERSION")")
   : >"$logs/patch.log"
   series_patches "$key" | while read -r name; do
      [ "$2" = all ] || [ "$name" = "$mends" ] || continue
      echo "mesa/$key/$name"
      patch -d "$1" -p1 -f --no-backup-if-mismatch <"$root/mesa/$key/$name" || exit 1
   done >>"$logs/patch.log" 2>&1 ||
      fail_with_log patch "the patches in mesa/$key do not apply to this source"
}

# "CHECKSUM  PATH" of each file, "CHECKSUM" being the target for a link.
list_tree() # TREE
{
   (cd "$1" && {
      find . -type f -exec sha256sum {} +
      find . -type l ! -path ./src/gpuval -printf '%l  %p\n'
   }) | LC_ALL=C sort
}

# Makes OLD equal to NEW and touches only what differs, so that ninja rebuilds
# only that.
sync_tree() # NEW OLD
{
   # On a full disk a list ends early, and what it lacks would be removed.
   { list_tree "$1" >"$temporary/new" && list_tree "$2" >"$temporary/old"; } ||
      fail "$build cannot be written to"
   for list in new old; do
      sed 's/^[^ ]*  //' "$temporary/$list" | LC_ALL=C sort >"$temporary/$list-names" ||
         fail "$build cannot be written to"
   done
   LC_ALL=C comm -13 "$temporary/new-names" "$temporary/old-names" |
      while IFS= read -r name; do
         rm -f "$2/$name"
      done
   LC_ALL=C comm -23 "$temporary/new" "$temporary/old" | sed 's/^[^ ]*  //' |
      while IFS= read -r name; do
         mkdir -p "$(dirname "$2/$name")" && mv -f "$1/$name" "$2/$name" || exit 1
      done || fail "$2 cannot be brought up to date"
}

# prepare_tree TREE STAMP PATCHES(all|mends) STATE
prepare_tree()
{
   [ "$(cat "$stamps/$2" 2>/dev/null)" != "$4" ] || [ ! -f "$1/VERSION" ] || return 0
   step 3 "preparing Mesa's source in ${1#"$root/"}"
   new=$temporary/tree
   rm -rf "$new"
   unpack "$new"
   apply_patches "$new" "$3"
   rm -f "$stamps/$2"
   mkdir -p "$(dirname "$1")"
   if [ -d "$1" ]; then
      sync_tree "$new" "$1"
      rm -rf "$new"
   else
      mv "$new" "$1"
   fi
   { echo "$4" >"$temporary/stamp" && mv "$temporary/stamp" "$stamps/$2"; } ||
      fail "$build cannot be written to"
}

# The repository is the module src/gpuval of its Mesa tree.
prepare_patched_tree()
{
   if is_developers_tree; then
      say "${mesa#"$root/"} has a .git of its own: a developer's tree, used as it is"
      check_tree_version "$mesa"
   else
      prepare_tree "$mesa" tree all "$(source_state) $(patches_state)"
      [ -e "$mesa/src/gpuval" ] || ln -sfn ../../.. "$mesa/src/gpuval"
   fi
}
