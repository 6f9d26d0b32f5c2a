/* The checks of a commit, in order. */

#include "store/admit.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "store/admit_internal.h"
#include "store/conflict.h"
#include "store/hasher.h"
#include "store/observed.h"
#include "store/recent.h"
#include "store/session_rows.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"
#include "value/utf8.h"

enum outcome admit_passed(enum err err)
{
    return err == ERR_OK ? PASSED : FAULT;
}

enum outcome admit_refuse(struct admission *admission,
                          enum err err,
                          const char *format,
                          ...)
{
    struct verdict *verdict = admission->verdict;
    va_list args;
    va_start(args, format);
    char text[ERR_TEXT_SIZE];
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    verdict->err = err_set(&verdict->detail, err, "%s", text);
    verdict->head_seq = admission->engine->seq;
    return REFUSED;
}

/* Refuses with the error of a lower layer. */
static enum outcome refuse_with(struct admission *admission,
                                const struct err_detail *why)
{
    return admit_refuse(admission, why->err, "%s", why->text);
}

/* At most that many bytes of a name go into a message. */
static int shown(struct text text)
{
    return text_shown(text.at, text.length, 120);
}

/* -- Replay -------------------------------------------------------------- */

/* What an operation writes, as given. */
static struct value op_data(const struct commit_op *op)
{
    return op->kind == COMMIT_PATCH ? patch_write(&op->patch)
                                    : value_ref(op->document);
}

/* Equal for two commits iff they have the same content, whatever the order of
 * keys, and one runtime sends them. Two runtimes that use one session name,
 * because the claim of it (host/session_lock.h) does not hold on their file
 * system, count independently: then equal content at an equal number is two
 * commits. Also makes the texts that the rows will need. */
static void commit_digest(struct admission *admission)
{
    const struct commit *commit = admission->commit;
    struct hasher hasher;
    hasher_begin(&hasher, "heddle commit 1", NULL);
    admission->context = commit_write_context(commit);
    admission->context_text = commit_record_text(admission->context);
    hasher_string(&hasher, commit->session);
    hasher_number(&hasher, commit->local_seq);
    if (admission->client != 0) {
        hasher_number(&hasher, admission->client);
    }
    hasher_string(&hasher, commit->branch);
    hasher_string(&hasher, admission->context_text);
    vec_reserve(&admission->data, commit->ops.count);
    for (size_t i = 0; i < commit->ops.count; i++) {
        const struct commit_op *op = &commit->ops.at[i];
        struct op_text text = {.data = op_data(op)};
        text.text = commit_record_text(text.data);
        vec_push(&admission->data, text);
        hasher_number(&hasher, (uint64_t)op->kind);
        hasher_number(&hasher, (uint64_t)op->target.scope);
        hasher_string(&hasher, op->target.id);
        hasher_string(&hasher, text.text);
    }
    if (commit->view.given) {
        hasher_number(&hasher, commit->view.seq);
        hasher_number(&hasher, commit->view.commits);
    }
    if (commit->observation != NULL) {
        observation_hash(&hasher, commit->observation);
    }
    const struct digest digest = hasher_end(&hasher);
    memcpy(admission->commit_record->digest, digest.bytes, COMMIT_DIGEST_BYTES);
}

void admission_release(struct admission *admission)
{
    VEC_FOREACH (&admission->data, one) {
        value_unref(one->data);
        value_unref(one->text);
    }
    vec_release(&admission->data);
    value_unref(admission->session_key);
    value_unref(admission->context);
    value_unref(admission->context_text);
}

static bool is_number(struct value value)
{
    return value_kind(value) == VALUE_INT && value_integer(value) >= 0;
}

