/* SPDX-License-Identifier: MIT */

#include "core/race/gpuval_race.h"
#include "report/gpuval_report.h"

#include <gtest/gtest.h>

#include <malloc.h>
#include <vector>

namespace {

struct found {
   uint32_t use, other; /* ids of commands */
};

class race : public ::testing::Test {
 protected:
   race(): engine(gpuval_race_create(report, this))
   {
   }
   ~race()
   {
      gpuval_race_destroy(engine);
   }

   static void report(void *data, const gpuval_race_use *use, const gpuval_race_use *other)
   {
      ((race *)data)->races.push_back({use->command_id, other->command_id});
   }

   /* By the command that comes now, of source 0 */
   gpuval_race_use read(gpuval_race_extent extent = GPUVAL_RACE_WHOLE)
   {
      gpuval_race_use use = {};
      use.serial = serial;
      use.command_id = ++commands;
      use.site = GPUVAL_RACE_NO_SITE;
      use.extent = extent;
      return use;
   }

   gpuval_race_use write(gpuval_race_extent extent = GPUVAL_RACE_WHOLE)
   {
      gpuval_race_use use = read(extent);
      use.is_write = true;
      return use;
   }

   gpuval_race_use box(int32_t x, int32_t width)
   {
      gpuval_race_use use = write(GPUVAL_RACE_BOX);
      use.begin[0] = x;
      use.end[0] = x + width;
      use.end[1] = use.end[2] = 1;
      return use;
   }

   void note(const gpuval_race_use &use, uint64_t address = 0x1000)
   {
      uint32_t *before = (uint32_t *)gpuval_race_alloc(engine, sizeof(ordered));
      *before = ordered;
      gpuval_race_note(engine, &use, before, NULL, NULL, NULL, 0);
      gpuval_race_note_subresource(engine, address);
   }

   void note_bytes(const gpuval_race_use &use, uint64_t address, uint64_t size)
   {
      uint32_t *before = (uint32_t *)gpuval_race_alloc(engine, sizeof(ordered));
      *before = ordered;
      gpuval_race_note(engine, &use, before, NULL, NULL, NULL, 0);
      gpuval_race_note_bytes(engine, address, size);
   }

   /* Of all that came */
   void order()
   {
      ordered = serial++;
   }

   size_t count()
   {
      gpuval_race_flush(engine);
      size_t found = races.size();
      races.clear();
      return found;
   }

