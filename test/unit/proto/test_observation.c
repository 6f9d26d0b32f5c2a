/* Observations: nothing is trusted when one is read, one has one canonical text
 * (observation-4), and what the digests stand for (observation-1). In texts
 * here ' stands for ", and <A> for the digest of the text A. */

#include "proto/observation.h"

#include <string.h>

#include "base/limits.h"
#include "lib/test.h"
#include "lib/values.h"
#include "proto/commit.h"
#include "proto/message.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

static struct digest digest_of(const char *text)
{
    return digest_of_bytes("test", text, strlen(text));
}

static void append_digest(struct buf *to, struct digest digest)
{
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(digest, text);
    buf_append_text(to, text);
}

/* ' and <...> replaced. */
static void expand(struct buf *to, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '<') {
            char name[32] = {0};
            const size_t length = strcspn(at + 1, ">");
            memcpy(name, at + 1, length);
            append_digest(to, digest_of(name));
            at += length + 1;
        } else {
            buf_append_char(to, (char)(*at == '\'' ? '"' : *at));
        }
    }
}

static struct value expanded(const char *text)
{
    struct buf json = {0};
    expand(&json, text);
    struct value value = from_json(buf_text(&json));
    buf_release(&json);
    return value;
}

#define HEAD                                                            \
    "{'piece':'p','generation':3,'action':'<a>','kind':'computation',"  \
    "'implementation':'<i>','runtime':'<r>','schema':'<s>','surface':'" \
    "<w>','readSet':'<x>'"

static enum err try_read(const char *text, struct err_detail *detail)
{
    struct path_table paths;
    path_table_init(&paths);
    struct value value = expanded(text);
    struct observation *observation = NULL;
    const enum err err = observation_read(value, &paths, &observation, detail);
    EXPECT((err == ERR_OK) == (observation != NULL));
    if (err != ERR_OK) {
        EXPECT_INT(detail->err, err);
    }
    observation_unref(observation);
    value_unref(value);
    path_table_release(&paths);
    return err;
}

static void expect_refused(const char *text, enum err err, const char *part)
{
    struct err_detail detail = {0};
    if (!EXPECT_INT(try_read(text, &detail), err) ||
        !EXPECT_CONTAINS(detail.text, part)) {
        (void)test_fail(__FILE__, __LINE__, "%s: %s", text, detail.text);
    }
}

/* -- Making one ---------------------------------------------------------- */

struct fixture {
    struct path_table paths;
    struct observation *observation;
};

static void add(struct fixture *fixture,
                const char *space,
                const char *id,
                enum scope scope,
                const char *pointer,
                enum place_kind kind)
{
    const struct target target = {value_text_new(id), scope};
    struct value name = space != NULL ? value_text_new(space) : VALUE_NONE;
    struct path *path = from_pointer(&fixture->paths, pointer);
    observation_add_place(fixture->observation, name, &target, path, kind);
    path_unref(path);
    value_unref(name);
    value_unref(target.id);
}

static void begin(struct fixture *fixture)
{
    path_table_init(&fixture->paths);
    fixture->observation = observation_new();
    struct observation *to = fixture->observation;
    to->piece = value_text_new("p");
    to->generation = 3;
    to->action = digest_of("a");
    to->fingerprints.implementation = digest_of("i");
    to->fingerprints.runtime = digest_of("r");
    to->fingerprints.schema = digest_of("s");
}

static void end(struct fixture *fixture)
{
    observation_unref(fixture->observation);
    path_table_release(&fixture->paths);
}

/* Through text and back: the same. */
static void expect_round_trip(struct fixture *fixture)
{
    struct value written = observation_write(fixture->observation);
    struct buf appended = {0};
    observation_append(&appended, fixture->observation);
    EXPECT_TEXT_OF(&appended, written);
    struct buf text = {0};
    json_write(&text, written, JSON_CANONICAL, 0);
    struct value again = from_json(buf_text(&text));
    struct observation *copy = NULL;
    struct err_detail detail = {0};
    if (!EXPECT_INT(observation_read(again, &fixture->paths, &copy, &detail),
                    ERR_OK)) {
        (void)test_fail(__FILE__, __LINE__, "%s", detail.text);
    } else {
        struct value twice = observation_write(copy);
        EXPECT_VALUE(twice, written);
        EXPECT_EQ(copy->places.count, fixture->observation->places.count);
        value_unref(twice);
    }
    observation_unref(copy);
    value_unref(again);
    buf_release(&text);
    value_unref(written);
}

