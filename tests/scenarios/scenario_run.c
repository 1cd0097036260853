/* SPDX-License-Identifier: MIT */

/*
 * The program of a scenario: creates a device with what the scenario uses,
 * executes the statements of [run], and writes down the memory it leaves. The
 * table of statements is here, and those that are about resources.
 */

#include "scenario_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Words ---------------------------------------------------------------- */

bool
run_has_word(const struct run *run, unsigned i)
{
   return i < run->statement->word_count;
}

const char *
run_word(struct run *run, unsigned i)
{
   if (!run_has_word(run, i))
      RUN_ERROR(run, "%s needs more words", run->statement->words[0]);
   return run->statement->words[i];
}

uint64_t
run_number(struct run *run, unsigned i)
{
   char *end;
   const char *word = run_word(run, i);
   const uint64_t value = strtoull(word, &end, 0);
   if (end == word || *end)
      RUN_ERROR(run, "'%s' is no number", word);
   return value;
}

uint64_t
run_number_or(struct run *run, unsigned i, uint64_t fallback)
{
   return run_has_word(run, i) ? run_number(run, i) : fallback;
}

/* What would not fit into a word of a scenario: \n, \e, \s (a space) and bytes as \xff */
const char *
run_unescape(const char *word)
{
   static const char escapes[] = "n\ne\x1bs ";
   if (!strchr(word, '\\'))
      return word;

   char *text = scenario_format("%s", word);
   for (char *c = text; (c = strchr(c, '\\')); c++) {
      const char *escape = c[1] ? strchr(escapes, c[1]) : NULL;
      unsigned byte, length = 2;
      if (escape)
         byte = (unsigned char)escape[1];
      else if (sscanf(c, "\\x%2x", &byte) == 1)
         length = 4;
      else
         continue;
      *c = (char)byte;
      memmove(c + 1, c + length, strlen(c + length) + 1);
   }
   return text;
}

const char *
run_debug_name(const struct run *run, const char *name)
{
   return run->names ? run_unescape(name) : NULL;
}

struct run_buffer *
run_find_buffer(struct run *run, const char *name)
{
   for (unsigned i = 0; i < run->buffer_count; i++) {
      if (strcmp(run->buffers[i].name, name) == 0)
         return &run->buffers[i];
   }
   RUN_ERROR(run, "there is no buffer %s", name);
}

/* Returns the bytes written to `out` (at most 8). */
static size_t
parse_value(struct run *run, const char *type, const char *word, void *out)
{
   char *end;
   const unsigned bits = (unsigned)atoi(type + 1);
   const double real = strtod(word, &end);

   if (*end && type[0] == 'f')
      RUN_ERROR(run, "'%s' is no number", word);
   if (strcmp(type, "f32") == 0) {
      const float value = (float)real;
      memcpy(out, &value, 4);
   } else if (strcmp(type, "f64") == 0) {
      memcpy(out, &real, 8);
   } else if ((type[0] == 'u' || type[0] == 'i') && bits && bits % 8 == 0 && bits <= 64) {
      const uint64_t value = strtoull(word, &end, 0);
      if (*end)
         RUN_ERROR(run, "'%s' is no whole number", word);
      memcpy(out, &value, bits / 8);
   } else {
      RUN_ERROR(run, "%s is no type", type);
   }
   return bits / 8;
}

size_t
run_values(struct run *run, const char *type, unsigned first, void *out, size_t capacity)
{
   size_t used = 0;
   for (unsigned i = first; run_has_word(run, i); i++) {
      uint64_t value;
      const size_t size = parse_value(run, type, run_word(run, i), &value);
      if (used + size > capacity)
         RUN_ERROR(run, "too many values");
      memcpy((char *)out + used, &value, size);
      used += size;
   }
   return used;
}

/* --- Statements: resources ------------------------------------------------ */

