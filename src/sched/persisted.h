/* Persistence, internal: what is kept per node with an identity. For
 * persistence*.c only; sched/persistence.h has the rules. */

#ifndef SCHED_PERSISTED_H
#define SCHED_PERSISTED_H

#include "base/map.h"
#include "base/pool.h"
#include "sched/persistence.h"

/* What many nodes have in common; shared by all of them. */
struct persisted_code {
    uint64_t users;
    struct resume_code code;
};

/* There are many: mind the size. */
struct persisted {
    struct node *node;
    struct space *space;
    struct value piece;
    uint64_t generation;
    struct digest action;
    struct persisted_code *code;
    struct digest surface;  /* of the places that it writes */
    struct digest read_set; /* what the store was sent last, if `known`; */
    enum scope scope : 8;   /* likewise */
    enum action_kind kind : 8;
    bool known;      /* persistence-2; only together with node->reads_changed */
    bool superseded; /* by another generation: not reported */
    bool doubtful;   /* the last run is recorded as failed only because a
                        verdict is missing (persistence-3) */
    bool listed;     /* in `doubts` */
    bool registers;  /* others: its runs are its own (persistence-8) */
    bool restored;   /* and run since neither here nor by a known peer */
    uint32_t peers;  /* persistence->peers when a peer had run it after the last
                        run here, or when it was restored; 0: neither */
};

/* The places of a page, found on demand; each is a reference. */
struct resume_places {
    struct place **at; /* NULL: not needed yet */
    size_t count;
};

/* The phase in progress. */
struct resume {
    struct resume_options options;
    uint64_t seq;    /* of the pages */
    struct map rows; /* struct resume_action of the pages, by action */
    VEC(struct resume_places) places; /* one per page */
    struct resume_counts counts;
};

struct persistence {
    struct map nodes;               /* struct persisted by identity */
    struct pool pool;               /* of those */
    struct map codes;               /* struct persisted_code */
    struct persisted_code *code;    /* the last one that was asked for */
    VEC(struct persisted *) doubts; /* NULL: is gone */
    bool answered; /* a verdict arrived since the doubts were examined */
    struct resume *resume;    /* or NULL */
    uint32_t peers;           /* grows when peers are not to be waited for
                                 (persistence-9) */
    mono_ms grace;            /* 0: no waiting */
    size_t waiting;           /* nodes that wait directly */
    struct node_list held;    /* with a peer_until; NULL: removed */
    struct digest no_surface; /* of nodes that write nothing, once known */
    bool has_no_surface;
};

/* The scheduler's, made when first needed. */
struct persistence *persistence_of(struct sched *sched);

/* The node registered with that identity, or NULL. */
struct persisted *persisted_find(const struct sched *sched,
                                 const struct space *space,
                                 struct value piece,
                                 uint64_t generation,
                                 const struct digest *action);

/* The space with a store that an observation names, or NULL. */
struct space *persisted_space(struct replica *replica,
                              const struct observed_space *observed);

/* The place for a path of another table, a new reference; NULL if there cannot
 * be one. */
struct place *persisted_place(struct space *space,
                              const struct target *target,
                              const struct path *path);

/* Whether it is the code of the node. */
static inline bool persisted_is_code(const struct persisted *persisted,
                                     const struct digest *implementation,
                                     const struct digest *runtime,
                                     const struct digest *schema)
{
    const struct resume_code *own = &persisted->code->code;
    return digest_equal(&own->implementation, implementation) &&
           digest_equal(&own->runtime, runtime) &&
           digest_equal(&own->schema, schema);
}

/* Sets `surface`. Most nodes write to one place or none, and many are
 * registered at once. */
void persisted_set_surface(struct persistence *persistence,
                           struct persisted *persisted,
                           const struct node_spec *spec);

/* persistence-4 to persistence-7 for a node about to be registered, whose
 * surface is not known yet. True if it was restored. */
bool resume_take(struct sched *sched,
                 struct persisted *persisted,
                 const struct node_spec *spec);

/* persistence-8: observations of other runtimes. */
void adoption_told(void *ctx,
                   struct space *space,
                   uint64_t seq,
                   struct observation *observation);

/* persistence-9: the node has run here, or was adopted; or never will. */
void peers_over(struct sched *sched, struct node *node);

/* Ends all waits for peers. */
void peers_lift(struct sched *sched);

void resume_free(struct persistence *persistence);

#endif
