/*
 * test_lost.c: the device, or its whole driver, is gone from some call on and does not come back.
 *
 * support/layer.c makes every OpenCL call fail from a chosen one on.  That point moves through the life of a plan:
 * making it, building its kernels, its first run.  Wherever it is,
 *   - the run fails with a message, or it was over by then and its answer is right,
 *   - whatever is tried afterwards on the same plan and context fails, too, with PROFK_ERR_DEVICE_LOST where OpenCL
 *     said so: nothing succeeds, nothing hangs,
 *   - everything can be destroyed, and nothing is left referenced,
 *   - where the trouble passes, the same plan gives the right answer.
 */
#define _POSIX_C_SOURCE 200809L /* setenv, alarm */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault/scenarios.h"
#include "support/layer_log.h"

enum { POINTS = 16, HANG_SECONDS = 120 };

/* S = n and t = k - 1 miss for certain. */
static const profk_tuning six_misses = {.struct_size = sizeof six_misses, .S = SCENARIO_N, .t = SCENARIO_K - 1};

static const struct life {
    const char *name;
    uint32_t route, flags;
    const profk_tuning *tuning;
    bool is_fresh; /* a context of its own that keeps no kernels: they are built */
} lives[] = {
    {"route profk", PROFK_ROUTE_PROFK, 0, NULL, false},
    {"route profk, asynchronous", PROFK_ROUTE_PROFK, PROFK_ASYNC, NULL, false},
    {"route rows", PROFK_ROUTE_ROWS, 0, NULL, false},
    {"route full", PROFK_ROUTE_FULL, 0, NULL, false},
    {"six misses, then full", PROFK_ROUTE_PROFK, 0, &six_misses, false},
    {"kernels are built", PROFK_ROUTE_PROFK, 0, NULL, true},
    {"kernels of full are built late", PROFK_ROUTE_PROFK, 0, &six_misses, true},
};

/* What is lost, as the layer calls it, and the code that OpenCL gives for it. */
static const struct loss {
    const char *what;
    int code;
} losses[] = {
    {"DEVICE", CL_DEVICE_NOT_AVAILABLE},
    {"DEVICE", CL_OUT_OF_RESOURCES},
    {"ALL", CL_DEVICE_NOT_AVAILABLE},
    {"ALL", CL_OUT_OF_RESOURCES},
};

static uint64_t calls_so_far(void)
{
    static struct layer_log log;
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &fixture.device, NULL, NULL, &code);

    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clReleaseContext(context), CL_SUCCESS); /* the layer writes its log */
    assert_true(layer_log_read(&log, scenarios_log));
    return layer_log_number(&log, "calls.all");
}

static profk_context *open_context(const struct life *life)
{
    static const profk_options nowhere = {.struct_size = sizeof nowhere, .cache_dir = ""};
    profk_context *ctx = fixture.ctx;

    if (life->is_fresh)
        assert_int_equal(profk_context_create(fixture.cl, fixture.device, &nowhere, &ctx), PROFK_OK);
    return ctx;
}

/* Makes the plan if there is none, runs it and waits for the end. */
static profk_status live(const struct life *life, profk_context *ctx, profk_plan **plan)
{
    const profk_problem problem = problem_of(SCENARIO_K, life->route);
    profk_stats stats = {.struct_size = sizeof stats};
    profk_status status = PROFK_OK;

    if (!*plan)
        status = profk_plan_create(ctx, &problem, life->tuning, life->flags, plan);
    if (status == PROFK_OK)
        status = execute(*plan, NULL);
    return status == PROFK_OK ? profk_plan_stats(*plan, &stats) : status;
}

/* Whether a failure is reported as it should be. */
static bool is_told(const struct loss *loss, profk_status status)
{
    if (status == PROFK_OK || profk_context_message(NULL)[0] == '\0')
        return false;
    if (strcmp(loss->what, "DEVICE") != 0)
        return true; /* a queue or a buffer that cannot be asked may be refused before */
    return loss->code == CL_DEVICE_NOT_AVAILABLE ? status == PROFK_ERR_DEVICE_LOST
                                                 : status == PROFK_ERR_OPENCL || status == PROFK_ERR_BUILD;
}

