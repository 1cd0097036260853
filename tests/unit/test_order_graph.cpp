/* SPDX-License-Identifier: MIT */

#include "test_order_graph.h"

namespace {

/* The stages of a draw of primitives, of meshes, of a dispatch and a trace, written
 * down as the spec lists them.
 */
const std::vector<std::vector<VkPipelineStageFlags2>> pipelines = {
   {VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT, VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT,
    VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT, VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT,
    VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT,
    VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT, VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT,
    VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT, VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
    VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT, VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT},
   {VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT, VK_PIPELINE_STAGE_2_TASK_SHADER_BIT_EXT,
    VK_PIPELINE_STAGE_2_MESH_SHADER_BIT_EXT, VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT,
    VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT, VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT,
    VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT},
   {VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT},
   {VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT, VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR},
};

const VkPipelineStageFlags2 others = VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_CLEAR_BIT;

/* TOP_OF_PIPE and BOTTOM_OF_PIPE are nothing here. */
VkPipelineStageFlags2
expand(VkPipelineStageFlags2 stages)
{
   VkPipelineStageFlags2 all = stages & (others | VK_PIPELINE_STAGE_2_HOST_BIT);

   if (stages & (VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT))
      all |= others;
   for (size_t i = 0; i < pipelines.size(); i++) {
      for (VkPipelineStageFlags2 stage : pipelines[i]) {
         bool graphics = i < 2;
         if (stages & (stage | VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT) ||
             (graphics && stages & VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT))
            all |= stage;
      }
   }
   if (stages & VK_PIPELINE_STAGE_2_PRE_RASTERIZATION_SHADERS_BIT)
      all |= VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT |
             VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT |
             VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT |
             VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT | VK_PIPELINE_STAGE_2_TASK_SHADER_BIT_EXT |
             VK_PIPELINE_STAGE_2_MESH_SHADER_BIT_EXT;
   if (stages & VK_PIPELINE_STAGE_2_VERTEX_INPUT_BIT)
      all |= VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT | VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT;
   return all;
}

VkPipelineStageFlags2
first_scope(VkPipelineStageFlags2 stages)
{
   if (stages & VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT)
      stages |= VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;

   VkPipelineStageFlags2 named = expand(stages), all = named;
   for (const auto &pipeline : pipelines) {
      for (size_t later = 0; later < pipeline.size(); later++) {
         for (size_t earlier = 0; earlier < later; earlier++) {
            if (named & pipeline[later])
               all |= pipeline[earlier];
         }
      }
   }
   return all;
}

VkPipelineStageFlags2
second_scope(VkPipelineStageFlags2 stages)
{
   if (stages & VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT)
      stages |= VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;

   VkPipelineStageFlags2 named = expand(stages), all = named;
   for (const auto &pipeline : pipelines) {
      for (size_t later = 0; later < pipeline.size(); later++) {
         for (size_t earlier = 0; earlier < later; earlier++) {
            if (named & pipeline[earlier])
               all |= pipeline[later];
         }
      }
   }
   return all;
}

bool
is_read_by(gpuval_order_class class_, gpuval_order_access access, VkAccessFlags2 flags)
{
   if (flags & VK_ACCESS_2_MEMORY_READ_BIT)
      return true;
   if (class_ == GPUVAL_ORDER_INDIRECT)
      return flags & VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT;

   VkAccessFlags2 storage = VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_READ_BIT;
   VkAccessFlags2 writes = VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT |
                           VK_ACCESS_2_MEMORY_WRITE_BIT;
   switch (access) {
   case GPUVAL_ORDER_ATOMIC:
      return flags & (storage | writes);
   case GPUVAL_ORDER_STORAGE_READ:
      return flags & storage;
   case GPUVAL_ORDER_UNIFORM_READ:
      return flags & VK_ACCESS_2_UNIFORM_READ_BIT;
   case GPUVAL_ORDER_SAMPLED_READ:
      return flags & (VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_SAMPLED_READ_BIT);
   case GPUVAL_ORDER_RAY_READ:
      return flags & VK_ACCESS_2_ACCELERATION_STRUCTURE_READ_BIT_KHR;
   default:
      return false;
   }
}

} /* namespace */

/* Is @earlier, which came earlier, in the first scope of @later? */
bool
order_graph::follows(const node &later, int earlier) const
{
   const node &e = nodes[earlier];

   /* Parts of one command are not in each other's, and work orders nothing. */
   if (e.first == later.first || (e.kind == WORK && later.kind == WORK))
      return false;

   switch (later.kind) {
   case PART:
      if (later.event >= 0) {
         /* What was set is the first scope: what came before it in stages of both */
         const node &set = nodes[later.event];
         if (set.kind == HOST_SET)
            return earlier == later.event && later.src & VK_PIPELINE_STAGE_2_HOST_BIT;
         return earlier < later.event && e.queue == set.queue && e.dst & later.src & set.src;
      }
      return e.queue == later.queue && e.dst & later.src;
   case WORK:
   case SET:
   case SIGNAL:
      return e.queue == later.queue && e.dst & later.src;
   case WAIT:
      return earlier == later.event;
   case HOST:
   case HOST_SET:
      /* What the host does is in order. */
      return earlier == later.event || e.kind == HOST;
   }
   return false;
}

