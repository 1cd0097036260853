/* SPDX-License-Identifier: MIT */

#include "gpuval_lcov.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/gpuval_log.h"
#include "base/gpuval_options.h"
#include "util/hash_table.h"
#include "util/mesa-blake3.h"
#include "util/ralloc.h"
#include "util/simple_mtx.h"
#include "util/u_dynarray.h"
#include "gpuval_beside.h"
#include "gpuval_paths.h"
#include "gpuval_tracefile.h"

/* Texts without a file of their own go below this folder, beside the tracefile. */
#define SOURCES "gpuval-sources"

static simple_mtx_t mutex = SIMPLE_MTX_INITIALIZER; /* of all that follows */
static struct gpuval_tracefile waiting;
static struct hash_table *known; /* name and hash of the text -> struct gpuval_lcov_file */
static bool has_news, has_failed;

static void
forget_waiting(void)
{
   hash_table_foreach (waiting.files, entry) {
      struct gpuval_lcov_file *file = entry->data;

      util_dynarray_foreach (&file->lines, struct gpuval_line_count, line)
         line->count = 0;
      util_dynarray_foreach (&file->functions, struct gpuval_function_count, function)
         function->count = 0;
      util_dynarray_foreach (&file->branches, struct gpuval_branch_count, branch) {
         branch->count = 0;
         branch->reached = false;
      }
   }
   has_news = false;
}

/* Processes that write at a time do so one after the other: the folder is locked, as the file is
 * another one each time. -1: it cannot be locked, which some file systems cannot.
 */
static int
lock_folder(const char *name)
{
   const char *slash = strrchr(name, '/');
   char *folder = ralloc_strndup(NULL, name, slash ? MAX2(slash - name, 1) : 0);
   int fd = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

   ralloc_free(folder);
   if (fd >= 0)
      flock(fd, LOCK_EX);
   return fd;
}

/* Returns NULL, or what is wrong. */
static const char *
write_file(const char *name)
{
   struct gpuval_tracefile trace;
   char *beside;
   const char *wrong;

   int lock = lock_folder(name);
   gpuval_tracefile_init(&trace);
   wrong = gpuval_tracefile_read_named(&trace, name);
   if (!wrong) {
      gpuval_tracefile_add(&trace, &waiting);
      FILE *f = gpuval_open_beside(name, &beside);
      if (f)
         gpuval_tracefile_write(&trace, f);
      if (!f || !gpuval_close_beside(f, name, beside))
         wrong = strerror(errno);
   }
   ralloc_free(trace.mem_ctx);
   if (lock >= 0)
      close(lock);
   return wrong;
}

static void
fail(const char *why)
{
   gpuval_log_error("GPUVAL_COVERAGE: %s: %s", gpuval_options()->coverage, why);
   has_failed = true;
}

void
gpuval_lcov_write(void)
{
   const char *name = gpuval_options()->coverage;

   if (!name)
      return;
   simple_mtx_lock(&mutex);
   if (has_news && !has_failed) {
      const char *wrong = write_file(name);
      if (wrong)
         fail(wrong);
      else
         forget_waiting();
   }
   simple_mtx_unlock(&mutex);
}

void
gpuval_lcov_init(void)
{
   const char *name = gpuval_options()->coverage;
   char *beside;

   if (!name)
      return;
   gpuval_tracefile_init(&waiting);
   known = _mesa_hash_table_create(waiting.mem_ctx, _mesa_hash_string, _mesa_key_string_equal);
   struct gpuval_tracefile trace;
   gpuval_tracefile_init(&trace);
   const char *wrong = gpuval_tracefile_read_named(&trace, name);
   ralloc_free(trace.mem_ctx);
   if (wrong)
      fail(wrong);
   if (has_failed)
      return;

   FILE *f = gpuval_open_beside(name, &beside);
   if (!f) {
      fail(strerror(errno));
      return;
   }
   fclose(f);
   unlink(beside);
   ralloc_free(beside);
}

void
gpuval_lcov_begin_process(void)
{
   simple_mtx_init(&mutex, mtx_plain); /* a thread of the parent's may have held it */
   if (waiting.files)
      forget_waiting();
}

/* Sources */

static char *
read_whole(const char *path)
{
   struct stat status;
   FILE *f = fopen(path, "re");
   char *text = NULL;

   if (f && !fstat(fileno(f), &status) && S_ISREG(status.st_mode)) {
      text = ralloc_size(NULL, status.st_size + 1);
      size_t size = text ? fread(text, 1, status.st_size, f) : 0;
      if (text)
         text[size] = 0;
   }
   if (f)
      fclose(f);
   return text;
}

/* Are the lines of @text, as far as they are there, those of @file? White space at their ends does
 * not count, nor do lines that only @file has: compilers leave out some.
 */
static bool
has_lines_of(const char *text, const char *file)
{
   while (*text) {
      size_t length = strcspn(text, "\n"), file_length = strcspn(file, "\n");
      size_t end = length, file_end = file_length;

      while (end && strchr(" \t\r", text[end - 1]))
         end--;
      while (file_end && strchr(" \t\r", file[file_end - 1]))
         file_end--;
      if (end && (end != file_end || memcmp(text, file, end)))
         return false;
      text += length + (text[length] == '\n');
      file += file_length + (file[file_length] == '\n');
   }
   return true;
}