TEST(sealing_sorts_drops_what_is_twice_and_names_the_narrowest_scope)
{
    struct fixture fixture;
    begin(&fixture);
    add(&fixture, NULL, "b", SCOPE_SPACE, "/value", PLACE_DEEP);
    add(&fixture, NULL, "a", SCOPE_USER, "/value/x", PLACE_SHAPE);
    add(&fixture, NULL, "b", SCOPE_SPACE, "/value", PLACE_DEEP);
    add(&fixture, "other", "a", SCOPE_SPACE, "", PLACE_DEEP);
    add(&fixture, NULL, "out", SCOPE_SPACE, "/value", PLACE_OUTPUT);
    struct value other = value_text_new("other");
    struct value main = value_text_new("");
    observation_add_space(fixture.observation, other, main, 7);
    observation_add_space(fixture.observation, other, main, 5);
    observation_seal(fixture.observation);
    EXPECT_EQ(fixture.observation->places.count, 4);
    EXPECT_EQ(fixture.observation->elsewhere.count, 1);
    EXPECT_EQ(fixture.observation->elsewhere.at[0].seq, 7);
    EXPECT_INT(fixture.observation->scope, SCOPE_USER);
    EXPECT(fixture.observation->has_places);
    EXPECT_INT(observation_check(fixture.observation, false, NULL), ERR_OK);
    expect_round_trip(&fixture);
    value_unref(other);
    value_unref(main);
    end(&fixture);
}

TEST(the_digest_is_of_the_set_whatever_the_order_and_of_reads_alone)
{
    struct fixture first;
    struct fixture second;
    begin(&first);
    begin(&second);
    add(&first, NULL, "a", SCOPE_SPACE, "/value", PLACE_DEEP);
    add(&first, NULL, "b", SCOPE_SPACE, "/value", PLACE_SHAPE);
    add(&second, NULL, "b", SCOPE_SPACE, "/value", PLACE_SHAPE);
    add(&second, NULL, "a", SCOPE_SPACE, "/value", PLACE_DEEP);
    add(&second, NULL, "c", SCOPE_SPACE, "/value", PLACE_OUTPUT);
    observation_seal(first.observation);
    observation_seal(second.observation);
    EXPECT(digest_equal(&first.observation->read_set,
                        &second.observation->read_set));
    EXPECT(!digest_equal(&first.observation->fingerprints.surface,
                         &second.observation->fingerprints.surface));
    end(&first);
    end(&second);
}

TEST(every_part_of_a_place_is_in_the_digest)
{
    static const struct {
        const char *space;
        const char *id;
        enum scope scope;
        const char *pointer;
        enum place_kind kind;
    } rows[] = {
        {NULL, "a", SCOPE_SPACE, "/value", PLACE_DEEP},
        {"s", "a", SCOPE_SPACE, "/value", PLACE_DEEP},
        {NULL, "b", SCOPE_SPACE, "/value", PLACE_DEEP},
        {NULL, "a", SCOPE_USER, "/value", PLACE_DEEP},
        {NULL, "a", SCOPE_SPACE, "/value/x", PLACE_DEEP},
        {NULL, "a", SCOPE_SPACE, "/valu/e", PLACE_DEEP},
        {NULL, "a", SCOPE_SPACE, "/value", PLACE_SHAPE},
    };
    struct digest seen[COUNT_OF(rows)];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fixture fixture;
        begin(&fixture);
        add(&fixture,
            rows[i].space,
            rows[i].id,
            rows[i].scope,
            rows[i].pointer,
            rows[i].kind);
        observation_seal(fixture.observation);
        seen[i] = fixture.observation->read_set;
        for (size_t j = 0; j < i; j++) {
            EXPECT(!digest_equal(&seen[i], &seen[j]));
        }
        end(&fixture);
    }
}

