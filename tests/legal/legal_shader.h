/* SPDX-License-Identifier: MIT */

/*
 * What legal_shader.c and legal_access.c share: the module while it is written.
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
   uint32_t push_output, push_words;
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
void legal_begin_function(struct legal_shader *shader, struct legal_function *function,
                          uint32_t result, unsigned parameter_count, const uint32_t *types,
                          uint32_t *parameters);
/* Ends the function and goes on with the one that was current before. */
void legal_end_function(struct legal_shader *shader, struct legal_function *before);

/* --- legal_access.c ------------------------------------------------------- */

/* Declares what the stage uses: variables of bindings, and push constants. */
void legal_declare_resources(struct legal_shader *shader);
/* Reads something; returns a uint. */
uint32_t legal_read(struct legal_shader *shader);
/* Writes @value to the invocation's own element of something, if there is such a thing. */
bool legal_write(struct legal_shader *shader, uint32_t value);

#endif /* LEGAL_SHADER_H */
