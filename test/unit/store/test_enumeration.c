/* Read coherence in a small scope, without chance: all interleavings of the
 * commits of two sessions, and after each of them every read that one of the
 * two can have made. What is accepted the model accepts (lib/store_model.h):
 * no phantom, no missed write.
 *
 * The commits are blind writes: what a commit that landed had read changes
 * nothing for those after it. A probe is a commit with one read and a patch
 * that can never be applied: whether its read holds shows in why it is
 * refused, and it leaves no trace. The two sessions write the same things, so
 * probing one of them is enough.
 *
 * All of it happens in one engine, with new documents and sessions for each
 * interleaving. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/store_kit.h"
#include "lib/store_model.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/compare.h"

enum {
    STEPS_MAX = 6,    /* commits of both sessions */
    PROBES_MAX = 512, /* after one interleaving */
};

/* What a commit writes. All change something each time. */
enum write {
    SET_A,
    REPLACE_A_X,
    APPEND_A_Y,
    REPLACE_B_X,
    MOVE_A_X_TO_Y, /* refused if there is no x any more */
    REPLACE_A_Y_1, /* refused if there are not two of them */
    SPLICE_A_Y,    /* shifts them; refused if it is not an array any more */
};

struct step {
    size_t choice;
    unsigned session; /* 0 or 1 */
    enum write write;
    uint64_t seq; /* 0: refused */
};

/* Where a probe reads. */
struct place {
    size_t document;
    const char *pointer;
    enum read_kind kind;
};

struct scope_of_walk {
    size_t most;            /* commits of each session */
    uint64_t interleavings; /* that there are */
    uint64_t with_one_less; /* and with one commit less of each */
    size_t write_count;
    enum write writes[4];
    size_t place_count;
    struct place places[4];
};

struct walk {
    const struct scope_of_walk *scope;
    size_t most;
    struct store_kit kit;
    struct path_table paths;
    struct step steps[STEPS_MAX];
    size_t length;
    size_t done; /* interleavings of this length and less were probed */

    /* The interleaving at hand. */
    uint64_t number;
    struct store_model model;
    struct value ids[2];
    struct value sessions[3]; /* the third makes the documents */
    struct commit commits[STEPS_MAX + 1];
    struct commit probes[PROBES_MAX];
    size_t probe_count;

    uint64_t interleavings;
    uint64_t probed;
    uint64_t accepted;
    uint64_t stricter;
    bool failed;
};

/* -- Commits ------------------------------------------------------------- */

static struct value new_document(uint64_t number)
{
    struct buf text = {0};
    buf_printf(&text,
               "{\"value\":{\"x\":%" PRIu64 ",\"y\":[0,%" PRIu64 ",2]}}",
               number,
               number);
    struct value document = from_json(buf_text(&text));
    buf_release(&text);
    return document;
}

static void push_set(struct commit *commit, struct value id, uint64_t number)
{
    const struct commit_op op = {
        .kind = COMMIT_SET,
        .target.id = value_ref(id),
        .document = new_document(number),
    };
    vec_push(&commit->ops, op);
}

static struct patch_op new_patch(struct path_table *paths,
                                 enum write write,
                                 uint64_t number)
{
    struct patch_op op = {.kind = PATCH_REPLACE};
    const char *pointer = "/value/y";
    switch (write) {
    case SET_A:
        break;
    case REPLACE_A_X:
    case REPLACE_B_X:
        pointer = "/value/x";
        op.value = value_int((int64_t)number);
        break;
    case APPEND_A_Y:
        op.kind = PATCH_APPEND;
        op.value = from_json("[1]");
        break;
    case MOVE_A_X_TO_Y:
        op.kind = PATCH_MOVE;
        op.from = from_pointer(paths, "/value/x");
        break;
    case REPLACE_A_Y_1:
        pointer = "/value/y/1";
        op.value = value_int((int64_t)number);
        break;
    case SPLICE_A_Y:
        op.kind = PATCH_SPLICE;
        op.remove = 1;
        op.value = value_empty_array();
        break;
    }
    op.path = from_pointer(paths, pointer);
    return op;
}

