/* The store as a list (lib/store_model.h is the manual). */

#include "lib/store_model.h"

#include <string.h>

#include "value/compare.h"
#include "value/id.h"
#include "value/object.h"

void store_model_init(struct store_model *model, uint64_t before)
{
    *model = (struct store_model){.before = before};
    const struct model_branch main_branch = {
        .name = value_text_new(""),
        .active = true,
    };
    vec_push(&model->branches, main_branch);
}

void store_model_release(struct store_model *model)
{
    vec_release(&model->log);
    vec_release(&model->branches);
}

/* -- Names --------------------------------------------------------------- */

int store_model_branch(const struct store_model *model, struct value name)
{
    for (size_t i = 0; i < model->branches.count; i++) {
        if (value_equal(model->branches.at[i].name, name)) {
            return (int)i;
        }
    }
    return MODEL_NO_BRANCH;
}

bool model_name_of(const struct target *target,
                   struct value principal,
                   struct value session,
                   struct model_name *out)
{
    *out = (struct model_name){.id = target->id, .scope = target->scope};
    if (target->scope != SCOPE_SPACE) {
        out->principal = principal;
    }
    if (target->scope == SCOPE_SESSION) {
        out->session = session;
    }
    return target->scope == SCOPE_SPACE || !value_is_absent(principal);
}

static bool is_same_document(const struct model_name *a,
                             const struct model_name *b)
{
    return a->scope == b->scope && value_equal(a->id, b->id) &&
           value_equal(a->principal, b->principal) &&
           value_equal(a->session, b->session);
}

static bool is_on(const struct commit_op *op,
                  const struct model_entry *entry,
                  const struct model_name *name)
{
    struct model_name own;
    return model_name_of(&op->target,
                         entry->principal,
                         entry->commit->session,
                         &own) &&
           is_same_document(&own, name);
}

static bool is_of_session(const struct model_entry *entry,
                          const struct commit *commit,
                          struct value principal)
{
    return value_equal(entry->commit->session, commit->session) &&
           value_equal(entry->principal, principal);
}

/* The seq of a session's commit, or 0. */
static uint64_t find_commit(const struct store_model *model,
                            const struct commit *commit,
                            struct value principal,
                            uint64_t local_seq)
{
    for (size_t i = 0; i < model->log.count; i++) {
        const struct model_entry *entry = &model->log.at[i];
        if (is_of_session(entry, commit, principal) &&
            entry->commit->local_seq == local_seq) {
            return model->before + i + 1;
        }
    }
    return 0;
}

/* -- Replaying ----------------------------------------------------------- */

uint64_t store_model_seq(const struct store_model *model)
{
    return model->before + model->log.count;
}

/* The seq of an entry. */
static uint64_t seq_of(const struct store_model *model, size_t entry)
{
    return model->before + entry + 1;
}

uint64_t store_model_first(const struct store_model *model, size_t branch)
{
    const uint64_t fork_seq = model->branches.at[branch].fork_seq;
    return fork_seq > model->horizon ? fork_seq : model->horizon;
}

uint64_t store_model_head(const struct store_model *model, size_t branch)
{
    uint64_t head = model->branches.at[branch].fork_seq;
    for (size_t i = 0; i < model->log.count; i++) {
        if (model->log.at[i].branch == branch) {
            head = seq_of(model, i);
        }
    }
    return head;
}

/* Whether a reader of the branch at `seq` sees the entry: on the branch
 * itself, or on the way to the main one before the fork. */
static bool is_visible(const struct store_model *model,
                       size_t branch,
                       size_t entry,
                       uint64_t seq)
{
    uint64_t limit = seq;
    while (branch != model->log.at[entry].branch && branch != 0) {
        const struct model_branch *at = &model->branches.at[branch];
        limit = at->fork_seq < limit ? at->fork_seq : limit;
        branch = at->parent;
    }
    return branch == model->log.at[entry].branch &&
           seq_of(model, entry) <= limit;
}

/* The id says that the document is what its hash is. */
static bool is_content(struct value id)
{
    const struct text text = value_text(&id);
    return text.length > 4 && strncmp(text.at, "cid:", 4) == 0;
}

