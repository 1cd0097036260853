/* SPDX-License-Identifier: MIT */

/* Shaders while RADV compiles them */

#include "gpuval_radv_private.h"

#include "gpuval/src/compat/gpuval_radv_driver.h"
#include "nir/radv_nir.h"
#include "radv_device.h"
#include "radv_physical_device.h"
#include "radv_shader.h"
#include "radv_shader_args.h"

#include "gpuval/src/core/descriptors/gpuval_objects.h"
#include "gpuval/src/core/memory/gpuval_marks.h"
#include "gpuval/src/core/shaders/gpuval_instrument.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"
#include "gpuval/src/nir_passes/gpuval_nir_cf.h"
#include "util/set.h"
#include "util/u_atomic.h"
#include "vk_pipeline.h"
#include "vk_shader_module.h"

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
   key->gpuval = BITFIELD_BIT(GPUVAL_RADV_IS_CHECKED) |
                 !gpuval_is_robust(robustness->uniform_buffers) << GPUVAL_RADV_UNDEFINED_UNIFORM |
                 !gpuval_is_robust(robustness->storage_buffers) << GPUVAL_RADV_UNDEFINED_STORAGE |
                 !gpuval_is_robust_image(robustness->images) << GPUVAL_RADV_UNDEFINED_IMAGE;
}

void
gpuval_radv_spirv_options(struct gpuval_radv *gpuval, bool is_internal,
                          struct spirv_to_nir_options *options)
{
   if (is_internal && !gpuval_options()->internal)
      return;

   gpuval_spirv_options(options);
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
   bool is_chosen_late; /* the GPU may choose the shader */
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

static void
describe_binding(const struct gpuval_radv_nir_layout *base, uint32_t set, uint32_t number,
                 struct gpuval_nir_binding *out)
{
   const struct layout_data *data = container_of(base, const struct layout_data, base);
   const struct radv_shader_layout *layout = data->layout;
   const struct radv_descriptor_set_binding_layout *binding =
      get_binding_layout(layout, set, number);

   *out = (struct gpuval_nir_binding){.is_unknown = true};
   if (!binding || !binding->array_size ||
       binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK ||
       layout->set[set].layout->flags & VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT)
      return;

   *out = (struct gpuval_nir_binding){
      .first_slot = binding->offset,
      .stride = binding->size,
      .count = binding->array_size,
      .is_variable = layout->set[set].layout->has_variable_descriptors &&
                     number == layout->set[set].layout->binding_count - 1,
      .is_late =
         data->is_chosen_late || layout->set[set].layout->flags &
                                    VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT,
   };
   if (vk_descriptor_type_is_dynamic(binding->type)) {
      uint32_t index = layout->set[set].dynamic_offset_start + binding->dynamic_offset_offset;
      out->first_slot = GPUVAL_RADV_DYNAMIC | (gpuval_radv_dynamic_offset(layout) + index * 16);
      out->stride = 16;
   }
}

static void
describe_bindings(const struct gpuval_nir_driver *driver, struct util_dynarray *bindings)
{
   const struct radv_shader_layout *layout =
      container_of(driver->data, const struct layout_data, base)->layout;

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
            .is_variable =
               set_layout->has_variable_descriptors && i == set_layout->binding_count - 1,
         };
         if (vk_descriptor_type_is_dynamic(binding->type)) {
            uint32_t number =
               layout->set[set].dynamic_offset_start + binding->dynamic_offset_offset;
            described.first_slot =
               GPUVAL_RADV_DYNAMIC | (gpuval_radv_dynamic_offset(layout) + number * 16);
            described.stride = 16;
         } else if (binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
            described.array_size = 1;
         }
         util_dynarray_append_typed(bindings, struct gpuval_binding, described);
      }
   }
}

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

/* What the reports' words for the invocation need, lowered as RADV has lowered
 * the shader's own.
 */
static void
lower_invocation(nir_shader *nir, const nir_lower_compute_system_values_options *system_values)
{
   /* Where fragments of 2x2 pixels run as one, three do not print. */
   const nir_intrinsic_op print = nir_intrinsic_printf_gpuval;
   bool reads_pixel_coord = BITSET_TEST(nir->info.system_values_read, SYSTEM_VALUE_PIXEL_COORD) ||
                            has_intrinsic(nir, &print, 1);

   NIR_PASS(_, nir, nir_lower_compute_system_values, system_values);
   nir_shader_gather_info(nir, nir_shader_get_entrypoint(nir));
   nir->info.gpuval_pixel_coord = !reads_pixel_coord;
}

static const char *
get_name(const struct radv_shader_stage *stage)
{
   return stage->spirv.object ? stage->spirv.object->object_name : NULL;
}

/* Those of one shader */
static uint32_t
get_checks(const struct gpuval_radv *gpuval, const struct radv_shader_stage *stage,
           const nir_shader *nir, uint64_t hash)
{
   if (nir->info.internal && !gpuval_options()->internal)
      return 0;

   uint32_t checks = gpuval_options_shader_checks(gpuval_options(), hash, get_name(stage)) &
                     ~gpuval->broken_checks;
   /* RADV does not record its own barriers as an application's. */
   if (nir->info.internal)
      checks &= ~(BITFIELD_BIT(GPUVAL_CHECK_SYNC) | BITFIELD_BIT(GPUVAL_CHECK_SYNC_COMPUTE) |
                  BITFIELD_BIT(GPUVAL_CHECK_COVERAGE));
   return checks;
}

