/* Programs of nodes and their meaning (lib/sched_model.h). */

#include "lib/sched_model.h"

#include "lib/values.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

const char *const model_paths[MODEL_PATHS] = {
    [PATH_ROOT] = "",
    [PATH_PAYLOAD] = "/value",
    [PATH_N] = "/value/n",
    [PATH_P] = "/value/p",
    [PATH_P_X] = "/value/p/x",
    [PATH_L] = "/value/l",
    [PATH_L_1] = "/value/l/1",
    [PATH_META] = "/meta",
    [PATH_FIELD_0] = "/value/f0",
    [PATH_FIELD_1] = "/value/f1",
    [PATH_FIELD_2] = "/value/f2",
    [PATH_FIELD_3] = "/value/f3",
};

enum {
    CYCLE_SHRINKS = 4,
};

/* -- Surfaces ------------------------------------------------------------ */

static struct model_place output_of(const struct model_program *program,
                                    unsigned which)
{
    return (struct model_place){
        .document = (uint16_t)(MODEL_FIRST_OUTPUT + 2U * program->slot + which),
        .path = PATH_PAYLOAD,
    };
}

size_t model_surface(const struct model_program *program,
                     struct model_place out[2])
{
    out[0] = output_of(program, 0);
    out[1] = output_of(program, 1);
    switch (program->body) {
    case BODY_EFFECT:
        return 0;
    case BODY_TWO:
        return 2;
    case BODY_FIELD:
        out[0] = (struct model_place){
            .document = (uint16_t)(MODEL_FIRST_SHARED + program->field / 4),
            .path = (uint8_t)(PATH_FIELD_0 + program->field % 4),
        };
        return 1;
    case BODY_MATERIALIZER:
        out[0] = (struct model_place){
            .document = (uint16_t)(MODEL_FIRST_ENVELOPE + program->field % 2),
            .path = PATH_PAYLOAD,
        };
        return 1;
    case BODY_NUMBER:
    case BODY_NESTED:
    case BODY_CYCLE:
    case BODY_PARENT:
        break;
    }
    return 1;
}

/* -- What a value says --------------------------------------------------- */

/* Only what a shape read is told of. */
static uint64_t shape_digest(struct value value)
{
    if (value_is_array(value)) {
        return 1000 + array_count(value);
    }
    if (!value_is_object(value)) {
        return value_is_absent(value) ? 3 : value_hash(value);
    }
    uint64_t sum = 2000 + object_count(value);
    struct object_iter iter = object_iter(value);
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        sum += value_hash(key); /* in any order */
    }
    return sum;
}

static uint64_t digest(struct value value, enum read_kind kind)
{
    const uint64_t of = kind == READ_SHAPE       ? shape_digest(value)
                        : value_is_absent(value) ? 3
                                                 : value_hash(value);
    return (of ^ (of >> 31)) * 0x9e3779b97f4a7c15U >> 20;
}

static int64_t number_in(struct value value)
{
    if (value_is_object(value)) {
        value = object_field(value, "n");
    }
    return value_kind(value) == VALUE_INT ? value_integer(value) : 0;
}

/* -- Running ------------------------------------------------------------- */

struct execution {
    const struct model_program *program;
    const struct model_eyes *eyes;
    struct model_outcome *out;
    uint64_t sum;     /* of the digests of all that was read */
    int64_t greatest; /* number */
    int64_t number;   /* the last one */
};

static uint64_t look(struct execution *run, const struct model_place *place)
{
    struct value value = VALUE_NONE;
    if (run->out->stopped) {
        return 0;
    }
    run->out->stopped = !run->eyes->read(run->eyes->ctx, place, &value);
    const uint64_t seen = digest(value, (enum read_kind)place->kind);
    const int64_t number = place->kind == READ_DEEP ? number_in(value) : 0;
    run->number = number;
    run->greatest = number > run->greatest ? number : run->greatest;
    run->sum = run->sum * 31 + seen;
    value_unref(value);
    return seen;
}

/* Reads the document whose number was read last. */
static void follow(struct execution *run)
{
    const uint64_t number = (uint64_t)run->number;
    const uint64_t below = run->program->below;
    const struct model_place place = {
        .document =
            (uint16_t)(below > 0 ? MODEL_FIRST_OUTPUT + 2 * (number % below)
                                 : number % MODEL_INPUTS),
        .path = PATH_PAYLOAD,
    };
    (void)look(run, &place);
}

