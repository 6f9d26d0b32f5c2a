/* The functions of the string library whose cost Lua's own would not count:
 * those with patterns (script/match.h), rep, and format, which must show no
 * address. The others are Lua's. */

#include <lauxlib.h>
#include <string.h>

#include "base/check.h"
#include "script/match.h"
#include "script/sandbox.h"

/* -- Matching ------------------------------------------------------------ */

static struct match match_new(const char *subject,
                              size_t subject_length,
                              const char *pattern,
                              size_t pattern_length)
{
    struct match match;
    match.subject = subject;
    match.subject_end = subject + subject_length;
    match.pattern = pattern;
    match.pattern_end = pattern + pattern_length;
    match.fault = MATCH_FINE;
    match.captures = 0;
    return match;
}

/* match_at, with the steps of the running call. */
static const char *run_match(lua_State *L, struct match *match, const char *at)
{
    struct script *script = script_of(L);
    const uint64_t given =
        script->steps_left > 0 ? (uint64_t)script->steps_left : 0;
    match->steps_left = given;
    const char *end = match_at(match, at);
    script_charge(L, given - match->steps_left);
    if (match->fault == MATCH_OUT_OF_STEPS) {
        (void)script_out_of_steps(L);
    } else if (match->fault != MATCH_FINE) {
        (void)luaL_error(L, "%s", match_fault_text(match->fault));
    }
    return end;
}

/* Capture `index` of a match from `at` to `end`; without captures, the whole
 * is the first. */
static void push_capture(lua_State *L,
                         const struct match *match,
                         unsigned index,
                         const char *at,
                         const char *end)
{
    if (index >= match->captures) {
        if (index > 0) {
            (void)luaL_error(L, "invalid capture index %%%d", (int)index + 1);
        }
        lua_pushlstring(L, at, (size_t)(end - at));
    } else if (match_is_position(match, index)) {
        lua_pushinteger(L, match->capture[index].at - match->subject + 1);
    } else {
        const struct match_capture *capture = &match->capture[index];
        lua_pushlstring(L, capture->at, (size_t)capture->length);
    }
}

/* All captures, or the whole; returns how many. */
static int push_captures(lua_State *L,
                         const struct match *match,
                         const char *at,
                         const char *end)
{
    const unsigned count = match->captures > 0 ? match->captures : 1;
    luaL_checkstack(L, (int)count, "too many captures");
    for (unsigned i = 0; i < count; i++) {
        push_capture(L, match, i, at, end);
    }
    return (int)count;
}

/* An optional start, negative from the end, as an offset that may be one
 * beyond the length. */
static size_t check_start(lua_State *L, int argument, size_t length)
{
    const lua_Integer start = luaL_optinteger(L, argument, 1);
    if (start > 0) {
        return (lua_Unsigned)start - 1 > length ? length + 1
                                                : (size_t)start - 1;
    }
    if (start == 0 || start < -(lua_Integer)length) {
        return 0;
    }
    return length - (size_t)-start;
}

/* -- find and match ------------------------------------------------------ */

