/* Labels: what a run read, and what made it run, is on what it writes, and an
 * effect sees only what it is cleared for (D14 of docs/spec/decisions.md). */

#include "sched/labels.h"

#include <stdio.h>
#include <string.h>

#include "lib/event_kit.h"
#include "lib/persist_kit.h"
#include "lib/sched_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* The labels of a deep read, or of one of the shape, as text. */
static const char *label_of(struct sched_kit *kit, const char *name)
{
    static struct buf text;
    struct kit_place at[1];
    CHECK(kit_places(kit, name, strlen(name), at) == 1);
    const struct value labels = labels_at(kit->sched, at[0].place, at[0].kind);
    buf_clear(&text);
    kit_put_value(&text, labels);
    value_unref(labels);
    place_unref(at[0].place);
    static char copy[256];
    (void)snprintf(copy, sizeof copy, "%s", buf_text(&text));
    buf_release(&text);
    return copy;
}

#define EXPECT_LABEL(kit, name, want) EXPECT_TEXT(label_of((kit), (name)), want)

/* In a transaction of its own. */
static void declare(struct sched_kit *kit, const char *name, const char *labels)
{
    struct place *place = kit_place(kit, name);
    struct transaction *transaction = transaction_begin(&kit->replica, NULL);
    struct err_detail detail = {0};
    const struct value value = from_quoted(labels);
    EXPECT_EQ(labels_declare(transaction, place, value, &detail), ERR_OK);
    EXPECT_EQ(transaction_commit(transaction, &detail), ERR_OK);
    EXPECT_TEXT(detail.text, "");
    transaction_release(transaction);
    value_unref(value);
    place_unref(place);
}

/* An effect that is cleared, and writes down what it sees. */
static struct kit_node *see(struct sched_kit *kit,
                            const char *name,
                            const char *surface,
                            const char *clearance)
{
    const struct kit_spec spec = {
        .surface = surface,
        .effect = true,
        .fn = kit_fn_see,
        .clearance = clearance != NULL ? from_quoted(clearance) : VALUE_NONE,
    };
    struct kit_node *node = kit_add(kit, name, &spec);
    value_unref(spec.clearance);
    return node;
}

/* -- From reads into writes ---------------------------------------------- */

TEST(a_label_follows_what_is_read_into_what_is_written)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 p=2");
    declare(&kit, "s", "['secret']");
    kit_sum(&kit, "C", "s p -> c", 0);
    kit_sum(&kit, "D", "c -> d", 1);
    kit_sum(&kit, "P", "p -> q", 0);
    struct kit_node *e = see(&kit, "E", "d q", "['secret']");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "4,2");
    EXPECT_LABEL(&kit, "c", "['secret']");
    EXPECT_LABEL(&kit, "d", "['secret']");
    EXPECT_LABEL(&kit, "q", "[]");
    EXPECT_GET(&kit, "d!", "{'label':{'derived':{'':['secret']}},'value':4}");
    EXPECT_GET(&kit, "q!", "{'value':2}");
    EXPECT_TEXT(kit_errors(&kit), "");
    EXPECT_EQ(kit.sched->counters.surface_violations, 0);
    kit_end(&kit);
}

TEST(labels_of_several_reads_are_joined)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 b=2 c=3");
    declare(&kit, "a", "['red','blue']");
    declare(&kit, "b", "['green','red']");
    kit_sum(&kit, "S", "a b c -> s", 0);
    (void)see(&kit, "E", "s", "true");
    EXPECT_IDLE(&kit);
    EXPECT_LABEL(&kit, "s", "['blue','green','red']");
    EXPECT_TEXT(kit_errors(&kit), "");
    kit_end(&kit);
}

TEST(without_a_label_anywhere_there_is_nothing)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 b!={'value':1,'slug':'x'}");
    kit_sum(&kit, "S", "a b -> s", 0);
    (void)kit_see(&kit, "E", "s");
    EXPECT_IDLE(&kit);
    EXPECT(kit.sched->labels == NULL);
    for (int64_t i = 2; i < 100; i++) {
        kit_set_number(&kit, "a", i);
        kit_step(&kit);
    }
    EXPECT(kit.sched->labels == NULL);
    EXPECT_GET(&kit, "s!", "{'value':100}");
    kit_end(&kit);
}

