/* Searching, changing and splitting pages. */

#include "collection/pages.h"

#include <stdlib.h>
#include <string.h>

#include "collection/part_id.h"
#include "replica/draft.h"
#include "replica/overlay.h"
#include "replica/space.h"
#include "value/collection_id.h"
#include "value/compare.h"
#include "value/id.h"
#include "value/object.h"

/* A page that a search has come to. */
struct page {
    struct entity *entity;
    unsigned level;
    struct value low;  /* its lowest sort key; a reference */
    struct value data; /* its payload; a reference, or absent */
};

static void page_release(struct page *page)
{
    value_unref(page->low);
    value_unref(page->data);
    *page = (struct page){0};
}

/* -- Ids ----------------------------------------------------------------- */

static enum err page_entity(const struct pages *pages,
                            unsigned level,
                            struct value low,
                            struct entity **out,
                            struct err_detail *detail)
{
    struct buf id = {0};
    page_id_append(&id, value_text(&pages->front), level, value_text(&low));
    const struct value name = value_string_new(id.at, id.length);
    const enum err err =
        entity_of(pages->space, SCOPE_SPACE, name, out, detail);
    value_unref(name);
    buf_release(&id);
    return err;
}

/* -- Reading pages ------------------------------------------------------- */

/* The transaction that has set the document as a whole, though it is not here
 * otherwise; or NULL. */
static const struct draft *own_draft(const struct transaction *transaction,
                                     const struct entity *entity)
{
    if (entity_is_available(entity)) {
        return NULL;
    }
    for (; transaction != NULL; transaction = transaction->under) {
        if (transaction_sets(transaction, entity)) {
            return draft_find(transaction, entity);
        }
    }
    return NULL;
}

enum err pages_look(const struct collection_access *access,
                    struct place *place,
                    struct value *out)
{
    struct entity *entity = place->entity;
    const struct draft *own = own_draft(access->transaction, entity);
    *out = VALUE_NONE;
    if (own != NULL) {
        (void)entity_state_at(&own->work, place->path, out);
        return ERR_OK;
    }
    (void)transaction_read(access->transaction,
                           place,
                           READ_DEEP,
                           READ_UNTRACKED,
                           out);
    if (LIKELY(entity_is_available(entity))) {
        return ERR_OK;
    }
    transaction_await(access->transaction, entity);
    return ERR_STALE;
}

void pages_track(const struct collection_access *access,
                 struct place *place,
                 enum read_kind kind,
                 unsigned flags)
{
    struct value seen = VALUE_NONE;
    if (own_draft(access->transaction, place->entity) != NULL) {
        return;
    }
    if (access->run != NULL) {
        (void)run_read(access->run, place, kind, flags, &seen);
    } else {
        (void)transaction_read(access->transaction, place, kind, flags, &seen);
    }
    value_unref(seen);
}

static struct place *field_of(struct entity *entity, const char *name)
{
    struct place *payload = place_payload(entity);
    const struct value key = value_text_new(name);
    struct place *field = place_child(payload, key);
    value_unref(key);
    place_unref(payload);
    return field;
}

static void track_field(const struct collection_access *access,
                        struct entity *entity,
                        const char *name,
                        enum read_kind kind,
                        unsigned flags)
{
    struct place *field = field_of(entity, name);
    pages_track(access, field, kind, flags);
    place_unref(field);
}

/* pages-5: the sort keys of a page's field from `from` to `to`, each of which
 * may be absent. */
static void track_range(const struct collection_access *access,
                        struct entity *entity,
                        const char *name,
                        struct value from,
                        struct value to)
{
    const struct key_range range = {
        .from =
            value_is_absent(from) ? (struct text){"", 0} : value_text(&from),
        .to = value_is_absent(to) ? (struct text){"", 0} : value_text(&to),
        .open = value_is_absent(to),
    };
    const struct value key = key_range_to_key(&range);
    struct place *field = field_of(entity, name);
    struct place *place = place_child(field, key);
    pages_track(access, place, READ_DEEP, READ_FOR_BOTH);
    place_unref(place);
    place_unref(field);
    value_unref(key);
}

