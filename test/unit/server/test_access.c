/* Access to a space: scenarios with an engine, and a table of who may. */

#include "server/access.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/json.h"
#include "value/object.h"

#define DOC ACCESS_DOCUMENT_ID

/* A space with its access: every commit is judged, and only what was judged OK
 * is given to the engine. */
struct space {
    struct store_kit kit;
    struct access access;
    struct path_table paths;
    struct err_detail detail; /* of the last refusal */
};

static void read_access(struct space *space)
{
    struct value branch = value_text_new("");
    struct value scope = value_text_new("space");
    struct value id = value_text_new(DOC);
    struct value document = VALUE_NONE;
    EXPECT_EQ(engine_read(&space->kit.engine,
                          &(struct engine_address){branch, scope, id},
                          ENGINE_HEAD,
                          &document,
                          NULL),
              ERR_OK);
    access_release(&space->access);
    access_init(&space->access, document, NULL);
    value_unref(document);
    value_unref(branch);
    value_unref(scope);
    value_unref(id);
}

static void space_begin(struct space *space)
{
    *space = (struct space){0};
    kit_open_memory(&space->kit, NULL);
    path_table_init(&space->paths);
    read_access(space);
}

static void space_end(struct space *space)
{
    access_release(&space->access);
    path_table_release(&space->paths);
    kit_close(&space->kit);
}

static struct credential credential_of(const char *principal)
{
    struct credential credential = {.ceiling = CAPABILITY_OWNER};
    (void)snprintf(credential.principal,
                   sizeof credential.principal,
                   "%s",
                   principal);
    return credential;
}

/* "service" is the service principal. */
static enum capability may(const struct space *space, const char *principal)
{
    const struct credential credential = credential_of(principal);
    return access_capability(&space->access,
                             strcmp(principal, "service") == 0,
                             &credential);
}

static enum err judge(struct space *space,
                      enum capability capability,
                      const char *line,
                      bool *touches)
{
    struct buf json = kit_commit_json(line);
    struct value value;
    struct commit commit;
    EXPECT_EQ(json_read(buf_text(&json), json.length, NULL, &value, NULL),
              ERR_OK);
    EXPECT_EQ(commit_read(value, &space->paths, &commit, NULL), ERR_OK);
    space->detail = (struct err_detail){0};
    const enum err err =
        access_judge_commit(capability, &commit, touches, &space->detail);
    EXPECT(err == ERR_OK || space->detail.text[0] != '\0');
    EXPECT_EQ(space->detail.err, err);
    commit_release(&commit);
    value_unref(value);
    buf_release(&json);
    return err;
}

/* A commit by a principal, as the server does it. */
static enum err commit(struct space *space, const char *by, const char *line)
{
    bool touches;
    const enum err err = judge(space, may(space, by), line, &touches);
    if (err != ERR_OK) {
        EXPECT(!touches);
        return err;
    }
    kit_commit(&space->kit, line);
    EXPECT_EQ(space->kit.verdicts[0].err, ERR_OK);
    if (touches) {
        read_access(space);
    }
    return ERR_OK;
}

/* -- Scenarios ----------------------------------------------------------- */

TEST(l01_a_fresh_space_is_closed_until_the_service_writes_its_access)
{
    struct space space;
    space_begin(&space);
    EXPECT_EQ(may(&space, "ann"), CAPABILITY_NONE);
    EXPECT_EQ(commit(&space, "ann", "s1 1 | set A 1"), ERR_ACCESS);
    EXPECT_EQ(commit(&space, "ann", "s1 1 | set " DOC " {'ann':'OWNER'}"),
              ERR_ACCESS);
    EXPECT_TEXT(kit_read(&space.kit, DOC), "(absent)");
    EXPECT_EQ(commit(&space, "service", "s1 1 | set " DOC " {'ann':'OWNER'}"),
              ERR_OK);
    EXPECT_EQ(may(&space, "ann"), CAPABILITY_OWNER);
    EXPECT_EQ(may(&space, "bob"), CAPABILITY_NONE);
    EXPECT_EQ(commit(&space, "ann", "s1 2 | set A 1"), ERR_OK);
    space_end(&space);
}

