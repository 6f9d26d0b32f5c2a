/* Values in a program: a stock list, a change, and the difference. Build it
 * with
 *
 *   cc embed.c $(pkg-config --cflags --libs heddle) -o embed
 *
 * The program has functions with names that the library uses internally. They
 * do not clash: the library exports only hd_ names. */

#include <heddle/heddle.h>
#include <stdio.h>
#include <stdlib.h>

/* -- The program's own names ---------------------------------------------- */

int graph_init(int nodes);
int array_set_adopt(int *array, int index, int item);

static int calls;

int graph_init(int nodes)
{
    calls++;
    return nodes;
}

int array_set_adopt(int *array, int index, int item)
{
    calls++;
    array[index] = item;
    return array[index];
}

/* -- The library ---------------------------------------------------------- */

/* Exits if a call failed. */
static void must(hd_status status, const hd_error *error)
{
    if (status != HD_OK) {
        (void)fprintf(stderr,
                      "%s: %s\n",
                      hd_status_name(status),
                      error != NULL ? error->text : hd_status_text(status));
        exit(EXIT_FAILURE);
    }
}

static hd_value *parse(const char *json)
{
    hd_value *value = NULL;
    hd_error error;
    must(hd_value_parse(json, HD_TERMINATED, &value, &error), &error);
    return value;
}

static void print(const char *label, const hd_value *value)
{
    char *text = NULL;
    must(hd_value_write(value, HD_AS_GIVEN, 0, &text, NULL), NULL);
    (void)printf("%-8s %s\n", label, text);
    hd_text_free(text);
}

static void print_items(const hd_value *stock)
{
    hd_value *key = NULL;
    hd_value *item = NULL;
    size_t cursor = 0;
    while (hd_value_next(stock, &cursor, &key, &item) == HD_OK) {
        const char *name = NULL;
        int64_t count = 0;
        must(hd_value_get_string(key, &name, NULL), NULL);
        must(hd_value_get_int(item, &count), NULL);
        (void)printf("item     %s: %lld\n", name, (long long)count);
        hd_value_unref(key);
        hd_value_unref(item);
    }
}

static void change_stock(void)
{
    hd_value *before = parse("{\"warp\": 12, \"weft\": 7}");
    hd_value *patch =
        parse("[{\"op\":\"increment\",\"path\":\"/weft\",\"by\":3},"
              " {\"op\":\"add\",\"path\":\"/reed\",\"value\":1}]");
    hd_value *after = NULL;
    hd_value *paths = NULL;
    hd_error error;
    must(hd_value_patch(before, patch, &after, &error), &error);
    must(hd_value_changed_paths(before, after, &paths), NULL);
    print("before", before);
    print("after", after);
    print("changed", paths);
    print_items(after);
    hd_value_unref(paths);
    hd_value_unref(after);
    hd_value_unref(patch);
    hd_value_unref(before);
}

static void show_error(void)
{
    hd_value *value = NULL;
    hd_error error;
    if (hd_value_parse("[1, 2,]", HD_TERMINATED, &value, &error) != HD_OK) {
        (void)printf("error    %s\n", error.text);
    }
}

int main(void)
{
    int array[2] = {0, 0};
    const int nodes = graph_init(3);
    const int item = array_set_adopt(array, 1, 7);
    (void)printf("heddle   %s\n", hd_version());
    change_stock();
    show_error();

    /* The library has called none of these functions. */
    if (nodes != 3 || item != 7 || array[1] != 7 || calls != 2) {
        (void)fprintf(stderr, "the names met\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
