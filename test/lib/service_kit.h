/* A service in memory with a daemon that does what a test says: it keeps the
 * requests that it got, and answers when, how and how often it is told to. */

#ifndef TEST_LIB_SERVICE_KIT_H
#define TEST_LIB_SERVICE_KIT_H

#include "lib/registry_check.h"
#include "lib/store_kit.h"
#include "service/service.h"

struct kept_request {
    enum daemon_verb verb;
    char id[REGISTRY_NAME_SIZE]; /* of the thread, or else the environment */
    char token[REGISTRY_NAME_SIZE];
    char input[64];
};

struct service_kit {
    struct store_kit store;
    struct recorder recorder;
    struct daemon daemon;
    struct service service;
    struct service_outcome outcome; /* of the last call */
    struct err_detail detail;
    uint64_t now;
    VEC(struct kept_request) requests;
    size_t shown; /* how many of them service_kit_sent has shown */
    uint64_t changes;
    struct buf text;
    struct buf sent;
};

/* With a daemon connected, as instance "i1". */
void service_kit_open(struct service_kit *kit);
/* Checks the documents once more. */
void service_kit_close(struct service_kit *kit);
/* The process ends and begins again; nobody is connected. */
void service_kit_restart(struct service_kit *kit);

/* Calls; the name of the outcome's kind, or of the reason of a refusal. */
const char *kit_create(struct service_kit *kit,
                       const char *thread,
                       const char *environment);
const char *kit_send(struct service_kit *kit,
                     const char *thread,
                     const char *input);
const char *kit_queue(struct service_kit *kit,
                      const char *thread,
                      const char *input);
const char *kit_call(struct service_kit *kit, service_fn *call, const char *id);
void kit_sweep(struct service_kit *kit);

/* Answers the last request of that verb for that id; `back` says how many
 * before it. */
void kit_answer(struct service_kit *kit,
                enum daemon_verb verb,
                const char *id,
                bool ok,
                size_t back);

/* Reports a turn, of the last RUN of the thread or one before it. */
void kit_turn(struct service_kit *kit,
              enum daemon_turn turn,
              const char *thread,
              size_t back);

/* Opens a session in which the last run of each thread named is running;
 * `threads` are words, or "". */
void kit_session(struct service_kit *kit,
                 const char *instance,
                 const char *threads);

/* The token of the last request of that verb for that id. */
const char *kit_token(struct service_kit *kit,
                      enum daemon_verb verb,
                      const char *id,
                      size_t back);

/* What was sent since the last time: "run t1;stop t2;". */
const char *service_kit_sent(struct service_kit *kit);

/* All rows: "t=active(archived) e=ready". */
const char *kit_rows(struct service_kit *kit);

/* What the log says since the last time. */
const char *kit_log(struct service_kit *kit);

#endif
