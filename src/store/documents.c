/* Rows of documents, the cache of them, and the fold. */

#include "store/documents.h"

#include <string.h>

#include "base/text.h"
#include "store/recent.h"
#include "store/repair_text.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"
#include "value/utf8.h"

enum {
    SHORT_TAIL = 8, /* patches that are read together with their set */
};

/* -- The cache ----------------------------------------------------------- */

struct document_key {
    const struct branch *branch;
    struct value scope_key;
    struct value id;
};

static bool is_document(const void *item, const void *key)
{
    const struct document *document = item;
    const struct document_key *wanted = key;
    return document->branch == wanted->branch &&
           key_equal(document->id, wanted->id) &&
           key_equal(document->scope_key, wanted->scope_key);
}

static uint64_t hash_key(const struct document_key *key)
{
    return value_hash(key->id) * 31 + value_hash(key->scope_key) * 7 +
           key->branch->number;
}

static void document_free(struct document *document)
{
    value_unref(document->scope_key);
    value_unref(document->id);
    value_unref(document->head);
    value_unref(document->staged);
    recent_forget_document(document);
    mem_free(document, sizeof *document);
}

void documents_forget(struct engine *engine)
{
    MAP_FOREACH (&engine->documents, slot) {
        document_free(slot->item);
    }
    map_clear(&engine->documents);
}

/* Whether its value takes more than one row. */
static bool is_folded(const struct document *document)
{
    return document->head_known && document->op == COMMIT_PATCH;
}

void documents_trim(struct engine *engine)
{
    const size_t most = engine->options.documents_cached;
    VEC(struct map_slot) kept = {0};
    if (engine->documents.count <= most) {
        return;
    }
    MAP_FOREACH (&engine->documents, slot) {
        if (is_folded(slot->item)) {
            vec_push(&kept, *slot);
        }
    }
    const bool keeps = kept.count <= most;
    MAP_FOREACH (&engine->documents, slot) {
        if (!keeps || !is_folded(slot->item)) {
            document_free(slot->item);
        }
    }
    map_clear(&engine->documents);
    for (size_t i = 0; i < kept.count && keeps; i++) {
        map_insert(&engine->documents, kept.at[i].hash, kept.at[i].item);
    }
    vec_release(&kept);
}

bool document_op_read(struct text text, enum commit_op_kind *out)
{
    for (unsigned i = COMMIT_SET; i <= COMMIT_DELETE; i++) {
        const char *name = commit_op_name((enum commit_op_kind)i);
        if (text.length == strlen(name) &&
            memcmp(text.at, name, text.length) == 0) {
            *out = (enum commit_op_kind)i;
            return true;
        }
    }
    return false;
}

static enum err corrupt(const struct document *document,
                        const char *what,
                        struct err_detail *detail)
{
    const struct text id = value_text(&document->id);
    return err_set(detail,
                   ERR_CORRUPT,
                   "%.*s: %s",
                   text_shown(id.at, id.length, 100),
                   id.at,
                   what);
}

static enum err load_row(struct engine *engine,
                         struct document *document,
                         struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_DOCUMENT_FIND);
    query_int(&query, 1, document->branch->number);
    query_kept(&query, 2, &document->scope_key);
    query_kept(&query, 3, &document->id);
    bool known_op = true;
    if (query_step(&query)) {
        document->number = query_get_int(&query, 0);
        document->head_seq = query_get_int(&query, 1);
        document->head_index = query_get_int(&query, 2);
        known_op = document_op_read(query_get_text(&query, 3), &document->op);
        document->base_seq = query_get_int(&query, 4);
        document->tail_count = query_get_int(&query, 5);
        document->tail_bytes = query_get_int(&query, 6);
        document->base_bytes = query_get_int(&query, 7);
    }
    const enum err err = query_end(&query, detail);
    if (err == ERR_OK && !known_op) {
        return corrupt(document, "unknown operation in its row", detail);
    }
    return err;
}

