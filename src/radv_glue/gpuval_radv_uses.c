/* SPDX-License-Identifier: MIT */

/* Constant uses of descriptors, which cost a shader one bit each: what is bound does not change
 * from when a command is recorded to when it has run, but for sets with descriptors that may be
 * updated after they are bound, which shaders look at themselves. So uses are judged when the
 * command is recorded, on that thread. What may come to its end in between are objects: ids of
 * those that must be alive are kept, and when the command buffer is submitted, and any object has
 * ended since, bits of those that are gone are set in what the command has been told.
 */

#include "gpuval_radv_private.h"

#include "radv_cmd_buffer.h"
#include "radv_device.h"
#include "radv_shader.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval/src/core/descriptors/gpuval_use.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"
#include "util/ralloc.h"

#define NUM_WORDS GPUVAL_RADV_USE_WORDS

/* An object that has to be alive, or else @bit of @word is set */
struct needed {
   uint32_t id, word, bit;
};

/* What commands with the same shaders and descriptors share */
struct verdict {
   uint32_t words[NUM_WORDS];
   uint32_t first, count; /* in gpuval_radv_uses::needed */
};

struct told {
   uint32_t *words; /* in the command's data: not to be read */
   uint32_t verdict;
};

struct gpuval_radv_uses {
   struct util_dynarray needed;   /* struct needed */
   struct util_dynarray verdicts; /* struct verdict */
   struct util_dynarray told;     /* struct told */
   uint64_t num_ended;            /* gpuval_objects_num_ended(), when all were alive */
};

static struct gpuval_radv_uses *
get_uses(struct radv_cmd_buffer *cmd_buffer, const struct gpuval_objects *objects)
{
   void *mem_ctx;
   struct gpuval_radv_uses **uses = gpuval_radv_uses(cmd_buffer, &mem_ctx);

   if (!*uses) {
      *uses = rzalloc(mem_ctx, struct gpuval_radv_uses);
      (*uses)->num_ended = gpuval_objects_num_ended(objects);
      util_dynarray_init(&(*uses)->needed, *uses);
      util_dynarray_init(&(*uses)->verdicts, *uses);
      util_dynarray_init(&(*uses)->told, *uses);
   }
   return *uses;
}

static void
need(struct gpuval_radv_uses *uses, const struct gpuval_objects *objects, uint32_t id,
     uint32_t word, uint32_t bit)
{
   const struct needed needed = {id, word, bit};

   if (id != gpuval_objects_unknown(objects))
      util_dynarray_append_typed(&uses->needed, struct needed, needed);
}

static void
judge(struct gpuval_radv_uses *uses, const struct gpuval_objects *objects,
      const struct radv_cmd_buffer *owner, unsigned bind_point, const struct gpuval_shader *shader,
      uint32_t words[NUM_WORDS])
{
   const uint32_t word = gpuval_radv_use_word(gpuval_shader_stage(shader));
   uint32_t num_uses, bit = 1;
   const struct gpuval_nir_use *shader_uses = gpuval_shader_uses(shader, &num_uses);

   for (uint32_t i = 0; i < num_uses; i++) {
      const struct gpuval_nir_use *use = &shader_uses[i];
      const struct gpuval_descriptor *descriptor;
      bool bad, harmful;

      if (use->flags & (GPUVAL_USE_RACE | GPUVAL_USE_WRITTEN))
         continue;
      if (!gpuval_radv_find_descriptor(owner, bind_point, use, &descriptor)) {
         /* It suits everything. */
      } else if (use->flags & GPUVAL_USE_SIZE) {
         words[word] |= descriptor->size < use->num_slots ? bit : 0;
      } else {
         bad = gpuval_use_is_bad(objects, use, descriptor, &harmful);
         if (use->flags & GPUVAL_USE_HARMFUL ? harmful : bad) {
            words[word] |= bit;
         } else {
            if (use->required & GPUVAL_OFFERS_RESOURCES)
               need(uses, objects, descriptor->object, word, bit);
            if (use->required & GPUVAL_OFFERS_SAMPLER)
               need(uses, objects, descriptor->sampler, word, bit);
         }
      }
      bit <<= 1;
   }
}

