/* A chat: two runtimes that share a directory. Usage: chat DIRECTORY
 *
 * Each runtime is a session, as in two processes. Both append to one list at
 * the same time. Appends merge, so no message is lost and no retry is needed.
 */

#include <heddle/heddle.h>
#include <stdio.h>
#include <stdlib.h>

struct person {
    const char *name;
    hd_runtime *runtime;
    hd_cell *messages;
};

static void must(hd_status status, const hd_error *error)
{
    if (status != HD_OK) {
        (void)fprintf(stderr, "%s: %s\n", hd_status_name(status), error->text);
        exit(EXIT_FAILURE);
    }
}

static void join(struct person *person, const char *directory)
{
    hd_error error;
    hd_runtime_options options = HD_INIT;
    options.directory = directory;
    options.user = person->name;
    must(hd_runtime_open(&options, &person->runtime, &error), &error);
    must(hd_cell_new(person->runtime,
                     "messages",
                     NULL,
                     &person->messages,
                     &error),
         &error);
}

static void say(const struct person *person, const char *text)
{
    hd_error error;
    hd_value *message = NULL;
    char line[100];
    (void)snprintf(line, sizeof line, "%s: %s", person->name, text);
    must(hd_value_new_string(line, HD_TERMINATED, &message), &error);
    must(hd_cell_append(person->messages, message, &error), &error);
    hd_value_unref(message);
}

/* Waits until `count` messages have arrived. */
static void wait_for(const struct person *person, size_t count)
{
    hd_error error;
    size_t found = 0;
    while (found < count) {
        must(hd_cell_count(person->messages, &found, &error), &error);
        if (found < count) {
            must(hd_runtime_wait(person->runtime, HD_NEVER, &error), &error);
        }
    }
}

static void show(const struct person *person)
{
    hd_error error;
    hd_value *messages = NULL;
    size_t count = 0;
    must(hd_cell_get(person->messages, &messages, &error), &error);
    must(hd_value_count(messages, &count), &error);
    (void)printf("%s sees\n", person->name);
    for (size_t i = 0; i < count; i++) {
        hd_value *message = NULL;
        const char *text = NULL;
        must(hd_value_at(messages, i, &message), &error);
        must(hd_value_get_string(message, &text, NULL), &error);
        (void)printf("  %s\n", text);
        hd_value_unref(message);
    }
    hd_value_unref(messages);
}

static void leave(struct person *person)
{
    hd_error error;
    must(hd_runtime_close(person->runtime, HD_NEVER, &error), &error);
    hd_cell_free(person->messages);
    hd_runtime_free(person->runtime);
}

int main(int argc, char **argv)
{
    hd_error error;
    hd_value *none = NULL;
    struct person ada = {"ada", NULL, NULL};
    struct person bob = {"bob", NULL, NULL};
    if (argc != 2) {
        (void)fprintf(stderr, "usage: chat DIRECTORY\n");
        return 2;
    }
    join(&ada, argv[1]);
    must(hd_value_new_array(&none), &error);
    must(hd_cell_set(ada.messages, none, &error), &error);
    hd_value_unref(none);
    must(hd_runtime_settled(ada.runtime, HD_NEVER, &error), &error);
    join(&bob, argv[1]);
    wait_for(&bob, 0);

    say(&ada, "who is there?");
    say(&bob, "is anybody there?"); /* neither knows of the other's yet */
    must(hd_runtime_settled(ada.runtime, HD_NEVER, &error), &error);
    must(hd_runtime_settled(bob.runtime, HD_NEVER, &error), &error);
    wait_for(&ada, 2);
    say(&ada, "ah, you are");
    must(hd_runtime_settled(ada.runtime, HD_NEVER, &error), &error);
    wait_for(&bob, 3);
    show(&ada);
    show(&bob);
    leave(&bob);
    leave(&ada);
    return EXIT_SUCCESS;
}