/* What is wrong with the life of a plan whose nth OpenCL call is the first to fail, NULL if nothing. */
static const char *lose(const struct life *life, const struct loss *loss, uint64_t nth)
{
    profk_context *ctx = open_context(life);
    profk_plan *plan = NULL;
    const char *wrong = NULL;
    char fault[64];

    fill_outputs();
    snprintf(fault, sizeof fault, "%s:%" PRIu64 ":%d", loss->what, calls_so_far() + nth, loss->code);
    setenv("FAULT", fault, 1);
    const profk_status first = live(life, ctx, &plan);
    if (first != PROFK_OK && !is_told(loss, first))
        wrong = "the failure is not told";
    for (int again = 0; again < 2 && !wrong; again++)
        if (!is_told(loss, live(life, ctx, &plan)))
            wrong = "a later call on the lost device does not fail, or not well";
    unsetenv("FAULT");
    const enum verdict verdict = judge_outputs();
    if (!wrong && (first == PROFK_OK ? verdict != RIGHT : verdict == WRONG))
        wrong = "a wrong answer is said to be right";
    fill_outputs();
    if (!wrong && (live(life, ctx, &plan) != PROFK_OK || judge_outputs() != RIGHT))
        wrong = "the plan does not work any more although the device does";
    profk_plan_destroy(plan);
    if (ctx != fixture.ctx)
        profk_context_destroy(ctx);
    return wrong;
}

/* OpenCL calls of a life without a fault; before it is counted a first one compiles what the shared context keeps. */
static uint64_t calls_of(const struct life *life)
{
    uint64_t calls = 0;

    for (int run = 0; run < 2; run++) {
        profk_context *ctx = open_context(life);
        profk_plan *plan = NULL;

        const uint64_t before = calls_so_far();

        assert_int_equal(live(life, ctx, &plan), PROFK_OK);
        calls = calls_so_far() - before - 1;      /* calls_so_far() itself makes a context */
        assert_int_equal(judge_outputs(), RIGHT); /* as lose() ends: a driver may keep the last command */
        profk_plan_destroy(plan);
        if (ctx != fixture.ctx)
            profk_context_destroy(ctx);
    }
    return calls;
}

/* Everything is let go of, in a moment at least. */
static bool let_go(const struct references *idle)
{
    for (int tries = 0; tries < 100; tries++) {
        const struct references now = read_references();

        if (memcmp(&now, idle, sizeof now) == 0)
            return true;
        rest_a_moment();
    }
    return false;
}

static void nothing_succeeds_on_a_lost_device(void **state)
{
    unsigned faults = 0, runs = 0;

    (void)state;
    for (size_t l = 0; l < sizeof lives / sizeof lives[0]; l++) {
        const uint64_t calls = calls_of(&lives[l]);
        const struct references idle = settled_references();

        for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
            for (uint64_t point = 0; point < POINTS; point++, runs++) {
                const uint64_t nth = 1 + point * (calls - 1) / (POINTS - 1);
                const char *wrong;

                alarm(HANG_SECONDS); /* a hang ends the program */
                wrong = lose(&lives[l], &losses[i], nth);
                if (!wrong && !let_go(&idle))
                    wrong = "something is still referenced";
                if (wrong)
                    fprintf(stderr, "FAILED: %s: %s lost from call %" PRIu64 " of %" PRIu64 " on, code %d: %s\n",
                            lives[l].name, losses[i].what, nth, calls, losses[i].code, wrong);
                faults += wrong != NULL;
            }
    }
    alarm(0);
    printf("%u losses\n", runs);
    assert_int_equal(faults, 0);
}

/* ---- the program ---- */

static int run(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_succeeds_on_a_lost_device)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return scenarios_under_layer("test_lost", run);
}
