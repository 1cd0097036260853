/* SPDX-License-Identifier: MIT */

/* Descriptors of RADV and their shadows, as the passes see them. Sets and shadows:
 * gpuval_radv_sets.h
 *
 * When a shader is instrumented, the sets of an access are constants. The functions of
 * checks and reports come later, when the shader's arguments are known, and may look for
 * any set.
 */

#include "gpuval_radv_nir.h"

#include "gpuval/src/base/gpuval_init.h"
#include "gpuval/src/base/gpuval_options.h"
#include "gpuval/src/nir_passes/gpuval_nir.h"
#include "gpuval_radv_sets.h"

#define FIELD(name) offsetof(struct gpuval_radv_command_data, name)

/* Of command data, at an offset */
typedef nir_def *(*load_word_func)(const struct gpuval_nir_driver *driver, nir_builder *b,
                                   nir_def *offset);

static nir_def *
load_word(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *offset)
{
   return nir_load_command_gpuval(b, .base = nir_scalar_as_uint(nir_get_scalar(offset, 0)));
}

static nir_def *
load_word_late(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *offset)
{
   const struct gpuval_radv_nir_args *args = driver->data;
   nir_scalar scalar = nir_get_scalar(offset, 0);
   nir_def *constant = nir_scalar_is_const(scalar)
                          ? gpuval_radv_nir_constant(b, args, nir_scalar_as_uint(scalar))
                          : NULL;
   if (constant)
      return constant;

   nir_def *table = nir_load_scalar_arg_amd(b, 1, .base = args->sets);
   nir_def *data = nir_pack_64_2x32_split(b, nir_iadd_imm(b, table, -(int64_t)args->data_size),
                                          nir_imm_int(b, args->address32_hi));

   return gpuval_load_smem(b, 1, data, offset, 4);
}

static nir_def *
load_constant(nir_builder *b, nir_def *address, unsigned components)
{
   return nir_build_load_global(b, components, 32, address,
                                .access = ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER,
                                .align_mul = components == 1 ? 4 : 16);
}

static nir_def *
extend(nir_builder *b, nir_def *pointer, uint32_t address32_hi)
{
   return nir_pack_64_2x32_split(b, pointer, nir_imm_int(b, address32_hi));
}

static nir_def *
build_objects_address(const struct gpuval_nir_driver *driver, nir_builder *b, load_word_func load)
{
   nir_def *lo = load(driver, b, nir_imm_int(b, GPUVAL_RADV_OBJECTS_LO));
   return nir_pack_64_2x32_split(b, lo, load(driver, b, nir_imm_int(b, GPUVAL_RADV_OBJECTS_HI)));
}

static nir_def *
get_shadow(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set,
           load_word_func load)
{
   nir_def *offset =
      nir_scalar_is_const(nir_get_scalar(set, 0))
         ? nir_imm_int(b, FIELD(shadows) +
                             gpuval_radv_shadow(nir_scalar_as_uint(nir_get_scalar(set, 0))) * 4)
         : nir_isub_imm(b, FIELD(shadows) + gpuval_radv_shadow(0) * 4, nir_ishl_imm(b, set, 2));
   return load(driver, b, offset);
}

/* 1 bit: is @shadow, of a set or of dynamic buffers, no stand-in? */
static nir_def *
is_known(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *shadow,
         load_word_func load)
{
   nir_def *stand_in = load(driver, b, nir_imm_int(b, GPUVAL_RADV_STAND_IN));
   return nir_ine(b, shadow, nir_iadd_imm(b, stand_in, GPUVAL_RADV_STAND_IN_BYTES));
}

/* @offset, which may be negative, is from the beginning of the shadow; where there is none,
 * something is loaded.
 */
static nir_def *
load_shadow(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *shadow,
            nir_def *offset, uint32_t address32_hi, unsigned components, load_word_func load)
{
   nir_def *address = nir_bcsel(b, is_known(driver, b, shadow, load),
                                extend(b, nir_iadd(b, shadow, offset), address32_hi),
                                build_objects_address(driver, b, load));
   return load_constant(b, address, components);
}

