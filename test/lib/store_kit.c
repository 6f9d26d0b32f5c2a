/* Stores in tests (lib/store_kit.h is the manual). */

#include "lib/store_kit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/values.h"
#include "value/json.h"

/* -- Life ---------------------------------------------------------------- */

static void swap_quotes(char *text, size_t length, char from, char to)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == from) {
            text[i] = to;
        }
    }
}

void kit_folder_new(char *to, size_t size)
{
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || *parent == '\0') {
        parent = access("build", W_OK) == 0 ? "build" : ".";
    }
    const int length = snprintf(to, size, "%s/store-XXXXXX", parent);
    CHECK(length > 0 && (size_t)length < size);
    CHECK(mkdtemp(to) != NULL);
}

void kit_folder_sweep(const char *folder, const char *part)
{
    DIR *open = opendir(folder);
    CHECK(open != NULL);
    for (struct dirent *entry = readdir(open); entry != NULL;
         entry = readdir(open)) {
        if (entry->d_name[0] != '.' && strstr(entry->d_name, part) != NULL) {
            struct buf name = {0};
            buf_printf(&name, "%s/%s", folder, entry->d_name);
            (void)unlink(buf_text(&name));
            buf_release(&name);
        }
    }
    (void)closedir(open);
}

void kit_folder_remove(const char *folder)
{
    static const char *const inside[] = {"run", "sessions"};
    for (size_t i = 0; i < COUNT_OF(inside); i++) { /* host/locked_file.h */
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", folder, inside[i]);
        if (access(path, F_OK) == 0) {
            kit_folder_sweep(path, "");
            (void)rmdir(path);
        }
    }
    kit_folder_sweep(folder, "");
    (void)rmdir(folder);
}

static void open_engine(struct store_kit *kit)
{
    const enum err err = engine_open(&kit->engine, &kit->options, &kit->detail);
    if (err != ERR_OK) {
        (void)test_fail(__FILE__, __LINE__, "%s", kit->detail.text);
    }
    CHECK(err == ERR_OK);
}

static void set_up(struct store_kit *kit, const struct engine_options *options)
{
    *kit = (struct store_kit){0};
    if (options != NULL) {
        kit->options = *options;
    }
    kit->options.path = NULL;
}

void kit_open_memory(struct store_kit *kit,
                     const struct engine_options *options)
{
    set_up(kit, options);
    open_engine(kit);
}

void kit_open_file(struct store_kit *kit, const struct engine_options *options)
{
    set_up(kit, options);
    kit->owns_folder = true;
    kit_folder_new(kit->folder, sizeof kit->folder);
    (void)snprintf(kit->path, sizeof kit->path, "%s/space.db", kit->folder);
    kit->options.path = kit->path;
    if (options == NULL || options->durability == DURABILITY_MEMORY) {
        kit->options.durability = DURABILITY_NORMAL;
    }
    open_engine(kit);
}

void kit_open_beside(struct store_kit *kit, const struct store_kit *other)
{
    set_up(kit, &other->options);
    memcpy(kit->path, other->path, sizeof kit->path);
    kit->options.path = kit->path;
    open_engine(kit);
}

static void release_verdicts(struct store_kit *kit)
{
    for (size_t i = 0; i < KIT_GROUP_MAX; i++) {
        verdict_release(&kit->verdicts[i]);
    }
}

void kit_close(struct store_kit *kit)
{
    engine_close(&kit->engine);
    release_verdicts(kit);
    for (size_t i = 0; i < KIT_TEXTS; i++) {
        buf_release(&kit->texts[i]);
    }
    if (kit->owns_folder) {
        kit_folder_remove(kit->folder);
    }
}

void kit_reopen(struct store_kit *kit)
{
    CHECK(kit->options.path != NULL);
    engine_close(&kit->engine);
    open_engine(kit);
}

/* -- Commits in one line ------------------------------------------------- */

