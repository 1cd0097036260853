/* SPDX-License-Identifier: MIT */

/* Text of messages, from formats and payloads */

#include <gtest/gtest.h>

#include <cinttypes>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/printf/gpuval_printf.h"

namespace {

/* Arguments and their payload, as the pass packs them */
class arguments {
 public:
   arguments &add(gpuval_argument_type type, unsigned bit_size,
                  const std::vector<uint64_t> &components)
   {
      types.push_back({(uint8_t)type, (uint8_t)bit_size, (uint8_t)components.size()});
      for (uint64_t component : components) {
         payload.push_back((uint32_t)component);
         if (bit_size == 64)
            payload.push_back((uint32_t)(component >> 32));
      }
      return *this;
   }

   arguments &i(int32_t value)
   {
      return add(GPUVAL_ARGUMENT_INT, 32, {(uint32_t)value});
   }
   arguments &u(uint32_t value)
   {
      return add(GPUVAL_ARGUMENT_UINT, 32, {value});
   }
   arguments &i64(int64_t value)
   {
      return add(GPUVAL_ARGUMENT_INT, 64, {(uint64_t)value});
   }
   arguments &u64(uint64_t value)
   {
      return add(GPUVAL_ARGUMENT_UINT, 64, {value});
   }
   arguments &f(float value)
   {
      return add(GPUVAL_ARGUMENT_FLOAT, 32, {fui(value)});
   }
   arguments &f64(double value)
   {
      uint64_t bits;
      memcpy(&bits, &value, sizeof(bits));
      return add(GPUVAL_ARGUMENT_FLOAT, 64, {bits});
   }

   std::vector<gpuval_nir_argument> types;
   std::vector<uint32_t> payload;

