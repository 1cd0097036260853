/*
 * SPDX-License-Identifier: MIT
 */

/*
 * gpuval-bench-printf: how many messages of DebugPrintf come through, beside the
 * same shader on the same driver with GPU-AV's DebugPrintf, and beside memcpy().
 *
 * Each measurement is a process of its own, which starts this program with
 * --worker; rounds take the ways in turn. What is measured is the time from the
 * submit until the queue is idle and all messages are out: in the log, or heard by
 * the program's messenger.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>

#include "vk_headless.h"

#include "printf.comp.h"

#define LAYER         "VK_LAYER_KHRONOS_validation"
#define WORKGROUPS    1024
#define MESSAGES      (WORKGROUPS * 64)
#define MESSAGE_BYTES 32
#define COPY_BYTES    (64u << 20)
#define MAX_ROUNDS    50

enum way {
   WAY_LOG,       /* gpuval, to a file */
   WAY_MESSENGER, /* gpuval, to the program's messenger as well */
   WAY_GPU_AV,    /* to the program's messenger */
   WAY_COUNT,
};

static const char *const way_names[WAY_COUNT] = {"log", "messenger", "gpu-av"};

static double
now(void)
{
   struct timespec time;
   clock_gettime(CLOCK_MONOTONIC, &time);
   return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* --- Worker --------------------------------------------------------------- */

static unsigned heard;

static VkBool32 VKAPI_PTR
on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT types,
           const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
   heard += strstr(data->pMessage, "invocation ") != NULL;
   return VK_FALSE;
}

static void
submit(struct vkh_context *ctx, VkPipeline pipeline)
{
   VkCommandBuffer cmd = vkh_begin(ctx);
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdDispatch(cmd, WORKGROUPS, 1, 1);
   vkh_submit_wait(ctx, cmd);
}

/* Bytes that memcpy() moves in a second, the best of some */
static double
copy_rate(void)
{
   char *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
   double best = 0;

   if (!from || !to)
      vkh_die("out of memory");
   memset(from, 1, COPY_BYTES);
   memset(to, 2, COPY_BYTES);
   for (unsigned i = 0; i < 5; i++) {
      const double begin = now();
      memcpy(to, from, COPY_BYTES);
      const double rate = COPY_BYTES / (now() - begin);
      best = rate > best ? rate : best;
   }
   if (to[COPY_BYTES - 1] != 1)
      vkh_die("the copy is wrong");
   free(from);
   free(to);
   return best;
}

/* The first submit is for compiling. Prints messages, seconds, and bytes a second
 * of a copy.
 */
static int
work(enum way way, int output)
{
   const struct vkh_options options = {.messenger = way == WAY_LOG ? NULL : on_message};
   struct vkh_context *ctx = vkh_context_create(&options);
   VkPipelineLayout layout = vkh_pipeline_layout(ctx, NULL, 0, 0);
   VkShaderModule module = vkh_shader_module(ctx, printf_comp, sizeof(printf_comp), "printf");
   VkPipeline pipeline =
      vkh_compute_pipeline(ctx, &(struct vkh_compute_desc){.module = module, .layout = layout});

   submit(ctx, pipeline);
   heard = 0;
   const double begin = now();
   submit(ctx, pipeline);
   const double seconds = now() - begin;
   dprintf(output, "%u %.9f %.0f\n", heard, seconds, copy_rate());

   vkDestroyPipeline(ctx->device, pipeline, NULL);
   vkDestroyShaderModule(ctx->device, module, NULL);
   vkDestroyPipelineLayout(ctx->device, layout, NULL);
   vkh_context_destroy(ctx);
   return 0;
}

/* --- Parent --------------------------------------------------------------- */

struct measurement {
   unsigned messages;
   double seconds;
   double copy_rate;
};

