/* SPDX-License-Identifier: MIT */

/* Which earlier accesses are ordered before an access that comes now?
 *
 * Vulkan orders by dependencies between stages and kinds of access, by chains of
 * these, and for ranges of memory. What it says of two accesses comes down to
 * this:
 *
 *    write after read    the read happens before the write (execution)
 *    write after write   and the first write has been made available before the
 *                        second one: "location-ordered" in Vulkan's memory model
 *                        asks for no visibility there
 *    read after write    and was then made visible to such reads in this stage
 *
 * First scopes are "all commands before, as far as they run in these stages", so
 * what is ordered before a command is, for each class of earlier accesses, a
 * beginning of all there were. Hence *watermarks*: commands carry a serial number
 * that grows as they are submitted, and for each class of the access that came
 * first there is the highest serial that is ordered before the one that comes now.
 *
 * A *class* is a stage of the main queue, what commands do there without a shader, or
 * another queue. A serial stands for a
 * *span*: what a queue executes from one dependency, signal or event to the next.
 * Accesses of one serial are not ordered by anything that this header knows.
 *
 * This file is the layout that shaders read; core/order/gpuval_order_model.h says what is in
 * it. docs/sync-scopes.rst is the manual of the rules.
 */

#ifndef GPUVAL_ORDER_H
#define GPUVAL_ORDER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpuval/src/compat/gpuval_stages.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Who came first. What a cell of shadow memory has to know beside a serial: 4 bits. */
enum gpuval_order_class {
   GPUVAL_ORDER_INDIRECT, /* the arguments of commands are read */
   GPUVAL_ORDER_VERTEX,
   GPUVAL_ORDER_TESS_CTRL,
   GPUVAL_ORDER_TESS_EVAL,
   GPUVAL_ORDER_GEOMETRY,
   GPUVAL_ORDER_TASK,
   GPUVAL_ORDER_MESH,
   GPUVAL_ORDER_FRAGMENT,
   GPUVAL_ORDER_COMPUTE,
   GPUVAL_ORDER_RAYS, /* all stages of a trace */
   GPUVAL_ORDER_STAGE_CLASSES,

   /* Whatever the stage. Where these are several (stages, queues), the watermark is
    * the highest of theirs: what is missed there is never false.
    */
   GPUVAL_ORDER_SECOND_QUEUE = GPUVAL_ORDER_STAGE_CLASSES,
   GPUVAL_ORDER_OTHER_QUEUES,

   /* What commands do to bytes of buffers without a shader. Each of these has several stages
    * (gpuval_order_class_stage()): what is ordered for one of them counts as ordered for all.
    */
   GPUVAL_ORDER_TRANSFER,     /* copies, blits, resolves, clears, fills, updates */
   GPUVAL_ORDER_VERTEX_INPUT, /* indices and attributes are fetched */
   GPUVAL_ORDER_AUXILIARY,    /* transform feedback, counters, predicates, preprocessing */
   GPUVAL_ORDER_STRUCTURES,   /* acceleration structures are built and copied */
};
#define GPUVAL_ORDER_CLASSES 16

/** What comes now, where what came first has written. */
enum gpuval_order_access {
   GPUVAL_ORDER_WRITE,
   GPUVAL_ORDER_ATOMIC,
   GPUVAL_ORDER_STORAGE_READ, /* storage buffers, storage texel buffers, addresses; the
                               * arguments of commands in GPUVAL_ORDER_INDIRECT */
   GPUVAL_ORDER_UNIFORM_READ, /* uniform buffers */
   GPUVAL_ORDER_SAMPLED_READ, /* uniform texel buffers */
   GPUVAL_ORDER_RAY_READ,     /* structures that rays are traced in */
   GPUVAL_ORDER_ACCESSES,

   /* A read behind a memory barrier of the shader that makes visible what is available: the
    * execution watermark is enough. That nothing else has made it available is not known. As
    * GPUVAL_SYNC_ACCESS_SHIFT has it; one more makes it the row's first watermark.
    */
   GPUVAL_ORDER_ACQUIRED_READ = 7,

   /* The same of classes without shaders, whose other reads are all alike */
   GPUVAL_ORDER_ATTRIBUTE_READ = GPUVAL_ORDER_STORAGE_READ, /* VERTEX_INPUT */
   GPUVAL_ORDER_INDEX_READ = GPUVAL_ORDER_UNIFORM_READ,
   GPUVAL_ORDER_COUNTER_READ = GPUVAL_ORDER_STORAGE_READ, /* AUXILIARY */
   GPUVAL_ORDER_PREDICATE_READ = GPUVAL_ORDER_UNIFORM_READ,
   GPUVAL_ORDER_PREPROCESS_READ = GPUVAL_ORDER_SAMPLED_READ,
   GPUVAL_ORDER_BUILD_ARGUMENT_READ = GPUVAL_ORDER_ATOMIC, /* STRUCTURES */
   GPUVAL_ORDER_STRUCTURE_READ = GPUVAL_ORDER_STORAGE_READ,
   GPUVAL_ORDER_BUILD_INPUT_READ = GPUVAL_ORDER_UNIFORM_READ,
   GPUVAL_ORDER_SERIALIZED_READ = GPUVAL_ORDER_SAMPLED_READ,
};

