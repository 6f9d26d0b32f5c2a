/* Following links through documents of one seq. */

#include "inspect/read_at.h"

#include "runtime/piece.h"
#include "store/documents.h"
#include "value/array.h"
#include "value/doc_link.h"
#include "value/object.h"
#include "value/path.h"

struct reader {
    struct engine *engine;
    struct branch *branch;
    uint64_t seq;
    struct read_at_bounds bounds;
    uint64_t documents; /* read so far */
    struct err_detail *detail;
};

/* read-at-3. */
static enum err count_document(struct reader *reader, struct value id)
{
    const uint64_t most = reader->bounds.documents_max;
    if (most > 0 && reader->documents >= most) {
        return err_set(reader->detail,
                       ERR_LIMIT_SIZE,
                       "the result links to more than %llu documents: read a "
                       "part of it",
                       (unsigned long long)most);
    }
    reader->documents++;
    if (reader->bounds.visit != NULL) {
        reader->bounds.visit(reader->bounds.ctx, id);
    }
    return ERR_OK;
}

static enum err read_document(struct reader *reader,
                              struct value id,
                              struct value *out)
{
    const struct value scope = value_text_new("space");
    struct document *document = NULL;
    *out = VALUE_NONE;
    enum err err = count_document(reader, id);
    if (err != ERR_OK) {
        return err;
    }
    err = document_find(reader->engine,
                        reader->branch,
                        scope,
                        id,
                        &document,
                        reader->detail);
    if (err == ERR_OK) {
        err = document_at(reader->engine,
                          document,
                          reader->seq,
                          FOLD_FAST,
                          out,
                          reader->detail);
    }
    value_unref(scope);
    return err;
}

/* Where one is: a document, and keys that are still to go, the next one
 * last. */
struct walk {
    struct value id;                   /* owned */
    VEC(struct path_segment) segments; /* owned */
};

static void push_keys(struct walk *walk, struct value keys)
{
    for (uint32_t i = value_is_array(keys) ? array_count(keys) : 0; i-- > 0;) {
        vec_push(&walk->segments, path_segment(array_at(keys, i)));
    }
}

static void drop_keys(struct walk *walk)
{
    while (walk->segments.count > 0) {
        struct path_segment last = vec_pop(&walk->segments);
        path_segment_release(&last);
    }
}

/* The document that a link means; false for one that cannot be followed. */
static bool follow(struct walk *walk, struct value leaf)
{
    if (value_kind(leaf) != VALUE_LINK) {
        return false;
    }
    const struct doc_link link = doc_link_of(leaf);
    if (!value_is_absent(link.space)) {
        return false; /* another space's history is not ours */
    }
    if (!value_is_absent(link.id)) {
        const struct value id = value_ref(link.id);
        value_unref(walk->id);
        walk->id = id;
    }
    push_keys(walk, link.path);
    return true;
}

/* Goes on from `walk`, whose keys are used up; a value, new, and the document
 * that it is in (walk->id). */
static enum err go(struct reader *reader, struct walk *walk, struct value *out)
{
    enum err err = ERR_OK;
    *out = VALUE_NONE;
    for (unsigned hops = 0; hops <= READ_AT_HOPS; hops++) {
        struct value document = VALUE_NONE;
        err = read_document(reader, walk->id, &document);
        struct value at = document;
        while (walk->segments.count > 0 && value_is_container(at)) {
            struct path_segment next = vec_pop(&walk->segments);
            at = value_child(at, &next);
            path_segment_release(&next);
        }
        const struct value found = value_ref(at);
        value_unref(document);
        if (err != ERR_OK || !follow(walk, found)) {
            *out =
                err == ERR_OK && walk->segments.count == 0 ? found : VALUE_NONE;
            if (value_is_absent(*out)) {
                value_unref(found);
            }
            return err;
        }
        value_unref(found);
    }
    return ERR_OK;
}

static enum err resolve_adopt(struct reader *reader,
                              struct value value,
                              struct value home,
                              unsigned depth,
                              struct value *out);

/* What is behind a link, with all that it links to. */
static enum err resolve_link(struct reader *reader,
                             struct value link,
                             struct value home,
                             unsigned depth,
                             struct value *out)
{
    struct walk walk = {.id = value_ref(home)};
    struct value found = VALUE_NONE;
    enum err err = ERR_OK;
    if (depth >= READ_AT_DEPTH || !follow(&walk, link)) {
        *out = value_ref(link);
    } else {
        err = go(reader, &walk, &found);
        if (err == ERR_OK) {
            err = resolve_adopt(reader, found, walk.id, depth + 1, out);
        }
    }
    drop_keys(&walk);
    vec_release(&walk.segments);
    value_unref(walk.id);
    return err;
}

