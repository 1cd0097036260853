/* SPDX-License-Identifier: MIT */

/*
 * What the hardware does of rays: it tests one against a node of a bounding volume hierarchy. As in
 * the RDNA3 ISA, IMAGE_BVH64_INTERSECT_RAY, and as RADV does it for hardware without
 * (intersect_ray_amd_software_box() and _tri() in radv_nir_rt_common.c); nodes are those of
 * src/amd/vulkan/bvh/bvh.h.
 */

#include "softgpu_wave.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "util/u_math.h"

enum node_type {
   NODE_TRIANGLE = 0,
   NODE_BOX32 = 5,
   NODE_USER = 6, /* instances, AABBs: that and 7 are the shader's business */
};

enum box_sort {
   SORT_CLOSEST = 0,
   SORT_LARGEST = 1,
   SORT_MIDPOINT = 2,
};

/* The descriptor's second and last words */
#define WORD1_SORT(word)   ((word) >> 21 & 3)
#define WORD1_SORT_ENABLE  (UINT32_C(1) << 31)
#define WORD1_KNOWN        (WORD1_SORT_ENABLE | UINT32_C(3) << 21)
#define WORD3_SIZE_MASK    UINT32_C(0x3ff)
#define WORD3_BARYCENTRICS (UINT32_C(1) << 24)
#define WORD3_TYPE         (UINT32_C(8) << 28)
#define NO_CHILD           UINT32_C(0xffffffff)
#define NO_RESULT          UINT32_C(0xcdcdcdcd)

struct ray {
   float t_max;
   float origin[3];
   float direction[3];
   float inverse[3];
};

struct box32 {
   uint32_t children[4];
   float bounds[4][2][3];
};

struct child {
   uint32_t node;
   float key;
};

/* --- Boxes ---------------------------------------------------------------- */

/* Whether it is hit; `key` is that by which it is sorted. */
static bool
hit_box(const struct ray *ray, const float bounds[2][3], enum box_sort sort, float *key)
{
   float enter = 0.0f, leave = 0.0f;

   /* An inactive one */
   if (isnan(bounds[0][0]))
      return false;
   for (unsigned i = 0; i < 3; i++) {
      /* Infinity times 0 is no number. */
      const float inverse = CLAMP(ray->inverse[i], -FLT_MAX, FLT_MAX);
      const float a = (bounds[0][i] - ray->origin[i]) * inverse;
      const float b = (bounds[1][i] - ray->origin[i]) * inverse;
      enter = i ? fmaxf(enter, fminf(a, b)) : fminf(a, b);
      leave = i ? fminf(leave, fmaxf(a, b)) : fmaxf(a, b);
   }
   *key = sort == SORT_LARGEST ? enter - leave : sort == SORT_MIDPOINT ? enter + leave : enter;
   return leave >= fmaxf(0.0f, enter) && enter < ray->t_max;
}

static void
sort_pair(struct child *a, struct child *b)
{
   const struct child first = *a;

   if (b->key < first.key) {
      *a = *b;
      *b = first;
   }
}

/* The children that are hit, in their order, and none. */
static bool
intersect_box(const struct ray *ray, uint64_t va, enum box_sort sort, uint32_t result[4])
{
   struct box32 box;
   struct child children[4];

   if (!softgpu_read(va, &box, sizeof(box)))
      return false;
   for (unsigned i = 0; i < 4; i++) {
      children[i] = (struct child){NO_CHILD, INFINITY};
      float key;
      if (hit_box(ray, box.bounds[i], sort, &key))
         children[i] = (struct child){box.children[i], key};
   }
   sort_pair(&children[0], &children[1]);
   sort_pair(&children[2], &children[3]);
   sort_pair(&children[0], &children[2]);
   sort_pair(&children[1], &children[3]);
   sort_pair(&children[1], &children[2]);
   for (unsigned i = 0; i < 4; i++)
      result[i] = children[i].node;
   return true;
}

/* --- Triangles ------------------------------------------------------------ */

static double
signum(double value)
{
   return value > 0.0 ? 1.0 : value < 0.0 ? -1.0 : 0.0;
}

/* http://jcgt.org/published/0002/01/05/paper.pdf: t, its denominator, whose sign says which face
 * it is, and barycentric coordinates.
 */
