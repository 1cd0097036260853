#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Fingerprints: the same failure has the same one tomorrow, on another machine, and when
# lines were added above; in a shader that does something else it has another.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# The numbers of lines are constants in some debug information, and the code has such
# numbers, too: moved, the shader has other ids.
shader()
{
   cat <<'EOF'
const uint table[3] = uint[](16u, 17u, 28u);
void helper(uint i)
{
   a.x[i + 16u] = table[i % 3u]; // EXPECT bounds/buffer-oob
}
void main()
{
   uint i = gl_GlobalInvocationID.x;
   if (i > 2u)
      helper(i);
   a.x[i * 18u] = 1u; // EXPECT bounds/buffer-oob
}
EOF
}

# What is reported of the shader that stdin continues, sorted.
fingerprints() # FOLDER FLAGS
{
   mkdir -p "$1"
   {
      echo '[compute main]'
      echo '#version 450'
      echo 'layout(local_size_x = 4) in;'
      echo 'layout(std430, set = 0, binding = 0) buffer A { uint x[]; } a;'
      cat
      echo '[run]'
      echo "glslang $2"
      echo 'buffer a 16'
      echo 'bind 0 0 storage a'
      echo 'pipeline p main'
      echo 'dispatch 1'
   } >"$1/moving.scn"
   (
      cd "$1" || exit 1
      env GPUVAL=bounds GPUVAL_LOG=log GPUVAL_REPORT=report.jsonl \
         "$runner" --child-only "$PWD/moving.scn" >out 2>&1
   ) || wrong "the program exited with $?"
   sed -n 's/^{"check":"bounds".*"fingerprint":"\([0-9a-f]*\)".*/\1/p' "$1/report.jsonl" | sort
}

ten_lines()
{
   for line in 1 2 3 4 5 6 7 8 9 10; do
      echo "// line $line"
   done
}

same() # WHAT FINGERPRINTS
{
   [ "$2" = "$first" ] || wrong "$1: $(echo "$2" | tr '\n' ' ')instead of $(echo "$first" | tr '\n' ' ')"
}

begin 'the same failures'
first=$(shader | fingerprints one -g)
[ "$(echo "$first" | sort -u | wc -l)" -eq 2 ] || wrong "there are not two: $first"
same 'another run' "$(shader | fingerprints one -g)"
same 'another folder' "$(shader | fingerprints another/folder -g)"
for flags in -g -gV -gVS -g0; do
   same "with $flags" "$(shader | fingerprints "as$flags" "$flags")"
   same "ten lines down, $flags" "$({ ten_lines && shader; } | fingerprints "moved$flags" "$flags")"
done

begin 'other failures'
other=$(shader | sed 's/18u/19u/' | fingerprints one -g)
[ -n "$other" ] || wrong 'there are none'
for fingerprint in $other; do
   case $first in
   *"$fingerprint"*) wrong "$fingerprint is that of another shader" ;;
   esac
done

finish
