/* src/replica/draft: what writes amount to (W1 to W4; scenarios Q08 to Q10). */

#include <string.h>

#include "lib/gen.h"
#include "lib/model.h"
#include "lib/replica_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/compare.h"
#include "value/object.h"

static void end(struct stage *stage)
{
    EXPECT_STAGE(stage);
    stage_close(stage);
}

/* The operations of the last commit, without what is around them. */
static const char *operations_of(struct stage *stage)
{
    static char text[2000];
    const char *all = stage_pending(stage, stage->local_seq);
    const char *from = strstr(all, "'operations':");
    const char *to = strstr(all, ",'session'");
    if (from == NULL || to == NULL || to - from >= (ptrdiff_t)sizeof text) {
        return all;
    }
    const size_t length = (size_t)(to - from) - strlen("'operations':");
    memcpy(text, from + strlen("'operations':"), length);
    text[length] = '\0';
    return text;
}

struct row {
    const char *line;
    const char *want; /* NULL: no commit at all */
};

/* Each line on a document of its own, {'x':1,'l':[1,2,3],'o':{'p':1}}. */
static void expect_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct stage stage;
        stage_open(&stage, "s1");
        EXPECT_COMMIT(&stage, "read A | read N");
        stage_say(&stage,
                  "sync 0-1 pull A@1={'x':1,'l':[1,2,3],'o':{'p':1}} N@0=()");
        EXPECT_COMMIT(&stage, rows[i].line);
        const bool held =
            rows[i].want == NULL
                ? EXPECT_EQ(stage.local_seq, 0)
                : EXPECT_TEXT(operations_of(&stage), rows[i].want);
        if (!held) {
            (void)test_fail(__FILE__, __LINE__, "%s", rows[i].line);
        }
        end(&stage);
    }
}

#define PATCH_A(steps) "[{'id':'A','op':'patch','patches':[" steps "]}]"

TEST(w1_a_document_is_written_as_a_whole_or_patched)
{
    static const struct row rows[] = {
        {"put N 5", "[{'id':'N','op':'set','value':{'value':5}}]"},
        {"put N {'x':1} | put N.x 2",
         "[{'id':'N','op':'set','value':{'value':{'x':2}}}]"},
        {"put N! {'m':1} | put N 5",
         "[{'id':'N','op':'set','value':{'m':1,'value':5}}]"},
        {"put A! {'value':5}", "[{'id':'A','op':'set','value':{'value':5}}]"},
        {"put A.x 2 | put A! {'value':5}",
         "[{'id':'A','op':'set','value':{'value':5}}]"},
        {"delete A!", "[{'id':'A','op':'delete'}]"},
        {"put A.x 2 | delete A!", "[{'id':'A','op':'delete'}]"},
        {"put N 5 | delete N!", NULL},
        {"delete A! | put A 5", "[{'id':'A','op':'set','value':{'value':5}}]"},
        /* Somebody else may be creating it, too. */
        {"append N [1]",
         "[{'id':'N','op':'patch','patches':[{'op':'append','path':'/value',"
         "'values':[1]}]}]"},
        {"inc N.a 1 | inc N.b 2",
         "[{'id':'N','op':'patch','patches':[{'by':1,'op':'increment','path':"
         "'/value/a'},{'by':2,'op':'increment','path':'/value/b'}]}]"},
        {"append N [1] | put N.0 2",
         "[{'id':'N','op':'set','value':{'value':[2]}}]"},
        {"put A 5", PATCH_A("{'op':'replace','path':'/value','value':5}")},
        {"put A!.m 5",
         PATCH_A("{'createsKey':true,'op':'add','path':'/m','value':5}")},
        {"delete A", PATCH_A("{'op':'remove','path':'/value'}")},
    };
    expect_rows(rows, COUNT_OF(rows));
}

