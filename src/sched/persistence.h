/* What runs leave for a restart, and how a restart takes it up.
 *
 * A node with an *identity* is an action of a piece. Of each of its runs the
 * store of the owner space is told (proto/observation.h): what it read, what it
 * can write, how it ended. A process that comes back asks the store for the
 * piece (proto/resume.h), registers the same nodes, and each is what it was:
 *
 *   struct resume_options options = {space, piece, generation, pages, count};
 *   err = persistence_resume_begin(sched, &options, &detail);
 *   if (err == ERR_OK) {
 *       ... scheduler_register for each node of the piece ...
 *       counts = persistence_resume_end(sched);
 *   } else {
 *       ... the same registrations: all of them are fresh ...
 *   }
 *
 * Telling:
 *
 *   P1  An observation goes with the commit of its run; that of a run without
 *       effect is sent in a batch, after the commits before it. Its reads are
 *       the links of the node (those for scheduling), its surface the outputs
 *       and envelopes of the registration.
 *   P2  As long as the reads are those that the store was sent last, and it has
 *       not said otherwise, only the digests go, and nothing is allocated. A
 *       commit that is refused, or an observation that is dropped, makes the
 *       next one whole again.
 *   P3  Clean is what the store can prove, or nothing. So a run is recorded as
 *       failed not only if it failed, but also if the store of the owner space
 *       cannot know what became of it: it wrote to another space; it read, in
 *       another space or without the commit's saying so, what an own commit
 *       wrote that has no answer yet; what it read has changed while it ran;
 *       an earlier commit of it has no answer yet, and may be the one that
 *       wrote some of its outputs. One of those that changed nothing and has
 *       to run again at once is not told at all. When the commits have been
 *       answered, and the node is still clean, this is told in a batch.
 *
 * Resuming, one piece at a time:
 *
 *   P4  A node is looked up by its action. Everything must match: space, piece,
 *       generation, kind, all fingerprints, the surface. Clean: it is
 *       registered clean, with its reads and gates, and without a run or a look
 *       at any document. Dirty: likewise, but invalid, with what has changed as
 *       its causes. Failed, unknown, not there or no match: fresh, as if
 *       nothing were known, and this node only.
 *   P5  What is known is of the seq of the pages. The documents that were read
 *       are watched from the registration on; what the store tells of them up
 *       to that seq wakes nobody, whatever comes after it does, by value, as
 *       ever.
 *   P6  Newer things win: an action of which a read is newer here than the
 *       pages, or of which any place has a write without an answer, is unknown.
 *   P7  A deadline does not survive; the configuration of gates does.
 *   P10 Nothing runs while a phase is under way, whoever steps or pulls: the
 *       writers of what is read may not be registered yet. What has to run does
 *       when the phase has ended.
 *
 * Adopting:
 *
 *   P8  An observation of somebody else's run, for a computation that is
 *       registered here, stale, and of the same identity and fingerprints, is
 *       as good as a run: if nothing that was read is newer here than the
 *       observation, or has a write without an answer, the node is clean, with
 *       that read set. Effects are never adopted: each runtime has its own;
 *       nor are nodes that register others, nor unshared ones.
 *
 *   P9  Who is about to run it? If others have the same piece, one edit makes
 *       the same node invalid everywhere. Whoever ran it last runs it again, at
 *       once; for the others, a change from elsewhere makes it *wait* for his
 *       observation, for PERSISTENCE_GRACE_MS and a bit that differs from
 *       session to session, so that the first who gives up runs it, and the
 *       rest adopt that. Who reads from it waits as well, so that nobody shows
 *       half of a change; but a read, a pull or an event that needs it runs it
 *       at once, and so does a change made here. One wait in vain, and nobody
 *       is waited for until there is word of a peer again. Nothing rests on it:
 *       a wait ends by itself, and is never made longer.
 *
 *   P11 A peer's run may have written the output of a node that is clean here,
 *       from inputs that hold something else by now. If they hold here what
 *       they held before, because all of it came at once, no change tells the
 *       node: the observation does. If something that the node reads is newer
 *       than the observation, the node is invalid.
 *
 * Nodes without an identity have nothing to do with any of this. */

