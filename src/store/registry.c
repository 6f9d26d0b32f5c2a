/* Rows of threads and environments, and the transactions around them. No status
 * of an existing row is written here (registry-2). */

#include "store/registry.h"

#include <string.h>

#include "lifecycle/environment.h"
#include "lifecycle/thread.h"
#include "value/utf8.h"

/* -- Open, close, transactions ------------------------------------------- */

enum err registry_open(struct registry *registry,
                       struct engine *engine,
                       const struct registry_options *options,
                       uint64_t now_ms,
                       struct err_detail *detail)
{
    *registry = (struct registry){.engine = engine, .options = *options};
    if (engine->options.log != NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a registry keeps rows that a log does not carry");
    }
    enum err err = registry_begin(registry, now_ms, detail);
    if (err == ERR_OK) {
        err = registry_recount(registry, detail);
        err = registry_end(registry, err, detail);
    }
    return err;
}

void registry_close(struct registry *registry)
{
    CHECK(!registry->is_open);
    vec_release(&registry->changes);
}

enum err registry_begin(struct registry *registry,
                        uint64_t now_ms,
                        struct err_detail *detail)
{
    CHECK(!registry->is_open);
    const enum err err = engine_write_begin(registry->engine, detail);
    registry->is_open = err == ERR_OK;
    registry->now_ms = now_ms;
    return err;
}

enum err registry_end(struct registry *registry,
                      enum err err,
                      struct err_detail *detail)
{
    CHECK(registry->is_open);
    err = engine_write_end(registry->engine, err, detail);
    registry->is_open = false;
    /* Taken out first: a listener may begin the next transaction. */
    VEC(struct registry_change) told = {0};
    if (err == ERR_OK && registry->options.on_change != NULL) {
        VEC_FOREACH (&registry->changes, change) {
            vec_push(&told, *change);
        }
    }
    vec_clear(&registry->changes);
    VEC_FOREACH (&told, change) {
        registry->options.on_change(registry->options.ctx, change);
    }
    vec_release(&told);
    return err;
}

/* -- Names and texts ----------------------------------------------------- */

bool registry_name_is_valid(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-._~:";
    const size_t length = strlen(name);
    return length > 0 && length < REGISTRY_NAME_SIZE &&
           strspn(name, allowed) == length;
}

enum err registry_text(const char *text,
                       struct value *out,
                       struct err_detail *detail)
{
    const size_t length = strlen(text);
    *out = VALUE_NONE;
    if (length > REGISTRY_TEXT_MAX) {
        return err_set(detail,
                       ERR_LIMIT_STRING,
                       "a text can have at most %d bytes",
                       REGISTRY_TEXT_MAX);
    }
    if (!utf8_is_valid(text, length)) {
        return err_set(detail, ERR_ARGUMENT, "the text is not UTF-8");
    }
    *out = value_string_new(text, length);
    return ERR_OK;
}

static void put_name(struct query *query, int parameter, const char *name)
{
    if (*name == '\0') {
        query_null(query, parameter);
    } else {
        query_text(query, parameter, name, strlen(name));
    }
}

static void put_text(struct query *query, int parameter, struct value text)
{
    if (value_is_absent(text)) {
        query_null(query, parameter);
    } else {
        query_string(query, parameter, text);
    }
}

/* False if the column is not a valid name. */
static bool get_name(struct query *query, int column, char *out)
{
    const struct text text = query_get_text(query, column);
    const bool fits = text.length < REGISTRY_NAME_SIZE;
    const size_t length = fits ? text.length : 0;
    memcpy(out, text.at, length);
    out[length] = '\0';
    return fits;
}

static struct value get_text(struct query *query, int column)
{
    if (query_is_null(query, column)) {
        return VALUE_NONE;
    }
    const struct text text = query_get_text(query, column);
    return utf8_is_valid(text.at, text.length)
               ? value_string_new(text.at, text.length)
               : VALUE_NONE;
}

/* The number of a status by its name, or -1. */
static int get_status(struct query *query,
                      int column,
                      const struct lifecycle_machine *machine)
{
    char name[REGISTRY_NAME_SIZE];
    return get_name(query, column, name) ? lifecycle_status_find(machine, name)
                                         : -1;
}

/* -- Reading rows -------------------------------------------------------- */

void environment_row_release(struct environment_row *row)
{
    value_unref(row->workspace);
    row->workspace = VALUE_NONE;
}

void thread_row_release(struct thread_row *row)
{
    value_unref(row->input);
    row->input = VALUE_NONE;
}

static enum err damaged(const struct lifecycle_machine *machine,
                        const char *id,
                        struct err_detail *detail)
{
    return err_set(detail,
                   ERR_CORRUPT,
                   "the row of %s %s is damaged",
                   machine->name,
                   id);
}

