/* SPDX-License-Identifier: MIT */

/* One shader, dispatched with checks; with --time also as it is, in turns. */

#include "gpuval_anygpu_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/descriptors/gpuval_objects.h"
#include "core/memory/gpuval_cells.h"
#include "core/memory/gpuval_marks.h"

#include "util/macros.h"
#include "util/os_file.h"
#include "util/os_time.h"
#include "util/rand_xor.h"

#define MAX_BATCH GPUVAL_ANYGPU_MAX_BATCH

bool
gpuval_anygpu_fail(const char *what, const char *name)
{
   fprintf(stderr, "gpuval: error: anygpu: %s%s%s\n", what, name ? ": " : "", name ? name : "");
   return false;
}

/* What core asks */

static bool
describe_command(void *data, uint32_t command_id, mesa_shader_stage stage,
                 struct gpuval_command *command)
{
   const struct gpuval_anygpu_runner *run = data;

   if (!command_id || command_id > run->num_commands)
      return false;
   *command = (struct gpuval_command){
      .op = "dispatch",
      .index = (command_id - 1) % MAX_BATCH,
      .command_buffer = (uintptr_t)run->vulkan.commands,
      .submission = (command_id - 1) / MAX_BATCH,
   };
   return true;
}

static void
wait_for_work(void *data, bool at_exit)
{
   struct gpuval_anygpu_runner *run = data;
   run->vulkan.table.DeviceWaitIdle(run->vulkan.device);
}

static bool
create_device(struct gpuval_anygpu_runner *run)
{
   if (!gpuval_options()->checks)
      return true;

   run->device = gpuval_device_create(&(struct gpuval_device_info){
      .winsys = gpuval_anygpu_winsys(&run->vulkan),
      .max_sites = 1u << 16,
      .max_entries = 1u << 16,
      .max_sets = 1,
      .object_bits = GPUVAL_ANYGPU_OBJECT_BITS,
      .has_table = true,
      .max_shadow_size = 16ull << 30,
      .has_marks = true,
      .clear_when_idle = true,
      .describe_command = describe_command,
      .wait_for_work = wait_for_work,
      .data = run,
   });
   return run->device != NULL;
}

/* Buffers */

/* Contents are random and the same each time. */
static void
fill(struct gpuval_anygpu_memory *memory, const struct gpuval_anygpu_buffer_info *info,
     unsigned index)
{
   uint64_t seed[2] = {0x9e3779b97f4a7c15ull + index, 0xbf58476d1ce4e5b9ull};
   const uint64_t num_nodes = memory->size / 16;
   uint32_t chunk[1024];

   for (uint64_t offset = 0; offset < memory->size; offset += sizeof(chunk)) {
      for (unsigned i = 0; i < ARRAY_SIZE(chunk); i += 2) {
         uint64_t value = rand_xorshift128plus(seed);
         if (info->has_nodes && i % 4 == 0)
            value = memory->address + value % MAX2(num_nodes, 1) * 16;
         memcpy(&chunk[i], &value, sizeof(value));
      }
      for (unsigned i = 0; info->limit && i < ARRAY_SIZE(chunk); i++)
         chunk[i] %= info->limit;
      memcpy((char *)memory->map + offset, chunk, MIN2(sizeof(chunk), memory->size - offset));
   }
}

static void
tell_of_buffer(struct gpuval_anygpu_runner *run, struct gpuval_anygpu_buffer *buffer)
{
   const struct gpuval_anygpu_memory *memory = buffer->memory;
   struct gpuval_device *device = run->device;

   buffer->vk.base.type = VK_OBJECT_TYPE_BUFFER;
   buffer->vk.size = memory->size;
   buffer->vk.usage = VK_BUFFER_USAGE_2_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_2_UNIFORM_BUFFER_BIT |
                      VK_BUFFER_USAGE_2_SHADER_DEVICE_ADDRESS_BIT;
   if (gpuval_device_objects(device))
      gpuval_objects_add(gpuval_device_objects(device), &buffer->vk.base, NULL, NULL);
   gpuval_device_add_buffer(device, &buffer->vk.base, memory->address, memory->size);
   gpuval_cells_add(device, memory->address, align64(memory->size, 16));
   gpuval_marks_add(device, memory->address, align64(memory->size, 16));
   gpuval_marks_write(device, memory->address, memory->size);
}

