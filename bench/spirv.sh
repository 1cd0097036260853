#!/bin/sh
# SPDX-License-Identifier: MIT
#
# gpuval-bench-spirv: what it compiles, what it leaves out, and what it says of bad files.
#
#    spirv.sh PROGRAM GLSLANG

set -u

program=$1
glslang=$2
folder=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-spirv.XXXXXX") || exit 99
trap 'rm -rf "$folder"' EXIT
bad=0

expect() # STATUS TEXT FILE...: a line of the output, and one of them only is an error
{
   status=$1
   text=$2
   shift 2
   "$program" "$@" >"$folder/out" 2>&1
   got=$?
   [ "$got" = 77 ] && exit 77
   if [ "$got" != "$status" ] || ! grep -qF -- "$text" "$folder/out" ||
      [ "$(grep -c '^error: ' "$folder/out")" != "$status" ]; then
      echo "$*: not '$text' and status $status, but status $got and:"
      cat "$folder/out"
      bad=1
   fi
}

shader() # FILE [ARG]...: GLSL from stdin
{
   output=$folder/$1
   shift
   "$glslang" --quiet -V --target-env vulkan1.3 --stdin -o "$output" "$@" || exit 99
}

words() # FILE [WORD]...: behind a header of 8 ids
{
   output=$folder/$1
   shift
   printf '0x%08x,' 0x07230203 0x00010500 0 8 0 "$@" >"$output"
}

cat >"$folder/compute" <<'END'
#version 460
#extension GL_EXT_nonuniform_qualifier : require
layout(constant_id = 0) const int length = 3;
layout(set = 0, binding = 2) buffer B { uint b[]; } b[];
layout(set = 0, binding = 1) uniform U { uint u[4]; } u[length];
layout(set = 2, binding = 0) uniform sampler2D pair[6];
layout(set = 2, binding = 3) uniform texture2D image;
layout(set = 2, binding = 4) uniform sampler state;
layout(set = 2, binding = 4) uniform texture2D other;
layout(set = 2, binding = 5, rgba8) uniform image2D storage;
layout(set = 2, binding = 6) uniform samplerBuffer texels;
layout(set = 2, binding = 7, r32ui) uniform uimageBuffer written;
layout(push_constant) uniform P { uint p[32]; };
void main()
{
   uint i = gl_GlobalInvocationID.x;
   vec4 v = textureLod(pair[i % 6], vec2(0), 0) + textureLod(sampler2D(image, state), vec2(0), 0);
   v += textureLod(sampler2D(other, state), vec2(0), 0) + texelFetch(texels, int(i));
   imageStore(storage, ivec2(i), v);
   imageStore(written, int(i), uvec4(p[i % 32]));
   b[nonuniformEXT(i)].b[i] = u[i % length].u[i % 4];
}
END
shader compute.spv -S comp <"$folder/compute"
shader compute.h -S comp -x <"$folder/compute"
shader vertex.spv -S vert <<'END'
#version 460
void main() { gl_Position = vec4(gl_VertexIndex); }
END
shader fragment.spv -S frag <<'END'
#version 460
layout(set = 1, binding = 0, input_attachment_index = 0) uniform subpassInput before;
layout(location = 0) in vec4 from;
layout(location = 0) out vec4 color;
void main() { color = from + subpassLoad(before); }
END
shader geometry.spv -S geom <<'END'
#version 460
layout(points) in;
layout(points, max_vertices = 1) out;
void main() { gl_Position = vec4(0); EmitVertex(); }
END
shader rays.spv -S rgen <<'END'
#version 460
#extension GL_EXT_ray_tracing : require
void main() {}
END

expect 0 '4 files, 4 entry points compiled, 0 left out, 0 files bad' \
   "$folder/compute.spv" "$folder/compute.h" "$folder/vertex.spv" "$folder/fragment.spv"
expect 0 'geometry.spv: main (geometry) is left out' "$folder/geometry.spv"
expect 0 'rays.spv: main (ray generation) is left out' "$folder/rays.spv"
expect 0 '2 files, 1 entry points compiled, 1 left out' "$folder/rays.spv" "$folder/vertex.spv"

# An empty file, a text, a piece of a module, one in the other byte order
: >"$folder/empty.spv"
expect 1 'empty.spv: not SPIR-V' "$folder/empty.spv"
echo 'layout(local_size_x = 1) in; // 0x07230203' >"$folder/text.spv"
expect 1 'text.spv: not SPIR-V' "$folder/text.spv"
head -c 200 "$folder/compute.spv" >"$folder/short.spv"
expect 1 'short.spv: damaged: the instruction at word' "$folder/short.spv"
head -c 203 "$folder/compute.spv" >"$folder/odd.spv"
expect 1 'odd.spv: 203 bytes are no whole words' "$folder/odd.spv"
printf '0x03022307,0x00000100,0,0,0' >"$folder/swapped.h"
expect 1 'swapped.h: not SPIR-V' "$folder/swapped.h"
expect 1 'there is no such file' "$folder/nothing.spv"
expect 1 'there is no such file' "$folder"
words nothing.h
expect 1 'nothing.h: has no entry point' "$folder/nothing.h"
words zero.h 0
expect 1 'zero.h: damaged: the instruction at word 5 has 0 words' "$folder/zero.h"
words name.h 0x0004000f 5 1 0x6e69616d
expect 1 'name.h: damaged: an entry point has no name' "$folder/name.h"
words id.h 0x0002001a 9
expect 1 'id.h: damaged: id 9 of 8' "$folder/id.h"
# OpTypeSampler 1, OpTypePointer 2 UniformConstant 1, decorations, OpVariable
words binding.h 0x00040047 3 33 0x7fffffff 0x0002001a 1 0x00040020 2 0 1 0x0004003b 2 3 0
expect 1 'binding.h: binding 2147483647 is too high' "$folder/binding.h"
# An array of itself; then with a buffer at the same binding as a sampler
words loop.h 0x0003001d 1 1 0x00040020 2 0 1 0x0004003b 2 3 0
expect 1 'loop.h: ' "$folder/loop.h"
words types.h 0x0002001a 1 0x0002001e 4 0x00040020 2 0 1 0x00040020 5 12 4 \
   0x0004003b 2 3 0 0x0004003b 5 6 12
expect 1 'types.h: set 0, binding 0 has descriptors of two types' "$folder/types.h"
# The others are looked at all the same.
expect 1 '2 files, 1 entry points compiled, 0 left out, 1 files bad' \
   "$folder/empty.spv" "$folder/vertex.spv"
exit "$bad"