/* Reads all inputs the first time, then only the first one. */
static enum run_result first_only(struct run *run, struct kit_node *node)
{
    int64_t sum = 0;
    const size_t count = node->runs <= 1 ? node->read_count : 1;
    for (size_t i = 0; i < count; i++) {
        sum += kit_number(run, node, i);
    }
    kit_output_adopt(run, node, 0, value_int(sum));
    return RUN_DONE;
}

TEST(what_was_only_a_trigger_still_taints)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "p=1 s=10");
    declare(&kit, "s", "['secret']");
    struct kit_node *c = kit_computation(&kit, "C", "p -s -> c", first_only, 0);
    struct kit_node *e = see(&kit, "E", "c", "['secret']");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 1);
    EXPECT_LABEL(&kit, "c", "['secret']");
    /* It runs because of s, and does not read it. */
    kit_set(&kit, "s", "20");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 2);
    EXPECT_GET(&kit, "c", "1");
    EXPECT_LABEL(&kit, "c", "['secret']");
    EXPECT(!kit_is_reader(c, e)); /* nor anything else of the kind */
    /* Then it runs because of p, and s has nothing to do with it. */
    kit_set(&kit, "p", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 3);
    EXPECT_LABEL(&kit, "c", "[]");
    EXPECT_GET(&kit, "c!", "{'value':2}");
    EXPECT_SEEN(e, "11 1 2");
    kit_end(&kit);
}

TEST(a_label_alone_is_a_change)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1");
    struct kit_node *c = kit_sum(&kit, "C", "s -> c", 0);
    struct kit_node *d = kit_sum(&kit, "D", "c -> d", 0);
    (void)see(&kit, "E", "d", "true");
    EXPECT_IDLE(&kit);
    /* The first one, */
    declare(&kit, "s", "['secret']");
    EXPECT_IDLE(&kit);
    EXPECT_LABEL(&kit, "d", "['secret']");
    EXPECT_EQ(c->runs, 2);
    EXPECT_EQ(d->runs, 2);
    /* another one, */
    declare(&kit, "s", "['secret','more']");
    EXPECT_IDLE(&kit);
    EXPECT_LABEL(&kit, "d", "['more','secret']");
    EXPECT_EQ(d->runs, 3);
    /* and none. */
    declare(&kit, "s", "[]");
    EXPECT_IDLE(&kit);
    EXPECT_LABEL(&kit, "d", "[]");
    EXPECT_EQ(d->runs, 4);
    EXPECT_GET(&kit, "d!", "{'value':1}");
    /* The same again is none. */
    declare(&kit, "s", "[]");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 4);
    kit_end(&kit);
}

TEST(a_part_has_a_label_of_its_own)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "d={'x':1,'y':{'z':2}}");
    declare(&kit, "d.x", "['red']");
    declare(&kit, "d.y.z", "['blue']");
    EXPECT_LABEL(&kit, "d.x", "['red']");
    EXPECT_LABEL(&kit, "d.x.below", "['red']");
    EXPECT_LABEL(&kit, "d.y", "['blue']");
    EXPECT_LABEL(&kit, "d.w", "[]");
    EXPECT_LABEL(&kit, "d", "['blue','red']");
    EXPECT_LABEL(&kit, "d!", "['blue','red']");
    EXPECT_LABEL(&kit, "d!.label", "[]");
    /* Which children there are can be seen by what was done to them. */
    EXPECT_LABEL(&kit, "^d", "['red']");
    EXPECT_LABEL(&kit, "^d.y", "['blue']");
    kit_computation(&kit, "Y", "d.w -> a", kit_fn_copy, 0);
    kit_computation(&kit, "X", "d.x -> b.part", kit_fn_copy, 0);
    (void)see(&kit, "E", "a b", "true");
    kit_set(&kit, "b", "{'part':0,'other':0}");
    EXPECT_IDLE(&kit);
    EXPECT_LABEL(&kit, "a", "[]");
    EXPECT_LABEL(&kit, "b.part", "['red']");
    EXPECT_LABEL(&kit, "b.other", "[]");
    kit_end(&kit);
}

/* -- Writes -------------------------------------------------------------- */