struct document *document_peek(struct engine *engine,
                               struct branch *branch,
                               struct value scope_key,
                               struct value id)
{
    const struct document_key key = {branch, scope_key, id};
    return map_find(&engine->documents, hash_key(&key), is_document, &key);
}

enum err document_find(struct engine *engine,
                       struct branch *branch,
                       struct value scope_key,
                       struct value id,
                       struct document **out,
                       struct err_detail *detail)
{
    const struct document_key key = {branch, scope_key, id};
    const uint64_t hash = hash_key(&key);
    *out = map_find(&engine->documents, hash, is_document, &key);
    if (*out != NULL) {
        return ERR_OK;
    }
    struct document *document = mem_alloc_zero(sizeof *document);
    document->branch = branch;
    document->scope_key = value_ref(scope_key);
    document->id = value_ref(id);
    const enum err err = load_row(engine, document, detail);
    if (err != ERR_OK) {
        document_free(document);
        return err;
    }
    map_insert(&engine->documents, hash, document);
    *out = document;
    return ERR_OK;
}

enum err documents_list(struct engine *engine,
                        uint64_t after,
                        uint64_t limit,
                        document_names *out,
                        struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_DOCUMENT_ALL);
    query_int(&query, 1, after);
    query_int(&query, 2, limit);
    uint64_t last = after;
    while (query_step(&query)) {
        const uint64_t number = query_get_int(&query, 0);
        if (!query_expects(&query, number > last)) {
            break;
        }
        last = number;
        const struct text scope = query_get_text(&query, 2);
        const struct text id = query_get_text(&query, 3);
        const struct document_name name = {
            .number = number,
            .branch = query_get_int(&query, 1),
            .scope_key = value_string_new(scope.at, scope.length),
            .id = value_string_new(id.at, id.length),
        };
        vec_push(out, name);
    }
    return query_end(&query, detail);
}

void document_names_release(document_names *names)
{
    VEC_FOREACH (names, name) {
        value_unref(name->scope_key);
        value_unref(name->id);
    }
    vec_release(names);
}

enum err documents_count(struct engine *engine,
                         uint64_t *out,
                         struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_DOCUMENT_COUNT);
    if (query_step(&query)) {
        *out = query_get_int(&query, 0);
    }
    return query_end(&query, detail);
}

/* The document that this one continues, or NULL. */
static enum err find_parent(struct engine *engine,
                            const struct document *document,
                            struct document **out,
                            struct err_detail *detail)
{
    *out = NULL;
    if (document->branch->parent == NULL) {
        return ERR_OK;
    }
    return document_find(engine,
                         document->branch->parent,
                         document->scope_key,
                         document->id,
                         out,
                         detail);
}

/* -- Folding ------------------------------------------------------------- */

enum err stored_read(const struct engine *engine,
                     struct text text,
                     struct value *out,
                     struct json_fault *fault)
{
    static const struct json_limits limits = JSON_LIMITS_STORED;
    struct buf escaped = {0};
    if (engine->any_bytes && !utf8_is_valid(text.at, text.length)) {
        repair_json_text(&escaped, text);
        text = (struct text){buf_text(&escaped), escaped.length};
    }
    const enum err err = json_read(text.at, text.length, &limits, out, fault);
    buf_release(&escaped);
    return err;
}

enum err document_decode(struct engine *engine,
                         const struct document *document,
                         struct text text,
                         struct value *out,
                         struct err_detail *detail)
{
    engine->counters.decodes++;
    struct json_fault fault;
    if (stored_read(engine, text, out, &fault) != ERR_OK) {
        return corrupt(document, fault.text, detail);
    }
    return ERR_OK;
}

/* A value being folded, and a bound of its text. */
struct fold {
    struct value value;
    uint64_t bytes;
};

/* Patches of one row of documents: those after (seq, index), up to `to`. */
struct fold_step {
    struct document *document;
    uint64_t seq;
    uint64_t index;
    uint64_t to;
};

