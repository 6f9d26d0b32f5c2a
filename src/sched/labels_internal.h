/* The records behind labels: for the files of labels.h. */

#ifndef SCHED_LABELS_INTERNAL_H
#define SCHED_LABELS_INTERNAL_H

#include "sched/labels.h"

/* One key of a document's labels, or several keys for the same place. */
struct label_entry {
    struct path *path; /* from the root of the document; a reference */
    const struct label_set *set;
};

/* A document with labels. */
struct labelled {
    struct entity *entity; /* kept alive by the place */
    struct place *place;   /* where its labels are; a reference. It makes the
                              root a place, so no read and no commit takes the
                              fast path (replica/payload_write.h, run_read) */
    struct value seen;     /* the value seen there; a reference */
    VEC(struct label_entry) entries;
};

/* The label of the run at one nesting depth. */
struct run_label {
    uint64_t number; /* of the run; if it differs, nothing is known yet */
    const struct label_set *set;
    bool refused; /* labels-5 */
    struct err_detail why;
};

struct labels {
    struct label_table table;
    struct map documents; /* struct labelled by entity */
    VEC(struct run_label) runs;
};

/* The record of an entity, or NULL. */
struct labelled *labels_find(const struct labels *labels,
                             const struct entity *entity);

/* labels-1. */
const struct label_set *labels_of_read(struct labels *labels,
                                       const struct labelled *labelled,
                                       const struct place *place,
                                       enum read_kind kind);

/* The place of the labels of a document, new. */
struct place *labels_home(struct entity *entity);

#endif
