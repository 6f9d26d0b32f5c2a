/* Restarts in tests (lib/persist_kit.h is the manual). */

#include "lib/persist_kit.h"

#include <stdio.h>
#include <string.h>

#include "host/resume.h"
#include "lib/test.h"

struct node_identity persist_identity(const struct sched_kit *kit,
                                      const char *name)
{
    const char *code = kit->code != NULL ? kit->code : "code";
    return (struct node_identity){
        .space = kit->space,
        .piece = value_text_new(kit->piece != NULL ? kit->piece : ""),
        .generation = kit->generation,
        .action = digest_of_bytes("kit action", name, strlen(name)),
        .implementation = digest_of_bytes("kit code", code, strlen(code)),
        .runtime = digest_of_bytes("kit", "runtime", 7),
        .schema = digest_of_bytes("kit", "schema", 6),
    };
}

void kit_load(struct sched_kit *kit, const char *line)
{
    struct kit_place places[KIT_PLACES_MAX];
    const size_t count = kit_places(kit, line, strlen(line), places);
    for (size_t i = 0; i < count; i++) {
        space_want(places[i].place->entity->space, places[i].place->entity);
    }
    kit_pump(kit);
    for (size_t i = 0; i < count; i++) {
        EXPECT(places[i].place->entity->loaded);
        place_unref(places[i].place);
    }
}

void persist_list(struct persist *persist,
                  struct sched_kit *kit,
                  uint32_t limit)
{
    *persist = (struct persist){.kit = kit};
    struct engine *engine = &kit_store_of(kit)->engine;
    persist->piece = value_text_new(kit->piece);
    struct resume_query query = {
        .branch = value_text_new(""),
        .piece = persist->piece,
        .generation = kit->generation,
        .limit = limit,
    };
    bool more = true;
    while (more && persist->count < PERSIST_PAGES) {
        struct resume_page *page = &persist->pages[persist->count];
        EXPECT_INT(engine_resume(engine, &query, page, NULL), ERR_OK);
        persist->list[persist->count++] = page;
        more = page->more;
        query.seq = page->seq;
        query.after = more ? vec_last(&page->actions)->number : 0;
    }
    value_unref(query.branch);
}

enum err persist_ask(struct persist *persist,
                     struct engine *engine,
                     const struct space *space)
{
    const struct resume_asking asking = {
        .space = space->id,
        .branch = space->branch,
    };
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < persist->count; i++) {
        err = resume_ask(engine,
                         &asking,
                         &persist->pages[i],
                         &persist->asked.seq,
                         NULL);
    }
    if (err == ERR_OK) {
        persist->asked.space = space->id;
        persist->asked.branch = space->branch;
    }
    return err;
}

enum err persist_take(struct persist *persist)
{
    const struct resume_options options = {
        .space = persist->kit->space,
        .piece = persist->piece,
        .generation = persist->kit->generation,
        .pages = persist->list,
        .page_count = persist->count,
        .asked = &persist->asked,
        .asked_count = !value_is_absent(persist->asked.space),
    };
    const enum err err =
        persistence_resume_begin(persist->kit->sched, &options, NULL);
    persist->begun = err == ERR_OK;
    return err;
}

void persist_begin(struct persist *persist,
                   struct sched_kit *kit,
                   uint32_t limit)
{
    persist_list(persist, kit, limit);
    EXPECT_INT(persist_take(persist), ERR_OK);
}

const char *persist_end(struct persist *persist)
{
    if (persist->begun) {
        persist->counts = persistence_resume_end(persist->kit->sched);
    }
    for (size_t i = 0; i < persist->count; i++) {
        resume_page_release(&persist->pages[i]);
    }
    value_unref(persist->piece);
    kit_pump(persist->kit);
    (void)snprintf(persist->text,
                   sizeof persist->text,
                   "restored %llu dirty %llu unknown %llu",
                   (unsigned long long)persist->counts.restored,
                   (unsigned long long)persist->counts.dirty,
                   (unsigned long long)persist->counts.unknown);
    return persist->text;
}

static const char *state_of(const struct persist *persist, struct digest name)
{
    for (size_t i = 0; i < persist->count; i++) {
        VEC_FOREACH (&persist->pages[i].actions, action) {
            if (digest_equal(&action->action, &name)) {
                return resume_state_name((enum resume_state)action->state);
            }
        }
    }
    return "missing";
}

const char *persist_states(struct persist *persist, const char *names)
{
    int length = 0;
    persist->text[0] = '\0';
    while (*names != '\0') {
        const size_t size = strcspn(names, " ");
        const char *state =
            state_of(persist, digest_of_bytes("kit action", names, size));
        length += snprintf(persist->text + length,
                           sizeof persist->text - (size_t)length,
                           "%s%.*s=%s",
                           length > 0 ? " " : "",
                           (int)size,
                           names,
                           state);
        names += size + (names[size] == ' ');
    }
    return persist->text;
}
