/* Programs: a state of Lua, its module, and one Lua runtime. */

#include "script/program.h"

#include <string.h>

#include "base/mem.h"
#include "runtime/piece.h"
#include "script/cells.h"
#include "script/convert.h"
#include "script/lua_runtime.h"
#include "script/patterns.h"
#include "script/pieces.h"
#include "script/reads.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"

/* References. */
struct pattern_list {
    VEC(struct pattern *) at;
};

struct program {
    struct program_options options;
    struct script *script;
    struct heddle heddle;
    struct script_error broken; /* the module could not be made */
    struct script_function lines;
    struct pattern_list returned; /* by the last file, by name */
    struct lua_runtime_host host;
    struct lua_runtime lua;
    bool is_attached; /* the Lua runtime is there, */
    bool is_cut;      /* and its runtime is about to end, or has */
};

static void release_patterns(struct pattern_list *list)
{
    VEC_FOREACH (&list->at, pattern) {
        pattern_unref(*pattern);
    }
    vec_release(&list->at);
}

/* -- The host ------------------------------------------------------------ */

static mono_ms host_now(void *ctx)
{
    const struct program *program = ctx;
    return program->options.host.now(program->options.host.ctx);
}

static uint64_t host_wall(void *ctx)
{
    const struct program_host *host = &((struct program *)ctx)->options.host;
    return host->wall != NULL ? host->wall(host->ctx) : host->now(host->ctx);
}

static void host_report(void *ctx,
                        struct value source,
                        const struct place *place,
                        const char *message)
{
    const struct program_host *host = &((struct program *)ctx)->options.host;
    if (host->report == NULL) {
        return;
    }
    struct buf text = {0};
    if (value_is_string(source)) {
        const struct text name = value_text(&source);
        buf_append(&text, name.at, name.length);
        buf_append_text(&text, ": ");
    }
    if (place != NULL) {
        introspection_write_place(&text, place);
        buf_append_text(&text, ": ");
    }
    buf_append_text(&text, message);
    host->report(host->ctx, buf_text(&text));
    buf_release(&text);
}

static void host_notice(void *ctx, const char *text)
{
    const struct program_host *host = &((struct program *)ctx)->options.host;
    if (host->notice != NULL) {
        host->notice(host->ctx, text);
    }
}

static void host_settle(void *ctx)
{
    const struct program_host *host = &((struct program *)ctx)->options.host;
    host->settle(host->ctx);
}

static void host_load(void *ctx, struct entity *entity)
{
    const struct program_host *host = &((struct program *)ctx)->options.host;
    host->load(host->ctx, entity);
}

static struct random *source_random(void *ctx)
{
    struct program *program = ctx;
    return program->is_attached && !program->is_cut
               ? &program->lua.toplevel.random
               : NULL;
}

/* -- Life ---------------------------------------------------------------- */

struct program *program_new(const struct program_options *options)
{
    struct program *program = mem_alloc_zero(sizeof *program);
    program->options = *options;
    const struct script_config config = {
        .host = {.ctx = options->host.ctx,
                 .print = options->host.print,
                 .interrupted = options->host.interrupted,
                 .module = options->host.module},
        .memory_bytes = options->memory_bytes,
        .steps = options->steps,
    };
    program->script = script_new(&config);
    program->host = (struct lua_runtime_host){
        .ctx = program,
        .now = host_now,
        .wall = host_wall,
        .report = host_report,
        .notice = host_notice,
        .settle = options->host.settle != NULL ? host_settle : NULL,
        .load = options->host.load != NULL ? host_load : NULL,
    };
    const struct heddle_source source = {
        .random = source_random,
        .now = host_wall,
        .ctx = program,
    };
    const enum script_cause cause = heddle_begin(&program->heddle,
                                                 program->script,
                                                 &source,
                                                 &program->broken);
    (void)cause; /* what is loaded says so */
    program->heddle.functions = options->functions;
    return program;
}

void program_free(struct program *program)
{
    if (program == NULL) {
        return;
    }
    program_detach(program);
    if (program->is_attached) {
        lua_runtime_clear_away(&program->lua);
    }
    release_patterns(&program->returned);
    script_function_release(program->script, &program->lines);
    heddle_end(&program->heddle);
    script_error_release(&program->broken);
    script_free(program->script);
    mem_free(program, sizeof *program);
}