static struct value entries_of(const struct page *page)
{
    const struct value entries = object_field(page->data, "entries");
    return value_is_object(entries) ? entries : value_empty_object();
}

/* The lowest sort key of the next page, borrowed; absent: this is the last. */
static struct value fence_of(const struct page *page)
{
    const struct value fence = object_field(page->data, "fence");
    struct value key = VALUE_NONE;
    struct value item;
    if (value_is_object(fence)) {
        struct object_iter iter = object_iter(fence);
        (void)object_next(&iter, &key, &item);
    }
    return key;
}

static enum err missing_page(const struct entity *entity,
                             struct err_detail *detail)
{
    const struct text id = value_text(&entity->id);
    return err_set(detail,
                   ERR_CORRUPT,
                   "a page of the collection is missing, 'heddle check "
                   "--repair' rebuilds it: %.*s",
                   (int)id.length,
                   id.at);
}

/* Adopts `low`. On an error the page is empty. */
/* A search follows fences: one that does not go up would lead it in a circle.
 */
static bool is_ahead(struct value fence, struct value low)
{
    return value_is_absent(fence) || value_compare_strings(low, fence) < 0;
}

static enum err damaged_page(const struct entity *entity,
                             struct err_detail *detail)
{
    const struct text id = value_text(&entity->id);
    return err_set(detail,
                   ERR_CORRUPT,
                   "a page of the collection is damaged, 'heddle check "
                   "--repair' rebuilds it: %.*s",
                   (int)id.length,
                   id.at);
}

static enum err open_page_adopt(const struct pages *pages,
                                const struct collection_access *access,
                                unsigned level,
                                struct value low,
                                struct page *out,
                                struct err_detail *detail)
{
    *out = (struct page){.level = level, .low = low};
    enum err err = page_entity(pages, level, low, &out->entity, detail);
    if (err == ERR_OK) {
        struct place *payload = place_payload(out->entity);
        err = pages_look(access, payload, &out->data);
        place_unref(payload);
    }
    if (err == ERR_OK && !value_is_object(out->data)) {
        err = missing_page(out->entity, detail);
    } else if (err == ERR_OK && !is_ahead(fence_of(out), low)) {
        err = damaged_page(out->entity, detail);
    }
    if (err != ERR_OK) {
        page_release(out);
    }
    return err;
}

/* -- Searching ----------------------------------------------------------- */

/* What is sought: the page of a sort key, or with `below` the one that has what
 * comes directly in front of it. An absent sort key is above all others. */
struct sought {
    struct value key;
    bool below;
};

/* Whether a page that begins with `low` begins at or before the target. */
static bool begins_before(const struct sought *target, struct value low)
{
    if (value_is_absent(target->key)) {
        return true;
    }
    const int order = value_compare_strings(low, target->key);
    return target->below ? order < 0 : order <= 0;
}

/* The greatest entry that begins at or before the target; borrowed. */
static struct value child_for(const struct page *page,
                              const struct sought *target)
{
    struct object_iter iter = object_iter(entries_of(page));
    struct value best = VALUE_NONE;
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        if (begins_before(target, key) &&
            (value_is_absent(best) || value_compare_strings(key, best) > 0)) {
            best = key;
        }
    }
    return best;
}

static enum err height_of(const struct pages *pages,
                          const struct collection_access *access,
                          unsigned *out)
{
    struct value height;
    const enum err err = pages_look(access, pages->height, &height);
    *out = value_tag(height) == TAG_INT && value_integer(height) > 0 &&
                   value_integer(height) < PAGES_LEVELS_MAX
               ? (unsigned)value_integer(height)
               : 0;
    value_unref(height);
    return err;
}

/* A leaf is not here: those behind it that the range needs are requested with
 * it. `above` is the page over them. */
