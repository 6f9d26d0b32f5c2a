/* heddle why, heddle why-not: accounts (inspect/account.h) as text. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/report.h"
#include "inspect/offline_why.h"
#include "value/array.h"
#include "value/object.h"

enum {
    VALUE_SHOWN = 48, /* characters of a value */
    READS_SHOWN = 12,
    INDENT = 2,
};

__attribute__((format(printf, 2, 3))) static void say(unsigned depth,
                                                      const char *format,
                                                      ...);

static void begin_line(struct buf *line, unsigned depth)
{
    for (unsigned i = 0; i < depth * INDENT; i++) {
        buf_append_char(line, ' ');
    }
}

static void end_line(struct buf *line)
{
    output_bytes(buf_text(line), line->length);
    buf_release(line);
}

static void say(unsigned depth, const char *format, ...)
{
    char text[256];
    struct buf line = {0};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    begin_line(&line, depth);
    buf_append_text(&line, text);
    end_line(&line);
}

/* -- Why ----------------------------------------------------------------- */

/* Of a shape read only that is of interest. */
static void append_shape(struct buf *line, struct value value)
{
    if (value_is_array(value)) {
        buf_printf(line, "%" PRIu32 " elements", array_count(value));
    } else if (value_is_object(value)) {
        buf_printf(line, "%" PRIu32 " keys", object_count(value));
    } else {
        look_append_json(line, value, VALUE_SHOWN);
    }
}

static void print_change(struct value cause,
                         struct value change,
                         unsigned depth)
{
    struct buf line = {0};
    const struct value address = object_field(cause, "address");
    const struct text whole =
        value_is_string(address) ? value_text(&address) : (struct text){"", 0};
    const char *mark = memchr(whole.at, '#', whole.length);
    const size_t front =
        mark != NULL ? (size_t)(mark - whole.at) + 1 : whole.length;
    const struct value document = value_string_new(whole.at, front);
    begin_line(&line, depth);
    buf_append_text(&line, look_colour(LOOK_STRONG));
    look_append(&line, document);
    look_append(&line, object_field(change, "path"));
    buf_append_text(&line, look_colour(LOOK_PLAIN));
    buf_append_text(&line, ": ");
    if (value_is_text(object_field(cause, "read"), "shape")) {
        append_shape(&line, object_field(change, "old"));
        buf_append_text(&line, " -> ");
        append_shape(&line, object_field(change, "new"));
    } else {
        look_append_json(&line, object_field(change, "old"), VALUE_SHOWN);
        buf_append_text(&line, " -> ");
        look_append_json(&line, object_field(change, "new"), VALUE_SHOWN);
    }
    value_unref(document);
    end_line(&line);
}

static void print_commit(struct value cause, unsigned depth)
{
    struct buf line = {0};
    const struct value by = object_field(cause, "by");
    const uint64_t at = object_number(cause, "at");
    const uint64_t commits = object_number(cause, "commits");
    begin_line(&line, depth);
    buf_printf(&line, "commit %" PRIu64, object_number(cause, "seq"));
    if (commits > 1) {
        buf_printf(&line, " (the last of %" PRIu64 ")", commits);
    }
    buf_append_text(&line, ", by ");
    look_append_author(&line, by);
    buf_append_text(&line, look_colour(LOOK_FAINT));
    if (!value_is_absent(object_field(cause, "session"))) {
        buf_append_text(&line, ", ");
        look_append(&line, object_field(cause, "session"));
    }
    if (at > 0) {
        buf_append_text(&line, ", ");
        look_append_time(&line, at);
    }
    buf_append_text(&line, look_colour(LOOK_PLAIN));
    end_line(&line);
    if (!value_is_absent(object_field(by, "receipt"))) {
        struct buf receipt = {0};
        begin_line(&receipt, depth + 1);
        look_append(&receipt, object_field(by, "receipt"));
        buf_append_text(&receipt, " ");
        look_append_json(&receipt, object_field(by, "result"), VALUE_SHOWN);
        end_line(&receipt);
    }
}

static void print_run(struct value run, unsigned depth);

