/* SPDX-License-Identifier: MIT */

/* llvmpipe's cache belongs to a screen, and functions to the process: so each look opens the cache
 * for itself, which is hardly noticed beside loading code, of which there are a handful a process.
 */

#include "gpuval_lvp_code_cache.h"

#include "gallivm/lp_bld_init.h"
#include "gallivm/lp_bld_misc.h"

#include <llvm-c/ExecutionEngine.h>

#include "util/disk_cache.h"
#include "util/hex.h"
#include "util/mesa-sha1.h"
#include "util/u_cpu_detect.h"

/* As lp_disk_cache_create() has it. Returns NULL where there is no cache. */
static struct disk_cache *
open_cache(void)
{
   const unsigned flags = gallivm_get_perf_flags();
   unsigned char sha1[SHA1_DIGEST_LENGTH];
   char id[SHA1_DIGEST_STRING_LENGTH];
   struct mesa_sha1 hash;

   _mesa_sha1_init(&hash);
   if (!disk_cache_get_function_identifier(open_cache, &hash) ||
       !disk_cache_get_function_identifier(LLVMLinkInMCJIT, &hash))
      return NULL;
   _mesa_sha1_update(&hash, &flags, sizeof(flags));
   _mesa_sha1_update(&hash, util_get_cpu_caps(), offsetof(struct util_cpu_caps_t, num_L3_caches));
   _mesa_sha1_final(&hash, sha1);
   mesa_bytes_to_hex(id, sha1, sizeof(sha1));
   return disk_cache_create("gpuval", id, 0);
}

bool
gpuval_lvp_find_code(const void *key, size_t size, struct lp_cached_code *code)
{
   struct disk_cache *cache = open_cache();
   cache_key hash;

   if (!cache)
      return false;
   disk_cache_compute_key(cache, key, size, hash);
   code->data = disk_cache_get(cache, hash, &code->data_size);
   if (!code->data)
      code->data_size = 0;
   disk_cache_destroy(cache);
   return code->data;
}

void
gpuval_lvp_add_code(const void *key, size_t size, const struct lp_cached_code *code)
{
   struct disk_cache *cache = code->data_size && !code->dont_cache ? open_cache() : NULL;
   cache_key hash;

   if (!cache)
      return;
   disk_cache_compute_key(cache, key, size, hash);
   disk_cache_put(cache, hash, code->data, code->data_size, NULL);
   disk_cache_destroy(cache);
}
