/* Documents: reading one, and writing one in a commit.
 *
 *   route-document-1  A write with If-Match lands only on the state that the
 *                     header names: the commit has a read of the document at
 *                     the seq at which its ETag was compared.
 *                     If-None-Match is the reverse: the state that is there at
 *                     that seq is not one that the header names.
 *   route-document-2  A write that depends on what is there (JSON Patch, Merge
 *                     Patch) names that state in the same way, and is tried
 *                     again if it conflicts, at most ROUTE_ATTEMPTS times. */

#include <string.h>

#include "server/access.h"
#include "server/routes_internal.h"
#include "server/routes_patch.h"
#include "value/array.h"
#include "value/object.h"

/* -- Reading ------------------------------------------------------------- */

static enum err read_scope(struct route_call *call, enum scope *out)
{
    const struct value text = call->texts[PARAMETER_SCOPE];
    *out = SCOPE_SPACE;
    if (call_has(call, PARAMETER_SCOPE) &&
        (!scope_read(text, out) || *out == SCOPE_SESSION)) {
        return err_set(&call->detail,
                       ERR_ARGUMENT,
                       "query parameter 'scope': expected space or user");
    }
    return ERR_OK;
}

static enum err scope_key(struct route_call *call,
                          enum scope scope,
                          struct value *out)
{
    const struct identity identity = {.principal = call->context->principal};
    return scope_key_new(scope, identity, out, &call->detail);
}

/* A document at the head: its value, new, the seq of its last change, and that
 * of the space. */
struct head {
    struct value document;
    uint64_t seq;
    uint64_t space_seq;
};

static enum err read_head(struct route_space *space,
                          const struct engine_address *address,
                          struct head *out,
                          struct err_detail *detail)
{
    *out = (struct head){0};
    enum err err = engine_read_begin(space->engine, detail);
    if (err == ERR_OK) {
        err = engine_head(space->engine,
                          address,
                          &out->document,
                          &out->seq,
                          detail);
        out->space_seq = space->engine->seq;
        engine_read_end(space->engine);
    }
    return err;
}

static enum err read_asked(struct route_call *call,
                           const struct engine_address *address,
                           struct head *out)
{
    struct route_space *space = call_space(call);
    if (!call_has(call, PARAMETER_AT)) {
        return read_head(space, address, out, &call->detail);
    }
    *out = (struct head){.space_seq = call->numbers[PARAMETER_AT]};
    return engine_read(space->engine,
                       address,
                       out->space_seq,
                       &out->document,
                       &call->detail);
}

static enum err answer_document(struct route_call *call,
                                const struct head *head,
                                struct path *path)
{
    const struct value found = value_is_absent(head->document)
                                   ? VALUE_NONE
                                   : value_at(head->document, path);
    enum err err = ERR_OK;
    if (value_is_absent(found)) {
        err = err_set(&call->detail,
                      ERR_NOT_FOUND,
                      value_is_absent(head->document)
                          ? "there is no such document"
                          : "the document has nothing at this path");
        answer_call_error(call, err);
    } else {
        answer_json_adopt(call->answer, value_ref(found));
    }
    answer_header(call->answer,
                  "heddle-seq:",
                  "%llu",
                  (unsigned long long)head->space_seq);
    if (!call_has(call, PARAMETER_AT)) {
        answer_etag(call->answer, head->seq);
    }
    return ERR_OK; /* answered */
}

enum err route_document_get(struct route_call *call)
{
    struct route_space *space = call_space(call);
    struct engine_address address = {.id = call->names[NAME_FIRST]};
    struct head head = {0};
    struct path *path = NULL;
    enum scope scope;
    enum err err = read_scope(call, &scope);
    if (err == ERR_OK) {
        err = call_read_path(call, &space->paths, &path);
    }
    if (err == ERR_OK) {
        err = document_id_check(address.id, &call->detail);
    }
    if (err == ERR_OK) {
        err = scope_key(call, scope, &address.scope_key);
    }
    if (err == ERR_OK) {
        address.branch = value_text_new("");
        err = read_asked(call, &address, &head);
    }
    if (err == ERR_OK) {
        err = answer_document(call, &head, path);
    }
    value_unref(head.document);
    value_unref(address.scope_key);
    value_unref(address.branch);
    path_unref(path);
    return err;
}

/* -- Writing ------------------------------------------------------------- */

enum write_action {
    WRITE_DOCUMENT, /* PUT */
    WRITE_DELETE,
    WRITE_OWN, /* PATCH */
    WRITE_JSON,
    WRITE_MERGE,
};