static void push_patch(struct walk *walk,
                       struct commit *commit,
                       enum write write,
                       uint64_t number)
{
    struct commit_op op = {
        .kind = COMMIT_PATCH,
        .target.id = value_ref(walk->ids[write == REPLACE_B_X ? 1 : 0]),
    };
    patch_push_adopt(&op.patch, new_patch(&walk->paths, write, number));
    vec_push(&commit->ops, op);
}

static struct commit new_commit(const struct walk *walk,
                                unsigned session,
                                uint64_t local_seq)
{
    return (struct commit){
        .session = value_ref(walk->sessions[session]),
        .local_seq = local_seq,
        .branch = value_text_new(""),
    };
}

/* Lands or is refused; the model must say the same. Returns the seq, or 0. */
static uint64_t send(struct walk *walk, const struct commit *commit)
{
    struct engine_request request = {.commit = commit};
    struct model_answer want;
    store_model_ask(&walk->model, commit, VALUE_NONE, &want);
    const enum err err = engine_commit(&walk->kit.engine, &request, 1, NULL);
    const struct verdict *verdict = &request.verdict;
    walk->failed = !EXPECT_INT(err, ERR_OK) || walk->failed;
    walk->failed = !EXPECT_TEXT(err_name(verdict->err), err_name(want.err)) ||
                   walk->failed;
    const uint64_t seq = verdict->seq;
    if (seq != 0) {
        walk->failed = !EXPECT_EQ(seq, want.seq) || walk->failed;
        store_model_land(&walk->model, commit, VALUE_NONE);
    }
    verdict_release(&request.verdict);
    model_answer_release(&want);
    return seq;
}

/* -- Probes -------------------------------------------------------------- */

/* A probe for each place, with the read made at `seq` and on those layers
 * whose bits are set. */
static void push_probes(struct walk *walk, uint64_t seq, unsigned layers)
{
    for (size_t i = 0; i < walk->scope->place_count; i++) {
        const struct place *place = &walk->scope->places[i];
        CHECK(walk->probe_count < PROBES_MAX);
        struct commit *probe = &walk->probes[walk->probe_count];
        *probe = new_commit(walk, 0, 1000 + walk->probe_count);
        walk->probe_count++;
        struct commit_read read = {
            .pending = layers != 0,
            .kind = place->kind,
            .target.id = value_ref(walk->ids[place->document]),
            .path = from_pointer(&walk->paths, place->pointer),
            .seq = seq,
        };
        for (unsigned bit = 0; bit < STEPS_MAX; bit++) {
            if ((layers >> bit & 1U) != 0) {
                const uint64_t local_seq = bit + 1;
                vec_push(&read.layers.at, local_seq);
            }
        }
        vec_push(&probe->reads, read);
        struct commit_op op = {
            .kind = COMMIT_PATCH,
            .target.id = value_text_new("of:none"),
        };
        const struct patch_op never = {
            .kind = PATCH_REMOVE,
            .path = from_pointer(&walk->paths, "/never"),
        };
        patch_push_adopt(&op.patch, never);
        vec_push(&probe->ops, op);
    }
}

/* The layers that session 0 has sent, as bits; and where the first of some of
 * them landed, or 0. */
static unsigned sent_layers(const struct walk *walk, size_t length)
{
    unsigned count = 0;
    for (size_t i = 0; i < length; i++) {
        count += walk->steps[i].session == 0 ? 1 : 0;
    }
    return (1U << count) - 1;
}

static uint64_t first_of_layers(const struct walk *walk,
                                size_t length,
                                unsigned layers)
{
    unsigned bit = 0;
    for (size_t i = 0; i < length; i++) {
        if (walk->steps[i].session == 0) {
            if ((layers >> bit & 1U) != 0 && walk->steps[i].seq != 0) {
                return walk->steps[i].seq;
            }
            bit++;
        }
    }
    return 0;
}

static void check_probe(struct walk *walk,
                        const struct commit *probe,
                        const struct verdict *verdict)
{
    struct model_answer want;
    store_model_ask(&walk->model, probe, VALUE_NONE, &want);
    const bool same = verdict->err == want.err;
    if (!same && !(verdict->err == ERR_CONFLICT && want.may_conflict)) {
        struct value commit = commit_write(probe);
        (void)test_fail(__FILE__,
                        __LINE__,
                        "interleaving %" PRIu64 ", read of %s: engine %s %s, "
                        "model %s",
                        walk->interleavings,
                        probe->reads.at[0].pending ? "layers" : "a seq",
                        err_name(verdict->err),
                        verdict->detail.text,
                        err_name(want.err));
        (void)EXPECT_VALUE(commit, VALUE_NONE);
        value_unref(commit);
        walk->failed = true;
    }
    walk->accepted += verdict->err == ERR_PATCH_MISSING ? 1 : 0;
    walk->stricter += same ? 0 : 1;
    model_answer_release(&want);
}

