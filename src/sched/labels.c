/* Which documents have labels, and which they are. */

#include "sched/labels.h"

#include "base/buf.h"
#include "base/mem.h"
#include "replica/space.h"
#include "sched/labels_internal.h"
#include "sched/reader_mark.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

#define READ_OF(chain_link) READER_MARK_READ_OF(chain_link)

static const char HOME[] = "label";

/* -- Where labels are stored --------------------------------------------- */

bool labels_is_home(const struct place *place)
{
    return place->path->length > 0 &&
           value_is_text(place->path->at[0].key, HOME);
}

struct place *labels_home(struct entity *entity)
{
    struct place *root = place_root(entity);
    const struct value key = value_text_new(HOME);
    struct place *place = place_child(root, key);
    value_unref(key);
    place_unref(root);
    return place;
}

static uint64_t entity_hash(const struct entity *entity)
{
    return (uint64_t)(uintptr_t)entity;
}

static bool is_labelled(const void *item, const void *key)
{
    const struct labelled *labelled = item;
    return labelled->entity == key;
}

struct labelled *labels_find(const struct labels *labels,
                             const struct entity *entity)
{
    return map_find(&labels->documents,
                    entity_hash(entity),
                    is_labelled,
                    entity);
}

/* -- Parsing the labels of a document ------------------------------------ */

static void add_entry(struct labelled *labelled,
                      struct path *path,
                      const struct label_set *set)
{
    if (set == NULL) {
        path_unref(path);
        return;
    }
    const struct label_entry entry = {path, set};
    vec_push(&labelled->entries, entry);
}

/* The place that a key names, as a path; the payload if it names none. */
static struct path *path_of_key(struct replica *replica,
                                struct value key,
                                bool *readable)
{
    const struct text text = value_text(&key);
    struct path *path = path_ref(replica->payload_path);
    struct path *below;
    *readable =
        path_read_stored(&replica->paths, text.at, text.length, &below, NULL) ==
        ERR_OK;
    if (!*readable) {
        return path;
    }
    for (uint32_t i = 0; i < below->length; i++) {
        struct path *longer = path_child(path, below->at[i].key);
        path_unref(path);
        path = longer;
    }
    path_unref(below);
    return path;
}

static const struct label_set *unreadable(struct labels *labels)
{
    return label_set_of(&labels->table, value_null());
}

/* One of the two parts. */
static void read_part(struct labels *labels,
                      struct labelled *labelled,
                      struct value part)
{
    struct replica *replica = labelled->entity->space->replica;
    if (value_is_absent(part)) {
        return;
    }
    if (!value_is_object(part)) {
        add_entry(labelled,
                  path_ref(replica->payload_path),
                  unreadable(labels));
        return;
    }
    struct object_iter iter = object_iter(part);
    struct value key;
    struct value names;
    while (object_next(&iter, &key, &names)) {
        bool readable;
        struct path *path = path_of_key(replica, key, &readable);
        const struct label_set *set = label_set_of(&labels->table, names);
        add_entry(
            labelled,
            path,
            readable ? set
                     : label_set_join(&labels->table, set, unreadable(labels)));
    }
}

static void clear_entries(struct labelled *labelled)
{
    VEC_FOREACH (&labelled->entries, entry) {
        path_unref(entry->path);
    }
    vec_clear(&labelled->entries);
}

static void read_all(struct labels *labels,
                     struct labelled *labelled,
                     struct value value)
{
    clear_entries(labelled);
    value_unref(labelled->seen);
    labelled->seen = value_ref(value);
    if (!value_is_object(value)) {
        struct replica *replica = labelled->entity->space->replica;
        add_entry(labelled,
                  path_ref(replica->payload_path),
                  unreadable(labels));
        return;
    }
    read_part(labels, labelled, object_field(value, "declared"));
    read_part(labels, labelled, object_field(value, "derived"));
}

