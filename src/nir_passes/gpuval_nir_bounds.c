/* SPDX-License-Identifier: MIT */

/* Bounds of uniform and storage buffers: is each access inside the range that
 * the descriptor was written with?
 *
 * Offsets are split into linear terms and a constant. Accesses of one block
 * that go through one descriptor and whose offsets differ by a constant only
 * make a group: one comparison before the first of them checks the range from
 * the lowest to the highest byte. When it fails, the report's function looks
 * at each. The reports of several groups wait for each other, so that one
 * branch will do for them; but nothing waits for a terminate (later lanes are not
 * there any more), for a barrier or for the end of a block.
 *
 * The comparison: with span = highest - lowest byte, and all modulo 2^32,
 *
 *    offset + span <= size   <=>   offset < (size < span ? 0 : size - (span - 1))
 *
 * A driver that has buffer sizes at hand where it makes code compares by itself: that
 * spares Mesa's optimizations most of what they would see of this check.
 *
 * Buffers are bounded by the hardware (and by llvmpipe), so GPUVAL_SAFE needs
 * nothing here but for inline uniform blocks, which lie between other things.
 */

#include "gpuval_nir_private.h"

#include "util/hash_table.h"
#include "util/ralloc.h"

#define MAX_TERMS 6

/* coefficient * def[component], modulo 2^32 */
struct term {
   nir_scalar scalar;
   uint32_t coefficient;
};

struct linear {
   struct term terms[MAX_TERMS];
   unsigned num_terms;
   uint32_t constant;
};

/* An access to a buffer, and which others share its comparison */
struct member {
   const struct gpuval_access *access;
   nir_intrinsic_instr *intrin;
   nir_binding binding;
   struct linear offset; /* constant: of the first byte that is accessed */
   uint32_t size;        /* bytes */
   struct member *next;  /* in the group, in the order of the shader */
};

/* Members that differ in their offsets' constants only */
struct group {
   struct member *first, *last;
   unsigned count;
};

static void
add_term(struct linear *linear, nir_scalar scalar, uint32_t coefficient)
{
   for (unsigned i = 0; i < linear->num_terms; i++) {
      if (nir_scalar_equal(linear->terms[i].scalar, scalar)) {
         linear->terms[i].coefficient += coefficient;
         return;
      }
   }

   linear->terms[linear->num_terms++] = (struct term){scalar, coefficient};
}

/* Is it the offset that a descriptor is loaded with, which is 0 in all drivers? */
static bool
is_descriptor_offset(nir_scalar scalar)
{
   return scalar.comp == 2 && nir_scalar_is_intrinsic(scalar) &&
          nir_scalar_intrinsic_op(scalar) == nir_intrinsic_load_vulkan_descriptor;
}

/* Adds coefficient * scalar. Leaves room for @reserve terms that are still to
 * come, so that it never runs out.
 */
static void
add_linear(struct linear *linear, nir_scalar scalar, uint32_t coefficient, unsigned reserve)
{
   scalar = nir_scalar_chase_movs(scalar);
   if (is_descriptor_offset(scalar))
      return;

   if (nir_scalar_is_const(scalar)) {
      linear->constant += coefficient * nir_scalar_as_uint(scalar);
      return;
   }

   if (nir_scalar_is_alu(scalar)) {
      nir_scalar a = {0}, b = {0};
      if (nir_op_infos[nir_scalar_alu_op(scalar)].num_inputs >= 2) {
         a = nir_scalar_chase_alu_src(scalar, 0);
         b = nir_scalar_chase_alu_src(scalar, 1);
      }

      switch (nir_scalar_alu_op(scalar)) {
      case nir_op_iadd:
         if (linear->num_terms + reserve + 2 <= MAX_TERMS) {
            add_linear(linear, a, coefficient, reserve + 1);
            add_linear(linear, b, coefficient, reserve);
            return;
         }
         break;
      case nir_op_imul:
      case nir_op_amul:
         if (nir_scalar_is_const(a)) {
            add_linear(linear, b, coefficient * nir_scalar_as_uint(a), reserve);
            return;
         }
         if (nir_scalar_is_const(b)) {
            add_linear(linear, a, coefficient * nir_scalar_as_uint(b), reserve);
            return;
         }
         break;
      case nir_op_ishl:
         if (nir_scalar_is_const(b)) {
            add_linear(linear, a, coefficient << (nir_scalar_as_uint(b) & 31), reserve);
            return;
         }
         break;
      default:
         break;
      }
   }

   add_term(linear, scalar, coefficient);
}

static bool
linear_same_terms(const struct linear *a, const struct linear *b)
{
   if (a->num_terms != b->num_terms)
      return false;

   for (unsigned i = 0; i < a->num_terms; i++) {
      if (!nir_scalar_equal(a->terms[i].scalar, b->terms[i].scalar) ||
          a->terms[i].coefficient != b->terms[i].coefficient)
         return false;
   }
   return true;
}

