/* SPDX-License-Identifier: MIT */

/* The table of what failures mean and how to mend them: one row for each KIND of
 * gpuval_check_table.h. `./gpuval explain`, HTML and SARIF print it.
 */

#include "gpuval_kind_help.h"

#define SPIRV(chapter) "https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#" chapter
#define SPEC(chapter)  "https://registry.khronos.org/vulkan/specs/latest/html/vkspec.html#" chapter

/* clang-format off: it would break the sentences anew with each change */
const struct gpuval_kind_help gpuval_kind_helps[GPUVAL_KIND_COUNT] = {
   [GPUVAL_KIND_ASSUMPTION_FAILED] =
      {
         "The shader promises with OpAssumeTrueKHR that a condition is true, and it was false. "
         "A compiler may have removed code that relies on the condition, so anything may come "
         "of it.",
         "Either the promise is wrong, and goes, or what the condition is about is: look at the "
         "values of the reported invocation.",
         SPEC("spirvenv"),
      },
   [GPUVAL_KIND_DEBUG_BREAK] =
      {
         "The shader has executed NonSemantic.DebugBreak: an assertion of the shader's own has "
         "failed.",
         "Look at the condition around the break, and at the values of the reported invocation.",
         SPEC("spirvenv"),
      },
   [GPUVAL_KIND_ARITHMETIC_DIVISION_BY_ZERO] =
      {
         "An integer was divided by 0, or the least integer by -1, or the remainder of that was "
         "asked for. The result is undefined: another one on each GPU.",
         "Test the divisor before the division, or make it at least 1: x / max(y, 1u).",
         SPIRV("_arithmetic_instructions"),
      },
   [GPUVAL_KIND_ARITHMETIC_SHIFT] =
      {
         "A shift by a negative number of bits, or by as many as the operand has, or more. The "
         "result is undefined: some GPUs take the number modulo 32, others give 0.",
         "Mask the number with the width less 1, or handle the case that all bits go out.",
         SPIRV("_bit_instructions"),
      },
   [GPUVAL_KIND_ARITHMETIC_CONVERSION] =
      {
         "A floating-point number was converted to an integer that cannot hold it, or is NaN. The "
         "result is undefined: some GPUs saturate, others do not.",
         "Clamp the number to the range of the integer before the conversion. A negative number "
         "does not fit an unsigned integer: convert to a signed one first.",
         SPIRV("_conversion_instructions"),
      },
   [GPUVAL_KIND_ARITHMETIC_DOMAIN] =
      {
         "A function of GLSL.std.450 was called with arguments for which its result is undefined, "
         "such as the square root of a negative number.",
         "Clamp the arguments: sqrt(max(x, 0.0)), acos(clamp(x, -1.0, 1.0)), pow(abs(x), y). Test "
         "a "
         "vector's length before normalize.",
         "https://registry.khronos.org/SPIR-V/specs/unified1/GLSL.std.450.html",
      },
   [GPUVAL_KIND_ARITHMETIC_BIT_RANGE] =
      {
         "bitfieldInsert or bitfieldExtract of bits that are not all in the word: offset and count "
         "together are more than its width. The result is undefined.",
         "Limit the count to the width less the offset.",
         SPIRV("_bit_instructions"),
      },
   [GPUVAL_KIND_UNDEFINED_VALUE] =
      {
         "A variable was used before anything was assigned to it on this path, and its value "
         "decides a branch, an address, an index, a store, an output or what is sampled. Each GPU, "
         "and each version of a compiler, makes something else of it.",
         "Assign a value where the variable is declared, or on the path that is missing.",
         SPIRV("OpUndef"),
      },
   [GPUVAL_KIND_NAN_NAN] =
      {
         "A floating-point operation has made NaN of numbers that are none, such as 0 / 0. "
         "This is legal, and often where a wrong picture begins.",
         "Look at the operands of the reported invocation. The report of export names this line as "
         "the other place.",
         SPIRV("_arithmetic_instructions"),
      },
   [GPUVAL_KIND_NAN_INF] =
      {
         "A floating-point operation has made infinity of finite numbers: a division by 0, or a "
         "result that is too large for its type. This is legal, and often where a wrong picture "
         "begins.",
         "Look at the operands of the reported invocation, and limit them.",
         SPIRV("_arithmetic_instructions"),
      },
   [GPUVAL_KIND_INDEX_OOB] =
      {
         "A shader has indexed an array of descriptors past its end. What lies there is memory "
         "of other descriptors, or none.",
         "Bound the index by the number of descriptors, or make the binding's descriptorCount "
         "(or the variable count of the set's allocation) larger.",
         SPEC("descriptorsets"),
      },
   [GPUVAL_KIND_UNWRITTEN] =
      {
         "A shader has used a descriptor that was never written. Its content is undefined, also "
         "in a partially bound array.",
         "Write the descriptor before the command executes, or see to it that the shader does "
         "not use this index. A descriptor that may be empty can be a null descriptor "
         "(nullDescriptor).",
         SPEC("descriptorsets"),
      },
   [GPUVAL_KIND_WRONG_TYPE] =
      {
         "The descriptor is of another type than the shader's variable, as happens with mutable "
         "descriptors and with descriptor buffers.",
         "Write the descriptor with the type that the shader declares, or index another element.",
         SPEC("descriptorsets"),
      },
   [GPUVAL_KIND_DESTROYED] =
      {
         "The descriptor leads to a buffer, a view, a sampler or an acceleration structure that "
         "was destroyed, or whose memory was freed, before the command has executed.",
         "Keep the object until the last submission that uses it has ended (a fence or a "
         "timeline semaphore tells), or write the descriptor anew.",
         SPEC("descriptorsets"),
      },
   [GPUVAL_KIND_NOT_UNIFORM] =
      {
         "The index of a descriptor differs within a subgroup, and the shader does not say so. "
         "Drivers then read the descriptor of one invocation for all.",
         "Wrap the index in nonuniformEXT() (HLSL: NonUniformResourceIndex()), at the access "
         "itself, and enable the feature for this type.",
         SPEC("interfaces-resources"),
      },
   [GPUVAL_KIND_WRONG_VIEW] =
      {
         "The image view or the format does not fit the shader's variable: another dimension, "
         "arrayed or not, multisampled or not, another component type or another format.",
         "Make the view with the type that the shader declares, or change the declaration. "
         "Integer formats need isampler, usampler, iimage or uimage.",
         SPEC("textures"),
      },
   [GPUVAL_KIND_RAY_NAN] =
      {
         "The origin, the direction or the range of a ray is NaN or infinite. Traversal of such "
         "a ray is undefined, and may not end.",
         "Find the division by zero or the normalization of a zero vector that the value comes "
         "from. The far end of the range may be a large finite number.",
         SPEC("ray-tracing"),
      },
   [GPUVAL_KIND_RAY_RANGE] =
      {
         "The range of a ray is negative or inverted: t_min below 0, or above t_max.",
         "Clamp t_min to 0, and do not trace where the range is empty.",
         SPEC("ray-tracing"),
      },
   [GPUVAL_KIND_RAY_FLAGS] =
      {
         "The flags of a ray exclude each other, for instance opaque and no-opaque, or culling "
         "of front and back faces.",
         "Leave one of the flags out. The log names them.",
         SPEC("ray-tracing"),
      },
   [GPUVAL_KIND_RAY_UNINITIALIZED_QUERY] =
      {
         "A ray query was used before rayQueryInitializeEXT(), so it has no ray.",
         "Initialize the query on every path that leads to its use.",
         SPEC("ray-tracing"),
      },
   [GPUVAL_KIND_RAY_BAD_STRUCTURE] =
      {
         "What a ray is traced against is no acceleration structure that has been built, or it "
         "was destroyed, or one of its instances leads to such.",
         "Build the structure before the trace, keep it and the structures of its instances "
         "alive, and check the addresses in the buffer of instances.",
         SPEC("acceleration-structure"),
      },
   [GPUVAL_KIND_INVALID_ADDRESS] =
      {
         "An access through a buffer device address lies in no buffer that is alive. On a GPU "
         "this is a page fault and a lost device, or it silently hits other memory.",
         "Look where the address comes from: an offset that is too large, an address of a "
         "buffer that was destroyed, or a null pointer. The log says which buffer is the "
         "nearest, as far as known.",
         SPEC("VK_KHR_buffer_device_address"),
      },
   [GPUVAL_KIND_MISALIGNED] =
      {
         "The address is not a multiple of the alignment that the shader declares for the "
         "pointer.",
         "Align the data to what buffer_reference_align says, or declare a smaller alignment.",
         SPEC("VK_KHR_buffer_device_address"),
      },
   [GPUVAL_KIND_BUFFER_OOB] =
      {
         "An access lies outside the range of the buffer that is bound. Without robustness it "
         "touches other memory of the program or of the driver.",
         "Compare the offset with the size in the log: a missing check of the invocation's "
         "index against the number of elements, a wrong range in the descriptor, or a buffer "
         "that is too small.",
         SPEC("descriptorsets"),
      },
   [GPUVAL_KIND_TEXEL_BUFFER_OOB] =
      {
         "An access lies outside the elements of a texel buffer's view.",
         "Compare the index with textureSize() or imageSize(), or make the view's range larger.",
         SPEC("descriptorsets"),
      },
   [GPUVAL_KIND_IMAGE_OOB] =
      {
         "A load, store, atomic or fetch lies outside the image's view: a coordinate, a layer, "
         "a level or a sample. Stores are discarded and loads undefined or 0.",
         "Compare the coordinate with imageSize() or textureSize(). Workgroups that do not "
         "divide the image's size have invocations outside of it, which should return early.",
         SPEC("textures"),
      },
   [GPUVAL_KIND_ARRAY_OOB] =
      {
         "A shader has indexed an array, a matrix or a vector with a number that is negative or "
         "not below the number of its elements. What lies there belongs to something else, and "
         "the behaviour is undefined, robust access or not.",
         "Bound the index where it comes from, or make the array as long as the index can get. "
         "access.index and access.length say how far it was off.",
         SPEC("spirvenv"),
      },
   [GPUVAL_KIND_EXPORT_NAN] =
      {
         "A value that leaves the shader is NaN. Blending and filters spread it over the "
         "picture.",
         "Find the operation that made it: 0 / 0, the square root or logarithm of a negative "
         "number, normalize() of a zero vector. The check nan names it.",
         SPEC("fragops"),
      },
   [GPUVAL_KIND_EXPORT_INF] =
      {
         "A value that leaves the shader is infinite.",
         "Find the division by zero or the overflow, also of half floats (above 65504), or "
         "clamp the value.",
         SPEC("fragops"),
      },
   [GPUVAL_KIND_EXPORT_NAN_INF] =
      {
         "Components of one value that leaves the shader are NaN and infinite.",
         "As for export/nan and export/inf: mostly one division by zero is behind both.",
         SPEC("fragops"),
      },
   [GPUVAL_KIND_MESSAGE] =
      {
         "This is what a shader has printed with debugPrintfEXT(). It is no failure.",
         "Nothing is to be mended.",
         SPEC("spirvenv"),
      },
   [GPUVAL_KIND_CONVERGE_BARRIER] =
      {
         "Some invocations of a workgroup wait at a barrier that the others never come to: they "
         "have taken another branch, wait at another barrier, or have ended. Hardware may hang, or "
         "go on with memory that is not ordered.",
         "Move the barrier to where all invocations of the workgroup come, out of branches and "
         "loops whose conditions differ, and before the first return. An early exit has to be one "
         "of the whole workgroup.",
         SPEC("shaders-scope-workgroup"),
      },
   [GPUVAL_KIND_CONVERGE_DERIVATIVE] =
      {
         "A derivative, or a texture access that takes one to find its level of detail, is "
         "executed "
         "where a part of the quad of fragments is not there: it has taken another branch, or was "
         "discarded. The result is undefined.",
         "Take the derivative or sample before the branch and before the discard, use demote "
         "instead of discard, or pass the level of detail or the gradients (textureLod(), "
         "textureGrad()).",
         SPEC("shaders-derivative-operations"),
      },
   [GPUVAL_KIND_CONVERGE_SUBGROUP] =
      {
         "A shuffle, a broadcast or a quad operation reads the value of an invocation that does "
         "not "
         "execute it: it has taken another branch, has ended, or has never been. The result is "
         "undefined.",
         "Execute the operation where all invocations that are read execute it, or choose only "
         "among those in subgroupBallot(true).",
         SPEC("shaders-group-operations"),
      },
   [GPUVAL_KIND_MESH_COUNT] =
      {
         "A mesh shader has set more vertices or primitives than it declares, has set the numbers "
         "twice or after it has stored an output, or stores to a vertex or a primitive that is not "
         "below the number that it has set.",
         "Call SetMeshOutputsEXT() once, in uniform control flow and before the first output is "
         "stored, with numbers within max_vertices and max_primitives. Store only what is below "
         "them.",
         SPEC("mesh"),
      },
   [GPUVAL_KIND_PRIMITIVE_INDEX] =
      {
         "The indices of a primitive name a vertex that is not below the number of vertices that "
         "the mesh shader has set. The device may read whatever lies there.",
         "Look at how the index is computed, and at the number of vertices of SetMeshOutputsEXT().",
         SPEC("mesh"),
      },
   [GPUVAL_KIND_TASK_COUNT] =
      {
         "A task shader launches more mesh workgroups than maxMeshWorkGroupCount allows in one "
         "dimension, or than maxMeshWorkGroupTotalCount in all.",
         "Bound the arguments of EmitMeshTasksEXT() by the device's limits, and split the work "
         "between more tasks.",
         SPEC("mesh"),
      },
   [GPUVAL_KIND_ENDLESS] =
      {
         "A loop of a shader has gone round more often than GPUVAL_LOOP_LIMIT allows, or was still "
         "going round when the program had ended. On a GPU a loop that does not end takes the "
         "device with it (VK_ERROR_DEVICE_LOST).",
         "Look at what the loop's condition depends on in the reported invocation: a counter that "
         "does not change, a list that leads back to itself, NaN in a comparison, a flag that "
         "another invocation never sets. A loop that needs more rounds needs a higher limit.",
         SPEC("shaders-scope"),
      },
   [GPUVAL_KIND_READ_AFTER_WRITE] =
      {
         "Something is read that another invocation or command has written, with no dependency "
         "that makes the write available and visible to the read. The read may give the old "
         "value, on one GPU and not on another.",
         "Between two commands: a barrier whose first scope has stage and access of the write, "
         "and whose second scope has those of the read. It has to be for this buffer and range, "
         "or for all memory. Within one command: an atomic, or barrier() with "
         "memoryBarrierBuffer() within a workgroup; invocations of different workgroups cannot "
         "wait for each other.",
         SPEC("synchronization"),
      },
   [GPUVAL_KIND_WRITE_AFTER_ACCESS] =
      {
         "Something is written that another invocation or command has read or written, with no "
         "order between the two. Which of them wins is chance.",
         "Between two commands: after a read an execution dependency does; after a write, a "
         "barrier that makes the first write available. Within one command let each element "
         "have one writer, or use atomics.",
         SPEC("synchronization"),
      },
   [GPUVAL_KIND_ATOMIC_CONFLICT] =
      {
         "An atomic operation and an access that is none meet at one place, with no order "
         "between them. Atomics protect from other atomics only.",
         "Make the other access atomic as well (atomicLoad(), atomicStore()), or separate the "
         "two by a barrier.",
         SPEC("memory-model"),
      },
   [GPUVAL_KIND_INDIRECT_AFTER_WRITE] =
      {
         "A command reads its arguments, its count or a counter where something has written "
         "since the last barrier for such reads.",
         "A barrier to VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT with "
         "VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT, also for dispatches and traces.",
         SPEC("synchronization"),
      },
   [GPUVAL_KIND_SHARED_READ_AFTER_WRITE] =
      {
         "An invocation reads shared memory that another one of its workgroup has written, with "
         "no barrier in between. It works by chance where both are in one subgroup.",
         "Put barrier() between the write and the read, where all invocations of the workgroup "
         "come to it. A subgroup does not execute in step: between its invocations it takes "
         "subgroupBarrier().",
         SPEC("memory-model"),
      },
   [GPUVAL_KIND_SHARED_WRITE_AFTER_ACCESS] =
      {
         "An invocation writes shared memory that another one has read or written, with no "
         "barrier in between.",
         "Put barrier() between the two. In loops one is mostly missing at the end of the "
         "round, before the next one overwrites what others still read.",
         SPEC("memory-model"),
      },
   [GPUVAL_KIND_SHARED_ATOMIC_CONFLICT] =
      {
         "An atomic and an access that is none meet in shared memory, with no barrier in "
         "between.",
         "Mostly it is the initialization of a counter: put barrier() between the store of 0 "
         "and the first atomic, and between the last atomic and the load of the result.",
         SPEC("memory-model"),
      },
   [GPUVAL_KIND_RESOURCE_RACE] =
      {
         "Two commands use one subresource of an image, one of them writes, and nothing orders "
         "them: no dependency at all, one that lacks a stage, or one whose memory dependency is "
         "for another image, level or layer or for a buffer.",
         "Put an image barrier for this image and subresource between the two, with the stages "
         "and accesses of both, or a semaphore if they are in different queues. A barrier for "
         "another resource orders execution, and makes nothing of this one visible.",
         SPEC("synchronization"),
      },
   [GPUVAL_KIND_UNINITIALIZED_READ] =
      {
         "Something is read that nothing has written: no host, no transfer, no clear, no "
         "attachment and no shader; or its content was given up by DONT_CARE or by a transition "
         "from VK_IMAGE_LAYOUT_UNDEFINED.",
         "Clear or fill the resource first, load with LOAD_OP_CLEAR, or keep its layout in the "
         "transition. Padding and parts that a shader skips stay unwritten.",
         SPEC("resources"),
      },
   [GPUVAL_KIND_INDIRECT_ARGUMENT_OOB] =
      {
         "The arguments of an indirect command lie outside the buffer that they are read from.",
         "Check the offset, the stride and the number of draws against the buffer's size.",
         SPEC("drawing"),
      },
   [GPUVAL_KIND_INDIRECT_COUNT] =
      {
         "The count of an indirect command lies outside its buffer, or leads to arguments "
         "outside of theirs.",
         "Check the shader that writes the count, and the size of the buffer of arguments. "
         "maxDrawCount should not be above what fits.",
         SPEC("drawing"),
      },
   [GPUVAL_KIND_INDIRECT_LIMIT] =
      {
         "Arguments that a shader has written exceed a limit of the device, such as "
         "maxComputeWorkGroupCount.",
         "Clamp what is written, or divide the work among several commands.",
         SPEC("drawing"),
      },
   [GPUVAL_KIND_INDIRECT_FIRST_INSTANCE] =
      {
         "The arguments have a firstInstance that is not 0, and the feature "
         "drawIndirectFirstInstance is not enabled.",
         "Enable the feature when the device is created, or write 0.",
         SPEC("drawing"),
      },
   [GPUVAL_KIND_INDEX_BUFFER_OOB] =
      {
         "A draw reads indices outside the index buffer's range.",
         "Check firstIndex and indexCount, the offset of vkCmdBindIndexBuffer() and the type of "
         "the indices (16 or 32 bits) against the buffer's size.",
         SPEC("fxvertex"),
      },
   [GPUVAL_KIND_ATTRIBUTE_OOB] =
      {
         "A vertex's attribute lies outside of its vertex buffer: mostly an index, or an "
         "instance, that is too large.",
         "Look at the index in the log, vertexOffset, the stride and the offset of the binding. "
         "Indices that were made for another mesh or another vertex buffer look like this.",
         SPEC("fxvertex"),
      },
   [GPUVAL_KIND_HANG_SLOW_SUBMIT] =
      {
         "A submit has been in flight for longer than GPUVAL_HANG_TIME. Nothing is wrong yet, and "
         "nothing is done about it: but a kernel resets a GPU whose work does not end in time, and "
         "the device is lost then.",
         "Look at the commands that have begun and not ended. Work that takes long goes into "
         "several submits; what should not take long waits for something, or goes round in a "
         "loop: the check loop says which one.",
         SPEC("devsandqueues-lost-device"),
      },
   [GPUVAL_KIND_HANG_DEVICE_LOST] =
      {
         "The kernel has reset the GPU, or has given up on the work of this program "
         "(VK_ERROR_DEVICE_LOST): commands did not end, or have accessed memory that is not there.",
         "Failures that were reported before are the likely reason. Otherwise look at the commands "
         "that had begun and not ended, at the buffer that a page fault names, and whether it was "
         "destroyed while work used it.",
         SPEC("devsandqueues-lost-device"),
      },
};
/* clang-format on */
