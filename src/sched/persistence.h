/* What runs leave for a restart, and how a restart resumes from it.
 *
 * A node with an *identity* is an action of a piece. The store of the owner
 * space is told about each of its runs (proto/observation.h): what it read,
 * what it can write, how it ended. A process that starts again asks the store
 * for the piece (proto/resume.h), registers the same nodes, and each node is in
 * the state it was in:
 *
 *   struct resume_options options = {space, piece, generation, pages, count};
 *   err = persistence_resume_begin(sched, &options, &detail);
 *   if (err == ERR_OK) {
 *       ... sched_register for each node of the piece ...
 *       counts = persistence_resume_end(sched);
 *   } else {
 *       ... the same registrations: all of them are fresh ...
 *   }
 *
 * Observing:
 *
 *   persistence-1  An observation is part of the commit of its run; that of a
 *                  run without changes is sent in a batch, after the commits
 *                  before it. Its reads are the links of the node (those for
 *                  scheduling), its surface is the registered outputs and
 *                  envelopes.
 *   persistence-2  While the reads equal those that the store was sent last,
 *                  and the store has not said otherwise, only digests are sent,
 *                  and nothing is allocated. After a refused commit or a
 *                  dropped observation, the next one is complete again.
 *   persistence-3  Only what the store can prove is recorded as clean. So a run
 *                  is recorded as failed not only if it failed, but also if the
 *                  store of the owner space cannot know its outcome: it wrote
 *                  to another space; it read, in another space or without the
 *                  commit saying so, what an own commit without a verdict
 *                  wrote; what it read has changed while it ran; an earlier
 *                  commit of it has no verdict, and may have written some of
 *                  its outputs. A run of this sort that changed nothing and has
 *                  to run again at once is not reported. When the verdicts have
 *                  arrived and the node is still clean, that is reported in a
 *                  batch.
 *
 * Resuming, one piece at a time:
 *
 *   persistence-4  A node is looked up by its action. Everything must match:
 *                  space, piece, generation, kind, all fingerprints, the
 *                  surface. Clean: it is registered clean, with its reads and
 *                  gates, without a run or a look at any document. Dirty:
 *                  likewise, but invalid, with the changed reads as causes.
 *                  Failed, unknown, missing or no match: this node, and only
 *                  this one, is fresh.
 *   persistence-5  The listing is valid at the seq of its pages. The documents
 *                  that were read are watched from the registration on. Changes
 *                  up to that seq wake no node; later changes do, by value, as
 *                  usual.
 *   persistence-6  Local knowledge wins: an action with a read that is newer
 *                  here than the pages, or with a place that has a pending
 *                  local write, is unknown.
 *   persistence-7  Deadlines of gates do not survive; their configuration does.
 *   persistence-10  Nothing runs during the phase, even on a step or a pull:
 *                   the writers of what is read may not be registered yet.
 *                   Stale nodes run when the phase has ended.
 *
 * Adopting:
 *
 *   persistence-8  An observation by another runtime replaces a run of a
 *                  computation here that is stale and has the same identity and
 *                  fingerprints. If nothing that the other run read is newer
 *                  here or has a pending local write, the node becomes clean
 *                  with that read set. Effects are never adopted, because each
 *                  runtime has its own; nor are nodes that register others, nor
 *                  unshared ones.
 *
 *   persistence-9  If several runtimes have the same piece, one change
 *                  invalidates the same node in each of them. The runtime that
 *                  ran it last runs it again at once. In the others, a remote
 *                  change makes the node *wait* for that observation, for
 *                  PERSISTENCE_GRACE_MS plus a part that differs per session.
 *                  So the first runtime to give up runs it, and the rest adopt
 *                  that run. Readers of the node wait as well, so no effect
 *                  shows half of a change; but a read, a pull or an event that
 *                  needs the node runs it at once, and so does a local change.
 *                  After one wait in vain, there is no more waiting until a
 *                  peer is heard of again. Correctness does not depend on this:
 *                  a wait ends by itself, and is never extended.
 *
 *   persistence-11  A peer's run may have written the output of a node that is
 *                   clean here, computed from inputs that have changed since.
 *                   If those inputs hold the same here as before, because all
 *                   of it arrived at once, no change invalidates the node; the
 *                   observation does, if something that the node reads is newer
 *                   than the observation.
 *
 * None of this applies to nodes without an identity. */

