/* SPDX-License-Identifier: MIT */

/*
 * Random programs of dispatches, and what a check of their synchronization has to
 * find in them.
 *
 *    soak.c           runs programs in processes, and compares
 *    soak_generate.c  random programs
 *    soak_model.c     which of their accesses race
 *    soak_machine.c   in the process: runs programs through Vulkan
 *    soak_sequence.c  programs as files for anygpu, which runs them on any GPU
 *    soak.comp        one shader for all of them: it interprets instructions
 *    soak_fetch.vert  of draws that only fetch, or capture
 *    soak_texel.comp  loads or stores one texel
 *
 * A program is a few dispatches and draws, or fills, updates, copies, results of queries and what
 * draws fetch and capture, with something between them that orders them, or does not. A dispatch is
 * a list of instructions, which all invocations go through; each is for some of them, and says
 * which element an invocation accesses. So is a draw, whose instructions are the vertex shader's or
 * the fragment shader's: a point for each invocation that a workgroup would have, and an instance
 * for each workgroup.
 *
 * The model knows nothing of how races are found. It goes by what counts for Vulkan:
 * two accesses to a byte by two invocations, not both loads and not both atomics,
 * and no chain of barriers, or of fences and atomics, from one to the other. Who
 * comes second depends on the order in which things happen. The model has that of
 * llvmpipe with one thread, so that there is one right answer: how often each
 * instruction of the shader comes second, exactly.
 *
 * What happens to a byte behind its first race is a consequence, and a matter of
 * taste. No program goes there: who races has its bytes to itself, but for what is in
 * order with it.
 */

#ifndef SOAK_H
#define SOAK_H

#include <stdbool.h>
#include <stdint.h>

#define SOAK_MEMORY        16384
#define SOAK_WINDOW        512 /* bytes that a program touches, and of each shared array */
#define SOAK_GROUP         32  /* invocations of a workgroup */
#define SOAK_MAX_GROUPS    3
#define SOAK_MAX_CODE      6 /* instructions of a dispatch */
#define SOAK_MAX_STEPS     6
#define SOAK_FLAGS         16384 /* words that only fences and atomics use */
#define SOAK_RESULT_STRIDE 8     /* bytes from one result of 4 bytes to the next */

/* What programs consist of, beside loads, stores and atomics of one size, each in its
 * place, and barriers between commands.
 */
enum soak_feature {
   SOAK_WIDTHS = 1 << 0,     /* several sizes in one program: parts of words */
   SOAK_STRADDLING = 1 << 1, /* vectors that are aligned to 4 bytes only */
   SOAK_PHASES = 1 << 2,     /* barriers of workgroups */
   SOAK_SUBGROUPS = 1 << 3,  /* and of subgroups */
   SOAK_RELEASE = 1 << 4,    /* flags and tickets, by atomics and fences */
   SOAK_SCOPES = 1 << 5,     /* barriers between commands that order a part */
   SOAK_SEVERAL = 1 << 6,    /* invocations access more than one element */
   SOAK_SHARED = 1 << 7,     /* shared memory, under the check of that name */
   SOAK_IMAGES = 1 << 8,     /* images in the memory of the buffers, texel for word */
   SOAK_MORE = 1 << 9,       /* texel buffers in it, and more ways to access buffers */
   SOAK_COMMANDS = 1 << 10,  /* fills, updates and copies between dispatches */
   SOAK_DRAWS = 1 << 11,     /* draws, what they fetch and capture, their counters, results of
                              * queries, and random dependencies */
   SOAK_TRANSFERS = 1 << 12, /* clears, copies, blits, loads and stores of an image, renderings to
                              * it, and random dependencies, with changes of its layout */
};
/* But for commands, draws and transfers, of which only shadow memory and `race` know all */
#define SOAK_ALL_FEATURES 1023u

/* An image apart from the buffers: columns of texels of each of its subresources. Commands are in
 * order by columns, shaders with commands by subresources.
 */
#define SOAK_LEVELS  2
#define SOAK_LAYERS  2
#define SOAK_COLUMNS 16  /* of level 0 */
#define SOAK_ALL     255 /* levels or layers */
#define SOAK_TEXELS  (SOAK_LAYERS * SOAK_LEVELS * SOAK_COLUMNS)