/* A write until it is decided. */
struct document_write {
    struct route_wait wait;
    struct route_commit commit;
    enum write_action action;
    struct value principal;
    struct target target;
    struct value scope_key;
    struct path *path;
    struct value body;
    char *if_match; /* NULL: any state */
    char *if_none_match;
    unsigned attempts;
};

static struct document_write *write_of(struct route_wait *wait)
{
    return CONTAINER_OF(wait, struct document_write, wait);
}

static void free_text(char *text)
{
    if (text != NULL) {
        mem_free(text, strlen(text) + 1);
    }
}

static void free_write(struct route_wait *wait)
{
    struct document_write *write = write_of(wait);
    route_commit_release(&write->commit);
    value_unref(write->principal);
    value_unref(write->target.id);
    value_unref(write->scope_key);
    value_unref(write->body);
    path_unref(write->path);
    free_text(write->if_match);
    free_text(write->if_none_match);
    mem_free(write, sizeof *write);
}

/* Whether an If-Match or If-None-Match names the state of a document. */
static bool is_named(const char *tags, const struct head *head, bool is_weak)
{
    struct buf tag = {0};
    if (request_list_has(tags, "*")) {
        return !value_is_absent(head->document);
    }
    buf_printf(&tag, "%llu", (unsigned long long)head->seq);
    const bool has_it = request_tags_have(tags, buf_text(&tag), is_weak);
    buf_release(&tag);
    return has_it;
}

static bool is_met(const struct document_write *write, const struct head *head)
{
    return (write->if_match == NULL ||
            is_named(write->if_match, head, false)) &&
           (write->if_none_match == NULL ||
            !is_named(write->if_none_match, head, true));
}

static void answer_unmet(const struct document_write *write,
                         const struct head *head,
                         struct route_answer *answer)
{
    struct err_detail why = {0};
    struct value extra = value_empty_object();
    const bool is_match =
        write->if_none_match == NULL ||
        (write->if_match != NULL && !is_named(write->if_match, head, false));
    (void)err_set(&why,
                  ERR_CONFLICT,
                  is_match ? "the document is not in the state that If-Match "
                             "names: its seq is %llu; read it again"
                           : "the document is in a state that If-None-Match "
                             "names: its seq is %llu; read it again",
                  (unsigned long long)head->seq);
    object_put_number(&extra, "seq", head->seq);
    answer_error(answer, &why, 412, extra, 0);
    answer_etag(answer, head->seq);
    value_unref(extra);
}

/* -- The commit ---------------------------------------------------------- */

static bool needs_state(const struct document_write *write)
{
    return write->if_match != NULL || write->if_none_match != NULL ||
           write->action == WRITE_JSON || write->action == WRITE_MERGE ||
           write->action == WRITE_DELETE ||
           (write->action == WRITE_OWN && value_is_array(write->body) &&
            array_count(write->body) == 0); /* the answer has its seq */
}

static enum err fill_patch(const struct document_write *write,
                           struct value base,
                           struct patch *out,
                           struct err_detail *detail)
{
    struct path_table *paths = &write->wait.space->paths;
    switch (write->action) {
    case WRITE_DOCUMENT:
        patch_push_adopt(out,
                         (struct patch_op){.kind = PATCH_REPLACE,
                                           .path = path_ref(write->path),
                                           .value = value_ref(write->body)});
        return ERR_OK;
    case WRITE_DELETE:
        patch_push_adopt(out,
                         (struct patch_op){.kind = PATCH_REMOVE,
                                           .path = path_ref(write->path)});
        return ERR_OK;
    case WRITE_OWN:
        return route_patch_read(ROUTE_PATCH_OWN,
                                write->body,
                                VALUE_NONE,
                                write->path,
                                paths,
                                out,
                                detail);
    case WRITE_JSON:
    case WRITE_MERGE:
        return route_patch_read(write->action == WRITE_JSON ? ROUTE_PATCH_JSON
                                                            : ROUTE_PATCH_MERGE,
                                write->body,
                                base,
                                write->path,
                                paths,
                                out,
                                detail);
    }
    return ERR_OK;
}

/* The operation of the commit. *is_empty: there is nothing to do. */
static enum err fill_operation(const struct document_write *write,
                               struct value base,
                               struct commit *commit,
                               bool *is_empty,
                               struct err_detail *detail)
{
    struct commit_op *op = commit_add_op(commit);
    op->target =
        (struct target){value_ref(write->target.id), write->target.scope};
    *is_empty = false;
    if (write->path->length == 0 && write->action == WRITE_DOCUMENT) {
        op->kind = COMMIT_SET;
        op->document = value_ref(write->body);
        return ERR_OK;
    }
    if (write->path->length == 0 && write->action == WRITE_DELETE) {
        op->kind = COMMIT_DELETE;
        return ERR_OK;
    }
    op->kind = COMMIT_PATCH;
    const enum err err = fill_patch(write, base, &op->patch, detail);
    *is_empty = err == ERR_OK && op->patch.ops.count == 0;
    return err;
}