TEST(l02_write_may_not_change_access_and_read_may_not_write)
{
    struct space space;
    space_begin(&space);
    EXPECT_EQ(commit(&space,
                     "service",
                     "s1 1 | set " DOC
                     " {'ann':'OWNER','bob':'WRITE','eve':'READ'}"),
              ERR_OK);
    EXPECT_EQ(commit(&space, "bob", "s1 2 | set A 1"), ERR_OK);
    EXPECT_EQ(commit(&space, "bob", "s1 3 | set " DOC " {'bob':'OWNER'}"),
              ERR_ACCESS);
    EXPECT_CONTAINS(space.detail.text, "OWNER");
    EXPECT_EQ(may(&space, "eve"), CAPABILITY_READ);
    EXPECT_EQ(commit(&space, "eve", "s1 3 | set A 2"), ERR_ACCESS);
    EXPECT_CONTAINS(space.detail.text, "has READ");
    EXPECT_EQ(may(&space, "stranger"), CAPABILITY_NONE);
    EXPECT_EQ(
        commit(&space, "ann", "s1 3 | set " DOC " {'ann':'OWNER','*':'READ'}"),
        ERR_OK);
    EXPECT_EQ(may(&space, "stranger"), CAPABILITY_READ);
    EXPECT_EQ(may(&space, ""), CAPABILITY_NONE); /* not authenticated */
    EXPECT_EQ(commit(&space, "stranger", "s2 1 | set A 2"), ERR_ACCESS);
    space_end(&space);
}

TEST(l02_an_entry_is_preferred_to_that_for_everyone)
{
    struct space space;
    space_begin(&space);
    EXPECT_EQ(commit(&space,
                     "service",
                     "s1 1 | set " DOC
                     " {'*':'WRITE','ann':'OWNER','eve':'READ'}"),
              ERR_OK);
    EXPECT_EQ(may(&space, "eve"), CAPABILITY_READ);
    EXPECT_EQ(may(&space, "bob"), CAPABILITY_WRITE);
    space_end(&space);
}