 private:
   static uint32_t fui(float value)
   {
      uint32_t bits;
      memcpy(&bits, &value, sizeof(bits));
      return bits;
   }
};

struct result {
   std::string text, problem;
};

result
print(const char *string, const arguments &arguments = {}, int words = -1)
{
   struct gpuval_nir_format format = {};
   format.string = string;
   format.num_arguments = arguments.types.size();
   format.arguments = arguments.types.data();

   struct util_dynarray text;
   char problem[GPUVAL_PRINTF_MAX_PROBLEM];
   util_dynarray_init(&text, NULL);
   gpuval_printf_append_text(&text, &format, arguments.payload.data(),
                             words < 0 ? arguments.payload.size() : words, problem);
   result result = {std::string((const char *)text.data, text.size), problem};
   util_dynarray_fini(&text);
   return result;
}

std::string expected(const char *format, ...) PRINTFLIKE(1, 2);

std::string
expected(const char *format, ...)
{
   char buffer[4096];
   va_list args;
   va_start(args, format);
   vsnprintf(buffer, sizeof(buffer), format, args);
   va_end(args);
   return buffer;
}

#define EXPECT_PROBLEM(expected_text, expected_problem, printed)                                   \
   do {                                                                                            \
      struct result result_ = printed;                                                             \
      EXPECT_EQ(result_.text, expected_text);                                                      \
      EXPECT_EQ(result_.problem, expected_problem);                                                \
   } while (0)

#define EXPECT_TEXT(expected_text, printed) EXPECT_PROBLEM(expected_text, "", printed)

TEST(printf_text, plain)
{
   EXPECT_TEXT("", print(""));
   EXPECT_TEXT("text", print("text"));
   EXPECT_TEXT("100% of %", print("100%% of %%"));
}

/* Whatever printf(3) makes of a number, this makes of it. */
TEST(printf_text, numbers_are_those_of_printf)
{
   std::mt19937_64 random(1);
   const int32_t ints[] = {0, 1, -1, INT32_MAX, INT32_MIN, (int32_t)random(), (int32_t)random()};
   const int64_t longs[] = {0, -1, INT64_MAX, INT64_MIN, (int64_t)random()};
   const double doubles[] = {0.0, -0.0,     1.5,       -2.25e-10, 1e300,
                             NAN, INFINITY, -INFINITY, 5e-324,    123456789.125};

   for (const char *flags : {"", "-", "+", " ", "0", "-+", "+0", " 0"}) {
      for (const char *size : {"", "1", "8", "20", ".0", ".3", "12.5", "3.12"}) {
         for (char conversion : std::string("diouxX")) {
            std::string spec = std::string("%") + flags + size;
            std::string format = spec + conversion;
            std::string wide = spec + "ll" + conversion;
            bool is_signed = conversion == 'd' || conversion == 'i';
            /* Undefined in C */
            if (!is_signed && strpbrk(flags, "+ "))
               continue;
            for (int32_t value : ints)
               EXPECT_TEXT(
                  is_signed ? expected(format.c_str(), value)
                            : expected(format.c_str(), (uint32_t)value),
                  print(format.c_str(), is_signed ? arguments().i(value) : arguments().u(value)));
            for (int64_t value : longs)
               EXPECT_TEXT(
                  expected(wide.c_str(), (long long)value),
                  print(wide.c_str(), is_signed ? arguments().i64(value) : arguments().u64(value)));
         }
         for (char conversion : std::string("aAeEfFgG")) {
            std::string format = std::string("%") + flags + size + conversion;
            for (double value : doubles) {
               EXPECT_TEXT(expected(format.c_str(), value),
                           print(format.c_str(), arguments().f64(value)));
               EXPECT_TEXT(expected(format.c_str(), (float)value),
                           print(format.c_str(), arguments().f((float)value)));
            }
         }
      }
   }
}

TEST(printf_text, short_integers_become_int_first)
{
   auto int8 = [](uint8_t bits) { return arguments().add(GPUVAL_ARGUMENT_INT, 8, {bits}); };
   auto uint8 = [](uint8_t bits) { return arguments().add(GPUVAL_ARGUMENT_UINT, 8, {bits}); };
   auto int16 = [](uint16_t bits) { return arguments().add(GPUVAL_ARGUMENT_INT, 16, {bits}); };
   auto uint16 = [](uint16_t bits) { return arguments().add(GPUVAL_ARGUMENT_UINT, 16, {bits}); };

   EXPECT_TEXT("-1", print("%d", int8(0xff)));
   EXPECT_TEXT("-128", print("%i", int8(0x80)));
   EXPECT_TEXT("255", print("%d", uint8(0xff)));
   EXPECT_TEXT("ff", print("%x", uint8(0xff)));
   EXPECT_TEXT("-300", print("%d", int16((uint16_t)-300)));
   EXPECT_TEXT("65535", print("%d", uint16(0xffff)));
   /* What is above them in the dword was written by somebody else. */
   EXPECT_TEXT("1", print("%u", arguments().add(GPUVAL_ARGUMENT_UINT, 8, {0xffffff01})));
}

/* As GPU-AV prints them */
TEST(printf_text, bits_of_short_integers)
{
   auto int8 = [](uint8_t bits) { return arguments().add(GPUVAL_ARGUMENT_INT, 8, {bits}); };
   auto int16 = [](uint16_t bits) { return arguments().add(GPUVAL_ARGUMENT_INT, 16, {bits}); };

   EXPECT_TEXT("0x85 0X85 0205 133",
               print("%#x %#X %#o %u", int8(0x85)
                                          .add(GPUVAL_ARGUMENT_INT, 8, {0x85})
                                          .add(GPUVAL_ARGUMENT_INT, 8, {0x85})
                                          .add(GPUVAL_ARGUMENT_INT, 8, {0x85})));
   EXPECT_TEXT("0xff85", print("0x%x", int16(0xff85)));
   EXPECT_TEXT("ffffff85", print("%x", arguments().i(-123)));
}

TEST(printf_text, other_sizes_than_the_specifier_says)
{
   EXPECT_TEXT("-5000000000", print("%d", arguments().i64(-5000000000)));
   EXPECT_TEXT("5000000000", print("%u", arguments().u64(5000000000)));
   EXPECT_TEXT("-7 7 7", print("%ld %lu %lx", arguments().i(-7).u(7).u(7)));
   EXPECT_TEXT("-1", print("%d", arguments().u(UINT32_MAX)));
   EXPECT_TEXT("4294967295", print("%u", arguments().i(-1)));
}

TEST(printf_text, ul_of_gpu_av)
{
   EXPECT_TEXT("1f x", print("%ul x", arguments().u64(31)));
   EXPECT_TEXT("31l x", print("%ul x", arguments().u(31)));
   EXPECT_TEXT("1f, 20", print("%v2ul", arguments().add(GPUVAL_ARGUMENT_UINT, 64, {31, 32})));
}

TEST(printf_text, vectors)
{
   arguments vector = arguments().add(GPUVAL_ARGUMENT_INT, 32, {1, (uint32_t)-2, 3});
   EXPECT_TEXT("1, -2, 3", print("%v3d", vector));
   EXPECT_TEXT("   1,   -2,    3", print("%4v3d", vector));
   EXPECT_TEXT("   1,   -2,    3", print("%v34d", vector));
   EXPECT_PROBLEM("1, -2, 3", "\"%v2d\" does not match argument 1, which has 3 components",
                  print("%v2d", vector));
   EXPECT_PROBLEM("1, -2, 3", "\"%d\" does not match argument 1, which has 3 components",
                  print("%d", vector));
   EXPECT_PROBLEM("5, 0", "\"%v2d\" does not match argument 1, which has 1 component",
                  print("%v2d", arguments().i(5)));
   EXPECT_PROBLEM(
      "1.50, 2.50, 0.00, 0.00", "\"%v4.2f\" does not match argument 1, which has 2 components",
      print("%v4.2f", arguments().add(GPUVAL_ARGUMENT_FLOAT, 32, {0x3fc00000, 0x40200000})));
   EXPECT_PROBLEM("1, 2, 0 7", "\"%v3lu\" does not match argument 1, which has 2 components",
                  print("%v3lu %u", arguments().add(GPUVAL_ARGUMENT_UINT, 64, {1, 2}).u(7)));
   EXPECT_PROBLEM("%v5d", "\"%v\" is not a format specifier", print("%v5d"));
}

TEST(printf_text, characters)
{
   EXPECT_TEXT("A|  A|A  ", print("%c|%3c|%-3c", arguments().u('A').u('A').u('A')));
   EXPECT_TEXT("\u00e9 \u20ac \U0001f600",
               print("%c %c %c", arguments().u(0xe9).u(0x20ac).u(0x1f600)));
   /* Never an end, never broken UTF-8 */
   EXPECT_TEXT("\ufffd\ufffd\ufffd",
               print("%c%c%c", arguments().u(0).u(0xd800).add(GPUVAL_ARGUMENT_INT, 8, {0xff})));
}

TEST(printf_text, addresses)
{
   arguments address = arguments().add(GPUVAL_ARGUMENT_ADDRESS, 64, {0x123456789abc});
   EXPECT_TEXT("0x123456789abc", print("%p", address));
   EXPECT_TEXT("123456789abc", print("%lx", address));
   EXPECT_TEXT("       0x0", print("%10p", arguments().u(0)));
   EXPECT_PROBLEM("0x123456789abc", "\"%f\" does not match argument 1, which is an address",
                  print("%f", address));
}

TEST(printf_text, mismatches)
{
   EXPECT_PROBLEM("1.500000", "\"%d\" does not match argument 1, which is a float",
                  print("%d", arguments().f(1.5)));
   EXPECT_PROBLEM("    -3", "\"%6.1f\" does not match argument 1, which is an integer",
                  print("%6.1f", arguments().i(-3)));
   EXPECT_PROBLEM("0.250000", "\"%c\" does not match argument 1, which is a float",
                  print("%c", arguments().f64(0.25)));
   /* The first is what is told. */
   EXPECT_PROBLEM("1 %s %u", "\"%s\" is not a format specifier",
                  print("%u %s %u", arguments().u(1)));
   EXPECT_PROBLEM("%u", "\"%u\" has no argument: there are only 0", print("%u"));
   EXPECT_PROBLEM("1", "there are 3 arguments, of which 2 have no specifier",
                  print("%u", arguments().u(1).u(2).u(3)));
   EXPECT_PROBLEM("%1$d", "\"%1$\" is not a format specifier", print("%1$d"));
   EXPECT_PROBLEM("%n", "\"%n\" is not a format specifier", print("%n"));
   EXPECT_PROBLEM("%*d", "\"%*\" is not a format specifier", print("%*d"));
   EXPECT_PROBLEM("50%", "\"%\" is not a format specifier", print("50%"));
   EXPECT_PROBLEM("%-+ #0", "\"%-+ #0\" is not a format specifier", print("%-+ #0"));
}

TEST(printf_text, payload_that_is_too_short)
{
   arguments both = arguments().u(1).u64(2);
   EXPECT_PROBLEM("1 %lu", "\"%lu\" has no value: the message is too short for argument 2",
                  print("%u %lu", both, 2));
   EXPECT_PROBLEM("%u %lu", "\"%u\" has no value: the message is too short for argument 1",
                  print("%u %lu", both, 0));
}

TEST(printf_text, large_numbers_in_specifiers)
{
   EXPECT_EQ(print("%999999999999d", arguments().i(1)).text.size(), 1000u);
   EXPECT_EQ(print("%.999999999999f", arguments().f64(1e308)).text.size(), 309u + 1 + 1000);
   EXPECT_EQ(print("%99999c|", arguments().u('x')).text.size(), 1001u);
}

TEST(printf_text, wide_arguments_mask)
{
   arguments many;
   for (unsigned i = 0; i < 70; i++)
      i % 3 == 0 ? many.u64(i) : many.u(i);
   struct gpuval_nir_format format = {};
   format.num_arguments = many.types.size();
   format.arguments = many.types.data();

   EXPECT_EQ(gpuval_printf_64bit_arguments(&format, 0), 0x9249249249249249ull);
   EXPECT_EQ(gpuval_printf_64bit_arguments(&format, 64), 0x24ull);
}

} // namespace