static bool
same_descriptor(const struct member *a, const struct member *b)
{
   if (nir_srcs_equal(*gpuval_nir_index_src(a->intrin), *gpuval_nir_index_src(b->intrin)))
      return true;
   if (!a->binding.success || !b->binding.success || a->binding.desc_set != b->binding.desc_set ||
       a->binding.binding != b->binding.binding || a->binding.num_indices != b->binding.num_indices)
      return false;

   for (unsigned i = 0; i < a->binding.num_indices; i++) {
      if (!nir_scalar_equal(nir_get_scalar(a->binding.indices[i].ssa, 0),
                            nir_get_scalar(b->binding.indices[i].ssa, 0)) &&
          !(nir_src_is_const(a->binding.indices[i]) && nir_src_is_const(b->binding.indices[i]) &&
            nir_src_as_uint(a->binding.indices[i]) == nir_src_as_uint(b->binding.indices[i])))
         return false;
   }
   return true;
}

static bool
make_member(const struct gpuval_nir_options *options, const struct gpuval_access *access,
            struct member *member)
{
   if (access->type != GPUVAL_ACCESS_BUFFER || !access->is_described)
      return false;

   nir_intrinsic_instr *intrin = nir_instr_as_intrinsic(access->instr);
   bool is_uniform = intrin->intrinsic == nir_intrinsic_load_ubo;
   if (is_uniform ? options->robust_uniform : options->robust_storage)
      return false;

   *member = (struct member){
      .access = access,
      .intrin = intrin,
      .binding = nir_chase_binding(*gpuval_nir_index_src(intrin)),
      .size = gpuval_nir_access_bytes(access),
   };
   add_linear(&member->offset, nir_get_scalar(nir_get_io_offset_src(intrin)->ssa, 0), 1, 0);
   member->offset.constant += gpuval_nir_access_skipped(access);
   return true;
}

/* Is the access inside a block whose size the layout says? */
static bool
is_proven(const struct member *member)
{
   uint32_t size = member->access->buffer.size;

   return size && !member->offset.num_terms && member->offset.constant <= size &&
          member->size <= size - member->offset.constant;
}

static nir_def *
is_outside(nir_builder *b, nir_def *offset, nir_def *size, uint32_t span)
{
   /* A size of 0 is no descriptor: there the report's function looks again, and finds that. */
   return nir_uge(b, offset, nir_usub_sat(b, size, nir_imm_int(b, span - 1)));
}

/* The same of a group. Where its offset is a constant, less code does. */
static nir_def *
is_group_outside(nir_builder *b, const struct group *group, uint32_t lowest, nir_def *offset,
                 nir_def *size, uint32_t span)
{
   if (!group->first->offset.num_terms && lowest <= UINT32_MAX - (span - 1))
      return nir_uge(b, nir_imm_int(b, lowest + (span - 1)), size);
   return is_outside(b, offset, size, span);
}

/* 1 bit, the same in all lanes and there already: may a group be outside whose last byte is at
 * @highest? NULL: the host cannot tell.
 */
static nir_def *
may_be_outside(struct gpuval_nir_state *state, const struct group *group, uint32_t highest)
{
   const struct gpuval_nir_driver *driver = state->options->driver;
   const nir_binding *binding = &group->first->binding;
   struct gpuval_nir_binding layout;

   if (!driver->descriptors || !driver->descriptors->tells_sizes || !binding->success ||
       group->first->offset.num_terms || binding->num_indices != 1 ||
       !nir_src_is_const(binding->indices[0]) || highest == UINT32_MAX ||
       mesa_shader_stage_is_rt(state->b.shader->info.stage))
      return NULL;

   uint32_t index = nir_src_as_uint(binding->indices[0]);
   driver->descriptors->binding(driver, binding->desc_set, binding->binding, &layout);
   if (layout.is_unknown || layout.is_variable || layout.is_late || index >= layout.count)
      return NULL;

   int bit = gpuval_nir_add_use(state, &(struct gpuval_nir_use){
                                          .first_slot = layout.first_slot + index * layout.stride,
                                          .num_slots = highest + 1,
                                          .set = binding->desc_set,
                                          .flags = GPUVAL_USE_CONSTANT | GPUVAL_USE_SIZE,
                                       });
   return bit < 0 ? NULL
                  : nir_has_bits_gpuval(&state->b, 1, gpuval_nir_bad_uses(state),
                                        .base = BITFIELD_BIT(bit));
}

