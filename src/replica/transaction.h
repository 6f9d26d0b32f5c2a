/* Transactions: reads that are logged, writes that are collected.
 *
 * A transaction sees the visible state of every space, and its own writes. It
 * changes nothing until it is committed; then it is applied whole, and told of
 * once, before the commit returns. What becomes of it at the store is told
 * later (struct commit_watch).
 *
 *   T1  Each place is logged once a kind of read. (Where transactions
 *       interleave, perhaps more than once, which says nothing new.)
 *   T2  A commit validates first: what was read must still be what it was, or
 *       nothing is applied and the answer is STALE. Writes to a document that
 *       somebody else has changed since are replayed on what it is now.
 *   T3  A write that changes nothing is not sent; beside others that do, it
 *       counts as a read of what is there. A transaction without effect and
 *       without conditions is OK without any check: nothing depends on it. With
 *       a condition it is a commit, whatever it writes.
 *   T4  While a transaction is open nothing arrives from a store: verdicts and
 *       remote changes wait until the last one is closed.
 *   T5  After the end, the log of reads and writes can still be read until the
 *       transaction is released.
 *   T6  Who runs again reads nearly always what it has read before, in the same
 *       order. A transaction that is told what that was (transaction_follow)
 *       logs nothing as long as this is so: it notes the versions in the links
 *       of those reads. With the first read that is another one, and before
 *       another transaction begins, which might change what was read, the log
 *       is made up for. Who looks at the log asks for that first
 *       (transaction_unfollow).
 *   T7  `scope` is the narrowest scope of all documents that it has read, the
 *       reads that are not logged included.
 *   T8  A transaction can have a scratch: another one that begins with what the
 *       transaction sees, and is never committed. The layer above writes there
 *       what computations come to on the view of the transaction. While there
 *       is a scratch, reads of the transaction find what it holds, and what is
 *       read in either is logged in the transaction. The next write of the
 *       transaction drops the scratch, and so does its end.
 *   T9  A write depends on what the document holds, unless it replaces the
 *       document or one of its keys, or merges. A transaction that makes such a
 *       dependent write to a document which is not available here cannot be
 *       committed (STALE): the write has no effect, and the document is
 *       requested and listed in `awaited`. The caller waits for it and starts
 *       over. So no write is ever computed from a document that merely has not
 *       arrived yet.
 *   T10 A transaction that has read computations rests on what they were
 *       computed from, though it has not read that itself. Who commits it says
 *       so in one of two ways: that it rests on all that is in view here, which
 *       costs nothing and is refused if others have committed meanwhile; or by
 *       each of those inputs, which costs as much as they are and is refused if
 *       one of them has changed. Neither is among the reads.
 *
 * They come from a pool: after a while, a run that reads and writes numbers
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
    READ_NOT_FOR_SCHEDULING = 2, /* nobody is to run again because of it */
    READ_UNTRACKED = 3,          /* neither: not logged at all */
};

struct read_entry {
    struct place *place; /* holds a reference */
    struct value seen;   /* what was visible there, own writes left aside */
    uint64_t version;    /* of the entity, then */
    enum read_kind kind;
    uint8_t flags;
    bool own; /* all of it was this transaction's own writing */
};

enum write_kind {
    WRITE_PUT,
    WRITE_DELETE,
    WRITE_APPEND, /* the rest can be merged with those of others */
    WRITE_ADD_UNIQUE,
    WRITE_REMOVE_VALUE,
    WRITE_INCREMENT,
};

struct write_entry {
    struct place *place; /* holds a reference */
    struct path *step;   /* where the difference is sought: its path, or that
                            of the array whose length it changed, or of what
                            became a leaf by it, or of the first that it had to
                            create on the way; a reference */
    struct value value;  /* what was given; absent for a delete */
    enum write_kind kind;
    bool creates; /* `step` is what it had to create on the way */
    bool vacant;  /* nothing was at its place before it */
    bool changed; /* after the end: there is something else now */
};

/* What is told of a commit after it was applied. Both are called exactly once
 * a space in which the transaction had an effect or a condition, `verdict`
 * first, and both after the notification: from inside transaction_commit if the
 * space has no store or one that answers at once, later otherwise. Either may
 * be NULL. verdict   the store has decided settled   and what is visible shows
 * it: a retry may read now */
struct commit_watch {
    void (*verdict)(void *ctx, const struct verdict *verdict);
    void (*settled)(void *ctx, const struct verdict *verdict);
    void *ctx;
};

/* Why somebody runs: a place looked different after a notification. */
struct cause {
    struct place *place;
    uint64_t version; /* of the notification */
};

/* What the last run here has to do with a link. */
enum link_unread {
    LINK_READ,     /* it made it */
    LINK_DECLARED, /* not read yet: for the order only */
    LINK_RESTORED, /* a run made it of which only the store knows: `version` is
                      the seq of the space up to which all is known */
};

/* One read of a node of the layer above, which keeps them and hangs them into
 * the places. Here they are what a transaction is expected to read. */