static bool read_environment(struct query *query, struct environment_row *out)
{
    const int number = get_status(query, 0, &environment_lifecycle);
    *out = (struct environment_row){
        .status = number >= 0 ? (uint8_t)number : 0,
        .since = query_get_int(query, 1),
        .is_managed = query_get_int(query, 2) != 0,
        .is_kept = query_get_int(query, 3) != 0,
        .workspace = get_text(query, 4),
    };
    return number >= 0 && get_name(query, 5, out->attempt) &&
           get_name(query, 6, out->provision);
}

enum err registry_environment(struct registry *registry,
                              const char *id,
                              struct environment_row *out,
                              bool *found,
                              struct err_detail *detail)
{
    *out = (struct environment_row){0};
    struct query query =
        query_begin(&registry->engine->database, STATEMENT_ENVIRONMENT_GET);
    query_text(&query, 1, id, strlen(id));
    *found = query_step(&query);
    bool valid = true;
    if (*found) {
        valid =
            strlen(id) < REGISTRY_NAME_SIZE && read_environment(&query, out);
    }
    if (*found && valid) {
        memcpy(out->id, id, strlen(id) + 1);
    }
    const enum err err = query_end(&query, detail);
    if (err != ERR_OK || !valid) {
        environment_row_release(out);
    }
    return err != ERR_OK || valid ? err
                                  : damaged(&environment_lifecycle, id, detail);
}

static bool read_thread(struct query *query, struct thread_row *out)
{
    const int number = get_status(query, 0, &thread_lifecycle);
    *out = (struct thread_row){
        .status = number >= 0 ? (uint8_t)number : 0,
        .since = query_get_int(query, 1),
        .input = get_text(query, 5),
        .is_archived = !query_is_null(query, 6),
        .is_deleted = !query_is_null(query, 7),
        .attention_at = query_get_int(query, 8),
        .holds = query_get_int(query, 9) != 0,
        .queued = query_get_int(query, 10),
    };
    return number >= 0 && get_name(query, 2, out->environment) &&
           get_name(query, 3, out->parent) && get_name(query, 4, out->run);
}

enum err registry_thread(struct registry *registry,
                         const char *id,
                         struct thread_row *out,
                         bool *found,
                         struct err_detail *detail)
{
    *out = (struct thread_row){0};
    struct query query =
        query_begin(&registry->engine->database, STATEMENT_THREAD_GET);
    query_text(&query, 1, id, strlen(id));
    *found = query_step(&query);
    bool valid = true;
    if (*found) {
        valid = strlen(id) < REGISTRY_NAME_SIZE && read_thread(&query, out);
    }
    if (*found && valid) {
        memcpy(out->id, id, strlen(id) + 1);
    }
    const enum err err = query_end(&query, detail);
    if (err != ERR_OK || !valid) {
        thread_row_release(out);
    }
    return err != ERR_OK || valid ? err
                                  : damaged(&thread_lifecycle, id, detail);
}

/* -- Lists --------------------------------------------------------------- */

void registry_ids_release(registry_ids *ids)
{
    VEC_FOREACH (ids, id) {
        mem_free(*id, REGISTRY_NAME_SIZE);
    }
    vec_release(ids);
}

enum err registry_list(struct registry *registry,
                       enum registry_set set,
                       const char *environment,
                       registry_ids *out,
                       struct err_detail *detail)
{
    static const enum statement statements[REGISTRY_SET_COUNT] = {
        [REGISTRY_THREADS_UNSETTLED] = STATEMENT_THREAD_UNSETTLED,
        [REGISTRY_THREADS_OF_ENVIRONMENT] = STATEMENT_THREAD_OF_ENVIRONMENT,
        [REGISTRY_THREADS_WITH_MESSAGE] = STATEMENT_THREAD_WITH_MESSAGE,
        [REGISTRY_ENVIRONMENTS_UNSETTLED] = STATEMENT_ENVIRONMENT_UNSETTLED,
    };
    CHECK(set < REGISTRY_SET_COUNT);
    *out = (registry_ids){0};
    struct query query =
        query_begin(&registry->engine->database, statements[set]);
    if (environment != NULL) {
        query_text(&query, 1, environment, strlen(environment));
    }
    while (query_step(&query)) {
        char *id = mem_alloc(REGISTRY_NAME_SIZE);
        (void)get_name(&query, 0, id);
        vec_push(out, id);
    }
    const enum err err = query_end(&query, detail);
    if (err != ERR_OK) {
        registry_ids_release(out);
    }
    return err;
}

/* -- Changing rows ------------------------------------------------------- */

