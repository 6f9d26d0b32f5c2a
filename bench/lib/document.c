/* The generator of documents: a table of fields, each with a function that
 * writes an item, and a seeded source that selects among them. */

#include "document.h"

#include <stdint.h>

#include "base/check.h"
#include "base/random.h"

typedef void item_fn(struct buf *to, struct random *random);

/* -- Texts --------------------------------------------------------------- */

static const char *const words[] = {
    "river",  "stone",    "paper",     "window",  "orange",    "signal",
    "the",    "of",       "and",       "a",       "in",        "with",
    "copper", "evening",  "delivery",  "harbour", "quiet",     "seventy",
    "market", "northern", "reference", "update",  "yesterday", "garden",
};

/* Escapes and what is not ASCII: a few of them in every long text. */
static const char *const unusual[] = {
    "\\n",
    "\\\"now\\\"",
    "caf\xC3\xA9",
    "M\xC3\xBCnster",
    "\\u00e9",
    "C:\\\\data",
    "\xE6\x9D\xB1\xE4\xBA\xAC",
    "\xF0\x9F\x8D\x8A",
};

static void words_write(struct buf *to, struct random *random, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (i > 0) {
            buf_append_char(to, ' ');
        }
        if (count > 3 && random_one_in(random, 24)) {
            buf_append_text(to,
                            unusual[random_below(random, COUNT_OF(unusual))]);
        } else {
            buf_append_text(to, words[random_below(random, COUNT_OF(words))]);
        }
    }
}

static void item_id(struct buf *to, struct random *random)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    char text[26];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = letters[random_below(random, sizeof letters - 1)];
    }
    buf_printf(to, "\"%.*s\"", (int)sizeof text, text);
}

static void item_name(struct buf *to, struct random *random)
{
    buf_append_char(to, '"');
    words_write(to, random, 1 + random_below(random, 3));
    buf_append_char(to, '"');
}

static void item_text(struct buf *to, struct random *random)
{
    buf_append_char(to, '"');
    words_write(to, random, 6 + random_below(random, 24));
    buf_append_char(to, '"');
}

static void item_word(struct buf *to, struct random *random)
{
    buf_printf(to, "\"%s\"", words[random_below(random, COUNT_OF(words))]);
}

static void item_moment(struct buf *to, struct random *random)
{
    buf_printf(to,
               "\"2024-%02u-%02uT%02u:%02u:%02uZ\"",
               (unsigned)random_between(random, 1, 12),
               (unsigned)random_between(random, 1, 28),
               (unsigned)random_below(random, 24),
               (unsigned)random_below(random, 60),
               (unsigned)random_below(random, 60));
}

/* -- Numbers and the rest ------------------------------------------------ */

static void item_small(struct buf *to, struct random *random)
{
    buf_printf(to, "%u", (unsigned)random_below(random, 1000));
}

static void item_integer(struct buf *to, struct random *random)
{
    /* As many of each length. */
    const uint64_t bits = random_below(random, 48);
    const int64_t number = (int64_t)(random_u64(random) >> (63 - bits));
    const int64_t sign = random_one_in(random, 8) ? -1 : 1;
    buf_printf(to, "%lld", (long long)(number * sign));
}

static void item_millis(struct buf *to, struct random *random)
{
    const uint64_t from = UINT64_C(1700000000000);
    buf_printf(
        to,
        "%llu",
        (unsigned long long)(from + random_below(random, 100000000000U)));
}

/* The last digit is never 0, so that the number is not an integer. */
static void item_price(struct buf *to, struct random *random)
{
    buf_printf(to,
               "%u.%u%u",
               (unsigned)random_below(random, 2000),
               (unsigned)random_below(random, 10),
               (unsigned)random_between(random, 1, 9));
}

static void item_measure(struct buf *to, struct random *random)
{
    buf_printf(to, "%.15g", random_unit(random) * 180 - 90 + 1e-9);
}

static void item_bool(struct buf *to, struct random *random)
{
    buf_append_text(to, random_one_in(random, 2) ? "true" : "false");
}

static void item_null(struct buf *to, struct random *random)
{
    (void)random;
    buf_append_text(to, "null");
}

static void list_write(struct buf *to,
                       struct random *random,
                       item_fn *item,
                       uint64_t count)
{
    buf_append_char(to, '[');
    for (uint64_t i = 0; i < count; i++) {
        if (i > 0) {
            buf_append_char(to, ',');
        }
        item(to, random);
    }
    buf_append_char(to, ']');
}

static void item_tags(struct buf *to, struct random *random)
{
    list_write(to, random, item_word, random_below(random, 6));
}

