/* SPDX-License-Identifier: MIT */

/* Random programs, told to the model and to a graph of the spec's sentences
 * (test_order_graph.h): both have to say the same.
 */

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "order_names.h"
#include "test_order_graph.h"

#include "util/ralloc.h"

namespace {

/* Random programs: the same calls for model and graph */
class random_program {
 public:
   random_program(unsigned seed, unsigned num_queues, unsigned num_ranges)
       : random(seed), num_queues(num_queues), num_ranges(num_ranges),
         model(gpuval_order_create(num_queues)), host(gpuval_order_point_create(model))
   {
   }

   ~random_program()
   {
      gpuval_order_destroy(model);
      for (void *object : objects)
         ralloc_free(object);
      ralloc_free(host);
   }

   /* Returns how many relations it has compared. @exact: or else the model may order
    * more than the graph does.
    */
   unsigned run(unsigned steps, bool exact)
   {
      unsigned count = 0;
      for (unsigned i = 0; i < steps && !::testing::Test::HasFailure(); i++) {
         step();
         if (!works.empty() && works.back().is_new)
            count += compare(exact);
      }
      return count;
   }

 private:
   struct work {
      unsigned queue;
      uint32_t classes, serial;
      int node;
      bool is_new;
   };

   struct event {
      gpuval_order_snapshot *snapshot;
      unsigned queue;
      int node, signal;
   };

   struct semaphore {
      gpuval_order_point *point;
      int node;
   };

   unsigned below(unsigned n)
   {
      return std::uniform_int_distribution<unsigned>(0, n - 1)(random);
   }

   VkPipelineStageFlags2 stages()
   {
      static const VkPipelineStageFlags2 choices[] = {
         COMPUTE,
         COMPUTE,
         COMPUTE,
         VERTEX,
         FRAGMENT,
         FRAGMENT,
         TASK,
         INDIRECT,
         COPY,
         TRANSFER,
         COLOR,
         HOST,
         TOP,
         BOTTOM,
         ALL,
         GRAPHICS,
         VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR,
         VK_PIPELINE_STAGE_2_MESH_SHADER_BIT_EXT,
         VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT,
         VK_PIPELINE_STAGE_2_PRE_RASTERIZATION_SHADERS_BIT,
         VK_PIPELINE_STAGE_2_VERTEX_INPUT_BIT,
         VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT,
         VK_PIPELINE_STAGE_2_CLEAR_BIT,
         VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT,
         0,
      };
      VkPipelineStageFlags2 mask = choices[below(sizeof(choices) / sizeof(choices[0]))];
      return below(3) ? mask : mask | choices[below(sizeof(choices) / sizeof(choices[0]))];
   }

   VkAccessFlags2 accesses(bool writes)
   {
      static const VkAccessFlags2 reads[] = {
         0,
         READ,
         READ,
         UNIFORM_READ,
         STORAGE_READ,
         SAMPLED_READ,
         MEMORY_READ,
         INDIRECT_READ,
         WRITE,
         MEMORY_READ | MEMORY_WRITE,
         VK_ACCESS_2_TRANSFER_READ_BIT,
         VK_ACCESS_2_ACCELERATION_STRUCTURE_READ_BIT_KHR,
      };
      static const VkAccessFlags2 writings[] = {
         0,
         WRITE,
         WRITE,
         MEMORY_WRITE,
         READ,
         VK_ACCESS_2_TRANSFER_WRITE_BIT,
         VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT,
      };
      return writes ? writings[below(sizeof(writings) / sizeof(writings[0]))]
                    : reads[below(sizeof(reads) / sizeof(reads[0]))];
   }

   void parts(barriers *out, std::vector<graph_barrier> *same)
   {
      for (unsigned i = below(3) ? 1 : 1 + below(3); i; i--) {
         gpuval_order_barrier b = barrier(stages(), accesses(true), stages(), accesses(false));
         unsigned kind = below(4);
         if (kind == 0) {
            b.begin = b.end = 0;
         } else if (kind == 1) {
            b.begin = 0x1000 * below(num_ranges);
            b.end = b.begin + 0x1000 * (1 + below(3));
         }
         out->push_back(b);
         same->push_back({b.src_stages, b.dst_stages, b.src_access, b.dst_access, b.begin, b.end});
      }
   }

