/* The frames of server_floor. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

enum {
    FRAME_SIZE = 512,
};

static void begin(struct client *client)
{
    load_ready(client);
}

static void watch(struct client *client, const char *id)
{
    char text[FRAME_SIZE];
    const int length = snprintf(text, sizeof text, "w0 %s", id);
    load_send(client, text, (size_t)length);
}

static void join(struct client *client, unsigned count)
{
    (void)count;
    load_send(client, "j0", 2);
}

static void put(struct client *client,
                const char *id,
                const char *key,
                int64_t value)
{
    char text[FRAME_SIZE];
    const int length = snprintf(text,
                                sizeof text,
                                "s%llu %s %s %lld",
                                (unsigned long long)++client->local_seq,
                                id,
                                key,
                                (long long)value);
    load_send(client, text, (size_t)length);
}

static void increment(struct client *client, const char *id, const char *key)
{
    char text[FRAME_SIZE];
    const int length = snprintf(text,
                                sizeof text,
                                "i%llu %s %s",
                                (unsigned long long)++client->local_seq,
                                id,
                                key);
    load_send(client, text, (size_t)length);
}

/* One write per document: only the last has a number that is waited for. */
static void seed(struct client *client, unsigned first, unsigned count)
{
    client->local_seq++;
    for (unsigned i = 0; i < count; i++) {
        char document[FRAME_SIZE / 2];
        char text[FRAME_SIZE];
        (void)load_document(document, sizeof document, first + i);
        const int length = snprintf(
            text,
            sizeof text,
            "s%llu doc%u body %s",
            (unsigned long long)(i + 1 < count ? 0 : client->local_seq),
            first + i,
            document);
        load_send(client, text, (size_t)length);
    }
}

/* "dI KEY=VALUE ...": the text ends with a 0. */
static void take_document(struct client *client, const char *text)
{
    for (const char *at = strchr(text, ' '); at != NULL;
         at = strchr(at + 1, ' ')) {
        const size_t length = load.key != NULL ? strlen(load.key) : 0;
        if (length > 0 && strncmp(at + 1, load.key, length) == 0 &&
            at[1 + length] == '=') {
            load_changed(client, strtoll(at + 2 + length, NULL, 10), 0);
        }
    }
    load_watched(client);
}

static void receive(struct client *client, const char *text, size_t length)
{
    char line[FRAME_SIZE];
    const char kind = length > 0 ? text[0] : '\0';
    if (kind == 'r') {
        for (size_t i = 0; i < length; i++) {
            client->documents += text[i] == '\n' ? 1U : 0U;
        }
        return;
    }
    if (length >= sizeof line) {
        load_fail("the floor sent a frame of %zu bytes", length);
    }
    memcpy(line, text, length);
    line[length] = '\0';
    if (kind == 'a') {
        const uint64_t local_seq = strtoull(line + 1, NULL, 10);
        if (local_seq > 0) {
            load_acked(client, local_seq, 0);
        }
    } else if (kind == 'c') {
        const char *last = strrchr(line, ' ');
        client->documents++;
        if (load.key != NULL && last != NULL) {
            load_changed(client, strtoll(last + 1, NULL, 10), 0);
        }
    } else if (kind == 'd') {
        take_document(client, line);
    } else if (kind == 'J') {
        load_watched(client);
    }
}

const struct dialect dialect_floor = {
    .name = "floor",
    .path = "/",
    .begin = begin,
    .watch = watch,
    .join = join,
    .put = put,
    .increment = increment,
    .seed = seed,
    .receive = receive,
};
