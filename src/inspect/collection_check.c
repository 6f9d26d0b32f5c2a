/* Comparing orderings with rows, and writing them anew. */

#include "inspect/collection_check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collection/pages.h"
#include "collection/part_id.h"
#include "collection/sort_key.h"
#include "host/system.h"
#include "value/address.h"
#include "value/array.h"
#include "value/collection_id.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    COMMIT_OPERATIONS = 10000,         /* as transfers have it */
    LEAF_FILL = PAGES_ENTRIES_MAX / 2, /* entries of a page that is made */
    INNER_FILL = PAGES_INNER_MAX / 2,
};

struct entry {
    struct value sort_key;
    struct value key;
};
typedef VEC(struct entry) entry_list;
typedef VEC(struct value) value_list;

static void entries_release(entry_list *entries)
{
    VEC_FOREACH (entries, entry) {
        value_unref(entry->sort_key);
        value_unref(entry->key);
    }
    vec_release(entries);
}

static void values_release(value_list *values)
{
    VEC_FOREACH (values, value) {
        value_unref(*value);
    }
    vec_release(values);
}

/* The collection that is looked at. */
struct examined {
    struct engine *engine;
    const struct collection_report *report;
    struct collection_counts *counts;
    struct value branch;
    struct value scope;
    struct value root;     /* its id */
    struct value document; /* of the root; or absent */
    struct value key;      /* the name of the key field; borrowed from it */
    value_list row_ids;
    value_list page_ids;
    value_list rows; /* those that can be rows */
    struct err_detail *detail;

    /* Of a repair. */
    bool repairs;
    struct commit commit;
    struct value session;
    uint64_t local_seq;
};

static void examined_clear(struct examined *examined)
{
    value_unref(examined->root);
    value_unref(examined->document);
    examined->root = VALUE_NONE;
    examined->document = VALUE_NONE;
    values_release(&examined->row_ids);
    values_release(&examined->page_ids);
    values_release(&examined->rows);
}

__attribute__((format(printf, 2, 3))) static void tell(
    struct examined *examined,
    const char *format,
    ...)
{
    char text[ERR_TEXT_SIZE];
    va_list arguments;
    examined->counts->differences++;
    if (examined->report == NULL || examined->report->difference == NULL) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    examined->report->difference(examined->report->ctx, text);
}

/* Its document at the head, new; absent: there is none. */
static enum err read_head(const struct examined *examined,
                          struct value id,
                          struct value *out)
{
    const struct engine_address address = {
        .branch = examined->branch,
        .scope_key = examined->scope,
        .id = id,
    };
    uint64_t seq;
    return engine_head(examined->engine, &address, out, &seq, examined->detail);
}

static struct value field_of(struct value object, const char *name)
{
    return value_is_object(object) ? object_field(object, name) : VALUE_NONE;
}

/* An object that is there, or an empty one; borrowed. */
static struct value object_of(struct value object, const char *name)
{
    const struct value field = field_of(object, name);
    return value_is_object(field) ? field : value_empty_object();
}

static struct value about_of(const struct examined *examined)
{
    return object_of(examined->document, "collection");
}

/* -- What the rows say --------------------------------------------------- */

/* False: a field cannot be in an index. */
static bool make_sort_key(struct value row,
                          struct value fields,
                          struct value key,
                          struct value *out)
{
    struct buf text = {0};
    bool usable = true;
    for (uint32_t i = 0; value_is_array(fields) && i < array_count(fields);
         i++) {
        const struct value field = object_get(row, array_at(fields, i));
        usable = usable && (value_is_absent(field) || sort_key_takes(field));
        if (usable) {
            sort_key_append(&text, field);
        }
    }
    if (usable) {
        sort_key_append(&text, key);
    }
    *out = usable ? value_string_new(text.at, text.length) : VALUE_NONE;
    buf_release(&text);
    return usable;
}

static bool has_id(const struct examined *examined,
                   struct value key,
                   struct value id)
{
    const struct text text = value_text(&id);
    struct buf own = {0};
    row_id_append(&own, value_text(&examined->root), key);
    const bool is =
        own.length == text.length && memcmp(own.at, text.at, own.length) == 0;
    buf_release(&own);
    return is;
}

static enum err read_rows(struct examined *examined)
{
    VEC_FOREACH (&examined->row_ids, id) {
        struct value document;
        const enum err err = read_head(examined, *id, &document);
        if (err != ERR_OK) {
            return err;
        }
        const struct value row = field_of(document, "value");
        const struct value key =
            value_is_object(row) ? object_get(row, examined->key) : VALUE_NONE;
        if (row_key_is_usable(key) && has_id(examined, key, *id)) {
            vec_push(&examined->rows, value_ref(row));
        } else {
            const struct text text = value_text(id);
            tell(examined,
                 "the row %.*s does not have the key that its id names",
                 (int)text.length,
                 text.at);
        }
        value_unref(document);
    }
    examined->counts->rows += examined->rows.count;
    return ERR_OK;
}

