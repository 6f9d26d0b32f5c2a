/* Shared by the files of the service: one call as a step, with everything that
 * happens in its transaction.
 *
 * A function here works inside a transaction and returns a fault or OK; its
 * decision about the caller's request is in step->outcome. */

#ifndef SERVICE_SERVICE_INTERNAL_H
#define SERVICE_SERVICE_INTERNAL_H

#include "lifecycle/environment.h"
#include "service/service.h"
#include "store/lifecycle.h"

struct service_mail {
    enum daemon_verb verb;
    char environment[REGISTRY_NAME_SIZE];
    char thread[REGISTRY_NAME_SIZE];
    char token[REGISTRY_NAME_SIZE];
    struct value workspace;
    struct value input;
    bool is_stray; /* about a run that no row has: nothing to claim */
};

struct step {
    struct service *service;
    uint64_t now;
    struct service_outcome *outcome;
    struct err_detail *detail;
};

/* -- Steps (service.c) --------------------------------------------------- */

/* The outcome is ACCEPTED unless set otherwise. */
MUST_CHECK enum err step_begin(struct step *step);

/* Commits, unless `err` is an error or the outcome is REFUSED; then sends
 * (service-1).
 */
MUST_CHECK enum err step_end(struct step *step, enum err err);

/* Sets the outcome; always OK, so that it can be returned. */
__attribute__((format(printf, 3, 4))) enum err step_refuse(
    struct step *step,
    enum service_reason reason,
    const char *format,
    ...);
__attribute__((format(printf, 2, 3))) enum err step_nothing(struct step *step,
                                                            const char *format,
                                                            ...);
bool step_is_refused(const struct step *step);

/* A new token: "r12", unique for a row. */
void step_token(const struct step *step, char kind, char *out);

/* Claims and posts a request, unless it is in flight or no daemon is connected.
 */
void step_post(struct step *step, const struct service_mail *mail);

/* Claims are by id and token (service-2). */
bool inflight_is_held(struct service *service,
                      enum daemon_verb verb,
                      const char *id,
                      const char *token);
void inflight_end(struct service *service,
                  enum daemon_verb verb,
                  const char *id,
                  const char *token);

/* -- Environments (environments.c) --------------------------------------- */

MUST_CHECK enum err environment_event(struct step *step,
                                      const char *id,
                                      enum environment_event event,
                                      const char *attempt,
                                      bool *applied);

/* How many of its threads are live, and how many wait for a run or have one. */
struct environment_use {
    size_t live;
    size_t starting;
    size_t busy; /* starting, active or stopping */
};

MUST_CHECK enum err environment_use(struct step *step,
                                    const char *id,
                                    struct environment_use *out);

/* Whether a turn can run here. Refused: no. Otherwise it is ready, or being
 * provisioned, possibly since just now. */
MUST_CHECK enum err environment_wake(struct step *step,
                                     const char *id,
                                     bool *is_ready);

/* No thread is left: one step towards its end, if it is managed. */
MUST_CHECK enum err environment_advance(struct step *step, const char *id);

/* A thread that waited for it has stopped waiting. */
MUST_CHECK enum err environment_unwanted(struct step *step, const char *id);

/* Provisioning failed, or its answer is lost: the waiting threads fail, too. */
MUST_CHECK enum err environment_fail(struct step *step, const char *id);

/* The answers to PROVISION, CANCEL and DESTROY. */
MUST_CHECK enum err environment_answer(struct step *step,
                                       const struct daemon_answer *answer);

void environment_post_provision(struct step *step,
                                const struct environment_row *row);
void environment_post_destroy(struct step *step,
                              const struct environment_row *row,
                              const char *attempt);

/* -- Threads (threads.c) ------------------------------------------------- */

/* `run` may be the row's own. Includes what follows from coming to rest. */
MUST_CHECK enum err thread_event(struct step *step,
                                 const char *id,
                                 const struct lifecycle_report *report,
                                 bool *applied);

/* Gives a turn to a resting thread, or refuses. */
MUST_CHECK enum err thread_give_turn(struct step *step,
                                     const struct thread_row *row,
                                     struct value input);

/* Gives the first waiting message, if it can run now. Refuses nothing. */
MUST_CHECK enum err thread_give_message(struct step *step, const char *id);

/* Sends the run of a thread that is starting, or the stop of any run. */
MUST_CHECK enum err thread_post_run(struct step *step, const char *id);
void thread_post_stop(struct step *step,
                      const struct thread_row *row,
                      const char *run);

/* Calls `each` for the ids of a set (registry_list). */
typedef enum err each_fn(struct step *step, const char *id, void *ctx);
MUST_CHECK enum err step_each(struct step *step,
                              enum registry_set set,
                              const char *key,
                              each_fn *each,
                              void *ctx);

#endif
