/* SPDX-License-Identifier: MIT */

/* Text of a message: format string and payload in, characters out.
 *
 * The grammar is that of GLSL_EXT_debug_printf and of GPU-AV, which
 * docs/printf.rst describes. Mesa's util_printf_next_spec_pos() knows neither
 * its vectors nor its `%ul`, nor where a specifier begins, so this has its own
 * scanner.
 *
 * The types of the arguments are known. What goes to snprintf() is made here of
 * what was understood, never the shader's own string.
 */

#include "gpuval_printf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/u_math.h"

#define FLAGS      "-+ #0"
#define MAX_NUMBER 1000 /* width and precision */

struct specifier {
   const char *begin, *end;
   char flags[sizeof(FLAGS)];
   int width;
   int precision;   /* -1: none */
   unsigned vector; /* components, 0: a scalar */
   char conversion; /* 0: this is no specifier */
};

struct text {
   struct util_dynarray *chars;
   char *problem;
};

static void
append(struct text *text, const char *chars, size_t count)
{
   if (count)
      memcpy(util_dynarray_grow_bytes(text->chars, count, 1), chars, count);
}

static void PRINTFLIKE(3, 4)
   set_problem(struct text *text, const struct specifier *specifier, const char *format, ...)
{
   if (*text->problem)
      return;

   int length = 0;
   if (specifier)
      length = snprintf(text->problem, GPUVAL_PRINTF_MAX_PROBLEM, "\"%.*s\" ",
                        (int)MIN2(specifier->end - specifier->begin, 40), specifier->begin);

   va_list args;
   va_start(args, format);
   vsnprintf(text->problem + length, GPUVAL_PRINTF_MAX_PROBLEM - length, format, args);
   va_end(args);
}

static const char *
parse_number(const char *p, int *number)
{
   *number = 0;
   for (; *p >= '0' && *p <= '9'; p++)
      *number = MIN2(*number * 10 + (*p - '0'), MAX_NUMBER);
   return p;
}

static const char *
parse_vector(const char *p, unsigned *vector)
{
   if (*vector || *p != 'v' || p[1] < '2' || p[1] > '4')
      return p;
   *vector = p[1] - '0';
   return p + 2;
}

/* % [flags] [width] [. precision] [v 2|3|4] [length] conversion, and as some write
 * it: the vector first.
 */
static struct specifier
parse_specifier(const char *begin)
{
   struct specifier specifier = {.begin = begin, .precision = -1};
   const char *p = begin + 1;
   unsigned num_flags = 0;

   p = parse_vector(p, &specifier.vector);
   for (; *p && strchr(FLAGS, *p); p++) {
      if (!strchr(specifier.flags, *p))
         specifier.flags[num_flags++] = *p;
   }
   p = parse_number(p, &specifier.width);
   if (*p == '.')
      p = parse_number(p + 1, &specifier.precision);
   p = parse_vector(p, &specifier.vector);
   while (*p && strchr("hlLjztq", *p))
      p++;
   if (*p && strchr("diouxXaAeEfFgGcp", *p))
      specifier.conversion = *p;

   specifier.end = p + (*p != 0);
   return specifier;
}

static bool
is_float(char conversion)
{
   return strchr("aAeEfFgG", conversion) != NULL;
}

static bool
is_signed(char conversion)
{
   return conversion == 'd' || conversion == 'i';
}

static bool
matches(const struct gpuval_nir_argument *argument, char conversion)
{
   return is_float(conversion) == (argument->type == GPUVAL_ARGUMENT_FLOAT);
}

/* How an argument is printed whose specifier is for something else */
static char
natural_conversion(const struct gpuval_nir_argument *argument)
{
   switch (argument->type) {
   case GPUVAL_ARGUMENT_FLOAT:
      return 'f';
   case GPUVAL_ARGUMENT_UINT:
      return 'u';
   case GPUVAL_ARGUMENT_ADDRESS:
      return 'p';
   default:
      return 'd';
   }
}

