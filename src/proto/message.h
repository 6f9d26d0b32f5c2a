/* The messages of a connection between a replica and a store.
 *
 * A connection carries messages in order, or it is broken. Each side numbers
 * its messages from 1, and all messages of a connection carry the number that
 * the replica gave to the connection when it opened it. So the receiver detects
 * a message that was lost, repeated, reordered or left over from an earlier
 * connection (struct message_order), whatever the transport does.
 *
 *   to the store
 *     open      {"session":"s1","seenSeq":12,     first, once a connection
 *                "observations":true}
 *     commits   {"commits":[...]}                 proto/commit.h, in local
 *                                                 order
 *     watch     {"targets":[{"id":"of:a"},        from now on, and what is
 *                {"id":"of:b","since":12}]}       there now; or only what
 *                                                 comes after that seq
 *     unwatch   {"targets":[{"id":"of:a"}]}       no longer, as if it had
 *                                                 never been watched
 *     ack       {"seenSeq":14}
 *   to the replica
 *     opened    {"session":"s1","resumed":true,"serverSeq":14,
 *                "caughtUpLocalSeq":3,"markers":true,"observations":true}
 *     verdicts  {"verdicts":[{"localSeq":7,...}]} proto/verdict.h
 *     sync      {"fromSeq":12,"toSeq":14,"caughtUpLocalSeq":7,"pull":true,
 *                "upserts":[{"id":"of:a","seq":13,"document":{...}},
 *                {"id":"of:b","seq":14,"document":{...},
 *                "before":{...}}],
 *                "removes":[{"id":"of:b"}],
 *                "observations":[{"seq":13,"observation":{...}}]}
 *     revoked   {"reason":"taken-over"}
 *
 * each with "kind", "connection" and "number" (from 1 on) before them. Flags
 * that are false, a marker of 0, a branch that is the main one, and upserts and
 * removes of which there are none are left out. An upsert without a document
 * says that there is none at that seq.
 *
 * Who watches a document with `since` says that it knows, without having it
 * here, what it was at that seq: it is told nothing until it is another one.
 * Then the upsert has `before`, what it was at that seq, or null if there was
 * none; it is left out if that is not known any more. A seq that the store has
 * not, or has no past for, is as good as none.
 *
 * `caughtUpLocalSeq` is the marker: the
 * frame and those before it hold everything that the author needs to know about
 * its commits up to that one. Who asked for observations is told those of
 * others that were kept, in the sync that covers their seq; they are news, told
 * once or not at all: a connection that is lost loses them.
 *
 *   M1  message_read trusts nothing: PROTOCOL, with the name of the field.
 *   M2  message_read(message_write(m)) is m. */

#ifndef PROTO_MESSAGE_H
#define PROTO_MESSAGE_H

#include "proto/commit.h"
#include "proto/verdict.h"

enum message_kind {
    MESSAGE_OPEN,
    MESSAGE_COMMITS,
    MESSAGE_WATCH,
    MESSAGE_UNWATCH,
    MESSAGE_ACK,
    MESSAGE_OPENED,
    MESSAGE_VERDICTS,
    MESSAGE_SYNC,
    MESSAGE_REVOKED,
};

/* One document, whole, as it is at `seq`. */
struct upsert {
    struct target target;
    uint64_t seq;
    struct value document; /* absent: there is none */
    struct value before; /* what the other side knew without having it; absent:
                            there was none */
    bool has_before;     /* or it is not said */
};

/* What somebody else's run saw, and the watermark that it got. */
struct told_observation {
    uint64_t seq;
    struct observation *observation; /* a reference */
};

struct message_verdict {
    uint64_t local_seq;
    struct verdict verdict;
};

/* All zero is an empty one. Which fields count is a matter of the kind. */
struct message {
    enum message_kind kind;
    uint64_t connection;
    uint64_t number;

    struct value session; /* open, opened */
    struct value branch;  /* open: "" is the main one */
    uint64_t seen_seq;    /* open, ack */
    uint64_t client;      /* open: a number that nobody else has, so that an
                             `open` of an earlier connection of the same one is
                             known for what it is; 0: none */

    bool observations; /* open: others' observations are of interest; opened:
                          somebody else has said so */

    VEC(const struct commit *)
    commits; /* borrowed from the sender, unless
                `owned` */
    VEC(struct target)
    targets; /* watch, unwatch; of sync, what left the
                watch */
    VEC(uint64_t)
    since; /* watch: of each target, 0 if it is to be told
              now; empty: all are */

    bool resumed;        /* opened: the store still knows the session */
    bool markers;        /* opened: syncs will carry markers */
    uint64_t server_seq; /* opened */
    uint64_t caught_up;  /* opened, sync: the marker; 0: none yet */
    uint64_t from_seq;   /* sync: everything up to it was told before */
    uint64_t to_seq;     /* sync: and up to this one is told now */
    bool pull;           /* sync: the answer to a watch */
    VEC(struct upsert) upserts;
    VEC(struct told_observation) told; /* sync: "observations" */
    VEC(struct message_verdict) verdicts;
    struct value reason; /* revoked: a string */

    bool owned; /* the commits were made by message_read */
};

void message_release(struct message *message);

const char *message_kind_name(enum message_kind kind);

/* From a value, and the same as a value (M1, M2). On an error *out is
 * empty. */
MUST_CHECK enum err message_read(struct value value,
                                 struct path_table *paths,
                                 struct message *out,
                                 struct err_detail *detail);
struct value message_write(const struct message *message);

/* -- The order of what comes in ------------------------------------------ */

enum message_turn {
    MESSAGE_NEXT,  /* the one that was expected */
    MESSAGE_STALE, /* had already, or of another connection: ignore it */
    MESSAGE_GAP,   /* one before it is missing: the connection is broken */
};

struct message_order {
    uint64_t connection;
    uint64_t received; /* the number of the last one */
};

/* Judges a message, and counts it if it is the next. */
enum message_turn message_take(struct message_order *order,
                               const struct message *message);

#endif
