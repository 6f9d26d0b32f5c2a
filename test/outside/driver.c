/* The outside checker's door to the public header: a program that is linked to
 * the shared library, reads one command per line from standard input and
 * answers each with one line. Commands and answers are JSON.
 *
 *   {"do": "open", "runtime": 0, "directory": D, "user": U, "session": S}
 *   {"do": "start", "runtime": 0, "piece": P, "pattern": {...}, "arguments":
 * {}}
 *   {"do": "send", "runtime": 0, "piece": P, "stream": H, "payload": ...,
 *    "session": S, "id": I}
 *   {"do": "edit", "runtime": 0, "operations": [[OP, DOCUMENT, PATH,
 * VALUE]...], "reads": [[DOCUMENT, PATH]...]}
 *   {"do": "write", ...}    the same operations, each a transaction of its own
 *   {"do": "settle"}, {"do": "step"}, {"do": "close"}
 *   {"do": "get", "runtime": 0, "document": D, "path": ""}
 *
 *   {"outcome": "ok" or "refused" or "unknown", "value": ..., "text": ...}
 *
 * A pattern is the same data that test/outside/program.py prints as Lua; here
 * it is interpreted. Nothing of src/ is included. */

#include "outside/driver_patterns.h"
#include "outside/driver_values.h"
#include <heddle/heddle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNTIMES   8
#define USER_SCOPE "@user "
#define WAIT_MS    40000

/* ---- commands ---- */

struct place {
    hd_runtime *runtime;
    char failure[768]; /* what `report` was told since the last answer */
};

static struct place places[RUNTIMES];

static void note_failure(void *context, const hd_error *error)
{
    struct place *place = context;
    (void)snprintf(place->failure,
                   sizeof place->failure,
                   "%s: %s: %s",
                   hd_status_name(error->status),
                   error->address,
                   error->text);
}

static uint64_t deadline(hd_runtime *runtime)
{
    uint64_t now = 0;
    (void)hd_runtime_now(runtime, &now);
    return now + WAIT_MS;
}

static void answer(const char *outcome, hd_value *value, const char *text)
{
    hd_value *object = NULL;
    char *line = NULL;
    (void)hd_value_new_object(&object);
    put(&object, "outcome", text_value(outcome));
    put(&object, "value", value != NULL ? value : null_value());
    put(&object, "text", text_value(text));
    (void)hd_value_write(object, HD_AS_GIVEN, 0, &line, NULL);
    (void)printf("%s\n", line);
    (void)fflush(stdout);
    hd_text_free(line);
    hd_value_unref(object);
}

static void answer_status(hd_status status, const hd_error *error)
{
    char text[1024];
    if (status == HD_OK) {
        answer("ok", NULL, "");
        return;
    }
    (void)snprintf(text,
                   sizeof text,
                   "%s: %s: %s",
                   hd_status_name(status),
                   error->address,
                   error->text);
    answer(error->may_have_happened ? "unknown" : "refused", NULL, text);
}

static void do_open(struct place *place, const hd_value *command)
{
    hd_runtime_options options = {0};
    hd_error error;
    options.directory = text_at(command, "directory");
    options.user = text_at(command, "user");
    options.session = text_at(command, "session");
    options.durability = HD_DURABLE_NORMAL;
    options.report = note_failure;
    options.report_context = place;
    answer_status(hd_runtime_open(&options, &place->runtime, &error), &error);
}

static void do_start(struct place *place, const hd_value *command)
{
    hd_error error;
    hd_pattern *pattern = NULL;
    hd_piece *piece = NULL;
    hd_piece_options options = {0};
    hd_value *given = field(command, "pattern");
    char version[HD_DIGEST_LENGTH + 1];
    (void)hd_value_digest(given, version);
    options.arguments = field(command, "arguments");
    hd_status status = hd_pattern_new(text_at(given, "name"),
                                      version,
                                      build_pattern,
                                      given,
                                      NULL,
                                      &pattern,
                                      &error);
    if (status == HD_OK) {
        status = hd_piece_start(place->runtime,
                                pattern,
                                text_at(command, "piece"),
                                &options,
                                &piece,
                                &error);
    }
    if (status == HD_OK) {
        status = hd_runtime_settled(place->runtime,
                                    deadline(place->runtime),
                                    &error);
    }
    if (status == HD_OK) {
        hd_piece_state state = HD_PIECE_LOADING;
        status = hd_piece_look(piece, &state, &error);
        if (status == HD_OK && state != HD_PIECE_RUNNING) {
            status = error.status != HD_OK ? error.status : HD_STORE;
        }
    }
    hd_piece_free(piece);
    hd_pattern_free(pattern);
    answer_status(status, &error);
}

