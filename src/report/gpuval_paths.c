/* SPDX-License-Identifier: MIT */

#include "gpuval_paths.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/ralloc.h"

static char **roots; /* for good */
static unsigned num_roots;

/* Without slashes at their ends, for good */
struct map {
   char *from, *to;
};
static struct map *maps;
static unsigned num_maps;

static bool
is_letter(char c)
{
   return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool
has_drive(const char *path)
{
   return is_letter(path[0]) && path[1] == ':' && (path[2] == '/' || path[2] == '\\');
}

bool
gpuval_paths_is_absolute(const char *path)
{
   return path[0] == '/' || has_drive(path);
}

/* Without "." and "..", but for those that lead out of where it begins. */
static char *
normalize(void *mem_ctx, const char *path)
{
   bool is_windows = has_drive(path) || (strchr(path, '\\') && !strchr(path, '/'));
   char *copy = ralloc_strdup(mem_ctx, path);
   char *out = ralloc_array(mem_ctx, char, strlen(path) + 2);
   unsigned length = 0, fixed; /* `fixed`: what ".." cannot take away */

   for (char *c = copy; is_windows && *c; c++)
      *c = *c == '\\' ? '/' : *c;
   if (copy[0] == '/')
      out[length++] = '/';
   fixed = has_drive(copy) ? 3 : length;

   for (char *part = copy, *next; part; part = next) {
      next = strchr(part, '/');
      if (next)
         *next++ = '\0';
      if (!*part || !strcmp(part, "."))
         continue;
      if (!strcmp(part, "..") && length > fixed) {
         length--; /* the slash */
         while (length > fixed && out[length - 1] != '/')
            length--;
         continue;
      }
      if (!strcmp(part, "..") && gpuval_paths_is_absolute(path))
         continue; /* above all is nothing */
      memcpy(out + length, part, strlen(part));
      length += strlen(part);
      out[length++] = '/';
      if (!strcmp(part, ".."))
         fixed = length;
   }
   if (length > 1 && out[length - 1] == '/')
      length--;
   out[length] = '\0';
   ralloc_free(copy);
   return out;
}

void
gpuval_paths_add_root(const char *folder)
{
   char *absolute = gpuval_paths_is_absolute(folder) ? NULL : realpath(folder, NULL);
   char *root = normalize(NULL, absolute ? absolute : folder);

   free(absolute);
   if (strcmp(root, "/"))
      ralloc_strcat(&root, "/");
   roots = reralloc(NULL, roots, char *, num_roots + 1);
   roots[num_roots++] = root;
}

const char *
gpuval_paths_root(void)
{
   if (!num_roots) {
      const char *workspace = getenv("GITHUB_WORKSPACE");
      char *current = getcwd(NULL, 0);
      gpuval_paths_add_root(workspace && *workspace ? workspace : current ? current : "/");
      free(current);
   }
   return roots[0];
}

bool
gpuval_paths_add_map(const char *map)
{
   const char *equals = strchr(map, '=');
   if (!equals || equals == map)
      return false;

   char *from = ralloc_strndup(NULL, map, equals - map);
   maps = reralloc(NULL, maps, struct map, num_maps + 1);
   maps[num_maps++] = (struct map){normalize(maps, from), normalize(maps, equals + 1)};
   ralloc_free(from);
   return true;
}

/* Takes what the first map that fits says. */
static char *
apply_maps(void *mem_ctx, char *path)
{
   for (unsigned i = 0; i < num_maps; i++) {
      size_t length = strlen(maps[i].from);
      bool ends_in_slash = length && maps[i].from[length - 1] == '/';

      if (strncmp(path, maps[i].from, length) ||
          (path[length] && path[length] != '/' && !ends_in_slash))
         continue;
      const char *rest = path + length + (path[length] == '/');
      char *mapped = !*maps[i].to ? ralloc_strdup(mem_ctx, rest)
                     : *rest      ? ralloc_asprintf(mem_ctx, "%s/%s", maps[i].to, rest)
                                  : ralloc_strdup(mem_ctx, maps[i].to);
      ralloc_free(path);
      return mapped;
   }
   return path;
}

char *
gpuval_paths_map(void *mem_ctx, const char *path)
{
   return apply_maps(mem_ctx, normalize(mem_ctx, path));
}

char *
gpuval_paths_relative(void *mem_ctx, const char *path)
{
   char *normal = apply_maps(mem_ctx, normalize(mem_ctx, path));

   gpuval_paths_root();
   for (unsigned i = 0; i < num_roots; i++) {
      size_t length = strlen(roots[i]);
      if (strcmp(roots[i], "/") && !strncmp(normal, roots[i], length))
         return memmove(normal, normal + length, strlen(normal + length) + 1);
   }
   return normal;
}

void
gpuval_paths_write_uri(FILE *f, const char *path)
{
   if (gpuval_paths_is_absolute(path))
      fputs(*path == '/' ? "file://" : "file:///", f);
   for (const char *c = path; *c; c++) {
      if (is_letter(*c) || (*c >= '0' && *c <= '9') || strchr("-._~/", *c))
         fputc(*c, f);
      else
         fprintf(f, "%%%02X", (unsigned char)*c);
   }
}
