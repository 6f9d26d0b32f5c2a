/* The floor: runs, edges, heights and liveness of numbers. */

/* For who compiles this file alone. */
#ifndef SIGNALS_FLOOR
#define SIGNALS_FLOOR
#endif

#include "signals/floor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/vec.h"
#include "signals/signals.h"

struct edge {
    struct signal *cell;
    struct floor_node *node;
    struct edge *before;
    struct edge *next; /* in the cell's readers, or among the free ones */
};

/* What a node read, and the version that it saw. */
struct floor_read_entry {
    struct signal *cell;
    struct edge *edge;
    uint32_t version;
};

struct floor_node {
    signal_fn *fn;
    list_fn *list_fn;
    uint32_t length;
    struct body body;
    struct signal output;
    struct floor_read_entry *reads;
    uint32_t read_count;
    uint32_t read_capacity;
    uint32_t height;
    uint32_t live_refs;
    uint64_t verified; /* the epoch at which it was up to date */
    bool effect;
    bool stale;
    bool queued;
    bool ran;
    bool again; /* read what is higher: runs again, higher itself */
    struct floor_node *next; /* in its bucket */
};

struct commit_entry {
    uint64_t seq;
    const struct signal *cell;
    double number;
    const struct floor_node *origin;
};

struct room {
    struct room *before;
    max_align_t at[];
};

enum {
    COMMITS = 4096
};

uint64_t computed_runs;
uint64_t effect_runs;

static struct commit_entry commits[COMMITS];

static struct {
    struct room *rooms;
    size_t room_used;
    size_t room_size;
    struct edge *free_edges;
    VEC(struct signal *) log; /* reads of the runs under way */
    VEC(struct floor_node *) walk;
    struct floor_node *running;
    uint64_t run; /* number of the run under way, and of the last one */
    uint64_t runs;
    uint32_t marks;
    uint64_t seq;
    uint64_t epoch;
    VEC(struct floor_node *) buckets; /* by height */
    uint32_t low;                     /* nothing waits below, */
    uint32_t high;                    /* or from here on */
} now;

/* -- Life ---------------------------------------------------------------- */

void *graph_alloc(size_t size)
{
    const size_t align = sizeof(max_align_t);
    const size_t items = (size + align - 1) / align;
    if (now.room_used + items > now.room_size) {
        now.room_size = items > 65536 ? items : 65536;
        struct room *room = malloc(sizeof *room + now.room_size * align);
        CHECK(room != NULL);
        room->before = now.rooms;
        now.rooms = room;
        now.room_used = 0;
    }
    void *memory = &now.rooms->at[now.room_used];
    now.room_used += items;
    return memory;
}

void graph_open(void)
{
    memset(&now, 0, sizeof now);
    now.epoch = 1;
}

void graph_close(void)
{
    vec_release(&now.log);
    vec_release(&now.walk);
    vec_release(&now.buckets);
    while (now.rooms != NULL) {
        struct room *room = now.rooms;
        now.rooms = room->before;
        free(room);
    }
}

/* -- The queue ----------------------------------------------------------- */

static bool is_live(const struct floor_node *node)
{
    return node->effect || node->live_refs > 0;
}

static void enqueue(struct floor_node *node)
{
    if (node->queued) {
        return;
    }
    while (now.buckets.count <= node->height) {
        vec_push(&now.buckets, NULL);
    }
    node->queued = true;
    node->next = now.buckets.at[node->height];
    now.buckets.at[node->height] = node;
    now.low = node->height < now.low ? node->height : now.low;
    now.high = node->height >= now.high ? node->height + 1 : now.high;
}

/* -- Liveness ------------------------------------------------------------ */

/* `by` is 1 or -1: one live reader more or less. What turns live or stops
 * being live says so to what it reads. */
static void change_liveness(struct floor_node *node, int by)
{
    vec_push(&now.walk, node);
    while (now.walk.count > 0) {
        struct floor_node *at = vec_pop(&now.walk);
        const bool was = is_live(at);
        at->live_refs += (uint32_t)by;
        if (was == is_live(at)) {
            continue;
        }
        for (uint32_t i = 0; i < at->read_count; i++) {
            if (at->reads[i].cell->writer != NULL) {
                vec_push(&now.walk, at->reads[i].cell->writer);
            }
        }
        if (by > 0 && at->stale) {
            enqueue(at);
        }
    }
}