/* Lists of the commit being written. */
struct parts {
    struct buf confirmed;
    struct buf pending;
    struct buf operations;
    struct buf preconditions;
    struct buf rest;
};

/* The next word of *at, and the blanks behind it. */
static struct text next_word(const char **at)
{
    const char *from = *at;
    while (**at != '\0' && **at != ' ') {
        (*at)++;
    }
    const struct text word = {from, (size_t)(*at - from)};
    while (**at == ' ') {
        (*at)++;
    }
    return word;
}

static bool is_word(struct text word, const char *want)
{
    return word.length == strlen(want) &&
           memcmp(word.at, want, word.length) == 0;
}

/* A~user.x.y in its parts. */
struct place {
    struct text id;
    struct text scope; /* empty: space */
    bool root;         /* A! */
    struct text below; /* ".x.y" */
};

static size_t find_char(struct text text, char wanted)
{
    const char *found = memchr(text.at, wanted, text.length);
    return found != NULL ? (size_t)(found - text.at) : text.length;
}

static struct place read_place(struct text word)
{
    struct place place = {0};
    const size_t dot = find_char(word, '.');
    place.below = (struct text){word.at + dot, word.length - dot};
    place.id = (struct text){word.at, dot};
    if (place.id.length > 0 && place.id.at[place.id.length - 1] == '!') {
        place.root = true;
        place.id.length--;
    }
    const size_t tilde = find_char(place.id, '~');
    if (tilde < place.id.length) {
        place.scope =
            (struct text){place.id.at + tilde + 1, place.id.length - tilde - 1};
        place.id.length = tilde;
    }
    return place;
}

/* "'id':'A','scope':'user'" */
static void put_target(struct buf *to, const struct place *place)
{
    buf_printf(to, "'id':'%.*s'", (int)place->id.length, place->id.at);
    if (place->scope.length > 0) {
        buf_printf(to,
                   ",'scope':'%.*s'",
                   (int)place->scope.length,
                   place->scope.at);
    }
}

static void put_pointer(struct buf *to, const struct place *place)
{
    buf_append_text(to, place->root ? "" : "/value");
    for (size_t i = 0; i < place->below.length; i++) {
        const char c = place->below.at[i];
        buf_append_char(to, c == '.' ? '/' : c);
    }
}

static void put_path(struct buf *to, const struct place *place)
{
    const char *between = place->root ? "" : ",";
    buf_append_text(to, place->root ? "[" : "['value'");
    for (size_t i = 0; i < place->below.length; i++) {
        if (place->below.at[i] == '.') {
            buf_printf(to, "%s%s'", i > 0 ? "'" : "", between);
            between = ",";
        } else {
            buf_append_char(to, place->below.at[i]);
        }
    }
    buf_append_text(to, place->below.length > 0 ? "']" : "]");
}

static struct buf *begin_item(struct buf *list)
{
    buf_append_text(list, list->length > 0 ? ",{" : "{");
    return list;
}

static void put_read(struct parts *parts, const char *at, bool shape)
{
    const bool pending = is_word(next_word(&at), "pend");
    const struct place place = read_place(next_word(&at));
    struct buf *to = begin_item(pending ? &parts->pending : &parts->confirmed);
    put_target(to, &place);
    buf_append_text(to, ",'path':");
    put_path(to, &place);
    const struct text number = next_word(&at);
    if (pending) {
        const struct text basis = next_word(&at);
        CHECK(basis.length > 2);
        buf_printf(to,
                   ",'localSeq':%.*s,'basisSeq':%.*s",
                   (int)number.length,
                   number.at,
                   (int)basis.length - 2,
                   basis.at + 2);
    } else {
        CHECK(number.length > 1 && number.at[0] == '@');
        buf_printf(to, ",'seq':%.*s", (int)number.length - 1, number.at + 1);
    }
    if (is_word(next_word(&at), "on")) {
        buf_printf(to, ",'branch':'%s'", at);
    }
    buf_append_text(to, shape ? ",'nonRecursive':true}" : "}");
}

