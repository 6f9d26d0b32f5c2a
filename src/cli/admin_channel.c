/* A conversation of `heddle admin` with a server: attaching, asking, waiting.
 */

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include "cli/admin.h"
#include "cli/remote_option.h"
#include "cli/report.h"
#include "host/remote.h"
#include "host/system.h"
#include "server/shard.h"

static mono_ms now_ms(void)
{
    struct host *host = system_host();
    return host->now(host);
}

/* Sends, and sleeps until something arrives or is due. */
static void step(struct admin *admin)
{
    remote_flush(admin->remote);
    const mono_ms wake = remote_next_wake(admin->remote);
    const mono_ms now = now_ms();
    const mono_ms wait = wake > now ? wake - now : 0;
    struct pollfd waiting = {
        .fd = remote_fd(admin->remote),
        .events = POLLIN,
    };
    const int most = wake == MONO_NEVER ? -1 : wait < 60000 ? (int)wait : 60000;
    (void)poll(&waiting, 1, most);
    remote_receive(admin->remote, now_ms());
}

static int report_trouble(const struct admin *admin)
{
    struct err_detail detail = {0};
    const struct err_detail *trouble = remote_trouble(admin->channel);
    if (trouble == NULL) {
        (void)err_set(&detail, ERR_UNREACHABLE, "the connection was lost");
        trouble = &detail;
    }
    return report_detail(admin->options, NULL, trouble);
}

int admin_open(struct admin *admin,
               const struct options *options,
               const char *space,
               bool create)
{
    char name[32];
    *admin = (struct admin){.options = options};
    if (remote_option_url(options) == NULL) {
        return report_usage(options,
                            "which server? Name it with --server URL, or in "
                            "HEDDLE_SERVER");
    }
    const int code = remote_option_open(options, &admin->remote);
    if (code != CODE_OK) {
        return code;
    }
    (void)snprintf(name,
                   sizeof name,
                   "admin-%016" PRIx64,
                   system_host()->random(system_host()));
    const struct remote_opening opening = {
        .space = value_text_new(space != NULL ? space : SHARD_SERVER_SPACE),
        .session = value_text_new(name),
        .instance = value_text_new(name),
        .create = create,
    };
    admin->channel = remote_open(admin->remote, &opening, now_ms());
    value_unref(opening.space);
    value_unref(opening.session);
    value_unref(opening.instance);
    while (remote_state(admin->channel) == CHANNEL_ATTACHING) {
        step(admin);
    }
    return remote_state(admin->channel) == CHANNEL_ATTACHED
               ? CODE_OK
               : report_trouble(admin);
}

void admin_close(struct admin *admin)
{
    remote_free(admin->remote);
    admin->remote = NULL;
}

uint64_t admin_send(struct admin *admin, struct value question)
{
    const uint64_t number = remote_ask(admin->channel, question);
    value_unref(question);
    remote_flush(admin->remote);
    return number;
}

int admin_wait(struct admin *admin, uint64_t number, struct value *answer)
{
    struct err_detail detail = {0};
    enum err err = ERR_OK;
    *answer = VALUE_NONE;
    if (number == 0) {
        return report_trouble(admin);
    }
    while (!remote_take_answer(admin->channel, number, &err, answer, &detail)) {
        step(admin);
    }
    return err == ERR_OK ? CODE_OK
                         : report_detail(admin->options, NULL, &detail);
}

int admin_ask(struct admin *admin, struct value question, struct value *answer)
{
    return admin_wait(admin, admin_send(admin, question), answer);
}
