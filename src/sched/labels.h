/* Labels: how confidential what is in a document is, and where it may go.
 *
 * A label is a word ("salary") on a document or on a part of one. Whoever reads
 * there writes, in the same run, under that label: what a run has read, and
 * what made it run, is joined into everything that it writes. So a label
 * follows the data through computations and handlers, whether they mean to
 * pass it on or not. Where data leaves, at an effect, it is asked for: an
 * effect that is not cleared for a label does not get to see it.
 *
 *   labels_declare(transaction, place, array, &detail);   ["salary"]
 *   spec.clearance = array;                               of an effect
 *   labels_at(sched, place, READ_DEEP)                    for who wants to know
 *
 * Where they are: in the document, beside its payload, so that they are stored,
 * synchronised, versioned and there after a restart, in the transaction of what
 * they belong to:
 *
 *   {"value":..., "label":{"declared":{"":["salary"]},
 *                          "derived":{"/sum":["bonus","salary"]}}}
 *
 * Keys are pointers from the payload on. `declared` is what somebody has said;
 * nothing here ever takes it away. `derived` is what came with the data.
 *
 *   B1  The label of a read is the join of those at its place and above, and of
 *       those below: all of them for a deep read, those of its children for a
 *       shape read.
 *   B2  The label of a run is the join of those of its reads, tracked or not,
 *       of its causes (D14: what made it run is told by its running, also if it
 *       does not read it this time), and, for a handler, of who sent the event
 *       by the time it was sent.
 *   B3  A run's commit gives each place that it wrote the label of the run as
 *       derived, in the same transaction, also where the value stays the same.
 *       What was derived there before is replaced, like the value; a write
 *       that merges, or that moves elements of an array, joins instead.
 *   B4  Who reads a document that has labels has read its label, too, and runs
 *       again when that changes; when a document gets its first label, so does
 *       everybody who has read it.
 *   B5  An effect runs only if it is cleared for all labels of its causes, and
 *       a read under a label that it is not cleared for is CLEARANCE: nothing
 *       is given out, and whatever the effect goes on to do, its run fails.
 *       The sentence names the label and the address. It stays a reader: when
 *       the label changes, or the value, it is asked again.
 *   B6  As long as no document with a label was seen, all of this is one look
 *       at a pointer a run.
 *
 * What is not covered: that a run did not write something, or failed; when it
 * ran; what the embedding program reads without a run (it asks labels_at).
 * Those who write labels by hand are believed: keys of "label" are written like
 * any other. Labels on elements of arrays do not move with them: give them to
 * the array. */

#ifndef SCHED_LABELS_H
#define SCHED_LABELS_H

#include "sched/core.h"
#include "value/label.h"

struct notification;

enum {
    LABELS_ENTRIES_MAX = 64, /* derived, of one document; more become one, of
                                the whole payload */
};

/* -- For everybody ------------------------------------------------------- */

/* Says what the label of a place is, in place of what was said of it before: an
 * array of labels, which may be empty. In the transaction, like a write.
 * ARGUMENT: it is not in a payload, or that is not an array of labels.
 * NOT_FOUND: there is no document. */
MUST_CHECK enum err labels_declare(struct transaction *transaction,
                                   struct place *place,
                                   struct value labels,
                                   struct err_detail *detail);

/* The label of a read of what is visible (B1): an array, new, sorted; empty if
 * there is none. */
struct value labels_at(const struct sched *sched,
                       struct place *place,
                       enum read_kind kind);

/* Of a transaction that is no run, before its commit: what it has read, and why
 * it was begun, is the label of what it writes, as with a run (B3). */
MUST_CHECK enum err labels_apply(struct sched *sched,
                                 struct transaction *transaction,
                                 struct err_detail *detail);

/* -- For the runner and handlings ---------------------------------------- */

/* All of these only where sched->labels is not NULL. */

/* The run begins, with its causes. False: it must not (B5); its detail says
 * why. */
bool labels_begin(struct run *run);

/* It is about to read. CLEARANCE: it must not. */
MUST_CHECK enum err labels_read(struct run *run,
                                struct place *place,
                                enum read_kind kind,
                                unsigned flags);

/* It is about to commit. CLEARANCE: it has tried to read what it must not. */
MUST_CHECK enum err labels_finish(struct run *run, struct err_detail *detail);

/* Whether a place is where labels are kept. */
bool labels_is_home(const struct place *place);

/* -- For events ---------------------------------------------------------- */

/* A label, and that of what a transaction has done so far; either may be NULL:
 * none. */
const struct label_set *labels_join_sender(struct sched *sched,
                                           const struct label_set *label,
                                           const struct transaction *origin);

/* A label as an array of its words, new; and the label of such an array. */
struct value labels_names(const struct sched *sched,
                          const struct label_set *label);
const struct label_set *labels_of_names(struct sched *sched,
                                        struct value names);

/* -- For the invalidation ------------------------------------------------ */

/* Something beside a payload may be different. */
void labels_notice(struct sched *sched, const struct notification *what);

void labels_free(struct sched *sched);

#endif
