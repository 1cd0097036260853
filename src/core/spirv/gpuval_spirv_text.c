/* SPDX-License-Identifier: MIT */

/* Source texts: which line of them has the number that debug information gives.
 *
 * Texts are split when the first line is asked for. `#line` directives cut them into
 * segments, which may be of other files, and number their lines anew; a module may
 * have very many. So segments are sorted by file and number once, and a look-up
 * finds those that a number is in by binary search.
 */

#include "gpuval_spirv_private.h"

#include <stdlib.h>

#include "util/macros.h"
#include "util/ralloc.h"

/* Lines that have one number in one file. A `#line 1` in each macro makes some; what
 * has more does not tell lines apart.
 */
#define MAX_CANDIDATES 256

#define EXTRACT_LINES     3   /* above and below */
#define MAX_EXTRACT_WIDTH 400 /* bytes of each; what a preprocessor has made may be long */

/* Consecutive lines of a text that are numbered without a gap. */
struct segment {
   const char *file; /* NULL: the source's own */
   uint32_t number;  /* of the first line; 0: not known */
   uint32_t count;
   uint32_t source; /* index in gpuval_spirv::sources */
   uint32_t first;  /* index in source::lines */
   uint64_t reach;  /* see struct group */
};

/* Segments of one file, or of one source that has no file. They are sorted and form
 * a tree: the root of a range of them is the one in the middle, and `reach` is
 * behind the highest number of all that are below it.
 */
struct group {
   struct util_dynarray segments; /* struct segment */
};

struct gpuval_spirv_text {
   size_t size;               /* bytes of all texts */
   struct hash_table *files;  /* const char * -> struct group */
   struct hash_table *others; /* nameless_key(source::id) -> struct group */
};

/* A line of a text that may be the one at a position. */
struct candidate {
   uint32_t source, index; /* gpuval_spirv::sources, source::lines */
   uint32_t number;        /* of its segment */
   unsigned rank;          /* the higher the better */
};

struct candidates {
   struct candidate list[MAX_CANDIDATES];
   unsigned count;
};

/* Splitting */