void program_attach(struct program *program, struct runtime *runtime)
{
    CHECK(!program->is_attached || program->is_cut);
    if (program->is_attached) {
        lua_runtime_clear_away(&program->lua);
    }
    const struct lua_runtime_options options = {
        .heddle = &program->heddle,
        .runtime = runtime,
        .host = &program->host,
        .seed = program->options.seed,
    };
    lua_runtime_set_up(&program->lua, &options);
    program->is_attached = true;
    program->is_cut = false;
}

/* What is code of this program: whoever drives the runtime on, for what is
 * still to be confirmed, must not meet it. */
static void stop_pieces(struct program *program)
{
    bool any = true;
    while (any) {
        any = false;
        LIST_FOREACH (&program->lua.runtime->pieces, at) {
            struct piece *piece = CONTAINER_OF(at, struct piece, node);
            if (piece->pattern != NULL && patterns_is_lua(piece->pattern)) {
                piece_stop(piece);
                any = true;
                break;
            }
        }
    }
}

void program_detach(struct program *program)
{
    if (program->is_attached && !program->is_cut) {
        stop_pieces(program);
        lua_runtime_cut(&program->lua);
        program->is_cut = true;
    }
}

/* -- Loading ------------------------------------------------------------- */

/* The sentence of an error, which is released. */
static enum err say(struct script_error *error,
                    enum script_cause cause,
                    struct err_detail *detail)
{
    enum err err = ERR_OK;
    if (cause != SCRIPT_FINE) {
        struct buf text = {0};
        script_error_write(&text, error);
        err = err_set(detail,
                      cause == SCRIPT_SYNTAX ? ERR_SYNTAX : ERR_ARGUMENT,
                      "%s",
                      buf_text(&text));
        buf_release(&text);
    }
    script_error_release(error);
    return err;
}

/* In the order of the names: that of a table is nobody's choice. */
static void add_pattern(struct pattern_list *list, struct pattern *pattern)
{
    size_t at = list->at.count;
    vec_push(&list->at, pattern_ref(pattern));
    while (at > 0 && value_compare_strings(pattern->name,
                                           list->at.at[at - 1]->name) < 0) {
        list->at.at[at] = list->at.at[at - 1];
        at--;
    }
    list->at.at[at] = pattern;
}

static void take_patterns(lua_State *L, int count, void *ctx)
{
    struct pattern_list *returned = ctx;
    struct pattern *one = count > 0 ? patterns_test(L, 1) : NULL;
    if (one != NULL) {
        add_pattern(returned, one);
    } else if (count > 0 && lua_istable(L, 1)) {
        lua_pushnil(L);
        while (lua_next(L, 1) != 0) {
            struct pattern *pattern = patterns_test(L, -1);
            if (pattern != NULL) {
                add_pattern(returned, pattern);
            }
            lua_pop(L, 1);
        }
    }
}

enum err program_load(struct program *program,
                      const struct program_source *source,
                      struct err_detail *detail)
{
    struct script *script = program->script;
    if (program->broken.cause != SCRIPT_FINE) {
        return err_set(detail, ERR_NO_MEMORY, "the budget is too small");
    }
    struct script_function environment = {0};
    struct script_function main = {0};
    struct script_error error = {0};
    struct pattern_list returned = {0};
    const struct script_chunk chunk = {source->file,
                                       source->text,
                                       source->length};
    enum script_cause cause =
        script_environment_new(script, GLOBALS_FIXED, &environment, &error);
    if (cause == SCRIPT_FINE) {
        cause = script_load(script, environment, &chunk, &main, &error);
    }
    if (cause == SCRIPT_FINE) {
        const struct script_call call = {
            .function = main,
            .take = take_patterns,
            .ctx = &returned,
        };
        cause = script_call(script, &call, &error);
    }
    script_function_release(script, &main);
    script_function_release(script, &environment);
    enum err err = say(&error, cause, detail);
    if (err == ERR_OK && returned.at.count == 0) {
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "%s: a pattern file must return the result of "
                      "heddle.pattern(name, function(p) ... end)",
                      source->file);
    }
    if (err == ERR_OK) {
        const struct pattern_list before = program->returned;
        program->returned = returned;
        returned = before;
    }
    release_patterns(&returned);
    return err;
}