static void request_more(const struct pages *pages,
                         const struct page *above,
                         const struct pages_range *range)
{
    if (range == NULL || range->reverse) {
        return;
    }
    uint64_t left = range->limit > 0
                        ? range->limit / (pages->entries_max / 2 + 1) + 1
                        : PAGES_ENTRIES_MAX;
    struct object_iter iter = object_iter(entries_of(above));
    const struct sought from = {range->from, false};
    const struct sought to = {range->to, false};
    struct value key;
    struct value item;
    while (left > 0 && object_next(&iter, &key, &item)) {
        const bool is_behind =
            value_is_absent(range->from) || !begins_before(&from, key);
        struct entity *entity;
        if (is_behind && begins_before(&to, key) &&
            page_entity(pages, 0, key, &entity, NULL) == ERR_OK &&
            !entity_is_available(entity)) {
            space_want(entity->space, entity);
            left--;
        }
    }
}

/* One step of a search: *page becomes the next page of its level, or a page one
 * level below. */
static enum err descend(const struct pages *pages,
                        const struct collection_access *access,
                        const struct sought *target,
                        const struct pages_range *range,
                        struct page *page,
                        struct err_detail *detail)
{
    const struct value fence = fence_of(page);
    struct page next;
    const bool is_right =
        !value_is_absent(fence) && begins_before(target, fence);
    const struct value low = is_right ? fence : child_for(page, target);
    const unsigned level = is_right ? page->level : page->level - 1;
    if (value_is_absent(low)) {
        return missing_page(page->entity, detail);
    }
    const enum err err =
        open_page_adopt(pages, access, level, value_ref(low), &next, detail);
    if (err == ERR_STALE && level == 0 && !is_right) {
        request_more(pages, page, range);
    }
    if (err == ERR_OK) {
        page_release(page);
        *page = next;
    }
    return err;
}

/* The page of that level. On an error nothing is left in *out. */
static enum err search(const struct pages *pages,
                       const struct collection_access *access,
                       const struct sought *target,
                       unsigned level,
                       const struct pages_range *range,
                       struct page *out,
                       struct err_detail *detail)
{
    unsigned height;
    enum err err = height_of(pages, access, &height);
    *out = (struct page){0};
    if (err == ERR_OK) {
        err = open_page_adopt(pages,
                              access,
                              height > level ? height : level,
                              value_text_new(""),
                              out,
                              detail);
    }
    while (err == ERR_OK) {
        const struct value fence = fence_of(out);
        if (out->level == level &&
            (value_is_absent(fence) || !begins_before(target, fence))) {
            return ERR_OK;
        }
        err = descend(pages, access, target, range, out, detail);
    }
    page_release(out);
    return err;
}

/* The page to which a writer writes (pages-4). */
static enum err page_to_write(const struct pages *pages,
                              const struct collection_access *access,
                              unsigned level,
                              struct value sort_key,
                              struct page *out,
                              struct err_detail *detail)
{
    const struct sought target = {sort_key, false};
    const enum err err =
        search(pages, access, &target, level, NULL, out, detail);
    /* A page that the transaction has written to before was tracked then. */
    if (err == ERR_OK && draft_find(access->transaction, out->entity) == NULL) {
        track_field(access,
                    out->entity,
                    "fence",
                    READ_DEEP,
                    READ_NOT_FOR_SCHEDULING);
    }
    return err;
}

/* -- Writing ------------------------------------------------------------- */

static enum err write_page_adopt(struct transaction *transaction,
                                 struct entity *entity,
                                 struct value entries,
                                 struct value fence,
                                 struct err_detail *detail)
{
    struct value payload = value_empty_object();
    object_put_adopt(&payload, "entries", entries);
    object_put_adopt(&payload, "fence", fence);
    struct value document = value_empty_object();
    object_put_adopt(&document, "value", payload);
    struct place *root = place_root(entity);
    const enum err err =
        transaction_put_adopt(transaction, root, document, detail);
    place_unref(root);
    return err;
}

static enum err put_field_adopt(struct transaction *transaction,
                                struct entity *entity,
                                const char *name,
                                struct value value,
                                struct err_detail *detail)
{
    struct place *field = field_of(entity, name);
    const enum err err =
        transaction_put_adopt(transaction, field, value, detail);
    place_unref(field);
    return err;
}

static struct value single(struct value key)
{
    return object_set_adopt(value_empty_object(), value_ref(key), value_int(1));
}

