/* testing: what a program that runs a file of Lua tests is told. */

#include "luatest/testing.h"

#include <string.h>

#include "lib/test.h"

/* Everything that was told, as text. */
struct audience {
    struct buf told;
    const char *module; /* the text of every module, or NULL */
    bool stop;
};

static void on_report(void *ctx, const struct testing_result *result)
{
    struct audience *audience = ctx;
    buf_printf(&audience->told,
               "%s %s%s%s;",
               result->passed ? "ok" : "no",
               result->name,
               result->passed ? "" : ": ",
               result->passed ? "" : result->message);
}

static void on_print(void *ctx, const char *line, size_t length)
{
    struct audience *audience = ctx;
    buf_append_char(&audience->told, '>');
    buf_append(&audience->told, line, length);
    buf_append_char(&audience->told, ';');
}

static bool on_interrupted(void *ctx)
{
    const struct audience *audience = ctx;
    return audience->stop;
}

static enum err on_module(void *ctx,
                          const char *name,
                          struct buf *text,
                          struct buf *file,
                          struct err_detail *detail)
{
    const struct audience *audience = ctx;
    if (audience->module == NULL) {
        return err_set(detail, ERR_IO, "the disk is gone");
    }
    buf_append_text(text, audience->module);
    buf_append_text(file, name);
    return ERR_OK;
}

/* Runs the text and gives what was told; a fault begins with '!'. */
static const char *run(struct audience *audience,
                       const char *text,
                       const struct testing_options *given,
                       struct testing_counts *counts)
{
    struct testing_options options = *given;
    struct buf source = {0};
    struct buf fault = {0};
    options.ctx = audience;
    options.report = on_report;
    options.print = on_print;
    options.interrupted = on_interrupted;
    options.module = on_module;
    *counts = (struct testing_counts){0};
    buf_clear(&audience->told);
    buf_append_text(&source, text);
    if (!testing_run("a.lua", &source, &options, counts, &fault)) {
        buf_printf(&audience->told, "!%s", buf_text(&fault));
    }
    buf_release(&source);
    buf_release(&fault);
    return buf_text(&audience->told);
}

TEST(b1_tests_run_after_their_file_in_its_order)
{
    struct audience audience = {0};
    struct testing_counts counts;
    const struct testing_options options = {0};
    const char *told = run(&audience,
                           "local test = require 'heddle.test'\n"
                           "test('b', function() print('in b') end)\n"
                           "test('a', function(t) t:ok(false) end)\n"
                           "test('c', function() test('d', print) end)\n"
                           "print('the file')\n",
                           &options,
                           &counts);
    EXPECT_TEXT(told,
                ">the file;>in b;ok b;no a: a.lua:3: is false, expected a true "
                "value;no c: a.lua:4: a test cannot start another test;");
    EXPECT_EQ(counts.passed, 1);
    EXPECT_EQ(counts.failed, 2);
    buf_release(&audience.told);
}

TEST(a_filter_and_a_seed)
{
    struct audience audience = {0};
    struct testing_counts counts;
    const struct testing_options options = {.filter = "ee", .seed = 40};
    const char *told = run(&audience,
                           "local test = require 'heddle.test'\n"
                           "test('feed', function() end)\n"
                           "test('seeds', function(t)\n"
                           "  t:seeds(2, function(seed) print(seed) end)\n"
                           "end)\n"
                           "test('other', function() end)\n",
                           &options,
                           &counts);
    EXPECT_TEXT(told, "ok feed;>40;>41;ok seeds;");
    EXPECT_EQ(counts.passed, 2);
    EXPECT_EQ(counts.left_out, 1);
    buf_release(&audience.told);
}

TEST(a_file_that_cannot_be_run_has_no_results)
{
    struct audience audience = {0};
    struct testing_counts counts;
    const struct testing_options options = {0};
    const char *told = run(&audience,
                           "require 'heddle.test'('a', print) error('no')",
                           &options,
                           &counts);
    EXPECT_TEXT(told, "!a.lua:1: no");
    told = run(&audience, "require 'x'", &options, &counts);
    EXPECT_TEXT(told,
                "!a.lua:1: the module 'x' cannot be loaded: the disk is gone");
    audience.module = "return 1 +";
    told = run(&audience, "require 'x'", &options, &counts);
    EXPECT(strstr(told, "x:1: ") != NULL);
    EXPECT_EQ(counts.passed + counts.failed + counts.left_out, 0);
    buf_release(&audience.told);
}

TEST(there_is_no_time_and_no_chance_outside_of_a_test)
{
    struct audience audience = {0};
    struct testing_counts counts;
    const struct testing_options options = {0};
    const char *told =
        run(&audience, "require 'heddle'.now()", &options, &counts);
    EXPECT_TEXT(told,
                "!a.lua:1: heddle.now() is not available outside a test "
                "or a run");
    told = run(&audience,
               "local h, kept = require 'heddle', nil\n"
               "local test = require 'heddle.test'\n"
               "test('a', function(t) kept = { t, t:runtime() }\n"
               "  print(h.now(), h.random(1)) end)\n"
               "test('b', function(t)\n"
               "  t:fails(function() kept[1]:runtime() end, 'is over')\n"
               "  t:fails(function() kept[2]:step() end, 'has ended')\n"
               "end)\n",
               &options,
               &counts);
    EXPECT_TEXT(told, ">0\t1;ok a;ok b;");
    buf_release(&audience.told);
}

TEST(a_host_that_has_had_enough_ends_it)
{
    struct audience audience = {.stop = true};
    struct testing_counts counts;
    const struct testing_options options = {0};
    const char *told = run(&audience, "while true do end", &options, &counts);
    EXPECT_TEXT(told, "!a.lua:1: interrupted by the host");
    buf_release(&audience.told);
}

TEST(a_write_outside_of_a_surface_is_told_and_fails_nothing)
{
    static const char text[] =
        "require 'heddle.test'('a', function(t) local rt = t:runtime()\n"
        "  rt:effect{ fn = function() rt:doc('o'):get() end }\n"
        "  rt:computation{ name = 'c', writes = { rt:doc('o') },\n"
        "    fn = function() rt:doc('o'):set(1) rt:doc('x'):set(2) end }\n"
        "  rt:idle() %s end)";
    struct audience audience = {0};
    struct testing_counts counts;
    const struct testing_options options = {0};
    struct buf code = {0};
    buf_printf(&code, text, "");
    const char *told = run(&audience, buf_text(&code), &options, &counts);
    EXPECT_TEXT(told, ">c writes outside its declared surface: at x;ok a;");
    buf_clear(&code);
    buf_printf(&code, text, "t:eq(#rt:violations(), 1)");
    told = run(&audience, buf_text(&code), &options, &counts);
    EXPECT_TEXT(told, "ok a;");
    buf_release(&code);
    buf_release(&audience.told);
}
