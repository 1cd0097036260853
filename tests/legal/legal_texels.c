/* SPDX-License-Identifier: MIT */

/*
 * SPIR-V that accesses images, texel buffers and input attachments, with samplers or without
 */

#include "legal_shader.h"

#define spv(shader) (&(shader)->spv)

/* --- Coordinates ---------------------------------------------------------- */

/* The coordinates of a texel that an image of `dim` has, by a number; signed or unsigned */
static uint32_t
texel_coordinates(struct legal_shader *shader, enum legal_dim dim, uint32_t number)
{
   VkExtent3D extent;
   uint32_t layers, parts[3], count = 1;

   legal_image_extent(dim, &extent, &layers);
   const bool array = dim == LEGAL_1D_ARRAY || dim == LEGAL_2D_ARRAY;
   parts[0] = legal_uint(shader, SpvOpUMod, number, constant(shader, extent.width));
   if (extent.height > 1 || extent.depth > 1 || array)
      number = legal_uint(shader, SpvOpUDiv, number, constant(shader, extent.width));
   if (dim != LEGAL_1D && dim != LEGAL_1D_ARRAY) {
      parts[count++] = legal_uint(shader, SpvOpUMod, number, constant(shader, extent.height));
      number = legal_uint(shader, SpvOpUDiv, number, constant(shader, extent.height));
   }
   if (dim == LEGAL_3D)
      parts[count++] = legal_uint(shader, SpvOpUMod, number, constant(shader, extent.depth));
   if (array)
      parts[count++] = legal_uint(shader, SpvOpUMod, number, constant(shader, layers));
   uint32_t coordinates = parts[0];
   if (count == 2)
      coordinates =
         legal_value(shader, SpvOpCompositeConstruct, spv_uint(spv(shader), 2), parts[0], parts[1]);
   else if (count == 3)
      coordinates = legal_value(shader, SpvOpCompositeConstruct, spv_uint(spv(shader), 3), parts[0],
                                parts[1], parts[2]);
   if (chance(shader, 50))
      coordinates = legal_value(shader, SpvOpBitcast, spv_int(spv(shader), count), coordinates);
   return coordinates;
}

static unsigned
coordinate_count(enum legal_dim dim)
{
   switch (dim) {
   case LEGAL_1D:
      return 1;
   case LEGAL_2D:
   case LEGAL_2D_MS:
   case LEGAL_1D_ARRAY:
      return 2;
   default:
      return 3;
   }
}

/* Coordinates for sampling: centers of texels, or a direction, which does not matter where
 * filters are NEAREST. The layer of an array is a whole number.
 */
static uint32_t
sample_coordinates(struct legal_shader *shader, enum legal_dim dim)
{
   const unsigned count = coordinate_count(dim);
   const uint32_t type = spv_float(spv(shader), 1);
   VkExtent3D extent;
   uint32_t layers, parts[3];

   legal_image_extent(dim, &extent, &layers);
   for (unsigned i = 0; i < count; i++) {
      const bool layer = (dim == LEGAL_1D_ARRAY && i == 1) || (dim == LEGAL_2D_ARRAY && i == 2);
      const uint32_t size = layer    ? layers
                            : i == 0 ? extent.width
                            : i == 1 ? extent.height
                                     : extent.depth;
      uint32_t number =
         legal_uint(shader, SpvOpUMod, shader->function->slot, constant(shader, size));
      parts[i] = legal_value(shader, SpvOpConvertUToF, type, number);
      if (!layer) {
         parts[i] =
            legal_value(shader, SpvOpFAdd, type, parts[i], spv_constant_float(spv(shader), 0.5f));
         parts[i] = legal_value(shader, SpvOpFMul, type, parts[i],
                                spv_constant_float(spv(shader), 1.0f / (float)size));
      }
   }
   if (dim == LEGAL_CUBE) /* not the corner of a cube */
      parts[0] = spv_constant_float(spv(shader), chance(shader, 50) ? 2.0f : -2.0f);
   if (count == 1)
      return parts[0];
   if (count == 2)
      return legal_value(shader, SpvOpCompositeConstruct, spv_float(spv(shader), 2), parts[0],
                         parts[1]);
   return legal_value(shader, SpvOpCompositeConstruct, spv_float(spv(shader), 3), parts[0],
                      parts[1], parts[2]);
}

/* --- Images, texel buffers, samplers -------------------------------------- */

/* One component of a texel, as uint */
static uint32_t
texel_word(struct legal_shader *shader, enum legal_number numbers, uint32_t texel)
{
   const uint32_t scalar = legal_number_type(shader, numbers, 1);
   const uint32_t value = legal_extract(shader, scalar, texel, below(shader, 4));
   return numbers == LEGAL_UINT ? value : legal_to_uint(shader, value);
}