static bool
is_blank(char c)
{
   return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool
is_digit(char c)
{
   return c >= '0' && c <= '9';
}

static bool
is_identifier(char c)
{
   return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static const char *
skip_blanks(const char *c)
{
   while (is_blank(*c))
      c++;
   return c;
}

/* What follows the name of directive @name on @line, NULL if it is another. */
static const char *
skip_directive(const char *line, const char *name)
{
   const char *c = skip_blanks(line);
   if (*c++ != '#')
      return NULL;

   c = skip_blanks(c);
   const size_t length = strlen(name);
   return strncmp(c, name, length) == 0 && !is_identifier(c[length]) ? skip_blanks(c + length)
                                                                     : NULL;
}

/* Whether a comment is open behind @line if one is (not) before it. Backslashes
 * at the ends of lines are not looked at.
 */
static bool
comment_stays_open(const char *line, bool is_open)
{
   for (const char *c = line; *c; c++) {
      if (is_open) {
         if (c[0] == '*' && c[1] == '/') {
            is_open = false;
            c++;
         }
      } else if (c[0] == '/' && c[1] == '/') {
         break;
      } else if (c[0] == '/' && c[1] == '*') {
         is_open = true;
         c++;
      }
   }
   return is_open;
}

/* The segment that a `#line` directive starts, whose arguments are at @c: a
 * number; a number and a "file"; a number and that of a source string, which
 * has no name in SPIR-V. Anything else, macros above all, leaves the numbers
 * unknown up to the next.
 */
static struct segment
parse_line_directive(struct gpuval_spirv *spirv, const char *c, const char *file_before)
{
   struct segment segment = {.file = file_before};

   if (!is_digit(*c))
      return segment;

   char *end;
   const unsigned long number = strtoul(c, &end, 10);
   c = skip_blanks(end);

   if (*c == '"') {
      const char *quote = strchr(++c, '"');
      if (!quote)
         return segment;
      segment.file = ralloc_strndup(spirv, c, quote - c);
   } else if (c > end && is_digit(*c)) {
      segment.file = NULL;
   } else if (*c && *c != '/') {
      return segment;
   }

   if (number < INT32_MAX)
      segment.number = number;
   return segment;
}

/* GLSL before 3.30 numbers the line behind `#line N` N + 1, as
 * GPU-AV takes it (docs/protocols.rst, "Lines of the source"). GLSL 3.30 and later, ESSL, HLSL and
 * C number it N; so does glslang for what it puts before `#version` itself.
 */
static bool
is_old_glsl(const char *version)
{
   char *end;
   const unsigned long number = strtoul(version, &end, 10);
   return number && number < 330 && strncmp(skip_blanks(end), "es", 2) != 0;
}

/* NULL for more text than a sane module can have: debug information may name
 * one OpString over and over.
 */
static char *
join_pieces(struct gpuval_spirv *spirv, const struct source *source)
{
   size_t size = 1;
   util_dynarray_foreach (&source->pieces, const char *, piece) {
      size += strlen(*piece);
      if (size > spirv->size)
         return NULL;
   }

   spirv->text->size += size;
   if (spirv->text->size > 4 * spirv->size)
      return NULL;

   char *text = ralloc_size(spirv, size);
   if (!text)
      return NULL;

   char *end = text;
   util_dynarray_foreach (&source->pieces, const char *, piece) {
      const size_t length = strlen(*piece);
      memcpy(end, *piece, length);
      end += length;
   }
   *end = '\0';
   return text;
}

/* NULL is no key, but 0 stands for no id. */
static const void *
nameless_key(uint32_t id)
{
   return (const void *)((uintptr_t)id + 1);
}

static struct group *
get_group(struct gpuval_spirv *spirv, struct hash_table *groups, const void *key)
{
   struct hash_entry *entry = _mesa_hash_table_search(groups, key);
   if (entry)
      return entry->data;

   struct group *group = rzalloc(spirv, struct group);
   util_dynarray_init(&group->segments, spirv);
   _mesa_hash_table_insert(groups, key, group);
   return group;
}

static void
add_segment(struct gpuval_spirv *spirv, const struct segment *segment)
{
   const struct source *source =
      util_dynarray_element(&spirv->sources, struct source, segment->source);
   const char *file = segment->file ? segment->file : source->file;

   if (!segment->number || !segment->count)
      return;
   struct group *group = file ? get_group(spirv, spirv->text->files, file)
                              : get_group(spirv, spirv->text->others, nameless_key(source->id));
   util_dynarray_append_typed(&group->segments, struct segment, *segment);
}

/* Cuts a source's text into lines, and counts them as its compiler did, but for
 * directives that `#if` takes out: macros are not known here.
 */
static void
split_source(struct gpuval_spirv *spirv, struct source *source, uint32_t source_index)
{
   struct segment segment = {.number = 1, .source = source_index};
   bool in_comment = false;
   bool directive_counts = false;
   uint32_t index = 0;

   char *next = source->pieces.size ? join_pieces(spirv, source) : NULL;
   if (!next)
      return;

   while (next) {
      char *line = next;
      char *end = line + strcspn(line, "\n");
      next = *end ? end + 1 : NULL;
      *end = '\0';

      const char *version = in_comment ? NULL : skip_directive(line, "version");
      const char *renumber = in_comment ? NULL : skip_directive(line, "line");
      if (version)
         directive_counts = is_old_glsl(version);
      if (renumber) {
         add_segment(spirv, &segment);
         segment = parse_line_directive(spirv, renumber, segment.file);
         segment.source = source_index;
         segment.first = index + 1;
         if (segment.number && directive_counts)
            segment.number++;
      } else {
         segment.count++;
      }
      in_comment = comment_stays_open(line, in_comment);

      line = (char *)skip_blanks(line);
      while (end > line && is_blank(end[-1]))
         *--end = '\0';
      util_dynarray_append_typed(&source->lines, const char *, line);
      index++;
   }

   add_segment(spirv, &segment);
}

static int
compare_segments(const void *a, const void *b)
{
   const struct segment *x = a, *y = b;

   if (x->number != y->number)
      return x->number < y->number ? -1 : 1;
   if (x->source != y->source)
      return x->source < y->source ? -1 : 1;
   return x->first < y->first ? -1 : x->first > y->first;
}

static uint64_t
set_reach(struct segment *segments, uint32_t begin, uint32_t end)
{
   if (begin == end)
      return 0;

   const uint32_t middle = begin + (end - begin) / 2;
   struct segment *root = &segments[middle];
   const uint64_t before = set_reach(segments, begin, middle);
   const uint64_t behind = set_reach(segments, middle + 1, end);

   root->reach = MAX3(before, behind, (uint64_t)root->number + root->count);
   return root->reach;
}

static void
sort_groups(struct hash_table *groups)
{
   hash_table_foreach (groups, entry) {
      struct group *group = entry->data;
      const uint32_t count = util_dynarray_num_elements(&group->segments, struct segment);
      struct segment *segments = util_dynarray_begin(&group->segments);

      qsort(segments, count, sizeof(*segments), compare_segments);
      set_reach(segments, 0, count);
   }
}

static void
split_sources(struct gpuval_spirv *spirv)
{
   spirv->text = rzalloc(spirv, struct gpuval_spirv_text);
   spirv->text->files = _mesa_hash_table_create(spirv, _mesa_hash_string, _mesa_key_string_equal);
   spirv->text->others = _mesa_hash_table_create_u32_keys(spirv);

   uint32_t index = 0;
   util_dynarray_foreach (&spirv->sources, struct source, source)
      split_source(spirv, source, index++);
   sort_groups(spirv->text->files);
   sort_groups(spirv->text->others);
}

/* Finding */

/* How well a line of @segment can be said to be the one at @position. */
static unsigned
rank_segment(const struct gpuval_spirv *spirv, const struct segment *segment,
             const struct position *position)
{
   const struct source *source =
      util_dynarray_element(&spirv->sources, struct source, segment->source);
   const bool is_same_source =
      (position->source && source->id == position->source) ||
      (position->file && source->file && strcmp(source->file, position->file) == 0);

   if (is_same_source)
      return 3;
   return segment->file ? 2 : 1;
}

/* Those of @segments that @position is in, from the highest numbers down. */
static void
collect_range(const struct gpuval_spirv *spirv, const struct segment *segments, uint32_t begin,
              uint32_t end, const struct position *position, struct candidates *candidates)
{
   if (begin == end)
      return;

   const uint32_t middle = begin + (end - begin) / 2;
   const struct segment *segment = &segments[middle];
   if (segment->reach <= position->line)
      return;

   if (segment->number <= position->line) {
      collect_range(spirv, segments, middle + 1, end, position, candidates);
      if (candidates->count < MAX_CANDIDATES && position->line - segment->number < segment->count) {
         candidates->list[candidates->count++] = (struct candidate){
            .source = segment->source,
            .index = segment->first + (position->line - segment->number),
            .number = segment->number,
            .rank = rank_segment(spirv, segment, position),
         };
      }
   }
   if (candidates->count < MAX_CANDIDATES)
      collect_range(spirv, segments, begin, middle, position, candidates);
}

static void
collect_group(const struct gpuval_spirv *spirv, struct hash_table *groups, const void *key,
              const struct position *position, struct candidates *candidates)
{
   struct hash_entry *entry = _mesa_hash_table_search(groups, key);
   struct group *group = entry ? entry->data : NULL;
   if (group)
      collect_range(spirv, util_dynarray_begin(&group->segments), 0,
                    util_dynarray_num_elements(&group->segments, struct segment), position,
                    candidates);
}

/* The lines of source texts that have the number that is asked for, the best
 * ranked only.
 */
static void
collect_candidates(struct gpuval_spirv *spirv, const struct position *position,
                   struct candidates *candidates)
{
   if (!spirv->text)
      split_sources(spirv);

   candidates->count = 0;
   if (position->file)
      collect_group(spirv, spirv->text->files, position->file, position, candidates);
   if (position->source)
      collect_group(spirv, spirv->text->others, nameless_key(position->source), position,
                    candidates);

   /* A text with no file is that of all lines if there is no other. */
   if (!candidates->count && spirv->sources.size == sizeof(struct source)) {
      const struct source *source = util_dynarray_begin(&spirv->sources);
      if (!source->file)
         collect_group(spirv, spirv->text->others, nameless_key(source->id), position, candidates);
   }

   unsigned best = 0, count = 0;
   for (unsigned i = 0; i < candidates->count; i++)
      best = MAX2(best, candidates->list[i].rank);
   for (unsigned i = 0; i < candidates->count; i++) {
      if (candidates->list[i].rank == best)
         candidates->list[count++] = candidates->list[i];
   }
   candidates->count = count;
}

static const char *
candidate_text(const struct gpuval_spirv *spirv, const struct candidate *candidate)
{
   const struct source *source =
      util_dynarray_element(&spirv->sources, struct source, candidate->source);
   return *util_dynarray_element(&source->lines, const char *, candidate->index);
}

static bool
has_word(const char *text, const char *word)
{
   const size_t length = strlen(word);

   for (const char *c = strstr(text, word); c && length; c = strstr(c + 1, word)) {
      if ((c == text || !is_identifier(c[-1])) && !is_identifier(c[length]))
         return true;
   }
   return false;
}

/* Index of the line of @source that has the head of a function on it, UINT32_MAX if
 * none or several could. @heads has its name in all lines.
 */
static uint32_t
find_head(const struct candidates *heads, uint32_t source)
{
   uint32_t index = UINT32_MAX;

   for (unsigned i = 0; i < heads->count; i++) {
      if (heads->list[i].source != source)
         continue;
      if (index != UINT32_MAX)
         return UINT32_MAX;
      index = heads->list[i].index;
   }
   return index;
}

static void
collect_heads(struct gpuval_spirv *spirv, const char *name, const struct position *head,
              struct candidates *heads)
{
   unsigned count = 0;

   heads->count = 0;
   if (name && head->line)
      collect_candidates(spirv, head, heads);
   for (unsigned i = 0; i < heads->count; i++) {
      if (has_word(candidate_text(spirv, &heads->list[i]), name))
         heads->list[count++] = heads->list[i];
   }
   heads->count = count;
}

/* In the order of the texts */
static bool
is_before(const struct candidate *a, const struct candidate *b)
{
   return a->index != b->index ? a->index < b->index : a->source < b->source;
}

static bool
is_better(const struct candidate *a, const struct candidate *b)
{
   if (a->number != b->number)
      return a->number > b->number;
   return a->source != b->source ? a->source > b->source : a->index > b->index;
}

/* A line as it was written. What was before it is over, so there is a NUL. */
static const char *
untrimmed(const struct source *source, uint32_t index)
{
   const char *line = *util_dynarray_element(&source->lines, const char *, index);

   while (index && is_blank(line[-1]))
      line--;
   return line;
}

/* Lines around @candidate, as far as they are numbered with it. */
static void
set_extract(struct gpuval_spirv *spirv, const struct candidate *candidate, uint32_t number,
            struct gpuval_spirv_location *out)
{
   const struct source *source =
      util_dynarray_element(&spirv->sources, struct source, candidate->source);
   const uint32_t num_lines = util_dynarray_num_elements(&source->lines, const char *);
   const uint32_t before = MIN2(number - candidate->number, EXTRACT_LINES);
   const uint32_t first = candidate->index - before;
   const char **lines = ralloc_array(spirv, const char *, before + 1 + EXTRACT_LINES);

   out->extract_count = 0;
   for (uint32_t i = first; i < num_lines && i <= candidate->index + EXTRACT_LINES; i++) {
      const char *line = untrimmed(source, i);
      if (skip_directive(line, "line"))
         break;
      lines[out->extract_count++] = ralloc_strndup(spirv, line, MAX_EXTRACT_WIDTH);
   }
   out->extract = lines;
   out->extract_line = number - before;
}

/* Where directives give one number to several lines of a file, it is the first
 * behind the function's head. If that is not known either, it is that of the
 * directive with the largest number, and of the last such
 * (docs/protocols.rst, "Lines of the source").
 */
const char *
gpuval_spirv_find_text(struct gpuval_spirv *spirv, const struct position *position,
                       const char *name, const struct position *head,
                       struct gpuval_spirv_location *out)
{
   struct candidates candidates;
   collect_candidates(spirv, position, &candidates);

   const struct candidate *best = NULL;
   for (unsigned i = 0; i < candidates.count; i++) {
      if (!best || is_better(&candidates.list[i], best))
         best = &candidates.list[i];
   }

   if (candidates.count > 1) {
      struct candidates heads;
      collect_heads(spirv, name, head, &heads);

      const struct candidate *first = NULL;
      for (unsigned i = 0; i < candidates.count; i++) {
         const struct candidate *candidate = &candidates.list[i];
         if (find_head(&heads, candidate->source) <= candidate->index &&
             (!first || is_before(candidate, first)))
            first = candidate;
      }
      if (first)
         best = first;
   }

   const char *text = best ? candidate_text(spirv, best) : NULL;
   if (!text || !text[0])
      return NULL;
   set_extract(spirv, best, position->line, out);
   return text;
}

/* Behind the highest number of a line in the segments of @key */
static uint64_t
get_reach(struct hash_table *groups, const void *key)
{
   struct hash_entry *entry = _mesa_hash_table_search(groups, key);
   struct group *group = entry ? entry->data : NULL;
   uint64_t reach = 0;

   for (unsigned i = 0; group && i < util_dynarray_num_elements(&group->segments, struct segment);
        i++) {
      const struct segment *segment = util_dynarray_element(&group->segments, struct segment, i);
      reach = MAX2(reach, (uint64_t)segment->number + segment->count);
   }
   return reach;
}

/* A `#line` of two thousand millions makes no file of as many lines. */
#define MAX_FILE_LINES 200000

char *
gpuval_spirv_file_text(void *mem_ctx, struct gpuval_spirv *spirv, const struct position *position)
{
   if (!spirv->text)
      split_sources(spirv);

   uint64_t reach = get_reach(spirv->text->others, nameless_key(position->source));
   if (position->file)
      reach = MAX2(reach, get_reach(spirv->text->files, position->file));
   if (!reach && spirv->sources.size == sizeof(struct source)) {
      const struct source *source = util_dynarray_begin(&spirv->sources);
      reach = get_reach(spirv->text->others, nameless_key(source->id));
   }
   if (!reach || reach > MAX_FILE_LINES)
      return NULL;

   struct util_dynarray text;
   util_dynarray_init(&text, mem_ctx);
   for (uint32_t number = 1; number < reach; number++) {
      const struct position line = {position->source, position->file, number, 0};
      struct candidates candidates;
      const struct candidate *best = NULL;

      collect_candidates(spirv, &line, &candidates);
      for (unsigned i = 0; i < candidates.count; i++) {
         if (!best || is_better(&candidates.list[i], best))
            best = &candidates.list[i];
      }
      if (best) {
         const char *found = untrimmed(
            util_dynarray_element(&spirv->sources, struct source, best->source), best->index);
         if (*found)
            util_dynarray_append_array(&text, char, found, strlen(found));
      }
      util_dynarray_append_typed(&text, char, '\n');
   }
   /* Behind the last end of a line is no line. */
   while (text.size > 1 && !strncmp((char *)text.data + text.size - 2, "\n\n", 2))
      text.size--;
   util_dynarray_append_typed(&text, char, 0);
   return util_dynarray_begin(&text);
}
