/* The ring of runs, and what was heard of it. */

#include "store/run_ring.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Sorted, each once. */
static void sort(run_words *words)
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
static void listen(struct run_ring *run_ring)
{
    const struct run_ring_page *ring = run_ring->ring;
    const uint64_t end = atomic_load_explicit(&ring->end, memory_order_acquire);
    uint64_t from = run_ring->heard;
    if (end - from > RUN_RING_SIZE) { /* also if the file has another past */
        run_ring->missed = true;
        from = end;
    }
    const size_t before = run_ring->waiting.count;
    for (uint64_t at = from; at < end; at++) {
        const uint64_t word =
            atomic_load_explicit(&ring->words[at % RUN_RING_SIZE],
                                 memory_order_relaxed);
        if (word != 0) {
            vec_push(&run_ring->waiting, word);
        } else {
            run_ring->missed = true;
        }
    }
    atomic_thread_fence(memory_order_acquire);
    const uint64_t begun =
        atomic_load_explicit(&ring->begun, memory_order_relaxed);
    if (begun > from && begun - from > RUN_RING_SIZE) {
        run_ring->missed = true;
        run_ring->waiting.count = before;
    }
    run_ring->heard = end;
}

void run_ring_hear(struct run_ring *run_ring, bool hears)
{
    run_ring->hears = hears && run_ring->ring != NULL;
    run_ring->missed = false;
    vec_clear(&run_ring->waiting);
    if (run_ring->hears) {
        run_ring->heard = atomic_load(&run_ring->ring->end);
    }
}

void run_ring_listen(struct run_ring *run_ring)
{
    if (run_ring->hears) {
        listen(run_ring);
    }
}

bool run_ring_is_waiting(const struct run_ring *run_ring)
{
    return run_ring->hears &&
           (run_ring->missed || run_ring->waiting.count > 0 ||
            atomic_load(&run_ring->ring->end) != run_ring->heard);
}

bool run_ring_take(struct run_ring *run_ring, run_words *out)
{
    vec_clear(out);
    sort(&run_ring->waiting);
    VEC_FOREACH (&run_ring->waiting, word) {
        vec_push(out, *word);
    }
    vec_clear(&run_ring->waiting);
    const bool all = !run_ring->missed;
    run_ring->missed = false;
    return all;
}

/* -- Writing to the ring ------------------------------------------------- */

/* run-ring-2: both are sorted. */
static void drop_own(struct run_ring *run_ring)
{
    size_t own = 0;
    size_t kept = 0;
    for (size_t i = 0; i < run_ring->waiting.count; i++) {
        const uint64_t word = run_ring->waiting.at[i];
        while (own < run_ring->own.count && run_ring->own.at[own] < word) {
            own++;
        }
        if (own == run_ring->own.count || run_ring->own.at[own] != word) {
            run_ring->waiting.at[kept++] = word;
        }
    }
    run_ring->waiting.count = kept;
}

static void say(struct run_ring *run_ring)
{
    struct run_ring_page *ring = run_ring->ring;
    uint64_t end = atomic_load_explicit(&ring->end, memory_order_relaxed);
    atomic_store_explicit(&ring->begun,
                          end + run_ring->own.count,
                          memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    VEC_FOREACH (&run_ring->own, word) {
        atomic_store_explicit(&ring->words[end % RUN_RING_SIZE],
                              *word,
                              memory_order_relaxed);
        end++;
    }
    atomic_store_explicit(&ring->end, end, memory_order_release);
    run_ring->heard = end;
}

void run_ring_end(struct run_ring *run_ring, bool committed)
{
    if (committed && run_ring->own.count > 0) {
        run_ring_listen(run_ring);
        if (run_ring->waiting.count > 0) {
            sort(&run_ring->waiting);
            sort(&run_ring->own);
            drop_own(run_ring);
        }
        say(run_ring);
    }
    vec_clear(&run_ring->own);
}

void run_ring_release(struct run_ring *run_ring)
{
    vec_release(&run_ring->own);
    vec_release(&run_ring->waiting);
    *run_ring = (struct run_ring){0};
}