static uint32_t
add_entries(struct gpuval_nir_state *state, const struct group *group, uint32_t lowest)
{
   for (const struct member *member = group->first; member; member = member->next) {
      const struct gpuval_access *access = member->access;
      const struct gpuval_site site = {
         .kind = GPUVAL_KIND_BUFFER_OOB,
         .op = access->spirv_op,
         .spirv_offset = gpuval_nir_spirv_offset(state, access->instance),
         .set = access->buffer.set,
         .binding = access->buffer.binding,
      };
      const struct gpuval_nir_entry entry = {
         .offset = member->offset.constant - lowest,
         .size = member->size,
         .site = gpuval_nir_add_site(state, &site),
         .instance = access->instance,
      };
      util_dynarray_append_typed(&state->table->entries, struct gpuval_nir_entry, entry);
   }

   return group->count;
}

/* Inline uniform blocks: an access outside gets an offset outside of
 * everything, for which the load gives 0.
 */
static void
make_safe(struct gpuval_nir_state *state, const struct member *member)
{
   nir_builder *b = &state->b;
   nir_src *offset = nir_get_io_offset_src(member->intrin);
   nir_def *size = nir_imm_int(b, member->access->buffer.size);

   b->cursor = nir_before_instr(&member->intrin->instr);
   nir_def *outside = is_outside(b, offset->ssa, size, member->size);
   nir_src_rewrite(offset, nir_bcsel(b, outside, nir_imm_int(b, 0x7fffff00), offset->ssa));
}

/* Reports that wait. The offsets stay alive meanwhile, so not too many. */
#define MAX_PENDING 8

struct pending {
   struct gpuval_nir_report reports[MAX_PENDING];
   unsigned count;
};

/* At b->cursor */
static void
flush(struct gpuval_nir_state *state, struct pending *pending)
{
   for (unsigned i = 0; i < pending->count; i++)
      gpuval_nir_report(state, &pending->reports[i]);
   pending->count = 0;
}

static void
add_pending(struct gpuval_nir_state *state, struct pending *pending,
            const struct gpuval_nir_report *report)
{
   if (pending->count == MAX_PENDING)
      flush(state, pending);
   pending->reports[pending->count++] = *report;
}

static void
instrument_group(struct gpuval_nir_state *state, struct pending *pending, const struct group *group)
{
   nir_builder *b = &state->b;
   const struct member *first = group->first;
   const struct gpuval_nir_buffer *buffer = &first->access->buffer;

   /* Lowest and highest byte as distances from the first access: offsets wrap,
    * so there is no other order. */
   int32_t lowest = 0, highest = first->size;
   for (const struct member *member = first; member; member = member->next) {
      int32_t distance = member->offset.constant - first->offset.constant;
      lowest = MIN2(lowest, distance);
      highest = MAX2(highest, distance + (int32_t)member->size);
   }
   uint32_t span = highest - lowest;

   struct gpuval_nir_report report = {
      .first_entry = util_dynarray_num_elements(&state->table->entries, struct gpuval_nir_entry),
   };
   report.num_entries = add_entries(state, group, first->offset.constant + lowest);

   b->cursor = nir_before_instr(&first->intrin->instr);
   int32_t skipped = gpuval_nir_access_skipped(first->access);
   report.offset = nir_iadd_imm(b, nir_get_io_offset_src(first->intrin)->ssa, skipped + lowest);

   const struct gpuval_nir_driver *driver = state->options->driver;
   if (driver->checks_buffers && !buffer->size && buffer->set >= 0) {
      nir_def *index = gpuval_nir_index_src(first->intrin)->ssa;
      nir_def *slot = nir_channel(b, index, 1);
      nir_def *uniform = gpuval_nir_uniform_slot(b, driver, &first->intrin->instr, slot);
      report.index = uniform == slot ? index : nir_vector_insert_imm(b, index, uniform, 1);
      report.excluded = first->access->bad;
      report.span = span;
      report.set = buffer->set;
      add_pending(state, pending, &report);
   } else if (buffer->size) {
      report.slot = nir_imm_int(b, buffer->size);
      report.failed = is_outside(b, report.offset, report.slot, span);
      report.set = GPUVAL_REPORT_INLINE;
      add_pending(state, pending, &report);
   } else {
      /* A variable pointer may lead to any set that has buffers. */
      uint32_t sets =
         buffer->set >= 0 ? BITFIELD_BIT(buffer->set) : gpuval_nir_buffer_sets(b->shader);
      report.slot = driver->slot(driver, b, first->intrin);

      nir_def *bad = first->access->bad, *zero = nir_imm_int(b, 0);
      u_foreach_bit (set, sets) {
         nir_def *size = driver->buffer_size(driver, b, nir_imm_int(b, set), report.slot);
         report.failed =
            is_group_outside(b, group, first->offset.constant + lowest, report.offset, size, span);
         const uint32_t first_byte = first->offset.constant + lowest;
         nir_def *may_fail = buffer->set >= 0 && first_byte <= UINT32_MAX - (span - 1)
                                ? may_be_outside(state, group, first_byte + (span - 1))
                                : NULL;
         if (may_fail) /* gpuval_nir_groups.c: that is all that is asked where nothing fails. */
            report.failed = nir_iand(b, may_fail, report.failed);
         if (buffer->set < 0)
            report.failed = nir_iand(b, report.failed,
                                     nir_ieq_imm(b, driver->set(driver, b, first->intrin), set));
         if (bad) /* of a descriptor, which is reported: gpuval_nir_report.c */
            report.detail = nir_vec4(b, report.offset, zero, zero, nir_b2i32(b, bad));
         report.set = set;
         add_pending(state, pending, &report);
      }
   }

   if (buffer->size && state->options->safe) {
      for (const struct member *member = first; member; member = member->next)
         make_safe(state, member);
   }
}

