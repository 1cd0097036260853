/* SPDX-License-Identifier: MIT */

/* What log, files and messengers get of an event: numbers whatever the locale, names
 * whatever is in them, every fact.
 */

#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "base/gpuval_log.h"
#include "base/gpuval_names.h"
#include "base/gpuval_options.h"
#include "report/gpuval_report.h"
#include "util/ralloc.h"
#include "gpuval.h"
#include "vk_debug_utils.h"
#include "vk_instance.h"
#include "vk_physical_device.h"

namespace {

std::string folder;

std::string
read(const std::string &name)
{
   std::ifstream file(folder + "/" + name);
   std::stringstream text;
   text << file.rdbuf();
   return text.str();
}

class output_test : public ::testing::Test {
 public:
   static void SetUpTestSuite()
   {
      char name[] = "/tmp/gpuval-output.XXXXXX";
      ASSERT_NE(mkdtemp(name), nullptr);
      folder = name;
      /* What another process may have there */
      ASSERT_EQ(mkdir((folder + "/report.jsonl.new").c_str(), 0700), 0);

      setenv("GPUVAL", "bounds,sync", 1);
      setenv("GPUVAL_LOG", (folder + "/log").c_str(), 1);
      setenv("GPUVAL_REPORT", (folder + "/report.jsonl," + folder + "/report.csv").c_str(), 1);
      setenv("GPUVAL_SUPPRESSIONS", (folder + "/known").c_str(), 1);
      std::ofstream(folder + "/known") << "name:\"gpuval *\\**\"\n";
      gpuval_init(false);
   }

   static void TearDownTestSuite()
   {
      EXPECT_EQ(system(("rm -r " + folder).c_str()), 0);
   }

   void SetUp() override
   {
      event = gpuval_event_create(GPUVAL_KIND_BUFFER_OOB);
      is_reported = false;
      event->count = 3;
      event->place.has_shader = true;
      event->place.shader.hash = 0x123456789abcdef;
      event->place.shader.stage = MESA_SHADER_FRAGMENT;
      event->place.access.op = GPUVAL_OP_STORE;
      event->has_record = true;
      event->invocation[0] = 0x3fc00000; /* 1.5 */
      event->invocation[1] = 0x40200000; /* 2.5 */
      event->resource.set = 0;
      log_before = read("log").size();
   }

   void TearDown() override
   {
      if (!is_reported)
         ralloc_free(event);
   }

   char *string(const char *text)
   {
      return ralloc_strdup(event, text);
   }

   void report(struct gpuval_notices *notices = NULL)
   {
      struct gpuval_notices nobody = {};
      gpuval_event_describe(event);
      gpuval_report_event(event, notices ? notices : &nobody);
      is_reported = true;
      gpuval_report_write_files();
   }

   std::string log()
   {
      return read("log").substr(log_before);
   }

   /* The line of the event that came last */
   std::string last_event(const std::string &file, unsigned behind)
   {
      std::vector<std::string> lines;
      std::istringstream text(read(file));
      for (std::string line; std::getline(text, line);)
         lines.push_back(line);
      return lines.size() > behind ? lines[lines.size() - 1 - behind] : "";
   }

   std::string json()
   {
      return last_event("report.jsonl", 1);
   }

   std::string csv()
   {
      return last_event("report.csv", 0);
   }

   /* What the summary says */
   unsigned num_warnings()
   {
      std::string summary = last_event("report.jsonl", 0);
      size_t at = summary.find("\"warnings\":");
      return at == std::string::npos ? 0 : atoi(summary.c_str() + at + strlen("\"warnings\":"));
   }

