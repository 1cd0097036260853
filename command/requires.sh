# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# REQUIRES of a tree that `gpuval install` or `gpuval dist` makes: what its files need of a system,
# one need a line, computed from the files by objdump (readelf has all symbols of LLVM, in seconds).
#
#    system x86_64 Linux
#    command NAME                       what the command calls
#    library NAME VERSIONS PACKAGE      VERSIONS are the highest versions of its symbols, PACKAGE is
#                                       Debian's; - where there is none

# What the rooms that are installed call. tests/cli/dist.sh runs them with no other commands.
required_commands()
{
   echo awk basename cat dirname env grep head id ldd ln mkdir mktemp printenv readlink rm sed \
      sh sort tail touch tr uname
}

# The files of programs and libraries, one a line
elf_files() # TREE
{
   find "$1" -type f -exec sh -c 'for file do
      [ "$(head -c 4 "$file" | tail -c 3)" != ELF ] || printf "%s\n" "$file"
   done' sh {} +
}

# "NAME VERSION" of each library that files need, and of each version of its symbols
library_needs() # FILE...
{
   LC_ALL=C tool objdump -p -- "$@" | awk '
      $1 == "NEEDED" { print $2, "-" }
      $1 == "required" && $2 == "from" {
         library = $3
         sub(/:$/, "", library)
         next
      }
      NF != 4 || $1 !~ /^0x/ { library = "" }
      library { print library, $4 }' | sort -u
}

# Of versions of the same kind (GLIBC_2.2.5, GLIBC_2.34) the highest, with commas between kinds
highest_versions()
{
   sort -V | awk '
      $0 == "-" { next }
      {
         kind = $0
         sub(/_[^_]*$/, "", kind)
         if (!(kind in highest))
            kinds[++count] = kind
         highest[kind] = $0
      }
      END {
         for (i = 1; i <= count; i++)
            printf "%s%s", (i > 1 ? "," : ""), highest[kinds[i]]
         print (count ? "" : "-")
      }'
}

# Where the dynamic linker finds the libraries that files need: "NAME PATH" each
find_libraries() # FILE...
{
   tool ldd -- "$@" 2>/dev/null | sed -n -e 's,^[[:space:]]*\([^ ]*\) => \(/[^ ]*\) .*,\1 \2,p' \
      -e 's,^[[:space:]]*\(/.*/\([^ /]*\)\) (.*,\2 \1,p' | sort -u
}

# "PACKAGE FILE" of files of Debian's packages. A package may have a file below /lib or below /usr/lib,
# which are one folder, and one that a link leads to.
packages_of_files() # FILE...
{
   for file do
      real=$(readlink -f -- "$file")
      for name in "${file#/usr}" "/usr${file#/usr}" "${real#/usr}" "/usr${real#/usr}"; do
         printf '%s %s\n' "$name" "$file"
      done
   done >"$private/names"
   # shellcheck disable=SC2046 # names of libraries
   tool dpkg -S $(sed 's/ .*//' "$private/names" | sort -u) 2>/dev/null |
      sed 's/[:,].*: / /' | awk '
         NR == FNR {
            files[$1] = files[$1] " " $2
            next
         }
         {
            count = split(files[$2], list, " ")
            for (i = 1; i <= count; i++)
               print $1, list[i]
         }' "$private/names" -
}

requires() # TREE
{
   echo "# What gpuval $gpuval_version needs of a system, computed from its files"
   echo "system $(uname -m) $(uname -s)"
   for name in $(required_commands); do
      echo "command $name"
   done
   old_ifs=$IFS
   IFS='
'
   # shellcheck disable=SC2046 # a file a line
   set -- $(elf_files "$1")
   IFS=$old_ifs
   library_needs "$@" >"$private/needs"
   find_libraries "$@" >"$private/libraries"
   # shellcheck disable=SC2046 # names of libraries
   packages_of_files $(sed 's/.* //' "$private/libraries") >"$private/packages"
   awk '{ print $1 }' "$private/needs" | sort -u | while read -r library; do
      if ! printf '%s\n' "$@" | sed 's,.*/,,' | grep -q -x -F -e "$library"; then
         versions=$(awk -v name="$library" '$1 == name { print $2 }' "$private/needs" | highest_versions)
         path=$(awk -v name="$library" '$1 == name { print $2; exit }' "$private/libraries")
         package=$(awk -v name="$path" '$2 == name { print $1; exit }' "$private/packages")
         echo "library $library $versions ${package:--}"
      fi
   done
}
