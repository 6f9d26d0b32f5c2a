/* Verdicts: written, read back, and refused when they are something else. In
 * texts here ' stands for ". */

#include "proto/verdict.h"

#include <string.h>

#include "lib/gen.h"
#include "lib/test.h"
#include "lib/values.h"
#include "proto/message.h"
#include "value/json.h"
#include "value/utf8.h"

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

/* The text of a message with it is that of its value (message-3). */
static void expect_appended(const struct verdict *verdict)
{
    struct message message = {.kind = MESSAGE_VERDICTS};
    const struct message_verdict one = {.local_seq = 1, .verdict = *verdict};
    vec_push(&message.verdicts, one);
    struct value written = message_write(&message);
    struct buf text = {0};
    message_append(&text, &message);
    EXPECT_TEXT_OF(&text, written);
    value_unref(written);
    vec_release(&message.verdicts);
}

static void expect_written(const struct verdict *verdict, const char *text)
{
    expect_appended(verdict);
    struct value written = verdict_write(verdict);
    struct value want = quoted(text);
    EXPECT_VALUE(written, want);
    value_unref(want);
    struct verdict again;
    struct err_detail detail = {0};
    EXPECT_INT(verdict_read(written, &again, &detail), ERR_OK);
    EXPECT_INT(again.err, verdict->err);
    EXPECT_INT(again.detail.err, verdict->err);
    EXPECT_TEXT(again.detail.text, verdict->detail.text);
    EXPECT_EQ(again.seq, verdict->seq);
    EXPECT(again.replayed == verdict->replayed);
    EXPECT_VALUE(again.id, verdict->id);
    struct value twice = verdict_write(&again);
    EXPECT_VALUE(twice, written);
    value_unref(twice);
    value_unref(written);
    verdict_release(&again);
}

TEST(a_landed_verdict_goes_round)
{
    struct verdict verdict = {.seq = 12};
    expect_written(&verdict, "{'seq':12}");
    verdict.replayed = true;
    expect_written(&verdict, "{'seq':12,'replayed':true}");
    const struct resolved_layer layers[] = {{5, 11}, {6, 12}};
    vec_push(&verdict.resolved, layers[0]);
    vec_push(&verdict.resolved, layers[1]);
    expect_written(&verdict,
                   "{'seq':12,'resolvedPendingReads':[{'localSeq':5,"
                   "'seq':11},{'localSeq':6,'seq':12}],'replayed':true}");
    verdict.replayed = false;
    vec_clear(&verdict.resolved);
    vec_push(&verdict.elided, 3);
    expect_written(&verdict, "{'seq':12,'elidedOpIndexes':[3]}");
    verdict_release(&verdict);
    EXPECT_EQ(verdict.seq, 0);
}

TEST(a_refused_verdict_goes_round_with_its_class)
{
    struct verdict verdict = {.read_seq = 3, .conflict_seq = 9, .head_seq = 11};
    verdict.id = value_text_new("of:a");
    verdict.err = err_set(&verdict.detail, ERR_CONFLICT, "stale");
    expect_written(&verdict,
                   "{'error':{'name':'CONFLICT','class':'retry','message':"
                   "'stale','id':'of:a','readSeq':3,'conflictSeq':9,"
                   "'retryAfterSeq':11}}");
    verdict.path = value_text_new("/value/n");
    verdict.by = value_text_new("s2");
    expect_written(&verdict,
                   "{'error':{'name':'CONFLICT','class':'retry','message':"
                   "'stale','id':'of:a','readSeq':3,'conflictSeq':9,"
                   "'path':'/value/n','by':'s2','retryAfterSeq':11}}");
    verdict.err = err_set(&verdict.detail, ERR_RECEIPT_EXISTS, "is there");
    expect_written(&verdict,
                   "{'error':{'name':'RECEIPT_EXISTS','class':'permanent',"
                   "'message':'is there','id':'of:a'}}");
    verdict.id = VALUE_NONE;
    verdict.err = err_set(&verdict.detail, ERR_PROTOCOL, "no");
    expect_written(&verdict,
                   "{'error':{'name':'PROTOCOL','class':'terminal',"
                   "'message':'no'}}");
    verdict.err = err_set(&verdict.detail, ERR_FULL, "disk");
    expect_written(&verdict,
                   "{'error':{'name':'FULL','class':'fault',"
                   "'message':'disk'}}");
    verdict_release(&verdict);
}

TEST(every_error_has_a_name_that_comes_back)
{
    static const enum err errs[] = {
#define X(name, number, class, text) ERR_##name,
        ERR_TABLE(X)
#undef X
    };
    for (size_t i = 1; i < COUNT_OF(errs); i++) {
        struct verdict verdict = {.err = errs[i]};
        expect_appended(&verdict);
        struct value written = verdict_write(&verdict);
        struct verdict again;
        EXPECT_INT(verdict_read(written, &again, NULL), ERR_OK);
        EXPECT_INT(again.err, errs[i]);
        verdict_release(&again);
        value_unref(written);
    }
}

