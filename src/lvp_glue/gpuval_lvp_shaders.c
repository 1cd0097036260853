/* SPDX-License-Identifier: MIT */

/* Shaders, from SPIR-V to what pipelines and shader objects hold */

#include "gpuval_lvp.h"
#include "gpuval_lvp_builds.h"
#include "gpuval_lvp_gallivm.h"
#include "gpuval_lvp_nir.h"
#include "gpuval_lvp_private.h"
#include "gpuval_lvp_sets.h"

#include "gpuval/src/compat/gpuval_lvp_driver.h"

#include "gpuval/src/base/gpuval_names.h"
#include "gpuval/src/core/shaders/gpuval_instrument.h"
#include "util/simple_mtx.h"
#include "vk_pipeline.h"
#include "vk_shader_module.h"

/* Between spirv_to_nir and the hook */
struct parsed_shader {
   uint32_t *spirv;
   size_t spirv_size;
   uint64_t hash;
   char *entry;
   char *name;
   uint32_t checks;
   bool robust_uniform;
   bool robust_storage;
   bool robust_image;
   bool robust_vertex;
};

struct gpuval_lvp_pending {
   struct lvp_device *lvp;
   simple_mtx_t mutex;         /* what follows */
   struct hash_table *parsed;  /* nir_shader * -> struct parsed_shader */
   struct hash_table *created; /* nir_shader * -> struct gpuval_shader, until it is held */
};

struct gpuval_lvp_pending *
gpuval_lvp_pending_create(void *mem_ctx, struct lvp_device *device)
{
   struct gpuval_lvp_pending *pending = rzalloc(mem_ctx, struct gpuval_lvp_pending);

   pending->lvp = device;
   simple_mtx_init(&pending->mutex, mtx_plain);
   pending->parsed = _mesa_pointer_hash_table_create(pending);
   pending->created = _mesa_pointer_hash_table_create(pending);
   return pending;
}

void
gpuval_lvp_pending_destroy(struct gpuval_lvp_pending *pending)
{
   simple_mtx_destroy(&pending->mutex);
}

void
gpuval_lvp_spirv_options(struct gpuval_lvp *gpuval, struct spirv_to_nir_options *options)
{
   /* Nothing would take marks out of lavapipe's own again. */
   if (!gpuval_lvp_compiles_own())
      gpuval_spirv_options(options);
}

void
gpuval_lvp_shader_parsed(struct gpuval_lvp *gpuval, nir_shader *nir,
                         const VkPipelineShaderStageCreateInfo *info, const void *pipeline_next)
{
   struct gpuval_lvp_pending *pending = gpuval_lvp_pending(gpuval);
   VK_FROM_HANDLE(vk_shader_module, module, info->module);
   const VkShaderModuleCreateInfo *module_info =
      vk_find_struct_const(info->pNext, SHADER_MODULE_CREATE_INFO);
   const void *spirv = module ? (const void *)module->data : NULL;
   size_t spirv_size = module ? module->size : 0;
   if (!module && module_info) {
      spirv = module_info->pCode;
      spirv_size = module_info->codeSize;
   }
   if (!spirv || (module && module->nir) || gpuval_lvp_compiles_own())
      return; /* the driver's own */

   struct vk_pipeline_robustness_state robustness;
   vk_pipeline_robustness_state_fill(&pending->lvp->vk, &robustness, pipeline_next, info->pNext);

   struct parsed_shader *parsed = rzalloc(NULL, struct parsed_shader);
   parsed->spirv = ralloc_memdup(parsed, spirv, spirv_size);
   parsed->spirv_size = spirv_size;
   parsed->entry = ralloc_strdup(parsed, info->pName);
   if (module)
      parsed->name = gpuval_object_name(parsed, &module->base);
   parsed->hash =
      module ? gpuval_shader_hash_of(module->hash) : gpuval_shader_hash(spirv, spirv_size);
   parsed->checks = gpuval_options_shader_checks(gpuval_options(), parsed->hash, parsed->name);
   parsed->robust_uniform = gpuval_is_robust(robustness.uniform_buffers);
   parsed->robust_storage = gpuval_is_robust(robustness.storage_buffers);
   parsed->robust_image = gpuval_is_robust_image(robustness.images);
   parsed->robust_vertex = gpuval_is_robust(robustness.vertex_inputs);

   const struct gpuval_nir_options options = {
      .checks = parsed->checks,
      .safe = gpuval_options()->safe,
   };
   gpuval_nir_instrument_early(nir, &options);

   simple_mtx_lock(&pending->mutex);
   _mesa_hash_table_insert(pending->parsed, nir, parsed);
   simple_mtx_unlock(&pending->mutex);
}

