/* SPDX-License-Identifier: MIT */

/* Which SPIR-V instruction is an instruction of NIR's from, and what is an array called?
 *
 * Since 25.2 each instruction has a nir_instr_debug_info, which builders copy from the instruction
 * at their cursor, with an offset in the module and a name. In 25.0 vtn leaves a
 * nir_debug_info_instr, here a marker, before what it makes of an instruction, and optimizations
 * keep them in place; a name is a source.
 */

#ifndef GPUVAL_LOCATIONS_H
#define GPUVAL_LOCATIONS_H

#include "gpuval/src/compat/gpuval_nir_names.h"
#include "spirv/nir_spirv.h"
#include "nir_builder.h"

#if GPUVAL_MESA >= 2600

/** All instructions tell, which costs no more than if few did. */
static inline void
gpuval_want_locations(struct spirv_to_nir_options *options, bool (*wants)(unsigned opcode))
{
   options->debug_info = true;
}

/** Offset in the SPIR-V, and how it was called; 0: what stands before it says so, or nothing */
static inline uint32_t
gpuval_get_location(const nir_instr *instr)
{
   return instr->has_debug_info ? nir_instr_get_debug_info((nir_instr *)instr)->spirv_offset : 0;
}

/** Does another SPIR-V instruction begin here than the one at @offset? */
static inline bool
gpuval_begins_location(const nir_instr *instr, uint32_t offset)
{
   uint32_t own = gpuval_get_location(instr);

   return own && own != offset && instr->type != nir_instr_type_load_const &&
          instr->type != nir_instr_type_undef;
}

/** Does it tell where the code around it is? Constants are anywhere, and shared. */
static inline bool
gpuval_has_location(const nir_instr *instr)
{
   return gpuval_get_location(instr) && instr->type != nir_instr_type_load_const &&
          instr->type != nir_instr_type_undef && instr->type != nir_instr_type_phi;
}

static inline void
gpuval_add_to_location(nir_instr *instr, uint32_t added)
{
   if (gpuval_get_location(instr))
      nir_instr_get_debug_info(instr)->spirv_offset += added;
}

/** What gpuval_repeat_location() takes: the instruction that says where @instr is from, or NULL */
static inline const nir_instr *
gpuval_find_location(nir_instr *instr)
{
   return gpuval_get_location(instr) ? instr : NULL;
}

/** Says at b->cursor once more which instruction of SPIR-V it is: blocks do not inherit that. */
static inline void
gpuval_repeat_location(nir_builder *b, const nir_instr *location)
{
   if (location)
      nir_instr_get_debug_info(&nir_nop(b)->instr)->spirv_offset = gpuval_get_location(location);
}

/** No pass has anything to say of locations any more. */
static inline void
gpuval_drop_locations(nir_shader *nir)
{
   nir->has_debug_info = false;
}

/** For tests: what is built at b->cursor from now on is from the instruction at @offset, and
 * something else stands between that and what is there.
 */
static inline void
gpuval_set_location(nir_builder *b, uint32_t offset)
{
   nir_instr_get_debug_info(&nir_nop(b)->instr)->spirv_offset = UINT32_MAX;
   nir_instr_get_debug_info(&nir_nop(b)->instr)->spirv_offset = offset;
}

/** For tests: before anything is built */
static inline void
gpuval_keep_locations(nir_shader *nir)
{
   nir->has_debug_info = true;
}

static inline bool
gpuval_is_marker(const nir_instr *instr)
{
   return false;
}

/** The source of a report that has @name, which may be NULL */
static inline nir_def *
gpuval_build_name(nir_builder *b, const char *name)
{
   return nir_imm_int(b, 0);
}

static inline void
gpuval_set_name(nir_shader *nir, nir_instr *report, const char *name)
{
   if (name && report->has_debug_info)
      nir_instr_get_debug_info(report)->variable_name = ralloc_strdup(nir, name);
}

static inline const char *
gpuval_get_name(const nir_instr *report, const nir_src *src)
{
   return report->has_debug_info ? nir_instr_get_debug_info((nir_instr *)report)->variable_name
                                 : NULL;
}

#else

/** Each marker makes compiling slower: only those of opcodes that @wants knows */
static inline void
gpuval_want_locations(struct spirv_to_nir_options *options, bool (*wants)(unsigned opcode))
{
   options->debug_info = true;
   options->wants_location = wants;
}

static inline bool
gpuval_has_location(const nir_instr *instr)
{
   return instr->type == nir_instr_type_debug_info &&
          nir_instr_as_debug_info((nir_instr *)instr)->type == nir_debug_info_src_loc;
}

static inline uint32_t
gpuval_get_location(const nir_instr *instr)
{
   return gpuval_has_location(instr)
             ? nir_instr_as_debug_info((nir_instr *)instr)->src_loc.spirv_offset
             : 0;
}

static inline bool
gpuval_begins_location(const nir_instr *instr, uint32_t offset)
{
   return gpuval_has_location(instr);
}

static inline void
gpuval_add_to_location(nir_instr *instr, uint32_t added)
{
   if (gpuval_has_location(instr))
      nir_instr_as_debug_info(instr)->src_loc.spirv_offset += added;
}

static inline const nir_instr *
gpuval_find_location(nir_instr *instr)
{
   while (instr && !gpuval_has_location(instr))
      instr = nir_instr_prev(instr);
   return instr;
}

static inline void
gpuval_repeat_location(nir_builder *b, const nir_instr *location)
{
   if (location)
      nir_builder_instr_insert(b, nir_instr_clone(b->shader, location));
}

static inline bool
gpuval_drop_marker(nir_builder *b, nir_instr *instr, void *data)
{
   if (instr->type != nir_instr_type_debug_info)
      return false;

   /* The strings with file names come first and are used by the rest. */
   if (nir_instr_as_debug_info(instr)->type == nir_debug_info_src_loc)
      nir_instr_clear_src(instr, &nir_instr_as_debug_info(instr)->src_loc.filename);
   nir_instr_remove(instr);
   return true;
}

static inline void
gpuval_drop_locations(nir_shader *nir)
{
   nir_shader_instructions_pass(nir, gpuval_drop_marker, nir_metadata_control_flow, NULL);
}

static inline void
gpuval_set_location(nir_builder *b, uint32_t offset)
{
   nir_debug_info_instr *info = nir_debug_info_instr_create(b->shader, nir_debug_info_src_loc, 0);

   info->src_loc.spirv_offset = offset;
   nir_builder_instr_insert(b, &info->instr);
}

static inline void
gpuval_keep_locations(nir_shader *nir)
{
}

static inline bool
gpuval_is_marker(const nir_instr *instr)
{
   return instr->type == nir_instr_type_debug_info;
}

static inline nir_def *
gpuval_build_name(nir_builder *b, const char *name)
{
   if (!name)
      return nir_imm_int(b, 0);

   nir_builder at_top = nir_builder_at(nir_before_impl(b->impl));
   return nir_build_string(&at_top, name);
}

static inline void
gpuval_set_name(nir_shader *nir, nir_instr *report, const char *name)
{
}

static inline const char *
gpuval_get_name(const nir_instr *report, const nir_src *src)
{
   const nir_instr *parent = nir_def_instr(src->ssa);

   return parent->type == nir_instr_type_debug_info
             ? nir_instr_as_debug_info((nir_instr *)parent)->string
             : NULL;
}

#endif

#endif
