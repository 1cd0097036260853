/* SPDX-License-Identifier: MIT */

/* Modules that are none, or damaged, and those that are made to take all memory or
 * time: nothing but the words of the module is read, and all of it ends.
 */

#include "core/spirv/gpuval_spirv_blocks.h"
#include "test_spirv.h"

#include <chrono>
#include <random>

namespace {

/* Looks at what coverage looks at. */
void
look_at_blocks(struct gpuval_spirv *spirv, uint32_t model)
{
   struct gpuval_spirv_blocks *blocks = gpuval_spirv_find_blocks(NULL, spirv, "main", model);
   if (!blocks)
      return;

   std::vector<uint64_t> counts(blocks->num_blocks + 1), taken(blocks->num_edges + 1);
   for (uint32_t i = 0; i < blocks->num_blocks; i++) {
      counts[i] = i * 7919 % 5;
      for (uint32_t j = 0; j < blocks->blocks[i].num_lines; j++)
         EXPECT_LT(blocks->lines[blocks->blocks[i].first_line + j].file, blocks->num_files);
   }
   gpuval_spirv_count_edges(blocks, counts.data(), taken.data());
   ralloc_free(blocks);
}

/* Looks at everything in @words, in a buffer of just that size. */
void
look_around(const std::vector<uint32_t> &words)
{
   std::vector<uint32_t> exact(words);
   exact.shrink_to_fit();
   struct gpuval_spirv *spirv = gpuval_spirv_create(NULL, exact.data(), exact.size());
   if (!spirv)
      return;

   size_t sum = 0;
   for (size_t word = 0; word <= exact.size(); word++) {
      struct gpuval_spirv_location location;
      gpuval_spirv_lookup(spirv, word * 4, &location);
      for (const char *string :
           {location.file, location.text, location.function, location.variable})
         sum += string ? strlen(string) : 0;
   }
   gpuval_spirv_code_hash(spirv);
   for (uint32_t model = 0; model < 6; model++)
      look_at_blocks(spirv, model);
   for (unsigned binding = 0; binding < 8; binding++)
      gpuval_spirv_binding_name(spirv, binding % 3, binding, binding % 2);
   ralloc_free(spirv);
   EXPECT_LT(sum, exact.size() * 100000);
}

const char *const all_modules[] = {
   "access.g.spv",     "access.gVS.spv", "line_files.g.spv", "line_numbers.gVS.spv",
   "structured.g.spv", "scopes.spv",     "continued.spv",    "nameless_text.spv",
   "debug_info.spv",   "aliases.spv",    "directives.spv",   "heads.spv",
};

/* A text of many `#line` directives, with a function and an OpLine for each of
 * @lines; the words of the stores behind these are in @stores.
 */
std::vector<uint32_t>
directives(const std::string &text, const std::vector<uint32_t> &lines,
           std::vector<uint32_t> &stores)
{
   std::vector<uint32_t> words = assemble(16, {{SpvOpString, 1, 'f'}});
   const size_t piece_size = 4 * 60000;

   for (size_t at = 0; at < text.size(); at += piece_size) {
      std::string piece = text.substr(at, piece_size);
      piece.resize((piece.size() / 4 + 1) * 4);
      std::vector<uint32_t> source = {SpvOpSource, SpvSourceLanguageGLSL, 460, 1};
      if (at)
         source = {SpvOpSourceContinued};
      const size_t head = source.size();
      source.resize(head + piece.size() / 4);
      memcpy(&source[head], piece.data(), piece.size());
      append(words, source);
   }
   append(words, {SpvOpName, 4, 'm'});
   append(words, {SpvOpLine, 1, 1, 0});
   append(words, {SpvOpFunction, 2, 4, 0, 2});
   append(words, {SpvOpLabel, 5});
   for (uint32_t line : lines) {
      append(words, {SpvOpLine, 1, line, 0});
      stores.push_back(words.size());
      append(words, {SpvOpStore, 3, 3});
   }
   append(words, {SpvOpReturn});
   append(words, {SpvOpFunctionEnd});
   return words;
}

/* All lines have number 1, and any may be the head of the function. */
TEST(SpirvSource, ManyLineDirectivesOfOneNumber)
{
   std::string text;
   for (unsigned i = 0; i < 50000; i++)
      text += "#line 1\nm\n";
   std::vector<uint32_t> stores;
   const std::vector<uint32_t> words = directives(text, std::vector<uint32_t>(1000, 1), stores);

   struct gpuval_spirv *spirv = gpuval_spirv_create(NULL, words.data(), words.size());
   ASSERT_TRUE(spirv);
   const auto begin = std::chrono::steady_clock::now();
   for (uint32_t store : stores) {
      struct gpuval_spirv_location location;
      ASSERT_TRUE(gpuval_spirv_lookup(spirv, store * 4, &location));
      ASSERT_EQ(location.line, 1u);
      ASSERT_EQ(or_dash(location.text), "m");
   }
   EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
   ralloc_free(spirv);
}

TEST(SpirvSource, ManyLineDirectives)
{
   const uint32_t count = 50000;
   std::string text;
   std::vector<uint32_t> lines;
   for (unsigned i = 0; i < count; i++) {
      /* Some overlap those before, and some are of another file. */
      text += "#line " + std::to_string(10 * i + 1) + (i % 7 ? "" : " \"f\"") + "\nx" +
              std::to_string(i) + "\ny\nz\n";
      text += "#line " + std::to_string(10 * i + 1) + " \"g\"\nw\n#line 1 \"f\"\n";
      lines.push_back(10 * i + 1);
   }
   text += "#line 1000000000"; /* what is behind the last newline is a line, too */
   std::vector<uint32_t> stores;
   const std::vector<uint32_t> words = directives(text, lines, stores);

   struct gpuval_spirv *spirv = gpuval_spirv_create(NULL, words.data(), words.size());
   ASSERT_TRUE(spirv);
   const auto begin = std::chrono::steady_clock::now();
   for (unsigned i = 0; i < count; i++) {
      struct gpuval_spirv_location location;
      ASSERT_TRUE(gpuval_spirv_lookup(spirv, stores[i] * 4, &location));
      ASSERT_EQ(location.line, 10 * i + 1);
      ASSERT_EQ(or_dash(location.text), "x" + std::to_string(i));
   }
   EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
   ralloc_free(spirv);
}

} /* namespace */