/* Steps a statement that changes rows, to its end. */
static enum err run(struct registry *registry,
                    struct query *query,
                    struct err_detail *detail)
{
    CHECK(registry->is_open);
    (void)query_step(query);
    return query_end(query, detail);
}

static void put_initial(struct query *query,
                        int parameter,
                        const struct lifecycle_machine *machine)
{
    const char *name = machine->statuses[machine->initial].name;
    query_text(query, parameter, name, strlen(name));
}

enum err registry_environment_add(struct registry *registry,
                                  const struct environment_row *row,
                                  struct err_detail *detail)
{
    struct query query =
        query_begin(&registry->engine->database, STATEMENT_ENVIRONMENT_INSERT);
    query_text(&query, 1, row->id, strlen(row->id));
    put_initial(&query, 2, &environment_lifecycle);
    query_int(&query, 3, registry->now_ms);
    query_int(&query, 4, row->is_managed ? 1 : 0);
    query_int(&query, 5, row->is_kept ? 1 : 0);
    put_text(&query, 6, row->workspace);
    put_name(&query, 7, row->provision);
    const enum err err = run(registry, &query, detail);
    const struct registry_move move = {
        &environment_lifecycle,
        -1,
        environment_lifecycle.initial,
    };
    return err != ERR_OK ? err
                         : registry_publish(registry,
                                            &environment_lifecycle,
                                            row->id,
                                            &move,
                                            detail);
}

enum err registry_thread_add(struct registry *registry,
                             const struct thread_row *row,
                             struct err_detail *detail)
{
    struct query query =
        query_begin(&registry->engine->database, STATEMENT_THREAD_INSERT);
    query_text(&query, 1, row->id, strlen(row->id));
    put_initial(&query, 2, &thread_lifecycle);
    query_int(&query, 3, registry->now_ms);
    put_name(&query, 4, row->environment);
    put_name(&query, 5, row->parent);
    put_name(&query, 6, row->run);
    put_text(&query, 7, row->input);
    const enum err err = run(registry, &query, detail);
    const struct registry_move move = {
        &thread_lifecycle,
        -1,
        thread_lifecycle.initial,
    };
    return err != ERR_OK ? err
                         : registry_publish(registry,
                                            &thread_lifecycle,
                                            row->id,
                                            &move,
                                            detail);
}

static struct query begin_by_id(struct registry *registry,
                                enum statement statement,
                                const char *id)
{
    struct query query = query_begin(&registry->engine->database, statement);
    query_text(&query, 1, id, strlen(id));
    return query;
}

enum err registry_thread_remove(struct registry *registry,
                                const char *id,
                                struct err_detail *detail)
{
    static const enum statement statements[] = {
        STATEMENT_MESSAGE_FORGET,
        STATEMENT_SCHEDULE_FORGET,
        STATEMENT_THREAD_REMOVE,
    };
    struct thread_row row;
    bool found = false;
    enum err err = registry_thread(registry, id, &row, &found, detail);
    thread_row_release(&row);
    if (err != ERR_OK || !found) {
        return err;
    }
    for (size_t i = 0; err == ERR_OK && i < COUNT_OF(statements); i++) {
        struct query query = begin_by_id(registry, statements[i], id);
        err = run(registry, &query, detail);
    }
    const struct registry_move move = {&thread_lifecycle, row.status, -1};
    return err != ERR_OK ? err
                         : registry_publish(registry,
                                            &thread_lifecycle,
                                            id,
                                            &move,
                                            detail);
}

static enum err publish_thread(struct registry *registry,
                               enum err err,
                               const char *id,
                               struct err_detail *detail)
{
    return err != ERR_OK ? err
                         : registry_publish(registry,
                                            &thread_lifecycle,
                                            id,
                                            NULL,
                                            detail);
}

enum err registry_set_provision(struct registry *registry,
                                const char *id,
                                const char *provision,
                                struct err_detail *detail)
{
    struct query query =
        begin_by_id(registry, STATEMENT_ENVIRONMENT_PROVISION, id);
    put_name(&query, 2, provision);
    query_int(&query, 3, registry->now_ms);
    const enum err err = run(registry, &query, detail);
    return err != ERR_OK ? err
                         : registry_publish(registry,
                                            &environment_lifecycle,
                                            id,
                                            NULL,
                                            detail);
}

enum err registry_set_kept(struct registry *registry,
                           const char *id,
                           bool kept,
                           struct err_detail *detail)
{
    struct query query = begin_by_id(registry, STATEMENT_ENVIRONMENT_KEEP, id);
    query_int(&query, 2, kept ? 1 : 0);
    query_int(&query, 3, registry->now_ms);
    return run(registry, &query, detail);
}

