/* SPDX-License-Identifier: MIT */

/* Calls of functions: their numbers (base/gpuval_call_tree.h), and the stacks that reports have. */

#include "test_spirv.h"

#include "base/gpuval_call_tree.h"

namespace {

/* A function of the id that calls others; offsets of its calls go to @calls. */
void
function(std::vector<uint32_t> &words, uint32_t id, const std::vector<uint32_t> &callees,
         std::vector<uint32_t> *calls)
{
   append(words, {SpvOpFunction, 1, id, 0, 2});
   append(words, {SpvOpLabel, 100 + id});
   for (uint32_t callee : callees) {
      calls->push_back(words.size() * 4);
      append(words, {SpvOpFunctionCall, 1, 1000 + (uint32_t)words.size(), callee});
   }
   append(words, {SpvOpReturn});
   append(words, {SpvOpFunctionEnd});
}

struct Module {
   std::vector<uint32_t> words;
   std::vector<uint32_t> calls;
   void *mem_ctx = ralloc_context(NULL);
   gpuval_call_tree *tree = NULL;

   Module(const std::vector<std::pair<uint32_t, std::vector<uint32_t>>> &functions)
       : words(assemble(100000, {{SpvOpEntryPoint, SpvExecutionModelGLCompute, 10, 0x6e69616d, 0}}))
   {
      for (const auto &f : functions)
         function(words, f.first, f.second, &calls);
      tree = gpuval_call_tree_create(mem_ctx, words.data(), words.size());
   }
   ~Module()
   {
      ralloc_free(mem_ctx);
   }

   uint32_t begin(uint32_t id) const
   {
      for (size_t i = 5; i < words.size(); i += words[i] >> SpvWordCountShift) {
         if ((words[i] & SpvOpCodeMask) == SpvOpFunction && words[i + 2] == id)
            return i * 4;
      }
      return 0;
   }

   /* The way through these calls, by their numbers in @calls: outermost first. */
   std::vector<uint32_t> find(const std::vector<unsigned> &way, uint32_t callee) const
   {
      uint32_t number = 0, first, count, found[8];
      for (unsigned call : way) {
         EXPECT_TRUE(gpuval_call_tree_enter(tree, calls[call], &first, &count));
         number += first;
      }
      unsigned depth = gpuval_call_tree_find(tree, 10, number, begin(callee), found, 8);
      return std::vector<uint32_t>(found, found + depth);
   }
};

} // namespace

TEST(CallTree, EachWayHasANumber)
{
   /* main calls f twice and g; f calls g twice */
   Module module({{10, {20, 30, 20}}, {20, {30, 30}}, {30, {}}});
   const std::vector<uint32_t> &calls = module.calls;
   typedef std::vector<uint32_t> Way;

   EXPECT_EQ(module.find({}, 10), Way({}));
   EXPECT_EQ(module.find({0}, 20), Way({calls[0]}));
   EXPECT_EQ(module.find({2}, 20), Way({calls[2]}));
   EXPECT_EQ(module.find({1}, 30), Way({calls[1]}));
   EXPECT_EQ(module.find({0, 3}, 30), Way({calls[3], calls[0]}));
   EXPECT_EQ(module.find({0, 4}, 30), Way({calls[4], calls[0]}));
   EXPECT_EQ(module.find({2, 4}, 30), Way({calls[4], calls[2]}));

   /* An instruction that is not in the function where the way ends */
   EXPECT_EQ(module.find({0}, 30), Way({}));
   EXPECT_EQ(module.find({0, 3}, 20), Way({}));
   uint32_t found[1];
   EXPECT_EQ(gpuval_call_tree_find(module.tree, 10, 1000, module.begin(30), found, 1), 0u);
   EXPECT_EQ(gpuval_call_tree_find(module.tree, 77, 1, module.begin(30), found, 1), 0u);
   /* The innermost of more */
   EXPECT_EQ(gpuval_call_tree_find(module.tree, 10, 2, module.begin(30), found, 1), 2u);
   EXPECT_EQ(found[0], calls[3]);
}

