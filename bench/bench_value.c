/* What values cost: reading and writing JSON against jansson, memory, and the
 * price of a small change to a large document.
 *
 * The claims, each with its bar in the table: reading and writing are at least
 * three times as fast as jansson's; a parsed document takes at most 60 % of
 * jansson's memory; changing a leaf costs under 2 us and comparing what
 * shares structure does not depend on the size of the document.
 *
 * "parse" is json_read against json_loadb with default flags, without the
 * release of what was read; "parse, release" has both. "write" is json_write
 * into a buffer that is used again against json_dumps (compact), which always
 * makes a new text; "write, fresh buf" makes a new buffer each time. */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/bench.h"
#include "lib/count.h"
#include "lib/document.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/difference.h"
#include "value/json.h"
#include "value/object.h"
#include "value/patch.h"

enum {
    SMALL = 200,
    MEDIUM = 10 * 1024,
    LARGE = 10 * 1024 * 1024,
    ARRAY_COUNT = 100 * 1000,
    KEY_COUNT = 10 * 1000,
    BATCH_MAX = 64,
};

static const struct bench_bar no_bar = {BENCH_NO_BAR, 0};
static const struct bench_bar three_times = {BENCH_FASTER, 3};

/* -- A document, in all its forms ---------------------------------------- */

struct document {
    struct buf text;
    struct value value;
    json_t *peer;
    struct buf to;  /* what is written */
    unsigned batch; /* how many are alive at once while parsing is timed */
};

static struct value parse(const struct document *document)
{
    struct value value;
    const enum err err =
        json_read(document->text.at, document->text.length, NULL, &value, NULL);
    CHECK(err == ERR_OK);
    return value;
}

static json_t *parse_peer(const struct document *document)
{
    json_t *value =
        json_loadb(document->text.at, document->text.length, 0, NULL);
    CHECK(value != NULL);
    return value;
}

/* Both libraries must have read the same, and ours must survive both. */
static void document_verify(struct document *document)
{
    struct value again;
    json_write(&document->to, document->value, JSON_AS_GIVEN, 0);
    const enum err err =
        json_read(document->to.at, document->to.length, NULL, &again, NULL);
    CHECK(err == ERR_OK);
    CHECK(value_equal(document->value, again));
    value_unref(again);

    json_t *peer = json_loadb(document->to.at, document->to.length, 0, NULL);
    CHECK(peer != NULL);
    CHECK(json_equal(document->peer, peer) == 1);
    json_decref(peer);
}

static void document_init(struct document *document,
                          enum document_kind kind,
                          size_t size)
{
    *document = (struct document){.batch = 1};
    document_generate(&document->text, kind, size);
    while (document->batch < BATCH_MAX &&
           document->batch * document->text.length < 256 * 1024) {
        document->batch *= 2;
    }
    document->value = parse(document);
    document->peer = parse_peer(document);
    document_verify(document);
}

static void document_release(struct document *document)
{
    buf_release(&document->text);
    buf_release(&document->to);
    value_unref(document->value);
    json_decref(document->peer);
}

/* -- Parse and write ----------------------------------------------------- */

static void run_parse(void *ctx, uint64_t times)
{
    const struct document *document = ctx;
    struct value values[BATCH_MAX];
    while (times > 0) {
        const uint64_t some = times < document->batch ? times : document->batch;
        for (uint64_t i = 0; i < some; i++) {
            values[i] = parse(document);
        }
        times -= some;
        bench_pause();
        for (uint64_t i = 0; i < some; i++) {
            value_unref(values[i]);
        }
        bench_resume();
    }
}

static void run_parse_peer(void *ctx, uint64_t times)
{
    const struct document *document = ctx;
    json_t *values[BATCH_MAX];
    while (times > 0) {
        const uint64_t some = times < document->batch ? times : document->batch;
        for (uint64_t i = 0; i < some; i++) {
            values[i] = parse_peer(document);
        }
        times -= some;
        bench_pause();
        for (uint64_t i = 0; i < some; i++) {
            json_decref(values[i]);
        }
        bench_resume();
    }
}

static void run_parse_release(void *ctx, uint64_t times)
{
    while (times-- > 0) {
        value_unref(parse(ctx));
    }
}

static void run_parse_release_peer(void *ctx, uint64_t times)
{
    while (times-- > 0) {
        json_decref(parse_peer(ctx));
    }
}

