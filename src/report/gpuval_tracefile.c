/* SPDX-License-Identifier: MIT */

#include "gpuval_tracefile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash_table.h"
#include "util/ralloc.h"

void
gpuval_tracefile_init(struct gpuval_tracefile *trace)
{
   trace->mem_ctx = ralloc_context(NULL);
   trace->files =
      _mesa_hash_table_create(trace->mem_ctx, _mesa_hash_string, _mesa_key_string_equal);
}

struct gpuval_lcov_file *
gpuval_tracefile_get_file(struct gpuval_tracefile *trace, const char *path)
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

void
gpuval_tracefile_add_line(struct gpuval_lcov_file *file, uint32_t number, uint64_t count)
{
   if (!number || number == UINT32_MAX) /* no key of the table, and no line */
      return;

   void *key = (void *)(uintptr_t)number;
   struct hash_entry *entry = _mesa_hash_table_search(file->index_of_lines, key);
   if (entry) {
      struct gpuval_line_count *line =
         util_dynarray_element(&file->lines, struct gpuval_line_count, (uintptr_t)entry->data - 1);
      line->count = sum(line->count, count);
      return;
   }
   util_dynarray_append_typed(&file->lines, struct gpuval_line_count,
                              ((struct gpuval_line_count){number, count}));
   _mesa_hash_table_insert(
      file->index_of_lines, key,
      (void *)(uintptr_t)util_dynarray_num_elements(&file->lines, struct gpuval_line_count));
}

/* Functions that share a name, as overloads do, are told apart by their lines. */
void
gpuval_tracefile_add_function(struct gpuval_lcov_file *file, uint32_t line, const char *name,
                              uint64_t count)
{
   char *key = ralloc_asprintf(file, "%u %s", line, name);
   struct hash_entry *entry = _mesa_hash_table_search(file->index_of_functions, key);

   if (entry) {
      struct gpuval_function_count *function = util_dynarray_element(
         &file->functions, struct gpuval_function_count, (uintptr_t)entry->data - 1);
      function->count = sum(function->count, count);
      ralloc_free(key);
      return;
   }
   const struct gpuval_function_count function = {line, strchr(key, ' ') + 1, count};
   util_dynarray_append_typed(&file->functions, struct gpuval_function_count, function);
   _mesa_hash_table_insert(file->index_of_functions, key,
                           (void *)(uintptr_t)util_dynarray_num_elements(
                              &file->functions, struct gpuval_function_count));
}

void
gpuval_tracefile_add_branch(struct gpuval_lcov_file *file, const struct gpuval_branch_count *added)
{
   char *key = ralloc_asprintf(file, "%u,%u,%u", added->line, added->block, added->number);
   struct hash_entry *entry = _mesa_hash_table_search(file->index_of_branches, key);

   if (entry) {
      struct gpuval_branch_count *branch = util_dynarray_element(
         &file->branches, struct gpuval_branch_count, (uintptr_t)entry->data - 1);
      branch->reached |= added->reached;
      branch->count = sum(branch->count, added->count);
      ralloc_free(key);
      return;
   }
   util_dynarray_append_typed(&file->branches, struct gpuval_branch_count, *added);
   _mesa_hash_table_insert(
      file->index_of_branches, key,
      (void *)(uintptr_t)util_dynarray_num_elements(&file->branches, struct gpuval_branch_count));
}

void
gpuval_tracefile_add(struct gpuval_tracefile *trace, const struct gpuval_tracefile *from)
{
   hash_table_foreach (from->files, entry) {
      const struct gpuval_lcov_file *file = entry->data;
      struct gpuval_lcov_file *to = gpuval_tracefile_get_file(trace, file->path);

      util_dynarray_foreach (&file->lines, struct gpuval_line_count, line)
         gpuval_tracefile_add_line(to, line->number, line->count);
      util_dynarray_foreach (&file->functions, struct gpuval_function_count, function)
         gpuval_tracefile_add_function(to, function->line, function->name, function->count);
      util_dynarray_foreach (&file->branches, struct gpuval_branch_count, branch)
         gpuval_tracefile_add_branch(to, branch);
   }
}

/* Reading */

/* Where the functions of the record that is read begin */
struct functions {
   struct hash_table *by_name;
   struct hash_table *by_index; /* FNL, FNA */
};

static uint64_t
read_count(const char *text)
{
   return *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : 0;
}

