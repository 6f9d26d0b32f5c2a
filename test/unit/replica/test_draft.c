/* src/replica/draft: what writes amount to (draft-1 to draft-4; scenarios Q08
 * to Q10). */

#include <string.h>

#include "lib/gen.h"
#include "lib/model.h"
#include "lib/replica_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "replica/draft.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

static void end(struct fixture *fixture)
{
    EXPECT_STAGE(fixture);
    fixture_close(fixture);
}

/* The operations of the last commit, without what is around them. */
static const char *operations_of(struct fixture *fixture)
{
    static char text[2000];
    const char *all = fixture_pending(fixture, fixture->local_seq);
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
        struct fixture fixture;
        fixture_open(&fixture, "s1");
        EXPECT_COMMIT(&fixture, "read A | read N");
        fixture_say(&fixture,
                    "sync 0-1 pull A@1={'x':1,'l':[1,2,3],'o':{'p':1}} N@0=()");
        EXPECT_COMMIT(&fixture, rows[i].line);
        const bool held =
            rows[i].want == NULL
                ? EXPECT_EQ(fixture.local_seq, 0)
                : EXPECT_TEXT(operations_of(&fixture), rows[i].want);
        if (!held) {
            (void)test_fail(__FILE__, __LINE__, "%s", rows[i].line);
        }
        end(&fixture);
    }
}

#define PATCH_A(steps) "[{'id':'A','op':'patch','patches':[" steps "]}]"
#define CLAIMED_P \
    ",'reads':{'confirmed':[{'id':'A','path':['value','o','p'],'seq':1}]}"
#define CLAIMED_L \
    ",'reads':{'confirmed':[{'id':'A','path':['value','l'],'seq':1}]}"

TEST(w1_a_document_is_written_as_a_whole_or_patched)
{
    static const struct row rows[] = {
        /* Another writer may be creating it, with keys beside the payload. */
        {"put N 5",
         "[{'id':'N','op':'patch','patches':[{'createsKey':true,'op':'add',"
         "'path':'/value','value':5}]}]"},
        {"put N {'x':1} | put N.x 2",
         "[{'id':'N','op':'patch','patches':[{'createsKey':true,'op':'add',"
         "'path':'/value','value':{'x':2}}]}]"},
        {"put N 5 | put N!.m 1",
         "[{'id':'N','op':'patch','patches':[{'createsKey':true,'op':'add',"
         "'path':'/m','value':1},{'createsKey':true,'op':'add','path':'/value',"
         "'value':5}]}]"},
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
         "[{'id':'N','op':'patch','patches':[{'op':'append','path':'/value',"
         "'values':[1]},{'op':'replace','path':'/value/0','value':2}]}]"},
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
                 "'remove':0}") CLAIMED_L},
        {"put A.l.3 4 | put A.l.4 5",
         PATCH_A("{'add':[4,5],'index':3,'op':'splice','path':'/value/l',"
                 "'remove':0}") CLAIMED_L},
        {"delete A.l.2 | delete A.l.1",
         PATCH_A("{'op':'remove','path':'/value/l/2'},"
                 "{'op':'remove','path':'/value/l/1'}")},
        {"delete A.l.0", PATCH_A("{'op':'remove','path':'/value/l/0'}")},
        {"put A.l [1,2,4]",
         PATCH_A("{'op':'replace','path':'/value/l','value':[1,2,4]}")},
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
         PATCH_A("{'op':'replace','path':'/value/x','value':2}") CLAIMED_P},
        {"put A.x 2 | put A.y 3",
         PATCH_A("{'op':'replace','path':'/value/x','value':2},"
                 "{'createsKey':true,'op':'add','path':'/value/y','value':3}")},
        {"put A.l.3 4 | delete A.l.3", NULL},
    };
    expect_rows(rows, COUNT_OF(rows));
}

