/* A walk over the format of lua_dump in Lua 5.4: sizes are in groups of seven
 * bits, the most significant first, the last with its high bit set. */

#include "script/bytecode.h"

#include <assert.h>
#include <lua.h>
#include <stdint.h>
#include <string.h>

static_assert(LUA_VERSION_NUM == 504, "the format is that of Lua 5.4");

enum {
    /* Signature, version, format, six bytes that transfers break, three sizes,
     * an integer, a number; then the count of upvalues. */
    HEADER_BYTES = 4 + 1 + 1 + 6 + 3 + sizeof(lua_Integer) + sizeof(lua_Number),
    INSTRUCTION_BYTES = 4,
    UPVALUE_BYTES = 3,
    NESTED_MAX = 256, /* the compiler nests no deeper than 200 */
};

/* The tags of constants. */
enum {
    CONSTANT_NIL = 0x00,
    CONSTANT_FALSE = 0x01,
    CONSTANT_TRUE = 0x11,
    CONSTANT_INTEGER = 0x03,
    CONSTANT_FLOAT = 0x13,
    CONSTANT_SHORT_STRING = 0x04,
    CONSTANT_LONG_STRING = 0x14,
};

struct walk {
    const char *at;
    const char *end;
    struct buf *to;
};

static bool skip(struct walk *walk, size_t bytes)
{
    if ((size_t)(walk->end - walk->at) < bytes) {
        return false;
    }
    walk->at += bytes;
    return true;
}

static bool keep(struct walk *walk, size_t bytes)
{
    const char *from = walk->at;
    if (!skip(walk, bytes)) {
        return false;
    }
    buf_append(walk->to, from, bytes);
    return true;
}

static bool read_size(struct walk *walk, size_t *out)
{
    *out = 0;
    while (walk->at<walk->end && * out<SIZE_MAX>> 7U) {
        const unsigned char byte = (unsigned char)*walk->at++;
        *out = *out << 7U | (byte & 0x7FU);
        if ((byte & 0x80U) != 0) {
            return true;
        }
    }
    return false;
}

/* A size that belongs to the code. */
static bool keep_size(struct walk *walk, size_t *out)
{
    const char *from = walk->at;
    if (!read_size(walk, out)) {
        return false;
    }
    buf_append(walk->to, from, (size_t)(walk->at - from));
    return true;
}

/* `count` items of `bytes` each. */
static bool keep_items(struct walk *walk, size_t bytes)
{
    size_t count = 0;
    size_t total = 0;
    return keep_size(walk, &count) &&
           !__builtin_mul_overflow(count, bytes, &total) && keep(walk, total);
}

/* 0 stands for no string, otherwise it is the length and one. */
static bool keep_string(struct walk *walk)
{
    size_t size = 0;
    return keep_size(walk, &size) && (size == 0 || keep(walk, size - 1));
}

static bool keep_constants(struct walk *walk)
{
    size_t count = 0;
    bool good = keep_size(walk, &count);
    for (size_t i = 0; good && i < count; i++) {
        const char *tag = walk->at;
        if (!keep(walk, 1)) {
            return false;
        }
        switch (*tag) {
        case CONSTANT_NIL:
        case CONSTANT_FALSE:
        case CONSTANT_TRUE:
            break;
        case CONSTANT_INTEGER:
            good = keep(walk, sizeof(lua_Integer));
            break;
        case CONSTANT_FLOAT:
            good = keep(walk, sizeof(lua_Number));
            break;
        case CONSTANT_SHORT_STRING:
        case CONSTANT_LONG_STRING:
            good = keep_string(walk);
            break;
        default:
            return false;
        }
    }
    return good;
}

/* What comes before the functions in a function; gives their number. */
static bool keep_beginning(struct walk *walk, bool is_outermost, size_t *nested)
{
    size_t line = 0;
    if (!keep_string(walk) || !read_size(walk, &line) ||
        !read_size(walk, &line) || !keep(walk, 3) ||
        !keep_items(walk, INSTRUCTION_BYTES) || !keep_constants(walk)) {
        return false;
    }
    if (!is_outermost) {
        if (!keep_items(walk, UPVALUE_BYTES)) {
            return false;
        }
    } else {
        size_t count = 0;
        if (!keep_size(walk, &count) || count > UINT8_MAX ||
            !skip(walk, count * UPVALUE_BYTES)) {
            return false;
        }
    }
    return keep_size(walk, nested);
}

/* Debug information: four lists, all empty. */
static bool skip_end(struct walk *walk)
{
    for (int i = 0; i < 4; i++) {
        size_t count = 0;
        if (!read_size(walk, &count) || count != 0) {
            return false;
        }
    }
    return true;
}

bool bytecode_reduce(const char *dump, size_t length, struct buf *to)
{
    struct walk walk = {dump, dump + length, to};
    size_t left[NESTED_MAX]; /* functions to come, at each level */
    size_t level = 0;
    if (length < 4 || memcmp(dump, LUA_SIGNATURE, 4) != 0 ||
        !skip(&walk, HEADER_BYTES) || !keep(&walk, 1) ||
        !keep_beginning(&walk, true, &left[0])) {
        return false;
    }
    for (;;) {
        if (left[level] > 0) {
            left[level]--;
            if (level + 1 == NESTED_MAX ||
                !keep_beginning(&walk, false, &left[level + 1])) {
                return false;
            }
            level++;
        } else {
            if (!skip_end(&walk)) {
                return false;
            }
            if (level == 0) {
                return walk.at == walk.end;
            }
            level--;
        }
    }
}
