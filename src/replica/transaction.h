/* Transactions: logged reads, collected writes.
 *
 * A transaction sees the visible state of every space, and its own writes. It
 * changes nothing until it is committed; then it is applied as a whole, with
 * one notification, before the commit returns. The store's verdict comes later
 * (struct commit_watch).
 *
 *   transaction-1  Each place is logged once per kind of read. (Interleaved
 *                  transactions may log it more often, which adds no
 *                  information.)
 *   transaction-2  A commit validates first: if something that was read has
 *                  changed, nothing is applied and the result is STALE. Writes
 *                  to a document that has changed since are replayed on its
 *                  present state.
 *   transaction-3  A write that changes nothing is not sent; beside writes that
 *                  do, it counts as a read of what is there. A transaction
 *                  without effect and without conditions is OK without any
 *                  check: nothing depends on it. With a condition it is a
 *                  commit, whatever it writes.
 *   transaction-4  While a transaction is open, nothing arrives from a store:
 *                  verdicts and remote changes wait until the last one is
 *                  closed.
 *   transaction-5  After the end, the log of reads and writes stays readable
 *                  until the transaction is released.
 *   transaction-6  A node that runs again nearly always reads the same places
 *                  in the same order. A transaction that is given this
 *                  expectation (transaction_follow) logs nothing as long as it
 *                  holds: it stores the versions in the links of those reads.
 *                  The log is completed at the first different read, and before
 *                  another transaction begins, which might change what was
 *                  read. Code that inspects the log asks for that first
 *                  (transaction_unfollow).
 *   transaction-7  `scope` is the narrowest scope of all documents that it has
 *                  read, including reads that are not logged.
 *   transaction-8  A transaction can have a scratch: another one that begins
 *                  with what the transaction sees, and is never committed. The
 *                  layer above writes there what computations evaluate to on
 *                  the view of the transaction. While there is a scratch, reads
 *                  of the transaction see it, and reads of either are logged in
 *                  the transaction. The next write of the transaction drops the
 *                  scratch, and so does its end.
 *   transaction-9  A write depends on what the document holds, unless it
 *                  replaces the document or one of its keys, or merges. A
 *                  transaction that makes such a dependent write to a document
 *                  which is not available here cannot be committed (STALE): the
 *                  write has no effect, and the document is requested and
 *                  listed in `awaited`. The caller waits for it and starts
 *                  over. So no write is ever computed from a document that
 *                  merely has not arrived yet.
 *   transaction-10  A transaction that has read computations depends on their
 *                   inputs, though it has not read those itself. Its committer
 *                   declares that in one of two ways. It claims everything in
 *                   view here, which costs nothing and is refused if another
 *                   session has committed meanwhile. Or it names each input,
 *                   which costs as much as there are, and is refused only if
 *                   one of them has changed. Neither is among the reads.
 *
 * Transactions are pooled: after a while, a run that reads and writes numbers
 * allocates nothing. */

#ifndef REPLICA_TRANSACTION_H
#define REPLICA_TRANSACTION_H

#include "base/vec.h"
#include "proto/commit.h"
#include "proto/verdict.h"
#include "replica/entity.h"
#include "replica/replica.h"
#include "value/id.h"

struct observation;

/* -- What is logged ------------------------------------------------------ */

enum read_flags {
    READ_FOR_BOTH = 0,
    READ_NOT_FOR_COMMIT = 1,     /* the store need not check it */
    READ_NOT_FOR_SCHEDULING = 2, /* its changes do not invalidate the node */
    READ_UNTRACKED = 3,          /* neither: not logged at all */
};

struct read_entry {
    struct place *place; /* holds a reference */
    struct value seen;   /* what was visible there, without own writes */
    uint64_t version;    /* of the entity at that time */
    enum read_kind kind;
    uint8_t flags;
    bool own; /* entirely this transaction's own writes */
};

enum write_kind {
    WRITE_PUT,
    WRITE_DELETE,
    WRITE_APPEND, /* this and the rest merge with concurrent writes */
    WRITE_ADD_UNIQUE,
    WRITE_REMOVE_VALUE,
    WRITE_INCREMENT,
};