/* Entries a report may have, and bytes that its group may span */
#define MAX_GROUP 1024
#define MAX_SPAN  (1 << 20)

static bool
belongs(const struct group *group, const struct member *member)
{
   int32_t distance = member->offset.constant - group->first->offset.constant;

   return group->count < MAX_GROUP && linear_same_terms(&group->first->offset, &member->offset) &&
          distance > -MAX_SPAN && distance < MAX_SPAN && same_descriptor(group->first, member);
}

/* Equal for members that may share a group */
static uint32_t
hash_member(const struct member *member)
{
   uint32_t hash = member->binding.success
                      ? _mesa_hash_uint(&member->binding.desc_set) * 31 + member->binding.binding
                      : _mesa_hash_pointer(gpuval_nir_index_src(member->intrin)->ssa);

   for (unsigned i = 0; i < member->offset.num_terms; i++) {
      const struct term *term = &member->offset.terms[i];
      hash = hash * 31 + _mesa_hash_pointer(term->scalar.def) + term->scalar.comp;
      hash = hash * 31 + term->coefficient;
   }
   return hash ? hash : 1; /* 0 is no key of a hash table */
}

/* The members of a block up to what reports must not wait for */
struct run {
   void *mem_ctx;
   struct util_dynarray groups;   /* struct group *, in the order of their first members */
   struct hash_table_u64 *latest; /* by hash_member() */
};

static void
begin_run(struct run *run)
{
   run->mem_ctx = ralloc_context(NULL);
   util_dynarray_init(&run->groups, run->mem_ctx);
   run->latest = _mesa_hash_table_u64_create(run->mem_ctx);
}

static void
add_member(struct run *run, const struct member *member)
{
   struct member *own = ralloc_memdup(run->mem_ctx, member, sizeof(*member));
   uint32_t hash = hash_member(member);
   struct group *group = _mesa_hash_table_u64_search(run->latest, hash);

   if (group && belongs(group, member)) {
      group->last->next = own;
   } else {
      group = rzalloc(run->mem_ctx, struct group);
      group->first = own;
      util_dynarray_append_typed(&run->groups, struct group *, group);
      _mesa_hash_table_u64_insert(run->latest, hash, group);
   }
   group->last = own;
   group->count++;
}

/* Reports must not wait for what is at @until. */
static bool
end_run(struct gpuval_nir_state *state, struct run *run, nir_cursor until)
{
   bool progress = run->groups.size != 0;

   if (progress) {
      struct pending pending = {0};

      util_dynarray_foreach (&run->groups, struct group *, group)
         instrument_group(state, &pending, *group);
      state->b.cursor = until;
      flush(state, &pending);
      ralloc_free(run->mem_ctx);
      begin_run(run);
   }
   return progress;
}

static bool
instrument_buffers(struct gpuval_nir_state *state)
{
   struct run run;
   const nir_block *block = NULL;
   bool progress = false;

   begin_run(&run);
   gpuval_nir_foreach_access(state, access)
   {
      struct member member;

      if (block && block != access->block)
         progress |= end_run(state, &run, nir_after_block_before_jump((nir_block *)block));
      block = access->block;

      if (access->is_edge)
         progress |= end_run(state, &run, nir_before_instr(access->instr));
      if (make_member(state->options, access, &member) && !is_proven(&member))
         add_member(&run, &member);
   }
   if (block)
      progress |= end_run(state, &run, nir_after_block_before_jump((nir_block *)block));

   ralloc_free(run.mem_ctx);
   return progress;
}

bool
gpuval_nir_instrument_bounds(struct gpuval_nir_state *state)
{
   if (!(state->options->checks & BITFIELD_BIT(GPUVAL_CHECK_BOUNDS)))
      return false;

   bool progress = instrument_buffers(state);
   return gpuval_nir_instrument_bounds_image(state) || progress;
}
