/* Catching up with the log, and landing in it. */

#include "store/sequence.h"

#include <string.h>

#include "store/log.h"
#include "value/compare.h"

/* -- Foreign records ----------------------------------------------------- */

/* A write of the record being bound, and its number. */
struct binding {
    struct engine *engine;
    struct record_write *write;
    size_t number;
    struct err_detail *detail;
};

static enum err does_not_fit(const struct binding *binding,
                             const char *field,
                             const char *why)
{
    return err_set(binding->detail,
                   ERR_CORRUPT,
                   "a record's writes[%zu].%s does not fit this history: %s",
                   binding->number,
                   field,
                   why);
}

/* What the patch makes of the document, and what it met there, which must be
 * what the record says. */
static enum err bind_applied(const struct binding *binding,
                             const struct patch *patch,
                             struct value base)
{
    struct record_write *write = binding->write;
    struct err_detail why = {0};
    trace_list traces = {0};
    vec_reserve(&traces, patch->ops.count + 1);
    enum err err = patch_apply(patch,
                               base,
                               PATCH_ROOT_DOCUMENT,
                               &write->result,
                               traces.at,
                               &why);
    if (err != ERR_OK) {
        err = does_not_fit(binding, "data", why.text);
    } else {
        const struct value trace = traces_write(traces.at, patch->ops.count);
        if (!value_equal(trace, write->trace)) {
            err = does_not_fit(binding,
                               "trace",
                               "the patch applies to another "
                               "kind of value");
        }
        value_unref(trace);
    }
    vec_release(&traces);
    return err;
}

static enum err bind_patch(const struct binding *binding)
{
    struct engine *engine = binding->engine;
    struct record_write *write = binding->write;
    struct document *document = write->document;
    struct patch patch = {0};
    struct value base = document->staged;
    uint64_t bytes = document->staged_bytes;
    struct err_detail why = {0};
    enum err err = ERR_OK;
    if (document->stamp != engine->stamp) {
        err = document_head(engine, document, &base, binding->detail);
        bytes = document->head_bytes;
    }
    if (err != ERR_OK) {
        return err;
    }
    if (patch_read(write->data, &engine->paths, &patch, &why) != ERR_OK) {
        return commit_record_bad_write(binding->number,
                                       "data",
                                       why.text,
                                       binding->detail);
    }
    err = bind_applied(binding, &patch, base);
    write->result_bytes =
        bytes +
        DOCUMENT_GROWTH * (uint64_t)value_text(&write->data_text).length;
    patch_release(&patch);
    return err;
}

/* The document of a write, and its value afterwards. */
static enum err bind_write(const struct binding *binding, struct branch *branch)
{
    struct engine *engine = binding->engine;
    struct record_write *write = binding->write;
    enum err err = document_find(engine,
                                 branch,
                                 write->scope_key,
                                 write->id,
                                 &write->document,
                                 binding->detail);
    if (err == ERR_OK && write->op == COMMIT_PATCH) {
        err = bind_patch(binding);
    } else if (write->op == COMMIT_SET) {
        write->result = value_ref(write->data);
        write->result_bytes = value_text(&write->data_text).length;
    }
    if (err == ERR_OK) {
        struct document *document = write->document;
        write->result_known = true;
        value_unref(document->staged);
        document->staged = value_ref(write->result);
        document->staged_bytes = write->result_bytes;
        document->stamp = engine->stamp;
    }
    return err;
}

/* A local seq of a session is used once. */
static enum err check_number(struct engine *engine,
                             const struct commit_record *commit_record,
                             struct err_detail *detail)
{
    uint64_t session = 0;
    enum err err =
        engine_session(engine, commit_record->session, false, &session, detail);
    if (err != ERR_OK || session == 0) {
        return err;
    }
    struct query query = query_begin(&engine->database, STATEMENT_COMMIT_FIND);
    query_int(&query, 1, session);
    query_int(&query, 2, commit_record->local_seq);
    const bool used = query_step(&query);
    err = query_end(&query, detail);
    return err != ERR_OK || !used
               ? err
               : err_set(detail,
                         ERR_CORRUPT,
                         "a record's localSeq %llu belongs to another commit",
                         (unsigned long long)commit_record->local_seq);
}

static enum err bind_commit(struct engine *engine,
                            struct commit_record *commit_record,
                            struct branch *branch,
                            struct err_detail *detail)
{
    enum err err = check_number(engine, commit_record, detail);
    engine->stamp++;
    for (size_t i = 0; err == ERR_OK && i < commit_record->writes.count; i++) {
        const struct binding binding = {
            engine,
            &commit_record->writes.at[i],
            i,
            detail,
        };
        err = bind_write(&binding, branch);
    }
    return err;
}

static enum err bind_fork(struct engine *engine,
                          const struct commit_record *commit_record,
                          struct err_detail *detail)
{
    const struct branch *parent = engine_branch(engine, commit_record->parent);
    if (engine_branch(engine, commit_record->branch) != NULL) {
        return err_set(detail, ERR_SEQUENCE, "the branch already exists");
    }
    return parent != NULL
               ? engine_check_fork(engine,
                                   commit_record->branch,
                                   parent,
                                   commit_record->fork_seq,
                                   detail)
               : engine_unknown_branch(commit_record->parent, detail);
}

