/* The questions of a runtime to a store that is elsewhere, as values.
 *
 * A question is an object with the key "question" and its parameters; an answer
 * is an object. A channel of a server carries them as "ask" and "answer", and
 * puts "kind" and "id" beside the question, which are ignored here.
 *
 *   resume         {"branch","piece","generation","after","seq","limit",
 *                   "shared"?}           -> a page (proto/resume.h)
 *   resumeCount    the same              -> {"count"}
 *   changed        {"branch","above","reads":[[id,scope,pointer],...]}
 *                                        -> {"seq","changed":[[deep,shape],..]}
 *   events         {"branch","after","limit"}
 *                                        -> {"events":[[number,id,document],
 *                                           ...],"atWork":[instance,...]}; from
 *                                           now on the channel reports when
 *                                           the space has moved
 *   timers         {"branch","due","number","until","limit"}
 *                                        -> {"events":[...],"next"?}
 *   timersNamed    {"branch","prefix"}   -> {"events":[...]}
 *   forgetPiece    {"branch","piece"}    -> {}
 *   forgetActions  {"branch","piece","actions":[digest,...]}   -> {}
 *   mirror         {"space","branch","piece","here","seq"?,
 *                   "reads":[[id,kind,pointer],...]}           -> {}
 *   claim          {"claim":"task","name","about"?}  -> {"held":true}
 *   release        {"claim","name"}                  -> {}
 *   isHeld         {"claim","name"}                  -> {"held":true or false}
 *   seq            {}                    -> {"seq"}: the head
 *
 * A branch is a string, "" is the main one. A claim of the kind "session" or
 * "presence" has no name: it is about the session that asks.
 *
 *   questions-1  questions_answer trusts nothing, changes nothing if it fails,
 *                and answers for the identity of its context: a question cannot
 *                name a user or a session.
 *   questions-2  Neither question nor answer is larger than its limit, and a
 *                listing that would be continues in the next answer.
 *   questions-3  The functions that ask trust no answer: PROTOCOL. */

#ifndef HOST_QUESTIONS_H
#define HOST_QUESTIONS_H

#include "host/claims.h"
#include "host/client_leases.h"
#include "host/store_access.h"

enum {
    QUESTIONS_ACTIONS_MAX = 4000, /* of one page of "resume" */
    QUESTIONS_EVENTS_MAX = 1000,  /* of one listing */
    QUESTIONS_NAMED_MAX = 10000,  /* of "timersNamed" */
    QUESTIONS_READS_MAX = 100000, /* of "changed" and "mirror" */
};

/* -- Answering ----------------------------------------------------------- */

/* The channel that asks; all borrowed. */
struct questions_context {
    struct identity identity; /* authenticated */
    struct value instance;    /* of its runtime, a string; or absent: then the
                                 session stands for it */
    bool may_write;
    struct client_leases *leases; /* of the space; NULL: no claims are given */
    struct lease_holder *holder;  /* of the channel */
    bool *follows;                /* set by "events"; or NULL */
};

/* The answer, new. NOT_FOUND: no question of that name; ACCESS; PROTOCOL: a
 * parameter is invalid, with its name; what the functions of the engine say.
 * May change rows, but no document. Not inside a transaction. */
MUST_CHECK enum err questions_answer(struct engine *engine,
                                     const struct questions_context *context,
                                     struct value question,
                                     struct value *answer,
                                     struct err_detail *detail);

/* -- Asking -------------------------------------------------------------- */

/* Sends a question and waits for its answer, new. Errors: what the server
 * answered, UNREACHABLE, TIMEOUT, INTERRUPTED. */
typedef enum err questions_ask_fn(void *ctx,
                                  struct value question,
                                  struct value *answer,
                                  struct err_detail *detail);

/* The claims of a runtime, by way of one space. */
struct asked_claims {
    struct claims claims;
    questions_ask_fn *ask;
    void *ctx;
    struct list taken;    /* struct asked_claim: questions_ask.c */
    struct value at_work; /* while events are listed: the instances of their
                             senders that are alive, an array; else absent */
};

void asked_claims_init(struct asked_claims *claims,
                       questions_ask_fn *ask,
                       void *ctx);
void asked_claims_release(struct asked_claims *claims);

/* After the connection was replaced: takes everything again that is claimed. A
 * claim that another runtime has taken meanwhile is lost. */
void asked_claims_renew(struct asked_claims *claims);

/* The store of a space. */
struct asked_store {
    struct store_access store;
    questions_ask_fn *ask;
    void *ctx;
    struct asked_claims *claims; /* of the runtime, or NULL */
    struct path_table paths;     /* of pages */
};

void asked_store_init(struct asked_store *store,
                      questions_ask_fn *ask,
                      void *ctx,
                      struct asked_claims *claims);
void asked_store_release(struct asked_store *store);

/* Claims the session that asks: SESSION_IN_USE. And tells who is there
 * (host/presence.h). */
MUST_CHECK enum err questions_claim_session(questions_ask_fn *ask,
                                            void *ctx,
                                            struct err_detail *detail);
MUST_CHECK enum err questions_begin_presence(questions_ask_fn *ask,
                                             void *ctx,
                                             struct value about,
                                             struct err_detail *detail);

/* {"question":name}, new. */
struct value question_new(const char *name);

#endif
