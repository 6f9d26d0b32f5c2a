/* The last commits, and the last writes of some documents. */

#include "store/recent.h"

#include <string.h>

#include "base/mem.h"

enum {
    RECENT_COMMITS = 2048,
    RECENT_WRITES = 2048, /* per document */
};

struct recent_commit {
    uint64_t age; /* of the table when it was added */
    uint64_t session;
    uint64_t local_seq;
    uint64_t seq;
};

struct recent {
    uint64_t age; /* from 1 on; entries of another age are not valid */
    struct recent_commit commits[RECENT_COMMITS];
};

struct recent_write {
    uint64_t session;
    uint64_t local_seq;
    uint64_t seq;
};

/* Every write above `since`, in order. */
struct recent_writes {
    uint64_t since;
    VEC(struct recent_write) at;
};

/* -- Commits ------------------------------------------------------------- */

/* Consecutive numbers have consecutive slots, so a sequence of them never
 * evicts itself. */
static size_t place_of(uint64_t session, uint64_t local_seq)
{
    return (size_t)((session * 719 + local_seq) % RECENT_COMMITS);
}

void recent_add_commit(struct engine *engine,
                       uint64_t session,
                       uint64_t local_seq,
                       uint64_t seq)
{
    struct recent *recent = engine->recent;
    if (recent != NULL) {
        recent->commits[place_of(session, local_seq)] = (struct recent_commit){
            recent->age,
            session,
            local_seq,
            seq,
        };
    }
}

/* recent-3. */
static struct recent *recent_of(struct engine *engine)
{
    if (UNLIKELY(engine->recent == NULL)) {
        engine->recent = mem_alloc_zero(sizeof *engine->recent);
        engine->recent->age = 1;
    }
    return engine->recent;
}

/* What is at or below the horizon may have been folded into something else: the
 * rows know. */
uint64_t recent_commit(struct engine *engine,
                       uint64_t session,
                       uint64_t local_seq)
{
    const struct recent *recent = recent_of(engine);
    const struct recent_commit *commit =
        &recent->commits[place_of(session, local_seq)];
    return commit->age == recent->age && commit->session == session &&
                   commit->local_seq == local_seq &&
                   commit->seq > engine->horizon
               ? commit->seq
               : 0;
}

void recent_forget_commits(struct engine *engine)
{
    if (engine->recent != NULL) {
        engine->recent->age++;
    }
}

void recent_release(struct engine *engine)
{
    mem_free(engine->recent, sizeof *engine->recent);
    engine->recent = NULL;
}

/* -- Writes -------------------------------------------------------------- */

/* Removes half of them at a time. */
static void drop_oldest(struct recent_writes *writes)
{
    const size_t dropped = writes->at.count / 2;
    writes->since = writes->at.at[dropped - 1].seq;
    writes->at.count -= dropped;
    memmove(writes->at.at,
            writes->at.at + dropped,
            writes->at.count * sizeof writes->at.at[0]);
}

void recent_add_write(struct document *document,
                      uint64_t session,
                      uint64_t local_seq,
                      uint64_t seq)
{
    struct recent_writes *writes = document->recent;
    if (LIKELY(writes == NULL)) {
        return;
    }
    if (writes->at.count == RECENT_WRITES) {
        drop_oldest(writes);
    }
    const struct recent_write write = {session, local_seq, seq};
    vec_push(&writes->at, write);
}

/* Whether `local_seq` is among the first *count layers; those behind it are
 * ignored from now on. */
static bool take_layer(const struct layer_list *layers,
                       size_t *count,
                       uint64_t local_seq)
{
    while (*count > 0 && layers->at.at[*count - 1] > local_seq) {
        --*count;
    }
    return *count > 0 && layers->at.at[*count - 1] == local_seq;
}

typedef VEC(struct recent_write) write_list;

/* The writes in (after, since], newest first; false: they are too many. */
static enum err load_writes(struct engine *engine,
                            const struct document *document,
                            uint64_t after,
                            write_list *out,
                            bool *complete,
                            struct err_detail *detail)
{
    const size_t room = RECENT_WRITES - document->recent->at.count;
    struct query rows =
        query_begin(&engine->database, STATEMENT_REVISION_AFTER);
    query_int(&rows, 1, document->number);
    query_int(&rows, 2, after);
    query_int(&rows, 3, document->recent->since);
    *complete = true;
    while (*complete && query_step(&rows)) {
        engine->counters.rows++;
        const struct recent_write write = {
            .session = query_get_int(&rows, 3),
            .local_seq = query_get_int(&rows, 4),
            .seq = query_get_int(&rows, 0),
        };
        vec_push(out, write);
        *complete = out->count <= room;
    }
    return query_end(&rows, detail);
}

/* recent-3. Afterwards `since` is not above `after`, unless there is no
 * room. */
static enum err reach_down(struct engine *engine,
                           struct document *document,
                           uint64_t after,
                           struct err_detail *detail)
{
    struct recent_writes *writes = document->recent;
    write_list older = {0};
    bool complete = false;
    const enum err err =
        load_writes(engine, document, after, &older, &complete, detail);
    if (err == ERR_OK && complete) {
        const size_t kept = writes->at.count;
        for (size_t i = 0; i < older.count; i++) {
            vec_push(&writes->at, older.at[i]);
        }
        memmove(writes->at.at + older.count,
                writes->at.at,
                kept * sizeof writes->at.at[0]);
        for (size_t i = 0; i < older.count; i++) {
            writes->at.at[i] = older.at[older.count - 1 - i];
        }
        writes->since = after;
    }
    vec_release(&older);
    return err;
}

enum err recent_are_all_of(struct engine *engine,
                           struct document *document,
                           uint64_t after,
                           uint64_t session,
                           const struct layer_list *layers,
                           bool *all,
                           struct err_detail *detail)
{
    struct recent_writes *writes = document->recent;
    *all = false;
    if (after < engine->horizon) {
        return ERR_OK; /* there a revision stands for others as well */
    }
    if (writes == NULL) { /* recent-3 */
        writes = mem_alloc_zero(sizeof *writes);
        writes->since = document->head_seq;
        document->recent = writes;
    }
    if (after < writes->since) {
        const enum err err = reach_down(engine, document, after, detail);
        if (err != ERR_OK || after < writes->since) {
            return err;
        }
    }
    size_t count = layers->at.count;
    for (size_t i = writes->at.count; i-- > 0;) {
        const struct recent_write *write = &writes->at.at[i];
        if (write->seq <= after) {
            break;
        }
        if (write->session != session ||
            !take_layer(layers, &count, write->local_seq)) {
            return ERR_OK;
        }
    }
    *all = true;
    return ERR_OK;
}

void recent_forget_document(struct document *document)
{
    if (document->recent != NULL) {
        vec_release(&document->recent->at);
        mem_free(document->recent, sizeof *document->recent);
        document->recent = NULL;
    }
}
