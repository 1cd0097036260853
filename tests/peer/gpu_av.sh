#!/bin/sh
# SPDX-License-Identifier: MIT
#
# gpu_av.sh PROGRAM FOLDER: the programs of scenarios of `basic` under GPU-AV of
# Debian's vulkan-validationlayers, and under `basic`, on the driver of VK_DRIVER_FILES.
# Prints a table in reStructuredText; fails where GPU-AV finds something and `basic`
# finds nothing.

set -u

skip() # REASON
{
   echo "$1"
   exit 77
}

layer=VK_LAYER_KHRONOS_validation
[ -e /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ] ||
   skip "there is no $layer (Debian: vulkan-validationlayers)"

scenario=$(readlink -f -- "$1")
scenarios=$(readlink -f -- "$2")
folder=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-gpu-av.XXXXXX") || exit 99
trap 'rm -rf "$folder"' EXIT
trap 'exit 99' INT TERM HUP

unset VK_LOADER_LAYERS_DISABLE GITHUB_ACTIONS
for name in $(env | sed -n 's/^\(GPUVAL[A-Z0-9_]*\)=.*/\1/p'); do
   unset "$name"
done

# All that it has beside GPU-AV finds things without running anything.
cat >"$folder/vk_layer_settings.txt" <<EOF
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.log_filename = stdout
khronos_validation.report_flags = error
khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT
khronos_validation.disables = VK_VALIDATION_FEATURE_DISABLE_CORE_CHECKS_EXT,VK_VALIDATION_FEATURE_DISABLE_API_PARAMETERS_EXT,VK_VALIDATION_FEATURE_DISABLE_OBJECT_LIFETIMES_EXT,VK_VALIDATION_FEATURE_DISABLE_THREAD_SAFETY_EXT
khronos_validation.enable_message_limit = false
EOF

program() # FILE, in the environment as it is
{
   TMPDIR=$folder timeout 120 "$scenario" --child-only --kind monolithic "$1"
}

# Identifiers, without what says that GPU-AV itself cannot work
peer_finds() # FILE
{
   VK_INSTANCE_LAYERS=$layer VK_LAYER_SETTINGS_PATH=$folder program "$1" >"$folder/out" 2>&1
   status=$?
   sed -n 's/^\(VUID-[A-Za-z0-9-]*\|UNASSIGNED-[A-Za-z -]*\)(ERROR.*/\1/p' "$folder/out" |
      grep -v -e Setup -e createinstance -e 'Internal' | sort -u | tr '\n' ' '
   [ "$status" -lt 124 ] || printf 'crash '
}

we_find() # FILE
{
   rm -f "$folder/report.jsonl"
   GPUVAL=basic GPUVAL_LOG=/dev/null GPUVAL_REPORT=$folder/report.jsonl program "$1" \
      >"$folder/ours" 2>&1
   status=$?
   sed -n 's/^{"check":"\([a-z-]*\)","kind":"\([a-z-]*\)","severity":"error".*/\1\/\2/p' \
      "$folder/report.jsonl" 2>/dev/null | sort -u | tr '\n' ' '
   [ "$status" -lt 124 ] || printf 'crash '
}

row() # NAME GPU-AV GPUVAL
{
   printf '   * - %s\n     - %s\n     - %s\n' "$1" "${2:-nothing}" "${3:-nothing}"
}

# Found, and not true: what GPU-AV puts into the shader of a fragment that a depth test
# would have discarded first makes that shader run.
wrong=' stage_fragment_occluded_good '

printf '.. list-table::\n   :header-rows: 1\n\n'
row program GPU-AV basic
both=0 ours=0 theirs=0 neither=0 missed=''
for file in "$scenarios"/*.scn; do
   case $(basename "$file") in
   busy* | checks* | finish* | printf* | shared* | source* | sync* | init* | race* | poison*) continue ;;
   esac
   program "$file" >/dev/null 2>&1
   [ $? -ne 77 ] || continue
   name=$(basename "$file" .scn)
   peer=$(peer_finds "$file")
   we=$(we_find "$file")
   case ${peer:+peer}${we:+we} in
   peerwe) both=$((both + 1)) ;;
   we) ours=$((ours + 1)) ;;
   peer)
      theirs=$((theirs + 1))
      case $wrong in
      *" $name "*) ;;
      *) missed="$missed $name" ;;
      esac
      ;;
   *)
      neither=$((neither + 1))
      continue
      ;;
   esac
   row "$name" "${peer% }" "${we% }"
done

printf '\n%s\n' "Both find something in $both programs, basic only in $ours, GPU-AV only in $theirs; \
neither does in $neither."
[ "$((both + ours))" -gt 0 ] || {
   echo "nothing was found at all: nothing was checked"
   exit 1
}
[ -z "$missed" ] || {
   echo "GPU-AV finds something that basic does not:$missed"
   exit 1
}
