/* Random worlds (lib/sched_draw.h). */

#include "lib/sched_draw.h"

#include "lib/test.h"

/* -- Random graphs ------------------------------------------------------- */

static enum model_body random_body(struct random *random, size_t slot)
{
    static const enum model_body bodies[] = {BODY_NUMBER,
                                             BODY_NUMBER,
                                             BODY_NESTED,
                                             BODY_TWO,
                                             BODY_EFFECT,
                                             BODY_EFFECT};
    if (slot <= MODEL_LOW && random_one_in(random, 4)) {
        return random_one_in(random, 3) ? BODY_MATERIALIZER : BODY_FIELD;
    }
    return bodies[random_below(random, COUNT_OF(bodies))];
}

/* Declares some of what it will read, or nothing. */
static void declare(struct random *random, struct world_slot *slot)
{
    slot->declared_count = 0;
    for (size_t i = 0; i < slot->program.count; i++) {
        if (random_one_in(random, 3)) {
            struct model_place place = slot->program.steps[i].places[0];
            place.kind = READ_DEEP;
            slot->declared[slot->declared_count++] = place;
        }
    }
}

static void add_slot(struct random *random,
                     struct world *world,
                     enum model_body body)
{
    struct world_slot *slot = &world->slots[world->count];
    model_random_program(random, (uint16_t)world->count, body, &slot->program);
    slot->world = world;
    slot->used = true;
    declare(random, slot);
    world->count++;
}

/* A parent and the slots of its children. What a child reads its parent does
 * not write, if the parent reads what the child writes. */
static void add_family(struct random *random, struct world *world)
{
    const size_t parent = world->count;
    add_slot(random, world, BODY_PARENT);
    struct model_program *program = &world->slots[parent].program;
    program->first_slot = (uint16_t)(parent + 1);
    program->samples = random_one_in(random, 2);
    const uint16_t below = (uint16_t)(parent + !program->samples);
    for (size_t i = 0; i < MODEL_CHILDREN_MAX; i++) {
        struct world_slot *child = &world->slots[world->count];
        model_random_program(random, below, BODY_NUMBER, &child->program);
        child->program.slot = (uint16_t)world->count;
        child->world = world;
        child->used = true;
        child->is_child = true;
        declare(random, child);
        world->count++;
    }
}

/* Nodes that read from each other, and from below. */
static void add_cycle(struct random *random, struct world *world)
{
    const size_t first = world->count;
    const size_t size = 2 + random_below(random, 3);
    for (size_t i = 0; i < size; i++) {
        add_slot(random, world, BODY_CYCLE);
        struct model_program *program = &world->slots[world->count - 1].program;
        program->modulus = (uint8_t)(1 + random_below(random, 4));
        const size_t from = first + (i + 1) % size;
        program->steps[0] = (struct model_step){
            .places = {{.document = (uint16_t)(MODEL_FIRST_OUTPUT + 2 * from),
                        .path = PATH_PAYLOAD}},
        };
    }
}

static void own_fields(struct world *world)
{
    uint8_t field = 0;
    uint8_t envelope = 0;
    for (size_t i = 0; i < world->count; i++) {
        struct model_program *program = &world->slots[i].program;
        if (program->body == BODY_FIELD) {
            program->field = field++ % (4 * MODEL_SHARED);
        } else if (program->body == BODY_MATERIALIZER) {
            program->field = envelope++;
            if (envelope > MODEL_ENVELOPES) { /* one writer each */
                program->body = BODY_NUMBER;
            }
        }
    }
}

void draw_graph(struct random *random, struct world *world)
{
    static const size_t sizes[] = {4, 8, 12, 20, 60};
    const size_t size = sizes[random_below(random, COUNT_OF(sizes))];
    while (world->count < size) {
        const uint64_t dice = random_below(random, 20);
        if (dice == 0 && world->count + 4 < size) {
            add_family(random, world);
        } else if (dice == 1 && world->count + 4 < size) {
            add_cycle(random, world);
        } else {
            add_slot(random, world, random_body(random, world->count));
        }
    }
    own_fields(world);
}

/* -- Random things to happen --------------------------------------------- */

