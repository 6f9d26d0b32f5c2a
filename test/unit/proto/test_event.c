/* Stored events: written, read back, and refused when they are something else.
 * In texts here ' stands for ". */

#include "proto/event.h"

#include "lib/test.h"
#include "lib/values.h"
#include "value/json.h"

static struct value quoted(const char *text)
{
    struct buf json = {0};
    for (const char *at = text; *at != '\0'; at++) {
        buf_append_char(&json, (char)(*at == '\'' ? '"' : *at));
    }
    struct value value = from_json(buf_text(&json));
    buf_release(&json);
    return value;
}

static void expect_round(const char *text)
{
    struct path_table paths;
    path_table_init(&paths);
    struct value document = quoted(text);
    struct stored_event event;
    struct err_detail detail = {0};
    EXPECT_INT(stored_event_read(document, &paths, &event, &detail), ERR_OK);
    EXPECT_TEXT(detail.text, "");
    struct value written = stored_event_write(&event);
    EXPECT_VALUE(written, document);
    EXPECT(event_is_waiting(document));
    value_unref(written);
    stored_event_release(&event);
    value_unref(document);
    path_table_release(&paths);
}

TEST(a_stored_event_goes_round)
{
    expect_round("{'event':{'stream':'piece:p/add','path':['value'],"
                 "'payload':null,'time':7,'instance':'s','origin':3,"
                 "'counter':0,'hops':0}}");
    expect_round("{'event':{'stream':'piece:p/add','path':['value','a'],"
                 "'space':'other','payload':{'n':[1]},'time':0,"
                 "'instance':'s','origin':3,'counter':9,'caller':'evt:c',"
                 "'hops':12,'queued':true,'from':'piece:p/go','user':'ana',"
                 "'label':['salary']}}");
}

TEST(what_is_not_a_stored_event_is_refused_with_the_field)
{
    static const struct {
        const char *text;
        const char *says;
    } rows[] = {
        {"{}", "event must be an object"},
        {"{'event':1}", "event must be an object"},
        {"{'event':{}}", "event.stream"},
        {"{'event':{'stream':1}}", "event.stream"},
        {"{'event':{'stream':'s'}}", "event.path"},
        {"{'event':{'stream':'s','path':[1]}}", "event.path"},
        {"{'event':{'stream':'s','path':[],'space':2}}", "event.space"},
        {"{'event':{'stream':'s','path':[],'time':-1}}", "event.time"},
        {"{'event':{'stream':'s','path':[],'time':1,'hops':'x'}}",
         "event.hops"},
        {"{'event':{'stream':'s','path':[],'time':1,'hops':1}}",
         "event.instance"},
        {"{'event':{'stream':'s','path':[],'time':1,'hops':1,"
         "'instance':'i'}}",
         "event.origin"},
        {"{'event':{'stream':'s','path':[],'time':1,'hops':1,"
         "'instance':'i','origin':1}}",
         "event.counter"},
        {"{'event':{'stream':'s','path':[],'time':1,'hops':1,"
         "'instance':'i','origin':1,'counter':0}}",
         "event.payload"},
        {"{'event':{'stream':'s','path':[],'time':1,'hops':1,"
         "'instance':'i','origin':1,'counter':0,'payload':0,'queued':1}}",
         "event.queued"},
        {"{'event':{'stream':'s','path':[],'time':1,'hops':1,"
         "'instance':'i','origin':1,'counter':0,'payload':0,'user':1}}",
         "event.user"},
        {"{'event':{'stream':'s','path':[],'time':1,'hops':1,"
         "'instance':'i','origin':1,'counter':0,'payload':0,'label':1}}",
         "event.label"},
    };
    struct path_table paths;
    path_table_init(&paths);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value document = quoted(rows[i].text);
        struct stored_event event;
        struct err_detail detail = {0};
        EXPECT_INT(stored_event_read(document, &paths, &event, &detail),
                   ERR_PROTOCOL);
        EXPECT_CONTAINS(detail.text, rows[i].says);
        value_unref(document);
    }
    path_table_release(&paths);
}

TEST(only_receipts_can_hold_an_event)
{
    static const struct {
        const char *id;
        bool may;
    } rows[] = {
        {"receipt:x", true},
        {"receipt", false},
        {"of:receipt:", false},
        {"", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value id = value_text_new(rows[i].id);
        EXPECT(event_is_document_id(id) == rows[i].may);
        value_unref(id);
    }
    EXPECT(!event_is_waiting(VALUE_NONE));
    EXPECT(!event_is_waiting(value_int(1)));
}
