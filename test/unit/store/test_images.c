/* Images of pieces: a page that is made of them is the one that the rows give,
 * and what is wrong with one of them is never seen. */

#include "store/images.h"

#include <stdio.h>
#include <string.h>

#include "lib/observe_kit.h"
#include "lib/test.h"
#include "store/image.h"

enum {
    MANY = 600, /* actions, so three images */
    TEXT_SIZE = 160,
};

/* -- What a page says ---------------------------------------------------- */

static void show_digest(struct buf *to, const struct digest *digest)
{
    for (size_t i = 0; i < 4; i++) {
        buf_printf(to, "%02x", digest->bytes[i]);
    }
    buf_append_char(to, ' ');
}

static void show_action(struct buf *to,
                        const struct resume_page *page,
                        const struct resume_action *action)
{
    buf_printf(to,
               "%llu %s %llu kind %d scope %d ",
               (unsigned long long)action->number,
               resume_state_name((enum resume_state)action->state),
               (unsigned long long)action->watermark,
               action->kind,
               action->scope);
    show_digest(to, &action->action);
    show_digest(to, &action->surface);
    show_digest(to, &action->read_set);
    if (action->code != RESUME_NONE) {
        show_digest(to, &page->codes.at[action->code].implementation);
        show_digest(to, &page->codes.at[action->code].runtime);
        show_digest(to, &page->codes.at[action->code].schema);
    }
    if (action->gates != RESUME_NONE) {
        const struct gate_config *gates = &page->gates.at[action->gates];
        buf_printf(to,
                   "gates %llu %llu %d ",
                   (unsigned long long)gates->debounce_ms,
                   (unsigned long long)gates->throttle_ms,
                   gates->no_auto_debounce);
    }
    for (uint32_t i = 0; i < action->place_count; i++) {
        const uint32_t index = page->indexes.at[action->places + i];
        const struct resume_place *place =
            &page->places.at[resume_index_place(index)];
        if (!value_is_absent(place->space)) {
            const struct text space = value_text(&place->space);
            buf_append(to, space.at, space.length);
            buf_append_char(to, ':');
        }
        const struct text id = value_text(&place->target.id);
        buf_append(to, id.at, id.length);
        path_write(to, place->path);
        buf_printf(to,
                   "=%d/%d ",
                   (int)resume_index_kind(index),
                   (int)place->target.scope);
    }
    buf_append_char(to, '\n');
}

/* All pages of a piece, of at most so many actions each. */
static struct buf show_pages(struct store_kit *kit,
                             uint64_t generation,
                             uint32_t limit)
{
    struct buf text = {0};
    struct resume_query query = {
        .branch = value_text_new(""),
        .piece = value_text_new("p"),
        .generation = generation,
        .limit = limit,
    };
    bool more = true;
    while (more) {
        struct resume_page page;
        EXPECT_INT(engine_resume(&kit->engine, &query, &page, NULL), ERR_OK);
        EXPECT(limit == 0 || page.actions.count <= limit);
        VEC_FOREACH (&page.actions, action) {
            show_action(&text, &page, action);
            query.after = action->number;
        }
        query.seq = page.seq;
        more = page.more;
        resume_page_release(&page);
    }
    value_unref(query.branch);
    value_unref(query.piece);
    return text;
}

/* What the images give is what the rows give; they are as before then. */
static void expect_same_pages(struct store_kit *kit, uint64_t generation)
{
    static const uint32_t limits[] = {0, 1000, 7, 256, 255, 300};
    kit_run(kit, "CREATE TEMP TABLE aside AS SELECT * FROM image");
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct buf with = show_pages(kit, generation, limits[i]);
        kit_run(kit, "DELETE FROM image");
        struct buf without = show_pages(kit, generation, limits[i]);
        kit_run(kit, "INSERT INTO image SELECT * FROM aside");
        EXPECT_TEXT(buf_text(&with), buf_text(&without));
        buf_release(&with);
        buf_release(&without);
    }
    kit_run(kit, "DROP TABLE aside");
}

static void collect(struct store_kit *kit)
{
    struct collect_counts counts;
    EXPECT_INT(engine_collect(&kit->engine, NULL, NULL, &counts, NULL), ERR_OK);
}

/* -- Pieces -------------------------------------------------------------- */

static void line_of(char line[TEXT_SIZE], int number, const char *more)
{
    (void)snprintf(line,
                   TEXT_SIZE,
                   "p/n%d deep D%d.x shape D%d out D%d impl=%d %s",
                   number,
                   number,
                   number / 7,
                   number + 1,
                   number % 3,
                   more);
}