struct write_entry {
    struct place *place; /* holds a reference */
    struct path *step;   /* where the difference is: its path, or that of the
                            array whose length changed, or of what became a
                            leaf, or of the first part that it had to create; a
                            reference */
    struct value value;  /* as given; absent for a delete */
    enum write_kind kind;
    bool creates; /* `step` is a part that it had to create */
    bool vacant;  /* its place was empty before */
    bool changed; /* after the end: the value differs */
};

/* Callbacks for a commit after it was applied. Both are called exactly once per
 * space in which the transaction had an effect or a condition, `verdict` first,
 * and both after the notification: from inside transaction_commit if the space
 * has no store or one that answers at once, later otherwise. Either may be
 * NULL.
 *
 *   verdict   the store has decided
 *   settled   and the visible state shows it: a retry may read now */
struct commit_watch {
    void (*verdict)(void *ctx, const struct verdict *verdict);
    void (*settled)(void *ctx, const struct verdict *verdict);
    void *ctx;
};

/* Why a node runs: a place changed visibly with a notification. */
struct cause {
    struct place *place;
    uint64_t version; /* of the notification */
};

/* How a link relates to the node's last run here. */
enum link_unread {
    LINK_READ,     /* the run read it */
    LINK_DECLARED, /* not read yet: for the order only */
    LINK_RESTORED, /* read by a run that only the store knows: `version` is the
                      seq of the space up to which all is known */
};

/* One read of a node of the layer above, which owns the links and hangs them
 * into the places. Here they are what a transaction is expected to read. */
struct read_link {
    struct chain_link in_place;
    struct node *node;
    struct place *place; /* a reference */
    uint64_t version;    /* of the entity when it was read */
    uint32_t mark;       /* of the last read delta that visited it */
    uint8_t kind;        /* enum read_kind */
    uint8_t unread;      /* enum link_unread */
    bool caused;         /* is among the causes */
};

/* A commit that must have landed. */
struct origin {
    struct space *space;
    uint64_t local_seq;
};

/* A precondition on a document at the store. */
struct document_condition {
    struct entity *entity;
    enum precondition_kind kind;
    bool has_digest; /* of the waiting event */
    struct digest digest;
};

enum transaction_state {
    TRANSACTION_OPEN,
    TRANSACTION_COMMITTED,
    TRANSACTION_ABORTED,
};

struct transaction {
    struct replica *replica;
    struct transaction *next_idle; /* while it is in the pool */
    uint64_t epoch;
    uint64_t began; /* the replica's version at the beginning */
    enum transaction_state state;
    bool unwritten; /* open, without any write so far */
    bool has_more;  /* more than reads and payload writes: the fields after them
                       may be in use */
    bool given;     /* one of the fields below, or an observation, is set:
                       cleared at release */
    enum scope scope : 8; /* the narrowest scope that it has read:
                             transaction-7 */

    /* Set at the beginning. */
    const void *source;  /* the author, by identity, or NULL */
    const void *group;   /* a change group, or NULL */
    uint32_t attempt;    /* from 0 */
    bool refused;        /* the store refused the attempt before this one */
    bool several_spaces; /* may write to several spaces */
    struct commit_watch watch;
    const struct cause *causes; /* why it runs; borrowed until the release */
    size_t cause_count;

    /* What it is expected to read: transaction-6. */
    struct read_link *next;     /* the first that it has not read yet, */
    struct read_link *next_end; /* and the end of them; equal: none */
    struct read_link *followed; /* the first of all; NULL: it logs its reads */

    VEC(struct read_entry) reads;
    VEC(struct write_entry) payload_writes; /* replica/payload_write.h */
    VEC(struct draft *)
    drafts; /* one per entity that was written, in order; those from
               `drafts_used` on are spare */
    size_t drafts_used;
    struct transaction *scratch; /* transaction-8; or NULL */
    struct transaction *under;   /* whose scratch this is; or NULL */
    VEC(struct document_condition) conditions;
    VEC(struct origin) origins;
    VEC(struct read_entry) inputs; /* transaction-10 */
    bool claims_view;              /* likewise */

