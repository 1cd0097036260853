/* SPDX-License-Identifier: MIT */

/* address: what is said of an address that no live buffer has. */

#include <gtest/gtest.h>

#include <string>

#include "base/gpuval_layout.h"
#include "core/device/gpuval_device.h"
#include "core/events/gpuval_check.h"
#include "core/events/gpuval_events.h"
#include "core/memory/gpuval_addresses.h"
#include "util/ralloc.h"
#include "vk_object.h"

namespace {

class addresses : public ::testing::Test {
 protected:
   addresses()
       : mem_ctx(ralloc_context(NULL)), device(rzalloc(mem_ctx, struct gpuval_device)),
         known(rzalloc(mem_ctx, struct gpuval_addresses))
   {
      device->addresses = known;
      gpuval_addresses_init(known, mem_ctx);
   }

   ~addresses()
   {
      gpuval_addresses_finish(device);
      ralloc_free(mem_ctx);
   }

   struct gpuval_range *add(uint64_t address, uint64_t size, const char *name)
   {
      struct vk_object_base *object = rzalloc(mem_ctx, struct vk_object_base);
      struct gpuval_range *range = rzalloc(mem_ctx, struct gpuval_range);

      object->object_name = ralloc_strdup(mem_ctx, name);
      range->object = object;
      range->address = address;
      range->size = size;
      gpuval_addresses_add(known, range);
      return range;
   }

   void remove(struct gpuval_range *range)
   {
      gpuval_addresses_remove(known, range);
   }

   /* What a report of an access of 4 bytes says, and of which buffer */
   std::string describe(uint64_t address)
   {
      struct gpuval_event *event = rzalloc(mem_ctx, struct gpuval_event);
      struct gpuval_record record = {};

      event->kind = GPUVAL_KIND_INVALID_ADDRESS;
      record.offset = address;
      record.slot = address >> 32;
      record.access_size = 4;
      gpuval_words_address.read(device, event, &record);
      return std::string(event->resource.object_name ? event->resource.object_name : "nothing") +
             ": " + event->detail;
   }

   void *mem_ctx;
   struct gpuval_device *device;
   struct gpuval_addresses *known;
};

TEST_F(addresses, no_buffer)
{
   EXPECT_EQ(describe(0x123456789), "nothing: no buffer has an address");
}

TEST_F(addresses, beside_buffers)
{
   add(0x100000, 64, "a");
   add(0x200000, 128, "b");
   EXPECT_EQ(describe(0x100040), "a: 0 bytes behind the buffer \"a\" (64 bytes)");
   EXPECT_EQ(describe(0x1ffff0), "b: 16 bytes before the buffer \"b\" (128 bytes)");
   EXPECT_EQ(describe(0x10003e), "a: that is offset 62 of the buffer \"a\" (64 bytes)");
}

TEST_F(addresses, null)
{
   add(0x100000, 64, "a");
   EXPECT_EQ(describe(0), "nothing: the address is null");
   EXPECT_EQ(describe(64), "nothing: 64 bytes behind null");
   EXPECT_EQ(describe(0x10000), "a: 983040 bytes before the buffer \"a\" (64 bytes)");
}

TEST_F(addresses, gone)
{
   struct gpuval_range *range = add(0x100000, 1024, "old");
   add(0x200000, 64, "other");
   remove(range);
   EXPECT_EQ(describe(0x100080), "old: the buffer \"old\" (1024 bytes) there has been destroyed");
}

/* What runs past the end of a buffer meets one that has been there before, where addresses are
 * used again.
 */
TEST_F(addresses, reused)
{
   remove(add(0x100000, 1024, "old"));
   add(0x100000, 128, "new");
   EXPECT_EQ(describe(0x100080),
             "new: 0 bytes behind the buffer \"new\" (128 bytes); the buffer \"old\" (1024 bytes), "
             "which has been destroyed, was there before");
}

/* A live buffer that ends where the other one begins has nothing to do with it. */
TEST_F(addresses, gone_behind_a_live_one)
{
   add(0x100000, 128, "live");
   remove(add(0x100080, 1024, "old"));
   EXPECT_EQ(describe(0x100080), "old: the buffer \"old\" (1024 bytes) there has been destroyed");
}

} /* namespace */