static struct place *entry_place(const struct page *page, struct value sort_key)
{
    struct place *entries = field_of(page->entity, "entries");
    struct place *entry = place_child(entries, sort_key);
    place_unref(entries);
    return entry;
}

/* The sort keys of a page in their order; borrowed from it. */
struct sorted {
    uint32_t count;
    struct value *at;
};

static int compare_keys(const void *a, const void *b)
{
    return value_compare_strings(*(const struct value *)a,
                                 *(const struct value *)b);
}

static int compare_back(const void *a, const void *b)
{
    return compare_keys(b, a);
}

static struct sorted sort_page(const struct page *page)
{
    const struct value entries = entries_of(page);
    struct sorted sorted = {.count = object_count(entries)};
    if (sorted.count == 0) {
        return sorted;
    }
    sorted.at = mem_alloc(mem_array_size(sorted.count, sizeof *sorted.at));
    struct object_iter iter = object_iter(entries);
    struct value item;
    for (uint32_t i = 0; i < sorted.count; i++) {
        (void)object_next(&iter, &sorted.at[i], &item);
    }
    qsort(sorted.at, sorted.count, sizeof *sorted.at, compare_keys);
    return sorted;
}

static void sorted_release(struct sorted *sorted)
{
    mem_free(sorted->at, sorted->count * sizeof *sorted->at);
}

static struct value part_of(const struct page *page,
                            const struct sorted *sorted,
                            uint32_t from,
                            uint32_t to)
{
    const struct value entries = entries_of(page);
    struct value part = value_empty_object();
    for (uint32_t i = from; i < to; i++) {
        part = object_set_adopt(part,
                                value_ref(sorted->at[i]),
                                value_ref(object_get(entries, sorted->at[i])));
    }
    return part;
}

static enum err put_entry(struct pages *pages,
                          const struct collection_access *access,
                          unsigned level,
                          struct value sort_key,
                          struct value item,
                          struct err_detail *detail);

/* NOLINTBEGIN(misc-no-recursion): one call per level of the tree */

/* There is another page of the level, which begins with `low`: it is entered in
 * the level above, which may be new. */
static enum err enter_page(struct pages *pages,
                           const struct collection_access *access,
                           unsigned level,
                           struct value low,
                           struct err_detail *detail)
{
    unsigned height;
    enum err err = height_of(pages, access, &height);
    if (err != ERR_OK || height > level) {
        return err != ERR_OK ? err
                             : put_entry(pages,
                                         access,
                                         level + 1,
                                         low,
                                         value_int(1),
                                         detail);
    }
    pages_track(access, pages->height, READ_DEEP, READ_NOT_FOR_SCHEDULING);
    const struct value first = value_text_new("");
    struct entity *entity;
    err = page_entity(pages, level + 1, first, &entity, detail);
    if (err == ERR_OK) {
        err = write_page_adopt(
            access->transaction,
            entity,
            object_set_adopt(single(first), value_ref(low), value_int(1)),
            value_empty_object(),
            detail);
    }
    value_unref(first);
    if (err == ERR_OK) {
        err = transaction_put_adopt(access->transaction,
                                    pages->height,
                                    value_int(level + 1),
                                    detail);
    }
    return err;
}

/* Where a page is divided: in the middle; but behind all entries of the last
 * page if the newest entry is its last one, so that sort keys that come in
 * their order fill the pages. */
static uint32_t division(const struct page *page,
                         const struct sorted *sorted,
                         struct value newest)
{
    const bool is_growing =
        value_is_absent(fence_of(page)) &&
        value_compare_strings(sorted->at[sorted->count - 1], newest) == 0;
    return is_growing ? sorted->count - 1 : sorted->count / 2;
}

