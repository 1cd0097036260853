/* SPDX-License-Identifier: MIT */

/*
 * Images in memory. Their tiling is the hardware's: Mesa's addrlib computes addresses from what
 * is in descriptors and registers, so that all who access an image agree. There is no
 * compression.
 */

#include "softgpu_surface.h"

#include <string.h>

#include "drm-shim/drm_shim.h"
#include "drm-uapi/amdgpu_drm.h"
#include "util/u_math.h"

#include "addrlib/inc/addrinterface.h"
#include "ac_gpu_info.h"
#include "ac_surface.h"
#include "amdgfxregs.h"

/* --- Addresses ------------------------------------------------------------ */

static bool
query(struct drm_amdgpu_info *info, void *result, uint32_t size)
{
   info->return_pointer = (uintptr_t)result;
   info->return_size = size;
   return shim_device.driver_ioctls[DRM_AMDGPU_INFO](-1, 0, info) == 0;
}

/* NULL with an error */
static ADDR_HANDLE
get_library(void)
{
   static struct ac_addrlib *library;
   static struct radeon_info info;
   struct drm_amdgpu_info_device device = {0};
   uint32_t config = 0;
   struct drm_amdgpu_info of_device = {.query = AMDGPU_INFO_DEV_INFO};
   struct drm_amdgpu_info of_register = {
      .query = AMDGPU_INFO_READ_MMR_REG,
      .read_mmr_reg =
         {
            .dword_offset = R_0098F8_GB_ADDR_CONFIG / 4,
            .count = 1,
            .instance = 0xffffffff,
         },
   };

   if (!library && query(&of_device, &device, sizeof(device)) &&
       query(&of_register, &config, sizeof(config))) {
      info.family_id = device.family;
      info.chip_external_rev = device.external_rev;
      info.gb_addr_config = config;
      library = ac_addrlib_create(&info, NULL);
   }
   if (!library) {
      softgpu_error("there are no addresses in images of this GPU");
      return NULL;
   }
   return ac_addrlib_get_handle(library);
}

/* Of blocks, which the tiling is made of, as a power of two */
static unsigned
block_size(unsigned swizzle_mode)
{
   switch (swizzle_mode) {
   case ADDR_SW_LINEAR:
   case ADDR_SW_256B_S:
   case ADDR_SW_256B_D:
   case ADDR_SW_256B_R:
      return 8;
   case ADDR_SW_4KB_Z:
   case ADDR_SW_4KB_S:
   case ADDR_SW_4KB_D:
   case ADDR_SW_4KB_R:
   case ADDR_SW_4KB_Z_X:
   case ADDR_SW_4KB_S_X:
   case ADDR_SW_4KB_D_X:
   case ADDR_SW_4KB_R_X:
      return 12;
   case ADDR_SW_256KB_Z_X:
   case ADDR_SW_256KB_S_X:
   case ADDR_SW_256KB_D_X:
   case ADDR_SW_256KB_R_X:
      return 18;
   default:
      return 16;
   }
}

unsigned
softgpu_minify(unsigned size, unsigned level)
{
   return MAX2(size >> level, 1);
}

uint64_t
softgpu_find_texel(const struct softgpu_surface *surface, unsigned x, unsigned y, unsigned z,
                   unsigned level, unsigned sample)
{
   static const AddrResourceType types[] = {
      [1] = ADDR_RSRC_TEX_1D,
      [2] = ADDR_RSRC_TEX_2D,
      [3] = ADDR_RSRC_TEX_3D,
   };
   const struct util_format_block *block = &util_format_description(surface->format)->block;
   const uint64_t mask = (UINT64_C(1) << block_size(surface->swizzle_mode)) - 1;
   const bool is_3d = surface->dimensions == 3;
   const ADDR2_COMPUTE_SURFACE_ADDRFROMCOORD_INPUT input = {
      .size = sizeof(input),
      .x = x / block->width,
      .y = y / block->height,
      .slice = z,
      .sample = sample,
      .mipId = level,
      .swizzleMode = (AddrSwizzleMode)surface->swizzle_mode,
      .resourceType = types[surface->dimensions],
      .bpp = block->bits,
      .unalignedWidth = DIV_ROUND_UP(surface->width, block->width),
      .unalignedHeight = DIV_ROUND_UP(surface->height, block->height),
      /* It wants to know that the slice is one. */
      .numSlices = is_3d ? MAX2(surface->depth, (z + 1) << level) : z + 1,
      .numMipLevels = surface->levels,
      .numSamples = surface->samples,
      .numFrags = surface->samples,
      .pipeBankXor = (uint32_t)((surface->base & mask) >> 8),
   };
   ADDR2_COMPUTE_SURFACE_ADDRFROMCOORD_OUTPUT output = {.size = sizeof(output)};
   ADDR_HANDLE library = get_library();

   if (!library)
      return 0;
   const ADDR_E_RETURNCODE result = Addr2ComputeSurfaceAddrFromCoord(library, &input, &output);
   if (result != ADDR_OK) {
      softgpu_error(
         "there is no texel at %u, %u, %u of level %u, sample %u, in an image of %ux%ux%u "
         "with %u levels, %u samples, tiling %u (%d)",
         x, y, z, level, sample, surface->width, surface->height, surface->depth, surface->levels,
         surface->samples, surface->swizzle_mode, result);
      return 0;
   }
   return (surface->base & ~mask) + output.addr;
}

/* --- Texels --------------------------------------------------------------- */

bool
softgpu_is_gone(const struct softgpu_surface *surface, uint64_t va)
{
   const unsigned bits = util_format_description(surface->format)->block.bits;
   return softgpu_is_blind() && !softgpu_find(va, bits / 8);
}

/* NULL: an error, or the memory is gone */
static void *
map_texel(const struct softgpu_surface *surface, unsigned x, unsigned y, unsigned z, unsigned level,
          unsigned sample, enum softgpu_access access)
{
   const unsigned bits = util_format_description(surface->format)->block.bits;
   const uint64_t va = softgpu_find_texel(surface, x, y, z, level, sample);
   return va && !softgpu_is_gone(surface, va) ? softgpu_map(va, bits / 8, access) : NULL;
}

bool
softgpu_read_texel(const struct softgpu_surface *surface, unsigned x, unsigned y, unsigned z,
                   unsigned level, unsigned sample, uint32_t texel[4])
{
   const struct util_format_block *block = &util_format_description(surface->format)->block;
   const uint8_t *memory = map_texel(surface, x, y, z, level, sample, SOFTGPU_READ);

   memset(texel, 0, 4 * sizeof(*texel));
   if (!memory)
      return false;
   if (block->width > 1 || block->height > 1)
      util_format_fetch_rgba_func(surface->format)(texel, memory, x % block->width,
                                                   y % block->height);
   else
      util_format_unpack_rgba(surface->format, texel, memory, 1);
   return true;
}

bool
softgpu_write_texel(const struct softgpu_surface *surface, unsigned x, unsigned y, unsigned z,
                    unsigned level, unsigned sample, const uint32_t texel[4])
{
   const struct util_format_block *block = &util_format_description(surface->format)->block;

   if (block->width > 1 || block->height > 1) {
      softgpu_error("compressed texels cannot be written");
      return false;
   }
   void *memory = map_texel(surface, x, y, z, level, sample, SOFTGPU_WRITE);
   if (memory)
      util_format_pack_rgba(surface->format, memory, texel, 1);
   return memory != NULL;
}