static void add_read(const struct document_write *write,
                     const struct head *head,
                     struct commit *commit)
{
    struct commit_read *read = commit_add_read(commit);
    read->kind = READ_DEEP;
    read->target =
        (struct target){value_ref(write->target.id), write->target.scope};
    read->path = path_new(&write->wait.space->paths, NULL, 0);
    read->seq = head->space_seq;
}

static void free_commit(struct commit *commit)
{
    commit_release(commit);
    mem_free(commit, sizeof *commit);
}

/* What can be said about a write without asking the store; true: `answer` has
 * it. */
static bool answer_at_once(const struct document_write *write,
                           const struct head *head,
                           struct route_answer *answer)
{
    struct err_detail why = {0};
    if (!is_met(write, head)) {
        answer_unmet(write, head, answer);
        return true;
    }
    const bool is_delete = write->action == WRITE_DELETE;
    if (is_delete && (value_is_absent(head->document) ||
                      value_is_absent(value_at(head->document, write->path)))) {
        (void)err_set(&why, ERR_NOT_FOUND, "there is nothing to delete");
        answer_error(answer, &why, 0, VALUE_NONE, 0);
        return true;
    }
    return false;
}

static void answer_landed(struct route_answer *answer, uint64_t seq)
{
    struct value body = value_empty_object();
    object_put_number(&body, "seq", seq);
    answer_json_adopt(answer, body);
    answer_etag(answer, seq);
}

/* Builds the commit and sends it. True: it is answered instead. */
static bool attempt(struct document_write *write, struct route_answer *answer)
{
    struct route_space *space = write->wait.space;
    struct err_detail detail = {0};
    struct head head = {0};
    bool is_empty = false;
    bool is_answered = false;
    enum err err = ERR_OK;
    struct value branch = value_text_new("");
    const struct engine_address address = {branch,
                                           write->scope_key,
                                           write->target.id};
    write->attempts++;
    if (needs_state(write)) {
        err = read_head(space, &address, &head, &detail);
        is_answered = err == ERR_OK && answer_at_once(write, &head, answer);
    }
    if (err == ERR_OK && !is_answered) {
        struct route_session *session =
            route_session_of(space, write->principal);
        struct commit *commit = route_commit_new(session);
        if (needs_state(write)) {
            add_read(write, &head, commit);
        }
        err = fill_operation(write, head.document, commit, &is_empty, &detail);
        if (err != ERR_OK || is_empty) {
            free_commit(commit);
        } else {
            route_commit_release(&write->commit);
            route_commit_send_adopt(&write->commit,
                                    session,
                                    &write->wait,
                                    commit);
        }
    }
    if (err != ERR_OK) {
        answer_error(answer, &detail, 0, VALUE_NONE, 0);
    } else if (is_empty) {
        answer_landed(answer, head.seq); /* it is as it should be */
    }
    value_unref(head.document);
    value_unref(branch);
    return is_answered || is_empty || err != ERR_OK;
}

/* -- The verdict --------------------------------------------------------- */

/* After a refusal: the state that If-Match did not name. */
static void answer_changed(const struct document_write *write,
                           struct route_answer *answer)
{
    struct err_detail detail = {0};
    struct head head;
    struct value branch = value_text_new("");
    const struct engine_address address = {branch,
                                           write->scope_key,
                                           write->target.id};
    if (read_head(write->wait.space, &address, &head, &detail) == ERR_OK) {
        answer_unmet(write, &head, answer);
    } else {
        answer_error(answer, &detail, 0, VALUE_NONE, 0);
    }
    value_unref(head.document);
    value_unref(branch);
}

/* True: `answer` is complete; false: it goes on. */
static bool take_verdict(struct document_write *write,
                         struct route_answer *answer)
{
    const struct verdict *verdict = &write->commit.verdict;
    if (verdict->err == ERR_OK) {
        answer_landed(answer, verdict->seq);
        return true;
    }
    if (verdict->err == ERR_CONFLICT && write->if_match != NULL) {
        answer_changed(write, answer);
        return true;
    }
    if (verdict->err == ERR_CONFLICT && write->attempts < ROUTE_ATTEMPTS) {
        return attempt(write, answer);
    }
    answer_error(answer, &verdict->detail, 0, VALUE_NONE, 0);
    return true;
}