TEST(CallTree, WhatIsNoCall)
{
   Module module({{10, {20, 99}}, {20, {}}});
   uint32_t first, count;

   EXPECT_TRUE(gpuval_call_tree_enter(module.tree, module.calls[0], &first, &count));
   EXPECT_EQ(first, 1u);
   EXPECT_EQ(count, 1u);
   EXPECT_FALSE(gpuval_call_tree_enter(module.tree, module.calls[1], &first, &count));
   EXPECT_FALSE(gpuval_call_tree_enter(module.tree, module.calls[0] + 4, &first, &count));
   EXPECT_FALSE(gpuval_call_tree_enter(module.tree, 0, &first, &count));
}

TEST(CallTree, Recursion)
{
   Module module({{10, {20}}, {20, {30}}, {30, {20}}});
   uint32_t first, count;

   for (uint32_t call : module.calls)
      EXPECT_FALSE(gpuval_call_tree_enter(module.tree, call, &first, &count));
}

/* Twice as many ways with each function: those that are too many have no number. */
TEST(CallTree, TooManyWays)
{
   std::vector<std::pair<uint32_t, std::vector<uint32_t>>> functions;
   for (uint32_t i = 0; i < 60; i++)
      functions.push_back({10 + i, {11 + i, 11 + i}});
   functions.push_back({70, {}});
   Module module(functions);
   uint32_t first, count;

   EXPECT_FALSE(gpuval_call_tree_enter(module.tree, module.calls[0], &first, &count));
   EXPECT_TRUE(gpuval_call_tree_enter(module.tree, module.calls.back(), &first, &count));
   EXPECT_EQ(count, 1u);
}

TEST(CallTree, DamagedModules)
{
   Module module({{10, {20, 30, 20}}, {20, {30, 30}}, {30, {}}});
   uint32_t found[8];

   for (size_t i = 5; i < module.words.size(); i++) {
      for (uint32_t word : {0u, 1u, 0xffffffffu, 0x00030039u, 0x00010036u}) {
         std::vector<uint32_t> words = module.words;
         words[i] = word;
         void *mem_ctx = ralloc_context(NULL);
         gpuval_call_tree *tree = gpuval_call_tree_create(mem_ctx, words.data(), words.size());
         for (uint32_t way = 0; way < 10; way++)
            gpuval_call_tree_find(tree, 10, way, i * 4, found, 8);
         ralloc_free(mem_ctx);
      }
   }
}

namespace {

/* main.comp:12:0|main, of the calls of the first store to @variable */
std::string
stack_of(const std::string &binary, const std::string &variable, uint32_t way)
{
   const std::vector<uint32_t> words = read_module(binary);
   gpuval_spirv *spirv = gpuval_spirv_create(NULL, words.data(), words.size());
   std::string text;

   for (uint32_t offset = 20; offset < words.size() * 4; offset += 4) {
      gpuval_spirv_location location;
      gpuval_spirv_stack stack;
      if (!gpuval_spirv_lookup(spirv, offset, &location) || location.opcode != SpvOpStore ||
          or_dash(location.variable) != variable)
         continue;

      gpuval_spirv_find_stack(spirv, SpvExecutionModelGLCompute, "main",
                              offset + way * words.size() * 4, &stack);
      for (unsigned i = 0; i < stack.count; i++) {
         const gpuval_frame &frame = stack.frames[i];
         text += (i ? " < " : "") + or_dash(frame.function) + " " + or_dash(frame.file) + ":" +
                 std::to_string(frame.line) + ": " + or_dash(frame.text);
      }
      break;
   }
   ralloc_free(spirv);
   return text;
}

} // namespace

/* What a compiler has inlined: see spirv/debug_info.spvasm and spirv/inlined.spvasm. */
TEST(SpirvStack, Inlined)
{
   EXPECT_EQ(stack_of("debug_info.spv", "a", 0), "main debug.comp:10: called();");
   EXPECT_EQ(stack_of("debug_info.spv", "i", 0), "main debug.comp:10: called();");
   EXPECT_EQ(stack_of("debug_info.spv", "b", 0), "");
   EXPECT_EQ(stack_of("debug_info.spv", "c", 0), "");
}

