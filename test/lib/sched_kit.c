/* A scheduler on a stage (lib/sched_kit.h is the manual). */

#include "lib/sched_kit.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "host/hub_link.h"
#include "lib/persist_kit.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "sched/graph.h"
#include "value/json.h"

enum {
    CLOCK_START = 1000,
};

struct kit_store {
    struct store_kit kit;
    struct hub hub;
    struct hub_link link;
    uint64_t others; /* commits of somebody else */
    bool in_file;    /* which is opened anew by each process */
    enum err
        refuse; /* the verdict on the next commit of the kit; OK: its own */
};

/* -- Texts --------------------------------------------------------------- */

static struct buf *next_text(struct sched_kit *kit)
{
    struct buf *text = &kit->texts[kit->next_text++ % KIT_ANSWERS];
    buf_clear(text);
    return text;
}

void kit_put_value(struct buf *to, struct value value)
{
    if (value_is_absent(value)) {
        buf_append_text(to, "()");
        return;
    }
    const size_t from = to->length;
    json_write(to, value, JSON_AS_GIVEN, 0);
    for (size_t i = from; i < to->length; i++) {
        if (to->at[i] == '"') {
            to->at[i] = '\'';
        }
    }
}

static void put_word(struct buf *to, const char *word)
{
    if (to->length > 0) {
        buf_append_char(to, ' ');
    }
    buf_append_text(to, word);
}

static const char *take(struct sched_kit *kit, struct buf *from)
{
    struct buf *text = next_text(kit);
    buf_append(text, from->at, from->length);
    buf_clear(from);
    return buf_text(text);
}

const char *kit_ran(struct sched_kit *kit)
{
    return take(kit, &kit->order);
}

const char *kit_triggers(struct sched_kit *kit)
{
    return take(kit, &kit->triggers);
}

const char *kit_records(struct sched_kit *kit)
{
    return take(kit, &kit->records);
}

const char *kit_errors(struct sched_kit *kit)
{
    return take(kit, &kit->errors);
}

/* -- Hooks --------------------------------------------------------------- */

static void put_node_name(struct buf *to, const struct node *node)
{
    const struct value string = node_name(node);
    if (!value_is_string(string)) {
        buf_append_text(to, "(pull)");
        return;
    }
    const struct text name = value_text(&string);
    buf_append(to, name.at, name.length);
}

static void on_error(void *ctx,
                     const struct node *node,
                     const struct err_detail *detail)
{
    struct sched_kit *kit = ctx;
    kit->error_count++;
    put_word(&kit->errors, "");
    put_node_name(&kit->errors, node);
    buf_printf(&kit->errors, " %s: %s;", err_name(detail->err), detail->text);
}

static void on_unsettled(void *ctx,
                         const struct node *const *nodes,
                         size_t count)
{
    struct sched_kit *kit = ctx;
    kit->unsettled_count++;
    buf_clear(&kit->unsettled);
    for (size_t i = 0; i < count; i++) {
        put_word(&kit->unsettled, "");
        put_node_name(&kit->unsettled, nodes[i]);
    }
}

static void on_run(void *ctx,
                   const struct run *run,
                   const struct run_record *record)
{
    (void)run;
    struct sched_kit *kit = ctx;
    struct buf *to = &kit->records;
    if (!value_is_string(record->name)) {
        return; /* a pull */
    }
    const struct text name = value_text(&record->name);
    put_word(to, "");
    buf_append(to, name.at, name.length);
    buf_printf(to,
               " %s causes=%u%s;",
               record->kind == NODE_EFFECT ? "effect" : "computation",
               record->cause_count,
               record->version > 0 ? " changed" : "");
}

/* Sources are nodes, or nobody, in these tests. */
static void on_trigger(void *ctx,
                       const struct node *node,
                       const struct notification *what,
                       const struct place *place,
                       const char *decision)
{
    struct sched_kit *kit = ctx;
    struct buf *to = &kit->triggers;
    const struct text id = value_text(&place->entity->id);
    put_word(to, decision);
    buf_append_char(to, ' ');
    put_node_name(to, node);
    buf_append_char(to, ' ');
    buf_append(to, id.at, id.length);
    buf_append_text(to, " by ");
    if (what->source != NULL) {
        put_node_name(to, what->source);
    } else {
        buf_append_text(to, "(nobody)");
    }
    buf_append_char(to, ';');
}