static bool
create_buffers(struct gpuval_anygpu_runner *run)
{
   const struct gpuval_anygpu_options *options = run->options;

   for (unsigned i = 0; i < options->num_buffers; i++) {
      struct gpuval_anygpu_buffer *buffer = &run->buffers[i];
      if (options->buffers[i].shares >= 0) {
         buffer->memory = run->buffers[options->buffers[i].shares].memory;
         continue;
      }
      buffer->memory = gpuval_anygpu_alloc(&run->vulkan, options->buffers[i].size);
      if (!buffer->memory)
         return gpuval_anygpu_fail("there is no memory for the buffers", NULL);
      fill(buffer->memory, &options->buffers[i], i);
      if (run->device)
         tell_of_buffer(run, buffer);
   }
   /* Behind the commands there is what stands for the root where nothing is checked: accesses
    * outside of buffers go there.
    */
   run->commands = gpuval_anygpu_alloc(
      &run->vulkan, MAX_BATCH * sizeof(struct gpuval_anygpu_command) + GPUVAL_ROOT_SIZE);
   return run->commands ? true : gpuval_anygpu_fail("there is no memory for commands", NULL);
}

/* The first element of a binding; further ones are not written. */
static void
write_descriptor(struct gpuval_anygpu_runner *run, unsigned binding)
{
   const struct gpuval_anygpu_binding *layout = &run->shader.layout.bindings[binding];
   struct gpuval_anygpu_command *command = &run->template;
   const int shares = run->options->buffers[binding].shares;
   struct gpuval_anygpu_buffer *buffer = &run->buffers[shares >= 0 ? (unsigned)shares : binding];

   command->descriptors[layout->first_slot] = (struct gpuval_anygpu_descriptor){
      .address = buffer->memory->address,
      .size = MIN2(buffer->memory->size, UINT32_MAX),
   };
   if (!run->device || !gpuval_device_objects(run->device))
      return;
   const VkDescriptorBufferInfo info = {
      .buffer = (VkBuffer)(uintptr_t)&buffer->vk,
      .range = VK_WHOLE_SIZE,
   };
   gpuval_set_shadow_write(
      gpuval_device_objects(run->device), (struct gpuval_set_shadow){command->shadows, 1},
      &(struct gpuval_set_shadow_binding){.first_slot = layout->first_slot, .stride = 1},
      run->options->buffers[binding].is_uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                                : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
      0, 1, &info, sizeof(info));
}

static void
set_push(struct gpuval_anygpu_runner *run, const struct gpuval_anygpu_push *push)
{
   run->push_size = push->size;
   memset(run->template.push, 0, sizeof(run->template.push));
   memcpy(run->template.push, push->bytes, push->size);
   for (unsigned i = 0; i < push->num_addresses; i++)
      memcpy(run->template.push + push->addresses[i].offset,
             &run->buffers[push->addresses[i].buffer].memory->address, sizeof(uint64_t));
}

static void
make_template(struct gpuval_anygpu_runner *run)
{
   const struct gpuval_anygpu_options *options = run->options;

   for (unsigned i = 0; i < options->num_buffers; i++) {
      if (run->shader.layout.bindings[i].count)
         write_descriptor(run, i);
   }
   set_push(run, &options->push);
   for (unsigned i = 0; i < GPUVAL_STAGE_COUNT; i++)
      run->template.base.entry_base[i] = GPUVAL_SHADOW_NO_ENTRIES;
   if (!run->device) {
      run->template.base.root_address =
         run->commands->address + MAX_BATCH * sizeof(struct gpuval_anygpu_command);
      return;
   }
   run->template.base.root_address = gpuval_device_root_address(run->device);
   if (gpuval_device_objects(run->device))
      run->template.objects_address = gpuval_objects_address(gpuval_device_objects(run->device));
   if (run->shader.gpuval)
      run->template.base.entry_base[MESA_SHADER_COMPUTE] =
         gpuval_shader_entry_base(run->shader.gpuval);
}

