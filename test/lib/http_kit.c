/* HTTP routes in tests (lib/http_kit.h is the manual). */

#include "lib/http_kit.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "lib/test.h"
#include "runtime/cell.h"
#include "runtime/piece.h"
#include "value/array.h"
#include "value/object.h"

enum {
    BEGIN_MS = 1000,
    WALL_MS = 1794917775,
};

/* -- Life ---------------------------------------------------------------- */

static bool may_read_space(void *ctx, struct value principal, const char *space)
{
    const struct http_kit *kit = ctx;
    (void)principal;
    return kit->context.may_read && strcmp(space, "secret") != 0;
}

void http_as(struct http_kit *kit, const char *principal, const char *rights)
{
    value_unref(kit->context.principal);
    kit->context.principal =
        principal != NULL ? value_text_new(principal) : VALUE_NONE;
    kit->context.may_read = strchr(rights, 'r') != NULL;
    kit->context.may_write = strchr(rights, 'w') != NULL;
    kit->context.is_owner = strchr(rights, 'o') != NULL;
    kit->context.is_operator = strchr(rights, 'O') != NULL;
}

static void begin(struct http_kit *kit, bool in_file)
{
    const struct hub_options options = {.seed = 7};
    sim_host_init(&kit->sim, BEGIN_MS, 7);
    hub_init(&kit->hub, &kit->store.engine, &options, BEGIN_MS);
    const struct route_space_options space = {
        .engine = &kit->store.engine,
        .hub = &kit->hub,
        .name = "space",
        .folder = in_file ? kit->store.folder : NULL,
        .seed = 11,
        .metrics = &kit->metrics,
    };
    kit->space = route_space_new(&space);
    kit->server = (struct route_server){
        .folder = in_file ? kit->store.folder : NULL,
        .metrics = &kit->metrics,
        .is_ready = true,
        .secret = 5,
        .may_read = may_read_space,
        .ctx = kit,
    };
    kit->context = (struct route_context){
        .server = &kit->server,
        .space = kit->space,
        .now = BEGIN_MS,
        .wall_ms = WALL_MS,
    };
    http_as(kit, "ann", "rwoO");
}

void http_begin(struct http_kit *kit, bool in_file)
{
    *kit = (struct http_kit){0};
    if (in_file) {
        kit_open_file(&kit->store, NULL);
    } else {
        kit_open_memory(&kit->store, NULL);
    }
    begin(kit, in_file);
}

void http_begin_on(struct http_kit *kit, const char *vfs)
{
    const struct engine_options options = {.vfs = vfs,
                                           .durability = DURABILITY_FULL};
    *kit = (struct http_kit){0};
    kit_open_file(&kit->store, &options);
    begin(kit, true);
}

void http_end(struct http_kit *kit)
{
    http_run_end(kit);
    route_answer_release(&kit->answer);
    buf_release(&kit->shown);
    buf_release(&kit->delivered);
    value_unref(kit->context.principal);
    route_space_free(kit->space);
    hub_release(&kit->hub);
    kit_close(&kit->store);
}

/* -- Requests ------------------------------------------------------------ */

static char *copy(const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    const size_t size = strlen(text) + 1;
    char *made = mem_alloc(size);
    memcpy(made, text, size);
    return made;
}

static void drop(char *text)
{
    if (text != NULL) {
        mem_free(text, strlen(text) + 1);
    }
}

static void with_quotes(char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        *text = (char)(*text == '\'' ? '"' : *text);
    }
}

static void show_body(struct buf *to, const struct buf *body)
{
    size_t length = body->length;
    while (length > 0 && body->at[length - 1] == '\n') {
        length--;
    }
    for (size_t i = 0; i < length; i++) {
        const char c = body->at[i];
        buf_append_char(to, (char)(c == '"' ? '\'' : c == '\n' ? '|' : c));
    }
}

static void show_answer(struct buf *to, const struct route_answer *answer)
{
    buf_printf(to, "%u", answer->http_status);
    if (answer->body.length > 0) {
        buf_append_char(to, ' ');
        show_body(to, &answer->body);
    }
}