enum soak_type {
   SOAK_LOAD,
   SOAK_STORE,
   SOAK_ATOMIC,
   SOAK_LOAD_STORE, /* of the same element */
   SOAK_STORE_LOAD,
   SOAK_ACCESS_TYPES,

   SOAK_BARRIER_GROUP = SOAK_ACCESS_TYPES,
   SOAK_BARRIER_CONTROL, /* that does not order buffers */
   SOAK_BARRIER_SUBGROUP,
   SOAK_RELEASE_FLAG, /* fence, then writes `value` */
   SOAK_ACQUIRE_FLAG, /* opens the gate if `value` is there, then fence */
   SOAK_WRITE_FLAG,   /* both without a fence */
   SOAK_READ_FLAG,
   SOAK_TICKET, /* opens the gate for the last of `value` that come, between fences */
   SOAK_TICKET_RELAXED,
   SOAK_RELEASE_SUBGROUP, /* by fences of subgroup scope */
   SOAK_ACQUIRE_SUBGROUP,
};

/* Stages that access memory, in the order of Vulkan's pipelines */
enum soak_stage {
   SOAK_STAGE_INDIRECT,
   SOAK_STAGE_INPUT, /* of indices and attributes */
   SOAK_STAGE_VERTEX,
   SOAK_STAGE_FEEDBACK,
   SOAK_STAGE_FRAGMENT,
   SOAK_STAGE_OUTPUT, /* of color attachments */
   SOAK_STAGE_COMPUTE,
   SOAK_STAGE_TRANSFER,
   SOAK_STAGES,
};
#define SOAK_ALL_STAGES ((1u << SOAK_STAGES) - 1)

/* Kinds of accesses that barriers tell apart */
enum soak_access {
   SOAK_LOADS_STORAGE,
   SOAK_LOADS_UNIFORM,
   SOAK_LOADS_SAMPLED,
   SOAK_READS_TRANSFER,
   SOAK_READS_INDEX,
   SOAK_READS_ATTRIBUTE,
   SOAK_READS_INDIRECT,
   SOAK_READS_COUNTER,
   SOAK_READS_COLOR,
   SOAK_STORES,
   SOAK_WRITES_TRANSFER,
   SOAK_WRITES_FEEDBACK, /* also of counters */
   SOAK_WRITES_COLOR,
   SOAK_ACCESSES,
};
#define SOAK_ALL_ACCESSES ((1u << SOAK_ACCESSES) - 1)

/* A dependency: bits of stages and of accesses, and which bytes of the window, or which
 * subresources of the image, the accesses are to
 */
struct soak_barrier {
   uint8_t src, dst;
   uint16_t src_access, dst_access;
   uint16_t size;        /* bytes from the window's first one on; 0: others than the window's */
   bool is_buffer;       /* for the buffer's bytes only: not for the image */
   bool is_image;        /* for these of the image's subresources only: */
   uint8_t level, layer; /* one of them, or SOAK_ALL */
   bool discards;        /* and changes their layout, from UNDEFINED */
   bool is_semaphore;    /* whose access scopes are of all stages, as far as it orders them */
};

/* Buffers, or one of the arrays in shared memory */
enum soak_memory {
   SOAK_BUFFER,
   SOAK_SHARED_WORDS,
   SOAK_SHARED_VECTORS,
   SOAK_SHARED_BYTES,
   SOAK_MEMORIES,
};

struct soak_op {
   const char *name;
   enum soak_type type;
   uint8_t size;  /* bytes of the element */
   uint8_t align; /* of its address */
   uint8_t skew;  /* the address modulo `align` */
   enum soak_access loads;
   enum soak_memory memory;
   bool is_image;
   bool is_more; /* SOAK_MORE */
};

extern const struct soak_op soak_ops[];
extern const unsigned soak_op_count;

/* Two an op that accesses: the second one for types that do two things. In the shader,
 * the sites of an op have a line of their own, and the next.
 */
#define SOAK_MAX_SITES 104
/* And behind them, one a command: SOAK_COMMAND_SITE */
#define SOAK_COMMAND_SITE(command) (SOAK_MAX_SITES - SOAK_COMMAND_COUNT + (command))
#define SOAK_FIRST_LINE            200
#define SOAK_OP_LINES              10

