/* A test runtime: one runtime of a test, `rt` in Lua.
 *
 * A test case is one test that runs: a world (host/world.h) and the runtimes in
 * it. A test runtime is a runtime of that world with its Lua objects
 * (script/lua_runtime.h), and what a test asks for: which errors were reported,
 * which rules were violated, how often a node ran. It ends with rt:restart() or
 * with its test case. */

#ifndef LUATEST_TEST_RUNTIME_H
#define LUATEST_TEST_RUNTIME_H

#include "host/world.h"
#include "script/lua_runtime.h"

struct checks;
struct task_kind;

/* One test that runs. */
struct test_case {
    struct heddle *heddle;
    struct world *world;
    uint64_t seed;
    uint64_t number;       /* no other test case of this process has it */
    struct list runtimes;  /* struct test_runtime */
    struct checks *checks; /* its `t`, or NULL: luatest/checks.h */
    struct buf faults;     /* what fails it at its end, a line each; */
    struct buf notes;      /* and what is only told */

    /* The path of a folder of that name for an engine on files, made if there
     * is none: false if it cannot be had. NULL: there are none here. */
    bool (*folder)(void *ctx, const char *name, struct buf *path);
    void *folder_ctx;
};

/* -- Test runtimes ------------------------------------------------------- */

struct test_runtime_options {
    struct world_store *store;
    struct value spaces; /* an array of strings; absent: one */
    struct value user;   /* string or absent */
    enum events_lanes lanes;
    uint32_t hops; /* 0: the default */
    bool no_idempotency_check;
    bool no_persistence;
    bool trace;
};

struct test_runtime {
    struct list_node node; /* in the test case's runtimes */
    struct lua_runtime lua;
    struct lua_runtime_host host;
    struct test_case *test_case;
    struct world_runtime *one;
    struct test_runtime_options options; /* with references of its own */
    struct list rejections;
    struct trace *trace;       /* or NULL */
    struct resuming *resuming; /* luatest/runtimes.c; or NULL */
    struct subscriber subscriber;

    /* What was reported: arrays of objects. */
    struct value errors;
    struct value violations;
    struct value unasked; /* of the errors: luatest/checks.h, checks-2 */
    bool violations_were_read;

    struct value calls; /* of host functions: an array of objects */

    struct test_tasks *tasks; /* luatest/test_tasks.c */

    uint64_t reverted; /* commits, */
    uint64_t loads;    /* and answers with documents that were asked for */
};

/* A new one in the test case. The options are borrowed. */
MUST_CHECK enum err test_runtime_new(struct test_case *test_case,
                                     const struct test_runtime_options *options,
                                     struct test_runtime **out,
                                     struct err_detail *detail);

/* The test has asked for errors with this message; NULL: for all. */
void test_runtime_asked(struct test_runtime *rt, const char *message);

/* Everything that can be done at this time. */
void test_runtime_settle(const struct test_runtime *rt);

/* The end of its runtime, as in a crash, and its own. */
void test_runtime_end(struct test_runtime *rt);

static inline struct test_runtime *test_runtime_of(struct lua_runtime *lua)
{
    return CONTAINER_OF(lua, struct test_runtime, lua);
}

static inline struct sched *test_runtime_sched(const struct test_runtime *rt)
{
    return rt->one->runtime.sched;
}

#endif