int
order_graph::add(node n)
{
   int index = (int)nodes.size();

   if (n.first < 0)
      n.first = index;
   n.from.assign(index + 1, false);
   for (int i = 0; i < index; i++) {
      if (!follows(n, i))
         continue;
      n.from[i] = true;
      for (int j = 0; j < i; j++)
         n.from[j] = n.from[j] || nodes[i].from[j];
   }
   nodes.push_back(n);
   return index;
}

int
order_graph::work(int queue, uint32_t classes)
{
   int first = -1;

   for (int i = 0; i < GPUVAL_ORDER_STAGE_CLASSES; i++) {
      if (!(classes & 1u << i))
         continue;
      node n = {};
      n.kind = WORK;
      n.queue = queue;
      n.first = first;
      n.event = -1;
      n.class_ = (gpuval_order_class)i;
      n.src = n.dst = gpuval_order_class_stage((gpuval_order_class)i);
      int index = add(n);
      if (first < 0)
         first = index;
   }
   return first;
}

void
order_graph::barrier(int queue, const std::vector<graph_barrier> &parts)
{
   wait_event(queue, -1, parts);
}

void
order_graph::wait_event(int queue, int event, const std::vector<graph_barrier> &parts)
{
   int first = -1;

   for (const graph_barrier &part : parts) {
      node n = {};
      n.kind = PART;
      n.queue = queue;
      n.first = first;
      n.event = event;
      n.src = first_scope(part.src);
      n.dst = second_scope(part.dst);
      n.src_named = expand(part.src);
      n.dst_named = expand(part.dst);
      n.src_access = part.src_access;
      n.dst_access = part.dst_access;
      n.begin = part.begin;
      n.end = part.end;
      int index = add(n);
      if (first < 0)
         first = index;
   }
}

int
order_graph::set_event(int queue, VkPipelineStageFlags2 stages)
{
   node n = {};
   n.kind = queue < 0 ? HOST_SET : SET;
   n.queue = queue;
   n.first = n.event = -1;
   n.src = queue < 0 ? (VkPipelineStageFlags2)VK_PIPELINE_STAGE_2_HOST_BIT : first_scope(stages);
   n.src_named = queue < 0 ? n.src : expand(stages);
   n.dst = 0; /* of the wait only */
   return add(n);
}

int
order_graph::signal(int queue, VkPipelineStageFlags2 stages)
{
   node n = {};
   n.kind = SIGNAL;
   n.queue = queue;
   n.first = n.event = -1;
   n.src = first_scope(stages);
   return add(n);
}

int
order_graph::host_signal()
{
   node n = {};
   n.kind = HOST;
   n.queue = -1;
   n.first = n.event = -1;
   return add(n);
}

void
order_graph::wait(int queue, int signal, VkPipelineStageFlags2 stages)
{
   node n = {};
   n.kind = WAIT;
   n.queue = queue;
   n.first = -1;
   n.event = signal;
   n.dst = second_scope(stages);
   add(n);
}

void
order_graph::host_saw(int signal)
{
   node n = {};
   n.kind = HOST;
   n.queue = -1;
   n.first = -1;
   n.event = signal;
   add(n);
}

void
order_graph::submit(int queue)
{
   wait(queue, host_signal(), VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
}

int
order_graph::find(int work, gpuval_order_class class_) const
{
   for (int i = work; i < (int)nodes.size() && nodes[i].first == nodes[work].first; i++) {
      if (nodes[i].class_ == class_)
         return i;
   }
   return -1;
}

bool
order_graph::executed(int a, gpuval_order_class class_a, int b, gpuval_order_class class_b) const
{
   return before(find(a, class_a), find(b, class_b));
}

/* Is the write in the first access scope of @op, and before it? */
bool
order_graph::makes_available(int op, int write, uint64_t address) const
{
   const node &n = nodes[op], &w = nodes[write];

   if (op < write || !before(write, op))
      return false;
   if (n.kind == SIGNAL)
      return true;
   if (n.kind != PART ||
       !(n.src_access & (VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT |
                         VK_ACCESS_2_MEMORY_WRITE_BIT)))
      return false;
   if (address < n.begin || address >= n.end || !(w.src & n.src_named))
      return false;
   if (n.event < 0)
      return w.queue == n.queue;
   const node &set = nodes[n.event];
   return write < n.event && w.queue == set.queue && w.src & set.src_named;
}

bool
order_graph::makes_visible(int op, int read, gpuval_order_access access, uint64_t address) const
{
   const node &n = nodes[op], &r = nodes[read];

   if (op > read || !before(op, read))
      return false;
   if (n.kind == WAIT)
      return true;
   return n.kind == PART && n.queue == r.queue && r.src & n.dst_named && address >= n.begin &&
          address < n.end && is_read_by(r.class_, access, n.dst_access);
}

bool
order_graph::available(int a, gpuval_order_class class_a, int b, gpuval_order_class class_b,
                       gpuval_order_access access, uint64_t address) const
{
   int write = find(a, class_a), later = find(b, class_b);

   for (int i = write; i < later; i++) {
      if (!makes_available(i, write, address) || !before(i, later))
         continue;
      if (access == GPUVAL_ORDER_WRITE)
         return true;
      for (int j = i; j < later; j++) {
         if ((i == j || before(i, j)) && makes_visible(j, later, access, address))
            return true;
      }
   }
   return false;
}
