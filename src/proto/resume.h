/* What a store tells a runtime that resumes a piece: its actions as last
 * observed, and which of them are still valid.
 *
 * A page is built at once and read in place. Places that several actions share
 * are stored once: an action refers to its places by index.
 *
 *   struct resume_page page = {0};
 *   ... engine_resume (store/observations.h) ...
 *   for each action, for each index:
 *       page.places.at[resume_index_place(index)], resume_index_kind(index)
 *   resume_page_release(&page);
 *
 *   resume-1  The pages of one piece are of one seq, or the listing has moved
 *             and none of them may be used.
 *   resume-2  RESUME_CLEAN is about the owner space. An action with `elsewhere`
 *             is clean only if those spaces say so, too (engine_changed_above).
 *   resume-3  An action that is not in any page is unknown. */

#ifndef PROTO_RESUME_H
#define PROTO_RESUME_H

#include "proto/observation.h"

enum resume_state {
    RESUME_CLEAN,   /* nothing it read in the owner space has changed */
    RESUME_DIRTY,   /* something has changed, or may have */
    RESUME_FAILED,  /* it failed, and nothing it read has changed */
    RESUME_UNKNOWN, /* what the store has of it is inconsistent */
};

/* An address; the action's index says what it does there. */
struct resume_place {
    struct value space; /* absent: the owner space */
    struct target target;
    struct path *path;
    uint64_t changed[2]; /* by enum read_kind: the newest change that such a
                            read sees, above the lowest watermark of the page;
                            0: none that one of its readers has not seen */
    bool touched; /* the document has changed since one of its readers read it,
                     possibly at another place */
};

/* An index of an action: the place, and what the action does there. */
static inline uint32_t resume_index_place(uint32_t index)
{
    return index / 4;
}

static inline enum place_kind resume_index_kind(uint32_t index)
{
    return (enum place_kind)(index % 4);
}

/* What many actions share: see struct fingerprints, except for the surface,
 * which each action has. */
struct resume_code {
    struct digest implementation;
    struct digest runtime;
    struct digest schema;
};

#define RESUME_NONE UINT32_MAX

struct resume_action {
    uint64_t number; /* the store's, for people and for the next page */
    struct digest action;
    struct digest surface;
    struct digest read_set;
    uint64_t watermark;   /* of the owner space */
    uint8_t kind;         /* enum action_kind */
    uint8_t scope;        /* enum scope */
    uint8_t state;        /* enum resume_state */
    uint32_t code;        /* in `codes`; RESUME_NONE: of an UNKNOWN one */
    uint32_t gates;       /* in `gates`; RESUME_NONE: none */
    uint32_t error;       /* in `errors`, if it failed; else RESUME_NONE */
    uint32_t places;      /* the first of its indexes, */
    uint32_t place_count; /* and how many; reads and writes */
    uint32_t spaces;      /* likewise in `elsewhere` */
    uint32_t space_count;
};

struct resume_page {
    uint64_t seq;        /* the state of the store (resume-1) */
    uint64_t generation; /* of the piece, as the store knows it */
    bool more;           /* ask again, after the last action */
    VEC(struct resume_action) actions;
    VEC(struct resume_place) places;
    VEC(uint32_t) indexes;
    VEC(struct observed_space) elsewhere;
    VEC(struct resume_code) codes;
    VEC(struct gate_config) gates;
    VEC(struct digest) errors;
};

void resume_page_release(struct resume_page *page);

const char *resume_state_name(enum resume_state state);

/* -- As a value ----------------------------------------------------------
 *
 * For a runtime whose store is elsewhere. Rows are arrays, because a page has
 * many:
 *
 *   {"seq":12,"generation":3,"more":true,
 *    "actions":[[number,action,surface,readSet,watermark,kind,scope,state,
 *                code,gates,error,[index,...],[elsewhere,...]],...],
 *    "places":[[id,scope,pointer,deep,shape,touched,space],null,...],
 *    "elsewhere":[[space,branch,seq],...],
 *    "codes":[[implementation,runtime,schema],...],
 *    "gates":[[debounceMs,throttleMs,noAutoDebounce],...],
 *    "errors":[digest,...]}
 *
 * Kinds, scopes and states are their numbers, RESUME_NONE is -1, the owner
 * space is left out, and null is a place that the store could not read. */

/* New. */
struct value resume_page_write(const struct resume_page *page);

/* Trusts nothing: PROTOCOL, or a limit. Each index is checked, so a page can be
 * used like one of a store in the process. On an error *out is empty. */
MUST_CHECK enum err resume_page_read(struct value value,
                                     struct path_table *paths,
                                     struct resume_page *out,
                                     struct err_detail *detail);

#endif
