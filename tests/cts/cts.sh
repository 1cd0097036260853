#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cts.sh --deqp FILE --output FOLDER [--checks LIST] [--jobs N] [--limit SECONDS] [--cases FILE]
# [--plain FILE] [--known FILE] [PATTERN...]: runs cases of the Vulkan CTS without checks and with them, on the driver of
# VK_DRIVER_FILES, and prints which results differ, which cases crash, and what each
# case has reported. FILE is a deqp-vk. Without --cases it is the sample of
# cases.txt.xz that runs; a PATTERN is an extended regular expression of cases' names.
#
# Processes run 100 cases each. A case that ends its process is the one that had
# begun and has no result, and another process runs what is left. A process, so also a
# case, may take 120 seconds, or --limit. What differs, crashes or
# reports runs again in a process of its own, and that is what the table says.
# Reports that known.txt, or the file of --known, explains are counted and not listed; the
# head of known.txt says what its lines mean. --plain names the
# results of an earlier run without checks, the file "plain" of its folder: that part is
# not done again.
#
# FOLDER gets
#    cases             the names
#    plain, checked    "RESULT NAME" of each case
#    batches/          what the processes printed
#    alone/            NUMBER.jsonl of each case that ran by itself; alone/names has
#                      "NUMBER NAME"
#    known, unknown    "SEVERITY CHECK/KIND COUNT NAME"
#    table             what is printed

set -u
export LC_ALL=C

tests=$(cd "$(dirname "$0")" && pwd)

die()
{
   echo "cts: $1" >&2
   exit 2
}

# deqp_vk LIST OUTPUT [NAME=VALUE...]: the cases of a file, in one process
deqp_vk()
{
   list_file=$1 output_file=$2
   shift 2
   env "$@" timeout --foreground -k 5 "$limit" "$deqp" --deqp-caselist-file="$list_file" \
      --deqp-archive-dir="$(dirname "$deqp")" --deqp-log-filename=/dev/null \
      --deqp-log-images=disable --deqp-log-shader-sources=disable \
      --deqp-shadercache-filename="$spirv" --deqp-shadercache-truncate=disable \
      --deqp-shadercache-ipc=disable </dev/null >"$output_file" 2>&1
}

# "RESULT NAME" of each case that an output has, "Begun NAME" of one without a result.
results() # OUTPUT
{
   awk '
      function finish(result) {
         if (name != "")
            print result, name
         name = ""
      }
      /^Test case \047.*\047\.\.$/ {
         finish("Begun")
         name = substr($0, 12, length($0) - 14)
      }
      /^  [A-Z][A-Za-z]* \(/ { finish($1) }
      END { finish("Begun") }' "$1"
}

# Cases during which the log has named a failure.
reported() # OUTPUT
{
   awk '
      /^Test case \047.*\047\.\.$/ { name = substr($0, 12, length($0) - 14) }
      /^gpuval: (error|warning): [a-z-]+\/[a-z-]+: / && name != "" { print name }' "$1" | uniq
}

# Lines of the second file whose names the results of the first lack.
left() # RESULTS LIST
{
   awk 'FILENAME == ARGV[1] { done[$2]; next } !($1 in done)' "$1" "$2"
}

# batch MODE LIST: appends results to LIST.MODE; the output is LIST.MODE.out
batch()
{
   mode=$1 list=$2
   spirv=$list.spirv
   set --
   [ "$mode" = plain ] || set -- GPUVAL="$checks" GPUVAL_LOG=stdout
   cp "$list" "$list.left"
   : >"$list.$mode"
   : >"$list.$mode.out"
   while [ -s "$list.left" ]; do
      deqp_vk "$list.left" "$list.now" "$@"
      status=$?
      results "$list.now" >"$list.results"
      if [ ! -s "$list.results" ] && ! grep -q '^DONE!' "$list.now"; then
         cat "$list.now" >&2
         die "$deqp runs nothing of $list"
      fi
      cat "$list.now" >>"$list.$mode.out"
      # A process that ran out of time while it ran a later case: that one gets another try.
      ended=Crash
      [ "$status" -ne 124 ] && [ "$status" -ne 137 ] || ended=Timeout
      [ "$ended" = Crash ] || [ "$(wc -l <"$list.results")" -eq 1 ] ||
         sed -i '/^Begun /d' "$list.results"
      sed "s/^Begun /$ended /" "$list.results" >>"$list.$mode"
      left "$list.results" "$list.left" >"$list.rest"
      # Names that this deqp-vk does not have never begin.
      if grep -q '^DONE!' "$list.now"; then
         sed 's/^/Missing /' "$list.rest" >>"$list.$mode"
         : >"$list.rest"
      fi
      mv "$list.rest" "$list.left"
   done
   rm -f "$list.left" "$list.now" "$list.results"
}

# alone NUMBER NAME: both results, and the report
alone()
{
   base=$output/alone/$1
   spirv=$base.spirv
   printf '%s\n' "$2" >"$base.case"
   for mode in plain checked; do
      set --
      [ "$mode" = plain ] || set -- GPUVAL="$checks" GPUVAL_LOG="$base.log" GPUVAL_REPORT="$base.jsonl"
      deqp_vk "$base.case" "$base.$mode.out" "$@"
      status=$?
      ended=Crash
      [ "$status" -ne 124 ] && [ "$status" -ne 137 ] || ended=Timeout
      results "$base.$mode.out" | sed "s/^Begun /$ended /" >"$base.$mode"
   done
   rm -f "$spirv" "$base.case"
}

case ${1-} in
--batch)
   batch "$2" "$3"
   exit
   ;;