static void observe_many(struct store_kit *kit, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        char line[TEXT_SIZE];
        line_of(line, i, i % 5 == 0 ? "debounce=5 throttle=9" : "");
        const char *const lines[] = {line};
        observe_batch(kit, "filler", 1000 + (uint64_t)i, lines, 1);
        EXPECT_INT(kit->verdicts[0].err, ERR_OK);
    }
}

static const char *images(struct store_kit *kit)
{
    return kit_sql(kit, "SELECT first, last, actions FROM image ORDER BY last");
}

TEST(a_piece_gets_images_when_the_engine_is_closed)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set D3 {}");
    observe_many(&kit, 0, MANY);
    EXPECT_TEXT(images(&kit), "");
    kit_reopen(&kit);
    EXPECT_TEXT(images(&kit), "1|256|256;257|512|256;513|600|88;");
    expect_same_pages(&kit, 0);
    EXPECT_TEXT(observe_check(&kit), "");
    /* The last one was small, and grows. */
    observe_many(&kit, MANY, 100);
    EXPECT_TEXT(images(&kit), "1|256|256;257|512|256;513|600|88;");
    expect_same_pages(&kit, 0);
    kit_reopen(&kit);
    EXPECT_TEXT(images(&kit), "1|256|256;257|512|256;513|700|188;");
    expect_same_pages(&kit, 0);
    kit_close(&kit);
}

TEST(a_few_rows_are_not_worth_an_image_and_a_collection_makes_one_anyway)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_many(&kit, 0, IMAGE_NOTED - 1);
    kit_reopen(&kit);
    EXPECT_TEXT(images(&kit), "");
    collect(&kit);
    EXPECT_TEXT(images(&kit), "1|63|63;");
    expect_same_pages(&kit, 0);
    collect(&kit);
    EXPECT_TEXT(images(&kit), "1|63|63;");
    kit_close(&kit);
}

/* Rows that a listing had to read count, too. */
TEST(a_piece_that_was_read_from_rows_gets_images)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    observe_many(&kit, 0, IMAGE_NOTED);
    kit_reopen(&kit);
    kit_run(&kit, "DELETE FROM image");
    kit_reopen(&kit);
    EXPECT_TEXT(images(&kit), "");
    struct buf page = show_pages(&kit, 0, 0);
    buf_release(&page);
    kit_reopen(&kit);
    EXPECT_TEXT(images(&kit), "1|64|64;");
    kit_close(&kit);
}

