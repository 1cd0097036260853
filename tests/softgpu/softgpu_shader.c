/* SPDX-License-Identifier: MIT */

/* Shaders as RADV hands them over when it compiles them. */

#include "softgpu_wave.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "util/blob.h"
#include "util/disk_cache.h"
#include "util/list.h"
#include "util/mesa-sha1.h"
#include "util/os_file.h"
#include "util/simple_mtx.h"
#include "util/u_debug.h"
#define XXH_INLINE_ALL
#include "util/xxhash.h"
#include "nir_serialize.h"

#include "gpuval/src/compat/gpuval_mesa.h"
#include "gpuval/src/radv_glue/gpuval_radv_softgpu.h"

static struct {
   simple_mtx_t lock;
   struct list_head shaders; /* of struct softgpu_shader; the newest is first */
   bool initialized;
   char *folder; /* or NULL */
} registry = {.lock = SIMPLE_MTX_INITIALIZER};

static struct softgpu_shader *add_shader(const struct gpuval_softgpu_shader *info);

/* --- Control flow --------------------------------------------------------- */

struct flattening {
   struct softgpu_shader *shader;
   struct softgpu_step *steps; /* NULL: they are counted only */
   unsigned count;
   unsigned frame; /* of the next `if` or loop */
   unsigned max_frame;
   unsigned loop_frame;
};

static void
add_step(struct flattening *f, struct softgpu_step step)
{
   if (f->steps)
      f->steps[f->count] = step;
   f->count++;
}

static void
flatten(struct flattening *f, struct exec_list *list)
{
   foreach_list_typed (nir_cf_node, node, node, list) {
      const unsigned frame = f->frame;
      switch (node->type) {
      case nir_cf_node_block:
         add_step(f, (struct softgpu_step){.type = SOFTGPU_BLOCK,
                                           .block = nir_cf_node_as_block(node),
                                           .frame = f->loop_frame});
         continue;
      case nir_cf_node_if: {
         nir_if *nif = nir_cf_node_as_if(node);
         f->frame++;
         add_step(f, (struct softgpu_step){
                        .type = SOFTGPU_IF,
                        .block = nir_cf_node_as_block(nir_cf_node_prev(node)),
                        .nif = nif,
                        .frame = frame,
                     });
         flatten(f, &nif->then_list);
         add_step(f, (struct softgpu_step){.type = SOFTGPU_ELSE, .frame = frame});
         flatten(f, &nif->else_list);
         add_step(f, (struct softgpu_step){.type = SOFTGPU_END_IF, .frame = frame});
         break;
      }
      case nir_cf_node_loop: {
         nir_loop *loop = nir_cf_node_as_loop(node);
         const unsigned outer = f->loop_frame;
         f->frame++;
         f->loop_frame = frame;
         add_step(f, (struct softgpu_step){.type = SOFTGPU_LOOP, .frame = frame});
         const unsigned target = f->count;
         flatten(f, &loop->body);
         add_step(
            f, (struct softgpu_step){.type = SOFTGPU_END_LOOP, .frame = frame, .target = target});
         f->loop_frame = outer;
         break;
      }
      default:
         UNREACHABLE("functions are inlined");
      }
      f->max_frame = MAX2(f->max_frame, f->frame);
      f->frame = frame;
   }
}

/* ACO flushes 32-bit denormals unless the shader says otherwise. */
static unsigned
float_controls(const nir_shader *nir)
{
   unsigned mode = nir->info.float_controls_execution_mode;
   if (!(mode & FLOAT_CONTROLS_DENORM_PRESERVE_FP32))
      mode |= FLOAT_CONTROLS_DENORM_FLUSH_TO_ZERO_FP32;
   return mode;
}

static void
prepare(struct softgpu_shader *shader)
{
   struct flattening count = {.shader = shader};

   shader->impl = nir_shader_get_entrypoint(shader->nir);
   shader->float_controls = float_controls(shader->nir);
   flatten(&count, &shader->impl->body);

   struct flattening fill = {
      .shader = shader,
      .steps = rzalloc_array(shader->nir, struct softgpu_step, count.count),
   };
   flatten(&fill, &shader->impl->body);
   shader->steps = fill.steps;
   shader->step_count = fill.count;
   shader->frame_count = fill.max_frame;

   nir_index_ssa_defs(shader->impl);
   shader->first_value = rzalloc_array(shader->nir, uint32_t, shader->impl->ssa_alloc);
   nir_foreach_block (block, shader->impl) {
      nir_foreach_instr (instr, block) {
         nir_def *def = nir_instr_def(instr);
         if (!def)
            continue;
         shader->first_value[def->index] = shader->value_count;
         shader->value_count += def->num_components;
      }
   }
}

/* --- Files ---------------------------------------------------------------- */

/* "softgpu-" and what tells this build from others. Returns false if nothing does. */
static bool
name_build(char name[static 64])
{
   struct mesa_sha1 context;
   uint8_t sha1[SHA1_DIGEST_LENGTH];
   char hex[SHA1_DIGEST_STRING_LENGTH];

   _mesa_sha1_init(&context);
   if (!disk_cache_get_function_identifier(name_build, &context))
      return false;
   _mesa_sha1_final(&context, sha1);
   _mesa_sha1_format(hex, sha1);
   snprintf(name, 64, "softgpu-%s", hex);
   return true;
}

