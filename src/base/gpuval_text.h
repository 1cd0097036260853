/* SPDX-License-Identifier: MIT */

/* What every text that leaves us has to mind: names, labels and source lines come
 * from the application, and so does the locale.
 */

#ifndef GPUVAL_TEXT_H
#define GPUVAL_TEXT_H

#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Length of the UTF-8 sequence that @text, which is not empty, begins with; 0: none. */
unsigned gpuval_utf8_length(const char *text);

/**
 * The character that is @length > 1 bytes long there, should it be one of these, else 0: C1
 * controls, of which some terminals take U+009B for an escape; line and paragraph
 * separators; embeddings, overrides and isolates. None is beyond U+FFFF.
 */
uint32_t gpuval_utf8_harmful(const char *text, unsigned length);

/**
 * Writes @text so that it stays on its line, and does nothing to a terminal: control
 * characters but tabs become \n and \x1b, those of Unicode and what changes the
 * direction of writing \u202e, and bytes that are no UTF-8 \xff.
 */
void gpuval_write_escaped(FILE *f, const char *text);
/** The same as a string, to be freed by free(). NULL: there is no memory. */
char *gpuval_escape(const char *text);

/**
 * Between these, printf() and its kin write numbers as the C locale does, in this
 * thread only. Not for what calls the application.
 */
locale_t gpuval_begin_c_locale(void);
void gpuval_end_c_locale(locale_t before);

/** What a noun of @count things ends with. */
static inline const char *
gpuval_plural(uint64_t count)
{
   return count == 1 ? "" : "s";
}

/** Behind the byte-order mark that editors put at the beginning of a file, if @line has one. */
static inline char *
gpuval_skip_byte_order_mark(char *line)
{
   return !strncmp(line, "\xef\xbb\xbf", 3) ? line + 3 : line;
}

#ifdef __cplusplus
}
#endif

#endif