#ifndef SCHED_PERSISTENCE_H
#define SCHED_PERSISTENCE_H

#include "proto/resume.h"
#include "sched/core.h"

/* The identity of a node, the same in every process. The kind and the write
 * surface come from the registration. The children of a node exist only after
 * it has run, so a node that registers others has no identity, unless the code
 * that registers it again can tell from its documents which children it had,
 * and registers them as well. */
struct node_identity {
    struct space *space; /* the owner, with a store; outlives the node */
    struct value piece;  /* string, not empty */
    uint64_t generation; /* of the piece's graph */
    struct digest action;
    struct digest implementation;
    struct digest runtime;
    struct digest schema;
    bool registers; /* others, when it runs: nobody else's run is as good
                       (persistence-8) */
};

/* -- Observing ----------------------------------------------------------- */

/* Subscribes to the verdicts on observations in that space, and to the
 * observations of other runtimes. Before the first registration with an
 * identity there, and before the space is first stepped: a space opened without
 * this hears nothing of other runtimes. Ends with the scheduler. */
void persistence_listen(struct sched *sched, struct space *space);

enum {
    PERSISTENCE_GRACE_MS = 100
};

/* persistence-9: how long to wait for peers; 0: not at all. */
void persistence_set_grace(struct sched *sched, mono_ms grace);

/* -- Resuming ------------------------------------------------------------ */

/* Another space that was read, and that has been asked: in the pages, `changed`
 * of its places is what has changed there above its lowest seq in
 * `elsewhere`. */
struct resume_asked {
    struct value space;
    struct value branch;
    uint64_t seq; /* its head when it was asked */
};

/* All is borrowed until the end of the phase. */
struct resume_options {
    struct space *space;
    struct value piece;
    uint64_t generation;
    const struct resume_page *const *pages; /* all of the piece, in order */
    size_t page_count;
    const struct resume_asked *asked; /* an action that reads in a space which
                                         is not listed here is unknown */
    size_t asked_count;
};

/* Counts the registrations of the piece in the phase; each is counted once. */
struct resume_counts {
    uint64_t restored;
    uint64_t dirty;
    uint64_t unknown;
};

/* LISTING_MOVED: the pages are not of one seq and one generation, or there are
 * more (resume-1 of resume.h). ARGUMENT: another phase is in progress. On an
 * error, no phase begins. */
MUST_CHECK enum err persistence_resume_begin(
    struct sched *sched,
    const struct resume_options *options,
    struct err_detail *detail);

struct resume_counts persistence_resume_end(struct sched *sched);

/* -- For the registry ---------------------------------------------------- */

/* A node with an identity is about to be registered. True if its reads and
 * status are restored. An identity that cannot be recorded (a name is too long)
 * is ignored and logged. */
bool persistence_register(struct sched *sched,
                          struct node *node,
                          const struct node_spec *spec);
void persistence_forget(struct sched *sched, struct node *node);

/* -- For the runner ------------------------------------------------------ */

/* For a node with an identity: before its commit, and after. */
void persistence_observe(struct run *run);
void persistence_committed(struct run *run, enum err err);

/* The run failed, and its transaction was aborted. */
void persistence_failed(struct run *run);

/* The store refused a commit of the node. */
void persistence_refused(struct node *node);

/* All verdicts on a commit are known; and reports what they allow
 * (persistence-3). */
void persistence_answered(struct sched *sched);
void persistence_catch_up(struct sched *sched);

/* -- For the pass -------------------------------------------------------- */

/* persistence-9: decides which nodes of this sweep wait for a peer. */
COLD void persistence_wait(struct sched *sched);

/* -- For other files ----------------------------------------------------- */

/* The node is about to be removed, and may be held by persistence-9. */
void persistence_let_go(struct sched *sched, const struct node *node);

/* What the store has said is not certain any more. */
void persistence_reset(struct sched *sched, const struct space *space);

void persistence_free(struct sched *sched);

/* Where the runs of a node are recorded; NULL: they are not. */
struct space *persistence_space(const struct node *node);

#endif
