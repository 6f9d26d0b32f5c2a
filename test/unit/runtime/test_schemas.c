/* schemas: writes through cells fit the schemas of their documents, or do not
 * happen. */

#include "runtime/schemas.h"

#include "lib/test.h"
#include "lib/values.h"
#include "runtime/cell.h"

struct fixture {
    struct runtime runtime;
    struct space *space;
};

static void fixture_begin(struct fixture *on)
{
    struct err_detail detail = {0};
    runtime_init(&on->runtime, &(struct runtime_options){0});
    const struct space_options options = {.id = value_text_new("home")};
    EXPECT_EQ(runtime_open(&on->runtime, &options, &on->space, &detail),
              ERR_OK);
}

static void fixture_end(struct fixture *on)
{
    runtime_release(&on->runtime);
}

/* The payload of a document, or what is at a pointer below it; new. */
static struct place *place_at(struct fixture *on,
                              const char *id,
                              const char *pointer)
{
    struct entity *entity;
    struct err_detail detail = {0};
    const struct value name = value_text_new(id);
    EXPECT_EQ(entity_of(on->space, SCOPE_SPACE, name, &entity, &detail),
              ERR_OK);
    value_unref(name);
    struct place *place = place_payload(entity);
    struct path *path = from_pointer(&on->runtime.replica.paths, pointer);
    for (uint32_t i = 0; i < path->length; i++) {
        struct place *child = place_child(place, path->at[i].key);
        place_unref(place);
        place = child;
    }
    path_unref(path);
    return place;
}

static void set_schema(struct fixture *on,
                       const char *id,
                       const char *pointer,
                       const char *json,
                       bool fills)
{
    struct schema *schema;
    const struct value source = from_quoted(json);
    EXPECT_EQ(schema_new(source, &schema, NULL), ERR_OK);
    struct place *place = place_at(on, id, pointer);
    schemas_set(&on->runtime,
                &(struct schemas_option){
                    .place = place,
                    .schema = schema,
                    .fills = fills,
                });
    EXPECT(schemas_at(&on->runtime, place) == schema);
    place_unref(place);
    schema_unref(schema);
    value_unref(source);
}

/* A write in a transaction, or in one of its own; "ok" or the sentence. */
static const char *write_in(struct fixture *on,
                            struct transaction *transaction,
                            const char *id,
                            const char *pointer,
                            enum write_kind kind,
                            const char *json)
{
    static struct err_detail detail;
    detail = (struct err_detail){0};
    const struct cell_access access = {&on->runtime, NULL, transaction};
    struct place *place = place_at(on, id, pointer);
    enum err err;
    if (kind == WRITE_PUT) {
        err = cell_put_adopt(&access, place, from_quoted(json), &detail);
    } else if (kind == WRITE_DELETE) {
        err = cell_delete(&access, place, &detail);
    } else {
        err =
            cell_merge_adopt(&access, place, kind, from_quoted(json), &detail);
    }
    place_unref(place);
    if (err == ERR_OK) {
        return "ok";
    }
    return err == ERR_SCHEMA ? detail.text : err_name(err);
}

static const char *put(struct fixture *on,
                       const char *id,
                       const char *pointer,
                       const char *json)
{
    return write_in(on, NULL, id, pointer, WRITE_PUT, json);
}

static void expect(struct fixture *on, const char *id, const char *json)
{
    const struct cell_access access = {&on->runtime, NULL, NULL};
    struct place *place = place_at(on, id, "");
    struct value value;
    EXPECT_EQ(cell_read(&access, place, READ_DEEP, 0, &value, NULL, NULL),
              ERR_OK);
    EXPECT_QUOTED(value, json);
    value_unref(value);
    place_unref(place);
}