/* store-model-4 */
static bool is_elided(const struct commit_op *op, struct value state)
{
    return is_content(op->target.id) && !value_is_absent(state);
}

static enum err apply_op(const struct commit_op *op, struct value *state)
{
    struct value result = VALUE_NONE;
    enum err err = ERR_OK;
    if (is_elided(op, *state)) {
        result = value_ref(*state);
    } else if (op->kind == COMMIT_SET) {
        result = value_ref(op->document);
    } else if (op->kind == COMMIT_PATCH) {
        err = patch_apply(&op->patch,
                          *state,
                          PATCH_ROOT_DOCUMENT,
                          &result,
                          NULL,
                          NULL);
    }
    if (err == ERR_OK) {
        value_unref(*state);
        *state = result;
    }
    return err;
}

/* What a commit does to one document. */
static enum err apply_entry(const struct model_entry *entry,
                            const struct model_name *name,
                            struct value *state)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < entry->commit->ops.count; i++) {
        const struct commit_op *op = &entry->commit->ops.at[i];
        if (is_on(op, entry, name)) {
            err = apply_op(op, state);
        }
    }
    return err;
}

struct value store_model_read(const struct store_model *model,
                              size_t branch,
                              const struct model_name *name,
                              uint64_t seq)
{
    struct value state = VALUE_NONE;
    for (size_t i = 0; i < model->log.count; i++) {
        if (is_visible(model, branch, i, seq)) {
            const enum err err = apply_entry(&model->log.at[i], name, &state);
            CHECK(err == ERR_OK); /* it landed, so it can be applied */
        }
    }
    return state;
}

struct value store_model_common(const struct store_model *model,
                                size_t one,
                                size_t other,
                                const struct model_name *name)
{
    struct value state = VALUE_NONE;
    for (size_t i = 0; i < model->log.count; i++) {
        if (is_visible(model, one, i, UINT64_MAX) &&
            is_visible(model, other, i, UINT64_MAX)) {
            const enum err err = apply_entry(&model->log.at[i], name, &state);
            CHECK(err == ERR_OK); /* what both see is what one saw once */
        }
    }
    return state;
}

/* Whether the entry wrote the document, and not only meant to
 * (store-model-4). */
static bool writes(const struct store_model *model,
                   size_t entry,
                   const struct model_name *name)
{
    const struct model_entry *at = &model->log.at[entry];
    bool meant = false;
    for (size_t i = 0; i < at->commit->ops.count; i++) {
        meant = meant || is_on(&at->commit->ops.at[i], at, name);
    }
    if (!meant || !is_content(name->id)) {
        return meant;
    }
    struct value before =
        store_model_read(model, at->branch, name, seq_of(model, entry) - 1);
    const bool first = value_is_absent(before);
    value_unref(before);
    return first;
}

bool store_model_wrote(const struct store_model *model,
                       size_t branch,
                       const struct model_name *name,
                       uint64_t seq)
{
    if (seq <= model->before || seq > store_model_seq(model)) {
        return false;
    }
    const size_t entry = (size_t)(seq - model->before - 1);
    return is_visible(model, branch, entry, UINT64_MAX) &&
           writes(model, entry, name);
}

bool store_model_ever_existed(const struct store_model *model,
                              size_t branch,
                              const struct model_name *name)
{
    for (uint64_t seq = model->before; seq < store_model_seq(model); seq++) {
        if (store_model_wrote(model, branch, name, seq + 1)) {
            return true;
        }
    }
    return false;
}

bool store_model_is_listed(const struct store_model *model,
                           size_t branch,
                           const struct model_name *name)
{
    bool own = false;
    for (size_t i = 0; i < model->log.count; i++) {
        const struct model_entry *entry = &model->log.at[i];
        own = own || (entry->branch == branch && writes(model, i, name));
    }
    struct value now = store_model_read(model, branch, name, UINT64_MAX);
    const bool alive = !value_is_absent(now);
    value_unref(now);
    return own && alive;
}

/* -- Reads --------------------------------------------------------------- */

/* A read of a commit that wants to land, and who made it. */
struct reader {
    const struct store_model *model;
    const struct commit *commit;
    struct value principal;
    const struct commit_read *read;
    size_t branch;
    struct model_name name;
};