TEST(q08_a_write_becomes_the_step_that_says_least)
{
    static const struct row rows[] = {
        {"put A.x 2", PATCH_A("{'op':'replace','path':'/value/x','value':2}")},
        {"put A.y 2",
         PATCH_A("{'createsKey':true,'op':'add','path':'/value/y','value':2}")},
        {"delete A.x", PATCH_A("{'op':'remove','path':'/value/x'}")},
        {"put A.l.1 9",
         PATCH_A("{'op':'replace','path':'/value/l/1','value':9}")},
        {"put A.l.3 4",
         PATCH_A("{'add':[4],'index':3,'op':'splice','path':'/value/l',"
                 "'remove':0}")},
        {"put A.l.3 4 | put A.l.4 5",
         PATCH_A("{'add':[4,5],'index':3,'op':'splice','path':'/value/l',"
                 "'remove':0}")},
        {"delete A.l.2 | delete A.l.1",
         PATCH_A("{'add':[],'index':1,'op':'splice','path':'/value/l',"
                 "'remove':2}")},
        {"delete A.l.0",
         PATCH_A("{'add':[],'index':0,'op':'splice','path':'/value/l',"
                 "'remove':1}")},
        {"put A.l [1,2,4]",
         PATCH_A("{'op':'replace','path':'/value/l/2','value':4}")},
        {"put A.l [7,8,9]",
         PATCH_A("{'op':'replace','path':'/value/l','value':[7,8,9]}")},
        {"put A.l {'no':1}",
         PATCH_A("{'op':'replace','path':'/value/l','value':{'no':1}}")},
    };
    expect_rows(rows, COUNT_OF(rows));
}

TEST(q10_only_the_difference_counts)
{
    static const struct row rows[] = {
        {"put A.y 1 | delete A.y", NULL},
        {"put A.o {'p':2} | put A.o.p 3",
         PATCH_A("{'op':'replace','path':'/value/o','value':{'p':3}}")},
        {"put A.o.p 3 | put A.o {'p':2}",
         PATCH_A("{'op':'replace','path':'/value/o','value':{'p':2}}")},
        {"put A.x 2 | put A.x 3 | put A.x 4",
         PATCH_A("{'op':'replace','path':'/value/x','value':4}")},
        {"put A.x 2 | put A.x 1", NULL},
        {"put A.x 2 | put A.o.p 1",
         PATCH_A("{'op':'replace','path':'/value/x','value':2}")},
        {"put A.x 2 | put A.y 3",
         PATCH_A("{'op':'replace','path':'/value/x','value':2},"
                 "{'createsKey':true,'op':'add','path':'/value/y','value':3}")},
        {"put A.l.3 4 | delete A.l.3", NULL},
    };
    expect_rows(rows, COUNT_OF(rows));
}

TEST(w4_what_merges_is_sent_as_such_unless_something_else_touches_it)
{
    static const struct row rows[] = {
        {"append A.l [4]",
         PATCH_A("{'op':'append','path':'/value/l','values':[4]}")},
        {"append A.l [4] | append A.l [5]",
         PATCH_A("{'op':'append','path':'/value/l','values':[4]},"
                 "{'op':'append','path':'/value/l','values':[5]}")},
        {"unique A.l [3,4]",
         PATCH_A("{'op':'add-unique','path':'/value/l','values':[3,4]}")},
        {"remove A.l 2",
         PATCH_A("{'op':'remove-by-value','path':'/value/l','value':2}")},
        {"inc A.x 2 | inc A.x 3",
         PATCH_A("{'by':2,'op':'increment','path':'/value/x'},"
                 "{'by':3,'op':'increment','path':'/value/x'}")},
        {"inc A.x 2 | put A.x 9",
         PATCH_A("{'op':'replace','path':'/value/x','value':9}")},
        {"append A.l [4] | put A.l.0 9",
         PATCH_A("{'add':[9,2,3,4],'index':0,'op':'splice','path':'/value/l',"
                 "'remove':3}")},
        {"append A.l [4] | remove A.l 4", NULL},
        {"append A.l [4] | unique A.l [5]",
         PATCH_A("{'add':[4,5],'index':3,'op':'splice','path':'/value/l',"
                 "'remove':0}")},
        {"inc A.p.q.r 1 | delete A.p.q",
         PATCH_A("{'createsKey':true,'op':'add','path':'/value/p','value':"
                 "{}}")},
        {"inc A.l.3 5",
         PATCH_A("{'add':[5],'index':3,'op':'splice','path':'/value/l',"
                 "'remove':0}")},
        {"append A.l [4] | put A.x 2",
         PATCH_A("{'op':'append','path':'/value/l','values':[4]},"
                 "{'op':'replace','path':'/value/x','value':2}")},
    };
    expect_rows(rows, COUNT_OF(rows));
}

