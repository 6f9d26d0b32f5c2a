/* link: which envelopes are links, what their fields are, and how one is
 * made. */

#include "value/doc_link.h"

#include "lib/test.h"
#include "lib/values.h"
#include "value/compare.h"

TEST(a_well_formed_link_is_a_link)
{
    static const char *const texts[] = {
        "{'/':{'link@1':{}}}",
        "{'/':{'link@1':{'id':'of:x'}}}",
        "{'/':{'link@1':{'id':''}}}",
        "{'/':{'link@1':{'path':[]}}}",
        "{'/':{'link@1':{'path':['a','0','']}}}",
        "{'/':{'link@1':{'space':'did:key:z6Mk'}}}",
        "{'/':{'link@1':{'scope':'space'}}}",
        "{'/':{'link@1':{'scope':'user'}}}",
        "{'/':{'link@1':{'scope':'session'}}}",
        "{'/':{'link@1':{'schema':true}}}",
        "{'/':{'link@1':{'schema':{'type':'object'}}}}",
        "{'/':{'link@1':{'overwrite':'redirect'}}}",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct value link = from_quoted(texts[i]);
        EXPECT_EQ(value_kind(link), VALUE_LINK);
        EXPECT(doc_link_state_is_valid(value_tagged_state(link)));
        EXPECT_QUOTED(link, texts[i]);
        EXPECT(!value_is_container(link));
        EXPECT_CHECK(link);
        value_unref(link);
    }
}

TEST(other_fields_or_types_make_an_opaque_leaf_that_loses_nothing)
{
    static const char *const texts[] = {
        "{'/':{'link@1':null}}",
        "{'/':{'link@1':'of:x'}}",
        "{'/':{'link@1':[]}}",
        "{'/':{'link@1':{'id':1}}}",
        "{'/':{'link@1':{'id':null}}}",
        "{'/':{'link@1':{'path':'/a'}}}",
        "{'/':{'link@1':{'path':[0]}}}",
        "{'/':{'link@1':{'path':['a',null]}}}",
        "{'/':{'link@1':{'space':1}}}",
        "{'/':{'link@1':{'scope':'group'}}}",
        "{'/':{'link@1':{'scope':1}}}",
        "{'/':{'link@1':{'overwrite':'this'}}}",
        "{'/':{'link@1':{'overwrite':true}}}",
        "{'/':{'link@1':{'id':'of:x','more':1}}}",
        "{'/':{'link@1':{'Id':'of:x'}}}",
        "{'/':{'link@2':{'id':'of:x'}}}",
        "{'/':{'links@1':{'id':'of:x'}}}",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct value leaf = from_quoted(texts[i]);
        EXPECT_EQ(value_kind(leaf), VALUE_TAGGED);
        EXPECT_QUOTED(leaf, texts[i]);
        EXPECT_CHECK(leaf);
        value_unref(leaf);
    }
}

TEST(the_fields_of_a_link_are_read_or_absent)
{
    struct value full =
        from_quoted("{'/':{'link@1':{'id':'of:x','path':['a','0'],"
                    "'space':'did:key:z6Mk','scope':'user',"
                    "'schema':{'a':[1]},'overwrite':'redirect'}}}");
    struct doc_link link = doc_link_of(full);
    EXPECT_QUOTED(link.id, "'of:x'");
    EXPECT_QUOTED(link.path, "['a','0']");
    EXPECT_QUOTED(link.space, "'did:key:z6Mk'");
    EXPECT_QUOTED(link.scope, "'user'");
    EXPECT_QUOTED(link.schema, "{'a':[1]}");
    EXPECT(link.redirect);
    value_unref(full);

    struct value bare = from_quoted("{'/':{'link@1':{}}}");
    link = doc_link_of(bare);
    EXPECT(value_is_absent(link.id));
    EXPECT(value_is_absent(link.path));
    EXPECT(value_is_absent(link.space));
    EXPECT(value_is_absent(link.scope));
    EXPECT(value_is_absent(link.schema));
    EXPECT(!link.redirect);
    value_unref(bare);
}

TEST(a_made_link_has_the_given_fields_and_no_others)
{
    static const char *const texts[] = {
        "{'/':{'link@1':{}}}",
        "{'/':{'link@1':{'id':'an id of many many bytes'}}}",
        "{'/':{'link@1':{'path':['a'],'overwrite':'redirect'}}}",
        ("{'/':{'link@1':{'id':'of:x','path':[],'space':'s',"
         "'scope':'session','schema':null,'overwrite':'redirect'}}}"),
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct value want = from_quoted(texts[i]);
        const struct doc_link fields = doc_link_of(want);
        struct value made = doc_link_new(&fields);
        EXPECT_EQ(value_kind(made), VALUE_LINK);
        EXPECT_QUOTED(made, texts[i]);
        EXPECT_VALUE(made, want);
        EXPECT_EQ(value_hash(made), value_hash(want));
        EXPECT_CHECK(made);
        value_unref(want);
        value_unref(made);
    }
}

TEST(links_are_equal_iff_all_their_fields_are)
{
    static const char *const texts[] = {
        "{'/':{'link@1':{}}}",
        "{'/':{'link@1':{'id':'a'}}}",
        "{'/':{'link@1':{'id':'b'}}}",
        "{'/':{'link@1':{'space':'a'}}}",
        "{'/':{'link@1':{'id':'a','path':[]}}}",
        "{'/':{'link@1':{'id':'a','path':['0']}}}",
        "{'/':{'link@1':{'id':'a','overwrite':'redirect'}}}",
        "{'/':{'link@1':{'id':'a','schema':{}}}}",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        for (size_t j = 0; j < COUNT_OF(texts); j++) {
            struct value a = from_quoted(texts[i]);
            struct value b = from_quoted(texts[j]);
            EXPECT_EQ(value_equal(a, b), i == j);
            value_unref(a);
            value_unref(b);
        }
    }
    struct value a = from_quoted("{'/':{'link@1':{'id':'a','path':['b']}}}");
    struct value b = from_quoted("{'/':{'link@1':{'path':['b'],'id':'a'}}}");
    EXPECT_VALUE(a, b);
    value_unref(a);
    value_unref(b);
}

TEST(only_an_object_can_be_the_state_of_a_link)
{
    EXPECT(doc_link_state_is_valid(value_empty_object()));
    EXPECT(!doc_link_state_is_valid(value_empty_array()));
    EXPECT(!doc_link_state_is_valid(value_null()));
    EXPECT(!doc_link_state_is_valid(VALUE_NONE));
}