void draw_inputs(struct random *random, struct world *world)
{
    struct transaction *transaction = transaction_begin(&world->replica, NULL);
    struct err_detail detail = {0};
    const uint64_t count = 1 + random_below(random, 4);
    bool good = true;
    for (uint64_t i = 0; i < count; i++) {
        const struct model_place at = {
            .document = (uint16_t)random_below(random, MODEL_INPUTS),
            .path = random_one_in(random, 2)
                        ? PATH_PAYLOAD
                        : (uint8_t)random_between(random, PATH_N, PATH_META),
        };
        struct place *place = world_place(world, &at);
        if (random_one_in(random, 12)) {
            const struct model_place whole = {.document = at.document,
                                              .path = PATH_ROOT};
            good = transaction_delete(transaction,
                                      world_place(world, &whole),
                                      &detail) == ERR_OK &&
                   good;
        } else { /* refused if its parent is not there */
            (void)(transaction_put_adopt(transaction,
                                         place,
                                         model_random_payload(random),
                                         &detail) == ERR_OK);
        }
    }
    EXPECT(good && transaction_commit(transaction, &detail) == ERR_OK);
    transaction_release(transaction);
}

static void enter(struct random *random, struct world *world, size_t slot)
{
    const bool gate = random_one_in(random, 10);
    const mono_ms window = 1 + random_below(random, 50);
    const bool debounce = gate && random_one_in(random, 2);
    world_register(world,
                   slot,
                   debounce ? window : 0,
                   gate && !debounce ? window : 0);
}

static void come_or_go(struct random *random, struct world *world)
{
    const size_t slot = random_below(random, world->count);
    if (world->slots[slot].is_child) {
        return;
    }
    if (world->slots[slot].node != NULL) {
        world_remove(world, slot);
    } else {
        enter(random, world, slot);
    }
}

static void poke(struct random *random, struct world *world)
{
    struct world_slot *slot = &world->slots[random_below(random, world->count)];
    if (slot->node != NULL) {
        slot->forced = true;
        sched_invalidate(world->sched, slot->node);
    }
}

static void change_gate(struct random *random, struct world *world)
{
    const struct world_slot *slot =
        &world->slots[random_below(random, world->count)];
    const mono_ms window =
        random_one_in(random, 3) ? 0 : 1 + random_below(random, 50);
    if (slot->node == NULL) {
        return;
    }
    if (random_one_in(random, 2)) {
        sched_set_debounce(world->sched, slot->node, window);
    } else {
        sched_set_throttle(world->sched, slot->node, window);
    }
}

static void promote(struct random *random, struct world *world)
{
    const struct world_slot *slot =
        &world->slots[random_below(random, world->count)];
    if (slot->node != NULL) {
        sched_promote(world->sched, slot->node);
        world->tally->promoted++;
    }
}

static void pull(struct random *random, struct world *world)
{
    const struct model_place at = {
        .document = (uint16_t)(MODEL_FIRST_OUTPUT +
                               2 * random_below(random, world->count)),
        .path = PATH_PAYLOAD,
    };
    struct value value;
    (void)sched_pull(world->sched, world_place(world, &at), world->now, &value);
    value_unref(value);
    world->tally->pulls++;
}

void draw_happening(struct random *random, struct world *world)
{
    const uint64_t dice = random_below(random, 21);
    if (dice == 20) {
        if (random_one_in(random, 3)) {
            promote(random, world);
        } else {
            change_gate(random, world);
        }
    } else if (dice < 12) {
        draw_inputs(random, world);
    } else if (dice < 16) {
        come_or_go(random, world);
    } else if (dice < 17) {
        poke(random, world);
    } else if (dice < 18) {
        pull(random, world);
    } else {
        world->now += random_below(random, 40);
    }
}

/* Everybody in any order, not all at once. */
void draw_population(struct random *random, struct world *world)
{
    size_t order[MODEL_SLOTS];
    for (size_t i = 0; i < world->count; i++) {
        const size_t at = random_below(random, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (size_t i = 0; i < world->count; i++) {
        const size_t slot = order[i];
        if (!world->slots[slot].is_child && !random_one_in(random, 8)) {
            enter(random, world, slot);
        }
    }
}
