/* Where a runtime of the program lives: its connection to files, clock and
 * other processes.
 *
 * Everything that the public functions ask of the host is here, and nothing
 * else of them knows which host it is. */

#ifndef API_HOME_H
#define API_HOME_H

#include "heddle/heddle.h"
#include "runtime/runtime.h"

struct home;

/* Borrowed for the call, but for the contexts. */
struct home_options {
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

MUST_CHECK enum err home_open(const struct home_options *options,
                              struct home **out,
                              struct err_detail *detail);
void home_close(struct home *home);

MUST_CHECK enum err home_open_space(struct home *home,
                                    const char *space,
                                    struct err_detail *detail);

struct runtime *home_runtime(struct home *home);

/* The directory, or NULL: in memory. Borrowed. */
const char *home_directory(const struct home *home);

/* Commits that have no answer. */
size_t home_outstanding(const struct home *home);

mono_ms home_now(struct home *home);

/* Until it is set to 0, the clock says this, unless it was later already. */
void home_set_now(struct home *home, mono_ms now);

/* Sends what is to be sent, takes what has come, and runs what can run now, or
 * a part of it; whether anything ran. */
bool home_pass(struct home *home);

/* The same without running anything, until every commit has its answer: OK,
 * TIMEOUT, INTERRUPTED. */
MUST_CHECK enum err home_flush(struct home *home,
                               mono_ms deadline,
                               struct err_detail *detail);

mono_ms home_next_wake(const struct home *home);
int home_descriptor(const struct home *home);

/* Until an instant, or less long. */
void home_wait(struct home *home, mono_ms until);

/* From anywhere; and whether somebody has since the last time. */
void home_interrupt(struct home *home);
bool home_was_interrupted(struct home *home);

/* Nothing can run, and no piece is being started; and every commit has its
 * answer, and everything that was asked for is here. */
bool home_is_idle(struct home *home);
bool home_is_settled(struct home *home);

/* The sentence about what keeps commits from being answered; NULL: nothing that
 * is known. */
const char *home_trouble(const struct home *home);

/* Brings a document here, or says what keeps it away. */
MUST_CHECK enum err home_load(struct home *home,
                              struct entity *entity,
                              struct err_detail *detail);

/* The same for all documents that were requested. */
MUST_CHECK enum err home_load_requested(struct home *home,
                                        struct err_detail *detail);

#endif