static bool has_specials(const char *pattern, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (pattern[i] != '\0' && strchr("^$*+?.([%-", pattern[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* The search for a plain text: linear, charged for by its length. */
static int find_plain(lua_State *L, const struct match *match, size_t start)
{
    const size_t length = (size_t)(match->pattern_end - match->pattern);
    const char *from = match->subject + start;
    const size_t room = (size_t)(match->subject_end - from);
    script_charge_bytes(L, (room + length) * 4);
    const char *at =
        length > 0 ? memmem(from, room, match->pattern, length) : from;
    if (at == NULL) {
        lua_pushnil(L);
        return 1;
    }
    const lua_Integer first = at - match->subject + 1;
    lua_pushinteger(L, first);
    lua_pushinteger(L, first + (lua_Integer)length - 1);
    return 2;
}

/* The first match from `at` on; NULL if there is none. Moves *at to where it
 * begins. */
static const char *search(lua_State *L, struct match *match, const char **at)
{
    const bool is_anchored =
        match->pattern < match->pattern_end && *match->pattern == '^';
    if (is_anchored) {
        match->pattern++;
    }
    for (;; (*at)++) {
        const char *end = run_match(L, match, *at);
        if (end != NULL || is_anchored || *at == match->subject_end) {
            return end;
        }
    }
}

static int find_or_match(lua_State *L, bool is_find)
{
    size_t subject_length = 0;
    size_t pattern_length = 0;
    const char *subject = luaL_checklstring(L, 1, &subject_length);
    const char *pattern = luaL_checklstring(L, 2, &pattern_length);
    const size_t start = check_start(L, 3, subject_length);
    struct match match =
        match_new(subject, subject_length, pattern, pattern_length);
    if (start > subject_length) {
        lua_pushnil(L);
        return 1;
    }
    if (is_find &&
        (lua_toboolean(L, 4) != 0 || !has_specials(pattern, pattern_length))) {
        return find_plain(L, &match, start);
    }
    const char *at = subject + start;
    const char *end = search(L, &match, &at);
    if (end == NULL) {
        lua_pushnil(L);
        return 1;
    }
    if (!is_find) {
        return push_captures(L, &match, at, end);
    }
    lua_pushinteger(L, at - subject + 1);
    lua_pushinteger(L, end - subject);
    return match.captures > 0 ? push_captures(L, &match, at, end) + 2 : 2;
}

static int do_find(lua_State *L)
{
    return find_or_match(L, true);
}

static int do_match(lua_State *L)
{
    return find_or_match(L, false);
}

/* -- gmatch -------------------------------------------------------------- */

/* The upvalues of an iterator. Offsets are from the subject's start; the end
 * of the last match is where an empty match may not be. */
enum {
    GMATCH_SUBJECT = 1,
    GMATCH_PATTERN,
    GMATCH_START,
    GMATCH_LAST, /* -1: none yet */
};

static int gmatch_next(lua_State *L)
{
    size_t subject_length = 0;
    size_t pattern_length = 0;
    const char *subject =
        lua_tolstring(L, lua_upvalueindex(GMATCH_SUBJECT), &subject_length);
    const char *pattern =
        lua_tolstring(L, lua_upvalueindex(GMATCH_PATTERN), &pattern_length);
    const lua_Integer last = lua_tointeger(L, lua_upvalueindex(GMATCH_LAST));
    const lua_Integer start = lua_tointeger(L, lua_upvalueindex(GMATCH_START));
    struct match match =
        match_new(subject, subject_length, pattern, pattern_length);
    for (lua_Integer from = start; from <= (lua_Integer)subject_length;
         from++) {
        const char *end = run_match(L, &match, subject + from);
        if (end != NULL && end - subject != last) {
            lua_pushinteger(L, end - subject);
            lua_pushvalue(L, -1);
            lua_replace(L, lua_upvalueindex(GMATCH_START));
            lua_replace(L, lua_upvalueindex(GMATCH_LAST));
            return push_captures(L, &match, subject + from, end);
        }
    }
    /* From here on there is nothing to find. */
    lua_pushinteger(L, (lua_Integer)subject_length + 1);
    lua_replace(L, lua_upvalueindex(GMATCH_START));
    lua_pushnil(L);
    return 1;
}

static int do_gmatch(lua_State *L)
{
    size_t length = 0;
    (void)luaL_checklstring(L, 1, &length);
    (void)luaL_checkstring(L, 2);
    const size_t start = check_start(L, 3, length);
    lua_settop(L, 2);
    lua_pushinteger(L, (lua_Integer)start);
    lua_pushinteger(L, -1);
    lua_pushcclosure(L, gmatch_next, 4);
    return 1;
}

/* -- gsub ---------------------------------------------------------------- */

/* A string as the replacement: %0 to %9 are captures, %% is %. */
static void add_template(lua_State *L,
                         luaL_Buffer *to,
                         const struct match *match,
                         const char *at,
                         const char *end)
{
    size_t length = 0;
    const char *text = lua_tolstring(L, 3, &length);
    script_charge_bytes(L, length);
    const char *text_end = text + length;
    while (text < text_end) {
        const char *escape = memchr(text, '%', (size_t)(text_end - text));
        if (escape == NULL) {
            luaL_addlstring(to, text, (size_t)(text_end - text));
            return;
        }
        luaL_addlstring(to, text, (size_t)(escape - text));
        const char what = escape[1]; /* the zero byte, at the end */
        if (what == '%') {
            luaL_addchar(to, '%');
        } else if (what == '0') {
            luaL_addlstring(to, at, (size_t)(end - at));
        } else if (what >= '1' && what <= '9') {
            push_capture(L, match, (unsigned)(what - '1'), at, end);
            (void)luaL_tolstring(L, -1, NULL);
            lua_remove(L, -2);
            luaL_addvalue(to);
        } else {
            (void)luaL_error(L, "invalid use of '%%' in replacement string");
        }
        text = escape + 2;
    }
}

/* What replaces the match; false if it stays as it is. */
static bool add_replacement(lua_State *L,
                            luaL_Buffer *to,
                            const struct match *match,
                            const char *at,
                            const char *end)
{
    const int type = lua_type(L, 3);
    if (type == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        const int count = push_captures(L, match, at, end);
        lua_call(L, count, 1);
    } else if (type == LUA_TTABLE) {
        push_capture(L, match, 0, at, end);
        (void)lua_gettable(L, 3);
    } else {
        add_template(L, to, match, at, end);
        return true;
    }
    if (lua_toboolean(L, -1) == 0) {
        lua_pop(L, 1);
        luaL_addlstring(to, at, (size_t)(end - at));
        return false;
    }
    if (lua_isstring(L, -1) == 0) {
        (void)luaL_error(L,
                         "invalid replacement value (a %s)",
                         luaL_typename(L, -1));
    }
    luaL_addvalue(to);
    return true;
}

static int do_gsub(lua_State *L)
{
    size_t subject_length = 0;
    size_t pattern_length = 0;
    const char *subject = luaL_checklstring(L, 1, &subject_length);
    const char *pattern = luaL_checklstring(L, 2, &pattern_length);
    const int type = lua_type(L, 3);
    if (type != LUA_TSTRING && type != LUA_TNUMBER && type != LUA_TTABLE &&
        type != LUA_TFUNCTION) {
        return luaL_typeerror(L, 3, "string/function/table");
    }
    const lua_Integer most =
        luaL_optinteger(L, 4, (lua_Integer)subject_length + 1);
    if (type == LUA_TNUMBER) {
        (void)lua_tolstring(L, 3, NULL); /* in its place */
    }
    const bool is_anchored = pattern_length > 0 && *pattern == '^';
    struct match match = match_new(subject,
                                   subject_length,
                                   pattern + is_anchored,
                                   pattern_length - is_anchored);
    bool is_changed = false;
    lua_Integer count = 0;
    const char *at = subject;
    const char *last = NULL; /* where the last match ended */
    size_t expected = 65536;
    luaL_Buffer to;
    luaL_buffinit(L, &to);
    while (count < most) {
        script_expect_growth(L, &expected, luaL_bufflen(&to));
        const char *end = run_match(L, &match, at);
        if (end != NULL && end != last) {
            count++;
            is_changed |= add_replacement(L, &to, &match, at, end);
            at = last = end;
        } else if (at < match.subject_end) {
            luaL_addchar(&to, *at++);
        } else {
            break;
        }
        if (is_anchored) {
            break;
        }
    }
    if (is_changed) {
        luaL_addlstring(&to, at, (size_t)(match.subject_end - at));
        luaL_pushresult(&to);
    } else {
        lua_pushvalue(L, 1);
    }
    lua_pushinteger(L, count);
    return 2;
}

/* -- rep and format ------------------------------------------------------ */

static int do_rep(lua_State *L)
{
    size_t length = 0;
    size_t between_length = 0;
    const char *text = luaL_checklstring(L, 1, &length);
    const lua_Integer wanted = luaL_checkinteger(L, 2);
    const char *between = luaL_optlstring(L, 3, "", &between_length);
    const uint64_t count = wanted > 0 ? (uint64_t)wanted : 0;
    uint64_t total = 0;
    if (count == 0 || length + between_length == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    if (__builtin_mul_overflow(count, length + between_length, &total)) {
        total = UINT64_MAX;
    }
    total -= total < UINT64_MAX ? between_length : 0;
    script_expect_memory(L, total);
    script_expect_memory(L, total < SIZE_MAX / 2 ? total * 2 : total);
    script_charge(L, count / 4 + 1);
    luaL_Buffer to;
    char *at = luaL_buffinitsize(L, &to, (size_t)total);
    for (uint64_t i = 0; i < count; i++) {
        if (i > 0) {
            memcpy(at, between, between_length);
            at += between_length;
        }
        memcpy(at, text, length);
        at += length;
    }
    luaL_pushresultsize(&to, (size_t)total);
    return 1;
}

/* Lua's format, after the objects among the arguments of %s have become
 * texts. */
static int do_format(lua_State *L)
{
    size_t length = 0;
    const char *at = luaL_checklstring(L, 1, &length);
    const char *end = at + length;
    int argument = 1;
    size_t total = length;
    size_t expected = 65536;
    script_charge_bytes(L, length * 8);
    while (at < end) {
        if (*at++ != '%') {
            continue;
        }
        if (at < end && *at == '%') {
            at++;
            continue;
        }
        argument++;
        at += strspn(at, "-+ #0123456789.");
        if (at < end && *at == 'p') {
            return luaL_error(L, "%%p is not available: it shows an address");
        }
        if (at < end && *at == 's' && argument <= lua_gettop(L)) {
            size_t text_length = 0;
            (void)sandbox_push_text(L, argument, &text_length);
            lua_replace(L, argument);
            total += text_length;
        }
    }
    script_expect_growth(L, &expected, total);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

void sandbox_add_strings(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"find", do_find},
        {"gmatch", do_gmatch},
        {"gsub", do_gsub},
        {"match", do_match},
        {"rep", do_rep},
        {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
    (void)lua_getfield(L, -1, "format");
    CHECK(lua_isfunction(L, -1));
    lua_pushcclosure(L, do_format, 1);
    lua_setfield(L, -2, "format");
}
