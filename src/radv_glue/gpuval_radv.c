/* SPDX-License-Identifier: MIT */

#include "gpuval_radv_private.h"

#include "radv_buffer.h"
#include "radv_descriptor_set.h"
#include "radv_device.h"
#include "radv_instance.h"
#include "radv_physical_device.h"
#include "radv_shader.h"
#include "radv_shader_args.h"

#include "gpuval/src/core/gpuval_dump.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"
#include "spirv/nir_spirv.h"
#include "util/u_atomic.h"
#include "vk_pipeline.h"
#include "vk_shader_module.h"

/* Video memory that the host sees may be 256 MiB in all: fewer than elsewhere. */
#define MAX_SITES   (1u << 20)
#define MAX_ENTRIES (1u << 20)

/* Device */

struct gpuval_radv *
gpuval_radv_create(struct radv_device *device)
{
   const struct radv_physical_device *pdev = radv_device_physical(device);

   if (!gpuval_options()->checks)
      return NULL;
   if (pdev->use_llvm) {
      gpuval_log_warning("RADV checks what ACO compiles, not LLVM: nothing is checked");
      return NULL;
   }

   struct gpuval_radv *gpuval = rzalloc(NULL, struct gpuval_radv);
   if (!gpuval)
      return NULL;

   gpuval->radv = device;
   gpuval_winsys_radv_init(&gpuval->winsys, device);
   gpuval->device = gpuval_device_create(&(struct gpuval_device_info){
      .vk = &device->vk,
      .winsys = gpuval->winsys.base,
      .max_sites = MAX_SITES,
      .max_entries = MAX_ENTRIES,
      .clear_when_idle = true,
      .describe_command = gpuval_radv_describe_command,
      .wait_for_work = gpuval_radv_wait_for_work,
      .data = gpuval,
   });
   if (!gpuval->device) {
      gpuval_winsys_radv_finish(&gpuval->winsys);
      ralloc_free(gpuval);
      return NULL;
   }

   static uint32_t devices;
   gpuval->nonce =
      (uint64_t)p_atomic_inc_return(&devices) << 32 ^ os_time_get_nano() ^ (uint64_t)getpid() << 48;
   simple_mtx_init(&gpuval->mutex, mtx_plain);
   gpuval->next = device->vk.dispatch_table;
   gpuval_radv_init_commands(gpuval);
   gpuval_radv_init_submits(gpuval);
   gpuval_radv_hook_commands(gpuval, &device->vk.dispatch_table);
   gpuval_radv_init_sync(gpuval, &device->vk.dispatch_table);
   gpuval->hooks.waited = gpuval_radv_look;
   gpuval->hooks.data = gpuval;
   gpuval_hooks_init(&gpuval->hooks, &device->vk, gpuval_options_sync() != 0);
   return gpuval;
}

void
gpuval_radv_destroy(struct gpuval_radv *gpuval)
{
   gpuval_radv_finish_submits(gpuval);
   gpuval_device_destroy(gpuval->device);
   gpuval_radv_finish_sync(gpuval);
   gpuval_hooks_finish(&gpuval->hooks);
   gpuval_radv_finish_commands(gpuval);
   gpuval_winsys_radv_finish(&gpuval->winsys);
   simple_mtx_destroy(&gpuval->mutex);
   gpuval->radv->gpuval = NULL;
   ralloc_free(gpuval);
}

void
gpuval_radv_add_buffer(struct gpuval_radv *gpuval, struct radv_buffer *buffer)
{
   gpuval_device_add_buffer(gpuval->device, &buffer->vk.base,
                            radv_buffer_get_va(buffer->bo) + buffer->offset, buffer->vk.size);
}

void
gpuval_radv_remove_buffer(struct gpuval_radv *gpuval, struct radv_buffer *buffer)
{
   gpuval_device_remove_buffer(gpuval->device, &buffer->vk.base);
}

/* Shaders */

static bool
is_checked(VkPipelineRobustnessBufferBehaviorEXT behavior)
{
   return behavior == VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT ||
          gpuval_options()->robust;
}

void
gpuval_radv_hash_device(const struct gpuval_radv *gpuval, struct mesa_sha1 *ctx)
{
   _mesa_sha1_update(ctx, &gpuval->nonce, sizeof(gpuval->nonce));
}

void
gpuval_radv_set_stage_key(struct gpuval_radv *gpuval,
                          const struct vk_pipeline_robustness_state *robustness,
                          struct radv_shader_stage_key *key)
{
   struct vk_pipeline_robustness_state of_device;

   if (!robustness) {
      vk_pipeline_robustness_state_fill(&gpuval->radv->vk, &of_device, NULL, NULL);
      robustness = &of_device;
   }
   key->gpuval_check_uniform = is_checked(robustness->uniform_buffers);
   key->gpuval_check_storage = is_checked(robustness->storage_buffers);
}