static uint32_t
fetch(struct legal_shader *shader, const struct legal_variable *variable, uint32_t image,
      bool differs)
{
   const struct legal_binding *binding = variable->binding;
   const uint32_t vector = legal_number_type(shader, binding->numbers, 4);
   const uint32_t at = texel_coordinates(shader, variable->dim, shader->function->slot);
   uint32_t texel;

   if (variable->dim == LEGAL_2D_MS)
      texel = legal_value(shader, SpvOpImageFetch, vector, image, at, SpvImageOperandsSampleMask,
                          constant(shader, below(shader, 4)));
   else if (chance(shader, 50))
      texel = legal_value(shader, SpvOpImageFetch, vector, image, at, SpvImageOperandsLodMask,
                          constant(shader, 0));
   else
      texel = legal_value(shader, SpvOpImageFetch, vector, image, at);
   legal_mark(shader, texel, differs && chance(shader, 30));
   return texel_word(shader, binding->numbers, texel);
}

static uint32_t
query(struct legal_shader *shader, const struct legal_variable *variable, uint32_t image,
      bool storage)
{
   const unsigned count = coordinate_count(variable->dim) - (variable->dim == LEGAL_CUBE);
   const uint32_t type = spv_uint(spv(shader), count);
   uint32_t size;

   spv_capability(spv(shader), SpvCapabilityImageQuery);
   if (variable->dim == LEGAL_2D_MS && chance(shader, 50))
      return legal_value(shader, SpvOpImageQuerySamples, spv_uint(spv(shader), 1), image);
   if (!storage && variable->dim != LEGAL_2D_MS && chance(shader, 40))
      return legal_value(shader, SpvOpImageQueryLevels, spv_uint(spv(shader), 1), image);
   if (storage || variable->dim == LEGAL_2D_MS)
      size = legal_value(shader, SpvOpImageQuerySize, type, image);
   else
      size = legal_value(shader, SpvOpImageQuerySizeLod, type, image, constant(shader, 0));
   return count == 1 ? size : legal_extract(shader, spv_uint(spv(shader), 1), size, count - 1);
}

/* Samples with level 0, or with derivatives where they are defined. */
static uint32_t
sample(struct legal_shader *shader, enum legal_dim dim, enum legal_number numbers, uint32_t sampled)
{
   const uint32_t vector = legal_number_type(shader, numbers, 4);
   const uint32_t at = sample_coordinates(shader, dim);

   if (shader->implicit && chance(shader, 50))
      return texel_word(shader, numbers,
                        legal_value(shader, SpvOpImageSampleImplicitLod, vector, sampled, at));
   if ((dim == LEGAL_2D || dim == LEGAL_2D_ARRAY || dim == LEGAL_CUBE) && chance(shader, 20))
      return texel_word(
         shader, numbers,
         legal_value(shader, SpvOpImageGather, vector, sampled, at, constant(shader, 0)));
   return texel_word(shader, numbers,
                     legal_value(shader, SpvOpImageSampleExplicitLod, vector, sampled, at,
                                 SpvImageOperandsLodMask, spv_constant_float(spv(shader), 0.0f)));
}

/* A variable of a sampler that may be used, or NULL */
static const struct legal_variable *
find_sampler(struct legal_shader *shader)
{
   for (unsigned i = 0; i < shader->variable_count; i++) {
      const struct legal_variable *variable = &shader->variables[i];
      if (legal_is_sampler(variable) && variable->binding->valid)
         return variable;
   }
   return NULL;
}

uint32_t
legal_read_sampled_image(struct legal_shader *shader, const struct legal_variable *variable,
                         uint32_t pointer, bool differs)
{
   const enum legal_dim dim = variable->dim;
   const struct legal_variable *sampler = dim == LEGAL_2D_MS ? NULL : find_sampler(shader);
   const uint32_t image = legal_value(shader, SpvOpLoad, variable->type, pointer);
   const uint32_t type = spv_type(spv(shader), SpvOpTypeSampledImage, variable->image_type);

   legal_mark(shader, image, differs);
   if (chance(shader, 15))
      return query(shader, variable, image, false);
   if (sampler && (dim == LEGAL_CUBE || chance(shader, 60))) {
      bool sampler_differs;
      const uint32_t at = legal_element_pointer(shader, sampler, &sampler_differs);
      const uint32_t loaded = legal_value(shader, SpvOpLoad, sampler->type, at);
      legal_mark(shader, loaded, sampler_differs);
      const uint32_t both = legal_value(shader, SpvOpSampledImage, type, image, loaded);
      legal_mark(shader, both, differs || sampler_differs);
      return sample(shader, dim, variable->binding->numbers, both);
   }
   if (dim == LEGAL_CUBE)
      return query(shader, variable, image, false);
   return fetch(shader, variable, image, differs);
}

