/* SPDX-License-Identifier: MIT */

#include "gpuval_instrument.h"
#include "core/memory/gpuval_cells.h"
#include "core/memory/gpuval_marks.h"
#include "gpuval_dump.h"
#include "gpuval_shader.h"

#include "gpuval/src/compat/gpuval_locations.h"
#include "report/gpuval_report.h"
#include "spirv/nir_spirv.h"
#include "util/ralloc.h"
#include "vk_device.h"
#include "vk_physical_device.h"

void
gpuval_spirv_options(struct spirv_to_nir_options *options)
{
   gpuval_want_locations(options, gpuval_options_may_check(GPUVAL_CHECK_CONVERGE)
                                     ? gpuval_nir_wants_derivatives
                                     : gpuval_nir_wants_location);
   options->emit_assume = gpuval_nir_emit_assume;
   options->finish = gpuval_nir_name_calls;
   if (gpuval_options_may_check(GPUVAL_CHECK_ARRAY) ||
       gpuval_options_may_check(GPUVAL_CHECK_ARITHMETIC) ||
       gpuval_options_may_check(GPUVAL_CHECK_UNDEFINED) ||
       gpuval_options_may_check(GPUVAL_CHECK_NAN))
      options->emit_operation = gpuval_nir_emit_operation;
   if (gpuval_options_may_check(GPUVAL_CHECK_COVERAGE))
      options->emit_block = gpuval_nir_emit_block;
   options->emit_debug_break |= gpuval_options_may_check(GPUVAL_CHECK_ASSERT);
   if (gpuval_options_may_check(GPUVAL_CHECK_PRINTF))
      options->emit_debug_printf = gpuval_nir_emit_printf;
}

bool
gpuval_is_robust(VkPipelineRobustnessBufferBehaviorEXT behavior)
{
   return behavior != VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT &&
          !gpuval_options()->robust;
}

bool
gpuval_is_robust_image(VkPipelineRobustnessImageBehaviorEXT behavior)
{
   return behavior != VK_PIPELINE_ROBUSTNESS_IMAGE_BEHAVIOR_DISABLED_EXT &&
          !gpuval_options()->robust;
}

static struct gpuval_shader *
register_table(struct gpuval_device *device, const nir_shader *nir,
               const struct gpuval_instrument_info *info, const struct gpuval_nir_table *table,
               uint8_t key[GPUVAL_SHADER_KEY_SIZE])
{
   struct util_dynarray bindings;
   util_dynarray_init(&bindings, table->mem_ctx);
   info->describe_bindings(info->driver, &bindings);

   const struct gpuval_shader_info shader = {
      .spirv = info->spirv,
      .spirv_size = info->spirv_size,
      .hash = info->shader_hash,
      .stage = nir->info.stage,
      .entry = info->entry,
      .name = info->name,
      .bindings = util_dynarray_begin(&bindings),
      .num_bindings = util_dynarray_num_elements(&bindings, struct gpuval_binding),
   };
   return gpuval_device_add_shader(device, &shader, table, key);
}

static void
warn_of_shared(struct gpuval_device *device)
{
   mtx_lock(&device->mutex);
   if (!device->shaders->warned_of_shared)
      gpuval_log_warning("shared: a shader's shared memory leaves no room for what is to be kept "
                         "of it: it is not checked");
   device->shaders->warned_of_shared = true;
   gpuval_device_unlock(device);
}

/* Nobody knows any more what has been written. */
static void
give_up_marks(struct gpuval_device *device, const struct gpuval_instrument_info *info)
{
   gpuval_marks_give_up(device);
   if (info->is_unmarked)
      *info->is_unmarked = true;
}

bool
gpuval_device_instrument(struct gpuval_device *device, nir_shader *nir,
                         const struct gpuval_instrument_info *info,
                         uint8_t key[GPUVAL_SHADER_KEY_SIZE], struct gpuval_shader **shader)
{
   struct gpuval_nir_options options = {
      .driver = info->driver,
      .checks = info->checks,
      .robust_uniform = info->robust_uniform,
      .robust_storage = info->robust_storage,
      .robust_image = info->robust_image,
      .safe = gpuval_options()->safe,
      .loop_limit = gpuval_options()->loop_limit,
      .shadow = gpuval_device_has_shadow(device),
      .filter_beside = gpuval_device_has_cells(device),
      .marks_written = info->spirv && gpuval_options_may_check(GPUVAL_CHECK_INIT),
      .spirv = info->spirv,
      .spirv_size = info->spirv_size,
      .shader_hash = info->shader_hash,
      .printf_invocation = gpuval_options()->printf_prefix,
   };
   if (device->info.vk) {
      const struct vk_properties *properties = &device->info.vk->physical->properties;
      memcpy(options.max_mesh_workgroups, properties->maxMeshWorkGroupCount,
             sizeof(options.max_mesh_workgroups));
      options.max_mesh_workgroups_total = properties->maxMeshWorkGroupTotalCount;
   }
   void *mem_ctx = ralloc_context(NULL);
   struct gpuval_nir_table table;
   gpuval_nir_table_init(&table, mem_ctx);

   uint32_t number = gpuval_dump_begin();
   gpuval_dump_spirv(info->spirv, info->spirv_size, info->shader_hash);
   gpuval_dump_shader(nir, info->shader_hash, number, "before");
   gpuval_dump_graph(nir, info->shader_hash, number, "before");
   gpuval_nir_instrument(nir, &options, &table);
   if (table.shared_is_full)
      warn_of_shared(device);
   if (table.writes_unknown)
      give_up_marks(device, info);
   gpuval_dump_shader(nir, info->shader_hash, number, "after");
   gpuval_dump_graph(nir, info->shader_hash, number, "after");
   gpuval_dump_formats(nir, info->shader_hash, number, &table);

   bool has_sites = table.sites.size > 0;
   *shader = has_sites ? register_table(device, nir, info, &table, key) : NULL;
   if (has_sites && !*shader) {
      gpuval_nir_remove(nir);
      give_up_marks(device, info); /* it would have marked what it writes */
   } else if (info->checks) {
      gpuval_report_add_shader(info->shader_hash, nir->info.stage);
   }

   ralloc_free(mem_ctx);
   return has_sites;
}

void
gpuval_count_shader(uint64_t hash, mesa_shader_stage stage)
{
   gpuval_report_add_shader(hash, stage);
}
