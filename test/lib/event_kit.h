/* Events on a stage: what lib/sched_kit.h is for nodes. Streams are places,
 * handlers say in one line what they read and write, and everything that is
 * handled, and how what was sent ended, is written down.
 *
 *   struct scene on;
 *   scene_begin(&on, AT_HOME);
 *   struct sched_kit *kit = &on.kit;
 *   kit_set_all(kit, "a=1");
 *   scene_on(&on, "H", "stream", "a -> r", handle_sum, 0);
 *   scene_send(&on, "stream", "5");
 *   EXPECT_IDLE(kit);
 *   EXPECT_TEXT(scene_handled(&on), "H=5");
 *   EXPECT_TEXT(scene_ended(&on), "5 done;");
 *   scene_end(&on);
 *
 * At home, the space is its own authority. Otherwise there is a real store in
 * memory behind a link that answers at once, or one whose messages wait for
 * scene_pump. Several runtimes can share one store (scene_begin_beside), and a
 * runtime can have a second space with a store of its own (>a). The next
 * commits can be made to be refused: the store refuses them itself, because
 * they say to have read what is long gone; on its way back the answer gets the
 * name that the test wants.
 *
 * scene_end fails if anything that was sent has not ended exactly once. */

#ifndef TEST_LIB_EVENT_KIT_H
#define TEST_LIB_EVENT_KIT_H

#include "host/hub_link.h"
#include "lib/sched_kit.h"
#include "lib/store_kit.h"
#include "sched/handling.h"
#include "sched/lineage.h"

enum scene_where {
    AT_HOME,       /* without a store */
    AT_STORE,      /* that answers at once */
    AT_STORE_HELD, /* when it is pumped */
};

enum {
    SCENE_SPACES = 2,
};

struct scene_handler;
struct scene;
struct scene_store;

/* A refusal that is under way. */
struct scene_refusal {
    uint64_t local_seq;
    enum err err;
};

/* Between a session and its link. */
struct scene_link {
    struct transport transport;
    struct hub_link link;
    void (*send)(void *ctx, struct message *message); /* the link's own */
    VEC(enum err) refusals;                           /* of the next commits */
    VEC(struct scene_refusal) refused;
    uint64_t commits; /* that were sent, repetitions included */
};

/* What was sent, and what became of it. */
struct scene_sent {
    struct scene *on;
    struct buf payload; /* as text */
    unsigned ended;     /* how often `done` was called */
    enum event_outcome outcome;
    struct err_detail error;
    uint32_t attempts;
    struct buf id;
    struct buf receipt_id; /* "()": there is none; likewise */
    struct buf receipt;
    void (*then)(struct scene_sent *sent); /* from inside `done`; or NULL */
};

struct scene {
    struct sched_kit kit;
    struct scene_store *stores[SCENE_SPACES]; /* NULL: there is none */
    struct scene_link *links[SCENE_SPACES];
    char instance[KIT_NAME_MAX];
    VEC(struct scene_handler *) handlers;
    VEC(struct scene_sent *) sent;
    struct buf handled;
    struct buf ended;
};

/* -- Life ---------------------------------------------------------------- */

void scene_begin(struct scene *on, enum scene_where where);

/* Another runtime on the store of `other`, which ends later. Its session and
 * its instance have this name; two with the same one take it from each
 * other. */
void scene_begin_beside(struct scene *on,
                        struct scene *other,
                        const char *session,
                        enum scene_where where);
void scene_open_second(struct scene *on, enum scene_where where);
void scene_end(struct scene *on);

/* The same, also if something has no answer yet. */
void scene_drop(struct scene *on);

/* Before the first stream. */
void scene_policy(struct scene *on, const struct events_policy *policy);

/* Everything that waits on the links is delivered; on one of them only. */
void scene_pump(struct scene *on);
void scene_pump_one(struct scene *on, size_t space);

/* Idle, and everything answered: pumps, and lets time pass. False if that
 * cannot be. */
bool scene_settle(struct scene *on);
#define EXPECT_SETTLED(on) EXPECT(scene_settle(on))

/* The next `count` commits of the first space are refused with this. */
void scene_refuse(struct scene *on, enum err err, size_t count);

/* Somebody else's commit at the store, and what it holds, as kit_elsewhere and
 * kit_stored; with > in front, at the second one. */
void scene_elsewhere(struct scene *on, const char *operation);
const char *scene_stored(struct scene *on, const char *name);

/* -- Handlers ------------------------------------------------------------ */

typedef enum run_result scene_fn(struct handling *handling,
                                 struct scene_handler *handler);