    struct observation *observation; /* replica/observe.h; or NULL, */
    struct space *observed;          /* and its owner space */

    uint32_t unloaded; /* reads of documents that have not arrived */
    VEC(struct entity *)
    awaited; /* transaction-9: documents that the commit has to wait for */
    uint64_t local_seq;         /* after a commit to a space with a store, */
    VEC(struct origin) commits; /* each of those; */
    uint32_t applied; /* and the number of spaces it was applied to, which is
                         how often its watch is called */

    void *launched; /* for the layer above: what shares the outcome of its
                       commit, or NULL */
};

/* -- Begin and end ------------------------------------------------------- */

struct transaction_options {
    const void *source;
    const void *group;
    uint32_t attempt;
    bool refused; /* the store refused the attempt before this one */
    bool several_spaces;
    struct commit_watch watch;
    const struct cause *causes; /* for labels and explanations */
    size_t cause_count;
};

/* `options` may be NULL. */
struct transaction *transaction_begin(
    struct replica *replica,
    const struct transaction_options *options);

/* For callers that reuse a transaction: empties its logs after its end; and
 * begins it again, with the options of its beginning. */
static inline void transaction_empty(struct transaction *transaction);
static inline void transaction_again(struct transaction *transaction);

/* Ends it. STALE (transaction-2), or the error of a precondition or a limit:
 * nothing was applied. With several spaces: first those with a document that
 * must be new, then in the order of their first write, up to the first that
 * fails; commits to earlier ones stay. */
MUST_CHECK enum err transaction_commit(struct transaction *transaction,
                                       struct err_detail *detail);

void transaction_abort(struct transaction *transaction);

/* Back into the pool; an open one is aborted. */
void transaction_release(struct transaction *transaction);

/* Ends it and returns it to the pool, whatever the result. For callers that do
 * not inspect it afterwards. */
MUST_CHECK enum err transaction_finish(struct transaction *transaction,
                                       struct err_detail *detail);

/* -- Reading ------------------------------------------------------------- */

/* Whether this kind of read of the place is in the log already (transaction-1);
 * marks it as logged. A deep read includes a shape read. */
static inline bool transaction_has_logged(const struct transaction *transaction,
                                          struct place *place,
                                          enum read_kind kind)
{
    const uint64_t now = transaction->epoch << 2;
    const uint64_t bits = kind == READ_DEEP ? 3 : 1U << READ_SHAPE;
    if ((place->logged & ~(uint64_t)3) != now) {
        place->logged = now | bits;
        return false;
    }
    if ((place->logged & (1U << kind)) != 0) {
        return true;
    }
    place->logged |= bits;
    return false;
}

/* -- Reading the same again (transaction-6) ------------------------------ */

/* Called at its beginning. The links must stay until the transaction has ended,
 * or transaction_unfollow was called. */
static inline void transaction_follow(struct transaction *transaction,
                                      struct read_link *links,
                                      uint32_t count)
{
    if (count > 0) {
        transaction->followed = links;
        transaction->next = links;
        transaction->next_end = links + count;
        transaction->replica->follower = transaction;
    }
}

/* Completes the log. */
COLD void transaction_unfollow_slow(struct transaction *transaction);
static inline void transaction_unfollow(struct transaction *transaction)
{
    if (UNLIKELY(transaction->followed != NULL)) {
        transaction_unfollow_slow(transaction);
    }
}

/* Whether it has read exactly what was expected. */
static inline bool transaction_has_followed(
    const struct transaction *transaction)
{
    return transaction->followed != NULL &&
           transaction->next == transaction->next_end;
}

static inline void transaction_end_following(struct transaction *transaction)
{
    transaction->followed = NULL;
    transaction->next = NULL;
    transaction->next_end = NULL;
    transaction->replica->follower = NULL;
}

