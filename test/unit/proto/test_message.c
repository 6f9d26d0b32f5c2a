/* Messages: nothing is trusted when one is read (message-1), what was written
 * reads the same (message-2), and the order of what comes in is judged. In
 * texts here ' stands for ". */

#include "proto/message.h"

#include "base/limits.h"
#include "lib/gen.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/object.h"

static enum err read_value(struct value value,
                           struct path_table *paths,
                           struct message *out,
                           struct err_detail *detail)
{
    const enum err err = message_read(value, paths, out, detail);
    if (err != ERR_OK) {
        EXPECT_INT(detail->err, err);
        EXPECT(detail->text[0] != '\0');
        EXPECT(out->commits.at == NULL && out->targets.at == NULL &&
               out->upserts.at == NULL && out->selectors.at == NULL &&
               out->refused.at == NULL && out->verdicts.at == NULL &&
               !out->owned && out->number == 0 && out->kind == 0 &&
               value_is_absent(out->session) && value_is_absent(out->branch) &&
               value_is_absent(out->reason));
    }
    return err;
}

static void expect_refused(const char *text, enum err err, const char *field)
{
    struct path_table paths;
    path_table_init(&paths);
    struct value value = from_quoted(text);
    struct message message;
    struct err_detail detail = {0};
    if (!EXPECT_INT(read_value(value, &paths, &message, &detail), err) ||
        !EXPECT_CONTAINS(detail.text, field)) {
        (void)test_fail(__FILE__, __LINE__, "%s: %s", text, detail.text);
    }
    message_release(&message);
    value_unref(value);
    path_table_release(&paths);
}

/* It reads, and is written as `want`. */
static void expect_written(const char *text, const char *want)
{
    struct path_table paths;
    path_table_init(&paths);
    struct value value = from_quoted(text);
    struct message message;
    struct err_detail detail = {0};
    if (!EXPECT_INT(read_value(value, &paths, &message, &detail), ERR_OK)) {
        (void)test_fail(__FILE__, __LINE__, "%s: %s", text, detail.text);
    }
    struct value written = message_write(&message);
    EXPECT_QUOTED(written, want);
    struct buf appended = {0};
    message_append(&appended, &message);
    EXPECT_TEXT_OF(&appended, written);
    value_unref(written);
    message_release(&message);
    value_unref(value);
    path_table_release(&paths);
}

#define HEAD(kind) "'kind':'" kind "','connection':3,'number':8"
#define COMMIT                      \
    "{'session':'s1','localSeq':7," \
    "'operations':[{'op':'delete'," \
    "'id':'of:a'}]}"