TEST(SpirvStack, InlinedTwiceAndCalled)
{
   const std::string inner = "middle inlined.comp:4: inner(); < outer inlined.comp:9: middle();";
   EXPECT_EQ(stack_of("inlined.spv", "a", 0), inner);
   EXPECT_EQ(stack_of("inlined.spv", "a", 1), inner + " < main inlined.comp:14: outer();");
   EXPECT_EQ(stack_of("inlined.spv", "a", 2), inner + " < main inlined.comp:15: outer();");
   EXPECT_EQ(stack_of("inlined.spv", "a", 3), inner);
   EXPECT_EQ(stack_of("inlined.spv", "b", 0), "");
   EXPECT_EQ(stack_of("inlined.spv", "b", 1), "");
}

/* A ring of scopes and calls without an end */
TEST(SpirvStack, DamagedModules)
{
   for (const char *binary : {"debug_info.spv", "inlined.spv"}) {
      const std::vector<uint32_t> good = read_module(binary);
      for (size_t i = 5; i < good.size(); i++) {
         std::vector<uint32_t> words = good;
         words[i] = good[i] + 1;
         gpuval_spirv *spirv = gpuval_spirv_create(NULL, words.data(), words.size());
         for (uint32_t offset = 20; spirv && offset < words.size() * 4; offset += 32) {
            gpuval_spirv_stack stack;
            gpuval_spirv_find_stack(spirv, SpvExecutionModelGLCompute, "main",
                                    offset + words.size() * 4, &stack);
            EXPECT_LE(stack.count, 32u);
         }
         ralloc_free(spirv);
      }
   }
}

namespace {

/* All values that follow from @facts, of each instruction: name=value; */
std::string
values_of(const std::vector<uint32_t> &words, const gpuval_spirv_facts &facts, uint32_t way)
{
   gpuval_spirv *spirv = gpuval_spirv_create(NULL, words.data(), words.size());
   std::string text;

   for (uint32_t offset = 20; spirv && offset < words.size() * 4; offset += 4) {
      gpuval_spirv_values values;
      gpuval_spirv_find_values(spirv, SpvExecutionModelGLCompute, "main",
                               offset + way * words.size() * 4, &facts, &values);
      EXPECT_LE(values.count, (unsigned)GPUVAL_MAX_VALUES);
      for (unsigned i = 0; i < values.count; i++)
         text += std::string(values.values[i].name) + "=" + values.values[i].value + ";";
   }
   ralloc_free(spirv);
   return text;
}

} // namespace

/* Nothing is known: nothing follows. */
TEST(SpirvValues, WithoutFacts)
{
   for (const char *binary :
        {"access.g0.spv", "access.g.spv", "access.gVS.spv", "structured.g.spv"})
      EXPECT_EQ(values_of(read_module(binary), {}, 0), "") << binary;
}

TEST(SpirvValues, WithFacts)
{
   gpuval_spirv_facts facts = {};
   facts.has_invocation = true;
   facts.invocation[0] = 77;
   const std::string values = values_of(read_module("access.g.spv"), facts, 0);
   EXPECT_NE(values.find("gl_GlobalInvocationID=77, 0, 0;"), std::string::npos) << values;
   EXPECT_EQ(values.find("param"), std::string::npos) << values;
   /* Without names there is nothing to tell. */
   EXPECT_EQ(values_of(read_module("access.g0.spv"), facts, 0), "");
}

TEST(SpirvValues, DamagedModules)
{
   gpuval_spirv_facts facts = {};
   facts.has_invocation = true;
   facts.has_descriptor = true;
   facts.descriptor = 1;
   facts.count = 1;

   const std::vector<uint32_t> good = read_module("access.g.spv");
   for (size_t i = 5; i < good.size(); i += 7) {
      facts.of = i % 3 == 0   ? GPUVAL_SPIRV_FACTS_INDEX
                 : i % 3 == 1 ? GPUVAL_SPIRV_FACTS_OFFSET
                              : GPUVAL_SPIRV_FACTS_ADDRESS;
      for (uint32_t word : {0u, good[i] + 1, good[i] + 0x10000, 0xffffffffu}) {
         std::vector<uint32_t> words = good;
         words[i] = word;
         values_of(words, facts, i & 3);
      }
   }
}