static void item_point(struct buf *to, struct random *random)
{
    list_write(to, random, item_measure, 2);
}

static void item_outline(struct buf *to, struct random *random)
{
    list_write(to, random, item_point, 2 + random_below(random, 3));
}

static void item_address(struct buf *to, struct random *random)
{
    buf_append_text(to, "{\"street\":");
    item_name(to, random);
    buf_append_text(to, ",\"number\":");
    item_small(to, random);
    buf_append_text(to, ",\"city\":");
    item_word(to, random);
    buf_append_text(to, ",\"verified\":");
    item_bool(to, random);
    buf_append_char(to, '}');
}

/* -- Records ------------------------------------------------------------- */

struct field {
    const char *key;
    item_fn *item;
};

static const struct field fields[] = {
    {"name", item_name},
    {"price", item_price},
    {"description", item_text},
    {"active", item_bool},
    {"created", item_moment},
    {"last_modified_time_ms", item_millis},
    {"tags", item_tags},
    {"amount", item_integer},
    {"owner", item_id},
    {"delivery_address", item_address},
    {"position", item_point},
    {"parent", item_null},
    {"outline", item_outline},
    {"state", item_word},
    {"note", item_text},
    {"visits", item_small},
};

static void field_write(struct buf *to,
                        struct random *random,
                        const struct field *field)
{
    buf_printf(to, ",\"%s\":", field->key);
    field->item(to, random);
}

/* Two fixed keys and 3 to 10 of the table, in its order. */
static void record_write(struct buf *to, struct random *random)
{
    buf_append_text(to, "{\"id\":");
    item_id(to, random);
    buf_append_text(to, ",\"rank\":");
    item_small(to, random);
    uint64_t wanted = 3 + random_below(random, 8);
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (random_below(random, COUNT_OF(fields) - i) < wanted) {
            field_write(to, random, &fields[i]);
            wanted--;
        }
    }
    buf_append_char(to, '}');
}

/* Five to ten numbers under short keys, and a list of coordinates. */
static void numbers_write(struct buf *to, struct random *random)
{
    buf_append_text(to, "{\"id\":");
    item_integer(to, random);
    buf_append_text(to, ",\"rank\":");
    item_small(to, random);
    buf_append_text(to, ",\"series\":");
    list_write(to, random, item_measure, 4 + random_below(random, 12));
    buf_append_text(to, ",\"counts\":");
    list_write(to, random, item_integer, 4 + random_below(random, 12));
    buf_append_text(to, ",\"prices\":");
    list_write(to, random, item_price, 4 + random_below(random, 12));
    buf_append_char(to, '}');
}

static void strings_write(struct buf *to, struct random *random)
{
    buf_append_text(to, "{\"id\":");
    item_id(to, random);
    buf_append_text(to, ",\"rank\":");
    item_small(to, random);
    buf_append_text(to, ",\"title\":");
    item_name(to, random);
    buf_append_text(to, ",\"body\":");
    item_text(to, random);
    buf_append_text(to, ",\"comments\":");
    list_write(to, random, item_text, random_below(random, 4));
    buf_append_text(to, ",\"tags\":");
    item_tags(to, random);
    buf_append_char(to, '}');
}

/* The short document: every sort of leaf, about 200 bytes. */
static void small_write(struct buf *to)
{
    buf_append_text(to,
                    "{\"id\":\"k3vq2r7hsa5tnc4zpxw6yjbm2e\",\"rank\":17,"
                    "\"name\":\"copper garden\",\"price\":129.95,"
                    "\"active\":true,\"parent\":null,"
                    "\"note\":\"caf\xC3\xA9 by the \\\"harbour\\\"\","
                    "\"tags\":[\"orange\",\"quiet\"],"
                    "\"position\":[52.5163,13.3777]}");
}

void document_generate(struct buf *to, enum document_kind kind, size_t size)
{
    item_fn *const record = kind == DOCUMENT_NUMBERS   ? numbers_write
                            : kind == DOCUMENT_STRINGS ? strings_write
                                                       : record_write;
    if (kind == DOCUMENT_MIXED && size < 300) {
        small_write(to);
        return;
    }
    struct random random;
    random_init(&random, 42);
    const size_t start = to->length;
    buf_append_text(to, "{\"version\":3,\"title\":\"inventory\",\"items\":[");
    do {
        if (to->at[to->length - 1] != '[') {
            buf_append_char(to, ',');
        }
        record(to, &random);
    } while (to->length - start + 2 < size);
    buf_append_text(to, "]}");
}