/* What is not changed keeps its identity. */
TEST(p28_a_write_shares_what_it_does_not_touch)
{
    struct stage stage;
    stage_open_local(&stage);
    EXPECT_COMMIT(&stage, "put A {'big':[1,2,3],'n':1}");
    struct place *place = stage_place(&stage, "A.big");
    struct value before;
    EXPECT(entity_state_at(&place->entity->visible, place->path, &before) ==
           ERR_OK);
    EXPECT_COMMIT(&stage, "put A.n 2");
    EXPECT_COMMIT(&stage, "put A {'big':[1,2,3],'n':3}");
    struct value after;
    EXPECT(entity_state_at(&place->entity->visible, place->path, &after) ==
           ERR_OK);
    EXPECT(value_is_same(before, after));
    value_unref(before);
    value_unref(after);
    place_unref(place);
    end(&stage);
}

/* -- Against a naive model ----------------------------------------------- */

struct trial {
    struct stage stage;
    struct random *random;
    struct gen gen;
    struct model *model; /* of the document; NULL: there is none */
    struct transaction *transaction;
    struct entity *entity;
};

static struct value base_document(const struct gen *gen)
{
    if (random_one_in(gen->random, 5)) {
        return VALUE_NONE;
    }
    struct value document = gen_object(gen);
    if (!value_is_object(document)) {
        value_unref(document); /* an envelope */
        document = value_empty_object();
    }
    if (!random_one_in(gen->random, 8)) {
        const struct value key = value_text_new("value");
        document = object_set_adopt(document, key, gen_value(gen));
    }
    if (!value_is_object(document)) {
        value_unref(document);
        document = value_empty_object();
    }
    return document;
}

static void set_up(struct trial *trial, struct random *random)
{
    *trial = (struct trial){
        .random = random,
        .gen = {random, 3, 6, GEN_SPECIALS | GEN_ENVELOPES},
    };
    stage_open(&trial->stage, "s1");
    EXPECT_COMMIT(&trial->stage, "read A");
    stage_say(&trial->stage, "sync 0-1 pull A@1=()");
    trial->entity = stage_entity(&trial->stage, "A");
    struct message message = {
        .kind = MESSAGE_SYNC,
        .connection = trial->stage.script.connection,
        .number = ++trial->stage.script.number,
    };
    const struct upsert upsert = {
        .target = {.id = value_text_new("A")},
        .seq = 2,
        .document = base_document(&trial->gen),
    };
    if (!value_is_absent(upsert.document)) {
        trial->model = model_of(upsert.document);
    }
    vec_push(&message.upserts, upsert);
    session_receive(trial->stage.script.session, &message);
}

/* The operation that a write is, by the manual of transaction.h; false if it
 * must fail, or has nothing to do. */
