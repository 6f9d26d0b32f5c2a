/* heddle test: runs files of Lua tests.
 *
 * Reads the files and the modules beside them, hands their text to
 * src/luatest/testing.h, and prints what comes back: a line a test and counts,
 * TAP, or one object of JSON. */

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/report.h"
#include "luatest/testing.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"
#include "value/utf8.h"

enum {
    FOLDERS_OPEN = 16, /* while a folder is removed */
};

struct report_of_tests {
    const struct options *options;
    const char *file; /* that runs */
    size_t number;    /* of tests told so far */
    struct testing_counts counts;
    struct buf folder;    /* for engines on files; empty: none is needed */
    struct value results; /* for --json */
};

/* -- Printing ------------------------------------------------------------ */

/* Each line of the text behind a prefix. */
static void print_lines(const char *prefix, const char *text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        struct buf line = {0};
        buf_append_text(&line, prefix);
        utf8_escape(&line, text, length);
        output_bytes(buf_text(&line), line.length);
        buf_release(&line);
        text += length + (text[length] == '\n');
    }
}

/* Names and messages of tests may have any bytes. */
static struct value text_of(const char *bytes)
{
    struct buf text = {0};
    utf8_escape(&text, bytes, strlen(bytes));
    const struct value string = value_string_new(buf_text(&text), text.length);
    buf_release(&text);
    return string;
}

static void add_json(struct report_of_tests *run,
                     const struct testing_result *result)
{
    struct value row = value_empty_object();
    object_put_adopt(&row, "file", text_of(run->file));
    object_put_adopt(&row, "name", text_of(result->name));
    object_put_adopt(&row, "passed", value_bool(result->passed));
    object_put_adopt(&row,
                     "message",
                     result->message != NULL ? text_of(result->message)
                                             : value_null());
    run->results = array_push_adopt(run->results, row);
}

static void print_tap(const struct report_of_tests *run,
                      const struct testing_result *result)
{
    struct buf line = {0};
    buf_printf(&line,
               "%s %zu - ",
               result->passed ? "ok" : "not ok",
               run->number);
    utf8_escape(&line, result->name, strlen(result->name));
    output_bytes(buf_text(&line), line.length);
    buf_release(&line);
    if (!result->passed) {
        print_lines("# ", result->message);
    }
}

static void on_result(void *ctx, const struct testing_result *result)
{
    struct report_of_tests *run = ctx;
    run->number++;
    if (option_is_given(run->options, OPTION_JSON)) {
        add_json(run, result);
    } else if (option_is_given(run->options, OPTION_TAP)) {
        print_tap(run, result);
    } else {
        print_lines(result->passed ? "ok    " : "FAIL  ", result->name);
        if (!result->passed) {
            print_lines("      ", result->message);
        }
    }
}

static void on_print(void *ctx, const char *line, size_t length)
{
    const struct report_of_tests *run = ctx;
    if (option_is_given(run->options, OPTION_JSON)) {
        return;
    }
    const bool tap = option_is_given(run->options, OPTION_TAP);
    struct buf text = {0};
    buf_append_text(&text, tap ? "# " : "");
    buf_append(&text, line, length);
    output_bytes(buf_text(&text), text.length);
    buf_release(&text);
}

static void print_end(const struct report_of_tests *run)
{
    const struct testing_counts *counts = &run->counts;
    if (option_is_given(run->options, OPTION_JSON)) {
        struct value end = value_empty_object();
        object_put_adopt(&end, "tests", value_ref(run->results));
        object_put_adopt(&end, "passed", value_int((int64_t)counts->passed));
        object_put_adopt(&end, "failed", value_int((int64_t)counts->failed));
        object_put_adopt(&end, "leftOut", value_int((int64_t)counts->left_out));
        struct buf text = {0};
        json_write(&text, end, JSON_AS_GIVEN, 0);
        output_bytes(buf_text(&text), text.length);
        buf_release(&text);
        value_unref(end);
        return;
    }
    if (option_is_given(run->options, OPTION_TAP)) {
        (void)printf("1..%zu\n", run->number);
        return;
    }
    (void)printf("%zu passed, %zu failed", counts->passed, counts->failed);
    if (counts->left_out > 0) {
        (void)printf(", %zu filtered out", counts->left_out);
    }
    (void)printf("\n");
}

/* -- Files --------------------------------------------------------------- */