TEST(clearing_keeps_the_room)
{
    struct fixture fixture;
    begin(&fixture);
    add(&fixture, NULL, "a", SCOPE_SPACE, "/value", PLACE_DEEP);
    observation_clear(fixture.observation);
    EXPECT_EQ(fixture.observation->places.count, 0);
    const uint64_t before = test_allocations();
    const struct target target = {value_text_new("a"), SCOPE_SPACE};
    struct path *path = from_pointer(&fixture.paths, "");
    const uint64_t after_path = test_allocations();
    observation_add_place(fixture.observation,
                          VALUE_NONE,
                          &target,
                          path,
                          PLACE_DEEP);
    EXPECT_EQ(test_allocations(), after_path);
    EXPECT(after_path >= before);
    path_unref(path);
    end(&fixture);
}

/* -- Reading ------------------------------------------------------------- */

TEST(the_same_as_before_carries_digests_only)
{
    struct err_detail detail = {0};
    EXPECT_INT(try_read(HEAD "}", &detail), ERR_OK);
    EXPECT_INT(try_read(HEAD ",'error':'<e>','debounceMs':5,'throttleMs':6,"
                             "'noAutoDebounce':true,'basis':{'seq':4,"
                             "'localSeq':[1,3]},'elsewhere':[{'space':'o',"
                             "'branch':'b','seq':2}],'scope':'session'}",
                        &detail),
               ERR_OK);
}

TEST(r27_fields_that_nobody_knows_are_refused)
{
    expect_refused(HEAD ",'contextKey':'user:me'}",
                   ERR_PROTOCOL,
                   "unknown field");
    expect_refused(HEAD ",'basis':{'seq':1,'x':1}}", ERR_PROTOCOL, "basis");
    expect_refused(HEAD ",'reads':[{'id':'a','path':[],'seq':1}]}",
                   ERR_PROTOCOL,
                   "reads[0]");
    expect_refused(HEAD ",'elsewhere':[{'space':'o','seq':1,'x':1}]}",
                   ERR_PROTOCOL,
                   "elsewhere[0]");
}

TEST(r27_a_forged_digest_or_scope_is_refused)
{
    expect_refused(HEAD ",'reads':[]}", ERR_PROTOCOL, "readSet");
    struct fixture fixture;
    begin(&fixture);
    add(&fixture, NULL, "a", SCOPE_USER, "/value", PLACE_DEEP);
    observation_seal(fixture.observation);
    fixture.observation->sealed = false; /* as one that was not made here */
    fixture.observation->scope = SCOPE_SPACE;
    struct err_detail detail = {0};
    EXPECT_INT(observation_check(fixture.observation, false, &detail),
               ERR_PROTOCOL);
    EXPECT_CONTAINS(detail.text, "scope");
    fixture.observation->scope = SCOPE_USER;
    fixture.observation->fingerprints.surface = digest_of("other");
    EXPECT_INT(observation_check(fixture.observation, false, &detail),
               ERR_PROTOCOL);
    EXPECT_CONTAINS(detail.text, "surface");
    end(&fixture);
}

