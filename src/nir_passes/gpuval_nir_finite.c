/* SPDX-License-Identifier: MIT */

/* Floats that are certainly neither NaN nor infinite: of constants, integers, conditions and what
 * is saturated, and of sums and products of these. Whatever else it is can be anything.
 */

#include "gpuval_nir_float.h"
#include "gpuval_nir_private.h"

#include <float.h>
#include <math.h>

/* Values that are looked at for one float: they may be shared in ways that have no end. */
#define MAX_VISITS 64

static double find_bound(nir_scalar scalar, unsigned *num_visits);

static double
find_phi(nir_scalar scalar, unsigned *num_visits)
{
   const nir_phi_instr *phi = nir_instr_as_phi(nir_def_instr(scalar.def));
   double bound = 0;

   /* What a loop makes of it comes around until there are no visits left. */
   nir_foreach_phi_src (src, phi)
      bound = MAX2(bound, find_bound(nir_get_scalar(src->src.ssa, scalar.comp), num_visits));
   return bound;
}

/* An integer of @bits, of either sign */
static double
of_integer(unsigned bits)
{
   return ldexp(1.0, bits);
}

static double
find_alu(nir_scalar scalar, unsigned *num_visits)
{
   const nir_op op = nir_scalar_alu_op(scalar);
   const nir_op_info *info = &nir_op_infos[op];
   double bounds[3] = {INFINITY, INFINITY, INFINITY};

   switch (op) {
   case nir_op_fsat:
   case nir_op_b2f32:
      return 1;
   case nir_op_i2f32:
   case nir_op_u2f32:
      return of_integer(nir_scalar_chase_alu_src(scalar, 0).def->bit_size);
   default:
      break;
   }
   if (info->num_inputs > ARRAY_SIZE(bounds) || info->output_size || info->input_sizes[0])
      return INFINITY;
   for (unsigned i = op == nir_op_bcsel; i < info->num_inputs; i++)
      bounds[i] = find_bound(nir_scalar_chase_alu_src(scalar, i), num_visits);

   switch (op) {
   case nir_op_mov:
   case nir_op_fneg:
   case nir_op_fabs:
      return bounds[0];
   case nir_op_ffloor:
   case nir_op_fceil:
   case nir_op_ftrunc:
   case nir_op_fround_even:
      return bounds[0] + 1;
   case nir_op_ffract:
      return isfinite(bounds[0]) ? 1 : INFINITY;
   case nir_op_fmin:
   case nir_op_fmax:
      return MAX2(bounds[0], bounds[1]);
   case nir_op_bcsel:
      return MAX2(bounds[1], bounds[2]);
   case nir_op_fadd:
   case nir_op_fsub:
      return bounds[0] + bounds[1];
   case nir_op_fmul:
      return isfinite(bounds[0]) && isfinite(bounds[1]) ? bounds[0] * bounds[1] : INFINITY;
   case nir_op_ffma:
      return isfinite(bounds[0]) && isfinite(bounds[1]) ? bounds[0] * bounds[1] + bounds[2]
                                                        : INFINITY;
   default:
      return INFINITY;
   }
}

/* Of the magnitude; above all floats where it is not known */
static double
find_bound(nir_scalar scalar, unsigned *num_visits)
{
   double bound = INFINITY;

   scalar = nir_scalar_chase_movs(scalar);
   if (scalar.def->bit_size != 32 || ++*num_visits > MAX_VISITS)
      return INFINITY;
   if (nir_scalar_is_const(scalar))
      bound = fabs(nir_scalar_as_float(scalar));
   else if (nir_scalar_is_alu(scalar))
      bound = find_alu(scalar, num_visits);
   else if (nir_def_instr(scalar.def)->type == nir_instr_type_phi)
      bound = find_phi(scalar, num_visits);

   /* Half of it is left to what is rounded on the way. */
   return bound < FLT_MAX / 2 ? bound : INFINITY;
}

bool
gpuval_nir_is_finite(nir_scalar scalar)
{
   unsigned num_visits = 0;

   if (nir_scalar_is_const(scalar))
      return isfinite(nir_scalar_as_float(scalar));
   return isfinite(find_bound(scalar, &num_visits));
}