void
gpuval_radv_spirv_options(struct gpuval_radv *gpuval, bool is_internal,
                          struct spirv_to_nir_options *options)
{
   if (is_internal && !gpuval_options()->internal)
      return;

   options->debug_info = true;
   options->emit_assume = gpuval_nir_emit_assume;
   if (gpuval_options_may_check(GPUVAL_CHECK_PRINTF))
      options->emit_debug_printf = gpuval_nir_emit_printf;
}

void
gpuval_radv_warn_capture_replay(struct gpuval_radv *gpuval)
{
   if (!p_atomic_xchg(&gpuval->warned_capture_replay, 1))
      gpuval_log_warning("ray-tracing pipelines are captured or replayed: captures fit only "
                         "runs with the same checks, since these make other code");
}

struct layout_data {
   struct gpuval_radv_nir_layout base;
   const struct radv_shader_layout *layout;
};

static const struct radv_descriptor_set_binding_layout *
get_binding_layout(const struct radv_shader_layout *layout, uint32_t set, uint32_t binding)
{
   if (set >= layout->num_sets || !layout->set[set].layout ||
       binding >= layout->set[set].layout->binding_count)
      return NULL;

   return &layout->set[set].layout->binding[binding];
}

static enum gpuval_radv_binding
find_binding(const struct gpuval_radv_nir_layout *base, uint32_t set, uint32_t binding,
             uint32_t *size)
{
   const struct layout_data *data = container_of(base, const struct layout_data, base);
   const struct radv_descriptor_set_binding_layout *found =
      get_binding_layout(data->layout, set, binding);

   *size = 0;
   if (!found || !found->array_size)
      return GPUVAL_RADV_BINDING_NONE;
   if (found->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
      *size = found->size;
      return GPUVAL_RADV_BINDING_INLINE;
   }
   return vk_descriptor_type_is_dynamic(found->type) ? GPUVAL_RADV_BINDING_DYNAMIC
                                                     : GPUVAL_RADV_BINDING_SET;
}

static struct gpuval_binding *
describe_bindings(void *mem_ctx, const struct radv_shader_layout *layout, unsigned *count)
{
   struct util_dynarray bindings;
   util_dynarray_init(&bindings, mem_ctx);

   for (unsigned set = 0; set < layout->num_sets; set++) {
      const struct radv_descriptor_set_layout *set_layout = layout->set[set].layout;

      for (unsigned i = 0; set_layout && i < set_layout->binding_count; i++) {
         const struct radv_descriptor_set_binding_layout *binding = &set_layout->binding[i];
         if (!binding->array_size)
            continue;

         struct gpuval_binding described = {
            .set = set,
            .binding = i,
            .type = binding->type,
            .first_slot = binding->offset,
            .array_size = binding->array_size,
            .stride = binding->size,
         };
         if (vk_descriptor_type_is_dynamic(binding->type)) {
            uint32_t number =
               layout->set[set].dynamic_offset_start + binding->dynamic_offset_offset;
            described.first_slot = GPUVAL_RADV_DYNAMIC | (layout->push_constant_size + number * 16);
            described.stride = 16;
         } else if (binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
            described.array_size = 1;
         }
         util_dynarray_append(&bindings, struct gpuval_binding, described);
      }
   }

   *count = util_dynarray_num_elements(&bindings, struct gpuval_binding);
   return util_dynarray_begin(&bindings);
}

/* What the reports' words for the invocation need, lowered as RADV has lowered
 * the shader's own.
 */
static void
lower_invocation(nir_shader *nir, const nir_lower_compute_system_values_options *system_values)
{
   bool reads_pixel_coord = BITSET_TEST(nir->info.system_values_read, SYSTEM_VALUE_PIXEL_COORD);

   NIR_PASS(_, nir, nir_lower_compute_system_values, system_values);
   nir_shader_gather_info(nir, nir_shader_get_entrypoint(nir));
   nir->info.gpuval_pixel_coord = !reads_pixel_coord;
}