/* The layers of a commit that has landed, from its row. */
static bool read_resolution(struct text text, struct verdict *verdict)
{
    struct value list = VALUE_NONE;
    if (text.length == 0) {
        return true;
    }
    bool valid = json_read(text.at, text.length, NULL, &list, NULL) == ERR_OK;
    valid = valid && value_is_array(list);
    for (uint32_t i = 0; valid && i < array_count(list); i++) {
        const struct value pair = array_at(list, i);
        valid = value_is_array(pair) && array_count(pair) == 2 &&
                is_number(array_at(pair, 0)) && is_number(array_at(pair, 1));
        if (valid) {
            const struct resolved_layer layer = {
                (uint64_t)value_integer(array_at(pair, 0)),
                (uint64_t)value_integer(array_at(pair, 1)),
            };
            vec_push(&verdict->resolved, layer);
        }
    }
    value_unref(list);
    return valid;
}

static bool is_content_addressed(struct value id)
{
    const struct text text = value_text(&id);
    return text.length > 4 && memcmp(text.at, "cid:", 4) == 0;
}

/* Which operations were elided when this commit landed: content-addressed ones
 * that went to no document. */
static bool read_elided(struct text text,
                        const struct commit *commit,
                        struct verdict *verdict)
{
    struct value list = VALUE_NONE;
    if (json_read(text.at, text.length, NULL, &list, NULL) != ERR_OK ||
        !value_is_array(list)) {
        value_unref(list);
        return false;
    }
    for (uint32_t i = 0; i < commit->ops.count; i++) {
        if (is_content_addressed(commit->ops.at[i].target.id) &&
            !is_number(array_at(list, i))) {
            vec_push(&verdict->elided, i);
        }
    }
    value_unref(list);
    return true;
}

/* Decides without reading rows, if possible. */
static bool cannot_have_landed(struct admission *admission, uint64_t local_seq)
{
    return admission->session == 0 ||
           session_rows_are_ahead(admission->engine,
                                  admission->session_key,
                                  local_seq);
}

static struct query commit_query(struct admission *admission,
                                 uint64_t local_seq)
{
    struct query query =
        query_begin(&admission->engine->database, STATEMENT_COMMIT_FIND);
    query_int(&query, 1, admission->session);
    query_int(&query, 2, local_seq);
    admission->engine->counters.lookups++;
    return query;
}

static enum outcome check_replay(struct admission *admission)
{
    struct verdict *verdict = admission->verdict;
    if (cannot_have_landed(admission, admission->commit->local_seq)) {
        return PASSED;
    }
    struct query query = commit_query(admission, admission->commit->local_seq);
    enum outcome outcome = PASSED;
    if (query_step(&query)) {
        const struct text digest = query_get_text(&query, 1);
        if (digest.length != COMMIT_DIGEST_BYTES ||
            memcmp(digest.at,
                   admission->commit_record->digest,
                   COMMIT_DIGEST_BYTES) != 0) {
            outcome =
                admit_refuse(admission,
                             ERR_REPLAY_MISMATCH,
                             "commit replay mismatch: localSeq %llu was "
                             "another commit",
                             (unsigned long long)admission->commit->local_seq);
        } else {
            verdict->seq = query_get_int(&query, 0);
            verdict->replayed = true;
            admission->replayed = true;
            outcome = read_resolution(query_get_text(&query, 2), verdict) &&
                              read_elided(query_get_text(&query, 3),
                                          admission->commit,
                                          verdict)
                          ? PASSED
                          : FAULT;
        }
    }
    const enum err err = query_end(&query, admission->detail);
    return err == ERR_OK ? outcome : FAULT;
}

/* -- Shape and branch ---------------------------------------------------- */

enum outcome admit_branch(struct admission *admission)
{
    const struct commit *commit = admission->commit;
    const struct text name = value_text(&commit->branch);
    admission->branch = engine_branch(admission->engine, commit->branch);
    if (admission->branch == NULL) {
        return admit_refuse(admission,
                            ERR_BRANCH_UNKNOWN,
                            "unknown branch: %.*s",
                            shown(name),
                            name.at);
    }
    if (!admission->branch->active) {
        return admit_refuse(admission,
                            ERR_BRANCH_CLOSED,
                            "branch is not active: %.*s",
                            shown(name),
                            name.at);
    }
    return PASSED;
}

static bool is_text(struct value text)
{
    return value_is_absent(text) ||
           utf8_is_valid(value_text(&text).at, value_text(&text).length);
}

