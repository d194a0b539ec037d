/*
 * scenarios.h: pieces of a plan's life that the fault tests run while something is made to fail, and how they ended.
 *
 * What fails, and how, is the test program's business; it also says by a callback how faults are ended.  A scenario
 * keeps the first failure that it meets, ends the faults, looks at what the failed call left in its outputs and makes
 * the same call again.
 */
#ifndef PROFK_TESTS_SCENARIOS_H
#define PROFK_TESTS_SCENARIOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profk.h"
#include "support/fixture.h"

/* What outputs hold: what they held before; the right answer, certified; what is said not to be valid; none of
 * these. */
enum verdict { UNTOUCHED, RIGHT, NOT_VALID, WRONG };

/* How a run ended. */
struct ending {
    profk_status status;
    char message[4200];
    enum verdict verdict; /* of the failed call's outputs */
    bool recovered;       /* the same call succeeded behind the failure */
};

enum {
    QUERIES_MAY_REFUSE = 1, /* a device or buffer that cannot be asked is refused or taken for careful */
    BUILDS_ONLY = 2,        /* only calls that concern programs: others fail elsewhere, faster */
    LOADS = 4,              /* programs come from disk: what fails is a miss, and they are built */
    STORES_ONLY = 8         /* only calls that fetch binaries for the disk: what fails is not stored */
};

struct scenario {
    const char *name;
    void (*run)(struct ending *o);
    uint32_t flags;
};

extern const struct scenario scenarios[];
extern const size_t scenario_count;

extern struct fixture fixture;

/* Opens fixture and makes inputs and outputs; the status is fixture_open()'s.  end_faults is called before a scenario
 * makes its second try. */
int scenarios_open(void (*end_faults)(void));
void scenarios_close(void);

/* A main(): runs the tests between these two under the layer, whose log is at scenarios_log.  Faults end by themselves
 * before a second try. */
extern char scenarios_log[512];
int scenarios_under_layer(const char *name, int (*run)(void));

/* The selection of all scenarios; k is SCENARIO_K where the outputs are to be judged. */
profk_problem problem_of(uint64_t k, uint32_t route);
enum { SCENARIO_N = 5000, SCENARIO_K = 10 };

/* Runs a plan of it into the scenarios' outputs; judge_outputs() then says what they hold. */
profk_status execute(profk_plan *plan, cl_event *event);
enum verdict judge_outputs(void);

/* Before each run. */
void fill_outputs(void);

/* Keeps a failure and ends the faults; ret is what the failed call stored in its *ret, which must be NULL. */
void note(struct ending *o, profk_status status, const void *ret);

/* Reference counts of what the caller owns. */
struct references {
    cl_uint context, queue, input, outputs[OUTPUTS], workspace;
};

struct references read_references(void);

/* The same once they have not changed for a while. */
struct references settled_references(void);

/* A driver may let go of a finished command's objects a little late: what is to be gone gets another moment. */
void rest_a_moment(void);

/* A selection from host memory judges its outputs itself: it reads no buffer of the test's. */
void run_host(struct ending *o);
void run_build(struct ending *o);

#endif
