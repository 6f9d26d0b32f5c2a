/* src/replica/entity: documents, interned and in two parts. */

#include "lib/gen.h"
#include "lib/replica_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/compare.h"
#include "value/object.h"

/* -- Interning ----------------------------------------------------------- */

TEST(a_document_is_one_pointer_a_space_scope_and_id)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    fixture_open_second(&fixture);
    struct entity *entity = fixture_entity(&fixture, "A");
    EXPECT(fixture_entity(&fixture, "A") == entity);
    EXPECT(fixture_entity(&fixture, "B") != entity);
    EXPECT(fixture_entity(&fixture, "A~user") != entity);
    EXPECT(fixture_entity(&fixture, "A~session") != entity);
    EXPECT(fixture_entity(&fixture, ">A") != entity);
    const struct value id = value_text_new("A");
    EXPECT(entity_find(fixture.space, SCOPE_SPACE, id) == entity);
    EXPECT(entity_find(fixture.second, SCOPE_USER, id) == NULL);
    fixture_close(&fixture);
}

TEST(an_id_that_is_not_usable_is_refused)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    struct entity *entity;
    struct err_detail detail = {0};
    EXPECT(entity_of(fixture.space,
                     SCOPE_SPACE,
                     value_text_new(""),
                     &entity,
                     &detail) == ERR_ARGUMENT);
    EXPECT(entity == NULL);
    EXPECT(detail.text[0] != '\0');
    EXPECT_EQ(fixture.space->entities.count, 0);
    fixture_close(&fixture);
}

TEST(what_cannot_change_is_known_by_its_id)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    EXPECT(fixture_entity(&fixture, "cid:x")->pinned);
    EXPECT(fixture_entity(&fixture, "data:x")->pinned);
    EXPECT(!fixture_entity(&fixture, "cid")->pinned);
    EXPECT(!fixture_entity(&fixture, "xdata:y")->pinned);
    fixture_close(&fixture);
}

TEST(an_idle_document_is_small)
{
    EXPECT(sizeof(struct entity) <= 200);
}

/* -- The state of a document --------------------------------------------- */

TEST(a_document_is_cut_at_its_payload)
{
    static const struct {
        const char *document;
        bool payload;
    } rows[] = {
        {"{}", false},
        {"{'value':1}", true},
        {"{'value':null}", true},
        {"{'value':1,'meta':2}", true},
        {"{'meta':2}", false},
        {"{'/':1,'value':{'x@1':2}}", false},
        {"{'/':{'x@1':2},'value':1}", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value document = from_quoted(rows[i].document);
        struct entity_state state = entity_state_of(document);
        EXPECT(entity_state_exists(&state));
        EXPECT(value_is_absent(state.payload) == !rows[i].payload);
        struct value again = entity_state_document(&state);
        EXPECT_VALUE(again, document);
        value_unref(again);
        value_unref(document);
        entity_state_release(&state);
    }
    const struct entity_state none = entity_state_of(VALUE_NONE);
    EXPECT(!entity_state_exists(&none));
    EXPECT(value_is_absent(entity_state_document(&none)));
}

TEST(the_way_to_a_value_tells_how_far_it_led)
{
    struct path_table paths;
    path_table_init(&paths);
    static const struct {
        const char *pointer;
        enum err err;
        const char *want; /* NULL: absent */
    } rows[] = {
        {"", ERR_OK, "{'value':{'l':[1,{'x':2}],'n':1},'meta':{'m':3}}"},
        {"/value/n", ERR_OK, "1"},
        {"/value/l/1/x", ERR_OK, "2"},
        {"/value/l/2", ERR_OK, NULL},
        {"/value/l/2/x", ERR_NOT_FOUND, NULL},
        {"/value/l/x", ERR_OK, NULL},
        {"/value/n/x", ERR_TYPE, NULL},
        {"/value/q", ERR_OK, NULL},
        {"/meta/m", ERR_OK, "3"},
        {"/q", ERR_OK, NULL},
        {"/q/r", ERR_NOT_FOUND, NULL},
    };
    struct value document = from_quoted(rows[0].want);
    struct entity_state state = entity_state_of(document);
    value_unref(document);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct path *path = from_pointer(&paths, rows[i].pointer);
        struct value got;
        EXPECT_INT(entity_state_at(&state, path, &got), rows[i].err);
        struct value want =
            rows[i].want != NULL ? from_quoted(rows[i].want) : VALUE_NONE;
        EXPECT_VALUE(got, want);
        value_unref(got);
        value_unref(want);
        path_unref(path);
    }
    entity_state_release(&state);
    path_table_release(&paths);
}