TEST(a_write_that_does_not_fit_changes_nothing_and_names_the_place)
{
    struct fixture on;
    fixture_begin(&on);
    set_schema(&on,
               "d",
               "",
               "{'type':'object','required':['n'],'properties':{'n':{'type':"
               "'integer','maximum':5},'l':{'items':{'type':'string'},"
               "'maxItems':2}}}",
               false);
    EXPECT_TEXT(put(&on, "d", "", "{'n':'x'}"),
                "d does not match its schema at /n: must be integer, not "
                "string");
    EXPECT_TEXT(put(&on, "d", "", "[]"),
                "d does not match its schema: must be object, not array");
    EXPECT_TEXT(put(&on, "d", "", "{'n':1,'l':['a']}"), "ok");
    EXPECT_TEXT(put(&on, "d", "/n", "6"),
                "d does not match its schema at /n: must be 5 or less");
    EXPECT_TEXT(
        put(&on, "d", "/l/0", "1"),
        "d does not match its schema at /l/0: must be string, not integer");
    EXPECT_TEXT(put(&on, "d", "/l/5", "'x'"), "RANGE"); /* as ever */
    EXPECT_TEXT(put(&on, "d", "/new", "{'any':1}"), "ok");
    EXPECT_TEXT(put(&on, "other", "", "'free'"), "ok");
    expect(&on, "d", "{'n':1,'l':['a'],'new':{'any':1}}");
    fixture_end(&on);
}

TEST(every_kind_of_write_is_judged_by_what_it_leaves)
{
    struct fixture on;
    fixture_begin(&on);
    set_schema(&on,
               "d",
               "",
               "{'required':['n'],'properties':{'n':{'maximum':5},'l':{'items':"
               "{'type':'string'},'minItems':1,'maxItems':2}}}",
               false);
    EXPECT_TEXT(put(&on, "d", "", "{'n':4,'l':['a']}"), "ok");
    EXPECT_TEXT(write_in(&on, NULL, "d", "/n", WRITE_INCREMENT, "1"), "ok");
    EXPECT_TEXT(write_in(&on, NULL, "d", "/n", WRITE_INCREMENT, "1"),
                "d does not match its schema at /n: must be 5 or less");
    EXPECT_TEXT(write_in(&on, NULL, "d", "/n", WRITE_INCREMENT, "'x'"), "TYPE");
    EXPECT_TEXT(write_in(&on, NULL, "d", "/n", WRITE_DELETE, ""),
                "d does not match its schema at /n: is missing");
    EXPECT_TEXT(
        write_in(&on, NULL, "d", "/l", WRITE_APPEND, "[1]"),
        "d does not match its schema at /l/1: must be string, not integer");
    EXPECT_TEXT(write_in(&on, NULL, "d", "/l", WRITE_APPEND, "1"), "TYPE");
    EXPECT_TEXT(write_in(&on, NULL, "d", "/l", WRITE_ADD_UNIQUE, "['a','b']"),
                "ok");
    EXPECT_TEXT(
        write_in(&on, NULL, "d", "/l", WRITE_APPEND, "['c']"),
        "d does not match its schema at /l: must have 2 elements or fewer");
    EXPECT_TEXT(write_in(&on, NULL, "d", "/l", WRITE_REMOVE_VALUE, "'a'"),
                "ok");
    EXPECT_TEXT(
        write_in(&on, NULL, "d", "/l", WRITE_REMOVE_VALUE, "'b'"),
        "d does not match its schema at /l: must have 1 elements or more");
    expect(&on, "d", "{'n':5,'l':['b']}");
    /* All of it may go. */
    EXPECT_TEXT(write_in(&on, NULL, "d", "", WRITE_DELETE, ""), "ok");
    fixture_end(&on);
}

TEST(a_transaction_is_judged_write_by_write_on_what_it_sees)
{
    struct fixture on;
    fixture_begin(&on);
    set_schema(&on, "d", "", "{'properties':{'n':{'maximum':5}}}", false);
    EXPECT_TEXT(put(&on, "d", "", "{'n':1}"), "ok");
    struct transaction *transaction =
        transaction_begin(&on.runtime.replica, NULL);
    EXPECT_TEXT(write_in(&on, transaction, "d", "/n", WRITE_INCREMENT, "4"),
                "ok");
    EXPECT_TEXT(write_in(&on, transaction, "d", "/n", WRITE_INCREMENT, "1"),
                "d does not match its schema at /n: must be 5 or less");
    EXPECT_TEXT(write_in(&on, transaction, "d", "", WRITE_PUT, "{'n':9}"),
                "d does not match its schema at /n: must be 5 or less");
    EXPECT_TEXT(write_in(&on, transaction, "d", "/m", WRITE_PUT, "1"), "ok");
    EXPECT_EQ(transaction_commit(transaction, NULL), ERR_OK);
    transaction_release(transaction);
    expect(&on, "d", "{'n':5,'m':1}");
    fixture_end(&on);
}

