/* api_device.c: entry points of devices and contexts. */
#include "base/structs.h"
#include "base/text.h"
#include "tune/tune.h"
#include "runtime/key.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN_FLAGS (PROFK_TRACE | PROFK_DEBUG_SYNC)

profk_status profk_device_get(uint32_t number, profk_device *ret)
{
    profk_status st = PROFK_OK;
    struct profk__device device;

    if (ret == NULL) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "profk_device is NULL");
        goto done;
    }
    TRY(profk__device_get(number, &device));
    TRY(profk__struct_out(ret, &device.facts, sizeof device.facts, sizeof device.facts, "profk_device"));
done:
    return st;
}

profk_status profk_device_find(const char *spec, profk_device *ret)
{
    profk_status st = PROFK_OK;
    struct profk__device device;

    if (ret == NULL) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "profk_device is NULL");
        goto done;
    }
    TRY(profk__device_find(spec, &device));
    TRY(profk__struct_out(ret, &device.facts, sizeof device.facts, sizeof device.facts, "profk_device"));
done:
    return st;
}

profk_status profk__options_check(const profk_options *options, profk_options *ret)
{
    profk_status st = PROFK_OK;
    profk_options known = {.struct_size = sizeof known};

    if (options != NULL)
        TRY(profk__struct_in(&known, sizeof known, sizeof known, options, "profk_options"));
    if ((known.flags & ~(uint32_t)KNOWN_FLAGS) != 0 || known.reserved != 0) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "profk_options: unknown flags %#x, or reserved is not 0",
                         (unsigned)known.flags);
        goto done;
    }
    *ret = known;
done:
    return st;
}

static profk_status check_device_of(cl_context cl, cl_device_id device)
{
    profk_status st = PROFK_OK;
    cl_device_id *ids = NULL;
    size_t nbytes = 0, found = 0;

    TRY_CL(clGetContextInfo(cl, CL_CONTEXT_DEVICES, 0, NULL, &nbytes));
    ids = malloc(nbytes > 0 ? nbytes : 1);
    if (ids == NULL) {
        st = profk__fail(PROFK_ERR_HOST_MEMORY, "no memory to list a context's devices");
        goto done;
    }
    TRY_CL(clGetContextInfo(cl, CL_CONTEXT_DEVICES, nbytes, ids, NULL));
    for (size_t i = 0; i < nbytes / sizeof *ids; i++)
        found += ids[i] == device;
    if (found == 0)
        st = profk__fail(PROFK_ERR_ARGUMENT, "the device does not belong to the OpenCL context");
done:
    free(ids);
    return st;
}

/* The memory of a context, NULL for none. */
static void free_context(profk_context *ctx)
{
    if (ctx == NULL)
        return;
    profk__store_close(&ctx->store);
    free(ctx->device_key);
    free(ctx);
}

/* What a device's entries in the store have in common, to be freed; NULL if nothing can be stored for it. */
static char *make_device_key(cl_device_id device)
{
    struct profk__key_facts facts;
    char room[PROFK__KEY_NBYTES], *key;
    struct profk__text text = profk__text_in(room, sizeof room);

    if (!profk__key_read(device, &facts))
        return NULL;
    profk__key_add_device(&text, &facts);
    key = malloc(text.length + 1);
    if (key != NULL)
        memcpy(key, room, text.length + 1);
    return key;
}

/* cl is retained by the new context. */
static profk_status make_context(cl_context cl, const struct profk__device *device, const profk_options *options,
                                 profk_context **ret)
{
    profk_status st = PROFK_OK;
    profk_context *ctx = calloc(1, sizeof *ctx);

    if (ctx == NULL) {
        st = profk__fail(PROFK_ERR_HOST_MEMORY, "no memory for a context");
        goto done;
    }
    ctx->device = *device;
    ctx->tuned = profk__tuned_builtin(device);
    ctx->options = *options;
    (void)profk__store_open(&ctx->store, &ctx->options); /* trouble with the store fails no call */
    ctx->options.cache_dir = NULL; /* the caller's text need not outlive the call */
    if (ctx->store.folder != NULL)
        ctx->device_key = make_device_key(device->facts.id);
    TRY(profk__lock_init(&ctx->lock));
    st = profk__programs_init(&ctx->programs, &ctx->store, ctx->device_key);
    if (st != PROFK_OK) {
        profk__lock_fini(&ctx->lock);
        goto done;
    }
    st = profk__cl_check(clRetainContext(cl), "clRetainContext");
    if (st != PROFK_OK) {
        profk__programs_fini(&ctx->programs);
        profk__lock_fini(&ctx->lock);
        goto done;
    }
    ctx->cl = cl;
    profk__tuned_load(ctx);
    *ret = ctx;
    ctx = NULL;
done:
    free_context(ctx);
    return st;
}

profk_status profk_context_create(cl_context cl, cl_device_id device, const profk_options *options, profk_context **ret)
{
    profk_status st = PROFK_OK;
    struct profk__device facts;
    profk_options known;

    if (ret != NULL)
        *ret = NULL;
    if (ret == NULL || cl == NULL || device == NULL) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "profk_context_create: %s is NULL",
                         ret == NULL ? "ret" : cl == NULL ? "cl" : "device");
        goto done;
    }
    TRY(profk__options_check(options, &known));
    TRY(check_device_of(cl, device));
    TRY(profk__device_read(device, &facts));
    TRY(profk__device_check(&facts));
    TRY(make_context(cl, &facts, &known, ret));
done:
    return st;
}

profk_status profk_context_create_default(const char *spec, const profk_options *options, profk_context **ret)
{
    profk_status st = PROFK_OK;
    struct profk__device device;
    profk_options known;
    cl_context cl = NULL;
    cl_int code = CL_SUCCESS;

    if (ret == NULL) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "profk_context_create_default: ret is NULL");
        goto done;
    }
    *ret = NULL;
    TRY(profk__options_check(options, &known));
    TRY(profk__device_find(spec, &device));
    cl = clCreateContext(NULL, 1, &device.facts.id, NULL, NULL, &code);
    TRY(profk__cl_check(code, "clCreateContext"));
    TRY(make_context(cl, &device, &known, ret));
done:
    profk__release_context(cl);
    return st;
}

void profk_context_handles(const profk_context *ctx, cl_context *cl_ret, cl_device_id *device_ret)
{
    if (cl_ret != NULL)
        *cl_ret = ctx != NULL ? ctx->cl : NULL;
    if (device_ret != NULL)
        *device_ret = ctx != NULL ? ctx->device.facts.id : NULL;
}

const char *profk_context_message(const profk_context *ctx)
{
    (void)ctx; /* messages are kept per thread, so that one thread never reads another's */
    return profk__message();
}

void profk_context_destroy(profk_context *ctx)
{
    if (ctx == NULL)
        return;
    profk__programs_fini(&ctx->programs);
    profk__lock_fini(&ctx->lock);
    profk__release_context(ctx->cl);
    free_context(ctx);
}
