/* Shapes that signal libraries are compared with: broad, deep, diamonds, and
 * those that are there to be got wrong. */

#include <math.h>

#include "base/check.h"
#include "signals/bodies.h"

static struct signal *head;
static struct signal *out;

void head_and_out(struct signal *new_head, struct signal *new_out)
{
    head = new_head;
    out = new_out;
}

static double write_and_look(double number)
{
    batch_begin();
    signal_set(head, number);
    batch_end();
    return signal_peek(out);
}

double iterate_head(const struct workload *workload)
{
    double sum = write_and_look(1);
    for (uint32_t i = 0; i + 1 < workload->updates; i++) {
        sum += write_and_look(i);
    }
    return sum;
}

/* -- Avoidable: what does not change stops the change -------------------- */

static double nothing_of(struct reading *at, const struct body *body)
{
    (void)signal_get(at, body->in[0]);
    return 0;
}

static void spin(void)
{
    for (volatile int i = 0; i < 100;) {
        i = i + 1;
    }
}

static double add_busily(struct reading *at, const struct body *body)
{
    spin();
    return add_number(at, body);
}

static double look_busily(struct reading *at, const struct body *body)
{
    const double number = signal_get(at, body->in[0]);
    spin();
    return number;
}

static void build_avoidable(const struct workload *workload)
{
    (void)workload;
    struct signal *source = signal_new(0);
    struct signal *last = computed_new(add_number, 0, 1, &source);
    last = computed_new(nothing_of, 0, 1, &last);
    last = computed_new(add_busily, 1, 1, &last);
    last = computed_new(add_number, 2, 1, &last);
    last = computed_new(add_number, 3, 1, &last);
    effect_new(look_busily, 0, 1, &last);
    head_and_out(source, last);
    graph_settle();
}

/* -- Broad and deep ------------------------------------------------------ */

static void build_broad(const struct workload *workload)
{
    struct signal *source = signal_new(0);
    struct signal *last = source;
    for (uint32_t i = 0; i < workload->size[0]; i++) {
        struct signal *first = computed_new(add_number, i, 1, &source);
        last = computed_new(add_number, 1, 1, &first);
        effect_new(look, 0, 1, &last);
    }
    head_and_out(source, last);
    graph_settle();
}

static void build_deep(const struct workload *workload)
{
    struct signal *source = signal_new(0);
    struct signal *last = source;
    for (uint32_t i = 0; i < workload->size[0]; i++) {
        last = computed_new(add_number, 1, 1, &last);
    }
    effect_new(look, 0, 1, &last);
    head_and_out(source, last);
    graph_settle();
}

/* -- Diamonds and triangles ---------------------------------------------- */

static void build_diamond(const struct workload *workload)
{
    struct signal *source = signal_new(0);
    struct signal *middle[1000];
    CHECK(workload->size[0] <= COUNT_OF(middle));
    for (uint32_t i = 0; i < workload->size[0]; i++) {
        middle[i] = computed_new(add_number, 1, 1, &source);
    }
    struct signal *sum = computed_new(sum_all, 0, workload->size[0], middle);
    effect_new(look, 0, 1, &sum);
    head_and_out(source, sum);
    graph_settle();
}

static void build_triangle(const struct workload *workload)
{
    (void)workload;
    struct signal *chain[11];
    chain[0] = signal_new(0);
    for (uint32_t i = 0; i < 10; i++) {
        chain[i + 1] = computed_new(add_number, 1, 1, &chain[i]);
    }
    struct signal *sum = computed_new(sum_all, 0, 10, chain);
    effect_new(look, 0, 1, &sum);
    head_and_out(chain[0], sum);
    graph_settle();
}

/* -- Repeated reads, and reads that come and go -------------------------- */

static double sum_of_30(struct reading *at, const struct body *body)
{
    double sum = 0;
    for (uint32_t i = 0; i < 30; i++) {
        sum += signal_get(at, body->in[0]);
    }
    return sum;
}