/* The latest value of this row at or before `to` that needs no other: a set, a
 * delete or a snapshot. */
struct fold_base {
    bool found;
    uint64_t seq;
    uint64_t index;
    struct value value; /* owned; absent after a delete */
    uint64_t bytes;     /* of its text */
};

static enum err find_set(struct engine *engine,
                         const struct document *document,
                         uint64_t to,
                         struct fold_base *base,
                         struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_REVISION_BASE);
    query_int(&query, 1, document->number);
    query_int(&query, 2, to);
    enum err err = ERR_OK;
    if (query_step(&query)) {
        engine->counters.rows++;
        enum commit_op_kind op = COMMIT_SET;
        base->found = true;
        base->seq = query_get_int(&query, 0);
        base->index = query_get_int(&query, 1);
        if (!document_op_read(query_get_text(&query, 2), &op)) {
            err = corrupt(document, "unknown operation in a revision", detail);
        } else if (op == COMMIT_SET) {
            const struct text text = query_get_text(&query, 3);
            base->bytes = text.length;
            err = document_decode(engine, document, text, &base->value, detail);
        }
    }
    const enum err ended = query_end(&query, detail);
    return err != ERR_OK ? err : ended;
}

static enum err find_snapshot(struct engine *engine,
                              const struct document *document,
                              uint64_t to,
                              struct fold_base *base,
                              struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_SNAPSHOT_LAST);
    query_int(&query, 1, document->number);
    query_int(&query, 2, to);
    enum err err = ERR_OK;
    if (query_step(&query) &&
        (!base->found || query_get_int(&query, 0) >= base->seq)) {
        struct value value = VALUE_NONE;
        const struct text text = query_get_text(&query, 1);
        err = document_decode(engine, document, text, &value, detail);
        value_unref(base->value);
        *base = (struct fold_base){
            .found = true,
            .seq = query_get_int(&query, 0),
            .index = INT64_MAX, /* after everything in that commit */
            .value = value,
            .bytes = text.length,
        };
    }
    const enum err ended = query_end(&query, detail);
    return err != ERR_OK ? err : ended;
}

/* Whether there can be a snapshot between the base and the seq. Looking for one
 * in vain is expensive: SQLite may have to read a neighbour's, all of it.
 * Without any snapshot, all revisions after the base are in the tail of the
 * document. */
static enum err may_have_snapshot(struct engine *engine,
                                  const struct document *document,
                                  uint64_t to,
                                  const struct fold_base *base,
                                  bool *may,
                                  struct err_detail *detail)
{
    *may = true;
    if (to < document->head_seq || !base->found) {
        return ERR_OK;
    }
    if (document->op != COMMIT_PATCH) {
        *may = false;
        return ERR_OK;
    }
    struct query query =
        query_begin(&engine->database, STATEMENT_REVISION_COUNT_BEHIND);
    query_int(&query, 1, document->number);
    query_int(&query, 2, base->seq);
    query_int(&query, 3, base->index);
    query_int(&query, 4, document->tail_count + 1);
    if (query_step(&query)) {
        *may = query_get_int(&query, 0) != document->tail_count;
    }
    return query_end(&query, detail);
}

static enum err find_base(struct engine *engine,
                          const struct document *document,
                          uint64_t to,
                          enum fold_from from,
                          struct fold_base *base,
                          struct err_detail *detail)
{
    *base = (struct fold_base){.found = false};
    enum err err = find_set(engine, document, to, base, detail);
    bool may = false;
    if (err == ERR_OK && from == FOLD_FAST) {
        err = may_have_snapshot(engine, document, to, base, &may, detail);
    }
    if (err == ERR_OK && may) {
        err = find_snapshot(engine, document, to, base, detail);
    }
    if (err == ERR_OK && base->found && !value_is_absent(base->value) &&
        !value_is_object(base->value)) {
        err = corrupt(document, "documents have plain object roots", detail);
    }
    if (err != ERR_OK) {
        value_unref(base->value);
        base->value = VALUE_NONE;
    }
    return err;
}