static int by_sort_key(const void *a, const void *b)
{
    return value_compare_strings(((const struct entry *)a)->sort_key,
                                 ((const struct entry *)b)->sort_key);
}

static void sort_entries(entry_list *entries)
{
    if (entries->count > 1) {
        qsort(entries->at, entries->count, sizeof *entries->at, by_sort_key);
    }
}

/* `fields` of an index; absent: the ordering of the keys. */
static void make_entries(struct examined *examined,
                         struct value fields,
                         entry_list *out)
{
    VEC_FOREACH (&examined->rows, row) {
        const struct value key = object_get(*row, examined->key);
        struct entry entry = {.key = value_ref(key)};
        if (make_sort_key(*row, fields, key, &entry.sort_key)) {
            vec_push(out, entry);
        } else {
            value_unref(entry.key);
            tell(examined, "a row has a field that cannot be in its index");
        }
    }
    sort_entries(out);
}

/* -- What the pages say -------------------------------------------------- */

struct ordering_look {
    struct examined *examined;
    struct value name;
    struct value front; /* of the ids of its pages */
    entry_list entries;
    value_list lows;    /* of the pages of the level below */
    uint64_t misplaced; /* entries in a page that is not theirs */
    bool is_broken;     /* a page is missing */
};

static struct value page_id(const struct ordering_look *look,
                            unsigned level,
                            struct value low)
{
    struct buf id = {0};
    page_id_append(&id, value_text(&look->front), level, value_text(&low));
    const struct value made = value_string_new(id.at, id.length);
    buf_release(&id);
    return made;
}

/* The first key of an object, borrowed; absent: it has none. */
static struct value first_key(struct value object)
{
    struct object_iter iter = object_iter(object);
    struct value key = VALUE_NONE;
    struct value item;
    (void)object_next(&iter, &key, &item);
    return key;
}