static void take_step(struct execution *run, const struct model_step *step)
{
    const uint64_t first = look(run, &step->places[0]);
    switch (step->op) {
    case OP_READ:
        return;
    case OP_SELECT:
        (void)look(run, &step->places[1 + first % 2]);
        return;
    case OP_FOLLOW:
        follow(run);
        return;
    }
}

static void put(struct execution *run,
                struct model_place place,
                struct value value)
{
    run->out->writes[run->out->count++] = (struct model_write){place, value};
}

static struct value nested(uint64_t sum)
{
    struct value inner = value_empty_object();
    object_put_adopt(&inner, "x", value_int((int64_t)(sum % 3)));
    object_put_adopt(&inner, "y", value_int((int64_t)(sum / 3 % 2)));
    struct value list = value_empty_array();
    for (uint64_t i = 0; i < sum / 6 % 4; i++) {
        list = array_push_adopt(list, value_int((int64_t)(sum / 24 % 2)));
    }
    struct value value = value_empty_object();
    object_put_adopt(&value, "n", value_int((int64_t)(sum / 48 % 3)));
    object_put_adopt(&value, "p", inner);
    object_put_adopt(&value, "l", list);
    return value;
}

static void have_children(struct execution *run)
{
    const struct model_program *program = run->program;
    run->out->children = run->sum % (MODEL_CHILDREN_MAX + 1);
    run->eyes->have_children(run->eyes->ctx, run->out->children);
    for (size_t i = 0; program->samples && i < run->out->children; i++) {
        const struct model_place place = {
            .document =
                (uint16_t)(MODEL_FIRST_OUTPUT + 2 * (program->first_slot + i)),
            .path = PATH_PAYLOAD,
        };
        (void)look(run, &place);
    }
}

static void write_results(struct execution *run)
{
    const struct model_program *program = run->program;
    struct model_place surface[2];
    const size_t count = model_surface(program, surface);
    const struct value number =
        value_int((int64_t)(run->sum % program->modulus));
    switch (program->body) {
    case BODY_NESTED:
        put(run, surface[0], nested(run->sum % program->modulus));
        return;
    case BODY_CYCLE:
        put(run,
            surface[0],
            value_int(program->modulus + run->greatest / CYCLE_SHRINKS));
        return;
    case BODY_MATERIALIZER:
        surface[0].path = (uint8_t)(PATH_FIELD_0 + run->sum / 8 % 3);
        put(run, surface[0], number);
        return;
    case BODY_NUMBER:
    case BODY_FIELD:
    case BODY_TWO:
    case BODY_PARENT:
    case BODY_EFFECT:
        break;
    }
    for (size_t i = 0; i < count; i++) {
        put(run, surface[i], number);
    }
}

void model_run(const struct model_program *program,
               const struct model_eyes *eyes,
               struct model_outcome *out)
{
    *out = (struct model_outcome){0};
    struct execution run = {.program = program, .eyes = eyes, .out = out};
    for (size_t i = 0; i < program->count; i++) {
        take_step(&run, &program->steps[i]);
    }
    if (program->body == BODY_PARENT && !out->stopped) {
        have_children(&run);
    }
    if (!out->stopped) {
        write_results(&run);
        out->failed = program->fails_at != MODEL_NEVER_FAILS &&
                      run.sum % MODEL_NEVER_FAILS == program->fails_at;
    }
}

void model_outcome_release(struct model_outcome *outcome)
{
    for (size_t i = 0; i < outcome->count; i++) {
        value_unref(outcome->writes[i].value);
    }
}

/* -- Plain documents ----------------------------------------------------- */

void model_documents_init(struct model_documents *documents,
                          struct path_table *paths)
{
    *documents = (struct model_documents){.paths = paths};
    for (size_t i = 0; i < MODEL_PATHS; i++) {
        documents->at[i] = from_pointer(paths, model_paths[i]);
    }
}

void model_documents_release(struct model_documents *documents)
{
    for (size_t i = 0; i < MODEL_DOCUMENTS; i++) {
        value_unref(documents->documents[i]);
    }
    for (size_t i = 0; i < MODEL_PATHS; i++) {
        path_unref(documents->at[i]);
    }
}

struct value model_look(const struct model_documents *documents,
                        const struct model_place *place)
{
    return value_at(documents->documents[place->document],
                    documents->at[place->path]);
}

bool model_put(struct model_documents *documents,
               const struct model_write *write,
               bool apply)
{
    if (value_equal(model_look(documents, &write->place), write->value)) {
        return false;
    }
    if (!apply) {
        return true;
    }
    struct value *document = &documents->documents[write->place.document];
    const struct path *path = documents->at[write->place.path];
    if (value_is_absent(*document)) {
        *document = value_empty_object();
    }
    struct value item = value_ref(write->value);
    if (path->length == 2) { /* into the payload */
        struct value payload = value_ref(object_field(*document, "value"));
        item = object_set_adopt(payload, path->at[1].key, item);
    }
    *document = object_set_adopt(*document, path->at[0].key, item);
    return true;
}

