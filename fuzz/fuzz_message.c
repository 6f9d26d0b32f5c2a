/* Messages: a text that is JSON is read as a message, and refused with a
 * sentence, or it is one.
 *
 *   - What was read is written, and the same is read from that (message-2),
 *   through
 *     text as well.
 *   - A message that is refused leaves nothing behind. */

#include "fuzz.h"
#include "proto/message.h"
#include "value/compare.h"
#include "value/json.h"

/* The message as a value: what came back from its text is the same again. */
static void check_message(const struct message *message,
                          struct path_table *paths)
{
    struct value written = message_write(message);
    CHECK(value_check(written));
    struct buf text = {0};
    json_write(&text, written, JSON_AS_GIVEN, 0);
    struct value again = VALUE_NONE;
    CHECK(json_read(text.at, text.length, NULL, &again, NULL) == ERR_OK);
    struct message copy;
    CHECK(message_read(again, paths, &copy, NULL) == ERR_OK);
    CHECK(copy.kind == message->kind);
    CHECK(copy.connection == message->connection);
    CHECK(copy.number == message->number);
    struct value twice = message_write(&copy);
    CHECK(value_equal(written, twice));
    message_release(&copy);
    value_unref(written);
    value_unref(again);
    value_unref(twice);
    buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_memory memory;
    fuzz_begin(&memory);
    struct path_table paths;
    path_table_init(&paths);
    struct value value = VALUE_NONE;
    if (json_read((const char *)data, size, NULL, &value, NULL) == ERR_OK) {
        struct message message;
        struct err_detail detail = {0};
        const enum err err = message_read(value, &paths, &message, &detail);
        if (err == ERR_OK) {
            check_message(&message, &paths);
        } else {
            fuzz_check_detail(err, &detail);
            CHECK(message.commits.at == NULL && message.number == 0);
        }
        message_release(&message);
        value_unref(value);
    }
    path_table_release(&paths);
    fuzz_end(&memory);
    return 0;
}