/* Appends to the log, which has room. */
static inline void transaction_log_read(struct transaction *transaction,
                                        struct place *place,
                                        enum read_kind kind,
                                        unsigned flags,
                                        struct value seen)
{
    struct read_entry *entry = &transaction->reads.at[transaction->reads.count];
    transaction->reads.count++;
    entry->place = place_ref(place);
    value_store(&entry->seen, value_ref(seen));
    entry->version = place->entity->version;
    entry->kind = kind;
    entry->flags = (uint8_t)flags;
    entry->own = false;
}

/* The same, with or without room. */
NOINLINE void transaction_log_more(struct transaction *transaction,
                                   struct place *place,
                                   enum read_kind kind,
                                   unsigned flags,
                                   struct value seen);

/* The slow path of transaction_read. */
COLD enum err transaction_read_slow(struct transaction *transaction,
                                    struct place *place,
                                    enum read_kind kind,
                                    unsigned flags,
                                    struct value *out);

/* The value at a place, new; absent if there is none. The result says how far
 * the path led (entity_state_at): OK, NOT_FOUND, TYPE. Always logged: absence
 * is a read, too. */
static inline enum err transaction_read(struct transaction *transaction,
                                        struct place *place,
                                        enum read_kind kind,
                                        unsigned flags,
                                        struct value *out)
{
    const struct entity *entity = place->entity;
    if (UNLIKELY(!transaction->unwritten || !entity->plain ||
                 flags != READ_FOR_BOTH || place != entity->payload ||
                 value_is_absent(entity->visible.payload))) {
        return transaction_read_slow(transaction, place, kind, flags, out);
    }
    /* Nearly always: the payload of a document, before anything was
     * written. */
    const struct value seen = entity->visible.payload;
    value_store(out, value_ref(seen));
    struct read_link *next = transaction->next;
    if (LIKELY(next != transaction->next_end && next->place == place &&
               kind == READ_DEEP && next->kind == READ_DEEP &&
               next->unread == LINK_READ)) {
        place->logged = transaction->epoch << 2 | 3; /* as below */
        next->version = entity->version;
        next->caused = false;
        transaction->next = next + 1;
    } else if (!transaction_has_logged(transaction, place, kind)) {
        if (LIKELY(transaction->followed == NULL &&
                   transaction->reads.count < transaction->reads.capacity)) {
            transaction_log_read(transaction, place, kind, flags, seen);
        } else {
            transaction_log_more(transaction, place, kind, flags, seen);
        }
    }
    return ERR_OK;
}

/* -- Scratch (transaction-8) --------------------------------------------- */

/* The scratch of an open transaction that is not a scratch itself; created if
 * there is none. */
struct transaction *transaction_scratch(struct transaction *transaction);

/* Drops it, if there is one. */
void transaction_drop_scratch(struct transaction *transaction);

/* Whether the value at a place on the view of the transaction differs from the
 * visible one. If the transaction has written to a document that is not
 * available here, they cannot be compared, and count as different. */
bool transaction_differs(struct transaction *transaction,
                         const struct place *place,
                         enum read_kind kind);

/* -- Writing ------------------------------------------------------------- */

/* Sets the value at a place. Its parent must exist and be a container
 * (NOT_FOUND, TYPE); in an array, the index must exist or be one past the last
 * (RANGE). At the root the value must be an object. A second space is ARGUMENT
 * unless it was opted in. Adopts `value`, also on failure. */
MUST_CHECK enum err transaction_put_adopt(struct transaction *transaction,
                                          struct place *place,
                                          struct value value,
                                          struct err_detail *detail);

/* Whether the transaction knows what the document holds: it is available here,
 * must be new, or the transaction itself has set it as a whole. */
bool transaction_knows(const struct transaction *transaction,
                       const struct entity *entity);

/* Whether the transaction has set the document as a whole. */
bool transaction_sets(const struct transaction *transaction,
                      const struct entity *entity);