static enum err apply_row(struct engine *engine,
                          const struct document *document,
                          struct text data,
                          struct value *value,
                          struct err_detail *detail)
{
    struct value list = VALUE_NONE;
    struct patch patch = {0};
    struct value patched = VALUE_NONE;
    struct err_detail why = {0};
    enum err err = document_decode(engine, document, data, &list, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = patch_read(list, &engine->paths, &patch, &why);
    value_unref(list);
    if (err == ERR_OK) {
        err = patch_apply(&patch,
                          *value,
                          PATCH_ROOT_DOCUMENT,
                          &patched,
                          NULL,
                          &why);
        patch_release(&patch);
    }
    if (err != ERR_OK) {
        return corrupt(document, why.text, detail);
    }
    value_unref(*value);
    *value = patched;
    return ERR_OK;
}

static enum err apply_step(struct engine *engine,
                           const struct fold_step *step,
                           struct fold *fold,
                           struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_REVISION_PATCHES);
    query_int(&query, 1, step->document->number);
    query_int(&query, 2, step->seq);
    query_int(&query, 3, step->index);
    query_int(&query, 4, step->to);
    enum err err = ERR_OK;
    while (err == ERR_OK && query_step(&query)) {
        engine->counters.rows++;
        const struct text data = query_get_text(&query, 0);
        fold->bytes += DOCUMENT_GROWTH * (uint64_t)data.length;
        err = apply_row(engine, step->document, data, &fold->value, detail);
    }
    const enum err ended = query_end(&query, detail);
    return err != ERR_OK ? err : ended;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

typedef VEC(struct fold_step) fold_steps;

/* Walks from the document towards the root of its branches until a base is
 * found, and records whose patches follow it. */
static enum err plan_fold(struct engine *engine,
                          struct document *document,
                          uint64_t seq,
                          enum fold_from from,
                          fold_steps *steps,
                          struct fold *fold,
                          struct err_detail *detail)
{
    uint64_t to = least(seq, INT64_MAX);
    while (document != NULL) {
        struct fold_base base = {.found = false};
        if (document->number != 0) {
            const enum err err =
                find_base(engine, document, to, from, &base, detail);
            if (err != ERR_OK) {
                return err;
            }
            const struct fold_step step = {document, base.seq, base.index, to};
            vec_push(steps, step);
        }
        if (base.found) {
            *fold = (struct fold){base.value, base.bytes};
            return ERR_OK;
        }
        to = least(to, document->branch->fork_seq);
        const enum err err = find_parent(engine, document, &document, detail);
        if (err != ERR_OK) {
            return err;
        }
    }
    return ERR_OK;
}

static enum err fold_revisions(struct engine *engine,
                               struct document *document,
                               uint64_t seq,
                               enum fold_from from,
                               struct fold *out,
                               struct err_detail *detail)
{
    fold_steps steps = {0};
    struct fold fold = {.value = VALUE_NONE};
    enum err err =
        plan_fold(engine, document, seq, from, &steps, &fold, detail);
    for (size_t i = steps.count; err == ERR_OK && i-- > 0;) {
        err = apply_step(engine, &steps.at[i], &fold, detail);
    }
    vec_release(&steps);
    if (err != ERR_OK) {
        value_unref(fold.value);
        fold.value = VALUE_NONE;
    }
    *out = fold;
    return err;
}

enum err document_at(struct engine *engine,
                     struct document *document,
                     uint64_t seq,
                     enum fold_from from,
                     struct value *out,
                     struct err_detail *detail)
{
    struct fold fold;
    const enum err err =
        fold_revisions(engine, document, seq, from, &fold, detail);
    *out = fold.value;
    return err;
}

/* The head of a document with a short tail, as most have: its last set and all
 * later patches, by one query. If the rows include more than these, because of
 * a snapshot or several operations in one commit, fold_revisions does it:
 * *whole is false. */
static enum err fold_tail(struct engine *engine,
                          const struct document *document,
                          struct fold *fold,
                          bool *whole,
                          struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_REVISION_FROM);
    query_int(&query, 1, document->number);
    query_int(&query, 2, document->base_seq);
    query_int(&query, 3, document->tail_count + 2);
    enum err err = ERR_OK;
    uint64_t rows = 0;
    *whole = true;
    for (; err == ERR_OK && *whole && query_step(&query); rows++) {
        enum commit_op_kind op = COMMIT_DELETE;
        const struct text data = query_get_text(&query, 1);
        *whole = document_op_read(query_get_text(&query, 0), &op) &&
                 op == (rows == 0 ? COMMIT_SET : COMMIT_PATCH);
        engine->counters.rows++;
        if (*whole && rows == 0) {
            fold->bytes = data.length;
            err = document_decode(engine, document, data, &fold->value, detail);
            *whole = err != ERR_OK || value_is_object(fold->value);
        } else if (*whole) {
            fold->bytes += DOCUMENT_GROWTH * (uint64_t)data.length;
            err = apply_row(engine, document, data, &fold->value, detail);
        }
    }
    const enum err ended = query_end(&query, detail);
    *whole = *whole && rows == document->tail_count + 1;
    return err != ERR_OK ? err : ended;
}