/* NAME[+OFFSET] */
static void
create_alias(struct run *run, struct run_buffer *buffer, const char *where)
{
   char *name = scenario_format("%.*s", (int)strcspn(where, "+"), where);
   const char *offset = where + strlen(name);
   const struct vkh_buffer other = run_find_buffer(run, name)->vk;

   buffer->vk = vkh_buffer_create_at(run->ctx, run_number(run, 2), &other,
                                     *offset ? strtoull(offset + 1, NULL, 0) : 0,
                                     run_debug_name(run, buffer->name));
   free(name);
}

/* `buffer NAME BYTES [unwritten|mapped|cleared|sparse|host|exported|imported|at=OTHER]` */
static void
do_buffer(struct run *run)
{
   run->buffers = scenario_grow(run->buffers, &run->buffer_count, sizeof(*run->buffers));
   struct run_buffer *buffer = &run->buffers[run->buffer_count - 1];
   buffer->name = run_word(run, 1);
   const char *how = run_has_word(run, 3) ? run_word(run, 3) : "";
   if (strncmp(how, "at=", 3) == 0) {
      create_alias(run, buffer, how + 3);
      return;
   }
   if (strncmp(how, "host=", 5) == 0) {
      buffer->vk = vkh_buffer_create_twice(run->ctx, &run_find_buffer(run, how + 5)->vk,
                                           run_debug_name(run, buffer->name));
      return;
   }
   static const char *const externals[] = {
      [VKH_HOST_POINTER] = "host",
      [VKH_EXPORTED] = "exported",
      [VKH_IMPORTED] = "imported",
   };
   for (unsigned i = 0; i < VKH_COUNT(externals); i++) {
      if (strcmp(how, externals[i]) == 0) {
         buffer->vk = vkh_buffer_create_external(run->ctx, run_number(run, 2), i,
                                                 run_debug_name(run, buffer->name));
         return;
      }
   }
   const bool is_mapped = strcmp(how, "mapped") == 0;
   buffer->vk = (is_mapped || strcmp(how, "unwritten") == 0 ? vkh_buffer_create_unwritten
                 : strcmp(how, "cleared") == 0              ? vkh_buffer_create_cleared
                 : strcmp(how, "sparse") == 0               ? vkh_buffer_create_sparse
                                                            : vkh_buffer_create)(
      run->ctx, run_number(run, 2), run_debug_name(run, buffer->name));
   if (is_mapped)
      vkh_buffer_map(run->ctx, &buffer->vk);
}

/* `data NAME OFFSET TYPE VALUE…` */
static void
do_data(struct run *run)
{
   struct run_buffer *buffer = run_find_buffer(run, run_word(run, 1));
   const uint64_t offset = run_number(run, 2);
   if (offset > buffer->vk.size)
      RUN_ERROR(run, "the offset is behind the buffer's end");
   run_values(run, run_word(run, 3), 4, (char *)buffer->vk.map + offset, buffer->vk.size - offset);
}

/* `fill NAME TYPE VALUE` */
static void
do_fill(struct run *run)
{
   struct run_buffer *buffer = run_find_buffer(run, run_word(run, 1));
   uint64_t value;
   const size_t size = parse_value(run, run_word(run, 2), run_word(run, 3), &value);
   for (size_t at = 0; at + size <= buffer->vk.size; at += size)
      memcpy((char *)buffer->vk.map + at, &value, size);
}

/* `address BUFFER OFFSET OTHER`: writes the device address of OTHER. */
static void
do_address(struct run *run)
{
   struct run_buffer *buffer = run_find_buffer(run, run_word(run, 1));
   const uint64_t offset = run_number(run, 2);
   if (offset + 8 > buffer->vk.size)
      RUN_ERROR(run, "the offset is behind the buffer's end");
   memcpy((char *)buffer->vk.map + offset, &run_find_buffer(run, run_word(run, 3))->vk.address, 8);
}