/* A module is a file beside the test: a.b is a/b.lua. */
static enum err find_module(void *ctx,
                            const char *name,
                            struct buf *text,
                            struct buf *file,
                            struct err_detail *detail)
{
    const struct report_of_tests *run = ctx;
    const char *slash = strrchr(run->file, '/');
    if (slash != NULL) {
        buf_append(file, run->file, (size_t)(slash - run->file) + 1);
    }
    for (const char *at = name; *at != '\0'; at++) {
        const char c = *at;
        buf_append_char(file, (char)(c == '.' ? '/' : c));
    }
    buf_append_text(file, ".lua");
    const int failed = input_file(buf_text(file), text);
    if (failed == 0) {
        return ERR_OK;
    }
    return input_is_missing(failed)
               ? ERR_NOT_FOUND
               : err_set(detail, ERR_IO, "%s", strerror(failed));
}

static int remove_one(const char *path,
                      const struct stat *info,
                      int kind,
                      struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

/* A folder below that of this run, which is made for the first one. */
static bool find_folder(void *ctx, const char *name, struct buf *path)
{
    struct report_of_tests *run = ctx;
    struct buf *folder = &run->folder;
    if (folder->length == 0) {
        const char *base = getenv("TMPDIR");
        buf_printf(folder,
                   "%s/heddle-test-XXXXXX",
                   base != NULL && base[0] != '\0' ? base : "/tmp");
        if (mkdtemp(folder->at) == NULL) {
            buf_clear(folder);
            return false;
        }
    }
    buf_printf(path, "%s/%s", buf_text(folder), name);
    return mkdir(buf_text(path), 0700) == 0 || errno == EEXIST;
}

static void remove_folder(struct buf *folder)
{
    if (folder->length > 0) {
        (void)nftw(buf_text(folder),
                   remove_one,
                   FOLDERS_OPEN,
                   FTW_DEPTH | FTW_PHYS);
    }
    buf_release(folder);
}

/* Whether the file had any, also such that --filter has left out. */
static bool has_tests(const struct report_of_tests *run,
                      const struct testing_counts *before)
{
    const struct testing_counts *now = &run->counts;
    return now->passed + now->failed + now->left_out >
           before->passed + before->failed + before->left_out;
}

static int run_one(struct report_of_tests *run,
                   size_t index,
                   const struct testing_options *options)
{
    struct buf text = {0};
    struct buf fault = {0};
    const struct testing_counts before = run->counts;
    run->file = input_name(&run->options->operands[index]);
    int code = input_text(run->options, index, &text);
    if (code == CODE_OK &&
        !testing_run(run->file, &text, options, &run->counts, &fault)) {
        code = report_name(run->options, buf_text(&fault));
    } else if (code == CODE_OK && !has_tests(run, &before)) {
        buf_printf(&fault,
                   "%s has no tests: require \"heddle.test\" and call it with "
                   "a name and a function",
                   run->file);
        code = report_name(run->options, buf_text(&fault));
    }
    remove_folder(&run->folder);
    buf_release(&fault);
    buf_release(&text);
    return code;
}

/* From 1: 0 would be none. */
static bool read_seed(const char *word, uint64_t *out)
{
    char *end = NULL;
    if (word[0] < '0' || word[0] > '9') {
        return false;
    }
    const unsigned long long seed = strtoull(word, &end, 10);
    *out = seed;
    return *end == '\0' && seed > 0 && seed <= INT64_MAX;
}

int test_run(const struct options *options)
{
    struct report_of_tests run = {.options = options,
                                  .results = value_empty_array()};
    struct testing_options testing = {
        .filter = options->values.filter,
        .ctx = &run,
        .report = on_result,
        .print = on_print,
        .folder = find_folder,
        .module = find_module,
    };
    if (options->values.seed != NULL &&
        !read_seed(options->values.seed, &testing.seed)) {
        return report_usage(options, "--seed takes a number from 1 on");
    }
    if (option_is_given(options, OPTION_TAP) &&
        option_is_given(options, OPTION_JSON)) {
        return report_usage(options, "--tap and --json exclude each other");
    }
    int code = CODE_OK;
    for (size_t i = 0; i < options->operand_count; i++) {
        const int one = run_one(&run, i, &testing);
        code = one > code ? one : code;
    }
    print_end(&run);
    value_unref(run.results);
    return code == CODE_OK && run.counts.failed > 0 ? CODE_NO : code;
}
