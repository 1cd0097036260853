/* SPDX-License-Identifier: MIT
 *
 * 2000 accesses in one shader, mixed as ubershaders mix them: of a hundred, 39
 * members of a uniform buffer at fixed offsets, 30 at indices that differ
 * between invocations, 29 words of storage at an index that does not, and one
 * load and one store of storage where it does. More of those would keep LLVM
 * busy for minutes even without checks: llvmpipe unrolls them lane by lane.
 */
#version 450

layout(local_size_x = 64) in;

layout(push_constant) uniform Command { uint number; } command;

layout(set = 0, binding = 0) uniform Parameters { vec4 parameters[512]; };
layout(set = 0, binding = 1, std430) readonly buffer Data { float data[]; };
layout(set = 0, binding = 2, std430) writeonly buffer Result { float result[]; };

const uint DATA_MASK = 65535u;
const uint STORES = 20u;

uint id = gl_GlobalInvocationID.x;
float sum = 0.0;

#define MEMBER(n) sum += parameters[(n) & 511].y;
#define ELEMENT(n) sum *= parameters[(id + uint(n)) & 511u].x;
#define WORD(n) sum += data[(command.number + uint(n) * 97u) & DATA_MASK];
#define LOAD(n) sum -= data[(id * 3u + uint(n) * 97u) & DATA_MASK];
#define STORE(n) result[id * STORES + uint((n) / 100)] = sum;

#define SIX(n)                                                                 \
   MEMBER(n) ELEMENT((n) + 1) WORD((n) + 2)                                    \
   MEMBER((n) + 3) ELEMENT((n) + 4) WORD((n) + 5)
#define EIGHT(n) SIX(n) MEMBER((n) + 6) ELEMENT((n) + 7)
#define TEN(n) EIGHT(n) WORD((n) + 8) MEMBER((n) + 9)
#define HUNDRED(n)                                                             \
   TEN(n) TEN((n) + 10) TEN((n) + 20) TEN((n) + 30) TEN((n) + 40)              \
   TEN((n) + 50) TEN((n) + 60) TEN((n) + 70) TEN((n) + 80)                     \
   EIGHT((n) + 90) LOAD((n) + 98) STORE(n)
#define THOUSAND(n)                                                            \
   HUNDRED(n) HUNDRED((n) + 100) HUNDRED((n) + 200) HUNDRED((n) + 300)         \
   HUNDRED((n) + 400) HUNDRED((n) + 500) HUNDRED((n) + 600)                    \
   HUNDRED((n) + 700) HUNDRED((n) + 800) HUNDRED((n) + 900)

void
main()
{
   THOUSAND(0) THOUSAND(1000)
}