/* Invocation (local, group) takes part if (local - first) % SOAK_GROUP < count, the
 * group's bit is set, and the gate is open where that counts. It accesses the bytes
 * from base + (local ^ swap) * stride + group * group_stride on; in shared memory modulo
 * SOAK_WINDOW.
 */
struct soak_instruction {
   uint8_t op;
   uint8_t first, count, groups;
   uint8_t swap;
   bool gated;
   bool fragment; /* in a draw: the fragment shader's */
   bool zero;     /* that is what it stores: others read arguments of draws there */
   uint16_t base, stride, group_stride;
   uint32_t flag, value; /* of those that use a flag: which one */
};

/* How a step is separated from the next */
enum soak_separator {
   SOAK_NOTHING,
   SOAK_SUBMIT,            /* begins another one, which nothing orders */
   SOAK_BARRIER_ELSEWHERE, /* between other stages, or for other accesses */
   SOAK_BARRIER,           /* in one of several ways */
   SOAK_BARRIER_BUFFER,
   SOAK_BARRIER_ALL,
   SOAK_WAIT, /* for the submit, on the host */
   /* SOAK_SCOPES */
   SOAK_BARRIER_EXECUTION,   /* writes after reads are in order */
   SOAK_BARRIER_AVAILABLE,   /* makes writes available, and visible to nobody */
   SOAK_BARRIER_READS,       /* makes writes visible to loads from storage buffers only */
   SOAK_BARRIER_RANGE,       /* of the first half of the window */
   SOAK_BARRIER_OTHER,       /* of another buffer: orders execution */
   SOAK_SEMAPHORE,           /* which the next submit waits for */
   SOAK_SEMAPHORE_ELSEWHERE, /* in another stage */
   /* SOAK_COMMANDS: from one kind of step to the other */
   SOAK_TO_TRANSFER,
   SOAK_FROM_TRANSFER,
   SOAK_FROM_TRANSFER_EXECUTION,
   SOAK_BARRIER_RANDOM, /* soak_step::barrier; SOAK_DRAWS and SOAK_TRANSFERS */
   SOAK_SEPARATOR_COUNT,
};

/* What a step is, if it has no instructions: of `base` and `size` the bytes in the buffer */
enum soak_command {
   SOAK_DISPATCH, /* or a draw */
   SOAK_FILL,
   SOAK_UPDATE,
   SOAK_COPY_TO,   /* the buffer; from one that nobody writes */
   SOAK_COPY_FROM, /* to one that has room of its own for each step */
   /* SOAK_DRAWS */
   SOAK_COPY_RESULTS, /* of queries, SOAK_RESULT_STRIDE apart, each an access of its own */
   SOAK_FETCH_INDICES,
   SOAK_FETCH_ATTRIBUTES,
   SOAK_FETCH_COUNT,     /* of an indirect draw that draws nothing */
   SOAK_FETCH_ARGUMENTS, /* of one that draws little */
   SOAK_CAPTURE,         /* by transform feedback */
   SOAK_COUNTER_LOAD,    /* of one that begins where another has ended, */
   SOAK_COUNTER_STORE,   /* or says where it has ended, */
   SOAK_COUNTER_BOTH,    /* or both; what they capture lies elsewhere */
   /* SOAK_TRANSFERS: of `base` and `size` the columns of the image */
   SOAK_IMAGE_CLEAR, /* of a subresource */
   SOAK_IMAGE_COPY_TO,
   SOAK_IMAGE_BLIT_TO,
   SOAK_IMAGE_COPY_FROM,
   SOAK_IMAGE_RENDER,      /* that clears and stores, */
   SOAK_IMAGE_RENDER_LOAD, /* or loads and stores nothing */
   SOAK_IMAGE_LOAD,        /* one texel, always the same of a subresource, by a dispatch */
   SOAK_IMAGE_STORE,
   SOAK_IMAGE_LAYOUT, /* no step, but what soak_barrier::discards does behind one */
   SOAK_COMMAND_COUNT,
};