struct read_link {
    struct chain_link in_place;
    struct node *node;
    struct place *place; /* a reference */
    uint64_t version;    /* of the entity when it was read */
    uint32_t mark;       /* of the read delta that looked at it last */
    uint8_t kind;        /* enum read_kind */
    uint8_t unread;      /* enum link_unread */
    bool caused;         /* is among the causes */
};

/* A commit that must have landed. */
struct origin {
    struct space *space;
    uint64_t local_seq;
};

/* What must hold of a document at the store: one of the preconditions with a
 * target. */
struct document_condition {
    struct entity *entity;
    enum precondition_kind kind;
    bool has_digest; /* of the event that waits */
    struct digest digest;
};

enum transaction_state {
    TRANSACTION_OPEN,
    TRANSACTION_COMMITTED,
    TRANSACTION_ABORTED,
};

struct transaction {
    struct replica *replica;
    struct transaction *next_idle; /* while nobody has it */
    uint64_t epoch;
    uint64_t began; /* the replica's version at the beginning */
    enum transaction_state state;
    bool unwritten; /* open, and nothing was written so far */
    bool has_more;  /* than reads and quick writes: what comes after them in
                       this record may be in use */
    bool given;     /* something of what follows, or an observation: it is
                       taken back at the release */
    enum scope scope : 8; /* the narrowest of what it has read: T7 */

    /* Given at the beginning. */
    const void *source;  /* who runs, by identity, or NULL */
    const void *group;   /* a change group, or NULL */
    uint32_t attempt;    /* from 0 */
    bool refused;        /* the attempt before this one was, by the store */
    bool several_spaces; /* may write to more than one */
    struct commit_watch watch;
    const struct cause *causes; /* why it runs; borrowed until the release */
    size_t cause_count;

    /* What it is expected to read: T6. */
    struct read_link *next;     /* the first that it has not read yet, */
    struct read_link *next_end; /* and the end of them; equal: none */
    struct read_link *followed; /* the first of all; NULL: it logs its reads */

    VEC(struct read_entry) reads;
    VEC(struct write_entry) quick; /* replica/quick.h */
    VEC(struct draft *)
    drafts; /* one an entity that was written, in order;
               those from `drafts_used` on are spare */
    size_t drafts_used;
    struct transaction *scratch; /* T8; or NULL */
    struct transaction *under;   /* whose scratch this is; or NULL */
    VEC(struct document_condition) conditions;
    VEC(struct origin) origins;
    VEC(struct read_entry) inputs; /* T10 */
    bool claims_view;              /* likewise */

    struct observation *observation; /* replica/observe.h; or NULL, */
    struct space *observed;          /* and whose */

    uint32_t unloaded; /* reads of documents that have not come */
    VEC(struct entity *)
    awaited;                    /* T9: documents without which it cannot be
                                   committed */
    uint64_t local_seq;         /* after a commit to a space with a store, */
    VEC(struct origin) commits; /* each of those; */
    uint32_t applied; /* and how many spaces it was applied to: as often is its
                         watch told */

    void *launched; /* for the layer above: what lives and dies with its
                       commit, or NULL */
};

/* -- Its life ------------------------------------------------------------ */

struct transaction_options {
    const void *source;
    const void *group;
    uint32_t attempt;
    bool refused; /* so was the attempt before this one */
    bool several_spaces;
    struct commit_watch watch;
    const struct cause *causes; /* for labels and explanations */
    size_t cause_count;
};

/* `options` may be NULL. */
struct transaction *transaction_begin(
    struct replica *replica,
    const struct transaction_options *options);

/* For who keeps one to use it again and again: empties what it has logged and
 * collected, after its end; and begins it anew, with what it was given at its
 * beginning. */
static inline void transaction_empty(struct transaction *transaction);
static inline void transaction_again(struct transaction *transaction);

/* Ends it. STALE (T2), or what a precondition or a limit says: nothing was
 * applied. With several spaces: those with a document that must be new first,
 * then in the order of their first write, up to the first that fails; those
 * before it stay. */
MUST_CHECK enum err transaction_commit(struct transaction *transaction,
                                       struct err_detail *detail);

void transaction_abort(struct transaction *transaction);

/* Back into the pool; an open one is aborted. */
void transaction_release(struct transaction *transaction);

/* Both: its end, and back into the pool, whatever the answer. For who does not
 * look at it afterwards. */
MUST_CHECK enum err transaction_finish(struct transaction *transaction,
                                       struct err_detail *detail);

/* -- Reading ------------------------------------------------------------- */

/* Whether this kind of read of the place is in the log already (T1); from now
 * on it is. A deep read sees what a shape read sees. */
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

/* -- Reading the same again (T6) ----------------------------------------- */

/* From its beginning on. The links stay where they are until the transaction
 * has ended, or transaction_unfollow was called. */
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

/* The log is what it would be without. */
COLD void transaction_unfollow_any(struct transaction *transaction);
static inline void transaction_unfollow(struct transaction *transaction)
{
    if (UNLIKELY(transaction->followed != NULL)) {
        transaction_unfollow_any(transaction);
    }
}

/* Whether it has read just what was expected, and nothing else. */
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

/* A new entry of the log, for which there is room. */
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