/* No reader accepts a row with other bytes. */
static enum outcome check_texts(struct admission *admission)
{
    if (!is_text(admission->context_text)) {
        return admit_refuse(admission,
                            ERR_PROTOCOL,
                            "the reads of a commit must be UTF-8");
    }
    VEC_FOREACH (&admission->data, one) {
        if (!is_text(one->text)) {
            const struct value id =
                admission->commit->ops.at[one - admission->data.at].target.id;
            const struct text name = value_text(&id);
            return admit_refuse(admission,
                                ERR_PROTOCOL,
                                "%.*s: keys and strings must be UTF-8",
                                shown(name),
                                name.at);
        }
    }
    return PASSED;
}

enum outcome admit_shape(struct admission *admission)
{
    struct err_detail why = {0};
    return commit_check(admission->commit, &why) == ERR_OK
               ? check_texts(admission)
               : refuse_with(admission, &why);
}

/* The document that a target names for this author. */
enum outcome admit_find_target(struct admission *admission,
                               struct branch *branch,
                               const struct target *target,
                               struct document **out)
{
    struct value key = VALUE_NONE;
    struct err_detail why = {0};
    if (scope_key_new(target->scope, admission->identity, &key, &why) !=
        ERR_OK) {
        const struct text id = value_text(&target->id);
        const size_t front =
            value_begins_with(target->id, "piece:") ? strlen("piece:") : 0;
        return admit_refuse(admission,
                            ERR_PROTOCOL,
                            "%.*s: %s",
                            (int)(id.length - front),
                            id.at + front,
                            why.text);
    }
    const enum err err = document_find(admission->engine,
                                       branch,
                                       key,
                                       target->id,
                                       out,
                                       admission->detail);
    value_unref(key);
    return admit_passed(err);
}

enum err admit_find_commit(struct admission *admission,
                           uint64_t local_seq,
                           uint64_t *seq)
{
    *seq = recent_commit(admission->engine, admission->session, local_seq);
    if (*seq != 0 || cannot_have_landed(admission, local_seq)) {
        return ERR_OK;
    }
    struct query query = commit_query(admission, local_seq);
    if (query_step(&query)) {
        *seq = query_get_int(&query, 0);
    }
    return query_end(&query, admission->detail);
}

enum outcome admit_refuse_document(struct admission *admission,
                                   enum err err,
                                   struct value id,
                                   const char *what)
{
    admission->verdict->id = value_ref(id);
    const struct text text = value_text(&id);
    return admit_refuse(admission, err, "%s: %.*s", what, shown(text), text.at);
}

/* -- Content-addressed documents ----------------------------------------- */

/* The present value of the document, within this commit. */
static enum err current_value(struct admission *admission,
                              struct document *document,
                              struct value *out)
{
    CHECK(document != NULL);
    if (document->stamp == admission->engine->stamp) {
        *out = document->staged;
        return ERR_OK;
    }
    return document_head(admission->engine, document, out, admission->detail);
}

/* An upper bound of its text; after current_value. */
static uint64_t current_bytes(const struct admission *admission,
                              const struct document *document)
{
    return document->stamp == admission->engine->stamp ? document->staged_bytes
                                                       : document->head_bytes;
}

static void stage_adopt(struct admission *admission,
                        struct document *document,
                        struct value value,
                        uint64_t bytes)
{
    value_unref(document->staged);
    document->staged = value;
    document->staged_bytes = bytes;
    document->stamp = admission->engine->stamp;
}

/* A document whose id is the hash of its content is installed once. */
static enum outcome check_content(struct admission *admission,
                                  const struct commit_op *op)
{
    if (op->target.scope != SCOPE_SPACE) {
        return admit_refuse_document(
            admission,
            ERR_PROTOCOL,
            op->target.id,
            "content-addressed documents have space scope");
    }
    if (op->kind != COMMIT_SET) {
        return admit_refuse_document(
            admission,
            ERR_IMMUTABLE,
            op->target.id,
            "content-addressed documents are immutable");
    }
    struct document *document = NULL;
    const enum outcome outcome =
        admit_find_target(admission, admission->branch, &op->target, &document);
    if (outcome != PASSED) {
        return outcome;
    }
    CHECK(document != NULL);
    struct value current = VALUE_NONE;
    if (current_value(admission, document, &current) != ERR_OK) {
        return FAULT;
    }
    if (!value_is_absent(current) && !value_equal(current, op->document)) {
        return admit_refuse_document(
            admission,
            ERR_IMMUTABLE,
            op->target.id,
            "the content differs from the stored content");
    }
    stage_adopt(admission, document, value_ref(op->document), 0);
    return PASSED;
}