enum err registry_set_input(struct registry *registry,
                            const char *id,
                            struct value input,
                            struct err_detail *detail)
{
    struct query query = begin_by_id(registry, STATEMENT_THREAD_INPUT, id);
    put_text(&query, 2, input);
    query_int(&query, 3, registry->now_ms);
    return publish_thread(registry, run(registry, &query, detail), id, detail);
}

enum err registry_set_holds(struct registry *registry,
                            const char *id,
                            bool holds,
                            struct err_detail *detail)
{
    struct query query = begin_by_id(registry, STATEMENT_THREAD_HOLD, id);
    query_int(&query, 2, holds ? 1 : 0);
    query_int(&query, 3, registry->now_ms);
    return publish_thread(registry, run(registry, &query, detail), id, detail);
}

enum err registry_set_archived(struct registry *registry,
                               const char *id,
                               bool archived,
                               struct err_detail *detail)
{
    struct query query = begin_by_id(registry, STATEMENT_THREAD_ARCHIVE, id);
    if (archived) {
        query_int(&query, 2, registry->now_ms);
    } else {
        query_null(&query, 2);
    }
    query_int(&query, 3, registry->now_ms);
    return publish_thread(registry, run(registry, &query, detail), id, detail);
}

enum err registry_set_deleted(struct registry *registry,
                              const char *id,
                              struct err_detail *detail)
{
    struct query query = begin_by_id(registry, STATEMENT_THREAD_DELETE, id);
    query_int(&query, 2, registry->now_ms);
    return publish_thread(registry, run(registry, &query, detail), id, detail);
}

/* -- Messages ------------------------------------------------------------ */

enum err registry_message_add(struct registry *registry,
                              const char *thread,
                              struct value text,
                              struct err_detail *detail)
{
    struct query query = begin_by_id(registry, STATEMENT_MESSAGE_ADD, thread);
    query_string(&query, 2, text);
    return publish_thread(registry,
                          run(registry, &query, detail),
                          thread,
                          detail);
}

enum err registry_message_take(struct registry *registry,
                               const char *thread,
                               struct value *out,
                               struct err_detail *detail)
{
    CHECK(registry->is_open);
    *out = VALUE_NONE;
    struct query query = begin_by_id(registry, STATEMENT_MESSAGE_TAKE, thread);
    if (query_step(&query)) {
        *out = get_text(&query, 0);
    }
    const enum err err = query_end(&query, detail);
    return publish_thread(registry, err, thread, detail);
}

/* -- Schedules ----------------------------------------------------------- */

void schedule_rows_release(schedule_rows *rows)
{
    VEC_FOREACH (rows, row) {
        value_unref(row->text);
    }
    vec_release(rows);
}

enum err registry_schedule_put(struct registry *registry,
                               const struct schedule_row *row,
                               struct err_detail *detail)
{
    struct query query =
        begin_by_id(registry, STATEMENT_SCHEDULE_PUT, row->thread);
    put_name(&query, 2, row->name);
    query_int(&query, 3, row->next_at);
    query_int(&query, 4, row->every_ms);
    query_string(&query, 5, row->text);
    return run(registry, &query, detail);
}

enum err registry_schedules_due(struct registry *registry,
                                uint64_t now_ms,
                                schedule_rows *out,
                                struct err_detail *detail)
{
    *out = (schedule_rows){0};
    struct query query =
        query_begin(&registry->engine->database, STATEMENT_SCHEDULE_DUE);
    query_int(&query, 1, now_ms);
    while (query_step(&query)) {
        struct schedule_row row = {
            .next_at = query_get_int(&query, 2),
            .every_ms = query_get_int(&query, 3),
        };
        (void)get_name(&query, 0, row.thread);
        (void)get_name(&query, 1, row.name);
        row.text = get_text(&query, 4);
        vec_push(out, row);
    }
    const enum err err = query_end(&query, detail);
    if (err != ERR_OK) {
        schedule_rows_release(out);
    }
    return err;
}

enum err registry_schedule_move(struct registry *registry,
                                const struct schedule_row *row,
                                uint64_t next_at,
                                bool *moved,
                                struct err_detail *detail)
{
    CHECK(registry->is_open);
    struct query query =
        begin_by_id(registry, STATEMENT_SCHEDULE_MOVE, row->thread);
    put_name(&query, 2, row->name);
    query_int(&query, 3, row->next_at);
    query_int(&query, 4, next_at);
    *moved = query_step(&query);
    return query_end(&query, detail);
}

enum err registry_schedules_forget(struct registry *registry,
                                   const char *thread,
                                   struct err_detail *detail)
{
    struct query query =
        begin_by_id(registry, STATEMENT_SCHEDULE_FORGET, thread);
    return run(registry, &query, detail);
}