/* An operation on a whole document; false if the verb is none of them. */
static bool put_document_op(struct parts *parts,
                            struct text verb,
                            const struct place *place,
                            const char *rest)
{
    const bool set = is_word(verb, "set");
    const bool patch = is_word(verb, "patch");
    if (!set && !patch && !is_word(verb, "put") && !is_word(verb, "delete")) {
        return false;
    }
    struct buf *to = begin_item(&parts->operations);
    put_target(to, place);
    if (set) {
        buf_printf(to, ",'op':'set','value':{'value':%s}}", rest);
    } else if (patch) {
        buf_printf(to, ",'op':'patch','patches':%s}", rest);
    } else if (is_word(verb, "put")) {
        buf_printf(to, ",'op':'set','value':%s}", rest);
    } else {
        buf_append_text(to, ",'op':'delete'}");
    }
    return true;
}

/* A patch of one operation; false if the verb is none of them. */
static bool put_patch_op(struct parts *parts,
                         struct text verb,
                         const struct place *place,
                         const char *rest)
{
    static const struct {
        const char *name;
        const char *field;
    } rows[] = {
        {"replace", "value"},
        {"add", "value"},
        {"append", "values"},
        {"add-unique", "values"},
        {"increment", "by"},
        {"remove", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (is_word(verb, rows[i].name)) {
            struct buf *to = begin_item(&parts->operations);
            put_target(to, place);
            buf_printf(to,
                       ",'op':'patch','patches':[{'op':'%s','path':'",
                       rows[i].name);
            put_pointer(to, place);
            buf_append_char(to, '\'');
            if (rows[i].field != NULL) {
                buf_printf(to, ",'%s':%s", rows[i].field, rest);
            }
            buf_append_text(to, "}]}");
            return true;
        }
    }
    return false;
}

static bool put_precondition(struct parts *parts,
                             struct text verb,
                             const struct place *place,
                             const char *rest)
{
    if (is_word(verb, "origin")) {
        buf_printf(begin_item(&parts->preconditions),
                   "'kind':'origin-committed','originLocalSeq':%.*s}",
                   (int)place->id.length,
                   place->id.at);
    } else if (is_word(verb, "absent")) {
        struct buf *to = begin_item(&parts->preconditions);
        buf_append_text(to, "'kind':'entity-absent',");
        put_target(to, place);
        buf_append_char(to, '}');
    } else if (is_word(verb, "hash")) {
        struct buf *to = begin_item(&parts->preconditions);
        buf_append_text(to, "'kind':'entity-value-hash',");
        put_target(to, place);
        buf_printf(to, ",'valueHash':%s}", rest);
    } else {
        return false;
    }
    return true;
}

/* One part of a commit, without the bars. */
static void put_part(struct parts *parts, const char *part)
{
    const char *at = part;
    const struct text verb = next_word(&at);
    if (is_word(verb, "shape")) {
        put_read(parts, at, true);
    } else if (is_word(verb, "conf") || is_word(verb, "pend")) {
        put_read(parts, part, false);
    } else if (is_word(verb, "branch")) {
        buf_printf(&parts->rest, ",'branch':'%s'", at);
    } else if (is_word(verb, "json")) {
        buf_printf(&parts->rest, ",%s", at);
    } else {
        const struct place place = read_place(next_word(&at));
        const bool known = put_document_op(parts, verb, &place, at) ||
                           put_patch_op(parts, verb, &place, at) ||
                           put_precondition(parts, verb, &place, at);
        if (!known) {
            (void)test_fail(__FILE__, __LINE__, "unknown part: %s", part);
        }
    }
}

static void put_parts(struct parts *parts, const char *at)
{
    while (at != NULL) {
        const char *bar = strstr(at, " | ");
        const size_t length = bar != NULL ? (size_t)(bar - at) : strlen(at);
        struct buf part = {0};
        buf_append(&part, at, length);
        put_part(parts, buf_text(&part));
        buf_release(&part);
        at = bar != NULL ? bar + strlen(" | ") : NULL;
    }
}

static void put_list(struct buf *to, const char *name, struct buf *list)
{
    if (list->length > 0) {
        buf_printf(to, ",'%s':[%s]", name, buf_text(list));
    }
    buf_release(list);
}

struct buf kit_commit_json(const char *line)
{
    struct parts parts = {0};
    const char *at = line;
    const struct text session = next_word(&at);
    const struct text number = next_word(&at);
    CHECK(at[0] == '|' && at[1] == ' ');
    put_parts(&parts, at + 2);
    struct buf text = {0};
    buf_printf(&text,
               "{'session':'%.*s','localSeq':%.*s",
               (int)session.length,
               session.at,
               (int)number.length,
               number.at);
    buf_append_text(&text, buf_text(&parts.rest));
    buf_release(&parts.rest);
    if (parts.confirmed.length + parts.pending.length > 0) {
        buf_append_text(&text, ",'reads':{'none':0");
        put_list(&text, "confirmed", &parts.confirmed);
        put_list(&text, "pending", &parts.pending);
        buf_append_char(&text, '}');
    }
    put_list(&text, "operations", &parts.operations);
    put_list(&text, "preconditions", &parts.preconditions);
    buf_append_char(&text, '}');
    swap_quotes(text.at, text.length, '\'', '"');
    return text;
}

/* -- Committing ---------------------------------------------------------- */

/* A commit that cannot be read has its verdict already. */
static bool read_commit(struct store_kit *kit,
                        const char *line,
                        struct commit *out,
                        struct verdict *verdict)
{
    struct buf text = kit_commit_json(line);
    struct value value = from_json(buf_text(&text));
    buf_release(&text);
    const enum err err =
        commit_read(value, &kit->engine.paths, out, &verdict->detail);
    value_unref(value);
    verdict->err = err;
    return err == ERR_OK;
}

void kit_group(struct store_kit *kit, const char *const *lines, size_t count)
{
    /* Not static: a log in a test may commit to another engine meanwhile. */
    struct commit commits[KIT_GROUP_MAX];
    struct engine_request requests[KIT_GROUP_MAX];
    size_t at[KIT_GROUP_MAX];
    size_t sent = 0;
    CHECK(count <= KIT_GROUP_MAX);
    release_verdicts(kit);
    for (size_t i = 0; i < count; i++) {
        if (read_commit(kit, lines[i], &commits[sent], &kit->verdicts[i])) {
            requests[sent] = (struct engine_request){
                .commit = &commits[sent],
                .principal = kit->principal != NULL
                                 ? value_text_new(kit->principal)
                                 : VALUE_NONE,
                .client = kit->client,
                .unchanged_seq = kit->unchanged_seq,
                .at_ms = kit->at_ms,
            };
            at[sent] = i;
            sent++;
        }
    }
    kit->detail = (struct err_detail){0};
    kit->fault = engine_commit(&kit->engine, requests, sent, &kit->detail);
    for (size_t i = 0; i < sent; i++) {
        kit->verdicts[at[i]] = requests[i].verdict;
        value_unref(requests[i].principal);
        commit_release(&commits[i]);
    }
}

void kit_commit(struct store_kit *kit, const char *line)
{
    kit_group(kit, &line, 1);
}

bool kit_expect_landed(const char *file,
                       int line,
                       struct store_kit *kit,
                       uint64_t seq,
                       const char *commit)
{
    kit_commit(kit, commit);
    const struct verdict *verdict = &kit->verdicts[0];
    if (kit->fault == ERR_OK && verdict->err == ERR_OK && verdict->seq == seq) {
        return true;
    }
    return test_fail(file,
                     line,
                     "%s\n  expected to land at %" PRIu64
                     "\n  got %s, seq %" PRIu64 ": %s",
                     commit,
                     seq,
                     err_name(verdict->err),
                     verdict->seq,
                     verdict->detail.text);
}

bool kit_expect_refused(const char *file,
                        int line,
                        struct store_kit *kit,
                        enum err err,
                        const char *part,
                        const char *commit)
{
    struct buf before = kit_dump(kit);
    kit_commit(kit, commit);
    struct buf after = kit_dump(kit);
    const struct verdict *verdict = &kit->verdicts[0];
    bool held = kit->fault == ERR_OK && verdict->err == err &&
                strstr(verdict->detail.text, part) != NULL;
    if (!held) {
        (void)test_fail(file,
                        line,
                        "%s\n  expected %s with '%s'\n  got %s, seq %" PRIu64
                        ": %s",
                        commit,
                        err_name(err),
                        part,
                        err_name(verdict->err),
                        verdict->seq,
                        verdict->detail.text);
    }
    if (strcmp(buf_text(&before), buf_text(&after)) != 0) {
        held = test_fail(file, line, "%s\n  left a trace", commit);
    }
    buf_release(&before);
    buf_release(&after);
    return held;
}

/* -- Looking ------------------------------------------------------------- */

static struct buf *next_text(struct store_kit *kit)
{
    struct buf *text = &kit->texts[kit->next_text];
    kit->next_text = (kit->next_text + 1) % KIT_TEXTS;
    buf_clear(text);
    return text;
}

/* Releases the value. */
static const char *show_adopt(struct store_kit *kit,
                              enum err err,
                              struct value value)
{
    struct buf *text = next_text(kit);
    if (err != ERR_OK) {
        buf_append_text(text, err_name(err));
    } else if (value_is_absent(value)) {
        buf_append_text(text, "(absent)");
    } else {
        json_write(text, value, JSON_CANONICAL, 0);
        swap_quotes(text->at, text->length, '"', '\'');
    }
    value_unref(value);
    return buf_text(text);
}

const char *kit_verdict(struct store_kit *kit, size_t index)
{
    return show_adopt(kit, ERR_OK, verdict_write(&kit->verdicts[index]));
}

const char *kit_read_at(struct store_kit *kit, const char *name, uint64_t seq)
{
    const char *slash = strchr(name, '/');
    const char *id = slash != NULL ? slash + 1 : name;
    const size_t tilde = strcspn(id, "~");
    const char *key = id[tilde] == '~' ? id + tilde + 1 : "space";
    const struct engine_address address = {
        .branch =
            value_string_new(name, slash != NULL ? (size_t)(slash - name) : 0),
        .scope_key = value_text_new(key),
        .id = value_string_new(id, tilde),
    };
    struct value value = VALUE_NONE;
    kit->detail = (struct err_detail){0};
    const enum err err =
        engine_read(&kit->engine, &address, seq, &value, &kit->detail);
    value_unref(address.branch);
    value_unref(address.scope_key);
    value_unref(address.id);
    return show_adopt(kit, err, value);
}

const char *kit_read(struct store_kit *kit, const char *name)
{
    return kit_read_at(kit, name, ENGINE_HEAD);
}

const char *kit_list(struct store_kit *kit,
                     const char *branch,
                     const char *scope_key,
                     const char *after,
                     uint32_t limit,
                     uint64_t seq)
{
    const struct value branch_name = value_text_new(branch);
    const struct value key = value_text_new(scope_key);
    const struct value from =
        after != NULL ? value_text_new(after) : VALUE_NONE;
    struct value ids = VALUE_NONE;
    kit->detail = (struct err_detail){0};
    const struct engine_page page = {branch_name, key, from, limit, seq};
    const enum err err = engine_list(&kit->engine, &page, &ids, &kit->detail);
    value_unref(branch_name);
    value_unref(key);
    value_unref(from);
    return show_adopt(kit, err, ids);
}

static void put_column(struct buf *to, sqlite3_stmt *stmt, int column)
{
    if (sqlite3_column_type(stmt, column) == SQLITE_NULL) {
        buf_append_text(to, "NULL");
    } else if (sqlite3_column_type(stmt, column) == SQLITE_BLOB) {
        const unsigned char *bytes = sqlite3_column_blob(stmt, column);
        const int size = sqlite3_column_bytes(stmt, column);
        for (int i = 0; i < size; i++) {
            buf_printf(to, "%02x", bytes[i]);
        }
    } else {
        const void *text = sqlite3_column_text(stmt, column);
        buf_append(to, text, (size_t)sqlite3_column_bytes(stmt, column));
    }
}

static void put_rows(struct buf *to, struct store_kit *kit, const char *sql)
{
    sqlite3 *db = kit->engine.database.db;
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(stmt);
    }
    while (code == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            buf_append_text(to, i > 0 ? "|" : "");
            put_column(to, stmt, i);
        }
        buf_append_char(to, ';');
        code = sqlite3_step(stmt);
    }
    (void)sqlite3_finalize(stmt);
    if (code != SQLITE_DONE) {
        (void)test_fail(__FILE__, __LINE__, "%s: %s", sql, sqlite3_errmsg(db));
    }
}