struct scene_handler {
    struct scene *on;
    struct handler *handler; /* NULL: cancelled */
    char name[KIT_NAME_MAX];
    scene_fn *fn;
    void *ctx;
    int64_t k;
    const char *target; /* a stream that it sends to */
    struct kit_place reads[KIT_PLACES_MAX];
    size_t read_count;
    struct kit_place writes[KIT_PLACES_MAX];
    size_t write_count;
    uint64_t runs;
    unsigned released;
    struct buf seen; /* payloads */
};

struct scene_handler_spec {
    const char *stream;
    const char *surface; /* "a -b -> c": -b is read without being declared */
    scene_fn *fn;
    void *ctx;
    int64_t k;
    const char *target;
    enum err (*declare)(void *ctx, /* struct scene_handler */
                        struct value payload,
                        struct closure *closure,
                        struct err_detail *detail);
    bool pure;
    bool several_spaces;
    bool replace;
};

/* The handler belongs to the kit and is there until scene_end. NULL if it was
 * refused: then *detail says why. */
struct scene_handler *scene_try_handle(struct scene *on,
                                       const char *name,
                                       const struct scene_handler_spec *spec,
                                       struct err_detail *detail);
struct scene_handler *scene_handle(struct scene *on,
                                   const char *name,
                                   const struct scene_handler_spec *spec);
struct scene_handler *scene_on(struct scene *on,
                               const char *name,
                               const char *stream,
                               const char *surface,
                               scene_fn *fn,
                               int64_t k);
void scene_cancel(struct scene_handler *handler);

/* Ready-made. Payloads that are not numbers count as 0. */
enum run_result handle_nothing(struct handling *handling,
                               struct scene_handler *handler);
/* All outputs become the payload. */
enum run_result handle_store(struct handling *handling,
                             struct scene_handler *handler);
/* They become the sum of the inputs, the payload and k. */
enum run_result handle_sum(struct handling *handling,
                           struct scene_handler *handler);
/* Each of them grows by the payload: read, and written. */
enum run_result handle_count(struct handling *handling,
                             struct scene_handler *handler);
/* The payload is appended to each: by an operation that merges; and by writing
 * the whole array anew. */
enum run_result handle_append(struct handling *handling,
                              struct scene_handler *handler);
enum run_result handle_append_whole(struct handling *handling,
                                    struct scene_handler *handler);
/* Stores, and sends the payload and k more to its target. */
enum run_result handle_forward(struct handling *handling,
                               struct scene_handler *handler);
/* Stores, and fails. */
enum run_result handle_fail(struct handling *handling,
                            struct scene_handler *handler);

/* For functions: an input, new; as a number; an output, adopted; and the
 * payload as a number. */
struct value handler_input(struct handling *handling,
                           struct scene_handler *handler,
                           size_t index);
int64_t handler_number(struct handling *handling,
                       struct scene_handler *handler,
                       size_t index);
void handler_output_adopt(struct handling *handling,
                          struct scene_handler *handler,
                          size_t index,
                          struct value value);
int64_t handler_payload(struct handling *handling);

/* -- Sending ------------------------------------------------------------- */

struct scene_sending {
    const char *payload; /* quoted JSON; NULL: none */
    const char *id;
    const char *session;
    struct transaction *origin;
    struct handling *handling; /* sent from inside it */
    uint64_t time;
    bool no_retry;
    bool known;
    void (*then)(struct scene_sent *sent);
};

/* The record belongs to the kit. NULL if it was refused. */
struct scene_sent *scene_try_send(struct scene *on,
                                  const char *stream,
                                  const struct scene_sending *sending,
                                  struct err_detail *detail);
struct scene_sent *scene_send_with(struct scene *on,
                                   const char *stream,
                                   const struct scene_sending *sending);
struct scene_sent *scene_send(struct scene *on,
                              const char *stream,
                              const char *payload);
struct scene_sent *scene_send_number(struct scene *on,
                                     const char *stream,
                                     int64_t number);
/* The caller's own id, in the session "caller". */
struct scene_sent *scene_send_as(struct scene *on,
                                 const char *stream,
                                 const char *id,
                                 const char *payload);
struct scene_sent *scene_send_from(struct scene *on,
                                   const char *stream,
                                   struct transaction *origin,
                                   const char *payload);

struct stream *scene_stream(struct scene *on, const char *name);

/* Looks, and forgets: "H=1 G=2"; "1 done; 2 dropped RECEIPT_EXISTS;". */
const char *scene_handled(struct scene *on);
const char *scene_ended(struct scene *on);

const struct events_counters *scene_counters(struct scene *on);

/* "done", "dropped NAME", "failed NAME", or "waits". */
const char *scene_end_of(struct scene_sent *sent);
#define EXPECT_END(sent, want) EXPECT_TEXT(scene_end_of(sent), (want))

#endif
