/* The rows of images: building pages from them; writing, removing and checking
 * them. */

#include "store/images.h"

#include <stdio.h>

#include "base/mem.h"
#include "store/image.h"

/* No number is above it. */
#define LAST_NUMBER ((uint64_t)INT64_MAX)

/* -- Notes --------------------------------------------------------------- */

static void note_rows(struct engine *engine, uint64_t piece, size_t rows)
{
    VEC_FOREACH (&engine->imaged, note) {
        if (note->piece == piece) {
            note->rows += rows;
            return;
        }
    }
    const struct image_note note = {piece, rows};
    vec_push(&engine->imaged, note);
}

/* -- Reading ------------------------------------------------------------- */

/* Room for all possible actions, so that nothing moves; unused memory is never
 * touched. */
static enum err reserve_actions(struct page_builder *page_builder)
{
    struct query query =
        query_begin(&page_builder->engine->database, STATEMENT_ACTION_BOUNDS);
    query_int(&query, 1, page_builder->piece);
    query_int(&query, 2, page_builder->after);
    if (query_step(&query) && !query_is_null(&query, 0)) {
        const uint64_t first = query_get_int(&query, 0);
        const uint64_t last = query_get_int(&query, 1);
        const uint64_t most = last >= first ? last - first + 1 : 0;
        const size_t count =
            most < page_builder->limit ? (size_t)most : page_builder->limit;
        vec_make_room(&page_builder->page->actions, count);
        vec_make_room(&page_builder->page->places, count);
        vec_make_room(&page_builder->page->indexes, count * 2);
    }
    return query_end(&query, page_builder->detail);
}

static enum err add_rows(struct page_builder *page_builder,
                         uint64_t after,
                         uint64_t last)
{
    if (after >= last || page_builder->page->more) {
        return ERR_OK;
    }
    const enum err err = page_builder_add_rows(page_builder, after, last);
    if (err == ERR_OK && page_builder->sums.count > 0 &&
        page_builder->others == 0) {
        note_rows(page_builder->engine,
                  page_builder->piece,
                  page_builder->sums.count);
    }
    return err;
}

/* One image, and the rows before it. An unusable image is skipped, and its rows
 * are read before the next one. */
static enum err add_image(struct page_builder *page_builder,
                          struct query *query,
                          uint64_t *after)
{
    const struct image_key key = {
        .piece = page_builder->piece,
        .first = query_get_int(query, 0),
        .last = query_get_int(query, 1),
        .generation = query_get_int(query, 2),
    };
    struct resume_page *page = page_builder->page;
    const struct text bytes = query_get_text(query, 3);
    struct image image = {0};
    enum err err = ERR_OK;
    if (key.generation == page_builder->generation && key.last > *after &&
        (key.first > *after || *after == page_builder->after) &&
        image_open(&image,
                   bytes.at,
                   bytes.length,
                   &key,
                   &page_builder->engine->paths)) {
        err = add_rows(page_builder, *after, key.first - 1);
        page->more = err == ERR_OK &&
                     (page->more ||
                      !image_add(&image, *after, page_builder->limit, page));
        *after = key.last;
    }
    image_release(&image);
    return err;
}

enum err images_add_static(struct page_builder *page_builder)
{
    uint64_t after = page_builder->after;
    enum err err = reserve_actions(page_builder);
    struct query query =
        query_begin(&page_builder->engine->database, STATEMENT_IMAGE_OF_PIECE);
    query_int(&query, 1, page_builder->piece);
    query_int(&query, 2, page_builder->after);
    while (err == ERR_OK && !page_builder->page->more && query_step(&query)) {
        err = add_image(page_builder, &query, &after);
    }
    const enum err ended = query_end(&query, page_builder->detail);
    err = err == ERR_OK ? ended : err;
    return err == ERR_OK ? add_rows(page_builder, after, LAST_NUMBER) : err;
}

/* -- Dropping ------------------------------------------------------------ */

enum err images_drop(struct engine *engine,
                     uint64_t piece,
                     uint64_t action,
                     struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_IMAGE_DROP);
    query_int(&query, 1, piece);
    query_int(&query, 2, action);
    (void)query_step(&query);
    return query_end(&query, detail);
}