TEST(an_error_of_a_newer_version_is_a_refusal_all_the_same)
{
    struct value value = quoted("{'error':{'name':'NOVEL','message':'m'}}");
    struct verdict verdict;
    EXPECT_INT(verdict_read(value, &verdict, NULL), ERR_OK);
    EXPECT_INT(verdict.err, ERR_STORE);
    EXPECT_TEXT(verdict.detail.text, "m");
    verdict_release(&verdict);
    value_unref(value);
}

TEST(every_field_of_a_verdict_is_checked)
{
    static const struct {
        const char *text;
        const char *field;
    } rows[] = {
        {"null", "verdict"},
        {"[]", "verdict"},
        {"{}", "seq"},
        {"{'seq':-1}", "seq"},
        {"{'seq':'1'}", "seq"},
        {"{'seq':1.5}", "seq"},
        {"{'seq':1,'replayed':1}", "replayed"},
        {"{'seq':1,'resolvedPendingReads':{}}", "resolvedPendingReads"},
        {"{'seq':1,'resolvedPendingReads':[1]}", "resolvedPendingReads"},
        {"{'seq':1,'resolvedPendingReads':[{'seq':1}]}", "localSeq"},
        {"{'seq':1,'resolvedPendingReads':[{'localSeq':1}]}", "seq"},
        {"{'seq':1,'elidedOpIndexes':1}", "elidedOpIndexes"},
        {"{'seq':1,'elidedOpIndexes':[-1]}", "elidedOpIndexes"},
        {"{'seq':1,'elidedOpIndexes':[4294967296]}", "elidedOpIndexes"},
        {"{'error':null}", "error"},
        {"{'error':'CONFLICT'}", "error"},
        {"{'error':{}}", "error.name"},
        {"{'error':{'name':5,'message':''}}", "error.name"},
        {"{'error':{'name':'OK','message':''}}", "error.name"},
        {"{'error':{'name':'PROTOCOL'}}", "error.message"},
        {"{'error':{'name':'PROTOCOL','message':5}}", "error.message"},
        {"{'error':{'name':'PROTOCOL','message':'','id':5}}", "error.id"},
        {"{'error':{'name':'CONFLICT','message':''}}", "readSeq"},
        {"{'error':{'name':'CONFLICT','message':'','readSeq':1,'path':5}}",
         "path"},
        {"{'error':{'name':'CONFLICT','message':'','readSeq':1,'by':5}}", "by"},
        {"{'error':{'name':'CONFLICT','message':'','readSeq':1}}",
         "conflictSeq"},
        {"{'error':{'name':'CONFLICT','message':'','readSeq':1,"
         "'conflictSeq':1}}",
         "retryAfterSeq"},
        {"{'error':{'name':'CONFLICT','message':'','readSeq':1,"
         "'conflictSeq':1,'retryAfterSeq':-1}}",
         "retryAfterSeq"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value value = quoted(rows[i].text);
        struct verdict verdict;
        struct err_detail detail = {0};
        if (!EXPECT_INT(verdict_read(value, &verdict, &detail), ERR_PROTOCOL) ||
            !EXPECT_CONTAINS(detail.text, rows[i].field)) {
            (void)test_fail(__FILE__, __LINE__, "%s", rows[i].text);
        }
        EXPECT_INT(verdict.err, ERR_OK);
        EXPECT(verdict.resolved.at == NULL);
        verdict_release(&verdict);
        value_unref(value);
    }
}

TEST(a_long_message_is_cut_at_a_character)
{
    struct buf text = {0};
    buf_append_text(&text, "{'error':{'name':'PROTOCOL','message':'x");
    for (unsigned i = 0; i < 300; i++) {
        buf_append_text(&text, "\xC3\xA4");
    }
    buf_append_text(&text, "'}}");
    struct value value = quoted(buf_text(&text));
    buf_release(&text);
    struct verdict verdict;
    EXPECT_INT(verdict_read(value, &verdict, NULL), ERR_OK);
    const size_t length = strlen(verdict.detail.text);
    EXPECT(length > 200 && utf8_is_valid(verdict.detail.text, length));
    verdict_release(&verdict);
    value_unref(value);
}

PROPERTY(garbage_is_refused_or_read_and_never_stops_the_program, 500)
{
    static const char *const texts[] = {
        "{'seq':3,'resolvedPendingReads':[{'localSeq':5,'seq':11}],"
        "'replayed':true}",
        "{'error':{'name':'CONFLICT','class':'retry','message':'stale',"
        "'id':'of:a','readSeq':3,'conflictSeq':9,'retryAfterSeq':11}}",
    };
    const struct gen gen = {
        .random = random,
        .depth = 3,
        .width = 4,
        .flags = GEN_SPECIALS,
    };
    struct value value = quoted(texts[random_below(random, 2)]);
    for (uint64_t n = 1 + random_below(random, 3); n > 0; n--) {
        value = gen_edit_adopt(&gen, value);
    }
    struct verdict verdict;
    struct err_detail detail = {0};
    if (verdict_read(value, &verdict, &detail) == ERR_OK) {
        expect_appended(&verdict);
        struct value written = verdict_write(&verdict);
        EXPECT_CHECK(written);
        value_unref(written);
    } else {
        EXPECT_INT(detail.err, ERR_PROTOCOL);
    }
    verdict_release(&verdict);
    value_unref(value);
}
