/* SPDX-License-Identifier: MIT */

#include "gpuval_names.h"

#include "util/ralloc.h"
#include "util/simple_mtx.h"

static simple_mtx_t mutex = SIMPLE_MTX_INITIALIZER;

void
gpuval_names_lock(void)
{
   simple_mtx_lock(&mutex);
}

void
gpuval_names_unlock(void)
{
   simple_mtx_unlock(&mutex);
}

char *
gpuval_object_name(void *mem_ctx, const struct vk_object_base *object)
{
   simple_mtx_lock(&mutex);
   char *name = object->object_name ? ralloc_strdup(mem_ctx, object->object_name) : NULL;
   simple_mtx_unlock(&mutex);
   return name;
}