/* Reads one place and writes another, in a transaction that is no run. */
static void edit(struct sched_kit *kit,
                 const char *from,
                 const char *name,
                 enum write_kind kind,
                 const char *json)
{
    struct transaction *transaction = transaction_begin(&kit->replica, NULL);
    struct err_detail detail = {0};
    struct place *source = from != NULL ? kit_place(kit, from) : NULL;
    if (source != NULL) {
        struct value value;
        (void)transaction_read(transaction, source, READ_DEEP, 0, &value);
        value_unref(value);
        place_unref(source);
    }
    struct place *place = kit_place(kit, name);
    enum err err;
    if (kind == WRITE_PUT) {
        err = transaction_put_adopt(transaction,
                                    place,
                                    from_quoted(json),
                                    &detail);
    } else if (kind == WRITE_DELETE) {
        err = transaction_delete(transaction, place, &detail);
    } else {
        err = transaction_merge_adopt(transaction,
                                      place,
                                      kind,
                                      from_quoted(json),
                                      &detail);
    }
    EXPECT_EQ(err, ERR_OK);
    EXPECT_EQ(labels_apply(kit->sched, transaction, &detail), ERR_OK);
    EXPECT_EQ(transaction_commit(transaction, &detail), ERR_OK);
    transaction_release(transaction);
    place_unref(place);
}

TEST(a_write_replaces_what_was_derived_and_a_merge_joins)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "r=1 b=2 d={'l':[1,2],'n':1}");
    declare(&kit, "r", "['red']");
    declare(&kit, "b", "['blue']");
    edit(&kit, "r", "d.l.0", WRITE_PUT, "5");
    EXPECT_GET(&kit, "d!.label", "{'derived':{'/l/0':['red']}}");
    edit(&kit, "b", "d.l", WRITE_APPEND, "[6]");
    EXPECT_GET(&kit, "d!.label", "{'derived':{'/l':['blue','red']}}");
    edit(&kit, "b", "d.l.0", WRITE_PUT, "7"); /* is said above already */
    EXPECT_GET(&kit, "d!.label", "{'derived':{'/l':['blue','red']}}");
    edit(&kit, NULL, "d.l.0", WRITE_DELETE, ""); /* moves the others */
    EXPECT_GET(&kit, "d!.label", "{'derived':{'/l':['blue','red']}}");
    edit(&kit, "r", "d.n", WRITE_INCREMENT, "1");
    EXPECT_GET(&kit,
               "d!.label",
               "{'derived':{'/l':['blue','red'],'/n':['red']}}");
    edit(&kit, NULL, "d.l", WRITE_PUT, "[]");
    EXPECT_GET(&kit, "d!.label", "{'derived':{'/n':['red']}}");
    edit(&kit, "b", "d.m", WRITE_DELETE, ""); /* that it is not there */
    EXPECT_LABEL(&kit, "d.m", "['blue']");
    edit(&kit, NULL, "d", WRITE_PUT, "0");
    EXPECT_GET(&kit, "d!", "{'value':0}");
    kit_end(&kit);
}

TEST(what_was_declared_stays_whoever_writes)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "r=1 d=2");
    declare(&kit, "r", "['red']");
    declare(&kit, "d", "['mine']");
    edit(&kit, "r", "d", WRITE_PUT, "3");
    EXPECT_LABEL(&kit, "d", "['mine','red']");
    edit(&kit, NULL, "d", WRITE_PUT, "4");
    EXPECT_LABEL(&kit, "d", "['mine']");
    kit_end(&kit);
}

TEST(many_derived_parts_become_one_whole)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "r=1 d={}");
    declare(&kit, "r", "['red']");
    for (unsigned i = 0; i <= LABELS_ENTRIES_MAX; i++) {
        char name[KIT_NAME_MAX];
        (void)snprintf(name, sizeof name, "d.k%u", i);
        edit(&kit, "r", name, WRITE_PUT, "1");
    }
    EXPECT_GET(&kit, "d!.label", "{'derived':{'':['red']}}");
    kit_end(&kit);
}