void kit_trace(struct sched_kit *kit, bool on)
{
    kit->sched->hooks.run = on ? on_run : NULL;
    kit->sched->hooks.trigger = on ? on_trigger : NULL;
}

/* -- Life ---------------------------------------------------------------- */

static void begin(struct sched_kit *kit,
                  struct transport *transport,
                  const char *session,
                  uint64_t seed)
{
    replica_init(&kit->replica, NULL);
    sim_host_init(&kit->sim, CLOCK_START, 1);
    const struct space_options space_options = {
        .id = value_text_new("space"),
        .session = transport != NULL ? value_text_new(session) : VALUE_NONE,
        .transport = transport,
        .seed = seed,
        .deltas = true,
    };
    CHECK(space_open(&kit->replica, &space_options, &kit->space, NULL) ==
          ERR_OK);
    value_unref(space_options.id);
    value_unref(space_options.session);
    const struct sched_options options = {
        .host = &kit->sim.host,
        .hooks = {.ctx = kit, .error = on_error, .not_settling = on_unsettled},
    };
    kit->sched = sched_new(&kit->replica, &options);
    persistence_listen(kit->sched, kit->space);
}

void kit_begin(struct sched_kit *kit)
{
    kit_begin_behind(kit, NULL, NULL, 1);
}

void kit_begin_behind(struct sched_kit *kit,
                      struct transport *transport,
                      const char *session,
                      uint64_t seed)
{
    *kit = (struct sched_kit){0};
    begin(kit, transport, session, seed);
}

static enum err judge(void *ctx,
                      struct hub_judgement *judgement,
                      struct err_detail *detail)
{
    struct kit_store *store = ctx;
    (void)judgement;
    const enum err err = store->refuse;
    store->refuse = ERR_OK;
    return err == ERR_OK ? ERR_OK : err_set(detail, err, "%s", err_text(err));
}

void kit_refuse_next(struct sched_kit *kit, enum err err)
{
    kit->store->refuse = err;
}

static void open_hub(struct kit_store *store)
{
    const struct hub_options options = {
        .immediate = true,
        .seed = 1,
        .judge = judge,
        .ctx = store,
        .long_deltas = true,
    };
    hub_init(&store->hub, &store->kit.engine, &options, CLOCK_START);
}

static void begin_on(struct sched_kit *kit, bool held, bool in_file)
{
    *kit = (struct sched_kit){0};
    kit->store = mem_alloc_zero(sizeof *kit->store);
    struct kit_store *store = kit->store;
    store->in_file = in_file;
    if (in_file) {
        /* Processes end here, the power does not fail. */
        const struct engine_options options = {.durability = DURABILITY_NORMAL};
        kit_open_file(&store->kit, &options);
    } else {
        kit_open_memory(&store->kit, NULL);
    }
    open_hub(store);
    hub_link_init(&store->link,
                  &store->hub,
                  held ? HUB_LINK_HELD : HUB_LINK_DIRECT,
                  VALUE_NONE);
    begin(kit, &store->link.transport, "kit", 1);
}

void kit_begin_with_store(struct sched_kit *kit, bool held)
{
    begin_on(kit, held, false);
}

void kit_begin_with_file(struct sched_kit *kit, bool held)
{
    begin_on(kit, held, true);
}

void kit_begin_beside(struct sched_kit *kit,
                      struct sched_kit *other,
                      const char *session)
{
    *kit = (struct sched_kit){0};
    kit->beside = mem_alloc_zero(sizeof *kit->beside);
    hub_link_init(kit->beside, &other->store->hub, HUB_LINK_DIRECT, VALUE_NONE);
    begin(kit, &kit->beside->transport, session, 2);
}

static void node_free(struct kit_node *node)
{
    for (size_t i = 0; i < node->read_count; i++) {
        place_unref(node->reads[i].place);
    }
    for (size_t i = 0; i < node->write_count; i++) {
        place_unref(node->writes[i].place);
    }
    buf_release(&node->seen);
    mem_free(node, sizeof *node);
}

/* A scheduler ends when none of its commits is on the way. */
static void wait_for_answers(struct sched_kit *kit)
{
    for (unsigned i = 0;
         i < KIT_WAKES_MAX && kit->store != NULL && kit->sched->inflight > 0;
         i++) {
        replica_step(&kit->replica, kit->sim.now);
        hub_step(&kit->store->hub, kit->sim.now);
        replica_pump(&kit->replica);
        hub_link_pump(&kit->store->link);
        const mono_ms wake = replica_next_wake(&kit->replica);
        if (wake != MONO_NEVER && wake > kit->sim.now) {
            sim_host_advance(&kit->sim, wake);
        }
    }
}

