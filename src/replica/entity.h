/* Entities: the documents of a space, as this runtime sees them.
 *
 * (space, scope, id) is resolved once; from then on an entity is a pointer. The
 * visible state is the confirmed state with the pending layers replayed on top
 * (replica/overlay.h).
 *
 * A document is an object, {"value":...} with perhaps other keys, but is kept
 * in two parts: the payload, which is at "value", and the rest. So writing a
 * number into a document that holds a number touches sixteen bytes and
 * allocates nothing. The object is built when a caller needs the whole
 * document.
 *
 *   entity-1  `version` grows with each change of `visible`. It is the number
 *             of the notification of that change.
 *   entity-2  `overlay` is NULL iff no layer is pending; then the visible state
 *             is the confirmed one.
 *   entity-3  `visible` is the fold of the layers over the confirmed state.
 *   entity-4  An unloaded entity is watched and not loaded: nodes here rely on
 *             what the document was at `known`, the store says when it differs,
 *             and no reader has requested it. Its confirmed state is absent,
 *             like that of any document that has not arrived.
 *   entity-5  `plain` iff it is loaded and of the scope of the space: then a
 *             read records nothing but the value. */

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
    struct value rest;    /* an object of the other keys; absent iff there is no
                             document. If it has a key "/", it holds the payload
                             as well: it is never split (value-4) */
};

/* The key of the payload, as a value: it is short, so equal keys are the same
 * two words (value-1 of value/value.h). */
static inline bool entity_is_payload_key(struct value key)
{
    static const char name[8] = "value";
    uint64_t word;
    memcpy(&word, name, sizeof word);
    return key.word[0] == word && key.word[1] == (uint64_t)(TAG_SHORT | 5U << 4)
                                                     << 56;
}

/* Splits a document, or absent; takes its own references. */
struct entity_state entity_state_of(struct value document);

/* The whole document: new, or absent. */
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

/* The value at `path`, new. OK with *out absent if only the last segment is
 * missing. NOT_FOUND: an earlier one is missing. TYPE: the path crosses a
 * leaf. */
enum err entity_state_at(const struct entity_state *state,
                         const struct path *path,
                         struct value *out);

/* The length of the shortest proper prefix of `path`, at least one segment,
 * that holds a link; 0: none. */
uint32_t entity_state_link(const struct entity_state *state,
                           const struct path *path);

/* -- Entities ------------------------------------------------------------ */

/* What every read and write touches comes first. */
struct entity {
    struct space *space;
    struct place *payload; /* or NULL; borrowed */
    struct place *root;    /* likewise */
    enum scope scope : 8;
    bool watched : 1;    /* the store was asked for its changes */
    bool loaded : 1;     /* the store has sent it; or the space has no store */
    bool pinned : 1;     /* content-addressed or inline: never sent as a read */
    bool answered : 1;   /* the store has received and answered the last such
                            request */
    bool listed : 1;     /* in the list of changes (replica/channel.h) */
    bool unloaded : 1;   /* entity-4 */
    bool pushed : 1;     /* watched by selectors only (space_selector.h); */
    bool reach_lost : 1; /* and not sent yet since they were installed again */
    bool queued : 1;     /* in the space's `wanted` */
    bool ambiguous_base : 1; /* known at two seqs, and not here */
    bool plain : 1;          /* entity-5 */
    bool followed : 1; /* its schemas are known (runtime/piece_schemas.h) */
    bool copies : 1;   /* of list elements; written by the list only */
    bool row : 1;      /* of a collection; known once it was followed */
    bool guarded : 1;  /* likewise: cells may not write it
                          (runtime/piece_parts.h) */
    uint32_t written;  /* by which transaction, quickly
                          (replica/payload_write.h) */
    struct entity_state visible;
    uint64_t version; /* entity-1 */
    uint64_t seq;     /* of the confirmed state; 0: none received */
    uint64_t known;   /* entity-4; 0: was never unloaded */

    struct value id;
    struct overlay *overlay;
    struct draft *draft; /* of the last transaction that wrote here; below it,
                            drafts of others that are not released */
};

/* Sets whether it is here (entity-5). */
static inline void entity_set_loaded(struct entity *entity, bool loaded)
{
    entity->loaded = loaded;
    entity->plain = loaded && entity->scope == SCOPE_SPACE;
}

/* The entity, interned, borrowed while the space is open. ARGUMENT or a limit
 * if the id is not usable. */
MUST_CHECK enum err entity_of(struct space *space,
                              enum scope scope,
                              struct value id,
                              struct entity **out,
                              struct err_detail *detail);

/* The same, or NULL if it was never asked for. */
struct entity *entity_find(struct space *space,
                           enum scope scope,
                           struct value id);

/* Drops an entity that nothing refers to: no place, no layer, no draft. The
 * store need not report its changes any more. Harmless for any other entity,
 * and for one that the store has not answered yet. In a space without a store,
 * this deletes the document. */
void entity_forget(struct entity *entity);

void entity_free(struct entity *entity);

#endif
