/* task: calls that wait, go on with values or errors, and are cancelled. */

#include "script/task.h"

#include "unit/script/kit.h"

static int wait_for_host(lua_State *L)
{
    return script_wait(L);
}

static int add_wait(lua_State *L)
{
    struct kit *kit = lua_touserdata(L, 1);
    script_function_push(L, kit->environment);
    lua_pushcfunction(L, wait_for_host);
    lua_setfield(L, -2, "wait");
    return 0;
}

static void init(struct kit *kit, const struct script_config *config)
{
    kit_init(kit, config);
    EXPECT_EQ(script_protect(kit->script, add_wait, kit, 0, &kit->error),
              SCRIPT_FINE);
}

static enum script_cause start(struct kit *kit,
                               const char *code,
                               struct script_task **task)
{
    struct script_function function;
    *task = NULL;
    if (!kit_load(kit, code, &function)) {
        return SCRIPT_SYNTAX;
    }
    const struct script_call call = {.function = function,
                                     .take = kit_take,
                                     .ctx = kit};
    const enum script_cause cause =
        script_task_start(kit->script, &call, task, &kit->error);
    script_function_release(kit->script, &function);
    return cause;
}

static int push_text(lua_State *L, void *ctx)
{
    lua_pushstring(L, ctx);
    lua_pushinteger(L, 5);
    return 2;
}

static enum script_cause resume(struct kit *kit,
                                struct script_task *task,
                                char *text)
{
    return script_task_resume(task, push_text, text, &kit->error);
}

TEST(a_task_that_does_not_wait_is_a_call)
{
    struct kit kit;
    struct script_task *task;
    init(&kit, NULL);
    EXPECT_EQ(start(&kit, "return 1, 2", &task), SCRIPT_FINE);
    EXPECT(task == NULL);
    EXPECT_TEXT(buf_text(&kit.result), "1 2");
    EXPECT_EQ(start(&kit, "\nerror('x')", &task), SCRIPT_ERROR);
    EXPECT_TEXT(buf_text(&kit.error.message), "x");
    EXPECT_EQ(kit.error.line, 2);
    EXPECT_CONTAINS(buf_text(&kit.error.traceback), "test.lua:2");
    kit_expect_health(&kit);
    kit_release(&kit);
}

TEST(a_task_waits_and_goes_on_with_values)
{
    struct kit kit;
    struct script_task *task;
    init(&kit, NULL);
    EXPECT_EQ(start(&kit,
                    "local a, n = wait('ignored')\n"
                    "local ok, b = pcall(function() return (wait()) end)\n"
                    "return a, n, ok, b",
                    &task),
              SCRIPT_PENDING);
    kit_expect_health(&kit);
    char first[] = "first";
    char second[] = "second";
    EXPECT_EQ(resume(&kit, task, first), SCRIPT_PENDING);
    buf_clear(&kit.result);
    EXPECT_EQ(resume(&kit, task, second), SCRIPT_FINE);
    EXPECT_TEXT(buf_text(&kit.result), "first 5 true second");
    kit_expect_health(&kit);
    kit_release(&kit);
}

TEST(a_task_goes_on_with_an_error)
{
    struct kit kit;
    struct script_task *task;
    init(&kit, NULL);
    EXPECT_EQ(start(&kit, "\n\nwait()", &task), SCRIPT_PENDING);
    EXPECT_EQ(script_task_fail(task, "no network", &kit.error), SCRIPT_ERROR);
    EXPECT_TEXT(buf_text(&kit.error.message), "no network");
    EXPECT_EQ(kit.error.line, 3);

    EXPECT_EQ(start(&kit, "return pcall(wait)", &task), SCRIPT_PENDING);
    buf_clear(&kit.result);
    EXPECT_EQ(script_task_fail(task, "no network", &kit.error), SCRIPT_FINE);
    EXPECT_TEXT(buf_text(&kit.result), "false no network");
    kit_release(&kit);
}

TEST(a_cancelled_task_closes_what_it_holds)
{
    struct kit kit;
    struct script_task *task;
    init(&kit, NULL);
    EXPECT_EQ(start(&kit,
                    "local x <close> = setmetatable({}, {__close = function()\n"
                    "  closed = true\n"
                    "end})\n"
                    "wait()",
                    &task),
              SCRIPT_PENDING);
    script_task_cancel(task);
    EXPECT_TEXT(kit_run(&kit, "return closed"), "true");
    EXPECT_EQ(start(&kit,
                    "local x <close> = setmetatable({}, {__close = function()\n"
                    "  while true do end\n"
                    "end})\n"
                    "wait()",
                    &task),
              SCRIPT_PENDING);
    script_task_cancel(task);
    kit_expect_health(&kit);
    kit_release(&kit);
}