   gpuval_race *engine;
   std::vector<found> races;
   uint32_t serial = 1, ordered = 0, commands = 0;
};

TEST_F(race, one_writes)
{
   note(read());
   note(read());
   EXPECT_EQ(count(), 0u);
   note(write());
   gpuval_race_flush(engine);
   ASSERT_EQ(races.size(), 1u);
   EXPECT_EQ(races[0].use, 3u);
   EXPECT_EQ(count(), 1u);
   note(read());
   EXPECT_EQ(count(), 1u);
   note(write(), 0x2000);
   EXPECT_EQ(count(), 0u);
}

TEST_F(race, order)
{
   note(write());
   order();
   note(read());
   note(read());
   EXPECT_EQ(count(), 0u);
   order();
   note(write());
   EXPECT_EQ(count(), 0u);
}

/* What is ordered behind the one says nothing of the other. */
TEST_F(race, two_queues)
{
   auto note_by = [&](unsigned source, gpuval_race_use use, uint32_t of_0, uint32_t of_1) {
      uint32_t *before = (uint32_t *)gpuval_race_alloc(engine, 2 * sizeof(*before));
      before[0] = of_0;
      before[1] = of_1;
      use.source = source;
      use.serial = serial++;
      gpuval_race_note(engine, &use, before, NULL, NULL, NULL, 0);
      gpuval_race_note_subresource(engine, 0x1000);
      return use.serial;
   };

   uint32_t first = note_by(0, write(), 0, 0);
   note_by(1, read(), first, 0); /* waits for a semaphore */
   EXPECT_EQ(count(), 0u);
   uint32_t second = note_by(1, write(), first, serial - 1);
   EXPECT_EQ(count(), 0u);
   note_by(0, read(), second, 0); /* behind all of its own queue, and nothing of the other */
   ASSERT_EQ(count(), 1u);
   note_by(0, read(), 0, second);
   EXPECT_EQ(count(), 0u);
   note_by(0, write(), serial - 1, 0);
   EXPECT_EQ(count(), 1u);
}

TEST_F(race, write_behind_a_read)
{
   note(write());
   order();
   note(read());
   note(write());
   EXPECT_EQ(count(), 1u);
}

TEST_F(race, same_command)
{
   gpuval_race_use use = write();
   note(use);
   note(use);
   EXPECT_EQ(count(), 0u);
}

TEST_F(race, atomics)
{
   gpuval_race_use a = write(GPUVAL_RACE_SOMEWHERE), b = write(GPUVAL_RACE_SOMEWHERE);
   a.is_atomic = b.is_atomic = true;
   note(a);
   note(b);
   EXPECT_EQ(count(), 0u);
   note(read());
   EXPECT_EQ(count(), 1u);
}

TEST_F(race, pass)
{
   gpuval_race_use a = write(), b = read(GPUVAL_RACE_SOMEWHERE);
   a.pass = b.pass = 1;
   note(a);
   note(b);
   EXPECT_EQ(count(), 0u);
   b = read(GPUVAL_RACE_SOMEWHERE);
   b.pass = 2;
   note(b);
   EXPECT_EQ(count(), 1u);
}

TEST_F(race, boxes)
{
   note(box(0, 4));
   note(box(4, 4));
   EXPECT_EQ(count(), 0u);
   note(box(3, 2));
   EXPECT_EQ(count(), 1u);
   order();
   note(box(0, 4));
   note(read(GPUVAL_RACE_SOMEWHERE));
   EXPECT_EQ(count(), 1u);
   note(read(GPUVAL_RACE_WHOLE));
   EXPECT_EQ(count(), 1u);
}

TEST_F(race, what_has_not_happened)
{
   uint32_t *memory = (uint32_t *)gpuval_race_alloc(engine, 2 * sizeof(uint32_t));
   gpuval_race_use use = write();
   gpuval_race_note(engine, &use, &memory[0], NULL, NULL, &memory[1], 0x2);
   gpuval_race_note_subresource(engine, 0x1000);
   note(read());
   memory[1] = 0x1;
   EXPECT_EQ(count(), 0u);

   memory = (uint32_t *)gpuval_race_alloc(engine, 2 * sizeof(uint32_t));
   gpuval_race_note(engine, &use, &memory[0], NULL, NULL, &memory[1], 0x2);
   gpuval_race_note_subresource(engine, 0x1000);
   memory[1] = 0x2;
   EXPECT_EQ(count(), 1u);
}

/* The same command, executed again */
TEST_F(race, executions_of_one_command)
{
   gpuval_race_use use = write();
   note(use);
   use.recording = 1;
   note(use);
   EXPECT_EQ(count(), 1u);
   note(use);
   EXPECT_EQ(count(), 0u);
}

/* Notes of two submits, of which the second one ends first: it is in no race with what it comes
 * after, and the first one is in one with what it does not come before.
 */
TEST_F(race, segments)
{
   note(write());
   gpuval_race_segment *first = gpuval_race_take(engine);
   note(read());
   note(read(), 0x2000);
   gpuval_race_segment *second = gpuval_race_take(engine);
   EXPECT_EQ(count(), 0u);

   gpuval_race_judge(engine, second);
   EXPECT_EQ(races.size(), 0u);
   gpuval_race_judge(engine, first);
   ASSERT_EQ(races.size(), 1u);
   EXPECT_EQ(races[0].use, 1u);
   EXPECT_EQ(races[0].other, 2u);

   note(write(), 0x2000);
   gpuval_race_drop(gpuval_race_take(engine));
   EXPECT_EQ(count(), 1u);
}

/* Flags that are written over, by the next submit, before anybody has looked at them */
TEST_F(race, watched_flags)
{
   uint32_t flags[2] = {}, of_another[2] = {};
   const uint32_t *copies = gpuval_race_watch(engine, &flags, flags, 2);
   const uint32_t *others = gpuval_race_watch(engine, &of_another, of_another, 2);
   uint32_t *before = (uint32_t *)gpuval_race_alloc(engine, sizeof(*before));

   note(write());
   gpuval_race_use use = read();
   gpuval_race_note(engine, &use, before, NULL, NULL, &copies[1], 0x2);
   gpuval_race_note_subresource(engine, 0x1000);
   use = read();
   gpuval_race_note(engine, &use, before, NULL, NULL, &others[1], 0x2);
   gpuval_race_note_subresource(engine, 0x1000);
   gpuval_race_segment *segment = gpuval_race_take(engine);

   flags[1] = 0x2;
   gpuval_race_fetch(segment, &flags);
   flags[1] = 0;
   gpuval_race_fetch(segment, NULL);
   of_another[1] = 0x2;
   gpuval_race_judge(engine, segment);
   ASSERT_EQ(races.size(), 1u);
   EXPECT_EQ(races[0].use, 2u);
}

/* A shader may have used one or the other. */
TEST_F(race, one_of_many)
{
   for (int conflicts = 1; conflicts <= 2; conflicts++) {
      for (int i = 0; i < conflicts; i++)
         note(write(), 0x1000 + i * 0x1000);

      uint32_t *memory = (uint32_t *)gpuval_race_alloc(engine, 2 * sizeof(uint32_t));
      memory[0] = ordered;
      memory[1] = 1;
      gpuval_race_use use = read(GPUVAL_RACE_SOMEWHERE);
      gpuval_race_note(engine, &use, &memory[0], NULL, NULL, &memory[1], 1);
      gpuval_race_note_subresource(engine, 0x1000);
      gpuval_race_note_subresource(engine, 0x2000);
      EXPECT_EQ(count(), conflicts == 2 ? 1u : 0u);
      order();
   }
}

TEST_F(race, bytes)
{
   note_bytes(write(), 0x1000, 16);
   note_bytes(read(), 0x1010, 16);
   EXPECT_EQ(count(), 0u);
   note_bytes(read(), 0x100f, 1);
   EXPECT_EQ(count(), 1u);
   for (int i = 0; i < 1000; i++)
      note_bytes(write(), 0x10000 + i * 16, 16);
   EXPECT_EQ(count(), 0u);
}

/* What is ordered by execution barriers only is not available to reads. */
TEST_F(race, availability)
{
   auto note_behind = [&](const gpuval_race_use &use, uint32_t available) {
      uint32_t *before = (uint32_t *)gpuval_race_alloc(engine, 2 * sizeof(*before));
      before[0] = ordered;
      before[1] = available;
      gpuval_race_note(engine, &use, &before[0], NULL, &before[1], NULL, 0);
      gpuval_race_note_subresource(engine, 0x1000);
   };

   note(write());
   order();
   note_behind(read(), 0);
   EXPECT_EQ(count(), 1u);
   note_behind(read(), ordered);
   EXPECT_EQ(count(), 0u);
   order();
   note_behind(write(), 0);
   EXPECT_EQ(count(), 0u) << "another write is not looked at";
}

/* What is ordered by barriers for images only is available where they are for that image. */
TEST_F(race, barriers_for_images)
{
   auto note_behind = [&](const gpuval_race_use &use, uint32_t dependent) {
      uint32_t *before = (uint32_t *)gpuval_race_alloc(engine, 2 * sizeof(*before));
      before[0] = ordered;
      before[1] = dependent;
      gpuval_race_note(engine, &use, &before[0], &before[1], NULL, NULL, 0);
      gpuval_race_note_subresource(engine, 0x1000);
   };
   auto barrier = [&](uint64_t address) {
      gpuval_race_use use = {};
      use.is_barrier = true;
      gpuval_race_note(engine, &use, NULL, NULL, NULL, NULL, 0);
      gpuval_race_note_subresource(engine, address);
   };

   note(write());
   barrier(0x2000);
   order();
   note_behind(read(), 0);
   EXPECT_EQ(count(), 1u);
   note_behind(read(), ordered);
   EXPECT_EQ(count(), 0u);
   barrier(0x1000);
   note_behind(read(), 0);
   EXPECT_EQ(count(), 0u);

   /* What only read needs nothing to be written behind it. */
   order();
   note_behind(write(), 0);
   EXPECT_EQ(count(), 0u);

   /* A layout changes by a barrier for its image. */
   gpuval_race_use transition = write();
   transition.is_transition = true;
   order();
   note_behind(transition, 0);
   order();
   note_behind(read(), 0);
   EXPECT_EQ(count(), 0u);
}

/* Parts of an atlas, one after the other; what they race with may be any of them. */
TEST_F(race, many_parts)
{
   for (int i = 0; i < 200; i++)
      note(box(i, 1));
   EXPECT_EQ(count(), 0u);
   for (int i = 0; i < 200; i += 50)
      note(box(i, 1));
   EXPECT_EQ(count(), 4u);

   /* Without an end, with barriers: nothing that could be in a race is dropped. */
   uint64_t lost = gpuval_report_num_lost();
   for (int i = 0; i < 1000; i++) {
      note(box(i, 1), 0x2000);
      note_bytes(write(), 0x10000 + i * 16, 16);
      order();
   }
   EXPECT_EQ(count(), 0u);
   EXPECT_EQ(gpuval_report_num_lost(), lost);
   for (int i = 0; i < 800; i++)
      note_bytes(write(), 0x100000 + i * 16, 16);
   note_bytes(write(), 0x100000, 16);
   EXPECT_EQ(count(), 1u);
}

/* What has no room is not dropped without a word. */
TEST_F(race, too_many_parts)
{
   uint64_t lost = gpuval_report_num_lost();
   for (int i = 0; i < 1000; i++)
      note(box(i, 1));
   EXPECT_EQ(count(), 0u);
   EXPECT_GT(gpuval_report_num_lost(), lost + 500);

   lost = gpuval_report_num_lost();
   for (int i = 0; i < 3000; i++)
      note_bytes(write(), 0x10000 + i * 16, 16);
   EXPECT_EQ(count(), 0u);
   EXPECT_GT(gpuval_report_num_lost(), lost + 1000);
}

/* A program that only computes frees memory, and nothing is ever looked at. */
TEST_F(race, memory_is_freed_all_the_time)
{
   size_t before = 0;

   for (uint64_t i = 0; i < 100000; i++) {
      gpuval_race_forget(engine, 0x10000 + i * 0x10000, 0x1000);
      if (i == 1000)
         before = mallinfo2().uordblks;
   }
   EXPECT_LE(mallinfo2().uordblks, before + 65536);
}

TEST_F(race, memory_is_freed)
{
   note(write(), 0x1000);
   note(write(), 0x3000);
   note_bytes(write(), 0x1800, 16);
   gpuval_race_flush(engine);
   gpuval_race_forget(engine, 0x1000, 0x1000);
   note(write(), 0x1000);
   note_bytes(write(), 0x1800, 16);
   EXPECT_EQ(count(), 0u);
   note(write(), 0x3000);
   EXPECT_EQ(count(), 1u);
   gpuval_race_restart(engine);
   note(write(), 0x3000);
   EXPECT_EQ(count(), 0u);
}

} // namespace
