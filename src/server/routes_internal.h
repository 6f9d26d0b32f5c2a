/* What the files of the routes share: the table, a call, and waiting requests.
 *
 * routes.c matches and dispatches; routes_request.c reads paths, queries and
 * headers; routes_answer.c writes answers; routes_space.c has what waits;
 * routes_session.c the sessions that commit; and one file per group of routes
 * has the functions. */

#ifndef SERVER_ROUTES_INTERNAL_H
#define SERVER_ROUTES_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "base/random.h"
#include "base/vec.h"
#include "server/routes.h"
#include "value/json.h"

/* -- The table ----------------------------------------------------------- */

enum route_right {
    RIGHT_ANYONE,
    RIGHT_CALLER, /* whom the server has let in */
    RIGHT_OPERATOR,
    RIGHT_READ,
    RIGHT_WRITE,
    RIGHT_COUNT,
};

/* Query parameters. Some have one name and different types. */
enum route_parameter {
    PARAMETER_PATH,
    PARAMETER_AT,
    PARAMETER_SCOPE,
    PARAMETER_AFTER_NAME,
    PARAMETER_AFTER_SEQ,
    PARAMETER_TO,
    PARAMETER_LIMIT,
    PARAMETER_ID,
    PARAMETER_PIECE,
    PARAMETER_PIECES,
    PARAMETER_TIMEOUT,
    PARAMETER_FAILED,
    PARAMETER_ORIGIN,
    PARAMETER_NOT,
    PARAMETER_COUNT,
};

enum parameter_type {
    PARAMETER_TEXT,
    PARAMETER_POINTER, /* a JSON Pointer */
    PARAMETER_NUMBER,
    PARAMETER_FLAG, /* "true" or "false" */
    PARAMETER_LIST, /* may be repeated: texts */
};

struct parameter_row {
    const char *name;
    enum parameter_type type;
    const char *about;
    uint64_t initial; /* of a number, if it is not given, */
    uint64_t most;    /* and the largest; 0: any */
};

extern const struct parameter_row route_parameters[PARAMETER_COUNT];

#define PARAMETER_BIT(name) (1U << PARAMETER_##name)

/* Request headers that a route looks at. */
enum route_request_header {
    HEADER_IF_MATCH = 1,
    HEADER_IDEMPOTENCY_KEY = 2,
    HEADER_PREFER = 4,
    HEADER_LAST_EVENT_ID = 8,
    HEADER_IF_NONE_MATCH = 16,
};

enum {
    ROUTE_NAMES = 3,           /* captured in a pattern */
    ROUTE_STATUSES = 10,       /* that a route answers with, besides those that
                                  every route has */
    ROUTE_NAME_BYTES = 1024,   /* of a name in a path, decoded */
    ROUTE_TEXT_BYTES = 65536,  /* of a text in a query, decoded */
    ROUTE_LIST_MAX = 1000,     /* texts of a repeated parameter */
    ROUTE_KEY_BYTES = 255,     /* of an Idempotency-Key */
    ROUTE_PAGE = 100,          /* entries of a page, */
    ROUTE_PAGE_MAX = 1000,     /* at most */
    ROUTE_WAITING_MAX = 10000, /* requests and streams of a space */
    ROUTE_TIMEOUT_MS = 10000,  /* of an event, unless ?timeout= says else */
    ROUTE_TIMEOUT_MAX_MS = 120000,
    ROUTE_HEARTBEAT_MS = 15000, /* of a stream */
    ROUTE_RETRY_MS = 1000,      /* when to come back after a limit */
    ROUTE_ATTEMPTS = 8,         /* of a write that conflicts */
    ROUTE_RESOLVED_MAX = 10000, /* documents behind the links of a piece */
};

struct route_call;
typedef enum err route_fn(struct route_call *call);

struct route {
    const char *method;
    const char *pattern; /* "/v1/spaces/{space}/docs/{id}": a name may contain
                            '/', except that of a space */
    enum route_right right;
    route_fn *handle;
    uint32_t parameters; /* PARAMETER_BIT */
    uint32_t required;
    uint32_t headers;         /* enum route_request_header */
    const char *request_type; /* content types of the body, separated by
                                 blanks; NULL: no body is read */
    const char *answer_type;
    bool is_stream;
    const char *summary;
    const char *about;
    unsigned statuses[ROUTE_STATUSES]; /* up to the first 0 */
};

extern const struct route routes_table[];
extern const size_t routes_count;

/* -- A call -------------------------------------------------------------- */

struct route_call {
    const struct route_context *context;
    const struct net_request *request;
    const struct route *route;
    struct value names[ROUTE_NAMES]; /* decoded, in the order of the pattern */
    uint32_t given;                  /* PARAMETER_BIT */
    struct value texts[PARAMETER_COUNT]; /* a list: an array */
    uint64_t numbers[PARAMETER_COUNT];   /* a flag: 0 or 1 */
    struct route_answer *answer;

    /* Of an error. */
    struct err_detail detail;
    unsigned http_status; /* 0: that of the code */
    struct value extra;   /* fields of the body beside code, class and message;
                             or absent */
    uint64_t retry_ms;
};