/* pages-2. */
static enum err divide(struct pages *pages,
                       const struct collection_access *access,
                       struct page *page,
                       struct value newest,
                       struct err_detail *detail)
{
    struct place *payload = place_payload(page->entity);
    pages_track(access, payload, READ_DEEP, READ_NOT_FOR_SCHEDULING);
    value_unref(page->data);
    page->data = VALUE_NONE;
    enum err err = pages_look(access, payload, &page->data);
    place_unref(payload);
    if (err != ERR_OK) {
        return err;
    }
    struct sorted sorted = sort_page(page);
    CHECK(sorted.at != NULL); /* it is too full */
    const uint32_t at = division(page, &sorted, newest);
    const struct value low = value_ref(sorted.at[at]);
    struct entity *upper;
    err = page_entity(pages, page->level, low, &upper, detail);
    if (err == ERR_OK) {
        err = write_page_adopt(access->transaction,
                               upper,
                               part_of(page, &sorted, at, sorted.count),
                               value_ref(object_field(page->data, "fence")),
                               detail);
    }
    if (err == ERR_OK) {
        err = put_field_adopt(access->transaction,
                              page->entity,
                              "entries",
                              part_of(page, &sorted, 0, at),
                              detail);
    }
    if (err == ERR_OK) {
        err = put_field_adopt(access->transaction,
                              page->entity,
                              "fence",
                              single(low),
                              detail);
    }
    sorted_release(&sorted);
    if (err == ERR_OK) {
        err = enter_page(pages, access, page->level, low, detail);
    }
    value_unref(low);
    return err;
}

static uint32_t entries_max(const struct pages *pages, unsigned level)
{
    return level > 0 && pages->entries_max > PAGES_INNER_MAX
               ? PAGES_INNER_MAX
               : pages->entries_max;
}

/* Writes an entry to the page of a level, and divides it if it is too full. The
 * levels above go the same way, at most PAGES_LEVELS_MAX of them. */
static enum err put_entry(struct pages *pages,
                          const struct collection_access *access,
                          unsigned level,
                          struct value sort_key,
                          struct value item,
                          struct err_detail *detail)
{
    struct page page;
    enum err err = page_to_write(pages, access, level, sort_key, &page, detail);
    if (err != ERR_OK) {
        return err;
    }
    const struct value entries = entries_of(&page);
    const bool is_new = value_is_absent(object_get(entries, sort_key));
    const bool is_full =
        is_new && object_count(entries) >= entries_max(pages, level);
    struct place *entry = entry_place(&page, sort_key);
    err = transaction_put_adopt(access->transaction,
                                entry,
                                value_ref(item),
                                detail);
    place_unref(entry);
    if (err == ERR_OK && is_full) {
        err = divide(pages, access, &page, sort_key, detail);
    }
    page_release(&page);
    return err;
}

/* NOLINTEND(misc-no-recursion) */

enum err pages_put(struct pages *pages,
                   const struct collection_access *access,
                   struct value sort_key,
                   struct value row_key,
                   struct err_detail *detail)
{
    return put_entry(pages, access, 0, sort_key, row_key, detail);
}

enum err pages_remove(struct pages *pages,
                      const struct collection_access *access,
                      struct value sort_key,
                      struct err_detail *detail)
{
    struct page page;
    enum err err = page_to_write(pages, access, 0, sort_key, &page, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (!value_is_absent(object_get(entries_of(&page), sort_key))) {
        struct place *entry = entry_place(&page, sort_key);
        err = transaction_delete(access->transaction, entry, detail);
        place_unref(entry);
    }
    page_release(&page);
    return err;
}

enum err pages_has(struct pages *pages,
                   const struct collection_access *access,
                   struct value sort_key,
                   bool *has,
                   struct err_detail *detail)
{
    struct page page;
    *has = false;
    const enum err err =
        page_to_write(pages, access, 0, sort_key, &page, detail);
    if (err != ERR_OK) {
        return err;
    }
    *has = !value_is_absent(object_get(entries_of(&page), sort_key));
    struct place *entry = entry_place(&page, sort_key);
    pages_track(access, entry, READ_DEEP, READ_NOT_FOR_SCHEDULING);
    place_unref(entry);
    page_release(&page);
    return ERR_OK;
}

/* -- Ranges -------------------------------------------------------------- */

void pages_found_release(struct pages_found *found)
{
    VEC_FOREACH (&found->row_keys, key) {
        value_unref(*key);
    }
    vec_release(&found->row_keys);
}

/* The sort keys of a leaf that are inside of a range, and not taken before; a
 * bound of the others. */
struct selection {
    struct value *at; /* borrowed from the page */
    uint32_t count;
};

static struct selection select_inside(const struct page *page,
                                      const struct pages_range *range)
{
    const struct value entries = entries_of(page);
    const uint32_t all = object_count(entries);
    struct selection selection = {0};
    if (all == 0) {
        return selection;
    }
    selection.at = mem_alloc(mem_array_size(all, sizeof *selection.at));
    struct object_iter iter = object_iter(entries);
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        const bool is_inside = (value_is_absent(range->from) ||
                                value_compare_strings(key, range->from) >= 0) &&
                               (value_is_absent(range->to) ||
                                value_compare_strings(key, range->to) <= 0);
        if (is_inside) {
            selection.at[selection.count++] = key;
        }
    }
    return selection;
}