   void step()
   {
      unsigned queue = below(num_queues);
      barriers b;
      std::vector<graph_barrier> same;

      if (!works.empty())
         works.back().is_new = false;
      switch (below(16)) {
      case 0 ... 4: {
         static const uint32_t kinds[] = {
            1u << GPUVAL_ORDER_COMPUTE,
            1u << GPUVAL_ORDER_COMPUTE | 1u << GPUVAL_ORDER_INDIRECT,
            1u << GPUVAL_ORDER_VERTEX | 1u << GPUVAL_ORDER_FRAGMENT,
            1u << GPUVAL_ORDER_VERTEX | 1u << GPUVAL_ORDER_GEOMETRY | 1u << GPUVAL_ORDER_FRAGMENT,
            1u << GPUVAL_ORDER_TASK | 1u << GPUVAL_ORDER_MESH | 1u << GPUVAL_ORDER_FRAGMENT,
            1u << GPUVAL_ORDER_RAYS,
         };
         uint32_t classes = kinds[below(sizeof(kinds) / sizeof(kinds[0]))];
         works.push_back({queue, classes, gpuval_order_work(model, queue, classes),
                          graph.work((int)queue, classes), true});
         break;
      }
      case 5 ... 9:
         parts(&b, &same);
         gpuval_order_dependency(model, queue, (unsigned)b.size(), b.data());
         graph.barrier((int)queue, same);
         break;
      case 10: {
         VkPipelineStageFlags2 mask = stages();
         event e = {gpuval_order_set_event(model, queue, mask), queue,
                    graph.set_event((int)queue, mask), graph.signal((int)queue, mask)};
         objects.push_back(e.snapshot);
         events.push_back(e);
         break;
      }
      case 11:
         if (!below(3)) {
            event e = {gpuval_order_host_set_event(model, host), queue, graph.set_event(-1, 0), -1};
            objects.push_back(e.snapshot);
            events.push_back(e);
         }
         if (!events.empty()) {
            const event &e = events[below((unsigned)events.size())];
            parts(&b, &same);
            gpuval_order_wait_event(model, e.queue, e.snapshot, (unsigned)b.size(), b.data());
            graph.wait_event((int)e.queue, e.node, same);
         }
         break;
      case 12: {
         VkPipelineStageFlags2 mask = stages();
         semaphore s = {gpuval_order_point_create(model), graph.signal((int)queue, mask)};
         gpuval_order_signal(model, queue, mask, s.point);
         objects.push_back(s.point);
         semaphores.push_back(s);
         break;
      }
      case 13:
         if (!semaphores.empty()) {
            const semaphore &s = semaphores[below((unsigned)semaphores.size())];
            VkPipelineStageFlags2 mask = stages();
            gpuval_order_wait(model, queue, s.point, mask);
            graph.wait((int)queue, s.node, mask);
         }
         break;
      case 14:
         if (!semaphores.empty() && below(2)) {
            const semaphore &s = semaphores[below((unsigned)semaphores.size())];
            gpuval_order_merge(model, host, s.point);
            graph.host_saw(s.node);
         } else if (!events.empty()) {
            const event &e = events[below((unsigned)events.size())];
            if (e.signal >= 0) {
               gpuval_order_event_signal(model, e.snapshot, host);
               graph.host_saw(e.signal);
            }
         }
         break;
      case 15:
         if (below(2)) {
            gpuval_order_wait(model, queue, host, ALL);
            graph.submit((int)queue);
         } else {
            semaphore s = {gpuval_order_point_create(model), graph.host_signal()};
            gpuval_order_merge(model, s.point, host);
            objects.push_back(s.point);
            semaphores.push_back(s);
         }
         break;
      }
   }

   /* The last work with all that came before it */
   unsigned compare(bool exact)
   {
      const work &now = works.back();
      unsigned count = 0;

      for (size_t i = 0; i + 1 < works.size(); i++) {
         const work &was = works[i];
         for (unsigned a = 0; a < GPUVAL_ORDER_STAGE_CLASSES; a++) {
            for (unsigned b = 0; b < GPUVAL_ORDER_STAGE_CLASSES; b++) {
               if (was.classes & 1u << a && now.classes & 1u << b)
                  count +=
                     compare_classes(was, (gpuval_order_class)a, now, (gpuval_order_class)b, exact);
            }
         }
      }
      return count;
   }

   unsigned compare_classes(const work &was, gpuval_order_class a, const work &now,
                            gpuval_order_class b, bool exact)
   {
      unsigned source = gpuval_order_source(was.queue, a);
      bool executed = was.serial <= gpuval_order_executed(model, now.queue, b, source);
      bool expected = graph.executed(was.node, a, now.node, b);

      EXPECT_TRUE(exact ? executed == expected : executed || !expected)
         << "execution " << executed << ": " << was.serial << " " << a << ", " << now.serial << " "
         << b;

      for (uint64_t address = 0x800; address < 0x1000 * (num_ranges + 3); address += 0x1000) {
         for (int access = 0; access < GPUVAL_ORDER_ACCESSES; access++) {
            bool is =
               was.serial <= gpuval_order_available(model, now.queue, b,
                                                    (gpuval_order_access)access, address, source);
            bool should =
               graph.available(was.node, a, now.node, b, (gpuval_order_access)access, address);
            EXPECT_TRUE(exact ? is == should : is || !should)
               << "access " << access << " at " << address << " " << is << ": " << was.serial << " "
               << a << ", " << now.serial << " " << b;
         }
      }
      return 1 + GPUVAL_ORDER_ACCESSES * (num_ranges + 3);
   }

   std::mt19937 random;
   unsigned num_queues, num_ranges;
   gpuval_order *model;
   gpuval_order_point *host;
   order_graph graph;
   std::vector<work> works;
   std::vector<event> events;
   std::vector<semaphore> semaphores;
   std::vector<void *> objects;
};

unsigned
random_programs(unsigned count, unsigned num_queues, unsigned num_ranges, bool exact)
{
   unsigned relations = 0;
   for (unsigned seed = 0; seed < count && !::testing::Test::HasFailure(); seed++) {
      SCOPED_TRACE(seed);
      relations += random_program(seed, num_queues, num_ranges).run(40, exact);
   }
   return relations;
}

TEST(random_order, one_queue)
{
   EXPECT_GT(random_programs(1000, 1, 4, true), 300000u);
}

TEST(random_order, several_queues)
{
   EXPECT_GT(random_programs(1000, 3, 4, true), 300000u);
}

/* More ranges than there are places for: nothing is ordered less. */
TEST(random_order, many_ranges)
{
   EXPECT_GT(random_programs(100, 2, 40, false), 300000u);
}

} /* namespace */