/* `last`: the next cause is another commit's. */
static void print_cause(struct value cause, bool last, unsigned depth)
{
    const struct value changes = look_list(cause, "changes");
    const uint64_t more = object_number(cause, "more");
    struct array_iter iter = array_iter(changes);
    struct value change;
    while (array_next(&iter, &change)) {
        print_change(cause, change, depth);
    }
    if (more > 0) {
        say(depth, "and %" PRIu64 " more change%s", more, more == 1 ? "" : "s");
    }
    if (!last) {
        return;
    }
    print_commit(cause, depth + 1);
    const struct value run = object_field(object_field(cause, "by"), "run");
    if (value_is_object(run)) {
        print_run(run, depth + 2);
    }
}

/* What is behind a run; depth is bounded by WHY_DEPTH. */
static void print_run(struct value run, unsigned depth)
{
    const struct value reason = object_field(run, "reason");
    const struct value causes = look_list(run, "causes");
    if (!value_is_absent(object_field(run, "above"))) {
        say(depth, "explained above");
    } else if (value_is_text(reason, "first")) {
        const uint64_t seq = object_number(object_field(run, "by"), "seq");
        if (seq > 0) {
            say(depth,
                "for the first time: the piece was started with commit "
                "%" PRIu64,
                seq);
        } else {
            say(depth, "for the first time: the piece was started");
        }
    } else if (value_is_text(reason, "folded")) {
        say(depth, "the change before it is in compacted history");
    } else if (value_is_text(reason, "again")) {
        say(depth,
            "its inputs are unchanged: its code changed, or an earlier run "
            "failed");
    } else if (value_is_text(reason, "elsewhere")) {
        struct buf space = {0};
        look_append(&space, object_field(run, "space"));
        say(depth,
            "its inputs in this space are unchanged; it also reads the space "
            "%s: 'heddle log --space %s' lists the changes there",
            buf_text(&space),
            buf_text(&space));
        buf_release(&space);
    }
    for (uint32_t i = 0; value_is_array(causes) && i < array_count(causes);
         i++) {
        const struct value cause = array_at(causes, i);
        const bool last = i + 1 == array_count(causes) ||
                          object_number(array_at(causes, i + 1), "seq") !=
                              object_number(cause, "seq");
        print_cause(cause, last, depth);
    }
    const uint64_t left = object_number(run, "moreReads");
    if (left > 0) {
        say(depth,
            "%" PRIu64 " other read%s of the run %s not examined",
            left,
            left == 1 ? "" : "s",
            left == 1 ? "was" : "were");
    }
}

/* "the task is failed after 3 attempts: no route" */
static void print_task(struct value why)
{
    const struct value task = object_field(why, "task");
    struct buf line = {0};
    if (!value_is_object(task)) {
        return;
    }
    begin_line(&line, 1);
    buf_append_text(&line, "the task is ");
    look_append_task(&line, task, object_field(why, "piece"));
    end_line(&line);
}

static void print_why(struct value why)
{
    struct buf line = {0};
    const bool never = value_is_text(object_field(why, "reason"), "never");
    buf_append_text(&line, look_colour(LOOK_STRONG));
    look_append_node(&line, why, "node");
    buf_append_text(&line, look_colour(LOOK_PLAIN));
    if (never) {
        buf_append_text(&line,
                        value_is_text(object_field(why, "kind"), "handler")
                            ? " is a handler: 'heddle log' has its events"
                            : " has no recorded run");
    } else {
        const uint64_t runs = object_number(why, "runs");
        buf_printf(&line,
                   " ran %" PRIu64 " time%s, last at seq %" PRIu64,
                   runs,
                   runs == 1 ? "" : "s",
                   object_number(why, "seq"));
        buf_append_text(
            &line,
            object_number(why, "landed") > 0 ? "" : "; no document changed");
    }
    end_line(&line);
    print_task(why);
    print_run(why, 1);
}

/* About the node of the two operands. */
static struct value question_of_node(const struct options *options,
                                     const char *about)
{
    struct value question = look_question_of(options, about);
    object_put_text(&question, "node", options->operands[1].word);
    if (options->values.user != NULL) {
        object_put_text(&question, "user", options->values.user);
    }
    return question;
}