/* Every read that session 0 can have made by now: of a confirmed state, or of
 * any of its layers on top of any state before them. */
static void probe(struct walk *walk, size_t length)
{
    const uint64_t first = walk->model.before + 1;
    const unsigned sent = sent_layers(walk, length);
    walk->probe_count = 0;
    for (uint64_t seq = first; seq <= store_model_seq(&walk->model); seq++) {
        push_probes(walk, seq, 0);
        for (unsigned layers = 1; layers <= sent; layers++) {
            const uint64_t layer = first_of_layers(walk, length, layers);
            if (seq < layer || (layer == 0 && seq == first)) {
                push_probes(walk, seq, layers);
            }
        }
    }
    static struct engine_request requests[PROBES_MAX];
    for (size_t i = 0; i < walk->probe_count; i++) {
        requests[i] = (struct engine_request){.commit = &walk->probes[i]};
    }
    const enum err err =
        engine_commit(&walk->kit.engine, requests, walk->probe_count, NULL);
    walk->failed = !EXPECT_INT(err, ERR_OK) || walk->failed;
    for (size_t i = 0; i < walk->probe_count; i++) {
        if (!walk->failed) {
            check_probe(walk, &walk->probes[i], &requests[i].verdict);
        }
        verdict_release(&requests[i].verdict);
        commit_release(&walk->probes[i]);
    }
    walk->probed += walk->probe_count;
    walk->interleavings++;
}

/* -- Interleavings ------------------------------------------------------- */

static void begin(struct walk *walk)
{
    walk->number++;
    store_model_init(&walk->model, walk->kit.engine.seq);
    for (unsigned i = 0; i < 2; i++) {
        walk->ids[i] = numbered(i == 0 ? "of:a:" : "of:b:", walk->number);
    }
    for (unsigned i = 0; i < 3; i++) {
        walk->sessions[i] = numbered("s", 3 * walk->number + i);
    }
    struct commit *commit = &walk->commits[STEPS_MAX];
    *commit = new_commit(walk, 2, 1);
    push_set(commit, walk->ids[0], 1);
    push_set(commit, walk->ids[1], 1);
    (void)send(walk, commit);
}

static void end(struct walk *walk)
{
    commit_release(&walk->commits[STEPS_MAX]);
    for (size_t i = 0; i < walk->length; i++) {
        commit_release(&walk->commits[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        value_unref(walk->ids[i]);
    }
    for (unsigned i = 0; i < 3; i++) {
        value_unref(walk->sessions[i]);
    }
    store_model_release(&walk->model);
}

static void check_values(struct walk *walk)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct engine_address address = {
            .branch = value_text_new(""),
            .scope_key = value_text_new("space"),
            .id = walk->ids[i],
        };
        const struct model_name name = {.id = walk->ids[i]};
        struct value got = VALUE_NONE;
        struct value want =
            store_model_read(&walk->model, 0, &name, ENGINE_HEAD);
        const enum err err =
            engine_read(&walk->kit.engine, &address, ENGINE_HEAD, &got, NULL);
        walk->failed = !EXPECT_INT(err, ERR_OK) || walk->failed;
        walk->failed = !EXPECT_VALUE(got, want) || walk->failed;
        value_unref(got);
        value_unref(want);
    }
}

/* Sends the steps in their order, and probes after each that is new. */
static void run(struct walk *walk)
{
    uint64_t local_seqs[2] = {0};
    begin(walk);
    for (size_t i = 0; i < walk->length; i++) {
        struct step *step = &walk->steps[i];
        struct commit *commit = &walk->commits[i];
        *commit = new_commit(walk, step->session, ++local_seqs[step->session]);
        if (step->write == SET_A) {
            push_set(commit, walk->ids[0], i + 10);
        } else {
            push_patch(walk, commit, step->write, i + 10);
        }
        step->seq = send(walk, commit);
        if (i + 1 > walk->done && !walk->failed) {
            probe(walk, i + 1);
        }
    }
    check_values(walk);
    end(walk);
    walk->done = walk->length;
}

