/* SPDX-License-Identifier: MIT */

#include "gpuval_sync.h"

#include <string.h>

#include "util/bitscan.h"
#include "util/macros.h"
#include "util/ralloc.h"

#define INDIRECT (1u << GPUVAL_ORDER_INDIRECT)

struct epoch {
   uint32_t number; /* 0: none */
   uint32_t first_command;
   bool has_shaders;
   uint32_t *first; /* serial of the first work, by source; 0: none */
};

/* What the last work of a queue got: the same for what follows, as a rule */
struct last {
   uint64_t version;
   uint32_t classes;
   uint32_t epoch;
   uint32_t flags;
};

struct gpuval_sync {
   const struct gpuval_order *order;
   uint32_t newest;                         /* number */
   struct epoch epochs[GPUVAL_SYNC_EPOCHS]; /* by number, modulo their count */
   struct epoch next;                       /* the one to come: indirect reads so far, */
   uint32_t *last_read;                     /* and the serials of the last of these */
   struct last *last;
};

struct gpuval_sync *
gpuval_sync_create(const struct gpuval_order *order)
{
   struct gpuval_sync *sync = rzalloc(NULL, struct gpuval_sync);
   unsigned num_sources = gpuval_order_num_sources(order);

   sync->order = order;
   for (unsigned i = 0; i < GPUVAL_SYNC_EPOCHS; i++)
      sync->epochs[i].first = rzalloc_array(sync, uint32_t, num_sources);
   sync->next.first = rzalloc_array(sync, uint32_t, num_sources);
   sync->last_read = rzalloc_array(sync, uint32_t, num_sources);
   sync->last = rzalloc_array(sync, struct last, gpuval_order_source_queue(num_sources));
   return sync;
}

void
gpuval_sync_destroy(struct gpuval_sync *sync)
{
   ralloc_free(sync);
}

void
gpuval_sync_restart(struct gpuval_sync *sync)
{
   unsigned num_sources = gpuval_order_num_sources(sync->order);

   for (unsigned i = 0; i < GPUVAL_SYNC_EPOCHS; i++)
      sync->epochs[i].number = 0;
   memset(sync->next.first, 0, num_sources * sizeof(uint32_t));
   memset(sync->last, 0, gpuval_order_source_queue(num_sources) * sizeof(struct last));
}

static struct epoch *
get_epoch(struct gpuval_sync *sync, uint32_t number)
{
   struct epoch *epoch = &sync->epochs[number % GPUVAL_SYNC_EPOCHS];
   return number && epoch->number == number ? epoch : NULL;
}

static bool
is_shader(unsigned source)
{
   return gpuval_order_source_class(source) != GPUVAL_ORDER_INDIRECT;
}

/* Nothing that shaders have written in it is ordered before the work. */
static bool
may_join(const struct gpuval_sync *sync, const struct epoch *epoch, unsigned queue,
         uint32_t classes)
{
   unsigned num_sources = gpuval_order_num_sources(sync->order);

   for (unsigned source = 0; source < num_sources; source++) {
      if (!epoch->first[source] || !is_shader(source))
         continue;
      u_foreach_bit (class_, classes) {
         if (epoch->first[source] <= gpuval_order_any_visible(sync->order, queue, class_, source))
            return false;
      }
   }
   return true;
}

/* Writes may be in order where reads are not: of what has been read if execution is,
 * of what has been written if that is available.
 */
static uint32_t
get_flags(const struct gpuval_sync *sync, const struct epoch *epoch, unsigned queue,
          uint32_t classes)
{
   unsigned num_sources = gpuval_order_num_sources(sync->order);
   uint32_t flags = 0;

   for (unsigned source = 0; source < num_sources; source++) {
      if (!epoch->first[source])
         continue;
      u_foreach_bit (class_, classes) {
         if (epoch->first[source] <= gpuval_order_executed(sync->order, queue, class_, source))
            flags |= GPUVAL_SYNC_WRITE_AFTER_READ_OK;
         if (epoch->first[source] <= gpuval_order_any_available(sync->order, queue, class_, source))
            flags |= GPUVAL_SYNC_WRITE_AFTER_WRITE_OK;
      }
   }
   return flags;
}

/* The newest one with shaders: work conflicts with them, and with what has run before
 * those that a dependency has ordered. Or else any.
 */
static struct epoch *
find_epoch(struct gpuval_sync *sync, unsigned queue, uint32_t classes)
{
   struct epoch *found = NULL;

   for (unsigned i = 0; i < GPUVAL_SYNC_EPOCHS && i < sync->newest; i++) {
      struct epoch *epoch = get_epoch(sync, sync->newest - i);
      if (!epoch || (found && !epoch->has_shaders) || !may_join(sync, epoch, queue, classes))
         continue;
      if (epoch->has_shaders)
         return epoch;
      found = epoch;
   }
   return found;
}

