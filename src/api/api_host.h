/* Where a runtime of the program lives: its connection to files, clock and
 * other processes.
 *
 * Everything that the public functions ask of the host is here, and nothing
 * else of them knows which host it is. */

#ifndef API_API_HOST_H
#define API_API_HOST_H

#include "heddle/heddle.h"
#include "runtime/runtime.h"

struct api_host;

/* Borrowed for the call, but for the contexts. */
struct api_host_options {
    const hd_runtime_options *given;
    struct sched_hooks hooks;

    /* Asked while a piece is taken up: whether to go on. */
    bool (*on_actions)(void *ctx, uint64_t actions, uint64_t total);

    /* The disk of a space fails, or does no more: then it is NULL. */
    void (*on_trouble)(void *ctx,
                       struct space *space,
                       const struct err_detail *trouble);
    void *ctx;
};

MUST_CHECK enum err api_host_open(const struct api_host_options *options,
                                  struct api_host **out,
                                  struct err_detail *detail);
void api_host_close(struct api_host *api_host);

MUST_CHECK enum err api_host_open_space(struct api_host *api_host,
                                        const char *space,
                                        struct err_detail *detail);

struct runtime *api_host_runtime(struct api_host *api_host);

/* The directory, or NULL: in memory. Borrowed. */
const char *api_host_directory(const struct api_host *api_host);

/* Commits that have no answer. */
size_t api_host_outstanding(const struct api_host *api_host);

mono_ms api_host_now(struct api_host *api_host);

/* Until it is set to 0, the clock says this, unless it was later already. */
void api_host_set_now(struct api_host *api_host, mono_ms now);

/* Sends what is to be sent, takes what has come, and runs what can run now, or
 * a part of it; whether anything ran. */
bool api_host_pass(struct api_host *api_host);

/* The same without running anything, until every commit has its answer: OK,
 * TIMEOUT, INTERRUPTED. */
MUST_CHECK enum err api_host_flush(struct api_host *api_host,
                                   mono_ms deadline,
                                   struct err_detail *detail);

mono_ms api_host_next_wake(const struct api_host *api_host);
int api_host_descriptor(const struct api_host *api_host);

/* Until an instant, or less long. */
void api_host_wait(struct api_host *api_host, mono_ms until);

/* Interrupts, from any thread; and whether that happened since the last call.
 */
void api_host_interrupt(struct api_host *api_host);
bool api_host_was_interrupted(struct api_host *api_host);

/* Nothing can run, and no piece is being started; and every commit has its
 * answer, and everything that was asked for is here. */
bool api_host_is_idle(struct api_host *api_host);
bool api_host_is_settled(struct api_host *api_host);

/* The sentence about what keeps commits from being answered; NULL: nothing that
 * is known. */
const char *api_host_trouble(const struct api_host *api_host);

/* Brings a document here, or says what keeps it away. */
MUST_CHECK enum err api_host_load(struct api_host *api_host,
                                  struct entity *entity,
                                  struct err_detail *detail);

/* The same for all documents that were requested. */
MUST_CHECK enum err api_host_load_requested(struct api_host *api_host,
                                            struct err_detail *detail);

#endif