/* FN:line,name or, since lcov 2.0, FN:line,last line,name */
static void
read_function(struct gpuval_lcov_file *file, const char *text, struct functions *functions)
{
   char *end;
   uint64_t line = strtoull(text, &end, 10);

   if (*end != ',')
      return;
   char *name = end + 1;
   strtoull(name, &end, 10);
   if (end > name && *end == ',')
      name = end + 1;
   gpuval_tracefile_add_function(file, line, name, 0);
   _mesa_hash_table_insert(functions->by_name, ralloc_strdup(functions->by_name, name),
                           (void *)(uintptr_t)line);
}

/* FNL:index,line[,last line] and FNA:index,count,name, since lcov 2.2 */
static void
read_indexed_function(struct gpuval_lcov_file *file, bool is_line, const char *text,
                      struct functions *functions)
{
   char *end;
   void *key = (void *)((uintptr_t)strtoul(text, &end, 10) + 1);

   if (*end != ',')
      return;
   if (is_line) {
      _mesa_hash_table_insert(functions->by_index, key, (void *)(uintptr_t)read_count(end + 1));
      return;
   }
   struct hash_entry *line = _mesa_hash_table_search(functions->by_index, key);
   const char *name = strchr(end + 1, ',');
   if (line && name)
      gpuval_tracefile_add_function(file, (uintptr_t)line->data, name + 1, read_count(end + 1));
}

/* BRDA:line,[e]block,number,count. Since lcov 2 the number may be any text: that is no branch of
 * ours, and is left out.
 */
static void
read_branch(struct gpuval_lcov_file *file, const char *text)
{
   struct gpuval_branch_count branch;
   int length = 0;

   if (sscanf(text, "%u,%u,%u,%n", &branch.line, &branch.block, &branch.number, &length) != 3 ||
       !length)
      return;
   branch.reached = text[length] != '-';
   branch.count = read_count(text + length);
   gpuval_tracefile_add_branch(file, &branch);
}

static void
read_record(struct gpuval_lcov_file *file, const char *text, struct functions *functions)
{
   const char *comma = strchr(text, ',');

   if (!comma)
      return;
   if (!strncmp(text, "FN:", 3)) {
      read_function(file, text + 3, functions);
   } else if (!strncmp(text, "FNL:", 4) || !strncmp(text, "FNA:", 4)) {
      read_indexed_function(file, text[2] == 'L', text + 4, functions);
   } else if (!strncmp(text, "FNDA:", 5)) {
      struct hash_entry *line = _mesa_hash_table_search(functions->by_name, comma + 1);
      if (line)
         gpuval_tracefile_add_function(file, (uintptr_t)line->data, comma + 1,
                                       read_count(text + 5));
   } else if (!strncmp(text, "DA:", 3)) {
      gpuval_tracefile_add_line(file, MIN2(read_count(text + 3), UINT32_MAX),
                                read_count(comma + 1));
   } else if (!strncmp(text, "BRDA:", 5)) {
      read_branch(file, text + 5);
   }
}

static void
begin_record(struct functions *functions, void *mem_ctx)
{
   functions->by_name = _mesa_hash_table_create(mem_ctx, _mesa_hash_string, _mesa_key_string_equal);
   functions->by_index = _mesa_hash_table_create_u32_keys(mem_ctx);
}

/* lcov 2 */
static bool
is_comment(const char *text)
{
   return text[0] == '#';
}

static void unmap_names(struct gpuval_tracefile *trace);

bool
gpuval_tracefile_read(struct gpuval_tracefile *trace, FILE *f)
{
   struct gpuval_lcov_file *file = NULL;
   struct functions functions = {0};
   char *text = NULL;
   size_t size = 0;
   bool is_trace = true, is_first = true;

   while (is_trace && getline(&text, &size, f) >= 0) {
      text[strcspn(text, "\r\n")] = 0;
      if (is_first)
         is_trace = is_comment(text) || !strncmp(text, "TN:", 3) || !strncmp(text, "SF:", 3);
      is_first = is_first && is_comment(text);
      if (!strncmp(text, "SF:", 3)) {
         file = gpuval_tracefile_get_file(trace, text + 3);
         begin_record(&functions, file);
      } else if (!strcmp(text, "end_of_record")) {
         file = NULL;
      } else if (file) {
         read_record(file, text, &functions);
      }
   }
   if (is_first && text && *text) /* comments alone: a script or so */
      is_trace = false;
   free(text);
   if (is_trace)
      unmap_names(trace);
   return is_trace;
}