/* Whether `a` comes before `b` in the order in which rows are taken. */
static bool is_earlier(const struct pages_range *range,
                       struct value a,
                       struct value b)
{
    const int order = value_compare_strings(a, b);
    return range->reverse ? order > 0 : order < 0;
}

static void swap(struct value *a, struct value *b)
{
    const struct value kept = *a;
    *a = *b;
    *b = kept;
}

/* Moves the `wanted` earliest to the front, in any order: quickselect. */
static void gather_earliest(const struct pages_range *range,
                            struct value *at,
                            uint32_t count,
                            uint64_t wanted)
{
    while (count > 1 && wanted > 0 && wanted < count) {
        swap(&at[count / 2], &at[count - 1]);
        uint32_t below = 0;
        for (uint32_t i = 0; i + 1 < count; i++) {
            if (is_earlier(range, at[i], at[count - 1])) {
                swap(&at[i], &at[below++]);
            }
        }
        swap(&at[below], &at[count - 1]);
        if (wanted <= below) {
            count = below;
        } else {
            at += below + 1;
            count -= below + 1;
            wanted -= below + 1;
        }
    }
}

/* Takes what a page has inside of the range; true if there may be more of it in
 * the next page. *last becomes the last sort key that was taken if that is the
 * last of all: a reference. */
static bool take(const struct page *page,
                 const struct pages_range *range,
                 struct pages_found *found,
                 struct value *last)
{
    const struct value entries = entries_of(page);
    const uint32_t all = object_count(entries);
    struct selection selection = select_inside(page, range);
    uint64_t taken = selection.count;
    *last = VALUE_NONE;
    if (range->limit > 0 && range->limit - found->count <= taken) {
        taken = range->limit - found->count;
        gather_earliest(range, selection.at, selection.count, taken);
    }
    if (taken > 0 && (!range->count_only || range->limit > 0)) {
        qsort(selection.at,
              (size_t)taken,
              sizeof *selection.at,
              range->reverse ? compare_back : compare_keys);
    }
    for (uint64_t i = 0; i < taken && !range->count_only; i++) {
        vec_push(&found->row_keys,
                 value_ref(object_get(entries, selection.at[i])));
    }
    found->count += taken;
    if (range->limit > 0 && found->count >= range->limit) {
        CHECK(selection.at != NULL && taken > 0);
        *last = value_ref(selection.at[taken - 1]);
    }
    mem_free(selection.at, all * sizeof *selection.at);
    return value_is_absent(*last);
}

/* Visits one leaf: takes, and tracks what was taken (pages-5). `beyond`, of a
 * range in reverse: the sort key below which the page ends. */
static bool visit_leaf(const struct collection_access *access,
                       const struct page *page,
                       const struct pages_range *range,
                       struct value beyond,
                       struct pages_found *found)
{
    struct value last;
    const bool more = take(page, range, found, &last);
    const bool is_cut = !value_is_absent(last);
    const struct value from = range->reverse && is_cut ? last : range->from;
    const struct value to = !range->reverse && is_cut ? last : range->to;
    track_range(access, page->entity, "entries", from, to);
    track_range(access,
                page->entity,
                "fence",
                VALUE_NONE,
                range->reverse && !value_is_absent(beyond) ? beyond : to);
    value_unref(last);
    return more;
}