static char *
make_folder(const char *parent, const char *name)
{
   char *path = ralloc_asprintf(NULL, "%s/%s", parent, name);

   (void)mkdir(parent, 0777);
   (void)mkdir(path, 0777);
   return path;
}

/* A build finds nothing in the caches of others: RADV would find there what this one has not. */
static void __attribute__((constructor)) set_cache(void)
{
   const char *cache = getenv("MESA_SHADER_CACHE_DIR");
   char name[64];

   if (!cache || !name_build(name) || strstr(cache, name))
      return;
   char *path = make_folder(cache, name);
   setenv("MESA_SHADER_CACHE_DIR", path, 1);
   ralloc_free(path);
}

/* RADV's shader cache lets a process use what another one has compiled. What the
 * other one has handed over is beside it, in a folder for this build.
 */
static void
find_folder(void)
{
   const char *cache = getenv("MESA_SHADER_CACHE_DIR");
   char name[64];

   if (!cache || debug_get_bool_option("MESA_SHADER_CACHE_DISABLE", false) || !name_build(name))
      return;
   registry.folder = make_folder(cache, name);
}

static void
write_file(const struct softgpu_shader *shader, const struct gpuval_softgpu_shader *info)
{
   if (!registry.folder)
      return;
   char *name = ralloc_asprintf(NULL, "%s/%s", registry.folder, shader->name);
   char *unfinished = ralloc_asprintf(name, "%s.%d", name, (int)getpid());
   FILE *file = fopen(unfinished, "wb");
   struct blob blob;

   blob_init(&blob);
   blob_write_uint32(&blob, info->address32_hi);
   blob_write_uint32(&blob, info->vertex_inputs);
   blob_write_uint32(&blob, info->next_stage);
   blob_write_bytes(&blob, info->args, sizeof(*info->args));
   blob_write_uint32(&blob, (uint32_t)info->code_size);
   blob_write_bytes(&blob, info->code, info->code_size);
   blob_write_uint32(&blob, (uint32_t)info->nir_size);
   blob_write_bytes(&blob, info->nir, info->nir_size);
   if (file) {
      const bool complete = !blob.out_of_memory && fwrite(blob.data, blob.size, 1, file) == 1;
      if (fclose(file) != 0 || !complete || rename(unfinished, name) != 0)
         (void)unlink(unfinished);
   }
   blob_finish(&blob);
   ralloc_free(name);
}

static void
read_file(const char *name)
{
   char *path = ralloc_asprintf(NULL, "%s/%s", registry.folder, name);
   size_t size;
   char *data = os_read_file(path, &size);
   struct blob_reader reader;

   ralloc_free(path);
   if (!data)
      return;
   blob_reader_init(&reader, data, size);
   struct gpuval_softgpu_shader info = {.address32_hi = blob_read_uint32(&reader)};
   info.vertex_inputs = blob_read_uint32(&reader);
   info.next_stage = blob_read_uint32(&reader);
   info.args = blob_read_bytes(&reader, sizeof(*info.args));
   info.code_size = blob_read_uint32(&reader);
   info.code = blob_read_bytes(&reader, info.code_size);
   info.nir_size = blob_read_uint32(&reader);
   info.nir = blob_read_bytes(&reader, info.nir_size);
   if (!reader.overrun)
      add_shader(&info);
   free(data);
}

/* --- Registry ------------------------------------------------------------- */

/* Who looks for a shader knows where its code begins, but not its size. */
static void
name_shader(char name[SOFTGPU_NAME_LEN], const void *code, uint32_t size)
{
   snprintf(name, SOFTGPU_NAME_LEN, "%08" PRIx32 "-%016" PRIx64, size, XXH64(code, size, 0));
}

static struct softgpu_shader *
find_by_name(const char *name)
{
   list_for_each_entry (struct softgpu_shader, shader, &registry.shaders, link) {
      if (strcmp(shader->name, name) == 0)
         return shader;
   }
   return NULL;
}

static const nir_shader_compiler_options options = {0};

static struct softgpu_shader *
create_shader(const struct gpuval_softgpu_shader *info, struct blob_reader *reader)
{
   struct softgpu_shader *shader = rzalloc(NULL, struct softgpu_shader);

   shader->nir = nir_deserialize(shader, &options, reader);
   shader->args = *info->args;
   shader->address32_hi = info->address32_hi;
   shader->vertex_inputs = info->vertex_inputs;
   shader->next_stage = info->next_stage;
   prepare(shader);
   return shader;
}

/* Where a shader of ray tracing goes on behind what it calls */
static void
add_resumes(struct softgpu_shader *shader, unsigned count, struct blob_reader *reader)
{
   shader->resume_count = count;
   shader->resumes = rzalloc_array(shader, struct softgpu_shader, MAX2(count, 1));
   for (unsigned i = 0; i < count; i++) {
      struct softgpu_shader *resume = &shader->resumes[i];
      *resume = *shader;
      resume->nir = nir_deserialize(shader, &options, reader);
      resume->value_count = 0;
      prepare(resume);
   }
}

