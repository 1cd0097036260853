/* SPDX-License-Identifier: MIT */

#include "gpuval_report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/gpuval_log.h"
#include "base/gpuval_options.h"
#include "base/gpuval_text.h"
#include "util/os_time.h"
#include "util/ralloc.h"
#include "util/simple_mtx.h"
#include "util/u_dynarray.h"
#include "vk_debug_utils.h"
#include "vk_instance.h"
#include "vk_physical_device.h"

/* Distinct texts in the report files: docs/printf.rst */
#define MAX_MESSAGE_EVENTS 10000

static simple_mtx_t mutex = SIMPLE_MTX_INITIALIZER;
static struct util_dynarray events; /* struct gpuval_event * */
static uint64_t lost;
static uint64_t messages, lost_messages;
static unsigned num_message_events;
static bool finished;
static bool marked_error;
static struct util_dynarray files; /* const char *: names */

static const struct gpuval_report_format *const formats[] = {
   &gpuval_report_jsonl,
   &gpuval_report_csv,
};

const struct gpuval_report_format *
gpuval_report_format(const char *file)
{
   const char *ending = strrchr(file, '.');

   for (unsigned i = 0; ending && i < ARRAY_SIZE(formats); i++) {
      if (!strcmp(ending, formats[i]->ending))
         return formats[i];
   }
   return NULL;
}

void
gpuval_report_lock(void)
{
   simple_mtx_lock(&mutex);
}

void
gpuval_report_unlock(void)
{
   simple_mtx_unlock(&mutex);
}

static void
to_messengers(struct vk_device *vk, const struct gpuval_event *event, const char *text)
{
   char id[64];
   snprintf(id, sizeof(id), "gpuval-%s-%s", gpuval_kind_check_name(event->kind),
            gpuval_kind_infos[event->kind].name);

   const struct gpuval_command *command = &event->place.command, *other = &event->other.command;
   const struct {
      VkObjectType type;
      uint64_t handle;
      const char *name;
   } known[] = {
      {VK_OBJECT_TYPE_COMMAND_BUFFER, command->command_buffer, command->command_buffer_name},
      {VK_OBJECT_TYPE_PIPELINE, command->pipeline, command->pipeline_name},
      {VK_OBJECT_TYPE_BUFFER, event->resource.object, event->resource.object_name},
      {VK_OBJECT_TYPE_DEVICE_MEMORY, event->resource.memory, event->resource.memory_name},
      {VK_OBJECT_TYPE_COMMAND_BUFFER, other->command_buffer, other->command_buffer_name},
      {VK_OBJECT_TYPE_PIPELINE, other->pipeline, other->pipeline_name},
   };
   VkDebugUtilsObjectNameInfoEXT objects[ARRAY_SIZE(known) + 1];
   unsigned num_objects = 0;

   for (unsigned i = 0; i < ARRAY_SIZE(known); i++) {
      bool named = !known[i].handle;
      for (unsigned j = 0; j < num_objects; j++)
         named |=
            objects[j].objectType == known[i].type && objects[j].objectHandle == known[i].handle;
      if (named)
         continue;
      objects[num_objects++] = (VkDebugUtilsObjectNameInfoEXT){
         .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
         .objectType = known[i].type,
         .objectHandle = known[i].handle,
         .pObjectName = known[i].name,
      };
   }
   objects[num_objects++] = (VkDebugUtilsObjectNameInfoEXT){
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
      .objectType = VK_OBJECT_TYPE_DEVICE,
      .objectHandle = (uintptr_t)vk,
      .pObjectName = vk->base.object_name,
   };

   const VkDebugUtilsMessengerCallbackDataEXT data = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
      .pMessageIdName = id,
      .pMessage = text,
      .objectCount = num_objects,
      .pObjects = objects,
   };
   vk_debug_message(vk->physical->instance, VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
                    VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT, &data);
}

void
gpuval_report_mark(const char *line)
{
   FILE *f = gpuval_options()->mark ? fopen(gpuval_options()->mark, "ae") : NULL;
   if (f) {
      fprintf(f, "%s\n", line);
      fclose(f);
   }
}

