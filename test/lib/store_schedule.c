/* Random schedules (lib/store_schedule.h is the manual). */

#include "lib/store_schedule.h"

#include "lib/values.h"
#include "store/commit_record.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* -- Life ---------------------------------------------------------------- */

static void keep_record(void *ctx, const struct commit_record *commit_record)
{
    struct schedule *schedule = ctx;
    vec_push(&schedule->records, record_write(commit_record));
}

static struct engine_options draw_options(struct schedule *schedule)
{
    static const uint32_t caches[] = {1, 2, 5, 1000};
    struct random *random = schedule->random;
    return (struct engine_options){
        .snapshot_patches = (uint32_t)random_between(random, 1, 12),
        .snapshot_bytes = (uint32_t)random_between(random, 20, 2000),
        .snapshots_kept = (uint32_t)random_between(random, 1, 3),
        .documents_cached = caches[random_below(random, COUNT_OF(caches))],
        .on_commit_record = keep_record,
        .ctx = schedule,
    };
}

static void draw_authors(struct schedule *schedule)
{
    struct random *random = schedule->random;
    schedule->author_count = 3 + (size_t)random_below(random, 2);
    for (size_t i = 0; i < schedule->author_count; i++) {
        struct author *author = &schedule->authors[i];
        author->session = numbered("s", i);
        author->principal = numbered("p", i % 2);
        author->next_local = 1 + random_below(random, 3);
    }
    if (random_one_in(random, 4)) {
        schedule->authors[schedule->author_count - 1].principal = VALUE_NONE;
    }
}

void schedule_init(struct schedule *schedule,
                   struct random *random,
                   bool in_file)
{
    *schedule = (struct schedule){.random = random, .in_file = in_file};
    const struct engine_options options = draw_options(schedule);
    schedule->gen = (struct gen){
        .random = random,
        .depth = 3,
        .width = 4,
        .flags = random_one_in(random, 4) ? GEN_SPECIALS | GEN_ENVELOPES : 0,
    };
    schedule->id_count = 2 + random_below(random, 3);
    schedule->first_fork =
        random_one_in(random, 3) ? random_below(random, 50) : 0;
    if (in_file) {
        kit_open_file(&schedule->kit, &options);
        kit_open_beside(&schedule->beside, &schedule->kit);
    } else {
        kit_open_memory(&schedule->kit, &options);
    }
    store_model_init(&schedule->model, 0);
    path_table_init(&schedule->paths);
    draw_authors(schedule);
}

void schedule_release(struct schedule *schedule)
{
    store_model_release(&schedule->model);
    if (schedule->in_file) {
        kit_close(&schedule->beside);
    }
    kit_close(&schedule->kit);
    for (size_t i = 0; i < schedule->author_count; i++) {
        vec_release(&schedule->authors[i].layers);
    }
    VEC_FOREACH (&schedule->commits, commit) {
        commit_release(*commit);
        mem_free(*commit, sizeof **commit);
    }
    VEC_FOREACH (&schedule->owned, value) {
        value_unref(*value);
    }
    VEC_FOREACH (&schedule->records, record) {
        value_unref(*record);
    }
    vec_release(&schedule->commits);
    vec_release(&schedule->commit_authors);
    vec_release(&schedule->owned);
    vec_release(&schedule->records);
    vec_release(&schedule->compactions);
    path_table_release(&schedule->paths);
}

struct store_kit *schedule_kit(struct schedule *schedule)
{
    return schedule->in_file && random_one_in(schedule->random, 2)
               ? &schedule->beside
               : &schedule->kit;
}

/* -- Drawing: documents, paths, operations ------------------------------- */

size_t schedule_id_count(const struct schedule *schedule)
{
    return CONTENT_COUNT + (size_t)schedule->id_count;
}