static enum outcome check_contents(struct admission *admission)
{
    const struct commit *commit = admission->commit;
    enum outcome outcome = PASSED;
    admission->engine->stamp++;
    for (size_t i = 0; outcome == PASSED && i < commit->ops.count; i++) {
        if (is_content_addressed(commit->ops.at[i].target.id)) {
            outcome = check_content(admission, &commit->ops.at[i]);
        }
    }
    return outcome;
}

/* -- Reads --------------------------------------------------------------- */

/* The branch that a read was made on. */
static enum outcome find_read_branch(struct admission *admission,
                                     const struct commit_read *read,
                                     struct branch **out)
{
    *out = admission->branch;
    if (!value_is_absent(read->branch)) {
        *out = engine_branch(admission->engine, read->branch);
        if (*out == NULL) {
            const struct text name = value_text(&read->branch);
            return admit_refuse(admission,
                                ERR_BRANCH_UNKNOWN,
                                "unknown branch in a read: %.*s",
                                shown(name),
                                name.at);
        }
    }
    return PASSED;
}

struct value admit_author_of(struct engine *engine, uint64_t seq)
{
    struct value author = VALUE_NONE;
    struct query query =
        query_begin(&engine->database, STATEMENT_COMMIT_AUTHOR);
    query_int(&query, 1, seq);
    if (query_step(&query)) {
        const struct text key = query_get_text(&query, 0);
        author = value_string_new(key.at, key.length);
    }
    struct err_detail ignored;
    if (query_end(&query, &ignored) != ERR_OK) {
        value_unref(author);
        return VALUE_NONE;
    }
    return author;
}

static enum outcome conflict(struct admission *admission,
                             const struct commit_read *read,
                             uint64_t conflict_seq)
{
    struct verdict *verdict = admission->verdict;
    const struct text id = value_text(&read->target.id);
    struct buf pointer = {0};
    path_write(&pointer, read->path);
    verdict->path = value_string_new(pointer.at, pointer.length);
    buf_release(&pointer);
    verdict->by = admit_author_of(admission->engine, conflict_seq);
    verdict->id = value_ref(read->target.id);
    verdict->read_seq = read->seq;
    verdict->conflict_seq = conflict_seq;
    if (read->pending) {
        return admit_refuse(
            admission,
            ERR_CONFLICT,
            "stale pending read: %.*s via localSeq %llu conflicted with "
            "seq %llu",
            shown(id),
            id.at,
            (unsigned long long)*vec_last(&read->layers.at),
            (unsigned long long)conflict_seq);
    }
    return admit_refuse(
        admission,
        ERR_CONFLICT,
        "stale confirmed read: %.*s at seq %llu conflicted with seq %llu",
        shown(id),
        id.at,
        (unsigned long long)read->seq,
        (unsigned long long)conflict_seq);
}

static void note_resolved(struct verdict *verdict,
                          uint64_t local_seq,
                          uint64_t seq)
{
    size_t at = verdict->resolved.count;
    while (at > 0 && verdict->resolved.at[at - 1].local_seq > local_seq) {
        at--;
    }
    if (at > 0 && verdict->resolved.at[at - 1].local_seq == local_seq) {
        return;
    }
    const struct resolved_layer layer = {local_seq, seq};
    vec_push(&verdict->resolved, layer);
    for (size_t i = verdict->resolved.count - 1; i > at; i--) {
        verdict->resolved.at[i] = verdict->resolved.at[i - 1];
    }
    verdict->resolved.at[at] = layer;
}

