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

#include "gpuval_radv_layer.h"

#include "radv_device.h"
#include "radv_shader.h"
#include "radv_shader_object.h"
#include "sid.h"

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
gpuval_radv_number_shaders(struct gpuval_radv *gpuval, nir_shader *const *shaders, unsigned count,
                           uint32_t numbers[2])
{
   for (unsigned i = 0; i < 2; i++) {
      struct gpuval_shader *shader = NULL;
      if (i < count && !mesa_shader_stage_is_rt(shaders[i]->info.stage))
         shader = gpuval_device_find_shader(gpuval->device, shaders[i]->info.source_blake3);

      numbers[i] = shader ? gpuval_shader_number(shader) : 0;
      if (shader)
         gpuval_shader_release(shader);
   }
}

/* Fragments that write nothing need not run, but where they print. RADV has computed the shader's
 * registers before it gets here.
 */
static void
run_if_noop(struct radv_shader *shader)
{
   *gpuval_radv_db_shader_control(shader) |= S_02880C_EXEC_ON_NOOP(1);
}

void
gpuval_radv_hold_shaders(struct gpuval_radv *gpuval, struct radv_shader *shader)
{
   for (unsigned i = 0; i < 2; i++) {
      struct gpuval_shader *held =
         gpuval_device_hold_shader(gpuval->device, shader->info.gpuval_shaders[i]);
      if (held && held->num_formats && shader->info.stage == MESA_SHADER_FRAGMENT)
         run_if_noop(shader);
      shader->gpuval[i] = held;
   }
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
gpuval_radv_pin_object(const struct radv_shader_object *object)
{
   const struct radv_shader *const variants[] = {
      object->shader,
      object->as_ls.shader,
      object->as_es.shader,
   };

   for (unsigned i = 0; i < ARRAY_SIZE(variants); i++) {
      if (variants[i])
         gpuval_radv_pin_shaders(variants[i]->gpuval);
   }
}

void
gpuval_radv_init_users(struct gpuval_radv *gpuval)
{
   gpuval->retained = _mesa_hash_table_u64_create(gpuval);
}
