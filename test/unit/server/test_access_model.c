/* 100,000 random sequences of grants, revocations, commits, reads and broken
 * documents, compared with a model that was written from the rules alone: it
 * uses no function of server/access.h and holds documents as tables of letters.
 *
 * A letter per principal: '-' no entry, 'r', 'w', 'o', '?' an invalid entry. */

#include <string.h>

#include "lib/test.h"
#include "server/access.h"
#include "value/object.h"

enum {
    PRINCIPALS = 4, /* and a fifth letter for "*" */
    LETTERS = PRINCIPALS + 1,
    STEPS_MAX = 12,
    OPERATIONS_MAX = 3,
};

static const char *const names[LETTERS] = {
    "ann",
    "bob",
    "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp",
    "service",
    "*",
};

/* -- The model ----------------------------------------------------------- */

enum shape {
    SHAPE_NONE,     /* no document, or a deleted one */
    SHAPE_TABLE,    /* {"value":{...}} */
    SHAPE_NO_VALUE, /* {} */
    SHAPE_SCALAR,   /* {"value":1} */
    SHAPE_EXTRA,    /* {"value":{...},"more":1} */
    SHAPE_COUNT,
};

struct model_document {
    enum shape shape;
    char letters[LETTERS];
};

struct model_operation {
    char kind; /* 's'et, 'p'atch, 'd'elete */
    bool is_access;
    char scope; /* 's'pace, 'u'ser, 'S'ession */
    struct model_document document;
};

struct model_commit {
    bool on_main;
    unsigned count;
    struct model_operation operations[OPERATIONS_MAX];
};

static bool model_is_valid(const struct model_document *document)
{
    bool owned = false;
    if (document->shape != SHAPE_TABLE) {
        return false;
    }
    for (unsigned i = 0; i < LETTERS; i++) {
        if (document->letters[i] == '?') {
            return false;
        }
        if (i < PRINCIPALS && document->letters[i] == 'o') {
            owned = true;
        }
    }
    return owned;
}

static int model_rank(char letter)
{
    return letter == 'o' ? 3 : letter == 'w' ? 2 : letter == 'r' ? 1 : 0;
}

/* The last principal is the service. */
static int model_capability(const struct model_document *document,
                            unsigned principal,
                            int ceiling,
                            bool grants)
{
    int has = 0;
    if (grants) {
        return ceiling;
    }
    if (principal == 3) {
        has = 3;
    } else if (model_is_valid(document)) {
        char letter = document->letters[principal];
        if (letter == '-') {
            letter = document->letters[PRINCIPALS];
        }
        has = model_rank(letter);
    }
    return has < ceiling ? has : ceiling;
}

static enum err model_judge(const struct model_commit *commit, int capability)
{
    bool touched = false;
    for (unsigned i = 0; i < commit->count; i++) {
        touched = touched || commit->operations[i].is_access;
    }
    if (capability == 0 || capability == 1) {
        return ERR_ACCESS;
    }
    if (!touched) {
        return ERR_OK;
    }
    if (capability == 2) {
        return ERR_ACCESS;
    }
    const struct model_operation *first = &commit->operations[0];
    if (commit->on_main && commit->count == 1 && first->kind == 's' &&
        first->scope == 's' && model_is_valid(&first->document)) {
        return ERR_OK;
    }
    return ERR_PROTOCOL;
}

/* -- Drawing ------------------------------------------------------------- */

static struct model_document draw_document(struct random *random)
{
    static const char common[] = "--rrwwoo";
    struct model_document document = {.shape = SHAPE_TABLE};
    for (unsigned i = 0; i < LETTERS; i++) {
        document.letters[i] =
            random_one_in(random, 40) ? '?' : common[random_below(random, 8)];
    }
    if (random_one_in(random, 10)) {
        document.shape = (enum shape)(SHAPE_NO_VALUE + random_below(random, 3));
    }
    return document;
}

static struct model_commit draw_commit(struct random *random)
{
    struct model_commit commit = {.on_main = !random_one_in(random, 8)};
    const bool about_access = random_one_in(random, 2);
    commit.count = random_one_in(random, 4)
                       ? 1 + (unsigned)random_below(random, OPERATIONS_MAX)
                       : 1;
    for (unsigned i = 0; i < commit.count; i++) {
        commit.operations[i] = (struct model_operation){
            .kind =
                random_one_in(random, 6) ? "pd"[random_below(random, 2)] : 's',
            .is_access = about_access && (i == 0 || random_one_in(random, 2)),
            .scope =
                random_one_in(random, 8) ? "uS"[random_below(random, 2)] : 's',
            .document = draw_document(random),
        };
    }
    return commit;
}

/* -- The same as values -------------------------------------------------- */

static struct value item_of(char letter, struct random *random)
{
    static const char *const invalid[] = {"",
                                          "read",
                                          "NONE",
                                          "OWNER ",
                                          "READ\n"};
    switch (letter) {
    case 'r':
        return value_text_new("READ");
    case 'w':
        return value_text_new("WRITE");
    case 'o':
        return value_text_new("OWNER");
    default:
        return random_one_in(random, 3)
                   ? value_int(3)
                   : value_text_new(invalid[random_below(random, 5)]);
    }
}