static nir_def *
build_load(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot,
           uint32_t address32_hi, load_word_func load)
{
   nir_def *shadow = get_shadow(driver, b, set, load);
   nir_def *dynamic = load(driver, b, nir_imm_int(b, FIELD(dynamic_shadow)));
   nir_def *is_dynamic = nir_ine_imm(b, nir_iand_imm(b, slot, GPUVAL_RADV_DYNAMIC), 0);

   return load_shadow(driver, b, nir_bcsel(b, is_dynamic, dynamic, shadow),
                      nir_iand_imm(b, slot, ~GPUVAL_RADV_DYNAMIC), address32_hi, 4, load);
}

static nir_def *
build_variable_count(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set,
                     uint32_t address32_hi, load_word_func load)
{
   const int offset = (int)offsetof(struct gpuval_radv_set_header, variable_count) -
                      (int)sizeof(struct gpuval_radv_set_header);

   return load_shadow(driver, b, get_shadow(driver, b, set, load), nir_imm_int(b, offset),
                      address32_hi, 1, load);
}

/* Late */

static nir_def *
late_objects_address(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return build_objects_address(driver, b, load_word_late);
}

static nir_def *
late_has_shadow(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set)
{
   return is_known(driver, b, get_shadow(driver, b, set, load_word_late), load_word_late);
}

static nir_def *
late_load(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   const struct gpuval_radv_nir_args *args = driver->data;
   return build_load(driver, b, set, slot, args->address32_hi, load_word_late);
}

static nir_def *
late_variable_count(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set)
{
   const struct gpuval_radv_nir_args *args = driver->data;
   return build_variable_count(driver, b, set, args->address32_hi, load_word_late);
}

/* What the table of objects has of the view in a descriptor: its second half, where the last two
 * words are its marks. All is 0 where nothing is known of it.
 */
static nir_def *
late_view(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set, nir_def *slot)
{
   const struct gpuval_radv_nir_args *args = driver->data;
   const int offset = (int)offsetof(struct gpuval_radv_set_header, size) -
                      (int)sizeof(struct gpuval_radv_set_header);
   nir_def *shadow = get_shadow(driver, b, set, load_word_late);
   nir_def *size =
      load_shadow(driver, b, shadow, nir_imm_int(b, offset), args->address32_hi, 1, load_word_late);
   nir_def *is_inside =
      nir_iand(b, nir_ult(b, slot, size), is_known(driver, b, shadow, load_word_late));
   nir_def *id = load_shadow(driver, b, shadow, nir_bcsel(b, is_inside, slot, nir_imm_int(b, 0)),
                             args->address32_hi, 1, load_word_late);
   nir_def *index = nir_iand_imm(b, id, BITFIELD_MASK(GPUVAL_RADV_OBJECT_INDEX_BITS));
   index = nir_bcsel(b, is_inside, index, nir_imm_int(b, 0));
   nir_def *address = nir_iadd(b, late_objects_address(driver, b),
                               nir_imul_imm(b, nir_u2u64(b, index), sizeof(struct gpuval_object)));

   nir_def *is_known =
      nir_iand(b, nir_ine_imm(b, index, 0), nir_ieq(b, load_constant(b, address, 1), id));
   return nir_bcsel(b, is_known, load_constant(b, nir_iadd_imm(b, address, 16), 4),
                    nir_imm_ivec4(b, 0, 0, 0, 0));
}

nir_def *
gpuval_radv_nir_levels(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set,
                       nir_def *slot)
{
   return nir_channel(b, late_view(driver, b, set, slot), 0);
}