static void build_repeated(const struct workload *workload)
{
    (void)workload;
    struct signal *source = signal_new(0);
    struct signal *sum = computed_new(sum_of_30, 0, 1, &source);
    effect_new(look, 0, 1, &sum);
    head_and_out(source, sum);
    graph_settle();
}

static double switch_20_times(struct reading *at, const struct body *body)
{
    double sum = 0;
    for (uint32_t i = 0; i < 20; i++) {
        const bool odd = fmod(signal_get(at, body->in[0]), 2) > 0;
        sum += signal_get(at, body->in[odd ? 1 : 2]);
    }
    return sum;
}

static void build_unstable(const struct workload *workload)
{
    (void)workload;
    struct signal *source = signal_new(0);
    struct signal *const in[] = {
        source,
        computed_new(times_number, 2, 1, &source),
        computed_new(times_number, -1, 1, &source),
    };
    struct signal *sum = computed_new(switch_20_times, 0, 3, in);
    effect_new(look, 0, 1, &sum);
    head_and_out(source, sum);
    graph_settle();
}

/* -- Mux: a list of all, and one for each again -------------------------- */

enum {
    LANES = 100
};

static struct signal *heads[LANES];
static struct signal *lanes[LANES];

static void list_all(struct reading *at,
                     const struct body *body,
                     double *list,
                     uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        list[i] = signal_get(at, body->in[i]);
    }
}

static double pick(struct reading *at, const struct body *body)
{
    return signal_get_item(at, body->in[0], (uint32_t)body->number);
}

static void build_mux(const struct workload *workload)
{
    (void)workload;
    for (uint32_t i = 0; i < LANES; i++) {
        heads[i] = signal_new(0);
    }
    struct signal *list = computed_list_new(list_all, LANES, LANES, heads);
    for (uint32_t i = 0; i < LANES; i++) {
        struct signal *picked = computed_new(pick, i, 1, &list);
        lanes[i] = computed_new(add_number, 1, 1, &picked);
    }
    for (uint32_t i = 0; i < LANES; i++) {
        effect_new(look, 0, 1, &lanes[i]);
    }
    graph_settle();
}

static double iterate_mux(const struct workload *workload)
{
    (void)workload;
    double sum = 0;
    for (uint32_t round = 1; round <= 2; round++) {
        for (uint32_t i = 0; i < 10; i++) {
            batch_begin();
            signal_set(heads[i], i * round);
            batch_end();
            sum += signal_peek(lanes[i]);
        }
    }
    return sum;
}

/* -- Molecule: lists, and reads behind conditions ------------------------ */

/* Work that takes a while: the same calls as in the other languages. */
static int fibonacci(int n) /* NOLINT(misc-no-recursion): the work itself */
{
    return n < 2 ? 1 : fibonacci(n - 1) + fibonacci(n - 2);
}

static int (*volatile work)(int) = fibonacci;

static double hard(double number)
{
    return number + work(16);
}

static double odd_and_odd(struct reading *at, const struct body *body)
{
    return fmod(signal_get(at, body->in[0]), 2) +
           fmod(signal_get(at, body->in[1]), 2);
}

static void list_of_differences(struct reading *at,
                                const struct body *body,
                                double *list,
                                uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        list[i] = i + fmod(signal_get(at, body->in[0]), 2) -
                  fmod(signal_get(at, body->in[1]), 2);
    }
}

/* c, a, list */
static double molecule_e(struct reading *at, const struct body *body)
{
    return hard(signal_get(at, body->in[0]) + signal_get(at, body->in[1]) +
                signal_get_item(at, body->in[2], 0));
}

/* list, b */
static double molecule_f(struct reading *at, const struct body *body)
{
    const double item = signal_get_item(at, body->in[0], 2);
    return hard(fabs(item) > 0 ? item : signal_get(at, body->in[1]));
}

