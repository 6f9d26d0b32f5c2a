/* The method p:migrate, calling its functions, and `old`. */

#include "script/migrations.h"

#include "base/mem.h"
#include "runtime/builder.h"
#include "script/building.h"
#include "script/convert.h"
#include "script/reads.h"
#include "value/compare.h"

/* -- old ----------------------------------------------------------------- */

struct old_object;

/* One call of a function. */
struct calling {
    struct frame frame;
    struct migration *migration;
    struct old_object *old; /* or NULL: nothing refers to it any more */
};

struct old_object {
    struct calling *calling; /* NULL: it is over */
};

static void old_release(void *object)
{
    struct old_object *old = object;
    if (old->calling != NULL) {
        old->calling->old = NULL;
        old->calling = NULL;
    }
}

static const struct script_class old_class;

static struct calling *check_old(lua_State *L)
{
    const struct old_object *old = script_object_check(L, 1, &old_class);
    if (old->calling == NULL) {
        (void)luaL_error(L, "the migration is over");
    }
    return old->calling;
}

static struct value check_name(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TSTRING);
    return convert_check(L, 2, "the name");
}

static int old_get(lua_State *L)
{
    struct calling *calling = check_old(L);
    const struct value name = check_name(L);
    struct value value = VALUE_NONE;
    struct err_detail detail = {0};
    const enum err err =
        migration_read(calling->migration, name, &value, &detail);
    value_unref(name);
    (void)call_frame_note(&calling->frame.call, err);
    reads_raise(L, err, &detail);
    view_hold(&calling->frame.views)->value = value;
    convert_push(L, value);
    return 1;
}

static int old_drop(lua_State *L)
{
    struct calling *calling = check_old(L);
    const struct value name = check_name(L);
    struct err_detail detail = {0};
    const enum err err = migration_drop(calling->migration, name, &detail);
    value_unref(name);
    (void)call_frame_note(&calling->frame.call, err);
    reads_raise(L, err, &detail);
    return 0;
}

static int old_version(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)migration_version(check_old(L)->migration));
    return 1;
}

static const luaL_Reg old_methods[] = {
    {"get", old_get},
    {"drop", old_drop},
    {"version", old_version},
    {NULL, NULL},
};

static const struct script_class old_class = {
    .name = "old piece",
    .methods = old_methods,
    .release = old_release,
};

/* -- Running ------------------------------------------------------------- */

/* A function, until the build has ended. */
struct lua_migration {
    struct lua_runtime *lua;
    struct script_function function;
};

static void migration_gone(void *ctx)
{
    struct lua_migration *own = ctx;
    script_function_release(own->lua->script, &own->function);
    mem_free(own, sizeof *own);
}

static int push_old(lua_State *L, void *ctx)
{
    struct calling *calling = ctx;
    struct old_object *old = script_object_push(L, &old_class, sizeof *old);
    old->calling = calling;
    calling->old = old;
    return 1;
}

static enum err run_migration(struct migration *migration,
                              void *ctx,
                              struct err_detail *detail)
{
    const struct lua_migration *own = ctx;
    struct lua_runtime *lua = own->lua;
    struct calling calling = {.migration = migration};
    frame_begin(&calling.frame,
                lua,
                FRAME_MIGRATION,
                migration_transaction(migration));
    random_init(&calling.frame.random, lua->seed);
    const struct script_call call = {
        .function = own->function,
        .push = push_old,
        .ctx = &calling,
    };
    struct script_error error = {0};
    const enum script_cause cause = script_call(lua->script, &call, &error);
    const bool stale = calling.frame.call.stale;
    if (calling.old != NULL) {
        old_release(calling.old);
    }
    frame_end(&calling.frame);
    enum err err = ERR_OK;
    if (stale) {
        err = err_set(detail,
                      ERR_STALE,
                      "conflict: a value that it read has "
                      "changed");
    } else if (cause != SCRIPT_FINE) {
        struct buf text = {0};
        script_error_write(&text, &error);
        err = err_set(detail, ERR_ARGUMENT, "%s", buf_text(&text));
        buf_release(&text);
    }
    script_error_release(&error);
    return err;
}

/* -- Declaring ----------------------------------------------------------- */

int migrations_declare(lua_State *L)
{
    lua_settop(L, 3);
    const struct builder_object *p = builders_check(L);
    const lua_Integer version =
        lua_isinteger(L, 2) && lua_type(L, 2) == LUA_TNUMBER
            ? lua_tointeger(L, 2)
            : luaL_argerror(L, 2, "a version must be an integer");
    luaL_checktype(L, 3, LUA_TFUNCTION);
    if (version < 2 || version > INT32_MAX) {
        (void)luaL_argerror(L,
                            2,
                            "the version must be 2 or later: a piece begins "
                            "with version 1");
    }
    const struct script_function function = script_function_keep(L, 3);
    struct lua_migration *own = mem_alloc_zero(sizeof *own);
    own->lua = p->lua;
    own->function = function;
    const struct builder_migration migration = {
        .version = (uint32_t)version,
        .run = run_migration,
        .ctx = own,
        .release = migration_gone,
    };
    struct err_detail detail = {0};
    const enum err err =
        builder_migration(p->state->builder, &migration, &detail);
    builders_raise(L, p->state, err, &detail);
    return 0;
}
