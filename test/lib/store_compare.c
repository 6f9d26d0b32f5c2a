/* Engine and model side by side (lib/store_compare.h is the manual). */

#include "lib/store_compare.h"

#include <stdio.h>
#include <string.h>

#include "lib/test.h"
#include "lib/values.h"
#include "store/history.h"
#include "store/maintain.h"
#include "store/merge.h"
#include "store/verify.h"
#include "store/waiting.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

static void note(struct schedule *schedule, bool held)
{
    schedule->failed = schedule->failed || !held;
}

/* -- Documents ----------------------------------------------------------- */

static bool is_readable(const struct store_model *model,
                        size_t branch,
                        uint64_t seq)
{
    return seq == ENGINE_HEAD || (seq >= store_model_first(model, branch) &&
                                  seq <= store_model_head(model, branch));
}

void compare_document(struct schedule *schedule,
                      struct store_kit *kit,
                      size_t branch,
                      const struct author *author,
                      const struct target *target,
                      uint64_t seq)
{
    const struct store_model *model = &schedule->model;
    const struct identity identity = {author->principal, author->session};
    struct model_name name;
    if (!model_name_of(target, author->principal, author->session, &name)) {
        return;
    }
    struct engine_address address = {
        .branch = model->branches.at[branch].name,
        .id = target->id,
    };
    struct value got = VALUE_NONE;
    struct value want = VALUE_NONE;
    enum err want_err = ERR_SEQUENCE;
    if (is_readable(model, branch, seq)) {
        want = store_model_read(model, branch, &name, seq);
        want_err = ERR_OK;
    }
    enum err err =
        scope_key_new(target->scope, identity, &address.scope_key, NULL);
    CHECK(err == ERR_OK);
    err = engine_read(&kit->engine, &address, seq, &got, NULL);
    const bool same = EXPECT_TEXT(err_name(err), err_name(want_err)) &&
                      EXPECT_VALUE(got, want);
    if (!same) {
        const struct text id = value_text(&target->id);
        (void)printf("#   %.*s on branch %zu, scope %s, seq %" PRIu64 "\n",
                     (int)id.length,
                     id.at,
                     branch,
                     scope_name(target->scope),
                     seq);
        note(schedule, false);
    }
    value_unref(got);
    value_unref(want);
    value_unref(address.scope_key);
}

bool compare_any_document(struct schedule *schedule, struct store_kit *kit)
{
    struct random *random = schedule->random;
    const size_t branch = random_below(random, schedule->model.branches.count);
    const uint64_t head = store_model_head(&schedule->model, branch);
    const uint64_t seq =
        random_one_in(random, 3) ? ENGINE_HEAD : random_below(random, head + 2);
    struct target target = draw_target(schedule);
    compare_document(
        schedule,
        kit,
        branch,
        &schedule->authors[random_below(random, schedule->author_count)],
        &target,
        seq);
    value_unref(target.id);
    return seq < schedule->model.horizon &&
           seq >= schedule->model.branches.at[branch].fork_seq;
}

static void compare_past(struct schedule *schedule,
                         struct store_kit *kit,
                         size_t branch,
                         const struct author *author,
                         const struct target *target,
                         bool whole)
{
    compare_document(schedule, kit, branch, author, target, ENGINE_HEAD);
    const uint64_t head = store_model_head(&schedule->model, branch);
    uint64_t seq = store_model_first(&schedule->model, branch);
    for (; whole && !schedule->failed && seq <= head; seq++) {
        compare_document(schedule, kit, branch, author, target, seq);
    }
}

void compare_documents(struct schedule *schedule,
                       struct store_kit *kit,
                       bool whole)
{
    for (size_t i = 0; i < schedule_id_count(schedule); i++) {
        struct target target = {.id = schedule_id(schedule, i)};
        for (size_t b = 0; b < schedule->model.branches.count; b++) {
            const struct author *first = &schedule->authors[0];
            target.scope = SCOPE_SPACE;
            compare_past(schedule, kit, b, first, &target, whole);
            for (size_t a = 0; a < schedule->author_count; a++) {
                const struct author *author = &schedule->authors[a];
                target.scope = SCOPE_USER;
                compare_past(schedule, kit, b, author, &target, whole && a < 2);
                target.scope = SCOPE_SESSION;
                compare_past(schedule, kit, b, author, &target, whole);
            }
        }
        value_unref(target.id);
    }
}

