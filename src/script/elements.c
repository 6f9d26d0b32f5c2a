/* Calling functions of p:map that declare. */

#include "script/elements.h"

#include "base/mem.h"
#include "runtime/cell.h"
#include "script/cells.h"
#include "script/convert.h"
#include "script/items.h"
#include "script/patterns.h"
#include "script/streams.h"

enum {
    CAPTURE_DEPTH = 8, /* of functions in functions */
};

struct lua_element {
    struct lua_runtime *lua;
    struct builder_object *p; /* the function has captured it */
    struct script_function function;
};

/* -- Which functions do -------------------------------------------------- */

static bool captures(lua_State *L,
                     const struct builder_object *p,
                     int index,
                     int depth)
{
    bool found = false;
    for (int i = 1; !found && lua_getupvalue(L, index, i) != NULL; i++) {
        if (lua_isfunction(L, -1) && !lua_iscfunction(L, -1)) {
            luaL_checkstack(L, 2, NULL);
            found = depth > 0 && captures(L, p, lua_absindex(L, -1), depth - 1);
        } else {
            found = lua_touserdata(L, -1) == (const void *)p;
        }
        lua_pop(L, 1);
    }
    return found;
}

bool elements_declares(lua_State *L, const struct builder_object *p, int index)
{
    return captures(L, p, index, CAPTURE_DEPTH);
}

/* -- Calling ------------------------------------------------------------- */

struct declaring {
    struct frame frame;
    struct building_state state;
    struct place *element;
};

static int push_element(lua_State *L, void *ctx)
{
    const struct declaring *declaring = ctx;
    items_push(L, declaring->frame.lua, declaring->element);
    return 1;
}

static void take_result(lua_State *L, int count, void *ctx)
{
    struct declaring *declaring = ctx;
    struct builder *builder = declaring->state.builder;
    if (count == 0) {
        builder_result_adopt(builder, value_null());
        return;
    }
    struct lua_runtime *lua = NULL;
    struct place *place = cells_test(L, 1, &lua);
    if (place == NULL) {
        place = streams_test(L, 1, &lua);
    }
    if (place != NULL) {
        builder_result_adopt(builder, cell_link(place, builder_space(builder)));
    } else {
        struct value *value = builders_hold(&declaring->state, 1);
        *value = convert_check(L, 1, "the result");
        builder_result_adopt(builder,
                             value_is_absent(*value) ? value_null()
                                                     : value_ref(*value));
    }
}

static enum err declare(struct builder *builder,
                        void *ctx,
                        struct place *element,
                        struct err_detail *detail)
{
    const struct lua_element *own = ctx;
    struct lua_runtime *lua = own->lua;
    struct declaring declaring = {.element = element};
    frame_begin(&declaring.frame, lua, FRAME_BUILD, NULL);
    declaring.state.builder = builder;
    struct building_state *outer = own->p->state;
    own->p->state = &declaring.state;
    const struct script_call call = {
        .function = own->function,
        .push = push_element,
        .take = take_result,
        .ctx = &declaring,
        .steps = patterns_build_steps(lua->script),
    };
    struct script_error error = {0};
    const enum script_cause cause = script_call(lua->script, &call, &error);
    own->p->state = outer;
    builders_end(&declaring.state);
    frame_end(&declaring.frame);
    return patterns_build_end(&declaring.state, cause, &error, detail);
}

static void element_release(void *ctx)
{
    struct lua_element *own = ctx;
    script_function_release(own->lua->script, &own->function);
    mem_free(own, sizeof *own);
}

struct element_body elements_new(lua_State *L,
                                 struct builder_object *p,
                                 int index)
{
    const struct script_function function = script_function_keep(L, index);
    struct lua_element *own = mem_alloc_zero(sizeof *own);
    own->lua = p->lua;
    own->p = p;
    own->function = function;
    return (struct element_body){
        .declare = declare,
        .ctx = own,
        .release = element_release,
    };
}
