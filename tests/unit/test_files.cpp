/* SPDX-License-Identifier: MIT */

/* Files that the environment names, where that is not the user's own or the folder is not */

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include <unistd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/gpuval_files.h"
#include "base/gpuval_log.h"
#include "base/gpuval_options.h"

namespace {

const uid_t other_user = 65534;

class files : public ::testing::Test {
 protected:
   void SetUp() override
   {
      char name[] = "/tmp/gpuval-files.XXXXXX";
      ASSERT_NE(mkdtemp(name), nullptr);
      folder = name;
      target = folder + "/target";
      link = folder + "/link";
   }

   void TearDown() override
   {
      EXPECT_EQ(system(("rm -rf " + folder).c_str()), 0);
   }

   static bool exists(const std::string &name)
   {
      struct stat status;
      return !lstat(name.c_str(), &status);
   }

   static std::string write(const std::string &name, bool append = false)
   {
      FILE *f = gpuval_files_open(name.c_str(), append);
      if (!f)
         return strerror(errno);
      fputs("text", f);
      fclose(f);
      return "";
   }

   static off_t size(const std::string &name)
   {
      struct stat status;
      return stat(name.c_str(), &status) ? -1 : status.st_size;
   }

   std::string folder, target, link;
};

TEST_F(files, new_old_and_appended)
{
   EXPECT_EQ(write(target), "");
   EXPECT_EQ(write(target), "");
   EXPECT_EQ(size(target), 4);
   EXPECT_EQ(write(target, true), "");
   EXPECT_EQ(size(target), 8);
   EXPECT_NE(write(folder), "");
   EXPECT_NE(write(folder + "/none/file"), "");
}

TEST_F(files, own_links)
{
   ASSERT_EQ(symlink(target.c_str(), link.c_str()), 0);
   EXPECT_EQ(write(link), "");
   EXPECT_EQ(size(target), 4);
   EXPECT_EQ(write("/dev/stderr", true), "");
}

TEST_F(files, links_of_others)
{
   ASSERT_EQ(symlink(target.c_str(), link.c_str()), 0);
   if (lchown(link.c_str(), other_user, other_user))
      GTEST_SKIP() << "this takes root";
   EXPECT_EQ(write(link), strerror(EPERM));
   EXPECT_FALSE(exists(target));
}

TEST_F(files, of_a_program_with_more_rights)
{
   setenv("GPUVAL", "bounds", 1);
   setenv("GPUVAL_LOG", (folder + "/log").c_str(), 1);
   setenv("GPUVAL_REPORT", (folder + "/report.jsonl").c_str(), 1);
   setenv("GPUVAL_DUMP", folder.c_str(), 1);
   setenv("GPUVAL_SUPPRESSIONS", "/etc/shadow", 1);
   setenv("GPUVAL_SHADERS", "/etc/shadow", 1);

   pid_t child = fork();
   if (!child) {
      if (setreuid(other_user, -1))
         _exit(2);
      gpuval_options_init(false);
      gpuval_log_note("a line");
      const struct gpuval_options *options = gpuval_options();
      _exit(options->checks && !options->dump && !options->has_rules && !options->reports[0] &&
                  !options->suppressions[0]
               ? 0
               : 1);
   }
   int status;
   ASSERT_EQ(waitpid(child, &status, 0), child);
   if (status == 2 << 8)
      GTEST_SKIP() << "this takes root";
   EXPECT_EQ(status, 0);
   EXPECT_FALSE(exists(folder + "/log"));
   EXPECT_FALSE(gpuval_files_are_forbidden());
}

} /* namespace */