/* Puts a step at the end that comes after `choice` in the order of choices
 * (the writes of one session, then those of the other); false if none does. */
static bool push_step(struct walk *walk, size_t choice)
{
    const size_t write_count = walk->scope->write_count;
    size_t sent[2] = {0};
    for (size_t i = 0; i < walk->length; i++) {
        sent[walk->steps[i].choice / write_count]++;
    }
    for (; choice < 2 * write_count; choice++) {
        const unsigned session = choice < write_count ? 0 : 1;
        if (sent[session] < walk->most) {
            walk->steps[walk->length++] = (struct step){
                .choice = choice,
                .session = session,
                .write = walk->scope->writes[choice % write_count],
            };
            return true;
        }
    }
    return false;
}

/* Runs all longest interleavings, and with them all their beginnings. */
static void run_all(struct walk *walk)
{
    bool more = true;
    while (more && !walk->failed) {
        while (push_step(walk, 0)) {
        }
        run(walk);
        more = false;
        while (!more && walk->length > 0) {
            walk->length--;
            walk->done = walk->done < walk->length ? walk->done : walk->length;
            more = push_step(walk, walk->steps[walk->length].choice + 1);
        }
    }
}

/* Valgrind is fifty times slower, and finds what fewer commits show. */
static bool is_under_valgrind(void)
{
    const char *loaded = getenv("LD_PRELOAD");
    return loaded != NULL && strstr(loaded, "vgpreload") != NULL;
}

static void enumerate(const struct scope_of_walk *scope)
{
    static struct walk walk;
    const bool slow = is_under_valgrind();
    walk = (struct walk){
        .scope = scope,
        .most = slow ? scope->most - 1 : scope->most,
    };
    kit_open_memory(&walk.kit, NULL);
    path_table_init(&walk.paths);
    run_all(&walk);
    (void)printf("# %" PRIu64 " interleavings, %" PRIu64 " reads, %" PRIu64
                 " of them accepted, %" PRIu64 " refused too strictly\n",
                 walk.interleavings,
                 walk.probed,
                 walk.accepted,
                 walk.stricter);
    path_table_release(&walk.paths);
    kit_close(&walk.kit);
    EXPECT_EQ(walk.interleavings,
              slow ? scope->with_one_less : scope->interleavings);
}

/* For w things to write and up to k commits each, the interleavings are the
 * sum over all n and m up to k, but not both 0, of the ways to choose n of n +
 * m places, times w to the n + m. */

TEST(three_commits_each_on_two_paths_are_coherent)
{
    static const struct scope_of_walk scope = {
        .most = 3,
        .interleavings = 2228,
        .with_one_less = 164,
        .write_count = 2,
        .writes = {REPLACE_A_X, APPEND_A_Y},
        .place_count = 3,
        .places = {{0, "/value/x", READ_DEEP},
                   {0, "/value/y", READ_DEEP},
                   {0, "/value", READ_SHAPE}},
    };
    enumerate(&scope);
}

TEST(two_commits_each_on_two_documents_are_coherent)
{
    static const struct scope_of_walk scope = {
        .most = 2,
        .interleavings = 1992,
        .with_one_less = 40,
        .write_count = 4,
        .writes = {SET_A, REPLACE_A_X, APPEND_A_Y, REPLACE_B_X},
        .place_count = 4,
        .places = {{0, "/value/x", READ_DEEP},
                   {0, "/value/y", READ_DEEP},
                   {0, "/value", READ_SHAPE},
                   {1, "/value/x", READ_DEEP}},
    };
    enumerate(&scope);
}

TEST(two_commits_each_that_carry_what_was_read_are_coherent)
{
    static const struct scope_of_walk scope = {
        .most = 2,
        .interleavings = 1992,
        .with_one_less = 40,
        .write_count = 4,
        .writes = {REPLACE_A_X, MOVE_A_X_TO_Y, REPLACE_A_Y_1, SPLICE_A_Y},
        .place_count = 2,
        .places = {{0, "/value/y", READ_DEEP}, {0, "/value/y/0", READ_DEEP}},
    };
    enumerate(&scope);
}