static bool has_short_tail(const struct document *document)
{
    return document->number != 0 && document->op != COMMIT_DELETE &&
           document->base_seq != 0 && document->tail_count <= SHORT_TAIL;
}

static enum err fold_head(struct engine *engine,
                          struct document *document,
                          struct fold *out,
                          struct err_detail *detail)
{
    bool whole = false;
    enum err err = ERR_OK;
    *out = (struct fold){.value = VALUE_NONE};
    if (has_short_tail(document)) {
        err = fold_tail(engine, document, out, &whole, detail);
    }
    if (err != ERR_OK || !whole) {
        value_unref(out->value);
        out->value = VALUE_NONE;
    }
    if (err != ERR_OK || whole) {
        return err;
    }
    return fold_revisions(engine,
                          document,
                          ENGINE_HEAD,
                          FOLD_FAST,
                          out,
                          detail);
}

enum err document_head(struct engine *engine,
                       struct document *document,
                       struct value *out,
                       struct err_detail *detail)
{
    if (!document->head_known) {
        struct fold fold;
        const enum err err = fold_head(engine, document, &fold, detail);
        if (err != ERR_OK) {
            return err;
        }
        document->head = fold.value;
        document->head_bytes = fold.bytes;
        document->head_known = true;
    }
    *out = document->head;
    return ERR_OK;
}

enum err document_last_seq(struct engine *engine,
                           struct document *document,
                           uint64_t *out,
                           struct err_detail *detail)
{
    uint64_t to = INT64_MAX;
    *out = 0;
    while (document != NULL && *out == 0) {
        if (document->number != 0) {
            struct query query =
                query_begin(&engine->database, STATEMENT_REVISION_LAST);
            query_int(&query, 1, document->number);
            query_int(&query, 2, to);
            if (query_step(&query)) {
                *out = query_get_int(&query, 0);
            }
            const enum err err = query_end(&query, detail);
            if (err != ERR_OK) {
                return err;
            }
        }
        to = least(to, document->branch->fork_seq);
        const enum err err = find_parent(engine, document, &document, detail);
        if (err != ERR_OK) {
            return err;
        }
    }
    return ERR_OK;
}

enum err document_ever_existed(struct engine *engine,
                               struct document *document,
                               bool *out,
                               struct err_detail *detail)
{
    uint64_t seq = 0;
    const enum err err = document_last_seq(engine, document, &seq, detail);
    *out = seq != 0;
    return err;
}