/* The ranges of a piece's images, as cached. */
static enum err load_bounds(struct engine *engine,
                            struct observed_piece *piece,
                            struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_IMAGE_BOUNDS);
    query_int(&query, 1, piece->number);
    piece->imaged = true;
    piece->image_first = UINT64_MAX;
    piece->image_last = 0;
    if (query_step(&query) && !query_is_null(&query, 0)) {
        piece->image_first = query_get_int(&query, 0);
        piece->image_last = query_get_int(&query, 1);
    }
    return query_end(&query, detail);
}

enum err images_drop_cached(struct engine *engine,
                            struct observed_piece *piece,
                            uint64_t action,
                            struct err_detail *detail)
{
    enum err err = ERR_OK;
    note_rows(engine, piece->number, 1);
    if (!piece->imaged) {
        err = load_bounds(engine, piece, detail);
    }
    return err != ERR_OK || action < piece->image_first ||
                   action > piece->image_last
               ? err
               : images_drop(engine, piece->number, action, detail);
}

/* -- Writing ------------------------------------------------------------- */

/* A piece whose images are being written. */
struct writing {
    struct engine *engine;
    uint64_t piece;
    uint64_t generation;
    uint64_t after; /* up to here all is done */
    unsigned written;
    struct err_detail *detail;
};

/* An image that is there. */
struct range {
    uint64_t first;
    uint64_t last;
    bool keep; /* is of this generation, and large enough */
};

static enum err find_generation(struct writing *writing, bool *found)
{
    struct query query =
        query_begin(&writing->engine->database, STATEMENT_PIECE_ALL);
    query_int(&query, 1, writing->piece - 1);
    *found = query_step(&query) && query_get_int(&query, 0) == writing->piece &&
             !query_is_null(&query, 2);
    writing->generation = *found ? query_get_int(&query, 3) : 0;
    return query_end(&query, writing->detail);
}

/* The next existing image above what is done; `last` is LAST_NUMBER if there is
 * none. A small one at the end grows with what follows it. */
static enum err find_range(const struct writing *writing, struct range *out)
{
    struct query query =
        query_begin(&writing->engine->database, STATEMENT_IMAGE_RANGES);
    query_int(&query, 1, writing->piece);
    query_int(&query, 2, writing->after);
    *out = (struct range){LAST_NUMBER, LAST_NUMBER, true};
    if (query_step(&query)) {
        out->first = query_get_int(&query, 0);
        out->last = query_get_int(&query, 1);
        (void)query_expects(&query, out->last > writing->after);
        const bool whole = query_get_int(&query, 2) == writing->generation;
        const bool large = query_get_int(&query, 3) >= IMAGE_ACTIONS / 2;
        out->keep = whole && (large || query_step(&query));
    }
    return query_end(&query, writing->detail);
}

static enum err remove_range(const struct writing *writing, uint64_t last)
{
    struct query query =
        query_begin(&writing->engine->database, STATEMENT_IMAGE_REMOVE);
    query_int(&query, 1, writing->piece);
    query_int(&query, 2, last);
    (void)query_step(&query);
    (void)query_expects(&query,
                        sqlite3_changes64(writing->engine->database.db) > 0);
    return query_end(&query, writing->detail);
}

static enum err insert_image(const struct writing *writing,
                             const struct image_key *key,
                             const struct resume_page *page,
                             size_t count)
{
    struct buf bytes = {0};
    image_write(&bytes, key, page, 0, count);
    struct query query =
        query_begin(&writing->engine->database, STATEMENT_IMAGE_INSERT);
    query_int(&query, 1, key->piece);
    query_int(&query, 2, key->last);
    query_int(&query, 3, key->first);
    query_int(&query, 4, key->generation);
    query_int(&query, 5, count);
    query_bytes(&query, 6, bytes.at, bytes.length);
    (void)query_step(&query);
    const enum err err = query_end(&query, writing->detail);
    buf_release(&bytes);
    return err;
}

