/* SPDX-License-Identifier: MIT */

/* The environment is read once a process, so each case is a process of its own: this
 * program again, with GPUVAL_TEST_UUID.
 */

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <unistd.h>

#include "base/gpuval_options.h"

namespace {

struct print_uuid {
   print_uuid()
   {
      if (!getenv("GPUVAL_TEST_UUID"))
         return;
      uint8_t bytes[16] = {};
      gpuval_options_init(false);
      gpuval_options_mix_uuid(bytes);
      for (uint8_t byte : bytes)
         printf("%02x", byte);
      fflush(stdout);
      _exit(0);
   }
} print_uuid;

class options_test : public ::testing::Test {
 protected:
   void SetUp() override
   {
      setenv("GPUVAL", "bounds", 1);
      setenv("GPUVAL_LOG", "/dev/null", 1);
      setenv("GPUVAL_TEST_UUID", "1", 1);
      char name[] = "/tmp/gpuval-rules.XXXXXX";
      int fd = mkstemp(name);
      ASSERT_GE(fd, 0);
      close(fd);
      file = name;
   }

   void TearDown() override
   {
      unlink(file.c_str());
      unsetenv("GPUVAL_SHADERS");
   }

   void set_rules(const char *text)
   {
      FILE *f = fopen(file.c_str(), "w");
      fputs(text, f);
      fclose(f);
      setenv("GPUVAL_SHADERS", file.c_str(), 1);
   }

   static std::string uuid()
   {
      char name[4096];
      ssize_t length = readlink("/proc/self/exe", name, sizeof(name));
      FILE *f = popen(("'" + std::string(name, length) + "'").c_str(), "r");
      char text[33] = "";
      EXPECT_EQ(fread(text, 1, 32, f), 32u);
      EXPECT_EQ(pclose(f), 0);
      return text;
   }

   std::string file;
};

/* Caches of one run are good for the next, whatever is in the gaps of structs. */
TEST_F(options_test, uuid_depends_on_nothing_but_the_options)
{
   EXPECT_EQ(uuid(), uuid());
   set_rules("0000000000000000-ffffffffffffffff bounds,assume\n"
             "0123456789abcdef-0123456789ABCDEF assume,-bounds\n");
   const std::string first = uuid();
   for (unsigned i = 0; i < 10; i++)
      EXPECT_EQ(uuid(), first);

   set_rules("0000000000000000-ffffffffffffffff bounds,assume\n"
             "0123456789abcdef-0123456789ABCDEF assume,bounds\n");
   EXPECT_NE(uuid(), first);
   set_rules("0000000000000000-ffffffffffffffff bounds,assume\n"
             "0123456789abcdee-0123456789ABCDEF assume,-bounds\n");
   EXPECT_NE(uuid(), first);

   set_rules("name:a bounds\n");
   const std::string by_name = uuid();
   set_rules("name:b bounds\n");
   EXPECT_NE(uuid(), by_name);
}

} /* namespace */