/* What passes need to know before the hook */
static struct gpuval_nir_options
get_early_options(const struct gpuval_radv *gpuval, const struct radv_shader_stage *stage,
                  const nir_shader *nir)
{
   uint64_t hash = gpuval_shader_hash((const uint32_t *)stage->spirv.data, stage->spirv.size);

   return (struct gpuval_nir_options){
      .driver = &gpuval_radv_nir_driver,
      .checks = get_checks(gpuval, stage, nir, hash),
      .safe = gpuval_options()->safe,
   };
}

void
gpuval_radv_instrument_early(struct gpuval_radv *gpuval, const struct radv_shader_stage *stage,
                             nir_shader *nir)
{
   const struct gpuval_nir_options options = get_early_options(gpuval, stage, nir);
   gpuval_nir_instrument_early(nir, &options);
}

void
gpuval_radv_note_assignments(struct gpuval_radv *gpuval, const struct radv_shader_stage *stage,
                             nir_shader *nir)
{
   if (!gpuval_options_may_check(GPUVAL_CHECK_EXPORT))
      return;

   const struct gpuval_nir_options options = get_early_options(gpuval, stage, nir);
   gpuval_nir_note_assignments(nir, &options);
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
            .describe = describe_binding,
            .null_structure = gpuval->null_structure,
            .address32_hi = radv_device_physical(gpuval->radv)->info.address32_hi,
            .texels_in_bytes = radv_device_physical(gpuval->radv)->info.gfx_level == GFX8,
            .max_shared_size = radv_device_physical(gpuval->radv)->max_shared_size,
         },
      .is_chosen_late = stage->key.indirect_bindable,
      .layout = &stage->layout,
   };
   for (unsigned i = 0; i < stage->layout.num_sets; i++) {
      const struct radv_descriptor_set_layout *set = stage->layout.set[i].layout;
      if (set && set->ycbcr_sampler_offsets_offset)
         data.base.sets_with_conversions |= BITFIELD_BIT(i);
   }

   struct gpuval_nir_driver driver = gpuval_radv_nir_driver;
   driver.data = &data.base;
   if (!gpuval_device_objects(gpuval->device)) {
      driver.descriptors = NULL;
      driver.extent = NULL;
   }
   if (!gpuval_options_sync())
      driver.strides = NULL;
   driver.has_marks = gpuval_device_has_marks(gpuval->device);
   driver.has_debug_break = gpuval->radv->trap_handler_shader != NULL;
   bool is_unmarked = false;
   struct gpuval_instrument_info info = {
      .driver = &driver,
      .describe_bindings = describe_bindings,
      .spirv = spirv,
      .spirv_size = stage->spirv.size,
      .shader_hash = hash,
      .entry = stage->entrypoint,
      .name = get_name(stage),
      .checks = get_checks(gpuval, stage, nir, hash),
      .robust_uniform = !(stage->key.gpuval & BITFIELD_BIT(GPUVAL_RADV_UNDEFINED_UNIFORM)),
      .robust_storage = !(stage->key.gpuval & BITFIELD_BIT(GPUVAL_RADV_UNDEFINED_STORAGE)),
      .robust_image = !(stage->key.gpuval & BITFIELD_BIT(GPUVAL_RADV_UNDEFINED_IMAGE)),
      .is_unmarked = &is_unmarked,
   };
   data.base.looks_up = info.checks & BITFIELD_BIT(GPUVAL_CHECK_DESCRIPTOR);
   if (nir->info.internal)
      driver.descriptors = NULL;

   struct gpuval_shader *shader;
   static_assert(sizeof(nir->info.source_blake3) >= GPUVAL_SHADER_KEY_SIZE,
                 "nothing but debugging uses it");
   bool has_checks =
      gpuval_device_instrument(gpuval->device, nir, &info, nir->info.source_blake3, &shader);
   gpuval_radv_select(nir, (shader != NULL) << GPUVAL_RADV_HAS_TABLE |
                              (info.checks != 0) << GPUVAL_RADV_IS_COUNTED |
                              is_unmarked << GPUVAL_RADV_IS_UNMARKED |
                              (has_checks && !shader) << GPUVAL_RADV_IS_LEFT_OUT);
   if (shader) {
      if (gpuval_radv_stays(nir->info.stage))
         gpuval_nir_rebase(nir, gpuval_shader_entry_base(shader));
      gpuval_radv_registered(shader);
   }
   if (has_checks)
      lower_invocation(nir, system_values);
}

static const nir_variable *
query_of(const nir_intrinsic_instr *intrin)
{
   return gpuval_nir_find_variable(nir_src_as_deref(intrin->src[0]));
}

static bool
note_initialized(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   const nir_variable *query =
      intrin->intrinsic == nir_intrinsic_rq_initialize ? query_of(intrin) : NULL;
   if (query)
      _mesa_set_add(data, query);
   return false;
}