static struct parsed_shader *
take_parsed(struct gpuval_lvp *gpuval, nir_shader *nir)
{
   struct gpuval_lvp_pending *pending = gpuval_lvp_pending(gpuval);
   struct parsed_shader *parsed = NULL;

   simple_mtx_lock(&pending->mutex);
   struct hash_entry *entry = _mesa_hash_table_search(pending->parsed, nir);
   if (entry) {
      parsed = entry->data;
      _mesa_hash_table_remove(pending->parsed, entry);
   }
   simple_mtx_unlock(&pending->mutex);

   return parsed;
}

/* @shader belongs to who will hold @nir: gpuval_lvp_hold_shader(). That of NIR which did
 * not come to that, and was at the same address, is given back now.
 */
static void
add_created(struct gpuval_lvp *gpuval, const nir_shader *nir, struct gpuval_shader *shader)
{
   struct gpuval_lvp_pending *pending = gpuval_lvp_pending(gpuval);
   struct gpuval_shader *forgotten = NULL;

   simple_mtx_lock(&pending->mutex);
   struct hash_entry *entry = _mesa_hash_table_search(pending->created, nir);
   if (entry) {
      forgotten = entry->data;
      _mesa_hash_table_remove(pending->created, entry);
   }
   if (shader)
      _mesa_hash_table_insert(pending->created, nir, shader);
   simple_mtx_unlock(&pending->mutex);

   if (forgotten)
      gpuval_shader_release(forgotten);
}

struct layout_data {
   struct gpuval_lvp_nir_layout base;
   const struct lvp_pipeline_layout *layout;
};

static struct gpuval_lvp_nir_binding
find_binding(const struct gpuval_lvp_nir_layout *base, uint32_t set, uint32_t binding)
{
   const struct layout_data *data = container_of(base, const struct layout_data, base);
   const struct lvp_descriptor_set_layout *set_layout = get_set_layout(data->layout, set);
   const struct lvp_descriptor_set_binding_layout *layout = &set_layout->binding[binding];
   bool is_inline = layout->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;

   struct gpuval_lvp_nir_binding found = {
      .first_slot = layout->descriptor_index,
      .stride = layout->stride,
      .count = layout->array_size,
      .is_variable = set_layout->gpuval_variable_binding == binding,
      .inline_size = is_inline ? layout->uniform_block_size : 0,
      .stand_in = gpuval_lvp_stand_in_slot(set_layout),
   };
   for (uint32_t i = 0; layout->immutable_samplers && i < layout->array_size; i++)
      found.has_conversion |= layout->immutable_samplers[i]->vk.ycbcr_conversion != NULL;
   return found;
}

static void
describe_bindings(const struct gpuval_nir_driver *driver, struct util_dynarray *bindings)
{
   const struct lvp_pipeline_layout *layout =
      container_of(driver->data, const struct layout_data, base)->layout;

   for (unsigned set = 0; layout && set < layout->vk.set_count; set++) {
      if (!layout->vk.set_layouts[set])
         continue;

      const struct lvp_descriptor_set_layout *set_layout = get_set_layout(layout, set);
      for (unsigned i = 0; i < set_layout->binding_count; i++) {
         const struct lvp_descriptor_set_binding_layout *binding = &set_layout->binding[i];
         if (!binding->valid)
            continue;

         const struct gpuval_binding described = {
            .set = set,
            .binding = i,
            .type = binding->type,
            .first_slot = binding->descriptor_index,
            .array_size = binding->array_size,
            .stride = binding->stride,
            .inline_size = binding->uniform_block_size,
            .is_variable = set_layout->gpuval_variable_binding == i,
         };
         util_dynarray_append_typed(bindings, struct gpuval_binding, described);
      }
   }
}

/* What was to be checked of a shader, for what is not looked at in it but when it is
 * executed: behind the key, where it survives cloning and serialization as that does.
 */
static_assert(sizeof(((struct shader_info *)0)->source_blake3) ==
                 GPUVAL_SHADER_KEY_SIZE + sizeof(struct gpuval_lvp_selection),
              "nothing but debugging uses it");

static void
set_selection(nir_shader *nir, const struct gpuval_lvp_selection *selection)
{
   memcpy(nir->info.source_blake3 + GPUVAL_SHADER_KEY_SIZE, selection, sizeof(*selection));
}

