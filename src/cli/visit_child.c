/* Children of pieces, by their address: the name of the piece, and below it the
 * names of what was declared, "kanban/one", "kanban/cards/3". The last is an
 * element of a list, by its key (runtime/element.h). */

#include <string.h>

#include "cli/report.h"
#include "cli/visit.h"
#include "value/object.h"

/* -- Lists on the way ---------------------------------------------------- */

static enum run_result run_pull(struct run *run, void *ctx)
{
    struct value seen = VALUE_NONE;
    const enum err err = run_read(run, ctx, READ_SHAPE, READ_FOR_BOTH, &seen);
    value_unref(seen);
    if (err == ERR_STALE) {
        return RUN_AGAIN;
    }
    return run_is_waiting(run) ? RUN_WAITING : RUN_DONE;
}

/* Brings a list up to date: its elements have come then. */
static int pull(struct visit *visit, struct place *place)
{
    struct sched *sched = live_runtime(visit->live)->sched;
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = run_pull,
        .ctx = place,
        .no_auto_debounce = true,
        .clearance = value_bool(true), /* it shows nothing */
    };
    struct node *node = sched_register(sched, &spec);
    const int code = visit_settle(visit);
    sched_remove(sched, node);
    return code;
}

static int pull_lists(struct visit *visit, const char *path)
{
    int code = CODE_OK;
    for (const char *slash = strchr(path, '/');
         code == CODE_OK && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        const struct value name =
            value_string_new(path, (size_t)(slash - path));
        const struct part *part = piece_part(visit->piece, name);
        if (part != NULL && part->kind == PART_LIST) {
            struct place *place = place_ref(part->place);
            code = pull(visit, place);
            place_unref(place);
        }
        value_unref(name);
    }
    return code;
}

/* -- Addresses ----------------------------------------------------------- */

static int refuse(struct visit *visit, const char *address)
{
    struct err_detail detail = {0};
    (void)err_set(&detail,
                  ERR_NOT_FOUND,
                  "there is no piece %s in %s: 'heddle ps' lists the pieces",
                  address,
                  visit->folder);
    return visit_report(visit->options, NULL, &detail);
}

int visit_find_child(struct visit *visit,
                     const char *address,
                     struct entity **document)
{
    struct err_detail detail = {0};
    struct space *space = live_runtime(visit->live)->spaces.at[0];
    const struct value name = value_text_new(address);
    const struct value id = piece_document_id(name, VALUE_NONE);
    enum err err = entity_of(space, SCOPE_SPACE, id, document, &detail);
    if (err == ERR_OK) {
        err = live_load(visit->live, *document, &detail);
    }
    value_unref(id);
    value_unref(name);
    if (err != ERR_OK) {
        return visit_report(visit->options, NULL, &detail);
    }
    return entity_state_exists(&(*document)->visible) ? CODE_OK
                                                      : refuse(visit, address);
}

int visit_resume_at(struct visit *visit,
                    const char *address,
                    struct entity **document)
{
    const char *slash = strchr(address, '/');
    struct buf name = {0};
    buf_append(&name,
               address,
               slash != NULL ? (size_t)(slash - address) : strlen(address));
    int code = visit_resume(visit, buf_text(&name));
    buf_release(&name);
    if (code != CODE_OK || slash == NULL) {
        *document = code == CODE_OK ? visit->piece->document : NULL;
        return code;
    }
    code = pull_lists(visit, slash + 1);
    return code == CODE_OK ? visit_find_child(visit, address, document) : code;
}