const char *kit_sql(struct store_kit *kit, const char *sql)
{
    struct buf *text = next_text(kit);
    put_rows(text, kit, sql);
    swap_quotes(text->at, text->length, '"', '\'');
    return buf_text(text);
}

void kit_run_unseen(struct store_kit *kit, const char *sql)
{
    sqlite3 *db = kit->engine.database.db;
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        (void)test_fail(__FILE__, __LINE__, "%s: %s", sql, sqlite3_errmsg(db));
    }
}

void kit_run(struct store_kit *kit, const char *sql)
{
    kit_run_unseen(kit, sql);
    engine_forget(&kit->engine);
}

struct buf kit_dump(struct store_kit *kit)
{
    static const char *const queries[] = {
        "SELECT * FROM space ORDER BY name",
        "SELECT * FROM branch ORDER BY branch",
        "SELECT * FROM session ORDER BY session",
        "SELECT * FROM \"commit\" ORDER BY seq",
        "SELECT * FROM document ORDER BY document",
        "SELECT * FROM revision ORDER BY document, seq, op_index",
        "SELECT * FROM snapshot ORDER BY document, seq",
        "SELECT * FROM piece ORDER BY piece",
        "SELECT * FROM action ORDER BY piece, action",
        "SELECT * FROM run ORDER BY action",
        "SELECT * FROM place ORDER BY place",
        "SELECT * FROM edge ORDER BY piece, action, edge",
    };
    struct buf text = {0};
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        buf_printf(&text, "%s\n", queries[i]);
        put_rows(&text, kit, queries[i]);
        buf_append_char(&text, '\n');
    }
    return text;
}

/* -- Branches ------------------------------------------------------------ */

enum err kit_fork(struct store_kit *kit,
                  const char *name,
                  const char *parent,
                  uint64_t seq)
{
    const struct value from = value_text_new(parent);
    const struct value to = value_text_new(name);
    kit->detail = (struct err_detail){0};
    const enum err err = engine_fork(&kit->engine, to, from, seq, &kit->detail);
    value_unref(from);
    value_unref(to);
    return err;
}

enum err kit_branch_delete(struct store_kit *kit, const char *name)
{
    const struct value branch = value_text_new(name);
    kit->detail = (struct err_detail){0};
    const enum err err =
        engine_branch_delete(&kit->engine, branch, &kit->detail);
    value_unref(branch);
    return err;
}

const char *kit_branches(struct store_kit *kit)
{
    struct value list = VALUE_NONE;
    kit->detail = (struct err_detail){0};
    const enum err err = engine_branch_list(&kit->engine, &list, &kit->detail);
    return show_adopt(kit, err, list);
}
