/* SPDX-License-Identifier: MIT */

/* Compilers' modules, and written ones, against what their sources say about
 * themselves: spirv/README.rst has the format of the comments that are
 * expectations.
 */

#include "core/spirv/gpuval_spirv_blocks.h"
#include "test_spirv.h"

#include <cstdio>
#include <map>
#include <set>
#include <sstream>

namespace {

const std::string source_dir = GPUVAL_SPIRV_SOURCE_DIR "/";

std::vector<std::string>
read_lines(const std::string &name)
{
   std::ifstream file(source_dir + name);
   EXPECT_TRUE(file.good()) << source_dir + name;
   std::vector<std::string> lines;
   for (std::string line; std::getline(file, line);)
      lines.push_back(line);
   return lines;
}

std::string
trim(const std::string &text)
{
   const size_t start = text.find_first_not_of(" \t\r");
   if (start == std::string::npos)
      return "";
   return text.substr(start, text.find_last_not_of(" \t\r") + 1 - start);
}

std::string
base_name(const std::string &path)
{
   return path.substr(path.find_last_of('/') + 1);
}

bool
ends_with(const std::string &text, const std::string &end)
{
   return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/* The word that expectations have for an opcode, "" if none. */
std::string
access_name(unsigned opcode)
{
   switch (opcode) {
   case SpvOpLoad:
      return "load";
   case SpvOpStore:
      return "store";
   case SpvOpCopyMemory:
      return "copy";
   case SpvOpArrayLength:
      return "length";
   case SpvOpAtomicIAdd:
      return "atomic";
   case SpvOpImageFetch:
      return "fetch";
   case SpvOpImageSampleExplicitLod:
      return "sample";
   case SpvOpImageRead:
      return "read";
   case SpvOpImageWrite:
      return "write";
   case SpvOpUnreachable:
      return "unreachable";
   default:
      return "";
   }
}

/* A module, its index and everything there is to look up in it. */
class Module {
 public:
   explicit Module(const std::vector<uint32_t> &module_words): words(module_words)
   {
      spirv = gpuval_spirv_create(NULL, words.data(), words.size());
      if (!spirv)
         return;

      for (uint32_t word = 5; word < words.size(); word += words[word] >> 16) {
         struct gpuval_spirv_location location;
         EXPECT_TRUE(gpuval_spirv_lookup(spirv, word * 4, &location));
         EXPECT_EQ(location.instruction, locations.size());
         EXPECT_EQ(location.opcode, words[word] & 0xffff);
         locations.push_back(location);
         offsets.push_back(word * 4);
      }
   }

   ~Module()
   {
      ralloc_free(spirv);
   }

   Module(const Module &) = delete;
   Module &operator=(const Module &) = delete;

   /* What is known about the only such access. */
   gpuval_spirv_location find(const std::string &access, const std::string &variable) const
   {
      gpuval_spirv_location found = {};
      unsigned count = 0;
      for (const gpuval_spirv_location &location : locations) {
         if (access_name(location.opcode) == access && or_dash(location.variable) == variable) {
            found = location;
            count++;
         }
      }
      EXPECT_EQ(count, 1u) << access << " " << variable;
      return found;
   }

   std::vector<uint32_t> words;
   struct gpuval_spirv *spirv;
   std::vector<gpuval_spirv_location> locations;
   std::vector<uint32_t> offsets;
};

/* An extract is there with the text, which is in it where the numbers say. */
void
check_extract(const gpuval_spirv_location &location)
{
   EXPECT_EQ(location.extract_count != 0, location.text != nullptr);
   if (!location.text)
      return;
   ASSERT_GE(location.line, location.extract_line);
   ASSERT_LT(location.line - location.extract_line, location.extract_count);
   EXPECT_LE(location.extract_count, 7u);
   EXPECT_EQ(trim(location.extract[location.line - location.extract_line]), location.text);
}

/* All accesses to the variables that comments of @sources name are where these
 * comments are, and there is one for each of these comments.
 */
void
check_compiled(const std::string &binary, const std::vector<std::string> &sources,
               bool has_text = true)
{
   SCOPED_TRACE(binary);
   Module module(read_module(binary));
   ASSERT_TRUE(module.spirv);

   std::set<std::string> expected, variables, found;

   for (const std::string &source : sources) {
      unsigned number = 0;
      for (const std::string &line : read_lines(source)) {
         number++;
         const size_t mark = line.find("// AT ");
         if (mark == std::string::npos)
            continue;

         std::string list = trim(line.substr(mark + 6));
         std::string text = has_text ? trim(line) : "-";
         const std::string without_text = " without text";
         if (ends_with(list, without_text)) {
            list.resize(list.size() - without_text.size());
            text = "-";
         }

         std::string place = source + ":" + std::to_string(number);
         const size_t at = list.find(" @ ");
         if (at != std::string::npos) {
            place = list.substr(at + 3);
            if (place.find(':') == std::string::npos)
               place = source + ":" + place;
            list.resize(at);
         }

         std::istringstream items(list);
         for (std::string item; std::getline(items, item, ',');) {
            std::istringstream parts(item);
            std::string access, variable;
            parts >> access >> variable;
            variables.insert(variable);
            expected.insert(access + " " + variable + " at " + base_name(place) + " | " + text);
         }
      }
   }
   ASSERT_FALSE(expected.empty());

   for (const gpuval_spirv_location &location : module.locations) {
      const std::string access = access_name(location.opcode);
      check_extract(location);
      if (access.empty() || !location.variable || !variables.count(location.variable))
         continue;
      found.insert(access + " " + location.variable + " at " + base_name(or_dash(location.file)) +
                   ":" + std::to_string(location.line) + " | " + or_dash(location.text));
   }

   EXPECT_EQ(expected, found);
}

/* Each comment behind an instruction is what a look-up says about it. */
void
check_assembled(const std::string &name)
{
   SCOPED_TRACE(name);
   Module module(read_module(name + ".spv"));
   ASSERT_TRUE(module.spirv);

   unsigned count = 0;
   for (const std::string &line : read_lines(name + ".spvasm")) {
      const std::string key = " ; EXPECT ";
      const size_t mark = line.find(key);
      if (mark == std::string::npos)
         continue;

      const std::string expected = line.substr(mark + key.size());
      std::istringstream parts(expected);
      std::string access, variable;
      parts >> access >> variable;
      const gpuval_spirv_location location = module.find(access, variable);
      check_extract(location);

      std::string found = access + " " + variable + " ";
      if (location.line) {
         found += or_dash(location.file) + ":" + std::to_string(location.line) + ":" +
                  std::to_string(location.column);
      } else {
         EXPECT_EQ(location.file, nullptr);
         EXPECT_EQ(location.column, 0u);
         found += "-";
      }
      if (location.line_inherited)
         found += " inherited";
      found += " in " + or_dash(location.function);
      if (location.text)
         found += std::string(" | ") + location.text;

      EXPECT_EQ(expected, found);
      count++;
   }
   EXPECT_GT(count, 0u);
}

/* What only debugging needs may differ, and more of it may be there. */
TEST(SpirvSource, CodeHash)
{
   const Instructions bare = {
      {SpvOpVariable, 1, 2, SpvStorageClassPrivate},
      {SpvOpFunction, 2, 3, 0, 2},
      {SpvOpLabel, 4},
      {SpvOpStore, 2, 2},
      {SpvOpReturn},
   };
   const Instructions described = {
      {SpvOpString, 9, 'f'},
      {SpvOpSource, SpvSourceLanguageGLSL, 460, 9, 'x'},
      {SpvOpSourceContinued, 'y'},
      {SpvOpSourceExtension, 'z'},
      {SpvOpName, 2, 'v'},
      {SpvOpMemberName, 2, 0, 'm'},
      {SpvOpModuleProcessed, 'p'},
      {SpvOpVariable, 1, 2, SpvStorageClassPrivate},
      {SpvOpFunction, 2, 3, 0, 2},
      {SpvOpLabel, 4},
      {SpvOpLine, 9, 1, 0},
      {SpvOpStore, 2, 2},
      {SpvOpNoLine},
      {SpvOpReturn},
   };
   Instructions other = bare;
   other[3][2] = 3;

   Module first(assemble(16, bare)), second(assemble(17, described)), third(assemble(16, other));
   EXPECT_EQ(gpuval_spirv_code_hash(first.spirv), gpuval_spirv_code_hash(second.spirv));
   EXPECT_NE(gpuval_spirv_code_hash(first.spirv), gpuval_spirv_code_hash(third.spirv));
   EXPECT_EQ(first.locations[3].opcode, SpvOpStore);
   EXPECT_EQ(first.locations[3].code_instruction, 2u);
   EXPECT_EQ(second.locations[11].opcode, SpvOpStore);
   EXPECT_EQ(second.locations[11].code_instruction, 2u);
}

} /* namespace */

TEST(SpirvSource, LinesOfEveryAccess)
{
   check_compiled("access.g.spv", {"access.comp", "access.glsl"});
}

TEST(SpirvSource, LinesOfDebugInfo)
{
   check_compiled("access.gVS.spv", {"access.comp", "access.glsl"});
}

TEST(SpirvSource, LinesOfDebugInfoWithoutText)
{
   check_compiled("access.gV.spv", {"access.comp", "access.glsl"}, false);
}

TEST(SpirvSource, LineDirectivesThatNameFiles)
{
   check_compiled("line_files.g.spv", {"line_files.comp"});
}

TEST(SpirvSource, LineDirectivesThatRepeatNumbers)
{
   check_compiled("line_numbers.g.spv", {"line_numbers.comp"});
   check_compiled("line_numbers.gVS.spv", {"line_numbers.comp"});
}

TEST(SpirvSource, LineDirectivesOfOldGlsl)
{
   check_compiled("line_glsl_150.g.spv", {"line_glsl_150.frag"});
   check_compiled("line_glsl_150.gVS.spv", {"line_glsl_150.frag"});
}

TEST(SpirvSource, Hlsl)
{
   check_compiled("structured.g.spv", {"structured.hlsl"});
}

TEST(SpirvSource, ScopeOfLines)
{
   check_assembled("scopes");
}

TEST(SpirvSource, ContinuedText)
{
   check_assembled("continued");
}

TEST(SpirvSource, UnusualLineDirectives)
{
   check_assembled("directives");
}

TEST(SpirvSource, HeadsOfFunctions)
{
   check_assembled("heads");
}

TEST(SpirvSource, TextWithoutFile)
{
   check_assembled("nameless_text");
}

TEST(SpirvSource, DebugInfo)
{
   check_assembled("debug_info");
}

TEST(SpirvSource, Functions)
{
   for (const char *binary : {"access.g.spv", "access.gVS.spv", "access.gV.spv"}) {
      SCOPED_TRACE(binary);
      Module module(read_module(binary));
      ASSERT_TRUE(module.spirv);

      std::set<std::string> functions;
      bool in_function = false;
      for (const gpuval_spirv_location &location : module.locations) {
         in_function |= location.opcode == SpvOpFunction;
         EXPECT_EQ(location.function != NULL, in_function) << location.instruction;
         in_function &= location.opcode != SpvOpFunctionEnd;
         if (location.function)
            functions.insert(location.function);
      }
      EXPECT_EQ(functions, (std::set<std::string>{"fetch_scaled", "main", "pick"}));
   }
}

/* What is left is the instruction's number, its variable's binding, and the
 * entry point.
 */
TEST(SpirvSource, WithoutDebugInformation)
{
   Module with(read_module("access.g.spv"));
   Module without(read_module("access.g0.spv"));
   ASSERT_TRUE(with.spirv);
   ASSERT_TRUE(without.spirv);

   std::vector<std::string> names_of[2];
   std::vector<std::string> bindings_of[2];
   Module *modules[] = {&with, &without};
   std::set<std::string> functions;

   for (unsigned i = 0; i < 2; i++) {
      for (const gpuval_spirv_location &location : modules[i]->locations) {
         if (i == 1) {
            EXPECT_EQ(location.file, nullptr);
            EXPECT_EQ(location.line, 0u);
            EXPECT_EQ(location.text, nullptr);
            EXPECT_EQ(location.variable, nullptr);
            EXPECT_FALSE(location.line_inherited);
            if (location.function)
               functions.insert(location.function);
         }
         if (location.has_binding) {
            bindings_of[i].push_back(access_name(location.opcode) + " " +
                                     std::to_string(location.set) + "." +
                                     std::to_string(location.binding));
         }
      }
   }
   EXPECT_EQ(bindings_of[0], bindings_of[1]);
   EXPECT_GT(bindings_of[0].size(), 30u);
   EXPECT_EQ(functions, std::set<std::string>{"main"});
}

TEST(SpirvSource, Bindings)
{
   /* As access.comp declares them. */
   const std::map<std::string, std::pair<unsigned, unsigned>> bindings = {
      {"particles", {1, 3}}, {"Anonymous", {0, 4}}, {"parameters", {0, 5}}, {"color", {0, 1}},
      {"canvas", {0, 2}},    {"counters", {0, 6}},  {"textures", {2, 0}},   {"nearest", {2, 1}},
   };

   Module module(read_module("access.g.spv"));
   ASSERT_TRUE(module.spirv);

   std::set<std::string> seen;
   for (const gpuval_spirv_location &location : module.locations) {
      const std::string name = or_dash(location.variable);
      const auto binding = bindings.find(name);
      EXPECT_EQ(location.has_binding, binding != bindings.end()) << name;
      if (binding != bindings.end()) {
         seen.insert(name);
         EXPECT_EQ(location.set, binding->second.first) << name;
         EXPECT_EQ(location.binding, binding->second.second) << name;
      }
   }
   EXPECT_EQ(seen.size(), bindings.size());
}

TEST(SpirvSource, BindingNames)
{
   Module module(read_module("access.g.spv"));
   ASSERT_TRUE(module.spirv);

   const auto name = [&](uint32_t set, uint32_t binding, bool storage) {
      return or_dash(gpuval_spirv_binding_name(module.spirv, set, binding, storage));
   };
   EXPECT_EQ(name(1, 3, true), "particles");
   EXPECT_EQ(name(1, 3, false), "-");
   EXPECT_EQ(name(0, 4, true), "Anonymous");
   EXPECT_EQ(name(0, 5, false), "parameters");
   EXPECT_EQ(name(0, 5, true), "-");
   EXPECT_EQ(name(0, 1, false), "color");
   EXPECT_EQ(name(0, 2, true), "canvas");
   EXPECT_EQ(name(0, 6, true), "counters");
   EXPECT_EQ(name(2, 0, false), "textures");
   EXPECT_EQ(name(2, 1, false), "nearest");
   EXPECT_EQ(name(3, 0, false), "-");

   Module block(read_module("continued.spv"));
   ASSERT_TRUE(block.spirv);
   EXPECT_EQ(or_dash(gpuval_spirv_binding_name(block.spirv, 4, 7, false)), "Block");

   Module aliases(read_module("aliases.spv"));
   ASSERT_TRUE(aliases.spirv);
   EXPECT_EQ(or_dash(gpuval_spirv_binding_name(aliases.spirv, 0, 0, true)), "-");
   EXPECT_EQ(or_dash(gpuval_spirv_binding_name(aliases.spirv, 0, 0, false)), "uniforms");
   EXPECT_EQ(or_dash(gpuval_spirv_binding_name(aliases.spirv, 0, 1, true)), "same");
}

TEST(SpirvSource, OffsetsWithinAnInstruction)
{
   Module module(read_module("access.g.spv"));
   ASSERT_TRUE(module.spirv);
   struct gpuval_spirv_location location;

   for (size_t i = 0; i < module.offsets.size(); i++) {
      const uint32_t end =
         i + 1 < module.offsets.size() ? module.offsets[i + 1] : module.words.size() * 4;
      for (uint32_t offset = module.offsets[i]; offset < end; offset++) {
         ASSERT_TRUE(gpuval_spirv_lookup(module.spirv, offset, &location));
         ASSERT_EQ(location.instruction, i);
      }
   }

   for (uint32_t offset : {0u, 19u, (uint32_t)module.words.size() * 4, UINT32_MAX}) {
      memset(&location, 0xff, sizeof(location));
      EXPECT_FALSE(gpuval_spirv_lookup(module.spirv, offset, &location)) << offset;
      EXPECT_EQ(location.file, nullptr);
      EXPECT_EQ(location.variable, nullptr);
      EXPECT_FALSE(location.has_binding);
   }
}

TEST(SpirvSource, StringsOutliveTheWords)
{
   std::vector<uint32_t> words = read_module("access.g.spv");
   struct gpuval_spirv *spirv = gpuval_spirv_create(NULL, words.data(), words.size());
   ASSERT_TRUE(spirv);
   const size_t count = words.size();
   std::fill(words.begin(), words.end(), 0);
   words.clear();
   words.shrink_to_fit();

   bool has_text = false;
   for (uint32_t word = 5; word < count; word++) {
      struct gpuval_spirv_location location;
      EXPECT_TRUE(gpuval_spirv_lookup(spirv, word * 4, &location));
      has_text |= location.text != NULL;
   }
   EXPECT_TRUE(has_text);
   ralloc_free(spirv);
}

/* A branch into another function takes no line there. */
TEST(SpirvSource, BranchIntoAnotherFunction)
{
   const Instructions instructions = {
      {SpvOpString, 1, 'f'},
      {SpvOpFunction, 2, 3, 0, 2},
      {SpvOpLabel, 4},
      {SpvOpLine, 1, 10, 0},
      {SpvOpBranch, 5},
      {SpvOpFunctionEnd},
      {SpvOpFunction, 2, 6, 0, 2},
      {SpvOpLabel, 5},
      {SpvOpReturn},
      {SpvOpFunctionEnd},
   };
   const std::vector<uint32_t> words = assemble(16, instructions);
   Module module(words);
   ASSERT_TRUE(module.spirv);
   EXPECT_EQ(module.locations[4].line, 10u);
   EXPECT_EQ(module.locations[8].opcode, SpvOpReturn);
   EXPECT_EQ(module.locations[8].line, 0u);
}

/* How often the ways of a branch were taken follows from the counts of blocks: here of a block that
 * leads to a loop's header and behind it, and of a switch whose cases share code.
 */
TEST(SpirvSource, CountsOfEdges)
{
   const Instructions instructions = {
      {SpvOpEntryPoint, SpvExecutionModelGLCompute, 3, 'm'},
      {SpvOpFunction, 2, 3, 0, 4},
      {SpvOpLabel, 5}, /* 10 */
      {SpvOpBranchConditional, 20, 6, 7},
      {SpvOpLabel, 6}, /* 4 times, and 8 times from itself */
      {SpvOpBranchConditional, 20, 6, 7},
      {SpvOpLabel, 7},
      {SpvOpSwitch, 21, 8, 0, 9, 1, 9, 2, 10},
      {SpvOpLabel, 8}, /* 1 */
      {SpvOpReturn},
      {SpvOpLabel, 9}, /* 3, and falls through */
      {SpvOpBranch, 10},
      {SpvOpLabel, 10}, /* 9 */
      {SpvOpReturn},
      {SpvOpFunctionEnd},
   };
   std::vector<uint32_t> words = assemble(32, instructions);
   struct gpuval_spirv *spirv = gpuval_spirv_create(NULL, words.data(), words.size());
   struct gpuval_spirv_blocks *blocks =
      gpuval_spirv_find_blocks(NULL, spirv, "m", SpvExecutionModelGLCompute);
   ASSERT_TRUE(blocks);
   ASSERT_EQ(blocks->num_blocks, 6u);
   EXPECT_TRUE(blocks->is_listing);
   EXPECT_EQ(blocks->blocks[2].num_edges, 3u);
   ASSERT_EQ(blocks->num_edges, 8u);

   const uint64_t counts[] = {10, 12, 10, 1, 3, 9};
   uint64_t taken[8];
   gpuval_spirv_count_edges(blocks, counts, taken);
   const uint32_t *first = &blocks->edges[blocks->blocks[2].first_edge];
   EXPECT_EQ(first[0], 4u);
   EXPECT_EQ(taken[blocks->blocks[2].first_edge], 3u);
   EXPECT_EQ(taken[blocks->blocks[2].first_edge + 1], 6u);
   EXPECT_EQ(taken[blocks->blocks[2].first_edge + 2], 1u);
   /* Of a loop without structure nobody knows. */
   EXPECT_EQ(taken[0], GPUVAL_SPIRV_UNKNOWN);

   EXPECT_FALSE(gpuval_spirv_find_blocks(NULL, spirv, "m", SpvExecutionModelVertex));
   EXPECT_FALSE(gpuval_spirv_find_blocks(NULL, spirv, "n", SpvExecutionModelGLCompute));
   ralloc_free(blocks);
   ralloc_free(spirv);
}