static bool has_low(const value_list *lows, struct value low)
{
    size_t from = 0;
    size_t to = lows->count;
    while (from < to) { /* they are in order */
        const size_t middle = from + (to - from) / 2;
        const int order = value_compare_strings(lows->at[middle], low);
        if (order == 0) {
            return true;
        }
        if (order < 0) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return false;
}

static void look_at_entries(struct ordering_look *look,
                            unsigned level,
                            struct value page,
                            struct value low,
                            struct value fence)
{
    struct object_iter iter = object_iter(object_of(page, "entries"));
    struct value sort_key;
    struct value key;
    while (object_next(&iter, &sort_key, &key)) {
        look->misplaced += value_compare_strings(sort_key, low) < 0 ||
                           (!value_is_absent(fence) &&
                            value_compare_strings(sort_key, fence) >= 0);
        if (level == 0) {
            const struct entry entry = {value_ref(sort_key), value_ref(key)};
            vec_push(&look->entries, entry);
        } else if (!has_low(&look->lows, sort_key)) {
            look->is_broken = true;
        }
    }
}

/* The pages of a level, from the first one along their fences. */
static enum err look_at_level(struct ordering_look *look, unsigned level)
{
    value_list lows = {0};
    struct value low = value_text_new("");
    enum err err = ERR_OK;
    bool more = true;
    while (err == ERR_OK && more) {
        struct value document = VALUE_NONE;
        const struct value id = page_id(look, level, low);
        err = read_head(look->examined, id, &document);
        const struct value page = field_of(document, "value");
        const struct value fence = first_key(object_of(page, "fence"));
        vec_push(&lows, low);
        look->is_broken =
            look->is_broken || !value_is_object(page) ||
            (!value_is_absent(fence) && value_compare_strings(fence, low) <= 0);
        more = !look->is_broken && !value_is_absent(fence);
        if (err == ERR_OK && value_is_object(page)) {
            look_at_entries(look, level, page, low, fence);
        }
        low = more ? value_ref(fence) : VALUE_NONE;
        value_unref(document);
        value_unref(id);
    }
    value_unref(low);
    values_release(&look->lows);
    look->lows = lows;
    return err;
}

static enum err look_at_pages(struct ordering_look *look)
{
    const struct value height =
        object_get(object_of(about_of(look->examined), "heights"), look->name);
    const bool is_height = value_kind(height) == VALUE_INT &&
                           value_integer(height) >= 0 &&
                           value_integer(height) < PAGES_LEVELS_MAX;
    const unsigned levels = is_height ? (unsigned)value_integer(height) : 0;
    enum err err = ERR_OK;
    look->is_broken = !is_height;
    for (unsigned level = 0; level <= levels && err == ERR_OK; level++) {
        err = look_at_level(look, level);
    }
    sort_entries(&look->entries);
    return err;
}

/* -- Comparing ----------------------------------------------------------- */

struct comparison {
    uint64_t missing;
    uint64_t extra;
};

static struct comparison compare(const entry_list *want, const entry_list *is)
{
    struct comparison found = {0};
    size_t i = 0;
    size_t j = 0;
    while (i < want->count || j < is->count) {
        const int order = i >= want->count ? 1
                          : j >= is->count
                              ? -1
                              : by_sort_key(&want->at[i], &is->at[j]);
        if (order == 0 && !value_equal(want->at[i].key, is->at[j].key)) {
            found.missing++; /* the entry of another row */
            found.extra++;
        }
        found.missing += order < 0;
        found.extra += order > 0;
        i += order <= 0;
        j += order >= 0;
    }
    return found;
}

static void tell_ordering(struct ordering_look *look,
                          const struct comparison *found)
{
    const struct text root = value_text(&look->examined->root);
    const struct text name = value_text(&look->name);
    struct buf what = {0};
    if (name.length == 0) {
        buf_append_text(&what, "the ordering by key");
    } else {
        buf_append_text(&what, "the index '");
        buf_append(&what, name.at, name.length);
        buf_append_text(&what, "'");
    }
    tell(look->examined,
         "the collection %.*s: %s has %" PRIu64 " missing and %" PRIu64
         " extra entries, and %" PRIu64 " in the wrong page%s",
         (int)root.length,
         root.at,
         buf_text(&what),
         found->missing,
         found->extra,
         look->misplaced,
         look->is_broken ? "; a page is missing" : "");
    buf_release(&what);
}

static enum err write_ordering(struct ordering_look *look,
                               const entry_list *want);

/* `fields`: as make_entries has it. */
static enum err examine_ordering(struct examined *examined,
                                 struct value name,
                                 struct value fields)
{
    struct buf front = {0};
    page_id_append_front(&front,
                         value_text(&examined->root),
                         value_text(&name));
    struct ordering_look look = {
        .examined = examined,
        .name = name,
        .front = value_string_new(front.at, front.length),
    };
    buf_release(&front);
    entry_list want = {0};
    make_entries(examined, fields, &want);
    enum err err = look_at_pages(&look);
    const struct comparison found = compare(&want, &look.entries);
    if (err == ERR_OK && (found.missing > 0 || found.extra > 0 ||
                          look.misplaced > 0 || look.is_broken)) {
        tell_ordering(&look, &found);
        if (examined->repairs) {
            err = write_ordering(&look, &want);
        }
    }
    value_unref(look.front);
    entries_release(&look.entries);
    entries_release(&want);
    values_release(&look.lows);
    return err;
}

/* -- Writing ------------------------------------------------------------- */

static enum err flush(struct examined *examined)
{
    struct commit *commit = &examined->commit;
    if (commit->ops.count == 0) {
        return ERR_OK;
    }
    commit->session = value_ref(examined->session);
    commit->branch = value_ref(examined->branch);
    commit->local_seq = ++examined->local_seq;
    struct engine_request request = {
        .commit = commit,
        .at_ms = system_wall_ms(),
    };
    enum err err =
        engine_write_commit(examined->engine, &request, examined->detail);
    if (err == ERR_OK && request.verdict.err != ERR_OK) {
        *examined->detail = request.verdict.detail;
        err = request.verdict.err;
    }
    verdict_release(&request.verdict);
    commit_release(commit);
    *commit = (struct commit){0};
    return err;
}

/* Absent: the document is deleted. Adopts it. */
static enum err write_adopt(struct examined *examined,
                            struct value id,
                            struct value document)
{
    struct commit_op *op = commit_add_op(&examined->commit);
    op->kind = value_is_absent(document) ? COMMIT_DELETE : COMMIT_SET;
    op->target.id = value_ref(id);
    op->target.scope = SCOPE_SPACE;
    op->document = document;
    return examined->commit.ops.count >= COMMIT_OPERATIONS ? flush(examined)
                                                           : ERR_OK;
}

/* The pages that are there; those that are written next may be among them. */
static enum err delete_pages(const struct ordering_look *look)
{
    const struct text front = value_text(&look->front);
    enum err err = ERR_OK;
    VEC_FOREACH (&look->examined->page_ids, id) {
        const struct text text = value_text(id);
        if (err == ERR_OK && text.length > front.length &&
            memcmp(text.at, front.at, front.length) == 0) {
            err = write_adopt(look->examined, *id, VALUE_NONE);
        }
    }
    return err == ERR_OK ? flush(look->examined) : err;
}

/* A page with the entries from `from` up to `to`, the next of which, if there
 * is one, begins the next page. */
static enum err write_page(const struct ordering_look *look,
                           unsigned level,
                           const entry_list *entries,
                           size_t from,
                           size_t to)
{
    struct value content = value_empty_object();
    struct value fence = value_empty_object();
    for (size_t i = from; i < to; i++) {
        content = object_set_adopt(content,
                                   value_ref(entries->at[i].sort_key),
                                   value_ref(entries->at[i].key));
    }
    if (to < entries->count) {
        fence = object_set_adopt(fence,
                                 value_ref(entries->at[to].sort_key),
                                 value_int(1));
    }
    struct value page = value_empty_object();
    struct value document = value_empty_object();
    object_put_adopt(&page, "entries", content);
    object_put_adopt(&page, "fence", fence);
    object_put_adopt(&document, "value", page);
    const struct value low =
        from == 0 ? value_text_new("") : value_ref(entries->at[from].sort_key);
    const struct value id = page_id(look, level, low);
    const enum err err = write_adopt(look->examined, id, document);
    value_unref(id);
    value_unref(low);
    return err;
}

/* Writes a level; `above` gets the entries of the one above it. */
static enum err write_level(const struct ordering_look *look,
                            unsigned level,
                            const entry_list *entries,
                            entry_list *above)
{
    const size_t fill = level == 0 ? LEAF_FILL : INNER_FILL;
    enum err err = ERR_OK;
    size_t from = 0;
    do {
        const size_t left = entries->count - from;
        const size_t to = from + (left < fill ? left : fill);
        const struct entry entry = {
            .sort_key = from == 0 ? value_text_new("")
                                  : value_ref(entries->at[from].sort_key),
            .key = value_int(1),
        };
        vec_push(above, entry);
        err = write_page(look, level, entries, from, to);
        from = to;
    } while (err == ERR_OK && from < entries->count);
    return err;
}

static void put_height(struct examined *examined,
                       struct value name,
                       unsigned height)
{
    struct value about = value_ref(about_of(examined));
    struct value heights = value_ref(object_of(about, "heights"));
    heights =
        object_set_adopt(heights, value_ref(name), value_int((int64_t)height));
    object_put_adopt(&about, "heights", heights);
    object_put_adopt(&examined->document, "collection", about);
}

static enum err write_ordering(struct ordering_look *look,
                               const entry_list *want)
{
    const entry_list *entries = want;
    entry_list levels[PAGES_LEVELS_MAX] = {{0}};
    unsigned level = 0;
    enum err err = delete_pages(look);
    while (err == ERR_OK) {
        err = write_level(look, level, entries, &levels[level]);
        if (levels[level].count <= 1) {
            break;
        }
        entries = &levels[level++];
    }
    put_height(look->examined, look->name, level);
    look->examined->counts->rebuilt++;
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        entries_release(&levels[i]);
    }
    return err;
}

