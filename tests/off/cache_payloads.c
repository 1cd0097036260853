/* SPDX-License-Identifier: MIT */

/*
 * Lists what is in a shader cache of single files (MESA_DISK_CACHE_MULTI_FILE),
 * one line an entry: the hash of its content, its bytes. Names and heads of the
 * files are left out, because they hash the driver's build. Of an object file the
 * module's name is left out: llvmpipe numbers its shaders, those that threads make at
 * the same time as they come.
 *
 *    gpuval-cache-payloads FOLDER [COPIES]
 *
 * COPIES is a folder that gets each content under its hash, for objdump. Exits
 * with 1 when a file is not an entry of a cache.
 */

#include <elf.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/blob.h"
#include "util/compress.h"
#include "util/disk_cache.h"
#include "util/mesa-blake3.h"
#include "util/os_file.h"

static const char *copies;

/* As create_cache_item_header_and_blob() in src/util/disk_cache_os.c writes it:
 *
 *    u8 version, driver id \0, GPU \0, u8 pointer size, u64 flags  driver keys
 *    u32 type                                                      aligned
 *    u32 crc, u32 uncompressed size                                not aligned
 *    the content, compressed
 */
static bool
skip_to_content(struct blob_reader *reader, uint32_t *uncompressed_size)
{
   blob_skip_bytes(reader, 1);
   if (!blob_read_string(reader) || !blob_read_string(reader))
      return false;
   blob_skip_bytes(reader, 1 + 8);
   const uint32_t type = blob_read_uint32(reader);
   blob_skip_bytes(reader, 4);
   blob_copy_bytes(reader, uncompressed_size, sizeof(*uncompressed_size));
   return !reader->overrun && type == CACHE_ITEM_TYPE_UNKNOWN;
}

static bool
write_copy(const char *name, const uint8_t *content, size_t size)
{
   char path[4096];
   snprintf(path, sizeof(path), "%s/%s", copies, name);
   FILE *file = fopen(path, "wb");
   return file && fwrite(content, 1, size, file) == size && fclose(file) == 0;
}

/* NULL: the file is damaged. */
static const void *
part(const uint8_t *content, size_t size, uint64_t offset, uint64_t part_size)
{
   return offset <= size && part_size <= size - offset ? content + offset : NULL;
}

static bool
hash_symbols(struct mesa_blake3 *hasher, const uint8_t *content, size_t size,
             const Elf64_Shdr *section, const Elf64_Shdr *names)
{
   const Elf64_Sym *symbols = part(content, size, section->sh_offset, section->sh_size);
   const char *text = part(content, size, names->sh_offset, names->sh_size);
   if (!symbols || !text || !names->sh_size || text[names->sh_size - 1])
      return false;

   for (uint64_t i = 0; i < section->sh_size / sizeof(*symbols); i++) {
      Elf64_Sym symbol = symbols[i];
      if (symbol.st_name >= names->sh_size)
         return false;
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FILE)
         continue;

      const char *name = text + symbol.st_name;
      symbol.st_name = 0;
      _mesa_blake3_update(hasher, &symbol, sizeof(symbol));
      _mesa_blake3_update(hasher, name, strlen(name) + 1);
   }
   return true;
}

/* Its sections but for names, and its symbols; *hashed: how many bytes the sections have */
static bool
hash_object(const uint8_t *content, size_t size, blake3_hash hash, size_t *hashed)
{
   const Elf64_Ehdr *head = part(content, size, 0, sizeof(*head));
   const Elf64_Shdr *sections =
      head ? part(content, size, head->e_shoff, head->e_shnum * sizeof(*sections)) : NULL;
   if (!sections || head->e_ident[EI_CLASS] != ELFCLASS64)
      return false;

   struct mesa_blake3 hasher;
   _mesa_blake3_init(&hasher);
   *hashed = 0;
   for (unsigned i = 0; i < head->e_shnum; i++) {
      const Elf64_Shdr *section = &sections[i];
      const void *data = part(content, size, section->sh_offset, section->sh_size);

      if (section->sh_type == SHT_STRTAB || section->sh_type == SHT_NOBITS)
         continue;
      if (section->sh_type == SHT_SYMTAB) {
         if (section->sh_link >= head->e_shnum ||
             !hash_symbols(&hasher, content, size, section, &sections[section->sh_link]))
            return false;
      } else if (!data) {
         return false;
      } else {
         _mesa_blake3_update(&hasher, &section->sh_type, sizeof(section->sh_type));
         _mesa_blake3_update(&hasher, &section->sh_size, sizeof(section->sh_size));
         _mesa_blake3_update(&hasher, data, section->sh_size);
         *hashed += section->sh_size;
      }
   }
   _mesa_blake3_final(&hasher, hash);
   return true;
}

static bool
list_content(const uint8_t *content, size_t size)
{
   blake3_hash hash;
   char name[BLAKE3_HEX_LEN];
   size_t hashed = size;

   if (size < SELFMAG || memcmp(content, ELFMAG, SELFMAG))
      _mesa_blake3_compute(content, size, hash);
   else if (!hash_object(content, size, hash, &hashed))
      return false;
   _mesa_blake3_format(name, hash);
   printf("%s %zu\n", name, hashed);
   return !copies || write_copy(name, content, size);
}

static bool
list_entry(const char *data, size_t size)
{
   struct blob_reader reader;
   uint32_t content_size;

   blob_reader_init(&reader, data, size);
   if (!skip_to_content(&reader, &content_size))
      return false;

   uint8_t *content = malloc(content_size);
   const bool good =
      content &&
      util_compress_inflate(reader.current, reader.end - reader.current, content, content_size) &&
      list_content(content, content_size);
   free(content);
   return good;
}

static int
visit(const char *path, const struct stat *status, int type, struct FTW *walk)
{
   /* The index is a table of keys. */
   if (type != FTW_F || !strcmp(path + walk->base, "index"))
      return 0;

   size_t size;
   char *data = os_read_file(path, &size);
   const bool good = data && list_entry(data, size);
   free(data);
   if (!good)
      fprintf(stderr, "%s: not an entry of a shader cache\n", path);
   return good ? 0 : 1;
}

int
main(int argc, char **argv)
{
   if (argc < 2 || argc > 3) {
      fprintf(stderr, "usage: gpuval-cache-payloads FOLDER [COPIES]\n");
      return 2;
   }
   copies = argv[2];
   return nftw(argv[1], visit, 16, FTW_PHYS) != 0;
}
