/* Observations in tests (lib/observe_kit.h is the manual). */

#include "lib/observe_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "lib/values.h"
#include "store/verify.h"

enum {
    NAMES = 64
};

struct digest observe_name(const char *name)
{
    return digest_of_bytes("test action", name, strlen(name));
}

static const char *name_of(const struct digest *digest, char to[16])
{
    static struct digest names[NAMES];
    static bool made;
    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(to, 16, "a%d", i);
        if (!made) {
            names[i] = observe_name(to);
        }
    }
    made = true;
    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(to, 16, "a%d", i);
        if (digest_equal(&names[i], digest)) {
            return to;
        }
    }
    return "?";
}

static struct buf *next_text(struct store_kit *kit)
{
    struct buf *text = &kit->texts[kit->next_text];
    kit->next_text = (kit->next_text + 1) % KIT_TEXTS;
    buf_clear(text);
    return text;
}

/* -- Making one ---------------------------------------------------------- */

/* "A~user.x.y" or "A!.x": the target, and its pointer. */
struct address_text {
    char id[64];
    enum scope scope;
    char pointer[128];
};

static struct address_text read_address(const char *word)
{
    struct address_text out = {.scope = SCOPE_SPACE};
    char copy[200];
    (void)snprintf(copy, sizeof copy, "%s", word);
    char *dot = strchr(copy, '.');
    char below[128] = "";
    if (dot != NULL) {
        (void)snprintf(below, sizeof below, "%s", dot);
        *dot = '\0';
        for (char *at = below; *at != '\0'; at++) {
            *at = (char)(*at == '.' ? '/' : *at);
        }
    }
    char *bang = strchr(copy, '!');
    const bool root = bang != NULL;
    if (root) {
        *bang = '\0';
    }
    char *tilde = strchr(copy, '~');
    if (tilde != NULL) {
        *tilde = '\0';
        out.scope = strcmp(tilde + 1, "user") == 0 ? SCOPE_USER : SCOPE_SESSION;
    }
    (void)snprintf(out.id, sizeof out.id, "%.60s", copy);
    (void)snprintf(out.pointer,
                   sizeof out.pointer,
                   "%s%.110s",
                   root ? "" : "/value",
                   below);
    return out;
}

static void add_place(struct observation *to,
                      struct path_table *paths,
                      const char *space,
                      const char *word,
                      enum place_kind kind)
{
    const struct address_text address = read_address(word);
    const struct target target = {value_text_new(address.id), address.scope};
    struct value name = space != NULL ? value_text_new(space) : VALUE_NONE;
    struct path *path = from_pointer(paths, address.pointer);
    observation_add_place(to, name, &target, path, kind);
    path_unref(path);
    value_unref(name);
    value_unref(target.id);
}

static void add_far(struct observation *to,
                    struct path_table *paths,
                    const char *word,
                    const char *at)
{
    char copy[200];
    (void)snprintf(copy, sizeof copy, "%s", word);
    char *colon = strchr(copy, ':');
    CHECK(colon != NULL && at[0] == '@');
    *colon = '\0';
    add_place(to, paths, copy, colon + 1, PLACE_DEEP);
    struct value space = value_text_new(copy);
    struct value branch = value_text_new("");
    observation_add_space(to, space, branch, strtoull(at + 1, NULL, 10));
    value_unref(space);
    value_unref(branch);
}

static struct digest named(const char *what)
{
    return digest_of_bytes("test", what, strlen(what));
}

static void read_layers(struct observation *to, const char *list)
{
    char *at = NULL;
    for (const char *from = list; *from != '\0'; from = at + (*at == ',')) {
        vec_push(&to->basis.layers.at, strtoull(from, &at, 10));
    }
}

/* A word with a value; false if it is none of them. */
static bool read_setting(struct observation *to, const char *word)
{
    const char *equals = strchr(word, '=');
    if (equals == NULL) {
        return false;
    }
    const char *text = equals + 1;
    const uint64_t number = strtoull(text, NULL, 10);
    const size_t length = (size_t)(equals - word);
    const struct {
        const char *name;
        uint64_t *to;
    } numbers[] = {
        {"gen", &to->generation},
        {"debounce", &to->gates.debounce_ms},
        {"throttle", &to->gates.throttle_ms},
        {"basis", &to->basis.seq},
    };
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        if (strlen(numbers[i].name) == length &&
            memcmp(word, numbers[i].name, length) == 0) {
            *numbers[i].to = number;
            to->basis.given = to->basis.given || i == 3;
            return true;
        }
    }
    if (strncmp(word, "layers=", 7) == 0) {
        read_layers(to, text);
    } else if (strncmp(word, "impl=", 5) == 0) {
        to->fingerprints.implementation = named(text);
    } else if (strncmp(word, "kind=", 5) == 0) {
        to->kind = strcmp(text, "effect") == 0 ? ACTION_EFFECT : ACTION_HANDLER;
    } else if (strncmp(word, "fail=", 5) == 0) {
        to->failed = true;
        to->error = named(text);
    } else {
        return false;
    }
    return true;
}