TEST(l03_an_invalid_change_of_access_is_refused_as_a_whole)
{
    static const struct {
        const char *line;
        const char *part;
    } cases[] = {
        {"s1 2 | delete " DOC, "patched or deleted"},
        {"s1 2 | add " DOC ".bob 'OWNER'", "patched or deleted"},
        {"s1 2 | replace " DOC ".ann 'READ'", "patched or deleted"},
        {"s1 2 | set " DOC "~user {'ann':'OWNER'}", "space scope"},
        {"s1 2 | set " DOC "~session {'ann':'OWNER'}", "space scope"},
        {"s1 2 | set " DOC " {}", "must be OWNER"},
        {"s1 2 | set " DOC " {'*':'OWNER'}", "other than '*'"},
        {"s1 2 | set " DOC " {'ann':'WRITE'}", "must be OWNER"},
        {"s1 2 | set " DOC " {'ann':'OWNER','bob':'owner'}", "'bob'"},
        {"s1 2 | set " DOC " {'ann':'OWNER','bob':'NONE'}", "'bob'"},
        {"s1 2 | set " DOC " {'ann':'OWNER','bob':1}", "'bob'"},
        {"s1 2 | set " DOC " {'ann':'OWNER','bob':['READ']}", "'bob'"},
        {"s1 2 | set " DOC " {'ann':'OWNER','':'READ'}", "1 to 255"},
        {"s1 2 | set " DOC " {'ann':'OWNER','b\\nb':'READ'}", "control"},
        {"s1 2 | set " DOC " 'OWNER'", "must be {"},
        {"s1 2 | set " DOC " ['ann']", "must be {"},
        {"s1 2 | set " DOC " null", "must be {"},
        {"s1 2 | put " DOC " {}", "must be {"},
        {"s1 2 | put " DOC " {'ann':'OWNER'}", "must be {"},
        {"s1 2 | put " DOC " {'value':{'ann':'OWNER'},'more':1}", "must be {"},
        {"s1 2 | branch b | set " DOC " {'ann':'OWNER'}", "main branch"},
        {"s1 2 | set A 1 | set " DOC " {'ann':'OWNER'}", "of its own"},
        {"s1 2 | set " DOC " {'ann':'OWNER'} | set A 1", "of its own"},
        {"s1 2 | delete " DOC " | set A 1", "of its own"},
        {("s1 2 | set " DOC " {'ann':'OWNER'} | set " DOC
          " {'ann':'OWNER','bob':'OWNER'}"),
         "of its own"},
    };
    struct space space;
    space_begin(&space);
    EXPECT_EQ(commit(&space, "service", "s1 1 | set " DOC " {'ann':'OWNER'}"),
              ERR_OK);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (!EXPECT_EQ(commit(&space, "ann", cases[i].line), ERR_PROTOCOL)) {
            test_fail(__FILE__, __LINE__, "%s", cases[i].line);
        }
        EXPECT_CONTAINS(space.detail.text, cases[i].part);
        EXPECT_EQ(commit(&space, "service", cases[i].line), ERR_PROTOCOL);
        /* Nothing is said about it to one who may not change it. */
        bool touches;
        EXPECT_EQ(judge(&space, CAPABILITY_WRITE, cases[i].line, &touches),
                  ERR_ACCESS);
    }
    EXPECT_TEXT(kit_read(&space.kit, DOC), "{'value':{'ann':'OWNER'}}");
    EXPECT_TEXT(kit_read(&space.kit, "A"), "(absent)");
    EXPECT_EQ(may(&space, "ann"), CAPABILITY_OWNER);
    space_end(&space);
}

TEST(l03_a_change_may_have_reads_so_that_two_owners_do_not_overwrite_each_other)
{
    struct space space;
    space_begin(&space);
    EXPECT_EQ(commit(&space, "service", "s1 1 | set " DOC " {'ann':'OWNER'}"),
              ERR_OK);
    EXPECT_EQ(commit(&space,
                     "ann",
                     "s1 2 | conf " DOC " @1 | set " DOC
                     " {'ann':'OWNER','bob':'READ'}"),
              ERR_OK);
    EXPECT_EQ(may(&space, "bob"), CAPABILITY_READ);
    space_end(&space);
}

/* What another program, or an earlier version, may have left in the file. */
TEST(l04_a_broken_document_gives_no_access_and_the_service_repairs_it)
{
    static const char *const lines[] = {
        "s1 2 | delete " DOC,
        "s1 2 | set " DOC " {}",
        "s1 2 | set " DOC " {'*':'OWNER'}",
        "s1 2 | set " DOC " {'ann':'WRITE'}",
        "s1 2 | set " DOC " {'ann':'OWNER','bob':'maybe'}",
        "s1 2 | set " DOC " {'ann':'OWNER','*':true}",
        "s1 2 | set " DOC " 'text'",
        "s1 2 | put " DOC " {'ann':'OWNER'}",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct space space;
        space_begin(&space);
        EXPECT_EQ(commit(&space,
                         "service",
                         "s1 1 | set " DOC " {'ann':'OWNER','*':'WRITE'}"),
                  ERR_OK);
        kit_commit(&space.kit, lines[i]); /* not judged */
        EXPECT_EQ(space.kit.verdicts[0].err, ERR_OK);
        read_access(&space);
        EXPECT_EQ(may(&space, "ann"), CAPABILITY_NONE);
        EXPECT_EQ(may(&space, "bob"), CAPABILITY_NONE);
        EXPECT_EQ(commit(&space, "ann", "s1 3 | set A 1"), ERR_ACCESS);
        EXPECT_EQ(may(&space, "service"), CAPABILITY_OWNER);
        EXPECT_EQ(
            commit(&space, "service", "s1 3 | set " DOC " {'ann':'OWNER'}"),
            ERR_OK);
        EXPECT_EQ(may(&space, "ann"), CAPABILITY_OWNER);
        space_end(&space);
    }
}

