/* What is dirty, against a naive model: random commits, observations, branches,
 * compactions and new engines. The model keeps the value of every document
 * after every commit on every branch, and calls an action dirty if one of its
 * reads would have noticed one of the commits above its watermark.
 *
 * The store may be stricter than the model (it looks at paths, not at values),
 * and never more lax: what it calls clean, the model calls clean. And it must
 * not be strict without a reason: an action whose documents nobody has written
 * is clean. */

#include <stdio.h>
#include <string.h>

#include "lib/observe_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "store/retention.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    DOCUMENTS = 4,
    BRANCHES = 2,
    ACTIONS = 6,
    STEPS = 60,
    READS_MAX = 4,
};

static const char *const document_names[DOCUMENTS] = {"A", "B", "C", "D"};
static const char *const branch_names[BRANCHES] = {"", "b"};
static const char *const below[] = {"", ".x", ".y", ".x.z", ".l", ".l.0"};

struct state {
    struct value at[BRANCHES][DOCUMENTS];
};

struct model_read {
    int document;
    int below;
    bool shape;
};

struct model_action {
    bool known;
    uint64_t watermark;
    size_t count;
    struct model_read reads[READS_MAX];
};

struct model {
    struct store_kit kit;
    struct random *random;
    VEC(struct state) states; /* by seq */
    bool forked;
    uint64_t local_seq;
    struct model_action actions[BRANCHES][ACTIONS];
    uint64_t kept;
    uint64_t dirty;
    uint64_t clean;
};

/* -- The model ----------------------------------------------------------- */

static struct value read_document(struct model *model, int branch, int document)
{
    const struct engine_address address = {
        .branch = value_text_new(branch_names[branch]),
        .scope_key = value_text_new("space"),
        .id = value_text_new(document_names[document]),
    };
    struct value value = VALUE_NONE;
    EXPECT_INT(
        engine_read(&model->kit.engine, &address, ENGINE_HEAD, &value, NULL),
        ERR_OK);
    value_unref(address.branch);
    value_unref(address.scope_key);
    value_unref(address.id);
    return value;
}

/* What everything is now, at the store's seq. */
static void note_state(struct model *model)
{
    struct state state = {0};
    if (model->states.count > model->kit.engine.seq) {
        return;
    }
    for (int i = 0; i < BRANCHES; i++) {
        for (int j = 0; j < DOCUMENTS && (i == 0 || model->forked); j++) {
            state.at[i][j] = read_document(model, i, j);
        }
    }
    vec_push(&model->states, state);
    EXPECT_EQ(model->states.count, model->kit.engine.seq + 1);
}

static struct path *path_of(struct model *model, const struct model_read *read)
{
    char pointer[32];
    (void)snprintf(pointer, sizeof pointer, "/value%s", below[read->below]);
    for (char *at = pointer; *at != '\0'; at++) {
        *at = (char)(*at == '.' ? '/' : *at);
    }
    return from_pointer(&model->kit.engine.paths, pointer);
}

static bool notices(struct model *model,
                    int branch,
                    const struct model_read *read,
                    uint64_t above)
{
    struct path *path = path_of(model, read);
    bool seen = false;
    for (uint64_t seq = above + 1; seq < model->states.count; seq++) {
        const struct state *before = &model->states.at[seq - 1];
        const struct state *after = &model->states.at[seq];
        seen = seen || difference_is_seen(before->at[branch][read->document],
                                          after->at[branch][read->document],
                                          path,
                                          read->shape ? READ_SHAPE : READ_DEEP);
    }
    path_unref(path);
    return seen;
}

static bool is_dirty(struct model *model,
                     int branch,
                     const struct model_action *action)
{
    bool dirty = false;
    for (size_t i = 0; i < action->count; i++) {
        dirty = dirty ||
                notices(model, branch, &action->reads[i], action->watermark);
    }
    return dirty;
}

/* Whether any document that it reads was written above its watermark. */
static bool was_written(struct model *model,
                        int branch,
                        const struct model_action *action)
{
    bool written = false;
    for (size_t i = 0; i < action->count; i++) {
        const struct engine_address address = {
            .branch = value_text_new(branch_names[branch]),
            .scope_key = value_text_new("space"),
            .id = value_text_new(document_names[action->reads[i].document]),
        };
        struct value value = VALUE_NONE;
        uint64_t seq = 0;
        EXPECT_INT(engine_read_begin(&model->kit.engine, NULL), ERR_OK);
        EXPECT_INT(
            engine_head(&model->kit.engine, &address, &value, &seq, NULL),
            ERR_OK);
        engine_read_end(&model->kit.engine);
        value_unref(value);
        value_unref(address.branch);
        value_unref(address.scope_key);
        value_unref(address.id);
        written = written || seq > action->watermark;
    }
    return written;
}