static void answer_ticket(hd_ticket *ticket)
{
    hd_outcome outcome = HD_WAITING;
    hd_value *receipt = NULL;
    hd_error error;
    (void)hd_ticket_outcome(ticket, &outcome);
    if (outcome == HD_WAITING) {
        answer("unknown", NULL, "the event did not end in time");
        return;
    }
    /* Dropped with a receipt: it was handled before. */
    if (hd_ticket_receipt(ticket, &receipt) == HD_OK) {
        answer("ok", receipt, "");
        return;
    }
    (void)hd_ticket_error(ticket, &error);
    answer_status(error.status != HD_OK ? error.status : HD_STORE, &error);
}

static void do_send(struct place *place, const hd_value *command)
{
    hd_error error;
    hd_piece *piece = NULL;
    hd_ticket *ticket = NULL;
    hd_send_options options = {0};
    hd_outcome outcome = HD_WAITING;
    uint64_t until = deadline(place->runtime);
    options.session = text_at(command, "session");
    options.id = text_at(command, "id");
    hd_status status = hd_piece_find(place->runtime,
                                     NULL,
                                     text_at(command, "piece"),
                                     &piece,
                                     &error);
    if (status == HD_OK) {
        status = hd_piece_send(piece,
                               text_at(command, "stream"),
                               field(command, "payload"),
                               &options,
                               &ticket,
                               &error);
    }
    hd_piece_free(piece);
    if (status != HD_OK) {
        answer_status(status, &error);
        return;
    }
    (void)hd_runtime_step(place->runtime, HD_NOW, &error);
    while (hd_ticket_outcome(ticket, &outcome) == HD_OK &&
           outcome == HD_WAITING &&
           hd_runtime_wait(place->runtime, until, &error) == HD_OK) {
    }
    answer_ticket(ticket);
    hd_ticket_free(ticket);
}

struct edit {
    const hd_value *command;
    hd_value *found;
};

static hd_status make_cell(hd_runtime *runtime,
                           const hd_value *document,
                           const hd_value *path,
                           hd_cell **cell)
{
    hd_address address = {0};
    address.document = text_of(document);
    address.path = text_of(path);
    if (strncmp(address.document, USER_SCOPE, strlen(USER_SCOPE)) == 0) {
        address.document += strlen(USER_SCOPE);
        address.scope = HD_SCOPE_USER;
    }
    return hd_cell_new_at(runtime, &address, cell, NULL);
}

/* One [operation, document, path, operand]; a link has the document and the
 * path of its target as operands. */
static hd_status operate(hd_runtime *runtime,
                         const hd_value *operation,
                         hd_error *error)
{
    hd_cell *cell = NULL;
    const char *kind = text_of(element(operation, 0));
    hd_status status =
        make_cell(runtime, element(operation, 1), element(operation, 2), &cell);
    if (status != HD_OK) {
        return status;
    }
    if (strcmp(kind, "link") == 0) {
        hd_cell *target = NULL;
        status = make_cell(runtime,
                           element(operation, 3),
                           element(operation, 4),
                           &target);
        if (status == HD_OK) {
            status = hd_cell_set_link(cell, target, error);
        }
        hd_cell_free(target);
    } else {
        status = write_cell(cell, kind, element(operation, 3), error);
    }
    hd_cell_free(cell);
    return status;
}

static hd_status edit_body(hd_runtime *runtime, void *context)
{
    struct edit *edit = context;
    hd_value *operations = field(edit->command, "operations");
    hd_value *reads = field(edit->command, "reads");
    hd_status status = HD_OK;
    hd_error error;
    for (size_t i = 0; i < count_of(operations) && status == HD_OK; i++) {
        status = operate(runtime, element(operations, i), &error);
    }
    hd_value_unref(edit->found);
    (void)hd_value_new_array(&edit->found);
    for (size_t i = 0; i < count_of(reads) && status == HD_OK; i++) {
        hd_cell *cell = NULL;
        hd_value *value = NULL;
        hd_value *read = element(reads, i);
        (void)make_cell(runtime, element(read, 0), element(read, 1), &cell);
        status = hd_cell_get(cell, &value, NULL);
        hd_cell_free(cell);
        if (status == HD_NOT_FOUND) {
            value = null_value();
            status = HD_OK;
        }
        if (status == HD_OK) {
            put(&edit->found, "-", value);
        }
    }
    return status;
}

static void do_edit(struct place *place, const hd_value *command)
{
    struct edit edit = {command, NULL};
    hd_error error;
    hd_status status =
        hd_runtime_edit(place->runtime, edit_body, &edit, &error);
    if (status == HD_OK) {
        answer("ok", edit.found, "");
    } else {
        answer_status(status, &error);
    }
}

