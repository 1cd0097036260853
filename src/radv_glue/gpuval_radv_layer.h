/* SPDX-License-Identifier: MIT */

/* What the entry points of gpuval_radv_layer*.c call, by the file that it is in. Each function
 * does nothing where its check is off. Commands: on the thread that records, before RADV's entry
 * point unless the comment says otherwise.
 */

#ifndef GPUVAL_RADV_LAYER_H
#define GPUVAL_RADV_LAYER_H

#include "gpuval_radv_inputs.h"
#include "gpuval_radv_race.h"

#include "radv_buffer.h"

struct radv_descriptor_pool;
struct radv_device_memory;
struct radv_shader_object;
struct vk_acceleration_structure;

/* gpuval_radv.c: address, and sync's cells */

void gpuval_radv_add_memory(struct gpuval_radv *gpuval, const struct radv_device_memory *memory);
void gpuval_radv_remove_memory(struct gpuval_radv *gpuval, const struct radv_device_memory *memory);

/* gpuval_radv_poison.c */

/** Fills memory that has just been allocated. */
void gpuval_radv_poison_memory(struct gpuval_radv *gpuval, const VkMemoryAllocateInfo *info,
                               const struct radv_device_memory *memory);

/* gpuval_radv_users.c: who uses registered shaders */

struct gpuval_radv_creation;

/** What this thread registers until gpuval_radv_end_creation() is used by the call between them. */
void gpuval_radv_begin_creation(void);
void gpuval_radv_end_creation(void);
/** The library @pipeline retains the NIR of this thread's call. */
void gpuval_radv_retain(struct gpuval_radv *gpuval, VkPipeline pipeline);
/** Returns what @pipeline retains, for the caller to release, or NULL. */
struct gpuval_radv_creation *gpuval_radv_take_retained(struct gpuval_radv *gpuval,
                                                       VkPipeline pipeline);
void gpuval_radv_release_creation(struct gpuval_radv_creation *creation);

/* gpuval_radv_sets.c: shadows of descriptors; those that add, update, push and bind come after
 * RADV's.
 */

void gpuval_radv_add_sets(struct radv_device *device, const VkDescriptorSetAllocateInfo *info,
                          const VkDescriptorSet *sets);
void gpuval_radv_remove_sets(struct radv_descriptor_pool *pool, uint32_t count,
                             const VkDescriptorSet *sets);
void gpuval_radv_reset_pool(struct radv_descriptor_pool *pool);
void gpuval_radv_remove_pool(struct radv_device *device, struct radv_descriptor_pool *pool);
void gpuval_radv_update_sets(struct radv_device *device, uint32_t write_count,
                             const VkWriteDescriptorSet *writes, uint32_t copy_count,
                             const VkCopyDescriptorSet *copies);
void gpuval_radv_update_set_with_template(struct radv_device *device, VkDescriptorSet handle,
                                          VkDescriptorUpdateTemplate update_template,
                                          const void *data);
void gpuval_radv_push_set(struct radv_cmd_buffer *cmd_buffer,
                          const VkPushDescriptorSetInfoKHR *info);
void gpuval_radv_push_set_with_template(struct radv_cmd_buffer *cmd_buffer,
                                        const VkPushDescriptorSetWithTemplateInfoKHR *info);
void gpuval_radv_bind_sets(struct radv_cmd_buffer *cmd_buffer,
                           const VkBindDescriptorSetsInfoKHR *info);

/* gpuval_radv_structures.c: ray */

/** @structure: just created, in @buffer. */
void gpuval_radv_add_structure(struct gpuval_radv *gpuval,
                               struct vk_acceleration_structure *structure,
                               const struct radv_buffer *buffer);
/** The application asks for the address of @structure. */
void gpuval_radv_use_structure(struct gpuval_radv *gpuval,
                               struct vk_acceleration_structure *structure);
void gpuval_radv_remove_structure(struct gpuval_radv *gpuval,
                                  struct vk_acceleration_structure *structure);
/** Returns what is to be built instead of @infos, for ralloc_free(), or NULL. */
VkAccelerationStructureBuildGeometryInfoKHR *
gpuval_radv_build_structures(struct radv_cmd_buffer *cmd_buffer, uint32_t count,
                             const VkAccelerationStructureBuildGeometryInfoKHR *infos,
                             const VkAccelerationStructureBuildRangeInfoKHR *const *ranges);

/* gpuval_radv_race.c */

void gpuval_radv_race_remove_memory(struct gpuval_radv *gpuval,
                                    const struct radv_device_memory *memory);

/* gpuval_radv_written.c: init, memory that buffers lie in */

void gpuval_radv_written_add_memory(struct gpuval_radv *gpuval, const VkMemoryAllocateInfo *info,
                                    const struct radv_device_memory *memory);
void gpuval_radv_written_remove_memory(struct gpuval_radv *gpuval,
                                       const struct radv_device_memory *memory);
