/* SPDX-License-Identifier: MIT */

#include "gpuval_addresses.h"
#include "gpuval_ranges.h"

#include "base/gpuval_names.h"
#include "core/device/gpuval_device.h"

#include "util/ralloc.h"

static struct gpuval_range *
to_range(const struct rb_node *node)
{
   return node ? rb_node_data(struct gpuval_range, (struct rb_node *)node, node) : NULL;
}

static int
compare_ranges(const struct rb_node *a, const struct rb_node *b)
{
   uint64_t address_a = to_range(a)->address, address_b = to_range(b)->address;

   /* Positive where @b comes behind @a, says rb_tree.h. */
   return address_a < address_b ? 1 : -(address_a > address_b);
}

void
gpuval_addresses_init(struct gpuval_addresses *addresses, void *mem_ctx)
{
   rb_tree_init(&addresses->tree);
   util_dynarray_init(&addresses->retired, mem_ctx);
   util_dynarray_init(&addresses->ending, mem_ctx);
   util_dynarray_init(&addresses->unused, mem_ctx);
   addresses->has_changed = true;
}

void
gpuval_addresses_finish(struct gpuval_device *device)
{
   gpuval_device_free_buffers(device, &device->addresses->retired);
   gpuval_device_free_buffers(device, &device->addresses->ending);
   gpuval_device_free_buffers(device, &device->addresses->unused);
   gpuval_device_free(device, &device->addresses->table);
   for (unsigned i = 0; i < GPUVAL_GONE_BUFFERS; i++)
      ralloc_free(device->addresses->gone[i].name);
}

void
gpuval_addresses_free_ending(struct gpuval_device *device)
{
   gpuval_move_buffers(&device->addresses->unused, &device->addresses->ending);
}

bool
gpuval_addresses_has_retired(const struct gpuval_device *device)
{
   return device->addresses->retired.size > 0;
}

void
gpuval_addresses_turn(struct gpuval_device *device)
{
   gpuval_move_buffers(&device->addresses->ending, &device->addresses->retired);
}

void
gpuval_addresses_add(struct gpuval_addresses *addresses, struct gpuval_range *range)
{
   rb_tree_insert(&addresses->tree, &range->node, compare_ranges);
   range->is_addressed = true;
   addresses->count++;
   addresses->has_changed = true;
}

static void
remove_buffer(struct gpuval_addresses *addresses, struct gpuval_range *range, bool is_memory_freed)
{
   if (!range->is_addressed)
      return;

   rb_tree_remove(&addresses->tree, &range->node);
   range->is_addressed = false;
   addresses->count--;
   addresses->has_changed = true;

   struct gpuval_gone_buffer *gone = &addresses->gone[addresses->num_gone++ % GPUVAL_GONE_BUFFERS];
   ralloc_free(gone->name);
   *gone = (struct gpuval_gone_buffer){
      .begin = range->address,
      .size = range->size,
      .object = (uintptr_t)range->object,
      .name = gpuval_object_name(NULL, range->object),
      .calls = range->object->gpuval_calls,
      .is_memory_freed = is_memory_freed,
   };
}

void
gpuval_addresses_remove(struct gpuval_addresses *addresses, struct gpuval_range *range)
{
   remove_buffer(addresses, range, false);
}

/* The last one that begins at @address or before, or NULL */
static struct gpuval_range *
find_before(const struct gpuval_addresses *addresses, uint64_t address)
{
   struct rb_node *node = addresses->tree.root;
   struct gpuval_range *found = NULL;

   while (node) {
      struct gpuval_range *range = to_range(node);
      if (range->address <= address) {
         found = range;
         node = node->right;
      } else {
         node = node->left;
      }
   }
   return found;
}

/* Is all of @range in an allocation? */
static bool
is_in_any(struct hash_table *allocations, const struct gpuval_range *range)
{
   hash_table_foreach (allocations, entry) {
      const struct gpuval_range *memory = entry->data;
      if (range->address >= memory->address && range->size <= memory->size &&
          range->address - memory->address <= memory->size - range->size)
         return true;
   }
   return false;
}

void
gpuval_addresses_remove_memory(struct gpuval_addresses *addresses, struct hash_table *others,
                               uint64_t address, uint64_t size)
{
   struct gpuval_range *range = size ? find_before(addresses, address + size - 1) : NULL;

   while (range && range->address >= address) {
      struct gpuval_range *before = to_range(rb_node_prev(&range->node));
      if (!is_in_any(others, range))
         remove_buffer(addresses, range, true);
      range = before;
   }
}

/* Those that overlap (aliased memory) are one. @table may be slow to read. */
static uint32_t
fill_table(struct gpuval_addresses *addresses, struct gpuval_address_table *table)
{
   struct gpuval_address_range last = {0};
   uint32_t count = 0;

   rb_tree_foreach (struct gpuval_range, range, &addresses->tree, node) {
      if (count && range->address - last.begin < last.size) {
         last.size = MAX2(last.size, range->address - last.begin + range->size);
      } else {
         last = (struct gpuval_address_range){range->address, range->size};
         count++;
      }
      table->ranges[count - 1] = last;
   }
   return count;
}