static bool
intersect_triangle(const struct ray *ray, uint64_t va, uint32_t result[4])
{
   const float *dir = ray->direction;
   const float x = fabsf(dir[0]), y = fabsf(dir[1]), z = fabsf(dir[2]);
   const unsigned kz = x >= y ? (x >= z ? 0 : 2) : (y >= z ? 1 : 2);
   const bool swap = dir[kz] < 0.0f;
   const unsigned kx = (kz + (swap ? 2 : 1)) % 3, ky = (kz + (swap ? 1 : 2)) % 3;
   const float sz = 1.0f / dir[kz];
   const float sx = dir[kx] * sz, sy = dir[ky] * sz;
   float corners[3][3], px[3], py[3], pz[3];

   result[0] = fui(INFINITY);
   result[1] = fui(1.0f);
   result[2] = result[3] = fui(0.0f);
   if (!softgpu_read(va, corners, sizeof(corners)))
      return false;
   for (unsigned i = 0; i < 3; i++) {
      const float at[3] = {
         corners[i][0] - ray->origin[0],
         corners[i][1] - ray->origin[1],
         corners[i][2] - ray->origin[2],
      };
      px[i] = at[kx] - sx * at[kz];
      py[i] = at[ky] - sy * at[kz];
      pz[i] = at[kz];
   }
   const double u = (double)px[2] * py[1] - (double)py[2] * px[1];
   const double v = (double)px[0] * py[2] - (double)py[0] * px[2];
   const double w = (double)px[1] * py[0] - (double)py[1] * px[0];

   if ((u < 0.0 || v < 0.0 || w < 0.0) && (u > 0.0 || v > 0.0 || w > 0.0))
      return true;
   const double det = u + (v + w);
   const double t = u * (sz * (double)pz[0]) + v * (sz * (double)pz[1]) + w * (sz * (double)pz[2]);
   if (signum(det) * t < 0.0)
      return true;
   result[0] = fui((float)(t / fabs(det)));
   result[1] = fui((float)signum(det));
   result[2] = fui((float)(v / fabs(det)));
   result[3] = fui((float)(w / fabs(det)));
   return true;
}

/* --- The instruction ------------------------------------------------------ */

static bool
read_descriptor(const struct softgpu_wave *wave, const nir_intrinsic_instr *instr,
                enum box_sort *sort)
{
   uint32_t words[4];

   for (unsigned i = 0; i < 4; i++)
      words[i] = (uint32_t)softgpu_uniform_source(wave, instr, 0, i);
   *sort = WORD1_SORT(words[1]);
   if (words[0] || (words[1] & ~WORD1_KNOWN) || !(words[1] & WORD1_SORT_ENABLE) ||
       *sort > SORT_MIDPOINT ||
       (words[3] & ~WORD3_SIZE_MASK) != (WORD3_BARYCENTRICS | WORD3_TYPE)) {
      softgpu_error("%s: descriptor 0x%08x 0x%08x 0x%08x 0x%08x is not known", softgpu_name(instr),
                    words[0], words[1], words[2], words[3]);
      return false;
   }
   return true;
}

static void
read_vector(const struct softgpu_wave *wave, const nir_src *src, unsigned lane, float vector[3])
{
   for (unsigned i = 0; i < 3; i++)
      vector[i] = uif((uint32_t)softgpu_uint(wave, src, i, lane));
}

static void
intersect_lane(struct softgpu_wave *wave, nir_intrinsic_instr *instr, unsigned lane,
               enum box_sort sort)
{
   const uint64_t node = softgpu_uint(wave, &instr->src[1], 0, lane) |
                         softgpu_uint(wave, &instr->src[1], 1, lane) << 32;
   /* Addresses of nodes count in 8 bytes. */
   const uint64_t va = (uint64_t)((int64_t)((node & ~UINT64_C(7)) << 19) >> 16);
   const unsigned type = node & 7;
   uint32_t result[4] = {NO_RESULT, NO_RESULT, NO_RESULT, NO_RESULT};
   struct ray ray = {.t_max = uif((uint32_t)softgpu_uint(wave, &instr->src[2], 0, lane))};
   bool done = true;

   read_vector(wave, &instr->src[3], lane, ray.origin);
   read_vector(wave, &instr->src[4], lane, ray.direction);
   read_vector(wave, &instr->src[5], lane, ray.inverse);
   if (type == NODE_TRIANGLE)
      done = intersect_triangle(&ray, va, result);
   else if (type == NODE_BOX32)
      done = intersect_box(&ray, va, sort, result);
   else if (type < NODE_USER)
      softgpu_error("%s: nodes of type %u are not supported", softgpu_name(instr), type);
   for (unsigned i = 0; i < 4 && done; i++)
      softgpu_set_uint(wave, instr, lane, i, result[i]);
}

void
softgpu_intersect(struct softgpu_wave *wave, nir_intrinsic_instr *instr)
{
   enum box_sort sort;

   if (!read_descriptor(wave, instr, &sort))
      return;
   softgpu_foreach_lane(lane, wave->exec) intersect_lane(wave, instr, lane, sort);
}
