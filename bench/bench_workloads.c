/*
 * SPDX-License-Identifier: MIT
 */

#include "bench.h"

#include "arithmetic.comp.h"
#include "arrays.comp.h"
#include "bindless.frag.h"
#include "chase.comp.h"
#include "derivatives.frag.h"
#include "fragment.frag.h"
#include "fullscreen.vert.h"
#include "gather.comp.h"
#include "gather_by_hand.comp.h"
#include "grid.mesh.h"
#include "histogram.comp.h"
#include "histogram_by_hand.comp.h"
#include "image.comp.h"
#include "matmul.comp.h"
#include "nbody.comp.h"
#include "plain.frag.h"
#include "search.comp.h"
#include "storage.comp.h"
#include "stream.comp.h"
#include "stream4.comp.h"
#include "stream4_by_hand.comp.h"
#include "subgroup.comp.h"
#include "texture.frag.h"
#include "tiny.comp.h"
#include "tiny_by_hand.comp.h"
#include "ubershader.comp.h"
#include "uniform.comp.h"
#include "values.comp.h"
#include "variants.comp.h"
#include "vertex.vert.h"

/* clang-format off */
#define SHADER(array) {array, sizeof(array)}

#define BINDING(vk_type, words) .type = VK_DESCRIPTOR_TYPE_##vk_type, .size = words

#define ZEROS(words)   {BINDING(STORAGE_BUFFER, words)}
#define FLOATS(words)  {BINDING(STORAGE_BUFFER, words), .fill = BENCH_FLOATS}
#define UNIFORM(words) {BINDING(UNIFORM_BUFFER, words), .fill = BENCH_FLOATS}
#define TEXTURE(side)  {BINDING(COMBINED_IMAGE_SAMPLER, side)}
#define TEXTURES(side, number) {BINDING(COMBINED_IMAGE_SAMPLER, side), .count = number}
#define IMAGE(side)    {BINDING(STORAGE_IMAGE, side)}

#define NODES(words)   {BINDING(STORAGE_BUFFER, words), .fill = BENCH_NODES}

#define NUMBERS(words, below)                                                  \
   {BINDING(STORAGE_BUFFER, words), .fill = BENCH_NUMBERS, .limit = below}
/* clang-format on */

/* Sizes are exact: each shader touches its buffers up to the last word, or
 * stays below it by a mask, and none goes past it. A word is a float or uint,
 * a vec4 has four. */