/* The same, whether or not there is. */
APART void transaction_log_more(struct transaction *transaction,
                                struct place *place,
                                enum read_kind kind,
                                unsigned flags,
                                struct value seen);

/* The rest of transaction_read. */
COLD enum err transaction_read_any(struct transaction *transaction,
                                   struct place *place,
                                   enum read_kind kind,
                                   unsigned flags,
                                   struct value *out);

/* What is at a place, new; absent if there is nothing. The answer tells how
 * far the way led (entity_state_at): OK, NOT_FOUND, TYPE. Logged in any case:
 * that there is nothing is what was read. */
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
        return transaction_read_any(transaction, place, kind, flags, out);
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

/* -- Scratch (T8) ------------------------------------------------------- */

/* That of an open transaction, which is not a scratch itself; made if there is
 * none. */
struct transaction *transaction_scratch(struct transaction *transaction);

/* Drops it, if there is one. */
void transaction_drop_scratch(struct transaction *transaction);

/* Whether what is at a place differs on the view of the transaction from what
 * is visible there. If the transaction has written to a document that is not
 * available here, the two cannot be compared: they count as different. */
bool transaction_differs(struct transaction *transaction,
                         const struct place *place,
                         enum read_kind kind);

/* -- Writing ------------------------------------------------------------- */

/* The value at a place. Its parent must exist and be a container (NOT_FOUND,
 * TYPE); in an array, the index must exist or be the one behind the last
 * (RANGE). At the root the value must be an object. A second space is
 * ARGUMENT unless it was opted in. Adopts `value`, also if it fails. */
MUST_CHECK enum err transaction_put_adopt(struct transaction *transaction,
                                          struct place *place,
                                          struct value value,
                                          struct err_detail *detail);

/* Whether the transaction knows what the document holds: it is available here,
 * it has to be new, or the transaction itself has set it as a whole. */
bool transaction_knows(const struct transaction *transaction,
                       const struct entity *entity);

/* Whether the transaction has set the document as a whole. */
bool transaction_sets(const struct transaction *transaction,
                      const struct entity *entity);

/* The transaction cannot be committed before the document has come (T9). For
 * writers that must look at a document before they know where to write. */
void transaction_await(struct transaction *transaction, struct entity *entity);

static inline bool transaction_is_awaiting(
    const struct transaction *transaction)
{
    return UNLIKELY(transaction->awaited.count > 0);
}

/* What is not there is not an error. */
MUST_CHECK enum err transaction_delete(struct transaction *transaction,
                                       struct place *place,
                                       struct err_detail *detail);

/* The four that merge with what others do at the same time (value/patch.h has
 * their rules): append and add-unique take an array of values, remove a value,
 * increment a number. */
MUST_CHECK enum err transaction_merge_adopt(struct transaction *transaction,
                                            struct place *place,
                                            enum write_kind kind,
                                            struct value value,
                                            struct err_detail *detail);

/* Takes back all that was written to a document, which is something, and gives
 * what its payload would have been: new, or absent. */
struct value transaction_withdraw(struct transaction *transaction,
                                  struct entity *entity);

/* -- Conditions ---------------------------------------------------------- */

/* The document must never have existed at the store; it need not have been
 * loaded. To be said before it is written, as a whole. */
void transaction_create_only(struct transaction *transaction,
                             struct entity *entity);

/* The document must hold an event that waits (proto/event.h); it need not have
 * been loaded. */
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

/* T10. The place must stay until the commit. */
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

/* -- To be used again ---------------------------------------------------- */

COLD void transaction_empty_rest(struct transaction *transaction);

static inline void transaction_empty(struct transaction *transaction)
{
    const struct read_entry *read = transaction->reads.at;
    for (size_t left = transaction->reads.count; left > 0; left--, read++) {
        value_unref(read->seen);
        place_unref(read->place);
    }
    transaction->reads.count = 0;
    const struct write_entry *write = transaction->quick.at;
    for (size_t left = transaction->quick.count; left > 0; left--, write++) {
        value_unref(write->value);
        place_unref(write->place);
    }
    transaction->quick.count = 0;
    if (UNLIKELY(transaction->has_more)) {
        transaction_empty_rest(transaction);
    }
}

/* The end; what waited for that of the last open transaction is seen to. */
static inline void transaction_close(struct transaction *transaction,
                                     enum transaction_state state)
{
    struct replica *replica = transaction->replica;
    transaction->state = state;
    transaction->unwritten = false;
    CHECK(replica->open > 0);
    replica->open--;
    if (UNLIKELY(replica->restless)) {
        replica_settle(replica);
    }
}

static inline void transaction_again(struct transaction *transaction)
{
    struct replica *replica = transaction->replica;
    CHECK(transaction->state != TRANSACTION_OPEN);
    CHECK(transaction->reads.count == 0);
    if (UNLIKELY(replica->follower != NULL)) {
        transaction_unfollow_any(replica->follower);
    }
    transaction->epoch = ++replica->epoch;
    transaction->began = replica->version;
    transaction->state = TRANSACTION_OPEN;
    transaction->unwritten = true;
    replica->open++;
}

#endif
