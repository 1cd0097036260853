/* SPDX-License-Identifier: MIT */

/*
 * What the files that write SPIR-V share: the module while it is written.
 */

#ifndef LEGAL_SHADER_H
#define LEGAL_SHADER_H

#include "legal.h"

#define LEGAL_MAX_VARIABLES 24
#define LEGAL_MAX_INTERFACE 64

/* How a block looks in the shader. Each shows the same bytes. */
enum legal_shape {
   LEGAL_WORDS,   /* uint[] */
   LEGAL_VECTORS, /* uvec4[] */
   LEGAL_FLOATS,  /* vec4[] */
   LEGAL_RECORDS, /* struct { uint; float; uvec2; uvec3; uint }[] */
   LEGAL_MATRICES,
   LEGAL_HALVES, /* uint16_t[] */
   LEGAL_LONGS,  /* uint64_t[] */
   LEGAL_SHAPES,
};

/* Combined image samplers may be two variables, of an image and of a sampler. */
enum legal_role {
   LEGAL_AS_IS,
   LEGAL_AS_IMAGE,
   LEGAL_AS_SAMPLER,
};

/* A variable that stands for a binding; a binding may have several. */
struct legal_variable {
   const struct legal_binding *binding;
   enum legal_role role;
   uint32_t id;
   SpvStorageClass storage;
   uint32_t type;       /* of one element: a block, an image, … */
   uint32_t whole_type; /* of the variable: that, or an array of it */
   uint32_t length;     /* of the array that the variable is; 0: it is no array */
   bool is_array;
   /* Blocks */
   enum legal_shape shape;
   uint32_t item;       /* the type of what the block's array consists of */
   uint32_t item_count; /* that are in the range */
   bool runtime_array, has_head;
   bool row_major;
   /* Images */
   uint32_t image_type;
   bool has_format;
   enum legal_dim dim;
};

struct legal_function {
   uint32_t id, type;
   struct spv_words locals, code;
   uint32_t slot;   /* the value that tells invocations apart */
   uint32_t result; /* the variable that becomes the result; 0 in functions that read only */
};

struct legal_shader {
   const struct legal_program *program;
   struct spv spv;
   struct legal_random random;

   /* Of the stage that is written */
   VkShaderStageFlagBits stage;
   struct legal_function *function; /* where code goes */
   struct legal_variable variables[LEGAL_MAX_VARIABLES];
   unsigned variable_count;
   uint32_t interface[LEGAL_MAX_INTERFACE];
   unsigned interface_count;
   uint32_t push;        /* the variable of push constants, or 0 */
   uint32_t push_source; /* its members, or -1 */
   uint32_t push_output, push_scene, push_words;
   uint32_t source_block, output_block; /* types behind its addresses */
   uint32_t specs[LEGAL_SPEC_COUNT];    /* specialization constants, or 0 */
   uint32_t counter;                    /* the variable of the innermost loop, or 0 */
   bool uniform;    /* all invocations of the workgroup, or of the draw, come here */
   bool never;      /* none does */
   bool implicit;   /* derivatives are defined here */
   uint32_t budget; /* statements that may follow */
};

/* Code of the current function */
#define legal_code(shader)        (&(shader)->function->code)
#define legal_op(shader, op, ...) spv_emit(legal_code(shader), (op), __VA_ARGS__)
#define legal_value(shader, op, type, ...)                                                         \
   spv_result(&(shader)->spv, legal_code(shader), (op), (type), __VA_ARGS__)

/* --- Short forms ---------------------------------------------------------- */

static inline uint32_t
constant(struct legal_shader *shader, uint32_t value)
{
   return spv_constant(&shader->spv, value);
}

static inline uint32_t
constant_float(struct legal_shader *shader, float value)
{
   return spv_constant_float(&shader->spv, value);
}

static inline uint32_t
below(struct legal_shader *shader, uint32_t count)
{
   return legal_below(&shader->random, count);
}

static inline bool
chance(struct legal_shader *shader, unsigned percent)
{
   return legal_chance(&shader->random, percent);
}

static inline void
label(struct legal_shader *shader, uint32_t id)
{
   legal_op(shader, SpvOpLabel, id);
}

/* --- legal_shader.c ------------------------------------------------------- */

void legal_add_interface(struct legal_shader *shader, uint32_t variable);
/* A variable outside of functions; @storage is not Function. */
uint32_t legal_global(struct legal_shader *shader, SpvStorageClass storage, uint32_t type);
uint32_t legal_local(struct legal_shader *shader, uint32_t type);
uint32_t legal_uint(struct legal_shader *shader, SpvOp op, uint32_t a, uint32_t b);
/* A value that all invocations of a command have in common */
uint32_t legal_uniform_value(struct legal_shader *shader);
/* An index below @count; *@differs: it is not the same in all invocations. With
 * @may_differ false it is. */
