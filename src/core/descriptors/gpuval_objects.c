/* SPDX-License-Identifier: MIT */

#include "gpuval_objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/gpuval_names.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/list.h"
#include "util/ralloc.h"
#include "util/simple_mtx.h"
#include "util/sparse_array.h"
#include "util/u_atomic.h"

/* Places that are free wait until there are so many, so that what has died is known
 * for a while, and generations last.
 */
#define MIN_FREE 4096

/* What the host knows of a place in the table. It outlives its object. */
struct place {
   uint32_t id;
   uint32_t generation;
   struct vk_object_base *base; /* NULL: its object is gone */
   struct place *parent;
   struct list_head children, sibling;
   struct gpuval_object_info info;
};

struct gpuval_objects {
   struct gpuval_object *table;         /* in GPU memory, which the host may read slowly */
   struct gpuval_object_texels *texels; /* there, too; NULL: there are none */
   uint32_t *ids;                       /* the same ids for the host */
   uint64_t num_ended;                  /* objects that have come to their ends */
   uint64_t address;
   unsigned index_bits;

   simple_mtx_t mutex;
   struct util_sparse_array places;
   uint32_t num_places;       /* that were ever used */
   struct util_dynarray free; /* uint32_t indices, a queue */
   uint32_t first_free;
   bool warned_full;
};

static const struct gpuval_object_view no_view;

static uint32_t
index_of(const struct gpuval_objects *objects, uint32_t id)
{
   return id & BITFIELD_MASK(objects->index_bits);
}

static struct place *
get_place(struct gpuval_objects *objects, uint32_t index)
{
   return util_sparse_array_get(&objects->places, index);
}

uint32_t
gpuval_objects_unknown(const struct gpuval_objects *objects)
{
   return 1u << objects->index_bits;
}

uint64_t
gpuval_objects_address(const struct gpuval_objects *objects)
{
   return objects->address;
}

struct gpuval_objects *
gpuval_objects_create(struct gpuval_object *table, uint64_t address, unsigned index_bits,
                      bool has_texels)
{
   struct gpuval_objects *objects = rzalloc(NULL, struct gpuval_objects);
   if (!objects)
      return NULL;

   /* Only what is touched costs memory. */
   objects->ids = calloc(1u << index_bits, sizeof(*objects->ids));
   if (!objects->ids) {
      ralloc_free(objects);
      return NULL;
   }
   objects->table = table;
   objects->texels = has_texels ? (void *)&table[1u << index_bits] : NULL;
   objects->address = address;
   objects->index_bits = index_bits;
   simple_mtx_init(&objects->mutex, mtx_plain);
   util_sparse_array_init(&objects->places, sizeof(struct place), 256);
   util_dynarray_init(&objects->free, objects);

   objects->num_places = 1;
   objects->ids[0] = gpuval_objects_unknown(objects);
   objects->table[0] = (struct gpuval_object){
      .id = gpuval_objects_unknown(objects),
      .extent = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
      .levels = UINT32_MAX,
      .samples = UINT32_MAX,
   };
   return objects;
}

void
gpuval_objects_destroy(struct gpuval_objects *objects)
{
   for (uint32_t i = 1; i < objects->num_places; i++)
      free(get_place(objects, i)->info.name);
   util_sparse_array_finish(&objects->places);
   free(objects->ids);
   simple_mtx_destroy(&objects->mutex);
   ralloc_free(objects);
}

/* NULL: all are taken. */
static struct place *
take_place(struct gpuval_objects *objects, uint32_t *index)
{
   uint32_t num_free = util_dynarray_num_elements(&objects->free, uint32_t) - objects->first_free;
   bool is_full = objects->num_places == 1u << objects->index_bits;

   if (num_free > (is_full ? 0 : MIN_FREE)) {
      *index = *util_dynarray_element(&objects->free, uint32_t, objects->first_free);
      /* The half that was taken goes, now and then. */
      if (++objects->first_free > num_free) {
         uint32_t *indices = util_dynarray_begin(&objects->free);
         memmove(indices, indices + objects->first_free, (num_free - 1) * sizeof(*indices));
         objects->free.size = (num_free - 1) * sizeof(*indices);
         objects->first_free = 0;
      }
   } else if (!is_full) {
      *index = objects->num_places++;
   } else {
      return NULL;
   }
   return get_place(objects, *index);
}