struct soak_step {
   struct soak_instruction code[SOAK_MAX_CODE];
   uint8_t code_count;
   uint8_t groups;
   uint8_t separator; /* enum soak_separator */
   uint8_t command;   /* enum soak_command */
   bool is_draw;      /* of `groups` instances */
   uint16_t base, size;
   struct soak_barrier barrier; /* of SOAK_BARRIER_RANDOM */
};

struct soak_program {
   uint64_t seed;
   uint16_t window; /* its first byte */
   uint8_t step_count;
   bool clean;     /* nothing races */
   bool any_order; /* the same races if what a step does happens in another order */
   struct soak_step steps[SOAK_MAX_STEPS];
};

/* Two shaders, since barriers let invocations go on in another order, and several of
 * each that differ in nothing but their sites: a false report of one program must
 * not make up for what was missed in another one. The first half is for programs that
 * are clean.
 */
#define SOAK_VARIANTS 4

enum soak_shader {
   SOAK_PLAIN,
   SOAK_BARRIERS,
   /* Of draws, which have the first and the third variant only */
   SOAK_VERTEX,
   SOAK_FRAGMENT,
   SOAK_SHADERS,
};

bool soak_is_barrier(const struct soak_instruction *code);
bool soak_has_barriers(const struct soak_program *program);
unsigned soak_variant(const struct soak_program *program, enum soak_shader shader);
/* NULL: there is no such variant. */
const char *soak_shader_name(enum soak_shader shader, unsigned variant);

/* --- soak_generate.c ------------------------------------------------------ */

/* @features: enum soak_feature; @subgroup: invocations of one */
void soak_generate(uint64_t seed, unsigned features, unsigned subgroup,
                   struct soak_program *program);
void soak_print(const struct soak_program *program);

/* --- soak_model.c --------------------------------------------------------- */

enum soak_verdict {
   SOAK_CLEAN,
   SOAK_RACES,
   SOAK_AMBIGUOUS, /* there is no one right answer */
};

struct soak_model; /* what is known of memory between two steps */

/* @features: enum soak_feature */
struct soak_model *soak_model_create(unsigned features, unsigned subgroup);
void soak_model_copy(struct soak_model *to, const struct soak_model *from);
void soak_model_destroy(struct soak_model *model);
/* Whether all that has been is in order with all that comes */
bool soak_model_is_empty(const struct soak_model *model);

/* Goes through a step, and what comes behind it. Adds to counts[shader][site], if there is
 * such, the accesses that have to be reported, those of commands to those of SOAK_PLAIN.
 * *@any_order becomes false where another order in which things happen might matter.
 */
enum soak_verdict soak_model_step(struct soak_model *model, const struct soak_program *program,
                                  const struct soak_step *step, uint64_t (*counts)[SOAK_MAX_SITES],
                                  bool *any_order);
/* Orders what has been by what stands behind @step. Counts as soak_model_step(), where a layout
 * changes.
 */
enum soak_verdict soak_model_separate(struct soak_model *model, const struct soak_step *step,
                                      uint64_t (*counts)[SOAK_MAX_SITES]);

/* --- soak_machine.c ------------------------------------------------------- */

/* Runs programs one after the other on the first device. */
void soak_run(const struct soak_program *programs, uint64_t count);
/* Does a barrier for the image stand for this subresource, a number of level and layer? */
static inline bool
soak_barrier_has(const struct soak_barrier *barrier, unsigned subresource)
{
   return (barrier->level == SOAK_ALL || barrier->level == subresource % SOAK_LEVELS) &&
          (barrier->layer == SOAK_ALL || barrier->layer == subresource / SOAK_LEVELS);
}

/* Invocations of a subgroup of that device */
unsigned soak_subgroup_size(void);
/* What becomes the push constants of a dispatch or draw: for each instruction. */
void soak_encode(const struct soak_instruction *code, uint32_t words[4]);
/* No memory has it. */
#define SOAK_NEVER 0xdeadbeefu

/* --- soak_sequence.c ------------------------------------------------------ */

/* Writes into @folder, for each shader that runs some of the programs, NAME.spv and NAME.seq,
 * which gpuval-anygpu takes with the buffers of SOAK_ANYGPU_BUFFERS. What nothing orders is
 * separated by hidden barriers: one step is over when the next one begins.
 */
void soak_write_sequences(const struct soak_program *programs, uint64_t count, const char *folder);

#endif /* SOAK_H */