/* How many of the page's actions fit into one image: 0 if there cannot be one
 * of the first. */
static size_t fitting(const struct resume_page *page)
{
    uint64_t places = 0;
    size_t count = 0;
    while (count < page->actions.count) {
        const struct resume_action *action = &page->actions.at[count];
        places += action->place_count;
        if (action->state != RESUME_CLEAN || places > IMAGE_PLACES_MAX ||
            (count > 0 && places > IMAGE_PLACES)) {
            break;
        }
        count++;
    }
    return count;
}

/* The rows of space scope above `after` and up to `last`, at most as many as
 * fit into one image; and how many rows of users or sessions are between
 * them. */
static enum err read_range(const struct writing *writing,
                           uint64_t after,
                           uint64_t last,
                           struct resume_page *page,
                           size_t *others)
{
    struct page_builder page_builder = {
        .engine = writing->engine,
        .page = page,
        .piece = writing->piece,
        .generation = writing->generation,
        .limit = IMAGE_ACTIONS,
        .detail = writing->detail,
    };
    const struct identity nobody = {VALUE_NONE, VALUE_NONE};
    enum err err = scope_key_new(SCOPE_SPACE,
                                 nobody,
                                 &page_builder.scope_keys[SCOPE_SPACE],
                                 writing->detail);
    if (err == ERR_OK) {
        err = page_builder_add_rows(&page_builder, after, last);
    }
    *others = page_builder.others;
    page_builder_release(&page_builder);
    return err;
}

/* Writes the next image of what is above what is done and up to `last`; or
 * skips what cannot be in one. */
static enum err write_image(struct writing *writing, uint64_t last)
{
    struct resume_page page = {0};
    size_t others = 0;
    struct image_key key = {
        .piece = writing->piece,
        .first = writing->after + 1,
        .last = last,
        .generation = writing->generation,
    };
    enum err err = read_range(writing, writing->after, last, &page, &others);
    const size_t count = others == 0 ? fitting(&page) : 0;
    if (page.actions.count > 0) {
        const size_t done = count > 0     ? count
                            : others == 0 ? 1
                                          : page.actions.count;
        key.last = page.actions.at[done - 1].number;
    }
    if (err == ERR_OK && count > 0) {
        err = insert_image(writing, &key, &page, count);
        writing->written++;
    }
    writing->after = key.last;
    resume_page_release(&page);
    return err;
}

enum err images_write(struct engine *engine,
                      uint64_t piece,
                      uint64_t *after,
                      bool *more,
                      struct err_detail *detail)
{
    struct writing writing = {
        .engine = engine,
        .piece = piece,
        .after = *after,
        .detail = detail,
    };
    bool found = false;
    enum err err = find_generation(&writing, &found);
    *more = found;
    while (err == ERR_OK && *more && writing.written < IMAGE_STEP) {
        struct range range;
        err = find_range(&writing, &range);
        if (err == ERR_OK && !range.keep) {
            err = remove_range(&writing, range.last);
        } else if (err == ERR_OK && range.first <= writing.after + 1) {
            writing.after = range.last;
        } else if (err == ERR_OK) {
            err = write_image(&writing, range.first - 1);
        }
        *more = writing.after + 1 < LAST_NUMBER;
    }
    *after = writing.after;
    return err;
}

static enum err write_step(struct engine *engine,
                           uint64_t piece,
                           uint64_t *after,
                           bool *more)
{
    struct err_detail why = {0};
    enum err err = database_begin(&engine->database, &why);
    if (err != ERR_OK) {
        return err;
    }
    err = engine_refresh(engine, &why);
    if (err == ERR_OK) {
        err = images_write(engine, piece, after, more, &why);
        observations_forget(engine);
    }
    return engine_write_end(engine, err, &why);
}

static bool is_interrupted(const struct engine *engine)
{
    const struct engine_options *options = &engine->options;
    return options->interrupted != NULL &&
           options->interrupted(options->interrupted_ctx);
}