/* What is done at a place; false if it is no such word. */
static bool read_verb(const char *word, enum place_kind *kind)
{
    static const char *const verbs[] = {
        [PLACE_DEEP] = "deep",
        [PLACE_SHAPE] = "shape",
        [PLACE_OUTPUT] = "out",
        [PLACE_ENVELOPE] = "env",
    };
    for (unsigned i = 0; i < COUNT_OF(verbs); i++) {
        if (strcmp(word, verbs[i]) == 0) {
            *kind = (enum place_kind)i;
            return true;
        }
    }
    return false;
}

static void read_identity(struct observation *to, char *word)
{
    char *slash = strchr(word, '/');
    CHECK(slash != NULL);
    *slash = '\0';
    to->piece = value_text_new(word);
    to->action = observe_name(slash + 1);
    to->fingerprints.implementation = named("implementation");
    to->fingerprints.runtime = named("runtime");
    to->fingerprints.schema = named("schema");
}

struct observation *observe_new(struct path_table *paths, const char *line)
{
    struct observation *to = observation_new();
    char copy[400];
    (void)snprintf(copy, sizeof copy, "%s", line);
    char *rest = NULL;
    char *word = strtok_r(copy, " ", &rest);
    CHECK(word != NULL);
    read_identity(to, word);
    bool same = false;
    for (word = strtok_r(NULL, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        enum place_kind kind = PLACE_DEEP;
        if (strcmp(word, "same") == 0) {
            same = true;
        } else if (strcmp(word, "manual") == 0) {
            to->gates.no_auto_debounce = true;
        } else if (strcmp(word, "far") == 0) {
            const char *place = strtok_r(NULL, " ", &rest);
            add_far(to, paths, place, strtok_r(NULL, " ", &rest));
        } else if (read_verb(word, &kind)) {
            add_place(to, paths, NULL, strtok_r(NULL, " ", &rest), kind);
        } else if (!read_setting(to, word)) {
            (void)test_fail(__FILE__, __LINE__, "unknown word: %s", word);
        }
    }
    observation_seal(to);
    if (same) {
        VEC_FOREACH (&to->places, place) {
            value_unref(place->space);
            value_unref(place->target.id);
            path_unref(place->path);
        }
        vec_clear(&to->places);
        to->has_places = false;
    }
    return to;
}

/* -- Committing ---------------------------------------------------------- */

static void send(struct store_kit *kit, struct commit *commit)
{
    struct engine_request request = {
        .commit = commit,
        .principal = kit->principal != NULL ? value_text_new(kit->principal)
                                            : VALUE_NONE,
        .at_ms = kit->at_ms,
    };
    for (size_t i = 0; i < KIT_GROUP_MAX; i++) {
        verdict_release(&kit->verdicts[i]);
    }
    kit->detail = (struct err_detail){0};
    kit->fault = engine_commit(&kit->engine, &request, 1, &kit->detail);
    kit->verdicts[0] = request.verdict;
    value_unref(request.principal);
    commit_release(commit);
}

void observe_commit(struct store_kit *kit,
                    const char *commit,
                    const char *observation)
{
    struct buf text = kit_commit_json(commit);
    struct value value = from_json(buf_text(&text));
    struct commit made;
    const enum err err =
        commit_read(value, &kit->engine.paths, &made, &kit->detail);
    CHECK(err == ERR_OK);
    made.observation = observe_new(&kit->engine.paths, observation);
    value_unref(value);
    buf_release(&text);
    send(kit, &made);
}

void observe_batch(struct store_kit *kit,
                   const char *session,
                   uint64_t local_seq,
                   const char *const *observations,
                   size_t count)
{
    struct commit commit = {
        .session = value_text_new(session),
        .local_seq = local_seq,
        .branch = value_text_new(""),
    };
    for (size_t i = 0; i < count; i++) {
        const char *line = observations[i];
        if (strncmp(line, "on ", 3) == 0) { /* "on b: p/a1 ..." */
            char name[32] = {0};
            const size_t length = strcspn(line + 3, ":");
            memcpy(name, line + 3, length);
            value_unref(commit.branch);
            commit.branch = value_text_new(name);
            line += length + 5;
        }
        struct observation *one = observe_new(&kit->engine.paths, line);
        if (!one->basis.given) {
            one->basis.given = true;
            one->basis.seq = kit->engine.seq;
        }
        vec_push(&commit.batch, one);
    }
    send(kit, &commit);
}

void observe_alone(struct store_kit *kit,
                   uint64_t local_seq,
                   const char *observation)
{
    observe_batch(kit, "s1", local_seq, &observation, 1);
}

const char *observe_verdict(struct store_kit *kit)
{
    struct buf *text = next_text(kit);
    const struct verdict *verdict = &kit->verdicts[0];
    if (kit->fault != ERR_OK || verdict->err != ERR_OK) {
        buf_printf(text,
                   "%s: %s",
                   err_name(verdict->err),
                   verdict->detail.text);
        return buf_text(text);
    }
    buf_printf(text, "%" PRIu64, verdict->seq);
    for (size_t i = 0; i < verdict->dropped.count; i++) {
        buf_printf(text,
                   "%s%u=%s",
                   i == 0 ? " dropped " : " ",
                   verdict->dropped.at[i].index,
                   observation_outcome_name(verdict->dropped.at[i].outcome));
    }
    return buf_text(text);
}

/* -- Looking ------------------------------------------------------------- */

static enum err ask(struct store_kit *kit,
                    const char *piece,
                    struct resume_page *page)
{
    char copy[100];
    (void)snprintf(copy, sizeof copy, "%s", piece);
    uint64_t generation = 0;
    char *hash = strchr(copy, '#');
    if (hash != NULL) {
        *hash = '\0';
        generation = strtoull(hash + 1, NULL, 10);
    }
    char *slash = strchr(copy, '/');
    const char *branch = "";
    const char *name = copy;
    if (slash != NULL) {
        *slash = '\0';
        branch = copy;
        name = slash + 1;
    }
    const struct resume_query query = {
        .branch = value_text_new(branch),
        .piece = value_text_new(name),
        .identity = {kit->principal != NULL ? value_text_new(kit->principal)
                                            : VALUE_NONE,
                     value_text_new("s1")},
        .generation = generation,
    };
    const enum err err =
        engine_resume(&kit->engine, &query, page, &kit->detail);
    value_unref(query.branch);
    value_unref(query.piece);
    value_unref(query.identity.principal);
    value_unref(query.identity.session);
    return err;
}

const char *observe_resume(struct store_kit *kit, const char *piece)
{
    struct resume_page page = {0};
    struct buf *text = next_text(kit);
    const enum err err = ask(kit, piece, &page);
    if (err != ERR_OK) {
        buf_append_text(text, err_name(err));
        return buf_text(text);
    }
    VEC_FOREACH (&page.actions, action) {
        char name[16];
        buf_printf(text,
                   "%s%s=%s",
                   text->length > 0 ? " " : "",
                   name_of(&action->action, name),
                   resume_state_name((enum resume_state)action->state));
    }
    resume_page_release(&page);
    return buf_text(text);
}

static void show_place(struct buf *text,
                       const struct resume_page *page,
                       uint32_t index)
{
    static const char *const verbs[] = {"deep", "shape", "out", "env"};
    const struct resume_place *place =
        &page->places.at[resume_index_place(index)];
    buf_printf(text, " %s ", verbs[resume_index_kind(index)]);
    if (!value_is_absent(place->space)) {
        const struct text space = value_text(&place->space);
        buf_printf(text, "%.*s:", (int)space.length, space.at);
    }
    const struct text id = value_text(&place->target.id);
    buf_printf(text, "%.*s", (int)id.length, id.at);
    if (place->target.scope != SCOPE_SPACE) {
        buf_printf(text, "~%s", scope_name(place->target.scope));
    }
    path_write(text, place->path);
}

static void show_action(struct buf *text,
                        const struct resume_page *page,
                        const struct resume_action *action)
{
    buf_printf(text,
               "%s %s @%" PRIu64,
               action_kind_name((enum action_kind)action->kind),
               resume_state_name((enum resume_state)action->state),
               action->watermark);
    if (action->gates != RESUME_NONE) {
        const struct gate_config *gates = &page->gates.at[action->gates];
        buf_printf(text,
                   " gates %" PRIu64 ",%" PRIu64 "%s",
                   gates->debounce_ms,
                   gates->throttle_ms,
                   gates->no_auto_debounce ? ",manual" : "");
    }
    for (uint32_t i = 0; i < action->place_count; i++) {
        show_place(text, page, page->indexes.at[action->places + i]);
    }
    for (uint32_t i = 0; i < action->space_count; i++) {
        const struct observed_space *one =
            &page->elsewhere.at[action->spaces + i];
        const struct text space = value_text(&one->space);
        buf_printf(text,
                   " %.*s@%" PRIu64,
                   (int)space.length,
                   space.at,
                   one->seq);
    }
}

const char *observe_show(struct store_kit *kit,
                         const char *piece,
                         const char *action)
{
    struct resume_page page = {0};
    struct buf *text = next_text(kit);
    const struct digest name = observe_name(action);
    const enum err err = ask(kit, piece, &page);
    if (err != ERR_OK) {
        buf_append_text(text, err_name(err));
        return buf_text(text);
    }
    VEC_FOREACH (&page.actions, one) {
        if (digest_equal(&one->action, &name)) {
            show_action(text, &page, one);
        }
    }
    resume_page_release(&page);
    return text->length > 0 ? buf_text(text) : "(none)";
}

struct reader_list {
    char names[64][64];
    size_t count;
};

static void note_reader(void *ctx, const struct observed_reader *reader)
{
    struct reader_list *list = ctx;
    const struct text piece = value_text(&reader->piece);
    char name[16];
    CHECK(list->count < COUNT_OF(list->names));
    if (!value_is_absent(reader->space)) {
        const struct text space = value_text(&reader->space);
        (void)snprintf(list->names[list->count++],
                       sizeof list->names[0],
                       "%.*s:%.*s",
                       (int)space.length,
                       space.at,
                       (int)piece.length,
                       piece.at);
    } else {
        (void)snprintf(list->names[list->count++],
                       sizeof list->names[0],
                       "%.*s/%s",
                       (int)piece.length,
                       piece.at,
                       name_of(&reader->name, name));
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static const char *show_readers(struct store_kit *kit,
                                enum err err,
                                struct reader_list *list)
{
    struct buf *text = next_text(kit);
    if (err != ERR_OK) {
        buf_append_text(text, err_name(err));
        return buf_text(text);
    }
    qsort(list->names, list->count, sizeof list->names[0], compare_names);
    for (size_t i = 0; i < list->count; i++) {
        buf_printf(text, "%s%s", i > 0 ? " " : "", list->names[i]);
    }
    return buf_text(text);
}

const char *observe_readers(struct store_kit *kit, const char *place)
{
    struct reader_list list = {.count = 0};
    const struct address_text words = read_address(place);
    const struct engine_address address = {
        .branch = value_text_new(""),
        .scope_key = value_text_new("space"),
        .id = value_text_new(words.id),
    };
    struct path *path = from_pointer(&kit->engine.paths, words.pointer);
    const enum err err = engine_readers_of(&kit->engine,
                                           &address,
                                           path,
                                           note_reader,
                                           &list,
                                           &kit->detail);
    path_unref(path);
    value_unref(address.branch);
    value_unref(address.scope_key);
    value_unref(address.id);
    return show_readers(kit, err, &list);
}

const char *observe_wake(struct store_kit *kit, uint64_t after)
{
    struct reader_list list = {.count = 0};
    struct value branch = value_text_new("");
    const enum err err = engine_pieces_to_wake(&kit->engine,
                                               branch,
                                               after,
                                               note_reader,
                                               &list,
                                               &kit->detail);
    value_unref(branch);
    return show_readers(kit, err, &list);
}

static void note_difference(void *ctx, const char *sentence)
{
    struct buf *text = ctx;
    buf_printf(text, "%s%s", text->length > 0 ? "; " : "", sentence);
}

const char *observe_check(struct store_kit *kit)
{
    struct buf *text = next_text(kit);
    const struct verify_options options = {.difference = note_difference,
                                           .ctx = text};
    struct verify_counts counts;
    const enum err err =
        engine_verify(&kit->engine, &options, &counts, &kit->detail);
    if (err != ERR_OK) {
        buf_printf(text, "%s", err_name(err));
    }
    return buf_text(text);
}