/* Not modules at all. */
TEST(SpirvSource, NoModule)
{
   const std::vector<uint32_t> words = read_module("scopes.spv");
   EXPECT_EQ(gpuval_spirv_create(NULL, NULL, 0), nullptr);
   EXPECT_EQ(gpuval_spirv_create(NULL, NULL, 100), nullptr);
   EXPECT_EQ(gpuval_spirv_create(NULL, words.data(), 0), nullptr);
   EXPECT_EQ(gpuval_spirv_create(NULL, words.data(), 5), nullptr);

   std::vector<uint32_t> swapped;
   for (uint32_t word : words)
      swapped.push_back(__builtin_bswap32(word));
   EXPECT_EQ(gpuval_spirv_create(NULL, swapped.data(), swapped.size()), nullptr);

   std::vector<uint32_t> empty_instruction(words.begin(), words.begin() + 5);
   empty_instruction.push_back(0);
   empty_instruction.push_back(0x00010001);
   EXPECT_EQ(gpuval_spirv_create(NULL, empty_instruction.data(), empty_instruction.size()),
             nullptr);
}

/* A module that ends early is known up to there. */
TEST(SpirvSource, Truncated)
{
   for (const char *name : {"scopes.spv", "continued.spv", "debug_info.spv", "aliases.spv"}) {
      SCOPED_TRACE(name);
      const std::vector<uint32_t> words = read_module(name);
      for (size_t size = 0; size < words.size(); size++) {
         std::vector<uint32_t> part(words.begin(), words.begin() + size);
         look_around(part);

         struct gpuval_spirv *spirv = gpuval_spirv_create(NULL, part.data(), part.size());
         EXPECT_EQ(spirv != NULL, size >= 5 + (words[5] >> 16)) << size;
         ralloc_free(spirv);
      }
   }
}