void
gpuval_radv_instrument(struct gpuval_radv *gpuval, const struct radv_shader_stage *stage,
                       nir_shader *nir,
                       const nir_lower_compute_system_values_options *system_values)
{
   if (nir->info.internal && !gpuval_options()->internal)
      return;

   const uint32_t *spirv = (const uint32_t *)stage->spirv.data;
   uint64_t hash = gpuval_shader_hash(spirv, stage->spirv.size);

   struct layout_data data = {
      .base =
         {
            .find = find_binding,
            .texels_in_bytes = radv_device_physical(gpuval->radv)->info.gfx_level == GFX8,
         },
      .layout = &stage->layout,
   };
   struct gpuval_nir_options options = {
      .driver = &gpuval_radv_nir_driver,
      .data = &data.base,
      .checks = gpuval_options_shader_checks(gpuval_options(), hash),
      .robust_uniform = !stage->key.gpuval_check_uniform,
      .robust_storage = !stage->key.gpuval_check_storage,
      .safe = gpuval_options()->safe,
      .spirv = spirv,
      .spirv_size = stage->spirv.size,
      .shader_hash = hash,
      .printf_invocation = gpuval_options()->printf_prefix,
   };
   /* RADV does not record its own barriers as an application's. */
   if (nir->info.internal)
      options.checks &=
         ~(BITFIELD_BIT(GPUVAL_CHECK_SYNC) | BITFIELD_BIT(GPUVAL_CHECK_SYNC_COMPUTE));

   void *mem_ctx = ralloc_context(NULL);
   struct gpuval_nir_table table;
   gpuval_nir_table_init(&table, mem_ctx);

   uint32_t number = gpuval_dump_begin();
   gpuval_dump_shader(nir, hash, number, "before");
   gpuval_nir_instrument(nir, &options, &table);
   gpuval_dump_shader(nir, hash, number, "after");
   gpuval_dump_formats(nir, hash, number, &table);

   if (table.sites.size) {
      struct gpuval_shader_info info = {
         .spirv = spirv,
         .spirv_size = stage->spirv.size,
         .stage = nir->info.stage,
         .entry = stage->entrypoint,
         .name = stage->spirv.object ? stage->spirv.object->object_name : NULL,
      };
      info.bindings = describe_bindings(mem_ctx, &stage->layout, &info.num_bindings);

      uint8_t key[GPUVAL_SHADER_KEY_SIZE];
      uint32_t entry_base;
      if (gpuval_device_add_shader(gpuval->device, &info, &table, key, &entry_base))
         gpuval_nir_rebase(nir, entry_base);
      else
         gpuval_nir_remove(nir);
      lower_invocation(nir, system_values);
   }

   ralloc_free(mem_ctx);
}

static struct gpuval_radv_nir_args
get_args(const struct gpuval_radv *gpuval, const struct radv_shader_stage *stage)
{
   const struct ac_arg *push_constants = &stage->args.ac.push_constants;

   assert(stage->args.descriptor_sets[0].used);
   return (struct gpuval_radv_nir_args){
      .sets = stage->args.descriptor_sets[0].arg_index,
      .push_constants = push_constants->used ? push_constants->arg_index : -1,
      .address32_hi = radv_device_physical(gpuval->radv)->info.address32_hi,
      .command_offset = MAX_SETS * sizeof(uint32_t),
      .hashes = gpuval_options()->bloom_hashes,
   };
}

/* What RADV uses internally is compiled without us as a rule, and may have no table. */
static bool
has_intrinsic(const nir_shader *nir, const nir_intrinsic_op *ops, unsigned num_ops)
{
   nir_foreach_block (block, nir_shader_get_entrypoint(nir)) {
      nir_foreach_instr (instr, block) {
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         for (unsigned i = 0; i < num_ops; i++) {
            if (nir_instr_as_intrinsic(instr)->intrinsic == ops[i])
               return true;
         }
      }
   }
   return false;
}

static const nir_intrinsic_op queries[] = {
   nir_intrinsic_load_descriptor_gpuval,
   nir_intrinsic_load_command_gpuval,
   nir_intrinsic_invocation_gpuval,
};

static const nir_intrinsic_op reports[] = {
   nir_intrinsic_report_gpuval,
   nir_intrinsic_sync_gpuval,
   nir_intrinsic_printf_gpuval,
};

bool
gpuval_radv_needs_table(const nir_shader *nir)
{
   if (!nir->info.internal)
      return true;

   return gpuval_options()->internal && (has_intrinsic(nir, queries, ARRAY_SIZE(queries)) ||
                                         has_intrinsic(nir, reports, ARRAY_SIZE(reports)));
}

void
gpuval_radv_lower_queries(struct gpuval_radv *gpuval, struct radv_shader_stage *stage)
{
   if (!has_intrinsic(stage->nir, queries, ARRAY_SIZE(queries)))
      return;

   const struct gpuval_radv_nir_args args = get_args(gpuval, stage);
   NIR_PASS(_, stage->nir, gpuval_radv_nir_lower_queries, &args);
}

void
gpuval_radv_lower_reports(struct gpuval_radv *gpuval, struct radv_shader_stage *stage)
{
   if (!has_intrinsic(stage->nir, reports, ARRAY_SIZE(reports)))
      return;

   const struct gpuval_radv_nir_args args = get_args(gpuval, stage);
   NIR_PASS(_, stage->nir, gpuval_radv_nir_lower_reports, &args);
}