struct value schedule_id(const struct schedule *schedule, size_t index)
{
    CHECK(index < schedule_id_count(schedule));
    if (index + 1 == schedule_id_count(schedule)) {
        return value_text_new("receipt:0"); /* may hold an event */
    }
    return index < CONTENT_COUNT ? numbered("cid:", index)
                                 : numbered("of:", index - CONTENT_COUNT);
}

static bool is_content(struct value id)
{
    const struct text text = value_text(&id);
    return text.at[0] == 'c';
}

struct target draw_target(struct schedule *schedule)
{
    struct random *random = schedule->random;
    const size_t index =
        random_one_in(random, 10)
            ? random_below(random, CONTENT_COUNT)
            : CONTENT_COUNT + random_below(random, schedule->id_count);
    struct target target = {
        .id = schedule_id(schedule, index),
        .scope = SCOPE_SPACE,
    };
    if (random_one_in(random, is_content(target.id) ? 20 : 6)) {
        target.scope = random_one_in(random, 2) ? SCOPE_USER : SCOPE_SESSION;
    }
    return target;
}

static struct path *draw_path(struct schedule *schedule, struct value document)
{
    static const char *const pointers[] = {
        "",
        "/value",
        "/value/x",
        "/value/x",
        "/value/y",
        "/value/y/p",
        "/value/y/q",
        "/value/list",
        "/value/list/0",
        "/value/list/1",
        "/value/n",
        "/value/z/w/v",
        "/value/z/w/u",
        "/meta",
        "/event",
    };
    struct random *random = schedule->random;
    return random_one_in(random, 3)
               ? gen_path(&schedule->gen, &schedule->paths, document)
               : from_pointer(
                     &schedule->paths,
                     pointers[random_below(random, COUNT_OF(pointers))]);
}

static struct value draw_document(struct schedule *schedule)
{
    static const char *const texts[] = {
        "{}",
        "{\"value\":{\"x\":1,\"y\":{\"p\":1},\"list\":[1,2],\"n\":3}}",
        "{\"value\":{\"x\":{\"p\":1},\"list\":[],\"z\":{}},\"meta\":1}",
        "{\"value\":{\"y\":{\"p\":1,\"q\":2},\"list\":[{\"p\":1}],\"n\":0}}",
        "{\"value\":{\"z\":{\"w\":{\"v\":1}},\"x\":2}}",
        "{\"event\":{\"stream\":\"s\"}}",
    };
    struct random *random = schedule->random;
    if (random_one_in(random, 3)) {
        struct value object = value_empty_object();
        object_put_adopt(&object, "value", gen_value(&schedule->gen));
        object_put_adopt(&object, "meta", gen_value(&schedule->gen));
        return object;
    }
    return from_json(texts[random_below(random, COUNT_OF(texts))]);
}

static struct value draw_leaf(struct schedule *schedule)
{
    return value_int((int64_t)random_below(schedule->random, 4));
}

static struct value draw_leaves(struct schedule *schedule)
{
    struct value list = value_empty_array();
    while (array_count(list) < 3 && !random_one_in(schedule->random, 3)) {
        list = array_push_adopt(list, draw_leaf(schedule));
    }
    return list;
}

/* An operation on the usual paths; gen_op draws those on unusual ones. */
static struct patch_op draw_plain_op(struct schedule *schedule,
                                     struct value state)
{
    struct random *random = schedule->random;
    struct patch_op op = {
        .kind = (enum patch_kind)random_below(random, PATCH_KIND_COUNT),
        .path = draw_path(schedule, state),
    };
    if (random_one_in(random, 3)) {
        op.kind = PATCH_REPLACE;
    }
    switch (op.kind) {
    case PATCH_REPLACE:
    case PATCH_ADD:
    case PATCH_REMOVE_BY_VALUE:
        op.value = draw_leaf(schedule);
        break;
    case PATCH_MOVE:
        op.from = draw_path(schedule, state);
        break;
    case PATCH_SPLICE:
        op.index = (uint32_t)random_below(random, 3);
        op.remove = (uint32_t)random_below(random, 3);
        op.value = draw_leaves(schedule);
        break;
    case PATCH_APPEND:
    case PATCH_ADD_UNIQUE:
        op.value = draw_leaves(schedule);
        break;
    case PATCH_INCREMENT:
        op.value = value_int(1 + (int64_t)random_below(random, 2));
        break;
    case PATCH_REMOVE:
    case PATCH_KIND_COUNT:
        break;
    }
    return op;
}