/* The end of everything above the store. */
static void end_process(struct sched_kit *kit)
{
    sched_free(kit->sched);
    VEC_FOREACH (&kit->nodes, node) {
        node_free(*node);
    }
    vec_release(&kit->nodes);
    replica_release(&kit->replica);
}

void kit_restart(struct sched_kit *kit, bool crash)
{
    struct kit_store *store = kit->store;
    if (!crash) {
        kit_pump(kit);
        wait_for_answers(kit);
    }
    end_process(kit);
    const enum hub_link_mode mode = store->link.mode;
    hub_link_release(&store->link);
    if (store->in_file) {
        hub_release(&store->hub);
        kit_reopen(&store->kit);
        open_hub(store);
    }
    hub_link_init(&store->link, &store->hub, mode, VALUE_NONE);
    char name[24];
    (void)snprintf(name, sizeof name, "kit%u", ++kit->lives);
    begin(kit, &store->link.transport, name, kit->lives + 1);
}

struct store_kit *kit_store_of(struct sched_kit *kit)
{
    return &kit->store->kit;
}

void kit_end(struct sched_kit *kit)
{
    wait_for_answers(kit);
    end_process(kit);
    if (kit->beside != NULL) {
        hub_link_release(kit->beside);
        mem_free(kit->beside, sizeof *kit->beside);
    }
    if (kit->store != NULL) {
        hub_link_release(&kit->store->link);
        hub_release(&kit->store->hub);
        kit_close(&kit->store->kit);
        mem_free(kit->store, sizeof *kit->store);
    }
    struct buf *const bufs[] = {
        &kit->order,
        &kit->triggers,
        &kit->records,
        &kit->errors,
        &kit->unsettled,
    };
    for (size_t i = 0; i < COUNT_OF(bufs); i++) {
        buf_release(bufs[i]);
    }
    for (size_t i = 0; i < KIT_ANSWERS; i++) {
        buf_release(&kit->texts[i]);
    }
}

bool kit_check(struct sched_kit *kit)
{
    return EXPECT(sched_check(kit->sched));
}

void kit_check_step(struct sched_kit *kit)
{
#ifdef HD_PARANOID
    if (!kit->unchecked && kit->sched->run == NULL) {
        (void)kit_check(kit);
    }
#else
    (void)kit;
#endif
}

/* -- The store ----------------------------------------------------------- */

void kit_pump(struct sched_kit *kit)
{
    CHECK(kit->beside != NULL || kit->store != NULL);
    struct hub_link *link =
        kit->beside != NULL ? kit->beside : &kit->store->link;
    replica_pump(&kit->replica);
    hub_link_pump(link);
    replica_pump(&kit->replica);
    hub_link_pump(link);
    kit_check_step(kit);
}

void kit_elsewhere(struct sched_kit *kit, const char *operation)
{
    struct kit_store *store = kit->store;
    char line[400];
    (void)snprintf(line,
                   sizeof line,
                   "elsewhere %u | %s",
                   (unsigned)++store->others,
                   operation);
    kit_commit(&store->kit, line);
    EXPECT_EQ(store->kit.verdicts[0].err, ERR_OK);
    hub_poll(&store->hub);
    kit_check_step(kit);
}

const char *kit_stored(struct sched_kit *kit, const char *name)
{
    CHECK(kit->store != NULL);
    return kit_read(&kit->store->kit, name);
}

/* -- Places -------------------------------------------------------------- */

static struct entity *entity_named(struct sched_kit *kit, struct text name)
{
    struct space *space = kit->space;
    if (name.at[0] == '>') {
        space = kit->second;
        name = (struct text){name.at + 1, name.length - 1};
    }
    const char *tilde = memchr(name.at, '~', name.length);
    enum scope scope = SCOPE_SPACE;
    size_t length = name.length;
    if (tilde != NULL) {
        length = (size_t)(tilde - name.at);
        const struct value word =
            value_string_new(tilde + 1, name.length - length - 1);
        CHECK(scope_read(word, &scope));
        value_unref(word);
    }
    const struct value id = value_string_new(name.at, length);
    struct entity *entity = NULL;
    CHECK(entity_of(space, scope, id, &entity, NULL) == ERR_OK);
    value_unref(id);
    return entity;
}

