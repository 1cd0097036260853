/* SPDX-License-Identifier: MIT */

/* Compilers' modules, and written ones, against what their sources say about
 * themselves: spirv/README.rst has the format of the comments that are
 * expectations.
 */

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/spirv/spirv.h"
#include "core/gpuval_spirv.h"
#include "util/ralloc.h"

namespace {

const std::string source_dir = GPUVAL_SPIRV_SOURCE_DIR "/";
const std::string build_dir = GPUVAL_SPIRV_BUILD_DIR "/";

std::vector<uint32_t>
read_module(const std::string &name)
{
   std::ifstream file(build_dir + name, std::ios::binary);
   EXPECT_TRUE(file.good()) << build_dir + name;
   std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
   std::vector<uint32_t> words(bytes.size() / 4);
   memcpy(words.data(), bytes.data(), words.size() * 4);
   return words;
}

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

std::string
or_dash(const char *text)
{
   return text ? text : "-";
}

/* Appends an instruction: opcode and operands. */
void
append(std::vector<uint32_t> &words, const std::vector<uint32_t> &instruction)
{
   words.push_back((uint32_t)instruction.size() << SpvWordCountShift | instruction[0]);
   words.insert(words.end(), instruction.begin() + 1, instruction.end());
}

typedef std::vector<std::vector<uint32_t>> Instructions;

std::vector<uint32_t>
assemble(uint32_t bound, const Instructions &instructions)
{
   std::vector<uint32_t> words = {SpvMagicNumber, 0x00010000, 0, bound, 0};
   for (const std::vector<uint32_t> &instruction : instructions)
      append(words, instruction);
   return words;
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
