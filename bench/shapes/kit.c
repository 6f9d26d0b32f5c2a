/* Graphs to measure: documents, nodes, and perhaps a store. */

#include "shapes/kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "signals/ours.h"

static void stop_if(enum err err, const struct err_detail *detail)
{
    if (err != ERR_OK) {
        (void)fprintf(stderr, "bench: %s\n", detail->text);
        exit(1);
    }
}

/* -- Life ---------------------------------------------------------------- */

void kit_open(struct kit *kit, bool store)
{
    kit_open_with(kit, &(struct kit_options){.store = store});
}

static void open_store(struct kit *kit, const struct kit_options *options)
{
    struct err_detail detail;
    stop_if(engine_open(&kit->engine,
                        &(struct engine_options){.path = options->path},
                        &detail),
            &detail);
    hub_init(&kit->hub,
             &kit->engine,
             &(struct hub_options){.immediate = true, .seed = 1},
             kit->now);
    hub_link_init(&kit->link,
                  &kit->hub,
                  options->held ? HUB_LINK_HELD : HUB_LINK_DIRECT,
                  VALUE_NONE);
}

void kit_open_with(struct kit *kit, const struct kit_options *options)
{
    struct err_detail detail;
    memset(kit, 0, sizeof *kit);
    kit->store = options->store;
    kit->now = ours_host()->now(ours_host());
    struct space_options space = {
        .id = value_text_new("bench"),
        .batch = options->batch,
    };
    if (options->store) {
        open_store(kit, options);
        space.transport = &kit->link.transport;
        space.session = value_text_new("s1");
    }
    replica_init(&kit->replica, NULL);
    stop_if(space_open(&kit->replica, &space, &kit->space, &detail), &detail);
    kit->sched =
        sched_new(&kit->replica, &(struct sched_options){.host = ours_host()});
}

void kit_clear(struct kit *kit)
{
    for (uint32_t i = 0; i < kit->node_count; i++) {
        sched_remove(kit->sched, kit->nodes[i]);
    }
    kit->node_count = 0;
}

void kit_close(struct kit *kit)
{
    kit_clear(kit);
    replica_pump(&kit->replica);
    sched_free(kit->sched);
    for (uint32_t i = 0; i < kit->place_count; i++) {
        place_unref(kit->places[i]);
    }
    replica_release(&kit->replica);
    if (kit->store) {
        hub_link_release(&kit->link);
        hub_release(&kit->hub);
        engine_close(&kit->engine);
    }
}

void kit_idle(struct kit *kit)
{
    kit->now = ours_host()->now(ours_host());
    do {
        replica_step(&kit->replica, kit->now);
        sched_step(kit->sched, kit->now);
    } while (!sched_is_idle(kit->sched));
}

/* -- Documents ----------------------------------------------------------- */

static struct place *keep(struct kit *kit, struct place *place)
{
    CHECK(kit->place_count < KIT_PLACES);
    kit->places[kit->place_count++] = place;
    return place;
}

struct place *kit_document(struct kit *kit)
{
    char text[24];
    const int length = snprintf(text, sizeof text, "of:%u", kit->place_count);
    struct entity *entity;
    struct err_detail detail;
    stop_if(entity_of(kit->space,
                      SCOPE_SPACE,
                      value_string_new(text, (size_t)length),
                      &entity,
                      &detail),
            &detail);
    struct place *place = keep(kit, place_payload(entity));
    kit_write(kit, place, 0);
    return place;
}

struct place *kit_below(struct kit *kit, struct place *place, const char *key)
{
    const struct value name = value_text_new(key);
    struct place *child = keep(kit, place_child(place, name));
    value_unref(name);
    return child;
}

void kit_put(struct kit *kit,
             struct transaction *transaction,
             struct place *place,
             struct value value)
{
    (void)kit;
    struct err_detail detail;
    stop_if(transaction_put_adopt(transaction, place, value, &detail), &detail);
}

void kit_write(struct kit *kit, struct place *place, double number)
{
    struct err_detail detail;
    struct transaction *transaction = transaction_begin(&kit->replica, NULL);
    kit_put(kit, transaction, place, value_double(number));
    stop_if(transaction_commit(transaction, &detail), &detail);
    transaction_release(transaction);
}

/* -- Nodes --------------------------------------------------------------- */

double kit_read(struct calc_run *at, struct place *place)
{
    struct value value;
    const enum err err =
        run_read(at->run, place, READ_DEEP, READ_FOR_BOTH, &value);
    at->stale = at->stale || err == ERR_STALE;
    const double number = value_is_number(value) ? value_real(value) : 0;
    value_unref(value);
    return number;
}

static enum run_result run_calc(struct run *run, void *ctx)
{
    const struct calc *calc = ctx;
    struct calc_run at = {run, false};
    const double number = calc->fn(&at, calc);
    if (at.stale) {
        return RUN_AGAIN;
    }
    if (calc->out != NULL) {
        kit_put(calc->kit, run->transaction, calc->out, value_double(number));
    }
    return RUN_DONE;
}

static void release_calc(void *ctx)
{
    struct calc *calc = ctx;
    free(calc->in);
    free(calc);
}

static struct calc *calc_new(struct kit *kit,
                             calc_fn *fn,
                             double number,
                             uint32_t count,
                             struct place *const *in)
{
    struct calc *calc = malloc(sizeof *calc);
    struct place **copy = malloc((count + 1) * sizeof(struct place *));
    CHECK(calc != NULL && copy != NULL);
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = in[i];
    }
    *calc = (struct calc){kit, fn, number, count, copy, NULL};
    return calc;
}

struct node *kit_register(struct kit *kit, const struct node_spec *spec)
{
    CHECK(kit->node_count < KIT_NODES);
    struct node *node = sched_register(kit->sched, spec);
    kit->nodes[kit->node_count++] = node;
    return node;
}

static struct node *register_calc(struct kit *kit,
                                  enum node_kind kind,
                                  struct calc *calc,
                                  struct place *out)
{
    calc->out = out;
    const bool computes = kind == NODE_COMPUTATION;
    const struct node_spec spec = {
        .kind = kind,
        .run = run_calc,
        .ctx = calc,
        .release = release_calc,
        .outputs = computes ? &calc->out : NULL,
        .output_count = computes ? 1 : 0,
        .reads = calc->in,
        .read_count = calc->count,
    };
    return kit_register(kit, &spec);
}

struct node *kit_compute(struct kit *kit,
                         calc_fn *fn,
                         double number,
                         struct place *in,
                         struct place *out)
{
    return register_calc(kit,
                         NODE_COMPUTATION,
                         calc_new(kit, fn, number, 1, &in),
                         out);
}

struct node *kit_compute_many(struct kit *kit,
                              calc_fn *fn,
                              uint32_t count,
                              struct place *const *in,
                              struct place *out)
{
    return register_calc(kit,
                         NODE_COMPUTATION,
                         calc_new(kit, fn, 0, count, in),
                         out);
}

struct node *kit_effect(struct kit *kit,
                        calc_fn *fn,
                        double number,
                        uint32_t count,
                        struct place *const *in,
                        struct place *out)
{
    return register_calc(kit,
                         NODE_EFFECT,
                         calc_new(kit, fn, number, count, in),
                         out);
}
