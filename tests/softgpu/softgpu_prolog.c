/* SPDX-License-Identifier: MIT */

/*
 * Prologs of vertex shaders, which fetch attributes that a library or a shader object does not
 * know. They have no NIR: what they do is done here.
 */

#include "softgpu_draw.h"

#include <stdlib.h>
#include <string.h>

#include "util/bitscan.h"
#include "util/format/u_format.h"
#include "util/list.h"
#include "util/ralloc.h"
#include "util/simple_mtx.h"
#include "util/u_math.h"

#include "gpuval/src/radv_glue/gpuval_radv_softgpu.h"

struct softgpu_prolog {
   struct list_head link;
   struct gpuval_softgpu_prolog info;
};

static struct {
   simple_mtx_t lock;
   struct list_head prologs;
} registry = {.lock = SIMPLE_MTX_INITIALIZER};

PUBLIC void gpuval_softgpu_add_prolog(const struct gpuval_softgpu_prolog *info);

/* GPUVAL_SOFTGPU_ADD_PROLOG */
void
gpuval_softgpu_add_prolog(const struct gpuval_softgpu_prolog *info)
{
   struct softgpu_prolog *prolog = rzalloc(NULL, struct softgpu_prolog);

   prolog->info = *info;
   prolog->info.code = ralloc_memdup(prolog, info->code, info->code_size);
   simple_mtx_lock(&registry.lock);
   if (!registry.prologs.next)
      list_inithead(&registry.prologs);
   list_add(&prolog->link, &registry.prologs);
   simple_mtx_unlock(&registry.lock);
}

/* The longest one: code may begin as another one's does. */
const struct softgpu_prolog *
softgpu_find_prolog(uint64_t va)
{
   const struct softgpu_prolog *best = NULL;

   simple_mtx_lock(&registry.lock);
   if (registry.prologs.next) {
      list_for_each_entry (struct softgpu_prolog, prolog, &registry.prologs, link) {
         const void *code = softgpu_find(va, prolog->info.code_size);
         if (code && memcmp(code, prolog->info.code, prolog->info.code_size) == 0 &&
             (!best || best->info.code_size < prolog->info.code_size))
            best = prolog;
      }
   }
   simple_mtx_unlock(&registry.lock);
   return best;
}

uint64_t
softgpu_find_main(const struct softgpu_prolog *prolog, uint64_t inputs)
{
   uint64_t va = inputs;
   return !prolog->info.nontrivial_divisors || softgpu_read(inputs, &va, sizeof(va)) ? va : 0;
}

/* Division as in util_fast_udiv32(), by what lies behind the main shader's address */
static bool
divide(const struct softgpu_prolog *prolog, uint64_t inputs, unsigned attribute, uint32_t *value)
{
   const unsigned at = util_bitcount(prolog->info.nontrivial_divisors & BITFIELD_MASK(attribute));
   uint32_t info[2];

   if (!softgpu_read(inputs + 8 + at * 8, info, sizeof(info)))
      return false;
   const uint64_t dividend = ((uint64_t)*value >> (info[0] & 0xff)) + (info[0] >> 8 & 0xff);
   *value = (uint32_t)(dividend * info[1] >> 32) >> (info[0] >> 16 & 0xff);
   return true;
}

static bool
fetch(const uint32_t words[4], uint32_t index, uint32_t values[4])
{
   const enum pipe_format format = softgpu_find_format(G_008F0C_FORMAT_GFX10(words[3]));
   const unsigned bytes = format ? util_format_get_blocksize(format) : 0;
   const uint64_t va = format ? softgpu_find_element(words, index, 0, bytes) : 0;
   uint32_t raw[4] = {0};
   uint8_t data[16];

   if (va && !softgpu_read(va, data, bytes))
      return false;
   if (va)
      util_format_unpack_rgba(format, raw, data, 1);
   for (unsigned i = 0; i < 4; i++) {
      const unsigned select = words[3] >> i * 3 & 7;
      values[i] = !va || select < V_008F0C_SQ_SEL_1     ? 0
                  : select >= V_008F0C_SQ_SEL_X         ? raw[select - V_008F0C_SQ_SEL_X]
                  : util_format_is_pure_integer(format) ? 1
                                                        : fui(1.0f);
   }
   return true;
}

void
softgpu_run_prolog(const struct softgpu_prolog *prolog, struct softgpu_wave *wave, uint64_t inputs,
                   const uint32_t *vertices, unsigned count, uint32_t instance)
{
   const struct softgpu_shader *shader = wave->shader;
   const struct ac_shader_args *args = &shader->args;
   const uint64_t table =
      softgpu_get_sgpr(wave, args->vertex_buffers) | (uint64_t)shader->address32_hi << 32;

   if (prolog->info.misaligned) {
      softgpu_error("a prolog for attributes that are not aligned");
      return;
   }
   for (unsigned i = 0; i < prolog->info.attribute_count; i++) {
      uint32_t words[4], index = instance;
      if (!softgpu_read(table + i * 16, words, sizeof(words)) ||
          (prolog->info.nontrivial_divisors >> i & 1 && !divide(prolog, inputs, i, &index)))
         return;
      if (prolog->info.zero_divisors >> i & 1)
         index = 0;
      for (unsigned lane = 0; lane < count; lane++) {
         const uint32_t element = prolog->info.instance_rate >> i & 1
                                     ? softgpu_get_sgpr(wave, args->start_instance) + index
                                     : softgpu_get_sgpr(wave, args->base_vertex) + vertices[lane];
         uint32_t values[4];
         if (!fetch(words, element, values))
            return;
         for (unsigned c = 0; c < 4; c++) {
            const unsigned vgpr = shader->vertex_inputs + i * 4 + c;
            if (vgpr < wave->vgpr_count)
               wave->vgprs[vgpr * wave->size + lane] = values[c];
         }
      }
   }
}
