/* SPDX-License-Identifier: MIT */

/* Events of race: either party is a shader's access or a command that has none. Those of storage
 * images are sync's where that is on.
 */

#include "core/descriptors/gpuval_objects.h"
#include "core/events/gpuval_event_barrier.h"
#include "core/events/gpuval_events.h"
#include "gpuval_race.h"

#include "util/ralloc.h"
#include "vk_object.h"

/* NULL: it is the command's own, or the shader is gone. */
static const struct gpuval_shader *
find_shader(struct gpuval_device *device, const struct gpuval_race_use *use)
{
   const struct gpuval_shader *shader =
      use->site == GPUVAL_RACE_NO_SITE ? NULL : gpuval_device_site_shader(device, use->site);
   return shader && shader->serial == use->shader_serial ? shader : NULL;
}

static void
describe_other(struct gpuval_device *device, struct gpuval_event *event,
               const struct gpuval_race_use *other)
{
   const struct gpuval_shader *shader = find_shader(device, other);

   event->has_other = event->other_is_certain = true;
   event->other.access.op = other->op;
   if (shader)
      gpuval_events_describe_site(event, &event->other, shader,
                                  &shader->sites[other->site - shader->first_site]);
   if (other->host_op)
      gpuval_events_describe_host(&event->other, other->host_op);
   else
      gpuval_events_describe_command(device, event, &event->other, other->command_id);
}

static struct gpuval_sync_side
get_side(const struct gpuval_race_use *use)
{
   return (struct gpuval_sync_side){
      .class_ =
         use->is_transition ? GPUVAL_ORDER_TRANSITION : gpuval_order_source_class(use->source),
      .op = use->op,
      .is_write = use->is_write,
      .read = GPUVAL_ORDER_STORAGE_READ,
      .has_serial = true,
      .queue = gpuval_order_source_queue(use->source),
      .serial = use->serial,
   };
}

/* What a barrier's accesses are mostly does not matter to race: one that orders the two is for
 * another resource.
 */
static void
describe_barrier(struct gpuval_device *device, struct gpuval_event *event,
                 const struct gpuval_race_use *use, const struct gpuval_race_use *other)
{
   const struct gpuval_sync_side first = get_side(other), second = get_side(use);

   if (!other->host_op && !use->host_op) {
      gpuval_sync_describe_barrier(device, event, &first, &second, 0, !use->lacks_access);
      return;
   }
   event->barrier.missing = gpuval_barrier_missing_name(GPUVAL_MISSING_NONE);
   if (other->host_op)
      event->detail = ralloc_strdup(
         event, other->is_write ? "nothing orders it and the host, which writes there"
                                : "nothing orders it and the host, which reads there");
   else
      event->detail = ralloc_strdup(
         event, other->is_transition ? "nothing orders it and a command that changes the layout"
                : other->is_write    ? "nothing orders it and a command that writes there"
                                     : "nothing orders it and a command that reads there");
}

/* sync names the image, whatever view leads there: the other party may have another one. */
static void
describe_view(struct gpuval_device *device, struct gpuval_event *event, uint32_t id)
{
   struct gpuval_object_info info;

   if (!device->objects || !gpuval_objects_describe(device->objects, event, id, &info))
      return;
   gpuval_events_name_object(event, &info);
   if (event->kind == GPUVAL_KIND_RESOURCE_RACE || info.type != VK_OBJECT_TYPE_IMAGE_VIEW ||
       !info.parent)
      return;
   event->resource.object = info.parent;
   event->resource.object_type = VK_OBJECT_TYPE_IMAGE;
   event->resource.object_name = info.parent_name;
   event->resource.parent = 0;
   event->resource.parent_name = NULL;
}

static enum gpuval_kind
get_kind(const struct gpuval_race_use *use)
{
   if (!use->is_storage || !gpuval_options_may_check(GPUVAL_CHECK_SYNC))
      return GPUVAL_KIND_RESOURCE_RACE;
   if (use->is_atomic)
      return GPUVAL_KIND_ATOMIC_CONFLICT;
   return use->is_write ? GPUVAL_KIND_WRITE_AFTER_ACCESS : GPUVAL_KIND_READ_AFTER_WRITE;
}

static struct gpuval_event *
create_of_shader(struct gpuval_device *device, const struct gpuval_shader *shader,
                 const struct gpuval_race_use *use, const struct gpuval_race_use *other)
{
   const struct gpuval_site *site = &shader->sites[use->site - shader->first_site];
   struct gpuval_event *event =
      gpuval_events_create_kind(device, shader, site, get_kind(use), NULL);

   gpuval_events_describe_command(device, event, &event->place, use->command_id);
   describe_view(device, event, use->view);
   describe_other(device, event, other);
   describe_barrier(device, event, use, other);
   gpuval_event_describe(event);
   return event;
}

/* Of a command that no shader is in */
struct race {
   const struct gpuval_race_use *use, *other;
};

static void
complete(struct gpuval_device *device, struct gpuval_event *event, const void *data)
{
   const struct race *race = data;

   describe_other(device, event, race->other);
   describe_barrier(device, event, race->use, race->other);
   gpuval_event_describe(event);
}

static struct gpuval_event *
get_event_of_command(struct gpuval_device *device, const struct gpuval_race_use *use,
                     const struct gpuval_race_use *other)
{
   struct gpuval_command_failure failure = {
      .kind = get_kind(use),
      .op = use->op,
      .part = use->is_transition,
      .host_op = use->host_op,
      .range = {.type = use->is_buffer ? "buffer" : "image",
                .binding = -1,
                .object_id = use->object,
                .is_image = true},
   };

   const struct race race = {use, other};
   return gpuval_events_of_command(device, use->command_id, 0, &failure, complete, &race);
}

static struct gpuval_event *
get_event_of_shader(struct gpuval_device *device, const struct gpuval_shader *shader,
                    const struct gpuval_race_use *use, const struct gpuval_race_use *other)
{
   struct gpuval_failure_key key = gpuval_events_site_key(shader, use->site - shader->first_site);
   key.kind = get_kind(use);
   struct gpuval_event *event = gpuval_events_find(device, &key);

   if (!event) {
      event = create_of_shader(device, shader, use, other);
      gpuval_events_add(device, &key, event);
   }
   return event;
}

void
gpuval_device_report_race(struct gpuval_device *device, const struct gpuval_race_use *use,
                          const struct gpuval_race_use *other)
{
   mtx_lock(&device->mutex);
   const struct gpuval_shader *shader = find_shader(device, use);
   struct gpuval_event *event = shader ? get_event_of_shader(device, shader, use, other)
                                       : get_event_of_command(device, use, other);
   gpuval_report_count(event, 1);
   gpuval_device_unlock(device);
}
