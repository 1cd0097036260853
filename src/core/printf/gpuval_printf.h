/* SPDX-License-Identifier: MIT */

/* Messages of DebugPrintf: the printf buffer (docs/printf.rst, "Protocol"), and text
 * from it.
 *
 * Nothing here knows a device or a driver, and nothing in the buffer is trusted.
 *
 * There are two buffers. Shaders load the address of the active one each time
 * they print (gpuval_root::printf_address). The host copies entries that are whole
 * to a queue of its own, behind them writes zeros, and when it has read all that
 * is claimed in the other buffer it takes that one back: offset 0 again, by
 * compare-and-swap, since there may be shaders that have loaded its address and
 * come late. A buffer that is empty becomes the active one. So room comes back
 * while shaders print, without the guess that nobody is writing.
 *
 * Messages of one invocation stay in order: what is in the other buffer is older
 * than what the active one has in front of an offset that was looked at before. Only between
 * taking a buffer back and making it the active one may an invocation that comes late claim
 * there and then in the one that still is: two stores of the host's, if nothing stops it.
 */

#ifndef GPUVAL_PRINTF_H
#define GPUVAL_PRINTF_H

#include <locale.h>

#include "nir_passes/gpuval_nir.h"

#include "gpuval/src/compat/gpuval_dynarray.h"
#include "util/hash_table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuval_printf_user {
   const void *owner;
   uint32_t site;
};

/** A format that is known, with what the owner wants to know of it. */
struct gpuval_printf_format {
   const struct gpuval_nir_format *nir; /* our own copy */
   const void *owner;                   /* of the users the first */
   uint32_t site;
   struct util_dynarray users; /* struct gpuval_printf_user; none: not known any more */
   bool warned;
};

struct gpuval_printf_message {
   const struct gpuval_printf_format *format;
   const char *text;           /* without the newline that may end it; no NUL in it */
   const uint32_t *invocation; /* 3 words, or NULL */
   const uint32_t *origin; /* gpuval_nir_format::is_numbered: the command's id, how many messages
                            * the invocation had printed before, and 3 words; or NULL */
};

struct gpuval_printf_buffer {
   struct gpuval_printf_header *header;
   uint32_t *words;   /* behind the header */
   uint32_t capacity; /* of these */
   uint32_t read;     /* what lies before is in the queue */
};

struct gpuval_printf {
   struct gpuval_printf_buffer buffers[2];
   uint64_t addresses[2];
   unsigned active;
   int64_t max_wait;    /* ns */
   int64_t waits_until; /* for an entry that is not whole; 0: there is none */
   uint64_t *root_address;
   bool has_atomics;        /* the host, on the buffers; else see gpuval_printf_give_back() */
   const uint32_t *printed; /* gpuval_poll::printed; NULL: the buffers are to be asked */

   struct util_dynarray queue; /* uint32_t: entries, in order */
   size_t queue_read;          /* words of it that are done */

   struct hash_table_u64 *formats; /* id -> struct gpuval_printf_format */
   locale_t c_locale;
   uint64_t lost; /* messages that the host has dropped */
   bool warned_id, warned_collision, warned_entry;

   void (*message)(void *data, const struct gpuval_printf_message *message);
   void *data;
};

/**
 * @maps: two buffers of @size bytes, zeroed, which shaders find at @addresses;
 * *root_address becomes that of the active one. Memory is @mem_ctx's.
 */
void gpuval_printf_init(struct gpuval_printf *printf, void *mem_ctx, void *const maps[2],
                        const uint64_t addresses[2], uint64_t size, uint64_t *root_address);

void gpuval_printf_finish(struct gpuval_printf *printf);

/** An id that another string has gets a warning. */
void gpuval_printf_add_format(struct gpuval_printf *printf, const struct gpuval_nir_format *format,
                              const void *owner, uint32_t site);

/** @owner is no more. Messages that are still in a buffer must have been read. */
void gpuval_printf_remove_format(struct gpuval_printf *printf, uint64_t id, const void *owner);

/**
 * Hands new messages to gpuval_printf::message. @idle: no shader runs, so all that
 * is there is read, whole or not. Stops after a while, and returns true if there may
 * be more.
 */
bool gpuval_printf_drain(struct gpuval_printf *printf, bool idle);

/**
 * Without atomics a buffer cannot be taken back as long as a shader may have its address.
 * Nobody has that of the buffer which is not active: what is in it is read, and it is empty
 * then. Returns whether it should become the active one, which gpuval_printf_turn() does:
 * work that begins later gets its address only.
 */
bool gpuval_printf_give_back(struct gpuval_printf *printf);
void gpuval_printf_turn(struct gpuval_printf *printf);

/** Has anything ever been printed? Reads no buffer that shaders write, if there is printed. */
bool gpuval_printf_is_used(const struct gpuval_printf *printf);

/** Has anything been printed since it was drained? */
bool gpuval_printf_has_news(const struct gpuval_printf *printf);

#define GPUVAL_PRINTF_MAX_PROBLEM 160

/**
 * Appends the text of a message to @text, an array of char, without a NUL.
 *
 * What does not match is printed in some other way, and the first such is described
 * in @problem, which else stays empty.
 */
void gpuval_printf_append_text(struct util_dynarray *text, const struct gpuval_nir_format *format,
                               const uint32_t *payload, unsigned num_words,
                               char problem[GPUVAL_PRINTF_MAX_PROBLEM]);

/** `.64bit_arguments`: 64 arguments from @first on, as a mask. */
uint64_t gpuval_printf_64bit_arguments(const struct gpuval_nir_format *format, unsigned first);

#ifdef __cplusplus
}
#endif

#endif