void images_write_noted(struct engine *engine)
{
    const bool kept = !engine->options.read_only &&
                      engine->options.durability != DURABILITY_MEMORY;
    enum err err = ERR_OK;
    VEC_FOREACH (&engine->imaged, note) {
        uint64_t after = 0;
        bool more = kept && note->rows >= IMAGE_NOTED;
        while (err == ERR_OK && more && !is_interrupted(engine)) {
            err = write_step(engine, note->piece, &after, &more);
        }
    }
    vec_release(&engine->imaged);
}

/* -- Checking ------------------------------------------------------------ */

/* An image's row. */
struct inspected {
    struct image_key key;
    uint64_t actions;
    struct buf bytes;
};

static enum err next_inspected(struct engine *engine,
                               struct inspected *at,
                               bool *found,
                               struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_IMAGE_ALL);
    query_int(&query, 1, at->key.piece);
    query_int(&query, 2, at->key.last);
    *found = query_step(&query);
    buf_clear(&at->bytes);
    if (*found) {
        const struct image_key before = at->key;
        at->key.piece = query_get_int(&query, 0);
        at->key.last = query_get_int(&query, 1);
        (void)query_expects(
            &query,
            at->key.piece > before.piece ||
                (at->key.piece == before.piece && at->key.last > before.last));
        at->key.first = query_get_int(&query, 2);
        at->key.generation = query_get_int(&query, 3);
        at->actions = query_get_int(&query, 4);
        const struct text bytes = query_get_text(&query, 5);
        buf_append(&at->bytes, bytes.at, bytes.length);
    }
    return query_end(&query, detail);
}

/* Whether the rows give the same bytes. An image of another generation is never
 * used, and is removed with the next that is written. */
static enum err compare_image(struct engine *engine,
                              const struct inspected *at,
                              bool *same,
                              struct err_detail *detail)
{
    struct writing writing = {
        .engine = engine,
        .piece = at->key.piece,
        .detail = detail,
    };
    bool found = false;
    *same = false;
    enum err err = find_generation(&writing, &found);
    if (err != ERR_OK || !found || writing.generation != at->key.generation) {
        *same =
            err == ERR_OK && found && at->key.generation < writing.generation;
        return err;
    }
    struct resume_page page = {0};
    struct buf bytes = {0};
    size_t others = 0;
    err = read_range(&writing,
                     at->key.first > 0 ? at->key.first - 1 : 0,
                     at->key.last,
                     &page,
                     &others);
    if (err == ERR_OK && others == 0 && page.actions.count == at->actions &&
        fitting(&page) == page.actions.count) {
        image_write(&bytes, &at->key, &page, 0, page.actions.count);
        *same = bytes.length == at->bytes.length &&
                memcmp(bytes.at, at->bytes.at, bytes.length) == 0;
    }
    buf_release(&bytes);
    resume_page_release(&page);
    return err;
}

static void tell(const struct image_key *key,
                 observed_difference_fn *difference,
                 void *ctx)
{
    char sentence[ERR_TEXT_SIZE];
    (void)snprintf(sentence,
                   sizeof sentence,
                   "the image of actions %llu to %llu of piece %llu does not "
                   "match its rows",
                   (unsigned long long)key->first,
                   (unsigned long long)key->last,
                   (unsigned long long)key->piece);
    if (difference != NULL) {
        difference(ctx, sentence);
    }
}

enum err images_check(struct engine *engine,
                      observed_difference_fn *difference,
                      void *ctx,
                      bool remove,
                      struct err_detail *detail)
{
    struct inspected at = {0};
    bool found = true;
    enum err err = ERR_OK;
    while (err == ERR_OK && found) {
        err = next_inspected(engine, &at, &found, detail);
        bool same = true;
        if (err == ERR_OK && found) {
            err = compare_image(engine, &at, &same, detail);
        }
        if (err == ERR_OK && !same) {
            const struct writing writing = {
                .engine = engine,
                .piece = at.key.piece,
                .detail = detail,
            };
            tell(&at.key, difference, ctx);
            err = remove ? remove_range(&writing, at.key.last) : ERR_OK;
        }
    }
    buf_release(&at.bytes);
    return err;
}
