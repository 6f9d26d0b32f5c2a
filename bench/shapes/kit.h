/* Graphs to measure: a scheduler on one space, documents with numbers, and
 * nodes that are made of a function and what it reads.
 *
 * The space is its own authority, or it has a store in memory behind a direct
 * link: then each run is committed to SQLite and confirmed before its commit
 * returns. */

#ifndef BENCH_SHAPES_KIT_H
#define BENCH_SHAPES_KIT_H

#include "host/hub_link.h"
#include "replica/space.h"
#include "sched/sched.h"

enum {
    KIT_PLACES = 4096,
    KIT_NODES = 4096
};

struct kit {
    bool store;
    struct engine engine;
    struct hub hub;
    struct hub_link link;
    struct replica replica;
    struct space *space;
    struct sched *sched;
    mono_ms now;
    uint32_t round; /* for values that differ from those before */

    struct place *places[KIT_PLACES]; /* of documents, in order */
    uint32_t place_count;
    struct node *nodes[KIT_NODES]; /* those that are registered, in order */
    uint32_t node_count;
};

/* One node's function; it reads with kit_read, and what it returns is written
 * to `out`, if there is one. */
struct calc;
struct calc_run {
    struct run *run;
    bool stale;
};
typedef double calc_fn(struct calc_run *at, const struct calc *calc);

struct calc {
    struct kit *kit;
    calc_fn *fn;
    double number;
    uint32_t count;
    struct place **in;
    struct place *out; /* or NULL */
};

struct kit_options {
    bool store;
    const char *path; /* of its file, at `full`; NULL: in memory */
    bool batch;       /* commits wait for space_flush */
    bool held;        /* messages wait for hub_link_pump */
};

void kit_open(struct kit *kit, bool store);
void kit_open_with(struct kit *kit, const struct kit_options *options);
void kit_close(struct kit *kit);

/* A new document, holding 0. Or a place below it; both live as long as the
 * kit. */
struct place *kit_document(struct kit *kit);
struct place *kit_below(struct kit *kit, struct place *place, const char *key);

/* A computation of `out`, or an effect that writes there if it is not NULL. */
struct node *kit_compute(struct kit *kit,
                         calc_fn *fn,
                         double number,
                         struct place *in,
                         struct place *out);
struct node *kit_compute_many(struct kit *kit,
                              calc_fn *fn,
                              uint32_t count,
                              struct place *const *in,
                              struct place *out);
struct node *kit_effect(struct kit *kit,
                        calc_fn *fn,
                        double number,
                        uint32_t count,
                        struct place *const *in,
                        struct place *out);

/* Anything else that a spec can say. */
struct node *kit_register(struct kit *kit, const struct node_spec *spec);

/* Unregisters all nodes. */
void kit_clear(struct kit *kit);

double kit_read(struct calc_run *at, struct place *place);
void kit_put(struct kit *kit,
             struct transaction *transaction,
             struct place *place,
             struct value value);

/* One transaction with one write. */
void kit_write(struct kit *kit, struct place *place, double number);

/* Until nothing is left to do. */
void kit_idle(struct kit *kit);

#endif