/* GPU-AV takes its settings from this file only. */
static void
write_settings(const char *folder)
{
   char path[512];
   snprintf(path, sizeof(path), "%s/vk_layer_settings.txt", folder);
   FILE *file = fopen(path, "w");
   if (!file)
      vkh_die("%s: %s", path, strerror(errno));
   fprintf(file,
           "khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_DEBUG_PRINTF_EXT\n"
           "khronos_validation.printf_buffer_size = %u\n"
           "khronos_validation.printf_to_stdout = false\n"
           "khronos_validation.printf_verbose = false\n"
           "khronos_validation.enable_message_limit = false\n",
           2 * MESSAGES * MESSAGE_BYTES);
   fclose(file);
}

static void
set_environment(enum way way, const char *folder)
{
   const char *icd = getenv("GPUVAL_BENCH_ICD");
   if (icd && *icd)
      setenv("VK_DRIVER_FILES", icd, 1);
   unsetenv("GPUVAL");
   unsetenv("GPUVAL_REPORT");

   if (way == WAY_GPU_AV) {
      setenv("VK_INSTANCE_LAYERS", LAYER, 1);
      setenv("VK_LAYER_SETTINGS_PATH", folder, 1);
      setenv("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_DEBUG_PRINTF_EXT", 1);
      setenv("VK_LAYER_DISABLES",
             "VK_VALIDATION_FEATURE_DISABLE_CORE_CHECKS_EXT,"
             "VK_VALIDATION_FEATURE_DISABLE_API_PARAMETERS_EXT,"
             "VK_VALIDATION_FEATURE_DISABLE_OBJECT_LIFETIMES_EXT,"
             "VK_VALIDATION_FEATURE_DISABLE_THREAD_SAFETY_EXT,"
             "VK_VALIDATION_FEATURE_DISABLE_UNIQUE_HANDLES_EXT",
             1);
   } else {
      char log[512], size[32];
      snprintf(log, sizeof(log), "%s/log", folder);
      /* For both submits: nothing is to be lost here. */
      snprintf(size, sizeof(size), "%u", 4 * MESSAGES * MESSAGE_BYTES);
      setenv("GPUVAL", "printf", 1);
      setenv("GPUVAL_LOG", log, 1);
      setenv("GPUVAL_PRINTF_SIZE", size, 1);
   }
}

/* Messages of the second submit that the log has: half of them */
static unsigned
count_messages(const char *folder)
{
   char path[512], line[256];
   unsigned count = 0;

   snprintf(path, sizeof(path), "%s/log", folder);
   FILE *file = fopen(path, "r");
   while (file && fgets(line, sizeof(line), file))
      count += strncmp(line, "printf: invocation ", 19) == 0;
   if (file)
      fclose(file);
   unlink(path);
   return count / 2;
}

/* Returns false, and says why, when there is no measurement. */
static bool
measure(enum way way, const char *folder, struct measurement *out)
{
   int ends[2];
   char line[256] = "";

   if (pipe(ends))
      vkh_die("pipe: %s", strerror(errno));
   fflush(stdout);
   const pid_t child = fork();
   if (child == 0) {
      const int null = open("/dev/null", O_WRONLY);
      char output[16];
      snprintf(output, sizeof(output), "%d", ends[1]);
      close(ends[0]);
      dup2(null, STDOUT_FILENO); /* the layer introduces itself there */
      set_environment(way, folder);
      execl("/proc/self/exe", "gpuval-bench-printf", "--worker", way_names[way], output,
            (char *)NULL);
      _exit(VKH_EXIT_ERROR);
   }
   close(ends[1]);
   FILE *results = fdopen(ends[0], "r");
   const bool answered =
      fgets(line, sizeof(line), results) &&
      sscanf(line, "%u %lf %lf", &out->messages, &out->seconds, &out->copy_rate) == 3;
   fclose(results);
   int status;
   waitpid(child, &status, 0);
   if (!answered || !WIFEXITED(status) || WEXITSTATUS(status)) {
      printf("%s: the program did not work (status %d)\n", way_names[way], status);
      return false;
   }
   if (way == WAY_LOG)
      out->messages = count_messages(folder);
   return true;
}

static int
compare_doubles(const void *a, const void *b)
{
   const double x = *(const double *)a, y = *(const double *)b;
   return x < y ? -1 : x > y;
}