   struct gpuval_event *event;
   bool is_reported; /* and not the test's any more */
   size_t log_before;
};

unsigned
count(const std::string &text, const std::string &part)
{
   unsigned count = 0;
   for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
      count++;
   return count;
}

bool
has(const std::string &text, const std::string &part)
{
   return text.find(part) != std::string::npos;
}

/* A decimal comma, and an I whose small letter is another */
TEST_F(output_test, locale)
{
   if (system(("localedef -i tr_TR -f ISO-8859-9 " + folder + "/gpuval >/dev/null 2>&1").c_str()))
      GTEST_SKIP() << "localedef has no sources (Debian: locales)";
   setenv("LOCPATH", folder.c_str(), 1);
   ASSERT_NE(setlocale(LC_ALL, "gpuval"), nullptr);
   ASSERT_STREQ(localeconv()->decimal_point, ",");
   ASSERT_NE(tolower('I'), 'i');

   report();
   gpuval_log_warning("%.1f", 0.5);
   setlocale(LC_ALL, "C");

   EXPECT_TRUE(has(json(), "\"frag_coord\":[1.5,2.5]")) << json();
   EXPECT_TRUE(has(csv(), ",1.5,2.5,,\"store\",")) << csv();
   EXPECT_TRUE(has(log(), "fragment (1.5, 2.5)")) << log();
   EXPECT_TRUE(has(log(), "warning: 0.5\n")) << log();
}

TEST_F(output_test, hostile_names)
{
   const char *hostile =
      "a\ngpuval: error: forged\x1b[31m\r\x7f\xff \xc2\x9b \xe2\x80\xae \xc3\xa4\t\"";
   event->place.shader.name = string(hostile);
   event->place.source.file = string(hostile);
   event->place.source.line = 7;
   event->place.source.text = string(hostile);
   event->place.source.function = string(hostile);
   event->resource.name = string(hostile);
   event->place.has_command = true;
   event->place.command.op = string("dispatch");
   event->place.command.command_buffer = 1;
   event->place.command.command_buffer_name = string(hostile);
   event->place.command.num_labels = 1;
   event->place.command.labels[0] = string(hostile);
   report();

   const std::string text = log();
   EXPECT_EQ(count(text, "\n"), 5u) << text; /* four, and the empty one behind the block */
   EXPECT_EQ(
      count(text, "a\\ngpuval: error: forged\\x1b[31m\\x0d\\x7f\\xff \\u009b \\u202e \xc3\xa4\t\""),
      7u)
      << text;

   const std::string expected = "a\\ngpuval: error: forged\\u001b[31m\\u000d\\u007f\\ufffd "
                                "\\u009b \\u202e \xc3\xa4\\u0009\\\"";
   std::string newline = expected;
   newline.replace(1, 2, "\\u000a");
   EXPECT_EQ(count(json(), newline), 8u) << json();
   EXPECT_FALSE(has(read("report.csv"), "\xff"));
   EXPECT_TRUE(has(read("report.csv"), "\x7f\xef\xbf\xbd \xc2\x9b"));
}

TEST_F(output_test, hostile_log_lines)
{
   gpuval_log_error("%s", "file\nname\x1b");
   EXPECT_EQ(log(), "gpuval: error: file\\nname\\x1b\n");
}

TEST_F(output_test, hostile_messages)
{
   const struct gpuval_message message = {NULL, "a\nb\x1b \xff \xe2\x80\xae \xc3\xa4\t"};
   struct gpuval_notices nobody = {};
   gpuval_report_messages(&message, 1, &nobody);
   EXPECT_EQ(log(), "printf: a\\nb\\x1b \\xff \\u202e \xc3\xa4\t\n");
}

/* Columns never move. */
TEST_F(output_test, columns)
{
   report();
   const std::string text = read("report.csv");
   const std::string first =
      "check,kind,count,message,severity,shader_hash,shader_stage,shader_entry,shader_name,"
      "source_file,source_line,source_column,source_text,source_function,spirv_offset,"
      "spirv_instruction,invocation_0,invocation_1,invocation_2,access_op,access_size,"
      "access_offset,access_address,resource_set,resource_binding,resource_index,"
      "resource_type,resource_name,resource_object_name,resource_size,command_op,"
      "command_index,command_buffer,command_buffer_name,primary,primary_name,pipeline,"
      "pipeline_name,labels,submission,resource_object_offset,resource_memory,"
      "resource_memory_name,resource_memory_offset,other_shader_hash,other_shader_stage,"
      "other_shader_entry,other_shader_name,other_source_file,other_source_line,"
      "other_source_column,other_source_text,other_source_function,other_spirv_offset,"
      "other_spirv_instruction,other_access_op,other_command_op,other_command_index,"
      "other_command_buffer,other_command_buffer_name,other_primary,other_primary_name,"
      "other_pipeline,other_pipeline_name,other_labels,other_submission,";
   EXPECT_EQ(text.substr(0, first.size()), first);
   EXPECT_EQ(csv().substr(0, 42), "bounds,buffer-oob,3,\"store is outside set ");
   EXPECT_EQ(count(csv(), ","), count(text.substr(0, text.find("\r\n")), ","));
}

TEST_F(output_test, buffer)
{
   event->place.shader.entry = string("main");
   event->place.spirv.offset = 420;
   event->place.spirv.instruction = 57;
   event->place.access.size = 4;
   event->place.access.offset = 4096;
   event->place.access.address = 0x7f0012345000;
   event->resource.binding = 1;
   event->resource.has_index = true;
   event->resource.index = 0;
   event->resource.type = "storage_buffer";
   event->resource.size = 4096;
   report();

   EXPECT_EQ(
      json(),
      "{\"check\":\"bounds\",\"kind\":\"buffer-oob\",\"severity\":\"error\","
      "\"message\":\"store of 4 bytes at offset 4096 is outside set 0, binding 1 (4096 "
      "bytes)\",\"count\":3,\"shader\":{\"hash\":\"0123456789abcdef\",\"stage\":\"fragment\","
      "\"entry\":\"main\"},\"spirv\":{\"offset\":420,\"instruction\":57},"
      "\"invocation\":{\"frag_coord\":[1.5,2.5]},\"access\":{\"op\":\"store\",\"size\":4,"
      "\"offset\":4096,\"address\":\"0x7f0012345000\"},\"resource\":{\"set\":0,"
      "\"binding\":1,\"index\":0,\"type\":\"storage_buffer\",\"size\":4096}}");
}

TEST_F(output_test, null_address)
{
   event->kind = GPUVAL_KIND_INVALID_ADDRESS;
   event->place.access.size = 4;
   report();
   EXPECT_FALSE(has(json(), "\"address\":\"")) << json();

   event->place.access.is_null = true;
   gpuval_report_write_files();
   EXPECT_TRUE(has(json(), "\"size\":4,\"address\":\"0x0\"}")) << json();
   EXPECT_TRUE(has(csv(), ",4,,0x0,")) << csv();
}

/* Spreadsheets calculate what looks like a formula. */
TEST_F(output_test, formulas)
{
   const char *const formulas[] = {"=1+1", "+1", "-1", "@SUM(1)", "\tx", "\rx"};
   for (const char *formula : formulas) {
      event->resource.name = string(formula);
      event->resource.object_name = string("a=1");
      event->place.has_command = true;
      event->place.command.op = "draw";
      event->place.command.num_labels = 1;
      event->place.command.labels[0] = formula;
      if (formula == formulas[0])
         report();
      else
         gpuval_report_write_files();
      std::string text = csv();
      EXPECT_TRUE(has(text, (std::string(",\"'") + *formula).c_str())) << text;
      EXPECT_FALSE(has(text, (std::string(",\"") + *formula).c_str())) << text;
      EXPECT_TRUE(has(text, ",\"a=1\",")) << text;
   }
}

TEST_F(output_test, function_without_a_line)
{
   event->place.source.function = string("main");
   report();
   EXPECT_FALSE(has(json(), "\"source\"")) << json();
   EXPECT_FALSE(has(csv(), "main")) << csv();
}

TEST_F(output_test, image)
{
   event->kind = GPUVAL_KIND_IMAGE_OOB;
   event->place.access.op = GPUVAL_OP_SAMPLE;
   event->place.access.num_coords = 3;
   event->place.access.coord[0] = -1;
   event->place.access.coord[2] = 5;
   event->place.access.has_level = event->place.access.has_sample = true;
   event->place.access.level = -2;
   event->place.access.sample = 0;
   event->resource.num_extents = 2;
   event->resource.extent[0] = 64;
   event->resource.extent[1] = 32;
   report();

   EXPECT_TRUE(has(json(), "\"access\":{\"op\":\"sample\",\"coord\":[-1,0,5],\"level\":-2,"
                           "\"sample\":0},\"resource\":{\"set\":0,\"extent\":[64,32]}}"))
      << json();
   EXPECT_TRUE(has(csv(), ",-1 0 5,-2,0,64 32,")) << csv();
   EXPECT_TRUE(has(log(), "sample at (-1, 0, 5), level -2, sample 0 is outside set 0 (64 x 32)"))
      << log();
}

TEST_F(output_test, other_party)
{
   event->kind = GPUVAL_KIND_WRITE_AFTER_ACCESS;
   event->same_value = true;
   event->has_other = true;
   event->other.has_shader = true;
   event->other.shader.stage = MESA_SHADER_COMPUTE;
   event->other.access.op = GPUVAL_OP_LOAD;
   event->other.access.size = 16;
   event->other.access.address = 0x100;
   event->other.has_command = true;
   event->other.command.op = string("dispatch");
   event->other.command.index = 4;
   report();
   EXPECT_FALSE(has(json(), "certain")) << json();

   event->other_is_certain = true;
   gpuval_report_write_files();
   EXPECT_TRUE(has(json(), "\"same_value\":true")) << json();
   EXPECT_TRUE(
      has(json(), "\"other\":{\"certain\":true,\"shader\":{\"hash\":\"0000000000000000\",\"stage\":"
                  "\"compute\"},\"access\":{\"op\":\"load\",\"size\":16,\"address\":"
                  "\"0x100\"},\"command\":{\"op\":\"dispatch\",\"index\":4}}}"))
      << json();
   EXPECT_TRUE(has(csv(), ",0000000000000000,\"compute\",")) << csv();
   EXPECT_TRUE(has(csv(), ",true,")) << csv();
   EXPECT_TRUE(has(csv(), ",16,,0x100,")) << csv();

   /* Known at the end only */
   EXPECT_FALSE(has(log(), "value")) << log();
   char *text = NULL;
   size_t size;
   FILE *f = open_memstream(&text, &size);
   gpuval_text_write_counts(f, &event, 1);
   fclose(f);
   EXPECT_TRUE(has(text, ", never changing a value\n")) << text;
   free(text);
}

/* Stores that have never changed a value are a warning. */
TEST_F(output_test, warning_that_becomes_an_error)
{
   struct gpuval_notices notices = {};
   event->kind = GPUVAL_KIND_WRITE_AFTER_ACCESS;
   event->same_value = true;
   event->place.shader.name = string("before");
   report(&notices);
   EXPECT_FALSE(notices.reported);
   EXPECT_EQ(log().find("gpuval: warning: sync/write-after-access: "), 0u) << log();
   EXPECT_TRUE(has(json(), "\"severity\":\"warning\"")) << json();
   EXPECT_TRUE(has(csv(), ",\"warning\",")) << csv();
   unsigned warnings = num_warnings();

   struct gpuval_event *conflict = gpuval_event_create(GPUVAL_KIND_WRITE_AFTER_ACCESS);
   conflict->place = event->place;
   conflict->place.shader.name = ralloc_strdup(conflict, "after");
   gpuval_event_describe(conflict);
   size_t before = read("log").size();
   gpuval_report_raise(event, conflict, &notices);
   gpuval_report_write_files();
   EXPECT_TRUE(notices.reported);
   std::string block = read("log").substr(before);
   EXPECT_EQ(block.find("gpuval: error: sync/write-after-access: "), 0u) << block;
   EXPECT_TRUE(has(block, "\"after\"")) << block;
   EXPECT_TRUE(has(block, "gpuval:    was a warning so far: ")) << block;
   EXPECT_TRUE(has(json(), "\"severity\":\"error\"")) << json();
   EXPECT_TRUE(has(json(), "\"name\":\"after\"")) << json();
   EXPECT_FALSE(has(json(), "same_value")) << json();
   EXPECT_EQ(event->count, 3u);
   EXPECT_EQ(num_warnings(), warnings - 1);
}

TEST_F(output_test, suppressed_warning_that_becomes_an_error)
{
   struct gpuval_notices notices = {};
   event->kind = GPUVAL_KIND_WRITE_AFTER_ACCESS;
   event->same_value = true;
   event->resource.object_name = string("gpuval a*");
   report(&notices);
   gpuval_report_raise(event, gpuval_event_create(GPUVAL_KIND_WRITE_AFTER_ACCESS), &notices);
   EXPECT_EQ(log(), "");
   EXPECT_FALSE(notices.reported);
   EXPECT_FALSE(event->same_value);
}

TEST_F(output_test, summary)
{
   report();
   EXPECT_TRUE(has(last_event("report.jsonl", 0), ",\"lost\":0,\"messages\":")) << json();
   EXPECT_TRUE(has(last_event("report.jsonl", 0), ",\"lost_messages\":0")) << json();
}

TEST_F(output_test, suppressed)
{
   event->resource.object_name = string("gpuval a*");
   report();
   EXPECT_EQ(log(), "");
   EXPECT_TRUE(
      has(last_event("report.jsonl", 0), ",\"suppressed\":2,\"suppressed_occurrences\":6,"))
      << last_event("report.jsonl", 0);
}

/* The part of an instance that messengers are in */
class messenger_test : public output_test {
 public:
   void SetUp() override
   {
      output_test::SetUp();
      mtx_init(&instance.debug_utils.callbacks_mutex, mtx_plain);
      list_inithead(&instance.debug_utils.callbacks);
      messenger.severity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
      messenger.type = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
      messenger.callback = callback;
      messenger.data = this;
      list_addtail(&messenger.link, &instance.debug_utils.callbacks);
      physical.instance = &instance;
      vk.physical = &physical;
   }