/* -- One collection ------------------------------------------------------ */

static enum err examine_count(struct examined *examined)
{
    const struct value payload = object_of(examined->document, "value");
    const struct value count = object_field(payload, "count");
    const int64_t rows = (int64_t)examined->rows.count;
    if (value_kind(count) == VALUE_INT && value_integer(count) == rows) {
        return ERR_OK;
    }
    const struct text root = value_text(&examined->root);
    tell(examined,
         "the collection %.*s has %" PRId64
         " rows, and its count says %" PRId64,
         (int)root.length,
         root.at,
         rows,
         value_kind(count) == VALUE_INT ? value_integer(count) : 0);
    if (examined->repairs) {
        struct value after = value_ref(payload);
        object_put_adopt(&after, "count", value_int(rows));
        object_put_adopt(&examined->document, "value", after);
        examined->counts->rebuilt++;
    }
    return ERR_OK;
}

static enum err examine_orderings(struct examined *examined)
{
    const struct value definition =
        value_ref(object_of(about_of(examined), "definition"));
    const struct value none = value_text_new("");
    enum err err = examine_ordering(examined, none, VALUE_NONE);
    struct object_iter iter = object_iter(object_of(definition, "index"));
    struct value name;
    struct value fields;
    while (err == ERR_OK && object_next(&iter, &name, &fields)) {
        err = examine_ordering(examined, name, fields);
    }
    value_unref(none);
    value_unref(definition);
    return err;
}

