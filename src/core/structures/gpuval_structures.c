/* SPDX-License-Identifier: MIT */

#include "gpuval_structures.h"

#include <stdlib.h>

#include "base/gpuval_layout.h"
#include "base/gpuval_log.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/hash_table.h"
#include "util/macros.h"
#include "util/ralloc.h"

#define MAX_DESTROYED (1u << 14)

struct structure {
   const struct vk_object_base *object; /* NULL: all with this address are destroyed */
   uint64_t address;                    /* 0: its buffer had no memory when that was asked last */
   enum gpuval_structure_state state;
   uint64_t *references; /* a top-level structure's, sorted, each once */
   unsigned num_references;
   struct list_head link;   /* in gpuval_structures::referring, where there are some */
   struct structure *older; /* of the same address, which is there, too */
};

void
gpuval_structures_init(struct gpuval_structures *structures, uint64_t *table,
                       uint64_t *bottom_table)
{
   mtx_init(&structures->mutex, mtx_plain);
   structures->by_object = _mesa_pointer_hash_table_create(NULL);
   structures->by_address = _mesa_hash_table_u64_create(structures->by_object);
   list_inithead(&structures->referring);
   structures->table = table;
   structures->bottom_table = bottom_table;
   structures->num_destroyed = 0;
}

void
gpuval_structures_finish(struct gpuval_structures *structures)
{
   ralloc_free(structures->by_object);
   mtx_destroy(&structures->mutex);
}

/* The shaders' tables */

static void
store(uint64_t *table, uint32_t slot, uint64_t address)
{
   __atomic_store_n(&table[slot], address, __ATOMIC_RELEASE);
}

static void
remove_from_table(uint64_t *table, uint64_t address)
{
   for (unsigned i = 0; i < GPUVAL_STRUCTURE_PLACES; i++) {
      uint32_t slot = gpuval_structure_slot(address, i);
      if (table[slot] == address)
         store(table, slot, 0);
   }
}

static bool
add_to_table(uint64_t *table, uint64_t address)
{
   int64_t empty = -1;

   for (unsigned i = 0; i < GPUVAL_STRUCTURE_PLACES; i++) {
      uint32_t slot = gpuval_structure_slot(address, i);
      if (table[slot] == address)
         return true;
      if (!table[slot])
         empty = slot;
   }
   if (empty >= 0)
      store(table, empty, address);
   return empty >= 0;
}

/* What there is */

static struct structure *
find_by_address(const struct gpuval_structures *structures, uint64_t address)
{
   return _mesa_hash_table_u64_search(structures->by_address, address);
}

static struct structure *
find_by_object(const struct gpuval_structures *structures, const struct vk_object_base *object)
{
   struct hash_entry *entry = _mesa_hash_table_search(structures->by_object, object);
   return entry ? entry->data : NULL;
}

static bool
is_traceable(enum gpuval_structure_state state)
{
   return state == GPUVAL_STRUCTURE_TOP_LEVEL || state == GPUVAL_STRUCTURE_ANY_LEVEL;
}

/* Memory may be shared: of all that are there, one that can be used tells. */
static bool
update_table(struct gpuval_structures *structures, uint64_t *table,
             bool (*is_usable)(enum gpuval_structure_state state), uint64_t address)
{
   if (!table)
      return true;
   for (const struct structure *s = find_by_address(structures, address); s; s = s->older) {
      if (is_usable(s->state))
         return add_to_table(table, address);
   }
   remove_from_table(table, address);
   return true;
}

/* Returns false when the one for traces has no room. */
static bool
update_tables(struct gpuval_structures *structures, uint64_t address)
{
   uint64_t *bottom = structures->bottom_table;

   if (!update_table(structures, bottom, gpuval_structure_is_bottom, address) &&
       !bottom[GPUVAL_STRUCTURE_SLOTS]) {
      store(bottom, GPUVAL_STRUCTURE_SLOTS, 1);
      gpuval_log_warning("ray: too many bottom-level acceleration structures: bad instances are "
                         "not replaced any more");
   }
   return update_table(structures, structures->table, is_traceable, address);
}

/* Addresses of what is destroyed are kept, but not without end. */
static void
forget_destroyed(struct gpuval_structures *structures)
{
   hash_table_u64_foreach (structures->by_address, entry) {
      struct structure *structure = entry.data;
      if (structure->object)
         continue;
      _mesa_hash_table_u64_remove(structures->by_address, entry.key);
      ralloc_free(structure);
   }
   structures->num_destroyed = 0;
}

/* Enters a structure into the list of those at @address. */
static void
add_to_address(struct gpuval_structures *structures, struct structure *structure, uint64_t address)
{
   struct structure *older = find_by_address(structures, address);
   if (older && !older->object) {
      ralloc_free(older);
      older = NULL;
      structures->num_destroyed--;
   }

   structure->address = address;
   structure->older = older;
   _mesa_hash_table_u64_insert(structures->by_address, address, structure);
}

void
gpuval_structures_add(struct gpuval_structures *structures, const struct vk_object_base *object,
                      uint64_t address)
{
   mtx_lock(&structures->mutex);
   struct structure *structure = rzalloc(structures->by_object, struct structure);
   structure->object = object;
   structure->state = GPUVAL_STRUCTURE_NOT_BUILT;
   list_inithead(&structure->link);
   _mesa_hash_table_insert(structures->by_object, object, structure);
   if (address)
      add_to_address(structures, structure, address);
   mtx_unlock(&structures->mutex);
}

