/* Stored events in a simulation of events: what waits in the stores is taken
 * up, and nothing of a schedule may wait there at its end (lib/events_sim.h).
 */

#include <stdio.h>
#include <string.h>

#include "lib/events_sim_internal.h"
#include "lib/test.h"
#include "proto/event.h"
#include "sched/durable.h"
#include "store/waiting.h"
#include "value/compare.h"

/* -- What waits ---------------------------------------------------------- */

struct stored_document {
    struct value id;
    struct value document;
};

typedef VEC(struct stored_document) stored_documents;

/* The engine must not be asked anything meanwhile. */
static void keep(void *ctx, const struct waiting_event *event)
{
    const struct stored_document document = {
        .id = value_ref(event->id),
        .document = value_ref(event->document),
    };
    vec_push((stored_documents *)ctx, document);
}

static void list(struct sim *sim, unsigned space, stored_documents *out)
{
    struct engine *engine = &sim->stores->kits[space].engine;
    CHECK(engine_read_begin(engine, NULL) == ERR_OK);
    CHECK(engine_waiting(engine,
                         sim->runtimes[0].spaces[space]->branch,
                         0,
                         UINT32_MAX,
                         keep,
                         out,
                         NULL) == ERR_OK);
    engine_read_end(engine);
}

static void list_release(stored_documents *documents)
{
    VEC_FOREACH (documents, at) {
        value_unref(at->id);
        value_unref(at->document);
    }
    vec_release(documents);
}

/* Schedules share the stores; each has streams of its own. */
static bool find_stream(const struct runtime *runtime,
                        unsigned from,
                        const struct stored_event *stored,
                        unsigned *space,
                        unsigned *stream)
{
    *space = from;
    if (!value_is_absent(stored->space)) {
        *space = value_equal(stored->space, runtime->spaces[1]->id) ? 1 : 0;
    }
    for (*stream = 0; *stream < STREAMS; (*stream)++) {
        char name[NAME_SIZE];
        const int length = snprintf(name,
                                    sizeof name,
                                    "%s-%" PRIu64,
                                    *stream == 0 ? "pure" : "other",
                                    runtime->sim->seed);
        const struct text id = value_text(&stored->stream);
        if (id.length == (size_t)length &&
            memcmp(id.at, name, id.length) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_at_work(const struct sim *sim, struct value instance)
{
    for (unsigned i = 0; i < sim->runtimes_count; i++) {
        if (value_equal(events_instance(sim->runtimes[i].sched), instance)) {
            return true;
        }
    }
    return false;
}

/* -- Taking up ----------------------------------------------------------- */

/* Who sent it: an attempt that landed, or somebody who queued it. */
static const struct sending *first_sending(const struct sim *sim,
                                           struct value id)
{
    VEC_FOREACH (&sim->sendings, at) {
        if (!(*at)->taken && value_equal((*at)->receipt_id, id) &&
            ((*at)->origin == NULL || (*at)->origin->landed)) {
            return *at;
        }
    }
    return NULL;
}

static bool has_failed_here(const struct sending *sending)
{
    VEC_FOREACH (&sending->runtime->sim->sendings, at) {
        if ((*at)->runtime == sending->runtime &&
            (*at)->life == sending->life && (*at)->err == ERR_ARGUMENT &&
            value_equal((*at)->id, sending->id)) {
            return true;
        }
    }
    return false;
}

static void take_up(struct runtime *runtime,
                    unsigned from,
                    const struct stored_document *at,
                    const struct stored_event *stored,
                    bool is_shared)
{
    struct sim *sim = runtime->sim;
    unsigned space;
    unsigned stream;
    if (!find_stream(runtime, from, stored, &space, &stream)) {
        return;
    }
    const struct sending *first = first_sending(sim, at->id);
    if (first == NULL) {
        sim_fail(sim, "an event waits that nobody has sent");
        return;
    }
    expect(sim,
           value_equal(stored->payload, value_int(first->code)),
           "the payload of a stored event is another one");
    struct sending *sending =
        sim_sending_new(runtime, space, stream, first->code);
    sending->origin = first->origin;
    sending->taken = true;
    runtime->sending = sending;
    durable_take_up(runtime->sched,
                    runtime->spaces[from],
                    at->id,
                    runtime->streams[space][stream],
                    stored);
    runtime->sending = NULL;
    expect(sim,
           value_equal(sending->id, first->id),
           "an event that was taken up has another id");
    expect(sim,
           !has_failed_here(sending),
           "an event was taken up where its handler has failed");
    sim->counts.taken++;
    sim->counts.shared += is_shared;
}

static void look_at(struct runtime *runtime,
                    unsigned space,
                    const struct stored_document *at,
                    bool hasty)
{
    struct sim *sim = runtime->sim;
    struct stored_event stored;
    if (durable_is_here(runtime->sched, runtime->spaces[space], at->id)) {
        return;
    }
    if (stored_event_read(at->document,
                          &runtime->replica.paths,
                          &stored,
                          NULL) != ERR_OK) {
        sim_fail(sim, "a stored event cannot be read");
        return;
    }
    const bool own =
        value_equal(stored.instance, events_instance(runtime->sched));
    const bool is_shared =
        !own && !stored.queued && is_at_work(sim, stored.instance);
    if (hasty || !is_shared) {
        take_up(runtime, space, at, &stored, is_shared);
    }
    stored_event_release(&stored);
}

void sim_take_up(struct runtime *runtime, bool hasty)
{
    for (unsigned i = 0; i < SPACES; i++) {
        stored_documents documents = {0};
        list(runtime->sim, i, &documents);
        VEC_FOREACH (&documents, at) {
            look_at(runtime, i, at, hasty);
        }
        list_release(&documents);
    }
}

size_t sim_waiting(struct sim *sim)
{
    size_t count = 0;
    for (unsigned i = 0; i < SPACES; i++) {
        stored_documents documents = {0};
        list(sim, i, &documents);
        count += documents.count;
        list_release(&documents);
    }
    return count;
}

/* -- The end ------------------------------------------------------------- */

bool sim_has_failed(const struct sim *sim, struct value id)
{
    VEC_FOREACH (&sim->sendings, at) {
        if ((*at)->outcome == EVENT_FAILED && value_equal((*at)->id, id)) {
            return true;
        }
    }
    return false;
}

void sim_compare_stored(struct sim *sim)
{
    VEC_FOREACH (&sim->sendings, at) {
        const struct sending *sending = *at;
        const bool is_stored =
            sending->queue ? sending->outcome == EVENT_QUEUED
                           : sending->origin != NULL && sending->origin->landed;
        if (sending->told > 0 && sending->err == ERR_OK && sending->queue) {
            expect(sim, is_stored, "a queued event has another end");
        }
        expect(sim,
               !is_stored || sim_has_landed(sim, sending->id) ||
                   sim_has_failed(sim, sending->id),
               "a stored event was lost");
    }
}
