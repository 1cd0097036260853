/* SPDX-License-Identifier: MIT */

/* Messages: text from formats and payloads, and the two buffers with a shader that
 * is stopped wherever it matters.
 */

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/gpuval_layout.h"
#include "base/gpuval_options.h"
#include "core/gpuval_printf.h"
#include "util/ralloc.h"

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

/* --- Buffers -------------------------------------------------------------- */

/* Messages have one argument, a number, or in "gap" some more of them. */
const uint64_t number_id = 0xabcdef012345, pair_id = 0x42;

class printf_buffers : public ::testing::Test {
 protected:
   /* What a shader does, one step at a time */
   struct shader_message {
      uint8_t *buffer;
      uint64_t offset;
      std::vector<uint32_t> words;
      uint32_t capacity;
   };

   shader_message claim(const std::vector<uint32_t> &payload, uint64_t id = number_id)
   {
      return claim_in((uint8_t *)__atomic_load_n(&root.printf_address, __ATOMIC_ACQUIRE), payload,
                      id);
   }

   shader_message claim_in(uint8_t *buffer, const std::vector<uint32_t> &payload,
                           uint64_t id = number_id)
   {
      std::vector<uint32_t> words = {(uint32_t)(2 + payload.size()) | (uint32_t)(id << 16),
                                     (uint32_t)(id >> 16)};
      words.insert(words.end(), payload.begin(), payload.end());
      uint64_t offset = __atomic_fetch_add((uint64_t *)buffer, words.size(), __ATOMIC_SEQ_CST);
      if (offset > GPUVAL_PRINTF_MAX_OFFSET)
         offset = GPUVAL_PRINTF_MAX_OFFSET;
      return {buffer, offset, words, (uint32_t)(root.printf_size / 4)};
   }

   void write(const shader_message &message)
   {
      uint32_t *words = (uint32_t *)(message.buffer + 16) + message.offset;
      if (message.offset + message.words.size() <= message.capacity)
         memcpy(words + 1, &message.words[1], (message.words.size() - 1) * 4);
      else
         __atomic_fetch_add(&root.printf_lost, 1, __ATOMIC_SEQ_CST);
      if (message.offset + 2 <= message.capacity)
         __atomic_store_n(words, message.words[0], __ATOMIC_RELEASE);
   }

   void print(uint32_t number)
   {
      write(claim({number}));
   }

   static void SetUpTestSuite()
   {
      setenv("GPUVAL", "printf", 1);
      setenv("GPUVAL_LOG", "/dev/null", 1);
      gpuval_options_init(false);
   }

   void SetUp() override
   {
      mem_ctx = ralloc_context(NULL);
      init(32);
   }

   void init(unsigned capacity)
   {
      for (unsigned i = 0; i < 2; i++)
         memory[i].assign(4 + capacity, 0);
      void *const maps[2] = {memory[0].data(), memory[1].data()};
      const uint64_t addresses[2] = {(uintptr_t)maps[0], (uintptr_t)maps[1]};

      root = {};
      root.printf_size = capacity * 4;
      printf = {};
      gpuval_printf_init(&printf, mem_ctx, maps, addresses, 16 + capacity * 4,
                         &root.printf_address);
      printf.message = message;
      printf.data = this;

      static const struct gpuval_nir_argument types[] = {{GPUVAL_ARGUMENT_UINT, 32, 1},
                                                         {GPUVAL_ARGUMENT_UINT, 32, 1}};
      number = {number_id, "%u", 1, types, 0, false};
      pair = {pair_id, "%u.%u", 2, types, 0, false};
      gpuval_printf_add_format(&printf, &number, NULL, 0);
      gpuval_printf_add_format(&printf, &pair, NULL, 1);
   }

   void TearDown() override
   {
      gpuval_printf_finish(&printf);
      ralloc_free(mem_ctx);
   }

   static void message(void *data, const struct gpuval_printf_message *message)
   {
      ((printf_buffers *)data)->texts.push_back(message->text);
   }

   std::vector<std::string> drain(bool idle = false)
   {
      texts.clear();
      gpuval_printf_drain(&printf, idle);
      return texts;
   }

   using strings = std::vector<std::string>;

   void *mem_ctx;
   std::vector<uint32_t> memory[2];
   struct gpuval_root root;
   struct gpuval_printf printf;
   struct gpuval_nir_format number, pair;
   strings texts;
};

TEST_F(printf_buffers, messages_in_order)
{
   EXPECT_EQ(drain(), strings());
   print(1);
   print(2);
   EXPECT_EQ(drain(), strings({"1", "2"}));
   EXPECT_EQ(drain(), strings());
   print(3);
   EXPECT_EQ(drain(true), strings({"3"}));
   EXPECT_EQ(printf.lost + root.printf_lost, 0u);
}

