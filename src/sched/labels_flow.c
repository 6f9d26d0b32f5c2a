/* From reads and causes to writes, and to effects. */

#include "base/buf.h"
#include "replica/draft.h"
#include "replica/payload_write.h"
#include "sched/event.h"
#include "sched/labels.h"
#include "sched/labels_internal.h"
#include "sched/runner.h"
#include "value/object.h"

/* -- The label of a run -------------------------------------------------- */

static struct run_label *of_run(struct labels *labels, const struct run *run)
{
    while (labels->runs.count <= run->depth) {
        vec_push(&labels->runs, (struct run_label){0});
    }
    struct run_label *label = &labels->runs.at[run->depth];
    if (label->number != run->number) {
        label->number = run->number;
        label->set = NULL;
        label->refused = false;
    }
    return label;
}

static void name_address(struct buf *to, const struct place *place)
{
    const struct text id = value_text(&place->entity->id);
    buf_append(to, id.at, id.length);
    path_write(to, place->path);
}

/* labels-5. */
static enum err refuse(struct run *run,
                       struct run_label *label,
                       struct value missing,
                       const struct place *place,
                       const char *how)
{
    struct buf address = {0};
    name_address(&address, place);
    const struct text name = value_text(&missing);
    label->refused = true;
    (void)err_set(&label->why,
                  ERR_CLEARANCE,
                  "not cleared for \"%.*s\", the label of %s, which %s",
                  (int)name.length,
                  name.at,
                  buf_text(&address),
                  how);
    buf_release(&address);
    run->detail = label->why;
    return ERR_CLEARANCE;
}

/* Whether the node may see it; if not, *missing is a label that it is not
 * cleared for. */
static bool is_cleared(struct labels *labels,
                       const struct node *node,
                       const struct label_set *set,
                       struct value *missing)
{
    if (set == NULL || node->kind != NODE_EFFECT) {
        return true;
    }
    const struct value clearance =
        node->label != NULL ? node->label->clearance : VALUE_NONE;
    if (value_kind(clearance) == VALUE_BOOL && value_boolean(clearance)) {
        return true;
    }
    return label_set_covers(&labels->table,
                            label_set_of(&labels->table, clearance),
                            set,
                            missing);
}

/* Reads the label itself: the node runs again when the label changes, whether
 * or not it was refused (labels-4). */
static void read_label(struct transaction *transaction,
                       const struct labelled *labelled,
                       unsigned flags)
{
    struct value value;
    (void)transaction_read(transaction,
                           labelled->place,
                           READ_DEEP,
                           flags,
                           &value);
    value_unref(value);
}

/* The run depends on labelled data. */
static enum err take(struct run *run,
                     const struct label_set *set,
                     const struct place *place,
                     const char *how)
{
    struct labels *labels = run->sched->labels;
    struct run_label *label = of_run(labels, run);
    struct value missing = VALUE_NONE;
    label->set = label_set_join(&labels->table, label->set, set);
    run->transaction->has_more = true; /* it ends in labels_finish */
    return is_cleared(labels, run->node, set, &missing)
               ? ERR_OK
               : refuse(run, label, missing, place, how);
}

bool labels_begin(struct run *run)
{
    struct labels *labels = run->sched->labels;
    struct run_label *label = of_run(labels, run);
    if (run->handling != NULL) {
        label->set = run->handling->event->label;
        run->transaction->has_more |= label->set != NULL;
        return true;
    }
    enum err err = ERR_OK;
    for (uint32_t i = 0; i < run->causes.count && err == ERR_OK; i++) {
        const struct place *place = run->causes.at[i].place;
        const struct labelled *labelled = labels_find(labels, place->entity);
        const struct label_set *set =
            labelled != NULL
                ? labels_of_read(labels, labelled, place, READ_DEEP)
                : NULL;
        if (set != NULL) {
            err = take(run, set, place, "made it run");
        }
        if (err != ERR_OK) {
            read_label(run->transaction, labelled, READ_FOR_BOTH);
        }
    }
    return err == ERR_OK;
}