static void step_write(struct route_wait *wait, const struct route_turn *turn)
{
    struct document_write *write = write_of(wait);
    struct route_answer answer = {0};
    if (write->commit.is_decided && take_verdict(write, &answer)) {
        route_wait_answer_adopt(wait, turn, &answer);
    }
}

static void fail_write(struct route_wait *wait,
                       const struct err_detail *why,
                       uint64_t retry_ms,
                       const struct route_turn *turn)
{
    struct route_answer answer = {0};
    answer_error(&answer, why, 0, VALUE_NONE, retry_ms);
    route_wait_answer_adopt(wait, turn, &answer);
}

static const struct route_wait_methods write_methods = {
    .step = step_write,
    .fail = fail_write,
    .free = free_write,
};

/* -- The requests -------------------------------------------------------- */

static char *copy_text(const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    const size_t size = strlen(text) + 1;
    char *copy = mem_alloc(size);
    memcpy(copy, text, size);
    return copy;
}

static enum err check_write(struct route_call *call,
                            enum write_action action,
                            const struct path *path,
                            struct value body)
{
    if (value_is_text(call->names[NAME_FIRST], ACCESS_DOCUMENT_ID) &&
        !call->context->is_owner) {
        return err_set(&call->detail,
                       ERR_ACCESS,
                       "only an owner of the space changes its access "
                       "document");
    }
    if (action != WRITE_DELETE && value_is_absent(body)) {
        return err_set(&call->detail, ERR_SYNTAX, "the body is empty");
    }
    if (action == WRITE_DOCUMENT && path->length == 0 &&
        !value_is_object(body)) {
        return err_set(&call->detail,
                       ERR_PATCH_ROOT,
                       "a document is an object: put its payload at \"value\", "
                       "or use ?path=/value");
    }
    return document_id_check(call->names[NAME_FIRST], &call->detail);
}

/* Sends the commit, and answers now or later. Adopts path, body and key. */
static enum err begin_write(struct route_call *call,
                            enum write_action action,
                            enum scope scope,
                            struct path *path,
                            struct value body,
                            struct value key)
{
    const struct route_context *context = call->context;
    struct document_write *write = mem_alloc_zero(sizeof *write);
    write->wait.methods = &write_methods;
    write->action = action;
    write->principal = value_ref(context->principal);
    write->target = (struct target){value_ref(call->names[NAME_FIRST]), scope};
    write->scope_key = key;
    write->path = path;
    write->body = body;
    write->if_match = copy_text(call->request->if_match);
    write->if_none_match = copy_text(call->request->if_none_match);
    const enum err err = route_wait_begin(&write->wait, call);
    if (err != ERR_OK) {
        free_write(&write->wait);
        return err;
    }
    const bool is_answered =
        attempt(write, call->answer) ||
        (write->commit.is_decided && take_verdict(write, call->answer));
    if (is_answered) {
        route_wait_end(&write->wait);
    } else {
        call->answer->is_later = true;
    }
    return ERR_OK;
}

static enum err write_document(struct route_call *call,
                               enum write_action action)
{
    struct path *path = NULL;
    struct value body = VALUE_NONE;
    struct value key = VALUE_NONE;
    enum scope scope;
    enum err err = read_scope(call, &scope);
    if (err == ERR_OK) {
        err = scope_key(call, scope, &key);
    }
    if (err == ERR_OK) {
        err = call_read_path(call, &call_space(call)->paths, &path);
    }
    if (err == ERR_OK && action != WRITE_DELETE) {
        err = call_read_body(call, &body);
    }
    if (err == ERR_OK) {
        err = check_write(call, action, path, body);
    }
    if (err == ERR_OK) {
        return begin_write(call, action, scope, path, body, key);
    }
    value_unref(body);
    value_unref(key);
    path_unref(path);
    return err;
}

enum err route_document_put(struct route_call *call)
{
    return write_document(call, WRITE_DOCUMENT);
}

enum err route_document_delete(struct route_call *call)
{
    return write_document(call, WRITE_DELETE);
}

enum err route_document_patch(struct route_call *call)
{
    if (call_has_type(call, "application/json-patch+json")) {
        return write_document(call, WRITE_JSON);
    }
    if (call_has_type(call, "application/merge-patch+json")) {
        return write_document(call, WRITE_MERGE);
    }
    if (call->request->content_type == NULL) {
        call->http_status = 415;
        return err_set(&call->detail,
                       ERR_ARGUMENT,
                       "say with Content-Type what the body is: %s",
                       call->route->request_type);
    }
    return write_document(call, WRITE_OWN);
}