/* Where the range goes on behind a leaf; false: it does not. */
static bool next_target(const struct page *page,
                        const struct pages_range *range,
                        struct sought *out)
{
    if (range->reverse) {
        *out = (struct sought){page->low, true};
        return value_text(&page->low).length > 0 &&
               (value_is_absent(range->from) ||
                value_compare_strings(range->from, page->low) < 0);
    }
    const struct sought to = {range->to, false};
    const struct value fence = fence_of(page);
    *out = (struct sought){fence, false};
    return !value_is_absent(fence) && begins_before(&to, fence);
}

enum err pages_find(struct pages *pages,
                    const struct collection_access *access,
                    const struct pages_range *range,
                    struct pages_found *found,
                    struct err_detail *detail)
{
    const struct value first = value_text_new("");
    struct sought target = {range->reverse                 ? range->to
                            : value_is_absent(range->from) ? first
                                                           : range->from,
                            false};
    struct value beyond = VALUE_NONE;
    struct page page = {0};
    enum err err = ERR_OK;
    bool more = true;
    while (more && err == ERR_OK) {
        struct page next;
        err = search(pages, access, &target, 0, range, &next, detail);
        if (err == ERR_OK) {
            page_release(&page);
            page = next;
            more = visit_leaf(access, &page, range, beyond, found) &&
                   next_target(&page, range, &target);
            value_unref(beyond);
            beyond = range->reverse ? value_ref(page.low) : VALUE_NONE;
        }
    }
    value_unref(beyond);
    page_release(&page);
    return err;
}

/* -- All of them --------------------------------------------------------- */

bool pages_visit(struct pages *pages,
                 void (*visit)(void *ctx, struct entity *page, bool is_leaf),
                 void *ctx)
{
    bool all = true;
    struct value height;
    (void)entity_state_at(&pages->height->entity->visible,
                          pages->height->path,
                          &height);
    const unsigned top =
        value_tag(height) == TAG_INT ? (unsigned)value_integer(height) : 0;
    for (unsigned level = 0; level <= top && level < PAGES_LEVELS_MAX;
         level++) {
        struct value low = value_text_new("");
        while (!value_is_absent(low)) {
            struct entity *entity;
            struct page page = {0};
            if (page_entity(pages, level, low, &entity, NULL) == ERR_OK) {
                visit(ctx, entity, level == 0);
                if (!entity_is_available(entity)) {
                    space_want(entity->space, entity);
                    all = false;
                }
                page.data = entity->visible.payload;
            }
            const struct value fence = fence_of(&page);
            const struct value next =
                is_ahead(fence, low) ? value_ref(fence) : VALUE_NONE;
            value_unref(low);
            low = next;
        }
    }
    return all;
}

/* -- Life ---------------------------------------------------------------- */

struct place *pages_place_in_root(struct entity *root, const char *name)
{
    struct place *document = place_root(root);
    const struct value part = value_text_new("collection");
    const struct value key = value_text_new(name);
    struct place *collection = place_child(document, part);
    struct place *place = place_child(collection, key);
    value_unref(key);
    value_unref(part);
    place_unref(collection);
    place_unref(document);
    return place;
}

void pages_init(struct pages *pages, struct entity *root, struct value name)
{
    struct buf front = {0};
    page_id_append_front(&front, value_text(&root->id), value_text(&name));
    struct place *all = pages_place_in_root(root, "heights");
    *pages = (struct pages){
        .space = root->space,
        .front = value_string_new(front.at, front.length),
        .height = place_child(all, name),
        .entries_max = PAGES_ENTRIES_MAX,
    };
    place_unref(all);
    buf_release(&front);
}

void pages_release(struct pages *pages)
{
    value_unref(pages->front);
    if (pages->height != NULL) {
        place_unref(pages->height);
    }
    *pages = (struct pages){0};
}

enum err pages_create(struct pages *pages,
                      struct transaction *transaction,
                      struct err_detail *detail)
{
    struct entity *entity;
    const struct value first = value_text_new("");
    enum err err = page_entity(pages, 0, first, &entity, detail);
    value_unref(first);
    if (err == ERR_OK) {
        err = write_page_adopt(transaction,
                               entity,
                               value_empty_object(),
                               value_empty_object(),
                               detail);
    }
    return err;
}
