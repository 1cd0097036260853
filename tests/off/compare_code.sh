#!/bin/sh
# SPDX-License-Identifier: MIT
#
# "Off means off": what a driver compiles, compared with what another does.
# Scenarios are only what brings the shaders; nobody looks at what they compute.
# Of lavapipe the machine code in the shader cache is compared, byte for byte; of
# RADV, which keeps numbered NIR there as well, NIR and assembly as it prints
# them.
#
#    compare_code.sh OTHER RUNNER PAYLOADS SHIM DRIVER SCENARIO...
#
# The scenarios run on DRIVER with checks off, then on or with OTHER:
#
#    unpatched    the driver of unpatched Mesa: the code must be the same
#    again        DRIVER once more: the same, or else the comparison is unfair
#    NAME=VALUE   DRIVER with this in its environment: the code must differ, or
#                 else the comparison sees nothing
#
# DRIVER is the path of libvulkan_lvp.so or libvulkan_radeon.so. RADV runs on
# SHIM, Mesa's library that stands in for the kernel's driver of a GPU:
# pipelines are made for that GPU, and nothing is executed. GPUVAL_TEST_KEEP
# names a new folder for what is otherwise temporary.
#
# Where the code has to be the same, that of all scenarios is compared at once, and then, if it is not,
# that of one after the other.

set -u

absolute() # FILE
{
   case $1 in
   /*) printf '%s\n' "$1" ;;
   *) printf '%s/%s\n' "$PWD" "$1" ;;
   esac
}

other=$1
runner=$2
payloads=$3
shim=$(absolute "$4")
driver=$(absolute "$5")
shift 5

# What a developer's shell may have set would hold for one side or both.
for name in $(env | sed -nE 's/^((GPUVAL|RADV|ACO|LP|LVP|GALLIVM|NIR)[A-Z0-9_]*)=.*/\1/p'); do
   case $name in
   GPUVAL_TEST_*) ;;
   *) unset "$name" ;;
   esac
done
export VK_LOADER_LAYERS_DISABLE='~all~'
export MESA_DISK_CACHE_MULTI_FILE=1
export AMDGPU_GPU_ID="${GPUVAL_TEST_GPU:-navi31}"

skip()
{
   echo "$*"
   exit 77
}

case ${driver##*/} in
libvulkan_lvp*)
   icd_name=lvp_icd
   list_code=list_cache
   preload=
   ;;
*)
   icd_name=radeon_icd
   list_code=list_dump
   preload=$shim
   export RADV_DEBUG=shaders
   ;;
esac

unpatched_icd()
{
   for file in "$GPUVAL_TEST_PLAIN_ICD_DIR/$icd_name".*.json; do
      if [ -f "$file" ]; then
         printf '%s\n' "$file"
         return
      fi
   done
   return 1
}

if [ -n "${GPUVAL_TEST_KEEP-}" ]; then
   private=$GPUVAL_TEST_KEEP
   mkdir "$private" || exit 99
else
   private=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-off.XXXXXX") || exit 99
   trap 'rm -rf "$private"' EXIT
   trap 'exit 99' INT TERM HUP
fi

printf '{"file_format_version": "1.0.1",
 "ICD": {"api_version": "1.4.303", "library_path": "%s"}}\n' "$driver" >"$private/icd.json"

other_icd=$private/icd.json
must_differ=no
variable=
case $other in
unpatched)
   [ -n "${GPUVAL_TEST_PLAIN_ICD_DIR-}" ] ||
      skip "no unpatched build to compare with: ./gpuval test makes one"
   other_icd=$(unpatched_icd) ||
      skip "no $icd_name in $GPUVAL_TEST_PLAIN_ICD_DIR"
   ;;
again) ;;
*)
   must_differ=yes
   variable=$other
   ;;
esac

# Without the checks of memory, and without waiting in a loop: on the shim nothing
# is ever written or signalled. The file keeps its name, which is part of debug info.
prepare_scenario() # SCENARIO
{
   sed '/^check/d; /^poll_/d; /^wait_query/d' "$1" >"$private/scenario/${1##*/}"
}

# Names in the cache hash the build, so their order says nothing.
list_cache() # CACHE
{
   "$payloads" "$1/mesa_shader_cache" >"$1.unsorted" 2>>"$1.out" && LC_ALL=C sort "$1.unsorted"
}