static bool
drop_uninitialized(nir_builder *b, nir_intrinsic_instr *intrin, void *data)
{
   switch (intrin->intrinsic) {
   case nir_intrinsic_rq_confirm_intersection:
   case nir_intrinsic_rq_generate_intersection:
   case nir_intrinsic_rq_load:
   case nir_intrinsic_rq_proceed:
   case nir_intrinsic_rq_terminate:
      break;
   default:
      return false;
   }
   const nir_variable *query = query_of(intrin);
   if (!query || _mesa_set_search(data, query))
      return false;

   b->cursor = nir_before_instr(&intrin->instr);
   if (nir_intrinsic_infos[intrin->intrinsic].has_dest)
      nir_def_rewrite_uses(&intrin->def,
                           nir_imm_zero(b, intrin->def.num_components, intrin->def.bit_size));
   nir_instr_remove(&intrin->instr);
   return true;
}

/* nir_opt_ray_query_ranges crashes where a query is initialized nowhere. The check ray has
 * reported what is done with it.
 */
static void
drop_uninitialized_queries(nir_shader *nir)
{
   struct set *initialized = _mesa_pointer_set_create(NULL);

   nir_shader_intrinsics_pass(nir, note_initialized, nir_metadata_all, initialized);
   nir_shader_intrinsics_pass(nir, drop_uninitialized, nir_metadata_control_flow, initialized);
   _mesa_set_destroy(initialized, NULL);
}

/* The checks have seen queries; the loads of a traversal are none of the application's. */
void
gpuval_radv_lower_ray_queries(struct gpuval_radv *gpuval, nir_shader *nir)
{
   drop_uninitialized_queries(nir);
   NIR_PASS(_, nir, nir_opt_ray_queries);
   NIR_PASS(_, nir, nir_opt_ray_query_ranges);
   NIR_PASS(_, nir, radv_nir_lower_ray_queries, gpuval->radv);

   NIR_PASS(_, nir, nir_lower_global_vars_to_local);
   NIR_PASS(_, nir, nir_lower_vars_to_ssa);
   NIR_PASS(_, nir, nir_remove_dead_variables, nir_var_function_temp, NULL);
   NIR_PASS(_, nir, nir_lower_load_const_to_scalar);
   radv_optimize_nir(nir, false);
   nir_shader_gather_info(nir, nir_shader_get_entrypoint(nir));
}

static struct gpuval_radv_nir_args
get_args(const struct gpuval_radv *gpuval, const struct radv_shader_stage *stage)
{
   const struct ac_arg *dynamic = gpuval_radv_dynamic_arg(&stage->args);
   /* Where sets are passed directly, it has an argument of its own. */
   const struct ac_arg *table = stage->args.gpuval_table.used ? &stage->args.gpuval_table
                                                              : gpuval_radv_sets_arg(&stage->args);

   const struct gpuval_objects *objects = gpuval_device_objects(gpuval->device);
   assert(stage->args.user_sgprs_locs.shader_data[GPUVAL_RADV_TABLE_OF_SETS].sgpr_idx != -1);
   return (struct gpuval_radv_nir_args){
      .sets = table->arg_index,
      .push_constants = dynamic->used ? dynamic->arg_index : -1,
      .address32_hi = radv_device_physical(gpuval->radv)->info.address32_hi,
      .data_size = gpuval_radv_data_size(gpuval),
      .hashes = gpuval_options_hashes(GPUVAL_RADV_HASHES),
      .objects_address = objects ? gpuval_objects_address(objects) : 0,
      .stand_in = gpuval->stand_in,
      .swaps = gpuval->swaps,
      .records_first = gpuval_options()->record == GPUVAL_RECORD_AUTO,
      .has_shadow = gpuval_device_has_shadow(gpuval->device),
      .is_relocated = !gpuval_radv_stays(stage->stage),
   };
}

static const nir_intrinsic_op queries[] = {
   nir_intrinsic_load_descriptor_gpuval,
   nir_intrinsic_load_command_gpuval,
   nir_intrinsic_call_gpuval,
   nir_intrinsic_pick_gpuval,
};

static const nir_intrinsic_op reports[] = {
   nir_intrinsic_check_address_gpuval, nir_intrinsic_has_bits_gpuval,
   nir_intrinsic_report_gpuval,        nir_intrinsic_sync_gpuval,
   nir_intrinsic_printf_gpuval,        nir_intrinsic_invocation_gpuval,
};

bool
gpuval_radv_needs_table(const nir_shader *nir)
{
   /* gpuval_radv_nir_stand_in() comes after this. */
   if (gpuval_options()->safe && gpuval_options_may_check(GPUVAL_CHECK_DESCRIPTOR) &&
       !nir->info.internal)
      return true;

   return has_intrinsic(nir, queries, ARRAY_SIZE(queries)) ||
          has_intrinsic(nir, reports, ARRAY_SIZE(reports));
}

void
gpuval_radv_edit_culled_part(struct exec_list *part)
{
   gpuval_nir_remove_reports_in_list(part);
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
