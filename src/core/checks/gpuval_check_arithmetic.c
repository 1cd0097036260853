/* SPDX-License-Identifier: MIT */

/* The checks arithmetic and nan: records of an operation and its operands
 * (gpuval_nir_arithmetic.c).
 */

#include "core/events/gpuval_events.h"

#include <inttypes.h>

#include "nir_passes/gpuval_nir.h"
#include "util/ralloc.h"
#include "util/u_math.h"

/* With %s where an operand comes, and %u for bits; what shows no operand has none. */
static const char *const texts[GPUVAL_ARITHMETIC_COUNT] = {
   [GPUVAL_ARITHMETIC_DIVIDE] = "%s / %s",
   [GPUVAL_ARITHMETIC_REMAINDER] = "the remainder of %s / %s",
   [GPUVAL_ARITHMETIC_SHIFT_LEFT] = "%s << %s, of %u bits",
   [GPUVAL_ARITHMETIC_SHIFT_RIGHT] = "%s >> %s, of %u bits",
   [GPUVAL_ARITHMETIC_SQRT] = "sqrt(%s)",
   [GPUVAL_ARITHMETIC_INVERSESQRT] = "inversesqrt(%s)",
   [GPUVAL_ARITHMETIC_LOG] = "log(%s)",
   [GPUVAL_ARITHMETIC_LOG2] = "log2(%s)",
   [GPUVAL_ARITHMETIC_POW] = "pow(%s, %s)",
   [GPUVAL_ARITHMETIC_ASIN] = "asin(%s)",
   [GPUVAL_ARITHMETIC_ACOS] = "acos(%s)",
   [GPUVAL_ARITHMETIC_ATAN] = "atan(%s, %s)",
   [GPUVAL_ARITHMETIC_NORMALIZE] = "normalize of a zero vector",
   [GPUVAL_ARITHMETIC_CLAMP] = "clamp with minimum %s above maximum %s",
   [GPUVAL_ARITHMETIC_SMOOTHSTEP] = "smoothstep with edge0 %s not below edge1 %s",
   [GPUVAL_ARITHMETIC_INSERT] = "insertion at bit %s of %s bits into a word of %u",
   [GPUVAL_ARITHMETIC_EXTRACT] = "extraction at bit %s of %s bits from a word of %u",
};

static const char *
print_operand(const struct gpuval_event *event, uint32_t word, uint32_t what)
{
   unsigned bits = what >> GPUVAL_ARITHMETIC_BITS_SHIFT & 0xff;
   bool is_signed = what & GPUVAL_ARITHMETIC_IS_SIGNED;
   bool is_saturated =
      is_signed ? word == (uint32_t)INT32_MIN || word == INT32_MAX : word == UINT32_MAX;

   if (what & GPUVAL_ARITHMETIC_IS_FLOAT)
      return ralloc_asprintf(event, "%g", uif(word));
   if (bits == 64 && is_saturated)
      return "a number";
   return is_signed ? ralloc_asprintf(event, "%" PRId32, (int32_t)word)
                    : ralloc_asprintf(event, "%" PRIu32, word);
}

static void
read_arithmetic(struct gpuval_device *device, struct gpuval_event *event,
                const struct gpuval_record *record)
{
   uint32_t what = record->access_size;
   uint32_t arithmetic = what & GPUVAL_ARITHMETIC_MASK;
   unsigned bits = what >> GPUVAL_ARITHMETIC_BITS_SHIFT & 0xff;
   const char *first = print_operand(event, record->offset, what);
   const char *second = print_operand(event, record->slot, what);

   event->has_operands = bits == 32;
   event->operands[0] = record->offset;
   event->operands[1] = record->slot;

   switch (arithmetic) {
   case GPUVAL_ARITHMETIC_SHIFT_LEFT:
   case GPUVAL_ARITHMETIC_SHIFT_RIGHT: {
      const char *count = ralloc_asprintf(event, "%" PRId32, (int32_t)record->slot);
      event->detail = ralloc_asprintf(event, texts[arithmetic], first, count, bits);
      return;
   }
   case GPUVAL_ARITHMETIC_CONVERT:
      event->detail =
         ralloc_asprintf(event, "%s does not fit %s integer of %u bits", first,
                         what & GPUVAL_ARITHMETIC_IS_SIGNED ? "a signed" : "an unsigned", bits);
      return;
   default:
      if (arithmetic < GPUVAL_ARITHMETIC_COUNT && texts[arithmetic])
         event->detail = ralloc_asprintf(event, texts[arithmetic], first, second, bits);
      return;
   }
}

const struct gpuval_words gpuval_words_arithmetic = {.read = read_arithmetic};