list_dump() # CACHE
{
   grep -v '^DRM_IOCTL' "$1.out" # the stand-in says what it does not do
}

# Leaves the code in SIDE.list.
run_scenario() # NAME SIDE ICD [NAME=VALUE]
{
   cache=$private/$1/$2
   mkdir -p "$cache"
   env VK_DRIVER_FILES="$3" VK_ICD_FILENAMES="$3" MESA_SHADER_CACHE_DIR="$cache" \
      ${preload:+"LD_PRELOAD=$preload"} ${4:+"$4"} \
      "$runner" --child-only "$private/scenario/$1.scn" >"$cache.out" 2>&1 || return
   "$list_code" "$cache" >"$cache.list"
   if [ ! -s "$cache.list" ]; then
      echo "there is no code" >>"$cache.out"
      return 1
   fi
}

# 0 as it should be, 1 not, 77 the device cannot run it.
compare_scenario() # NAME
{
   run_scenario "$1" off "$private/icd.json"
   off_status=$?
   run_scenario "$1" other "$other_icd" "$variable"
   other_status=$?
   if [ "$off_status" -eq 77 ] && [ "$other_status" -eq 77 ]; then
      return 77
   fi
   if [ "$off_status" -ne 0 ] || [ "$other_status" -ne 0 ]; then
      echo "$1: exited with $off_status and, $other, with $other_status"
      tail -n 5 "$private/$1/off.out" "$private/$1/other.out"
      return 1
   fi
   if [ "$must_differ" = yes ]; then
      # What is there in addition does not count: functions that checks call are cached, too.
      diff "$private/$1/off.list" "$private/$1/other.list" | grep -q '^<' && return 0
      echo "$1: $other has changed nothing"
      return 1
   fi
   ! cmp -s "$private/$1/off.list" "$private/$1/other.list" || return 0
   echo "$1: other code (<: off, >: $other)"
   diff "$private/$1/off.list" "$private/$1/other.list" | head -n 40
   return 1
}

# Leaves the code of all scenarios in SIDE.list.
run_all() # SIDE ICD
{
   cache=$private/all/$1
   library=$(sed -n 's/.*"library_path": *"\([^"]*\)".*/\1/p' "$2")
   mkdir -p "$cache"
   env VK_DRIVER_FILES="$2" VK_ICD_FILENAMES="$2" MESA_SHADER_CACHE_DIR="$cache" \
      GPUVAL_TEST_DRIVER="$library" ${preload:+"LD_PRELOAD=$preload"} \
      "$runner" --each "$private"/scenario/*.scn >"$cache.out" 2>&1 || return
   grep '^gpuval-scenario: .*\.scn [0-9]*$' "$cache.out" >"$cache.ends"
   "$list_code" "$cache" >"$cache.list"
   [ -s "$cache.list" ]
}

# All of them, each on both sides or on none, and with the same code
compare_all()
{
   run_all off "$private/icd.json" && run_all other "$other_icd" || return
   cmp -s "$private/all/off.list" "$private/all/other.list" || return
   cmp -s "$private/all/off.ends" "$private/all/other.ends" || return
   [ "$(grep -c ' \(0\|77\)$' "$private/all/off.ends")" -eq $# ] || return
   good=$(grep -c ' 0$' "$private/all/off.ends")
   [ "$good" -gt 0 ]
}

mkdir "$private/scenario"
good=0
bad=0
for file do
   prepare_scenario "$file"
done
if [ "$must_differ" = no ] && compare_all "$@"; then
   echo "$good scenarios are as they should be ($other)"
   exit 0
fi
for file do
   name=${file##*/}
   name=${name%.scn}
   compare_scenario "$name"
   status=$?
   case $status in
   0) good=$((good + 1)) ;;
   77) echo "$name: not on this device" ;;
   *) bad=$((bad + 1)) ;;
   esac
   [ -n "${GPUVAL_TEST_KEEP-}" ] || rm -rf "${private:?}/$name"
done

if [ "$bad" -gt 0 ]; then
   echo "$bad scenarios of $# are not as they should be"
   exit 1
fi
[ "$good" -gt 0 ] || skip "the device can run none of the scenarios"
echo "$good scenarios are as they should be ($other)"
