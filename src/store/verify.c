/* The check of a whole space. */

#include "store/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "store/history.h"
#include "store/observations.h"
#include "store/waiting.h"
#include "value/compare.h"

struct verify {
    struct engine *engine;
    const struct verify_options *options;
    struct verify_counts *counts;
    struct err_detail *detail;
    uint64_t total;
    uint64_t done;

    /* Along the history. */
    uint64_t record;
    uint64_t seq;
    struct digest chain;
};

__attribute__((format(printf, 2, 3))) static void differs(struct verify *verify,
                                                          const char *format,
                                                          ...)
{
    char sentence[ERR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    verify->counts->differences++;
    if (verify->options->difference != NULL) {
        verify->options->difference(verify->options->ctx, sentence);
    }
}

/* False if the caller stops the check. */
static bool go_on(struct verify *verify)
{
    verify->done++;
    if (verify->options->progress != NULL && verify->done % 64 == 0 &&
        !verify->options->progress(verify->options->ctx,
                                   verify->done,
                                   verify->total)) {
        verify->counts->stopped = true;
    }
    return !verify->counts->stopped;
}

/* Something derived disagrees with the history. */
static void is_wrong(struct verify *verify,
                     uint64_t document,
                     uint64_t snapshot)
{
    if (verify->options->wrong != NULL) {
        verify->options->wrong(verify->options->ctx, document, snapshot);
    }
}

/* -- SQLite itself ------------------------------------------------------- */

static enum err check_integrity(struct verify *verify)
{
    struct query query =
        query_begin(&verify->engine->database, STATEMENT_INTEGRITY);
    while (query_step(&query)) {
        const struct text text = query_get_text(&query, 0);
        if (text.length != 2 || memcmp(text.at, "ok", 2) != 0) {
            differs(verify,
                    "integrity: %.*s",
                    text.length < 200 ? (int)text.length : 200,
                    text.at);
        }
    }
    verify->counts->damaged = verify->counts->differences > 0;
    return query_end(&query, verify->detail);
}

/* The number of revisions that the history above the horizon should have. */
static enum err count_revisions(struct verify *verify, uint64_t *out)
{
    struct query query =
        query_begin(&verify->engine->database, STATEMENT_REVISION_COUNT);
    query_int(&query, 1, verify->engine->horizon);
    if (query_step(&query)) {
        *out = query_get_int(&query, 0);
    }
    return query_end(&query, verify->detail);
}

/* -- The history --------------------------------------------------------- */

static enum err check_record(void *ctx, const struct history_record *record)
{
    struct verify *verify = ctx;
    const struct commit_record *commit_record = record->commit_record;
    if (commit_record->record != verify->record + 1) {
        differs(verify,
                "record %llu follows record %llu",
                (unsigned long long)commit_record->record,
                (unsigned long long)verify->record);
    }
    if (commit_record->kind == RECORD_COMMIT) {
        if (commit_record->seq != verify->seq + 1) {
            differs(verify,
                    "commit %llu follows commit %llu",
                    (unsigned long long)commit_record->seq,
                    (unsigned long long)verify->seq);
        }
        verify->seq = commit_record->seq;
        verify->counts->commits++;
        verify->counts->revisions += commit_record->writes.count;
    }
    const struct digest chain =
        commit_record_chain(verify->chain, commit_record);
    if (memcmp(chain.bytes, record->chain.bytes, sizeof chain.bytes) != 0) {
        differs(verify,
                "the digest chain breaks at record %llu: it or an earlier "
                "record was changed",
                (unsigned long long)commit_record->record);
    }
    verify->record = commit_record->record;
    verify->chain = record->chain; /* one message per break */
    return go_on(verify) ? ERR_OK : ERR_BUSY;
}

static enum err check_history(struct verify *verify)
{
    struct err_detail why = {0};
    enum err err = history_walk(verify->engine,
                                verify->record,
                                check_record,
                                verify,
                                &why);
    if (err == ERR_CORRUPT) {
        differs(verify, "%s", why.text);
        return ERR_OK;
    }
    if (err != ERR_OK && !verify->counts->stopped) {
        *verify->detail = why;
        return err;
    }
    uint64_t revisions = 0;
    err = count_revisions(verify, &revisions);
    if (err == ERR_OK && !verify->counts->stopped &&
        revisions != verify->counts->revisions) {
        differs(verify,
                "there are %llu revisions, but commits name %llu",
                (unsigned long long)revisions,
                (unsigned long long)verify->counts->revisions);
    }
    return err;
}

/* -- Documents ----------------------------------------------------------- */

/* A name for a message. */
static void name_document(const struct document *document, struct buf *to)
{
    const struct text id = value_text(&document->id);
    buf_clear(to);
    buf_append(to, id.at, id.length < 80 ? id.length : 80);
    if (!value_is_text(document->scope_key, "space")) {
        const struct text scope = value_text(&document->scope_key);
        buf_append_char(to, '@');
        buf_append(to, scope.at, scope.length < 80 ? scope.length : 80);
    }
    if (document->branch->number != 0) {
        const struct text branch = value_text(&document->branch->name);
        buf_append_text(to, " on ");
        buf_append(to, branch.at, branch.length < 40 ? branch.length : 40);
    }
}

/* The row says where the history of the document ends. */
static enum err check_row(struct verify *verify,
                          const struct document *document,
                          const char *name)
{
    struct query query =
        query_begin(&verify->engine->database, STATEMENT_REVISION_LAST);
    query_int(&query, 1, document->number);
    query_int(&query, 2, INT64_MAX);
    enum commit_op_kind op = COMMIT_SET;
    const uint64_t before = verify->counts->differences;
    if (!query_step(&query)) {
        differs(verify, "%s: its row has no revisions", name);
    } else if (query_get_int(&query, 0) != document->head_seq ||
               query_get_int(&query, 1) != document->head_index ||
               !document_op_read(query_get_text(&query, 2), &op) ||
               op != document->op) {
        differs(verify, "%s: its row does not match its last revision", name);
    }
    const enum err err = query_end(&query, verify->detail);
    if (err != ERR_OK) {
        return err;
    }
    query = query_begin(&verify->engine->database, STATEMENT_REVISION_BASE);
    query_int(&query, 1, document->number);
    query_int(&query, 2, INT64_MAX);
    const uint64_t base = query_step(&query) ? query_get_int(&query, 0) : 0;
    if (base != document->base_seq) {
        differs(verify, "%s: its row refers to the wrong base", name);
    }
    if (verify->counts->differences > before) {
        is_wrong(verify, document->number, 0);
    }
    return query_end(&query, verify->detail);
}

/* Compares what a read returns with the fold of the revisions alone. */
static enum err check_fold(struct verify *verify,
                           struct document *document,
                           uint64_t seq,
                           struct value got,
                           const char *what,
                           const char *name)
{
    struct value want = VALUE_NONE;
    struct err_detail why = {0};
    const enum err err =
        document_at(verify->engine, document, seq, FOLD_REVISIONS, &want, &why);
    if (err == ERR_CORRUPT) {
        differs(verify, "%s", why.text);
        return ERR_OK;
    }
    if (err != ERR_OK) {
        *verify->detail = why;
        return err;
    }
    if (!value_equal(got, want)) {
        differs(verify,
                "%s: %s at seq %llu does not match its revisions",
                name,
                what,
                (unsigned long long)seq);
    }
    value_unref(want);
    return ERR_OK;
}

struct snapshot_copy {
    uint64_t seq;
    struct value value;
};

typedef VEC(struct snapshot_copy) snapshot_copies;

/* Copied first, because folding uses its own statements. */
static enum err load_snapshots(struct verify *verify,
                               const struct document *document,
                               snapshot_copies *out,
                               const char *name)
{
    struct query query =
        query_begin(&verify->engine->database, STATEMENT_SNAPSHOT_ALL);
    query_int(&query, 1, document->number);
    while (query_step(&query)) {
        struct snapshot_copy copy = {.seq = query_get_int(&query, 0)};
        struct err_detail why = {0};
        if (document_decode(verify->engine,
                            document,
                            query_get_text(&query, 1),
                            &copy.value,
                            &why) != ERR_OK) {
            differs(verify, "%s: a snapshot is damaged", name);
            is_wrong(verify, document->number, copy.seq);
            continue;
        }
        vec_push(out, copy);
    }
    return query_end(&query, verify->detail);
}

static enum err check_snapshots(struct verify *verify,
                                struct document *document,
                                const char *name)
{
    snapshot_copies copies = {0};
    enum err err = load_snapshots(verify, document, &copies, name);
    VEC_FOREACH (&copies, copy) {
        if (err == ERR_OK) {
            const uint64_t before = verify->counts->differences;
            verify->counts->snapshots++;
            err = check_fold(verify,
                             document,
                             copy->seq,
                             copy->value,
                             "a snapshot",
                             name);
            if (verify->counts->differences > before) {
                is_wrong(verify, document->number, copy->seq);
            }
        }
        value_unref(copy->value);
    }
    vec_release(&copies);
    return err;
}

static enum err check_waiting(struct verify *verify,
                              const struct document *document,
                              struct value head,
                              const char *name)
{
    bool is_right;
    const enum err err = waiting_check(verify->engine,
                                       document,
                                       head,
                                       &is_right,
                                       verify->detail);
    if (err == ERR_OK && !is_right) {
        differs(
            verify,
            waiting_is_due(document, head)
                ? "%s: its event is not listed as waiting, or not in its place"
                : "%s: it is listed as waiting, but holds no event",
            name);
        is_wrong(verify, document->number, 0);
    }
    return err;
}

static enum err check_document(struct verify *verify, struct document *document)
{
    struct buf name = {0};
    struct value head = VALUE_NONE;
    struct err_detail why = {0};
    name_document(document, &name);
    verify->counts->documents++;
    enum err err = check_row(verify, document, buf_text(&name));
    if (err == ERR_OK) {
        err = check_snapshots(verify, document, buf_text(&name));
    }
    if (err == ERR_OK) {
        err = document_at(verify->engine,
                          document,
                          ENGINE_HEAD,
                          FOLD_FAST,
                          &head,
                          &why);
        if (err == ERR_CORRUPT) {
            differs(verify, "%s", why.text);
            err = ERR_OK;
        } else if (err == ERR_OK) {
            err = check_fold(verify,
                             document,
                             document->head_seq,
                             head,
                             "its value",
                             buf_text(&name));
            if (err == ERR_OK) {
                err = check_waiting(verify, document, head, buf_text(&name));
            }
        }
    }
    value_unref(head);
    buf_release(&name);
    return err;
}

/* A document that cannot be read is a difference like any other. */
static enum err check_named(struct verify *verify,
                            const struct document_name *name)
{
    struct document *document = NULL;
    struct err_detail why = {0};
    if (name->branch >= verify->engine->branches.count) {
        differs(verify,
                "document %llu is on an unknown branch",
                (unsigned long long)name->number);
        return ERR_OK;
    }
    const enum err err =
        document_find(verify->engine,
                      engine_branch_by_number(verify->engine, name->branch),
                      name->scope_key,
                      name->id,
                      &document,
                      &why);
    if (err == ERR_OK) {
        return check_document(verify, document);
    }
    if (err == ERR_CORRUPT) {
        differs(verify, "%s", why.text);
        is_wrong(verify, name->number, 0);
        return ERR_OK;
    }
    *verify->detail = why;
    return err;
}

static enum err check_documents(struct verify *verify)
{
    document_names names = {0};
    enum err err =
        documents_list(verify->engine, 0, INT64_MAX, &names, verify->detail);
    VEC_FOREACH (&names, name) {
        if (err != ERR_OK || verify->counts->stopped) {
            break;
        }
        err = check_named(verify, name);
        (void)go_on(verify);
    }
    document_names_release(&names);
    return err;
}

static enum err check_strays(struct verify *verify)
{
    waiting_numbers numbers = {0};
    const enum err err =
        waiting_strays(verify->engine, &numbers, verify->detail);
    VEC_FOREACH (&numbers, number) {
        differs(verify,
                "document %llu is listed as waiting, but does not exist",
                (unsigned long long)*number);
        is_wrong(verify, *number, 0);
    }
    vec_release(&numbers);
    return err;
}

static void observed_differs(void *ctx, const char *sentence)
{
    differs(ctx, "%s", sentence);
}

/* What is before the horizon is gone: the rest of the chain begins with its
 * value. */
static enum err begin_at_horizon(struct verify *verify)
{
    struct query query =
        query_begin(&verify->engine->database, STATEMENT_COMMIT_AT);
    query_int(&query, 1, verify->engine->horizon);
    if (query_step(&query)) {
        const struct text chain = query_get_text(&query, 1);
        verify->seq = verify->engine->horizon;
        verify->record = query_get_int(&query, 0);
        if (chain.length == DIGEST_BYTES) {
            memcpy(verify->chain.bytes, chain.at, DIGEST_BYTES);
        }
    }
    return query_end(&query, verify->detail);
}

enum err engine_verify(struct engine *engine,
                       const struct verify_options *options,
                       struct verify_counts *counts,
                       struct err_detail *detail)
{
    struct err_detail ignored = {0};
    struct verify verify = {
        .engine = engine,
        .options = options,
        .counts = counts,
        .detail = detail != NULL ? detail : &ignored,
    };
    *counts = (struct verify_counts){0};
    enum err err = engine_read_begin(engine, verify.detail);
    if (err != ERR_OK) {
        return err;
    }
    uint64_t documents = 0;
    err = documents_count(engine, &documents, verify.detail);
    verify.total = engine->record + documents;
    if (err == ERR_OK) {
        err = check_integrity(&verify);
    }
    if (err == ERR_OK) {
        err = begin_at_horizon(&verify);
    }
    if (err == ERR_OK) {
        err = check_history(&verify);
        counts->holds = err == ERR_OK && counts->differences == 0;
    }
    if (err == ERR_OK && !counts->stopped) {
        err = check_documents(&verify);
    }
    if (err == ERR_OK && !counts->stopped) {
        err = check_strays(&verify);
    }
    if (err == ERR_OK && !counts->stopped) {
        err = observations_check(engine,
                                 observed_differs,
                                 &verify,
                                 &counts->actions,
                                 verify.detail);
    }
    engine_read_end(engine);
    return err;
}
