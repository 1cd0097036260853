/* SPDX-License-Identifier: MIT */

/* NonSemantic.DebugPrintf: docs/printf.rst, "Protocol".
 *
 * While vtn parses, each one becomes a @printf_gpuval with the dwords of its
 * payload, packed already. Format string and types of the arguments stay in
 * nir_shader::printf_info, which survives cloning and serialization, until
 * gpuval_nir_instrument() moves them to the shader's table. From there on the
 * intrinsic holds the header of its entry, and that is all a backend needs. It
 * is no memory access and has no control flow, for the reasons that gpuval_nir.h
 * gives.
 *
 * A format's id is a hash of the string and of where it stands (shader, stage,
 * entry point, offset in the SPIR-V) and of the types of its arguments. LLPC
 * hashes the string only, but for the host ids are opaque there, too; so two
 * shaders may print the same words, with other types even, and each message still
 * tells where it is from.
 */

#include "gpuval_nir_private.h"

#include "util/mesa-blake3.h"
#include "util/ralloc.h"
#include "util/u_printf.h"

/* u_printf_info::arg_sizes: the offset in the SPIR-V, then the arguments */
static unsigned
pack_argument(const struct gpuval_nir_argument *argument)
{
   return argument->type | argument->bit_size << 8 | argument->components << 16;
}

static struct gpuval_nir_argument
unpack_argument(unsigned packed)
{
   return (struct gpuval_nir_argument){packed, packed >> 8, packed >> 16};
}

static struct gpuval_nir_argument
get_argument(const nir_def *def, const struct glsl_type *type)
{
   if (!def)
      return (struct gpuval_nir_argument){.type = GPUVAL_ARGUMENT_NONE, .bit_size = 32};

   struct gpuval_nir_argument argument = {
      .type = GPUVAL_ARGUMENT_ADDRESS,
      .bit_size = def->bit_size,
      .components = def->num_components,
   };
   if (type && glsl_type_is_boolean(type)) {
      argument.type = GPUVAL_ARGUMENT_BOOL;
      argument.bit_size = 32;
   } else if (type) {
      nir_alu_type base = nir_alu_type_get_base_type(nir_get_nir_type_for_glsl_type(type));
      argument.type = base == nir_type_float ? GPUVAL_ARGUMENT_FLOAT
                      : base == nir_type_int ? GPUVAL_ARGUMENT_INT
                                             : GPUVAL_ARGUMENT_UINT;
   }
   return argument;
}

/* docs/printf.rst, "Protocol": the payload */
static unsigned
pack_value(nir_builder *b, const struct gpuval_nir_argument *argument, nir_def *value,
           nir_def **words)
{
   unsigned count = 0;

   for (unsigned i = 0; i < argument->components; i++) {
      nir_def *scalar = nir_channel(b, value, i);

      if (argument->type == GPUVAL_ARGUMENT_BOOL) {
         words[count++] = nir_b2i32(b, scalar);
      } else if (argument->bit_size == 64) {
         words[count++] = nir_unpack_64_2x32_split_x(b, scalar);
         words[count++] = nir_unpack_64_2x32_split_y(b, scalar);
      } else if (argument->bit_size == 32) {
         words[count++] = scalar;
      } else if (argument->type == GPUVAL_ARGUMENT_FLOAT) {
         words[count++] = nir_f2f32(b, scalar);
      } else {
         words[count++] = nir_u2u32(b, scalar);
      }
   }
   return count;
}

/* NIR knows vectors of 1 to 5, 8 and 16, and gallivm all of them but 5. */
static nir_def *
make_vector(nir_builder *b, nir_def **words, unsigned count)
{
   nir_def *padded[GPUVAL_PRINTF_SRC_COMPONENTS];
   unsigned size = count <= 4 ? count : count <= 8 ? 8 : 16;

   for (unsigned i = 0; i < size; i++)
      padded[i] = words[MIN2(i, count - 1)];
   return nir_vec(b, padded, size);
}

static unsigned
add_printf_info(nir_shader *nir, const char *format, const struct gpuval_nir_argument *arguments,
                unsigned num_arguments, size_t spirv_offset)
{
   unsigned index = nir->printf_info_count++;

   nir->printf_info = reralloc(nir, nir->printf_info, u_printf_info, nir->printf_info_count);
   u_printf_info *info = &nir->printf_info[index];
   *info = (u_printf_info){
      .num_args = num_arguments + 1,
      .arg_sizes = ralloc_array(nir, unsigned, num_arguments + 1),
      .string_size = strlen(format) + 1,
      .strings = ralloc_strdup(nir, format),
   };
   info->arg_sizes[0] = spirv_offset;
   for (unsigned i = 0; i < num_arguments; i++)
      info->arg_sizes[i + 1] = pack_argument(&arguments[i]);

   nir->info.uses_printf = true; /* else serialization forgets it */
   return index;
}