int why_run(const struct options *options)
{
    struct value answer = VALUE_NONE;
    int code = look_ask(options, question_of_node(options, "why"), &answer);
    const struct value why = object_field(answer, "why");
    if (code == CODE_OK) {
        code = value_is_text(object_field(why, "reason"), "never") ? CODE_NO
                                                                   : CODE_OK;
        if (option_is_given(options, OPTION_JSON)) {
            look_print_adopt(options, value_ref(why));
        } else {
            print_why(why);
        }
    }
    value_unref(answer);
    return code;
}

/* -- Why not ------------------------------------------------------------- */

static void print_advice(struct value answer, struct value why)
{
    const struct value condition = object_field(why, "condition");
    struct buf piece = {0};
    struct buf name = {0};
    look_append(&piece, object_field(answer, "piece"));
    look_append(&name, object_field(answer, "node"));
    if (value_is_text(condition, "event")) {
        say(1,
            "send one: heddle send %s %s JSON",
            buf_text(&piece),
            buf_text(&name));
    } else if (value_is_text(condition, "nobody-looks")) {
        say(1,
            "read it: heddle get %s, or let an effect read it",
            buf_text(&piece));
    } else if (value_is_text(condition, "not-started")) {
        const struct value note = object_field(answer, "note");
        struct buf file = {0};
        if (value_is_object(note)) {
            look_append(&file, object_field(note, "file"));
        }
        say(1,
            "run it: heddle run %s --name %s",
            file.length > 0 ? buf_text(&file) : "FILE",
            buf_text(&piece));
        buf_release(&file);
    } else if (value_is_text(condition, "waits")) {
        const struct value source = object_field(why, "waitsFor");
        buf_clear(&piece);
        buf_clear(&name);
        look_append(&piece, object_field(source, "piece"));
        look_append(&name, object_field(source, "node"));
        say(1,
            "see why: heddle why-not %s %s",
            buf_text(&piece),
            buf_text(&name));
    } else if (value_is_text(condition, "gated")) {
        say(1,
            "debounce %" PRIu64 " ms, throttle %" PRIu64 " ms",
            object_number(why, "debounceMs"),
            object_number(why, "throttleMs"));
    }
    buf_release(&piece);
    buf_release(&name);
}

static void print_why_not(struct value answer, struct value why)
{
    struct buf line = {0};
    const struct value reads = look_list(why, "reads");
    buf_append_text(&line, look_colour(LOOK_STRONG));
    look_append_node(&line, why, "node");
    buf_append_text(&line, look_colour(LOOK_PLAIN));
    buf_append_text(&line, ": ");
    look_append(&line, object_field(why, "sentence"));
    end_line(&line);
    struct buf needs = {0};
    begin_line(&needs, 1);
    buf_append_text(&needs, "needs: ");
    look_append(&needs, object_field(why, "needs"));
    end_line(&needs);
    print_task(why);
    print_advice(answer, why);
    if (object_number(why, "changed") > 0) {
        say(1,
            "its inputs were last changed by commit %" PRIu64,
            object_number(why, "changed"));
    }
    for (uint32_t i = 0; i < array_count(reads) && i < READS_SHOWN; i++) {
        struct buf read = {0};
        begin_line(&read, 1);
        buf_append_text(&read, "it reads ");
        look_append(&read, array_at(reads, i));
        end_line(&read);
    }
    if (array_count(reads) > READS_SHOWN) {
        say(1, "and %u more", array_count(reads) - READS_SHOWN);
    }
}

int why_not_run(const struct options *options)
{
    struct value answer = VALUE_NONE;
    const int code =
        look_ask(options, question_of_node(options, "whyNot"), &answer);
    const struct value why = object_field(answer, "whyNot");
    if (code == CODE_OK && option_is_given(options, OPTION_JSON)) {
        look_print_adopt(options, value_ref(why));
    } else if (code == CODE_OK) {
        print_why_not(answer, why);
    }
    value_unref(answer);
    return code;
}