TEST(a_stretch_of_a_task_has_a_budget)
{
    struct kit kit;
    struct script_task *task;
    init(&kit, &(struct script_config){.steps = 50000});
    EXPECT_EQ(start(&kit,
                    "for i = 1, 5 do for j = 1, 20000 do end wait() end\n"
                    "local x <close> = setmetatable({}, {__close = function()\n"
                    "  while true do end\n"
                    "end})\n"
                    "pcall(function() while true do end end)",
                    &task),
              SCRIPT_PENDING);
    char text[] = "";
    for (int i = 0; i < 4; i++) {
        EXPECT_EQ(resume(&kit, task, text), SCRIPT_PENDING);
    }
    EXPECT_EQ(resume(&kit, task, text), SCRIPT_STEPS_OUT);
    EXPECT_EQ(kit.error.line, 5);
    kit_expect_health(&kit);
    kit_release(&kit);
}

TEST(only_the_task_itself_can_wait)
{
    struct kit kit;
    struct script_task *task;
    init(&kit, NULL);
    EXPECT_TEXT(kit_run(&kit, "wait()"),
                "error: test.lua:1: only a task can wait here");
    EXPECT_EQ(start(&kit, "return coroutine.wrap(wait)()", &task),
              SCRIPT_ERROR);
    EXPECT_CONTAINS(buf_text(&kit.error.message),
                    "a coroutine cannot wait: only the task itself can");
    EXPECT_EQ(start(&kit, "coroutine.yield(1)", &task), SCRIPT_ERROR);
    EXPECT_TEXT(buf_text(&kit.error.message),
                "attempt to yield from outside a coroutine");
    EXPECT_EQ(start(&kit, "table.sort({2, 1}, wait)", &task), SCRIPT_ERROR);
    EXPECT_CONTAINS(buf_text(&kit.error.message), "yield across a C-call");
    kit_expect_health(&kit);
    kit_release(&kit);
}

TEST(nobody_else_resumes_a_task)
{
    struct kit kit;
    struct script_task *task;
    init(&kit, NULL);
    EXPECT_EQ(start(&kit,
                    "co = coroutine.running()\n"
                    "local again = coroutine.resume(co)\n"
                    "wait()\n"
                    "return again",
                    &task),
              SCRIPT_PENDING);
    EXPECT_CONTAINS(kit_run(&kit, "return coroutine.resume(co)"),
                    "false cannot resume");
    EXPECT_CONTAINS(kit_run(&kit, "return pcall(coroutine.close, co)"),
                    "false ");
    struct script_task *other;
    EXPECT_EQ(start(&kit, "return coroutine.resume(co)", &other), SCRIPT_FINE);
    char text[] = "";
    EXPECT_EQ(resume(&kit, task, text), SCRIPT_FINE);
    kit_expect_health(&kit);
    kit_release(&kit);
}

TEST(many_tasks_wait_at_once_and_in_any_order)
{
    enum {
        COUNT = 50
    };
    struct kit kit;
    struct script_task *tasks[COUNT];
    init(&kit, NULL);
    for (int i = 0; i < COUNT; i++) {
        EXPECT_EQ(start(&kit, "n = (n or 0) + 1 wait() n = n - 1", &tasks[i]),
                  SCRIPT_PENDING);
    }
    EXPECT_TEXT(kit_run(&kit, "return n"), "50");
    char text[] = "";
    for (int i = 0; i < COUNT; i++) {
        struct script_task *task = tasks[(i * 7) % COUNT];
        if (i % 10 == 0) {
            script_task_cancel(task);
        } else {
            EXPECT_EQ(resume(&kit, task, text), SCRIPT_FINE);
        }
    }
    EXPECT_TEXT(kit_run(&kit, "return n"), "5");
    kit_release(&kit);
}

TEST(a_task_out_of_memory_leaves_the_state_well)
{
    struct kit kit;
    struct script_task *task;
    init(&kit, &(struct script_config){.memory_bytes = 4 << 20});
    EXPECT_EQ(start(&kit,
                    "wait() local t = {} while true do t[#t + 1] = {} end",
                    &task),
              SCRIPT_PENDING);
    char text[] = "";
    EXPECT_EQ(resume(&kit, task, text), SCRIPT_MEMORY_OUT);
    kit_expect_health(&kit);
    kit_release(&kit);
}