/* -- Edges --------------------------------------------------------------- */

static struct edge *edge_add(struct signal *cell, struct floor_node *node)
{
    struct edge *edge = now.free_edges;
    if (edge != NULL) {
        now.free_edges = edge->next;
    } else {
        edge = graph_alloc(sizeof *edge);
    }
    *edge = (struct edge){cell, node, NULL, cell->readers};
    if (edge->next != NULL) {
        edge->next->before = edge;
    }
    cell->readers = edge;
    if (cell->writer != NULL && is_live(node)) {
        change_liveness(cell->writer, 1);
    }
    return edge;
}

static void edge_drop(struct edge *edge)
{
    struct signal *cell = edge->cell;
    if (edge->before != NULL) {
        edge->before->next = edge->next;
    } else {
        cell->readers = edge->next;
    }
    if (edge->next != NULL) {
        edge->next->before = edge->before;
    }
    if (cell->writer != NULL && is_live(edge->node)) {
        change_liveness(cell->writer, -1);
    }
    edge->next = now.free_edges;
    now.free_edges = edge;
}

/* -- Commits ------------------------------------------------------------- */

/* A dormant reader remembers that it is stale, and reads nothing any more. */
static struct edge *detach(struct edge *edge)
{
    struct floor_node *node = edge->node;
    struct edge *next = edge->next;
    node->stale = true;
    for (uint32_t i = 0; i < node->read_count; i++) {
        if (node->reads[i].edge == next) {
            next = next->next;
        }
        edge_drop(node->reads[i].edge);
    }
    node->read_count = 0;
    return next;
}

static void commit(struct signal *cell,
                   double number,
                   const struct floor_node *origin)
{
    if (!islessgreater(cell->number, number) && !isnan(cell->number)) {
        return;
    }
    cell->number = number;
    cell->version++;
    now.epoch += origin == NULL || is_live(origin);
    commits[now.seq % COMMITS] =
        (struct commit_entry){now.seq, cell, number, origin};
    now.seq++;
    struct edge *edge = cell->readers;
    while (edge != NULL) {
        struct floor_node *reader = edge->node;
        if (reader != origin && !is_live(reader)) {
            edge = detach(edge);
            continue;
        }
        if (reader != origin && !reader->stale) {
            reader->stale = true;
            enqueue(reader);
        }
        edge = edge->next;
    }
}

/* -- Runs ---------------------------------------------------------------- */

/* Whether the log from `base` on is what the node read the last time. */
static bool read_the_same(const struct floor_node *node, size_t base)
{
    if (!node->ran || now.log.count - base != node->read_count) {
        return false;
    }
    for (uint32_t i = 0; i < node->read_count; i++) {
        if (node->reads[i].cell != now.log.at[base + i]) {
            return false;
        }
    }
    return true;
}

static void apply_reads(struct floor_node *node, size_t base)
{
    const uint32_t count = (uint32_t)(now.log.count - base);
    struct signal **log = &now.log.at[base];
    now.marks++;
    for (uint32_t i = 0; i < count; i++) {
        log[i]->mark = now.marks;
        log[i]->kept = NULL;
    }
    for (uint32_t i = 0; i < node->read_count; i++) {
        struct signal *cell = node->reads[i].cell;
        if (cell->mark == now.marks) {
            cell->kept = node->reads[i].edge;
        } else {
            edge_drop(node->reads[i].edge);
        }
    }
    if (count > node->read_capacity) {
        node->read_capacity = count + 2;
        node->reads = graph_alloc(node->read_capacity * sizeof *node->reads);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct edge *kept = log[i]->kept;
        node->reads[i].cell = log[i];
        node->reads[i].edge = kept != NULL ? kept : edge_add(log[i], node);
    }
    node->read_count = count;
    node->ran = true;
}

static double call(struct floor_node *node)
{
    struct reading at = {now.run};
    if (node->effect) {
        effect_runs++;
        return node->fn(&at, &node->body);
    }
    computed_runs++;
    if (node->list_fn == NULL) {
        return node->fn(&at, &node->body);
    }
    node->list_fn(&at, &node->body, node->output.list, node->length);
    return (double)now.run; /* a new list is another one */
}

