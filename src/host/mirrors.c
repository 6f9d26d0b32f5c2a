/* Telling other spaces about their readers (see host/mirrors.h). */

#include "host/mirrors.h"

#include "host/store_access.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    KINDS = READ_SHAPE + 1,
};

/* -- Recording ----------------------------------------------------------- */

static struct mirrored *find(struct mirrors *mirrors,
                             struct value space,
                             struct value branch,
                             struct value piece)
{
    VEC_FOREACH (&mirrors->pieces, one) {
        if (key_equal(one->piece, piece) && key_equal(one->space, space) &&
            key_equal(one->branch, branch)) {
            return one;
        }
    }
    return NULL;
}

/* The record of a piece, created on demand. */
static struct mirrored *note(struct mirrors *mirrors,
                             struct value space,
                             struct value branch,
                             struct value piece)
{
    struct mirrored *one = find(mirrors, space, branch, piece);
    if (one == NULL) {
        const struct mirrored fresh = {
            .space = value_ref(space),
            .branch = value_ref(branch),
            .piece = value_ref(piece),
        };
        vec_push(&mirrors->pieces, fresh);
        one = vec_last(&mirrors->pieces);
    }
    one->noted = true;
    mirrors->noted = true;
    return one;
}

void mirrors_note(struct mirrors *mirrors,
                  struct value space,
                  struct value branch,
                  const struct observation *observation)
{
    if (observation->elsewhere.count == 0 &&
        find(mirrors, space, branch, observation->piece) == NULL) {
        return; /* nearly always */
    }
    (void)note(mirrors, space, branch, observation->piece);
}

void mirrors_note_removed(struct mirrors *mirrors,
                          struct value space,
                          struct value branch,
                          struct value piece)
{
    note(mirrors, space, branch, piece)->removed = true;
}

void mirrors_note_gone(struct mirrors *mirrors,
                       struct value space,
                       struct value branch,
                       struct value piece,
                       const struct digest *names,
                       size_t count)
{
    struct gone_nodes *gone = NULL;
    VEC_FOREACH (&mirrors->gone, known) {
        if (value_equal(known->space, space) &&
            value_equal(known->branch, branch) &&
            value_equal(known->piece, piece)) {
            gone = known;
        }
    }
    if (gone == NULL) {
        gone = vec_add(&mirrors->gone);
        *gone = (struct gone_nodes){
            .space = value_ref(space),
            .branch = value_ref(branch),
            .piece = value_ref(piece),
        };
    }
    for (size_t i = 0; i < count; i++) {
        vec_push(&gone->names, names[i]);
    }
    mirrors->noted = true;
}

static void gone_release(struct gone_nodes *gone)
{
    value_unref(gone->space);
    value_unref(gone->branch);
    value_unref(gone->piece);
    vec_release(&gone->names);
}

/* Whether it is to be tried again (mirrors-1). */
static bool is_in_the_way(enum err err)
{
    return err == ERR_BUSY || err == ERR_UNREACHABLE;
}

/* What something is in the way of is kept; whether there is any. */
static bool forget_gone(struct mirrors *mirrors,
                        const struct mirrors_source *source,
                        const struct log *log)
{
    size_t kept = 0;
    VEC_FOREACH (&mirrors->gone, gone) {
        struct err_detail detail = {0};
        struct store_access *store = source->store(source->ctx, gone->space);
        const enum err err =
            store == NULL ? ERR_OK
                          : store->methods->forget_actions(store,
                                                           gone->branch,
                                                           gone->piece,
                                                           gone->names.at,
                                                           gone->names.count,
                                                           &detail);
        if (is_in_the_way(err)) {
            mirrors->gone.at[kept++] = *gone;
            continue;
        }
        if (err != ERR_OK) {
            log_write(log,
                      LOG_LEVEL_WARNING,
                      "removed nodes could not be deregistered: %s",
                      detail.text);
        }
        gone_release(gone);
    }
    mirrors->gone.count = kept;
    return kept > 0;
}

static void mirrored_release(struct mirrored *one)
{
    value_unref(one->space);
    value_unref(one->branch);
    value_unref(one->piece);
    VEC_FOREACH (&one->told, space) {
        value_unref(*space);
    }
    vec_release(&one->told);
}

void mirrors_release(struct mirrors *mirrors)
{
    VEC_FOREACH (&mirrors->pieces, one) {
        mirrored_release(one);
    }
    vec_release(&mirrors->pieces);
    VEC_FOREACH (&mirrors->gone, gone) {
        gone_release(gone);
    }
    vec_release(&mirrors->gone);
}

/* -- Writing ------------------------------------------------------------- */

/* Of one piece, and one space that it reads. */
struct letter {
    const struct mirrored *piece;
    struct value space;
    struct value here; /* the branch that is read there; borrowed */
    uint64_t seq;
    VEC(struct changed_read) reads;
};

/* mirrors-3, and the branch; false if nothing has been seen of the space, or of
 * two of its branches. */
static bool set_seen(struct letter *letter, const struct resume_page *page)
{
    bool seen = false;
    letter->seq = UINT64_MAX;
    VEC_FOREACH (&page->elsewhere, one) {
        if (!key_equal(one->space, letter->space)) {
            continue;
        }
        if (seen && !key_equal(one->branch, letter->here)) {
            return false;
        }
        seen = true;
        letter->here = one->branch;
        letter->seq = one->seq < letter->seq ? one->seq : letter->seq;
    }
    return seen;
}

/* Every place with both kinds of read: the kinds are in the actions, and a
 * mirror is a hint. */