static enum err examine(struct examined *examined)
{
    enum err err = read_head(examined, examined->root, &examined->document);
    if (err != ERR_OK) {
        return err;
    }
    const struct value before = value_ref(examined->document);
    const struct value key =
        object_field(object_of(about_of(examined), "definition"), "key");
    if (!value_is_string(key)) {
        const struct text root = value_text(&examined->root);
        tell(examined,
             "the collection %.*s has rows or pages, and no definition",
             (int)root.length,
             root.at);
    } else {
        examined->key = value_ref(key);
        examined->counts->collections++;
        err = read_rows(examined);
        if (err == ERR_OK) {
            err = examine_orderings(examined);
        }
        if (err == ERR_OK) {
            err = examine_count(examined);
        }
        if (err == ERR_OK && !value_is_same(before, examined->document)) {
            err = write_adopt(examined,
                              examined->root,
                              value_ref(examined->document));
        }
        value_unref(examined->key);
        examined->key = VALUE_NONE;
    }
    value_unref(before);
    return err;
}

/* -- All of them --------------------------------------------------------- */

/* Documents of collections, by id: those of one are next to each other. */
static void note_part(void *ctx, struct value scope_key, struct value id)
{
    value_list *ids = ctx;
    size_t length;
    if (value_is_text(scope_key, scope_name(SCOPE_SPACE)) &&
        collection_part_of(value_text(&id), &length) != COLLECTION_NO_PART) {
        vec_push(ids, value_ref(id));
    }
}

static bool is_of_root(const struct examined *examined,
                       struct text id,
                       size_t length)
{
    if (value_is_absent(examined->root)) {
        return false;
    }
    const struct text root = value_text(&examined->root);
    return root.length == length && memcmp(root.at, id.at, length) == 0;
}

static enum err examine_all(struct examined *examined)
{
    value_list ids = {0};
    enum err err = engine_documents(examined->engine,
                                    "",
                                    "",
                                    note_part,
                                    &ids,
                                    examined->detail);
    VEC_FOREACH (&ids, id) {
        const struct text text = value_text(id);
        size_t length;
        const enum collection_part part = collection_part_of(text, &length);
        if (!is_of_root(examined, text, length)) {
            if (err == ERR_OK && !value_is_absent(examined->root)) {
                err = examine(examined);
            }
            examined_clear(examined);
            examined->root = value_string_new(text.at, length);
        }
        if (part == COLLECTION_ROW) {
            vec_push(&examined->row_ids, value_ref(*id));
        } else {
            vec_push(&examined->page_ids, value_ref(*id));
        }
    }
    if (err == ERR_OK && !value_is_absent(examined->root)) {
        err = examine(examined);
    }
    if (err == ERR_OK) {
        err = flush(examined);
    }
    examined_clear(examined);
    values_release(&ids);
    return err;
}

static struct examined begin(struct engine *engine,
                             struct collection_counts *counts,
                             struct err_detail *detail)
{
    *counts = (struct collection_counts){0};
    return (struct examined){
        .engine = engine,
        .counts = counts,
        .branch = value_text_new(""),
        .scope = value_text_new(scope_name(SCOPE_SPACE)),
        .detail = detail,
    };
}

static void end(struct examined *examined)
{
    commit_release(&examined->commit);
    value_unref(examined->branch);
    value_unref(examined->scope);
    value_unref(examined->session);
}

enum err collections_verify(struct engine *engine,
                            const struct collection_report *report,
                            struct collection_counts *counts,
                            struct err_detail *detail)
{
    struct examined examined = begin(engine, counts, detail);
    examined.report = report;
    enum err err = engine_read_begin(engine, detail);
    if (err == ERR_OK) {
        err = examine_all(&examined);
        engine_read_end(engine);
    }
    end(&examined);
    return err;
}

enum err collections_repair(struct engine *engine,
                            struct collection_counts *counts,
                            struct err_detail *detail)
{
    struct examined examined = begin(engine, counts, detail);
    struct host *host = system_host();
    char session[64];
    (void)snprintf(session,
                   sizeof session,
                   "check-%016" PRIx64 "%016" PRIx64,
                   host->random(host),
                   host->random(host));
    examined.session = value_text_new(session);
    examined.repairs = true;
    enum err err = engine_write_begin(engine, detail);
    if (err == ERR_OK) {
        err = examine_all(&examined);
        err = engine_write_end(engine, err, detail);
    }
    end(&examined);
    return err;
}
