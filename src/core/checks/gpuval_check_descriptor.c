/* SPDX-License-Identifier: MIT */

/* The check descriptor: its records, whose words gpuval_nir_report.c writes (find_descriptor()). */

#include "core/descriptors/gpuval_objects.h"
#include "core/events/gpuval_events.h"

#include "util/format/u_format.h"
#include "util/ralloc.h"
#include "util/u_math.h"

struct name {
   uint32_t bit;
   const char *name;
};

/* As Vulkan calls them */
static const struct name types[] = {
   {GPUVAL_OFFERS_SAMPLED_IMAGE, "sampled_image"},
   {GPUVAL_OFFERS_STORAGE_IMAGE, "storage_image"},
   {GPUVAL_OFFERS_INPUT_ATTACHMENT, "input_attachment"},
   {GPUVAL_OFFERS_UNIFORM_TEXEL_BUFFER, "uniform_texel_buffer"},
   {GPUVAL_OFFERS_STORAGE_TEXEL_BUFFER, "storage_texel_buffer"},
   {GPUVAL_OFFERS_UNIFORM_BUFFER, "uniform_buffer"},
   {GPUVAL_OFFERS_STORAGE_BUFFER, "storage_buffer"},
   {GPUVAL_OFFERS_ACCELERATION_STRUCTURE, "acceleration_structure"},
   {GPUVAL_OFFERS_SAMPLER, "sampler"},
};

/* Groups of which an access wants one and a view has one: "the view is NAME and not NAME" */
static const struct name dimensions[] = {
   {GPUVAL_OFFERS_1D, "1D"},
   {GPUVAL_OFFERS_2D, "2D"},
   {GPUVAL_OFFERS_3D, "3D"},
   {GPUVAL_OFFERS_CUBE, "a cube"},
};
static const struct name arrays[] = {
   {GPUVAL_OFFERS_NO_ARRAY, "of one layer"},
   {GPUVAL_OFFERS_ARRAY, "an array"},
};
static const struct name samples[] = {
   {GPUVAL_OFFERS_ONE_SAMPLE, "of one sample"},
   {GPUVAL_OFFERS_MULTISAMPLED, "multisampled"},
};
static const struct name classes[] = {
   {GPUVAL_OFFERS_FLOAT, "of floating-point components"},
   {GPUVAL_OFFERS_SINT, "of signed integers"},
   {GPUVAL_OFFERS_UINT, "of unsigned integers"},
};
static const struct name widths[] = {
   {GPUVAL_OFFERS_32_BIT, "of at most 32 bits a component"},
   {GPUVAL_OFFERS_64_BIT, "of 64 bits a component"},
};

static const char *
find_name(const struct name *names, unsigned count, uint32_t bits)
{
   for (unsigned i = 0; i < count; i++) {
      if (bits & names[i].bit)
         return names[i].name;
   }
   return NULL;
}

static void
append_difference(char **reason, const struct name *names, unsigned count, uint32_t required,
                  uint32_t offers)
{
   const char *wanted = find_name(names, count, required & ~offers);
   const char *there = find_name(names, count, offers);

   if (wanted && there)
      ralloc_asprintf_append(reason, "%s%s and not %s", **reason ? ", " : "the view is ", there,
                             wanted);
}

static char *
wrong_view(struct gpuval_event *event, uint32_t word, uint32_t offers,
           const struct gpuval_object_info *object)
{
   uint32_t required = word & BITFIELD_MASK(GPUVAL_USE_FORMAT_SHIFT);
   enum pipe_format wanted = word >> GPUVAL_USE_FORMAT_SHIFT;
   enum pipe_format there = object ? object->view.format & 0xffff : PIPE_FORMAT_NONE;
   char *reason = ralloc_strdup(event, "");

   append_difference(&reason, dimensions, ARRAY_SIZE(dimensions), required, offers);
   append_difference(&reason, arrays, ARRAY_SIZE(arrays), required, offers);
   append_difference(&reason, samples, ARRAY_SIZE(samples), required, offers);
   append_difference(&reason, classes, ARRAY_SIZE(classes), required, offers);
   append_difference(&reason, widths, ARRAY_SIZE(widths), required, offers);
   if (required & GPUVAL_OFFERS_ATOMICS & ~offers)
      ralloc_asprintf_append(&reason, "%s of a format that has no atomics",
                             *reason ? "," : "the view is");
   if (wanted && there && wanted != there)
      ralloc_asprintf_append(&reason, "%sthe view's format is %s and not %s", *reason ? ", " : "",
                             util_format_short_name(there), util_format_short_name(wanted));
   if (!*reason)
      ralloc_strcat(&reason, "the view does not fit");
   return reason;
}