static void run_write(void *ctx, uint64_t times)
{
    struct document *document = ctx;
    while (times-- > 0) {
        buf_clear(&document->to);
        json_write(&document->to, document->value, JSON_AS_GIVEN, 0);
    }
}

static void run_write_fresh(void *ctx, uint64_t times)
{
    const struct document *document = ctx;
    while (times-- > 0) {
        struct buf to = {0};
        json_write(&to, document->value, JSON_AS_GIVEN, 0);
        buf_release(&to);
    }
}

static void run_write_canonical(void *ctx, uint64_t times)
{
    struct document *document = ctx;
    while (times-- > 0) {
        buf_clear(&document->to);
        json_write(&document->to, document->value, JSON_CANONICAL, 0);
    }
}

static void run_write_peer(void *ctx, uint64_t times)
{
    const struct document *document = ctx;
    while (times-- > 0) {
        free(json_dumps(document->peer, JSON_COMPACT | JSON_ENCODE_ANY));
    }
}

static void run_write_sorted_peer(void *ctx, uint64_t times)
{
    const struct document *document = ctx;
    while (times-- > 0) {
        free(json_dumps(document->peer,
                        JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS));
    }
}

/* "parse small" and so on, for one size. */
static void bench_text(struct bench *bench,
                       const char *size,
                       struct document *document,
                       struct bench_bar bar)
{
    static const struct {
        const char *name;
        bench_fn *ours;
        bench_fn *peer;
        bool barred;
    } rows[] = {
        {"parse", run_parse, run_parse_peer, true},
        {"parse, release", run_parse_release, run_parse_release_peer, true},
        {"write", run_write, run_write_peer, true},
        {"write, fresh buf", run_write_fresh, run_write_peer, false},
        {"write canonical", run_write_canonical, run_write_sorted_peer, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s, %s", rows[i].name, size);
        (void)bench_run(bench,
                        &(struct bench_case){
                            .name = name,
                            .ours = rows[i].ours,
                            .peer = rows[i].peer,
                            .ctx = document,
                            .bar = rows[i].barred ? bar : no_bar,
                        });
    }
}

static void bench_texts(struct bench *bench)
{
    static const struct {
        const char *name;
        enum document_kind kind;
        size_t size;
        bool barred;
    } rows[] = {
        {"200 B", DOCUMENT_MIXED, SMALL, true},
        {"10 KiB", DOCUMENT_MIXED, MEDIUM, true},
        {"10 MiB", DOCUMENT_MIXED, LARGE, true},
        {"10 KiB of numbers", DOCUMENT_NUMBERS, MEDIUM, false},
        {"10 KiB of strings", DOCUMENT_STRINGS, MEDIUM, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct document document;
        document_init(&document, rows[i].kind, rows[i].size);
        bench_text(bench,
                   rows[i].name,
                   &document,
                   rows[i].barred ? three_times : no_bar);
        document_release(&document);
    }
}

/* Workloads that share a context. */
struct row {
    const char *name;
    bench_fn *ours;
    bench_fn *peer;
    double at_most_ns; /* 0: no bar */
};

static void bench_rows(struct bench *bench,
                       void *ctx,
                       const struct row *rows,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct bench_bar bar = {BENCH_AT_MOST, rows[i].at_most_ns};
        (void)bench_run(bench,
                        &(struct bench_case){
                            .name = rows[i].name,
                            .ours = rows[i].ours,
                            .peer = rows[i].peer,
                            .ctx = ctx,
                            .bar = rows[i].at_most_ns > 0 ? bar : no_bar,
                        });
    }
}

/* -- Memory -------------------------------------------------------------- */

static struct count count_peer_parse(const struct document *document,
                                     enum count_peer what)
{
    count_peer_begin(what);
    json_t *value = parse_peer(document);
    const struct count count = count_peer_now();
    json_decref(value);
    count_peer_end();
    return count;
}

static void bench_memory(struct bench *bench)
{
    struct document document = {0};
    document_generate(&document.text, DOCUMENT_MIXED, LARGE);
    count_begin();
    const struct value value = parse(&document);
    const struct count ours = count_now();
    value_unref(value);
    CHECK(count_now().asked == 0);
    count_end();
    const struct count asked = count_peer_parse(&document, COUNT_PEER_ASKED);
    const struct count peer = count_peer_parse(&document, COUNT_PEER_USABLE);
    buf_release(&document.text);

    const struct bench_bar share = {BENCH_SHARE, 0.6};
    bench_figure(bench,
                 "memory, 10 MiB parsed, asked for",
                 "bytes",
                 (double)ours.asked,
                 (double)asked.asked,
                 share);
    bench_figure(bench,
                 "memory, 10 MiB parsed, usable",
                 "bytes",
                 (double)ours.usable,
                 (double)peer.usable,
                 share);
    bench_figure(bench,
                 "memory, peak while parsing 10 MiB",
                 "bytes",
                 (double)ours.peak,
                 (double)peer.peak,
                 no_bar);
    bench_figure(bench,
                 "allocations, parsing 10 MiB",
                 "calls",
                 (double)ours.calls,
                 (double)peer.calls,
                 no_bar);
}

/* -- One leaf of a large document ---------------------------------------- */

/* A large document, and the path to a number in its middle. */
struct large {
    struct document document;
    uint32_t record;
    struct value items_key;
    struct value rank_key;
    struct value other; /* a second version */
    struct path_table paths;
    struct patch patch;
};

/* The document with another number at the leaf; adopts it. */
static struct value with_rank_adopt(const struct large *large,
                                    struct value root,
                                    int64_t rank)
{
    struct value *items = object_own_slot(&root, large->items_key);
    struct value *record = array_own_slot(items, large->record);
    *object_own_slot(record, large->rank_key) = value_int(rank);
    return root;
}

static int64_t rank_of(const struct large *large)
{
    const struct value items =
        object_get(large->document.value, large->items_key);
    const struct value record = array_at(items, large->record);
    return value_integer(object_get(record, large->rank_key));
}

static void large_init(struct large *large, size_t size)
{
    *large = (struct large){
        .items_key = value_text_new("items"),
        .rank_key = value_text_new("rank"),
        .other = VALUE_NONE,
    };
    document_init(&large->document, DOCUMENT_MIXED, size);
    const struct value items =
        object_get(large->document.value, large->items_key);
    large->record = array_count(items) / 2;
    path_table_init(&large->paths);
}

static void large_release(struct large *large)
{
    patch_release(&large->patch);
    path_table_release(&large->paths);
    value_unref(large->other);
    document_release(&large->document);
}

/* Another version: equal, with a spine of its own, or different at a leaf. */
static void large_diverge(struct large *large, bool equal)
{
    const int64_t rank = rank_of(large);
    value_unref(large->other);
    large->other =
        with_rank_adopt(large, value_ref(large->document.value), rank + 1);
    if (equal) {
        large->other = with_rank_adopt(large, large->other, rank);
    }
    CHECK(value_equal(large->document.value, large->other) == equal);
}

static void run_equal_shared(void *ctx, uint64_t times)
{
    const struct large *large = ctx;
    while (times-- > 0) {
        bench_keep(value_equal(large->document.value, large->other));
    }
}

static void run_equal_separate(void *ctx, uint64_t times)
{
    const struct large *large = ctx;
    bench_pause();
    const struct value other = parse(&large->document);
    bench_resume();
    while (times-- > 0) {
        bench_keep(value_equal(large->document.value, other));
    }
    bench_pause();
    value_unref(other);
    bench_resume();
}

static void run_equal_separate_peer(void *ctx, uint64_t times)
{
    const struct large *large = ctx;
    bench_pause();
    json_t *other = parse_peer(&large->document);
    bench_resume();
    while (times-- > 0) {
        bench_keep((uint64_t)json_equal(large->document.peer, other));
    }
    bench_pause();
    json_decref(other);
    bench_resume();
}

static void run_change_hash(void *ctx, uint64_t times)
{
    struct large *large = ctx;
    (void)value_hash(large->other);
    while (times-- > 0) {
        large->other = with_rank_adopt(large, large->other, (int64_t)times);
        bench_keep(value_hash(large->other));
    }
}

static void run_hash_all(void *ctx, uint64_t times)
{
    const struct large *large = ctx;
    while (times-- > 0) {
        bench_pause();
        const struct value fresh = parse(&large->document);
        bench_resume();
        bench_keep(value_hash(fresh));
        bench_pause();
        value_unref(fresh);
        bench_resume();
    }
}

static void run_diff(void *ctx, uint64_t times)
{
    struct large *large = ctx;
    while (times-- > 0) {
        struct patch patch = {0};
        patch_diff(large->document.value, large->other, &large->paths, &patch);
        CHECK(patch.ops.count == 1);
        patch_release(&patch);
    }
}

static void run_patch(void *ctx, uint64_t times)
{
    const struct large *large = ctx;
    while (times-- > 0) {
        struct value out;
        const enum err err = patch_apply(&large->patch,
                                         large->document.value,
                                         PATCH_ROOT_DOCUMENT,
                                         &out,
                                         NULL,
                                         NULL);
        CHECK(err == ERR_OK);
        value_unref(out);
    }
}

/* A text that was read again with one number changed, written over the
 * document that is there. */
static void run_reuse(void *ctx, uint64_t times)
{
    const struct large *large = ctx;
    bench_pause();
    struct value fresh = parse(&large->document);
    fresh = with_rank_adopt(large, fresh, rank_of(large) + 1);
    bench_resume();
    while (times-- > 0) {
        value_unref(value_reuse_adopt(large->document.value, value_ref(fresh)));
    }
    bench_pause();
    value_unref(fresh);
    bench_resume();
}

static double bench_shared(struct bench *bench,
                           const char *name,
                           size_t size,
                           bench_fn *run,
                           bool equal)
{
    if (!bench_wants(bench, name)) {
        return 0;
    }
    struct large large;
    large_init(&large, size);
    large_diverge(&large, equal);
    const double ns = bench_run(
        bench,
        &(struct bench_case){.name = name, .ours = run, .ctx = &large});
    large_release(&large);
    return ns;
}

/* The same at a quarter, a half and the whole of the size: flat. */
static void bench_flat(struct bench *bench,
                       const char *what,
                       bench_fn *run,
                       bool equal)
{
    static const char *const sizes[] = {"2.5 MiB", "5 MiB", "10 MiB"};
    char name[64];
    double ns[3];
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "%s, %s", what, sizes[i]);
        ns[i] = bench_shared(bench, name, LARGE >> (2 - i), run, equal);
    }
    (void)snprintf(name, sizeof name, "%s, growth from 2.5 to 10 MiB", what);
    if (ns[0] > 0) {
        bench_figure(bench,
                     name,
                     "x",
                     ns[2] / ns[0],
                     0,
                     (struct bench_bar){BENCH_AT_MOST, 2});
    }
}

