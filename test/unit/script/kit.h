/* Scripts in tests: a state with a host whose output is kept, code in one
 * line, and results as text.
 *
 *   struct kit kit;
 *   kit_init(&kit, &(struct script_config){.steps = 1000});
 *   EXPECT_TEXT(kit_run(&kit, "return 1 + 1"), "2");
 *   kit_release(&kit);
 *
 * kit_run gives the first result as tostring shows it, or the error as
 * "cause: file:line: message". The text is borrowed until the next run. */

#ifndef TEST_UNIT_SCRIPT_KIT_H
#define TEST_UNIT_SCRIPT_KIT_H

#include <lauxlib.h>
#include <string.h>

#include "lib/test.h"
#include "script/sandbox.h"
#include "script/vm.h"

struct kit {
    struct script *script;
    struct script_function environment;
    struct script_error error; /* of the last run */
    struct buf result;
    struct buf printed;
    const char *modules[8]; /* name, text, name, text, ..., NULL */
    uint64_t asked;         /* how often the host was asked to interrupt */
    uint64_t interrupt_at;  /* the question that is answered with yes */
};

static inline void kit_print(void *ctx, const char *line, size_t length)
{
    struct kit *kit = ctx;
    buf_append(&kit->printed, line, length);
    buf_append_char(&kit->printed, '\n');
}

static inline bool kit_interrupted(void *ctx)
{
    struct kit *kit = ctx;
    kit->asked++;
    return kit->asked == kit->interrupt_at;
}

static inline enum err kit_module(void *ctx,
                                  const char *name,
                                  struct buf *text,
                                  struct buf *file,
                                  struct err_detail *detail)
{
    const struct kit *kit = ctx;
    if (strcmp(name, "broken") == 0) {
        return err_set(detail, ERR_IO, "the disk has a hole");
    }
    for (size_t i = 0; kit->modules[i] != NULL; i += 2) {
        if (strcmp(kit->modules[i], name) == 0) {
            buf_append_text(text, kit->modules[i + 1]);
            buf_append_text(file, name);
            buf_append_text(file, ".lua");
            return ERR_OK;
        }
    }
    return ERR_NOT_FOUND;
}

static inline void kit_init(struct kit *kit, const struct script_config *config)
{
    *kit = (struct kit){0};
    struct script_config with_host = {0};
    if (config != NULL) {
        with_host = *config;
    }
    with_host.host = (struct script_host){.ctx = kit,
                                          .print = kit_print,
                                          .interrupted = kit_interrupted,
                                          .module = kit_module};
    kit->script = script_new(&with_host);
    EXPECT_EQ(script_environment_new(kit->script,
                                     GLOBALS_OPEN,
                                     &kit->environment,
                                     &kit->error),
              SCRIPT_FINE);
}

static inline void kit_release(struct kit *kit)
{
    script_function_release(kit->script, &kit->environment);
    script_free(kit->script);
    script_error_release(&kit->error);
    buf_release(&kit->result);
    buf_release(&kit->printed);
}

static inline void kit_take(lua_State *L, int count, void *ctx)
{
    struct kit *kit = ctx;
    for (int i = 1; i <= count; i++) {
        size_t length = 0;
        const char *text = sandbox_push_text(L, i, &length);
        if (i > 1) {
            buf_append_char(&kit->result, ' ');
        }
        buf_append(&kit->result, text, length);
        lua_pop(L, 1);
    }
}

/* The function of a chunk "test.lua"; an error goes into kit->result. */
static inline bool kit_load(struct kit *kit,
                            const char *code,
                            struct script_function *function)
{
    const struct script_chunk chunk = {"test.lua", code, strlen(code)};
    buf_clear(&kit->result);
    const enum script_cause cause = script_load(kit->script,
                                                kit->environment,
                                                &chunk,
                                                function,
                                                &kit->error);
    if (cause != SCRIPT_FINE) {
        buf_append_text(&kit->result, script_cause_name(cause));
        buf_append_text(&kit->result, ": ");
        script_error_write(&kit->result, &kit->error);
    }
    return cause == SCRIPT_FINE;
}

static inline enum script_cause kit_call(struct kit *kit,
                                         struct script_function function)
{
    buf_clear(&kit->result);
    const struct script_call call = {.function = function,
                                     .take = kit_take,
                                     .ctx = kit};
    const enum script_cause cause =
        script_call(kit->script, &call, &kit->error);
    EXPECT_EQ(kit->error.cause, cause);
    if (cause != SCRIPT_FINE) {
        buf_clear(&kit->result);
        buf_append_text(&kit->result, script_cause_name(cause));
        buf_append_text(&kit->result, ": ");
        script_error_write(&kit->result, &kit->error);
    }
    return cause;
}

static inline const char *kit_run(struct kit *kit, const char *code)
{
    struct script_function function;
    if (kit_load(kit, code, &function)) {
        (void)kit_call(kit, function);
        script_function_release(kit->script, &function);
    }
    return buf_text(&kit->result);
}

/* The state is well: it computes, and its stack is empty. */
static inline void kit_expect_health(struct kit *kit)
{
    EXPECT_TEXT(kit_run(kit,
                        "local t = {} for i = 1, 100 do t[i] = i end\n"
                        "local ok, why = pcall(error, 'x')\n"
                        "return #t .. tostring(ok) .. why .. ('a'):rep(3)"),
                "100falsexaaa");
    EXPECT_INT(lua_gettop(kit->script->main), 0);
    EXPECT(kit->script->running == kit->script->main);
}

/* In a script of its own. */
static inline void expect_run(const char *code, const char *want)
{
    struct kit kit;
    kit_init(&kit, NULL);
    if (!EXPECT_TEXT(kit_run(&kit, code), want)) {
        (void)test_fail(__FILE__, __LINE__, "the code was: %s", code);
    }
    kit_release(&kit);
}

#endif
