/* Observations, internal: the caches of their rows, and the checksums that tie
 * the rows together.
 *
 * An action's rows are in three tables. Damage to any of them must never make
 * the action look clean. So the action's row has a checksum over itself, its
 * edges and their places, and the row of its run has one over itself: a changed
 * or missing row is detected when the action is listed. The checksums do not
 * protect against deliberate manipulation.
 *
 *   observed-1  The cache equals what the current transaction would read (as
 *               for documents and sessions).
 *   observed-2  The number in an edge is that of its place times PLACE_KINDS,
 *               plus the kind. */

#ifndef STORE_OBSERVED_H
#define STORE_OBSERVED_H

#include "base/map.h"
#include "store/observations.h"

enum {
    PLACE_KINDS = 4,

    /* Above these limits the caches are dropped between transactions. */
    OBSERVED_ACTIONS_CACHED = 100 * 1000,
    OBSERVED_PLACES_CACHED = 100 * 1000,
};

struct observed_piece {
    struct branch *branch;
    struct value id;
    uint64_t number;
    uint64_t generation;
    bool imaged; /* the ranges of its images are known: */
    uint64_t image_first;
    uint64_t image_last;
};

/* A place without what is done there. */
struct observed_address {
    struct value space; /* "": this one */
    struct value scope_key;
    struct value id;
    struct path *path;
    uint64_t number;
    uint64_t sum; /* over all of it, as text */
};

struct observed_fingerprint {
    struct resume_code code;
    uint64_t number;
};

/* The digests of the places of an action, as they are in its row. */
struct observed_sets {
    struct digest surface;
    struct digest read_set;
};

enum {
    GATES_TEXT = 48 /* "50 100 1", and a zero byte */
};

/* The row of an action. */
struct observed_action {
    uint64_t number;
    uint64_t piece;
    struct digest name;
    struct value scope_key;
    uint64_t generation;
    enum action_kind kind;
    uint64_t fingerprint;
    struct observed_sets sets;
    struct gate_config gates;
    uint64_t sum;   /* as stored */
    uint64_t edges; /* the part of the sum that is of edges and places */
};

struct observed_cache {
    struct map pieces;       /* struct observed_piece by branch and id */
    struct map actions;      /* struct observed_action by piece, name, scope */
    struct map addresses;    /* struct observed_address by its parts */
    struct map fingerprints; /* struct observed_fingerprint by digest */
    uint64_t last_action;    /* the highest number ever used; 0: look in the
                                rows */
    struct buf text;
    VEC(uint64_t) wanted; /* edges, while a set is compared */
    VEC(uint64_t) present;
};

/* The engine's, made when first needed. */
struct observed_cache *observed_cache(struct engine *engine);

/* -- Checksums ----------------------------------------------------------- */

uint64_t observed_mix(uint64_t number);
uint64_t observed_text_sum(uint64_t from, struct text text);

/* Of an address, from its texts as they are in the row. */
uint64_t observed_address_sum(struct text space,
                              struct text scope,
                              struct text id,
                              struct text path);

/* What an edge adds; the order of edges does not matter. */
static inline uint64_t observed_edge_sum(uint64_t edge, uint64_t address_sum)
{
    return observed_mix(edge * 31 + address_sum);
}

/* The sum of an action's row, as far as it is known without its edges; and
 * with them, which fits an integer of SQLite. */
uint64_t observed_row_sum(const struct observed_action *action,
                          struct text scope_key);
static inline uint64_t observed_action_sum(uint64_t row, uint64_t edges)
{
    return observed_mix(row + edges) >> 1;
}

/* The checksum of a run's row: four bytes in SQLite. */
uint64_t observed_run_mark(uint64_t action,
                           uint64_t seq,
                           struct text error,
                           struct text elsewhere);

/* Adds the whole content of an observation to the digest of its commit. */
struct hasher;
void observation_hash(struct hasher *hasher,
                      const struct observation *observation);

/* -- Rows ---------------------------------------------------------------- */

/* The number of an address, found or created. */
MUST_CHECK enum err observed_address_number(struct engine *engine,
                                            struct value space,
                                            struct value scope_key,
                                            struct value id,
                                            struct path *path,
                                            struct observed_address **out,
                                            struct err_detail *detail);

/* The piece, or NULL. */
MUST_CHECK enum err observed_piece_find(struct engine *engine,
                                        struct branch *branch,
                                        struct value id,
                                        struct observed_piece **out,
                                        struct err_detail *detail);

/* Removes its rows: run, edges, action. The caller drops the caches. */
MUST_CHECK enum err observed_action_remove(struct engine *engine,
                                           uint64_t piece,
                                           uint64_t action,
                                           struct err_detail *detail);

/* The digests of a fingerprint's number; false if there are none. */
MUST_CHECK enum err observed_fingerprint_get(struct engine *engine,
                                             uint64_t number,
                                             struct resume_code *out,
                                             bool *found,
                                             struct err_detail *detail);

/* The text of gates, "" if there are none; and back, false if it is invalid. */
void observed_gates_write(const struct gate_config *gates,
                          char text[GATES_TEXT]);
bool observed_gates_read(struct text text, struct gate_config *out);

/* Exactly `size` bytes of a column; false if there are more or less. */
bool observed_bytes(struct query *query, int column, void *to, size_t size);

/* "[["space","branch",seq],...]", or nothing. */
void observed_elsewhere_write(struct buf *to,
                              const struct observation *observation);
bool observed_elsewhere_read(struct text text,
                             struct resume_page *page,
                             struct resume_action *action);

enum {
    OBSERVED_MENDINGS = 2
};

/* Rows prevent others from being written: the first attempt removes what is
 * inconsistent, the second everything. Inside a write transaction; drops the
 * caches. */
MUST_CHECK enum err observed_repair(struct engine *engine,
                                    int attempt,
                                    struct err_detail *detail);

#endif