/* -- Branches ------------------------------------------------------------ */

static void compare_listing(struct schedule *schedule,
                            struct store_kit *kit,
                            size_t branch)
{
    struct value want = value_empty_array();
    for (size_t i = 0; i < schedule_id_count(schedule); i++) {
        struct value id = schedule_id(schedule, i);
        const struct model_name name = {.id = id, .scope = SCOPE_SPACE};
        if (store_model_is_listed(&schedule->model, branch, &name)) {
            want = array_push_adopt(want, value_ref(id));
        }
        value_unref(id);
    }
    struct value got = VALUE_NONE;
    const struct engine_page page = {
        .branch = schedule->model.branches.at[branch].name,
        .scope_key = value_text_new("space"),
        .limit = ENGINE_PAGE_MAX,
    };
    const enum err err = engine_list(&kit->engine, &page, &got, NULL);
    note(schedule, EXPECT_INT(err, ERR_OK));
    note(schedule, EXPECT_VALUE(got, want));
    value_unref(got);
    value_unref(want);
}

struct listed_events {
    struct value ids;
};

static void add_event(void *ctx, const struct waiting_event *event)
{
    struct listed_events *listed = ctx;
    listed->ids = array_push_adopt(listed->ids, value_ref(event->id));
}

/* The events that wait: the documents of the branch that hold one. */
static void compare_waiting(struct schedule *schedule,
                            struct store_kit *kit,
                            size_t branch)
{
    struct value want = value_empty_array();
    struct value id = schedule_id(schedule, schedule_id_count(schedule) - 1);
    const struct model_name name = {.id = id, .scope = SCOPE_SPACE};
    struct value head =
        store_model_read(&schedule->model, branch, &name, UINT64_MAX);
    if (store_model_is_listed(&schedule->model, branch, &name) &&
        !value_is_absent(object_field(head, "event"))) {
        want = array_push_adopt(want, value_ref(id));
    }
    struct listed_events got = {value_empty_array()};
    note(schedule, EXPECT_INT(engine_read_begin(&kit->engine, NULL), ERR_OK));
    const enum err err =
        engine_waiting(&kit->engine,
                       schedule->model.branches.at[branch].name,
                       0,
                       10,
                       add_event,
                       &got,
                       NULL);
    note(schedule, EXPECT_INT(err, ERR_OK));
    engine_read_end(&kit->engine);
    note(schedule, EXPECT_VALUE(got.ids, want));
    value_unref(got.ids);
    value_unref(want);
    value_unref(head);
    value_unref(id);
}

/* An entry of a difference between branches says how to get from one value to
 * the other. */
static void compare_entry(struct schedule *schedule,
                          struct value entry,
                          struct value from,
                          struct value to)
{
    const struct value list = object_field(entry, "patch");
    if (value_is_absent(from) || value_is_absent(to)) {
        const char *side = value_is_absent(from) ? "before" : "after";
        note(schedule,
             EXPECT(value_kind(object_field(entry, side)) == VALUE_NULL));
        return;
    }
    struct patch patch = {0};
    struct value got = VALUE_NONE;
    enum err err = patch_read(list, &schedule->paths, &patch, NULL);
    if (err == ERR_OK) {
        err = patch_apply(&patch, from, PATCH_ROOT_DOCUMENT, &got, NULL, NULL);
    }
    note(schedule, EXPECT_INT(err, ERR_OK));
    note(schedule, EXPECT_VALUE(got, to));
    patch_release(&patch);
    value_unref(got);
}