TEST(an_image_goes_with_the_first_row_that_changes_and_a_run_leaves_it)
{
    struct store_kit kit;
    char line[TEXT_SIZE];
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set D3 {}");
    observe_many(&kit, 0, MANY);
    collect(&kit);
    const char *const all = "1|256|256;257|512|256;513|600|88;";
    EXPECT_TEXT(images(&kit), all);
    /* The same set: dirty, and clean again. */
    line_of(line, 301, "same");
    EXPECT_LANDED(&kit, 2, "s1 2 | set D301 {'x':1}");
    expect_same_pages(&kit, 0);
    observe_alone(&kit, 3, line);
    EXPECT_TEXT(observe_verdict(&kit), "2");
    EXPECT_TEXT(images(&kit), all);
    expect_same_pages(&kit, 0);
    /* Another set. */
    line_of(line, 301, "deep E");
    observe_alone(&kit, 4, line);
    EXPECT_TEXT(images(&kit), "1|256|256;513|600|88;");
    expect_same_pages(&kit, 0);
    /* Other fingerprints. */
    line_of(line, 599, "kind=effect");
    observe_alone(&kit, 5, line);
    EXPECT_TEXT(images(&kit), "1|256|256;");
    expect_same_pages(&kit, 0);
    collect(&kit);
    EXPECT_TEXT(images(&kit), all);
    expect_same_pages(&kit, 0);
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

TEST(an_engine_that_has_seen_no_image_drops_the_one_that_another_wrote)
{
    struct store_kit kit;
    struct store_kit other;
    char line[TEXT_SIZE];
    kit_open_file(&kit, NULL);
    observe_many(&kit, 0, 10);
    kit_open_beside(&other, &kit);
    collect(&other);
    EXPECT_TEXT(images(&kit), "1|10|10;");
    line_of(line, 4, "deep E");
    observe_alone(&kit, 1, line);
    EXPECT_TEXT(images(&kit), "");
    expect_same_pages(&kit, 0);
    kit_close(&other);
    kit_close(&kit);
}

TEST(a_transaction_that_fails_leaves_the_image)
{
    struct store_kit kit;
    char line[TEXT_SIZE];
    kit_open_memory(&kit, NULL);
    observe_many(&kit, 0, 10);
    collect(&kit);
    struct err_detail detail = {0};
    EXPECT_INT(engine_write_begin(&kit.engine, &detail), ERR_OK);
    EXPECT_INT(images_drop(&kit.engine, 1, 5, &detail), ERR_OK);
    EXPECT_INT(engine_write_end(&kit.engine, ERR_STORE, &detail), ERR_STORE);
    EXPECT_TEXT(images(&kit), "1|10|10;");
    line_of(line, 4, "deep E");
    observe_alone(&kit, 1, line);
    EXPECT_TEXT(images(&kit), "");
    kit_close(&kit);
}

/* -- What is in none ----------------------------------------------------- */

TEST(a_later_generation_has_images_of_its_own)
{
    struct store_kit kit;
    char line[TEXT_SIZE];
    kit_open_memory(&kit, NULL);
    observe_many(&kit, 0, 10);
    collect(&kit);
    EXPECT_TEXT(images(&kit), "1|10|10;");
    observe_alone(&kit, 1, "p/new deep A gen=1");
    expect_same_pages(&kit, 0);
    expect_same_pages(&kit, 1);
    EXPECT_TEXT(observe_check(&kit), "");
    line_of(line, 3, "gen=1");
    observe_alone(&kit, 2, line);
    EXPECT_TEXT(images(&kit), "");
    collect(&kit);
    EXPECT_TEXT(images(&kit), "1|11|2;");
    expect_same_pages(&kit, 1);
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

TEST(somebodys_own_rows_are_always_read)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    kit.principal = "alice";
    observe_many(&kit, 0, 5);
    observe_alone(&kit, 1, "p/mine deep A~user out B~user");
    observe_many(&kit, 5, 5);
    collect(&kit);
    EXPECT_TEXT(images(&kit), "");
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

TEST(places_of_other_spaces_and_roots_are_in_an_image)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    observe_alone(&kit, 1, "p/a1 far s:A.x @3 far t:A @4 deep B! out C");
    observe_alone(&kit, 2, "p/a2 far s:A.x @3 env D.list manual debounce=1");
    observe_alone(&kit, 3, "p/a3 kind=handler");
    collect(&kit);
    EXPECT_TEXT(images(&kit), "1|3|3;");
    expect_same_pages(&kit, 0);
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

TEST(a_piece_that_is_gone_leaves_no_image)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    observe_many(&kit, 0, 10);
    collect(&kit);
    struct value piece = value_text_new("p");
    EXPECT_INT(
        engine_piece_forget(&kit.engine, value_string_new("", 0), piece, NULL),
        ERR_OK);
    value_unref(piece);
    observe_many(&kit, 20, 10);
    expect_same_pages(&kit, 0);
    collect(&kit);
    EXPECT_TEXT(images(&kit), "1|20|10;");
    expect_same_pages(&kit, 0);
    kit_close(&kit);
}

/* -- Damage -------------------------------------------------------------- */

TEST(an_image_that_is_damaged_is_not_used_and_a_repair_removes_it)
{
    static const char *const damages[] = {
        "UPDATE image SET data = zeroblob(length(data))",
        "UPDATE image SET data = x''",
        "UPDATE image SET data = substr(data, 1, length(data) - 1)",
        "UPDATE image SET data = data || x'00'",
        ("UPDATE image SET data = substr(data, 1, 90) || x'77' ||"
         " substr(data, 92)"),
        "UPDATE image SET first = 2",
        "UPDATE image SET last = 9",
        "UPDATE image SET last = 11",
        "UPDATE image SET actions = 9",
        "UPDATE image SET generation = 1",
        "UPDATE image SET piece = 2",
        "UPDATE image SET data = 'text'",
    };
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        struct store_kit kit;
        kit_open_memory(&kit, NULL);
        EXPECT_LANDED(&kit, 1, "s1 1 | set D3 {}");
        observe_many(&kit, 0, 10);
        struct buf before = show_pages(&kit, 0, 0);
        collect(&kit);
        observe_alone(&kit, 7, "q/n1 deep A");
        kit_run(&kit, damages[i]);
        struct buf after = show_pages(&kit, 0, 0);
        EXPECT_TEXT(buf_text(&after), buf_text(&before));
        EXPECT_CONTAINS(observe_check(&kit), "does not match its rows");
        uint64_t removed = 0;
        EXPECT_INT(engine_repair_observations(&kit.engine, &removed, NULL),
                   ERR_OK);
        EXPECT_EQ(removed, 1);
        EXPECT_TEXT(images(&kit), "");
        EXPECT_TEXT(observe_check(&kit), "");
        buf_release(&before);
        buf_release(&after);
        kit_close(&kit);
    }
}

