/* log: one call of the hook for a line that is wanted, none for another. */

#include "base/log.h"

#include <string.h>
#include <wchar.h>

#include "base/buf.h"
#include "base/check.h"
#include "lib/test.h"

/* What the hook was given last. */
struct sink {
    unsigned calls;
    enum log_level level;
    char line[2 * LOG_LINE_SIZE];
};

static void sink_fn(void *ctx, enum log_level level, const char *line)
{
    struct sink *sink = ctx;
    sink->calls++;
    sink->level = level;
    const size_t size = strlen(line) + 1;
    CHECK(size <= sizeof sink->line);
    memcpy(sink->line, line, size);
}

static struct log log_to(struct sink *sink, enum log_level level)
{
    *sink = (struct sink){0};
    return (struct log){.fn = sink_fn, .ctx = sink, .level = level};
}

TEST(w1_a_line_reaches_the_hook_complete_and_once)
{
    struct sink sink;
    const struct log log = log_to(&sink, LOG_LEVEL_DEBUG);
    log_write(&log, LOG_LEVEL_WARNING, "%s has %d readers", "cell", 3);
    EXPECT_EQ(sink.calls, 1);
    EXPECT_EQ(sink.level, LOG_LEVEL_WARNING);
    EXPECT_TEXT(sink.line, "cell has 3 readers");
}

TEST(only_levels_up_to_the_threshold_are_written)
{
    for (unsigned wanted = LOG_LEVEL_NONE; wanted <= LOG_LEVEL_DEBUG;
         wanted++) {
        struct sink sink;
        const struct log log = log_to(&sink, (enum log_level)wanted);
        log_write(&log, LOG_LEVEL_ERROR, "line");
        log_write(&log, LOG_LEVEL_WARNING, "line");
        log_write(&log, LOG_LEVEL_INFO, "line");
        log_write(&log, LOG_LEVEL_DEBUG, "line");
        EXPECT_EQ(sink.calls, wanted);
    }
}

static const char *evaluated(unsigned *evaluations)
{
    (*evaluations)++;
    return "text";
}

TEST(w2_the_arguments_of_an_unwanted_line_are_not_evaluated)
{
    struct sink sink;
    const struct log log = log_to(&sink, LOG_LEVEL_INFO);
    const struct log nowhere = {0};
    const struct log *none = NULL;
    unsigned evaluations = 0;
    log_write(&log, LOG_LEVEL_DEBUG, "%s", evaluated(&evaluations));
    log_write(&nowhere, LOG_LEVEL_ERROR, "%s", evaluated(&evaluations));
    log_write(none, LOG_LEVEL_ERROR, "%s", evaluated(&evaluations));
    EXPECT_EQ(evaluations, 0);
    EXPECT_EQ(sink.calls, 0);

    log_write(&log, LOG_LEVEL_INFO, "%s", evaluated(&evaluations));
    EXPECT_EQ(evaluations, 1);
    EXPECT_EQ(sink.calls, 1);
}

TEST(w1_control_characters_in_arguments_do_not_make_lines)
{
    struct sink sink;
    const struct log log = log_to(&sink, LOG_LEVEL_DEBUG);
    log_write(&log,
              LOG_LEVEL_INFO,
              "id %s",
              "x\nerror: y\r\t\x1B[0m\x7F\xC3\xA9");
    EXPECT_TEXT(sink.line, "id x error: y   [0m \xC3\xA9");
}

TEST(w1_a_line_of_the_greatest_length_is_whole_and_a_longer_one_is_cut)
{
    struct sink sink;
    const struct log log = log_to(&sink, LOG_LEVEL_DEBUG);

    log_write(&log, LOG_LEVEL_INFO, "%*s|", LOG_LINE_SIZE - 2, "x");
    EXPECT_EQ(strlen(sink.line), LOG_LINE_SIZE - 1);
    EXPECT(strcmp(sink.line + LOG_LINE_SIZE - 3, "x|") == 0);

    log_write(&log, LOG_LEVEL_INFO, "%*s|", LOG_LINE_SIZE - 1, "x");
    EXPECT_EQ(strlen(sink.line), LOG_LINE_SIZE - 1);
    EXPECT(strcmp(sink.line + LOG_LINE_SIZE - 5, " ...") == 0);
}

TEST(a_line_is_cut_between_two_characters)
{
    struct sink sink;
    const struct log log = log_to(&sink, LOG_LEVEL_DEBUG);
    struct buf text = {0};
    while (text.length <= LOG_LINE_SIZE) {
        buf_append_text(&text, "\xC3\xA9");
    }

    static const char *const leads[] = {"", "a"};
    for (size_t i = 0; i < COUNT_OF(leads); i++) {
        log_write(&log, LOG_LEVEL_INFO, "%s%s", leads[i], buf_text(&text));
        const size_t length = strlen(sink.line);
        EXPECT(length <= LOG_LINE_SIZE - 1);
        EXPECT(length >= LOG_LINE_SIZE - 2);
        EXPECT(strcmp(sink.line + length - 5, "\xC3\xA9...") == 0);
    }
    buf_release(&text);
}

TEST(a_line_that_cannot_be_formatted_says_so)
{
    static const wchar_t strange[] = {0x20AC, 0}; /* not in the C locale */
    struct sink sink;
    const struct log log = log_to(&sink, LOG_LEVEL_DEBUG);
    log_write(&log, LOG_LEVEL_INFO, "%ls", strange);
    EXPECT_EQ(sink.calls, 1);
    EXPECT_TEXT(sink.line, "a line could not be formatted");
}

TEST(writing_allocates_nothing)
{
    struct sink sink;
    const struct log log = log_to(&sink, LOG_LEVEL_DEBUG);
    const uint64_t before = test_allocations();
    log_write(&log, LOG_LEVEL_INFO, "%*s", 5000, "x");
    EXPECT_EQ(test_allocations(), before);
}

TEST(levels_have_names)
{
    EXPECT_TEXT(log_level_name(LOG_LEVEL_ERROR), "error");
    EXPECT_TEXT(log_level_name(LOG_LEVEL_WARNING), "warning");
    EXPECT_TEXT(log_level_name(LOG_LEVEL_INFO), "info");
    EXPECT_TEXT(log_level_name(LOG_LEVEL_DEBUG), "debug");
    EXPECT_TEXT(log_level_name(LOG_LEVEL_NONE), "none");
}