/* Running */

/* Everything that runs later is ordered after everything before. */
static void
begin_span(struct gpuval_anygpu_runner *run)
{
   run->span++;
   run->span_command = run->num_commands + 1;
}

static uint64_t
fill_command(struct gpuval_anygpu_runner *run, uint32_t index)
{
   struct gpuval_anygpu_command command = run->template;

   run->num_commands++;
   if (run->device) {
      struct gpuval_command_data *data = &command.base;
      data->command_id = run->num_commands;
      gpuval_device_add_commands(run->device, 1);
      data->epoch = run->span;
      data->epoch_command = run->span_command;
      data->serial = run->span;
      data->marks_address = gpuval_marks_table(run->device);
      if (gpuval_device_has_shadow(run->device)) {
         const uint32_t before = run->span - 1;
         data->shadow_words = gpuval_cells_table(run->device);
         gpuval_device_shadow_command(run->device, (struct gpuval_order_threshold){before, before},
                                      false, data);
      }
   }
   memcpy((struct gpuval_anygpu_command *)run->commands->map + index, &command, sizeof(command));
   return run->commands->address + index * sizeof(command);
}

static void
record_dispatch(struct gpuval_anygpu_runner *run, const struct gpuval_anygpu_pipeline *pipeline,
                const uint32_t groups[3], uint64_t command)
{
   const struct vk_device_dispatch_table *table = &run->vulkan.table;
   VkCommandBuffer commands = run->vulkan.commands;
   uint8_t push[GPUVAL_ANYGPU_PUSH_OFFSET + GPUVAL_ANYGPU_MAX_PUSH] = {0};
   bool is_plain = pipeline == &run->plain;
   const uint8_t *constants = is_plain ? run->template.push : push;
   uint32_t size = run->shader.layout.push_size + (is_plain ? 0 : GPUVAL_ANYGPU_PUSH_OFFSET);

   memcpy(push, &command, sizeof(command));
   memcpy(push + GPUVAL_ANYGPU_PUSH_OFFSET, run->template.push, run->push_size);
   if (size)
      table->CmdPushConstants(commands, pipeline->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                              align(size, 4), constants);
   table->CmdDispatch(commands, groups[0], groups[1], groups[2]);
}

/* The steps of a batch from `first` on */
static void
record_steps(struct gpuval_anygpu_runner *run, const struct gpuval_anygpu_pipeline *pipeline,
             uint32_t first, uint32_t count)
{
   uint32_t dispatch = 0;

   for (uint32_t i = first; i < first + count; i++) {
      const struct gpuval_anygpu_step *step = &run->options->sequence.steps[i];
      if (step->type != GPUVAL_ANYGPU_DISPATCH) {
         gpuval_anygpu_barrier(&run->vulkan);
         if (step->type == GPUVAL_ANYGPU_BARRIER)
            begin_span(run);
         continue;
      }
      set_push(run, &step->push);
      record_dispatch(run, pipeline, step->groups,
                      pipeline == &run->checked ? fill_command(run, dispatch++) : 0);
   }
}

static void
record(struct gpuval_anygpu_runner *run, const struct gpuval_anygpu_pipeline *pipeline,
       uint32_t first, uint32_t count)
{
   const struct vk_device_dispatch_table *table = &run->vulkan.table;
   VkCommandBuffer commands = run->vulkan.commands;

   table->CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->pipeline);
   if (pipeline == &run->plain && run->set)
      table->CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->layout, 0, 1,
                                   &run->set, 0, NULL);
   if (run->options->sequence.count) {
      record_steps(run, pipeline, first, count);
      return;
   }
   for (uint32_t i = 0; i < count; i++) {
      if (i && run->options->barriers) {
         gpuval_anygpu_barrier(&run->vulkan);
         begin_span(run);
      }
      record_dispatch(run, pipeline, run->options->groups,
                      pipeline == &run->checked ? fill_command(run, i) : 0);
   }
}