static bool names_layer(const struct commit_read *read, uint64_t local_seq)
{
    for (size_t i = 0; i < read->layers.at.count; i++) {
        if (read->layers.at.at[i] == local_seq) {
            return true;
        }
    }
    return false;
}

static bool is_after(const struct reader *reader, size_t entry)
{
    return seq_of(reader->model, entry) > reader->read->seq &&
           is_visible(reader->model, reader->branch, entry, UINT64_MAX);
}

/* The entry is one of the author's own layers on top of the basis. */
static bool is_layer(const struct reader *reader, size_t entry)
{
    const struct model_entry *at = &reader->model->log.at[entry];
    return reader->read->pending &&
           is_of_session(at, reader->commit, reader->principal) &&
           names_layer(reader->read, at->commit->local_seq);
}

static bool is_seen(const struct reader *reader,
                    struct value before,
                    struct value after)
{
    return difference_is_seen(before,
                              after,
                              reader->read->path,
                              reader->read->kind);
}

/* What the author had in view, new; false if the layers cannot be put on top
 * of the basis, so that nobody can have had them in view there. */
static bool make_view(const struct reader *reader, struct value *view)
{
    const struct commit_read *read = reader->read;
    *view = store_model_read(reader->model,
                             reader->branch,
                             &reader->name,
                             read->seq);
    for (size_t i = 0; i < read->layers.at.count; i++) {
        const uint64_t seq = find_commit(reader->model,
                                         reader->commit,
                                         reader->principal,
                                         read->layers.at.at[i]);
        const size_t entry = (size_t)(seq - reader->model->before - 1);
        if (is_after(reader, entry) &&
            apply_entry(&reader->model->log.at[entry], &reader->name, view) !=
                ERR_OK) {
            return false;
        }
    }
    return true;
}

/* store-model-1 */
static bool is_stale(const struct reader *reader)
{
    const struct store_model *model = reader->model;
    struct value view = VALUE_NONE;
    const bool viewed = make_view(reader, &view);
    bool stale = false;
    struct value state = VALUE_NONE;
    for (size_t i = 0; i < model->log.count; i++) {
        if (!is_visible(model, reader->branch, i, UINT64_MAX)) {
            continue;
        }
        struct value before = value_ref(state);
        const enum err err =
            apply_entry(&model->log.at[i], &reader->name, &state);
        CHECK(err == ERR_OK);
        if (is_after(reader, i) && !is_layer(reader, i)) {
            stale = stale || is_seen(reader, before, state);
        }
        value_unref(before);
    }
    stale = stale || (viewed && is_seen(reader, view, state));
    value_unref(view);
    value_unref(state);
    return stale;
}

/* -- What a store may refuse (store-model-2, store-model-3) -------------- */

/* What is at the first `length` segments. */
static struct value at_prefix(struct value value,
                              const struct path *path,
                              size_t length)
{
    for (size_t i = 0; i < length; i++) {
        value = value_child(value, &path->at[i]);
    }
    return value;
}

/* The two paths part at a key of an object that was there before and is there
 * after: whatever happens behind one cannot be seen behind the other. */
static bool paths_part(const struct path *a,
                       const struct path *b,
                       struct value before,
                       struct value after)
{
    size_t common = 0;
    while (common < a->length && common < b->length &&
           value_equal(a->at[common].key, b->at[common].key)) {
        common++;
    }
    return common < a->length && common < b->length &&
           value_is_object(at_prefix(before, a, common)) &&
           value_is_object(at_prefix(after, a, common));
}

static bool is_apart(const struct reader *reader,
                     const struct patch_op *op,
                     struct value before,
                     struct value after)
{
    const struct commit_read *read = reader->read;
    if (op->kind == PATCH_MOVE) {
        return paths_part(op->path, read->path, before, after) &&
               paths_part(op->from, read->path, before, after);
    }
    if (read->kind == READ_SHAPE && op->path->length > read->path->length &&
        path_is_prefix(read->path, op->path)) {
        return !is_seen(reader, before, after);
    }
    return paths_part(op->path, read->path, before, after);
}