static bool
make_folders(char *path)
{
   for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
      *slash = 0;
      bool made = !mkdir(path, 0777) || errno == EEXIST;
      *slash = '/';
      if (!made)
         return false;
   }
   return true;
}

/* Returns whether @path has @text now, or had it. */
static bool
write_source(char *path, const char *text)
{
   char *there = read_whole(path), *beside;
   bool has_it = there && !strcmp(there, text);
   bool is_other = there && !has_it;

   ralloc_free(there);
   if (has_it || is_other || !make_folders(path))
      return has_it;
   FILE *f = gpuval_open_beside(path, &beside);
   if (!f)
      return false;
   fputs(text, f);
   return gpuval_close_beside(f, path, beside);
}

/* A name that leads nowhere else */
static char *
make_harmless(void *mem_ctx, const char *name)
{
   char *copy = ralloc_strdup(mem_ctx, "");

   while (*name) {
      size_t length = strcspn(name, "/\\");
      bool is_dots =
         !length || (length == 1 && name[0] == '.') || (length == 2 && !strncmp(name, "..", 2));

      if (!is_dots) {
         ralloc_strcat(&copy, *copy ? "/" : "");
         ralloc_strncat(&copy, name, length);
      }
      name += length + (name[length] != 0);
   }
   for (char *c = copy; *c; c++) {
      if ((unsigned char)*c < ' ' || *c == ':')
         *c = '_';
   }
   return *copy ? copy : ralloc_strdup(mem_ctx, "source");
}

/* Two texts of one name are two files. */
static char *
keep_source(void *mem_ctx, const char *name, const char *text, const char *hash)
{
   const char *file = gpuval_options()->coverage, *slash = strrchr(file, '/');
   char *harmless = make_harmless(mem_ctx, name);
   char *folder =
      ralloc_asprintf(mem_ctx, "%.*s" SOURCES, slash ? (int)(slash - file + 1) : 0, file);
   char *path = ralloc_asprintf(mem_ctx, "%s/%s", folder, harmless);

   if (write_source(path, text))
      return path;
   path = ralloc_asprintf(mem_ctx, "%s/%s/%s", folder, hash, harmless);
   return write_source(path, text) ? path : NULL;
}

/* The path of a source as tools find it. */
static char *
find_path(void *mem_ctx, const char *name, const char *text, const char *hash)
{
   char real[PATH_MAX], *found = NULL;

   /* --source-map names a file where it is. */
   char *mapped = gpuval_paths_map(mem_ctx, name);
   char *there = realpath(mapped, real) ? read_whole(real) : NULL;
   if (there && (!text || has_lines_of(text, there)))
      found = ralloc_strdup(mem_ctx, real);
   else if (text)
      found = keep_source(mem_ctx, name, text, hash);
   ralloc_free(there);
   if (found)
      return found;

   gpuval_log_warning("coverage: the source %s is not there: genhtml takes the tracefile with "
                      "--ignore-errors source, or give --source-map",
                      name);
   return mapped;
}

struct gpuval_lcov_file *
gpuval_lcov_get_file(const char *name, const char *text, const char *stand_in)
{
   blake3_hash hash;
   char hex[BLAKE3_HEX_LEN];

   if (!name || !*name)
      name = stand_in;
   _mesa_blake3_compute(text ? text : "", text ? strlen(text) : 0, hash);
   _mesa_blake3_format(hex, hash);
   hex[16] = 0;

   simple_mtx_lock(&mutex);
   char *key = ralloc_asprintf(waiting.mem_ctx, "%s%s", hex, name);
   struct hash_entry *entry = _mesa_hash_table_search(known, key);
   struct gpuval_lcov_file *file = entry ? entry->data : NULL;
   if (entry) {
      ralloc_free(key);
   } else {
      void *mem_ctx = ralloc_context(NULL);
      file = gpuval_tracefile_get_file(&waiting, find_path(mem_ctx, name, text, hex));
      ralloc_free(mem_ctx);
      _mesa_hash_table_insert(known, key, file);
   }
   simple_mtx_unlock(&mutex);
   return file;
}

void
gpuval_lcov_add_line(struct gpuval_lcov_file *file, uint32_t line, uint64_t count)
{
   simple_mtx_lock(&mutex);
   gpuval_tracefile_add_line(file, line, count);
   has_news = true;
   simple_mtx_unlock(&mutex);
}

void
gpuval_lcov_add_function(struct gpuval_lcov_file *file, uint32_t line, const char *name,
                         uint64_t count)
{
   simple_mtx_lock(&mutex);
   gpuval_tracefile_add_function(file, line, name, count);
   has_news = true;
   simple_mtx_unlock(&mutex);
}

void
gpuval_lcov_add_branch(struct gpuval_lcov_file *file, uint32_t line, uint32_t block,
                       uint32_t number, bool reached, uint64_t count)
{
   const struct gpuval_branch_count branch = {line, block, number, reached, count};

   simple_mtx_lock(&mutex);
   gpuval_tracefile_add_branch(file, &branch);
   has_news = true;
   simple_mtx_unlock(&mutex);
}
