/* SPDX-License-Identifier: MIT */

#include "spirv_writer.h"

#include <stdlib.h>
#include <string.h>

#include "vk_headless.h"

/* --- Words ---------------------------------------------------------------- */

void
spv_append(struct spv_words *words, const uint32_t *data, unsigned count)
{
   if (words->count + count > words->capacity) {
      words->capacity = 2 * (words->count + count) + 64;
      words->data = realloc(words->data, words->capacity * sizeof(uint32_t));
      if (!words->data)
         vkh_die("out of memory");
   }
   if (count)
      memcpy(words->data + words->count, data, count * sizeof(uint32_t));
   words->count += count;
}

void
spv_emit_words(struct spv_words *words, SpvOp op, unsigned count, const uint32_t *operands)
{
   const uint32_t head = (count + 1) << SpvWordCountShift | op;
   spv_append(words, &head, 1);
   spv_append(words, operands, count);
}

void
spv_emit_string(struct spv_words *words, SpvOp op, unsigned count, const uint32_t *operands,
                const char *string, unsigned tail_count, const uint32_t *tail)
{
   uint32_t text[32] = {0};
   const unsigned length = (unsigned)strlen(string) / 4 + 1;

   if (length > VKH_COUNT(text))
      vkh_die("%s is too long a name", string);
   memcpy(text, string, strlen(string));
   const uint32_t head = (1 + count + length + tail_count) << SpvWordCountShift | op;
   spv_append(words, &head, 1);
   spv_append(words, operands, count);
   spv_append(words, text, length);
   spv_append(words, tail, tail_count);
}

uint32_t
spv_result_words(struct spv *spv, struct spv_words *words, SpvOp op, uint32_t type, unsigned count,
                 const uint32_t *operands)
{
   const uint32_t id = spv_id(spv);
   const uint32_t head[] = {(count + 3) << SpvWordCountShift | op, type, id};
   spv_append(words, head, 3);
   spv_append(words, operands, count);
   return id;
}

/* Finds an instruction with @op whose words but that of the result at @result are @operands;
 * returns its result or 0.
 */
static uint32_t
find(const struct spv_words *words, SpvOp op, unsigned result, unsigned count,
     const uint32_t *operands)
{
   for (uint32_t at = 0; at < words->count; at += words->data[at] >> SpvWordCountShift) {
      const uint32_t *instruction = words->data + at;
      if (instruction[0] != ((count + 2) << SpvWordCountShift | op))
         continue;
      if (count == 0) /* there may be no operands to compare with */
         return instruction[result];
      if (!memcmp(instruction + 1, operands, (result - 1) * 4) &&
          !memcmp(instruction + result + 1, operands + result - 1, (count - result + 1) * 4))
         return instruction[result];
   }
   return 0;
}

/* --- Modules -------------------------------------------------------------- */

void
spv_init(struct spv *spv, uint32_t version)
{
   *spv = (struct spv){.version = version, .next_id = 1};
}

void
spv_finish(struct spv *spv)
{
   struct spv_words *const sections[] = {
      &spv->capabilities, &spv->extensions, &spv->imports, &spv->memory_model,
      &spv->entry_points, &spv->modes,      &spv->names,   &spv->annotations,
      &spv->globals,      &spv->functions,
   };
   for (unsigned i = 0; i < VKH_COUNT(sections); i++)
      free(sections[i]->data);
}

uint32_t *
spv_assemble(const struct spv *spv, uint32_t *count)
{
   const struct spv_words *const sections[] = {
      &spv->capabilities, &spv->extensions, &spv->imports, &spv->memory_model,
      &spv->entry_points, &spv->modes,      &spv->names,   &spv->annotations,
      &spv->globals,      &spv->functions,
   };
   const uint32_t head[] = {SpvMagicNumber, spv->version, 0, spv->next_id, 0};
   struct spv_words words = {0};

   spv_append(&words, head, VKH_COUNT(head));
   for (unsigned i = 0; i < VKH_COUNT(sections); i++)
      spv_append(&words, sections[i]->data, sections[i]->count);
   *count = words.count;
   return words.data;
}

uint32_t
spv_id(struct spv *spv)
{
   return spv->next_id++;
}

void
spv_capability(struct spv *spv, SpvCapability capability)
{
   for (uint32_t at = 0; at < spv->capabilities.count; at += 2) {
      if (spv->capabilities.data[at + 1] == (uint32_t)capability)
         return;
   }
   spv_emit(&spv->capabilities, SpvOpCapability, capability);
}