nir_def *
gpuval_radv_nir_subresource(const struct gpuval_nir_driver *driver, nir_builder *b,
                            const struct gpuval_nir_subresource *subresource)
{
   nir_def *view = late_view(driver, b, subresource->set, subresource->slot);
   nir_def *lo = nir_channel(b, view, 2), *hi = nir_channel(b, view, 3);
   nir_def *root = driver->root_address(driver, b);
   nir_def *all_written = nir_build_load_global(
      b, 1, 32, nir_iadd_imm(b, root, offsetof(struct gpuval_root, all_written)),
      .access = ACCESS_COHERENT, .align_mul = 4);

   const unsigned shift = GPUVAL_OBJECT_LAYERS_SHIFT - 32;
   nir_def *top = nir_iadd_imm(b, nir_umax_imm(b, nir_ushr_imm(b, hi, shift), 1), -1);
   nir_def *layer = nir_umin(b, subresource->layer, top);
   nir_def *base =
      nir_pack_64_2x32_split(b, lo, nir_ishr_imm(b, nir_ishl_imm(b, hi, 32 - shift), 32 - shift));
   nir_def *offset = nir_iadd(b, nir_imul_imm(b, layer, GPUVAL_INIT_LAYER_SIZE),
                              nir_imul_imm(b, subresource->level, GPUVAL_INIT_LEVEL_SIZE));

   nir_def *is_there = nir_iand(b, nir_ine_imm(b, nir_ior(b, lo, hi), 0),
                                nir_ult(b, subresource->level, nir_channel(b, view, 0)));
   is_there = nir_iand(b, is_there, nir_ieq_imm(b, all_written, 0));
   return nir_bcsel(b, is_there, nir_iadd(b, base, nir_u2u64(b, offset)), nir_imm_int64(b, 0));
}

const struct gpuval_nir_descriptors gpuval_radv_nir_late_descriptors = {
   .object_index_bits = GPUVAL_RADV_OBJECT_INDEX_BITS,
   .load = late_load,
   .has_shadow = late_has_shadow,
   .variable_count = late_variable_count,
   .objects_address = late_objects_address,
};

/* When a shader is instrumented */

static void
find_binding(const struct gpuval_nir_driver *driver, uint32_t set, uint32_t binding,
             struct gpuval_nir_binding *out)
{
   const struct gpuval_radv_nir_layout *layout = driver->data;
   layout->describe(layout, set, binding, out);
}

static nir_def *
objects_address(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   return build_objects_address(driver, b, load_word);
}

nir_def *
gpuval_radv_nir_clamp(const struct gpuval_nir_driver *driver, nir_builder *b, uint32_t set,
                      nir_def *slot)
{
   const struct gpuval_radv_nir_layout *layout = driver->data;
   const int offset = (int)offsetof(struct gpuval_radv_set_header, size) -
                      (int)sizeof(struct gpuval_radv_set_header);
   nir_def *shadow = get_shadow(driver, b, nir_imm_int(b, set), load_word);
   nir_def *size =
      load_shadow(driver, b, shadow, nir_imm_int(b, offset), layout->address32_hi, 1, load_word);
   nir_def *inside =
      nir_ior(b, nir_ult(b, slot, size), nir_inot(b, is_known(driver, b, shadow, load_word)));

   return nir_bcsel(b, inside, slot, nir_imm_int(b, 0));
}

/* The stand-in of a shadow has room for so many slots. */
nir_def *
gpuval_radv_nir_load_constant(const struct gpuval_nir_driver *driver, nir_builder *b, uint32_t set,
                              uint32_t slot)
{
   const struct gpuval_radv_nir_layout *layout = driver->data;
   const uint32_t offset = slot & ~GPUVAL_RADV_DYNAMIC;

   if (offset > GPUVAL_RADV_STAND_IN_BYTES - sizeof(struct gpuval_descriptor))
      return NULL;

   nir_def *shadow = slot & GPUVAL_RADV_DYNAMIC
                        ? load_word(driver, b, nir_imm_int(b, FIELD(dynamic_shadow)))
                        : get_shadow(driver, b, nir_imm_int(b, set), load_word);
   return gpuval_load_smem(b, 4, extend(b, shadow, layout->address32_hi), nir_imm_int(b, offset),
                           16);
}

