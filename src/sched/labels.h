/* Labels: how confidential data is, and where it may go.
 *
 * A label is a word ("salary") on a document or on a part of it. Every write of
 * a run gets the labels of what the run has read and of what caused it. So
 * labels follow the data through computations and handlers, whether these
 * intend it or not. They are checked where data leaves: an effect that is not
 * cleared for a label cannot read data under it.
 *
 *   labels_declare(transaction, place, array, &detail);   ["salary"]
 *   spec.clearance = array;                               of an effect
 *   labels_at(sched, place, READ_DEEP)                    a query
 *
 * Labels are stored in the document, beside its payload. So they are
 * synchronised and versioned with it, in the transaction of the data that they
 * belong to, and survive a restart:
 *
 *   {"value":..., "label":{"declared":{"":["salary"]},
 *                          "derived":{"/sum":["bonus","salary"]}}}
 *
 * Keys are pointers relative to the payload. `declared` is set by users;
 * nothing here ever removes it. `derived` came with the data.
 *
 *   labels-1  The label of a read is the join of those at its place and above,
 *             and of those below: all of them for a deep read, those of its
 *             children for a shape read.
 *   labels-2  The label of a run is the join of those of its reads, tracked or
 *             not, of its causes (D14: that a run happens reveals its causes,
 *             even if it does not read them this time), and, for a handler, of
 *             the event's sender at the time of sending.
 *   labels-3  A run's commit gives each place that it wrote the label of the
 *             run as derived, in the same transaction, even where the value
 *             stays the same. It replaces what was derived there before, like
 *             the value; a write that merges, or that moves elements of an
 *             array, joins instead.
 *   labels-4  A read of a document that has labels also reads its label, so the
 *             reader runs again when the label changes. When a document gets
 *             its first label, every reader of it runs again.
 *   labels-5  An effect runs only if it is cleared for all labels of its
 *             causes, and a read under a label that it is not cleared for
 *             returns CLEARANCE: it reveals nothing, and the run fails whatever
 *             the effect does next. The error names the label and the address.
 *             The effect stays a reader: it runs again when the label or the
 *             value changes.
 *   labels-6  Until a document with a label has been seen, all of this costs
 *             one pointer comparison per run.
 *
 * Not covered: the fact that a run did not write something, or failed; when it
 * ran; what the embedding program reads outside runs (it can call labels_at).
 * Hand-written labels are trusted: keys of "label" are written like any other.
 * Labels on elements of arrays do not move with the elements: label the array
 * instead. */

#ifndef SCHED_LABELS_H
#define SCHED_LABELS_H

#include "sched/core.h"
#include "value/label.h"

struct notification;

enum {
    LABELS_ENTRIES_MAX = 64, /* derived, per document; more are merged into one
                                for the whole payload */
};

/* -- For any caller ------------------------------------------------------ */

/* Sets the declared label of a place: an array of labels, which may be empty.
 * Part of the transaction, like a write. ARGUMENT: the place is not in a
 * payload, or the value is not an array of labels. NOT_FOUND: there is no
 * document. */
MUST_CHECK enum err labels_declare(struct transaction *transaction,
                                   struct place *place,
                                   struct value labels,
                                   struct err_detail *detail);

/* The label of a read of the visible state (labels-1): an array, new, sorted;
 * empty if there is none. */
struct value labels_at(const struct sched *sched,
                       struct place *place,
                       enum read_kind kind);

/* For a transaction that is not a run, before its commit: its reads and its
 * cause label what it writes, as in a run (labels-3). */
MUST_CHECK enum err labels_apply(struct sched *sched,
                                 struct transaction *transaction,
                                 struct err_detail *detail);

/* -- For the runner and handlings ---------------------------------------- */

/* Call these only if sched->labels is not NULL. */

/* The run begins, with its causes. False: it must not (labels-5); its detail
 * has the reason. */
bool labels_begin(struct run *run);

/* The run is about to read. CLEARANCE: it must not. */
MUST_CHECK enum err labels_read(struct run *run,
                                struct place *place,
                                enum read_kind kind,
                                unsigned flags);

/* The run is about to commit. CLEARANCE: it tried to read what it must not. */
MUST_CHECK enum err labels_finish(struct run *run, struct err_detail *detail);

/* Whether a place is where labels are stored. */
bool labels_is_home(const struct place *place);

/* -- For events ---------------------------------------------------------- */

/* Joins a label with that of what a transaction has done so far; either may be
 * NULL: none. */
const struct label_set *labels_join_sender(struct sched *sched,
                                           const struct label_set *label,
                                           const struct transaction *origin);

/* A label as an array of its words, new; and the label of such an array. */
struct value labels_names(const struct sched *sched,
                          const struct label_set *label);
const struct label_set *labels_of_names(struct sched *sched,
                                        struct value names);

/* -- For the invalidation ------------------------------------------------ */

/* Something beside a payload may have changed. */
void labels_notice(struct sched *sched, const struct notification *what);

void labels_free(struct sched *sched);

#endif
