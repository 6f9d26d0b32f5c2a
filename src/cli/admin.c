/* heddle admin: operation of a running server.
 *
 * Each command asks the server (server/admin.h) and prints the answer: a table
 * for people, JSON with --json. Nothing here touches files of the server. */

#include "cli/admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/look.h"
#include "cli/report.h"
#include "host/questions.h"
#include "value/array.h"
#include "value/object.h"

static bool is_json(const struct options *options)
{
    return option_is_given(options, OPTION_JSON);
}

static const char *word(const struct options *options, size_t number)
{
    return options->operands[number].word;
}

/* Asks once, in a conversation of its own. */
static int ask_once(const struct options *options,
                    const char *space,
                    bool create,
                    struct value question,
                    struct value *answer)
{
    struct admin admin;
    *answer = VALUE_NONE;
    int code = admin_open(&admin, options, space, create);
    if (code == CODE_OK) {
        code = admin_ask(&admin, question, answer);
    } else {
        value_unref(question);
    }
    admin_close(&admin);
    return code;
}

/* All pages of a listing: the array at `field`, new. */
static int ask_pages(const struct options *options,
                     const char *space,
                     const char *name,
                     const char *field,
                     struct value *out)
{
    struct admin admin;
    struct value after = VALUE_NONE;
    bool has_more = true;
    *out = value_empty_array();
    int code = admin_open(&admin, options, space, false);
    while (code == CODE_OK && has_more) {
        struct value question = question_new(name);
        struct value answer;
        struct value one;
        if (value_is_string(after)) {
            object_put_adopt(&question, "after", after);
            after = VALUE_NONE;
        }
        code = admin_ask(&admin, question, &answer);
        if (code == CODE_OK && value_is_array(object_field(answer, field))) {
            struct array_iter iter = array_iter(object_field(answer, field));
            while (array_next(&iter, &one)) {
                *out = array_push_adopt(*out, value_ref(one));
            }
            after = value_ref(object_field(answer, "next"));
        }
        has_more = value_is_string(after);
        value_unref(answer);
    }
    value_unref(after);
    admin_close(&admin);
    return code;
}

/* -- Listings ------------------------------------------------------------ */

static void append_number(struct buf *to, struct value object, const char *name)
{
    buf_printf(to, "%" PRIu64, object_number(object, name));
}

static bool is_true(struct value object, const char *name)
{
    return value_is_same(object_field(object, name), value_bool(true));
}

static void print_spaces(struct value spaces)
{
    struct look_table table = {
        .columns = 6,
        .headings = {"SPACE", "SEQ", "KIB", "STATE", "CHANNELS", "SESSIONS"},
    };
    struct array_iter iter = array_iter(spaces);
    struct value one;
    while (array_next(&iter, &one)) {
        struct look_row *row = look_row(&table);
        look_append(&row->cells[0], object_field(one, "space"));
        append_number(&row->cells[1], one, "seq");
        buf_printf(&row->cells[2],
                   "%" PRIu64,
                   object_number(one, "bytes") / 1024);
        buf_append_text(&row->cells[3],
                        is_true(one, "open") ? "open" : "closed");
        append_number(&row->cells[4], one, "channels");
        append_number(&row->cells[5], one, "sessions");
    }
    look_table_end(&table, 0);
}

static int spaces_run(const struct options *options)
{
    struct value spaces;
    const int code = ask_pages(options, NULL, "adminSpaces", "spaces", &spaces);
    if (code == CODE_OK && is_json(options)) {
        look_print_adopt(options, value_ref(spaces));
    } else if (code == CODE_OK) {
        print_spaces(spaces);
    }
    value_unref(spaces);
    return code;
}

static void print_sessions(struct value sessions)
{
    struct look_table table = {
        .columns = 6,
        .headings =
            {"SESSION", "PRINCIPAL", "MAY", "STATE", "WATCHES", "SINCE"},
    };
    struct array_iter iter = array_iter(sessions);
    struct value one;
    while (array_next(&iter, &one)) {
        struct look_row *row = look_row(&table);
        look_append(&row->cells[0], object_field(one, "session"));
        look_append(&row->cells[1], object_field(one, "principal"));
        look_append(&row->cells[2], object_field(one, "capability"));
        buf_append_text(&row->cells[3],
                        is_true(one, "connected") ? "connected" : "away");
        append_number(&row->cells[4], one, "watches");
        if (!value_is_absent(object_field(one, "since"))) {
            look_append_time(&row->cells[5], object_number(one, "since"));
        }
    }
    look_table_end(&table, 0);
}

static int sessions_run(const struct options *options)
{
    struct value sessions;
    const int code = ask_pages(options,
                               word(options, 0),
                               "adminSessions",
                               "sessions",
                               &sessions);
    if (code == CODE_OK && is_json(options)) {
        look_print_adopt(options, value_ref(sessions));
    } else if (code == CODE_OK) {
        print_sessions(sessions);
    }
    value_unref(sessions);
    return code;
}