/* Applies a patch one operation after the other. */
static bool patch_is_apart(const struct reader *reader,
                           const struct patch *patch,
                           struct value *state)
{
    bool apart = !value_is_absent(*state);
    for (size_t i = 0; i < patch->ops.count; i++) {
        struct patch one = {0};
        vec_push(&one.ops, patch->ops.at[i]);
        struct value after = VALUE_NONE;
        const enum err err =
            patch_apply(&one, *state, PATCH_ROOT_ANY, &after, NULL, NULL);
        CHECK(err == ERR_OK);
        apart = apart && is_apart(reader, &one.ops.at[0], *state, after);
        vec_release(&one.ops);
        value_unref(*state);
        *state = after;
    }
    return apart;
}

/* The operation may bring a value from one place to another, or to one that
 * depends on what was there. */
static bool may_carry(const struct commit_op *op)
{
    for (size_t i = 0; i < op->patch.ops.count; i++) {
        const enum patch_kind kind = op->patch.ops.at[i].kind;
        if (kind != PATCH_REPLACE && kind != PATCH_INCREMENT) {
            return true;
        }
    }
    return false;
}

/* One entry of the history of the document; true if it may be a reason. A
 * layer is none, unless it carried a value from one place to another. */
static bool entry_may_conflict(const struct reader *reader,
                               size_t entry,
                               struct value *state)
{
    const struct model_entry *at = &reader->model->log.at[entry];
    const bool after = is_after(reader, entry);
    const bool layer = is_layer(reader, entry);
    const bool folded = seq_of(reader->model, entry) <= reader->model->horizon;
    bool may = false;
    for (size_t i = 0; i < at->commit->ops.count; i++) {
        const struct commit_op *op = &at->commit->ops.at[i];
        if (!is_on(op, at, &reader->name) || is_elided(op, *state)) {
            continue;
        }
        may = may || (after && folded);
        if (after && !layer && op->kind == COMMIT_PATCH) {
            may = !patch_is_apart(reader, &op->patch, state) || may;
            continue;
        }
        may = may || (after && (!layer || may_carry(op)));
        const enum err err = apply_op(op, state);
        CHECK(err == ERR_OK);
    }
    return may;
}

/* Layers on top of the basis did not land in the order of their numbers. */
static bool is_out_of_order(const struct reader *reader)
{
    uint64_t last = reader->read->seq;
    for (size_t i = 0; i < reader->read->layers.at.count; i++) {
        const uint64_t seq = find_commit(reader->model,
                                         reader->commit,
                                         reader->principal,
                                         reader->read->layers.at.at[i]);
        if (seq > reader->read->seq && seq < last) {
            return true;
        }
        last = seq > last ? seq : last;
    }
    return false;
}

static bool read_may_conflict(const struct reader *reader)
{
    struct value state = VALUE_NONE;
    bool may = false;
    for (size_t i = 0; i < reader->model->log.count; i++) {
        if (is_visible(reader->model, reader->branch, i, UINT64_MAX)) {
            may = entry_may_conflict(reader, i, &state) || may;
        }
    }
    value_unref(state);
    return may;
}

/* -- The checks of a commit, in their order ------------------------------ */

static void add_resolved(struct model_answer *answer,
                         uint64_t local_seq,
                         uint64_t seq)
{
    size_t at = 0;
    while (at < answer->resolved.count &&
           answer->resolved.at[at].local_seq < local_seq) {
        at++;
    }
    if (at < answer->resolved.count &&
        answer->resolved.at[at].local_seq == local_seq) {
        return;
    }
    const struct resolved_layer layer = {local_seq, seq};
    vec_push(&answer->resolved, layer);
    for (size_t i = answer->resolved.count - 1; i > at; i--) {
        answer->resolved.at[i] = answer->resolved.at[i - 1];
    }
    answer->resolved.at[at] = layer;
}

/* False if one of them has not landed. */
static bool resolve(const struct store_model *model,
                    const struct commit *commit,
                    struct value principal,
                    const struct commit_read *read,
                    struct model_answer *answer)
{
    for (size_t i = 0; i < read->layers.at.count; i++) {
        const uint64_t local_seq = read->layers.at.at[i];
        const uint64_t seq = find_commit(model, commit, principal, local_seq);
        if (seq == 0) {
            return false;
        }
        add_resolved(answer, local_seq, seq);
    }
    return true;
}