static struct place *place_named(struct sched_kit *kit, struct text name)
{
    const char *dot = memchr(name.at, '.', name.length);
    const size_t length = dot != NULL ? (size_t)(dot - name.at) : name.length;
    const bool root = name.at[length - 1] == '!';
    struct entity *entity =
        entity_named(kit, (struct text){name.at, length - root});
    if (dot == NULL) {
        return root ? place_root(entity) : place_payload(entity);
    }
    struct buf pointer = {0};
    buf_append_text(&pointer, root ? "" : "/value");
    for (size_t i = length; i < name.length; i++) {
        buf_append_char(&pointer, name.at[i]);
        if (name.at[i] == '.') {
            pointer.at[pointer.length - 1] = '/';
        }
    }
    struct path *path = from_pointer(&kit->replica.paths, buf_text(&pointer));
    buf_release(&pointer);
    struct place *place = place_of(entity, path);
    path_unref(path);
    return place;
}

struct place *kit_place(struct sched_kit *kit, const char *name)
{
    return place_named(kit, (struct text){name, strlen(name)});
}

/* -- Documents ----------------------------------------------------------- */

static void put(struct sched_kit *kit,
                struct transaction *transaction,
                struct text name,
                const char *json)
{
    struct place *place = place_named(kit, name);
    struct err_detail detail = {0};
    const enum err err = strcmp(json, "()") == 0
                             ? transaction_delete(transaction, place, &detail)
                             : transaction_put_adopt(transaction,
                                                     place,
                                                     from_quoted(json),
                                                     &detail);
    place_unref(place);
    if (err != ERR_OK) {
        (void)test_fail(__FILE__, __LINE__, "%s", detail.text);
    }
}

/* What is written is here first, as far as nodes rely on it. */
static void bring(struct sched_kit *kit, struct text name)
{
    struct place *place = place_named(kit, name);
    struct entity *entity = place->entity;
    const bool needed = entity->known > 0 || kit->lives > 0;
    for (int i = 0; needed && !entity->loaded && i < 10; i++) {
        space_want(entity->space, entity);
        const mono_ms wake = replica_next_wake(&kit->replica);
        if (wake != MONO_NEVER && wake > kit->sim.now) { /* not connected */
            sim_host_advance(&kit->sim, wake);
        }
        replica_step(&kit->replica, kit->sim.now);
        kit_pump(kit); /* opens the session, and then asks */
    }
    place_unref(place);
}

static void finish(struct sched_kit *kit, struct transaction *transaction)
{
    struct err_detail detail = {0};
    if (transaction_commit(transaction, &detail) != ERR_OK) {
        (void)test_fail(__FILE__, __LINE__, "%s", detail.text);
    }
    transaction_release(transaction);
    kit_check_step(kit);
}

void kit_set_in_group(struct sched_kit *kit,
                      const char *name,
                      const char *json,
                      const void *group)
{
    const struct transaction_options options = {.group = group};
    const struct text written = {name, strlen(name)};
    bring(kit, written);
    struct transaction *transaction =
        transaction_begin(&kit->replica, &options);
    put(kit, transaction, written, json);
    finish(kit, transaction);
}

void kit_set(struct sched_kit *kit, const char *name, const char *json)
{
    kit_set_in_group(kit, name, json, NULL);
}

void kit_set_number(struct sched_kit *kit, const char *name, int64_t number)
{
    char json[24];
    (void)snprintf(json, sizeof json, "%lld", (long long)number);
    kit_set(kit, name, json);
}

