/* The words and sentences of accounts. */

#include "inspect/account.h"

#include <inttypes.h>
#include <string.h>

#include "value/array.h"
#include "value/object.h"

enum {
    CAUSES_NAMED = 4, /* in a sentence */
};

/* -- Nodes and authors --------------------------------------------------- */

void account_put_node(struct value *object,
                      const char *field,
                      const struct account_node *node)
{
    if (!value_is_absent(node->piece)) {
        object_put_adopt(object, "piece", value_ref(node->piece));
    }
    object_put_adopt(object, field, value_ref(node->name));
    if (!value_is_absent(node->scope)) {
        object_put_adopt(object, "scope", value_ref(node->scope));
    }
}

struct value account_new(const struct account_node *node)
{
    struct value account = value_empty_object();
    account_put_node(&account, "node", node);
    object_put_adopt(&account, "kind", value_ref(node->kind));
    if (node->status != NULL) {
        object_put_text(&account, "status", node->status);
    }
    return account;
}

struct value account_author(enum author_kind kind)
{
    static const char *const types[] = {
        [AUTHOR_NODE] = "node",
        [AUTHOR_EVENT] = "event",
        [AUTHOR_START] = "start",
        [AUTHOR_EFFECT] = "effect",
        [AUTHOR_CLOCK] = "clock",
        [AUTHOR_EDIT] = "edit",
        [AUTHOR_OUTSIDE] = "outside",
        [AUTHOR_FOLDED] = "folded",
    };
    struct value by = value_empty_object();
    object_put_text(&by, "type", types[kind]);
    return by;
}

static void write_text(struct buf *to, struct value string)
{
    if (value_is_string(string)) {
        const struct text text = value_text(&string);
        buf_append(to, text.at, text.length);
    }
}

void account_write_node(struct buf *to, struct value node, const char *field)
{
    write_text(to, object_field(node, field));
    if (value_is_string(object_field(node, "scope"))) {
        buf_append_char(to, '@');
        write_text(to, object_field(node, "scope"));
    }
}

void account_write_author(struct buf *to, struct value by)
{
    static const struct {
        const char *type;
        const char *kind; /* or NULL: any */
        const char *words;
    } rows[] = {
        {"node", NULL, "node "},
        {"event", NULL, "event "},
        {"start", NULL, "start"},
        {"effect", NULL, "an effect"},
        {"clock", NULL, "a clock"},
        {"folded", NULL, "compacted history"},
        {"outside", "integrate", "another runtime"},
        {"outside", "pull", "a document that arrived"},
        {"outside", "revert", "a rejected commit"},
        {"outside", "reset", "a reset"},
    };
    const char *words = "an external edit";
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (value_is_text(object_field(by, "type"), rows[i].type) &&
            (rows[i].kind == NULL ||
             value_is_text(object_field(by, "kind"), rows[i].kind))) {
            words = rows[i].words;
        }
    }
    buf_append_text(to, words);
    account_write_node(to, by, "node");
    write_text(to, object_field(by, "handler"));
    write_text(to, object_field(by, "stream"));
    if (value_is_string(object_field(by, "piece"))) {
        buf_append_text(to, " of ");
        write_text(to, object_field(by, "piece"));
    }
}

void account_write_cause(struct buf *to, struct value cause)
{
    const struct value by = object_field(cause, "by");
    write_text(to, object_field(cause, "address"));
    buf_append_text(to, " changed");
    if (value_is_object(by)) {
        buf_append_text(to, " by ");
        account_write_author(to, by);
    }
}

static void write_causes(struct buf *to, struct value account)
{
    const struct value causes = object_field(account, "causes");
    const uint32_t count = value_is_array(causes) ? array_count(causes) : 0;
    const uint32_t named = count < CAUSES_NAMED ? count : CAUSES_NAMED;
    const uint64_t more = object_number(account, "more") + (count - named);
    for (uint32_t i = 0; i < named; i++) {
        buf_append_text(to, i == 0 ? ", because " : "; ");
        account_write_cause(to, array_at(causes, i));
    }
    if (more > 0) {
        buf_printf(to, "; and %" PRIu64 " more", more);
    }
}

/* -- Why ----------------------------------------------------------------- */

static bool has(struct value account, const char *field, const char *word)
{
    return value_is_text(object_field(account, field), word);
}