const struct label_set *labels_of_read(struct labels *labels,
                                       const struct labelled *labelled,
                                       const struct place *place,
                                       enum read_kind kind)
{
    const struct label_set *set = NULL;
    VEC_FOREACH (&labelled->entries, entry) {
        const bool above = path_is_prefix(entry->path, place->path);
        const bool below = path_is_prefix(place->path, entry->path) &&
                           (kind == READ_DEEP ||
                            entry->path->length <= place->path->length + 1);
        if (above || below) {
            set = label_set_join(&labels->table, set, entry->set);
        }
    }
    return set;
}

struct value labels_at(const struct sched *sched,
                       struct place *place,
                       enum read_kind kind)
{
    struct labels *labels = sched->labels;
    const struct labelled *labelled =
        labels != NULL ? labels_find(labels, place->entity) : NULL;
    return labelled == NULL
               ? value_empty_array()
               : label_set_names(&labels->table,
                                 labels_of_read(labels, labelled, place, kind));
}

/* -- Documents that gain or lose labels ---------------------------------- */

static void labelled_free(struct labelled *labelled)
{
    clear_entries(labelled);
    vec_release(&labelled->entries);
    value_unref(labelled->seen);
    place_unref(labelled->place);
    mem_free(labelled, sizeof *labelled);
}

static bool has_read(const struct node *node, const struct place *place)
{
    VEC_FOREACH (&node->reads, read) {
        if (read->place == place) {
            return true;
        }
    }
    return false;
}

/* Adds the readers of one place to the list. */
static void collect_readers(struct sched *sched, const struct place *place)
{
    for (size_t kind = 0; kind < COUNT_OF(place->readers); kind++) {
        CHAIN_FOREACH(&place->readers[kind], link)
        {
            vec_push(&sched->readers, READ_OF(link));
        }
    }
}

/* Those of a place and of all below it: depth first, up again by the
 * parents. */
static void collect_below(struct sched *sched, const struct place *top)
{
    const struct place *place = top;
    while (place != NULL) {
        collect_readers(sched, place);
        if (place->children.first != NULL) {
            place = CONTAINER_OF(place->children.first, struct place, sibling);
            continue;
        }
        while (place != top && place->sibling.next == NULL) {
            place = place->parent;
        }
        place = place == top
                    ? NULL
                    : CONTAINER_OF(place->sibling.next, struct place, sibling);
    }
}

/* labels-4: nodes that have read the document, but not its label, run again,
 * except its writer. */
static void tell_readers(struct sched *sched,
                         const struct labelled *labelled,
                         const struct notification *what)
{
    const size_t base = sched->readers.count;
    collect_below(sched, labelled->entity->root);
    collect_below(sched, labelled->entity->payload);
    while (sched->readers.count > base) {
        struct read_link *read = vec_pop(&sched->readers);
        const struct node *node = read->node;
        if (read->unread != LINK_DECLARED && node != what->source &&
            node->attached && !has_read(node, labelled->place)) {
            reader_mark_stale(sched, read, what->version);
        }
    }
}

static struct labels *labels_of(struct sched *sched)
{
    if (sched->labels == NULL) {
        sched->labels = mem_alloc_zero(sizeof *sched->labels);
        sched->can_run_fast = false;
        label_table_init(&sched->labels->table);
    }
    return sched->labels;
}

struct value labels_names(const struct sched *sched,
                          const struct label_set *label)
{
    return label_set_names(&sched->labels->table, label);
}

const struct label_set *labels_of_names(struct sched *sched, struct value names)
{
    return label_set_of(&labels_of(sched)->table, names);
}

static struct labelled *add_document(struct sched *sched, struct entity *entity)
{
    struct labelled *labelled = mem_alloc_zero(sizeof *labelled);
    labelled->entity = entity;
    labelled->place = labels_home(entity);
    map_insert(&labels_of(sched)->documents, entity_hash(entity), labelled);
    return labelled;
}

