/* The interface between the service and a host daemon.
 *
 * A daemon creates workspaces, runs turns in them, and destroys them. It is in
 * another process, possibly on another machine, so every answer may be late,
 * repeated, reordered or lost.
 *
 *   daemon-1  `send` returns at once and never answers from inside the call.
 *   daemon-2  A request has a token (of the provisioning, the run or the
 *             attempt), and its answer repeats the verb, the id and the token.
 *             The service relies on these alone, and on no order.
 *   daemon-3  A repeated request is one request: the daemon may answer it once
 *             or twice.
 *   daemon-4  Destroying, stopping or cancelling something that does not exist
 *             succeeds.
 *
 * Implemented by a real daemon's connection, and by the tests' script. */

#ifndef SERVICE_DAEMON_H
#define SERVICE_DAEMON_H

#include "value/value.h"

enum daemon_verb {
    DAEMON_PROVISION, /* create the workspace of an environment */
    DAEMON_CANCEL,    /* stop creating it */
    DAEMON_RUN,       /* run a turn of a thread */
    DAEMON_STOP,      /* end it */
    DAEMON_DESTROY,   /* remove the workspace */
    DAEMON_VERB_COUNT,
};

/* Everything is borrowed for the call. */
struct daemon_request {
    enum daemon_verb verb;
    const char *environment;
    const char *thread; /* of RUN and STOP, otherwise "" */
    const char *token;
    struct value workspace; /* where it is, or absent */
    struct value input;     /* of RUN */
};

/* Embedded in its implementation. */
struct daemon {
    void (*send)(struct daemon *daemon, const struct daemon_request *request);
};

struct daemon_answer {
    enum daemon_verb verb;
    const char *id; /* the thread of RUN and STOP, else the environment */
    const char *token;
    bool ok;
    const char *workspace; /* of a PROVISION that is ok */
    const char *why;       /* of one that is not, for the log */
};

/* Unsolicited reports about a turn. */
enum daemon_turn {
    DAEMON_TURN_STARTED,
    DAEMON_TURN_COMPLETED,
    DAEMON_TURN_FAILED, /* also: its process died */
    DAEMON_TURN_INTERRUPTED,
    DAEMON_TURN_COUNT,
};

struct daemon_event {
    enum daemon_turn turn;
    const char *thread;
    const char *run;
};

/* A running turn, when a session is opened. */
struct daemon_run {
    const char *thread;
    const char *run;
};

/* "provision", ...: for a log. */
const char *daemon_verb_name(enum daemon_verb verb);

#endif