static void write_run(struct buf *to, struct value account)
{
    const uint64_t pass = object_number(account, "pass");
    buf_append_text(to, " ran");
    if (pass > 0) {
        buf_printf(to,
                   " in pass %" PRIu64 ", sweep %" PRIu64,
                   pass,
                   object_number(account, "sweep"));
    }
    write_causes(to, account);
    buf_append_text(to,
                    has(account, "reason", "first") ? ", for the first time"
                    : has(account, "reason", "again")
                        ? ", with unchanged inputs"
                    : has(account, "reason", "elsewhere")
                        ? ", with unchanged inputs in its own space"
                        : "");
    if (has(account, "reason", "event")) {
        buf_printf(to,
                   ", to handle event %" PRIu64,
                   object_number(account, "event"));
    }
    buf_append_text(to,
                    has(account, "outcome", "refused")
                        ? ", and its commit was refused"
                    : has(account, "outcome", "failed") ? ", and failed"
                    : has(account, "outcome", "given-up")
                        ? ", and was aborted, to run again"
                    : has(account, "outcome", "dropped")
                        ? ", and was removed during the run"
                        : "");
}

void account_end_why(struct value *account)
{
    struct buf text = {0};
    account_write_node(&text, *account, "node");
    if (has(*account, "reason", "never")) {
        const bool counted = !value_is_absent(object_field(*account, "runs"));
        buf_append_text(&text,
                        counted ? " has never run"
                        : has(*account, "kind", "handler")
                            ? " is a handler: the log has its events"
                            : " has no recorded run");
    } else if (has(*account, "reason", "forgotten") ||
               has(*account, "reason", "folded")) {
        buf_append_text(&text,
                        " ran so long ago that the reason is no longer "
                        "recorded");
    } else {
        write_run(&text, *account);
    }
    object_put_adopt(account, "sentence", value_string_adopt(&text));
}

/* -- Why not ------------------------------------------------------------- */

static const struct {
    const char *word;
    const char *sentence; /* behind "it" */
    const char *needs;
} conditions[] = {
    [CONDITION_EVENT] = {"event",
                         " runs once for each event of its stream",
                         "an event"},
    [CONDITION_RUNNING] = {"running", " is running", "the end of that run"},
    [CONDITION_FAILED] = {"failed",
                          "s last run failed, and its inputs have not changed "
                          "since",
                          "a change of its inputs or of its code"},
    [CONDITION_WAITS] = {"waits", " waits for ", "a run of that node"},
    [CONDITION_CLEAN] = {"clean",
                         " is up to date: its inputs have not changed since "
                         "its last run",
                         "a change of its inputs"},
    [CONDITION_NOBODY_LOOKS] =
        {"nobody-looks",
         " is dirty but dormant: no effect reads its output",
         "an effect that reads it, or a read by a command"},
    [CONDITION_NOT_STARTED] = {"not-started",
                               " is dirty, but no process runs the effects "
                               "that read it",
                               "a process that runs the piece"},
    [CONDITION_GATED] = {"gated",
                         " is dirty, but its debounce or throttle may delay "
                         "it",
                         "time"},
    [CONDITION_NONE] = {"none",
                        " is dirty and runs in the next step",
                        "nothing"},
};

/* What ends the wait of a node whose gate is known. */
static void write_gate(struct buf *to, struct value account)
{
    const uint64_t in = object_number(account, "inMs");
    buf_append_text(to, " is dirty and waits for its ");
    write_text(to, object_field(account, "gate"));
    if (in > 0) {
        buf_printf(to, ": it runs in %" PRIu64 " ms", in);
    } else {
        buf_append_text(to, ": the time counts from the next step on");
    }
}

void account_put_condition(struct value *account,
                           enum account_condition condition,
                           const struct account_node *waits_for,
                           bool with_name)
{
    struct buf text = {0};
    if (with_name) {
        account_write_node(&text, *account, "node");
    } else {
        buf_append_text(&text, "it");
    }
    if (value_is_string(object_field(*account, "gate"))) {
        write_gate(&text, *account);
    } else {
        buf_append_text(&text, conditions[condition].sentence);
    }
    struct value waits = value_empty_object();
    if (waits_for != NULL) {
        account_put_node(&waits, "node", waits_for);
        account_write_node(&text, waits, "node");
        buf_append_text(&text, ", which must run first");
    }
    write_causes(&text, *account);
    object_put_text(account, "condition", conditions[condition].word);
    object_put_adopt(account, "sentence", value_string_adopt(&text));
    object_put_text(account, "needs", conditions[condition].needs);
    if (waits_for != NULL) {
        object_put_adopt(account, "waitsFor", value_ref(waits));
    }
    value_unref(waits);
}
