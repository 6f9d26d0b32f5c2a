/* Entities: the documents of a space, as this runtime sees them.
 *
 * (space, scope, id) is resolved once; from then on an entity is a pointer.
 * What is visible is the confirmed state with the pending layers replayed on
 * top (replica/overlay.h).
 *
 * A document is an object, {"value":...} with perhaps some keys beside, but
 * it is kept in two parts: the payload, which is what is at "value", and the
 * rest. So writing a number into a document that holds a number touches
 * sixteen bytes and allocates nothing; the object is made when somebody wants
 * it whole.
 *
 *   N1  `version` grows with each change of `visible` and is the number of
 *       the notification that told of it.
 *   N2  `overlay` is NULL iff no layer is pending; then the visible state is
 *       the confirmed one.
 *   N3  `visible` is the fold of the layers over the confirmed state.
 *   N4  A hollow entity is watched and not loaded: somebody here relies on what
 *       the document was at `known`, the store tells when it is another one,
 *       and nobody has asked what it is. Its confirmed state is absent like
 *       that of any other that has not come.
 *   N5  `plain` iff it is loaded and of the scope of the space: a read has
 *       nothing to note but the value. */

#ifndef REPLICA_ENTITY_H
#define REPLICA_ENTITY_H

#include <string.h>

#include "replica/place.h"
#include "value/address.h"

struct draft;
struct overlay;
struct space;

/* -- The state of a document --------------------------------------------- */

struct entity_state {
    struct value payload; /* what is at "value", or absent */
    struct value rest;    /* an object of the other keys; absent iff there is
                             no document. One with a key "/" holds the payload
                             as well: it is never cut (V4) */
};

/* The key of the payload, as a value: it is short, so equal keys are the same
 * two words (V1 of value/value.h). */
static inline bool entity_is_payload_key(struct value key)
{
    static const char name[8] = "value";
    uint64_t word;
    memcpy(&word, name, sizeof word);
    return key.word[0] == word && key.word[1] == (uint64_t)(TAG_SHORT | 5U << 4)
                                                     << 56;
}

/* Splits a document, or absent; takes references of its own. */
struct entity_state entity_state_of(struct value document);

/* Puts it together again: new, or absent. */
struct value entity_state_document(const struct entity_state *state);

static inline struct entity_state entity_state_ref(
    const struct entity_state *state)
{
    return (struct entity_state){value_ref(state->payload),
                                 value_ref(state->rest)};
}

static inline void entity_state_release(struct entity_state *state)
{
    value_unref(state->payload);
    value_unref(state->rest);
}

static inline bool entity_state_exists(const struct entity_state *state)
{
    return !value_is_absent(state->rest);
}

bool entity_state_equal(const struct entity_state *a,
                        const struct entity_state *b);

/* What is at `path`, new. OK also if it is only the last segment that leads
 * nowhere: *out is then absent. NOT_FOUND: the way ends earlier. TYPE: it goes
 * through a leaf. */
enum err entity_state_at(const struct entity_state *state,
                         const struct path *path,
                         struct value *out);

/* The length of the shortest part of `path` at which there is a link, from one
 * segment on and not all of it; 0: none. */
uint32_t entity_state_link(const struct entity_state *state,
                           const struct path *path);

/* -- Entities ------------------------------------------------------------ */

/* What every read and write touches comes first. */
struct entity {
    struct space *space;
    struct place *payload; /* or NULL; borrowed */
    struct place *root;    /* likewise */
    enum scope scope : 8;
    bool watched : 1;  /* the store has been asked to tell about it */
    bool loaded : 1;   /* and has; or the space is its own authority */
    bool pinned : 1;   /* content-addressed or inline: never sent as a read */
    bool answered : 1; /* the store has got the last such request: it has
                          told */
    bool listed : 1;   /* in the list of changes (replica/channel.h) */
    bool hollow : 1;   /* N4 */
    bool queued : 1;   /* among the space's wanted */
    bool torn : 1;     /* known as of two seqs, and not here */
    bool plain : 1;    /* N5 */
    bool followed : 1; /* its schemas are known (runtime/piece_schemas.h) */
    bool copies : 1;   /* of the elements of a list, which writes it alone */
    bool row : 1;      /* of a collection; known once it was followed */
    bool guarded : 1;  /* likewise: cells may not write it
                          (runtime/piece_parts.h) */
    uint32_t written;  /* quickly, by which transaction (replica/quick.h) */
    struct entity_state visible;
    uint64_t version; /* N1 */
    uint64_t seq;     /* of the confirmed state; 0: never told of one */
    uint64_t known;   /* N4; 0: was never hollow */

    struct value id;
    struct overlay *overlay;
    struct draft *draft; /* of the transaction that wrote here last; below it
                            those of others that are not released */
};

/* Whether it is here from now on (N5). */
static inline void entity_set_loaded(struct entity *entity, bool loaded)
{
    entity->loaded = loaded;
    entity->plain = loaded && entity->scope == SCOPE_SPACE;
}

/* The entity, interned, borrowed as long as the space is open. ARGUMENT or a
 * limit if the id is not usable. */
MUST_CHECK enum err entity_of(struct space *space,
                              enum scope scope,
                              struct value id,
                              struct entity **out,
                              struct err_detail *detail);

/* The same, or NULL if nobody has asked for it yet. */
struct entity *entity_find(struct space *space,
                           enum scope scope,
                           struct value id);

/* Forgets an entity to which nothing refers: no place, no layer, no draft. The
 * store need not tell about it any more. Harmless for any other, and for one of
 * which the store has not told yet. In a space without a store the document
 * ends with it. */
void entity_forget(struct entity *entity);

void entity_free(struct entity *entity);

#endif