/** Memory has been mapped. */
void gpuval_radv_written_map(struct gpuval_radv *gpuval, const VkMemoryMapInfoKHR *info);
/** Images have been bound. */
void gpuval_radv_written_bind_images(struct gpuval_radv *gpuval, uint32_t count,
                                     const VkBindImageMemoryInfo *infos);
void gpuval_radv_written_bind_video(struct gpuval_radv *gpuval, uint32_t count,
                                    const VkBindVideoSessionMemoryInfoKHR *infos);
void gpuval_radv_written_bind_sparse(struct gpuval_radv *gpuval, uint32_t count,
                                     const VkBindSparseInfo *infos);
/** @buffer: may be VK_NULL_HANDLE. @size: VK_WHOLE_SIZE is the rest of it. */
void gpuval_radv_written_buffer(struct gpuval_radv *gpuval, VkBuffer buffer, uint64_t offset,
                                uint64_t size);
/** VK_WHOLE_SIZE is the rest of the buffer that is there. */
void gpuval_radv_written_address(struct gpuval_radv *gpuval, VkDeviceAddress address,
                                 uint64_t size);

/* gpuval_radv_written_images.c: init, images */

void gpuval_radv_images_add_memory(struct gpuval_radv *gpuval, const VkMemoryAllocateInfo *info,
                                   VkDeviceMemory memory);
void gpuval_radv_images_remove_memory(struct gpuval_radv *gpuval, VkDeviceMemory memory);
void gpuval_radv_images_add(struct gpuval_radv *gpuval, const VkImageCreateInfo *info,
                            const struct vk_image *image);
void gpuval_radv_images_remove(struct gpuval_radv *gpuval, const struct vk_image *image);
void gpuval_radv_images_bind(struct gpuval_radv *gpuval, uint32_t count,
                             const VkBindImageMemoryInfo *infos);
/** @view: NULL where it could not be created. */
void gpuval_radv_images_add_view(struct gpuval_radv *gpuval, const VkImageViewCreateInfo *info,
                                 const struct vk_image_view *view);
void gpuval_radv_images_get_descriptor(struct gpuval_radv *gpuval,
                                       const VkDescriptorGetInfoEXT *info);

/* gpuval_radv_inputs.c: indirect, vertex */

/** After RADV's, which binds the shaders. */
void gpuval_radv_check_draw(VkCommandBuffer handle, const struct gpuval_draw *draw);
void gpuval_radv_check_multi_draw(VkCommandBuffer handle, uint32_t count,
                                  const VkMultiDrawInfoEXT *infos, uint32_t instances,
                                  uint32_t first_instance, uint32_t stride);
void gpuval_radv_check_multi_draw_indexed(VkCommandBuffer handle, uint32_t count,
                                          const VkMultiDrawIndexedInfoEXT *infos,
                                          uint32_t instances, uint32_t first_instance,
                                          uint32_t stride, const int32_t *vertex_offset);

/** A command whose arguments are in memory, and what RADV is to read of them */
struct gpuval_radv_indirect {
   struct gpuval_radv_recording recording;
   bool is_checked;
   bool is_skipped;               /* GPUVAL_SAFE: the command must not be executed */
   struct gpuval_radv_look *look; /* or NULL */
   VkBuffer buffer;               /* structs, by buffer or by address */
   VkDeviceSize offset;
   VkDeviceAddress address;
   uint32_t count;
   uint32_t stride;
   struct radv_buffer copy; /* what @buffer may be */

   struct gpuval_arguments arguments; /* of draws, as the program has them; */
   uint64_t count_address;            /* 0: all of them */
};

/** @indirect has what RADV is to read unless something is wrong with it. */
void gpuval_radv_begin_indirect(struct gpuval_radv_indirect *indirect, VkCommandBuffer handle,
                                const struct vk_cmd_queue_entry *command);
/** Of vkCmdDrawIndirectByteCountEXT(). */
void gpuval_radv_begin_byte_count(struct gpuval_radv_indirect *indirect, VkCommandBuffer handle,
                                  uint32_t instances, uint32_t first_instance, VkBuffer buffer,
                                  VkDeviceSize offset, uint32_t counter_offset, uint32_t stride);
/** After RADV's. */
void gpuval_radv_end_indirect(struct gpuval_radv_indirect *indirect);

/* gpuval_radv_generated.c: indirect */

struct gpuval_radv_generated {
   struct gpuval_radv_recording recording;
   const VkGeneratedCommandsInfoEXT *info;
   struct gpuval_radv_look *look;
   bool is_skipped; /* GPUVAL_SAFE: the commands must not be executed */
};

/** @is_preprocessed: they have been looked at when they were. */
void gpuval_radv_begin_generated(struct gpuval_radv_generated *generated, VkCommandBuffer handle,
                                 const VkGeneratedCommandsInfoEXT *info, bool is_preprocessed);
/** After RADV's. @is_executed: not only preprocessed */
void gpuval_radv_end_generated(struct gpuval_radv_generated *generated, bool is_executed);

#endif