void
spv_extension(struct spv *spv, const char *name)
{
   const struct spv_words *words = &spv->extensions;
   for (uint32_t at = 0; at < words->count; at += words->data[at] >> SpvWordCountShift) {
      if (strcmp((const char *)(words->data + at + 1), name) == 0)
         return;
   }
   spv_emit_string(&spv->extensions, SpvOpExtension, 0, NULL, name, 0, NULL);
}

void
spv_name(struct spv *spv, uint32_t id, const char *name)
{
   spv_emit_string(&spv->names, SpvOpName, 1, &id, name, 0, NULL);
}

/* --- Types and constants -------------------------------------------------- */

uint32_t
spv_type_words(struct spv *spv, SpvOp op, unsigned count, const uint32_t *operands)
{
   uint32_t id = find(&spv->globals, op, 1, count, operands);
   if (id)
      return id;

   id = spv_id(spv);
   const uint32_t head[] = {(count + 2) << SpvWordCountShift | op, id};
   spv_append(&spv->globals, head, 2);
   spv_append(&spv->globals, operands, count);
   return id;
}

uint32_t
spv_void(struct spv *spv)
{
   return spv_type_words(spv, SpvOpTypeVoid, 0, NULL);
}

uint32_t
spv_bool(struct spv *spv)
{
   return spv_type_words(spv, SpvOpTypeBool, 0, NULL);
}

static uint32_t
get_vector(struct spv *spv, uint32_t scalar, unsigned components)
{
   return components > 1 ? spv_type(spv, SpvOpTypeVector, scalar, components) : scalar;
}

uint32_t
spv_uint(struct spv *spv, unsigned components)
{
   return get_vector(spv, spv_type(spv, SpvOpTypeInt, 32, 0), components);
}

uint32_t
spv_int(struct spv *spv, unsigned components)
{
   return get_vector(spv, spv_type(spv, SpvOpTypeInt, 32, 1), components);
}

uint32_t
spv_float(struct spv *spv, unsigned components)
{
   return get_vector(spv, spv_type(spv, SpvOpTypeFloat, 32), components);
}

uint32_t
spv_pointer(struct spv *spv, SpvStorageClass storage, uint32_t type)
{
   return spv_type(spv, SpvOpTypePointer, storage, type);
}

uint32_t
spv_array(struct spv *spv, uint32_t element, uint32_t length, uint32_t stride)
{
   const uint32_t constant = length ? spv_constant(spv, length) : 0;
   const uint32_t id = spv_id(spv);

   if (length)
      spv_emit(&spv->globals, SpvOpTypeArray, id, element, constant);
   else
      spv_emit(&spv->globals, SpvOpTypeRuntimeArray, id, element);
   if (stride)
      spv_decorate(spv, id, SpvDecorationArrayStride, stride);
   return id;
}

uint32_t
spv_struct(struct spv *spv, unsigned count, const uint32_t *members, const uint32_t *offsets)
{
   const uint32_t id = spv_id(spv);
   const uint32_t head[] = {(count + 2) << SpvWordCountShift | SpvOpTypeStruct, id};

   spv_append(&spv->globals, head, 2);
   spv_append(&spv->globals, members, count);
   for (unsigned i = 0; i < count && offsets; i++)
      spv_decorate_member(spv, id, i, SpvDecorationOffset, offsets[i]);
   return id;
}

static uint32_t
get_constant(struct spv *spv, uint32_t type, uint32_t value)
{
   const uint32_t operands[] = {type, value};
   const uint32_t id = find(&spv->globals, SpvOpConstant, 2, 2, operands);
   return id ? id : spv_result(spv, &spv->globals, SpvOpConstant, type, value);
}

uint32_t
spv_constant(struct spv *spv, uint32_t value)
{
   return get_constant(spv, spv_uint(spv, 1), value);
}

uint32_t
spv_constant_int(struct spv *spv, int32_t value)
{
   return get_constant(spv, spv_int(spv, 1), (uint32_t)value);
}

uint32_t
spv_constant_float(struct spv *spv, float value)
{
   uint32_t bits;
   memcpy(&bits, &value, sizeof(bits));
   return get_constant(spv, spv_float(spv, 1), bits);
}