static void compare_difference(struct schedule *schedule,
                               struct store_kit *kit,
                               size_t from,
                               size_t to)
{
    const struct store_model *model = &schedule->model;
    struct value list = VALUE_NONE;
    const enum err err = engine_branch_diff(&kit->engine,
                                            model->branches.at[from].name,
                                            model->branches.at[to].name,
                                            &list,
                                            NULL);
    note(schedule, EXPECT_INT(err, ERR_OK));
    uint32_t next = 0;
    for (size_t i = 0; err == ERR_OK && i < schedule_id_count(schedule); i++) {
        struct value id = schedule_id(schedule, i);
        const struct model_name name = {.id = id};
        struct value before = store_model_read(model, from, &name, ENGINE_HEAD);
        struct value after = store_model_read(model, to, &name, ENGINE_HEAD);
        if (!value_equal(before, after) && next < array_count(list)) {
            const struct value entry = array_at(list, next);
            note(schedule, EXPECT_VALUE(object_field(entry, "id"), id));
            compare_entry(schedule, entry, before, after);
        }
        next += value_equal(before, after) ? 0 : 1;
        value_unref(before);
        value_unref(after);
        value_unref(id);
    }
    note(schedule, EXPECT_EQ(array_count(list), next));
    value_unref(list);
}

void compare_branches(struct schedule *schedule, struct store_kit *kit)
{
    struct value list = VALUE_NONE;
    const size_t count = schedule->model.branches.count;
    const enum err err = engine_branch_list(&kit->engine, &list, NULL);
    note(schedule, EXPECT_INT(err, ERR_OK));
    note(schedule, EXPECT_EQ(array_count(list), count));
    for (uint32_t i = 0; !schedule->failed && i < array_count(list); i++) {
        const struct value got = array_at(list, i);
        const struct model_branch *want = &schedule->model.branches.at[i];
        note(schedule, EXPECT_VALUE(object_field(got, "name"), want->name));
        note(
            schedule,
            EXPECT(value_boolean(object_field(got, "active")) == want->active));
        note(schedule,
             EXPECT_INT(value_integer(object_field(got, "headSeq")),
                        store_model_head(&schedule->model, i)));
        compare_listing(schedule, kit, i);
        compare_waiting(schedule, kit, i);
    }
    value_unref(list);
    if (!schedule->failed) {
        compare_difference(schedule,
                           kit,
                           random_below(schedule->random, count),
                           random_below(schedule->random, count));
    }
}

/* -- The whole file ------------------------------------------------------ */

/* A record that is made again from its rows is the one that was applied. */
static enum err compare_record(void *ctx, const struct history_record *record)
{
    struct schedule *schedule = ctx;
    const uint64_t number = record->commit_record->record;
    if (EXPECT(number > 0 && number <= schedule->records.count)) {
        const struct value was = schedule->records.at[number - 1];
        note(schedule, EXPECT_VALUE(record->record, was));
    } else {
        note(schedule, false);
    }
    return ERR_OK;
}

static void compare_records(struct schedule *schedule, struct store_kit *kit)
{
    struct err_detail detail = {0};
    enum err err = engine_read_begin(&kit->engine, &detail);
    if (err == ERR_OK) {
        err = history_walk(&kit->engine, 0, compare_record, schedule, &detail);
        engine_read_end(&kit->engine);
    }
    note(schedule, EXPECT_TEXT(detail.text, ""));
    note(schedule, EXPECT_INT(err, ERR_OK));
}

static void print_difference(void *ctx, const char *sentence)
{
    (void)ctx;
    (void)printf("#   %s\n", sentence);
}

void compare_history(struct schedule *schedule, struct store_kit *kit)
{
    const struct verify_options options = {.difference = print_difference};
    struct verify_counts counts;
    struct err_detail detail = {0};
    const enum err err =
        engine_verify(&kit->engine, &options, &counts, &detail);
    note(schedule, EXPECT_TEXT(detail.text, ""));
    note(schedule, EXPECT_INT(err, ERR_OK));
    note(schedule, EXPECT_EQ(counts.differences, 0));
    note(
        schedule,
        EXPECT_EQ(counts.commits,
                  store_model_seq(&schedule->model) - schedule->model.horizon));
    compare_records(schedule, kit);
}

static void compare_dumps(struct schedule *schedule, struct store_kit *kit)
{
    struct buf is = kit_dump(kit);
    struct buf want = kit_dump(&schedule->kit);
    note(schedule, EXPECT_TEXT(buf_text(&is), buf_text(&want)));
    buf_release(&is);
    buf_release(&want);
}