static enum err resolve_array(struct reader *reader,
                              struct value array,
                              struct value home,
                              unsigned depth,
                              struct value *out)
{
    struct value list = value_empty_array();
    struct array_iter iter = array_iter(array);
    struct value item;
    enum err err = ERR_OK;
    while (err == ERR_OK && array_next(&iter, &item)) {
        struct value one = VALUE_NONE;
        err = resolve_adopt(reader, value_ref(item), home, depth, &one);
        list =
            array_push_adopt(list, value_is_absent(one) ? value_null() : one);
    }
    *out = list;
    return err;
}

static enum err resolve_object(struct reader *reader,
                               struct value object,
                               struct value home,
                               unsigned depth,
                               struct value *out)
{
    struct value made = value_empty_object();
    struct object_iter iter = object_iter(object);
    struct value key;
    struct value item;
    enum err err = ERR_OK;
    while (err == ERR_OK && object_next(&iter, &key, &item)) {
        struct value one = VALUE_NONE;
        err = resolve_adopt(reader, value_ref(item), home, depth, &one);
        if (!value_is_absent(one)) {
            made = object_set_adopt(made, value_ref(key), one);
        }
    }
    *out = made;
    return err;
}

/* read-at-2. How deep it can get: LIMIT_DEPTH of containers in a document, and
 * READ_AT_DEPTH of documents. */
static enum err resolve_adopt(struct reader *reader,
                              struct value value,
                              struct value home,
                              unsigned depth,
                              struct value *out)
{
    enum err err = ERR_OK;
    *out = VALUE_NONE;
    if (value_is_absent(value)) {
        return ERR_OK;
    }
    if (value_kind(value) == VALUE_LINK) {
        err = resolve_link(reader, value, home, depth, out);
    } else if (value_is_array(value)) {
        err = resolve_array(reader, value, home, depth, out);
    } else if (value_is_object(value)) {
        err = resolve_object(reader, value, home, depth, out);
    } else {
        *out = value_ref(value);
    }
    value_unref(value);
    return err;
}

static enum err check_seq(const struct engine *engine,
                          uint64_t seq,
                          struct err_detail *detail)
{
    if (seq > engine->seq) {
        return err_set(detail,
                       ERR_SEQUENCE,
                       "seq %llu is beyond the head %llu",
                       (unsigned long long)seq,
                       (unsigned long long)engine->seq);
    }
    if (seq < engine->horizon) {
        return err_set(detail,
                       ERR_SEQUENCE,
                       "history before seq %llu was compacted",
                       (unsigned long long)engine->horizon);
    }
    return ERR_OK;
}

enum err read_at(struct engine *engine,
                 struct value piece,
                 struct value path,
                 uint64_t seq,
                 struct value *out,
                 struct err_detail *detail)
{
    const struct read_at_bounds none = {0};
    return read_at_within(engine, piece, path, seq, &none, out, detail);
}

enum err read_at_within(struct engine *engine,
                        struct value piece,
                        struct value path,
                        uint64_t seq,
                        const struct read_at_bounds *bounds,
                        struct value *out,
                        struct err_detail *detail)
{
    const struct value main = value_string_new("", 0);
    struct reader reader = {
        .engine = engine,
        .branch = engine_branch(engine, main),
        .seq = seq == ENGINE_HEAD ? engine->seq : seq,
        .bounds = *bounds,
        .detail = detail,
    };
    struct walk walk = {.id = piece_document_id(piece, VALUE_NONE)};
    const struct value payload = value_text_new("value");
    struct value found = VALUE_NONE;
    *out = VALUE_NONE;
    push_keys(&walk, path);
    vec_push(&walk.segments, path_segment(payload));
    enum err err = check_seq(engine, reader.seq, detail);
    if (err == ERR_OK) {
        err = go(&reader, &walk, &found);
    }
    if (err == ERR_OK) {
        err = resolve_adopt(&reader, found, walk.id, 0, out);
    }
    drop_keys(&walk);
    vec_release(&walk.segments);
    value_unref(walk.id);
    value_unref(payload);
    value_unref(main);
    if (err != ERR_OK) {
        value_unref(*out);
        *out = VALUE_NONE;
    }
    return err;
}