static void
judge_all(struct gpuval_radv_uses *uses, const struct gpuval_objects *objects,
          const struct radv_cmd_buffer *owner, unsigned bind_point, uint32_t words[NUM_WORDS])
{
   bool is_compute = bind_point == VK_PIPELINE_BIND_POINT_COMPUTE;

   for (unsigned stage = 0; stage <= MESA_SHADER_MESH; stage++) {
      const struct radv_shader *shader = owner->state.shaders[stage];
      if (!shader || (stage == MESA_SHADER_COMPUTE) != is_compute)
         continue;
      for (unsigned i = 0; i < ARRAY_SIZE(shader->gpuval); i++) {
         if (shader->gpuval[i])
            judge(uses, objects, owner, bind_point, shader->gpuval[i], words);
      }
   }
}

/* Returns its number. The last one has @first and what follows of those that are needed. */
static uint32_t
add_verdict(struct gpuval_radv_uses *uses, const struct verdict *verdict)
{
   const uint32_t count = util_dynarray_num_elements(&uses->verdicts, struct verdict);
   const struct needed *needed = uses->needed.data;

   if (count) {
      const struct verdict *last =
         util_dynarray_element(&uses->verdicts, struct verdict, count - 1);
      if (last->count == verdict->count &&
          !memcmp(last->words, verdict->words, sizeof(last->words)) &&
          (!last->count ||
           !memcmp(&needed[last->first], &needed[verdict->first], last->count * sizeof(*needed)))) {
         uses->needed.size = verdict->first * sizeof(*needed);
         return count - 1;
      }
   }
   util_dynarray_append_typed(&uses->verdicts, struct verdict, *verdict);
   return count;
}

void
gpuval_radv_record_uses(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer,
                        const struct radv_descriptor_state *descriptors, uint32_t words[NUM_WORDS],
                        uint32_t *told_words)
{
   const struct gpuval_objects *objects = gpuval_device_objects(gpuval->device);
   unsigned bind_point;
   const struct radv_cmd_buffer *owner = gpuval_radv_owner(cmd_buffer, descriptors, &bind_point);

   memset(words, 0, NUM_WORDS * sizeof(*words));
   if (gpuval_radv_changes_pipelines(cmd_buffer) || bind_point > VK_PIPELINE_BIND_POINT_COMPUTE)
      return;

   struct gpuval_radv_uses *uses = get_uses(cmd_buffer, objects);
   struct verdict verdict = {
      .first = util_dynarray_num_elements(&uses->needed, struct needed),
   };
   judge_all(uses, objects, owner, bind_point, verdict.words);
   verdict.count = util_dynarray_num_elements(&uses->needed, struct needed) - verdict.first;
   memcpy(words, verdict.words, sizeof(verdict.words));
   if (verdict.count) {
      const struct told told = {told_words, add_verdict(uses, &verdict)};
      util_dynarray_append_typed(&uses->told, struct told, told);
   }
}

/* Returns whether anything that is needed has ended, and sets the bits. */
static bool
find_ended(const struct gpuval_radv_uses *uses, const struct gpuval_objects *objects,
           struct verdict *verdict)
{
   bool found = false;

   for (uint32_t i = 0; i < verdict->count; i++) {
      const struct needed *needed =
         util_dynarray_element(&uses->needed, struct needed, verdict->first + i);
      if (!gpuval_objects_is_alive(objects, needed->id)) {
         verdict->words[needed->word] |= needed->bit;
         found = true;
      }
   }
   return found;
}

void
gpuval_radv_renew_uses(struct gpuval_radv *gpuval, struct radv_cmd_buffer *cmd_buffer)
{
   const struct gpuval_objects *objects = gpuval_device_objects(gpuval->device);
   struct gpuval_radv_uses *uses = *gpuval_radv_uses(cmd_buffer, NULL);

   if (!uses || uses->num_ended == gpuval_objects_num_ended(objects))
      return;

   simple_mtx_lock(&gpuval->mutex); /* another thread may submit it, too */
   uses->num_ended = gpuval_objects_num_ended(objects);
   uint32_t current = UINT32_MAX;
   bool has_ended = false;
   util_dynarray_foreach (&uses->told, struct told, told) {
      struct verdict *verdict =
         util_dynarray_element(&uses->verdicts, struct verdict, told->verdict);
      if (told->verdict != current)
         has_ended = find_ended(uses, objects, verdict);
      current = told->verdict;
      if (has_ended)
         memcpy(told->words, verdict->words, sizeof(verdict->words));
   }
   simple_mtx_unlock(&gpuval->mutex);
}