TEST(a_schema_of_a_part_sees_writes_above_and_below)
{
    struct fixture on;
    fixture_begin(&on);
    set_schema(&on, "d", "/a", "{'required':['x']}", false);
    EXPECT_TEXT(put(&on, "d", "", "{'b':1}"), "ok"); /* nothing is there */
    EXPECT_TEXT(put(&on, "d", "", "{'a':{}}"),
                "d does not match its schema at /a/x: is missing");
    EXPECT_TEXT(put(&on, "d", "/b", "{}"), "ok");
    EXPECT_TEXT(put(&on, "d", "/a", "{'x':1}"), "ok");
    EXPECT_TEXT(write_in(&on, NULL, "d", "/a/x", WRITE_DELETE, ""),
                "d does not match its schema at /a/x: is missing");
    EXPECT_TEXT(write_in(&on, NULL, "d", "/a", WRITE_DELETE, ""), "ok");
    expect(&on, "d", "{'b':{}}");
    fixture_end(&on);
}

TEST(what_was_wrong_before_does_not_stand_in_the_way)
{
    struct fixture on;
    fixture_begin(&on);
    EXPECT_TEXT(put(&on, "d", "", "{'a':{'n':'x'},'b':{'n':1}}"), "ok");
    set_schema(&on,
               "d",
               "",
               "{'additionalProperties':{'properties':{'n':{'type':'integer'}}}"
               "}",
               false);
    EXPECT_TEXT(put(&on, "d", "/b/n", "2"), "ok");
    EXPECT_TEXT(
        put(&on, "d", "/a/n", "'y'"),
        "d does not match its schema at /a/n: must be integer, not string");
    EXPECT_TEXT(put(&on, "d", "/a/n", "3"), "ok");
    expect(&on, "d", "{'a':{'n':3},'b':{'n':2}}");
    fixture_end(&on);
}

TEST(a_put_is_filled_if_it_was_asked_for)
{
    struct fixture on;
    fixture_begin(&on);
    static const char schema[] =
        "{'required':['a'],'properties':{'a':{'default':1}}}";
    set_schema(&on, "d", "", schema, true);
    EXPECT_TEXT(put(&on, "d", "", "{'b':2}"), "ok");
    expect(&on, "d", "{'b':2,'a':1}");
    set_schema(&on, "d", "", schema, false);
    EXPECT_TEXT(put(&on, "d", "", "{'b':2}"),
                "d does not match its schema at /a: is missing");
    fixture_end(&on);
}

TEST(a_write_through_a_link_is_judged_where_it_goes)
{
    struct fixture on;
    fixture_begin(&on);
    set_schema(&on, "d", "", "{'type':'integer'}", false);
    EXPECT_TEXT(put(&on, "l", "", "{'/':{'link@1':{'id':'d'}}}"), "ok");
    EXPECT_TEXT(put(&on, "l", "", "'x'"),
                "d does not match its schema: must be integer, not string");
    EXPECT_TEXT(put(&on, "l", "", "7"), "ok");
    expect(&on, "d", "7");
    fixture_end(&on);
}

TEST(a_schema_can_be_taken_away)
{
    struct fixture on;
    fixture_begin(&on);
    set_schema(&on, "d", "", "false", false);
    set_schema(&on, "d", "/a", "false", false);
    EXPECT_TEXT(put(&on, "d", "", "1"),
                "d does not match its schema: must be absent");
    struct place *place = place_at(&on, "d", "");
    schemas_set(&on.runtime, &(struct schemas_option){.place = place});
    EXPECT(schemas_at(&on.runtime, place) == NULL);
    EXPECT_TEXT(put(&on, "d", "", "{}"), "ok");
    EXPECT_TEXT(put(&on, "d", "/a", "1"),
                "d does not match its schema at /a: must be absent");
    struct place *part = place_at(&on, "d", "/a");
    schemas_set(&on.runtime, &(struct schemas_option){.place = part});
    schemas_set(&on.runtime, &(struct schemas_option){.place = part});
    EXPECT_TEXT(put(&on, "d", "/a", "1"), "ok");
    place_unref(part);
    place_unref(place);
    fixture_end(&on);
}
