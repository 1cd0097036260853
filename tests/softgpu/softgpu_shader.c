/* SPDX-License-Identifier: MIT */

/* Shaders as RADV hands them over when it compiles them. */

#include "softgpu_wave.h"

#include <stdlib.h>
#include <string.h>

#include "util/blob.h"
#include "util/list.h"
#include "util/simple_mtx.h"
#include "nir_serialize.h"

#include "gpuval/src/radv_glue/gpuval_radv_softgpu.h"

static struct {
   simple_mtx_t lock;
   struct list_head shaders; /* of struct softgpu_shader; the newest is first */
   bool initialized;
} registry = {.lock = SIMPLE_MTX_INITIALIZER};

/* --- Control flow --------------------------------------------------------- */

struct flattening {
   struct softgpu_shader *shader;
   struct softgpu_step *steps; /* NULL: they are counted only */
   unsigned count;
   unsigned frame; /* of the next `if` or loop */
   unsigned max_frame;
   unsigned loop_frame;
};

static void
add_step(struct flattening *f, struct softgpu_step step)
{
   if (f->steps)
      f->steps[f->count] = step;
   f->count++;
}

static void
flatten(struct flattening *f, struct exec_list *list)
{
   foreach_list_typed (nir_cf_node, node, node, list) {
      const unsigned frame = f->frame;
      switch (node->type) {
      case nir_cf_node_block:
         add_step(f, (struct softgpu_step){.type = SOFTGPU_BLOCK,
                                           .block = nir_cf_node_as_block(node),
                                           .frame = f->loop_frame});
         continue;
      case nir_cf_node_if: {
         nir_if *nif = nir_cf_node_as_if(node);
         f->frame++;
         add_step(f, (struct softgpu_step){
                        .type = SOFTGPU_IF,
                        .block = nir_cf_node_as_block(nir_cf_node_prev(node)),
                        .nif = nif,
                        .frame = frame,
                     });
         flatten(f, &nif->then_list);
         add_step(f, (struct softgpu_step){.type = SOFTGPU_ELSE, .frame = frame});
         flatten(f, &nif->else_list);
         add_step(f, (struct softgpu_step){.type = SOFTGPU_END_IF, .frame = frame});
         break;
      }
      case nir_cf_node_loop: {
         nir_loop *loop = nir_cf_node_as_loop(node);
         const unsigned outer = f->loop_frame;
         f->frame++;
         f->loop_frame = frame;
         add_step(f, (struct softgpu_step){.type = SOFTGPU_LOOP, .frame = frame});
         const unsigned target = f->count;
         flatten(f, &loop->body);
         add_step(
            f, (struct softgpu_step){.type = SOFTGPU_END_LOOP, .frame = frame, .target = target});
         f->loop_frame = outer;
         break;
      }
      default:
         unreachable("functions are inlined");
      }
      f->max_frame = MAX2(f->max_frame, f->frame);
      f->frame = frame;
   }
}

static void
prepare(struct softgpu_shader *shader)
{
   struct flattening count = {.shader = shader};
   flatten(&count, &shader->impl->body);

   struct flattening fill = {
      .shader = shader,
      .steps = rzalloc_array(shader, struct softgpu_step, count.count),
   };
   flatten(&fill, &shader->impl->body);
   shader->steps = fill.steps;
   shader->step_count = fill.count;
   shader->frame_count = fill.max_frame;

   nir_index_ssa_defs(shader->impl);
   shader->first_value = rzalloc_array(shader, uint32_t, shader->impl->ssa_alloc);
   nir_foreach_block (block, shader->impl) {
      nir_foreach_instr (instr, block) {
         nir_def *def = nir_instr_def(instr);
         if (!def)
            continue;
         shader->first_value[def->index] = shader->value_count;
         shader->value_count += def->num_components;
      }
   }
}

/* --- Registry ------------------------------------------------------------- */

static void
add_shader(const struct gpuval_softgpu_shader *info)
{
   static const nir_shader_compiler_options options = {0};

   if (!registry.initialized) {
      glsl_type_singleton_init_or_ref();
      list_inithead(&registry.shaders);
      registry.initialized = true;
   }

   struct softgpu_shader *shader = rzalloc(NULL, struct softgpu_shader);
   struct blob_reader reader;
   blob_reader_init(&reader, info->nir, info->nir_size);
   shader->nir = nir_deserialize(shader, &options, &reader);
   shader->impl = nir_shader_get_entrypoint(shader->nir);
   shader->code = ralloc_size(shader, info->code_size);
   shader->code_size = info->code_size;
   memcpy(shader->code, info->code, info->code_size);
   shader->args = *info->args;
   shader->address32_hi = info->address32_hi;
   prepare(shader);
   list_add(&shader->link, &registry.shaders);
}

PUBLIC void gpuval_softgpu_add_shader(const struct gpuval_softgpu_shader *shader);

/* GPUVAL_SOFTGPU_ADD_SHADER */
void
gpuval_softgpu_add_shader(const struct gpuval_softgpu_shader *shader)
{
   simple_mtx_lock(&registry.lock);
   add_shader(shader);
   simple_mtx_unlock(&registry.lock);
}

const struct softgpu_shader *
softgpu_find_shader(uint64_t va)
{
   const struct softgpu_shader *best = NULL;

   simple_mtx_lock(&registry.lock);
   if (registry.initialized) {
      list_for_each_entry (struct softgpu_shader, shader, &registry.shaders, link) {
         /* Code may begin as another shader's does. */
         if (best && best->code_size >= shader->code_size)
            continue;
         const void *code = softgpu_find(va, shader->code_size);
         if (code && memcmp(code, shader->code, shader->code_size) == 0)
            best = shader;
      }
   }
   simple_mtx_unlock(&registry.lock);
   if (!best)
      softgpu_error("the shader at address 0x%" PRIx64 " is not known", va);
   return best;
}
