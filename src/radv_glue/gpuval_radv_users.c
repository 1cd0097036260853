/* SPDX-License-Identifier: MIT */

/* Who uses a registered shader? Code and NIR have its numbers in them, so whatever
 * holds one of these does:
 *
 * - NIR, while a pipeline or a shader object is created: each call has a list;
 * - NIR that a library retains for links to come: the library takes over the list;
 * - struct radv_shader, which pipelines and caches share;
 * - binaries and caches that the application has got hold of: they may come back, so
 *   such a shader stays as long as the device. So do those of ray tracing, which are
 *   merged with others, and whose NIR is in caches, too.
 */

#include "gpuval_radv_private.h"

#include "radv_device.h"
#include "radv_shader.h"
#include "radv_shader_object.h"

#include "util/ralloc.h"
#include "util/u_atomic.h"
#include "util/u_dynarray.h"
#include "vk_pipeline.h"

/* What has been registered in a call, for the libraries that have been created there */
struct creation {
   unsigned users;
   struct util_dynarray shaders; /* struct gpuval_shader * */
};

/* Of the call that this thread is in; NULL: what is registered stays. */
static thread_local struct creation *current;

static void
begin_creation(void)
{
   current = rzalloc(NULL, struct creation);
   if (current) {
      current->users = 1;
      util_dynarray_init(&current->shaders, current);
   }
}

static void
release_creation(struct creation *creation)
{
   if (!creation || !p_atomic_dec_zero(&creation->users))
      return;

   util_dynarray_foreach (&creation->shaders, struct gpuval_shader *, shader)
      gpuval_shader_release(*shader);
   ralloc_free(creation);
}

/* Returns what the caller has to release. */
static struct creation *
end_creation(void)
{
   struct creation *creation = current;
   current = NULL;
   return creation;
}

void
gpuval_radv_registered(struct gpuval_shader *shader)
{
   if (current)
      util_dynarray_append(&current->shaders, struct gpuval_shader *, shader);
}

void
gpuval_radv_number_shaders(struct gpuval_radv *gpuval, nir_shader *const *shaders, unsigned count,
                           uint32_t numbers[2])
{
   for (unsigned i = 0; i < 2; i++) {
      struct gpuval_shader *shader = NULL;
      if (i < count && !gl_shader_stage_is_rt(shaders[i]->info.stage))
         shader = gpuval_device_find_shader(gpuval->device, shaders[i]->info.source_blake3);

      numbers[i] = shader ? gpuval_shader_number(shader) : 0;
      if (shader)
         gpuval_shader_release(shader);
   }
}

void
gpuval_radv_hold_shaders(struct gpuval_radv *gpuval, const uint32_t numbers[2],
                         struct gpuval_shader *shaders[2])
{
   for (unsigned i = 0; i < 2; i++)
      shaders[i] = gpuval_device_hold_shader(gpuval->device, numbers[i]);
}

void
gpuval_radv_release_shaders(struct gpuval_shader *const shaders[2])
{
   for (unsigned i = 0; i < 2; i++) {
      if (shaders[i])
         gpuval_shader_release(shaders[i]);
   }
}

void
gpuval_radv_pin_shaders(struct gpuval_shader *const shaders[2])
{
   for (unsigned i = 0; i < 2; i++) {
      if (shaders[i])
         gpuval_shader_hold(shaders[i]);
   }
}

/* Entry points */

/* NIR of a library that links to come are made from */
static void
retain(struct gpuval_radv *gpuval, VkPipeline pipeline, struct creation *creation)
{
   p_atomic_inc(&creation->users);
   simple_mtx_lock(&gpuval->mutex);
   _mesa_hash_table_u64_insert(gpuval->retained, (uint64_t)pipeline, creation);
   simple_mtx_unlock(&gpuval->mutex);
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_CreateGraphicsPipelines(VkDevice handle, VkPipelineCache cache, uint32_t count,
                             const VkGraphicsPipelineCreateInfo *infos,
                             const VkAllocationCallbacks *allocator, VkPipeline *pipelines)
{
   VK_FROM_HANDLE(radv_device, device, handle);
   struct gpuval_radv *gpuval = device->gpuval;

   begin_creation();
   VkResult result =
      gpuval->next.CreateGraphicsPipelines(handle, cache, count, infos, allocator, pipelines);
   struct creation *creation = end_creation();

   for (uint32_t i = 0; creation && creation->shaders.size && i < count; i++) {
      if (pipelines[i] && vk_graphics_pipeline_create_flags(&infos[i]) &
                             VK_PIPELINE_CREATE_2_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT)
         retain(gpuval, pipelines[i], creation);
   }
   release_creation(creation);
   return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_CreateComputePipelines(VkDevice handle, VkPipelineCache cache, uint32_t count,
                            const VkComputePipelineCreateInfo *infos,
                            const VkAllocationCallbacks *allocator, VkPipeline *pipelines)
{
   VK_FROM_HANDLE(radv_device, device, handle);

   begin_creation();
   VkResult result = device->gpuval->next.CreateComputePipelines(handle, cache, count, infos,
                                                                 allocator, pipelines);
   release_creation(end_creation());
   return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_CreateShadersEXT(VkDevice handle, uint32_t count, const VkShaderCreateInfoEXT *infos,
                      const VkAllocationCallbacks *allocator, VkShaderEXT *shaders)
{
   VK_FROM_HANDLE(radv_device, device, handle);

   begin_creation();
   VkResult result =
      device->gpuval->next.CreateShadersEXT(handle, count, infos, allocator, shaders);
   release_creation(end_creation());
   return result;
}

static VKAPI_ATTR void VKAPI_CALL
hook_DestroyPipeline(VkDevice handle, VkPipeline pipeline, const VkAllocationCallbacks *allocator)
{
   VK_FROM_HANDLE(radv_device, device, handle);
   struct gpuval_radv *gpuval = device->gpuval;
   struct creation *creation = NULL;

   if (pipeline) {
      simple_mtx_lock(&gpuval->mutex);
      creation = _mesa_hash_table_u64_search(gpuval->retained, (uint64_t)pipeline);
      _mesa_hash_table_u64_remove(gpuval->retained, (uint64_t)pipeline);
      simple_mtx_unlock(&gpuval->mutex);
   }
   gpuval->next.DestroyPipeline(handle, pipeline, allocator);
   release_creation(creation);
}

static VKAPI_ATTR VkResult VKAPI_CALL
hook_GetShaderBinaryDataEXT(VkDevice handle, VkShaderEXT shader, size_t *size, void *data)
{
   VK_FROM_HANDLE(radv_device, device, handle);
   VK_FROM_HANDLE(radv_shader_object, object, shader);
   const struct radv_shader *const variants[] = {
      object->shader,
      object->as_ls.shader,
      object->as_es.shader,
   };

   for (unsigned i = 0; data && i < ARRAY_SIZE(variants); i++) {
      if (variants[i])
         gpuval_radv_pin_shaders(variants[i]->gpuval);
   }
   return device->gpuval->next.GetShaderBinaryDataEXT(handle, shader, size, data);
}

void
gpuval_radv_hook_shaders(struct gpuval_radv *gpuval, struct vk_device_dispatch_table *table)
{
   gpuval->retained = _mesa_hash_table_u64_create(gpuval);
   table->CreateGraphicsPipelines = hook_CreateGraphicsPipelines;
   table->CreateComputePipelines = hook_CreateComputePipelines;
   table->CreateShadersEXT = hook_CreateShadersEXT;
   table->DestroyPipeline = hook_DestroyPipeline;
   table->GetShaderBinaryDataEXT = hook_GetShaderBinaryDataEXT;
}