static struct value document_of(const struct model_document *model,
                                struct random *random)
{
    struct value document = value_empty_object();
    struct value table = value_empty_object();
    if (model->shape == SHAPE_NONE) {
        return VALUE_NONE;
    }
    /* The order of the entries means nothing. */
    const unsigned first = (unsigned)random_below(random, LETTERS);
    for (unsigned i = 0; i < LETTERS; i++) {
        const unsigned at = (first + i) % LETTERS;
        if (model->letters[at] != '-') {
            object_put_adopt(&table,
                             names[at],
                             item_of(model->letters[at], random));
        }
    }
    if (model->shape == SHAPE_SCALAR) {
        object_put_adopt(&document, "value", value_int(1));
    } else if (model->shape != SHAPE_NO_VALUE) {
        object_put_adopt(&document, "value", value_ref(table));
    }
    if (model->shape == SHAPE_EXTRA) {
        object_put_adopt(&document, "more", value_int(1));
    }
    value_unref(table);
    return document;
}

static void commit_of(const struct model_commit *model,
                      struct random *random,
                      struct commit *out)
{
    *out = (struct commit){
        .session = value_text_new("s"),
        .local_seq = 1,
        .branch = value_text_new(model->on_main ? "" : "draft"),
    };
    for (unsigned i = 0; i < model->count; i++) {
        const struct model_operation *from = &model->operations[i];
        struct commit_op *op = commit_add_op(out);
        op->kind = from->kind == 's'   ? COMMIT_SET
                   : from->kind == 'p' ? COMMIT_PATCH
                                       : COMMIT_DELETE;
        op->target.id =
            value_text_new(from->is_access ? ACCESS_DOCUMENT_ID : "of:data");
        op->target.scope = from->scope == 's'   ? SCOPE_SPACE
                           : from->scope == 'u' ? SCOPE_USER
                                                : SCOPE_SESSION;
        if (op->kind == COMMIT_SET) {
            op->document = document_of(&from->document, random);
        }
    }
}

/* -- Sequences ----------------------------------------------------------- */

struct state {
    struct model_document model;
    struct access access;
};

static void store(struct state *state,
                  const struct model_document *model,
                  struct random *random)
{
    struct value document = document_of(model, random);
    state->model = *model;
    access_release(&state->access);
    access_init(&state->access, document, NULL);
    value_unref(document);
}

static struct credential draw_credential(struct random *random,
                                         unsigned *principal)
{
    struct credential credential = {.ceiling = CAPABILITY_OWNER};
    *principal = (unsigned)random_below(random, PRINCIPALS);
    memcpy(credential.principal,
           names[*principal],
           strlen(names[*principal]) + 1);
    if (random_one_in(random, 3)) {
        credential.ceiling = (enum capability)(1 + random_below(random, 3));
        credential.grants = random_one_in(random, 4);
    }
    return credential;
}

/* Every principal with every ceiling: no cell differs. */
static bool compare_all(const struct state *state)
{
    for (unsigned i = 0; i < PRINCIPALS; i++) {
        struct credential credential = {.ceiling = CAPABILITY_OWNER};
        memcpy(credential.principal, names[i], strlen(names[i]) + 1);
        const int want = model_capability(&state->model, i, 3, false);
        if (!EXPECT_EQ(access_capability(&state->access, i == 3, &credential),
                       want)) {
            return false;
        }
    }
    return true;
}

static bool step(struct state *state, struct random *random)
{
    unsigned principal;
    const struct credential credential = draw_credential(random, &principal);
    const enum capability capability =
        access_capability(&state->access, principal == 3, &credential);
    const int want = model_capability(&state->model,
                                      principal,
                                      (int)credential.ceiling,
                                      credential.grants);
    const struct model_commit model = draw_commit(random);
    struct commit commit;
    struct err_detail detail = {0};
    bool touches;
    commit_of(&model, random, &commit);
    const enum err err =
        access_judge_commit(capability, &commit, &touches, &detail);
    bool same =
        EXPECT_EQ(capability, want) &&
        EXPECT_EQ(err, model_judge(&model, want)) &&
        EXPECT_EQ(touches, err == ERR_OK && access_is_touched(&commit)) &&
        EXPECT((err == ERR_OK) == (detail.text[0] == '\0'));
    if (err == ERR_OK && touches) {
        store(state, &model.operations[0].document, random);
    }
    commit_release(&commit);
    return same && compare_all(state);
}

PROPERTY(random_sequences_of_changes_are_judged_as_the_model_does, 100000)
{
    struct state state = {.model = {.shape = SHAPE_NONE}};
    const uint64_t steps = 1 + random_below(random, STEPS_MAX);
    for (uint64_t i = 0; i < steps; i++) {
        if (random_one_in(random, 6)) {
            /* Another program wrote the file, without a judge. */
            struct model_document written = draw_document(random);
            if (random_one_in(random, 4)) {
                written.shape = SHAPE_NONE;
            }
            store(&state, &written, random);
        }
        if (!step(&state, random)) {
            break;
        }
    }
    access_release(&state.access);
}
