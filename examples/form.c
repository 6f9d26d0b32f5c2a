/* A form with a total, and a button that submits it.
 *
 * No effect demands the total, so it is not computed while the user types. But
 * the handler of the button declares that it reads the total: the event waits
 * until the total is up to date. So the handler sees the total at the time when
 * the button was pressed, never a stale one. */

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

struct form {
    hd_cell *price;
    hd_cell *amount;
    hd_cell *total;
    hd_cell *button; /* a stream: events are sent to it */
    hd_cell *orders;
    int runs;
};

static hd_status compute_total(hd_run *run, void *context)
{
    struct form *form = context;
    int64_t price = 0;
    int64_t amount = 0;
    hd_status status = hd_cell_get_int(form->price, &price, NULL);
    (void)run;
    form->runs++;
    if (status == HD_OK) {
        status = hd_cell_get_int(form->amount, &amount, NULL);
    }
    return status != HD_OK ? status
                           : hd_cell_set_int(form->total, price * amount, NULL);
}

static hd_status submit(hd_run *run, void *context)
{
    const struct form *form = context;
    hd_value *total = NULL;
    hd_status status = hd_cell_get(form->total, &total, NULL);
    if (status == HD_OK) {
        status = hd_cell_append(form->orders, total, NULL);
    }
    if (status == HD_OK) {
        status = hd_run_return(run, total); /* the receipt */
    }
    hd_value_unref(total);
    return status;
}

static void open_form(hd_runtime *runtime, struct form *form)
{
    hd_error error;
    hd_value *none = NULL;
    must(hd_cell_new(runtime, "price", NULL, &form->price, &error), &error);
    must(hd_cell_new(runtime, "amount", NULL, &form->amount, &error), &error);
    must(hd_cell_new(runtime, "total", NULL, &form->total, &error), &error);
    must(hd_cell_new(runtime, "button", NULL, &form->button, &error), &error);
    must(hd_cell_new(runtime, "orders", NULL, &form->orders, &error), &error);
    must(hd_value_new_array(&none), &error);
    must(hd_cell_set(form->orders, none, &error), &error);
    hd_value_unref(none);

    hd_node_options total = HD_INIT;
    total.name = "total";
    total.run = compute_total;
    total.context = form;
    total.writes = &form->total;
    total.write_count = 1;
    must(hd_computation_new(runtime, &total, NULL, &error), &error);

    hd_handler_options handler = HD_INIT;
    handler.name = "submit";
    handler.run = submit;
    handler.context = form;
    handler.reads = &form->total;
    handler.read_count = 1;
    must(hd_handler_new(form->button, &handler, NULL, &error), &error);
}

static void press(hd_runtime *runtime, const struct form *form)
{
    hd_error error;
    hd_ticket *ticket = NULL;
    hd_value *receipt = NULL;
    int64_t total = 0;
    must(hd_cell_send(form->button, NULL, NULL, &ticket, &error), &error);
    must(hd_runtime_settled(runtime, HD_NEVER, &error), &error);
    must(hd_ticket_receipt(ticket, &receipt), &error);
    must(hd_value_get_int(receipt, &total), &error);
    (void)printf("ordered for %lld, after %d runs of the total\n",
                 (long long)total,
                 form->runs);
    hd_value_unref(receipt);
    hd_ticket_free(ticket);
}

int main(void)
{
    hd_runtime *runtime = NULL;
    hd_error error;
    struct form form = {NULL, NULL, NULL, NULL, NULL, 0};
    must(hd_runtime_open(NULL, &runtime, &error), &error);
    open_form(runtime, &form);

    must(hd_cell_set_int(form.price, 7, &error), &error);
    for (int64_t typed = 1; typed <= 5; typed++) {
        must(hd_cell_set_int(form.amount, typed, &error), &error);
        must(hd_runtime_idle(runtime, HD_NEVER, &error), &error);
    }
    (void)printf("typed 5 times: %d runs of the total\n", form.runs);
    press(runtime, &form);
    must(hd_cell_set_int(form.price, 100, &error), &error);
    press(runtime, &form);

    must(hd_runtime_close(runtime, HD_NEVER, &error), &error);
    hd_cell_free(form.price);
    hd_cell_free(form.amount);
    hd_cell_free(form.total);
    hd_cell_free(form.button);
    hd_cell_free(form.orders);
    hd_runtime_free(runtime);
    return EXIT_SUCCESS;
}