/* Every layer that a pending read names must have landed, and in the order in
 * which the author saw them; otherwise the author saw another state. */
static enum outcome resolve_layers(struct admission *admission,
                                   const struct commit_read *read)
{
    uint64_t last = read->seq;
    vec_reserve(&admission->verdict->resolved,
                admission->verdict->resolved.count + read->layers.at.count);
    for (size_t i = 0; i < read->layers.at.count; i++) {
        const uint64_t local_seq = read->layers.at.at[i];
        uint64_t seq = 0;
        if (admit_find_commit(admission, local_seq, &seq) != ERR_OK) {
            return FAULT;
        }
        if (seq == 0) {
            admission->verdict->id = value_ref(read->target.id);
            return admit_refuse(admission,
                                ERR_CONFLICT,
                                "pending dependency not resolved: %llu",
                                (unsigned long long)local_seq);
        }
        if (seq > read->seq && seq < last) {
            return conflict(admission, read, last);
        }
        last = seq > last ? seq : last;
        note_resolved(admission->verdict, local_seq, seq);
    }
    return PASSED;
}

static enum outcome check_read(struct admission *admission,
                               const struct commit_read *read)
{
    struct branch *branch = NULL;
    struct document *document = NULL;
    if (read->seq > admission->engine->seq) {
        return admit_refuse(admission,
                            ERR_PROTOCOL,
                            "%s %llu is beyond the head %llu",
                            read->pending ? "basisSeq" : "seq",
                            (unsigned long long)read->seq,
                            (unsigned long long)admission->engine->seq);
    }
    enum outcome outcome = find_read_branch(admission, read, &branch);
    if (outcome == PASSED && read->pending) {
        outcome = resolve_layers(admission, read);
    }
    if (outcome == PASSED) {
        outcome =
            admit_find_target(admission, branch, &read->target, &document);
    }
    if (outcome != PASSED) {
        return outcome;
    }
    const struct conflict_query query = {
        .document = document,
        .path = read->path,
        .kind = read->kind,
        .after_seq = read->seq,
        .session = admission->session,
        .layers = read->pending ? &read->layers : NULL,
    };
    uint64_t seq = 0;
    if (conflict_find(admission->engine, &query, &seq, admission->detail) !=
        ERR_OK) {
        return FAULT;
    }
    return seq == 0 ? PASSED : conflict(admission, read, seq);
}

static enum outcome check_reads(struct admission *admission)
{
    const struct commit *commit = admission->commit;
    enum outcome outcome = PASSED;
    for (size_t i = 0; outcome == PASSED && i < commit->reads.count; i++) {
        outcome = check_read(admission, &commit->reads.at[i]);
    }
    return outcome;
}

/* -- Sizes --------------------------------------------------------------- */

static size_t text_bytes(struct value text)
{
    return value_is_absent(text) ? 0 : value_text(&text).length;
}

static enum outcome refuse_size(struct admission *admission, struct value id)
{
    const struct text text = value_text(&id);
    admission->verdict->id = value_ref(id);
    return admit_refuse(admission,
                        ERR_LIMIT_SIZE,
                        "the document would have more than %" PRIu32
                        " bytes: %.*s",
                        admission->engine->options.document_bytes,
                        shown(text),
                        text.at);
}

/* The value of an operation must fit into a row that can be read again. */
static enum outcome check_sizes(struct admission *admission)
{
    const struct commit *commit = admission->commit;
    const size_t most = admission->engine->options.document_bytes;
    for (size_t i = 0; i < commit->ops.count; i++) {
        if (text_bytes(admission->data.at[i].text) > most) {
            return refuse_size(admission, commit->ops.at[i].target.id);
        }
    }
    if (text_bytes(admission->context_text) > LIMIT_TEXT_BYTES) {
        return admit_refuse(admission,
                            ERR_LIMIT_SIZE,
                            "the reads of the commit have more than %d bytes",
                            LIMIT_TEXT_BYTES);
    }
    return PASSED;
}

/* The bound of a patched document, if it is within the limit. If not, the
 * document is measured, and its size is the bound from then on. */