static struct patch_op draw_op(struct schedule *schedule, struct value state)
{
    return random_one_in(schedule->random, 3)
               ? gen_op(&schedule->gen, &schedule->paths, state)
               : draw_plain_op(schedule, state);
}

/* One more operation at the end, and *state as it is then: one that can be
 * applied, if one is found soon. */
static void push_op(struct schedule *schedule,
                    struct patch *patch,
                    struct value *state)
{
    for (unsigned tries = 0; tries < 6; tries++) {
        struct patch one = {0};
        patch_push_adopt(&one, draw_op(schedule, *state));
        struct value after = VALUE_NONE;
        const enum err err =
            patch_apply(&one, *state, PATCH_ROOT_DOCUMENT, &after, NULL, NULL);
        if (err != ERR_OK && !random_one_in(schedule->random, 12)) {
            patch_release(&one);
            continue;
        }
        if (err == ERR_OK) {
            value_unref(*state);
            *state = after;
        }
        patch_push_adopt(patch, one.ops.at[0]);
        vec_release(&one.ops);
        return;
    }
}

/* -- Drawing: commits ---------------------------------------------------- */

static size_t draw_branch(struct schedule *schedule)
{
    struct random *random = schedule->random;
    return random_one_in(random, 2)
               ? random_below(random, schedule->model.branches.count)
               : 0;
}

/* The document at the head of the commit's branch, to draw what fits. */
static struct value current_value(struct schedule *schedule,
                                  const struct author *author,
                                  const struct commit *commit,
                                  const struct target *target)
{
    const struct identity identity = {author->principal, author->session};
    struct engine_address address = {
        .branch = commit->branch,
        .id = target->id,
    };
    struct value value = VALUE_NONE;
    if (scope_key_new(target->scope, identity, &address.scope_key, NULL) ==
            ERR_OK &&
        engine_read(&schedule->kit.engine,
                    &address,
                    ENGINE_HEAD,
                    &value,
                    NULL) != ERR_OK) {
        value = VALUE_NONE; /* no such branch */
    }
    value_unref(address.scope_key);
    return value;
}

/* Content that everybody knows, or another that claims to be it. */
static struct value draw_content(struct schedule *schedule)
{
    return random_one_in(schedule->random, 8)
               ? draw_document(schedule)
               : from_json("{\"value\":\"content\"}");
}

static void draw_write(struct schedule *schedule,
                       const struct author *author,
                       struct commit *commit)
{
    struct random *random = schedule->random;
    struct commit_op op = {.kind = COMMIT_PATCH,
                           .target = draw_target(schedule)};
    if (is_content(op.target.id) && !random_one_in(random, 8)) {
        op.kind = COMMIT_SET;
        op.document = draw_content(schedule);
        vec_push(&commit->ops, op);
        return;
    }
    struct value state = current_value(schedule, author, commit, &op.target);
    if (random_one_in(random, 12)) {
        op.kind = COMMIT_DELETE;
    } else if (random_one_in(random, value_is_absent(state) ? 2 : 8)) {
        op.kind = COMMIT_SET;
        op.document = draw_document(schedule);
        if (random_one_in(random, 60)) {
            value_unref(op.document);
            op.document = value_int(1); /* not a document */
        }
    } else if (!random_one_in(random, 40)) {
        do {
            push_op(schedule, &op.patch, &state);
        } while (random_one_in(random, 3));
    }
    value_unref(state);
    vec_push(&commit->ops, op);
}