/* Adds the GPU's time to *ns. */
static bool
read_time(struct gpuval_anygpu_runner *run, double *ns)
{
   uint64_t times[2];

   if (run->vulkan.table.GetQueryPoolResults(
          run->vulkan.device, run->queries, 0, 2, sizeof(times), times, sizeof(*times),
          VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT) != VK_SUCCESS)
      return gpuval_anygpu_fail("vkGetQueryPoolResults failed", NULL);
   *ns += (times[1] - times[0]) * (double)run->vulkan.properties.limits.timestampPeriod;
   return true;
}

static void
write_timestamp(struct gpuval_anygpu_runner *run, uint32_t query)
{
   if (run->queries)
      run->vulkan.table.CmdWriteTimestamp(
         run->vulkan.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, run->queries, query);
}

/* One submission: dispatches, or steps of the sequence */
static bool
run_batch(struct gpuval_anygpu_runner *run, const struct gpuval_anygpu_pipeline *pipeline,
          uint32_t first, uint32_t count, double *ns)
{
   struct gpuval_device *device = pipeline == &run->checked ? run->device : NULL;
   unsigned work = 0;

   if (device) {
      gpuval_device_shadow_idle(device);
      gpuval_device_bloom_barrier(device);
      work = gpuval_device_begin_work(device);
   }
   begin_span(run);
   bool done = gpuval_anygpu_begin(&run->vulkan);
   if (done) {
      if (run->queries)
         run->vulkan.table.CmdResetQueryPool(run->vulkan.commands, run->queries, 0, 2);
      gpuval_anygpu_barrier(&run->vulkan);
      write_timestamp(run, 0);
      record(run, pipeline, first, count);
      gpuval_anygpu_barrier(&run->vulkan);
      write_timestamp(run, 1);
      done = gpuval_anygpu_submit(&run->vulkan);
   }
   if (device)
      gpuval_device_end_work(device, work);
   return done && (!run->queries || read_time(run, ns));
}

/* With the wait */
static uint32_t
count_until_wait(const struct gpuval_anygpu_sequence *sequence, uint32_t first)
{
   for (uint32_t i = first; i < sequence->count; i++) {
      if (sequence->steps[i].type == GPUVAL_ANYGPU_WAIT)
         return i + 1 - first;
   }
   return sequence->count - first;
}

static bool
run_all(struct gpuval_anygpu_runner *run, const struct gpuval_anygpu_pipeline *pipeline, double *ns)
{
   const struct gpuval_anygpu_sequence *sequence = &run->options->sequence;
   const uint32_t all = sequence->count ? sequence->count : run->options->dispatches;

   *ns = 0;
   for (uint32_t first = 0, count; first < all; first += count) {
      count = sequence->count ? count_until_wait(sequence, first) : MIN2(all - first, MAX_BATCH);
      /* Ids say which submission it was. */
      run->num_commands = align(run->num_commands, MAX_BATCH);
      if (!run_batch(run, pipeline, first, count, ns))
         return false;
   }
   return true;
}

static int
compare_doubles(const void *a, const void *b)
{
   double x = *(const double *)a, y = *(const double *)b;
   return (x > y) - (x < y);
}

static double
get_median(double *values, unsigned count)
{
   qsort(values, count, sizeof(*values), compare_doubles);
   return values[count / 2];
}

#define WARM_UP_NS (500ull * 1000 * 1000)

/* A GPU that had nothing to do while shaders were compiled has a low clock at first. */
static bool
warm_up(struct gpuval_anygpu_runner *run)
{
   int64_t begin = os_time_get_nano();
   double ns;

   do {
      if (!run_all(run, &run->plain, &ns))
         return false;
   } while ((uint64_t)(os_time_get_nano() - begin) < WARM_UP_NS);
   return true;
}

/* Both take turns, so that what changes on the machine meets both. The first turn is not counted:
 * memory is touched there for the first time.
 */