static void compare_chains(struct schedule *schedule, struct store_kit *kit)
{
    struct store_kit *own = &schedule->kit;
    note(schedule, EXPECT_INT(engine_refresh(&own->engine, NULL), ERR_OK));
    note(schedule, EXPECT_INT(engine_refresh(&kit->engine, NULL), ERR_OK));
    note(schedule,
         EXPECT(memcmp(kit->engine.chain.bytes,
                       own->engine.chain.bytes,
                       DIGEST_BYTES) == 0));
    note(schedule, EXPECT_EQ(kit->engine.record, schedule->records.count));
}

/* -- Replicas ------------------------------------------------------------ */

/* Folds the replica where the schedule was folded after `records`. */
static void repeat_compactions(struct schedule *schedule,
                               struct store_kit *replica,
                               size_t records)
{
    VEC_FOREACH (&schedule->compactions, compaction) {
        if (compaction->records == records) {
            struct compact_counts counts;
            const enum err err = engine_compact(&replica->engine,
                                                compaction->keep_from,
                                                NULL,
                                                NULL,
                                                &counts,
                                                NULL);
            note(schedule, EXPECT_INT(err, ERR_OK));
        }
    }
}

static void open_replica(struct schedule *schedule,
                         struct store_kit *replica,
                         bool compacted)
{
    struct engine_options options = schedule->kit.options;
    options.on_commit_record = NULL;
    kit_open_memory(replica, &options);
    for (size_t i = 0; i < schedule->records.count; i++) {
        if (compacted) {
            repeat_compactions(schedule, replica, i);
        }
        struct err_detail detail = {0};
        const enum err err =
            engine_apply(&replica->engine, schedule->records.at[i], &detail);
        if (err != ERR_OK) {
            note(schedule, EXPECT_TEXT(detail.text, ""));
            break;
        }
    }
    if (compacted) {
        repeat_compactions(schedule, replica, schedule->records.count);
    }
}

void compare_replica(struct schedule *schedule)
{
    struct store_kit replica;
    open_replica(schedule, &replica, true);
    compare_dumps(schedule, &replica);
    compare_chains(schedule, &replica);
    kit_close(&replica);
}

void compare_uncompacted_replica(struct schedule *schedule)
{
    static const char *const queries[] = {
        "SELECT * FROM branch ORDER BY branch",
        "SELECT * FROM session ORDER BY session",
        "SELECT * FROM \"commit\" ORDER BY seq",
    };
    struct store_kit replica;
    open_replica(schedule, &replica, false);
    compare_chains(schedule, &replica);
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        note(schedule,
             EXPECT_TEXT(kit_sql(&replica, queries[i]),
                         kit_sql(&schedule->kit, queries[i])));
    }
    const uint64_t horizon = schedule->model.horizon;
    schedule->model.horizon = 0; /* to the replica nothing is forgotten */
    for (unsigned i = 0; i < 20 && !schedule->failed; i++) {
        (void)compare_any_document(schedule, &replica);
    }
    compare_documents(schedule, &replica, false);
    compare_history(schedule, &replica);
    schedule->model.horizon = horizon;
    kit_close(&replica);
}

/* -- Copies -------------------------------------------------------------- */

void compare_backup(struct schedule *schedule, struct store_kit *kit)
{
    struct store_kit place = {.options = kit->options};
    struct store_kit copy;
    struct err_detail detail = {0};
    place.options.on_commit_record = NULL;
    kit_folder_new(place.folder, sizeof place.folder);
    const int length =
        snprintf(place.path, sizeof place.path, "%s/copy.db", place.folder);
    CHECK(length > 0 && (size_t)length < sizeof place.path);
    const enum err err =
        engine_backup(&kit->engine, place.path, NULL, NULL, &detail);
    note(schedule, EXPECT_TEXT(detail.text, ""));
    if (err == ERR_OK) {
        kit_open_beside(&copy, &place);
        compare_dumps(schedule, &copy);
        compare_chains(schedule, &copy);
        compare_documents(schedule, &copy, false);
        compare_branches(schedule, &copy);
        compare_history(schedule, &copy);
        kit_close(&copy);
    }
    kit_folder_remove(place.folder);
}