static enum err check_read(const struct store_model *model,
                           const struct commit *commit,
                           struct value principal,
                           const struct commit_read *read,
                           struct model_answer *answer)
{
    const int branch = store_model_branch(
        model,
        value_is_absent(read->branch) ? commit->branch : read->branch);
    struct reader reader = {
        .model = model,
        .commit = commit,
        .principal = principal,
        .read = read,
        .branch = (size_t)branch,
    };
    if (read->seq > store_model_seq(model)) {
        return ERR_PROTOCOL;
    }
    if (branch == MODEL_NO_BRANCH) {
        return ERR_BRANCH_UNKNOWN;
    }
    if (!resolve(model, commit, principal, read, answer)) {
        return ERR_CONFLICT;
    }
    answer->may_conflict = answer->may_conflict || is_out_of_order(&reader);
    if (!model_name_of(&read->target,
                       principal,
                       commit->session,
                       &reader.name)) {
        return ERR_PROTOCOL;
    }
    if (is_stale(&reader)) {
        return ERR_CONFLICT;
    }
    answer->may_conflict = answer->may_conflict || read_may_conflict(&reader);
    return ERR_OK;
}

/* store-model-5 */
static enum err check_view(const struct store_model *model,
                           const struct commit *commit,
                           struct value principal,
                           struct model_answer *answer)
{
    uint64_t own = 0;
    uint64_t all = 0;
    if (!commit->view.given) {
        return ERR_OK;
    }
    if (commit->view.seq > store_model_seq(model)) {
        return ERR_PROTOCOL;
    }
    for (size_t i = 0; i < model->log.count; i++) {
        if (seq_of(model, i) > commit->view.seq) {
            all++;
            own += is_of_session(&model->log.at[i], commit, principal) ? 1 : 0;
        }
    }
    if (commit->view.seq < model->before) {
        all += model->before - commit->view.seq;
    }
    answer->may_conflict = answer->may_conflict || all > 0;
    return all == own && own == commit->view.commits ? ERR_OK : ERR_CONFLICT;
}

static bool has_hash(struct value document, struct value hash)
{
    struct value payload = value_is_absent(document)
                               ? VALUE_NONE
                               : object_field(document, "value");
    if (value_is_absent(payload)) {
        return value_kind(hash) == VALUE_NULL;
    }
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(value_digest(payload), text);
    return value_is_text(hash, text);
}

static enum err check_precondition(const struct store_model *model,
                                   const struct commit *commit,
                                   struct value principal,
                                   const struct commit_precondition *one)
{
    if (one->kind == PRECONDITION_ORIGIN_COMMITTED) {
        return find_commit(model, commit, principal, one->origin_local_seq) != 0
                   ? ERR_OK
                   : ERR_ORIGIN_FAILED;
    }
    const size_t branch = (size_t)store_model_branch(model, commit->branch);
    struct model_name name;
    if (!model_name_of(&one->target, principal, commit->session, &name)) {
        return ERR_PROTOCOL;
    }
    if (one->kind == PRECONDITION_ENTITY_ABSENT) {
        return store_model_ever_existed(model, branch, &name)
                   ? ERR_RECEIPT_EXISTS
                   : ERR_OK;
    }
    struct value now = store_model_read(model, branch, &name, UINT64_MAX);
    const bool waits =
        value_is_object(now) && !value_is_absent(object_field(now, "event"));
    const bool equal = has_hash(now, one->hash);
    value_unref(now);
    if (one->kind == PRECONDITION_EVENT_WAITING) {
        return waits ? ERR_OK
               : store_model_ever_existed(model, branch, &name)
                   ? ERR_RECEIPT_EXISTS
                   : ERR_ORIGIN_FAILED;
    }
    return equal ? ERR_OK : ERR_CONFLICT;
}

/* The document of an operation as it is when the operation's turn comes: at
 * `seq`, and then as far as the commit has got. New. */
static struct value state_before(const struct store_model *model,
                                 const struct model_entry *entry,
                                 size_t op,
                                 const struct model_name *name,
                                 uint64_t seq)
{
    struct value state = store_model_read(model, entry->branch, name, seq);
    for (size_t i = 0; i < op; i++) {
        if (is_on(&entry->commit->ops.at[i], entry, name)) {
            const enum err err = apply_op(&entry->commit->ops.at[i], &state);
            CHECK(err == ERR_OK); /* a set: nothing else gets that far */
        }
    }
    return state;
}