static void bench_large(struct bench *bench)
{
    bench_flat(bench, "equal, shared but one leaf", run_equal_shared, true);
    bench_flat(bench, "diff, one leaf changed", run_diff, false);
    bench_flat(bench, "change a leaf and hash", run_change_hash, false);

    struct large large;
    large_init(&large, LARGE);
    large_diverge(&large, false);
    patch_diff(large.document.value, large.other, &large.paths, &large.patch);
    static const struct row rows[] = {
        {"patch, replace one leaf, 10 MiB", run_patch, NULL, 0},
        {"equal, parsed separately, 10 MiB",
         run_equal_separate,
         run_equal_separate_peer,
         0},
        {"hash all of 10 MiB", run_hash_all, NULL, 0},
        {"reuse, reparsed 10 MiB, one leaf changed", run_reuse, NULL, 0},
    };
    bench_rows(bench, &large, rows, COUNT_OF(rows));
    large_release(&large);
}

/* -- Large arrays and objects -------------------------------------------- */

struct many {
    struct value array;
    struct value object;
    struct value *keys;
};

/* Spreads accesses over the container, the same way each time. */
static uint32_t place_of(uint64_t turn, uint32_t count)
{
    return (uint32_t)((turn * UINT64_C(0x9E3779B97F4A7C15) >> 33) % count);
}