void
gpuval_structures_place(struct gpuval_structures *structures, const struct vk_object_base *object,
                        uint64_t address)
{
   mtx_lock(&structures->mutex);
   struct structure *structure = find_by_object(structures, object);
   if (structure && !structure->address && address)
      add_to_address(structures, structure, address);
   mtx_unlock(&structures->mutex);
}

static bool
refers_to(const struct structure *structure, uint64_t address)
{
   unsigned begin = 0, end = structure->num_references;

   while (begin < end) {
      unsigned middle = begin + (end - begin) / 2;
      if (structure->references[middle] == address)
         return true;
      if (structure->references[middle] < address)
         begin = middle + 1;
      else
         end = middle;
   }
   return false;
}

static void
mark_stale(struct gpuval_structures *structures, uint64_t address)
{
   list_for_each_entry (struct structure, structure, &structures->referring, link) {
      if (!is_traceable(structure->state) || !refers_to(structure, address))
         continue;
      structure->state = GPUVAL_STRUCTURE_STALE;
      update_tables(structures, structure->address);
   }
}

static int
compare_addresses(const void *a, const void *b)
{
   uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
   return x < y ? -1 : x > y;
}

static void
set_references(struct gpuval_structures *structures, struct structure *structure,
               const uint64_t *references, unsigned count)
{
   list_delinit(&structure->link);
   ralloc_free(structure->references);
   structure->references = NULL;
   structure->num_references = 0;
   if (!count)
      return;

   uint64_t *sorted = ralloc_memdup(structure, references, count * sizeof(*references));
   qsort(sorted, count, sizeof(*sorted), compare_addresses);
   unsigned unique = 0;
   for (unsigned i = 0; i < count; i++) {
      if (!i || sorted[i] != sorted[i - 1])
         sorted[unique++] = sorted[i];
   }
   structure->references = reralloc(structure, sorted, uint64_t, unique);
   structure->num_references = unique;
   list_addtail(&structure->link, &structures->referring);
}

/* Out of those with its address; the last one stays as what is known of the address. */
static void
remove_from_address(struct gpuval_structures *structures, struct structure *structure)
{
   struct structure *newer = find_by_address(structures, structure->address);

   set_references(structures, structure, NULL, 0);
   if (newer != structure) {
      while (newer->older != structure)
         newer = newer->older;
      newer->older = structure->older;
      ralloc_free(structure);
   } else if (structure->older) {
      _mesa_hash_table_u64_insert(structures->by_address, structure->address, structure->older);
      ralloc_free(structure);
   } else {
      if (structures->num_destroyed == MAX_DESTROYED)
         forget_destroyed(structures);
      structures->num_destroyed++;
      structure->object = NULL;
      structure->state = GPUVAL_STRUCTURE_DESTROYED;
   }
}

void
gpuval_structures_remove(struct gpuval_structures *structures, const struct vk_object_base *object)
{
   mtx_lock(&structures->mutex);
   struct structure *structure = find_by_object(structures, object);
   if (structure && !structure->address) {
      _mesa_hash_table_remove_key(structures->by_object, object);
      ralloc_free(structure);
   } else if (structure) {
      uint64_t address = structure->address;
      bool is_alone = find_by_address(structures, address) == structure && !structure->older;

      if (is_alone && structure->state != GPUVAL_STRUCTURE_TOP_LEVEL)
         mark_stale(structures, address);
      _mesa_hash_table_remove_key(structures->by_object, object);
      remove_from_address(structures, structure);
      update_tables(structures, address);
   }
   mtx_unlock(&structures->mutex);
}

static bool
set_state(struct gpuval_structures *structures, struct structure *structure,
          enum gpuval_structure_state state, const uint64_t *references, unsigned num_references)
{
   structure->state = state;
   set_references(structures, structure, references, num_references);
   return update_tables(structures, structure->address);
}

bool
gpuval_structures_built(struct gpuval_structures *structures, const struct vk_object_base *object,
                        enum gpuval_structure_state state, const uint64_t *references,
                        unsigned num_references)
{
   bool has_room = true;

   mtx_lock(&structures->mutex);
   struct structure *structure = find_by_object(structures, object);
   if (structure)
      has_room = set_state(structures, structure, state, references, num_references);
   mtx_unlock(&structures->mutex);

   return has_room;
}

bool
gpuval_structures_copied(struct gpuval_structures *structures, const struct vk_object_base *to,
                         const struct vk_object_base *from)
{
   bool has_room = true;

   mtx_lock(&structures->mutex);
   struct structure *dst = find_by_object(structures, to);
   const struct structure *src = find_by_object(structures, from);
   if (src && dst && src != dst)
      has_room = set_state(structures, dst, src->state, src->references, src->num_references);
   mtx_unlock(&structures->mutex);

   return has_room;
}

enum gpuval_structure_state
gpuval_structures_find(struct gpuval_structures *structures, uint64_t address,
                       const struct vk_object_base **object)
{
   mtx_lock(&structures->mutex);
   const struct structure *structure = find_by_address(structures, address);
   enum gpuval_structure_state state = structure ? structure->state : GPUVAL_STRUCTURE_NONE;
   *object = structure ? structure->object : NULL;
   /* Any of those that share the memory may be meant. */
   for (; structure && state == GPUVAL_STRUCTURE_NOT_BUILT; structure = structure->older)
      state = structure->state;
   mtx_unlock(&structures->mutex);

   return state;
}