   static VkBool32 callback(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                            VkDebugUtilsMessageTypeFlagsEXT types,
                            const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
   {
      messenger_test *test = (messenger_test *)user;
      test->calls++;
      test->id = data->pMessageIdName;
      if (test->act)
         test->act(test);
      return VK_FALSE;
   }

   struct vk_instance instance = {};
   struct vk_physical_device physical = {};
   struct vk_device vk = {};
   struct vk_debug_utils_messenger messenger = {};
   static void deliver(struct gpuval_notices *notices)
   {
      struct gpuval_notices taken;
      gpuval_notices_take(&taken, notices);
      EXPECT_EQ(notices->list.size, 0u);
      gpuval_notices_deliver(&taken);
   }

   unsigned calls = 0;
   std::string id;
   void (*act)(messenger_test *test) = NULL;
};

TEST_F(messenger_test, hears_when_it_is_delivered)
{
   struct gpuval_notices notices = {&vk};
   report(&notices);
   EXPECT_EQ(calls, 0u);
   deliver(&notices);
   EXPECT_EQ(calls, 1u);
   EXPECT_EQ(id, "gpuval-bounds-buffer-oob");
   deliver(&notices);
   EXPECT_EQ(calls, 1u);
}

TEST_F(messenger_test, does_not_hear_of_what_is_suppressed)
{
   struct gpuval_notices notices = {&vk};
   event->resource.object_name = string("gpuval's \xff\n*");
   report(&notices);
   is_reported = true;
   deliver(&notices);
   EXPECT_EQ(calls, 1u); /* a quote in the place of a space */

   output_test::SetUp();
   event->resource.object_name = string("gpuval \xff\n*");
   report(&notices);
   deliver(&notices);
   EXPECT_EQ(calls, 1u);
}

/* What it causes itself comes when it has returned: the runtime's lock is held. */
TEST_F(messenger_test, causes_a_report)
{
   act = [](messenger_test *test) {
      if (test->calls == 3)
         return;
      struct gpuval_notices notices = {&test->vk};
      test->output_test::SetUp();
      test->report(&notices);
      deliver(&notices);
   };

   struct gpuval_notices notices = {&vk};
   report(&notices);
   deliver(&notices);
   EXPECT_EQ(calls, 3u);
}

} /* namespace */