/* Every kind with every field; then with as few as there can be. */
static const char *const canonical[] = {
    "{" HEAD("open") ",'session':'s1','branch':'b','seenSeq':12}",
    "{" HEAD("open") ",'seenSeq':0}",
    "{" HEAD("commits") ",'commits':[" COMMIT "," COMMIT "]}",
    "{" HEAD("commits") ",'commits':[]}",
    "{" HEAD("watch") ",'targets':[{'id':'of:a'},"
                      "{'id':'of:b','scope':'user'},"
                      "{'id':'of:b','scope':'session'}]}",
    "{" HEAD("watch") ",'targets':[]}",
    "{" HEAD("ack") ",'seenSeq':14}",
    "{" HEAD("opened") ",'session':'s1','resumed':true,'serverSeq':14,"
                       "'caughtUpLocalSeq':3,'markers':true,"
                       "'observations':true}",
    "{" HEAD("opened") ",'session':'s1','serverSeq':0}",
    "{" HEAD("verdicts") ",'verdicts':["
                         "{'seq':12,'resolvedPendingReads':"
                         "[{'localSeq':5,'seq':11}],'elidedOpIndexes':[0],"
                         "'replayed':true,'localSeq':7},"
                         "{'error':{'name':'CONFLICT','class':'retry',"
                         "'message':'no','id':'of:a','readSeq':3,"
                         "'conflictSeq':9,'retryAfterSeq':11},'localSeq':8}]}",
    "{" HEAD("verdicts") ",'verdicts':[]}",
    "{" HEAD("sync") ",'fromSeq':12,'toSeq':14,'caughtUpLocalSeq':7,"
                     "'pull':true,'upserts':["
                     "{'id':'of:a','seq':13,'document':{'value':1}},"
                     "{'id':'of:c','scope':'user','seq':0}],"
                     "'removes':[{'id':'of:b','scope':'session'}]}",
    "{" HEAD("sync") ",'fromSeq':0,'toSeq':0}",
    "{" HEAD("revoked") ",'reason':'taken-over'}",
    "{" HEAD("watch") ",'targets':[{'id':'of:a'},{'id':'of:b','since':12},"
                      "{'id':'of:b','scope':'user','since':1}]}",
    "{" HEAD("sync") ",'fromSeq':12,'toSeq':14,'upserts':["
                     "{'id':'of:a','seq':13,'document':{'value':1},"
                     "'before':{'value':0,'k':2}},"
                     "{'id':'of:b','seq':14,'before':{'value':0}},"
                     "{'id':'of:c','seq':14,'document':{},'before':null}]}",
    "{" HEAD("unwatch") ",'targets':[{'id':'of:a'},"
                        "{'id':'of:b','scope':'user'}]}",
    "{" HEAD("unwatch") ",'targets':[]}",
    "{" HEAD("open") ",'seenSeq':0,'client':7,'observations':true,"
                     "'deltas':true,'token':'t1'}",
    "{" HEAD("opened") ",'session':'s1','serverSeq':0,'markers':true,"
                       "'token':'t2'}",
    "{" HEAD("sync") ",'fromSeq':12,'toSeq':14,'upserts':["
                     "{'id':'of:a','seq':13,'from':12,'patch':["
                     "{'op':'remove','path':'/value/x'}]}]}",
    "{" HEAD("watch") ",'targets':[{'id':'of:a'}],'selectors':["
                      "{'id':'x','root':{'id':'of:b','scope':'user'},"
                      "'path':'/items/0','schema':{'items':true},"
                      "'depth':3,'count':0},"
                      "{'id':'y','root':{'id':'of:b'},'path':'',"
                      "'schema':false}]}",
    "{" HEAD("watch") ",'selectors':[{'id':'x','root':{'id':'of:b'},"
                      "'path':'','schema':true}]}",
    "{" HEAD("unwatch") ",'targets':[{'id':'of:a'}],'selectors':['x','y']}",
    "{" HEAD("unwatch") ",'selectors':['x']}",
    "{" HEAD("sync") ",'fromSeq':12,'toSeq':14,'pull':true,'upserts':["
                     "{'id':'of:a','seq':13,'document':{'value':1}},"
                     "{'id':'of:b','seq':0}],'reached':1,"
                     "'removes':[{'id':'of:c'}],'refused':["
                     "{'id':'x','code':'LIMIT_REACH','class':'terminal',"
                     "'message':'too much'}]}",
};

TEST(m2_every_kind_with_every_field_is_written_as_it_was_read)
{
    for (size_t i = 0; i < COUNT_OF(canonical); i++) {
        expect_written(canonical[i], canonical[i]);
    }
}

TEST(m2_defaults_are_left_out)
{
    expect_written("{" HEAD("open") ",'branch':'','seenSeq':0}",
                   "{" HEAD("open") ",'seenSeq':0}");
    expect_written("{" HEAD("opened") ",'session':'s1','serverSeq':0,"
                                      "'caughtUpLocalSeq':0,'resumed':false,"
                                      "'markers':false,'observations':false}",
                   "{" HEAD("opened") ",'session':'s1','serverSeq':0}");
    expect_written("{" HEAD("sync") ",'fromSeq':0,'toSeq':0,'upserts':[],"
                                    "'removes':[],'pull':false}",
                   "{" HEAD("sync") ",'fromSeq':0,'toSeq':0}");
}