struct pattern *program_pattern(const struct program *program)
{
    const struct pattern_list *returned = &program->returned;
    return returned->at.count == 1 ? returned->at.at[0] : NULL;
}

struct pattern *program_returned(const struct program *program,
                                 const char *name)
{
    VEC_FOREACH (&program->returned.at, pattern) {
        if (value_is_text((*pattern)->name, name)) {
            return *pattern;
        }
    }
    return NULL;
}

void program_write_returned(const struct program *program, struct buf *to)
{
    VEC_FOREACH (&program->returned.at, pattern) {
        const struct text name = value_text(&(*pattern)->name);
        buf_append_text(to, pattern == program->returned.at.at ? "" : ", ");
        buf_append(to, name.at, name.length);
    }
}

struct pattern *program_pattern_named(const struct program *program,
                                      const char *name)
{
    VEC_FOREACH (&program->heddle.patterns, pattern) {
        if (value_is_text((*pattern)->name, name)) {
            return *pattern;
        }
    }
    return NULL;
}

/* -- Lines --------------------------------------------------------------- */

static struct program *program_of(lua_State *L)
{
    return CONTAINER_OF(heddle_of(L), struct program, heddle);
}

static struct lua_runtime *check_lua_runtime(lua_State *L)
{
    struct program *program = program_of(L);
    if (!program->is_attached || program->is_cut) {
        (void)luaL_error(L, "there is no runtime");
    }
    return &program->lua;
}

static int line_doc(lua_State *L)
{
    lua_settop(L, 2);
    (void)cells_push_named(L, check_lua_runtime(L), 1, 2);
    return 1;
}

static int line_piece(lua_State *L)
{
    struct lua_runtime *lua = check_lua_runtime(L);
    luaL_checktype(L, 1, LUA_TSTRING);
    const struct value name = convert_check(L, 1, "the name");
    struct piece *piece = piece_find(lua->runtime, NULL, name);
    value_unref(name);
    if (piece == NULL) {
        return luaL_error(L, "no piece with this name is running");
    }
    pieces_push(L, lua, piece);
    return 1;
}

static int add_lines(lua_State *L)
{
    const struct program *program = lua_touserdata(L, 1);
    script_function_push(L, program->lines);
    lua_pushcfunction(L, line_doc);
    lua_setfield(L, -2, "doc");
    lua_pushcfunction(L, line_piece);
    lua_setfield(L, -2, "piece");
    return 0;
}

static void show_results(lua_State *L, int count, void *ctx)
{
    struct buf *shown = ctx;
    for (int i = 1; i <= count; i++) {
        struct value value = VALUE_NONE;
        struct err_detail detail = {0};
        const bool is_value =
            !lua_isnil(L, i) &&
            convert_read(L, i, "it", NULL, &value, &detail) == ERR_OK;
        if (is_value) {
            json_write(shown, value, JSON_AS_GIVEN, 0);
        } else {
            size_t length = 0;
            const char *text = luaL_tolstring(L, i, &length);
            buf_append(shown, text, length);
            lua_pop(L, 1);
        }
        value_unref(value);
        buf_append_char(shown, '\n');
    }
}

static enum script_cause load_line(struct program *program,
                                   const struct program_source *source,
                                   struct script_function *line,
                                   struct script_error *error)
{
    struct script *script = program->script;
    struct buf text = {0};
    buf_append_text(&text, "return ");
    buf_append(&text, source->text, source->length);
    const struct script_chunk expression = {source->file,
                                            buf_text(&text),
                                            text.length};
    enum script_cause cause =
        script_load(script, program->lines, &expression, line, error);
    buf_release(&text);
    if (cause == SCRIPT_SYNTAX) {
        script_error_clear(error);
        const struct script_chunk statements = {source->file,
                                                source->text,
                                                source->length};
        cause = script_load(script, program->lines, &statements, line, error);
    }
    return cause;
}