static const char *
type_name(const struct gpuval_nir_argument *argument)
{
   switch (argument->type) {
   case GPUVAL_ARGUMENT_FLOAT:
      return "a float";
   case GPUVAL_ARGUMENT_UINT:
      return "an unsigned integer";
   case GPUVAL_ARGUMENT_INT:
      return "an integer";
   case GPUVAL_ARGUMENT_BOOL:
      return "a bool";
   default:
      return "an address";
   }
}

/* Flags that mean nothing with a conversion are undefined behavior in C. */
static bool
flag_applies(char flag, char conversion)
{
   switch (flag) {
   case '-':
      return true;
   case '0':
      return conversion != 'c' && conversion != 'p';
   case '#':
      return is_float(conversion) || strchr("oxX", conversion);
   default: /* + and space */
      return is_float(conversion) || is_signed(conversion);
   }
}

static double
get_float(const struct gpuval_nir_argument *argument, uint64_t bits)
{
   return argument->bit_size == 64 ? uid(bits) : uif(bits);
}

/* As in C: what is shorter than int becomes int first. */
static int64_t
get_signed(const struct gpuval_nir_argument *argument, uint64_t bits)
{
   bool is_int = argument->type == GPUVAL_ARGUMENT_INT;

   switch (argument->bit_size) {
   case 8:
      return is_int ? (int8_t)bits : (uint8_t)bits;
   case 16:
      return is_int ? (int16_t)bits : (uint16_t)bits;
   case 32:
      return (int32_t)bits;
   default:
      return bits;
   }
}

/* The bits of its own width, as with GPU-AV: 0x85 of an int8_t that is -123 */
static uint64_t
get_unsigned(const struct gpuval_nir_argument *argument, uint64_t bits)
{
   return bits & BITFIELD64_MASK(argument->bit_size);
}