static nir_def *
load_id(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *id)
{
   nir_def *index = nir_iand_imm(b, id, BITFIELD_MASK(GPUVAL_RADV_OBJECT_INDEX_BITS));

   return gpuval_load_smem(b, 1, objects_address(driver, b),
                           nir_imul_imm(b, index, sizeof(struct gpuval_object)), 4);
}

/* The id of the object behind a descriptor, and the address of what is known of it. The
 * index may lead anywhere: what lies behind the set is not looked at. @field: of struct
 * gpuval_descriptor.
 */
static nir_def *
load_object(const struct gpuval_nir_driver *driver, nir_builder *b, uint32_t set, nir_def *slot,
            unsigned field, nir_def **address)
{
   const struct gpuval_radv_nir_layout *layout = driver->data;
   nir_def *shadow = get_shadow(driver, b, nir_imm_int(b, set), load_word);

   if (!nir_scalar_is_const(nir_get_scalar(slot, 0)))
      slot = gpuval_radv_nir_clamp(driver, b, set, slot);

   nir_def *id = load_shadow(driver, b, shadow, nir_iadd_imm(b, slot, field), layout->address32_hi,
                             1, load_word);
   id = nir_bcsel(b, is_known(driver, b, shadow, load_word), id, nir_imm_int(b, 0));
   nir_def *index = nir_iand_imm(b, id, BITFIELD_MASK(GPUVAL_RADV_OBJECT_INDEX_BITS));
   *address = nir_iadd(b, objects_address(driver, b),
                       nir_imul_imm(b, nir_u2u64(b, index), sizeof(struct gpuval_object)));
   return id;
}

void
gpuval_radv_nir_extent(const struct gpuval_nir_driver *driver, nir_builder *b, bool is_texture,
                       enum glsl_sampler_dim dim, uint32_t set, nir_def *slot, nir_def *level,
                       struct gpuval_nir_extent *out)
{
   nir_def *address;
   nir_def *id =
      load_object(driver, b, set, slot, offsetof(struct gpuval_descriptor, object), &address);
   nir_def *words[2] = {load_constant(b, address, 4),
                        load_constant(b, nir_iadd_imm(b, address, 16), 4)};
   nir_def *index = nir_iand_imm(b, id, BITFIELD_MASK(GPUVAL_RADV_OBJECT_INDEX_BITS));
   unsigned num_levelled = dim == GLSL_SAMPLER_DIM_3D ? 3 : dim == GLSL_SAMPLER_DIM_1D ? 1 : 2;

   *out = (struct gpuval_nir_extent){
      .levels = nir_channel(b, words[1], 0),
      .samples = nir_channel(b, words[1], 1),
      /* Else a null descriptor, none, or what was destroyed */
      .known = nir_iand(b, nir_ine_imm(b, index, 0), nir_ieq(b, nir_channel(b, words[0], 0), id)),
   };
   for (unsigned i = 0; i < 3; i++) {
      /* The layers of a 1D array are where the shader's coordinate has them. */
      unsigned source = dim == GLSL_SAMPLER_DIM_1D && i == 2 ? 1 : i;
      out->size[i] = nir_channel(b, words[0], 1 + source);
      if (is_texture && level && i < num_levelled)
         out->size[i] = nir_umax_imm(b, nir_ushr(b, out->size[i], nir_iand_imm(b, level, 31)), 1);
   }
}

