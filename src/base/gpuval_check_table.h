/* SPDX-License-Identifier: MIT */

/* The table of checks, and of the kinds of failure that each of them reports. What is different
 * for each check is a column here, or a file of the check that a column names. The folders, which
 * must not know each other, define CHECK and KIND as what they take from a row, and include this
 * file; both are undefined at its end.
 *
 *    CHECK(id, name, sets, needs, early, pass, host, summary)
 *       id        GPUVAL_CHECK_id
 *       name      as users and reports write it
 *       sets      GPUVAL_SET_*, those that it is in, beside `all`
 *       needs     GPUVAL_NEEDS_*, what a device has to keep for it; 0: nothing
 *       early     gpuval_nir_early_early() in nir_passes/, which leaves @early_report_gpuval where
 *                 the shader is as SPIR-V has it; none: it needs no such look
 *       pass      gpuval_nir_instrument_pass() in nir_passes/; none: no shader is changed
 *       host      struct gpuval_check_host gpuval_host_host in core/; none: nothing of its own
 *       summary   what it finds, for those who list checks
 *
 *    KIND(id, check, name, words, sentence, text)
 *       id        GPUVAL_KIND_id
 *       check     GPUVAL_CHECK_check
 *       name      as reports write it; unique within the check
 *       words     struct gpuval_words gpuval_words_words in core/, which reads the words of a
 *                 record; none: a record has no words of its own
 *       sentence  sentence_sentence() in report/gpuval_describe.c, which writes the message;
 *                 none: the message is text
 *       text      what is wrong, where nothing more is known
 *
 * Passes run in the order of rows: `descriptor` finds out which accesses the later ones are not to
 * look at, `ray` needs the control flow as it was, `loop` comes before whatever adds loops, `init`
 * changes the control flow. Of rows that
 * follow one another with the same pass or the same host that runs once.
 *
 * Where several checks have a kind of one name, all ids but sync's have the check's in front.
 */

CHECK(ASSUME, "assume", GPUVAL_SET_BASIC, 0, none, assume, none,
      "An assumption of a shader is false")
KIND(ASSUMPTION_FAILED, ASSUME, "assumption-failed", none, none, "the assumption is false")

CHECK(ASSERT, "assert", GPUVAL_SET_BASIC, 0, none, assert, none, "A shader has executed DebugBreak")
KIND(DEBUG_BREAK, ASSERT, "debug-break", debug_break, detail_or,
     "the shader has executed DebugBreak")

/* What the option --coverage counts, which users do not name. gpuval_nir_count_blocks() comes
 * before all passes.
 */
CHECK(COVERAGE, "coverage", GPUVAL_SET_HIDDEN, 0, none, none, none, "A block has been executed")
KIND(COVERED, COVERAGE, "covered", none, none, "")

CHECK(DESCRIPTOR, "descriptor", GPUVAL_SET_BASIC, GPUVAL_NEEDS_OBJECTS, none, descriptor, none,
      "Use of a descriptor that is not valid")
KIND(INDEX_OOB, DESCRIPTOR, "index-oob", descriptor, access_of, "there are fewer elements")
KIND(UNWRITTEN, DESCRIPTOR, "unwritten", descriptor, access_of,
     "no descriptor was ever written there")
KIND(WRONG_TYPE, DESCRIPTOR, "wrong-type", descriptor, access_of, "it is of another type")
KIND(DESTROYED, DESCRIPTOR, "destroyed", descriptor, access_of, "what it leads to was destroyed")
KIND(NOT_UNIFORM, DESCRIPTOR, "not-uniform", descriptor, access_of,
     "the index differs within a subgroup, and the shader does not say NonUniform")
KIND(WRONG_VIEW, DESCRIPTOR, "wrong-view", descriptor, access_of, "the view does not fit")

CHECK(RAY, "ray", GPUVAL_SET_BASIC, 0, none, ray, ray,
      "Wrong parameters of a ray, or a bad acceleration structure")
KIND(RAY_NAN, RAY, "nan", ray, detail_or, "the ray has numbers that are not finite")
KIND(RAY_RANGE, RAY, "range", ray, detail_or, "the ray's range of t is negative or inverted")
KIND(RAY_FLAGS, RAY, "flags", ray, detail_or, "the ray's flags exclude each other")
KIND(RAY_UNINITIALIZED_QUERY, RAY, "uninitialized-query", none, none,
     "the ray query has never been initialized")