/* As long as its default's place: it took half a minute to look for its cases. */
TEST(SpirvSource, SwitchWithoutDefault)
{
   std::vector<uint32_t> words = read_module("access.g.spv");
   unsigned changed = 0;

   for (size_t word = 5; word < words.size() && words[word] >> 16; word += words[word] >> 16) {
      if ((words[word] & SpvOpCodeMask) == SpvOpBranch) {
         words[word] = 2u << SpvWordCountShift | SpvOpSwitch;
         changed++;
      }
   }
   EXPECT_GT(changed, 2u);
   look_around(words);
}

TEST(SpirvSource, RandomBytes)
{
   std::mt19937 random(1);

   for (const char *name : all_modules) {
      SCOPED_TRACE(name);
      const std::vector<uint32_t> words = read_module(name);
      for (unsigned i = 0; i < 1000; i++) {
         std::vector<uint32_t> changed(words);
         const unsigned changes = 1 + random() % 8;
         for (unsigned j = 0; j < changes; j++) {
            uint8_t *byte = (uint8_t *)changed.data() + random() % (changed.size() * 4);
            switch (random() % 3) {
            case 0:
               *byte ^= 1u << (random() % 8);
               break;
            case 1:
               *byte = random();
               break;
            case 2:
               *byte = random() % 2 ? 0xff : 0;
               break;
            }
         }
         changed[0] = SpvMagicNumber;
         look_around(changed);
      }
   }
}

/* Ids in place of other ids reach what random bytes do not. */
TEST(SpirvSource, RandomIds)
{
   std::mt19937 random(2);

   for (const char *name : all_modules) {
      SCOPED_TRACE(name);
      const std::vector<uint32_t> words = read_module(name);
      for (unsigned i = 0; i < 1000; i++) {
         std::vector<uint32_t> changed(words);
         for (uint32_t word = 5; word < words.size(); word += words[word] >> 16) {
            const unsigned count = words[word] >> 16;
            if (count < 2 || random() % 8)
               continue;
            const unsigned operand = 1 + random() % (count - 1);
            if (changed[word + operand] < words[3])
               changed[word + operand] = random() % words[3];
         }
         look_around(changed);
      }
   }
}

/* Chains of ids that never end. */
TEST(SpirvSource, Rings)
{
   const Instructions instructions = {
      {SpvOpTypeArray, 1, 1, 1},
      {SpvOpTypePointer, 2, SpvStorageClassUniform, 1},
      {SpvOpVariable, 2, 3, SpvStorageClassUniform},
      {SpvOpAccessChain, 2, 4, 5},
      {SpvOpAccessChain, 2, 5, 4},
      {SpvOpLoad, 1, 6, 5},
      {SpvOpLoad, 1, 7, 3},
      {SpvOpImage, 1, 8, 8},
      {SpvOpImageFetch, 1, 9, 8, 8},
   };
   const std::vector<uint32_t> words = assemble(16, instructions);
   look_around(words);
}

/* The last string of a module has no end. */
TEST(SpirvSource, UnterminatedString)
{
   const Instructions instructions = {
      {SpvOpVariable, 1, 2, SpvStorageClassPrivate},
      {SpvOpStore, 2, 2},
      {SpvOpName, 2, 0x78787878},
   };
   const std::vector<uint32_t> words = assemble(16, instructions);
   look_around(words);

   struct gpuval_spirv *spirv = gpuval_spirv_create(NULL, words.data(), words.size());
   ASSERT_TRUE(spirv);
   struct gpuval_spirv_location location;
   EXPECT_TRUE(gpuval_spirv_lookup(spirv, 9 * 4, &location));
   EXPECT_EQ(location.variable, nullptr);
   ralloc_free(spirv);
}