void
gpuval_report_event(struct vk_device *vk, struct gpuval_event *event)
{
   char *text = NULL;
   size_t size;
   FILE *f = open_memstream(&text, &size);
   if (f) {
      locale_t locale = gpuval_begin_c_locale();
      gpuval_text_write_event(f, event);
      fclose(f);
      gpuval_end_c_locale(locale);
   }

   gpuval_report_lock();
   if (!marked_error)
      gpuval_report_mark("error");
   marked_error = true;
   util_dynarray_append(&events, struct gpuval_event *, event);
   if (text)
      gpuval_log_write(text, size);
   gpuval_report_unlock();

   /* Not with the lock: the callback is the application's. */
   if (text && vk)
      to_messengers(vk, event, text);
   free(text);
}

void
gpuval_report_add_lost(uint64_t count)
{
   gpuval_report_lock();
   lost += count;
   gpuval_report_unlock();
}

static void
append(struct util_dynarray *chars, const char *string, size_t count)
{
   if (count)
      memcpy(util_dynarray_grow_bytes(chars, count, 1), string, count);
}

/* One line: what would end it, or do something to a terminal, is escaped. */
static void
append_message(struct util_dynarray *chars, const char *text)
{
   static const char controls[] = "\x01\x02\x03\x04\x05\x06\x07\x08\n\x0b\x0c\r\x0e\x0f\x10\x11"
                                  "\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f";

   append(chars, "printf: ", strlen("printf: "));
   while (*text) {
      size_t plain = strcspn(text, controls);
      append(chars, text, plain);
      text += plain;
      if (*text) {
         char escape[8];
         int length = *text == '\n' ? sprintf(escape, "\\n") : sprintf(escape, "\\x%02x", *text);
         append(chars, escape, length);
         text++;
      }
   }
   append(chars, "\n", 1);
}

static void
message_to_messengers(struct vk_device *vk, const char *text)
{
   const VkDebugUtilsObjectNameInfoEXT object = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
      .objectType = VK_OBJECT_TYPE_DEVICE,
      .objectHandle = (uintptr_t)vk,
      .pObjectName = vk->base.object_name,
   };
   const VkDebugUtilsMessengerCallbackDataEXT data = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
      .pMessageIdName = "gpuval-printf-message",
      .pMessage = text,
      .objectCount = 1,
      .pObjects = &object,
   };
   vk_debug_message(vk->physical->instance, VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT,
                    VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT, &data);
}

void
gpuval_report_messages(struct vk_device *vk, const struct gpuval_message *list, unsigned count)
{
   /* All at once: the log may be a stream without a buffer. */
   struct util_dynarray chars;
   util_dynarray_init(&chars, NULL);
   for (unsigned i = 0; i < count; i++)
      append_message(&chars, list[i].text);

   gpuval_report_lock();
   gpuval_log_write(util_dynarray_begin(&chars), chars.size);
   for (unsigned i = 0; i < count; i++) {
      if (list[i].event)
         list[i].event->count++;
   }
   messages += count;
   gpuval_report_unlock();
   util_dynarray_fini(&chars);

   for (unsigned i = 0; vk && i < count; i++)
      message_to_messengers(vk, list[i].text);
}

bool
gpuval_report_add_message_event(struct gpuval_event *event)
{
   gpuval_report_lock();
   bool has_room = num_message_events < MAX_MESSAGE_EVENTS;
   if (has_room) {
      util_dynarray_append(&events, struct gpuval_event *, event);
      num_message_events++;
   }
   gpuval_report_unlock();
   return has_room;
}

bool
gpuval_report_wants_messages(void)
{
   return files.size > 0;
}

void
gpuval_report_add_lost_messages(uint64_t count)
{
   gpuval_report_lock();
   lost_messages += count;
   gpuval_report_unlock();
}

