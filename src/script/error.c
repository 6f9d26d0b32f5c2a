/* Filling in the place, the sentence and the way to an error. */

#include "script/error.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <string.h>

#include "base/check.h"
#include "base/text.h"

enum {
    LEVELS_MAX = 1000,        /* of a stack that are searched for a place */
    MESSAGE_BYTES_MAX = 4096, /* of a message; the rest is cut */
};

void script_error_release(struct script_error *error)
{
    buf_release(&error->message);
    buf_release(&error->file);
    buf_release(&error->traceback);
    *error = (struct script_error){0};
}

void script_error_clear(struct script_error *error)
{
    error->cause = SCRIPT_FINE;
    error->code = 0;
    error->line = 0;
    buf_clear(&error->message);
    buf_clear(&error->file);
    buf_clear(&error->traceback);
}

void script_error_write(struct buf *to, const struct script_error *error)
{
    if (error->file.length > 0) {
        buf_append(to, error->file.at, error->file.length);
        buf_append_char(to, ':');
        if (error->line > 0) {
            buf_printf(to, "%" PRIu32 ":", error->line);
        }
        buf_append_char(to, ' ');
    }
    buf_append(to, buf_text(&error->message), error->message.length);
}

const char *script_cause_name(enum script_cause cause)
{
    switch (cause) {
    case SCRIPT_FINE:
        return "fine";
    case SCRIPT_PENDING:
        return "pending";
    case SCRIPT_ERROR:
        return "error";
    case SCRIPT_SYNTAX:
        return "syntax";
    case SCRIPT_STEPS_OUT:
        return "steps";
    case SCRIPT_MEMORY_OUT:
        return "memory";
    case SCRIPT_INTERRUPTED:
        return "interrupted";
    case SCRIPT_STOPPED:
        return "stopped";
    }
    return "unknown";
}

/* -- Where --------------------------------------------------------------- */

/* How long the prefix "name:line: " of `text` is; 0 if it has another. */
static size_t prefix_length(const char *text, const char *name, int line)
{
    char prefix[LUA_IDSIZE + 16];
    const int length = snprintf(prefix, sizeof prefix, "%s:%d: ", name, line);
    CHECK(length > 0 && (size_t)length < sizeof prefix);
    return strncmp(text, prefix, (size_t)length) == 0 ? (size_t)length : 0;
}

static void set_place(struct script_error *error, const lua_Debug *at)
{
    const bool is_file = at->source[0] == '@' || at->source[0] == '=';
    buf_clear(&error->file);
    buf_append_text(&error->file, is_file ? at->source + 1 : at->short_src);
    error->line = (uint32_t)at->currentline;
}

/* The frame that the message names, or the innermost one of Lua code. */
static void find_place(struct script_error *error,
                       lua_State *thread,
                       const char *message)
{
    bool found = false;
    lua_Debug at;
    for (int level = 0; level < LEVELS_MAX; level++) {
        if (lua_getstack(thread, level, &at) == 0 ||
            lua_getinfo(thread, "Sl", &at) == 0) {
            return;
        }
        if (at.currentline <= 0) {
            continue;
        }
        const bool named =
            message != NULL &&
            prefix_length(message, at.short_src, at.currentline) > 0;
        if (named || !found) {
            set_place(error, &at);
            found = true;
        }
        if (named || message == NULL) {
            return;
        }
    }
}

void script_error_locate(struct script_error *error,
                         lua_State *L,
                         lua_State *thread,
                         int index)
{
    const bool is_text = lua_type(L, index) == LUA_TSTRING;
    find_place(error, thread, is_text ? lua_tostring(L, index) : NULL);
    luaL_traceback(L, thread, NULL, 0);
    size_t length = 0;
    const char *traceback = lua_tolstring(L, -1, &length);
    buf_clear(&error->traceback);
    buf_append(&error->traceback, traceback, length);
    lua_pop(L, 1);
}

/* -- What ---------------------------------------------------------------- */

/* The sentence without its place, if the place is the one that is known. */
static void cut_prefix(struct script_error *error)
{
    struct buf *message = &error->message;
    if (error->line == 0) {
        return;
    }
    /* Lua shortens long names, from the left: compare the end. */
    char end[24];
    const int end_length =
        snprintf(end, sizeof end, ":%" PRIu32 ": ", error->line);
    CHECK(end_length > 0 && (size_t)end_length < sizeof end);
    const char *at = strstr(buf_text(message), end);
    if (at == NULL || (size_t)(at - message->at) > LUA_IDSIZE) {
        return;
    }
    const size_t name_length = (size_t)(at - message->at);
    const size_t known = error->file.length;
    const size_t same = name_length > 3 && known >= name_length - 3 &&
                                strncmp(message->at, "...", 3) == 0
                            ? name_length - 3
                            : name_length;
    if (same > known ||
        memcmp(at - same, error->file.at + (known - same), same) != 0) {
        return;
    }
    const size_t cut = name_length + (size_t)end_length;
    memmove(message->at, message->at + cut, message->length - cut + 1);
    message->length -= cut;
}

bool script_error_take_text(struct script_error *error, lua_State *L, int index)
{
    buf_clear(&error->message);
    if (lua_isinteger(L, index)) {
        buf_printf(&error->message, "%lld", lua_tointeger(L, index));
        return true;
    }
    if (lua_type(L, index) == LUA_TNUMBER) {
        buf_printf(&error->message, "%.14g", lua_tonumber(L, index));
        return true;
    }
    if (lua_type(L, index) != LUA_TSTRING) {
        return false;
    }
    size_t length = 0;
    const char *text = lua_tolstring(L, index, &length);
    if (length > MESSAGE_BYTES_MAX) {
        length = text_whole_length(text, MESSAGE_BYTES_MAX);
    }
    buf_append(&error->message, text, length);
    cut_prefix(error);
    return true;
}

void script_error_split(struct script_error *error, const char *file)
{
    const char *text = buf_text(&error->message);
    buf_clear(&error->file);
    buf_append_text(&error->file, file);
    /* The last of "name:12: " within the part that can be a name: a name may
     * have colons of its own. */
    for (const char *colon = strchr(text, ':');
         colon != NULL && colon - text <= LUA_IDSIZE;
         colon = strchr(colon + 1, ':')) {
        uint32_t line = 0;
        const char *at = colon + 1;
        while (*at >= '0' && *at <= '9' && line < UINT32_MAX / 16) {
            line = line * 10 + (uint32_t)(*at++ - '0');
        }
        if (at > colon + 1 && at[0] == ':' && at[1] == ' ') {
            error->line = line;
            cut_prefix(error);
            return;
        }
    }
}