/* What shaders read: struct gpuval_command_data::order_address is that of a table. It
 * holds for all commands of one queue between two dependencies.
 *
 * An access A of class @class comes to memory where B, of (serial, class),
 * came before. A comes after B if
 *
 *    row = &table->rows[class][r]
 *    B.serial <= (B was a read or A is a GPUVAL_ORDER_ACQUIRED_READ
 *                    ? row->execution_watermark[B.class]
 *                    : row->memory_watermark[access of A][B.class])
 *
 * where r is 0, or i + 1 if range i of the table contains A's address. Two reads
 * need no order, nor do two atomics.
 *
 * What B marked itself with: B.serial is the serial in its command's data. B.class
 * is the class of its stage, or order_class of its command's data if that is not 0.
 *
 * Rows are filled in for the classes of the commands that have the table. Only what
 * is needed of it is written and read.
 */

/** Ranges of memory that buffer barriers have told apart. What needs more of them
 * counts for all memory.
 */
#define GPUVAL_ORDER_MAX_RANGES 15

struct gpuval_order_row {
   uint32_t execution_watermark[GPUVAL_ORDER_CLASSES];
   uint32_t memory_watermark[GPUVAL_ORDER_ACCESSES][GPUVAL_ORDER_CLASSES];
};
static_assert(sizeof(struct gpuval_order_row) == 448, "shaders know the stride");

struct gpuval_order_range {
   uint64_t begin, end; /* addresses; the end is not in it */
};

struct gpuval_order_table {
   uint32_t num_ranges;
   uint32_t reserved[3];
   struct gpuval_order_range ranges[GPUVAL_ORDER_MAX_RANGES]; /* disjoint, ascending */
   struct gpuval_order_row rows[GPUVAL_ORDER_CLASSES][1 + GPUVAL_ORDER_MAX_RANGES];
};
static_assert(offsetof(struct gpuval_order_table, ranges) == 16, "shaders know the offsets");
static_assert(offsetof(struct gpuval_order_table, rows) == 256, "shaders know the offsets");

/** The quick way: everything up to these serials is ordered before a command, whatever
 * its class and wherever in memory, as far as accesses of the command go that are
 * uniform or sampled reads or rays, or that are not. Rays look for what builds have written only.
 * UINT32_MAX: everything there is.
 */
struct gpuval_order_threshold {
   uint32_t storage, others;
};

/** The row of a table for an access of @class_ to @address. *end: up to where it is that, exclusive
 */
static inline const struct gpuval_order_row *
gpuval_order_find_row(const struct gpuval_order_table *table, enum gpuval_order_class class_,
                      uint64_t address, uint64_t *end)
{
   *end = UINT64_MAX;
   for (unsigned i = 0; i < table->num_ranges; i++) {
      if (address >= table->ranges[i].begin && address < table->ranges[i].end) {
         *end = table->ranges[i].end;
         return &table->rows[class_][i + 1];
      }
      if (table->ranges[i].begin > address && table->ranges[i].begin < *end)
         *end = table->ranges[i].begin;
   }
   return &table->rows[class_][0];
}

/** Class of a shader stage. */
static inline enum gpuval_order_class
gpuval_order_stage_class(mesa_shader_stage stage)
{
   switch (stage) {
   case MESA_SHADER_VERTEX:
      return GPUVAL_ORDER_VERTEX;
   case MESA_SHADER_TESS_CTRL:
      return GPUVAL_ORDER_TESS_CTRL;
   case MESA_SHADER_TESS_EVAL:
      return GPUVAL_ORDER_TESS_EVAL;
   case MESA_SHADER_GEOMETRY:
      return GPUVAL_ORDER_GEOMETRY;
   case MESA_SHADER_TASK:
      return GPUVAL_ORDER_TASK;
   case MESA_SHADER_MESH:
      return GPUVAL_ORDER_MESH;
   case MESA_SHADER_FRAGMENT:
      return GPUVAL_ORDER_FRAGMENT;
   case MESA_SHADER_COMPUTE:
      return GPUVAL_ORDER_COMPUTE;
   default:
      return GPUVAL_ORDER_RAYS;
   }
}

#ifdef __cplusplus
}
#endif

#endif