/* As the table of objects has them behind it. */
void
gpuval_radv_nir_strides(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set,
                        nir_def *slot, struct gpuval_nir_strides *out)
{
   const int offset = sizeof(struct gpuval_object) << GPUVAL_RADV_OBJECT_INDEX_BITS;
   nir_def *address;

   load_object(driver, b, nir_scalar_as_uint(nir_get_scalar(set, 0)), slot,
               offsetof(struct gpuval_descriptor, object), &address);
   nir_def *first = load_constant(b, nir_iadd_imm(b, address, offset), 4);
   nir_def *rest = load_constant(b, nir_iadd_imm(b, address, offset + 16), 4);
   nir_def *hi = nir_channel(b, first, 1);

   *out = (struct gpuval_nir_strides){
      .address = nir_pack_64_2x32_split(b, nir_channel(b, first, 0), hi),
      .size = nir_channel(b, first, 2),
      .row = nir_channel(b, first, 3),
      .layer = nir_channel(b, rest, 0),
      .sample = nir_channel(b, rest, 1),
      .is_linear = nir_ine_imm(b, hi, 0), /* numbers begin above that */
   };
}

nir_def *
gpuval_radv_nir_lod_limits(const struct gpuval_nir_driver *driver, nir_builder *b, nir_def *set,
                           nir_def *slot)
{
   nir_def *address;
   nir_def *id = load_object(driver, b, nir_scalar_as_uint(nir_get_scalar(set, 0)), slot,
                             offsetof(struct gpuval_descriptor, sampler), &address);
   nir_def *words = load_constant(b, address, 4);
   nir_def *unknown = nir_imm_int(b, UINT32_MAX);
   nir_def *is_known = nir_iand(b, nir_ine_imm(b, id, 0), nir_ieq(b, nir_channel(b, words, 0), id));

   /* What has the index 0 has no limits that are known. */
   return nir_bcsel(b, is_known, nir_channels(b, words, 0xe),
                    nir_vec3(b, unknown, unknown, unknown));
}

/* What stands in */

/* As an index into an array of textures: gpuval_radv_nir_stand_in() */
#define STAND_IN_INDEX UINT32_MAX

static nir_def *
replace_component(nir_builder *b, nir_def *resource, unsigned component, nir_def *bad,
                  nir_def *with)
{
   return nir_vector_insert_imm(
      b, resource, nir_bcsel(b, bad, with, nir_channel(b, resource, component)), component);
}

/* A descriptor at most */
#define DESCRIPTOR_BYTES 96

/* Is there a null descriptor at the same offset behind the address of those that stand in? */
static bool
has_stand_in_at(uint32_t offset)
{
   return offset <= GPUVAL_RADV_STAND_IN_BYTES - DESCRIPTOR_BYTES;
}

/* Address of the set, offset in it, stride; or the address of an acceleration structure */
static void
replace_resource(const struct gpuval_radv_nir_layout *layout, nir_builder *b, nir_src *src,
                 const struct gpuval_nir_replacement *replacement)
{
   nir_def *resource = src->ssa, *bad = replacement->bad;

   if (resource->bit_size == 64) {
      if (layout->null_structure)
         nir_src_rewrite(src,
                         nir_bcsel(b, bad, nir_imm_int64(b, layout->null_structure), resource));
      return;
   }
   resource = replace_component(b, resource, 0, bad,
                                nir_load_command_gpuval(b, .base = GPUVAL_RADV_STAND_IN));
   nir_scalar slot = nir_get_scalar(replacement->slot, 0);
   if (!nir_scalar_is_const(slot) || !has_stand_in_at(nir_scalar_as_uint(slot)))
      resource = replace_component(b, resource, 1, bad, nir_imm_int(b, 0));
   nir_src_rewrite(src, resource);
}

/* A variable like @var, but always an array, and so with an index */
static nir_variable *
get_array(nir_builder *b, const nir_variable *var)
{
   unsigned size = glsl_type_is_array(var->type) ? glsl_get_aoa_size(var->type) : 1;
   const struct glsl_type *type = glsl_array_type(glsl_without_array(var->type), size, 0);

   nir_foreach_variable_with_modes (other, b->shader, var->data.mode) {
      if (other->type == type && other->data.descriptor_set == var->data.descriptor_set &&
          other->data.binding == var->data.binding && other->data.access == var->data.access &&
          other->data.image.format == var->data.image.format)
         return other;
   }

   nir_variable *array = nir_variable_clone(var, b->shader);
   array->type = type;
   nir_shader_add_variable(b->shader, array);
   return array;
}

