/* SPDX-License-Identifier: MIT */

/* Who uses a registered shader? Whatever holds code or NIR that has been made from it:
 *
 * - NIR, while a pipeline or a shader object is created: each call has a list;
 * - NIR that a library retains for links to come: the library takes over the list;
 * - struct radv_shader, which pipelines and caches share (gpuval_radv_binary.c).
 *
 * Those of ray tracing stay as long as the device: they are merged with others, their code has
 * their numbers in it, and their NIR is in caches, too.
 */

#include "gpuval_radv_layer.h"

#include "radv_device.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "gpuval/src/core/shaders/gpuval_shader.h"
#include "util/ralloc.h"
#include "util/u_atomic.h"

/* What has been registered in a call, for the libraries that have been created there */
struct gpuval_radv_creation {
   unsigned users;
   struct util_dynarray shaders; /* struct gpuval_shader * */
};

/* Of the call that this thread is in; NULL: what is registered stays. */
static thread_local struct gpuval_radv_creation *current;

void
gpuval_radv_begin_creation(void)
{
   current = rzalloc(NULL, struct gpuval_radv_creation);
   if (current) {
      current->users = 1;
      util_dynarray_init(&current->shaders, current);
   }
}

void
gpuval_radv_release_creation(struct gpuval_radv_creation *creation)
{
   if (!creation || !p_atomic_dec_zero(&creation->users))
      return;

   util_dynarray_foreach (&creation->shaders, struct gpuval_shader *, shader)
      gpuval_shader_release(*shader);
   ralloc_free(creation);
}

void
gpuval_radv_end_creation(void)
{
   gpuval_radv_release_creation(current);
   current = NULL;
}

void
gpuval_radv_registered(struct gpuval_shader *shader)
{
   if (current)
      util_dynarray_append_typed(&current->shaders, struct gpuval_shader *, shader);
}

void
gpuval_radv_retain(struct gpuval_radv *gpuval, VkPipeline pipeline)
{
   if (!current || !current->shaders.size)
      return;
   p_atomic_inc(&current->users);
   simple_mtx_lock(&gpuval->mutex);
   _mesa_hash_table_u64_insert(gpuval->retained, (uint64_t)pipeline, current);
   simple_mtx_unlock(&gpuval->mutex);
}

struct gpuval_radv_creation *
gpuval_radv_take_retained(struct gpuval_radv *gpuval, VkPipeline pipeline)
{
   simple_mtx_lock(&gpuval->mutex);
   struct gpuval_radv_creation *creation =
      _mesa_hash_table_u64_search(gpuval->retained, (uint64_t)pipeline);
   _mesa_hash_table_u64_remove(gpuval->retained, (uint64_t)pipeline);
   simple_mtx_unlock(&gpuval->mutex);
   return creation;
}

void
gpuval_radv_init_users(struct gpuval_radv *gpuval)
{
   gpuval->retained = _mesa_hash_table_u64_create(gpuval);
}