TEST_F(printf_buffers, room_comes_back_while_shaders_print)
{
   for (unsigned i = 0; i < 10000; i++) {
      print(i);
      if (i % 5 == 4) {
         strings expected;
         for (unsigned j = i - 4; j <= i; j++)
            expected.push_back(std::to_string(j));
         ASSERT_EQ(drain(), expected);
      }
   }
   EXPECT_EQ(printf.lost + root.printf_lost, 0u);
   drain();
   for (unsigned i = 0; i < 2; i++) {
      for (uint32_t word : memory[i])
         EXPECT_EQ(word, 0u);
   }
}

TEST_F(printf_buffers, late_shader_in_the_other_buffer)
{
   uint8_t *before = (uint8_t *)root.printf_address;
   print(1);
   EXPECT_EQ(drain(), strings({"1"}));
   ASSERT_NE((uint8_t *)root.printf_address, before);

   /* It has loaded the address of what is the other one now: after that was taken
    * back, and before its next message, which comes behind.
    */
   drain();
   shader_message late = claim_in(before, {2});
   EXPECT_EQ(drain(), strings());
   write(late);
   print(3);
   EXPECT_EQ(drain(), strings({"2", "3"}));
   EXPECT_EQ(printf.lost + root.printf_lost, 0u);
}

TEST_F(printf_buffers, entry_that_is_not_whole_yet)
{
   shader_message slow = claim({1});
   print(2);
   EXPECT_EQ(drain(), strings());
   print(3);
   EXPECT_EQ(drain(), strings());
   write(slow);
   EXPECT_EQ(drain(), strings({"1", "2", "3"}));
   EXPECT_EQ(printf.lost + root.printf_lost, 0u);
}

TEST_F(printf_buffers, invocation_that_never_writes_its_entry)
{
   claim({1});
   drain();
   drain();
   std::this_thread::sleep_for(std::chrono::milliseconds(300));
   drain();
   /* What is printed afterwards is not held up for good. */
   print(2);
   EXPECT_EQ(drain(), strings({"2"}));
   EXPECT_EQ(drain(true), strings());
   EXPECT_EQ(printf.lost, 1u);
   print(3);
   EXPECT_EQ(drain(true), strings({"3"}));
}

TEST_F(printf_buffers, full)
{
   /* 32 words: ten entries of 3, two words are left. */
   strings expected;
   for (unsigned i = 0; i < 25; i++) {
      print(i);
      if (i < 10)
         expected.push_back(std::to_string(i));
   }
   EXPECT_EQ(drain(), expected);
   EXPECT_EQ(root.printf_lost, 15u);
   print(100);
   EXPECT_EQ(drain(true), strings({"100"}));
   drain();
   for (unsigned i = 0; i < 2; i++) {
      for (uint32_t word : memory[i])
         EXPECT_EQ(word, 0u);
   }
}

TEST_F(printf_buffers, full_to_the_last_word)
{
   for (unsigned capacity : {29, 30, 31}) {
      gpuval_printf_finish(&printf);
      init(capacity);
      strings expected;
      for (unsigned i = 0; i < 20; i++) {
         print(i);
         if (i < capacity / 3)
            expected.push_back(std::to_string(i));
      }
      EXPECT_EQ(drain(), expected);
      EXPECT_EQ(root.printf_lost, 20 - capacity / 3);
      print(7);
      EXPECT_EQ(drain(), strings({"7"}));
   }
}

TEST_F(printf_buffers, full_and_one_is_still_writing)
{
   shader_message slow;
   for (unsigned i = 0; i < 12; i++) {
      shader_message message = claim({i});
      if (i == 5)
         slow = message;
      else
         write(message);
   }
   EXPECT_EQ(drain(), strings({"0", "1", "2", "3", "4"}));
   /* Nothing of what comes now may land where it writes. */
   for (unsigned i = 50; i < 55; i++)
      print(i);
   drain();
   write(slow);
   strings rest = drain();
   ASSERT_GE(rest.size(), 5u);
   EXPECT_EQ(strings(rest.begin(), rest.begin() + 5), strings({"5", "6", "7", "8", "9"}));
   EXPECT_EQ(printf.lost, 0u);
}

TEST_F(printf_buffers, clamp)
{
   /* A counter far beyond the end, as after days of printing into a full buffer */
   *(uint64_t *)root.printf_address = UINT64_MAX - 10;
   print(1);
   print(2);
   EXPECT_EQ(root.printf_lost, 2u);
   for (uint64_t offset :
        {(uint64_t)INT64_MAX, (uint64_t)GPUVAL_PRINTF_MAX_OFFSET, (uint64_t)1 << 32}) {
      *(uint64_t *)root.printf_address = offset;
      print(1);
   }
   EXPECT_EQ(root.printf_lost, 5u);
}