/* Updates the labels of a document to its present state. */
static void look_at(struct sched *sched,
                    struct entity *entity,
                    const struct notification *what)
{
    struct labelled *labelled =
        sched->labels != NULL ? labels_find(sched->labels, entity) : NULL;
    const struct value rest = entity->visible.rest;
    const struct value now =
        value_is_object(rest) ? object_field(rest, HOME) : VALUE_NONE;
    if (value_is_absent(now)) {
        if (labelled != NULL) {
            (void)map_remove(&sched->labels->documents,
                             entity_hash(entity),
                             is_labelled,
                             entity);
            labelled_free(labelled);
        }
        return;
    }
    if (labelled == NULL) {
        labelled = add_document(sched, entity);
        read_all(sched->labels, labelled, now);
        tell_readers(sched, labelled, what);
    } else if (!value_equal(labelled->seen, now)) {
        read_all(sched->labels, labelled, now);
    }
}

/* Everything of a space was dropped. */
static void look_at_all(struct sched *sched, const struct notification *what)
{
    VEC(struct entity *) entities = {0};
    MAP_FOREACH (&sched->labels->documents, slot) {
        struct labelled *labelled = slot->item;
        if (labelled->entity->space == what->space) {
            vec_push(&entities, labelled->entity);
        }
    }
    VEC_FOREACH (&entities, entity) {
        look_at(sched, *entity, what);
    }
    vec_release(&entities);
}

void labels_notice(struct sched *sched, const struct notification *what)
{
    if (what->kind == NOTIFY_RESET && sched->labels != NULL) {
        look_at_all(sched, what);
    }
    for (size_t i = 0; i < what->count; i++) {
        const struct change *change = &what->changes[i];
        if (!value_is_same(change->before.rest, change->after.rest)) {
            look_at(sched, change->entity, what);
        }
    }
}

void labels_free(struct sched *sched)
{
    struct labels *labels = sched->labels;
    if (labels == NULL) {
        return;
    }
    MAP_FOREACH (&labels->documents, slot) {
        labelled_free(slot->item);
    }
    map_release(&labels->documents);
    vec_release(&labels->runs);
    label_table_release(&labels->table);
    mem_free(labels, sizeof *labels);
    sched->labels = NULL;
}

/* -- Declaring ----------------------------------------------------------- */

static enum err check_declared(const struct place *place,
                               struct value labels,
                               struct err_detail *detail)
{
    const struct replica *replica = place->entity->space->replica;
    if (!path_is_prefix(replica->payload_path, place->path)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "labels apply to the payload of a document or to a part "
                       "of it");
    }
    bool valid = value_is_array(labels);
    struct array_iter iter = array_iter(valid ? labels : VALUE_NONE);
    for (struct value label; valid && array_next(&iter, &label);) {
        valid = label_is_valid(label);
    }
    return valid ? ERR_OK
                 : err_set(detail,
                           ERR_ARGUMENT,
                           "labels must be an array of strings of 1 to %d "
                           "bytes",
                           LIMIT_LABEL_BYTES);
}

enum err labels_declare(struct transaction *transaction,
                        struct place *place,
                        struct value labels,
                        struct err_detail *detail)
{
    const enum err err = check_declared(place, labels, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct place *home = labels_home(place->entity);
    struct value all;
    (void)transaction_read(transaction,
                           home,
                           READ_DEEP,
                           READ_NOT_FOR_SCHEDULING,
                           &all);
    struct value declared = value_is_object(all)
                                ? value_ref(object_field(all, "declared"))
                                : VALUE_NONE;
    all = value_is_object(all) ? all : value_empty_object();
    declared = value_is_object(declared) ? declared : value_empty_object();
    struct buf pointer = {0};
    path_write_segments(&pointer, place->path->at + 1, place->path->length - 1);
    const struct value key =
        value_string_new(buf_text(&pointer), pointer.length);
    declared = array_count(labels) > 0
                   ? object_set_adopt(declared, key, value_ref(labels))
                   : object_remove_adopt(declared, key);
    object_put_adopt(&all, "declared", declared);
    buf_release(&pointer);
    const enum err put = transaction_put_adopt(transaction, home, all, detail);
    place_unref(home);
    return put;
}
