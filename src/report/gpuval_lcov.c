/* SPDX-License-Identifier: MIT */

#include "gpuval_lcov.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/gpuval_log.h"
#include "base/gpuval_options.h"
#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/hash_table.h"
#include "util/mesa-blake3.h"
#include "util/ralloc.h"
#include "util/simple_mtx.h"
#include "gpuval_beside.h"
#include "gpuval_paths.h"

/* Texts without a file of their own go below this folder, beside the tracefile. */
#define SOURCES "gpuval-sources"

struct line {
   uint32_t number;
   uint64_t count;
};

struct function {
   uint32_t line;
   const char *name;
   uint64_t count;
};

struct branch {
   uint32_t line, block, number;
   bool reached;
   uint64_t count;
};

struct gpuval_lcov_file {
   char *path;
   /* One each, in no order; index: key -> number + 1 */
   struct util_dynarray lines, functions, branches;
   struct hash_table *index_of_lines, *index_of_functions, *index_of_branches;
};

/** Files by path */
struct trace {
   void *mem_ctx;
   struct hash_table *files; /* path -> struct gpuval_lcov_file */
};

static simple_mtx_t mutex = SIMPLE_MTX_INITIALIZER; /* of all that follows */
static struct trace waiting;
static struct hash_table *known; /* name and hash of the text -> struct gpuval_lcov_file */
static bool has_news, has_failed;

static void
init_trace(struct trace *trace)
{
   trace->mem_ctx = ralloc_context(NULL);
   trace->files =
      _mesa_hash_table_create(trace->mem_ctx, _mesa_hash_string, _mesa_key_string_equal);
}

static struct gpuval_lcov_file *
get_file(struct trace *trace, const char *path)
{
   struct hash_entry *entry = _mesa_hash_table_search(trace->files, path);
   if (entry)
      return entry->data;

   struct gpuval_lcov_file *file = rzalloc(trace->mem_ctx, struct gpuval_lcov_file);
   file->path = ralloc_strdup(file, path);
   util_dynarray_init(&file->lines, file);
   util_dynarray_init(&file->functions, file);
   util_dynarray_init(&file->branches, file);
   file->index_of_lines = _mesa_hash_table_create_u32_keys(file);
   file->index_of_functions =
      _mesa_hash_table_create(file, _mesa_hash_string, _mesa_key_string_equal);
   file->index_of_branches =
      _mesa_hash_table_create(file, _mesa_hash_string, _mesa_key_string_equal);
   _mesa_hash_table_insert(trace->files, file->path, file);
   return file;
}

/* Counts end at what lcov can read. */
static uint64_t
sum(uint64_t a, uint64_t b)
{
   const uint64_t max = INT64_MAX;
   return MIN2(a, max) + MIN2(b, max - MIN2(a, max));
}

static void
add_line(struct gpuval_lcov_file *file, uint32_t number, uint64_t count)
{
   if (!number || number == UINT32_MAX) /* no key of the table, and no line */
      return;

   void *key = (void *)(uintptr_t)number;
   struct hash_entry *entry = _mesa_hash_table_search(file->index_of_lines, key);
   if (entry) {
      struct line *line =
         util_dynarray_element(&file->lines, struct line, (uintptr_t)entry->data - 1);
      line->count = sum(line->count, count);
      return;
   }
   util_dynarray_append_typed(&file->lines, struct line, ((struct line){number, count}));
   _mesa_hash_table_insert(
      file->index_of_lines, key,
      (void *)(uintptr_t)util_dynarray_num_elements(&file->lines, struct line));
}

/* Functions that share a name, as overloads do, are told apart by their lines. */
static void
add_function(struct gpuval_lcov_file *file, uint32_t line, const char *name, uint64_t count)
{
   char *key = ralloc_asprintf(file, "%u %s", line, name);
   struct hash_entry *entry = _mesa_hash_table_search(file->index_of_functions, key);

   if (entry) {
      struct function *function =
         util_dynarray_element(&file->functions, struct function, (uintptr_t)entry->data - 1);
      function->count = sum(function->count, count);
      ralloc_free(key);
      return;
   }
   const struct function function = {line, strchr(key, ' ') + 1, count};
   util_dynarray_append_typed(&file->functions, struct function, function);
   _mesa_hash_table_insert(
      file->index_of_functions, key,
      (void *)(uintptr_t)util_dynarray_num_elements(&file->functions, struct function));
}