/* @stand_in where what is replaced is bad, else @other */
static nir_def *
pick(nir_builder *b, const struct gpuval_nir_replacement *replacement, uint32_t stand_in,
     nir_def *other)
{
   const nir_instr *instr = nir_def_instr(replacement->bad);

   if (replacement->word)
      return nir_pick_gpuval(b, replacement->word, other, .base = ~0, .flags = stand_in);
   if (instr->type == nir_instr_type_intrinsic &&
       nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_has_bits_gpuval)
      return nir_pick_gpuval(b, nir_instr_as_intrinsic(instr)->src[0].ssa, other,
                             .base = nir_intrinsic_base(nir_instr_as_intrinsic(instr)),
                             .flags = stand_in);
   return nir_bcsel(b, replacement->bad, nir_imm_int(b, stand_in), other);
}

static void
replace_deref(nir_builder *b, nir_src *src, const struct gpuval_nir_replacement *replacement)
{
   nir_deref_instr *deref = nir_src_as_deref(*src);
   nir_def *index = nir_imm_int(b, 0);

   for (; deref->deref_type == nir_deref_type_array; deref = nir_deref_instr_parent(deref))
      index = nir_iadd(b, index,
                       nir_imul_imm(b, nir_u2u32(b, deref->arr.index.ssa),
                                    MAX2(glsl_get_aoa_size(deref->type), 1)));
   index = pick(b, replacement, STAND_IN_INDEX, index);

   nir_deref_instr *array = nir_build_deref_var(b, get_array(b, deref->var));
   nir_src_rewrite(src, &nir_build_deref_array(b, array, index)->def);
}

static void
replace(const struct gpuval_nir_driver *driver, nir_builder *b,
        const struct gpuval_nir_replacement *replacement)
{
   nir_instr *instr = replacement->instr;

   if (instr->type == nir_instr_type_intrinsic) {
      nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(instr);
      nir_src *resource = gpuval_nir_resource_src(intrin);

      if (resource)
         replace_resource(driver->data, b, resource, replacement);
      else
         replace_deref(b, &intrin->src[0], replacement);
      return;
   }

   /* nir_vk_lower_ycbcr_tex wants a constant index. */
   const struct gpuval_radv_nir_layout *layout = driver->data;
   if (layout->sets_with_conversions & BITFIELD_BIT(replacement->set))
      return;

   nir_tex_instr *tex = nir_instr_as_tex(instr);
   int resource = nir_tex_instr_src_index(tex, nir_tex_src_texture_deref);
   int sampler = nir_tex_instr_src_index(tex, nir_tex_src_sampler_deref);
   if (replacement->is_resource && resource >= 0)
      replace_deref(b, &tex->src[resource].src, replacement);
   if (replacement->is_sampler && sampler >= 0)
      replace_deref(b, &tex->src[sampler].src, replacement);
}

/* What @offset is where @index is @value; false: not of the form that it has */
static bool
evaluate(nir_def *offset, const nir_def *index, uint32_t value, uint32_t *result)
{
   nir_scalar scalar = nir_get_scalar(offset, 0);
   uint32_t a, b;

   if (offset == index) {
      *result = value;
      return true;
   }
   if (nir_scalar_is_const(scalar)) {
      *result = nir_scalar_as_uint(scalar);
      return true;
   }
   if (!nir_scalar_is_alu(scalar) || nir_op_infos[nir_scalar_alu_op(scalar)].num_inputs != 2 ||
       !evaluate(nir_scalar_chase_alu_src(scalar, 0).def, index, value, &a) ||
       !evaluate(nir_scalar_chase_alu_src(scalar, 1).def, index, value, &b))
      return false;

   switch (nir_scalar_alu_op(scalar)) {
   case nir_op_iadd:
      *result = a + b;
      return true;
   case nir_op_imul:
   case nir_op_amul:
      *result = a * b;
      return true;
   case nir_op_ishl:
      *result = a << (b & 31);
      return true;
   default:
      return false;
   }
}