void
gpuval_nir_emit_printf(nir_builder *b, const char *format, nir_def **args,
                       const struct glsl_type **types, unsigned num_args, size_t spirv_offset)
{
   struct gpuval_nir_argument *arguments =
      ralloc_array(NULL, struct gpuval_nir_argument, MAX2(num_args, 1));
   nir_def *words[GPUVAL_PRINTF_MAX_ARGUMENT_WORDS];
   unsigned num_words = 0;

   for (unsigned i = 0; i < num_args; i++) {
      struct gpuval_nir_argument argument = get_argument(args[i], types[i]);
      /* What has no room is not there: the host says so with the message. */
      if (num_words + gpuval_nir_argument_words(&argument) > ARRAY_SIZE(words))
         argument = get_argument(NULL, NULL);
      num_words += pack_value(b, &argument, args[i], &words[num_words]);
      arguments[i] = argument;
   }

   nir_intrinsic_instr *printf = nir_intrinsic_instr_create(b->shader, nir_intrinsic_printf_gpuval);
   nir_intrinsic_set_base(printf,
                          add_printf_info(b->shader, format, arguments, num_args, spirv_offset));
   nir_intrinsic_set_range(printf, num_words);

   nir_def *zero = nir_imm_ivec3(b, 0, 0, 0);
   for (unsigned i = 0; i < nir_intrinsic_infos[printf->intrinsic].num_srcs; i++) {
      unsigned first = (i - GPUVAL_PRINTF_FIRST_PAYLOAD_SRC) * GPUVAL_PRINTF_SRC_COMPONENTS;
      nir_def *def = zero;

      if (i == GPUVAL_PRINTF_HEADER_SRC)
         def = nir_imm_ivec2(b, 0, 0);
      else if (i >= GPUVAL_PRINTF_FIRST_PAYLOAD_SRC && first < num_words)
         def = make_vector(b, &words[first], MIN2(num_words - first, GPUVAL_PRINTF_SRC_COMPONENTS));
      printf->src[i] = nir_src_for_ssa(def);
   }
   nir_builder_instr_insert(b, &printf->instr);
   ralloc_free(arguments);
}

/* Appends the command's id, and how many messages the invocation has printed. False: there is no
 * room.
 */
static bool
number_message(struct gpuval_nir_state *state, nir_intrinsic_instr *printf)
{
   nir_builder *b = &state->b;
   nir_def *words[GPUVAL_PRINTF_SRC_COMPONENTS];
   const unsigned count = nir_intrinsic_range(printf);
   if (count + GPUVAL_PRINTF_NUMBER_WORDS > GPUVAL_PRINTF_MAX_ARGUMENT_WORDS)
      return false;

   b->cursor = nir_before_instr(&printf->instr);
   nir_def *number = nir_load_var(b, state->printed);
   nir_def *appended[GPUVAL_PRINTF_NUMBER_WORDS] = {
      state->options->driver->command_id(state->options->driver, b),
      number,
   };
   nir_store_var(b, state->printed, nir_iadd_imm(b, number, 1), 0x1);

   unsigned channel, first = count / GPUVAL_PRINTF_SRC_COMPONENTS * GPUVAL_PRINTF_SRC_COMPONENTS;
   unsigned num_words = 0;
   nir_intrinsic_set_range(printf, count + GPUVAL_PRINTF_NUMBER_WORDS);
   for (unsigned i = first; i < count + GPUVAL_PRINTF_NUMBER_WORDS; i++) {
      unsigned src = gpuval_nir_printf_word(printf, i, &channel);

      words[channel] =
         i < count ? nir_channel(b, printf->src[src].ssa, channel) : appended[i - count];
      num_words = channel + 1;
      if (num_words == GPUVAL_PRINTF_SRC_COMPONENTS || i + 1 == count + GPUVAL_PRINTF_NUMBER_WORDS)
         nir_src_rewrite(&printf->src[src], make_vector(b, words, num_words));
   }
   return true;
}

