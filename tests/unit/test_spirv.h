/* SPDX-License-Identifier: MIT */

/* Modules for the tests of core/spirv/gpuval_spirv.h: compiled ones, and written ones. */

#ifndef TEST_SPIRV_H
#define TEST_SPIRV_H

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/spirv/spirv.h"
#include "core/spirv/gpuval_spirv.h"
#include "util/ralloc.h"

inline std::vector<uint32_t>
read_module(const std::string &name)
{
   std::ifstream file(std::string(GPUVAL_SPIRV_BUILD_DIR "/") + name, std::ios::binary);
   EXPECT_TRUE(file.good()) << name;
   std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
   std::vector<uint32_t> words(bytes.size() / 4);
   memcpy(words.data(), bytes.data(), words.size() * 4);
   return words;
}

inline std::string
or_dash(const char *text)
{
   return text ? text : "-";
}

/* Appends an instruction: opcode and operands. */
inline void
append(std::vector<uint32_t> &words, const std::vector<uint32_t> &instruction)
{
   words.push_back((uint32_t)instruction.size() << SpvWordCountShift | instruction[0]);
   words.insert(words.end(), instruction.begin() + 1, instruction.end());
}

typedef std::vector<std::vector<uint32_t>> Instructions;

inline std::vector<uint32_t>
assemble(uint32_t bound, const Instructions &instructions)
{
   std::vector<uint32_t> words = {SpvMagicNumber, 0x00010000, 0, bound, 0};
   for (const std::vector<uint32_t> &instruction : instructions)
      append(words, instruction);
   return words;
}

#endif