enum err labels_read(struct run *run,
                     struct place *place,
                     enum read_kind kind,
                     unsigned flags)
{
    struct labels *labels = run->sched->labels;
    const struct labelled *labelled = labels_find(labels, place->entity);
    if (labelled == NULL || labels_is_home(place)) {
        return ERR_OK;
    }
    read_label(run->transaction, labelled, flags);
    const struct label_set *set = labels_of_read(labels, labelled, place, kind);
    const enum err err =
        set == NULL ? ERR_OK : take(run, set, place, "it tried to read");
    if (err != ERR_OK) { /* it stays a reader */
        struct value unseen;
        (void)transaction_read(run->transaction, place, kind, flags, &unseen);
        value_unref(unseen);
    }
    return err;
}

/* -- The label of a transaction ------------------------------------------ */

static const struct label_set *of_place(struct labels *labels,
                                        const struct place *place,
                                        enum read_kind kind)
{
    const struct labelled *labelled = labels_find(labels, place->entity);
    return labelled != NULL && !labels_is_home(place)
               ? labels_of_read(labels, labelled, place, kind)
               : NULL;
}

static const struct label_set *of_transaction(
    struct labels *labels,
    const struct transaction *transaction)
{
    const struct label_set *set = NULL;
    VEC_FOREACH (&transaction->reads, read) {
        set = label_set_join(&labels->table,
                             set,
                             of_place(labels, read->place, read->kind));
    }
    for (size_t i = 0; i < transaction->cause_count; i++) {
        set = label_set_join(
            &labels->table,
            set,
            of_place(labels, transaction->causes[i].place, READ_DEEP));
    }
    return set;
}

const struct label_set *labels_join_sender(struct sched *sched,
                                           const struct label_set *label,
                                           const struct transaction *origin)
{
    struct labels *labels = sched->labels;
    const struct run *run = sched->run;
    if (labels == NULL || origin == NULL) {
        return label;
    }
    return label_set_join(&labels->table,
                          label,
                          run != NULL && run->transaction == origin
                              ? of_run(labels, run)->set
                              : of_transaction(labels, origin));
}

/* -- Labels of writes ---------------------------------------------------- */

/* The derived labels of one document, being built. */
struct derivation {
    struct labels *labels;
    const struct label_set *set; /* of the writer */
    struct value derived;        /* an object: names by pointer; owned */
};

/* Whether `pointer` is at or below `top`. */
static bool is_below(struct value pointer, struct value top)
{
    const struct text a = value_text(&pointer);
    const struct text b = value_text(&top);
    return a.length >= b.length && memcmp(a.at, b.at, b.length) == 0 &&
           (a.length == b.length || a.at[b.length] == '/');
}

/* Removes what is at and below a pointer; returns the join of it. */
static const struct label_set *cut(struct derivation *to, struct value pointer)
{
    const struct label_set *gone = NULL;
    struct value kept = value_empty_object();
    struct object_iter iter = object_iter(to->derived);
    struct value key;
    struct value names;
    while (object_next(&iter, &key, &names)) {
        if (is_below(key, pointer)) {
            gone = label_set_join(&to->labels->table,
                                  gone,
                                  label_set_of(&to->labels->table, names));
        } else {
            kept = object_set_adopt(kept, value_ref(key), value_ref(names));
        }
    }
    value_unref(to->derived);
    to->derived = kept;
    return gone;
}

/* Whether a label derived above a pointer includes this one already. */
static bool is_said_above(struct derivation *to,
                          struct value pointer,
                          const struct label_set *set)
{
    struct object_iter iter = object_iter(to->derived);
    struct value key;
    struct value names;
    const struct label_set *above = NULL;
    while (object_next(&iter, &key, &names)) {
        if (is_below(pointer, key)) {
            above = label_set_join(&to->labels->table,
                                   above,
                                   label_set_of(&to->labels->table, names));
        }
    }
    return label_set_covers(&to->labels->table, above, set, NULL);
}

/* labels-3 for one write. */
static void derive(struct derivation *to, const struct write_entry *write)
{
    struct buf text = {0};
    const struct path *path = write->step;
    const bool joins =
        write->kind > WRITE_DELETE || write->step != write->place->path;
    if (path->length > 1) {
        path_write_segments(&text, path->at + 1, path->length - 1);
    }
    const struct value pointer = value_string_new(buf_text(&text), text.length);
    buf_release(&text);
    const struct label_set *gone = cut(to, pointer);
    const struct label_set *set =
        joins ? label_set_join(&to->labels->table, gone, to->set) : to->set;
    if (!is_said_above(to, pointer, set)) {
        to->derived =
            object_set_adopt(to->derived,
                             value_ref(pointer),
                             label_set_names(&to->labels->table, set));
    }
    value_unref(pointer);
    if (object_count(to->derived) > LABELS_ENTRIES_MAX) {
        const struct value all = value_string_new("", 0);
        const struct label_set *joined = cut(to, all);
        to->derived =
            object_set_adopt(to->derived,
                             all,
                             label_set_names(&to->labels->table, joined));
    }
}