static uint64_t
hash_format(const struct gpuval_nir_state *state, const u_printf_info *info)
{
   const nir_shader *nir = state->b.shader;
   const char *entry = state->b.impl->function->name;
   const uint32_t stage = nir->info.stage;
   struct mesa_blake3 ctx;
   blake3_hash hash;
   uint64_t id;

   _mesa_blake3_init(&ctx);
   _mesa_blake3_update(&ctx, info->strings, info->string_size);
   _mesa_blake3_update(&ctx, info->arg_sizes, info->num_args * sizeof(info->arg_sizes[0]));
   _mesa_blake3_update(&ctx, &state->options->shader_hash, sizeof(state->options->shader_hash));
   _mesa_blake3_update(&ctx, &stage, sizeof(stage));
   _mesa_blake3_update(&ctx, entry, entry ? strlen(entry) : 0);
   _mesa_blake3_final(&ctx, hash);

   memcpy(&id, hash, sizeof(id));
   return id & BITFIELD64_MASK(GPUVAL_PRINTF_ID_BITS);
}

/* The format of nir_shader::printf_info[@index], which copies of a DebugPrintf
 * share.
 */
static const struct gpuval_nir_format *
get_format(struct gpuval_nir_state *state, unsigned index, bool is_numbered)
{
   const u_printf_info *info = &state->b.shader->printf_info[index];
   struct gpuval_nir_table *table = state->table;
   uint64_t id = hash_format(state, info);

   util_dynarray_foreach (&table->formats, struct gpuval_nir_format, format) {
      if (format->id == id)
         return format;
   }

   struct gpuval_nir_argument *arguments =
      ralloc_array(table->mem_ctx, struct gpuval_nir_argument, MAX2(info->num_args - 1, 1));
   for (unsigned i = 0; i + 1 < info->num_args; i++)
      arguments[i] = unpack_argument(info->arg_sizes[i + 1]);

   const struct gpuval_site site = {
      .kind = GPUVAL_KIND_MESSAGE,
      .spirv_offset = info->arg_sizes[0],
      .set = -1,
      .binding = -1,
   };
   const struct gpuval_nir_format format = {
      .id = id,
      .string = ralloc_strdup(table->mem_ctx, info->strings),
      .num_arguments = info->num_args - 1,
      .arguments = arguments,
      .site = gpuval_nir_add_site(state, &site),
      .has_invocation = state->options->printf_invocation,
      .is_numbered = is_numbered,
   };
   util_dynarray_append_typed(&table->formats, struct gpuval_nir_format, format);
   return util_dynarray_top_ptr(&table->formats, struct gpuval_nir_format);
}

static void
instrument(struct gpuval_nir_state *state, nir_intrinsic_instr *printf)
{
   nir_builder *b = &state->b;
   const bool is_numbered = state->printed && number_message(state, printf);
   const struct gpuval_nir_format *format =
      get_format(state, nir_intrinsic_base(printf), is_numbered);
   unsigned size = GPUVAL_PRINTF_ENTRY_WORDS + nir_intrinsic_range(printf);

   if (format->has_invocation || format->is_numbered) {
      size += 3;
      nir_src_rewrite(&printf->src[GPUVAL_PRINTF_INVOCATION_SRC], gpuval_nir_invocation(state));
   }
   b->cursor = nir_before_instr(&printf->instr);
   nir_src_rewrite(&printf->src[GPUVAL_PRINTF_HEADER_SRC],
                   nir_imm_ivec2(b, size | (uint32_t)(format->id << 16), format->id >> 16));
}

bool
gpuval_nir_instrument_printf(struct gpuval_nir_state *state)
{
   nir_shader *nir = state->b.shader;
   bool progress = false;

   nir_foreach_block (block, state->b.impl) {
      nir_foreach_instr_safe (instr, block) {
         if (instr->type != nir_instr_type_intrinsic ||
             nir_instr_as_intrinsic(instr)->intrinsic != nir_intrinsic_printf_gpuval)
            continue;

         if (state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_PRINTF))
            instrument(state, nir_instr_as_intrinsic(instr));
         else
            nir_instr_remove(instr);
         progress = true;
      }
   }

   if (progress) {
      nir->printf_info = NULL;
      nir->printf_info_count = 0;
      nir->info.uses_printf = false;
   }
   return progress;
}

/* Volatile: the host changes what it says. */
static nir_def *
load_current(nir_builder *b, nir_def *root, unsigned offset)
{
   return nir_build_load_global(b, 1, 64, nir_iadd_imm(b, root, offset), .align_mul = 8,
                                .access = ACCESS_COHERENT | ACCESS_VOLATILE);
}

/* LLPC stores through a descriptor, which drops what is out of range. These stores have an
 * address only, so
 *
 *    offset = atomic_add(buffer.offset, size)
 *    offset = min(offset, 2 GiB)
 *    entry = buffer + 16 + offset * 4
 *    if offset + size <= capacity:
 *       store payload, high half of the header
 *       release
 *    else
 *       atomic_add(root.printf_lost, 1)
 *    if offset == 0:
 *       poll.printed = 1
 *    if offset + 2 <= capacity:
 *       store low half of the header
 *
 * and an entry that does not fit leaves the low half of its header only, as it
 * would with a descriptor that ends there.
 */