nir_def *
gpuval_radv_nir_has_bits(nir_builder *b, const nir_intrinsic_instr *intrin)
{
   const uint32_t bits = nir_intrinsic_base(intrin);
   nir_def *word = intrin->src[0].ssa;

   return nir_ine_imm(b, bits == ~0u ? word : nir_iand_imm(b, word, bits), 0);
}

/* The stand-in of a constant index: a null descriptor at the same offset */
static bool
stand_in_at_offset(nir_builder *b, nir_def *index, nir_def **set, nir_def **offset)
{
   nir_instr *instr = nir_def_instr(index);
   if (instr->type != nir_instr_type_intrinsic ||
       nir_instr_as_intrinsic(instr)->intrinsic != nir_intrinsic_pick_gpuval)
      return false;

   nir_intrinsic_instr *pick = nir_instr_as_intrinsic(instr);
   nir_scalar number = nir_scalar_resolved(pick->src[1].ssa, 0);
   uint32_t constant;
   if (!nir_scalar_is_const(number) ||
       !evaluate(*offset, index, nir_scalar_as_uint(number), &constant) ||
       !has_stand_in_at(constant))
      return false;

   *set = nir_bcsel(b, gpuval_radv_nir_has_bits(b, pick),
                    nir_load_command_gpuval(b, .base = GPUVAL_RADV_STAND_IN), *set);
   *offset = nir_imm_int(b, constant);
   return true;
}

void
gpuval_radv_nir_stand_in(nir_builder *b, nir_deref_instr *deref, nir_def **set, nir_def **offset)
{
   if (!gpuval_options()->safe || !gpuval_options_may_check(GPUVAL_CHECK_DESCRIPTOR) ||
       deref->deref_type != nir_deref_type_array || nir_src_is_const(deref->arr.index))
      return;
   if (stand_in_at_offset(b, deref->arr.index.ssa, set, offset))
      return;

   nir_def *bad = nir_ieq_imm(b, deref->arr.index.ssa, STAND_IN_INDEX);
   *set = nir_bcsel(b, bad, nir_load_command_gpuval(b, .base = GPUVAL_RADV_STAND_IN), *set);
   *offset = nir_bcsel(b, bad, nir_imm_int(b, 0), *offset);
}

/* Those that are not marked yet, as far as this shader sees */
static nir_def *
race_uses(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   const mesa_shader_stage stage = b->shader->info.stage;

   assert(stage < GPUVAL_RADV_RACE_STAGES);
   return nir_inot(b, nir_load_command_gpuval(b, .base = FIELD(race_used) + stage * 4));
}

/* What gpuval_radv_uses.c has found when the command was recorded */
static nir_def *
bad_uses(const struct gpuval_nir_driver *driver, nir_builder *b)
{
   const unsigned word = gpuval_radv_use_word(b->shader->info.stage);

   return nir_load_command_gpuval(b, .base = FIELD(bad_uses) + word * sizeof(uint32_t));
}

const struct gpuval_nir_descriptors gpuval_radv_nir_descriptors = {
   .object_index_bits = GPUVAL_RADV_OBJECT_INDEX_BITS,
   .max_uses = GPUVAL_RADV_MAX_USES,
   .binding = find_binding,
   .bad_uses = bad_uses,
   .tells_sizes = true,
   .race_uses = race_uses,
   .objects_address = objects_address,
   .load_constant = gpuval_radv_nir_load_constant,
   .load_id = load_id,
   .replace = replace,
};