TEST(labels_are_declared_on_payloads_and_are_strings)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "d=1");
    static const struct {
        const char *name;
        const char *labels;
        enum err want;
    } examples[] = {
        {"d!", "['x']", ERR_ARGUMENT},
        {"d!.label", "['x']", ERR_ARGUMENT},
        {"d", "'x'", ERR_ARGUMENT},
        {"d", "['']", ERR_ARGUMENT},
        {"d", "[1]", ERR_ARGUMENT},
        {"nowhere", "['x']", ERR_NOT_FOUND},
    };
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        struct place *place = kit_place(&kit, examples[i].name);
        struct transaction *transaction = transaction_begin(&kit.replica, NULL);
        const struct value labels = from_quoted(examples[i].labels);
        struct err_detail detail = {0};
        EXPECT_EQ(labels_declare(transaction, place, labels, &detail),
                  examples[i].want);
        value_unref(labels);
        transaction_release(transaction);
        place_unref(place);
    }
    EXPECT_GET(&kit, "d!", "{'value':1}");
    kit_end(&kit);
}

TEST(what_cannot_be_read_as_a_label_is_one_that_nobody_is_cleared_for)
{
    static const char *const texts[] = {
        "'x'",
        "{'declared':1}",
        "{'declared':{'':5}}",
        "{'declared':{'':['']}}",
        "{'derived':{'no pointer':['red']}}",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct sched_kit kit;
        kit_begin(&kit);
        kit_set(&kit, "d", "1");
        kit_set(&kit, "d!.label", texts[i]);
        struct kit_node *e = see(&kit, "E", "d", "['red']");
        EXPECT_IDLE(&kit);
        EXPECT_CONTAINS(kit_errors(&kit), "not cleared for \"unreadable\"");
        EXPECT_CONTAINS(label_of(&kit, "d"), "'unreadable'");
        EXPECT_SEEN(e, "()");
        kit_end(&kit);
    }
}

/* -- Effects ------------------------------------------------------------- */

TEST(an_effect_does_not_see_what_it_is_not_cleared_for)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s={'x':5} p=1");
    declare(&kit, "s.x", "['secret','red']");
    kit_computation(&kit, "C", "s.x -> c", kit_fn_copy, 0);
    struct kit_node *e = see(&kit, "E", "p c", "['red']");
    struct kit_node *f = see(&kit, "F", "c", "['secret','red','blue']");
    struct kit_node *g = see(&kit, "G", "p", NULL);
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "1,()"); /* nothing, whatever it does with it */
    EXPECT_SEEN(f, "5");
    EXPECT_SEEN(g, "1");
    EXPECT_TEXT(kit_errors(&kit),
                "E CLEARANCE: not cleared for \"secret\", the label of "
                "c/value, which it tried to read;");
    /* Another change wakes it, and it is refused again, before it runs. */
    kit_set(&kit, "s.x", "6");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 1);
    EXPECT_SEEN(f, "5 6");
    EXPECT_TEXT(kit_errors(&kit),
                "E CLEARANCE: not cleared for \"secret\", the label of "
                "c/value, which made it run;");
    /* And when it may, it does. */
    declare(&kit, "s.x", "['red']");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "1,() 1,6");
    EXPECT_TEXT(kit_errors(&kit), "");
    kit_end(&kit);
}

/* Writes what it sees, or that it saw nothing. */
static enum run_result leak(struct run *run, struct kit_node *node)
{
    kit_write_adopt(run, node, "out", value_int(kit_number(run, node, 0)));
    return RUN_DONE;
}

TEST(an_effect_that_was_refused_leaves_nothing)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=5 out=1");
    declare(&kit, "s", "['secret']");
    struct kit_node *e = kit_effect(&kit, "E", "s", leak, 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 1);
    EXPECT_GET(&kit, "out!", "{'value':1}");
    EXPECT_EQ(kit.error_count, 1);
    kit_end(&kit);
}

TEST(the_first_label_reaches_an_effect_that_has_read_before)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s={'x':1}");
    struct kit_node *e = see(&kit, "E", "s.x", NULL);
    EXPECT_IDLE(&kit);
    declare(&kit, "s", "['secret']");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "1");
    EXPECT_CONTAINS(kit_errors(&kit), "which made it run");
    kit_set(&kit, "s.x", "2");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "1");
    kit_end(&kit);
}