static struct gpuval_lvp_selection
get_selection(const nir_shader *nir)
{
   struct gpuval_lvp_selection selection;

   memcpy(&selection, nir->info.source_blake3 + GPUVAL_SHADER_KEY_SIZE, sizeof(selection));
   return selection;
}

struct gpuval_lvp_selection
gpuval_lvp_get_selection(const struct lvp_pipeline_nir *pipeline_nir)
{
   return pipeline_nir ? get_selection(pipeline_nir->nir) : (struct gpuval_lvp_selection){0};
}

/* To sync, atomics there may be flags; converge has words of its own there. */
#define SHARED_MEMORY_CHECKS                                                                       \
   (BITFIELD_BIT(GPUVAL_CHECK_SHARED) | BITFIELD_BIT(GPUVAL_CHECK_SYNC) |                          \
    BITFIELD_BIT(GPUVAL_CHECK_SYNC_COMPUTE) | BITFIELD_BIT(GPUVAL_CHECK_CONVERGE))

void
gpuval_lvp_instrument(struct gpuval_lvp *gpuval, nir_shader *nir,
                      const struct lvp_pipeline_layout *layout)
{
   struct parsed_shader *parsed = take_parsed(gpuval, nir);
   if (!parsed)
      parsed = rzalloc(NULL, struct parsed_shader);

   struct gpuval_lvp_stand_ins stand_ins = {0};
   struct layout_data data = {.base = {find_binding, &stand_ins}, .layout = layout};
   struct gpuval_nir_driver driver = gpuval_lvp_nir_driver;
   driver.data = &data.base;
   driver.subgroup_bits = util_logbase2(gpuval_lvp_num_lanes());
   if (parsed->checks & SHARED_MEMORY_CHECKS)
      gpuval_lvp_nir_lower_shared(nir);
   bool is_unmarked = false;
   const struct gpuval_instrument_info info = {
      .driver = &driver,
      .describe_bindings = describe_bindings,
      .spirv = parsed->spirv,
      .spirv_size = parsed->spirv_size,
      .shader_hash = parsed->hash,
      .entry = parsed->entry,
      .name = parsed->name,
      .checks = parsed->checks,
      .robust_uniform = parsed->robust_uniform,
      .robust_storage = parsed->robust_storage,
      .robust_image = parsed->robust_image,
      .is_unmarked = &is_unmarked,
   };
   struct gpuval_shader *shader;

   gpuval_device_instrument(gpuval_lvp_device(gpuval), nir, &info, nir->info.source_blake3,
                            &shader);
   /* Stages of rays will be in one shader with others. */
   if (shader && mesa_shader_stage_is_rt(nir->info.stage)) {
      gpuval_nir_rebase(nir, gpuval_shader_entry_base(shader));
      gpuval_lvp_nir_rebase_uses(nir, gpuval_shader_entry_base(shader));
   }
   add_created(gpuval, nir, shader);

   set_selection(nir, &(struct gpuval_lvp_selection){
                         .checks = parsed->checks,
                         .robust_vertex = parsed->robust_vertex,
                         .is_unmarked = is_unmarked,
                      });
   ralloc_free(parsed);
}

void
gpuval_lvp_hold_shader(struct gpuval_lvp *gpuval, struct lvp_pipeline_nir *pipeline_nir)
{
   struct gpuval_lvp_pending *pending = gpuval_lvp_pending(gpuval);
   simple_mtx_lock(&pending->mutex);
   struct hash_entry *entry = _mesa_hash_table_search(pending->created, pipeline_nir->nir);
   if (entry) {
      pipeline_nir->gpuval = entry->data;
      _mesa_hash_table_remove(pending->created, entry);
   }
   simple_mtx_unlock(&pending->mutex);
}

void
gpuval_lvp_release_shader(struct gpuval_shader *shader)
{
   gpuval_shader_release(shader);
}

void
gpuval_lvp_write_shader(struct gpuval_lvp *gpuval, const struct lvp_pipeline_nir *pipeline_nir,
                        struct blob *blob)
{
   gpuval_device_write_shader(gpuval_lvp_device(gpuval), pipeline_nir->gpuval,
                              get_selection(pipeline_nir->nir).is_unmarked, blob);
}

bool
gpuval_lvp_read_shader(struct gpuval_lvp *gpuval, const nir_shader *nir, struct blob_reader *blob)
{
   struct gpuval_shader *shader;
   bool read = gpuval_device_read_shader(gpuval_lvp_device(gpuval), blob, &shader);

   add_created(gpuval, nir, shader);
   return read;
}