TEST(w3_writes_that_overlap_are_sent_as_they_were_made)
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
        /* There is such a position in what was there. */
        {"put A.l.3 9 | put A.l [5]",
         PATCH_A("{'op':'replace','path':'/value/l','value':[5]}") CLAIMED_L},
        {"put A.l.2 9 | put A.l [5]",
         PATCH_A("{'op':'replace','path':'/value/l','value':[5]}") CLAIMED_L},
        {"put A.l [5] | put A.l.0 6",
         PATCH_A("{'op':'replace','path':'/value/l','value':[6]}")},
        {"append A.l [4] | put A.l.0 9",
         PATCH_A("{'op':'append','path':'/value/l','values':[4]},"
                 "{'op':'replace','path':'/value/l/0','value':9}")},
        {"put A.l.0 9 | append A.l [4] | delete A.l.1",
         PATCH_A("{'op':'replace','path':'/value/l/0','value':9},"
                 "{'op':'append','path':'/value/l','values':[4]},"
                 "{'op':'remove','path':'/value/l/1'}")},
        {"append A.l [4] | remove A.l 4", NULL},
        {"append A.l [4] | remove A.l 1",
         PATCH_A("{'op':'append','path':'/value/l','values':[4]},"
                 "{'op':'remove-by-value','path':'/value/l','value':1}")},
        {"append A.l [4] | unique A.l [5]",
         PATCH_A("{'op':'append','path':'/value/l','values':[4]},"
                 "{'op':'add-unique','path':'/value/l','values':[5]}")},
        {"inc A.p.q.r 1 | delete A.p.q",
         PATCH_A("{'by':1,'op':'increment','path':'/value/p/q/r'},"
                 "{'op':'remove','path':'/value/p/q'}")},
        {"inc A.l.3 5",
         PATCH_A("{'add':[5],'index':3,'op':'splice','path':'/value/l',"
                 "'remove':0}") CLAIMED_L},
        {"append A.l [4] | delete A.l.9",
         PATCH_A("{'add':[4],'index':3,'op':'splice','path':'/value/l',"
                 "'remove':0}") CLAIMED_L},
        {"append A.l [4] | put A.x 2",
         PATCH_A("{'op':'append','path':'/value/l','values':[4]},"
                 "{'op':'replace','path':'/value/x','value':2}")},
    };
    expect_rows(rows, COUNT_OF(rows));
}

/* What is not changed keeps its identity. */
TEST(p28_a_write_shares_what_it_does_not_touch)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    EXPECT_COMMIT(&fixture, "put A {'big':[1,2,3],'n':1}");
    struct place *place = fixture_place(&fixture, "A.big");
    struct value before;
    EXPECT(entity_state_at(&place->entity->visible, place->path, &before) ==
           ERR_OK);
    EXPECT_COMMIT(&fixture, "put A.n 2");
    EXPECT_COMMIT(&fixture, "put A {'big':[1,2,3],'n':3}");
    struct value after;
    EXPECT(entity_state_at(&place->entity->visible, place->path, &after) ==
           ERR_OK);
    EXPECT(value_is_same(before, after));
    value_unref(before);
    value_unref(after);
    place_unref(place);
    end(&fixture);
}

/* -- Against a naive model ----------------------------------------------- */

/* A write that was made, for somebody who makes it again elsewhere. */
struct made {
    enum write_kind kind;
    struct path *path;
    struct value value;
};