/* -- Steps --------------------------------------------------------------- */

static int draw(struct model *model, int below_this)
{
    return (int)random_below(model->random, (uint64_t)below_this);
}

static int draw_branch(struct model *model)
{
    return model->forked ? draw(model, BRANCHES) : 0;
}

/* A commit, which may be refused: then nothing has happened. */
static void write_something(struct model *model,
                            int branch,
                            const char *observation)
{
    static const char *const forms[] = {
        "set %s {'x':{'z':%d},'y':1,'l':[1,2]}",
        "set %s {'x':%d,'l':[{'a':1}]}",
        "replace %s.x %d",
        "add %s.y %d",
        "add %s.x.z %d",
        "add %s.l.0 %d",
        "append %s.l [%d]",
        "remove %s.x",
        "remove %s.l.0",
        "delete %s",
        "add %s.q.deep %d",
        "increment %s.y %d",
    };
    char op[96];
    char line[160];
    const int form = draw(model, (int)COUNT_OF(forms));
    /* The forms are all of the table above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(op,
                   sizeof op,
                   forms[form],
                   document_names[draw(model, DOCUMENTS)],
                   draw(model, 3) + 1);
#pragma GCC diagnostic pop
    (void)snprintf(line,
                   sizeof line,
                   "s1 %llu | %s%s",
                   (unsigned long long)++model->local_seq,
                   branch == 0 ? "" : "branch b | ",
                   op);
    if (observation != NULL) {
        observe_commit(&model->kit, line, observation);
    } else {
        kit_commit(&model->kit, line);
    }
    EXPECT_INT(model->kit.fault, ERR_OK);
    note_state(model);
}

/* An action with a new read set, or the one that it had. */
static void observe_something(struct model *model, bool with_commit)
{
    const int branch = draw_branch(model);
    const int number = draw(model, ACTIONS);
    struct model_action *known = &model->actions[branch][number];
    struct model_action next = *known;
    const bool same = known->known && draw(model, 2) == 0;
    char line[300];
    int length = snprintf(line,
                          sizeof line,
                          "%sp/a%d",
                          !with_commit && branch == 1 ? "on b: " : "",
                          number);
    if (!same) {
        next.count = (size_t)draw(model, READS_MAX + 1);
        for (size_t i = 0; i < next.count; i++) {
            next.reads[i] = (struct model_read){
                draw(model, DOCUMENTS),
                draw(model, (int)COUNT_OF(below)),
                draw(model, 2) == 0,
            };
        }
    }
    for (size_t i = 0; i < next.count; i++) {
        length += snprintf(line + length,
                           sizeof line - (size_t)length,
                           " %s %s%s",
                           next.reads[i].shape ? "shape" : "deep",
                           document_names[next.reads[i].document],
                           below[next.reads[i].below]);
    }
    const uint64_t head = model->kit.engine.seq;
    const uint64_t basis =
        head - random_below(model->random, head < 4 ? head + 1 : 4);
    if (!with_commit) {
        (void)snprintf(line + length,
                       sizeof line - (size_t)length,
                       " basis=%llu%s",
                       (unsigned long long)basis,
                       same ? " same" : "");
        observe_alone(&model->kit, ++model->local_seq, line);
        next.watermark = basis; /* for the question whether it is stale */
        const bool stale = is_dirty(model, branch, &next);
        next.watermark = head;
        next.known = true;
        EXPECT_INT(model->kit.verdicts[0].err, ERR_OK);
        const bool kept = model->kit.verdicts[0].dropped.count == 0;
        EXPECT(!kept || !stale);
        if (kept) {
            *known = next;
            model->kept++;
        }
        return;
    }
    /* Its admission proves the reads: here nothing is read at another seq. */
    write_something(model, branch, line);
    if (model->kit.verdicts[0].err == ERR_OK) {
        next.watermark = model->kit.verdicts[0].seq;
        next.known = true;
        *known = next;
        model->kept++;
    }
}

static void compact(struct model *model)
{
    struct compact_counts counts;
    const uint64_t to = random_below(model->random, model->kit.engine.seq + 1);
    EXPECT_INT(engine_compact(&model->kit.engine,
                              to,
                              NULL,
                              NULL,
                              &counts,
                              &model->kit.detail),
               ERR_OK);
    /* Without rows of commits, what has changed is found by the documents. */
    const struct retention nothing = {.now_ms = UINT64_MAX / 2};
    struct retire_counts retired;
    EXPECT_INT(engine_retire(&model->kit.engine,
                             &nothing,
                             NULL,
                             NULL,
                             &retired,
                             &model->kit.detail),
               ERR_OK);
}

static void fork(struct model *model)
{
    if (!model->forked && model->kit.engine.seq > 0) {
        model->forked = kit_fork(&model->kit, "b", "", ENGINE_HEAD) == ERR_OK;
        /* The branch looks like its parent from here back. */
        VEC_FOREACH (&model->states, state) {
            for (int i = 0; i < DOCUMENTS; i++) {
                value_unref(state->at[1][i]);
                state->at[1][i] = value_ref(state->at[0][i]);
            }
        }
    }
}

/* -- Comparing ----------------------------------------------------------- */

static void compare_action(struct model *model,
                           int branch,
                           const struct resume_action *got,
                           int number)
{
    const struct model_action *want = &model->actions[branch][number];
    if (!EXPECT(want->known)) {
        return;
    }
    EXPECT_EQ(got->watermark, want->watermark);
    if (got->state == RESUME_CLEAN) {
        model->clean++;
        EXPECT(!is_dirty(model, branch, want));
    } else {
        model->dirty++;
        EXPECT_INT(got->state, RESUME_DIRTY);
        EXPECT(was_written(model, branch, want));
    }
}

static void compare(struct model *model, int branch)
{
    struct resume_query query = {
        .branch = value_text_new(branch_names[branch]),
        .piece = value_text_new("p"),
        .limit = (uint32_t)draw(model, 4), /* 0: all */
    };
    size_t listed = 0;
    struct resume_page page = {0};
    do {
        resume_page_release(&page);
        if (!EXPECT_INT(engine_resume(&model->kit.engine, &query, &page, NULL),
                        ERR_OK)) {
            break;
        }
        VEC_FOREACH (&page.actions, action) {
            for (int i = 0; i < ACTIONS; i++) {
                char name[16];
                (void)snprintf(name, sizeof name, "a%d", i);
                const struct digest digest = observe_name(name);
                if (digest_equal(&digest, &action->action)) {
                    compare_action(model, branch, action, i);
                    listed++;
                }
            }
            query.after = action->number;
        }
        query.seq = page.seq;
    } while (page.more);
    size_t known = 0;
    for (int i = 0; i < ACTIONS; i++) {
        known += model->actions[branch][i].known;
    }
    EXPECT_EQ(listed, known);
    resume_page_release(&page);
    value_unref(query.branch);
    value_unref(query.piece);
}

static void model_begin(struct model *model, struct random *random, bool file)
{
    *model = (struct model){.random = random};
    if (file) {
        kit_open_file(&model->kit, NULL);
    } else {
        kit_open_memory(&model->kit, NULL);
    }
    note_state(model);
}

static void model_end(struct model *model)
{
    EXPECT_TEXT(observe_check(&model->kit), "");
    VEC_FOREACH (&model->states, state) {
        for (int i = 0; i < BRANCHES; i++) {
            for (int j = 0; j < DOCUMENTS; j++) {
                value_unref(state->at[i][j]);
            }
        }
    }
    vec_release(&model->states);
    kit_close(&model->kit);
}

/* Whatever has no image gets one. */
static void collect(struct model *model)
{
    struct collect_counts counts;
    EXPECT_INT(engine_collect(&model->kit.engine, NULL, NULL, &counts, NULL),
               ERR_OK);
}

static void step(struct model *model, bool file)
{
    const int what = draw(model, 22);
    if (what >= 20) {
        collect(model);
    } else if (what < 8) {
        write_something(model, draw_branch(model), NULL);
    } else if (what < 13) {
        observe_something(model, false);
    } else if (what < 17) {
        observe_something(model, true);
    } else if (what == 17) {
        fork(model);
    } else if (what == 18) {
        compact(model);
    } else if (file) {
        kit_reopen(&model->kit);
    } else {
        engine_forget(&model->kit.engine);
    }
}

static uint64_t all_clean;
static uint64_t all_dirty;

PROPERTY(what_is_clean_in_the_store_is_clean_in_the_model, 60)
{
    struct model model;
    const bool file = random_below(random, 10) == 0;
    model_begin(&model, random, file);
    for (int i = 0; i < STEPS; i++) {
        step(&model, file);
        if (i % 10 == 9) {
            compare(&model, 0);
            if (model.forked) {
                compare(&model, 1);
            }
        }
    }
    all_clean += model.clean;
    all_dirty += model.dirty;
    model_end(&model);
}

TEST(the_model_has_seen_both_answers_often)
{
    EXPECT(all_clean == 0 || (all_clean > 100 && all_dirty > 100));
}

/* -- Damage -------------------------------------------------------------- */

static void expect_clean_is_clean(struct model *model)
{
    struct resume_query query = {
        .branch = value_text_new(""),
        .piece = value_text_new("p"),
    };
    struct resume_page page;
    EXPECT_INT(engine_resume(&model->kit.engine, &query, &page, NULL), ERR_OK);
    VEC_FOREACH (&page.actions, action) {
        for (int i = 0; i < ACTIONS; i++) {
            char name[16];
            (void)snprintf(name, sizeof name, "a%d", i);
            const struct digest digest = observe_name(name);
            if (digest_equal(&digest, &action->action) &&
                action->state == RESUME_CLEAN) {
                EXPECT(!is_dirty(model, 0, &model->actions[0][i]));
            }
        }
    }
    resume_page_release(&page);
    value_unref(query.branch);
    value_unref(query.piece);
}

/* One row of one table is changed or removed: whatever is still called clean
 * is clean. */
PROPERTY(a_row_that_was_changed_at_random_never_yields_a_clean_action, 60)
{
    static const char *const damages[] = {
        "DELETE FROM edge WHERE (action * 7 + edge) %% 5 = %d",
        ("UPDATE edge SET edge = edge + 4 WHERE (action + edge) %% 5 = %d"
         " AND NOT EXISTS(SELECT 1 FROM edge e WHERE e.piece = edge.piece AND"
         " e.action = edge.action AND e.edge = edge.edge + 4)"),
        "DELETE FROM place WHERE place %% 5 = %d",
        "UPDATE place SET path = path || '/w' WHERE place %% 5 = %d",
        "UPDATE run SET seq = seq + 1 WHERE action %% 5 = %d",
        "UPDATE run SET mark = mark + 1 WHERE action %% 5 = %d",
        "DELETE FROM run WHERE action %% 5 = %d",
        "UPDATE action SET sum = sum + 1 WHERE action %% 5 = %d",
        "UPDATE action SET sets = zeroblob(64) WHERE action %% 5 = %d",
        ("UPDATE action SET generation = 0, kind = 1 - kind"
         " WHERE action %% 5 = %d"),
        ("UPDATE image SET data = substr(data, 1, length(data) - 1 - %d)"),
        ("UPDATE image SET last = last + 1 + %d"),
        ("UPDATE image SET first = first + 1 + %d"),
        ("UPDATE image SET generation = generation + %d"),
        ("UPDATE image SET piece = 3 - piece WHERE %d >= 0 AND piece < 3 AND"
         " (SELECT count(*) FROM image WHERE piece < 3) = 1"),
    };
    struct model model;
    model_begin(&model, random, false);
    for (int i = 0; i < STEPS; i++) {
        step(&model, false);
    }
    char sql[300];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(sql,
                   sizeof sql,
                   damages[random_below(random, COUNT_OF(damages))],
                   (int)random_below(random, 5));
#pragma GCC diagnostic pop
    kit_run(&model.kit, sql);
    expect_clean_is_clean(&model);
    uint64_t removed = 0;
    EXPECT_INT(engine_repair_observations(&model.kit.engine, &removed, NULL),
               ERR_OK);
    model_end(&model);
}

/* Some bytes of an image: the piece is as if there were none. */
PROPERTY(bytes_of_an_image_that_were_changed_at_random_change_nothing, 60)
{
    struct model model;
    model_begin(&model, random, false);
    for (int i = 0; i < STEPS; i++) {
        step(&model, false);
    }
    collect(&model);
    for (int i = 0; i < 5; i++) {
        char sql[300];
        const int at = (int)random_below(random, 2000);
        (void)snprintf(sql,
                       sizeof sql,
                       "UPDATE image SET data = CAST(substr(data, 1,"
                       " %d %% length(data)) || x'%02x' || substr(data,"
                       " %d %% length(data) + 2) AS BLOB)",
                       at,
                       (unsigned)random_below(random, 256),
                       at);
        kit_run(&model.kit, sql);
    }
    expect_clean_is_clean(&model);
    compare(&model, 0);
    uint64_t removed = 0;
    EXPECT_INT(engine_repair_observations(&model.kit.engine, &removed, NULL),
               ERR_OK);
    compare(&model, 0);
    model_end(&model);
}
