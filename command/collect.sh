# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# `gpuval doctor --collect`: what somebody who has not got this GPU has to know of it, in one
# file. Nothing in here may take long or fail: what does not work is what is to be seen.

# As many seconds as a program may take. When two have taken longer, something hangs, and the
# others are left out.
collect_patience=${GPUVAL_TEST_PATIENCE:-20}
collect_hung=0

patiently() # COMMAND...
{
   [ "$collect_hung" -lt 2 ] || return 125
   # What waits for the kernel may not end at once.
   timeout -k 2 "$collect_patience" "$@" && return
   ended=$?
   case $ended in
   124 | 137) collect_hung=$((collect_hung + 1)) ;;
   esac
   return "$ended"
}

# The output of a command becomes a file, which ends with the exit status.
collect_output() # NAME COMMAND...
{
   name=$1
   shift
   "$@" >"$private/gpuval/$name" 2>&1 </dev/null
   echo "exit status: $?" >>"$private/gpuval/$name"
}

show_machine()
{
   "$root/gpuval" --version
   git -C "$root" log -1 --format='commit %H of %cd' 2>/dev/null
   git -C "$root" status --short 2>/dev/null | head -n 20
   [ ! -r "$mesa/VERSION" ] || echo "Mesa $(cat "$mesa/VERSION")"
   uname -srvm
   sed -n 's/^PRETTY_NAME=//p' /etc/os-release
   grep -m 1 '^model name' /proc/cpuinfo
   grep '^MemTotal' /proc/meminfo
   for module in amdgpu drm; do
      [ ! -r "/sys/module/$module/version" ] ||
         echo "module $module $(cat "/sys/module/$module/version")"
   done
}

# What the kernel says of the cards. Memory that the host sees as a whole is a resizable BAR.
show_cards()
{
   for card in "${GPUVAL_TEST_ROOT-}"/sys/class/drm/card[0-9]*; do
      [ -r "$card/device/vendor" ] || continue
      echo "$(basename "$card"): $(cat "$card/device/vendor" "$card/device/device" \
         "$card/device/revision" 2>/dev/null | tr '\n' ' ')"
      for fact in mem_info_vram_total mem_info_vis_vram_total mem_info_gtt_total \
         current_link_speed current_link_width vbios_version; do
         [ ! -r "$card/device/$fact" ] || echo "   $fact $(cat "$card/device/$fact" 2>/dev/null)"
      done
   done
   if have lspci; then
      lspci -nn | grep -i 'vga\|display\|3d'
   fi
}

show_kernel_log()
{
   { dmesg || journalctl -k -b --no-pager; } 2>/dev/null | grep -i 'amdgpu\|drm\|gpu fault' |
      tail -n 300
}

# A program on RADV, with everything that it leaves; a folder for it.
collect_program() # NAME CHECKS PROGRAM
{
   folder=$private/gpuval/$1
   mkdir -p "$folder/dump"
   patiently env GPUVAL="$2" GPUVAL_LOG="$folder/log.txt" GPUVAL_REPORT="$folder/report.jsonl" \
      GPUVAL_DUMP="$folder/dump" VK_DRIVER_FILES="$(icd_file radv)" \
      VK_ICD_FILENAMES="$(icd_file radv)" "$3" >"$folder/output.txt" 2>&1 </dev/null
   echo "exit status: $?" >>"$folder/output.txt"
}

collect_programs()
{
   while read -r name description <&4; do
      case $name in
      '' | '#'*) continue ;;
      esac
      for twin in "$name" "$name-fixed"; do
         [ ! -x "$demos/demo-$twin" ] || [ -z "${description:-}" ] ||
            collect_program "demo-$twin" basic "$demos/demo-$twin"
      done
   done 4<"$root/demos/list"
}

# What the self-test has said, which takes another time in each program
show_self_test()
{
   cat "$private"/gpuval/demo-*/log.txt 2>/dev/null |
      sed -n 's/^gpuval: [a-z]*: \(self-test.*\)/   \1/p' |
      sed 's/passed, [0-9.]* ms/passed/' | sort -u
}

# How a program has ended
show_end() # FOLDER
{
   last=$(tail -n 1 "$1/log.txt" 2>/dev/null | sed -E "s/^gpuval: //; s/^(no errors[^:]*): .*/\1/")
   status=$(sed -n '$s/^exit status: //p' "$1/output.txt")
   case $status in
   124 | 137) status="$status: it did not end" ;;
   125) status="$status: left out, as others did not end" ;;
   esac
   echo "${last:-no log}, exit status: $status"
}

show_collected()
{
   show_self_test
   for folder in "$private"/gpuval/demo-*; do
      [ ! -d "$folder" ] || echo "   $(basename "$folder"): $(show_end "$folder")"
   done
}

collect() # FILE [LOG...]
{
   archive=$1
   shift
   # Before anything takes time
   for file do
      [ -r "$file" ] || fail "$file cannot be read"
   done
   (: >"$archive") 2>/dev/null || fail "$archive cannot be written"
   private=$(mktemp -d "${TMPDIR:-/tmp}/gpuval.XXXXXX") || exit 1
   trap 'rm -rf "$private"' EXIT
   mkdir -p "$private/gpuval/given"

   for file do
      cp -R "$file" "$private/gpuval/given" || fail "$file cannot be read"
   done
   collect_output doctor.txt "$root/gpuval" doctor
   collect_output machine.txt show_machine
   collect_output cards.txt show_cards
   collect_output kernel.txt show_kernel_log
   collect_output environment.txt sh -c \
      'env | grep "^\(GPUVAL\|RADV\|AMD\|ACO\|MESA\|VK\|DXVK\|VKD3D\|PROTON\)[A-Z0-9_]*="'
   clean_environment
   if have vulkaninfo; then
      collect_output vulkaninfo.txt patiently env VK_DRIVER_FILES="$(icd_file radv)" \
         VK_ICD_FILENAMES="$(icd_file radv)" vulkaninfo
   fi
   collect_programs
   collect_output result.txt show_collected

   tar -C "$private" -czf "$archive" gpuval || fail "$archive cannot be written"
   echo "What was found on RADV:"
   sed '$d' "$private/gpuval/result.txt"
   say "$archive has all of it: look at what you send, it names your machine's parts, versions and folders"
}