static void many_init(struct many *many)
{
    many->array = value_empty_array();
    for (uint32_t i = 0; i < ARRAY_COUNT; i++) {
        many->array = array_push_adopt(many->array, value_int(i));
    }
    many->object = value_empty_object();
    many->keys = malloc(KEY_COUNT * sizeof *many->keys);
    for (uint32_t i = 0; i < KEY_COUNT; i++) {
        char text[24];
        /* Half of the keys fit into a handle. */
        (void)snprintf(text,
                       sizeof text,
                       i % 2 == 0 ? "key %u" : "document key %05u",
                       i);
        many->keys[i] = value_text_new(text);
        many->object = object_set_adopt(many->object,
                                        value_ref(many->keys[i]),
                                        value_int(i));
    }
}

static void many_release(struct many *many)
{
    value_unref(many->array);
    value_unref(many->object);
    for (uint32_t i = 0; i < KEY_COUNT; i++) {
        value_unref(many->keys[i]);
    }
    free(many->keys);
}

static void run_array_get(void *ctx, uint64_t times)
{
    const struct many *many = ctx;
    while (times-- > 0) {
        bench_keep(array_at(many->array, place_of(times, ARRAY_COUNT)).word[0]);
    }
}

static void run_array_set(void *ctx, uint64_t times)
{
    struct many *many = ctx;
    while (times-- > 0) {
        many->array = array_set_adopt(many->array,
                                      place_of(times, ARRAY_COUNT),
                                      value_int((int64_t)times));
    }
}