/* Of programs that always have work, with a buffer that comes or goes for each submit: as many
 * as are in flight
 */
#define NUM_SPARE_TABLES 8
#define MAX_TABLES       64

static bool
add_table(struct gpuval_device *device, struct util_dynarray *tables, uint64_t size)
{
   struct gpuval_buffer table = {0};

   if (!gpuval_device_alloc_table(device, &table, MAX2(size * 2, 4096)))
      return false;
   util_dynarray_append_typed(tables, struct gpuval_buffer, table);
   return true;
}

/* One that is large enough; smaller ones go. */
static bool
take_unused(struct gpuval_device *device, uint64_t size)
{
   struct gpuval_addresses *addresses = device->addresses;

   while (addresses->unused.size) {
      addresses->table = util_dynarray_pop(&addresses->unused, struct gpuval_buffer);
      if (addresses->table.size >= size)
         return true;
      gpuval_device_free(device, &addresses->table);
      addresses->table = (struct gpuval_buffer){0};
   }
   return false;
}

/* Work that runs may read no memory that has come later than itself. So what is new is not
 * used before that has ended, unless nothing runs. False: there is no table now.
 */
static bool
make_room(struct gpuval_device *device, bool is_idle, bool *has_memory)
{
   struct gpuval_addresses *addresses = device->addresses;
   uint64_t size = sizeof(struct gpuval_address_table) +
                   (uint64_t)MAX2(addresses->count, 1) * sizeof(struct gpuval_address_range);

   *has_memory = true;
   if (is_idle) {
      gpuval_move_buffers(&addresses->unused, &addresses->retired);
      gpuval_move_buffers(&addresses->unused, &addresses->ending);
      if (addresses->table.map)
         util_dynarray_append_typed(&addresses->unused, struct gpuval_buffer, addresses->table);
   } else if (addresses->table.map) {
      util_dynarray_append_typed(&addresses->retired, struct gpuval_buffer, addresses->table);
   }
   addresses->table = (struct gpuval_buffer){0};
   if (take_unused(device, size))
      return true;

   unsigned count =
      (addresses->retired.size + addresses->ending.size) / sizeof(struct gpuval_buffer);
   for (unsigned i = 0; i < NUM_SPARE_TABLES && count + i < MAX_TABLES; i++)
      *has_memory &= add_table(device, is_idle ? &addresses->unused : &addresses->retired, size);
   return is_idle && take_unused(device, size);
}

void
gpuval_addresses_publish(struct gpuval_device *device, bool is_idle)
{
   struct gpuval_addresses *addresses = device->addresses;
   bool has_memory;
   if (!addresses->has_changed)
      return;

   if (!make_room(device, is_idle, &has_memory)) {
      if (!has_memory && !addresses->warned) {
         gpuval_log_warning("address: no memory for a table of %u buffers: addresses are not "
                            "checked",
                            addresses->count);
         addresses->warned = true;
      }
      device->root->addresses_address = device->root_buffer.address + GPUVAL_ROOT_ALL_ADDRESSES;
      return;
   }

   struct gpuval_address_table *table = addresses->table.map;
   table->count = fill_table(addresses, table);
   device->root->addresses_address = addresses->table.address;
   addresses->has_changed = false;
}

/* The one that went last, for another may have been there before */
static const struct gpuval_gone_buffer *
find_gone(const struct gpuval_addresses *addresses, uint64_t address)
{
   uint32_t count = MIN2(addresses->num_gone, GPUVAL_GONE_BUFFERS);

   for (uint32_t i = 1; i <= count; i++) {
      const struct gpuval_gone_buffer *gone =
         &addresses->gone[(addresses->num_gone - i) % GPUVAL_GONE_BUFFERS];
      if (address - gone->begin < gone->size)
         return gone;
   }
   return NULL;
}

struct gpuval_nearest
gpuval_addresses_nearest(const struct gpuval_addresses *addresses, uint64_t address)
{
   const struct gpuval_range *before = find_before(addresses, address);
   const struct gpuval_range *after =
      to_range(before ? rb_node_next((struct rb_node *)&before->node)
                      : rb_tree_first((struct rb_tree *)&addresses->tree));
   struct gpuval_nearest nearest = {.range = before};

   /* An access may begin inside and end outside. */
   if (before && address - before->address < before->size)
      return nearest;
   nearest.distance = before ? address - before->address - before->size : UINT64_MAX;
   nearest.gone = find_gone(addresses, address);
   if (nearest.gone) {
      /* What lies where it began is there now, and an access may have run past its end. */
      nearest.is_reused = before && before->address + before->size > nearest.gone->begin;
      return nearest;
   }

   if (after && after->address - address < nearest.distance)
      nearest = (struct gpuval_nearest){.range = after,
                                        .distance = after->address - address,
                                        .is_before = true};
   return nearest;
}
