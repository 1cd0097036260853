/* SPDX-License-Identifier: MIT */

#include "gpuval_zstd.h"

#include <errno.h>
#include <stdlib.h>

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#define FIRST_BYTE 0x28 /* of a frame; JSON never begins with it */

struct zstd {
   FILE *f;
#ifdef HAVE_ZSTD
   ZSTD_DStream *stream;
   ZSTD_inBuffer in;
   size_t left; /* of the frame; 0: it is complete */
   char buffer[1 << 17];
#endif
};

static ssize_t
read_stream(void *cookie, char *text, size_t size)
{
#ifdef HAVE_ZSTD
   struct zstd *zstd = cookie;
   ZSTD_outBuffer out = {text, size};

   while (!out.pos) {
      if (zstd->in.pos == zstd->in.size) {
         zstd->in =
            (ZSTD_inBuffer){zstd->buffer, fread(zstd->buffer, 1, sizeof(zstd->buffer), zstd->f)};
         if (!zstd->in.size && (ferror(zstd->f) || !zstd->left))
            return ferror(zstd->f) ? -1 : 0;
      }
      /* Without input it still has what it could not write before. */
      size_t in_size = zstd->in.size;
      zstd->left = ZSTD_decompressStream(zstd->stream, &out, &zstd->in);
      if (ZSTD_isError(zstd->left) || (!in_size && !out.pos)) {
         errno = EBADMSG;
         return -1;
      }
   }
   return out.pos;
#else
   errno = ENOTSUP;
   return -1;
#endif
}

static int
close_stream(void *cookie)
{
   struct zstd *zstd = cookie;

#ifdef HAVE_ZSTD
   ZSTD_freeDStream(zstd->stream);
#endif
   int status = fclose(zstd->f);
   free(zstd);
   return status;
}

FILE *
gpuval_open_zstd(FILE *f)
{
   int first = getc(f);

   if (first != FIRST_BYTE) {
      if (first != EOF)
         ungetc(first, f);
      return f;
   }
   ungetc(first, f);

   struct zstd *zstd = calloc(1, sizeof(*zstd));
   if (!zstd)
      return NULL;
   zstd->f = f;
#ifdef HAVE_ZSTD
   zstd->stream = ZSTD_createDStream();
   if (!zstd->stream) {
      free(zstd);
      return NULL;
   }
#endif
   FILE *stream =
      fopencookie(zstd, "r", (cookie_io_functions_t){.read = read_stream, .close = close_stream});
   if (!stream) {
#ifdef HAVE_ZSTD
      ZSTD_freeDStream(zstd->stream);
#endif
      free(zstd);
   }
   return stream;
}
