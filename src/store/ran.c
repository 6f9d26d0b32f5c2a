/* The ring of runs, and what was heard of it. */

#include "store/ran.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Sorted, each once. */
static void sort(ran_words *words)
{
    size_t kept = 0;
    if (words->count > 1) {
        qsort(words->at, words->count, sizeof *words->at, compare);
    }
    for (size_t i = 0; i < words->count; i++) {
        if (kept == 0 || words->at[kept - 1] != words->at[i]) {
            words->at[kept++] = words->at[i];
        }
    }
    words->count = kept;
}

/* -- Reading the ring ---------------------------------------------------- */

/* Everything announced so far is added to `waiting`. Entries that are
 * overwritten while they are read are detected afterwards: a writer sets
 * `begun` before it writes entries, so a reader that has seen one of them sees
 * `begun` as well. */
static void listen(struct ran *ran)
{
    const struct ran_ring *ring = ran->ring;
    const uint64_t end = atomic_load_explicit(&ring->end, memory_order_acquire);
    uint64_t from = ran->heard;
    if (end - from > RAN_WORDS) { /* also if the file has another past */
        ran->missed = true;
        from = end;
    }
    const size_t before = ran->waiting.count;
    for (uint64_t at = from; at < end; at++) {
        const uint64_t word = atomic_load_explicit(&ring->words[at % RAN_WORDS],
                                                   memory_order_relaxed);
        if (word != 0) {
            vec_push(&ran->waiting, word);
        } else {
            ran->missed = true;
        }
    }
    atomic_thread_fence(memory_order_acquire);
    const uint64_t begun =
        atomic_load_explicit(&ring->begun, memory_order_relaxed);
    if (begun > from && begun - from > RAN_WORDS) {
        ran->missed = true;
        ran->waiting.count = before;
    }
    ran->heard = end;
}

void ran_hear(struct ran *ran, bool hears)
{
    ran->hears = hears && ran->ring != NULL;
    ran->missed = false;
    vec_clear(&ran->waiting);
    if (ran->hears) {
        ran->heard = atomic_load(&ran->ring->end);
    }
}

void ran_listen(struct ran *ran)
{
    if (ran->hears) {
        listen(ran);
    }
}

bool ran_is_waiting(const struct ran *ran)
{
    return ran->hears && (ran->missed || ran->waiting.count > 0 ||
                          atomic_load(&ran->ring->end) != ran->heard);
}

bool ran_take(struct ran *ran, ran_words *out)
{
    vec_clear(out);
    sort(&ran->waiting);
    VEC_FOREACH (&ran->waiting, word) {
        vec_push(out, *word);
    }
    vec_clear(&ran->waiting);
    const bool all = !ran->missed;
    ran->missed = false;
    return all;
}

/* -- Writing to the ring ------------------------------------------------- */

/* N2: both are sorted. */
static void drop_own(struct ran *ran)
{
    size_t own = 0;
    size_t kept = 0;
    for (size_t i = 0; i < ran->waiting.count; i++) {
        const uint64_t word = ran->waiting.at[i];
        while (own < ran->own.count && ran->own.at[own] < word) {
            own++;
        }
        if (own == ran->own.count || ran->own.at[own] != word) {
            ran->waiting.at[kept++] = word;
        }
    }
    ran->waiting.count = kept;
}

static void say(struct ran *ran)
{
    struct ran_ring *ring = ran->ring;
    uint64_t end = atomic_load_explicit(&ring->end, memory_order_relaxed);
    atomic_store_explicit(&ring->begun,
                          end + ran->own.count,
                          memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    VEC_FOREACH (&ran->own, word) {
        atomic_store_explicit(&ring->words[end % RAN_WORDS],
                              *word,
                              memory_order_relaxed);
        end++;
    }
    atomic_store_explicit(&ring->end, end, memory_order_release);
    ran->heard = end;
}

void ran_end(struct ran *ran, bool committed)
{
    if (committed && ran->own.count > 0) {
        ran_listen(ran);
        if (ran->waiting.count > 0) {
            sort(&ran->waiting);
            sort(&ran->own);
            drop_own(ran);
        }
        say(ran);
    }
    vec_clear(&ran->own);
}

void ran_release(struct ran *ran)
{
    vec_release(&ran->own);
    vec_release(&ran->waiting);
    *ran = (struct ran){0};
}