/* The transaction cannot be committed before the document has arrived
 * (transaction-9). For writers that must inspect a document to know where to
 * write. */
void transaction_await(struct transaction *transaction, struct entity *entity);

static inline bool transaction_is_awaiting(
    const struct transaction *transaction)
{
    return UNLIKELY(transaction->awaited.count > 0);
}

/* Deleting what does not exist is not an error. */
MUST_CHECK enum err transaction_delete(struct transaction *transaction,
                                       struct place *place,
                                       struct err_detail *detail);

/* The four writes that merge with concurrent ones (value/patch.h has their
 * rules): append and add-unique take an array of values, remove a value,
 * increment a number. */
MUST_CHECK enum err transaction_merge_adopt(struct transaction *transaction,
                                            struct place *place,
                                            enum write_kind kind,
                                            struct value value,
                                            struct err_detail *detail);

/* Takes back all writes to a document that has some, and returns what its
 * payload would have been: new, or absent. */
struct value transaction_withdraw(struct transaction *transaction,
                                  struct entity *entity);

/* -- Conditions ---------------------------------------------------------- */

/* The document must never have existed at the store; it need not be loaded.
 * Call this before the document is written, as a whole. */
void transaction_create_only(struct transaction *transaction,
                             struct entity *entity);

/* The document must hold a waiting event (proto/event.h); it need not be
 * loaded. */
void transaction_handles_event(struct transaction *transaction,
                               struct entity *entity);

/* The same, and the event must have that digest: its document may hold another
 * one by now. */
void transaction_handles_timer(struct transaction *transaction,
                               struct entity *entity,
                               struct digest digest);

/* The space's commit `local_seq` must have landed. */
void transaction_needs(struct transaction *transaction,
                       struct space *space,
                       uint64_t local_seq);

/* transaction-10. The place must stay until the commit. */
void transaction_claim_view(struct transaction *transaction);
void transaction_claim_input(struct transaction *transaction,
                             struct place *place,
                             enum read_kind kind);

/* -- Its log ------------------------------------------------------------- */

/* Visits the writes of a transaction in order; both counters start at 0. NULL
 * at the end. */
const struct write_entry *transaction_next_write(
    const struct transaction *transaction,
    size_t *draft,
    size_t *write);

/* -- For the replica ----------------------------------------------------- */

void transaction_free(struct transaction *transaction);

/* -- Reuse --------------------------------------------------------------- */

COLD void transaction_empty_rest(struct transaction *transaction);

static inline void transaction_empty(struct transaction *transaction)
{
    const struct read_entry *read = transaction->reads.at;
    for (size_t left = transaction->reads.count; left > 0; left--, read++) {
        value_unref(read->seen);
        place_unref(read->place);
    }
    transaction->reads.count = 0;
    const struct write_entry *write = transaction->payload_writes.at;
    for (size_t left = transaction->payload_writes.count; left > 0;
         left--, write++) {
        value_unref(write->value);
        place_unref(write->place);
    }
    transaction->payload_writes.count = 0;
    if (UNLIKELY(transaction->has_more)) {
        transaction_empty_rest(transaction);
    }
}

/* Ends it. After the last open transaction, handles what waited for that. */
static inline void transaction_close(struct transaction *transaction,
                                     enum transaction_state state)
{
    struct replica *replica = transaction->replica;
    transaction->state = state;
    transaction->unwritten = false;
    CHECK(replica->open > 0);
    replica->open--;
    if (UNLIKELY(replica->needs_step)) {
        replica_pump(replica);
    }
}

static inline void transaction_again(struct transaction *transaction)
{
    struct replica *replica = transaction->replica;
    CHECK(transaction->state != TRANSACTION_OPEN);
    CHECK(transaction->reads.count == 0);
    if (UNLIKELY(replica->follower != NULL)) {
        transaction_unfollow_slow(replica->follower);
    }
    transaction->epoch = ++replica->epoch;
    transaction->began = replica->version;
    transaction->state = TRANSACTION_OPEN;
    transaction->unwritten = true;
    replica->open++;
}

#endif