KIND(RAY_BAD_STRUCTURE, RAY, "bad-structure", structure, bad_structure,
     "the acceleration structure is none that has been built")

CHECK(ADDRESS, "address", GPUVAL_SET_BASIC, 0, none, address, none,
      "Access through an address outside every buffer, or not aligned")
KIND(INVALID_ADDRESS, ADDRESS, "invalid-address", address, bad_address, "is in no live buffer")
KIND(MISALIGNED, ADDRESS, "misaligned", address, bad_address, "is not aligned as the pointer says")

CHECK(BOUNDS, "bounds", GPUVAL_SET_BASIC, GPUVAL_NEEDS_OBJECTS, none, bounds, none,
      "Access outside the range of a buffer, or outside an image")
KIND(BUFFER_OOB, BOUNDS, "buffer-oob", range, outside, "")
KIND(TEXEL_BUFFER_OOB, BOUNDS, "texel-buffer-oob", texels, outside, "")
KIND(IMAGE_OOB, BOUNDS, "image-oob", image, outside, "")

CHECK(ARRAY, "array", GPUVAL_SET_BASIC | GPUVAL_SET_SHADER, 0, array, early_reports, none,
      "Index past the end of an array, a matrix or a vector")
KIND(ARRAY_OOB, ARRAY, "array-oob", array, array, "")

CHECK(ARITHMETIC, "arithmetic", GPUVAL_SET_SHADER, 0, operations, early_reports, none,
      "Operation without a defined result")
KIND(ARITHMETIC_DIVISION_BY_ZERO, ARITHMETIC, "division-by-zero", arithmetic, detail_or,
     "integer division without a defined result")
KIND(ARITHMETIC_SHIFT, ARITHMETIC, "shift", arithmetic, detail_or,
     "shift by as many bits as there are, or more")
KIND(ARITHMETIC_CONVERSION, ARITHMETIC, "conversion", arithmetic, detail_or,
     "the number does not fit the integer")
KIND(ARITHMETIC_DOMAIN, ARITHMETIC, "domain", arithmetic, detail_or,
     "the function is not defined there")
KIND(ARITHMETIC_BIT_RANGE, ARITHMETIC, "bit-range", arithmetic, detail_or,
     "the bits are not all in the word")

CHECK(UNDEFINED, "undefined", GPUVAL_SET_SHADER, 0, undefined, early_reports, none,
      "Use of a value that was never assigned")
KIND(UNDEFINED_VALUE, UNDEFINED, "undefined-value", undefined, detail_or,
     "a value that was never assigned is used")

CHECK(NAN, "nan", GPUVAL_SET_SEARCH, 0, operations, early_reports, none,
      "Floating-point operation that makes NaN or infinity")
KIND(NAN_NAN, NAN, "nan", none, none, "an operation on finite numbers has made NaN")
KIND(NAN_INF, NAN, "inf", none, none, "an operation on finite numbers has made infinity")

CHECK(EXPORT, "export", GPUVAL_SET_BASIC, 0, none, export, none,
      "NaN or infinity leaves a fragment shader")
KIND(EXPORT_NAN, EXPORT, "nan", export, detail_or, "an output is NaN")
KIND(EXPORT_INF, EXPORT, "inf", export, detail_or, "an output is infinite")
KIND(EXPORT_NAN_INF, EXPORT, "nan-inf", export, detail_or, "an output is NaN and infinite")

CHECK(PRINTF, "printf", GPUVAL_SET_BASIC, 0, none, printf, printf, "A shader has printed this")
KIND(MESSAGE, PRINTF, "message", none, none, "") /* the text is what was printed */

CHECK(MESH, "mesh", GPUVAL_SET_BASIC | GPUVAL_SET_SHADER, 0, none, mesh, none,
      "Wrong output of a task or mesh shader")
KIND(MESH_COUNT, MESH, "count", mesh, detail_or,
     "the numbers of vertices and primitives do not fit the outputs")
KIND(PRIMITIVE_INDEX, MESH, "primitive-index", mesh, detail_or,
     "a primitive has a vertex that there is not")
KIND(TASK_COUNT, MESH, "task-count", mesh, detail_or,
     "a task launches more mesh workgroups than the device can")

CHECK(LOOP, "loop", GPUVAL_SET_BASIC | GPUVAL_SET_SHADER, 0, none, loop, none,
      "A loop does not end")