enum {
    NAME_SPACE,
    NAME_FIRST, /* of a document, a piece, an event, a node */
    NAME_SECOND,
};

static inline bool call_has(const struct route_call *call,
                            enum route_parameter parameter)
{
    return (call->given >> parameter & 1U) != 0;
}

struct route_space *call_space(const struct route_call *call);

/* The body as JSON; an empty body is absent. SYNTAX, limits. */
MUST_CHECK enum err call_read_body(struct route_call *call, struct value *out);

/* Whether the type of the body is this one; parameters of the type are
 * ignored. */
bool call_has_type(const struct route_call *call, const char *type);

/* The path of ?path= in documents; the root if it is not given. A reference. */
MUST_CHECK enum err call_read_path(struct route_call *call,
                                   struct path_table *paths,
                                   struct path **out);

/* -- Reading requests (routes_request.c) --------------------------------- */

/* Decodes percent-encoded text. False: malformed, a zero byte, or longer than
 * `most`. In a query, '+' is a blank. */
bool request_decode(const char *at,
                    size_t length,
                    bool is_query,
                    size_t most,
                    struct buf *to);

/* Whether the path has the form of the pattern: then the names, decoded. On an
 * error some names may be there; the caller releases all. */
enum request_match {
    REQUEST_OTHER,
    REQUEST_MATCHES,
    REQUEST_MALFORMED, /* it has the form, but a name is invalid */
};
enum request_match request_match(const char *pattern,
                                 const char *path,
                                 struct value names[ROUTE_NAMES]);

/* Reads the query into the call: unknown, repeated and malformed parameters
 * are errors. */
MUST_CHECK enum err request_read_query(struct route_call *call);

/* Whether a header with a list ("respond-async, wait=10") has an item. */
bool request_list_has(const char *list, const char *item);

/* Whether an If-Match or If-None-Match lists a tag, which is given without its
 * quotes; people may leave them out, too. Weak: also W/"tag" counts. */
bool request_tags_have(const char *list, const char *tag, bool is_weak);

/* A decimal number of at most INT64_MAX. */
bool request_read_number(const char *at, size_t length, uint64_t *out);

/* -- Answers (routes_answer.c) ------------------------------------------- */

#define ROUTE_JSON "application/json"

/* A header of the answer; left out if the value is too long. */
__attribute__((format(printf, 3, 4))) void answer_header(
    struct route_answer *answer,
    const char *name,
    const char *format,
    ...);

/* 200 with a value as JSON. Adopts it. */
void answer_json_adopt(struct route_answer *answer, struct value value);

/* "etag:" with a seq. */
void answer_etag(struct route_answer *answer, uint64_t seq);

/* Completes an answer to a GET: its ETag, a digest of the body unless the route
 * has set one, how long it may be kept, and 304 if the client has it. */
void answer_finish_read(struct route_answer *answer, const char *if_none_match);

/* "location:" of an event. */
void answer_location(struct route_answer *answer,
                     const char *space,
                     struct value event);

/* {"code":...,"class":...,"message":...}, new. */
struct value answer_describe(const struct err_detail *why);

/* The answer for an error of the call. */
void answer_call_error(struct route_call *call, enum err err);

/* The same without a call. `extra` may be absent; its fields are added. */
void answer_error(struct route_answer *answer,
                  const struct err_detail *why,
                  unsigned status,
                  struct value extra,
                  uint64_t retry_ms);

/* Appends text so that it can stand in a path. */
void answer_encode(struct buf *to, struct text text);

/* -- What waits (routes_space.c) ----------------------------------------- */

struct route_turn {
    mono_ms now;
    uint64_t wall_ms;
    route_deliver_fn *deliver;
    void *ctx;
};

struct route_wait;

struct route_wait_methods {
    /* It is ready, or due. May end it. */
    void (*step)(struct route_wait *wait, const struct route_turn *turn);

    /* The space or the server ends it: delivers the error. */
    void (*fail)(struct route_wait *wait,
                 const struct err_detail *why,
                 uint64_t retry_ms,
                 const struct route_turn *turn);
    void (*free)(struct route_wait *wait);
    bool reads; /* what it delivers is read from the space */
};

/* A request without an answer, or a stream. Part of a record of its owner. */
struct route_wait {
    const struct route_wait_methods *methods;
    struct route_space *space;
    net_id id;
    struct list_node in_space;
    struct list_node in_ready;
    mono_ms due;
    size_t at;                    /* in the heap; SIZE_MAX: not in it */
    mono_ms expires;              /* its credential; MONO_NEVER: never */
    bool has_credential;          /* if the host has given one: */
    struct credential credential; /* of the caller */
};

struct route_space {
    struct engine *engine;
    struct hub *hub;
    struct value name;
    const char *folder;
    struct random random;
    struct metrics *metrics;
    struct path_table paths;
    struct list waits;
    struct list ready;
    VEC(struct route_wait *) dues; /* a heap */
    size_t waiting;
    struct map by_id;     /* struct route_wait */
    struct list sessions; /* struct route_session, the last used one last */
    size_t session_count;
    uint32_t requests_per_second; /* of one principal; 0: no limit */
    struct map budgets;           /* struct route_budget, of this second */
    mono_ms second;               /* when it began */
    mono_ms now;
};