static void
add_branch(struct gpuval_lcov_file *file, const struct branch *added)
{
   char *key = ralloc_asprintf(file, "%u,%u,%u", added->line, added->block, added->number);
   struct hash_entry *entry = _mesa_hash_table_search(file->index_of_branches, key);

   if (entry) {
      struct branch *branch =
         util_dynarray_element(&file->branches, struct branch, (uintptr_t)entry->data - 1);
      branch->reached |= added->reached;
      branch->count = sum(branch->count, added->count);
      ralloc_free(key);
      return;
   }
   util_dynarray_append_typed(&file->branches, struct branch, *added);
   _mesa_hash_table_insert(
      file->index_of_branches, key,
      (void *)(uintptr_t)util_dynarray_num_elements(&file->branches, struct branch));
}

/* Reading */

static void
read_number(const char *text, uint64_t *number)
{
   *number = *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : 0;
}

/* FN:line,name or, since lcov 2, FN:line,last line,name */
static void
read_function(struct gpuval_lcov_file *file, const char *text, struct hash_table *lines)
{
   char *end;
   uint64_t line = strtoull(text, &end, 10);

   if (*end != ',')
      return;
   char *name = end + 1;
   strtoull(name, &end, 10);
   if (end > name && *end == ',')
      name = end + 1;
   add_function(file, line, name, 0);
   _mesa_hash_table_insert(lines, ralloc_strdup(lines, name), (void *)(uintptr_t)line);
}

static void
read_record(struct gpuval_lcov_file *file, const char *text, struct hash_table *lines)
{
   struct branch branch;
   uint64_t number, count;
   const char *comma = strchr(text, ',');
   int length = 0;

   if (!strncmp(text, "FN:", 3)) {
      read_function(file, text + 3, lines);
   } else if (!strncmp(text, "FNDA:", 5) && comma) {
      struct hash_entry *line = _mesa_hash_table_search(lines, comma + 1);
      read_number(text + 5, &count);
      if (line)
         add_function(file, (uintptr_t)line->data, comma + 1, count);
   } else if (!strncmp(text, "DA:", 3) && comma) {
      read_number(text + 3, &number);
      read_number(comma + 1, &count);
      add_line(file, MIN2(number, UINT32_MAX), count);
   } else if (sscanf(text, "BRDA:%u,%u,%u,%n", &branch.line, &branch.block, &branch.number,
                     &length) == 3 &&
              length) {
      branch.reached = text[length] != '-';
      read_number(text + length, &branch.count);
      add_branch(file, &branch);
   }
}

static void unmap_names(struct trace *trace);

/* Returns whether the text is a tracefile, or nothing yet, and adds it to @trace. */
static bool
read_trace(FILE *f, struct trace *trace)
{
   struct gpuval_lcov_file *file = NULL;
   struct hash_table *lines = NULL;
   char *text = NULL;
   size_t size = 0;
   bool is_trace = true, is_first = true;

   while (is_trace && getline(&text, &size, f) >= 0) {
      text[strcspn(text, "\r\n")] = 0;
      if (is_first)
         is_trace = !strncmp(text, "TN:", 3) || !strncmp(text, "SF:", 3);
      is_first = false;
      if (!strncmp(text, "SF:", 3)) {
         file = get_file(trace, text + 3);
         lines = _mesa_hash_table_create(file, _mesa_hash_string, _mesa_key_string_equal);
      } else if (!strcmp(text, "end_of_record")) {
         file = NULL;
      } else if (file) {
         read_record(file, text, lines);
      }
   }
   free(text);
   if (is_trace)
      unmap_names(trace);
   return is_trace;
}

/* Writing */