static struct place *
place_of(struct gpuval_objects *objects, const struct vk_object_base *base)
{
   if (!base || !base->gpuval_id || base->gpuval_id == gpuval_objects_unknown(objects))
      return NULL;
   return get_place(objects, index_of(objects, base->gpuval_id));
}

static void
set_id(struct gpuval_objects *objects, uint32_t index, uint32_t id)
{
   p_atomic_set(&objects->table[index].id, id);
   p_atomic_set(&objects->ids[index], id);
}

static void
end_place(struct gpuval_objects *objects, struct place *place, enum gpuval_object_end end)
{
   if (place->info.end)
      return;

   place->info.end = end;
   set_id(objects, index_of(objects, place->id), 0);
   p_atomic_inc(&objects->num_ended);

   bool is_memory =
      end == GPUVAL_OBJECT_MEMORY_FREED || place->info.type == VK_OBJECT_TYPE_DEVICE_MEMORY;
   list_for_each_entry (struct place, child, &place->children, sibling)
      end_place(objects, child,
                is_memory ? GPUVAL_OBJECT_MEMORY_FREED : GPUVAL_OBJECT_PARENT_DESTROYED);
}

static void
set_parent(struct place *place, struct place *parent)
{
   if (place->parent)
      list_del(&place->sibling);
   place->parent = parent;
   if (parent)
      list_addtail(&place->sibling, &parent->children);
}

void
gpuval_objects_add(struct gpuval_objects *objects, struct vk_object_base *base,
                   struct vk_object_base *parent, const struct gpuval_object_view *view)
{
   simple_mtx_lock(&objects->mutex);

   uint32_t index;
   struct place *place = take_place(objects, &index);
   if (!place) {
      base->gpuval_id = gpuval_objects_unknown(objects);
      bool warn = !objects->warned_full;
      objects->warned_full = true;
      simple_mtx_unlock(&objects->mutex);
      if (warn)
         gpuval_log_warning("descriptor: more than %u objects at once: sizes and destruction of "
                            "the others are not checked",
                            (1u << objects->index_bits) - 1);
      return;
   }

   uint32_t generation = place->generation + 1;
   if (generation >> (32 - objects->index_bits))
      generation = 1;
   free(place->info.name);
   *place = (struct place){
      .id = generation << objects->index_bits | index,
      .generation = generation,
      .base = base,
      .info =
         {
            .type = base->type,
            .handle = (uintptr_t)base,
            .calls = base->gpuval_calls,
            .view = view ? *view : no_view,
         },
   };
   list_inithead(&place->children);
   base->gpuval_id = place->id;

   if (objects->texels && base->type == VK_OBJECT_TYPE_IMAGE_VIEW)
      objects->texels[index] = (struct gpuval_object_texels){0};
   struct gpuval_object *object = &objects->table[index];
   *object = (struct gpuval_object){
      .extent = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
      .levels = UINT32_MAX,
      .samples = UINT32_MAX,
   };
   if (view) {
      memcpy(object->extent, view->extent, sizeof(object->extent));
      object->levels = view->levels;
      object->samples = view->samples;
   }
   set_id(objects, index, place->id);

   struct place *parent_place = place_of(objects, parent);
   set_parent(place, parent_place);
   if (parent_place && parent_place->info.end)
      end_place(objects, place, parent_place->info.end);

   simple_mtx_unlock(&objects->mutex);
}