static struct gpuval_event *const *
get_events(unsigned *num_events)
{
   *num_events = util_dynarray_num_elements(&events, struct gpuval_event *);
   return util_dynarray_begin(&events);
}

static struct gpuval_summary
summarize(void)
{
   struct gpuval_summary summary = {
      .lost = lost,
      .messages = messages,
      .lost_messages = lost_messages,
   };

   util_dynarray_foreach (&events, struct gpuval_event *, event) {
      if (gpuval_event_is_message(*event))
         continue;
      summary.errors++;
      summary.occurrences += (*event)->count;
   }
   return summary;
}

/* A file beside @name, of this process alone: others may write the same report, and
 * in containers even have the same id. *beside is the caller's. NULL: see errno.
 */
static FILE *
open_beside(const char *name, char **beside)
{
   int fd = -1;

   *beside = NULL;
   for (unsigned i = 0; i < 100 && fd < 0; i++) {
      ralloc_free(*beside);
      *beside =
         ralloc_asprintf(NULL, "%s.%d-%08x.new", name, (int)getpid(), (uint32_t)os_time_get_nano());
      fd = open(*beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd < 0 && errno != EEXIST)
         break;
   }

   FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
   if (fd >= 0 && !f)
      close(fd);
   return f;
}

/* To a file beside, which then takes the name: who reads it meanwhile sees
 * the old one whole.
 */
static bool
write_file(const char *name, const struct gpuval_summary *summary)
{
   unsigned num_events;
   struct gpuval_event *const *list = get_events(&num_events);
   char *beside;

   FILE *f = open_beside(name, &beside);
   bool written = f != NULL;
   if (f) {
      locale_t locale = gpuval_begin_c_locale();
      gpuval_report_format(name)->write(f, list, num_events, summary);
      gpuval_end_c_locale(locale);
      written = !ferror(f);
      written &= fclose(f) == 0;
      written = written && !rename(beside, name);
   }
   if (!written) {
      gpuval_log_error("GPUVAL_REPORT: %s: %s", name, strerror(errno));
      unlink(beside);
   }
   ralloc_free(beside);
   return written;
}

static bool
try_file(const char *name)
{
   char *beside;
   FILE *f = open_beside(name, &beside);

   if (f) {
      fclose(f);
      unlink(beside);
   } else {
      gpuval_log_error("GPUVAL_REPORT: %s: %s; it is not written", name, strerror(errno));
   }
   ralloc_free(beside);
   return f != NULL;
}

void
gpuval_report_init(void)
{
   const char **names = gpuval_options()->reports;

   for (unsigned i = 0; names && names[i]; i++) {
      if (!gpuval_report_format(names[i]))
         gpuval_log_error("GPUVAL_REPORT: \"%s\" does not end in .jsonl or .csv, which are the "
                          "formats of this version; it is not written",
                          names[i]);
      else if (try_file(names[i]))
         util_dynarray_append(&files, const char *, names[i]);
   }
}

static void
write_files_locked(void)
{
   struct gpuval_summary summary = summarize();

   /* One that cannot be written is not tried again: it is said once. */
   util_dynarray_foreach (&files, const char *, name) {
      if (*name && !write_file(*name, &summary))
         *name = NULL;
   }
}

void
gpuval_report_write_files(void)
{
   gpuval_report_lock();
   write_files_locked();
   gpuval_report_unlock();
}

void
gpuval_report_finish(void)
{
   gpuval_report_lock();
   if (!finished) {
      finished = true;

      unsigned num_events;
      struct gpuval_event *const *list = get_events(&num_events);
      struct gpuval_summary summary = summarize();
      char *text = NULL;
      size_t size;
      FILE *f = open_memstream(&text, &size);
      if (f) {
         locale_t locale = gpuval_begin_c_locale();
         gpuval_text_write_counts(f, list, num_events);
         gpuval_text_write_summary(f, &summary);
         fclose(f);
         gpuval_end_c_locale(locale);
         gpuval_log_write(text, size);
         free(text);
      }
      write_files_locked();
   }
   gpuval_report_unlock();
}