--alone)
   alone "$2" "$3"
   exit
   ;;
esac

deqp='' output='' checks=all jobs=$(nproc) limit=120 cases='' plain='' explained=$tests/known.txt
while [ $# -gt 0 ]; do
   case $1 in
   --deqp | --output | --checks | --jobs | --limit | --cases | --plain | --known)
      [ $# -gt 1 ] || die "$1 needs a value"
      ;;
   esac
   case $1 in
   --deqp) deqp=$2 ;;
   --output) output=$2 ;;
   --checks) checks=$2 ;;
   --jobs) jobs=$2 ;;
   --limit) limit=$2 ;;
   --cases) cases=$2 ;;
   --plain)
      [ -f "$2" ] || die "there is no file $2"
      plain=$(readlink -f -- "$2")
      ;;
   --known)
      [ -f "$2" ] || die "there is no file $2"
      explained=$2
      ;;
   -*) die "there is no option $1" ;;
   *) break ;;
   esac
   shift 2
done
[ -x "$deqp" ] || die "--deqp names a deqp-vk (docs/conformance.rst), not '$deqp'"
[ -n "$output" ] || die "--output names a folder"
[ -n "${VK_DRIVER_FILES-}" ] || die "VK_DRIVER_FILES names the driver"
wrong=$(awk '!/^(#|$)/ && !(NF == 3 && $1 ~ /^(error|warning)$/ && $2 ~ "^[a-z-]+/[a-z-]+$") { print NR; exit }' "$explained")
[ -z "$wrong" ] || die "line $wrong of $explained is not SEVERITY CHECK/KIND PATTERN"
mkdir -p "$output" || exit 2
output=$(cd "$output" && pwd)
deqp=$(readlink -f -- "$deqp")
rm -rf "$output/batches" "$output/alone"
mkdir "$output/batches" "$output/alone" || exit 2
for name in $(env | sed -n 's/^\(GPUVAL[A-Z0-9_]*\)=.*/\1/p'); do
   unset "$name"
done
export deqp output checks limit

if [ -n "$cases" ]; then
   cat "$cases"
else
   xz -dc "$tests/cases.txt.xz"
fi >"$output/cases" || exit 2
for pattern in "$@"; do
   grep -E -e "$pattern" "$output/cases"