/* Returns NULL when it was there already. */
static struct softgpu_shader *
add_shader(const struct gpuval_softgpu_shader *info)
{
   char name[SOFTGPU_NAME_LEN];

   name_shader(name, info->code, (uint32_t)info->code_size);
   if (find_by_name(name))
      return NULL;

   struct blob_reader reader;
   blob_reader_init(&reader, info->nir, info->nir_size);
   const uint32_t count = blob_read_uint32(&reader);
   struct softgpu_shader *shader = create_shader(info, &reader);
   if (mesa_shader_stage_is_rt(shader->nir->info.stage))
      add_resumes(shader, count - 1, &reader);
   else if (count > 1)
      shader->second = create_shader(info, &reader);
   strcpy(shader->name, name);
   shader->code = ralloc_memdup(shader, info->code, info->code_size);
   shader->code_size = info->code_size;
   list_add(&shader->link, &registry.shaders);
   return shader;
}

static void
initialize(void)
{
   if (registry.initialized)
      return;
   glsl_type_singleton_init_or_ref();
   list_inithead(&registry.shaders);
   find_folder();
   registry.initialized = true;
}

PUBLIC void gpuval_softgpu_add_shader(const struct gpuval_softgpu_shader *info);

/* GPUVAL_SOFTGPU_ADD_SHADER */
void
gpuval_softgpu_add_shader(const struct gpuval_softgpu_shader *info)
{
   simple_mtx_lock(&registry.lock);
   initialize();
   const struct softgpu_shader *shader = add_shader(info);
   if (shader)
      write_file(shader, info);
   simple_mtx_unlock(&registry.lock);
}

PUBLIC void gpuval_softgpu_add_copy(const struct gpuval_softgpu_copy *copy);

/* GPUVAL_SOFTGPU_ADD_COPY. What another process has compiled is read here, since who finds a copy
 * can't know of what.
 */
void
gpuval_softgpu_add_copy(const struct gpuval_softgpu_copy *copy)
{
   char name[SOFTGPU_NAME_LEN];

   simple_mtx_lock(&registry.lock);
   initialize();
   name_shader(name, copy->code, (uint32_t)copy->code_size);
   if (!find_by_name(name) && registry.folder)
      read_file(name);
   const struct softgpu_shader *original = find_by_name(name);

   name_shader(name, copy->relocated, (uint32_t)copy->code_size);
   if (original && !find_by_name(name)) {
      struct softgpu_shader *shader = ralloc_memdup(NULL, original, sizeof(*original));
      strcpy(shader->name, name);
      shader->code = ralloc_memdup(shader, copy->relocated, copy->code_size);
      shader->entry_base = copy->entry_bases[shader->nir->info.stage];
      if (original->second) {
         struct softgpu_shader *second = ralloc_memdup(shader, original->second, sizeof(*second));
         second->entry_base = copy->entry_bases[second->nir->info.stage];
         shader->second = second;
      }
      list_add(&shader->link, &registry.shaders);
   }
   simple_mtx_unlock(&registry.lock);
}

static const struct softgpu_shader *
find_by_code(uint64_t va)
{
   const struct softgpu_shader *best = NULL;

   list_for_each_entry (struct softgpu_shader, shader, &registry.shaders, link) {
      /* Code may begin as another shader's does. */
      if (best && best->code_size >= shader->code_size)
         continue;
      const void *code = softgpu_find(va, shader->code_size);
      if (code && memcmp(code, shader->code, shader->code_size) == 0)
         best = shader;
   }
   return best;
}

/* That of another process. */
static void
read_folder(uint64_t va)
{
   DIR *folder = registry.folder ? opendir(registry.folder) : NULL;
   const struct dirent *entry;

   while (folder && (entry = readdir(folder))) {
      char name[SOFTGPU_NAME_LEN];
      if (strlen(entry->d_name) + 1 != sizeof(name) || find_by_name(entry->d_name))
         continue;
      const uint32_t size = (uint32_t)strtoul(entry->d_name, NULL, 16);
      const void *code = softgpu_find(va, size);
      if (!code)
         continue;
      name_shader(name, code, size);
      if (strcmp(name, entry->d_name) == 0)
         read_file(name);
   }
   if (folder)
      closedir(folder);
}

const struct softgpu_shader *
softgpu_find_shader(uint64_t va, bool needed)
{
   simple_mtx_lock(&registry.lock);
   initialize();
   const struct softgpu_shader *shader = find_by_code(va);
   if (!shader) {
      read_folder(va);
      shader = find_by_code(va);
   }
   simple_mtx_unlock(&registry.lock);
   if (!shader && needed)
      softgpu_error("the shader at address 0x%" PRIx64 " is not known; out of a shader cache "
                    "that another build has written, or one without MESA_SHADER_CACHE_DIR?",
                    va);
   return shader;
}