/* Each operation is a transaction of its own; with "settle" they are on disk
 * when the answer comes. */
static void do_write(struct place *place, const hd_value *command)
{
    hd_value *operations = field(command, "operations");
    hd_status status = HD_OK;
    hd_error error;
    place->failure[0] = '\0';
    for (size_t i = 0; i < count_of(operations) && status == HD_OK; i++) {
        status = operate(place->runtime, element(operations, i), &error);
    }
    if (status == HD_OK && int_at(command, "settle") != 0) {
        status = hd_runtime_settled(place->runtime,
                                    deadline(place->runtime),
                                    &error);
    }
    if (status == HD_OK && place->failure[0] != '\0') {
        answer("refused", NULL, place->failure);
        return;
    }
    answer_status(status, &error);
}

static void do_settle(struct place *place)
{
    hd_error error;
    hd_status status =
        hd_runtime_settled(place->runtime, deadline(place->runtime), &error);
    if (status == HD_OK && place->failure[0] != '\0') {
        answer("refused", NULL, place->failure);
        place->failure[0] = '\0';
        return;
    }
    answer_status(status, &error);
}

/* What is at a cell, with everything that it links to; NULL: nothing. */
static hd_value *expand(hd_cell *cell, hd_status *status)
{
    hd_value *value = NULL;
    hd_value *result = NULL;
    *status = hd_cell_pull(cell, &value, NULL);
    if (*status != HD_OK) {
        *status = *status == HD_NOT_FOUND ? HD_OK : *status;
        return NULL;
    }
    bool is_array = kind_of(value) == HD_ARRAY;
    if (!is_array && kind_of(value) != HD_OBJECT) {
        return value;
    }
    (void)(is_array ? hd_value_new_array(&result)
                    : hd_value_new_object(&result));
    size_t cursor = 0;
    size_t count = count_of(value);
    for (size_t i = 0; i < count && *status == HD_OK; i++) {
        char path[PATH_BYTES];
        hd_cell *child = NULL;
        hd_value *key = NULL;
        if (is_array) {
            (void)snprintf(path, sizeof path, "/%zu", i);
        } else {
            (void)hd_value_next(value, &cursor, &key, NULL);
            (void)snprintf(path, sizeof path, "/%s", text_of(key));
        }
        (void)hd_cell_child(cell, path, &child, NULL);
        hd_value *item = expand(child, status);
        hd_cell_free(child);
        if (item != NULL) {
            put(&result, is_array ? "-" : text_of(key), item);
        }
    }
    hd_value_unref(value);
    return result;
}

static void do_get(struct place *place, const hd_value *command)
{
    hd_error error;
    hd_cell *cell = NULL;
    hd_value *value = NULL;
    hd_status status = make_cell(place->runtime,
                                 field(command, "document"),
                                 field(command, "path"),
                                 &cell);
    if (status == HD_OK) {
        value = expand(cell, &status);
    }
    hd_cell_free(cell);
    if (status != HD_OK) {
        (void)memset(&error, 0, sizeof error);
        answer_status(status, &error);
        return;
    }
    answer("ok", value, value == NULL ? "nothing" : "");
}

static void do_close(struct place *place)
{
    hd_error error;
    hd_status status =
        hd_runtime_close(place->runtime, deadline(place->runtime), &error);
    hd_runtime_free(place->runtime);
    place->runtime = NULL;
    answer_status(status, &error);
}

static void obey(const hd_value *command)
{
    const char *word = text_at(command, "do");
    struct place *place = &places[int_at(command, "runtime") % RUNTIMES];
    hd_error error;
    if (word == NULL) {
        stop("a command without a word");
    }
    if (strcmp(word, "open") == 0) {
        do_open(place, command);
    } else if (strcmp(word, "start") == 0) {
        do_start(place, command);
    } else if (strcmp(word, "send") == 0) {
        do_send(place, command);
    } else if (strcmp(word, "edit") == 0) {
        do_edit(place, command);
    } else if (strcmp(word, "write") == 0) {
        do_write(place, command);
    } else if (strcmp(word, "settle") == 0) {
        do_settle(place);
    } else if (strcmp(word, "step") == 0) {
        answer_status(hd_runtime_step(place->runtime, HD_NOW, &error), &error);
    } else if (strcmp(word, "get") == 0) {
        do_get(place, command);
    } else if (strcmp(word, "close") == 0) {
        do_close(place);
    } else {
        stop("a command that there is not");
    }
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length = 0;
    while ((length = getline(&line, &size, stdin)) > 0) {
        hd_value *command = NULL;
        if (hd_value_parse(line, (size_t)length, &command, NULL) != HD_OK) {
            stop("a command that is not JSON");
        }
        obey(command);
    }
    free(line);
    return EXIT_SUCCESS;
}