TEST(the_fields_of_a_message_are_where_they_belong)
{
    struct path_table paths;
    path_table_init(&paths);
    struct value value = from_quoted(canonical[11]);
    struct message message;
    struct err_detail detail = {0};
    EXPECT_INT(message_read(value, &paths, &message, &detail), ERR_OK);
    EXPECT_INT(message.kind, MESSAGE_SYNC);
    EXPECT_EQ(message.connection, 3);
    EXPECT_EQ(message.number, 8);
    EXPECT_EQ(message.from_seq, 12);
    EXPECT_EQ(message.to_seq, 14);
    EXPECT_EQ(message.caught_up, 7);
    EXPECT(message.pull && !message.owned);
    EXPECT_EQ(message.upserts.count, 2);
    EXPECT_EQ(message.upserts.at[0].seq, 13);
    EXPECT_QUOTED(message.upserts.at[0].document, "{'value':1}");
    EXPECT(value_is_absent(message.upserts.at[1].document));
    EXPECT_INT(message.upserts.at[1].target.scope, SCOPE_USER);
    EXPECT_EQ(message.targets.count, 1);
    EXPECT_INT(message.targets.at[0].scope, SCOPE_SESSION);
    message_release(&message);
    value_unref(value);
    path_table_release(&paths);
}

/* -- message-1: every field ---------------------------------------------- */

struct refusal {
    const char *text;
    const char *field;
};

static void expect_all_refused(const struct refusal *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        expect_refused(rows[i].text, ERR_PROTOCOL, rows[i].field);
    }
}

TEST(m1_the_head_of_a_message_is_checked)
{
    static const struct refusal rows[] = {
        {"7", "a message"},
        {"[]", "a message"},
        {"{}", "kind"},
        {"{'kind':7,'connection':1,'number':1}", "kind"},
        {"{'kind':'close','connection':1,'number':1}", "kind"},
        {"{'kind':'ack','number':1,'seenSeq':1}", "connection"},
        {"{'kind':'ack','connection':-1,'number':1,'seenSeq':1}", "connection"},
        {"{'kind':'ack','connection':1.5,'number':1,'seenSeq':1}",
         "connection"},
        {"{'kind':'ack','connection':1,'seenSeq':1}", "number"},
        {"{'kind':'ack','connection':1,'number':0,'seenSeq':1}", "number"},
        {"{'kind':'ack','connection':1,'number':'1','seenSeq':1}", "number"},
    };
    expect_all_refused(rows, COUNT_OF(rows));
}

TEST(m1_what_goes_to_the_store_is_checked)
{
    static const struct refusal rows[] = {
        {"{" HEAD("open") "}", "seenSeq"},
        {"{" HEAD("open") ",'seenSeq':null}", "seenSeq"},
        {"{" HEAD("open") ",'seenSeq':1,'client':'x'}", "client"},
        {"{" HEAD("open") ",'seenSeq':1,'deltas':1}", "deltas"},
        {"{" HEAD("open") ",'seenSeq':1,'token':1}", "token"},
        {"{" HEAD("open") ",'seenSeq':1,'session':1}", "session"},
        {"{" HEAD("open") ",'seenSeq':1,'session':''}", "session"},
        {"{" HEAD("open") ",'seenSeq':1,'branch':{}}", "branch"},
        {"{" HEAD("commits") "}", "commits"},
        {"{" HEAD("commits") ",'commits':{}}", "commits"},
        {"{" HEAD("commits") ",'commits':[7]}", "commits[0]: a commit"},
        {"{" HEAD("commits") ",'commits':[" COMMIT ",{'session':'s'}]}",
         "commits[1]: localSeq"},
        {"{" HEAD("watch") "}", "targets"},
        {"{" HEAD("unwatch") "}", "targets"},
        {"{" HEAD("unwatch") ",'targets':[{'id':''}]}", "targets[0].id"},
        {"{" HEAD("watch") ",'targets':'of:a'}", "targets"},
        {"{" HEAD("watch") ",'targets':['of:a']}", "targets[0]"},
        {"{" HEAD("watch") ",'targets':[{'id':'a'},{'id':''}]}",
         "targets[1].id"},
        {"{" HEAD("watch") ",'targets':[{}]}", "targets[0].id"},
        {"{" HEAD("watch") ",'targets':[{'id':'a'},{'id':'a','since':0}]}",
         "targets[1].since"},
        {"{" HEAD("watch") ",'targets':[{'id':'a','since':-1}]}",
         "targets[0].since"},
        {"{" HEAD("watch") ",'targets':[{'id':'a','since':'1'}]}",
         "targets[0].since"},
        {"{" HEAD("watch") ",'targets':[{'id':'a','scope':'all'}]}",
         "targets[0].scope"},
        {"{" HEAD("ack") "}", "seenSeq"},
        {"{" HEAD("ack") ",'seenSeq':-1}", "seenSeq"},
    };
    expect_all_refused(rows, COUNT_OF(rows));
}

