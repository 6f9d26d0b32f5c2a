/* Why did this node run, and why does that one not?
 *
 * The program first asks an open runtime about its nodes. Then it opens a
 * second, read-only runtime and asks what the first one has stored: what
 * changed, when, and because of what. The commands `heddle ps`, `why`,
 * `why-not` and `log` use the same functions.
 *
 * Usage: explain DIRECTORY */

#include <heddle/heddle.h>
#include <stdio.h>
#include <stdlib.h>

static void must(hd_status status, const hd_error *error)
{
    if (status != HD_OK) {
        (void)fprintf(stderr, "%s: %s\n", hd_status_name(status), error->text);
        exit(EXIT_FAILURE);
    }
}

/* Prints some fields of an answer and releases it. */
static void print(hd_value *answer, const char *const *fields)
{
    for (; *fields != NULL; fields++) {
        hd_value *field = NULL;
        char *text = NULL;
        if (hd_value_get(answer, *fields, HD_TERMINATED, &field, NULL) ==
                HD_OK &&
            hd_value_write(field, HD_CANONICAL, 0, &text, NULL) == HD_OK) {
            (void)printf("  %s: %s\n", *fields, text);
        }
        hd_text_free(text);
        hd_value_unref(field);
    }
    hd_value_unref(answer);
}

/* -- A piece: a price, and the price with tax ----------------------------- */

struct shop {
    hd_cell *price;
    hd_cell *gross;
};

static hd_status compute_gross(hd_run *run, void *context)
{
    const struct shop *shop = context;
    int64_t price = 0;
    hd_value *gross = NULL;
    hd_status status = hd_cell_get_int(shop->price, &price, NULL);
    if (status == HD_OK) {
        status = hd_value_new_int(price * 119 / 100, &gross);
    }
    if (status == HD_OK) {
        status = hd_run_return(run, gross);
    }
    hd_value_unref(gross);
    return status;
}

static hd_status set_price(hd_run *run, void *context)
{
    const struct shop *shop = context;
    hd_value *price = NULL;
    hd_status status = hd_run_payload(run, &price);
    if (status == HD_OK) {
        status = hd_cell_set(shop->price, price, NULL);
    }
    hd_value_unref(price);
    return status;
}

static hd_status build(hd_builder *builder, void *context)
{
    struct shop *shop = context;
    hd_node_options gross = HD_INIT;
    hd_handler_options handler = HD_INIT;
    hd_value *none = NULL;
    hd_status status = hd_value_new_int(0, &none);
    gross.run = compute_gross;
    gross.context = shop;
    handler.run = set_price;
    handler.context = shop;
    if (status == HD_OK) {
        status = hd_build_state(builder, "price", none, &shop->price, NULL);
    }
    if (status == HD_OK) {
        status =
            hd_build_computed(builder, "gross", &gross, &shop->gross, NULL);
    }
    if (status == HD_OK) {
        status = hd_build_handler(builder, "raise", &handler, NULL, NULL);
    }
    if (status == HD_OK) {
        status = hd_build_result(builder, "gross", shop->gross, NULL);
    }
    hd_value_unref(none);
    return status;
}

static void look(void *context, const hd_value *value)
{
    int64_t gross = 0;
    (void)context;
    if (value != NULL && hd_value_get_int(value, &gross) == HD_OK) {
        (void)printf("gross: %lld\n", (long long)gross);
    }
}

/* -- The runtime that runs the piece -------------------------------------- */

static void ask_node(hd_node *node)
{
    static const char *const why[] = {"/reason", "/causes/0/address", NULL};
    static const char *const why_not[] = {"/condition", NULL};
    hd_value *answer = NULL;
    hd_error error;
    (void)printf("why did gross run?\n");
    must(hd_node_why(node, &answer, &error), &error);
    print(answer, why);
    (void)printf("why does it not run now?\n");
    must(hd_node_why_not(node, &answer, &error), &error);
    print(answer, why_not);
}

static void run_shop(const char *directory)
{
    struct shop shop = {NULL, NULL};
    hd_runtime_options options = HD_INIT;
    hd_runtime *runtime = NULL;
    hd_pattern *pattern = NULL;
    hd_piece *piece = NULL;
    hd_cell *gross = NULL;
    hd_node *node = NULL;
    hd_value *price = NULL;
    hd_error error;
    options.directory = directory;
    must(hd_runtime_open(&options, &runtime, &error), &error);
    must(hd_pattern_new("shop", "1", build, &shop, NULL, &pattern, &error),
         &error);
    must(hd_piece_start(runtime, pattern, "shop", NULL, &piece, &error),
         &error);
    must(hd_runtime_settled(runtime, HD_NEVER, &error), &error);
    must(hd_piece_cell(piece, "/gross", &gross, &error), &error);
    must(hd_piece_node(piece, "gross", &node, &error), &error);
    ask_node(node);
    must(hd_sink_new(gross, look, NULL, NULL, &error), &error);
    must(hd_runtime_settled(runtime, HD_NEVER, &error), &error);
    must(hd_value_new_int(200, &price), &error);
    must(hd_piece_send(piece, "raise", price, NULL, NULL, &error), &error);
    must(hd_runtime_settled(runtime, HD_NEVER, &error), &error);
    ask_node(node);
    must(hd_runtime_close(runtime, HD_NEVER, &error), &error);
    hd_value_unref(price);
    hd_node_free(node);
    hd_cell_free(gross);
    hd_piece_free(piece);
    hd_pattern_free(pattern);
    hd_runtime_free(runtime);
}

/* -- The read-only runtime ------------------------------------------------ */

static void look_back(const char *directory)
{
    static const char *const causes[] = {"/runs",
                                         "/causes/0/address",
                                         "/causes/0/changes/0",
                                         "/causes/0/by/type",
                                         "/causes/0/by/handler",
                                         NULL};
    static const char *const values[] = {"", NULL};
    hd_runtime_options options = HD_INIT;
    hd_question question = HD_INIT;
    hd_runtime *runtime = NULL;
    hd_inspection *inspection = NULL;
    hd_value *answer = NULL;
    hd_cell *price = NULL;
    hd_error error;
    options.directory = directory;
    options.read_only = true;
    must(hd_runtime_open(&options, &runtime, &error), &error);
    must(hd_inspection_new(runtime, NULL, &inspection, &error), &error);
    question.piece = "shop";
    question.node = "gross";
    (void)printf("the file: why did gross run?\n");
    must(hd_inspection_why(inspection, &question, &answer, &error), &error);
    print(answer, causes);
    (void)printf("the file: what is there?\n");
    must(hd_inspection_show(inspection, "shop", NULL, 0, &answer, &error),
         &error);
    print(answer, values);
    must(hd_cell_new(runtime, "piece:shop/price", NULL, &price, &error),
         &error);
    (void)hd_cell_set_int(price, 1, &error);
    (void)printf("a write: %s\n", hd_status_name(error.status));
    hd_cell_free(price);
    hd_inspection_free(inspection);
    must(hd_runtime_close(runtime, HD_NEVER, &error), &error);
    hd_runtime_free(runtime);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        (void)fprintf(stderr, "Usage: explain DIRECTORY\n");
        return EXIT_FAILURE;
    }
    run_shop(arguments[1]);
    look_back(arguments[1]);
    return EXIT_SUCCESS;
}
