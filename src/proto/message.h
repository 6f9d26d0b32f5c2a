/* The messages of a connection between a replica and a store.
 *
 * A connection carries messages in order, or it is broken. Each side numbers
 * its messages from 1, and all messages of a connection carry the number that
 * the replica gave to the connection when it opened it. So the receiver detects
 * a message that was lost, repeated, reordered or left over from an earlier
 * connection (struct message_order), whatever the transport does.
 *
 *   to the store
 *     open      {"session":"s1","seenSeq":12,     first, once per connection
 *                "observations":true,"deltas":true,
 *                "token":"5f..."}
 *     commits   {"commits":[...]}                 proto/commit.h, in local
 *                                                 order
 *     watch     {"targets":[{"id":"of:a"},        the current state and all
 *                {"id":"of:b","since":12}]}       changes; or only changes
 *                                                 after that seq
 *               {"selectors":[...]}               everything that links lead
 *                                                 to (proto/selector.h)
 *     unwatch   {"targets":[{"id":"of:a"}],       no longer, as if it had
 *                "selectors":["list"]}            never been watched
 *     ack       {"seenSeq":14}
 *   to the replica
 *     opened    {"session":"s1","resumed":true,"serverSeq":14,
 *                "caughtUpLocalSeq":3,"markers":true,"observations":true,
 *                "token":"6a..."}
 *     verdicts  {"verdicts":[{"localSeq":7,...}]} proto/verdict.h
 *     sync      {"fromSeq":12,"toSeq":14,"caughtUpLocalSeq":7,"pull":true,
 *                "upserts":[{"id":"of:a","seq":13,"document":{...}},
 *                {"id":"of:b","seq":14,"document":{...},
 *                "before":{...}},
 *                {"id":"of:c","seq":14,"from":12,"patch":[...]}],
 *                "reached":1,"removes":[{"id":"of:b"}],
 *                "refused":[{"id":"list","code":"LIMIT_REACH",...}],
 *                "observations":[{"seq":13,"observation":{...}}]}
 *     revoked   {"reason":"taken-over"}
 *
 * each with "kind", "connection" and "number" (from 1 on) before them. False
 * flags, a marker of 0, the main branch, and empty lists of upserts and removes
 * are left out. An upsert without a document says that there is none at that
 * seq.
 *
 * A session that watches a document with `since` knows its state at that seq
 * without holding it. It is told nothing until the document changes. Then the
 * upsert has `before`, the state at that seq, or null if there was no document;
 * `before` is left out if that state is no longer known. A seq that the store
 * does not have, or has no history for, counts as none.
 *
 * A watch is answered by one sync with `pull`; so is an unwatch that names
 * selectors. The answer to a selector has every document that it reaches,
 * unless the session holds it already; later syncs bring what comes into its
 * reach and name under `removes` what leaves it and is not watched otherwise.
 * Of the upserts of a sync, the last `reached` are documents that only
 * selectors watch: the session may not have asked for them by name. If a
 * selector is refused, its watch installs nothing, and the answer has only
 * `refused`. A selector in `refused` of another sync has ended, because a
 * change led it beyond a limit.
 *
 * A session that asked for deltas may be sent, instead of a document, the patch
 * that makes it of the state that it holds: the one of its last upsert, or of
 * its own last commit that a marker covered, whose seq is `from`.
 *
 * `caughtUpLocalSeq` is the marker: this frame and those before it hold
 * everything that the author needs to know about its commits up to that one. A
 * session that asked for observations receives the kept observations of other
 * sessions, in the sync that covers their seq. They are hints, sent at most
 * once: a lost connection loses them.
 *
 *   message-1  message_read trusts nothing: PROTOCOL, with the name of the
 *              field.
 *   message-2  message_read(message_write(m)) is m.
 *   message-3  message_append(m) is the text of message_write(m). */

#ifndef PROTO_MESSAGE_H
#define PROTO_MESSAGE_H

#include "proto/commit.h"
#include "proto/selector.h"
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