#define LINK_TEXT "{'/':{'link@1':{'id':'of:x'}}}"

TEST(a_link_on_the_way_is_found_where_it_stands)
{
    struct path_table paths;
    path_table_init(&paths);
    static const struct {
        const char *document;
        const char *pointer;
        uint32_t want;
    } rows[] = {
        {"{'value':" LINK_TEXT "}", "/value", 0}, /* at the end is not on it */
        {"{'value':" LINK_TEXT "}", "/value/x", 1},
        {"{'value':" LINK_TEXT "}", "/value/x/y", 1},
        {"{'value':{'a':[1," LINK_TEXT "]}}", "/value/a/1", 0},
        {"{'value':{'a':[1," LINK_TEXT "]}}", "/value/a/1/x", 3},
        {"{'value':{'a':[1," LINK_TEXT "]}}", "/value/a/0/x", 0},
        {"{'value':{'a':[1," LINK_TEXT "]}}", "/value/b/1/x", 0},
        {"{'value':1,'beside':" LINK_TEXT "}", "/beside/x", 1},
        {"{'value':1,'beside':" LINK_TEXT "}", "/value/x", 0},
        {"{'beside':{'a':" LINK_TEXT "}}", "/beside/a/x", 2},
        {"{'beside':1}", "/value/x", 0},
        {"{'value':1}", "", 0},
        {NULL, "/value/x", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value document = rows[i].document != NULL
                                    ? from_quoted(rows[i].document)
                                    : VALUE_NONE;
        struct entity_state state = entity_state_of(document);
        struct path *path = from_pointer(&paths, rows[i].pointer);
        if (!EXPECT_EQ(entity_state_link(&state, path), rows[i].want)) {
            (void)test_fail(__FILE__, __LINE__, "row %zu", i);
        }
        path_unref(path);
        value_unref(document);
        entity_state_release(&state);
    }
    path_table_release(&paths);
}

/* In two parts or whole: nobody can tell. */
PROPERTY(a_state_is_its_document, 1000)
{
    const struct gen gen = {random, 3, 5, GEN_SPECIALS | GEN_ENVELOPES};
    struct value document = gen_object(&gen);
    if (random_one_in(random, 2) && value_is_object(document)) {
        const struct value key = value_text_new("value");
        document = object_set_adopt(document, key, gen_value(&gen));
    }
    if (!value_is_object(document)) {
        value_unref(document);
        return;
    }
    struct path_table paths;
    path_table_init(&paths);
    struct entity_state state = entity_state_of(document);
    struct value again = entity_state_document(&state);
    EXPECT_VALUE(again, document);
    EXPECT_CHECK(again);
    struct entity_state twin = entity_state_of(again);
    EXPECT(entity_state_equal(&state, &twin));
    for (int i = 0; i < 10; i++) {
        struct path *path = gen_path(&gen, &paths, document);
        struct value got;
        const enum err err = entity_state_at(&state, path, &got);
        const struct value want = value_at(document, path);
        EXPECT_VALUE(got, want);
        EXPECT(err == ERR_OK || value_is_absent(want));
        value_unref(got);
        path_unref(path);
    }
    entity_state_release(&twin);
    entity_state_release(&state);
    value_unref(again);
    value_unref(document);
    path_table_release(&paths);
}