KIND(ENDLESS, LOOP, "endless", loop, detail_or,
     "the loop goes round more often than GPUVAL_LOOP_LIMIT")

CHECK(SYNC, "sync", 0, GPUVAL_NEEDS_OBJECTS, none, sync, sync,
      "Missing barrier between invocations or commands")
CHECK(SYNC_COMPUTE, "sync-compute", 0, 0, none, sync, sync,
      "Missing barrier between invocations or commands")
/* Whichever of the two checks was asked for */
KIND(READ_AFTER_WRITE, SYNC, "read-after-write", hazard, hazard,
     "another invocation has written there since the last barrier")
KIND(WRITE_AFTER_ACCESS, SYNC, "write-after-access", hazard, hazard,
     "another invocation has read or written there since the last barrier")
KIND(ATOMIC_CONFLICT, SYNC, "atomic-conflict", hazard, access_of,
     "another invocation has read or written there without an atomic since the last barrier")
KIND(INDIRECT_AFTER_WRITE, SYNC, "indirect-after-write", hazard, access_of,
     "a shader has written there since the last barrier")

CHECK(SHARED, "shared", GPUVAL_SET_CONCURRENCY, 0, none, shared, none,
      "Missing barrier between invocations of a workgroup")
KIND(SHARED_READ_AFTER_WRITE, SHARED, "read-after-write", shared, access_of,
     "another invocation has written there since the last barrier")
KIND(SHARED_WRITE_AFTER_ACCESS, SHARED, "write-after-access", shared, access_of,
     "another invocation has read or written there since the last barrier")
KIND(SHARED_ATOMIC_CONFLICT, SHARED, "atomic-conflict", shared, access_of,
     "another invocation has read or written there without an atomic since the last barrier")

CHECK(CONVERGE, "converge", GPUVAL_SET_SHADER, 0, converge, converge, none,
      "Operation of a group of invocations that not all of them reach")
KIND(CONVERGE_BARRIER, CONVERGE, "barrier", none, none,
     "not all invocations of the workgroup come to this barrier")
KIND(CONVERGE_DERIVATIVE, CONVERGE, "derivative", none, none,
     "a derivative is taken where a part of the quad is not there")
KIND(CONVERGE_SUBGROUP, CONVERGE, "subgroup", converge, detail_or,
     "an invocation is read that is not active")

CHECK(RACE, "race", GPUVAL_SET_CONCURRENCY, GPUVAL_NEEDS_OBJECTS, none, race, none,
      "Commands that are not ordered use one resource")
KIND(RESOURCE_RACE, RACE, "resource-race", none, race, "nothing orders it and another command")

CHECK(INIT, "init", GPUVAL_SET_RESIDENCY, GPUVAL_NEEDS_OBJECTS, none, init, init,
      "Read of what nothing has written")
KIND(UNINITIALIZED_READ, INIT, "uninitialized-read", unwritten, unwritten,
     "nothing was ever written there")

/* Of commands, which the host checks */

CHECK(INDIRECT, "indirect", GPUVAL_SET_BASIC, 0, none, none, none,
      "Wrong arguments of an indirect command")
KIND(INDIRECT_ARGUMENT_OOB, INDIRECT, "argument-oob", none, outside_range, "")
KIND(INDIRECT_COUNT, INDIRECT, "count", none, outside_range, "")
KIND(INDIRECT_LIMIT, INDIRECT, "limit", none, of_range, "")
KIND(INDIRECT_FIRST_INSTANCE, INDIRECT, "first-instance", none, of_range, "")

CHECK(VERTEX, "vertex", GPUVAL_SET_BASIC, 0, none, none, none,
      "Vertices or indices outside their buffer")
KIND(INDEX_BUFFER_OOB, VERTEX, "index-buffer-oob", none, outside_range, "")
KIND(ATTRIBUTE_OOB, VERTEX, "attribute-oob", none, outside_range, "")

/* Of work that does not end, with any check: GPUVAL_HANG_TIME */

CHECK(HANG, "hang", GPUVAL_SET_ALWAYS, 0, none, none, none, "Work has not ended")
KIND(HANG_SLOW_SUBMIT, HANG, "slow-submit", none, detail_or, "a submit takes long")
KIND(HANG_DEVICE_LOST, HANG, "device-lost", none, detail_or, "the device is lost")

#undef CHECK
#undef KIND