/* Stricter than the scenario: default deny. */
TEST(l05_a_populated_space_without_a_document_is_closed_and_can_be_claimed)
{
    struct space space;
    space_begin(&space);
    EXPECT_EQ(commit(&space, "service", "s1 1 | set A 1"), ERR_OK);
    EXPECT_EQ(may(&space, "ann"), CAPABILITY_NONE);
    EXPECT_EQ(commit(&space, "ann", "s2 1 | set " DOC " {'ann':'OWNER'}"),
              ERR_ACCESS);
    EXPECT_EQ(commit(&space, "service", "s1 2 | set " DOC " {'ann':'OWNER'}"),
              ERR_OK);
    EXPECT_EQ(may(&space, "ann"), CAPABILITY_OWNER);
    space_end(&space);
}

TEST(l06_a_principal_that_is_revoked_has_lost_read)
{
    struct space space;
    space_begin(&space);
    EXPECT_EQ(commit(&space,
                     "service",
                     "s1 1 | set " DOC " {'ann':'OWNER','bob':'WRITE'}"),
              ERR_OK);
    EXPECT_EQ(may(&space, "bob"), CAPABILITY_WRITE);
    EXPECT_EQ(commit(&space, "ann", "s1 2 | set " DOC " {'ann':'OWNER'}"),
              ERR_OK);
    EXPECT_EQ(may(&space, "bob"), CAPABILITY_NONE);
    /* The last change of an owner that revokes itself. */
    EXPECT_EQ(commit(&space, "ann", "s1 3 | set " DOC " {'bob':'OWNER'}"),
              ERR_OK);
    EXPECT_EQ(may(&space, "ann"), CAPABILITY_NONE);
    EXPECT_EQ(commit(&space, "ann", "s1 4 | set A 1"), ERR_ACCESS);
    space_end(&space);
}

/* What the server runs itself has WRITE at most. */
TEST(l11_the_servers_own_writes_do_not_touch_the_access_document)
{
    struct space space;
    bool touches;
    space_begin(&space);
    const struct credential own = {
        .principal = "service",
        .ceiling = CAPABILITY_WRITE,
    };
    const enum capability most = access_capability(&space.access, true, &own);
    EXPECT_EQ(most, CAPABILITY_WRITE);
    EXPECT_EQ(judge(&space, most, "s1 1 | set A 1", &touches), ERR_OK);
    EXPECT(!touches);
    EXPECT_EQ(
        judge(&space, most, "s1 1 | set " DOC " {'ann':'OWNER'}", &touches),
        ERR_ACCESS);
    EXPECT_EQ(judge(&space, most, "s1 1 | delete " DOC, &touches), ERR_ACCESS);
    EXPECT_EQ(judge(&space, most, "s1 1 | add " DOC ".a 'OWNER'", &touches),
              ERR_ACCESS);
    space_end(&space);
}

/* -- Credentials --------------------------------------------------------- */