/* The environment of the lines, made for the first one. */
static enum script_cause begin_lines(struct program *program,
                                     struct script_error *error)
{
    if (program->lines.reference != 0) {
        return SCRIPT_FINE;
    }
    enum script_cause cause = script_environment_new(program->script,
                                                     GLOBALS_DECLARED,
                                                     &program->lines,
                                                     error);
    if (cause == SCRIPT_FINE) {
        cause = script_protect(program->script, add_lines, program, 0, error);
    }
    return cause;
}

enum err program_eval(struct program *program,
                      const struct program_source *source,
                      struct buf *shown,
                      struct err_detail *detail)
{
    struct script *script = program->script;
    struct script_error error = {0};
    struct script_function line = {0};
    enum script_cause cause = begin_lines(program, &error);
    if (cause == SCRIPT_FINE) {
        cause = load_line(program, source, &line, &error);
    }
    if (cause == SCRIPT_FINE) {
        const struct script_call call = {
            .function = line,
            .take = show_results,
            .ctx = shown,
        };
        cause = script_call(script, &call, &error);
    }
    script_function_release(script, &line);
    return say(&error, cause, detail);
}

/* -- Completion ---------------------------------------------------------- */

struct completing {
    struct program *program;
    const char *word; /* the variable before "." or ":"; empty: none */
    size_t length;
    void (*offer)(void *ctx, const char *name);
    void *ctx;
};

/* The string keys of the table on top. */
static void offer_keys(lua_State *L, const struct completing *completing)
{
    const int table = lua_gettop(L);
    lua_pushnil(L);
    while (lua_next(L, table) != 0) {
        lua_pop(L, 1);
        if (lua_type(L, -1) == LUA_TSTRING) {
            completing->offer(completing->ctx, lua_tostring(L, -1));
        }
    }
}

/* Only what can be looked up without running code. */
static int run_complete(lua_State *L)
{
    const struct completing *completing = lua_touserdata(L, 1);
    script_function_push(L, completing->program->lines);
    if (completing->length == 0) {
        offer_keys(L, completing);
        return 0;
    }
    lua_pushlstring(L, completing->word, completing->length);
    const int type = lua_rawget(L, -2);
    const luaL_Reg *method =
        type == LUA_TUSERDATA ? script_object_methods(L, -1) : NULL;
    if (type == LUA_TTABLE) {
        offer_keys(L, completing);
    }
    for (; method != NULL && method->name != NULL; method++) {
        completing->offer(completing->ctx, method->name);
    }
    return 0;
}

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

void program_complete(struct program *program,
                      const char *line,
                      size_t length,
                      void (*offer)(void *ctx, const char *name),
                      void *ctx)
{
    struct completing completing = {
        .program = program,
        .offer = offer,
        .ctx = ctx,
    };
    while (length > 0 && is_word_byte(line[length - 1])) {
        length--;
    }
    if (length > 0 && (line[length - 1] == '.' || line[length - 1] == ':')) {
        size_t start = --length;
        while (start > 0 && is_word_byte(line[start - 1])) {
            start--;
        }
        if (start == length) {
            return; /* of a value that has to be computed */
        }
        completing.word = line + start;
        completing.length = length - start;
    }
    struct script_error error = {0};
    enum script_cause cause = begin_lines(program, &error);
    if (cause == SCRIPT_FINE) {
        cause = script_protect(program->script,
                               run_complete,
                               &completing,
                               0,
                               &error);
    }
    (void)cause; /* then there is nothing to offer */
    script_error_release(&error);
}

/* -- The rest ------------------------------------------------------------ */

enum err program_read(struct program *program,
                      struct place *place,
                      struct value *out,
                      struct err_detail *detail)
{
    CHECK(program->is_attached && !program->is_cut);
    *out = VALUE_NONE;
    return pieces_read(&program->lua, place, out, detail);
}

void program_note_run(struct program *program, const struct node *node)
{
    if (program->is_attached) {
        lua_runtime_note_run(&program->lua, node);
    }
}

uint64_t program_runs(const struct program *program, const struct node *node)
{
    return program->is_attached ? lua_runtime_runs(&program->lua, node->ordinal)
                                : 0;
}

const char *program_lua_release(void)
{
    return LUA_VERSION_MAJOR "." LUA_VERSION_MINOR "." LUA_VERSION_RELEASE;
}