/* The other way round: the image is right, and its rows are not. */
TEST(a_row_that_differs_from_its_image_is_found_by_the_check)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    observe_many(&kit, 0, 10);
    collect(&kit);
    kit_run(&kit, "DELETE FROM edge WHERE action = 4");
    EXPECT_CONTAINS(observe_check(&kit), "does not match its rows");
    uint64_t removed = 0;
    EXPECT_INT(engine_repair_observations(&kit.engine, &removed, NULL), ERR_OK);
    EXPECT_TEXT(images(&kit), "");
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

/* Numbers of pieces are given out again: what is forgotten at once must leave
 * no image behind. */
TEST(when_everything_is_forgotten_so_are_images)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    observe_many(&kit, 0, 10);
    collect(&kit);
    struct err_detail detail = {0};
    EXPECT_INT(engine_write_begin(&kit.engine, &detail), ERR_OK);
    const enum err err =
        observed_repair(&kit.engine, OBSERVED_MENDINGS - 1, &detail);
    EXPECT_INT(engine_write_end(&kit.engine, err, &detail), ERR_OK);
    EXPECT_TEXT(images(&kit), "");
    observe_many(&kit, 20, 3);
    expect_same_pages(&kit, 0);
    kit_close(&kit);
}

/* -- Bytes --------------------------------------------------------------- */

/* Every byte of one, and every length. */
TEST(no_byte_of_an_image_can_be_changed)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    observe_many(&kit, 0, 6);
    observe_alone(&kit, 1, "p/a1 far s:A.x @3 deep B! out C");
    struct resume_query query = {
        .branch = value_text_new(""),
        .piece = value_text_new("p"),
    };
    struct resume_page page;
    EXPECT_INT(engine_resume(&kit.engine, &query, &page, NULL), ERR_OK);
    const struct image_key key = {1, 1, 7, 0};
    struct buf bytes = {0};
    image_write(&bytes, &key, &page, 0, page.actions.count);
    struct path_table paths;
    path_table_init(&paths);
    struct image image;
    EXPECT(image_open(&image, bytes.at, bytes.length, &key, &paths));
    image_release(&image);
    uint64_t taken = 0;
    for (size_t i = 0; i < bytes.length; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes.at[i] = (char)(bytes.at[i] ^ (1 << bit));
            taken += image_open(&image, bytes.at, bytes.length, &key, &paths);
            image_release(&image);
            bytes.at[i] = (char)(bytes.at[i] ^ (1 << bit));
        }
        taken += image_open(&image, bytes.at, i, &key, &paths);
        image_release(&image);
    }
    EXPECT_EQ(taken, 0);
    path_table_release(&paths);
    buf_release(&bytes);
    resume_page_release(&page);
    value_unref(query.piece);
    kit_close(&kit);
}

/* Whoever makes the sum right can write what he likes, and must not get
 * further than that: offsets and counts are looked at, too. */
PROPERTY(an_image_with_a_right_sum_stays_within_its_bytes, 300)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    observe_many(&kit, 0, 4);
    struct resume_query query = {
        .branch = value_text_new(""),
        .piece = value_text_new("p"),
    };
    struct resume_page page;
    EXPECT_INT(engine_resume(&kit.engine, &query, &page, NULL), ERR_OK);
    const struct image_key key = {1, 1, 4, 0};
    struct buf bytes = {0};
    image_write(&bytes, &key, &page, 0, page.actions.count);
    struct path_table paths;
    path_table_init(&paths);
    for (int i = 0; i < 20; i++) {
        /* Behind the key, where counts and records are. */
        const size_t at = 48 + random_below(random, bytes.length - 48);
        const char before = bytes.at[at];
        bytes.at[at] = (char)random_below(random, 256);
        image_seal(&bytes, 0);
        struct image image;
        struct resume_page made = {0};
        if (image_open(&image, bytes.at, bytes.length, &key, &paths)) {
            EXPECT(image_add(&image, 0, 100, &made));
            EXPECT(made.actions.count <= 4);
        }
        image_release(&image);
        resume_page_release(&made);
        bytes.at[at] = before;
    }
    path_table_release(&paths);
    buf_release(&bytes);
    resume_page_release(&page);
    value_unref(query.piece);
    kit_close(&kit);
}