/* With the old version alive during the change, and released after it. */
static void run_array_set_kept(void *ctx, uint64_t times)
{
    struct many *many = ctx;
    while (times-- > 0) {
        const struct value old = value_ref(many->array);
        many->array = array_set_adopt(many->array,
                                      place_of(times, ARRAY_COUNT),
                                      value_int((int64_t)times));
        value_unref(old);
    }
}

static void run_array_append(void *ctx, uint64_t times)
{
    const struct many *many = ctx;
    struct value array = value_ref(many->array);
    while (times-- > 0) {
        array = array_push_adopt(array, value_int((int64_t)times));
    }
    value_unref(array);
}

static void run_array_append_kept(void *ctx, uint64_t times)
{
    const struct many *many = ctx;
    struct value array = value_ref(many->array);
    while (times-- > 0) {
        const struct value old = value_ref(array);
        array = array_push_adopt(array, value_int((int64_t)times));
        value_unref(old);
    }
    value_unref(array);
}

/* Inserts and takes out again, so that the array keeps its size. */
static void run_array_insert(void *ctx, uint64_t times)
{
    struct many *many = ctx;
    while (times-- > 0) {
        const uint32_t at = place_of(times, ARRAY_COUNT);
        const struct value item = value_int((int64_t)times);
        many->array = array_splice_adopt(many->array, at, 0, &item, 1);
        many->array = array_splice_adopt(many->array, at, 1, NULL, 0);
    }
}

static void run_array_insert_kept(void *ctx, uint64_t times)
{
    struct many *many = ctx;
    while (times-- > 0) {
        const struct value item = value_int((int64_t)times);
        value_unref(array_splice_adopt(value_ref(many->array),
                                       place_of(times, ARRAY_COUNT),
                                       0,
                                       &item,
                                       1));
    }
}

static void run_object_get(void *ctx, uint64_t times)
{
    const struct many *many = ctx;
    while (times-- > 0) {
        const struct value key = many->keys[place_of(times, KEY_COUNT)];
        bench_keep(object_get(many->object, key).word[0]);
    }
}

static void run_object_set_kept(void *ctx, uint64_t times)
{
    struct many *many = ctx;
    while (times-- > 0) {
        const struct value old = value_ref(many->object);
        const struct value key = many->keys[place_of(times, KEY_COUNT)];
        many->object = object_set_adopt(many->object,
                                        value_ref(key),
                                        value_int((int64_t)times));
        value_unref(old);
    }
}

static void run_object_remove_kept(void *ctx, uint64_t times)
{
    const struct many *many = ctx;
    while (times-- > 0) {
        const struct value key = many->keys[place_of(times, KEY_COUNT)];
        value_unref(object_remove_adopt(value_ref(many->object), key));
    }
}

static void bench_many(struct bench *bench)
{
    static const struct row rows[] = {
        {"array of 100,000, get", run_array_get, NULL, 0},
        {"array of 100,000, set, in place", run_array_set, NULL, 2000},
        {"array of 100,000, set, old kept", run_array_set_kept, NULL, 2000},
        {"array of 100,000, append", run_array_append, NULL, 0},
        {"array of 100,000, append, old kept", run_array_append_kept, NULL, 0},
        {"array of 100,000, insert and remove", run_array_insert, NULL, 0},
        {"array of 100,000, insert, old kept", run_array_insert_kept, NULL, 0},
        {"object of 10,000, get", run_object_get, NULL, 0},
        {"object of 10,000, set, old kept", run_object_set_kept, NULL, 0},
        {"object of 10,000, remove, old kept", run_object_remove_kept, NULL, 0},
    };
    struct many many;
    many_init(&many);
    bench_rows(bench, &many, rows, COUNT_OF(rows));
    many_release(&many);
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code = 0;
    if (!bench_begin(&bench, "value", argc, argv, &exit_code)) {
        return exit_code;
    }
    bench.peer_name = "jansson";
    bench_texts(&bench);
    bench_memory(&bench);
    bench_large(&bench);
    bench_many(&bench);
    return bench_end(&bench);
}
