# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# `gpuval doctor`: what is built, what the Vulkan loader will use, what is missing.
# Changes nothing.

ills=0

# What `gpuval run` cannot do without
ill() # TEXT
{
   ills=$((ills + 1))
   echo "   problem: $1"
}

# One without a slash is the dynamic linker's business.
show_icd() # FILE
{
   if [ ! -r "$1" ]; then
      echo "   $1: cannot be read"
      return 1
   fi
   library=$(icd_library "$1")
   case $library in
   */*)
      if [ ! -e "$library" ]; then
         echo "   $1: there is no $library"
         return 1
      fi
      ;;
   esac
   echo "   $1: $library"
}

show_build()
{
   echo "gpuval $gpuval_version in $root, for Mesa $(supported_versions)"
   if is_installed; then
      echo "   installed; made on $(fact system)"
      return
   fi
   if is_developers_tree; then
      echo "   Mesa $(cat "$mesa/VERSION" 2>/dev/null) of a developer in $mesa"
   elif [ -r "$mesa/VERSION" ]; then
      echo "   Mesa $(cat "$mesa/VERSION"), patched, in $mesa"
   fi
   if is_ready; then
      echo "   set up, and nothing has changed since"
   elif [ -f "$stamps/ready" ]; then
      echo "   set up; something has changed since, and the next command builds it"
   else
      ill "not set up; ./gpuval setup does that, and so does the next command"
   fi
}

show_driver() # DRIVER
{
   echo "$1, as ./gpuval run --driver $1 starts programs:"
   if ! icd=$(icd_file "$1"); then
      ill "not installed in $prefix"
      return
   fi
   if ! show_icd "$icd"; then
      ill "$icd is of no use"
      return
   fi
   missing=$(missing_libraries "$1")
   [ -z "$missing" ] || while read -r text; do
      ill "$text"
   done <<EOF
$missing
EOF
}

show_loader()
{
   loader=$( { ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null |
      sed -n 's/.*libvulkan\.so\.1 .*=> //p' | head -n 1)
   echo "The Vulkan loader:"
   if [ -n "$loader" ]; then
      echo "   $(readlink -f "$loader")"
   else
      ill "there is no libvulkan.so.1 (Debian: libvulkan1)"
   fi
}

# Where the loader looks when nobody tells it
system_icds()
{
   printf '%s\n' "${XDG_CONFIG_HOME:-$HOME/.config}" "${XDG_CONFIG_DIRS:-/etc/xdg}" \
      /usr/local/etc /etc "${XDG_DATA_HOME:-$HOME/.local/share}" \
      "${XDG_DATA_DIRS:-/usr/local/share:/usr/share}" | tr ':' '\n' | while read -r folder; do
      for file in "$folder/vulkan/icd.d/"*.json; do
         [ ! -f "$file" ] || printf '%s\n' "$file"
      done
   done
}

# The ICDs of a program that this shell starts by itself
show_own()
{
   echo "Programs that this shell starts without ./gpuval run:"
   files=${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-}}
   if [ -n "$files" ]; then
      printf '%s\n' "$files" | tr ':' '\n' | while read -r file; do
         show_icd "$file"
      done
   elif [ -n "$(system_icds)" ]; then
      system_icds | while read -r file; do
         show_icd "$file"
      done
   else
      echo "   find no Vulkan driver"
   fi
   for name in VK_ADD_DRIVER_FILES VK_LOADER_DRIVERS_SELECT VK_LOADER_DRIVERS_DISABLE; do
      value=$(printenv "$name") && echo "   $name=$value changes that, for ./gpuval run, too"
   done
   case $files in
   *"$prefix"*) ;;
   *) echo "   none of them is gpuval's: eval \"\$(./gpuval env)\" changes that" ;;
   esac
   env | sed -n 's/^\(GPUVAL[A-Z0-9_]*=.*\)/   \1/p;s/^\(RADV_DEBUG=.*\)/   \1/p'
}

show_gpu()
{
   echo "AMD GPUs, for --driver radv:"
   found=no
   top=${GPUVAL_TEST_ROOT-} # where a test has a card
   for vendor in "$top"/sys/class/drm/renderD*/device/vendor; do
      grep -qsx 0x1002 "$vendor" || continue
      node=/dev/dri/$(basename "${vendor%/device/vendor}")
      found=yes
      if [ -r "$top$node" ] && [ -w "$top$node" ]; then
         echo "   $node"
      else
         echo "   $node, which $(id -un) may not use (Debian: group render)"
      fi
   done
   [ "$found" = yes ] || echo "   none; on Mesa's DRM shim, shaders are compiled only"
}

show_lacking()
{
   echo "What a build or the tests need and this machine lacks:"
   lacking=$(missing build x11 wayland extra)
   if [ -z "$lacking" ]; then
      echo "   nothing"
      return
   fi
   printf '%s\n' "$lacking" | show_missing 2>&1
   case $lacking in
   build* | *'
build'*) is_ready || ill "it cannot be built without the group 'build'" ;;
   esac
}

command_doctor()
{
   case ${1:-} in
   --collect | --collect=*)
      . "$rooms/collect.sh"
      case $1 in
      --collect=*) first=${1#--collect=} ;;
      *)
         [ $# -ge 2 ] || usage_error "--collect needs a file"
         first=$2
         shift
         ;;
      esac
      shift
      [ -n "$first" ] || usage_error "--collect needs a file"
      collect "$first" "$@"
      return
      ;;
   esac
   [ $# -eq 0 ] || usage_error "unknown argument '$1'"
   is_installed || . "$rooms/needs.sh"
   show_build
   show_driver lavapipe
   show_driver radv
   show_loader
   show_own
   show_gpu
   is_installed || show_lacking
   [ "$ills" -eq 0 ] || fail "$ills $([ "$ills" -eq 1 ] && echo problem || echo problems), see above"
   say "./gpuval run can run programs"
}

help_doctor()
{
   cat <<EOF
usage: ./gpuval doctor
       ./gpuval doctor --collect FILE.tar.gz [LOG...]

Says what is built and whether it is up to date, which drivers the Vulkan loader
will use with and without ./gpuval run, which GPUs there are, and what the machine
lacks. Changes nothing. Exits with 1 if ./gpuval run cannot work as things are.

   --collect FILE.tar.gz  runs the demos on RADV and writes what they and the
                          self-test say, versions, what the kernel says of the
                          card, dumps of the demos' shaders, and LOGs of your own
                          into one file, to go with a report of a problem
                          (docs/radv.rst); nothing is sent anywhere
EOF
}