static void add_reads(struct letter *letter, const struct resume_page *page)
{
    VEC_FOREACH (&page->places, place) {
        if (place->path == NULL || value_is_absent(place->space) ||
            !key_equal(place->space, letter->space) ||
            place->target.scope != SCOPE_SPACE) {
            continue; /* mirrors-4 */
        }
        for (unsigned kind = 0; kind < KINDS; kind++) {
            struct changed_read read = {
                .id = place->target.id,
                .path = place->path,
                .kind = (enum read_kind)kind,
            };
            const struct identity nobody = {VALUE_NONE, VALUE_NONE};
            if (scope_key_new(SCOPE_SPACE, nobody, &read.scope_key, NULL) ==
                ERR_OK) {
                vec_push(&letter->reads, read);
            }
        }
    }
}

static enum err send(const struct mirrors_source *source,
                     const struct letter *letter,
                     const struct log *log)
{
    struct err_detail detail = {0};
    struct store_access *store = source->store(source->ctx, letter->space);
    if (store == NULL) {
        return ERR_OK; /* mirrors-2 */
    }
    const struct mirror mirror = {
        .space = letter->piece->space,
        .branch = letter->piece->branch,
        .piece = letter->piece->piece,
        .here = letter->here,
        .seq = letter->reads.count > 0 ? letter->seq : STORE_ACCESS_HEAD,
    };
    const enum err err = store->methods->put_mirror(store,
                                                    &mirror,
                                                    letter->reads.at,
                                                    letter->reads.count,
                                                    &detail);
    if (err != ERR_OK) {
        log_write(log,
                  LOG_LEVEL_WARNING,
                  "a space could not record its readers: %s",
                  detail.text);
    }
    return err;
}

static bool has(const struct mirrored *piece, struct value space)
{
    VEC_FOREACH (&piece->told, told) {
        if (key_equal(*told, space)) {
            return true;
        }
    }
    return false;
}

/* Spaces that are read now, and those that were before. */
static void find_spaces(struct mirrored *piece, const struct resume_page *page)
{
    VEC_FOREACH (&page->elsewhere, seen) {
        if (!has(piece, seen->space)) {
            vec_push(&piece->told, value_ref(seen->space));
        }
    }
}

/* All actions, or as many as one page holds: the rest is not mirrored. */
static enum err list(const struct mirrored *piece,
                     struct store_access *store,
                     struct resume_page *page,
                     struct err_detail *detail)
{
    struct resume_query query = {
        .branch = piece->branch,
        .piece = piece->piece,
    };
    enum err err = store->methods->resume(store, &query, page, detail);
    if (err == ERR_OK && page->generation != query.generation) {
        query.generation = page->generation;
        resume_page_release(page);
        err = store->methods->resume(store, &query, page, detail);
    }
    return err;
}

/* mirrors-5. */
static enum err forget(const struct mirrored *piece,
                       struct store_access *store,
                       const struct log *log)
{
    struct err_detail detail = {0};
    const enum err err = store->methods->forget_piece(store,
                                                      piece->branch,
                                                      piece->piece,
                                                      &detail);
    if (err != ERR_OK) {
        log_write(log,
                  LOG_LEVEL_WARNING,
                  "a removed piece could not be deregistered: %s",
                  detail.text);
    }
    return err;
}

/* False if something is in the way. */
static bool tell(struct mirrored *piece,
                 const struct mirrors_source *source,
                 const struct log *log)
{
    struct err_detail detail = {0};
    struct resume_page page;
    struct store_access *store = source->store(source->ctx, piece->space);
    const enum err err =
        store != NULL ? list(piece, store, &page, &detail) : ERR_NOT_FOUND;
    if (is_in_the_way(err)) {
        return false;
    }
    if (err != ERR_OK) {
        log_write(log,
                  LOG_LEVEL_WARNING,
                  "the spaces that a piece reads could not be looked up: %s",
                  detail.text);
        return true;
    }
    bool told = true;
    find_spaces(piece, &page);
    if (piece->removed) {
        told = !is_in_the_way(forget(piece, store, log));
        resume_page_release(&page);
        page = (struct resume_page){0}; /* it reads nothing any more */
    }
    VEC_FOREACH (&piece->told, space) {
        struct letter letter = {
            .piece = piece,
            .space = *space,
            .here = value_text_new(""),
        };
        if (set_seen(&letter, &page)) {
            add_reads(&letter, &page);
        } else {
            letter.here = value_text_new(""); /* it reads nothing there */
        }
        told = !is_in_the_way(send(source, &letter, log)) && told;
        VEC_FOREACH (&letter.reads, read) {
            value_unref(read->scope_key);
        }
        vec_release(&letter.reads);
    }
    resume_page_release(&page);
    return told;
}

void mirrors_flush(struct mirrors *mirrors,
                   const struct mirrors_source *source,
                   const struct log *log)
{
    if (!mirrors->noted) {
        return;
    }
    mirrors->noted = forget_gone(mirrors, source, log);
    size_t kept = 0;
    for (size_t i = 0; i < mirrors->pieces.count; i++) {
        struct mirrored piece = mirrors->pieces.at[i];
        if (piece.noted) {
            piece.noted = !tell(&piece, source, log);
            mirrors->noted = mirrors->noted || piece.noted;
        }
        if (piece.removed && !piece.noted) {
            mirrored_release(&piece);
        } else {
            mirrors->pieces.at[kept++] = piece;
        }
    }
    mirrors->pieces.count = kept;
}