#define SYNC "{" HEAD("sync") ",'fromSeq':1,'toSeq':2,"

TEST(m1_what_goes_to_the_replica_is_checked)
{
    static const struct refusal rows[] = {
        {"{" HEAD("opened") ",'serverSeq':1}", "session"},
        {"{" HEAD("opened") ",'serverSeq':1,'session':''}", "session"},
        {"{" HEAD("opened") ",'session':'s'}", "serverSeq"},
        {"{" HEAD("opened") ",'session':'s','serverSeq':1,'token':[]}",
         "token"},
        {"{" HEAD("opened") ",'session':'s','serverSeq':1,'resumed':1}",
         "resumed"},
        {"{" HEAD("opened") ",'session':'s','serverSeq':1,'markers':'yes'}",
         "markers"},
        {"{" HEAD("opened") ",'session':'s','serverSeq':1,"
                            "'caughtUpLocalSeq':null}",
         "caughtUpLocalSeq"},
        {"{" HEAD("verdicts") "}", "verdicts"},
        {"{" HEAD("verdicts") ",'verdicts':7}", "verdicts"},
        {"{" HEAD("verdicts") ",'verdicts':[null]}", "verdicts[0]"},
        {"{" HEAD("verdicts") ",'verdicts':[{'seq':1}]}",
         "verdicts[0].localSeq"},
        {"{" HEAD("verdicts") ",'verdicts':[{'localSeq':1}]}",
         "verdicts[0]: seq"},
        {"{" HEAD("verdicts") ",'verdicts':[{'localSeq':1,'error':1}]}",
         "verdicts[0]: error"},
        {"{" HEAD("sync") ",'toSeq':2}", "fromSeq"},
        {"{" HEAD("sync") ",'fromSeq':2}", "toSeq"},
        {"{" HEAD("sync") ",'fromSeq':2,'toSeq':1}", "toSeq"},
        {SYNC "'caughtUpLocalSeq':-1}", "caughtUpLocalSeq"},
        {SYNC "'pull':0}", "pull"},
        {SYNC "'upserts':{}}", "upserts"},
        {SYNC "'upserts':[[]]}", "upserts[0]"},
        {SYNC "'upserts':[{'seq':1}]}", "upserts[0].id"},
        {SYNC "'upserts':[{'id':'a','scope':1,'seq':1}]}", "upserts[0].scope"},
        {SYNC "'upserts':[{'id':'a'}]}", "upserts[0].seq"},
        {SYNC "'upserts':[{'id':'a','seq':1,'before':7}]}",
         "upserts[0].before"},
        {SYNC "'upserts':[{'id':'a','seq':1,'before':[null]}]}",
         "upserts[0].before"},
        {SYNC "'upserts':[{'id':'a','seq':1,'document':null}]}",
         "upserts[0].document"},
        {SYNC "'upserts':[{'id':'a','seq':1,'document':[]}]}",
         "upserts[0].document"},
        {SYNC "'upserts':[{'id':'a','seq':2,'from':0,'patch':[]}]}",
         "upserts[0].from"},
        {SYNC "'upserts':[{'id':'a','seq':2,'from':2,'patch':[]}]}",
         "upserts[0].from"},
        {SYNC "'upserts':[{'id':'a','seq':2,'from':1}]}", "upserts[0].patch"},
        {SYNC "'upserts':[{'id':'a','seq':2,'from':1,'patch':{}}]}",
         "upserts[0].patch"},
        {SYNC "'upserts':[{'id':'a','seq':2,'from':1,'patch':[],"
              "'document':{}}]}",
         "upserts[0].patch"},
        {SYNC "'removes':'a'}", "removes"},
        {SYNC "'removes':[7]}", "removes[0]"},
        {SYNC "'removes':[{'id':7}]}", "removes[0].id"},
        {"{" HEAD("revoked") "}", "reason"},
        {"{" HEAD("revoked") ",'reason':7}", "reason"},
    };
    expect_all_refused(rows, COUNT_OF(rows));
}