/* Content may be set where it is not, or where it is the same. */
static enum err check_contents(const struct store_model *model,
                               const struct model_entry *entry)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < entry->commit->ops.count; i++) {
        const struct commit_op *op = &entry->commit->ops.at[i];
        const struct model_name name = {.id = op->target.id};
        if (!is_content(op->target.id)) {
            continue;
        }
        if (op->target.scope != SCOPE_SPACE) {
            return ERR_PROTOCOL;
        }
        if (op->kind != COMMIT_SET) {
            return ERR_IMMUTABLE;
        }
        struct value state = state_before(model, entry, i, &name, UINT64_MAX);
        if (!value_is_absent(state) && !value_equal(state, op->document)) {
            err = ERR_IMMUTABLE;
        }
        value_unref(state);
    }
    return err;
}

/* Of a commit that lands now, or landed behind `seq`. */
static void find_elided(const struct store_model *model,
                        const struct model_entry *entry,
                        uint64_t seq,
                        struct model_answer *answer)
{
    for (uint32_t i = 0; i < entry->commit->ops.count; i++) {
        const struct commit_op *op = &entry->commit->ops.at[i];
        const struct model_name name = {.id = op->target.id};
        if (is_content(op->target.id)) {
            struct value state = state_before(model, entry, i, &name, seq);
            if (is_elided(op, state)) {
                vec_push(&answer->elided, i);
            }
            value_unref(state);
        }
    }
}

/* Whether all operations can be applied, in order: each document is taken
 * through the commit as far as the operation in question. */
static enum err check_ops(const struct store_model *model,
                          const struct model_entry *entry)
{
    const struct commit *commit = entry->commit;
    for (size_t i = 0; i < commit->ops.count; i++) {
        struct model_name name;
        if (!model_name_of(&commit->ops.at[i].target,
                           entry->principal,
                           commit->session,
                           &name)) {
            return ERR_PROTOCOL;
        }
        struct value state =
            store_model_read(model, entry->branch, &name, UINT64_MAX);
        enum err err = ERR_OK;
        for (size_t j = 0; err == ERR_OK && j <= i; j++) {
            if (is_on(&commit->ops.at[j], entry, &name)) {
                err = apply_op(&commit->ops.at[j], &state);
            }
        }
        value_unref(state);
        if (err != ERR_OK) {
            return err;
        }
    }
    return ERR_OK;
}

static enum err check_shape(const struct commit *commit)
{
    for (size_t i = 0; i < commit->ops.count; i++) {
        const struct commit_op *op = &commit->ops.at[i];
        if (op->kind == COMMIT_SET && !value_is_object(op->document)) {
            return ERR_PROTOCOL;
        }
    }
    return commit->ops.count + commit->preconditions.count > 0 ? ERR_OK
                                                               : ERR_PROTOCOL;
}

static enum err check_all(const struct store_model *model,
                          const struct commit *commit,
                          struct value principal,
                          struct model_answer *answer)
{
    enum err err = check_shape(commit);
    if (err != ERR_OK) {
        return err;
    }
    const int branch = store_model_branch(model, commit->branch);
    if (branch == MODEL_NO_BRANCH) {
        return ERR_BRANCH_UNKNOWN;
    }
    if (!model->branches.at[branch].active) {
        return ERR_BRANCH_CLOSED;
    }
    for (size_t i = 0; err == ERR_OK && i < commit->preconditions.count; i++) {
        err = check_precondition(model,
                                 commit,
                                 principal,
                                 &commit->preconditions.at[i]);
    }
    const struct model_entry entry = {commit, principal, (size_t)branch};
    if (err == ERR_OK) {
        err = check_contents(model, &entry);
    }
    for (size_t i = 0; err == ERR_OK && i < commit->reads.count; i++) {
        err =
            check_read(model, commit, principal, &commit->reads.at[i], answer);
    }
    if (err == ERR_OK) {
        err = check_view(model, commit, principal, answer);
    }
    if (err == ERR_OK) {
        err = check_ops(model, &entry);
    }
    if (err == ERR_OK) {
        find_elided(model, &entry, UINT64_MAX, answer);
    }
    return err;
}