/* A character by its code point; what is none becomes U+FFFD. */
static unsigned
encode_character(char *out, uint64_t code)
{
   if (!code || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
      code = 0xfffd;

   if (code < 0x80) {
      out[0] = code;
      return 1;
   }
   if (code < 0x800) {
      out[0] = 0xc0 | code >> 6;
      out[1] = 0x80 | (code & 0x3f);
      return 2;
   }
   if (code < 0x10000) {
      out[0] = 0xe0 | code >> 12;
      out[1] = 0x80 | (code >> 6 & 0x3f);
      out[2] = 0x80 | (code & 0x3f);
      return 3;
   }
   out[0] = 0xf0 | code >> 18;
   out[1] = 0x80 | (code >> 12 & 0x3f);
   out[2] = 0x80 | (code >> 6 & 0x3f);
   out[3] = 0x80 | (code & 0x3f);
   return 4;
}

/* @columns: how wide @chars are on a screen */
static void
append_padded(struct text *text, const struct specifier *specifier, const char *chars,
              unsigned count, unsigned columns)
{
   bool left = strchr(specifier->flags, '-') != NULL;

   if (left)
      append(text, chars, count);
   for (int i = columns; i < specifier->width; i++)
      append(text, " ", 1);
   if (!left)
      append(text, chars, count);
}

static void
append_scalar(struct text *text, const struct specifier *specifier,
              const struct gpuval_nir_argument *argument, char conversion, uint64_t bits)
{
   /* 1.8e308 with a precision of MAX_NUMBER is the longest. */
   char buffer[2048];
   int length;

   if (conversion == 'c') {
      length = encode_character(buffer, get_signed(argument, bits));
      append_padded(text, specifier, buffer, length, 1);
      return;
   }
   if (conversion == 'p') {
      length = snprintf(buffer, sizeof(buffer), "0x%" PRIx64, get_unsigned(argument, bits));
      append_padded(text, specifier, buffer, length, length);
      return;
   }

   char format[sizeof(FLAGS) + 8] = "%";
   char *p = format + 1;
   for (const char *flag = specifier->flags; *flag; flag++) {
      if (flag_applies(*flag, conversion))
         *p++ = *flag;
   }
   p += sprintf(p, "*.*");
   if (!is_float(conversion))
      *p++ = 'j';
   *p++ = conversion;
   *p = 0;

   int width = specifier->width, precision = specifier->precision;
   if (is_float(conversion))
      length =
         snprintf(buffer, sizeof(buffer), format, width, precision, get_float(argument, bits));
   else if (is_signed(conversion))
      length = snprintf(buffer, sizeof(buffer), format, width, precision,
                        (intmax_t)get_signed(argument, bits));
   else
      length = snprintf(buffer, sizeof(buffer), format, width, precision,
                        (uintmax_t)get_unsigned(argument, bits));
   append(text, buffer, CLAMP(length, 0, (int)sizeof(buffer) - 1));
}

static void
append_argument(struct text *text, struct specifier specifier, unsigned index,
                const struct gpuval_nir_argument *argument, const uint32_t *payload,
                unsigned num_words)
{
   unsigned words = gpuval_nir_argument_words(argument);

   if (argument->type == GPUVAL_ARGUMENT_NONE || words > num_words) {
      append(text, specifier.begin, specifier.end - specifier.begin);
      set_problem(text, &specifier,
                  words > num_words ? "has no value: the message is too short for argument %u"
                                    : "has no value: argument %u cannot be printed",
                  index + 1);
      return;
   }

   if (!matches(argument, specifier.conversion)) {
      set_problem(text, &specifier, "does not match argument %u, which is %s", index + 1,
                  type_name(argument));
      specifier.conversion = natural_conversion(argument);
      specifier.precision = -1;
   }
   if (MAX2(specifier.vector, 1) != argument->components)
      set_problem(text, &specifier, "does not match argument %u, which has %u component%s",
                  index + 1, argument->components, argument->components == 1 ? "" : "s");

   /* What a vector lacks is 0, as with GPU-AV. */
   unsigned stride = argument->bit_size == 64 ? 2 : 1;
   unsigned components = MAX2(argument->components, specifier.vector);
   for (unsigned i = 0; i < components; i++) {
      uint64_t bits = i < argument->components ? payload[i * stride] : 0;
      if (stride == 2 && i < argument->components)
         bits |= (uint64_t)payload[i * stride + 1] << 32;
      if (i)
         append(text, ", ", 2);
      append_scalar(text, &specifier, argument, specifier.conversion, bits);
   }
}

void
gpuval_printf_append_text(struct util_dynarray *chars, const struct gpuval_nir_format *format,
                          const uint32_t *payload, unsigned num_words,
                          char problem[GPUVAL_PRINTF_MAX_PROBLEM])
{
   struct text text = {chars, problem};
   const char *p = format->string;
   unsigned argument = 0, word = 0;

   *problem = 0;
   while (*p) {
      size_t plain = strcspn(p, "%");
      append(&text, p, plain);
      p += plain;
      if (!*p)
         break;
      if (p[1] == '%') {
         append(&text, p, 1);
         p += 2;
         continue;
      }

      struct specifier specifier = parse_specifier(p);
      p = specifier.end;
      if (!specifier.conversion || argument == format->num_arguments) {
         append(&text, specifier.begin, specifier.end - specifier.begin);
         if (!specifier.conversion)
            set_problem(&text, &specifier, "is not a format specifier");
         else
            set_problem(&text, &specifier, "has no argument: there are only %u",
                        format->num_arguments);
         continue;
      }

      const struct gpuval_nir_argument *type = &format->arguments[argument];
      /* GPU-AV's %ul is another %lx; with a shorter argument the l is text. */
      if (specifier.conversion == 'u' && *p == 'l' && type->bit_size == 64) {
         specifier.conversion = 'x';
         p = ++specifier.end;
      }
      append_argument(&text, specifier, argument, type, payload + MIN2(word, num_words),
                      num_words - MIN2(word, num_words));
      word += gpuval_nir_argument_words(type);
      argument++;
   }

   if (argument < format->num_arguments)
      set_problem(&text, NULL, "there are %u arguments, of which %u have no specifier",
                  format->num_arguments, format->num_arguments - argument);
}

uint64_t
gpuval_printf_64bit_arguments(const struct gpuval_nir_format *format, unsigned first)
{
   uint64_t mask = 0;

   for (unsigned i = first; i < format->num_arguments && i - first < 64; i++) {
      if (format->arguments[i].bit_size == 64)
         mask |= BITFIELD64_BIT(i - first);
   }
   return mask;
}