void
gpuval_objects_set_parent(struct gpuval_objects *objects, struct vk_object_base *base,
                          struct vk_object_base *parent)
{
   simple_mtx_lock(&objects->mutex);
   struct place *place = place_of(objects, base);
   if (place)
      set_parent(place, place_of(objects, parent));
   simple_mtx_unlock(&objects->mutex);
}

void
gpuval_objects_remove(struct gpuval_objects *objects, struct vk_object_base *base)
{
   simple_mtx_lock(&objects->mutex);

   struct place *place = place_of(objects, base);
   if (place) {
      end_place(objects, place, GPUVAL_OBJECT_DESTROYED);
      list_for_each_entry_safe (struct place, child, &place->children, sibling)
         set_parent(child, NULL);
      set_parent(place, NULL);

      place->base = NULL;
      if (base->object_name)
         place->info.name = strdup(base->object_name);
      util_dynarray_append_typed(&objects->free, uint32_t, index_of(objects, place->id));
   }

   simple_mtx_unlock(&objects->mutex);
}

const struct gpuval_object_view *
gpuval_objects_view(struct gpuval_objects *objects, const struct vk_object_base *base)
{
   const struct place *place = place_of(objects, base);
   return place ? &place->info.view : &no_view;
}

bool
gpuval_objects_set_marks(struct gpuval_objects *objects, const struct vk_object_base *view,
                         uint64_t address, uint32_t layers)
{
   const struct place *place = place_of(objects, view);

   if (place)
      p_atomic_set(&objects->table[index_of(objects, place->id)].marks,
                   gpuval_object_marks(address, layers));
   return place != NULL;
}

void
gpuval_objects_set_texels(struct gpuval_objects *objects, const struct vk_object_base *view,
                          const struct gpuval_object_texels *texels)
{
   const struct place *place = place_of(objects, view);

   if (place && objects->texels)
      objects->texels[index_of(objects, place->id)] = *texels;
}

void
gpuval_objects_forget_marks(struct gpuval_objects *objects, const struct vk_object_base *image)
{
   simple_mtx_lock(&objects->mutex);
   struct place *place = place_of(objects, image);
   if (place) {
      list_for_each_entry (struct place, view, &place->children, sibling)
         p_atomic_set(&objects->table[index_of(objects, view->id)].marks, 0);
   }
   simple_mtx_unlock(&objects->mutex);
}

bool
gpuval_objects_is_alive(const struct gpuval_objects *objects, uint32_t id)
{
   return id && p_atomic_read(&objects->ids[index_of(objects, id)]) == id;
}

uint64_t
gpuval_objects_num_ended(const struct gpuval_objects *objects)
{
   return p_atomic_read(&objects->num_ended);
}

void
gpuval_objects_visit(struct gpuval_objects *objects, uint32_t id,
                     void (*visit)(void *data, const struct vk_object_base *base), void *data)
{
   uint32_t index = index_of(objects, id);

   simple_mtx_lock(&objects->mutex);
   if (index && index < objects->num_places) {
      const struct place *place = get_place(objects, index);
      if (place->id == id && !place->info.end && place->base)
         visit(data, place->base);
   }
   simple_mtx_unlock(&objects->mutex);
}

bool
gpuval_objects_describe(struct gpuval_objects *objects, void *mem_ctx, uint32_t id,
                        struct gpuval_object_info *info)
{
   uint32_t index = index_of(objects, id);
   bool found = false;

   simple_mtx_lock(&objects->mutex);
   if (index && index < objects->num_places) {
      struct place *place = get_place(objects, index);
      if (place->id == id) {
         *info = place->info;
         if (place->base)
            info->name = gpuval_object_name(mem_ctx, place->base);
         else
            info->name = place->info.name ? ralloc_strdup(mem_ctx, place->info.name) : NULL;
         if (place->parent && place->parent->base) {
            info->parent = place->parent->info.handle;
            info->parent_name = gpuval_object_name(mem_ctx, place->parent->base);
         }
         found = true;
      }
   }
   simple_mtx_unlock(&objects->mutex);
   return found;
}