/* The commit that landed under this number again: the same, or another. */
static enum err check_replay(const struct store_model *model,
                             const struct commit *commit,
                             struct value principal,
                             uint64_t seq,
                             struct model_answer *answer)
{
    const struct model_entry *entry =
        &model->log.at[(size_t)(seq - model->before - 1)];
    const struct commit *landed = entry->commit;
    struct value is = commit_write(commit);
    struct value was = commit_write(landed);
    const bool same = value_equal(is, was);
    value_unref(is);
    value_unref(was);
    if (!same) {
        return ERR_REPLAY_MISMATCH;
    }
    answer->replayed = true;
    answer->seq = seq;
    for (size_t i = 0; i < landed->reads.count; i++) {
        const bool all =
            resolve(model, landed, principal, &landed->reads.at[i], answer);
        CHECK(all); /* it landed, so its layers had */
    }
    find_elided(model, entry, seq - 1, answer);
    return ERR_OK;
}

void store_model_ask(const struct store_model *model,
                     const struct commit *commit,
                     struct value principal,
                     struct model_answer *answer)
{
    *answer = (struct model_answer){.err = ERR_OK};
    const uint64_t before =
        find_commit(model, commit, principal, commit->local_seq);
    if (before != 0) {
        answer->err = check_replay(model, commit, principal, before, answer);
    } else {
        answer->seq = store_model_seq(model) + 1;
        answer->err = check_all(model, commit, principal, answer);
    }
}

void model_answer_release(struct model_answer *answer)
{
    vec_release(&answer->resolved);
    vec_release(&answer->elided);
}

/* -- Changes ------------------------------------------------------------- */

void store_model_land(struct store_model *model,
                      const struct commit *commit,
                      struct value principal)
{
    const struct model_entry entry = {
        .commit = commit,
        .principal = principal,
        .branch = (size_t)store_model_branch(model, commit->branch),
    };
    vec_push(&model->log, entry);
}

enum err store_model_fork(struct store_model *model,
                          struct value name,
                          struct value parent_name,
                          uint64_t fork_seq)
{
    const int parent = store_model_branch(model, parent_name);
    const int taken = store_model_branch(model, name);
    if (parent == MODEL_NO_BRANCH) {
        return ERR_BRANCH_UNKNOWN;
    }
    const uint64_t head = store_model_head(model, (size_t)parent);
    if (taken != MODEL_NO_BRANCH) {
        const struct model_branch *same = &model->branches.at[taken];
        if (!same->active) {
            return ERR_BRANCH_CLOSED;
        }
        return taken != 0 && same->parent == (size_t)parent &&
                       (fork_seq == UINT64_MAX || fork_seq == same->fork_seq)
                   ? ERR_OK
                   : ERR_ARGUMENT;
    }
    if (!model->branches.at[parent].active) {
        return ERR_BRANCH_CLOSED;
    }
    const struct model_branch branch = {
        .name = name,
        .parent = (size_t)parent,
        .fork_seq = fork_seq == UINT64_MAX ? head : fork_seq,
        .active = true,
    };
    if (branch.fork_seq > head ||
        branch.fork_seq < store_model_first(model, (size_t)parent)) {
        return ERR_SEQUENCE;
    }
    vec_push(&model->branches, branch);
    return ERR_OK;
}

enum err store_model_close(struct store_model *model, struct value name)
{
    const int branch = store_model_branch(model, name);
    if (branch == MODEL_NO_BRANCH) {
        return ERR_BRANCH_UNKNOWN;
    }
    if (branch == 0) {
        return ERR_ARGUMENT;
    }
    model->branches.at[branch].active = false;
    return ERR_OK;
}

void store_model_compact(struct store_model *model, uint64_t keep_from)
{
    uint64_t horizon = store_model_seq(model);
    horizon = keep_from < horizon ? keep_from : horizon;
    for (size_t i = 1; i < model->branches.count; i++) {
        const uint64_t fork_seq = model->branches.at[i].fork_seq;
        horizon = fork_seq < horizon ? fork_seq : horizon;
    }
    model->horizon = horizon > model->horizon ? horizon : model->horizon;
}