static double
median(double *values, unsigned count)
{
   qsort(values, count, sizeof(*values), compare_doubles);
   return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static bool
layer_exists(void)
{
   uint32_t count = 0;
   bool found = false;

   vkEnumerateInstanceLayerProperties(&count, NULL);
   VkLayerProperties *layers = calloc(count + 1, sizeof(*layers));
   if (layers && vkEnumerateInstanceLayerProperties(&count, layers) >= 0) {
      for (uint32_t i = 0; i < count; i++)
         found |= strcmp(layers[i].layerName, LAYER) == 0;
   }
   free(layers);
   return found;
}

static int
run(unsigned rounds)
{
   static double rates[WAY_COUNT][MAX_ROUNDS], ratios[WAY_COUNT][MAX_ROUNDS];
   static double copies[MAX_ROUNDS * WAY_COUNT];
   unsigned ways = WAY_COUNT, num_copies = 0, lost[WAY_COUNT] = {0};
   char folder[] = "/tmp/gpuval-bench-XXXXXX";
   int status = 0;

   if (!mkdtemp(folder))
      vkh_die("%s: %s", folder, strerror(errno));
   write_settings(folder);
   if (!layer_exists()) {
      printf("GPU-AV is not measured: " LAYER " is not installed (Debian: "
             "vulkan-validationlayers)\n");
      ways = WAY_GPU_AV;
   }

   for (unsigned round = 0; round < rounds && !status; round++) {
      for (unsigned i = 0; i < ways; i++) {
         const enum way way = round % 2 ? ways - 1 - i : i;
         struct measurement m = {0};
         if (!measure(way, folder, &m)) {
            status = 1;
            break;
         }
         rates[way][round] = m.messages / m.seconds;
         lost[way] += MESSAGES - (m.messages < MESSAGES ? m.messages : MESSAGES);
         copies[num_copies++] = m.copy_rate;
      }
      for (unsigned way = 0; way < ways; way++)
         ratios[way][round] =
            rates[WAY_GPU_AV][round] > 0 ? rates[way][round] / rates[WAY_GPU_AV][round] : 0;
   }

   if (!status) {
      static const char *const titles[WAY_COUNT] = {"gpuval, log", "gpuval, log and messenger",
                                                    "GPU-AV DebugPrintf, messenger"};
      const double copy = median(copies, num_copies);

      printf(
         "\nDebugPrintf: %u messages of %u bytes a submit, medians of %u rounds; memcpy() moves "
         "%.1f GB/s\n\n",
         MESSAGES, MESSAGE_BYTES, rounds, copy * 1e-9);
      printf("%-30s %12s %12s %14s %12s %8s\n", "", "messages/s", "MB/s", "of memcpy()",
             "of GPU-AV", "lost");
      for (unsigned way = 0; way < ways; way++) {
         const double rate = median(rates[way], rounds);
         printf("%-30s %12.0f %12.2f %13.3f%%", titles[way], rate, rate * MESSAGE_BYTES * 1e-6,
                rate * MESSAGE_BYTES / copy * 100);
         if (ways == WAY_COUNT && median(rates[WAY_GPU_AV], rounds) > 0)
            printf(" %11.2fx", median(ratios[way], rounds));
         else
            printf(" %12s", "-");
         printf(" %7.1f%%\n", 100.0 * lost[way] / ((double)MESSAGES * rounds));
      }
   }

   char path[512];
   snprintf(path, sizeof(path), "%s/vk_layer_settings.txt", folder);
   unlink(path);
   rmdir(folder);
   return status;
}

int
main(int count, char **arguments)
{
   if (count == 4 && strcmp(arguments[1], "--worker") == 0) {
      for (unsigned way = 0; way < WAY_COUNT; way++) {
         if (strcmp(arguments[2], way_names[way]) == 0)
            return work(way, atoi(arguments[3]));
      }
   }

   const int rounds = count == 3 && strcmp(arguments[1], "--rounds") == 0 ? atoi(arguments[2]) : 7;
   if ((count != 1 && count != 3) || rounds < 1 || rounds > MAX_ROUNDS) {
      fprintf(stderr, "usage: gpuval-bench-printf [--rounds N]\n");
      return 2;
   }
   return run((unsigned)rounds);
}