/* "GET /docs/a?at=3" as a request; its texts are copies. */
static void fill_request(struct net_request *request, const char *what)
{
    char path[4096];
    const size_t method = strcspn(what, " ");
    const char *at = what + method + (what[method] == ' ');
    const size_t length = strcspn(at, "?");
    const bool is_whole =
        strncmp(at, "/v1", 3) == 0 || strncmp(at, "/.", 2) == 0;
    (void)snprintf(request->method,
                   sizeof request->method,
                   "%.*s",
                   (int)method,
                   what);
    (void)snprintf(path,
                   sizeof path,
                   "%s%.*s",
                   is_whole ? "" : "/v1/spaces/space",
                   (int)length,
                   at);
    request->path = copy(strncmp(path, "/./", 3) == 0 ? path + 2 : path);
    request->query = at[length] == '?' ? copy(at + length + 1) : NULL;
}

static void drop_request(struct net_request *request)
{
    drop(request->path);
    drop(request->query);
    drop(request->body);
}

const char *http_ask(struct http_kit *kit, const char *what, const char *body)
{
    struct net_request request = {.id = ++kit->last};
    const bool is_head = strncmp(what, "HEAD ", 5) == 0;
    /* The routes change none of them. */
    request.if_match = copy(kit->if_match);
    request.if_none_match = copy(kit->if_none_match);
    request.idempotency_key = copy(kit->key);
    request.prefer = copy(kit->prefer);
    request.last_event_id = copy(kit->last_event_id);
    request.content_type =
        copy(kit->type != NULL ? kit->type
                               : (body != NULL ? "application/json" : NULL));
    fill_request(&request, what);
    request.body = copy(body);
    with_quotes(request.body);
    request.body_length = body != NULL ? strlen(body) : 0;
    route_answer_release(&kit->answer);
    routes_handle(&kit->context, &request, &kit->answer);
    drop(request.if_match);
    drop(request.if_none_match);
    drop(request.idempotency_key);
    drop(request.prefer);
    drop(request.last_event_id);
    drop(request.content_type);
    drop_request(&request);
    kit->if_match = kit->if_none_match = kit->key = kit->prefer =
        kit->last_event_id = kit->type = NULL;
    buf_clear(&kit->shown);
    if (kit->answer.is_later) {
        buf_append_text(&kit->shown, "later");
    } else if (is_head) { /* the network leaves the body out */
        buf_printf(&kit->shown, "%u", kit->answer.http_status);
    } else {
        show_answer(&kit->shown, &kit->answer);
    }
    return buf_text(&kit->shown);
}

const char *http_header(const struct http_kit *kit, const char *name)
{
    for (size_t i = 0; i < kit->answer.header_count; i++) {
        if (strcmp(kit->answer.headers[i].name, name) == 0) {
            return kit->answer.headers[i].value;
        }
    }
    return "";
}

static void deliver(void *ctx,
                    net_id id,
                    enum route_delivery what,
                    struct route_answer *answer)
{
    struct http_kit *kit = ctx;
    buf_printf(&kit->delivered,
               "%s#%llu",
               kit->delivered.length > 0 ? "; " : "",
               (unsigned long long)id);
    switch (what) {
    case ROUTE_ANSWER:
        buf_append_char(&kit->delivered, ' ');
        show_answer(&kit->delivered, answer);
        return;
    case ROUTE_CHUNK:
        buf_append_text(&kit->delivered, "+ ");
        show_body(&kit->delivered, &answer->body);
        return;
    case ROUTE_END:
        buf_append_char(&kit->delivered, '.');
        return;
    }
}

const char *http_step(struct http_kit *kit, mono_ms ms)
{
    kit->context.now += ms;
    kit->context.wall_ms += ms;
    sim_host_advance(&kit->sim, kit->context.now);
    buf_clear(&kit->delivered);
    hub_poll(&kit->hub);
    hub_step(&kit->hub, kit->context.now);
    hub_flush(&kit->hub);
    route_space_step(kit->space,
                     kit->context.now,
                     kit->context.wall_ms,
                     deliver,
                     kit);
    return buf_text(&kit->delivered);
}

void http_end_waiting(struct http_kit *kit, const struct err_detail *why)
{
    buf_clear(&kit->delivered);
    route_space_end(kit->space, why, 2000, deliver, kit);
}

void http_recheck(struct http_kit *kit,
                  bool (*may_read)(void *ctx,
                                   const struct credential *credential))
{
    buf_clear(&kit->delivered);
    route_space_recheck(kit->space, may_read, NULL, deliver, kit);
}

/* -- A runtime ----------------------------------------------------------- */

/* The places of the piece, for its functions. There is one at a time. */
static struct place *items;
static struct place *total;