/* OVERLOADED: too many wait. The methods are set by the caller. */
MUST_CHECK enum err route_wait_begin(struct route_wait *wait,
                                     struct route_call *call);

/* Takes it out of everything, and calls `free`. */
void route_wait_end(struct route_wait *wait);

void route_wait_ready(struct route_wait *wait);

/* Everything that made it ready was dealt with. */
void route_wait_settled(struct route_wait *wait);
void route_wait_set_due(struct route_wait *wait, mono_ms due);

/* Delivers, counts and releases the answer. An answer that is complete ends the
 * wait; the caller must not use it afterwards. */
void route_wait_answer_adopt(struct route_wait *wait,
                             const struct route_turn *turn,
                             struct route_answer *answer);
void route_wait_chunk_adopt(struct route_wait *wait,
                            const struct route_turn *turn,
                            struct buf *chunk);
void route_wait_end_stream(struct route_wait *wait,
                           const struct route_turn *turn);

/* Counts an answer in the metrics, which may be NULL. */
void route_count(struct metrics *metrics, const struct route_answer *answer);

/* -- Limits (routes_budget.c) -------------------------------------------- */

/* Whether the principal may make another request in this second. */
bool route_budget_spend(struct route_space *space,
                        struct value principal,
                        mono_ms now);
void route_budgets_clear(struct route_space *space);

/* -- Peers of the hub (routes_peer.c) ------------------------------------ */

/* A connection to the hub in this process. */
struct route_peer {
    struct route_space *space;
    struct hub_peer *peer;
    uint64_t number; /* of the last message that was sent */

    /* Called inside the hub, which must not be called. */
    void (*received)(struct route_peer *peer, struct message *message);

    bool is_lost; /* broken or revoked, because of: */
    struct err_detail why;
};

/* Attaches and opens a session; `session` may be absent. */
void route_peer_open(struct route_peer *peer,
                     struct route_space *space,
                     struct value principal,
                     struct value session);
void route_peer_close(struct route_peer *peer);

/* The one behind a peer of the hub; NULL: it is not of a route. */
struct route_peer *route_peer_of(const struct hub_peer *peer);

/* Numbers, sends and releases it. */
void route_peer_send(struct route_peer *peer, struct message *message);

/* -- Sessions that commit (routes_session.c) ----------------------------- */

struct route_session;

/* A commit that waits for its verdict, part of the record of a wait. All zero:
 * none. */
struct route_commit {
    struct route_session *session; /* NULL: it is not sent */
    struct route_wait *wait;       /* made ready by the verdict */
    struct list_node in_session;
    uint64_t local_seq;
    bool is_decided;
    struct verdict verdict; /* of a lost connection: its error */
};

/* The session of a principal, which may be absent. Borrowed until the next
 * step. */
struct route_session *route_session_of(struct route_space *space,
                                       struct value principal);

/* An empty commit of the session, to be filled in. */
struct commit *route_commit_new(struct route_session *session);

/* Sends it. Adopts `commit`. */
void route_commit_send_adopt(struct route_commit *pending,
                             struct route_session *session,
                             struct route_wait *wait,
                             struct commit *commit);

/* The wait ends, or sends another one. */
void route_commit_release(struct route_commit *pending);

/* A document that a wait wants to see: each time it changes, `changed` is set
 * and the wait made ready. Part of the record of a wait. */
struct route_look {
    struct route_session *session; /* NULL: none */
    struct route_wait *wait;
    struct list_node in_session;
    struct value id;
    bool changed;
    struct value document; /* or absent */
    uint64_t seq;
};

void route_look_begin(struct route_look *look,
                      struct route_session *session,
                      struct route_wait *wait,
                      struct value id);
void route_look_end(struct route_look *look);

/* Why its session is gone, so that it will not change again; NULL: it is not.
 */
const struct err_detail *route_look_lost(const struct route_look *look);

/* Closes sessions that have not been used for a while. */
void route_sessions_sweep(struct route_space *space, mono_ms now);
void route_sessions_free(struct route_space *space);

/* -- Functions of the table ---------------------------------------------- */

enum err route_health(struct route_call *call);
enum err route_ready(struct route_call *call);
enum err route_metrics(struct route_call *call);
enum err route_openapi(struct route_call *call);
enum err route_spaces(struct route_call *call);
enum err route_space_about(struct route_call *call);
enum err route_document_get(struct route_call *call);
enum err route_document_put(struct route_call *call);
enum err route_document_patch(struct route_call *call);
enum err route_document_delete(struct route_call *call);
enum err route_pieces(struct route_call *call);
enum err route_piece(struct route_call *call);
enum err route_event_send(struct route_call *call);
enum err route_events(struct route_call *call);
enum err route_event(struct route_call *call);
enum err route_timers(struct route_call *call);
enum err route_log(struct route_call *call);
enum err route_graph(struct route_call *call);
enum err route_why(struct route_call *call);
enum err route_watch(struct route_call *call);

#endif