/* c, e, list, f */
static double molecule_g(struct reading *at, const struct body *body)
{
    const double c = signal_get(at, body->in[0]);
    const double other = fabs(c) > 0 ? c : fmod(signal_get(at, body->in[1]), 2);
    return c + other + signal_get_item(at, body->in[2], 4) +
           signal_get(at, body->in[3]);
}

static double look_hard(struct reading *at, const struct body *body)
{
    return hard(signal_get(at, body->in[0]));
}

static struct {
    struct signal *a, *b, *f, *g;
    uint32_t round;
} molecule;

static void build_molecule(const struct workload *workload)
{
    (void)workload;
    struct signal *const ab[] = {signal_new(0), signal_new(0)};
    struct signal *c = computed_new(odd_and_odd, 0, 2, ab);
    struct signal *list = computed_list_new(list_of_differences, 5, 2, ab);
    struct signal *const for_e[] = {c, ab[0], list};
    struct signal *e = computed_new(molecule_e, 0, 3, for_e);
    struct signal *const for_f[] = {list, ab[1]};
    struct signal *f = computed_new(molecule_f, 0, 2, for_f);
    struct signal *const for_g[] = {c, e, list, f};
    struct signal *g = computed_new(molecule_g, 0, 4, for_g);
    effect_new(look_hard, 0, 1, &g);
    effect_new(look, 0, 1, &g);
    effect_new(look_hard, 0, 1, &f);
    molecule.a = ab[0];
    molecule.b = ab[1];
    molecule.f = f;
    molecule.g = g;
    molecule.round = 0;
    graph_settle();
}

static double write_both(double a, double b)
{
    batch_begin();
    signal_set(molecule.b, b);
    signal_set(molecule.a, a);
    batch_end();
    return signal_peek(molecule.g) + signal_peek(molecule.f);
}

static double iterate_molecule(const struct workload *workload)
{
    (void)workload;
    const double round = ++molecule.round;
    const double sum = write_both(1 + round * 2, 1);
    return sum + write_both(2 + round * 2, 2);
}

/* -- The family ---------------------------------------------------------- */

#define HEAD(shape, count, batches, sum, runs, looks)                       \
    .build = build_##shape, .iterate = iterate_head, .size = {(count), 0},  \
    .updates = (batches), .warm = 2, .checksum = (sum), .computed = (runs), \
    .effects = (looks)

/* Where it is allowed to run more than the most precise library: the order of
 * heights runs a node whose only reader is about to drop it. */
static const struct workload kairo[] = {
    {"avoidable", HEAD(avoidable, 0, 1001, 6006, 2002, 0)},
    {"broad50", HEAD(broad, 50, 51, 3776, 5100, 2550)},
    {"broad1000", HEAD(broad, 1000, 51, 52226, 102000, 51000)},
    {"deep50", HEAD(deep, 50, 51, 3776, 2550, 51)},
    {"deep1000", HEAD(deep, 1000, 51, 52226, 51000, 51)},
    {"diamond5", HEAD(diamond, 5, 501, 626260, 3006, 501)},
    {"diamond1000", HEAD(diamond, 1000, 51, 1277000, 51051, 51)},
    {"mux100",
     .build = build_mux,
     .iterate = iterate_mux,
     .updates = 20,
     .warm = 2,
     .checksum = 155,
     .computed = 1836,
     .effects = 18,
     .lists = true},
    {"repeated30", HEAD(repeated, 0, 101, 148530, 101, 101)},
    {"triangle10", HEAD(triangle, 0, 101, 54055, 1010, 101)},
    {"unstable",
     HEAD(unstable, 0, 101, 51040, 202, 101),
     .computed_allowed = 302},
    {"molwire",
     .build = build_molecule,
     .iterate = iterate_molecule,
     .updates = 2,
     .warm = 2,
     .checksum = 6409,
     .computed = 9,
     .effects = 4,
     .computed_allowed = 10,
     .lists = true},
};

const struct workload_family kairo_family = {kairo, COUNT_OF(kairo)};