/* -- message-1: limits --------------------------------------------------- */

static struct value repeated(struct value element, uint32_t count)
{
    struct value array = value_empty_array();
    for (uint32_t i = 0; i < count; i++) {
        array = array_push_adopt(array, value_ref(element));
    }
    value_unref(element);
    return array;
}

/* A message with `value` as one field, which is adopted. */
static void expect_limit(const char *text,
                         const char *field,
                         struct value value,
                         enum err err)
{
    struct path_table paths;
    path_table_init(&paths);
    struct value object = from_quoted(text);
    object_put_adopt(&object, field, value);
    struct message message;
    struct err_detail detail = {0};
    EXPECT_INT(read_value(object, &paths, &message, &detail), err);
    if (err != ERR_OK) {
        EXPECT_CONTAINS(detail.text, field);
    }
    message_release(&message);
    value_unref(object);
    path_table_release(&paths);
}

TEST(m1_lists_and_names_are_bounded)
{
    const struct {
        const char *text;
        const char *field;
        uint32_t most;
    } rows[] = {
        {canonical[2], "commits", LIMIT_MESSAGE_COMMITS},
        {canonical[4], "targets", LIMIT_MESSAGE_DOCUMENTS},
        {canonical[9], "verdicts", LIMIT_MESSAGE_COMMITS},
        {canonical[11], "upserts", LIMIT_MESSAGE_DOCUMENTS},
        {canonical[11], "removes", LIMIT_MESSAGE_DOCUMENTS},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        expect_limit(rows[i].text,
                     rows[i].field,
                     repeated(value_null(), rows[i].most + 1),
                     ERR_LIMIT_ELEMENTS);
    }
    expect_limit(
        canonical[9],
        "verdicts",
        repeated(from_quoted("{'localSeq':1,'seq':1}"), LIMIT_MESSAGE_COMMITS),
        ERR_OK);
    char name[LIMIT_ID_BYTES + 1];
    for (size_t i = 0; i < sizeof name; i++) {
        name[i] = 'n';
    }
    static const char *const names[] = {"session", "branch"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        expect_limit(canonical[0],
                     names[i],
                     value_string_new(name, sizeof name),
                     ERR_LIMIT_ID);
        expect_limit(canonical[0],
                     names[i],
                     value_string_new(name, LIMIT_ID_BYTES),
                     ERR_OK);
    }
    expect_limit(canonical[13],
                 "reason",
                 value_string_new(name, sizeof name),
                 ERR_LIMIT_ID);
}

TEST(m1_a_document_that_is_too_deep_is_refused)
{
    struct value deep = value_empty_object();
    for (size_t i = 0; i < LIMIT_DEPTH; i++) {
        struct value outer = value_empty_object();
        object_put_adopt(&outer, "a", deep);
        deep = outer;
    }
    struct value upsert = from_quoted("{'id':'a','seq':1}");
    object_put_adopt(&upsert, "document", deep);
    expect_limit(canonical[11],
                 "upserts",
                 repeated(upsert, 1),
                 ERR_LIMIT_DEPTH);
}

/* -- Random ones --------------------------------------------------------- */

PROPERTY(m1_garbage_is_refused_or_read_and_never_stops_the_program, 1000)
{
    struct path_table paths;
    path_table_init(&paths);
    const struct gen gen = {
        .random = random,
        .depth = 3,
        .width = 4,
        .flags = GEN_SPECIALS | GEN_ENVELOPES,
    };
    struct value value =
        from_quoted(canonical[random_below(random, COUNT_OF(canonical))]);
    for (uint64_t n = random_below(random, 4); n > 0; n--) {
        value = gen_edit_adopt(&gen, value);
    }
    struct message message;
    struct err_detail detail = {0};
    const enum err err = read_value(value, &paths, &message, &detail);
    if (err == ERR_OK) {
        struct value once = message_write(&message);
        EXPECT_CHECK(once);
        message_release(&message);
        /* message-2. */
        EXPECT_INT(read_value(once, &paths, &message, &detail), ERR_OK);
        struct value twice = message_write(&message);
        EXPECT_VALUE(twice, once);
        /* message-3. */
        struct buf text = {0};
        message_append(&text, &message);
        EXPECT_TEXT_OF(&text, twice);
        value_unref(once);
        value_unref(twice);
    } else {
        EXPECT_INT(err_class_of(err), ERR_CLASS_TERMINAL);
    }
    message_release(&message);
    value_unref(value);
    path_table_release(&paths);
}