/* -- Access -------------------------------------------------------------- */

static void print_access(const struct options *options, struct value answer)
{
    const struct value access = object_field(answer, "access");
    if (is_json(options)) {
        look_print_adopt(options, value_ref(answer));
        return;
    }
    if (!value_is_object(access)) {
        (void)printf("only owners of the server have access\n");
        return;
    }
    struct look_table table = {
        .columns = 2,
        .headings = {"PRINCIPAL", "MAY"},
    };
    struct object_iter iter = object_iter(access);
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        struct look_row *row = look_row(&table);
        look_append(&row->cells[0], key);
        look_append(&row->cells[1], item);
    }
    look_table_end(&table, 0);
}

static int access_run(const struct options *options)
{
    struct value answer;
    const int code = ask_once(options,
                              word(options, 0),
                              false,
                              question_new("adminAccess"),
                              &answer);
    if (code == CODE_OK) {
        print_access(options, answer);
    }
    value_unref(answer);
    return code;
}

static int grant_run(const struct options *options)
{
    static const char *const names[][2] = {
        {"read", "READ"},
        {"write", "WRITE"},
        {"owner", "OWNER"},
        {"none", NULL},
    };
    size_t at = 0;
    while (at < COUNT_OF(names) &&
           strcmp(names[at][0], word(options, 2)) != 0) {
        at++;
    }
    if (at == COUNT_OF(names)) {
        return report_usage(options,
                            "grant takes read, write, owner or none, not '%s'",
                            word(options, 2));
    }
    struct value question = question_new("adminGrant");
    struct value answer;
    object_put_text(&question, "principal", word(options, 1));
    object_put_adopt(&question,
                     "capability",
                     names[at][1] != NULL ? value_text_new(names[at][1])
                                          : value_null());
    const int code = ask_once(options,
                              word(options, 0),
                              names[at][1] != NULL,
                              question,
                              &answer);
    if (code == CODE_OK) {
        print_access(options, answer);
    }
    value_unref(answer);
    return code;
}

static int revoke_run(const struct options *options)
{
    struct value question = question_new("adminRevoke");
    struct value answer;
    object_put_text(&question, "principal", word(options, 1));
    const int code =
        ask_once(options, word(options, 0), false, question, &answer);
    if (code == CODE_OK && is_json(options)) {
        look_print_adopt(options, value_ref(answer));
    } else if (code == CODE_OK) {
        (void)printf("%" PRIu64 " channels ended\n",
                     object_number(answer, "ended"));
        const struct value everyone =
            object_field(object_field(answer, "access"), "*");
        if (value_is_string(everyone)) {
            (void)printf("the entry of '*' still gives every principal %s\n",
                         value_is_text(everyone, "READ")    ? "READ"
                         : value_is_text(everyone, "WRITE") ? "WRITE"
                                                            : "OWNER");
        }
    }
    value_unref(answer);
    return code;
}

/* -- Compaction and the end ---------------------------------------------- */

static int put_number(const struct options *options,
                      struct value *question,
                      const char *option,
                      const char *text,
                      const char *name,
                      uint64_t factor)
{
    uint64_t number = 0;
    if (text == NULL) {
        return CODE_OK;
    }
    const int code = look_number(options, option, text, 0, &number);
    object_put_number(question,
                      name,
                      number < INT64_MAX / factor ? number * factor
                                                  : INT64_MAX);
    return code;
}

static void print_compaction(struct value answer)
{
    static const char *const names[] = {"revisions",
                                        "snapshots",
                                        "receipts",
                                        "commits",
                                        "sessions",
                                        "actions"};
    (void)printf("history begins at seq %" PRIu64 "\nremoved:",
                 object_number(answer, "horizon"));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char field[32];
        (void)snprintf(field, sizeof field, "%sRemoved", names[i]);
        (void)printf("%s %" PRIu64 " %s",
                     i > 0 ? "," : "",
                     object_number(answer, field),
                     names[i]);
    }
    (void)printf("\nreturned %" PRIu64 " KiB to the file system; the file has "
                 "%" PRIu64 " KiB\n",
                 object_number(answer, "bytesReturned") / 1024,
                 object_number(answer, "bytes") / 1024);
}

static int compact_run(const struct options *options)
{
    const struct option_values *given = &options->values;
    struct value question = question_new("adminCompact");
    struct value answer;
    int code = put_number(options,
                          &question,
                          "--keep-from",
                          given->keep_from,
                          "keepFrom",
                          1);
    if (code == CODE_OK) {
        code = put_number(options,
                          &question,
                          "--keep-commits",
                          given->keep_commits,
                          "keepCommits",
                          1);
    }
    if (code == CODE_OK) {
        code = put_number(options,
                          &question,
                          "--keep-age",
                          given->keep_age,
                          "keepAgeMs",
                          1000);
    }
    if (code != CODE_OK) {
        value_unref(question);
        return code;
    }
    code = ask_once(options, word(options, 0), false, question, &answer);
    if (code == CODE_OK && is_json(options)) {
        look_print_adopt(options, value_ref(answer));
    } else if (code == CODE_OK) {
        print_compaction(answer);
    }
    if (code == CODE_OK && is_true(answer, "interrupted")) {
        (void)fprintf(stderr,
                      "heddle: interrupted, because the server ends; run it "
                      "again to continue\n");
        code = CODE_NO;
    }
    value_unref(answer);
    return code;
}