struct trial {
    struct fixture fixture;
    struct fixture *at; /* this one, or that of the trial beside it */
    struct random *random;
    struct gen gen;
    struct model *model; /* of the document; NULL: there is none */
    struct transaction *transaction;
    struct entity *entity;
    VEC(struct made) made;
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
    trial->at = &trial->fixture;
    fixture_open(&trial->fixture, "s1");
    EXPECT_COMMIT(&trial->fixture, "read A");
    fixture_say(&trial->fixture, "sync 0-1 pull A@1=()");
    trial->entity = fixture_entity(&trial->fixture, "A");
    struct message message = {
        .kind = MESSAGE_SYNC,
        .connection = trial->fixture.script.connection,
        .number = ++trial->fixture.script.number,
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
    session_receive(trial->fixture.script.session, &message);
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
                   op->path == trial->at->replica.payload_path;
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
    /* What becomes an envelope on the way is a leaf then (value-4). */
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

static struct made draw_write(struct trial *trial)
{
    const enum write_kind kind =
        random_one_in(trial->random, 2)
            ? WRITE_PUT
            : (enum write_kind)random_below(trial->random, WRITE_INCREMENT + 1);
    const struct value document = model_document(trial);
    struct path *path =
        value_is_absent(document) || random_one_in(trial->random, 6)
            ? path_ref(trial->at->replica.payload_path)
            : gen_path(&trial->gen, &trial->at->replica.paths, document);
    value_unref(document);
    return (struct made){kind, path, value_for(trial, kind)};
}

static void write_once(struct trial *trial)
{
    const struct made made = draw_write(trial);
    const enum write_kind kind = made.kind;
    const struct value value = made.value;
    struct place *place = place_of(trial->entity, made.path);
    const bool fits = write_model(trial, kind, made.path, value);
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
    place_unref(place);
    if (fits) {
        vec_push(&trial->made, made);
    } else {
        value_unref(value);
        path_unref(made.path);
    }
}

static void forget_made(struct trial *trial)
{
    VEC_FOREACH (&trial->made, made) {
        value_unref(made->value);
        path_unref(made->path);
    }
    vec_release(&trial->made);
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

/* No step adds by array index, which would move elements that nobody
 * touched. */
static void expect_steps(const struct patch *patch,
                         const struct patch_trace *traces)
{
    for (size_t i = 0; i < patch->ops.count; i++) {
        const struct patch_op *op = &patch->ops.at[i];
        EXPECT(op->kind != PATCH_MOVE);
        EXPECT(op->kind != PATCH_ADD || !traces[i].path_in_array);
    }
}

static void expect_operation(struct trial *trial, struct value base)
{
    struct list_node *last = list_last(&trial->fixture.space->pending);
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
    trial.transaction = fixture_begin(&trial.fixture);
    for (uint64_t left = 1 + random_below(random, 6); left > 0; left--) {
        write_once(&trial);
        expect_work(&trial);
    }
    const struct value want = model_document(&trial);
    const bool effective = !value_equal(base, want);
    EXPECT(fixture_end(&trial.fixture, trial.transaction) == ERR_OK);
    const struct value visible = entity_state_document(&trial.entity->visible);
    EXPECT_VALUE(visible, want);
    value_unref(visible);
    value_unref(want);
    EXPECT_EQ(trial.fixture.local_seq, effective);
    if (effective && trial.fixture.local_seq == 1) {
        expect_operation(&trial, base);
    }
    value_unref(base);
    forget_made(&trial);
    model_free(trial.model);
    end(&trial.fixture);
}

/* -- On another document (D20) ------------------------------------------- */

/* The writes of one transaction on a document of the model's; false if one of
 * them does not fit. */
static bool make_again(struct trial *trial,
                       const struct trial *from,
                       struct value document)
{
    model_free(trial->model);
    trial->model = value_is_absent(document) ? NULL : model_of(document);
    VEC_FOREACH (&from->made, made) {
        if (!write_model(trial, made->kind, made->path, made->value)) {
            return false;
        }
    }
    return true;
}

/* Another writer: writes on the same document, by the model alone. */
static void write_beside(struct trial *peer)
{
    for (uint64_t left = 1 + random_below(peer->random, 3); left > 0; left--) {
        const struct made made = draw_write(peer);
        if (write_model(peer, made.kind, made.path, made.value)) {
            vec_push(&peer->made, made);
        } else {
            value_unref(made.value);
            path_unref(made.path);
        }
    }
}

/* Whether what the commit claims to have read is the same in both. */
static bool claims_hold(const struct commit *commit,
                        struct value base,
                        struct value other)
{
    const struct entity_state before = entity_state_of(base);
    const struct entity_state now = entity_state_of(other);
    bool hold = true;
    VEC_FOREACH (&commit->reads, read) {
        struct value seen;
        struct value is;
        (void)entity_state_at(&before, read->path, &seen);
        (void)entity_state_at(&now, read->path, &is);
        hold = hold && value_equal(seen, is);
        value_unref(seen);
        value_unref(is);
    }
    value_unref(before.payload);
    value_unref(before.rest);
    value_unref(now.payload);
    value_unref(now.rest);
    return hold;
}

/* What the store makes of the operation; false: it does not apply. */
static bool land(const struct commit_op *op,
                 struct value other,
                 struct value *out)
{
    *out = VALUE_NONE;
    if (op->kind == COMMIT_SET) {
        *out = value_ref(op->document);
        return true;
    }
    return op->kind == COMMIT_DELETE || patch_apply(&op->patch,
                                                    other,
                                                    PATCH_ROOT_DOCUMENT,
                                                    out,
                                                    NULL,
                                                    NULL) == ERR_OK;
}

/* Whether the document is what one order of the two transactions gives. */
static bool is_serial(struct trial *trial,
                      struct trial *peer,
                      struct value base,
                      struct value landed,
                      bool *is_known)
{
    struct trial scratch = {.at = &trial->fixture, .random = trial->random};
    bool found = false;
    *is_known = true;
    for (int turn = 0; turn < 2; turn++) {
        struct trial *first = turn == 0 ? peer : trial;
        struct trial *second = turn == 0 ? trial : peer;
        bool fits = make_again(&scratch, first, base);
        const struct value between = model_document(&scratch);
        fits = fits && make_again(&scratch, second, between);
        const struct value both = model_document(&scratch);
        found = found || (fits && value_equal(both, landed));
        *is_known = *is_known && fits;
        value_unref(between);
        value_unref(both);
    }
    model_free(scratch.model);
    return found;
}

static void tell_document(const char *name, struct value document)
{
    struct buf text = {0};
    if (value_is_absent(document)) {
        buf_append_text(&text, "absent");
    } else {
        json_write(&text, document, JSON_AS_GIVEN, 0);
    }
    (void)test_fail(__FILE__, __LINE__, "%s %s", name, buf_text(&text));
    buf_release(&text);
}

static void tell_writes(const char *name, const struct trial *trial)
{
    VEC_FOREACH (&trial->made, made) {
        struct buf pointer = {0};
        path_write(&pointer, made->path);
        (void)test_fail(__FILE__,
                        __LINE__,
                        "%s kind %d at %s",
                        name,
                        (int)made->kind,
                        buf_text(&pointer));
        buf_release(&pointer);
        tell_document("  value", made->value);
    }
}

static uint64_t landed_together;
static uint64_t refused_together;
static uint64_t tried_together;

static void expect_serial(struct trial *trial, struct value base)
{
    struct list_node *last = list_last(&trial->fixture.space->pending);
    if (last == NULL) { /* so that gcc sees it, too */
        (void)test_fail(__FILE__, __LINE__, "nothing was committed");
        return;
    }
    tried_together++;
    struct trial peer = {.at = &trial->fixture,
                         .random = trial->random,
                         .gen = trial->gen};
    peer.model = value_is_absent(base) ? NULL : model_of(base);
    write_beside(&peer);
    const struct value other = model_document(&peer);
    const struct pending *pending = CONTAINER_OF(last, struct pending, node);
    struct value landed = VALUE_NONE;
    if (claims_hold(&pending->commit, base, other) &&
        land(pending->commit.ops.at, other, &landed)) {
        bool is_known;
        const bool serial = is_serial(trial, &peer, base, landed, &is_known);
        if (!EXPECT(serial || !is_known)) {
            tell_document("base", base);
            tell_document("other", other);
            tell_document("landed", landed);
            tell_writes("writes", trial);
            tell_writes("beside", &peer);
        }
        landed_together += is_known;
    } else {
        refused_together++;
    }
    value_unref(landed);
    value_unref(other);
    forget_made(&peer);
    model_free(peer.model);
}

PROPERTY(d20_an_operation_lands_on_another_document_as_its_writes_would, 3000)
{
    struct trial trial;
    set_up(&trial, random);
    struct value base = entity_state_document(&trial.entity->visible);
    trial.transaction = fixture_begin(&trial.fixture);
    for (uint64_t left = 1 + random_below(random, 4); left > 0; left--) {
        write_once(&trial);
    }
    EXPECT(fixture_end(&trial.fixture, trial.transaction) == ERR_OK);
    if (trial.fixture.local_seq == 1) {
        expect_serial(&trial, base);
    }
    value_unref(base);
    forget_made(&trial);
    model_free(trial.model);
    end(&trial.fixture);
}

/* -- On a document that is not here (D19) --------------------------------- */

static uint64_t sent_unloaded;
static uint64_t awaited_unloaded;

/* A write to the entity, which is not loaded; the model has what the store
 * holds and is not asked. */
static void write_blindly(struct trial *trial)
{
    const struct made made = draw_write(trial);
    struct place *place = place_of(trial->entity, made.path);
    struct transaction *transaction = trial->transaction;
    const struct value value = value_ref(made.value);
    const enum err err =
        made.kind == WRITE_PUT
            ? transaction_put_adopt(transaction, place, value, NULL)
        : made.kind == WRITE_DELETE
            ? transaction_delete(transaction, place, NULL)
            : transaction_merge_adopt(transaction,
                                      place,
                                      made.kind,
                                      value,
                                      NULL);
    place_unref(place);
    if (err == ERR_OK) {
        vec_push(&trial->made, made);
    } else {
        value_unref(made.value);
        path_unref(made.path);
    }
}

/* What is sent is right for what the store holds, which was never seen here. */
static void expect_blind(struct trial *trial, struct value stored)
{
    struct list_node *last = list_last(&trial->fixture.space->pending);
    if (last == NULL) { /* so that gcc sees it, too */
        (void)test_fail(__FILE__, __LINE__, "nothing was committed");
        return;
    }
    const struct pending *pending = CONTAINER_OF(last, struct pending, node);
    struct value landed = VALUE_NONE;
    VEC_FOREACH (&pending->commit.reads, read) {
        EXPECT_EQ(read->seq, 0); /* that there is none, which is refused else */
    }
    if ((pending->commit.reads.count == 0 || value_is_absent(stored)) &&
        land(pending->commit.ops.at, stored, &landed) &&
        make_again(trial, trial, stored)) {
        const struct value want = model_document(trial);
        if (!EXPECT_VALUE(landed, want)) {
            tell_document("stored", stored);
            tell_writes("writes", trial);
        }
        value_unref(want);
        sent_unloaded++;
    }
    value_unref(landed);
}

PROPERTY(d19_a_write_does_not_depend_on_a_document_that_is_not_loaded, 3000)
{
    struct trial trial = {
        .random = random,
        .gen = {random, 3, 6, GEN_SPECIALS | GEN_ENVELOPES},
    };
    trial.at = &trial.fixture;
    fixture_open(&trial.fixture, "s1");
    trial.entity = fixture_entity(&trial.fixture, "A");
    const struct value stored = base_document(&trial.gen);
    trial.model = value_is_absent(stored) ? NULL : model_of(stored);
    trial.transaction = fixture_begin(&trial.fixture);
    for (uint64_t left = 1 + random_below(random, 3); left > 0; left--) {
        write_blindly(&trial);
    }
    const bool awaits = transaction_is_awaiting(trial.transaction);
    const enum err err = fixture_end(&trial.fixture, trial.transaction);
    EXPECT_INT(err, awaits ? ERR_STALE : ERR_OK);
    if (awaits) {
        awaited_unloaded++;
        EXPECT_EQ(trial.fixture.local_seq, 0);
    } else if (trial.made.count > 0) {
        if (!EXPECT_EQ(trial.fixture.local_seq, 1)) {
            tell_writes("writes", &trial);
        }
        expect_blind(&trial, stored);
    }
    value_unref(stored);
    forget_made(&trial);
    model_free(trial.model);
    end(&trial.fixture);
}

TEST(d19_both_outcomes_were_met)
{
    const uint64_t tried = sent_unloaded + awaited_unloaded;
    EXPECT(tried < 1000 || sent_unloaded * 10 >= tried);
    EXPECT(tried < 1000 || awaited_unloaded * 10 >= tried);
}

/* Of the rounds above, many land beside others and many are refused. */
TEST(d20_both_outcomes_were_met)
{
    EXPECT(tried_together < 1000 || landed_together * 4 >= tried_together);
    EXPECT(tried_together < 1000 || refused_together * 50 >= tried_together);
}

/* A read asks the draft whether it sees the transaction's own writes: a draft
 * with many is looked at once, not once for each read. */
TEST(reads_between_many_writes_look_at_each_write_once)
{
    enum {
        ROUNDS = 500
    };
    struct fixture fixture;
    fixture_open(&fixture, "s1");
    EXPECT_COMMIT(&fixture, "read A");
    fixture_say(&fixture, "sync 0-1 pull A@1={'l':[]}");
    struct entity *entity = fixture_entity(&fixture, "A");
    const struct value name = value_text_new("l");
    struct place *payload = place_payload(entity);
    struct place *list = place_child(payload, name);
    struct transaction *transaction = fixture_begin(&fixture);
    uint32_t count = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct value values =
            array_push_adopt(value_empty_array(), value_int(i));
        EXPECT_EQ(transaction_merge_adopt(transaction,
                                          list,
                                          WRITE_APPEND,
                                          values,
                                          NULL),
                  ERR_OK);
        struct value seen;
        EXPECT_EQ(transaction_read(transaction, list, READ_DEEP, 0, &seen),
                  ERR_OK);
        count = array_count(seen);
        value_unref(seen);
    }
    EXPECT_EQ(count, ROUNDS);
    const struct draft *draft = draft_find(transaction, entity);
    EXPECT(draft->looked_at <= ROUNDS);
    EXPECT(draft->looked_at > ROUNDS / 2);
    EXPECT_INT(fixture_end(&fixture, transaction), ERR_OK);
    place_unref(list);
    place_unref(payload);
    value_unref(name);
    end(&fixture);
}