/* `push OFFSET TYPE VALUE…`, or `push OFFSET address BUFFER` */
static void
do_push(struct run *run)
{
   const uint64_t offset = run_number(run, 1);
   const bool is_address = strcmp(run_word(run, 2), "address") == 0;
   if (offset + (is_address ? 8 : 0) > MAX_PUSH)
      RUN_ERROR(run, "there are %u bytes of push constants", MAX_PUSH);
   if (is_address)
      memcpy(run->push + offset, &run_find_buffer(run, run_word(run, 3))->vk.address, 8);
   else
      run_values(run, run_word(run, 2), 3, run->push + offset, MAX_PUSH - offset);
}

/* `check BUFFER OFFSET TYPE VALUE…`, after everything submitted so far. */
static void
do_check(struct run *run)
{
   uint8_t expected[256];
   run_submit_recorded(run, false);
   if (run->no_results)
      return;
   struct run_buffer *buffer = run_find_buffer(run, run_word(run, 1));
   const uint64_t offset = run_number(run, 2);
   const char *type = run_word(run, 3);
   const size_t size = run_values(run, type, 4, expected, sizeof(expected));
   const size_t step = (size_t)atoi(type + 1) / 8;
   if (offset + size > buffer->vk.size)
      RUN_ERROR(run, "the values are behind the buffer's end");

   vkh_buffer_map(run->ctx, &buffer->vk);
   const uint8_t *got = (const uint8_t *)buffer->vk.map + offset;
   for (size_t i = 0; i < size; i += step) {
      uint64_t value = 0;
      if (memcmp(got + i, expected + i, step) == 0)
         continue;
      memcpy(&value, got + i, step);
      printf("%s:%u: %s at byte %llu: expected %s, got 0x%llx\n", run->scenario->path,
             run->statement->line, buffer->name, (unsigned long long)(offset + i),
             run_word(run, 4 + (unsigned)(i / step)), (unsigned long long)value);
      exit(1);
   }
}

static void
do_check_on(struct run *run)
{
   if (run->checks_on)
      do_check(run);
}

static void
do_check_off(struct run *run)
{
   if (!run->checks_on)
      do_check(run);
}

/* --- The program ---------------------------------------------------------- */

/* Of statements that take effect before anything runs. */
static void
do_nothing(struct run *run)
{
}

