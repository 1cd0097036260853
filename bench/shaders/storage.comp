/* SPDX-License-Identifier: MIT
 *
 * 200 accesses to storage buffers at computed indices: of ten, eight loads of
 * a word, one of the word beside the last, and a store.
 */
#version 450

layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly buffer Data { float data[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Result { float result[]; };

const uint DATA_MASK = 65535u;
const uint STORES = 20u;

uint id = gl_GlobalInvocationID.x;
float sum = 0.0;

#define INDEX(n, mask) ((id * 3u + uint(n) * 97u) & (mask))
#define LOAD(n) sum += data[INDEX(n, DATA_MASK)];
#define LOAD_BESIDE(n) sum *= data[INDEX(n, DATA_MASK - 1u) + 1u];
#define STORE(n) result[id * STORES + uint((n) / 10)] = sum;

#define TEN(n)                                                                 \
   LOAD(n) LOAD((n) + 1) LOAD((n) + 2) LOAD((n) + 3) LOAD((n) + 4)             \
   LOAD((n) + 5) LOAD((n) + 6) LOAD((n) + 7) LOAD_BESIDE((n) + 7) STORE(n)
#define HUNDRED(n)                                                             \
   TEN(n) TEN((n) + 10) TEN((n) + 20) TEN((n) + 30) TEN((n) + 40)              \
   TEN((n) + 50) TEN((n) + 60) TEN((n) + 70) TEN((n) + 80) TEN((n) + 90)

void
main()
{
   HUNDRED(0) HUNDRED(100)
}
