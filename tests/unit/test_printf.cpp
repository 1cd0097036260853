/* SPDX-License-Identifier: MIT */

/* The two buffers of messages, with a shader that is stopped wherever it matters. */

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/gpuval_layout.h"
#include "base/gpuval_options.h"
#include "core/printf/gpuval_printf.h"
#include "util/ralloc.h"

namespace {

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

/* Without atomics, the host leaves alone what a shader may use. */
TEST_F(printf_buffers, no_atomics)
{
   printf.has_atomics = false;
   shader_message late = claim({1});
   uint64_t *offset = (uint64_t *)memory[0].data();
   print(2);
   EXPECT_EQ(drain(), strings());
   write(late);
   EXPECT_EQ(drain(), strings({"1", "2"}));
   EXPECT_NE(*offset, 0u);
   for (unsigned i = 3; i < 6; i++)
      print(i);
   EXPECT_EQ(drain(), strings({"3", "4", "5"}));
   EXPECT_EQ(root.printf_address, (uintptr_t)offset);

   EXPECT_TRUE(gpuval_printf_give_back(&printf));
   gpuval_printf_turn(&printf);
   EXPECT_NE(root.printf_address, (uintptr_t)offset);
   print(6);
   EXPECT_EQ(drain(), strings({"6"}));
   EXPECT_NE(*offset, 0u);

   /* Nobody has the address of the first any more. */
   EXPECT_FALSE(gpuval_printf_give_back(&printf));
   EXPECT_EQ(*offset, 0u);
   EXPECT_EQ(printf.lost + root.printf_lost, 0u);
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

/* Invocations that stop wherever they may, and a host that looks in between: what each of them
 * has printed comes in order.
 */
TEST_F(printf_buffers, order_of_each_invocation)
{
   struct invocation {
      uint8_t *buffer; /* or NULL: it has not loaded the address yet */
      shader_message message;
      unsigned count;
   } invocations[4] = {};
   const unsigned count = 10000;
   gpuval_printf_finish(&printf);
   init(256);
   printf.max_wait = INT64_MAX / 2;

   std::minstd_rand random(1);
   strings all;
   bool goes_on = true;
   while (goes_on) {
      const unsigned number = random() % 5;
      if (number == 4) {
         strings some = drain();
         all.insert(all.end(), some.begin(), some.end());
         goes_on = false;
         for (const invocation &one : invocations)
            goes_on |= one.count < count;
         continue;
      }

      invocation *one = &invocations[number];
      if (one->count == count)
         continue;
      if (!one->buffer) {
         one->buffer = (uint8_t *)root.printf_address;
      } else if (one->message.words.empty()) {
         one->message = claim_in(one->buffer, {number, one->count}, pair_id);
      } else {
         write(one->message);
         *one = {NULL, {}, one->count + 1};
      }
   }
   strings some = drain(true);
   all.insert(all.end(), some.begin(), some.end());

   EXPECT_EQ(all.size() + root.printf_lost, 4 * count);
   EXPECT_GT(all.size(), count);
   int64_t last[4] = {-1, -1, -1, -1};
   for (const std::string &text : all) {
      unsigned number, j;
      ASSERT_EQ(sscanf(text.c_str(), "%u.%u", &number, &j), 2) << text;
      ASSERT_LT(number, 4u);
      ASSERT_LT(last[number], j);
      last[number] = j;
   }
}

/* Threads that print, and one that drains: all that is not counted as lost comes through, once. */
TEST_F(printf_buffers, threads)
{
   const unsigned num_threads = 4, count = 50000;
   gpuval_printf_finish(&printf);
   init(4096);
   printf.max_wait = INT64_MAX / 2; /* On a busy machine a thread may take long to go on. */

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
   std::set<std::pair<unsigned, unsigned>> seen;
   for (const std::string &text : all) {
      unsigned thread, j;
      ASSERT_EQ(sscanf(text.c_str(), "%u.%u", &thread, &j), 2) << text;
      ASSERT_LT(thread, num_threads);
      ASSERT_LT(j, count);
      ASSERT_TRUE(seen.insert({thread, j}).second) << text;
   }
}

/* The host looks at a size, and who has the buffer's address changes it right then. */
TEST_F(printf_buffers, sizes_that_change)
{
#ifdef __SANITIZE_THREAD__
   GTEST_SKIP() << "overwrites what the host has";
#endif
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