uint32_t
legal_read_combined(struct legal_shader *shader, const struct legal_variable *variable,
                    uint32_t pointer, bool differs)
{
   const uint32_t sampled = legal_value(shader, SpvOpLoad, variable->type, pointer);

   legal_mark(shader, sampled, differs);
   if (variable->dim != LEGAL_2D_MS && (variable->dim == LEGAL_CUBE || chance(shader, 60)))
      return sample(shader, variable->dim, variable->binding->numbers, sampled);
   const uint32_t image = legal_value(shader, SpvOpImage, variable->image_type, sampled);
   legal_mark(shader, image, differs);
   if (chance(shader, 20))
      return query(shader, variable, image, false);
   return fetch(shader, variable, image, differs);
}

uint32_t
legal_read_texel_buffer(struct legal_shader *shader, const struct legal_variable *variable,
                        uint32_t pointer, bool differs)
{
   const bool storage = variable->binding->type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
   const uint32_t image = legal_value(shader, SpvOpLoad, variable->type, pointer);
   const uint32_t vector = legal_number_type(shader, variable->binding->numbers, 4);

   legal_mark(shader, image, differs);
   if (chance(shader, 15)) {
      spv_capability(spv(shader), SpvCapabilityImageQuery);
      return legal_value(shader, SpvOpImageQuerySize, spv_uint(spv(shader), 1), image);
   }
   return texel_word(shader, variable->binding->numbers,
                     legal_value(shader, storage ? SpvOpImageRead : SpvOpImageFetch, vector, image,
                                 shader->function->slot));
}

uint32_t
legal_read_storage_image(struct legal_shader *shader, const struct legal_variable *variable,
                         uint32_t pointer, bool differs)
{
   const uint32_t image = legal_value(shader, SpvOpLoad, variable->type, pointer);
   const uint32_t vector = legal_number_type(shader, variable->binding->numbers, 4);

   legal_mark(shader, image, differs);
   if (chance(shader, 15))
      return query(shader, variable, image, true);
   return texel_word(shader, variable->binding->numbers,
                     legal_value(shader, SpvOpImageRead, vector, image,
                                 texel_coordinates(shader, variable->dim, shader->function->slot)));
}

/* What an input attachment has at the pixel */
uint32_t
legal_read_input(struct legal_shader *shader, const struct legal_variable *variable,
                 uint32_t pointer, bool differs)
{
   const uint32_t image = legal_value(shader, SpvOpLoad, variable->type, pointer);
   const uint32_t vector = legal_number_type(shader, variable->binding->numbers, 4);
   const uint32_t zero = spv_constant_int(spv(shader), 0);
   const uint32_t at =
      legal_value(shader, SpvOpCompositeConstruct, spv_int(spv(shader), 2), zero, zero);

   legal_mark(shader, image, differs);
   return texel_word(shader, variable->binding->numbers,
                     legal_value(shader, SpvOpImageRead, vector, image, at));
}

/* Writes the texel of the invocation, which has one word. */
void
legal_write_texel(struct legal_shader *shader, const struct legal_variable *variable,
                  uint32_t pointer, uint32_t value, bool differs)
{
   const struct legal_binding *binding = variable->binding;
   const bool buffer = binding->type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
   const uint32_t at = buffer ? shader->function->slot
                              : texel_coordinates(shader, variable->dim, shader->function->slot);
   const uint32_t scalar = legal_number_type(shader, binding->numbers, 1);

   if (binding->numbers == LEGAL_UINT && variable->has_format && chance(shader, 30)) {
      const uint32_t texel_type = spv_pointer(spv(shader), SpvStorageClassImage, scalar);
      const uint32_t texel =
         legal_value(shader, SpvOpImageTexelPointer, texel_type, pointer, at, constant(shader, 0));
      legal_mark(shader, texel, differs);
      legal_atomic(shader, SpvOpAtomicIAdd, texel, value);
      return;
   }
   const uint32_t image = legal_value(shader, SpvOpLoad, variable->type, pointer);
   legal_mark(shader, image, differs);
   if (binding->numbers == LEGAL_FLOAT) /* no NaN, which formats need not keep */
      value = legal_uint(shader, SpvOpBitwiseAnd, value, constant(shader, 0x3fffffff));
   if (binding->numbers != LEGAL_UINT)
      value = legal_value(shader, SpvOpBitcast, scalar, value);
   const uint32_t texel =
      legal_value(shader, SpvOpCompositeConstruct, legal_number_type(shader, binding->numbers, 4),
                  value, value, value, value);
   legal_op(shader, SpvOpImageWrite, image, at, texel);
}