/* -- Order --------------------------------------------------------------- */

static enum message_turn take(struct message_order *order,
                              uint64_t connection,
                              uint64_t number)
{
    const struct message message = {
        .connection = connection,
        .number = number,
    };
    return message_take(order, &message);
}

TEST(the_judge_counts_what_is_next_and_nothing_else)
{
    struct message_order order = {.connection = 5};
    EXPECT_INT(take(&order, 5, 1), MESSAGE_NEXT);
    EXPECT_INT(take(&order, 5, 2), MESSAGE_NEXT);
    EXPECT_INT(take(&order, 5, 2), MESSAGE_STALE); /* repeated */
    EXPECT_INT(take(&order, 5, 1), MESSAGE_STALE);
    EXPECT_INT(take(&order, 4, 3), MESSAGE_STALE); /* left over */
    EXPECT_INT(take(&order, 6, 3), MESSAGE_STALE);
    EXPECT_EQ(order.received, 2);
    EXPECT_INT(take(&order, 5, 4), MESSAGE_GAP); /* lost or reordered */
    EXPECT_INT(take(&order, 5, 4), MESSAGE_GAP);
    EXPECT_EQ(order.received, 2);
    EXPECT_INT(take(&order, 5, 3), MESSAGE_NEXT);
    EXPECT_EQ(order.received, 3);
}

TEST(m1_a_selector_is_read_field_by_field)
{
    static const struct {
        const char *selector;
        const char *field;
    } bad[] = {
        {"1", "selectors[0]"},
        {"{}", "selectors[0].id must be a string"},
        {"{'id':'','root':{'id':'a'}}", "selectors[0].id must not be empty"},
        {"{'id':'x'}", "selectors[0].root must be an object"},
        {"{'id':'x','root':{'id':''}}", "selectors[0].id"},
        {"{'id':'x','root':{'id':'a','scope':'all'}}", "selectors[0].scope"},
        {"{'id':'x','root':{'id':'a'},'path':['a']}", "selectors[0].path"},
        {"{'id':'x','root':{'id':'a'},'schema':1}", "selectors[0].schema"},
        {"{'id':'x','root':{'id':'a'},'depth':-1}", "selectors[0].depth"},
        {"{'id':'x','root':{'id':'a'},'count':1.5}", "selectors[0].count"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct buf text = {0};
        buf_printf(&text,
                   "{" HEAD("watch") ",'selectors':[%s]}",
                   bad[i].selector);
        expect_refused(buf_text(&text), ERR_PROTOCOL, bad[i].field);
        buf_release(&text);
    }
    expect_refused("{" HEAD("watch") ",'selectors':1}",
                   ERR_PROTOCOL,
                   "selectors must be an array");
    expect_refused("{" HEAD("unwatch") ",'selectors':[1]}",
                   ERR_PROTOCOL,
                   "selectors must be an array of ids");
    expect_refused("{" HEAD("sync") ",'fromSeq':0,'toSeq':0,'reached':1}",
                   ERR_PROTOCOL,
                   "reached must be at most");
    expect_refused("{" HEAD("sync") ",'fromSeq':0,'toSeq':0,'refused':"
                                    "[{'id':'x','code':'A'}]}",
                   ERR_PROTOCOL,
                   "refused[0].message");
    /* What is left out has a meaning. */
    expect_written("{" HEAD("watch") ",'selectors':[{'id':'x','root':"
                                     "{'id':'a'}}]}",
                   "{" HEAD("watch") ",'selectors':[{'id':'x','root':"
                                     "{'id':'a'},'path':'','schema':true}]}");
}