/* 0 is none, also when they wrap. */
static uint32_t
next_number(const struct gpuval_sync *sync)
{
   return sync->newest == UINT32_MAX ? 1 : sync->newest + 1;
}

/* Does whatever comes now, in any queue, come after all indirect reads? */
static bool
are_reads_over(const struct gpuval_sync *sync)
{
   unsigned num_sources = gpuval_order_num_sources(sync->order);

   for (unsigned i = GPUVAL_ORDER_INDIRECT; i < num_sources; i += GPUVAL_ORDER_MODEL_CLASSES) {
      for (unsigned j = 0; sync->next.first[i] && j < num_sources; j++) {
         if (gpuval_order_source_class(j) < GPUVAL_ORDER_STAGE_CLASSES &&
             gpuval_order_executed(sync->order, gpuval_order_source_queue(j),
                                   gpuval_order_source_class(j), i) < sync->last_read[i])
            return false;
      }
   }
   return true;
}

static struct epoch *
begin_epoch(struct gpuval_sync *sync, uint32_t command)
{
   unsigned num_sources = gpuval_order_num_sources(sync->order);

   /* Indirect reads have left marks in the next one. */
   sync->newest = next_number(sync);
   if (sync->next.number && are_reads_over(sync)) {
      sync->newest = next_number(sync);
      sync->next.number = 0;
      memset(sync->next.first, 0, num_sources * sizeof(sync->next.first[0]));
   }

   struct epoch *epoch = &sync->epochs[sync->newest % GPUVAL_SYNC_EPOCHS];
   epoch->number = sync->newest;
   epoch->first_command = sync->next.number ? sync->next.first_command : command;
   epoch->has_shaders = false;
   memcpy(epoch->first, sync->next.first, num_sources * sizeof(epoch->first[0]));

   sync->next.number = 0;
   memset(sync->next.first, 0, num_sources * sizeof(epoch->first[0]));
   return epoch;
}

static void
join(struct epoch *epoch, unsigned queue, uint32_t classes, uint32_t serial)
{
   u_foreach_bit (class_, classes) {
      uint32_t *first = &epoch->first[gpuval_order_source(queue, class_)];
      if (!*first)
         *first = serial;
   }
   epoch->has_shaders |= (classes & ~INDIRECT) != 0;
}

/* What an indirect read has read may be written in any epoch. */
static void
join_all(struct gpuval_sync *sync, unsigned queue, const struct gpuval_command_data *data)
{
   for (unsigned i = 0; i < GPUVAL_SYNC_EPOCHS; i++) {
      if (sync->epochs[i].number)
         join(&sync->epochs[i], queue, INDIRECT, data->serial);
   }
   if (!sync->next.number) {
      sync->next.number = next_number(sync);
      sync->next.first_command = data->command_id;
   }
   join(&sync->next, queue, INDIRECT, data->serial);
   sync->last_read[gpuval_order_source(queue, GPUVAL_ORDER_INDIRECT)] = data->serial;
}

bool
gpuval_sync_work(struct gpuval_sync *sync, unsigned queue, uint32_t classes,
                 struct gpuval_command_data *data)
{
   struct last *last = &sync->last[queue];
   uint64_t version = gpuval_order_version(sync->order, queue) + 1; /* 0: never */
   bool began = false;

   /* What has come to an epoch since is newer than any watermark of then. */
   if (last->version != version || last->classes != classes || last->epoch != sync->newest) {
      struct epoch *epoch = find_epoch(sync, queue, classes);
      if (!epoch) {
         epoch = begin_epoch(sync, data->command_id);
         began = true;
      }
      *last = (struct last){
         .version = version,
         .classes = classes,
         .epoch = epoch->number,
         .flags = get_flags(sync, epoch, queue, classes),
      };
   }

   struct epoch *epoch = get_epoch(sync, last->epoch);
   join(epoch, queue, classes, data->serial);
   if (classes == INDIRECT)
      join_all(sync, queue, data);

   data->epoch = epoch->number;
   data->sync_flags = last->flags;
   data->epoch_command = epoch->first_command;
   return began;
}

unsigned
gpuval_sync_other_epochs(const struct gpuval_sync *sync, uint32_t epoch,
                         uint32_t out[GPUVAL_SYNC_EPOCHS])
{
   unsigned count = 0;

   for (unsigned i = 0; i < GPUVAL_SYNC_EPOCHS; i++) {
      uint32_t number = sync->epochs[i].number;
      if (number && number != epoch)
         out[count++] = number;
   }
   out[count++] = next_number(sync);
   return count;
}
