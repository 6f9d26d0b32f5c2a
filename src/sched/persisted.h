/* The inside of persistence: what is remembered of a node with an identity.
 * For persistence*.c only; sched/persistence.h has the rules. */

#ifndef SCHED_PERSISTED_H
#define SCHED_PERSISTED_H

#include "base/map.h"
#include "base/pool.h"
#include "sched/persistence.h"

/* What many nodes have in common; once for all of them. */
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
    bool known;      /* P2; only together with node->reads_changed */
    bool superseded; /* by another generation: nobody wants to know */
    bool doubtful;   /* the last run is recorded as failed only because it is
                        not known yet what becomes of commits (P3) */
    bool listed;     /* among those that were doubtful */
    bool registers;  /* others: its runs are its own (P8) */
    bool restored;   /* neither here nor by a peer that is known, since then */
    uint32_t peers;  /* what persistence->peers was when it was told that
                        somebody else has run it, after the last run here, or
                        when it was restored; 0: neither */
};

/* The places of a page, found when they are needed; each is a reference. */
struct resume_places {
    struct place **at; /* NULL: not needed yet */
    size_t count;
};

/* The phase that is under way. */
struct resume {
    struct resume_options options;
    uint64_t seq;    /* of the pages */
    struct map rows; /* struct resume_action of the pages, by action */
    VEC(struct resume_places) places; /* one a page */
    struct resume_counts counts;
};

struct persistence {
    struct map nodes;               /* struct persisted by identity */
    struct pool pool;               /* of those */
    struct map codes;               /* struct persisted_code */
    struct persisted_code *code;    /* the last one that was asked for */
    VEC(struct persisted *) doubts; /* NULL: is gone */
    bool answered;         /* a commit, since the doubts were looked at */
    struct resume *resume; /* or NULL */
    uint32_t peers;        /* grows when they are not to be waited for (P9) */
    mono_ms grace;         /* 0: nobody is waited for */
    size_t waiting;        /* nodes that do, of their own */
    struct node_list held; /* with a peer_until; NULL: is gone */
    struct digest no_surface; /* of who writes nothing, once it is known */
    bool has_no_surface;
};

/* The scheduler's, made when first needed. */
struct persistence *persistence_of(struct sched *sched);

/* Who is registered with that identity, or NULL. */
struct persisted *persisted_find(const struct sched *sched,
                                 const struct space *space,
                                 struct value piece,
                                 uint64_t generation,
                                 const struct digest *action);

/* The space with a store that somebody has seen that much of, or NULL. */
struct space *persisted_space(struct replica *replica,
                              const struct observed_space *observed);

/* The place that another table's path names, a new reference; NULL if there
 * cannot be one. */
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

/* Sets `surface`. Most nodes write to one place or to none, and many are
 * registered at once. */
void persisted_set_surface(struct persistence *persistence,
                           struct persisted *persisted,
                           const struct node_spec *spec);

/* P4 to P7 for a node about to be registered, whose surface is not known yet.
 * True if it is restored; then it is. */
bool resume_take(struct sched *sched,
                 struct persisted *persisted,
                 const struct node_spec *spec);

/* P8: what others have seen. */
void adoption_told(void *ctx,
                   struct space *space,
                   uint64_t seq,
                   struct observation *observation);

/* P9: the node has run here, or was adopted; or will never. */
void peers_over(struct sched *sched, struct node *node);

/* Nobody waits any more. */
void peers_lift(struct sched *sched);

void resume_free(struct persistence *persistence);

#endif
