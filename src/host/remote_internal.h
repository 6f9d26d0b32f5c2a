/* What remote.c and remote_lines.c share: a remote and its channels. */

#ifndef HOST_REMOTE_INTERNAL_H
#define HOST_REMOTE_INTERNAL_H

#include "base/vec.h"
#include "host/remote.h"
#include "value/path.h"

struct session;

enum remote_stage {
    REMOTE_DOWN, /* no connection */
    REMOTE_DIALING,
    REMOTE_GREETING, /* hello was sent */
    REMOTE_READY,
};

/* What a session is told by remote_deliver. */
enum delivery_kind {
    DELIVER_CONNECTED,
    DELIVER_MESSAGE,
    DELIVER_GARBAGE,
    DELIVER_LOST,
    DELIVER_REVOKED, /* permanently: `trouble` of the channel says why */
};

struct delivery {
    enum delivery_kind kind;
    struct message message;
};

struct remote_channel {
    struct remote *remote;
    struct transport transport;
    uint32_t number;
    struct value space; /* these are references */
    struct value branch;
    struct value session_name;
    struct value instance;
    bool create;
    bool read_only;

    enum channel_state state;
    bool is_sent;      /* the attach was */
    bool was_retried;  /* with another challenge */
    mono_ms deadline;  /* of the attach */
    uint32_t detaches; /* that were sent and not answered */
    struct err_detail trouble;
    struct remote_attached attached;
    uint64_t attachments;
    uint64_t landed;
    uint64_t heard_seq;    /* the server has reported the space up to here, */
    uint64_t own_commits;  /* and of what is above, so many commits are of the
                              session */
    VEC(uint64_t) batches; /* local seqs of commits that get no seq */

    struct session *session; /* that has connected, or tries to; or NULL */
    bool is_wanted;          /* by the session, which waits for it */
    bool is_used;            /* the session has the connection */
    VEC(struct delivery) inbox;
};

struct remote_question {
    uint64_t number;
    struct remote_channel *channel;
    bool is_over;
    struct value answer;
    struct err_detail detail;
};

struct remote {
    struct wire *wire;
    struct buf url;
    struct buf token; /* or empty */
    struct buf user;  /* or empty */
    const struct log *log;
    enum err (*prove)(void *ctx,
                      const struct remote_challenge *challenge,
                      struct value *proof,
                      struct err_detail *detail);
    void *ctx;

    enum remote_stage stage;
    mono_ms now;        /* of the last call */
    mono_ms deadline;   /* of dialing and greeting */
    mono_ms not_before; /* the server asked not to come back earlier */
    struct err_detail trouble;
    struct value audience;
    struct value challenge; /* absent: used up, the next one is on its way */
    uint64_t message_bytes;
    struct buf outgoing; /* lines */
    struct path_table paths;
    VEC(struct remote_channel *) channels; /* by number, from 1 on */
    VEC(struct remote_question) questions;
    uint64_t asked;
    struct remote_counters counters;
};

/* -- remote.c ------------------------------------------------------------ */

/* The connection has ended, or is given up. */
void remote_lose(struct remote *remote, enum err err, const char *why);

/* Sends the attach of each channel that waits for it, as far as possible. */
void remote_attach_all(struct remote *remote);

/* Tells the session of the channel that its connection has ended. */
void channel_lose(struct remote_channel *channel);

/* remote-3. */
void channel_refuse(struct remote_channel *channel,
                    const struct err_detail *why);

void channel_deliver(struct remote_channel *channel, enum delivery_kind kind);

/* Appends "NUMBER JSON" to what is sent. False: it exceeds the limit of the
 * server. */
bool remote_say(struct remote *remote, uint32_t number, struct value object);

/* -- remote_lines.c ------------------------------------------------------ */

/* A whole message of the server. */
void remote_take_text(struct remote *remote, const char *text, size_t length);

#endif