static bool op_of_write(const struct trial *trial,
                        enum write_kind kind,
                        struct patch_op *op,
                        bool *nothing)
{
    static const enum patch_kind kinds[] = {
        [WRITE_PUT] = PATCH_REPLACE,
        [WRITE_DELETE] = PATCH_REMOVE,
        [WRITE_APPEND] = PATCH_APPEND,
        [WRITE_ADD_UNIQUE] = PATCH_ADD_UNIQUE,
        [WRITE_REMOVE_VALUE] = PATCH_REMOVE_BY_VALUE,
        [WRITE_INCREMENT] = PATCH_INCREMENT,
    };
    op->kind = kinds[kind];
    const struct model *parent = trial->model;
    for (uint32_t i = 0; i + 1 < op->path->length && parent != NULL; i++) {
        parent = model_child(parent, &op->path->at[i]);
    }
    const struct path_segment *last = &op->path->at[op->path->length - 1];
    const struct model *old = parent != NULL ? model_child(parent, last) : NULL;
    *nothing = kind == WRITE_DELETE && old == NULL;
    if (*nothing) {
        return false;
    }
    if (kind == WRITE_PUT) {
        if (trial->model == NULL) {
            return op->path->length == 1 &&
                   op->path == trial->stage.replica.payload_path;
        }
        if (parent != NULL && parent->kind == VALUE_ARRAY && old == NULL) {
            op->kind = PATCH_ADD;
            return last->index == parent->count;
        }
    }
    return true;
}

/* The same write on the model; false if it must fail. */
static bool write_model(struct trial *trial,
                        enum write_kind kind,
                        struct path *path,
                        struct value value)
{
    if (path->length == 0) {
        const bool fits = kind == WRITE_DELETE ||
                          (kind == WRITE_PUT && value_is_object(value));
        if (fits) {
            model_free(trial->model);
            trial->model = kind == WRITE_PUT ? model_of(value) : NULL;
        }
        return fits;
    }
    struct patch_op op = {.path = path, .value = value};
    bool nothing;
    if (!op_of_write(trial, kind, &op, &nothing)) {
        return nothing;
    }
    struct model *copy = trial->model != NULL ? model_copy(trial->model)
                                              : model_of(value_empty_object());
    /* What becomes an envelope on the way is a leaf then (V4). */
    const bool fits = model_apply(&copy, &op) == ERR_OK;
    struct value document = fits ? model_value(copy) : VALUE_NONE;
    model_free(copy);
    if (!fits || !value_is_object(document)) {
        value_unref(document);
        return false;
    }
    model_free(trial->model);
    trial->model = model_of(document);
    value_unref(document);
    return true;
}

static struct value value_for(struct trial *trial, enum write_kind kind)
{
    if (kind == WRITE_APPEND || kind == WRITE_ADD_UNIQUE) {
        return gen_array(&trial->gen);
    }
    if (kind == WRITE_INCREMENT) {
        return value_int(1 + (int64_t)random_below(trial->random, 3));
    }
    return kind == WRITE_DELETE ? VALUE_NONE : gen_value(&trial->gen);
}

static struct value model_document(const struct trial *trial)
{
    return trial->model != NULL ? model_value(trial->model) : VALUE_NONE;
}

static void write_once(struct trial *trial)
{
    const enum write_kind kind =
        random_one_in(trial->random, 2)
            ? WRITE_PUT
            : (enum write_kind)random_below(trial->random, WRITE_INCREMENT + 1);
    const struct value document = model_document(trial);
    struct path *path =
        value_is_absent(document) || random_one_in(trial->random, 6)
            ? path_ref(trial->stage.replica.payload_path)
            : gen_path(&trial->gen, &trial->stage.replica.paths, document);
    value_unref(document);
    struct place *place = place_of(trial->entity, path);
    struct value value = value_for(trial, kind);
    const bool fits = write_model(trial, kind, path, value);
    const enum err err =
        kind == WRITE_PUT ? transaction_put_adopt(trial->transaction,
                                                  place,
                                                  value_ref(value),
                                                  NULL)
        : kind == WRITE_DELETE
            ? transaction_delete(trial->transaction, place, NULL)
            : transaction_merge_adopt(trial->transaction,
                                      place,
                                      kind,
                                      value_ref(value),
                                      NULL);
    if (!EXPECT((err == ERR_OK) == fits)) {
        (void)test_fail(__FILE__,
                        __LINE__,
                        "kind %d is %s",
                        (int)kind,
                        err_name(err));
    }
    value_unref(value);
    place_unref(place);
    path_unref(path);
}