/* A text that is put together from one string many times would fill the memory. */
TEST(SpirvSource, RepeatedText)
{
   std::vector<uint32_t> words = assemble(1000, {});

   std::vector<uint32_t> import = {SpvOpExtInstImport, 1};
   import.resize(2 + 9);
   memcpy(&import[2], "NonSemantic.Shader.DebugInfo.100", 33);
   append(words, import);

   std::vector<uint32_t> text = {SpvOpString, 2};
   text.resize(2 + 60000, 0x0a780a78);
   text.push_back(0);
   append(words, text);
   append(words, {SpvOpConstant, 3, 4, 1});

   const unsigned debug_source = 35, debug_source_continued = 102, debug_line = 103;
   for (unsigned copies : {0, 100000}) {
      std::vector<uint32_t> module(words);
      append(module, {SpvOpExtInst, 5, 6, 1, debug_source, 2, 2});
      for (unsigned i = 0; i < copies; i++)
         append(module, {SpvOpExtInst, 5, 7, 1, debug_source_continued, 2});
      append(module, {SpvOpExtInst, 5, 8, 1, debug_line, 6, 4, 4, 4, 4});

      struct gpuval_spirv *spirv = gpuval_spirv_create(NULL, module.data(), module.size());
      ASSERT_TRUE(spirv);
      struct gpuval_spirv_location location;
      EXPECT_TRUE(gpuval_spirv_lookup(spirv, module.size() * 4 - 1, &location));
      EXPECT_EQ(location.line, 1u);
      EXPECT_EQ(or_dash(location.text), copies ? "-" : "x");
      ralloc_free(spirv);
   }
}

/* The largest id, and one beyond. */
TEST(SpirvSource, LargeIds)
{
   for (const uint32_t id : {4194303u, 4194304u, UINT32_MAX - 1, UINT32_MAX}) {
      const Instructions instructions = {
         {SpvOpName, id, 'x'},
         {SpvOpVariable, 1, id, SpvStorageClassPrivate},
         {SpvOpStore, id, id},
      };
      const std::vector<uint32_t> words = assemble(UINT32_MAX, instructions);
      struct gpuval_spirv *spirv = gpuval_spirv_create(NULL, words.data(), words.size());
      ASSERT_TRUE(spirv);
      struct gpuval_spirv_location location;
      EXPECT_TRUE(gpuval_spirv_lookup(spirv, 12 * 4, &location));
      EXPECT_EQ(or_dash(location.variable), id <= 4194303 ? "x" : "-");
      ralloc_free(spirv);
   }
}

/* 10,000 sites in a module of 10 MB: seconds would mean that a look-up or the
 * index is not what it says it is.
 */
TEST(SpirvSource, LargeModule)
{
   const Instructions instructions = {
      {SpvOpString, 1, 'f'},
      {SpvOpTypeVoid, 2},
      {SpvOpName, 3, 'v'},
      {SpvOpVariable, 2, 3, SpvStorageClassPrivate},
   };
   std::vector<uint32_t> words = assemble(1000010, instructions);
   std::string text;
   for (unsigned i = 0; i < 20000; i++)
      text += "x\n";
   text.resize((text.size() / 4 + 1) * 4);
   std::vector<uint32_t> source = {SpvOpSource, SpvSourceLanguageGLSL, 460, 1};
   source.resize(4 + text.size() / 4);
   memcpy(&source[4], text.data(), text.size());
   append(words, source);

   append(words, {SpvOpFunction, 2, 4, 0, 2});
   const unsigned blocks = 300000;
   std::vector<uint32_t> stores;
   for (unsigned i = 0; i < blocks; i++) {
      append(words, {SpvOpLabel, 10 + i});
      if (i % 2)
         append(words, {SpvOpLine, 1, 1 + i % 20000, 0});
      stores.push_back(words.size());
      append(words, {SpvOpStore, 3, 3});
      append(words, {SpvOpBranch, 11 + i});
   }

   struct gpuval_spirv *spirv = gpuval_spirv_create(NULL, words.data(), words.size());
   ASSERT_TRUE(spirv);
   for (unsigned i = 1; i < blocks; i += blocks / 10000) {
      struct gpuval_spirv_location location;
      ASSERT_TRUE(gpuval_spirv_lookup(spirv, stores[i] * 4, &location));
      ASSERT_EQ(location.line, 1 + i % 20000);
      ASSERT_EQ(or_dash(location.text), "x");
      ASSERT_EQ(or_dash(location.variable), "v");
   }
   ralloc_free(spirv);
}