static int
compare_files(const void *a, const void *b)
{
   const struct gpuval_lcov_file *const *x = a, *const *y = b;
   return strcmp((*x)->path, (*y)->path);
}

static int
compare_lines(const void *a, const void *b)
{
   const struct line *x = a, *y = b;
   return x->number < y->number ? -1 : x->number > y->number;
}

static int
compare_functions(const void *a, const void *b)
{
   const struct function *x = a, *y = b;
   if (x->line != y->line)
      return x->line < y->line ? -1 : 1;
   return strcmp(x->name, y->name);
}

static int
compare_branches(const void *a, const void *b)
{
   const struct branch *x = a, *y = b;
   if (x->line != y->line)
      return x->line < y->line ? -1 : 1;
   if (x->block != y->block)
      return x->block < y->block ? -1 : 1;
   return x->number < y->number ? -1 : x->number > y->number;
}

/* lcov knows a function by its name, so a second one of that name gets its line as well. */
static void
write_function_name(FILE *f, const struct gpuval_lcov_file *file, unsigned index)
{
   const struct function *function =
      util_dynarray_element(&file->functions, struct function, index);

   fputs(function->name, f);
   for (unsigned i = 0; i < index; i++) {
      if (!strcmp(util_dynarray_element(&file->functions, struct function, i)->name,
                  function->name)) {
         fprintf(f, "@%u", function->line);
         return;
      }
   }
}

/* ... which is taken away again when the file is read: the name is as it was then. */
static void
unmap_names(struct trace *trace)
{
   hash_table_foreach (trace->files, entry) {
      struct gpuval_lcov_file *file = entry->data;
      util_dynarray_foreach (&file->functions, struct function, function) {
         char suffix[16], *name = (char *)function->name;
         size_t length = strlen(name);
         size_t added = snprintf(suffix, sizeof(suffix), "@%u", function->line);
         if (length <= added || strcmp(name + length - added, suffix))
            continue;
         name[length - added] = 0;
      }
      /* Their keys have changed. */
      struct util_dynarray functions = file->functions;
      util_dynarray_init(&file->functions, file);
      _mesa_hash_table_clear(file->index_of_functions, NULL);
      util_dynarray_foreach (&functions, struct function, function)
         add_function(file, function->line, function->name, function->count);
   }
}

static void
write_functions(FILE *f, const struct gpuval_lcov_file *file)
{
   unsigned count = util_dynarray_num_elements(&file->functions, struct function), hit = 0;

   for (unsigned i = 0; i < count; i++) {
      const struct function *function = util_dynarray_element(&file->functions, struct function, i);
      fprintf(f, "FN:%u,", function->line);
      write_function_name(f, file, i);
      fputc('\n', f);
   }
   for (unsigned i = 0; i < count; i++) {
      const struct function *function = util_dynarray_element(&file->functions, struct function, i);
      fprintf(f, "FNDA:%" PRIu64 ",", function->count);
      write_function_name(f, file, i);
      fputc('\n', f);
      hit += function->count > 0;
   }
   fprintf(f, "FNF:%u\nFNH:%u\n", count, hit);
}

static void
write_branches(FILE *f, const struct gpuval_lcov_file *file)
{
   unsigned count = util_dynarray_num_elements(&file->branches, struct branch), hit = 0;

   util_dynarray_foreach (&file->branches, struct branch, branch) {
      fprintf(f, "BRDA:%u,%u,%u,", branch->line, branch->block, branch->number);
      if (branch->reached)
         fprintf(f, "%" PRIu64 "\n", branch->count);
      else
         fputs("-\n", f);
      hit += branch->count > 0;
   }
   if (count)
      fprintf(f, "BRF:%u\nBRH:%u\n", count, hit);
}

static void
sort(struct util_dynarray *array, size_t size, int (*compare)(const void *, const void *))
{
   if (array->size)
      qsort(util_dynarray_begin(array), array->size / size, size, compare);
}