static const struct {
   const char *word;
   void (*execute)(struct run *run);
} statements[] = {
   {"address", do_address},
   {"barrier", run_barrier},
   {"begin_pass", run_begin_pass},
   {"begin_target", run_begin_target},
   {"bind", run_bind},
   {"blit_image", run_blit_image},
   {"buffer", do_buffer},
   {"build", run_build},
   {"buffer_view", run_create_buffer_view},
   {"check", do_check},
   {"check_off", do_check_off},
   {"check_on", do_check_on},
   {"clear_attachment", run_clear_attachment},
   {"clear_image", run_clear_image},
   {"command_buffer", run_command_buffer},
   {"compute_queue", do_nothing},
   {"conditional", run_conditional},
   {"conditional_end", run_conditional_end},
   {"copy_buffer", run_copy_buffer},
   {"copy_from_image", run_copy_from_image},
   {"copy_image", run_copy_image},
   {"copy_structure", run_copy_structure},
   {"copy_to_image", run_copy_to_image},
   {"count", do_nothing},
   {"data", do_data},
   {"depth", do_nothing},
   {"destroy_structure", run_destroy_structure},
   {"destroy", run_destroy},
   {"device_memory", do_nothing},
   {"discard_image", run_discard_image},
   {"dispatch", run_dispatch},
   {"dispatch_base", run_dispatch_base},
   {"dispatch_indirect", run_dispatch_indirect},
   {"draw", run_draw},
   {"draw_byte_count", run_draw_byte_count},
   {"draw_captured", run_draw_captured},
   {"draw_indexed", run_draw_indexed},
   {"draw_indexed_indirect", run_draw_indexed_indirect},
   {"draw_indexed_indirect_count", run_draw_indexed_indirect_count},
   {"draw_indirect", run_draw_indirect},
   {"draw_indirect_count", run_draw_indirect_count},
   {"draw_mesh", run_draw_mesh},
   {"draw_mesh_indirect", run_draw_mesh_indirect},
   {"draw_mesh_indirect_count", run_draw_mesh_indirect_count},
   {"draw_multi", run_draw_multi},
   {"draw_multi_indexed", run_draw_multi_indexed},
   {"end_pass", run_end_pass},
   {"end_target", run_end_target},
   {"execute", run_execute},
   {"execute_rendering", run_execute_rendering},
   {"execute_nested", run_execute},
   {"exclusive", do_nothing},
   {"extension", do_nothing},
   {"feature", do_nothing},
   {"fill", do_fill},
   {"fill_buffer", run_fill_buffer},
   {"flags", do_nothing},
   {"generated", run_generated},
   {"host_copy_from_image", run_host_copy_from_image},
   {"host_copy_image", run_host_copy_image},
   {"host_copy_to_image", run_host_copy_to_image},
   {"host_discard_image", run_host_discard_image},
   {"host_event", run_host_event},
   {"index_buffer", run_index_buffer},
   {"instance", run_instance},
   {"image", run_create_image},
   {"label", run_label},
   {"label_end", run_label_end},
   {"label_insert", run_label_insert},
   {"queue_label", run_queue_label},
   {"queue_label_end", run_queue_label_end},
   {"queue_label_insert", run_queue_label_insert},
   {"await", run_await},
   {"next_subpass", run_next_subpass},
   {"null_set", do_nothing},
   {"offsets", run_offsets},
   {"pipeline", run_create_pipeline},
   {"poll_event", run_poll_event},
   {"poll_fence", run_poll_fence},
   {"poll_semaphore", run_poll_semaphore},
   {"present", run_present},
   {"primitive_restart", run_primitive_restart},
   {"push", do_push},
   {"push_range", do_nothing},
   {"query", run_query},
   {"samples", run_samples},
   {"copy_query", run_copy_query},
   {"queue", run_select_queue},
   {"input_pass", run_create_input_pass},
   {"render_pass", run_create_pass},
   {"render_pass2", run_create_pass},
   {"reset_event", run_reset_event},
   {"reset_fence", run_reset_fence},
   {"resolve_image", run_resolve_image},
   {"resubmit", run_resubmit},
   {"sampler", run_create_sampler},
   {"scene", run_create_scene},
   {"secondary", run_secondary},
   {"secondary_end", run_secondary_end},
   {"serialize_structure", run_serialize_structure},
   {"set_event", run_set_event},
   {"signal_semaphore", run_signal_semaphore},
   {"structure", run_structure},
   {"submit", run_submit_statement},
   {"target", do_nothing},
   {"trace", run_trace},
   {"trace_indirect", run_trace_indirect},
   {"trace_indirect2", run_trace_indirect2},
   {"unnamed", do_nothing},
   {"update", do_nothing},
   {"update_buffer", run_update_buffer},
   {"use", run_use},
   {"vertex_buffer", run_vertex_buffer},
   {"vertex_input", run_vertex_input},
   {"view", run_create_view},
   {"wait_event", run_wait_event},
   {"wait_fence", run_wait_fence},
   {"wait_idle", run_wait_idle},
   {"wait_query", run_wait_query},
   {"wait_semaphore", run_wait_semaphore},
   {"without", do_nothing},
   {"write", run_write},
};

static void
execute_statement(struct run *run)
{
   for (unsigned i = 0; i < VKH_COUNT(statements); i++) {
      if (strcmp(statements[i].word, run_word(run, 0)) == 0) {
         statements[i].execute(run);
         return;
      }
   }
   RUN_ERROR(run, "%s is no statement", run_word(run, 0));
}

static void
dump_memory(FILE *file, const char *name, const void *data, size_t size)
{
   fprintf(file, "%s %zu\n", name, size);
   fwrite(data, 1, size, file);
}

static void
dump_image(struct run *run, FILE *file, const char *name, const struct vkh_image *image)
{
   const size_t size = vkh_image_bytes(image);
   void *pixels = malloc(size);
   if (!pixels)
      vkh_die("out of memory");
   vkh_image_read(run->ctx, image, pixels);
   dump_memory(file, name, pixels, size);
   free(pixels);
}

