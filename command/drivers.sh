# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# The drivers that this checkout has built, or that are installed: where they are, whether
# they are up to date.

# A version is supported when there is a patch series for it: mesa/25.0/series.
series_versions()
{
   for file in "$root"/mesa/*/series; do
      [ ! -f "$file" ] || basename "$(dirname "$file")"
   done
}

supported_versions()
{
   if is_installed; then
      fact mesa
      return
   fi
   series_versions | sed 's/$/.x/' | tr '\n' ' ' | sed 's/ $//'
}

# A Mesa tree that a developer works in has its own .git: hands off.
is_developers_tree()
{
   [ -e "$mesa/.git" ]
}

icd_file() # DRIVER
{
   case $1 in
   lavapipe) name=lvp ;;
   radv) name=radeon ;;
   esac
   for file in "$prefix/share/vulkan/icd.d/${name}_icd."*.json; do
      if [ -f "$file" ]; then
         printf '%s\n' "$file"
         return
      fi
   done
   return 1
}

# "library_path" of an ICD file, as the loader takes it
icd_library() # FILE
{
   library=$(sed -n 's/.*"library_path" *: *"\([^"]*\)".*/\1/p' "$1" | head -n 1)
   case $library in
   /*) ;;
   */*) library=$(dirname "$1")/$library ;;
   esac
   printf '%s\n' "$library"
}

# Whether the ICD files are there and point into this checkout.
has_drivers()
{
   for icd in "$(icd_file lavapipe)" "$(icd_file radv)"; do
      grep -qsF "\"$prefix/" "$icd" || return 1
   done
}

# Nothing that a build reads is newer than the last complete setup. Reads only,
# so that whoever may read the checkout can run programs. What is installed is complete.
is_ready()
{
   ! is_installed || return 0
   [ -f "$stamps/ready" ] && has_drivers || return 1
   set --
   for part in gpuval command meson.build src mesa demos bench tests; do
      [ ! -e "$root/$part" ] || set -- "$@" "$root/$part"
   done
   if is_developers_tree; then
      set -- "$@" "$mesa/src"
   fi
   [ -z "$(find "$@" -newer "$stamps/ready" | head -n 1)" ]
}

# The rooms of `gpuval setup`, which other commands enter only when they have to.
enter_setup()
{
   . "$rooms/progress.sh"
   . "$rooms/needs.sh"
   . "$rooms/packages.sh"
   . "$rooms/source.sh"
   . "$rooms/build.sh"
   . "$rooms/setup.sh"
}

ensure_setup()
{
   if ! is_ready; then
      enter_setup
      setup_all
      unlock_build
   fi
}

# What the caller's shell has set must not change what demos and tests see.
clean_environment()
{
   for name in $(env | sed -n 's/^\(GPUVAL[A-Z0-9_]*\)=.*/\1/p'); do
      case $name in
      GPUVAL_TEST_*) ;;
      *) unset "$name" ;;
      esac
   done
   unset GITHUB_ACTIONS GPUVAL_TEST_PLAIN_ICD_DIR RADV_DEBUG VK_DRIVER_FILES VK_ICD_FILENAMES
}

# Prints a line for each library that a driver needs and this machine lacks. An installation knows
# Debian's packages.
missing_libraries() # DRIVER
{
   icd=$(icd_file "$1") || return 0
   ldd "$(icd_library "$icd")" 2>/dev/null |
      sed -n 's/^[[:space:]]*\(.*\) => not found/\1/p' |
      while read -r library; do
         package=
         [ ! -r "$root/REQUIRES" ] ||
            package=$(awk -v name="$library" \
               '$1 == "library" && $2 == name && $4 != "-" { print " (Debian: " $4 ")" }' \
               "$root/REQUIRES")
         echo "$1 needs $library, which is not there$package"
      done
}
