/* SPDX-License-Identifier: MIT */

/* Coroutines of llvmpipe's shape, with one suspend at the end and with one in front of that. */

#include <gtest/gtest.h>

#include <string>

#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <llvm/Config/llvm-config.h>

extern "C" {
#include "lvp_glue/gpuval_lvp_coroutine.h"
}

namespace {

const char begin[] = R"(
declare token @llvm.coro.id(i32, ptr, ptr, ptr)
declare i32 @llvm.coro.size.i32()
declare i1 @llvm.coro.alloc(token)
declare ptr @llvm.coro.begin(token, ptr)
declare ptr @llvm.coro.free(token, ptr)
declare i8 @llvm.coro.suspend(token, i1)
declare i1 @llvm.coro.done(ptr)
declare void @llvm.coro.destroy(ptr)
declare void @llvm.coro.resume(ptr)
declare ptr @coro_malloc(i32)
declare void @coro_free(ptr)

define ptr @coroutine(ptr %value) presplitcoroutine {
  %id = call token @llvm.coro.id(i32 0, ptr null, ptr null, ptr null)
  %needs_memory = call i1 @llvm.coro.alloc(token %id)
  br i1 %needs_memory, label %allocate, label %begin
allocate:
  %size = call i32 @llvm.coro.size.i32()
  %allocated = call ptr @coro_malloc(i32 %size)
  br label %begin
begin:
  %memory = phi ptr [ null, %0 ], [ %allocated, %allocate ]
  %handle = call ptr @llvm.coro.begin(token %id, ptr %memory)
)";

const char barrier[] = R"(
  %waits = call i8 @llvm.coro.suspend(token none, i1 false)
  switch i8 %waits, label %suspend [ i8 1, label %cleanup
                                     i8 0, label %resume ]
resume:
)";

const char end[] = R"(
  store i32 7, ptr %value
  %ends = call i8 @llvm.coro.suspend(token none, i1 true)
  switch i8 %ends, label %suspend [ i8 1, label %cleanup ]
cleanup:
  %freed = call ptr @llvm.coro.free(token %id, ptr %handle)
  call void @coro_free(ptr %freed)
  br label %suspend
suspend:
  ret ptr %handle
}

define void @caller(ptr %value) {
  %handle = call ptr @coroutine(ptr %value)
  %done = call i1 @llvm.coro.done(ptr %handle)
  br i1 %done, label %destroy, label %resume
destroy:
  call void @llvm.coro.destroy(ptr %handle)
  ret void
resume:
  call void @llvm.coro.resume(ptr %handle)
  ret void
}
)";

class coroutine : public ::testing::Test {
 protected:
   void SetUp() override
   {
#if LLVM_VERSION_MAJOR < 15
      GTEST_SKIP() << "the texts are of LLVM 15 and newer";
#endif
      context = LLVMContextCreate();
   }

   void TearDown() override
   {
      if (module)
         LLVMDisposeModule(module);
      if (context)
         LLVMContextDispose(context);
   }

   void parse(const std::string &text)
   {
      char *message = NULL;
      LLVMMemoryBufferRef buffer =
         LLVMCreateMemoryBufferWithMemoryRangeCopy(text.data(), text.size(), "coroutine");
      ASSERT_FALSE(LLVMParseIRInContext(context, buffer, &module, &message)) << message;
   }

   std::string print()
   {
      char *text = LLVMPrintModuleToString(module), *message = NULL;
      std::string result = text;
      EXPECT_FALSE(LLVMVerifyModule(module, LLVMReturnStatusAction, &message)) << message;
      LLVMDisposeMessage(message);
      LLVMDisposeMessage(text);
      return result;
   }

   std::string flatten()
   {
      gpuval_lvp_flatten_coroutines(module);
      return print();
   }

   LLVMContextRef context = NULL;
   LLVMModuleRef module = NULL;
};

TEST_F(coroutine, becomes_a_function)
{
   parse(std::string(begin) + end);
   gpuval_lvp_mark_module(module);
   std::string text = flatten();

   EXPECT_EQ(text.find("coro."), std::string::npos) << text;
   EXPECT_EQ(text.find("presplitcoroutine"), std::string::npos) << text;
   EXPECT_EQ(text.find("call ptr @coro_malloc"), std::string::npos) << text;
   EXPECT_EQ(text.find("call void @coro_free"), std::string::npos) << text;
   EXPECT_NE(text.find("store i32 7, ptr %value"), std::string::npos) << text;
   EXPECT_NE(text.find("call ptr @coroutine"), std::string::npos) << text;
   EXPECT_NE(text.find("switch i8 1"), std::string::npos) << "it goes on behind its end: " << text;

   /* gallivm has pointers to them. */
   EXPECT_TRUE(LLVMGetNamedFunction(module, "coro_malloc"));
   EXPECT_TRUE(LLVMGetNamedFunction(module, "coro_free"));
}

TEST_F(coroutine, stays_one_without_checks)
{
   parse(std::string(begin) + end);
   std::string before = print();
   EXPECT_EQ(flatten(), before);
}

TEST_F(coroutine, stays_one_with_a_barrier)
{
   parse(std::string(begin) + barrier + end);
   gpuval_lvp_mark_module(module);
   std::string before = print();
   EXPECT_EQ(flatten(), before);
}

TEST_F(coroutine, is_not_needed)
{
   parse("define void @shader() {\n  ret void\n}\n");
   gpuval_lvp_mark_module(module);
   std::string before = print();
   EXPECT_EQ(flatten(), before);
}

} // namespace