void kit_set_all(struct sched_kit *kit, const char *line)
{
    for (const char *at = line; *at != '\0';) {
        const size_t length = strcspn(at, "=");
        bring(kit, (struct text){at, length});
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    struct transaction *transaction = transaction_begin(&kit->replica, NULL);
    struct buf json = {0};
    while (*line != '\0') {
        const char *equals = strchr(line, '=');
        CHECK(equals != NULL);
        const char *end = strchr(equals, ' ');
        end = end != NULL ? end : equals + strlen(equals);
        buf_clear(&json);
        buf_append(&json, equals + 1, (size_t)(end - equals) - 1);
        put(kit,
            transaction,
            (struct text){line, (size_t)(equals - line)},
            buf_text(&json));
        line = end;
        while (*line == ' ') {
            line++;
        }
    }
    buf_release(&json);
    finish(kit, transaction);
}

static struct value visible(const struct place *place)
{
    struct value value = VALUE_NONE;
    (void)entity_state_at(&place->entity->visible, place->path, &value);
    return value;
}

const char *kit_get(struct sched_kit *kit, const char *name)
{
    struct place *place = kit_place(kit, name);
    const struct value value = visible(place);
    struct buf *text = next_text(kit);
    kit_put_value(text, value);
    value_unref(value);
    place_unref(place);
    return buf_text(text);
}

int64_t kit_get_number(struct sched_kit *kit, const char *name)
{
    struct place *place = kit_place(kit, name);
    const struct value value = visible(place);
    const int64_t number =
        value_tag(value) == TAG_INT ? value_integer(value) : 0;
    value_unref(value);
    place_unref(place);
    return number;
}

const char *kit_pull(struct sched_kit *kit, const char *name)
{
    struct place *place = kit_place(kit, name);
    struct value value = VALUE_NONE;
    (void)sched_pull(kit->sched, place, kit->sim.now, &value);
    struct buf *text = next_text(kit);
    kit_put_value(text, value);
    value_unref(value);
    place_unref(place);
    kit_check_step(kit);
    return buf_text(text);
}

bool kit_expect(const char *file,
                int line,
                struct sched_kit *kit,
                const char *name,
                const char *want)
{
    return test_eq_text(file, line, name, kit_get(kit, name), want);
}

/* -- Time ---------------------------------------------------------------- */

void kit_step(struct sched_kit *kit)
{
    replica_step(&kit->replica, kit->sim.now);
    if (kit->store != NULL) {
        hub_step(&kit->store->hub, kit->sim.now);
    }
    sched_step(kit->sched, kit->sim.now);
    kit_check_step(kit);
}

void kit_tick(struct sched_kit *kit, mono_ms more)
{
    sim_host_advance(&kit->sim, kit->sim.now + more);
    kit_step(kit);
}

bool kit_idle(struct sched_kit *kit)
{
    for (unsigned i = 0; i < KIT_WAKES_MAX; i++) {
        kit_step(kit);
        if (sched_is_idle(kit->sched)) {
            sched_idle_over(kit->sched);
            return true;
        }
        const mono_ms wake = sched_next_wake(kit->sched);
        if (wake == MONO_NEVER) {
            return false;
        }
        if (wake > kit->sim.now) {
            sim_host_advance(&kit->sim, wake);
        }
    }
    return false;
}

/* -- Nodes --------------------------------------------------------------- */

static enum run_result run_node(struct run *run, void *ctx)
{
    struct kit_node *node = ctx;
    node->runs++;
    put_word(&node->kit->order, node->name);
    const enum run_result result = node->fn(run, node);
    const bool waits = node->kit->waits && run_is_waiting(run);
    node->runs -= waits;
    return waits ? RUN_WAITING : run->sched->unwinding ? RUN_AGAIN : result;
}

static void on_release(void *ctx)
{
    ((struct kit_node *)ctx)->node = NULL;
}

/* The places of a list of words. */
size_t kit_places(struct sched_kit *kit,
                  const char *line,
                  size_t length,
                  struct kit_place *out)
{
    size_t count = 0;
    const char *end = line + length;
    while (line < end) {
        if (*line == ' ') {
            line++;
            continue;
        }
        struct kit_place place = {.kind = READ_DEEP, .declared = true};
        if (*line == '^') {
            place.kind = READ_SHAPE;
        } else if (*line == '?') {
            place.flags = READ_NOT_FOR_SCHEDULING;
        }
        place.declared = *line != '-' && *line != '?';
        line += *line == '^' || *line == '?' || *line == '-';
        const char *from = line;
        while (line < end && *line != ' ') {
            line++;
        }
        place.place =
            place_named(kit, (struct text){from, (size_t)(line - from)});
        CHECK(count < KIT_PLACES_MAX);
        out[count++] = place;
    }
    return count;
}

static size_t pick_places(const struct kit_place *from,
                          size_t count,
                          struct place **out)
{
    size_t picked = 0;
    for (size_t i = 0; i < count; i++) {
        if (from[i].declared) {
            out[picked++] = from[i].place;
        }
    }
    return picked;
}

/* Reads and writes of the node; and the outputs to declare. */
static size_t parse_surface(struct kit_node *node,
                            const struct kit_spec *spec,
                            struct place **outputs)
{
    const char *surface = spec->surface != NULL ? spec->surface : "";
    const char *arrow = strstr(surface, "->");
    const size_t length =
        arrow != NULL ? (size_t)(arrow - surface) : strlen(surface);
    node->read_count = kit_places(node->kit, surface, length, node->reads);
    if (arrow != NULL) {
        node->write_count =
            kit_places(node->kit, arrow + 2, strlen(arrow + 2), node->writes);
    }
    const size_t count =
        spec->effect ? 0
                     : pick_places(node->writes, node->write_count, outputs);
    for (size_t i = 0; i < count; i++) {
        place_ref(outputs[i]);
    }
    if (spec->writes != NULL) {
        for (size_t i = 0; i < node->write_count; i++) {
            place_unref(node->writes[i].place);
        }
        node->write_count = kit_places(node->kit,
                                       spec->writes,
                                       strlen(spec->writes),
                                       node->writes);
    }
    return count;
}

struct kit_node *kit_add(struct sched_kit *kit,
                         const char *name,
                         const struct kit_spec *spec)
{
    struct kit_node *node = mem_alloc_zero(sizeof *node);
    vec_push(&kit->nodes, node);
    node->kit = kit;
    node->fn = spec->fn;
    node->ctx = spec->ctx;
    node->k = spec->k;
    (void)snprintf(node->name, sizeof node->name, "%s", name);
    struct place *reads[KIT_PLACES_MAX];
    struct place *outputs[KIT_PLACES_MAX];
    struct place *envelopes[KIT_PLACES_MAX];
    struct kit_place parsed[KIT_PLACES_MAX];
    const size_t output_count = parse_surface(node, spec, outputs);
    const char *wide = spec->envelopes != NULL ? spec->envelopes : "";
    const size_t wide_count = kit_places(kit, wide, strlen(wide), parsed);
    struct node_identity identity = persist_identity(kit, name);
    const struct node_spec real = {
        .kind = spec->effect ? NODE_EFFECT : NODE_COMPUTATION,
        .run = run_node,
        .ctx = node,
        .release = on_release,
        .name = value_text_new(name),
        .group = spec->group,
        .outputs = outputs,
        .output_count = output_count,
        .envelopes = envelopes,
        .envelope_count = pick_places(parsed, wide_count, envelopes),
        .reads = reads,
        .read_count = pick_places(node->reads, node->read_count, reads),
        .debounce = spec->debounce,
        .throttle = spec->throttle,
        .no_auto_debounce = spec->no_auto_debounce,
        .immediate = spec->immediate,
        .identity = kit->piece != NULL ? &identity : NULL,
        .clearance = spec->clearance,
    };
    node->node = sched_register(kit->sched, &real);
    for (size_t i = 0; i < wide_count; i++) {
        place_unref(parsed[i].place);
    }
    for (size_t i = 0; i < output_count; i++) {
        place_unref(outputs[i]);
    }
    value_unref(identity.piece);
    value_unref(real.name);
    kit_check_step(kit);
    return node;
}

void kit_remove(struct kit_node *node)
{
    CHECK(node->node != NULL);
    struct node *gone = node->node;
    node->node = NULL;
    sched_remove(node->kit->sched, gone);
    kit_check_step(node->kit);
}

struct kit_node *kit_computation(struct sched_kit *kit,
                                 const char *name,
                                 const char *surface,
                                 kit_fn *fn,
                                 int64_t k)
{
    const struct kit_spec spec = {.surface = surface, .fn = fn, .k = k};
    return kit_add(kit, name, &spec);
}

struct kit_node *kit_sum(struct sched_kit *kit,
                         const char *name,
                         const char *surface,
                         int64_t k)
{
    return kit_computation(kit, name, surface, kit_fn_sum, k);
}

struct kit_node *kit_effect(struct sched_kit *kit,
                            const char *name,
                            const char *surface,
                            kit_fn *fn,
                            int64_t k)
{
    const struct kit_spec spec = {
        .surface = surface,
        .effect = true,
        .fn = fn,
        .k = k,
    };
    return kit_add(kit, name, &spec);
}

struct kit_node *kit_see(struct sched_kit *kit,
                         const char *name,
                         const char *surface)
{
    return kit_effect(kit, name, surface, kit_fn_see, 0);
}

bool kit_is_reader(const struct kit_node *reader, const struct kit_node *writer)
{
    struct reader_walk walk = graph_readers(writer->node);
    for (const struct read_link *read = graph_next_reader(&walk); read != NULL;
         read = graph_next_reader(&walk)) {
        if (read->node == reader->node) {
            return true;
        }
    }
    return false;
}