static void run(struct floor_node *node)
{
    struct floor_node *outer = now.running;
    const uint64_t outer_run = now.run;
    const size_t base = now.log.count;
    now.running = node;
    now.run = ++now.runs;
    node->again = false;
    const double number = call(node);
    if (!read_the_same(node, base)) {
        apply_reads(node, base);
    }
    for (uint32_t i = 0; i < node->read_count; i++) {
        node->reads[i].version = node->reads[i].cell->version;
    }
    now.log.count = base;
    now.running = outer;
    now.run = outer_run;
    node->stale = node->again;
    if (node->again) {
        enqueue(node);
    } else if (!node->effect) {
        commit(&node->output, number, node);
    }
}

/* A node that nobody live looks at, brought up to date by versions. */
static void pull(struct floor_node *node) /* NOLINT(misc-no-recursion) */
{
    if (!node->stale && node->verified == now.epoch) {
        return;
    }
    for (uint32_t i = 0; i < node->read_count && !node->stale; i++) {
        const struct signal *cell = node->reads[i].cell;
        if (cell->writer != NULL && !is_live(cell->writer)) {
            pull(cell->writer);
        }
        node->stale = node->stale || cell->version != node->reads[i].version;
    }
    if (node->stale) {
        run(node);
    }
    node->verified = now.epoch;
}

double floor_read(struct signal *signal)
{
    struct floor_node *writer = signal->writer;
    struct floor_node *reader = now.running;
    if (writer != NULL) {
        if (!is_live(writer)) {
            pull(writer);
        }
        if (reader != NULL && writer->height >= reader->height) {
            reader->height = writer->height + 1;
            reader->again = reader->again ||
                            (reader->ran && writer->stale && is_live(writer));
        }
    }
    if (reader != NULL && signal->logged != now.run) {
        signal->logged = now.run;
        vec_push(&now.log, signal);
    }
    return signal->number;
}

void graph_settle(void)
{
    while (now.low < now.high) {
        struct floor_node *node = now.buckets.at[now.low];
        if (node == NULL) {
            now.low++;
            continue;
        }
        now.buckets.at[now.low] = node->next;
        node->queued = false;
        if (!node->stale || !is_live(node)) {
            continue;
        }
        if (node->height > now.low) {
            enqueue(node);
        } else {
            run(node);
        }
    }
    now.low = UINT32_MAX;
    now.high = 0;
}

/* -- Members ------------------------------------------------------------- */

struct signal *signal_new(double number)
{
    struct signal *signal = graph_alloc(sizeof *signal);
    *signal = (struct signal){.number = number, .version = 1};
    return signal;
}

static struct floor_node *node_new(double number,
                                   uint32_t count,
                                   struct signal *const *in)
{
    struct floor_node *node = graph_alloc(sizeof *node);
    struct signal **copy = graph_alloc(count * sizeof *copy);
    memcpy(copy, in, count * sizeof *copy);
    *node = (struct floor_node){
        .body = {number, count, copy},
        .output = {.number = (double)NAN, .version = 1, .writer = node},
        .height = 1,
        .stale = true,
    };
    return node;
}

struct signal *computed_new(signal_fn *fn,
                            double number,
                            uint32_t count,
                            struct signal *const *in)
{
    struct floor_node *node = node_new(number, count, in);
    node->fn = fn;
    return &node->output;
}

struct signal *computed_list_new(list_fn *fn,
                                 uint32_t length,
                                 uint32_t count,
                                 struct signal *const *in)
{
    struct floor_node *node = node_new(0, count, in);
    node->list_fn = fn;
    node->length = length;
    node->output.list = graph_alloc(length * sizeof *node->output.list);
    return &node->output;
}

void effect_new(signal_fn *fn,
                double number,
                uint32_t count,
                struct signal *const *in)
{
    struct floor_node *node = node_new(number, count, in);
    node->fn = fn;
    node->effect = true;
    run(node);
    graph_settle();
}

/* -- From outside -------------------------------------------------------- */

void batch_begin(void)
{
    /* Everything is a batch until it is settled. */
}

void signal_set(struct signal *signal, double number)
{
    commit(signal, number, NULL);
}

void batch_end(void)
{
    graph_settle();
}

double signal_peek(struct signal *signal)
{
    return floor_read(signal);
}