/* The memory that the program leaves, for a comparison with another run. */
static void
dump_results(struct run *run, const char *name)
{
   FILE *file = run_open_result(run, name, "dump", "wb");
   for (unsigned i = 0; i < run->buffer_count; i++) {
      const struct run_buffer *buffer = &run->buffers[i];
      if (buffer->vk.map)
         dump_memory(file, buffer->name, buffer->vk.map, buffer->vk.size);
   }
   if (run->cleared)
      dump_image(run, file, "color", &run->color);
   if (run->cleared && run->has_depth)
      dump_image(run, file, "depth", &run->depth);
   if (fclose(file) != 0)
      vkh_die("cannot write the memory's contents");
}

static void
destroy(struct run *run)
{
   run_destroy_pipelines(run);
   run_destroy_sets(run);
   run_destroy_images(run);
   run_destroy_scene(run);
   run_destroy_structures(run);
   run_destroy_submits(run);
   run_destroy_passes(run);
   run_destroy_window(run);
   for (unsigned i = 0; i < run->buffer_count; i++)
      vkh_buffer_destroy(run->ctx, &run->buffers[i].vk);
   vkh_image_destroy(run->ctx, &run->color);
   if (run->has_depth)
      vkh_image_destroy(run->ctx, &run->depth);
   vkh_context_destroy(run->ctx);
   free(run->modules);
   free(run->codes);
   free(run->code_sizes);
}

/* Statements that make pipelines, or what they are made of */
static bool
is_compiled(const char *word)
{
   return strcmp(word, "pipeline") == 0 || strcmp(word, "render_pass") == 0 ||
          strcmp(word, "input_pass") == 0;
}

static int
run_once(const struct scenario *scenario, const char *folder, const char *name,
         enum scenario_kind kind, bool checks_on)
{
   struct run run = {
      .scenario = scenario,
      .folder = folder,
      .kind = kind,
      .checks_on = checks_on,
      .compile_only = getenv("GPUVAL_TEST_COMPILE_ONLY") != NULL,
      .no_results = getenv("GPUVAL_TEST_NO_RESULTS") != NULL,
      .names = true,
      .current_pipeline = -1,
      .color_format = VK_FORMAT_R8G8B8A8_UNORM,
      .width = 16,
      .height = 16,
   };
   run.modules = calloc(scenario->section_count, sizeof(*run.modules));
   run.codes = calloc(scenario->section_count, sizeof(*run.codes));
   run.code_sizes = calloc(scenario->section_count, sizeof(*run.code_sizes));
   if (!run.modules || !run.codes || !run.code_sizes)
      vkh_die("out of memory");

   run.messages = run_open_result(&run, name, "messages", "ab");
   run_create_device(&run);
   run_prepare_sets(&run);
   for (unsigned i = 0; i < scenario->statement_count; i++) {
      run.statement = &scenario->statements[i];
      if (!run.compile_only || is_compiled(run_word(&run, 0)))
         execute_statement(&run);
   }
   run.statement = NULL;
   if (run.compile_only)
      return 0; /* RADV's null winsys cannot even wait for nothing */
   run_submit_recorded(&run, true);
   run_finish_submits(&run);
   if (scenario->finish == SCENARIO_FINISH_DESTROY_BUSY) {
      vkDestroyDevice(run.ctx->device, NULL);
      vkDestroyInstance(run.ctx->instance, NULL);
      return 0;
   }
   dump_results(&run, name);
   destroy(&run);
   fclose(run.messages);
   return 0;
}

int
scenario_run(const struct scenario *scenario, const char *folder, const char *name,
             enum scenario_kind kind, bool checks_on)
{
   int status = 0;
   for (unsigned i = 0; i < scenario->devices && status == 0; i++)
      status = run_once(scenario, folder, name, kind, checks_on);
   return status;
}
