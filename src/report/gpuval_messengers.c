/* SPDX-License-Identifier: MIT */

/* What is told to the application's VK_EXT_debug_utils messengers. */

#include "gpuval_report.h"

#include <string.h>

#include "base/gpuval_names.h"
#include "util/macros.h"
#include "util/ralloc.h"
#include "vk_debug_utils.h"
#include "vk_device.h"
#include "vk_instance.h"
#include "vk_physical_device.h"

/* A failure, or a message of a shader, as it was when it was reported: a warning may become an
 * error meanwhile. It may outlive the device, which a messenger may destroy; names of objects are
 * the event's, which stays.
 */
struct notice {
   struct vk_instance *instance;
   VkDebugUtilsMessageSeverityFlagBitsEXT severity;
   enum gpuval_kind kind;
   VkDebugUtilsObjectNameInfoEXT objects[12];
   unsigned num_objects;
   char text[];
};

static void
add_object(VkDebugUtilsObjectNameInfoEXT *objects, unsigned *count, VkObjectType type,
           uint64_t handle, const char *name)
{
   if (!handle)
      return;
   for (unsigned i = 0; i < *count; i++) {
      if (objects[i].objectType == type && objects[i].objectHandle == handle)
         return;
   }
   objects[(*count)++] = (VkDebugUtilsObjectNameInfoEXT){
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
      .objectType = type,
      .objectHandle = handle,
      .pObjectName = name,
   };
}

static void
add_command(VkDebugUtilsObjectNameInfoEXT *objects, unsigned *count,
            const struct gpuval_place *place)
{
   const struct gpuval_command *command = &place->command;

   add_object(objects, count, VK_OBJECT_TYPE_COMMAND_BUFFER, command->command_buffer,
              command->command_buffer_name);
   add_object(objects, count, VK_OBJECT_TYPE_COMMAND_BUFFER, command->primary,
              command->primary_name);
   add_object(objects, count, VK_OBJECT_TYPE_PIPELINE, command->pipeline, command->pipeline_name);
   add_object(objects, count, VK_OBJECT_TYPE_SHADER_EXT, command->shader, place->shader.name);
}

static void
add_objects(VkDebugUtilsObjectNameInfoEXT *objects, unsigned *count,
            const struct gpuval_event *event)
{
   VkObjectType parent_type = event->resource.object_type == VK_OBJECT_TYPE_BUFFER_VIEW
                                 ? VK_OBJECT_TYPE_BUFFER
                                 : VK_OBJECT_TYPE_IMAGE;

   add_command(objects, count, &event->place);
   add_object(objects, count, event->resource.object_type, event->resource.object,
              event->resource.object_name);
   add_object(objects, count, parent_type, event->resource.parent, event->resource.parent_name);
   add_object(objects, count, VK_OBJECT_TYPE_DEVICE_MEMORY, event->resource.memory,
              event->resource.memory_name);
   add_command(objects, count, &event->other);
}

static VkDebugUtilsMessageSeverityFlagBitsEXT
severity_of(const struct gpuval_event *event)
{
   if (!event || gpuval_event_is_note(event))
      return VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT;
   return gpuval_event_is_warning(event) ? VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT
                                         : VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
}

void
gpuval_notices_add(struct gpuval_notices *notices, const struct gpuval_event *event,
                   const char *text)
{
   struct vk_device *vk = notices->vk;
   size_t size = strlen(text) + 1;

   /* A look without the lock: there mostly is none. */
   if (!vk || list_is_empty(&vk->physical->instance->debug_utils.callbacks))
      return;

   struct notice *notice = rzalloc_size(NULL, sizeof(*notice) + size);
   if (!notice)
      return;
   notice->instance = vk->physical->instance;
   notice->severity = severity_of(event);
   notice->kind = event ? event->kind : GPUVAL_KIND_MESSAGE;
   if (event)
      add_objects(notice->objects, &notice->num_objects, event);
   add_object(notice->objects, &notice->num_objects, VK_OBJECT_TYPE_DEVICE, (uintptr_t)vk,
              gpuval_object_name(notice, &vk->base));
   assert(notice->num_objects <= ARRAY_SIZE(notice->objects));
   memcpy(notice->text, text, size);
   util_dynarray_append_typed(&notices->list, struct notice *, notice);
}

static void
deliver(const struct notice *notice)
{
   char id[64];

   snprintf(id, sizeof(id), "gpuval-%s-%s", gpuval_kind_check_name(notice->kind),
            gpuval_kind_infos[notice->kind].name);
   const VkDebugUtilsMessengerCallbackDataEXT data = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
      .pMessageIdName = id,
      .pMessage = notice->text,
      .objectCount = notice->num_objects,
      .pObjects = notice->objects,
   };
   vk_debug_message(notice->instance, notice->severity,
                    VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT, &data);
}

/* The runtime holds a lock while it calls messengers. What one of them causes in this
 * thread, when it calls Vulkan, waits until it has returned.
 */
static _Thread_local struct util_dynarray *delivering;

static once_flag once = ONCE_FLAG_INIT;
static mtx_t mutex; /* all that follows */
static struct list_head taken;
static cnd_t delivered;

static void
init(void)
{
   mtx_init(&mutex, mtx_plain);
   list_inithead(&taken);
   cnd_init(&delivered);
}

void
gpuval_notices_take(struct gpuval_notices *notices, struct gpuval_notices *from)
{
   *notices = (struct gpuval_notices){.vk = from->vk, .list = from->list};
   util_dynarray_init(&from->list, NULL);
   if (!notices->list.size)
      return;

   call_once(&once, init);
   mtx_lock(&mutex);
   list_addtail(&notices->link, &taken);
   mtx_unlock(&mutex);
}

void
gpuval_notices_deliver(struct gpuval_notices *notices)
{
   struct util_dynarray *list = &notices->list;

   if (!list->size)
      return;

   if (delivering) {
      util_dynarray_append_dynarray(delivering, list);
   } else {
      delivering = list;
      for (unsigned i = 0; i < util_dynarray_num_elements(list, struct notice *); i++) {
         struct notice *notice = *util_dynarray_element(list, struct notice *, i);
         deliver(notice);
         ralloc_free(notice);
      }
      delivering = NULL;
   }
   util_dynarray_fini(list);

   mtx_lock(&mutex);
   list_del(&notices->link);
   cnd_broadcast(&delivered);
   mtx_unlock(&mutex);
}

static bool
is_told(const struct vk_device *vk)
{
   list_for_each_entry (struct gpuval_notices, notices, &taken, link) {
      if (notices->vk == vk)
         return true;
   }
   return false;
}

void
gpuval_notices_wait(const struct vk_device *vk)
{
   if (!vk || delivering)
      return;

   call_once(&once, init);
   mtx_lock(&mutex);
   while (is_told(vk))
      cnd_wait(&delivered, &mutex);
   mtx_unlock(&mutex);
}