/* Layers of a pending read: all of them, or some. */
static void draw_layers(struct schedule *schedule,
                        const struct author *author,
                        struct commit_read *read)
{
    struct random *random = schedule->random;
    const bool all = random_one_in(random, 2);
    for (size_t i = 0; i < author->layers.count; i++) {
        if (all || !random_one_in(random, 4)) {
            vec_push(&read->layers.at, author->layers.at[i]);
        }
    }
    if (random_one_in(random, 40)) {
        const uint64_t unknown = author->next_local + 100;
        vec_push(&read->layers.at, unknown);
    }
    if (read->layers.at.count == 0) {
        vec_push(&read->layers.at, author->layers.at[0]);
    }
}

static void draw_read(struct schedule *schedule,
                      const struct author *author,
                      struct commit *commit)
{
    struct random *random = schedule->random;
    const uint64_t head = store_model_seq(&schedule->model);
    struct commit_read read = {
        .kind = random_one_in(random, 3) ? READ_SHAPE : READ_DEEP,
        .target = draw_target(schedule),
        .seq = author->confirmed,
    };
    struct value state = current_value(schedule, author, commit, &read.target);
    read.path = draw_path(schedule, state);
    value_unref(state);
    if (random_one_in(random, 10)) {
        read.seq = random_below(random, head + 1);
    } else if (random_one_in(random, 80)) {
        read.seq = head + GROUP_MAX + 1;
    }
    if (author->layers.count > 0 && !random_one_in(random, 5)) {
        read.pending = true;
        draw_layers(schedule, author, &read);
    } else if (random_one_in(random, 12)) {
        const size_t branch =
            random_below(random, schedule->model.branches.count);
        read.branch = value_ref(schedule->model.branches.at[branch].name);
    } else if (random_one_in(random, 60)) {
        read.branch = value_text_new("nowhere");
    }
    vec_push(&commit->reads, read);
}

/* Own commits that have landed above a seq. */
static uint64_t count_own(const struct schedule *schedule,
                          const struct author *author,
                          uint64_t seq)
{
    const struct store_model *model = &schedule->model;
    uint64_t own = 0;
    for (size_t i = 0; i < model->log.count; i++) {
        const struct model_entry *entry = &model->log.at[i];
        own += model->before + i + 1 > seq &&
                       key_equal(entry->commit->session, author->session) &&
                       value_equal(entry->principal, author->principal)
                   ? 1
                   : 0;
    }
    return own;
}

/* A view of the head or of what was before it, with the own commits that have
 * landed above it; or with another number of them. */
static void draw_view(struct schedule *schedule,
                      const struct author *author,
                      struct commit *commit)
{
    struct random *random = schedule->random;
    const uint64_t head = store_model_seq(&schedule->model);
    const uint64_t back = random_below(random, 4);
    commit->view.given = true;
    commit->view.seq = head - (back < head ? back : head);
    commit->view.commits = count_own(schedule, author, commit->view.seq);
    if (random_one_in(random, 6)) {
        commit->view.commits += random_below(random, 3);
    } else if (random_one_in(random, 40)) {
        commit->view.seq = head + GROUP_MAX + 1;
    }
}

/* The digest of the document's value now, or one that is not. */
static struct value draw_hash(struct schedule *schedule, struct value document)
{
    const struct value payload = value_is_absent(document)
                                     ? VALUE_NONE
                                     : object_field(document, "value");
    if (random_one_in(schedule->random, 6)) {
        return value_text_new("of something else");
    }
    if (value_is_absent(payload)) {
        return value_null();
    }
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(value_digest(payload), text);
    return value_text_new(text);
}