uint32_t legal_index(struct legal_shader *shader, uint32_t count, bool may_differ, bool *differs);
/* The result so far, and a new one that @value is a part of */
uint32_t legal_result(struct legal_shader *shader);
void legal_mix(struct legal_shader *shader, uint32_t value);
void legal_begin_function(struct legal_shader *shader, struct legal_function *function,
                          uint32_t result, unsigned parameter_count, const uint32_t *types,
                          uint32_t *parameters);
enum legal_condition {
   LEGAL_CONDITION_UNIFORM,
   LEGAL_CONDITION_DIFFERS, /* between invocations */
   LEGAL_CONDITION_NEVER,
};

/* A bool, which is true for some invocations, all of them, or none */
uint32_t legal_condition(struct legal_shader *shader, enum legal_condition kind);
/* Statements, as many as the shader's budget allows */
void legal_statements(struct legal_shader *shader, unsigned depth);
/* Ends the function and goes on with the one that was current before. */
void legal_end_function(struct legal_shader *shader, struct legal_function *before);

static inline uint32_t
legal_workgroup_size(const struct legal_shader *shader)
{
   const uint32_t *size = shader->program->local_size;
   return size[0] * size[1] * size[2];
}

/* --- legal_declare.c ------------------------------------------------------ */

/* Declares what the stage uses: variables of bindings, and push constants. */
void legal_declare_resources(struct legal_shader *shader);
/* The type of a texel, or of one of its components */
uint32_t legal_number_type(struct legal_shader *shader, enum legal_number numbers,
                           unsigned components);
bool legal_is_sampler(const struct legal_variable *variable);

/* --- legal_access.c ------------------------------------------------------- */

/* Reads something; returns a uint. */
uint32_t legal_read(struct legal_shader *shader);
/* Writes @value to the invocation's own element of something, if there is such a thing. */
bool legal_write(struct legal_shader *shader, uint32_t value);
/* A pointer to an element of a variable; *@differs: it is not the same in all invocations. */
uint32_t legal_element_pointer(struct legal_shader *shader, const struct legal_variable *variable,
                               bool *differs);
/* Decorates @id with NonUniform, if it differs. */
void legal_mark(struct legal_shader *shader, uint32_t id, bool differs);
/* Loads an acceleration structure that may be used. */
uint32_t legal_load_structure(struct legal_shader *shader, const struct legal_variable *variable);
uint32_t legal_extract(struct legal_shader *shader, uint32_t type, uint32_t composite,
                       unsigned index);
uint32_t legal_to_uint(struct legal_shader *shader, uint32_t value);
uint32_t legal_atomic(struct legal_shader *shader, SpvOp op, uint32_t pointer, uint32_t value);

/* --- legal_texels.c ------------------------------------------------------- */

/* Each reads by @pointer a texel or a size; returns a uint. */
uint32_t legal_read_sampled_image(struct legal_shader *shader,
                                  const struct legal_variable *variable, uint32_t pointer,
                                  bool differs);
uint32_t legal_read_combined(struct legal_shader *shader, const struct legal_variable *variable,
                             uint32_t pointer, bool differs);
uint32_t legal_read_texel_buffer(struct legal_shader *shader, const struct legal_variable *variable,
                                 uint32_t pointer, bool differs);
uint32_t legal_read_storage_image(struct legal_shader *shader,
                                  const struct legal_variable *variable, uint32_t pointer,
                                  bool differs);
uint32_t legal_read_input(struct legal_shader *shader, const struct legal_variable *variable,
                          uint32_t pointer, bool differs);
/* Writes the texel of the invocation, which has one word. */
void legal_write_texel(struct legal_shader *shader, const struct legal_variable *variable,
                       uint32_t pointer, uint32_t value, bool differs);

/* --- legal_ray_shader.c --------------------------------------------------- */

bool legal_is_ray_stage(VkShaderStageFlagBits stage);
uint32_t legal_structure_type(struct legal_shader *shader);
/* Sends a ray through a structure, or through that whose address is in push constants; returns a
 * uint. */
uint32_t legal_ray_query(struct legal_shader *shader, uint32_t structure);
uint32_t legal_query_address(struct legal_shader *shader);
/* Returns the variable by which other stages hand something over, or 0. */
uint32_t legal_begin_ray_stage(struct legal_shader *shader);
/* Writes, traces, and hands the result back; no terminator. */
void legal_finish_ray_stage(struct legal_shader *shader, uint32_t incoming);

#endif /* LEGAL_SHADER_H */