done >"$output/chosen"
if [ $# -gt 0 ]; then
   sort -u "$output/chosen" >"$output/cases"
fi
rm "$output/chosen"
[ -s "$output/cases" ] || die "no case has such a name"

split -d -a 4 -l 100 "$output/cases" "$output/batches/"
# Mesa keeps compiled shaders apart by checks; without a cache each run compiles the same.
export MESA_SHADER_CACHE_DISABLE=true
if [ -n "$plain" ]; then
   sort -k 2 "$plain" >"$output/plain.all"
   sort "$output/cases" | join -1 1 -2 2 - "$output/plain.all" | sed 's/\(.*\) \(.*\)/\2 \1/' >"$output/plain.now"
   mv "$output/plain.now" "$output/plain"
   rm "$output/plain.all"
fi
for mode in plain checked; do
   [ "$mode" = checked ] || [ -z "$plain" ] || continue
   find "$output/batches" -name '[0-9][0-9][0-9][0-9]' | sort |
      xargs -n 1 -P "$jobs" sh "$0" --batch "$mode" || die "deqp-vk cannot run"
   sort -k 2 "$output"/batches/*."$mode" >"$output/$mode"
done

join -1 2 -2 2 "$output/plain" "$output/checked" | awk '$2 != $3 { print $1 }' >"$output/suspects"
for file in "$output"/batches/*.checked.out; do
   reported "$file"
done >>"$output/suspects"
awk '$1 == "Crash" { print $2 }' "$output/checked" >>"$output/suspects"
sort -u "$output/suspects" | awk '{ printf "%05d %s\n", NR, $1 }' >"$output/alone/names"
rm -f "$output/suspects" "$output"/batches/*.spirv
xargs -r -n 2 -P "$jobs" sh "$0" --alone <"$output/alone/names"

# "SEVERITY CHECK/KIND COUNT NAME"
while read -r number name; do
   [ ! -f "$output/alone/$number.jsonl" ] ||
      sed -n 's/^{"check":"\([a-z-]*\)","kind":"\([a-z-]*\)","severity":"\(error\|warning\)".*,"count":\([0-9]*\).*/\3 \1\/\2 \4/p' \
         "$output/alone/$number.jsonl" | sed "s/\$/ $name/"
done <"$output/alone/names" | sort >"$output/reports"
awk -v known="$output/known" -v unknown="$output/unknown" '
   BEGIN { printf "" >known; printf "" >unknown }
   FILENAME == ARGV[1] {
      if (!/^(#|$)/) {
         severities[++number] = $1
         kinds[number] = $2
         names[number] = $3
      }
      next
   }
   {
      where = unknown
      for (i = 1; i <= number; i++)
         if ($2 == kinds[i] && $4 ~ names[i] && (severities[i] == "error" || $1 == "warning"))
            where = known
      print >where
   }' "$explained" "$output/reports"
rm "$output/reports"

# A result that differs among other cases and not alone is one that differs.
changed()
{
   join -1 2 -2 2 "$output/plain" "$output/checked" | awk '$2 != $3'
}

{
   printf '%-24s %7s %7s %7s %7s %9s %9s\n' group cases pass changed crash reporting unknown
   cut -d . -f 2 "$output/cases" | sort | uniq -c | while read -r number name; do
      prefix="dEQP-VK.$name."
      here() { cut -d ' ' -f "$1" | grep -c -F "$prefix"; }
      printf '%-24s %7d %7d %7d %7d %9d %9d\n' "$name" "$number" \
         "$(grep '^Pass ' "$output/plain" | here 2)" \
         "$(changed | here 1)" \
         "$(grep -E '^(Crash|Timeout) ' "$output/checked" | here 2)" \
         "$(cut -d ' ' -f 4 "$output/known" "$output/unknown" | sort -u | here 1)" \
         "$(cut -d ' ' -f 4 "$output/unknown" | sort -u | here 1)"
   done
   changed | while read -r name before after; do
      number=$(awk -v name="$name" '$2 == name { print $1 }' "$output/alone/names")
      alone=$(cut -d ' ' -f 1 "$output/alone/$number.checked")
      [ "$alone" != "$after" ] || alone=
      printf 'changed: %s: %s, with checks %s%s\n' "$name" "$before" "$after" "${alone:+ (alone: $alone)}"
   done
   sed 's/^/reported: /' "$output/unknown"
} >"$output/table"
cat "$output/table"
[ ! -s "$output/unknown" ] && [ -z "$(changed)" ] && ! grep -q '^Crash ' "$output/checked"