TEST(access_3_a_ceiling_narrows_and_a_service_token_grants)
{
    struct space space;
    space_begin(&space);
    EXPECT_EQ(commit(&space,
                     "service",
                     "s1 1 | set " DOC " {'ann':'OWNER','bob':'READ'}"),
              ERR_OK);
    for (unsigned most = CAPABILITY_NONE; most <= CAPABILITY_OWNER; most++) {
        struct credential token = credential_of("ann");
        token.ceiling = (enum capability)most;
        EXPECT_EQ(access_capability(&space.access, false, &token), most);
        token = credential_of("bob");
        token.ceiling = (enum capability)most;
        EXPECT_EQ(access_capability(&space.access, false, &token),
                  most < CAPABILITY_READ ? most : CAPABILITY_READ);
        token = credential_of("eve");
        token.ceiling = (enum capability)most;
        EXPECT_EQ(access_capability(&space.access, false, &token),
                  CAPABILITY_NONE);
        EXPECT_EQ(access_capability(&space.access, true, &token), most);
        /* Exactly the ceiling, also of a principal that has more. */
        token.grants = true;
        EXPECT_EQ(access_capability(&space.access, false, &token), most);
        token = credential_of("ann");
        token.ceiling = (enum capability)most;
        token.grants = true;
        EXPECT_EQ(access_capability(&space.access, false, &token), most);
    }
    space_end(&space);
}

TEST(a_batch_of_observations_needs_write)
{
    struct observation *none = NULL;
    struct commit batch = {.branch = value_text_new("")};
    bool touches;
    vec_push(&batch.batch, none);
    EXPECT_EQ(access_judge_commit(CAPABILITY_READ, &batch, &touches, NULL),
              ERR_ACCESS);
    EXPECT_EQ(access_judge_commit(CAPABILITY_WRITE, &batch, &touches, NULL),
              ERR_OK);
    vec_release(&batch.batch);
}

TEST(l03_a_change_of_access_is_not_the_result_of_a_run)
{
    struct observation run;
    struct commit change = {.branch = value_text_new("")};
    bool touches;
    struct commit_op *op = commit_add_op(&change);
    op->target.id = value_text_new(DOC);
    op->document = from_quoted("{'value':{'ann':'OWNER'}}");
    EXPECT_EQ(access_judge_commit(CAPABILITY_OWNER, &change, &touches, NULL),
              ERR_OK);
    EXPECT(touches);
    change.observation = &run;
    EXPECT_EQ(access_judge_commit(CAPABILITY_OWNER, &change, &touches, NULL),
              ERR_PROTOCOL);
    EXPECT(!touches);
    change.observation = NULL;
    commit_release(&change);
}

TEST(a_large_document_finds_each_principal)
{
    struct access access;
    struct err_detail detail = {0};
    struct value entries = value_empty_object();
    object_put_text(&entries, "owner", "OWNER");
    char name[32];
    for (unsigned i = 1; i < ACCESS_ENTRIES_MAX; i++) {
        (void)snprintf(name, sizeof name, "user-%u", i * 7919 % 100003);
        object_put_text(&entries, name, i % 2 == 0 ? "READ" : "WRITE");
    }
    struct value document = value_empty_object();
    object_put_adopt(&document, "value", value_ref(entries));
    access_init(&access, document, &detail);
    EXPECT(access.is_valid);
    for (unsigned i = 1; i < ACCESS_ENTRIES_MAX; i++) {
        (void)snprintf(name, sizeof name, "user-%u", i * 7919 % 100003);
        const struct credential user = credential_of(name);
        EXPECT_EQ(access_capability(&access, false, &user),
                  i % 2 == 0 ? CAPABILITY_READ : CAPABILITY_WRITE);
    }
    access_release(&access);
    object_put_text(&entries, "one more", "READ");
    object_put_adopt(&document, "value", entries);
    access_init(&access, document, &detail);
    EXPECT(!access.is_valid);
    EXPECT_CONTAINS(detail.text, "the limit is 10000");
    access_release(&access);
    value_unref(document);
}

/* -- Who may ------------------------------------------------------------- */

/* Every kind of message, and the least capability that may send it; NONE: no
 * client may. */