static uint32_t count_items(struct run *run)
{
    struct value list = VALUE_NONE;
    (void)run_read(run, items, READ_DEEP, READ_FOR_BOTH, &list);
    const uint32_t count = value_is_array(list) ? array_count(list) : 0;
    value_unref(list);
    return count;
}

static enum run_result count(struct run *run, void *ctx, struct value *result)
{
    (void)ctx;
    *result = value_int(count_items(run));
    return RUN_DONE;
}

static enum run_result look(struct run *run, void *ctx, struct value *result)
{
    struct value seen = VALUE_NONE;
    (void)ctx;
    (void)result;
    (void)run_read(run, total, READ_DEEP, READ_FOR_BOTH, &seen);
    value_unref(seen);
    return RUN_DONE;
}

static enum run_result add(struct run *run, void *ctx, struct value *result)
{
    const struct value payload = handling_payload(run->handling);
    struct err_detail detail = {0};
    (void)ctx;
    if (value_is_string(payload)) {
        (void)err_set(&detail, ERR_GIVEN_UP, "texts are not sold here");
        return run_fail(run, &detail);
    }
    const uint32_t before = count_items(run);
    EXPECT_EQ(transaction_merge_adopt(
                  run->transaction,
                  items,
                  WRITE_APPEND,
                  array_push_adopt(value_empty_array(), value_ref(payload)),
                  &detail),
              ERR_OK);
    *result = value_empty_object();
    object_put_number(result, "count", before + 1);
    return RUN_DONE;
}

static enum err build(struct builder *builder,
                      void *ctx,
                      struct err_detail *detail)
{
    const struct digest *digest = ctx;
    const struct value names[] = {
        value_text_new("items"),
        value_text_new("count"),
        value_text_new("add"),
        value_text_new("also"),
        value_text_new("show"),
    };
    const struct builder_cell cell = {.name = names[0],
                                      .initial = value_empty_array()};
    const struct builder_node counting = {.name = names[1],
                                          .body = {count, NULL, NULL, digest}};
    const struct builder_node showing = {.name = names[4],
                                         .body = {look, NULL, NULL, digest}};
    const struct builder_handler adding = {
        .name = names[2],
        .body = {add, NULL, NULL, NULL},
    };
    struct place *stream = NULL;
    enum err err = builder_state(builder, &cell, &items, detail);
    err = err == ERR_OK ? builder_computed(builder, &counting, &total, detail)
                        : err;
    err = err == ERR_OK ? builder_effect(builder, &showing, detail) : err;
    err = err == ERR_OK ? builder_handler(builder, &adding, &stream, detail)
                        : err;
    err =
        err == ERR_OK ? builder_result(builder, names[1], total, detail) : err;
    err =
        err == ERR_OK ? builder_result(builder, names[2], stream, detail) : err;
    err =
        err == ERR_OK ? builder_result(builder, names[3], stream, detail) : err;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        value_unref(names[i]);
    }
    return err;
}

void http_run(struct http_kit *kit)
{
    static const char *const spaces[] = {"space"};
    static struct digest digest;
    const struct live_options options = {
        .folder = kit->store.folder,
        .spaces = spaces,
        .space_count = 1,
        .host = &kit->sim.host,
        .immediate = true,
    };
    struct err_detail detail = {0};
    const struct value name = value_text_new("cart");
    digest = digest_of_bytes("test", "cart", 4);
    if (!EXPECT_EQ(live_open(&options, &kit->live, &detail), ERR_OK)) {
        return;
    }
    kit->pattern = pattern_new(
        &(struct pattern_spec){.name = name, .build = build, .ctx = &digest});
    const struct piece_options start = {.name = name, .pattern = kit->pattern};
    struct piece *piece = NULL;
    EXPECT_EQ(piece_start(live_runtime(kit->live), &start, &piece, &detail),
              ERR_OK);
    value_unref(name);
    http_run_on(kit);
}

void http_run_on(struct http_kit *kit)
{
    live_refresh(kit->live);
    EXPECT_EQ(live_settle(kit->live, kit->sim.now), LIVE_AT_REST);
}

void http_run_end(struct http_kit *kit)
{
    if (kit->live != NULL) {
        EXPECT_EQ(live_stop(kit->live, live_now(kit->live), NULL), ERR_OK);
        pattern_unref(kit->pattern);
        kit->live = NULL;
    }
}