#ifndef SCHED_PERSISTENCE_H
#define SCHED_PERSISTENCE_H

#include "proto/resume.h"
#include "sched/core.h"

/* Who a node is, whatever process it is in. The kind and the write surface
 * are those of the registration. A node that registers others has to run for
 * them to be there, so it has none; unless whoever registers it again knows
 * from its documents who they were, and registers them as well. */
struct node_identity {
    struct space *space; /* the owner, with a store; outlives the node */
    struct value piece;  /* string, not empty */
    uint64_t generation; /* of the piece's graph */
    struct digest action;
    struct digest implementation;
    struct digest runtime;
    struct digest schema;
    bool
        registers; /* others, when it runs: nobody else's run is as good (P8) */
};

/* -- Telling ------------------------------------------------------------- */

/* The scheduler wants to know what becomes of observations in that space, and
 * what others have seen. Before the first registration with an identity there,
 * and before the space is first stepped: what is opened without this is not
 * told of others. Ends with the scheduler. */
void persistence_listen(struct sched *sched, struct space *space);

enum {
    PERSISTENCE_GRACE_MS = 100
};

/* P9: how long others are waited for; 0: not at all. */
void persistence_set_grace(struct sched *sched, mono_ms grace);

/* -- Resuming ------------------------------------------------------------ */

/* Another space of which something was read, and which has been asked: in the
 * pages, `changed` of its places is what has changed there above the lowest
 * seq of it in `elsewhere`. */
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
    const struct resume_asked *asked; /* who reads elsewhere, in a space that is
                                         not among these, is unknown */
    size_t asked_count;
};

/* Of the registrations of the piece in the phase; each is in one of them. */
struct resume_counts {
    uint64_t restored;
    uint64_t dirty;
    uint64_t unknown;
};

/* LISTING_MOVED: the pages are not of one seq and one generation, or there are
 * more (Q1 of resume.h). ARGUMENT: a phase is under way. In both cases none
 * is begun. */
MUST_CHECK enum err persistence_resume_begin(
    struct sched *sched,
    const struct resume_options *options,
    struct err_detail *detail);

struct resume_counts persistence_resume_end(struct sched *sched);

/* -- For the registry ---------------------------------------------------- */

/* A node with an identity is about to be registered. True if its reads and its
 * status are restored. An identity that cannot be told of (a name that is too
 * long) is none, and logged. */
bool persistence_register(struct sched *sched,
                          struct node *node,
                          const struct node_spec *spec);
void persistence_forget(struct sched *sched, struct node *node);

/* -- For the runner ------------------------------------------------------ */

/* Of a node with an identity: before its commit, and after. */
void persistence_observe(struct run *run);
void persistence_committed(struct run *run, enum err err);

/* It failed, and its transaction was aborted. */
void persistence_failed(struct run *run);

/* The store did not take a commit of the node. */
void persistence_refused(struct node *node);

/* All is known of a commit; and what can be told because of that is (P3). */
void persistence_answered(struct sched *sched);
void persistence_catch_up(struct sched *sched);

/* -- For the pass -------------------------------------------------------- */

/* P9: of those that would run in this sweep, which wait for a peer. */
COLD void persistence_wait(struct sched *sched);

/* -- For others ---------------------------------------------------------- */

/* The node is about to go, and perhaps held by P9. */
void persistence_let_go(struct sched *sched, const struct node *node);

/* Nothing that the store has said is certain any more. */
void persistence_reset(struct sched *sched, const struct space *space);

void persistence_free(struct sched *sched);

/* Where the runs of a node are recorded; NULL: they are not. */
struct space *persistence_space(const struct node *node);

#endif