/* Indices are of no use afterwards. */
static void
write_record(FILE *f, struct gpuval_lcov_file *file)
{
   unsigned hit = 0;

   sort(&file->lines, sizeof(struct line), compare_lines);
   sort(&file->functions, sizeof(struct function), compare_functions);
   sort(&file->branches, sizeof(struct branch), compare_branches);
   fprintf(f, "TN:\nSF:%s\n", file->path);
   write_functions(f, file);
   write_branches(f, file);
   util_dynarray_foreach (&file->lines, struct line, line) {
      fprintf(f, "DA:%u,%" PRIu64 "\n", line->number, line->count);
      hit += line->count > 0;
   }
   unsigned count = util_dynarray_num_elements(&file->lines, struct line);
   fprintf(f, "LF:%u\nLH:%u\nend_of_record\n", count, hit);
}

static void
write_trace(FILE *f, const struct trace *trace)
{
   unsigned count = 0;
   struct gpuval_lcov_file **files =
      ralloc_array(trace->mem_ctx, struct gpuval_lcov_file *, trace->files->entries + 1);

   hash_table_foreach (trace->files, entry)
      files[count++] = entry->data;
   qsort(files, count, sizeof(*files), compare_files);
   for (unsigned i = 0; i < count; i++)
      write_record(f, files[i]);
}

static void
add_waiting(struct trace *trace)
{
   hash_table_foreach (waiting.files, entry) {
      const struct gpuval_lcov_file *from = entry->data;
      struct gpuval_lcov_file *to = get_file(trace, from->path);

      util_dynarray_foreach (&from->lines, struct line, line)
         add_line(to, line->number, line->count);
      util_dynarray_foreach (&from->functions, struct function, function)
         add_function(to, function->line, function->name, function->count);
      util_dynarray_foreach (&from->branches, struct branch, branch)
         add_branch(to, branch);
   }
}

static void
forget_waiting(void)
{
   hash_table_foreach (waiting.files, entry) {
      struct gpuval_lcov_file *file = entry->data;

      util_dynarray_foreach (&file->lines, struct line, line)
         line->count = 0;
      util_dynarray_foreach (&file->functions, struct function, function)
         function->count = 0;
      util_dynarray_foreach (&file->branches, struct branch, branch) {
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
   struct trace trace;
   char *beside;
   const char *wrong = NULL;

   int lock = lock_folder(name);
   FILE *f = fopen(name, "re");
   init_trace(&trace);
   if (f && !read_trace(f, &trace))
      wrong = "it is there, and no LCOV tracefile; it is left as it is";
   else if (!f && errno != ENOENT)
      wrong = strerror(errno);
   if (f)
      fclose(f);

   if (!wrong) {
      add_waiting(&trace);
      f = gpuval_open_beside(name, &beside);
      if (f)
         write_trace(f, &trace);
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
   init_trace(&waiting);
   known = _mesa_hash_table_create(waiting.mem_ctx, _mesa_hash_string, _mesa_key_string_equal);
   FILE *f = fopen(name, "re");
   struct trace trace;
   init_trace(&trace);
   if (f && !read_trace(f, &trace))
      fail("it is there, and no LCOV tracefile; it is left as it is");
   else if (!f && errno != ENOENT)
      fail(strerror(errno));
   ralloc_free(trace.mem_ctx);
   if (f)
      fclose(f);
   if (has_failed)
      return;

   f = gpuval_open_beside(name, &beside);
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
      file = get_file(&waiting, find_path(mem_ctx, name, text, hex));
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
   add_line(file, line, count);
   has_news = true;
   simple_mtx_unlock(&mutex);
}

void
gpuval_lcov_add_function(struct gpuval_lcov_file *file, uint32_t line, const char *name,
                         uint64_t count)
{
   simple_mtx_lock(&mutex);
   add_function(file, line, name, count);
   has_news = true;
   simple_mtx_unlock(&mutex);
}

void
gpuval_lcov_add_branch(struct gpuval_lcov_file *file, uint32_t line, uint32_t block,
                       uint32_t number, bool reached, uint64_t count)
{
   const struct branch branch = {line, block, number, reached, count};

   simple_mtx_lock(&mutex);
   add_branch(file, &branch);
   has_news = true;
   simple_mtx_unlock(&mutex);
}