TEST_F(printf_buffers, unknown_id_is_skipped_by_its_size)
{
   print(1);
   write(claim({7, 7, 7, 7, 7}, 0x123456));
   print(2);
   write(claim({3, 4}, pair_id));
   EXPECT_EQ(drain(), strings({"1", "2", "3.4"}));
   EXPECT_TRUE(printf.warned_id);
   EXPECT_EQ(printf.lost, 1u);
}

TEST_F(printf_buffers, payload_of_another_size)
{
   write(claim({}, pair_id));
   write(claim({5}, pair_id));
   write(claim({5, 6, 7}, pair_id));
   print(8);
   EXPECT_EQ(drain(), strings({"%u.%u", "5.%u", "5.6", "8"}));
}

TEST_F(printf_buffers, overwritten_header)
{
   print(1);
   shader_message bad = claim({2});
   bad.words[0] = 1;
   write(bad);
   print(3);
   EXPECT_EQ(drain(), strings({"1"}));
   EXPECT_TRUE(printf.warned_entry);
   EXPECT_EQ(printf.lost, 1u);
   print(4);
   EXPECT_EQ(drain(), strings({"4"}));
}

TEST_F(printf_buffers, overwritten_counter)
{
   print(1);
   print(2);
   uint8_t *buffer = (uint8_t *)root.printf_address;
   EXPECT_EQ(drain(), strings({"1", "2"}));
   *(uint64_t *)buffer = 1;
   drain();
   print(3);
   EXPECT_EQ(drain(true), strings({"3"}));
}

TEST_F(printf_buffers, one_id_two_strings)
{
   struct gpuval_nir_format other = number;
   gpuval_printf_add_format(&printf, &other, NULL, 7);
   EXPECT_FALSE(printf.warned_collision);

   other.string = "another %u";
   gpuval_printf_add_format(&printf, &other, NULL, 7);
   EXPECT_TRUE(printf.warned_collision);
   print(1);
   EXPECT_EQ(drain(), strings({"1"}));
}

/* Threads that print, and one that drains: all that is not counted as lost comes
 * through, once, and that of each thread in order.
 */
TEST_F(printf_buffers, threads)
{
   const unsigned num_threads = 4, count = 50000;
   gpuval_printf_finish(&printf);
   init(4096);

   std::atomic<unsigned> running{num_threads};
   std::vector<std::thread> threads;
   for (unsigned i = 0; i < num_threads; i++) {
      threads.emplace_back([&, i]() {
         for (unsigned j = 0; j < count; j++) {
            /* Now and then, come late. */
            uint8_t *buffer = (uint8_t *)__atomic_load_n(&root.printf_address, __ATOMIC_ACQUIRE);
            if (j % 16 == 0)
               std::this_thread::yield();
            write(claim_in(buffer, {i, j}, pair_id));
         }
         running--;
      });
   }

   strings all;
   while (running) {
      strings some = drain();
      all.insert(all.end(), some.begin(), some.end());
   }
   for (std::thread &thread : threads)
      thread.join();
   strings some;
   do {
      some = drain(true); /* not more than so many at once */
      all.insert(all.end(), some.begin(), some.end());
   } while (!some.empty());

   EXPECT_EQ(all.size() + root.printf_lost, (uint64_t)num_threads * count);
   EXPECT_EQ(printf.lost, 0u);
   std::map<unsigned, int64_t> last;
   for (const std::string &text : all) {
      unsigned thread, j;
      ASSERT_EQ(sscanf(text.c_str(), "%u.%u", &thread, &j), 2) << text;
      ASSERT_LT(thread, num_threads);
      ASSERT_TRUE(!last.count(thread) || last[thread] < j);
      last[thread] = j;
   }
}

/* The host looks at a size, and who has the buffer's address changes it right then. */
TEST_F(printf_buffers, sizes_that_change)
{
   gpuval_printf_finish(&printf);
   init(1024);
   /* Whole entries everywhere */
   std::atomic<bool> stop{false};
   std::thread hostile([&]() {
      const uint32_t sizes[] = {4, 600, 2, 0xffff, 3, 100};
      for (unsigned i = 0; !stop; i++) {
         for (unsigned word = 4; word < 4 + 1024; word++)
            __atomic_store_n(&memory[i & 1][word],
                             sizes[(i + word) % 6] | (uint32_t)(pair_id << 16), __ATOMIC_RELAXED);
      }
   });

   /* On a busy machine they take turns, and this takes its time. */
   const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
   unsigned read = 0;
   for (unsigned i = 0; read < 20000 && std::chrono::steady_clock::now() < end; i++) {
      *(uint64_t *)memory[i & 1].data() = 1024;
      read += drain(true).size();
      if (printf.queue.size || printf.queue_read)
         break;
   }
   stop = true;
   hostile.join();
   EXPECT_EQ(printf.queue.size, 0u);
   EXPECT_EQ(printf.queue_read, 0u);
}

} // namespace