static bool read_documents(void *ctx,
                           const struct model_place *place,
                           struct value *out)
{
    *out = value_ref(model_look(ctx, place));
    return true;
}

static void have_none(void *ctx, size_t count)
{
    (void)ctx;
    (void)count;
}

void model_evaluate(const struct model_documents *documents,
                    const struct model_program *program,
                    struct model_outcome *out)
{
    struct model_documents same = *documents; /* is only read */
    const struct model_eyes eyes = {
        .ctx = &same,
        .read = read_documents,
        .have_children = have_none,
    };
    model_run(program, &eyes, out);
}

bool model_overlaps(const struct model_documents *documents,
                    const struct model_place *read,
                    const struct model_place *to)
{
    const struct path *from = documents->at[read->path];
    const struct path *path = documents->at[to->path];
    return read->document == to->document && path_overlaps(from, path) &&
           (read->kind == READ_DEEP || path->length <= from->length + 1);
}

/* -- Random ones --------------------------------------------------------- */

struct value model_random_payload(struct random *random)
{
    if (random_one_in(random, 2)) {
        return value_int(random_between(random, 0, 5));
    }
    struct value value = nested(random_below(random, 200));
    if (random_one_in(random, 4)) {
        object_put_adopt(&value, "q", value_null());
    }
    return value;
}

static struct model_place random_place(struct random *random, uint16_t slot)
{
    static const uint8_t paths[] = {PATH_ROOT,
                                    PATH_PAYLOAD,
                                    PATH_PAYLOAD,
                                    PATH_PAYLOAD,
                                    PATH_N,
                                    PATH_P,
                                    PATH_P_X,
                                    PATH_L,
                                    PATH_L_1,
                                    PATH_META};
    struct model_place place = {
        .document = (uint16_t)random_below(random, MODEL_INPUTS),
        .path = paths[random_below(random, COUNT_OF(paths))],
        .kind = random_one_in(random, 4) ? READ_SHAPE : READ_DEEP,
    };
    const uint64_t dice = random_below(random, 10);
    if (slot > MODEL_LOW && dice == 9) { /* their writers are lower */
        place.document = (uint16_t)random_between(random,
                                                  MODEL_FIRST_SHARED,
                                                  MODEL_FIRST_OUTPUT - 1);
        if (place.path > PATH_PAYLOAD) {
            place.path =
                (uint8_t)random_between(random, PATH_FIELD_0, PATH_FIELD_3);
        }
    } else if (slot > 0 && dice < 7) { /* mostly a near one: long ways */
        const uint64_t back = 1 + random_below(random, slot < 6 ? slot : 6);
        const uint64_t from =
            random_one_in(random, 3) ? random_below(random, slot) : slot - back;
        place.document = (uint16_t)(MODEL_FIRST_OUTPUT + 2 * from);
        if (place.path == PATH_META) {
            /* That the document comes to be is seen there, too, but is no
             * write there: no order follows from it. */
            place.path = PATH_PAYLOAD;
        }
    }
    return place;
}

static void random_step(struct random *random,
                        uint16_t slot,
                        struct model_step *out)
{
    static const enum model_op ops[] = {OP_READ,
                                        OP_READ,
                                        OP_READ,
                                        OP_SELECT,
                                        OP_FOLLOW};
    out->op = ops[random_below(random, COUNT_OF(ops))];
    for (size_t i = 0; i < COUNT_OF(out->places); i++) {
        out->places[i] = random_place(random, slot);
    }
}

void model_random_program(struct random *random,
                          uint16_t slot,
                          enum model_body body,
                          struct model_program *out)
{
    static const uint8_t moduli[] = {2, 3, 5, 101};
    *out = (struct model_program){
        .body = body,
        .slot = slot,
        .below = slot,
        .count = 1 + random_below(random, MODEL_STEPS_MAX),
        .modulus = moduli[random_below(random, COUNT_OF(moduli))],
        .field = (uint8_t)random_below(random, 4U * MODEL_SHARED),
        .fails_at = MODEL_NEVER_FAILS,
    };
    if (random_one_in(random, 12)) {
        out->fails_at = (uint8_t)random_below(random, MODEL_NEVER_FAILS);
    }
    for (size_t i = 0; i < out->count; i++) {
        random_step(random, slot, &out->steps[i]);
    }
}