static int drain_run(const struct options *options)
{
    struct value answer;
    const int code =
        ask_once(options, NULL, false, question_new("adminDrain"), &answer);
    if (code == CODE_OK && is_json(options)) {
        look_print_adopt(options, value_ref(answer));
    } else if (code == CODE_OK) {
        (void)fprintf(stderr, "heddle: the server drains and ends\n");
    }
    value_unref(answer);
    return code;
}

/* -- The tree ------------------------------------------------------------ */

#define ADMIN_OPTIONS (OPTION_SERVER | OPTION_KEY | OPTION_USER)

const struct command admin_commands[] = {
    {
        .name = "spaces",
        .operands = "",
        .options = ADMIN_OPTIONS,
        .brief = "list the spaces that you may read",
        .manual =
            "Lists the spaces of the server that you may read: sequence\n"
            "number, size, whether it is open, and how many channels and\n"
            "sessions it has. An owner of the server sees all.\n",
        .has_threads = true,
        .run = spaces_run,
    },
    {
        .name = "sessions",
        .operands = "SPACE",
        .operand_count = 1,
        .options = ADMIN_OPTIONS,
        .brief = "list the sessions of a space",
        .manual =
            "Lists who uses a space: the session, its principal and what\n"
            "it may do, whether it is connected and since when, and how\n"
            "many documents it watches. For owners of the space.\n",
        .has_threads = true,
        .run = sessions_run,
    },
    {
        .name = "access",
        .operands = "SPACE",
        .operand_count = 1,
        .options = ADMIN_OPTIONS,
        .brief = "show who may do what in a space",
        .manual = "Prints the access document of a space: each principal and\n"
                  "what it may do. '*' is every principal that has proven its\n"
                  "identity.\n",
        .has_threads = true,
        .run = access_run,
    },
    {
        .name = "grant",
        .operands = "SPACE PRINCIPAL read|write|owner|none",
        .operand_count = 3,
        .options = ADMIN_OPTIONS,
        .brief = "change what a principal may do in a space",
        .manual =
            "Changes one entry of the access document of a space, which\n"
            "takes effect at once; 'none' removes it. The document keeps at\n"
            "least one owner. PRINCIPAL is a did:key (see 'heddle key'), a\n"
            "name from a token, or '*'. For owners of the space. In a space\n"
            "without an access document, which an owner of the server may\n"
            "also create in this way, the caller becomes an owner.\n",
        .has_threads = true,
        .run = grant_run,
    },
    {
        .name = "revoke",
        .operands = "SPACE PRINCIPAL",
        .operand_count = 2,
        .options = ADMIN_OPTIONS,
        .brief = "end the access of a principal, and its sessions, now",
        .manual =
            "Removes the entry of a principal from the access document of a\n"
            "space and ends its channels and streams. It can come back only\n"
            "if '*' or a token of the server's own key lets it. For owners of\n"
            "the space.\n",
        .has_threads = true,
        .run = revoke_run,
    },
    {
        .name = "backup",
        .operands = "SPACE FILE",
        .operand_count = 2,
        .options = ADMIN_OPTIONS,
        .brief = "copy a space while it is served",
        .manual =
            "Copies a space as of one moment into a new FILE here, or to\n"
            "standard output ('-'), while the server continues. The file is\n"
            "verified before it appears. It has every commit that was\n"
            "acknowledged before the command began. For owners of the space.\n",
        .has_threads = true,
        .run = admin_backup_run,
    },
    {
        .name = "compact",
        .operands = "SPACE",
        .operand_count = 1,
        .options = ADMIN_OPTIONS | OPTION_KEEP_FROM | OPTION_KEEP_COMMITS |
                   OPTION_KEEP_AGE,
        .brief = "remove the history of a space while it is served",
        .manual =
            "Makes the file of a space smaller, like 'heddle store compact',\n"
            "in small steps while the server continues. For owners of the\n"
            "space.\n",
        .has_threads = true,
        .run = compact_run,
    },
    {
        .name = "drain",
        .operands = "",
        .options = ADMIN_OPTIONS,
        .brief = "let the server end",
        .manual = "Has the effect of SIGTERM: the server accepts nothing new,\n"
                  "answers what is in flight, tells its clients to reconnect,\n"
                  "and ends. For owners of the server.\n",
        .has_threads = true,
        .run = drain_run,
    },
    {.name = NULL},
};