/* -- Through the store --------------------------------------------------- */

TEST(labels_are_stored_with_the_document_and_there_after_a_restart)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, false);
    kit_set_all(&kit, "s=1");
    declare(&kit, "s", "['secret']");
    kit_sum(&kit, "C", "s -> c", 0);
    (void)see(&kit, "E", "c", "true");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_stored(&kit, "c"),
                "{'label':{'derived':{'':['secret']}},'value':1}");
    kit_restart(&kit, false);
    struct kit_node *e = see(&kit, "E", "c", NULL);
    EXPECT_IDLE(&kit);
    EXPECT_CONTAINS(kit_errors(&kit), "not cleared for \"secret\"");
    EXPECT_CONTAINS(buf_text(&e->seen), "()");
    kit_end(&kit);
}

static const char SECRET_FROM_ELSEWHERE[] =
    "patch s [{'op':'add','path':'/label','value':{'declared':{'':['secret']}}}"
    "]";

TEST(a_label_from_elsewhere_reaches_who_has_read)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, false);
    kit_set_all(&kit, "s=1");
    kit_sum(&kit, "C", "s -> c", 0);
    struct kit_node *e = see(&kit, "E", "c", "true");
    EXPECT_IDLE(&kit);
    kit_elsewhere(&kit, SECRET_FROM_ELSEWHERE);
    EXPECT_IDLE(&kit);
    EXPECT_LABEL(&kit, "c", "['secret']");
    EXPECT_SEEN(e, "1 1");
    kit_end(&kit);
}

static void add_piece(struct sched_kit *kit)
{
    kit_sum(kit, "C", "s -> c", 0);
    (void)see(kit, "E", "c", "true");
}

TEST(a_piece_under_labels_resumes_without_a_run)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, false);
    kit.piece = "p";
    kit_set_all(&kit, "s=1");
    declare(&kit, "s", "['secret']");
    add_piece(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "C E");
    kit_restart(&kit, false);
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    add_piece(&kit);
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 0 unknown 0");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "");
    kit_load(&kit, "s c");
    EXPECT_TEXT(kit_ran(&kit), "");
    EXPECT_LABEL(&kit, "c", "['secret']");
    declare(&kit, "s", "[]");
    EXPECT_IDLE(&kit);
    EXPECT_LABEL(&kit, "c", "[]");
    kit_end(&kit);
}

TEST(a_piece_that_was_down_when_a_document_got_its_first_label_runs)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, false);
    kit.piece = "p";
    kit_set_all(&kit, "s=1");
    add_piece(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "C E");
    kit_restart(&kit, false);
    kit_elsewhere(&kit, SECRET_FROM_ELSEWHERE);
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    add_piece(&kit);
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 0 unknown 0");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "C E");
    EXPECT_LABEL(&kit, "c", "['secret']");
    kit_end(&kit);
}

/* -- Handlers ------------------------------------------------------------ */

TEST(a_handler_that_has_read_nothing_labelled_writes_without_a_label)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "s=1 p=2 a=0 b=0");
    declare(kit, "s", "['secret']");
    scene_on(&on, "P", "h", "p -> a", handle_sum, 0);
    scene_on(&on, "S", "g", "s -> b", handle_sum, 0);
    scene_send(&on, "h", "5");
    scene_send(&on, "g", "5");
    EXPECT_IDLE(kit);
    EXPECT_TEXT(scene_stored(&on, "a"), "{'value':7}");
    EXPECT_TEXT(scene_stored(&on, "b"),
                "{'label':{'derived':{'':['secret']}},'value':6}");
    scene_end(&on);
}

/* Reads, stores, and sends on. */
static enum run_result read_and_forward(struct handling *handling,
                                        struct scene_handler *handler)
{
    (void)handler_number(handling, handler, 0);
    return handle_forward(handling, handler);
}