TEST(for_every_kind_of_message_and_every_capability_who_may)
{
    static const struct {
        enum message_kind kind;
        enum capability least;
    } table[] = {
        {MESSAGE_OPEN, CAPABILITY_READ},
        {MESSAGE_COMMITS, CAPABILITY_WRITE},
        {MESSAGE_WATCH, CAPABILITY_READ},
        {MESSAGE_UNWATCH, CAPABILITY_READ},
        {MESSAGE_ACK, CAPABILITY_READ},
        {MESSAGE_OPENED, CAPABILITY_NONE},
        {MESSAGE_VERDICTS, CAPABILITY_NONE},
        {MESSAGE_SYNC, CAPABILITY_NONE},
        {MESSAGE_REVOKED, CAPABILITY_NONE},
    };
    EXPECT_EQ(COUNT_OF(table), MESSAGE_REVOKED + 1);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        enum capability least;
        EXPECT_EQ(table[i].kind, i);
        EXPECT_EQ(access_of_message(table[i].kind, &least),
                  table[i].least != CAPABILITY_NONE);
        EXPECT_EQ(least, table[i].least);
    }
}

/* Every kind of operation, scope and branch, and every capability. */
TEST(for_every_kind_of_commit_and_every_capability_who_may)
{
    static const struct {
        const char *line;
        enum capability least; /* that may; NONE: nobody, it is PROTOCOL */
    } table[] = {
        {"s1 1 | set A 1", CAPABILITY_WRITE},
        {"s1 1 | add A.x 1", CAPABILITY_WRITE},
        {"s1 1 | delete A", CAPABILITY_WRITE},
        {"s1 1 | set A~user 1", CAPABILITY_WRITE},
        {"s1 1 | set A~session 1", CAPABILITY_WRITE},
        {"s1 1 | branch b | set A 1", CAPABILITY_WRITE},
        {"s1 1 | set A 1 | set B 1", CAPABILITY_WRITE},
        {"s1 1 | conf " DOC " @0 | set A 1", CAPABILITY_WRITE},
        {"s1 1 | absent " DOC " | set A 1", CAPABILITY_WRITE},
        {"s1 1 | set " DOC "2 {}", CAPABILITY_WRITE},
        {"s1 1 | set access: {}", CAPABILITY_WRITE},
        {"s1 1 | set " DOC " {'ann':'OWNER'}", CAPABILITY_OWNER},
        {"s1 1 | absent " DOC " | set " DOC " {'ann':'OWNER'}",
         CAPABILITY_OWNER},
        {"s1 1 | delete " DOC, CAPABILITY_NONE},
        {"s1 1 | add " DOC ".x 'READ'", CAPABILITY_NONE},
        {"s1 1 | set " DOC "~user {'ann':'OWNER'}", CAPABILITY_NONE},
        {"s1 1 | set " DOC "~session {'ann':'OWNER'}", CAPABILITY_NONE},
        {"s1 1 | branch b | set " DOC " {'ann':'OWNER'}", CAPABILITY_NONE},
        {"s1 1 | set " DOC " {'ann':'OWNER'} | set A 1", CAPABILITY_NONE},
    };
    struct space space;
    space_begin(&space);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        for (unsigned has = CAPABILITY_NONE; has <= CAPABILITY_OWNER; has++) {
            bool touches;
            const bool is_change = table[i].least == CAPABILITY_NONE ||
                                   table[i].least == CAPABILITY_OWNER;
            enum err want = ERR_OK;
            if (has < CAPABILITY_WRITE || (is_change && has < 3)) {
                want = ERR_ACCESS;
            } else if (table[i].least == CAPABILITY_NONE) {
                want = ERR_PROTOCOL;
            }
            if (!EXPECT_EQ(judge(&space,
                                 (enum capability)has,
                                 table[i].line,
                                 &touches),
                           want)) {
                test_fail(__FILE__, __LINE__, "%s", table[i].line);
            }
            EXPECT_EQ(touches, is_change && want == ERR_OK);
        }
    }
    space_end(&space);
}