static bool
measure(struct gpuval_anygpu_runner *run)
{
   double plain[64], checked[64], ratio[64];
   const unsigned rounds = MIN2(run->options->rounds, ARRAY_SIZE(plain));

   if (!warm_up(run))
      return false;
   for (unsigned i = 0; i <= rounds; i++) {
      double ns[2];
      if (!run_all(run, &run->plain, &ns[0]) || !run_all(run, &run->checked, &ns[1]))
         return false;
      if (!i)
         continue;
      plain[i - 1] = ns[0] * 1e-3;
      checked[i - 1] = ns[1] * 1e-3;
      ratio[i - 1] = ns[1] / MAX2(ns[0], 1);
   }
   printf("plain %.1f us, checked %.1f us, ratio %.2f (median of %u, %u dispatches, %s, %s)\n",
          get_median(plain, rounds), get_median(checked, rounds), get_median(ratio, rounds), rounds,
          run->options->dispatches, run->vulkan.properties.deviceName, run->vulkan.driver);
   return true;
}

/* Beginning and end */

static bool
write_file(const char *name, const void *data, size_t size)
{
   FILE *file = fopen(name, "wb");
   bool done = file && fwrite(data, size, 1, file) == 1;

   if (file)
      done &= !fclose(file);
   return done ? true : gpuval_anygpu_fail("cannot write", name);
}

static bool
prepare(struct gpuval_anygpu_runner *run, const uint32_t *source, size_t source_size)
{
   const struct gpuval_anygpu_options *options = run->options;

   if (!gpuval_anygpu_vulkan_init(&run->vulkan, options->device) || !create_device(run) ||
       !gpuval_anygpu_compile(run->device, &run->vulkan.caps, source, source_size, options->entry,
                              &run->shader))
      return false;
   if (options->write_spv && !write_file(options->write_spv, run->shader.words, run->shader.size))
      return false;
   if (!options->sequence.count && options->push.size < run->shader.layout.push_size)
      fprintf(stderr,
              "gpuval: note: anygpu: the shader has %u bytes of push constants, those that --push "
              "does not give are 0\n",
              run->shader.layout.push_size);
   if (!create_buffers(run))
      return false;
   make_template(run);
   return (options->as_is || gpuval_anygpu_create_checked(run)) &&
          (!(options->as_is || options->time) || gpuval_anygpu_create_plain(run));
}

static void
finish(struct gpuval_anygpu_runner *run)
{
   const struct vk_device_dispatch_table *table = &run->vulkan.table;

   if (run->vulkan.device)
      table->DeviceWaitIdle(run->vulkan.device);
   if (run->device) {
      gpuval_device_retire(run->device);
      if (run->shader.gpuval)
         gpuval_shader_release(run->shader.gpuval);
      for (unsigned i = 0; i < run->options->num_buffers; i++) {
         if (run->buffers[i].memory && run->options->buffers[i].shares < 0)
            gpuval_device_remove_buffer(run->device, &run->buffers[i].vk.base);
      }
      gpuval_device_destroy(run->device);
   }
   if (run->vulkan.device) {
      gpuval_anygpu_destroy_pipeline(run, &run->checked);
      gpuval_anygpu_destroy_pipeline(run, &run->plain);
      table->DestroyDescriptorPool(run->vulkan.device, run->descriptor_pool, NULL);
      table->DestroyQueryPool(run->vulkan.device, run->queries, NULL);
      for (unsigned i = 0; i < run->options->num_buffers; i++) {
         if (run->options->buffers[i].shares < 0)
            gpuval_anygpu_free(&run->vulkan, run->buffers[i].memory);
      }
      gpuval_anygpu_free(&run->vulkan, run->commands);
   }
   gpuval_anygpu_vulkan_finish(&run->vulkan);
   free(run->shader.words);
}

int
gpuval_anygpu_run(const struct gpuval_anygpu_options *options)
{
   struct gpuval_anygpu_runner *run = calloc(1, sizeof(*run));
   size_t size;
   double ns;

   char *source = os_read_file(options->shader, &size);
   if (!source || !run) {
      gpuval_anygpu_fail("cannot read", options->shader);
      free(run);
      return 2;
   }
   run->options = options;
   gpuval_anygpu_nir_init();
   bool done = prepare(run, (const uint32_t *)source, size) &&
               (options->time ? measure(run)
                              : run_all(run, options->as_is ? &run->plain : &run->checked, &ns));
   finish(run);
   gpuval_anygpu_nir_finish();
   free(source);
   free(run);
   return done ? 0 : 2;
}
