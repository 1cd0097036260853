/* SPDX-License-Identifier: MIT */

/* The objects that descriptors lead to: their ids, and who is alive.
 *
 * The entry points that create and destroy them are hooked (gpuval_hooks.h), so that
 * neither driver needs a call of ours there. An object's id is in its
 * vk_object_base. Views die with their image or buffer, these with their memory.
 *
 * Any thread may call any of these functions.
 */

#ifndef GPUVAL_OBJECTS_H
#define GPUVAL_OBJECTS_H

#include "base/gpuval_descriptor.h"
#include "gpuval.h"

#include "vk_object.h"

struct gpuval_objects;

#ifdef __cplusplus
extern "C" {
#endif

/** What a view offers, beside what kind of descriptor it was written to. */
struct gpuval_object_view {
   uint32_t offers; /* GPUVAL_OFFERS_VIEWS, GPUVAL_OFFERS_TEXELS */
   uint32_t format; /* gpuval_format_bits(), or 0 */
   uint32_t extent[3];
   uint32_t levels;
   uint32_t samples;
};

/** How an object came to its end */
enum gpuval_object_end {
   GPUVAL_OBJECT_ALIVE,
   GPUVAL_OBJECT_DESTROYED,
   GPUVAL_OBJECT_PARENT_DESTROYED, /* the image or buffer of a view */
   GPUVAL_OBJECT_MEMORY_FREED,     /* below itself or its parent */
};

/** What is known of an object, also after its end. */
struct gpuval_object_info {
   VkObjectType type;
   uint64_t handle;
   char *name;      /* debug_utils, or NULL */
   uint64_t parent; /* of a view, what it is of; of that, the memory. 0: not known */
   char *parent_name;
   enum gpuval_object_end end;
   uint32_t calls; /* gpuval_backtrace_capture(), when it was created */
   struct gpuval_object_view view;
};

/**
 * Of a device; NULL if no check asks for descriptors. Drivers then call nothing of what
 * is declared here.
 */
struct gpuval_objects *gpuval_device_objects(struct gpuval_device *device);

/**
 * @table: as many zeroed struct gpuval_object as 1 << @index_bits, which shaders see at
 * @address; stays the caller's. @has_texels: behind them are as many struct gpuval_object_texels.
 */
struct gpuval_objects *gpuval_objects_create(struct gpuval_object *table, uint64_t address,
                                             unsigned index_bits, bool has_texels);
void gpuval_objects_destroy(struct gpuval_objects *objects);

/** The table, as shaders see it. */
uint64_t gpuval_objects_address(const struct gpuval_objects *objects);

/** Id of an object that was not seen when it was created, and of null descriptors. */
uint32_t gpuval_objects_unknown(const struct gpuval_objects *objects);

/**
 * Gives @base an id. @parent, which may be NULL, takes it along when it is removed.
 * @view: NULL for what is none.
 */
void gpuval_objects_add(struct gpuval_objects *objects, struct vk_object_base *base,
                        struct vk_object_base *parent, const struct gpuval_object_view *view);
/** It has another parent now; buffers and images get their memory later. */
void gpuval_objects_set_parent(struct gpuval_objects *objects, struct vk_object_base *base,
                               struct vk_object_base *parent);
/** @base may be NULL. */
void gpuval_objects_remove(struct gpuval_objects *objects, struct vk_object_base *base);

/** What @base offers as a view; all zero for what is none. */
const struct gpuval_object_view *gpuval_objects_view(struct gpuval_objects *objects,
                                                     const struct vk_object_base *base);

/** init: where the marks of a view begin. False: it has no place to keep that. */
bool gpuval_objects_set_marks(struct gpuval_objects *objects, const struct vk_object_base *view,
                              uint64_t address, uint32_t layers);
/**
 * sync: where the texels of a view are. Nothing happens where it has no place to keep that, or the
 * table none of them.
 */
void gpuval_objects_set_texels(struct gpuval_objects *objects, const struct vk_object_base *view,
                               const struct gpuval_object_texels *texels);
/** The views of @image have no marks any more. */
void gpuval_objects_forget_marks(struct gpuval_objects *objects,
                                 const struct vk_object_base *image);

/** Is the object alive that @id was given to? */
bool gpuval_objects_is_alive(const struct gpuval_objects *objects, uint32_t id);

/** How many objects have come to their ends by now: where that is unchanged, all are alive still. */
uint64_t gpuval_objects_num_ended(const struct gpuval_objects *objects);

/**
 * Calls @visit with the object if it is alive and was seen when it was created. Neither the object
 * nor what it is a view of is destroyed meanwhile: threads that want to wait. @visit calls nothing
 * of what is declared here.
 */
void gpuval_objects_visit(struct gpuval_objects *objects, uint32_t id,
                          void (*visit)(void *data, const struct vk_object_base *base), void *data);

/** Returns false if it is not known any more, or never was. @mem_ctx owns the name. */
bool gpuval_objects_describe(struct gpuval_objects *objects, void *mem_ctx, uint32_t id,
                             struct gpuval_object_info *info);

/* Writing descriptors: gpuval_descriptors.c */

/** Where a set's shadow begins, and in which direction its slots follow. */
struct gpuval_set_shadow {
   struct gpuval_descriptor *slots;
   int step; /* 1 or -1 */
   /* Where shaders see the slots, if that is not where the host keeps them: nobody reads here.
    * NULL: it is.
    */
   struct gpuval_descriptor *seen;
};

/** A binding, as far as its shadow is concerned */
struct gpuval_set_shadow_binding {
   uint32_t first_slot;
   uint32_t stride; /* slots an element */
   bool has_immutable_samplers;
};

/** The array that a write has, or NULL, and its stride. */
const void *gpuval_descriptor_infos(const VkWriteDescriptorSet *write);
size_t gpuval_descriptor_info_size(VkDescriptorType type);
/** Of an element of it: no image or buffer view, where there could be one? */
bool gpuval_descriptor_is_null_view(VkDescriptorType type, const void *info);

/**
 * Descriptors of @type are written to @count elements from @element on. @data: the
 * first VkDescriptorImageInfo, VkDescriptorBufferInfo, VkBufferView or
 * VkAccelerationStructureKHR, @data_stride bytes apart.
 */
void gpuval_set_shadow_write(struct gpuval_objects *objects, struct gpuval_set_shadow shadow,
                             const struct gpuval_set_shadow_binding *binding, VkDescriptorType type,
                             uint32_t element, uint32_t count, const void *data,
                             size_t data_stride);
void gpuval_set_shadow_write_set(struct gpuval_objects *objects, struct gpuval_set_shadow shadow,
                                 const struct gpuval_set_shadow_binding *binding,
                                 const VkWriteDescriptorSet *write);
/** A set has been allocated whose layout has @sampler, NULL if not known, in that element. */
void gpuval_set_shadow_init_sampler(struct gpuval_objects *objects, struct gpuval_set_shadow shadow,
                                    const struct gpuval_set_shadow_binding *binding,
                                    uint32_t element, const struct vk_object_base *sampler);
void gpuval_set_shadow_copy(struct gpuval_set_shadow to,
                            const struct gpuval_set_shadow_binding *to_binding,
                            struct gpuval_set_shadow from,
                            const struct gpuval_set_shadow_binding *from_binding,
                            const VkCopyDescriptorSet *copy);

#ifdef __cplusplus
}
#endif

#endif