/* The text of an upsert that is part of several messages. The first of them
 * that is written fills it in. */
struct upsert_text {
    uint32_t refs;
    struct buf text;
};

struct upsert_text *upsert_text_new(void);
struct upsert_text *upsert_text_ref(struct upsert_text *text);
void upsert_text_unref(struct upsert_text *text); /* NULL is harmless */

/* One document as it is at `seq`, whole or as a delta. */
struct upsert {
    struct target target;
    uint64_t seq;
    struct value document; /* absent: there is none, or it is a delta */
    uint64_t from;         /* delta: the seq of the state that the other side
                              holds; 0: it is whole */
    struct value patch;  /* delta: an array of operations (value/patch.h), which
                            are not checked yet */
    struct value before; /* what the other side knew without holding it; absent:
                            there was no document */
    bool has_before;     /* or it is not said */
    struct upsert_text *shared; /* by equal upserts; a reference, or NULL */
};

/* An observation of another session's run, and its watermark. */
struct told_observation {
    uint64_t seq;
    struct observation *observation; /* a reference */
};

struct message_verdict {
    uint64_t local_seq;
    struct verdict verdict;
};

/* All zero is empty. The kind decides which fields count. */
struct message {
    enum message_kind kind;
    uint64_t connection;
    uint64_t number;

    struct value session; /* open, opened */
    struct value token;   /* opened: what the next `open` of the session has to
                             show; open: what it shows; or absent */
    struct value branch;  /* open: "" is the main one */
    uint64_t seen_seq;    /* open, ack */
    uint64_t client;      /* open: a globally unique number, which identifies an
                             `open` of an earlier connection of the same client;
                             0: none */

    bool observations; /* open: wants observations of other sessions; opened:
                          another session does */
    bool deltas;       /* open: takes deltas */

    VEC(const struct commit *)
    commits; /* borrowed from the sender, unless
                `owned` */
    VEC(struct target)
    targets; /* watch, unwatch; of sync, what left the
                watch */
    VEC(uint64_t)
    since; /* watch: per target, 0 to be told the current
              state; empty: 0 for all */

    VEC(struct selector)
    selectors; /* watch; of unwatch, only their ids */

    bool resumed;        /* opened: the store still knows the session */
    bool markers;        /* opened: syncs will carry markers */
    uint64_t server_seq; /* opened */
    uint64_t caught_up;  /* opened, sync: the marker; 0: none yet */
    uint64_t from_seq;   /* sync: everything up to this was sent before */
    uint64_t to_seq;     /* sync: everything up to this is sent now */
    bool pull;           /* sync: the answer to a watch */
    VEC(struct upsert) upserts;
    uint64_t reached; /* sync: so many upserts at the end are watched by
                         selectors only */
    VEC(struct selector_refusal) refused; /* sync */
    VEC(struct told_observation) told;    /* sync: "observations" */
    VEC(struct message_verdict) verdicts;
    struct value reason; /* revoked: a string */

    bool owned; /* the commits were made by message_read */
};

void message_release(struct message *message);

const char *message_kind_name(enum message_kind kind);

/* From a value, and the same as a value (message-1, message-2). On an error
 * *out is empty. */
MUST_CHECK enum err message_read(struct value value,
                                 struct path_table *paths,
                                 struct message *out,
                                 struct err_detail *detail);
struct value message_write(const struct message *message);

/* Appends its JSON text, in one line (message-3). Documents keep the order of
 * their keys. */
void message_append(struct buf *out, const struct message *message);

/* -- The order of incoming messages -------------------------------------- */

enum message_turn {
    MESSAGE_NEXT,  /* the expected one */
    MESSAGE_STALE, /* repeated, or of another connection: ignore it */
    MESSAGE_GAP, /* a message before it is missing: the connection is broken */
};

struct message_order {
    uint64_t connection;
    uint64_t received; /* the number of the last one */
};

/* Classifies a message, and counts it if it is the next. */
enum message_turn message_take(struct message_order *order,
                               const struct message *message);

#endif