TEST(what_a_handler_sends_carries_what_it_has_read)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "s=1 a=0 b=0");
    declare(kit, "s", "['secret']");
    const struct scene_handler_spec first = {
        .stream = "h",
        .surface = "s -> a",
        .fn = read_and_forward,
        .target = "g",
        .k = 1,
    };
    (void)scene_handle(&on, "H", &first);
    scene_on(&on, "G", "g", "-> b", handle_store, 0);
    struct scene_sent *sent = scene_send(&on, "h", "5");
    EXPECT_IDLE(kit);
    EXPECT_GET(kit, "b", "6");
    EXPECT_LABEL(kit, "a", "['secret']");
    EXPECT_LABEL(kit, "b", "['secret']");
    EXPECT_END(sent, "done");
    EXPECT_CONTAINS(scene_stored(&on, buf_text(&sent->receipt_id)),
                    "'derived':{'':['secret']}");
    scene_end(&on);
}

/* -- At random ----------------------------------------------------------- */

enum {
    SOURCES = 4,
    NODES = 6,
};

/* What the labels of a node are by definition: those of all that it reads,
 * sources and nodes before it, as a set of bits. */
static unsigned expected(const unsigned *reads,
                         const unsigned *declared,
                         unsigned node)
{
    unsigned labels = 0;
    for (unsigned i = 0; i < SOURCES + NODES; i++) {
        if ((reads[node] & 1U << i) == 0) {
            continue;
        }
        labels |=
            i < SOURCES ? declared[i] : expected(reads, declared, i - SOURCES);
    }
    return labels;
}

static struct value names_of(unsigned labels)
{
    static const char *const words[] = {"a", "b", "c"};
    struct value names = value_empty_array();
    for (unsigned i = 0; i < COUNT_OF(words); i++) {
        if ((labels & 1U << i) != 0) {
            names = array_push_adopt(names, value_text_new(words[i]));
        }
    }
    return names;
}

static void compare(struct sched_kit *kit,
                    const unsigned *reads,
                    const unsigned *declared)
{
    for (unsigned node = 0; node < NODES; node++) {
        char name[KIT_NAME_MAX];
        (void)snprintf(name, sizeof name, "n%u", node);
        struct place *place = kit_place(kit, name);
        const struct value want = names_of(expected(reads, declared, node));
        const struct value got = labels_at(kit->sched, place, READ_DEEP);
        EXPECT_VALUE(got, want);
        value_unref(got);
        value_unref(want);
        place_unref(place);
    }
}

static void draw_nodes(struct sched_kit *kit,
                       struct random *random,
                       unsigned *reads)
{
    struct buf all = {0};
    for (unsigned node = 0; node < NODES; node++) {
        struct buf surface = {0};
        reads[node] = 0;
        for (unsigned i = 0; i < SOURCES + node; i++) {
            if (random_one_in(random, 3)) {
                reads[node] |= 1U << i;
                buf_printf(&surface,
                           "%c%u ",
                           i < SOURCES ? 's' : 'n',
                           i < SOURCES ? i : i - SOURCES);
            }
        }
        buf_printf(&surface, "-> n%u", node);
        buf_printf(&all, "n%u ", node);
        char name[KIT_NAME_MAX];
        (void)snprintf(name, sizeof name, "N%u", node);
        kit_sum(kit, name, buf_text(&surface), 1);
        buf_release(&surface);
    }
    (void)see(kit, "E", buf_text(&all), "true");
    buf_release(&all);
}

PROPERTY(labels_are_those_of_everything_that_was_read, 60)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s0=0 s1=0 s2=0 s3=0");
    unsigned reads[NODES];
    unsigned declared[SOURCES] = {0};
    draw_nodes(&kit, random, reads);
    for (unsigned step = 0; step < 30; step++) {
        char name[KIT_NAME_MAX];
        const unsigned source = (unsigned)random_below(random, SOURCES);
        (void)snprintf(name, sizeof name, "s%u", source);
        if (random_one_in(random, 2)) {
            kit_set_number(&kit, name, random_between(random, 0, 2));
        } else {
            declared[source] = (unsigned)random_below(random, 8);
            struct buf text = {0};
            const struct value names = names_of(declared[source]);
            kit_put_value(&text, names);
            declare(&kit, name, buf_text(&text));
            value_unref(names);
            buf_release(&text);
        }
        if (random_one_in(random, 3)) {
            EXPECT_IDLE(&kit);
            compare(&kit, reads, declared);
        }
    }
    EXPECT_TEXT(kit_errors(&kit), "");
    kit_end(&kit);
}