void
gpuval_nir_build_printf(nir_builder *b, const struct gpuval_nir_driver *driver,
                        const struct gpuval_nir_printf_params *params)
{
   nir_def *root = driver->root_address(driver, b);
   nir_def *buffer = load_current(b, root, offsetof(struct gpuval_root, printf_address));
   nir_def *bytes = load_current(b, root, offsetof(struct gpuval_root, printf_size));
   nir_def *capacity = nir_u2u32(b, nir_ushr_imm(b, bytes, 2));
   nir_def *size = nir_iand_imm(b, params->header[0], 0xffff);

   nir_def *claimed = nir_global_atomic(
      b, 64, nir_iadd_imm(b, buffer, offsetof(struct gpuval_printf_header, offset)),
      nir_u2u64(b, size), .atomic_op = nir_atomic_op_iadd);
   nir_def *offset = nir_u2u32(b, nir_umin(b, claimed, nir_imm_int64(b, GPUVAL_PRINTF_MAX_OFFSET)));
   nir_def *entry = nir_iadd(b, nir_iadd_imm(b, buffer, sizeof(struct gpuval_printf_header)),
                             nir_imul_imm(b, nir_u2u64(b, offset), 4));

   nir_push_if(b, nir_uge(b, capacity, nir_iadd(b, offset, size)));
   {
      params->store_payload(b, nir_iadd_imm(b, entry, 4 * GPUVAL_PRINTF_ENTRY_WORDS), params->data);
      gpuval_store_global(b, nir_iadd_imm(b, entry, 4), 4, params->header[1], 0x1);
      nir_barrier(b, .memory_scope = SCOPE_DEVICE, .memory_semantics = NIR_MEMORY_RELEASE,
                  .memory_modes = nir_var_mem_global);
   }
   nir_push_else(b, NULL);
   {
      nir_global_atomic(b, 64, nir_iadd_imm(b, root, offsetof(struct gpuval_root, printf_lost)),
                        nir_imm_int64(b, 1), .atomic_op = nir_atomic_op_iadd);
   }
   nir_pop_if(b, NULL);

   nir_push_if(b, nir_ieq_imm(b, claimed, 0));
   {
      nir_def *poll = load_current(b, root, offsetof(struct gpuval_root, poll_address));
      gpuval_store_global(b, nir_iadd_imm(b, poll, offsetof(struct gpuval_poll, printed)), 4,
                          nir_imm_int(b, 1), 0x1);
   }
   nir_pop_if(b, NULL);

   nir_push_if(b, nir_uge(b, capacity, nir_iadd_imm(b, offset, GPUVAL_PRINTF_ENTRY_WORDS)));
   nir_build_store_global(b, params->header[0], entry, .align_mul = 4, .write_mask = 0x1,
                          .access = ACCESS_COHERENT);
   nir_pop_if(b, NULL);
}

static void
store_words(nir_builder *b, nir_def *address, const void *data)
{
   const nir_intrinsic_instr *printf = data;

   for (unsigned i = 0; i < gpuval_nir_printf_num_words(printf); i++) {
      unsigned channel, src = gpuval_nir_printf_word(printf, i, &channel);
      gpuval_store_global(b, nir_iadd_imm(b, address, i * 4), 4,
                          nir_channel(b, printf->src[src].ssa, channel), 0x1);
   }
}

void
gpuval_nir_lower_message(nir_builder *b, const struct gpuval_nir_driver *driver,
                         nir_intrinsic_instr *printf)
{
   nir_def *header = printf->src[GPUVAL_PRINTF_HEADER_SRC].ssa;
   b->cursor = nir_before_instr(&printf->instr);

   /* What an atomic returns to a helper invocation is not known, but nothing comes of
    * it except addresses of stores, which are dropped.
    */
   gpuval_nir_build_printf(b, driver,
                           &(struct gpuval_nir_printf_params){
                              .header = {nir_channel(b, header, 0), nir_channel(b, header, 1)},
                              .store_payload = store_words,
                              .data = printf,
                           });
   nir_instr_remove(&printf->instr);
}

static bool
lower_printf(nir_builder *b, nir_intrinsic_instr *printf, void *data)
{
   if (printf->intrinsic != nir_intrinsic_printf_gpuval)
      return false;

   gpuval_nir_lower_message(b, data, printf);
   return true;
}

bool
gpuval_nir_lower_printf(nir_shader *nir, const struct gpuval_nir_driver *driver)
{
   return nir_shader_intrinsics_pass(nir, lower_printf, nir_metadata_none, (void *)driver);
}