static char *
destroyed(struct gpuval_event *event, const struct gpuval_object_info *object)
{
   if (!object)
      return ralloc_strdup(event, "what it leads to was destroyed");

   const char *type = gpuval_object_type_name(object->type);
   switch (object->end) {
   case GPUVAL_OBJECT_PARENT_DESTROYED:
      return ralloc_asprintf(event, "the %s of the %s was destroyed",
                             object->type == VK_OBJECT_TYPE_IMAGE_VIEW ? "image" : "buffer", type);
   case GPUVAL_OBJECT_MEMORY_FREED:
      return ralloc_asprintf(event, "the memory of the %s was freed", type);
   default:
      return ralloc_asprintf(event, "the %s was destroyed", type);
   }
}

/* Programs name images more often than views: one without a name has that of what it is of. */
void
gpuval_events_name_object(struct gpuval_event *event, const struct gpuval_object_info *info)
{
   bool is_view =
      info->type == VK_OBJECT_TYPE_IMAGE_VIEW || info->type == VK_OBJECT_TYPE_BUFFER_VIEW;

   event->resource.object = info->handle;
   event->resource.object_type = info->type;
   event->resource.object_name = info->name;
   event->resource.calls = info->calls;
   if (is_view) {
      event->resource.parent = info->parent;
      event->resource.parent_name = info->parent_name;
      if (!info->name)
         event->resource.object_name = info->parent_name;
   }
}

static char *
index_oob(struct gpuval_event *event, uint32_t num_elements)
{
   return num_elements == 1 ? ralloc_strdup(event, "there is 1 element")
                            : ralloc_asprintf(event, "there are %u elements", num_elements);
}

static void
read_descriptor(struct gpuval_device *device, struct gpuval_event *event,
                const struct gpuval_record *record)
{
   uint32_t required = record->offset, offers = record->access_size;
   uint32_t ids[2] = {record->address[0], record->address[1]};
   bool wants_resource = required & GPUVAL_OFFERS_RESOURCES;
   if (!device->objects)
      return; /* No shader of this device looks at descriptors. */

   /* Of the two, the one that is gone */
   uint32_t id = wants_resource ? ids[0] : ids[1];
   if (event->kind == GPUVAL_KIND_DESTROYED && wants_resource && required & GPUVAL_OFFERS_SAMPLER &&
       gpuval_objects_is_alive(device->objects, ids[0]))
      id = ids[1];

   struct gpuval_object_info info, *object = NULL;
   bool has_object = event->kind == GPUVAL_KIND_DESTROYED || event->kind == GPUVAL_KIND_WRONG_VIEW;
   if (has_object && gpuval_objects_describe(device->objects, event, id, &info)) {
      object = &info;
      gpuval_events_name_object(event, &info);
   }

   switch (event->kind) {
   case GPUVAL_KIND_INDEX_OOB:
      event->detail = index_oob(event, record->bound / MAX2(event->resource.stride, 1));
      break;
   case GPUVAL_KIND_WRONG_TYPE:
      event->detail = ralloc_asprintf(event, "it is a %s and not a %s",
                                      find_name(types, ARRAY_SIZE(types), offers),
                                      find_name(types, ARRAY_SIZE(types), required & ~offers));
      break;
   case GPUVAL_KIND_DESTROYED:
      event->detail = destroyed(event, object);
      break;
   case GPUVAL_KIND_WRONG_VIEW:
      event->detail = wrong_view(event, required, offers, object);
      break;
   default:
      break;
   }
}

const struct gpuval_words gpuval_words_descriptor = {.read = read_descriptor};