static enum outcome bound_patched(struct admission *admission,
                                  const struct record_write *write,
                                  struct value result,
                                  uint64_t *bytes)
{
    const uint64_t most = admission->engine->options.document_bytes;
    *bytes = current_bytes(admission, write->document) +
             DOCUMENT_GROWTH * (uint64_t)text_bytes(write->data_text);
    if (*bytes <= most) {
        return PASSED;
    }
    struct buf text = {0};
    const bool fits =
        json_write_within(&text, result, JSON_CANONICAL, 0, (size_t)most);
    *bytes = text.length;
    buf_release(&text);
    admission->engine->counters.measured++;
    return fits ? PASSED : refuse_size(admission, write->id);
}

/* -- Effects ------------------------------------------------------------- */

static enum outcome build_patch(struct admission *admission,
                                const struct commit_op *op,
                                struct record_write *write,
                                struct value *result)
{
    struct value current = VALUE_NONE;
    if (current_value(admission, write->document, &current) != ERR_OK) {
        return FAULT;
    }
    trace_list traces = {0};
    vec_reserve(&traces, op->patch.ops.count + 1);
    struct err_detail why = {0};
    const enum err err = patch_apply(&op->patch,
                                     current,
                                     PATCH_ROOT_DOCUMENT,
                                     result,
                                     traces.at,
                                     &why);
    enum outcome outcome = PASSED;
    if (err == ERR_OK) {
        outcome =
            bound_patched(admission, write, *result, &write->result_bytes);
    }
    if (err == ERR_OK && value_is_absent(current)) {
        /* A patch of nothing is a set: a reader that saw no document now sees
         * one, whatever path the patch had. */
        write->op = COMMIT_SET;
        value_unref(write->data);
        value_unref(write->data_text);
        write->data = value_ref(*result);
        write->data_text = commit_record_text(*result);
    } else if (err == ERR_OK) {
        write->trace = traces_write(traces.at, op->patch.ops.count);
    }
    vec_release(&traces);
    return err == ERR_OK ? outcome : refuse_with(admission, &why);
}

/* Whether the operation would install what is installed already. */
static enum outcome is_elided(struct admission *admission,
                              const struct commit_op *op,
                              struct document *document,
                              bool *elided)
{
    struct value current = VALUE_NONE;
    *elided = false;
    if (is_content_addressed(op->target.id)) {
        if (current_value(admission, document, &current) != ERR_OK) {
            return FAULT;
        }
        *elided = !value_is_absent(current);
    }
    return PASSED;
}

static enum outcome build_write(struct admission *admission, uint32_t index)
{
    const struct commit_op *op = &admission->commit->ops.at[index];
    struct document *document = NULL;
    enum outcome outcome =
        admit_find_target(admission, admission->branch, &op->target, &document);
    bool elided = false;
    if (outcome == PASSED) {
        outcome = is_elided(admission, op, document, &elided);
    }
    if (outcome != PASSED) {
        return outcome;
    }
    CHECK(document != NULL);
    if (elided) {
        vec_push(&admission->verdict->elided, index);
        return PASSED;
    }
    struct record_write write = {
        .index = index,
        .id = value_ref(op->target.id),
        .scope_key = value_ref(document->scope_key),
        .op = op->kind,
        .data = value_ref(admission->data.at[index].data),
        .data_text = value_ref(admission->data.at[index].text),
        .document = document,
        .result_known = true,
    };
    struct value result = VALUE_NONE;
    if (op->kind == COMMIT_SET) {
        result = value_ref(op->document);
        write.result_bytes = text_bytes(write.data_text);
    } else if (op->kind == COMMIT_PATCH) {
        outcome = build_patch(admission, op, &write, &result);
    }
    write.result = value_ref(result);
    vec_push(&admission->commit_record->writes, write);
    stage_adopt(admission, document, result, write.result_bytes);
    return outcome;
}