TEST(what_is_missing_or_of_another_type_is_refused_by_name)
{
    static const struct {
        const char *text;
        enum err err;
        const char *part;
    } rows[] = {
        {"[]", ERR_PROTOCOL, "object"},
        {"{}", ERR_PROTOCOL, "piece"},
        {HEAD ",'scope':'all'}", ERR_PROTOCOL, "scope"},
        {HEAD ",'error':'x'}", ERR_PROTOCOL, "error"},
        {HEAD ",'debounceMs':0}", ERR_PROTOCOL, "debounceMs"},
        {HEAD ",'throttleMs':-1}", ERR_PROTOCOL, "throttleMs"},
        {HEAD ",'noAutoDebounce':1}", ERR_PROTOCOL, "noAutoDebounce"},
        {HEAD ",'writes':[]}", ERR_PROTOCOL, "writes"},
        {HEAD ",'reads':{}}", ERR_PROTOCOL, "reads"},
        {HEAD ",'reads':[1]}", ERR_PROTOCOL, "reads[0]"},
        {HEAD ",'reads':[{'id':'','path':[]}]}", ERR_PROTOCOL, "reads[0].id"},
        {HEAD ",'reads':[{'id':'a','path':1}]}", ERR_PROTOCOL, "reads[0].path"},
        {HEAD ",'reads':[{'id':'b','path':[]},{'id':'a','path':[]}]}",
         ERR_PROTOCOL,
         "sorted"},
        {HEAD ",'reads':[{'id':'a','path':[]},{'id':'a','path':[]}]}",
         ERR_PROTOCOL,
         "unique"},
        {HEAD ",'reads':[{'space':'o','id':'a','path':[]}]}",
         ERR_PROTOCOL,
         "elsewhere"},
        {HEAD ",'elsewhere':[{'space':'','seq':1}]}", ERR_PROTOCOL, "space"},
        {HEAD ",'elsewhere':[{'space':'b','seq':1},{'space':'a','seq':1}]}",
         ERR_PROTOCOL,
         "sorted"},
        {HEAD ",'basis':{}}", ERR_PROTOCOL, "basis.seq"},
        {HEAD ",'basis':{'seq':1,'localSeq':[2,1]}}", ERR_PROTOCOL, "localSeq"},
        {"{'piece':'','generation':0,'action':'<a>','kind':'effect',"
         "'implementation':'<i>','runtime':'<r>','schema':'<s>','surface':'<w>'"
         ",'readSet':'<x>'}",
         ERR_PROTOCOL,
         "piece"},
        {"{'piece':'p','generation':0,'action':'<a>','kind':'other'}",
         ERR_PROTOCOL,
         "kind"},
        {"{'piece':'p','generation':0,'action':'short','kind':'effect'}",
         ERR_PROTOCOL,
         "action"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        expect_refused(rows[i].text, rows[i].err, rows[i].part);
    }
}

TEST(the_other_spaces_have_a_limit)
{
    for (int more = 0; more < 2; more++) {
        struct buf text = {0};
        buf_append_text(&text, HEAD ",'elsewhere':[");
        for (int i = 0; i < LIMIT_OBSERVATION_SPACES + more; i++) {
            buf_printf(&text,
                       "%s{'space':'s%04d','seq':1}",
                       i > 0 ? "," : "",
                       i);
        }
        buf_append_text(&text, "]}");
        struct err_detail detail = {0};
        EXPECT_INT(try_read(buf_text(&text), &detail),
                   more > 0 ? ERR_LIMIT_COMMIT : ERR_OK);
        buf_release(&text);
    }
}

TEST(a_digest_has_one_text)
{
    char text[DIGEST_TEXT_LENGTH + 1];
    struct digest digest = digest_of("a");
    struct digest back;
    digest_write(digest, text);
    struct value value = value_text_new(text);
    EXPECT(digest_read(value, &back) && digest_equal(&digest, &back));
    value_unref(value);
    text[DIGEST_TEXT_LENGTH - 1]++;
    value = value_text_new(text);
    EXPECT(!digest_read(value, &back));
    value_unref(value);
    EXPECT(!digest_read(value_int(1), &back));
}

/* -- In commits ---------------------------------------------------------- */

static enum err try_commit(const char *text, struct err_detail *detail)
{
    struct path_table paths;
    path_table_init(&paths);
    struct value value = expanded(text);
    struct commit commit;
    const enum err err = commit_read(value, &paths, &commit, detail);
    if (err == ERR_OK) {
        struct value written = commit_write(&commit);
        struct commit again;
        EXPECT_INT(commit_read(written, &paths, &again, NULL), ERR_OK);
        struct value twice = commit_write(&again);
        EXPECT_VALUE(twice, written);
        value_unref(twice);
        value_unref(written);
        commit_release(&again);
    }
    commit_release(&commit);
    value_unref(value);
    path_table_release(&paths);
    return err;
}

TEST(a_batch_has_nothing_else_in_it)
{
    static const struct {
        const char *text;
        enum err err;
        const char *part;
    } rows[] = {
        {"{'session':'s','localSeq':1,'observations':[" HEAD
         ",'basis':{'seq':0}}]}",
         ERR_OK,
         ""},
        {"{'session':'s','localSeq':1,'operations':[{'op':'delete','id':'a'}],"
         "'observation':" HEAD "}}",
         ERR_OK,
         ""},
        {"{'session':'s','localSeq':1,'observations':[" HEAD "}]}",
         ERR_PROTOCOL,
         "observations[0]: an observation without a commit needs a basis"},
        {"{'session':'s','localSeq':1,'observations':[]}",
         ERR_PROTOCOL,
         "observations"},
        {"{'session':'s','localSeq':1,'observation':" HEAD "}}",
         ERR_PROTOCOL,
         "at least one operation"},
        {"{'session':'s','localSeq':1,'operations':[{'op':'delete','id':'a'}],"
         "'observations':[" HEAD ",'basis':{'seq':0}}]}",
         ERR_PROTOCOL,
         "nothing else"},
        {"{'session':'s','localSeq':1,'observation':" HEAD
         "},'observations':[" HEAD ",'basis':{'seq':0}}]}",
         ERR_PROTOCOL,
         "nothing else"},
        {"{'session':'s','localSeq':1,'operations':[{'op':'delete','id':'a'}],"
         "'observation':1}",
         ERR_PROTOCOL,
         "observation"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err_detail detail = {0};
        EXPECT_INT(try_commit(rows[i].text, &detail), rows[i].err);
        EXPECT_CONTAINS(detail.text, rows[i].part);
    }
}

TEST(a_sync_carries_the_observations_of_others)
{
    struct path_table paths;
    path_table_init(&paths);
    struct value value = expanded(
        "{'kind':'sync','connection':1,'number':1,'fromSeq':1,"
        "'toSeq':2,'observations':[{'seq':2,'observation':" HEAD "}}]}");
    struct message message;
    EXPECT_INT(message_read(value, &paths, &message, NULL), ERR_OK);
    EXPECT_EQ(message.told.count, 1);
    EXPECT_EQ(message.told.at[0].seq, 2);
    struct value written = message_write(&message);
    EXPECT_VALUE(written, value);
    struct buf text = {0};
    message_append(&text, &message);
    EXPECT_TEXT_OF(&text, written);
    value_unref(written);
    message_release(&message);
    value_unref(value);
    value = expanded("{'kind':'sync','connection':1,'number':1,'fromSeq':1,"
                     "'toSeq':2,'observations':[{'seq':2}]}");
    struct err_detail detail = {0};
    EXPECT_INT(message_read(value, &paths, &message, &detail), ERR_PROTOCOL);
    EXPECT_CONTAINS(detail.text, "observations[0]");
    value_unref(value);
    path_table_release(&paths);
}

TEST(a_verdict_tells_what_was_dropped)
{
    struct value value =
        from_quoted("{'seq':4,'droppedObservations':[[2,'stale'],"
                    "[3,'set-unknown']]}");
    struct verdict verdict;
    EXPECT_INT(verdict_read(value, &verdict, NULL), ERR_OK);
    EXPECT_EQ(verdict.dropped.count, 2);
    EXPECT_INT(verdict.dropped.at[1].outcome, OBSERVATION_SET_UNKNOWN);
    struct value written = verdict_write(&verdict);
    EXPECT_VALUE(written, value);
    value_unref(written);
    verdict_release(&verdict);
    value_unref(value);
    static const char *const bad[] = {
        "{'seq':4,'droppedObservations':1}",
        "{'seq':4,'droppedObservations':[1]}",
        "{'seq':4,'droppedObservations':[[-1,'stale']]}",
        "{'seq':4,'droppedObservations':[[1,'gone']]}",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        value = from_quoted(bad[i]);
        EXPECT_INT(verdict_read(value, &verdict, NULL), ERR_PROTOCOL);
        value_unref(value);
    }
}