const struct bench_workload
   bench_workloads[] =
      {
         {
            .name = "stream",
            .description = "streaming: c[i] = a[i] * b[i] + c[i] / 2 over 1 Mi floats",
            .compute = SHADER(stream_comp),
            .bindings =
               {
                  FLOATS(1 << 20),
                  FLOATS(1 << 20),
                  FLOATS(1 << 20),
               },
            .groups = {16384, 1},
         },
         {
            .name = "gather",
            .description = "gathering: two loads through an index buffer",
            .compute = SHADER(gather_comp),
            .bindings =
               {
                  NUMBERS(1 << 19, 1 << 18),
                  FLOATS(1 << 18),
                  ZEROS(1 << 19),
               },
            .groups = {8192, 1},
         },
         {
            .name = "chase",
            .description = "pointer chasing: 64 Ki invocations follow 16 device addresses each",
            .compute = SHADER(chase_comp),
            .bindings =
               {
                  NODES(1 << 20),
                  ZEROS(1 << 16),
               },
            .groups = {1024, 1},
         },
         {
            .name = "uniform",
            .description = "uniform-heavy: many members, arrays with dynamic indices",
            .compute = SHADER(uniform_comp),
            /* 2 mat4, 5 vec4, 4 words, 2 * 16 vec4, 32 materials of 3 vec4 */
            .bindings =
               {
                  UNIFORM(2 * 16 + 5 * 4 + 4 + 32 * 4 + 32 * 12),
                  ZEROS(65536 * 4),
               },
            .groups = {1024, 1},
         },
         {
            .name = "shared",
            .description = "shared memory: tiled product of two 256 * 256 matrices",
            .compute = SHADER(matmul_comp),
            .bindings =
               {
                  FLOATS(256 * 256),
                  FLOATS(256 * 256),
                  ZEROS(256 * 256),
               },
            .groups = {16, 16},
         },
         {
            .name = "nbody",
            .description = "a loop around storage loads: 1024 bodies",
            .compute = SHADER(nbody_comp),
            .bindings =
               {
                  FLOATS(1024 * 4),
                  ZEROS(1024 * 4),
               },
            .groups = {16, 1},
         },
         {
            .name = "atomics",
            .description = "atomics: two into a histogram for each of 512 Ki words",
            .compute = SHADER(histogram_comp),
            .bindings =
               {
                  NUMBERS(1 << 19, 1 << 16),
                  ZEROS(256),
               },
            .groups = {8192, 1},
         },
         {
            .name = "image",
            .description = "storage images: a blur of 256 * 256 texels",
            .compute = SHADER(image_comp),
            .bindings = {IMAGE(256), IMAGE(256)},
            .groups = {32, 32},
         },
         {
            .name = "fragment",
            .description = "fragments: 512 * 512 pixels, a list of lights each",
            .vertex = SHADER(fullscreen_vert),
            .fragment = SHADER(fragment_frag),
            .bindings =
               {
                  UNIFORM(5 * 4),
                  NUMBERS(16 * 16 * 8, 64),
                  FLOATS(64 * 4),
               },
            .vertices = 3,
         },
         {
            .name = "vertex",
            .description = "vertices: 96 Ki pulled from storage, with a matrix each",
            .vertex = SHADER(vertex_vert),
            .fragment = SHADER(plain_frag),
            .bindings =
               {
                  UNIFORM(32 * 16),
                  FLOATS(16384 * 8),
                  NUMBERS(98304, 16384),
               },
            .vertices = 98304,
         },
         {
            .name = "texture",
            .description = "control: 512 * 512 pixels that only sample a texture",
            .vertex = SHADER(fullscreen_vert),
            .fragment = SHADER(texture_frag),
            .bindings = {TEXTURE(256)},
            .vertices = 3,
         },
         {
            .name = "tiny",
            .description = "many tiny dispatches: 10,000 of one workgroup in a command buffer",
            .compute = SHADER(tiny_comp),
            .bindings = {ZEROS(10000 * 64)},
            .dispatches = 10000,
            .groups = {1, 1},
            .barriers = true,
         },
         {
            .name = "storage-200",
            .description = "a large shader: 200 storage accesses at computed indices",
            .compute = SHADER(storage_comp),
            .bindings =
               {
                  FLOATS(65536),
                  ZEROS(16384 * 20),
               },
            .groups = {256, 1},
         },
         {
            .name = "uber-2000",
            .description = "a very large shader: 2000 uniform and storage accesses",
            .compute = SHADER(ubershader_comp),
            .bindings =
               {
                  UNIFORM(512 * 4),
                  FLOATS(65536),
                  ZEROS(16384 * 20),
               },
            .groups = {256, 1},
         },
         {
            .name = "pipelines",
            .description = "many pipelines: 100 small ones, each different",
            .compute = SHADER(variants_comp),
            .bindings =
               {
                  UNIFORM(16 * 4),
                  FLOATS(8192),
                  FLOATS(4096),
               },
            .pipelines = 100,
            .groups = {64, 1},
         },

         {
            .name = "bindless",
            .description = "bindless: 512 * 512 pixels, two of 64 textures each, by number",
            .vertex = SHADER(fullscreen_vert),
            .fragment = SHADER(bindless_frag),
            .bindings = {TEXTURES(256, 64), NUMBERS(32 * 32 * 2, 64)},
            .vertices = 3,
         },

         /* What may go wrong inside of a shader, and does not. */
         {
            .name = "arrays",
            .description = "shader: arrays, a matrix and constants at indices from a buffer",
            .section = BENCH_SECTION_SHADER,
            .compute = SHADER(arrays_comp),
            .bindings = {NUMBERS(1 << 16, 4), ZEROS(65536 * 4)},
            .groups = {1024, 1},
         },
         {
            .name = "arithmetic",
            .description = "shader: divisions, shifts, conversions, roots, logarithms",
            .section = BENCH_SECTION_SHADER,
            .compute = SHADER(arithmetic_comp),
            .bindings = {NUMBERS(1 << 16, 1 << 20), FLOATS(1 << 16), ZEROS(65536 * 4)},
            .groups = {1024, 1},
         },
         {
            .name = "values",
            .description = "shader: locals and an array that are assigned on some paths",
            .section = BENCH_SECTION_SHADER,
            .compute = SHADER(values_comp),
            .bindings = {NUMBERS(1 << 16, 1 << 24), ZEROS(65536 * 4)},
            .groups = {1024, 1},
         },
         {
            .name = "search",
            .description = "shader: loops that end when something is found",
            .section = BENCH_SECTION_SHADER,
            .compute = SHADER(search_comp),
            .bindings = {NUMBERS(1 << 16, 1 << 22), ZEROS(65536 * 4)},
            .groups = {1024, 1},
         },
         {
            .name = "subgroup",
            .description = "shader: shuffles, reductions in branches, barriers in a loop",
            .section = BENCH_SECTION_SHADER,
            .compute = SHADER(subgroup_comp),
            .bindings = {NUMBERS(1 << 16, 1 << 20), ZEROS(65536 * 4)},
            .groups = {1024, 1},
         },
         {
            .name = "derivatives",
            .description = "shader: 512 * 512 pixels, textures and derivatives in branches",
            .section = BENCH_SECTION_SHADER,
            .vertex = SHADER(fullscreen_vert),
            .fragment = SHADER(derivatives_frag),
            .bindings = {TEXTURE(256)},
            .vertices = 3,
         },
         {
            .name = "mesh",
            .description = "shader: 1,024 patches of 98 triangles by mesh shaders",
            .section = BENCH_SECTION_SHADER,
            .mesh = SHADER(grid_mesh),
            .fragment = SHADER(plain_frag),
            .vertices = 1024,
         },

         /* For checks of order. A filter of 2^26 bytes gets 5 to 20 % full by them with 16
          * hashes, where false positives are out of the question. */
         {
            .name = "sync-stream",
            .description = "sync: streaming over 64 Ki vec4",
            .section = BENCH_SECTION_SYNC,
            .compute = SHADER(stream4_comp),
            .by_hand = SHADER(stream4_by_hand_comp),
            .bindings =
               {
                  FLOATS(4 << 16),
                  FLOATS(4 << 16),
                  FLOATS(4 << 16),
               },
            .groups = {1024, 1},
         },
         {
            .name = "sync-gather",
            .description = "sync: gathering 64 Ki times two floats",
            .section = BENCH_SECTION_SYNC,
            .compute = SHADER(gather_comp),
            .by_hand = SHADER(gather_by_hand_comp),
            .bindings =
               {
                  NUMBERS(1 << 16, 1 << 17),
                  FLOATS(1 << 17),
                  ZEROS(1 << 16),
               },
            .groups = {1024, 1},
         },
         {
            .name = "sync-chase",
            .description = "sync: 16 Ki invocations follow 16 device addresses each",
            .section = BENCH_SECTION_SYNC,
            .compute = SHADER(chase_comp),
            .bindings =
               {
                  NODES(1 << 18),
                  ZEROS(1 << 14),
               },
            .groups = {256, 1},
         },
         {
            .name = "sync-histogram",
            .description = "sync: two atomics for each of 64 Ki words",
            .section = BENCH_SECTION_SYNC,
            .compute = SHADER(histogram_comp),
            .by_hand = SHADER(histogram_by_hand_comp),
            .bindings =
               {
                  NUMBERS(1 << 16, 1 << 16),
                  ZEROS(256),
               },
            .groups = {1024, 1},
         },
         {
            .name = "sync-matmul",
            .description = "sync: tiled product of two 256 * 256 matrices in shared memory",
            .section = BENCH_SECTION_SYNC,
            .compute = SHADER(matmul_comp),
            .bindings =
               {
                  FLOATS(256 * 256),
                  FLOATS(256 * 256),
                  ZEROS(256 * 256),
               },
            .groups = {16, 16},
         },
         {
            .name = "sync-tiny",
            .description = "sync: 10,000 dispatches of one workgroup in a command buffer",
            .section = BENCH_SECTION_SYNC,
            .compute = SHADER(tiny_comp),
            .by_hand = SHADER(tiny_by_hand_comp),
            .bindings = {ZEROS(10000 * 64)},
            .dispatches = 10000,
            .groups = {1, 1},
            .barriers = true,
         },
         {
            .name = "sync-storage",
            .description = "sync: a large shader, 200 storage accesses at computed indices",
            .section = BENCH_SECTION_SYNC,
            .compute = SHADER(storage_comp),
            .bindings =
               {
                  FLOATS(65536),
                  ZEROS(1024 * 20),
               },
            .groups = {16, 1},
         },
};

const unsigned bench_workload_count = sizeof(bench_workloads) / sizeof(bench_workloads[0]);