const char *
gpuval_tracefile_read_named(struct gpuval_tracefile *trace, const char *name)
{
   FILE *f = fopen(name, "re");
   const char *wrong = NULL;

   if (!f)
      return errno == ENOENT ? NULL : strerror(errno);
   if (!gpuval_tracefile_read(trace, f))
      wrong = "it is there, and no LCOV tracefile; it is left as it is";
   fclose(f);
   return wrong;
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
   const struct gpuval_line_count *x = a, *y = b;
   return x->number < y->number ? -1 : x->number > y->number;
}

static int
compare_functions(const void *a, const void *b)
{
   const struct gpuval_function_count *x = a, *y = b;
   if (x->line != y->line)
      return x->line < y->line ? -1 : 1;
   return strcmp(x->name, y->name);
}

static int
compare_branches(const void *a, const void *b)
{
   const struct gpuval_branch_count *x = a, *y = b;
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
   const struct gpuval_function_count *function =
      util_dynarray_element(&file->functions, struct gpuval_function_count, index);

   fputs(function->name, f);
   for (unsigned i = 0; i < index; i++) {
      if (!strcmp(util_dynarray_element(&file->functions, struct gpuval_function_count, i)->name,
                  function->name)) {
         fprintf(f, "@%u", function->line);
         return;
      }
   }
}

/* ... which is taken away again when the file is read: the name is as it was then. */
static void
unmap_names(struct gpuval_tracefile *trace)
{
   hash_table_foreach (trace->files, entry) {
      struct gpuval_lcov_file *file = entry->data;
      util_dynarray_foreach (&file->functions, struct gpuval_function_count, function) {
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
      util_dynarray_foreach (&functions, struct gpuval_function_count, function)
         gpuval_tracefile_add_function(file, function->line, function->name, function->count);
   }
}

static void
write_functions(FILE *f, const struct gpuval_lcov_file *file)
{
   unsigned count = util_dynarray_num_elements(&file->functions, struct gpuval_function_count),
            hit = 0;

   for (unsigned i = 0; i < count; i++) {
      const struct gpuval_function_count *function =
         util_dynarray_element(&file->functions, struct gpuval_function_count, i);
      fprintf(f, "FN:%u,", function->line);
      write_function_name(f, file, i);
      fputc('\n', f);
   }
   for (unsigned i = 0; i < count; i++) {
      const struct gpuval_function_count *function =
         util_dynarray_element(&file->functions, struct gpuval_function_count, i);
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
   unsigned count = util_dynarray_num_elements(&file->branches, struct gpuval_branch_count),
            hit = 0;

   util_dynarray_foreach (&file->branches, struct gpuval_branch_count, branch) {
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

static void
sort_file(struct gpuval_lcov_file *file)
{
   sort(&file->lines, sizeof(struct gpuval_line_count), compare_lines);
   sort(&file->functions, sizeof(struct gpuval_function_count), compare_functions);
   sort(&file->branches, sizeof(struct gpuval_branch_count), compare_branches);
}

static void
write_record(FILE *f, const struct gpuval_lcov_file *file)
{
   unsigned hit = 0;

   fprintf(f, "TN:\nSF:%s\n", file->path);
   write_functions(f, file);
   write_branches(f, file);
   util_dynarray_foreach (&file->lines, struct gpuval_line_count, line) {
      fprintf(f, "DA:%u,%" PRIu64 "\n", line->number, line->count);
      hit += line->count > 0;
   }
   unsigned count = util_dynarray_num_elements(&file->lines, struct gpuval_line_count);
   fprintf(f, "LF:%u\nLH:%u\nend_of_record\n", count, hit);
}

struct gpuval_lcov_file **
gpuval_tracefile_sort(const struct gpuval_tracefile *trace, unsigned *count)
{
   struct gpuval_lcov_file **files =
      ralloc_array(trace->mem_ctx, struct gpuval_lcov_file *, trace->files->entries + 1);

   *count = 0;
   hash_table_foreach (trace->files, entry) {
      sort_file(entry->data);
      files[(*count)++] = entry->data;
   }
   qsort(files, *count, sizeof(*files), compare_files);
   return files;
}

void
gpuval_tracefile_write(const struct gpuval_tracefile *trace, FILE *f)
{
   unsigned count;
   struct gpuval_lcov_file **files = gpuval_tracefile_sort(trace, &count);

   for (unsigned i = 0; i < count; i++)
      write_record(f, files[i]);
}
