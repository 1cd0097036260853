/* SPDX-License-Identifier: MIT */

#include "core/events/gpuval_check.h"

#include "base/gpuval_options.h"
#include "util/macros.h"

const struct gpuval_check_host gpuval_host_none = {0};
const struct gpuval_words gpuval_words_none = {0};

#define CHECK(id, name, sets, needs, early, pass, host, summary)                                   \
   [GPUVAL_CHECK_##id] = &gpuval_host_##host,
#define KIND(id, check, name, words, sentence, text)
static const struct gpuval_check_host *const hosts[GPUVAL_CHECK_COUNT] = {
#include "base/gpuval_check_table.h"
};

#define CHECK(id, name, sets, needs, early, pass, host, summary)
#define KIND(id, check, name, words, sentence, text) [GPUVAL_KIND_##id] = &gpuval_words_##words,
static const struct gpuval_words *const words_of_kinds[GPUVAL_KIND_COUNT] = {
#include "base/gpuval_check_table.h"
};

const struct gpuval_words *
gpuval_words_of_kind(enum gpuval_kind kind)
{
   return words_of_kinds[kind];
}

bool
gpuval_device_init_checks(struct gpuval_device *device)
{
   const struct gpuval_check_host *done = NULL;

   for (unsigned i = 0; i < GPUVAL_CHECK_COUNT; i++) {
      if (!hosts[i]->init || hosts[i] == done || !gpuval_options_may_check(i))
         continue;
      if (!hosts[i]->init(device))
         return false;
      done = hosts[i];
   }
   return true;
}

void
gpuval_device_finish_checks(struct gpuval_device *device)
{
   for (unsigned i = GPUVAL_CHECK_COUNT; i-- > 0;) {
      bool is_done = i + 1 < GPUVAL_CHECK_COUNT && hosts[i] == hosts[i + 1];
      if (hosts[i]->finish && !is_done)
         hosts[i]->finish(device);
   }
}