/* The object with that part, which is left out if it is empty. Adopts both. */
static struct value with_derived(struct value all, struct value derived)
{
    const struct value key = value_text_new("derived");
    return object_count(derived) > 0 ? object_set_adopt(all, key, derived)
                                     : object_remove_adopt(all, key);
}

/* One document that was written by earlier writes of the transaction. */
static enum err relabel(struct labels *labels,
                        struct transaction *transaction,
                        const struct draft *draft,
                        const struct label_set *set,
                        struct err_detail *detail)
{
    struct place *home = labels_home(draft->entity);
    struct value all;
    (void)transaction_read(transaction,
                           home,
                           READ_DEEP,
                           READ_NOT_FOR_SCHEDULING,
                           &all);
    const struct value before = object_field(all, "derived");
    struct derivation to = {
        .labels = labels,
        .set = set,
        .derived =
            value_is_object(before) ? value_ref(before) : value_empty_object(),
    };
    const size_t count = draft->writes.count;
    for (size_t i = 0; i < count; i++) {
        if (!labels_is_home(draft->writes.at[i].place)) {
            derive(&to, &draft->writes.at[i]);
        }
    }
    const bool had = value_is_object(all);
    all = with_derived(had ? all : value_empty_object(), to.derived);
    enum err err = ERR_OK;
    if (object_count(all) > 0) {
        err = transaction_put_adopt(transaction, home, all, detail);
    } else {
        err = had ? transaction_delete(transaction, home, detail) : ERR_OK;
    }
    place_unref(home);
    return err;
}

/* A document of which only the labels were written, or that is being deleted,
 * is left alone. */
static bool is_to_be_labelled(const struct labels *labels,
                              const struct draft *draft,
                              const struct label_set *set)
{
    if (!entity_state_exists(&draft->work) ||
        (set == NULL && labels_find(labels, draft->entity) == NULL)) {
        return false;
    }
    VEC_FOREACH (&draft->writes, write) {
        if (!labels_is_home(write->place)) {
            return true;
        }
    }
    return false;
}

/* Nothing was written that has, or gets, a label. */
static bool is_plain(const struct labels *labels,
                     const struct transaction *transaction,
                     const struct label_set *set)
{
    size_t draft = 0;
    size_t write = 0;
    for (const struct write_entry *entry =
             transaction_next_write(transaction, &draft, &write);
         entry != NULL;
         entry = transaction_next_write(transaction, &draft, &write)) {
        if (set != NULL || labels_find(labels, entry->place->entity) != NULL) {
            return false;
        }
    }
    return true;
}

static enum err write_labels(struct labels *labels,
                             struct transaction *transaction,
                             const struct label_set *set,
                             struct err_detail *detail)
{
    if (is_plain(labels, transaction, set)) {
        return ERR_OK;
    }
    payload_write_expand(transaction);
    enum err err = ERR_OK;
    for (size_t i = 0; i < transaction->drafts_used && err == ERR_OK; i++) {
        const struct draft *draft = transaction->drafts.at[i];
        if (is_to_be_labelled(labels, draft, set)) {
            err = relabel(labels, transaction, draft, set, detail);
        }
    }
    return err;
}

enum err labels_finish(struct run *run, struct err_detail *detail)
{
    struct labels *labels = run->sched->labels;
    const struct run_label *label = of_run(labels, run);
    if (label->refused) {
        *detail = label->why;
        return ERR_CLEARANCE;
    }
    return write_labels(labels, run->transaction, label->set, detail);
}

enum err labels_apply(struct sched *sched,
                      struct transaction *transaction,
                      struct err_detail *detail)
{
    struct labels *labels = sched->labels;
    return labels == NULL ? ERR_OK
                          : write_labels(labels,
                                         transaction,
                                         of_transaction(labels, transaction),
                                         detail);
}
