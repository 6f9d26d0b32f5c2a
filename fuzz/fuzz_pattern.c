/* Files of patterns from anywhere, with a runtime under them: whatever the text
 * does, loading it, building a piece of it, running that, sending to it and
 * starting it again ends within the budgets, and everything is released. The
 * input is the text. */

#include <string.h>

#include "fuzz.h"
#include "host/world.h"
#include "runtime/piece.h"
#include "script/program.h"

enum {
    STEPS_OF_WORLD = 20,
    SENT_MAX = 8,
};

static struct world *world_of_now;

static mono_ms on_now(void *ctx)
{
    (void)ctx;
    return world_now(world_of_now);
}

static void step(struct world_runtime *one)
{
    for (unsigned i = 0; i < STEPS_OF_WORLD && world_step(one); i++) {
    }
}

/* One event to each handler. */
static void send_to_all(struct world_runtime *one, const struct piece *piece)
{
    unsigned sent = 0;
    for (size_t i = 0; i < piece->parts.count && sent < SENT_MAX; i++) {
        const struct part *part = &piece->parts.at[i];
        if (part->handler != NULL) {
            const struct event_spec spec = {.payload = value_int(1)};
            struct err_detail detail = {0};
            const enum err err =
                events_send(one->runtime.sched,
                            events_stream(one->runtime.sched, part->place),
                            &spec,
                            &detail);
            CHECK(err == ERR_OK || err == ERR_BACKLOG);
            sent++;
        }
    }
}

static void look(struct program *program, const struct piece *piece)
{
    struct place *result = piece_result(piece);
    struct value value = VALUE_NONE;
    struct err_detail detail = {0};
    const enum err err = program_read(program, result, &value, &detail);
    CHECK(err != ERR_OK || value_check(value));
    value_unref(value);
    place_unref(result);
}

static void run_piece(struct program *program, struct world_runtime *one)
{
    struct piece *piece = NULL;
    struct err_detail detail = {0};
    const struct piece_options options = {
        .name = value_text_new("p"),
        .pattern = program_pattern(program),
    };
    const enum err err = piece_start(&one->runtime, &options, &piece, &detail);
    value_unref(options.name);
    CHECK(err == ERR_OK);
    step(one);
    if (piece->state == PIECE_FAILED) {
        fuzz_check_detail(piece->error.err, &piece->error);
    } else {
        send_to_all(one, piece);
        step(one);
        look(program, piece);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_memory memory;
    fuzz_begin(&memory);
    struct world *world = world_new(1);
    struct world_store *store = NULL;
    struct err_detail detail = {0};
    const struct program_options options = {
        .host = {.now = on_now},
        .memory_bytes = 1024 * 1024,
        .steps = 20 * 1000,
    };
    const struct program_source source = {"fuzz.lua", (const char *)data, size};
    world_of_now = world;
    struct program *program = program_new(&options);
    const enum err err = program_load(program, &source, &detail);
    if (err != ERR_OK) {
        fuzz_check_detail(err, &detail);
    } else if (program_pattern(program) != NULL &&
               world_store_new(world, NULL, &store, &detail) == ERR_OK) {
        for (unsigned i = 0; i < 2; i++) { /* and taken up again */
            const struct world_runtime_options none = {0};
            struct world_runtime *one = NULL;
            CHECK(world_runtime_new(store, &none, &one, &detail) == ERR_OK);
            program_attach(program, &one->runtime);
            run_piece(program, one);
            program_detach(program);
            world_runtime_end(one);
        }
    }
    world_free(world);
    program_free(program);
    fuzz_end(&memory);
    return 0;
}
