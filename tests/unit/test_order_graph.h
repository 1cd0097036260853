/* SPDX-License-Identifier: MIT */

/* What Vulkan orders, as a graph: the slow and naive way, to compare with.
 *
 * Each sync command and each stage of each work command is a node. An edge says that
 * the spec names one in the scope of the other; what can be reached comes after. A
 * write is available to what can be reached from some availability operation that it
 * was in the access scope of, and so on: the sentences of "Execution and Memory
 * Dependencies", one by one.
 */

#ifndef TEST_ORDER_GRAPH_H
#define TEST_ORDER_GRAPH_H

#include <vector>

#include "core/order/gpuval_order_model.h"

struct graph_barrier {
   VkPipelineStageFlags2 src, dst;
   VkAccessFlags2 src_access, dst_access;
   uint64_t begin, end;
};

class order_graph {
 public:
   /* All return the number of the node that others refer to. */

   /** A command of @queue, with shaders or reads in the stages of @classes. */
   int work(int queue, uint32_t classes);
   void barrier(int queue, const std::vector<graph_barrier> &parts);
   /** An event: set after @stages, or by the host (@queue -1). */
   int set_event(int queue, VkPipelineStageFlags2 stages);
   void wait_event(int queue, int event, const std::vector<graph_barrier> &parts);
   /** A semaphore or fence is signalled after @stages, or a semaphore by the host. */
   int signal(int queue, VkPipelineStageFlags2 stages);
   int host_signal();
   void wait(int queue, int signal, VkPipelineStageFlags2 stages);
   void host_saw(int signal);
   /** What comes in @queue comes after what the host has seen. */
   void submit(int queue);

   /** Does @class_ of work @a happen before @class_b of work @b? */
   bool executed(int a, gpuval_order_class class_a, int b, gpuval_order_class class_b) const;
   /** Is a write of the first at @address ordered before @access of the second? */
   bool available(int a, gpuval_order_class class_a, int b, gpuval_order_class class_b,
                  gpuval_order_access access, uint64_t address) const;

 private:
   enum node_kind { WORK, PART, SET, SIGNAL, WAIT, HOST, HOST_SET };

   struct node {
      node_kind kind;
      int queue; /* -1: the host */
      int first; /* the first node of the same command */
      int event; /* PART of a wait: what was set */
      gpuval_order_class class_;
      VkPipelineStageFlags2 src, dst; /* by which it takes part in chains: expanded */
      VkPipelineStageFlags2 src_named, dst_named;
      VkAccessFlags2 src_access, dst_access;
      uint64_t begin, end;
      std::vector<bool> from; /* nodes that come before it */
   };

   int add(node n);
   int find(int work, gpuval_order_class class_) const;
   bool follows(const node &later, int earlier) const;
   bool makes_available(int op, int write, uint64_t address) const;
   bool makes_visible(int op, int read, gpuval_order_access access, uint64_t address) const;
   bool before(int a, int b) const
   {
      return nodes[b].from[a];
   }

   std::vector<node> nodes;
};

#endif
