/* SPDX-License-Identifier: MIT */

/* Descriptors and what they lead to, as shaders may look them up. Shared by shaders
 * and host.
 *
 * Each slot of a descriptor set has a struct gpuval_descriptor beside it: the set's
 * shadow. It is zeroed when the set is allocated and written wherever the driver
 * writes, copies or pushes the descriptor itself. It names an object by its id, and
 * the table of objects says whether that is still alive: an id is index and
 * generation, and when an object dies the place at its index no longer has its id. So
 * what is destroyed is known without looking for the descriptors that lead there, and
 * an object that comes later at the same address is another one.
 *
 *    bad = (required & ~descriptor.offers) | (objects[index(id)].id ^ id)
 *
 * is all that a shader has to find out. vkd3d-proton has one bit for each cookie
 * instead, so its cookies run out.
 */

#ifndef GPUVAL_DESCRIPTOR_H
#define GPUVAL_DESCRIPTOR_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* What a descriptor can be used as. An access requires some of these bits, so a null
 * descriptor, which is good for every view of its type, just has them all.
 */
enum {
   GPUVAL_OFFERS_SAMPLER = 1u << 0,
   GPUVAL_OFFERS_SAMPLED_IMAGE = 1u << 1,
   GPUVAL_OFFERS_STORAGE_IMAGE = 1u << 2,
   GPUVAL_OFFERS_INPUT_ATTACHMENT = 1u << 3,
   GPUVAL_OFFERS_UNIFORM_TEXEL_BUFFER = 1u << 4,
   GPUVAL_OFFERS_STORAGE_TEXEL_BUFFER = 1u << 5,
   GPUVAL_OFFERS_UNIFORM_BUFFER = 1u << 6,
   GPUVAL_OFFERS_STORAGE_BUFFER = 1u << 7,
   GPUVAL_OFFERS_ACCELERATION_STRUCTURE = 1u << 8,
   GPUVAL_OFFERS_TYPES = 0x1ff,
   GPUVAL_OFFERS_RESOURCES = GPUVAL_OFFERS_TYPES & ~GPUVAL_OFFERS_SAMPLER,
   GPUVAL_OFFERS_BUFFERS = GPUVAL_OFFERS_UNIFORM_TEXEL_BUFFER | GPUVAL_OFFERS_STORAGE_TEXEL_BUFFER |
                           GPUVAL_OFFERS_UNIFORM_BUFFER | GPUVAL_OFFERS_STORAGE_BUFFER,

   /* Views */
   GPUVAL_OFFERS_1D = 1u << 9,
   GPUVAL_OFFERS_2D = 1u << 10,
   GPUVAL_OFFERS_3D = 1u << 11,
   GPUVAL_OFFERS_CUBE = 1u << 12,
   GPUVAL_OFFERS_DIMENSIONS = 0xf << 9,
   GPUVAL_OFFERS_NO_ARRAY = 1u << 13,
   GPUVAL_OFFERS_ARRAY = 1u << 14,
   GPUVAL_OFFERS_ONE_SAMPLE = 1u << 15,
   GPUVAL_OFFERS_MULTISAMPLED = 1u << 16,
   GPUVAL_OFFERS_FLOAT = 1u << 17,
   GPUVAL_OFFERS_SINT = 1u << 18,
   GPUVAL_OFFERS_UINT = 1u << 19,
   GPUVAL_OFFERS_32_BIT = 1u << 20, /* components, as shaders see them */
   GPUVAL_OFFERS_64_BIT = 1u << 21,
   GPUVAL_OFFERS_ATOMICS = 1u << 22,
   GPUVAL_OFFERS_VIEWS = 0x7ffe00,

   /* What a view's class of components is: another one is read and written as it is. */
   GPUVAL_OFFERS_CLASSES = GPUVAL_OFFERS_FLOAT | GPUVAL_OFFERS_SINT | GPUVAL_OFFERS_UINT,

   /* Bytes of a view's texel: gpuval_offers_of_texel(). Only descriptors have these bits: an
    * access that requires a format has that in their place.
    */
   GPUVAL_OFFERS_TEXELS_SHIFT = 23,
   GPUVAL_OFFERS_TEXELS = 0x1f << GPUVAL_OFFERS_TEXELS_SHIFT,
};

/* The bit of a texel of @size bytes. 0: it has another size than any format of a shader. */
static inline uint32_t
gpuval_offers_of_texel(unsigned size)
{
   for (unsigned i = 0; i < 5; i++) {
      if (size == 1u << i)
         return 1u << (GPUVAL_OFFERS_TEXELS_SHIFT + i);
   }
   return 0;
}

/* A format that an access requires, or a view has. Required bits must be there, too:
 * no other format has all of these, and a null descriptor has 0xffffffff.
 */
static inline uint32_t
gpuval_format_bits(uint16_t pipe_format)
{
   return pipe_format | (uint32_t)(uint16_t)~pipe_format << 16;
}

struct gpuval_descriptor {
   uint32_t object; /* id of the buffer, view or acceleration structure */
   uint32_t offers; /* GPUVAL_OFFERS_*; 0: never written */
   uint32_t sampler;
   union {
      uint32_t size;   /* buffers: bytes from the start of the range, exactly */
      uint32_t format; /* images, texel buffers: gpuval_format_bits() */
   };
};
static_assert(sizeof(struct gpuval_descriptor) == 16, "shaders know the stride");

/* Ids are generation << bits | index, and the number of bits is the device's. The
 * place with index 0 is never given to anyone: it stands for objects that nothing is
 * known of, which are alive.
 */
struct gpuval_object {
   uint32_t id;

   /* Of a view: texels of the base level. Arrays have their layers (of cubes: faces)
    * where the shader's coordinate has its layer, and 1 stands for what is not there.
    * Of a sampler: its lowest level of detail, the highest one, its bias, as floats.
    */
   uint32_t extent[3];
   union {
      uint32_t levels;
      uint32_t borders; /* of a sampler: the axes on which it has one, a bit each */
   };
   uint32_t samples;
   uint64_t marks; /* init: gpuval_object_marks(); 0: none, it is written */
};
static_assert(sizeof(struct gpuval_object) == 32, "shaders know the stride");
static_assert(offsetof(struct gpuval_object, extent) == 4, "shaders know the offsets");
static_assert(offsetof(struct gpuval_object, marks) == 24, "shaders know the offsets");

/* Behind the table, at the same index, where texels have numbers (gpuval_texels.h): of a view of a
 * storage image the number of its first texel, and strides. All 0: nobody looks at its texels.
 */
struct gpuval_object_texels {
   uint64_t address;
   uint32_t size; /* bytes of a texel */
   uint32_t row, layer, sample;
   uint32_t padding[2];
};
static_assert(sizeof(struct gpuval_object_texels) == sizeof(struct gpuval_object),
              "shaders know the stride");

/* The mark of a view's first level in its first layer (gpuval_init.h), and how many layers it
 * has. What is above 48 bits of an address is what bit 47 is.
 */
#define GPUVAL_OBJECT_LAYERS_SHIFT 48

static inline uint64_t
gpuval_object_marks(uint64_t address, uint32_t layers)
{
   return (address & ((1ull << GPUVAL_OBJECT_LAYERS_SHIFT) - 1)) | (uint64_t)layers
                                                                      << GPUVAL_OBJECT_LAYERS_SHIFT;
}

#endif
