/* The floor: the structures of the scheduler and nothing else.
 *
 * Cells are apart from the nodes that write them. A run is a transaction: it
 * logs what it reads, and its result is compared, gets a version and goes into
 * a log of commits. The log of reads is compared with the one before, and only
 * a difference touches the readers of a cell. What is live runs in the order of
 * heights; what is not is checked by versions when it is read, and leaves the
 * readers once it is stale. There are numbers only: no documents, no paths, no
 * causes, no errors, no room for anybody to look inside.
 *
 * So the time of ours over the time of this one is the price of all that. */

#ifndef BENCH_SIGNALS_FLOOR_H
#define BENCH_SIGNALS_FLOOR_H

#include <stdbool.h>
#include <stdint.h>

struct edge;
struct floor_node;

struct signal {
    double number;
    uint32_t version;
    uint32_t mark;     /* of the read delta that looked at it last */
    uint64_t logged;   /* the last run that read it */
    struct edge *kept; /* in that delta: the edge that stays */
    struct edge *readers;
    struct floor_node *writer; /* NULL: written from outside */
    double *list;              /* of a computed list; its number counts */
};

struct reading {
    uint64_t run;
};

/* A read by the run under way, or by nobody. */
double floor_read(struct signal *signal);

static inline double signal_get(struct reading *at, struct signal *signal)
{
    (void)at;
    return floor_read(signal);
}

static inline double signal_get_item(struct reading *at,
                                     struct signal *list,
                                     uint32_t index)
{
    (void)at;
    (void)floor_read(list);
    return list->list[index];
}

#endif
