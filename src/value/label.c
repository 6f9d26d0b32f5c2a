/* Names and sets of labels, each once: joins are merges of sorted numbers. */

#include "value/label.h"

#include "base/limits.h"
#include "base/mem.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

struct label_name {
    struct value name; /* borrowed from the list of names */
    uint32_t id;
};

/* -- Names --------------------------------------------------------------- */

static bool is_name(const void *item, const void *key)
{
    const struct label_name *name = item;
    return key_equal(name->name, *(const struct value *)key);
}

bool label_is_valid(struct value label)
{
    if (!value_is_string(label)) {
        return false;
    }
    const size_t length = value_text(&label).length;
    return length > 0 && length <= LIMIT_LABEL_BYTES;
}

/* label-2: 0 for what is none. */
static uint32_t id_of(struct label_table *table, struct value label)
{
    if (!label_is_valid(label)) {
        return 0;
    }
    const uint64_t hash = value_hash(label);
    const struct label_name *known =
        map_find(&table->ids, hash, is_name, &label);
    if (known != NULL) {
        return known->id;
    }
    if (table->names.count >= LIMIT_LABELS) {
        return 0;
    }
    struct label_name *name = mem_alloc(sizeof *name);
    name->name = value_ref(label);
    name->id = (uint32_t)table->names.count;
    vec_push(&table->names, name->name);
    map_insert(&table->ids, hash, name);
    return name->id;
}

void label_table_init(struct label_table *table)
{
    *table = (struct label_table){0};
    const struct value unreadable = value_text_new(LABEL_UNREADABLE);
    const uint32_t id = id_of(table, unreadable);
    CHECK(id == 0);
    value_unref(unreadable);
}

static size_t set_size(uint32_t count)
{
    return sizeof(struct label_set) + mem_array_size(count, sizeof(uint32_t));
}

void label_table_release(struct label_table *table)
{
    MAP_FOREACH (&table->sets, slot) {
        struct label_set *set = slot->item;
        mem_free(set, set_size(set->count));
    }
    map_release(&table->sets);
    MAP_FOREACH (&table->ids, slot) {
        mem_free(slot->item, sizeof(struct label_name));
    }
    map_release(&table->ids);
    VEC_FOREACH (&table->names, name) {
        value_unref(*name);
    }
    vec_release(&table->names);
    vec_release(&table->scratch);
}

/* -- Sets ---------------------------------------------------------------- */

static bool is_scratch(const void *item, const void *key)
{
    const struct label_set *set = item;
    const struct label_table *table = key;
    return set->count == table->scratch.count &&
           memcmp(set->ids,
                  table->scratch.at,
                  set->count * sizeof set->ids[0]) == 0;
}

/* The set of the ids in `scratch`, which are sorted. */
static const struct label_set *intern(struct label_table *table)
{
    if (table->scratch.count == 0) {
        return NULL;
    }
    uint64_t hash = 0xCBF29CE484222325U;
    VEC_FOREACH (&table->scratch, id) {
        hash = (hash ^ *id) * 0x100000001B3U;
    }
    struct label_set *set = map_find(&table->sets, hash, is_scratch, table);
    if (set == NULL) {
        const uint32_t count = (uint32_t)table->scratch.count;
        set = mem_alloc(set_size(count));
        set->hash = hash;
        set->count = count;
        memcpy(set->ids, table->scratch.at, count * sizeof set->ids[0]);
        map_insert(&table->sets, hash, set);
    }
    return set;
}

static const struct label_set *set_of_one(struct label_table *table,
                                          struct value label)
{
    vec_clear(&table->scratch);
    vec_push(&table->scratch, id_of(table, label));
    return intern(table);
}

const struct label_set *label_set_of(struct label_table *table,
                                     struct value labels)
{
    if (value_is_absent(labels)) {
        return NULL;
    }
    if (!value_is_array(labels)) {
        return set_of_one(table, labels);
    }
    const struct label_set *set = NULL;
    struct array_iter iter = array_iter(labels);
    for (struct value label; array_next(&iter, &label);) {
        set = label_set_join(table, set, set_of_one(table, label));
    }
    return set;
}

const struct label_set *label_set_join(struct label_table *table,
                                       const struct label_set *a,
                                       const struct label_set *b)
{
    if (a == b || b == NULL) {
        return a;
    }
    if (a == NULL) {
        return b;
    }
    vec_clear(&table->scratch);
    uint32_t i = 0;
    uint32_t j = 0;
    while (i < a->count || j < b->count) {
        const bool from_a =
            j == b->count || (i < a->count && a->ids[i] <= b->ids[j]);
        const uint32_t id = from_a ? a->ids[i] : b->ids[j];
        i += i < a->count && a->ids[i] == id;
        j += j < b->count && b->ids[j] == id;
        vec_push(&table->scratch, id);
    }
    return intern(table);
}

bool label_set_has(const struct label_set *set, uint32_t id)
{
    for (uint32_t i = 0; set != NULL && i < set->count; i++) {
        if (set->ids[i] == id) {
            return true;
        }
    }
    return false;
}

bool label_set_covers(const struct label_table *table,
                      const struct label_set *set,
                      const struct label_set *part,
                      struct value *missing)
{
    if (set == part) {
        return true;
    }
    for (uint32_t i = 0; part != NULL && i < part->count; i++) {
        if (!label_set_has(set, part->ids[i])) {
            if (missing != NULL) {
                *missing = table->names.at[part->ids[i]];
            }
            return false;
        }
    }
    return true;
}

struct value label_set_names(const struct label_table *table,
                             const struct label_set *set)
{
    struct value names = value_empty_array();
    for (uint32_t i = 0; set != NULL && i < set->count; i++) {
        const struct value name = table->names.at[set->ids[i]];
        uint32_t at = array_count(names);
        while (at > 0 &&
               value_compare_strings(array_at(names, at - 1), name) > 0) {
            at--;
        }
        const struct value item = value_ref(name);
        names = array_splice_adopt(names, at, 0, &item, 1);
    }
    return names;
}