static void expect_work(struct trial *trial)
{
    struct place *root = place_root(trial->entity);
    struct value got;
    (void)transaction_read(trial->transaction,
                           root,
                           READ_DEEP,
                           READ_UNTRACKED,
                           &got);
    const struct value want = model_document(trial);
    EXPECT_VALUE(got, want);
    value_unref(got);
    value_unref(want);
    place_unref(root);
}

/* W3, and W2: no step is below another one. */
static void expect_steps(const struct patch *patch,
                         const struct patch_trace *traces)
{
    for (size_t i = 0; i < patch->ops.count; i++) {
        const struct patch_op *op = &patch->ops.at[i];
        EXPECT(op->kind != PATCH_MOVE);
        if (op->kind == PATCH_ADD || op->kind == PATCH_REMOVE) {
            EXPECT(!traces[i].path_in_array);
        }
        for (size_t j = 0; j < i; j++) {
            const struct patch_op *other = &patch->ops.at[j];
            const bool replaces_elements =
                op->kind == PATCH_REPLACE && other->kind == PATCH_REPLACE;
            EXPECT(!path_overlaps(op->path, other->path) ||
                   (op->path == other->path && op->kind == other->kind &&
                    op->kind > PATCH_SPLICE) ||
                   replaces_elements);
            EXPECT(!replaces_elements || op->path != other->path);
        }
    }
}

static void expect_operation(struct trial *trial, struct value base)
{
    struct list_node *last = list_last(&trial->stage.space->pending);
    if (last == NULL) { /* so that gcc sees it, too */
        (void)test_fail(__FILE__, __LINE__, "nothing was committed");
        return;
    }
    const struct pending *pending = CONTAINER_OF(last, struct pending, node);
    const struct commit_op *op = pending->commit.ops.at;
    EXPECT_EQ(pending->commit.ops.count, 1);
    struct value got = VALUE_NONE;
    if (op->kind == COMMIT_SET) {
        got = value_ref(op->document);
    } else if (op->kind == COMMIT_PATCH) {
        struct patch_trace traces[200] = {0};
        CHECK(op->patch.ops.count <= COUNT_OF(traces));
        EXPECT(op->patch.ops.count > 0);
        EXPECT(patch_apply(&op->patch,
                           base,
                           PATCH_ROOT_DOCUMENT,
                           &got,
                           traces,
                           NULL) == ERR_OK);
        expect_steps(&op->patch, traces);
    }
    const struct value want = model_document(trial);
    EXPECT_VALUE(got, want);
    value_unref(got);
    value_unref(want);
}

PROPERTY(q09_the_operation_gives_exactly_what_was_written, 1500)
{
    struct trial trial;
    set_up(&trial, random);
    struct value base = entity_state_document(&trial.entity->visible);
    trial.transaction = stage_begin(&trial.stage);
    for (uint64_t left = 1 + random_below(random, 6); left > 0; left--) {
        write_once(&trial);
        expect_work(&trial);
    }
    const struct value want = model_document(&trial);
    const bool effective = !value_equal(base, want);
    EXPECT(stage_end(&trial.stage, trial.transaction) == ERR_OK);
    const struct value visible = entity_state_document(&trial.entity->visible);
    EXPECT_VALUE(visible, want);
    value_unref(visible);
    value_unref(want);
    EXPECT_EQ(trial.stage.local_seq, effective);
    if (effective && trial.stage.local_seq == 1) {
        expect_operation(&trial, base);
    }
    value_unref(base);
    model_free(trial.model);
    end(&trial.stage);
}