enum err sequence_bind(struct engine *engine,
                       struct commit_record *commit_record,
                       struct err_detail *detail)
{
    if (commit_record->record != engine->record + 1 ||
        (commit_record->kind == RECORD_COMMIT &&
         commit_record->seq != engine->seq + 1)) {
        return err_set(detail,
                       ERR_SEQUENCE,
                       "record %llu does not follow record %llu",
                       (unsigned long long)commit_record->record,
                       (unsigned long long)engine->record);
    }
    commit_record_complete(commit_record);
    if (commit_record->kind == RECORD_FORK) {
        return bind_fork(engine, commit_record, detail);
    }
    struct branch *branch = engine_branch(engine, commit_record->branch);
    if (branch == NULL) {
        return engine_unknown_branch(commit_record->branch, detail);
    }
    if (!branch->active ||
        (branch->number == 0 && commit_record->kind == RECORD_CLOSE)) {
        return err_set(detail,
                       ERR_BRANCH_CLOSED,
                       "a record's branch is deleted, or cannot be deleted");
    }
    return commit_record->kind == RECORD_COMMIT
               ? bind_commit(engine, commit_record, branch, detail)
               : ERR_OK;
}

struct catch_up {
    struct engine *engine;
    struct err_detail *detail;
};

static enum err apply_record(void *ctx, const struct log_record *record)
{
    struct catch_up *catch_up = ctx;
    struct engine *engine = catch_up->engine;
    struct commit_record commit_record;
    enum err err =
        commit_record_read(record->record, &commit_record, catch_up->detail);
    if (err != ERR_OK) {
        return err;
    }
    err = sequence_bind(engine, &commit_record, catch_up->detail);
    if (err == ERR_OK) {
        err = commit_record_apply(engine, &commit_record, catch_up->detail);
    }
    commit_record_release(&commit_record);
    if (err == ERR_OK &&
        memcmp(record->chain, engine->chain.bytes, sizeof record->chain) != 0) {
        err = err_set(catch_up->detail,
                      ERR_CORRUPT,
                      "the file and the log have different histories at "
                      "record %llu",
                      (unsigned long long)record->number);
    }
    return err;
}

enum err sequence_catch_up(struct engine *engine, struct err_detail *detail)
{
    struct commit_log *log = engine->options.log;
    if (log == NULL) {
        return ERR_OK;
    }
    struct catch_up catch_up = {engine, detail};
    return log->read(log, engine->record, apply_record, &catch_up, detail);
}

/* -- Our own records ----------------------------------------------------- */

/* What the log has in place of a record that had no answer. */
struct lookup {
    uint64_t number;
    const unsigned char *chain;
    bool found;
    bool ours;
};

static enum err look_at_record(void *ctx, const struct log_record *record)
{
    struct lookup *lookup = ctx;
    if (record->number == lookup->number) {
        lookup->found = true;
        lookup->ours =
            memcmp(record->chain, lookup->chain, sizeof record->chain) == 0;
    }
    return ERR_OK;
}

/* An append without an answer counts iff our record is there. Every chain value
 * is unique, because it covers the whole history and names the author. */
static enum err resolve_unknown(struct engine *engine,
                                const struct log_record *record,
                                enum log_outcome *outcome,
                                struct err_detail *detail)
{
    struct lookup lookup = {.number = record->number, .chain = record->chain};
    struct commit_log *log = engine->options.log;
    const enum err err =
        log->read(log, record->number - 1, look_at_record, &lookup, detail);
    if (err == ERR_OK) {
        *outcome = !lookup.found ? LOG_FAILED
                   : lookup.ours ? LOG_APPENDED
                                 : LOG_CONFLICT;
    }
    if (err == ERR_OK && *outcome == LOG_FAILED) {
        (void)err_set(detail, ERR_IO, "the log did not accept the record");
    }
    return err;
}

static enum err append_record(struct engine *engine,
                              const struct commit_record *commit_record,
                              enum log_outcome *outcome,
                              struct err_detail *detail)
{
    struct commit_log *log = engine->options.log;
    struct log_record record = {.number = commit_record->record};
    record.record = record_write(commit_record);
    const struct digest chain =
        commit_record_chain(engine->chain, commit_record);
    memcpy(record.chain, chain.bytes, sizeof record.chain);
    *outcome = log->append(log, &record, detail);
    enum err err = ERR_OK;
    if (*outcome == LOG_UNKNOWN) {
        err = resolve_unknown(engine, &record, outcome, detail);
    }
    value_unref(record.record);
    return err;
}

enum err sequence_land(struct engine *engine,
                       const struct commit_record *commit_record,
                       bool *landed,
                       struct err_detail *detail)
{
    enum log_outcome outcome = LOG_APPENDED;
    *landed = false;
    if (engine->options.log != NULL) {
        const enum err err =
            append_record(engine, commit_record, &outcome, detail);
        if (err != ERR_OK) {
            return err;
        }
    }
    switch (outcome) {
    case LOG_APPENDED:
        *landed = true;
        return commit_record_apply(engine, commit_record, detail);
    case LOG_CONFLICT:
        return sequence_catch_up(engine, detail);
    case LOG_FENCED:
        return err_set(detail,
                       ERR_FENCED,
                       "another server has taken over this space");
    case LOG_FAILED:
    case LOG_UNKNOWN:
        break;
    }
    return detail->err != ERR_OK
               ? detail->err
               : err_set(detail, ERR_IO, "the log did not answer");
}