static void draw_precondition(struct schedule *schedule,
                              const struct author *author,
                              struct commit *commit)
{
    struct random *random = schedule->random;
    struct commit_precondition one = {
        .kind = (enum precondition_kind)random_below(random, 4),
    };
    if (one.kind == PRECONDITION_ORIGIN_COMMITTED) {
        one.origin_local_seq = random_below(random, author->next_local + 1);
    } else {
        one.target = draw_target(schedule);
    }
    if (one.kind == PRECONDITION_ENTITY_ABSENT && random_one_in(random, 2)) {
        value_unref(one.target.id);
        one.target.id = numbered("of:new:", random_below(random, 20));
    }
    if (one.kind == PRECONDITION_VALUE_HASH) {
        struct value now = current_value(schedule, author, commit, &one.target);
        one.hash = draw_hash(schedule, now);
        value_unref(now);
    }
    vec_push(&commit->preconditions, one);
}

/* The author's next number; now and then one too many, and that one later. */
uint64_t draw_local_seq(struct schedule *schedule, struct author *author)
{
    struct random *random = schedule->random;
    if (author->held != 0 && random_one_in(random, 2)) {
        const uint64_t late = author->held;
        author->held = 0;
        return late;
    }
    if (author->held == 0 && random_one_in(random, 12)) {
        author->held = author->next_local++;
    }
    return author->next_local++;
}

static void add_layer(struct author *author, uint64_t local_seq)
{
    size_t at = author->layers.count;
    vec_push(&author->layers, local_seq);
    while (at > 0 && author->layers.at[at - 1] > local_seq) {
        author->layers.at[at] = author->layers.at[at - 1];
        at--;
    }
    author->layers.at[at] = local_seq;
}

static void fill_commit(struct schedule *schedule,
                        const struct author *author,
                        struct commit *commit)
{
    struct random *random = schedule->random;
    commit->session = value_ref(author->session);
    commit->branch =
        value_ref(schedule->model.branches.at[draw_branch(schedule)].name);
    if (random_one_in(random, 100)) {
        value_unref(commit->branch);
        commit->branch = value_text_new("nowhere");
    }
    while (random_one_in(random, 8)) {
        draw_precondition(schedule, author, commit);
    }
    uint64_t reads = random_below(random, 3);
    while (reads-- > 0) {
        draw_read(schedule, author, commit);
    }
    if (random_one_in(random, 6)) {
        draw_view(schedule, author, commit);
    }
    if (random_one_in(random, 60)) {
        return; /* nothing to do, or a precondition only */
    }
    do {
        draw_write(schedule, author, commit);
    } while (random_one_in(random, 4));
}

static struct commit *new_commit(struct schedule *schedule,
                                 struct author *author)
{
    struct commit *commit = mem_alloc_zero(sizeof *commit);
    vec_push(&schedule->commits, commit);
    vec_push(&schedule->commit_authors, author);
    fill_commit(schedule, author, commit);
    return commit;
}

const struct commit *draw_commit(struct schedule *schedule,
                                 struct author **author)
{
    struct random *random = schedule->random;
    if (schedule->commits.count > 0 && random_one_in(random, 14)) {
        const size_t old = random_below(random, schedule->commits.count);
        const struct commit *again = schedule->commits.at[old];
        *author = schedule->commit_authors.at[old];
        if (random_one_in(random, 3)) {
            struct commit *other = new_commit(schedule, *author);
            other->local_seq = again->local_seq;
            again = other;
        }
        return again;
    }
    *author = &schedule->authors[random_below(random, schedule->author_count)];
    struct commit *commit = new_commit(schedule, *author);
    commit->local_seq = draw_local_seq(schedule, *author);
    add_layer(*author, commit->local_seq);
    return commit;
}

const struct commit *schedule_keep(struct schedule *schedule,
                                   struct author *author,
                                   const struct commit *commit)
{
    struct commit *kept = mem_alloc_zero(sizeof *kept);
    struct value written = commit_write(commit);
    const enum err err = commit_read(written, &schedule->paths, kept, NULL);
    CHECK(err == ERR_OK); /* an engine made it */
    value_unref(written);
    vec_push(&schedule->commits, kept);
    vec_push(&schedule->commit_authors, author);
    add_layer(author, kept->local_seq);
    return kept;
}