static enum outcome build_commit_record(struct admission *admission,
                                        uint64_t at_ms)
{
    struct engine *engine = admission->engine;
    struct commit_record *commit_record = admission->commit_record;
    const struct commit *commit = admission->commit;
    commit_record->kind = RECORD_COMMIT;
    commit_record->record = engine->record + 1;
    commit_record->seq = engine->seq + 1;
    commit_record->branch = value_ref(commit->branch);
    commit_record->session = value_ref(admission->session_key);
    commit_record->local_seq = commit->local_seq;
    commit_record->at_ms = at_ms;
    commit_record->context = value_ref(admission->context);
    commit_record->context_text = value_ref(admission->context_text);
    vec_reserve(&commit_record->resolved, admission->verdict->resolved.count);
    VEC_FOREACH (&admission->verdict->resolved, layer) {
        vec_push(&commit_record->resolved, *layer);
    }
    engine->stamp++;
    enum outcome outcome = PASSED;
    for (uint32_t i = 0; outcome == PASSED && i < commit->ops.count; i++) {
        outcome = build_write(admission, i);
    }
    admission->verdict->seq = commit_record->seq;
    return outcome;
}

/* -- The whole check ----------------------------------------------------- */

/* The session's row is found by principal and session, so the numbers of two
 * users never collide. */
enum outcome admit_session(struct admission *admission)
{
    if (value_is_absent(admission->identity.principal)) {
        const struct text name = value_text(&admission->commit->session);
        if (name.length >= 8 && memcmp(name.at, "session:", 8) == 0) {
            return admit_refuse(
                admission,
                ERR_PROTOCOL,
                "session must not begin with 'session:', as those "
                "with a principal do");
        }
        admission->session_key = value_ref(admission->commit->session);
    } else {
        struct err_detail why = {0};
        if (scope_key_new(SCOPE_SESSION,
                          admission->identity,
                          &admission->session_key,
                          &why) != ERR_OK) {
            return admit_refuse(admission, ERR_PROTOCOL, "%s", why.text);
        }
    }
    return admit_passed(engine_session(admission->engine,
                                       admission->session_key,
                                       false,
                                       &admission->session,
                                       admission->detail));
}

static enum outcome run_checks(struct admission *admission, uint64_t at_ms)
{
    if (!commit_numbers_fit(admission->commit)) {
        return admit_refuse(admission,
                            ERR_PROTOCOL,
                            "a number is out of range");
    }
    if (at_ms > INT64_MAX) {
        return admit_refuse(admission,
                            ERR_ARGUMENT,
                            "the time is out of range");
    }
    commit_digest(admission);
    typedef enum outcome check_fn(struct admission * admission);
    static check_fn *const checks[] = {
        admit_session,
        check_replay,
        admit_shape,
        admit_observers,
        check_sizes,
        admit_branch,
        admit_preconditions,
        check_contents,
        check_reads,
        admit_view,
        admit_basis,
    };
    for (size_t i = 0; i < COUNT_OF(checks); i++) {
        const enum outcome outcome = checks[i](admission);
        if (outcome != PASSED || admission->replayed) {
            return outcome;
        }
    }
    return build_commit_record(admission, at_ms);
}

enum err admit_commit(struct engine *engine,
                      struct engine_request *request,
                      struct commit_record *commit_record,
                      struct err_detail *detail)
{
    const struct commit *commit = request->commit;
    struct verdict *verdict = &request->verdict;
    struct admission admission = {
        .engine = engine,
        .commit = commit,
        .identity = {request->principal, commit->session},
        .client = request->client,
        .unchanged_seq = request->unchanged_seq,
        .verdict = verdict,
        .commit_record = commit_record,
        .detail = detail,
    };
    *verdict = (struct verdict){0};
    *commit_record = (struct commit_record){0};
    const enum outcome outcome = run_checks(&admission, request->at_ms);
    admission_release(&admission);
    if (outcome != PASSED) {
        verdict->seq = 0;
        vec_release(&verdict->resolved);
        vec_release(&verdict->elided);
        vec_release(&verdict->dropped);
    }
    if (outcome == FAULT) {
        return detail->err != ERR_OK
                   ? detail->err
                   : err_set(detail, ERR_CORRUPT, "a row is damaged");
    }
    return ERR_OK;
}
