/* From the reads of a transaction to the inputs of the computations read. */

#include "sched/claims.h"

#include "replica/session.h"
#include "replica/space.h"
#include "sched/graph.h"

/* Whether the commit claims this read and the store checks it. */
static bool is_claimed(const struct read_entry *read)
{
    const struct entity *entity = read->place->entity;
    return !read->own && (read->flags & READ_NOT_FOR_COMMIT) == 0 &&
           entity->space->session != NULL && !entity->pinned;
}

/* The writers of a read by `self`. */
static struct writer_walk writers_of(const struct read_link *read)
{
    struct writer_walk walk = graph_writers(read);
    walk.envelopes = true;
    return walk;
}

static bool is_computed(struct node *self, const struct read_entry *entry)
{
    const struct read_link read = {
        .node = self,
        .place = entry->place,
        .kind = (uint8_t)entry->kind,
    };
    struct writer_walk walk = writers_of(&read);
    return graph_next_writer(&walk) != NULL;
}

/* -- Every input --------------------------------------------------------- */

/* A search upstream. */
struct search {
    struct sched *sched;
    struct node *self;
    struct transaction *transaction;
    uint64_t stamp; /* of visited nodes */
    bool unknown;   /* nothing is known here about an input */
};

/* Pushes the writers that were not visited yet. */
static void climb(const struct search *search,
                  struct place *place,
                  enum read_kind kind)
{
    const struct read_link read = {
        .node = search->self,
        .place = place,
        .kind = (uint8_t)kind,
    };
    struct writer_walk walk = writers_of(&read);
    for (struct node *writer = graph_next_writer(&walk); writer != NULL;
         writer = graph_next_writer(&walk)) {
        if (writer->visit != search->stamp) {
            writer->visit = search->stamp;
            vec_push(&search->sched->stack, writer);
        }
    }
}

static void add_input(struct search *search, const struct read_link *link)
{
    struct entity *entity = link->place->entity;
    if (entity->space->session == NULL) {
        return;
    }
    if (UNLIKELY(!entity->loaded && !entity->unloaded)) {
        space_want(entity->space, entity);
        search->unknown = true;
    }
    transaction_claim_input(search->transaction,
                            link->place,
                            (enum read_kind)link->kind);
}

static void add_inputs(struct search *search)
{
    struct sched *sched = search->sched;
    const size_t base = sched->stack.count;
    VEC_FOREACH (&search->transaction->reads, read) {
        if (is_claimed(read)) {
            climb(search, read->place, read->kind);
        }
    }
    while (sched->stack.count > base) {
        const struct node *node = vec_pop(&sched->stack);
        VEC_FOREACH (&node->reads, link) {
            add_input(search, link);
            climb(search, link->place, (enum read_kind)link->kind);
        }
    }
}

/* -- The whole claim ----------------------------------------------------- */

/* Whether a message is on its way. It may tell of a change that the store
 * considers received when the commit arrives. */
static bool is_being_told(const struct transaction *transaction)
{
    VEC_FOREACH (&transaction->reads, read) {
        const struct space *space = read->place->entity->space;
        if (space->session != NULL &&
            (space->wanted.count > 0 || space->session->pulls_owed > 0)) {
            return true;
        }
    }
    return false;
}

static bool rests_on_nodes(struct node *self,
                           const struct transaction *transaction)
{
    VEC_FOREACH (&transaction->reads, read) {
        if (is_claimed(read) && is_computed(self, read)) {
            return true;
        }
    }
    return false;
}

enum err claims_add(struct sched *sched,
                    struct node *self,
                    struct transaction *transaction,
                    bool precise,
                    struct err_detail *detail)
{
    if (sched->replica->sessions == 0 || !rests_on_nodes(self, transaction)) {
        return ERR_OK;
    }
    const bool told = !is_being_told(transaction);
    if (LIKELY(told && !precise && !transaction->refused)) {
        transaction_claim_view(transaction);
        return ERR_OK;
    }
    struct search search = {
        .sched = sched,
        .self = self,
        .transaction = transaction,
        .stamp = ++sched->visits,
    };
    add_inputs(&search);
    if (LIKELY(!search.unknown && transaction->inputs.count <= CLAIMS_MAX)) {
        return ERR_OK;
    }
    transaction->inputs.count = 0;
    if (search.unknown || !told) {
        return err_set(detail,
                       ERR_STALE,
                       "computed values that it read depend on documents that "
                       "are not loaded yet");
    }
    transaction_claim_view(transaction);
    return ERR_OK;
}
