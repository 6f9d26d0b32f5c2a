/* The command queue: what other threads ask the I/O thread for.
 *
 *   net-commands-1  The I/O thread swaps the vector with an empty one and works
 *                   without the lock. The push that finds the queue empty wakes
 *                   it; all later ones until the swap cost no system call.
 *   net-commands-2  Commands are done in the order in which they were pushed.
 *   net-commands-3  Output is written at the end of a batch, once per
 *                   connection, and without waiting for the next poll. */

#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/net_internal.h"

void net_commands_push(struct net *net,
                       const struct net_command *commands,
                       size_t count)
{
    (void)pthread_mutex_lock(&net->lock);
    const bool was_empty = net->commands.count == 0;
    vec_reserve(&net->commands, net->commands.count + count);
    memcpy(net->commands.at + net->commands.count,
           commands,
           count * sizeof *commands);
    net->commands.count += count;
    (void)pthread_mutex_unlock(&net->lock);
    if (was_empty && !net_is_io_thread(net)) {
        lws_cancel_service(net->context);
    }
}

/* -- From any thread ----------------------------------------------------- */

void net_send(struct net *net,
              net_id id,
              struct net_bytes *head,
              struct net_bytes *body)
{
    net_commands_push(net,
                      &(struct net_command){.kind = NET_COMMAND_SEND,
                                            .id = id,
                                            .message = {head, body}},
                      1);
}

void net_send_all(struct net *net,
                  const struct net_outgoing *messages,
                  size_t count)
{
    enum {
        STEP = 64
    };
    struct net_command commands[STEP];
    while (count > 0) {
        const size_t step = count < STEP ? count : STEP;
        for (size_t i = 0; i < step; i++) {
            commands[i] = (struct net_command){
                .kind = NET_COMMAND_SEND,
                .id = messages[i].id,
                .message = {messages[i].head, messages[i].body},
            };
        }
        net_commands_push(net, commands, step);
        messages += step;
        count -= step;
    }
}

void net_respond(struct net *net, net_id id, const struct net_response *with)
{
    net_commands_push(net,
                      &(struct net_command){.kind = NET_COMMAND_RESPOND,
                                            .id = id,
                                            .answer = net_answer_new(with)},
                      1);
}

void net_resume(struct net *net, net_id id)
{
    net_commands_push(
        net,
        &(struct net_command){.kind = NET_COMMAND_RESUME, .id = id},
        1);
}

void net_end(struct net *net, net_id id, unsigned code, const char *reason)
{
    net_commands_push(net,
                      &(struct net_command){.kind = NET_COMMAND_END,
                                            .id = id,
                                            .code = code,
                                            .reason = net_text_copy(reason)},
                      1);
}

void net_stop_listening(struct net *net)
{
    net_commands_push(net,
                      &(struct net_command){.kind = NET_COMMAND_STOP_LISTENING},
                      1);
}

/* -- On the I/O thread --------------------------------------------------- */

void net_connection_flush(struct net_connection *connection)
{
    if (!connection->is_flushing) {
        connection->is_flushing = true;
        vec_push(&connection->net->flushing, connection);
    }
}

/* net-commands-3 */
static void flush(struct net *net)
{
    for (size_t i = 0; i < net->flushing.count; i++) {
        struct net_connection *connection = net->flushing.at[i];
        if (connection == NULL) {
            continue;
        }
        connection->is_flushing = false;
        if (connection->state == NET_STATE_SOCKET) {
            if (connection->is_ending || connection->ping_due ||
                connection->is_compressed) {
                lws_callback_on_writable(connection->wsi);
            } else if (net_socket_write(connection) != 0) {
                net_connection_kill(connection);
            }
        } else if (net_http_flush(connection) != 0) {
            net_connection_kill(connection);
        }
    }
    vec_clear(&net->flushing);
}

static bool takes_output(const struct net_connection *connection)
{
    return connection->state == NET_STATE_SOCKET ||
           connection->state == NET_STATE_STREAM;
}

static void end(struct net_connection *connection,
                unsigned code,
                const char *reason)
{
    if (connection->is_ending) {
        return;
    }
    net_connection_blame(connection,
                         "%s",
                         reason != NULL ? reason : "ended by this side");
    connection->is_ending = true;
    connection->end_code = (uint16_t)code;
    if (takes_output(connection)) {
        net_connection_flush(connection);
    } else {
        net_connection_kill(connection);
    }
}

static void run_on_connection(struct net_connection *connection,
                              struct net_command *command)
{
    switch (command->kind) {
    case NET_COMMAND_SEND:
        if (takes_output(connection)) {
            net_connection_queue(connection,
                                 command->message.head,
                                 command->message.body);
            command->message = (struct net_message){NULL, NULL};
            net_connection_flush(connection);
        }
        break;
    case NET_COMMAND_RESPOND:
        if (connection->state == NET_STATE_REQUESTED) {
            net_http_respond(connection, command->answer);
            net_connection_flush(connection);
        }
        break;
    case NET_COMMAND_RESUME:
        if (connection->state == NET_STATE_SOCKET) {
            net_socket_resume(connection);
        }
        break;
    case NET_COMMAND_END:
        end(connection, command->code, command->reason);
        break;
    case NET_COMMAND_DIAL:
    case NET_COMMAND_STOP_LISTENING:
    case NET_COMMAND_RELOAD:
    case NET_COMMAND_ORIGINS:
        UNREACHABLE("not a command about a connection");
    }
}

static void drop(struct net_command *command)
{
    switch (command->kind) {
    case NET_COMMAND_SEND:
        net_bytes_unref(command->message.head);
        net_bytes_unref(command->message.body);
        break;
    case NET_COMMAND_RESPOND:
        net_answer_free(command->answer);
        break;
    case NET_COMMAND_END:
        net_text_free(command->reason);
        break;
    case NET_COMMAND_DIAL:
        net_call_free(command->call);
        break;
    case NET_COMMAND_ORIGINS:
        net_origins_free(command->origins);
        break;
    case NET_COMMAND_RESUME:
    case NET_COMMAND_STOP_LISTENING:
    case NET_COMMAND_RELOAD:
        break;
    }
}

static void run(struct net *net, struct net_command *command)
{
    struct net_connection *connection;
    switch (command->kind) {
    case NET_COMMAND_DIAL:
        net_dial_begin(net, command->id, command->call);
        command->call = NULL;
        break;
    case NET_COMMAND_STOP_LISTENING:
        net_listen_end(net);
        break;
    case NET_COMMAND_RELOAD:
        net_tls_reload(net, command->reload);
        break;
    case NET_COMMAND_ORIGINS:
        net_origins_free(net->origins);
        net->origins = command->origins;
        command->origins = NULL;
        break;
    case NET_COMMAND_SEND:
    case NET_COMMAND_RESPOND:
    case NET_COMMAND_RESUME:
    case NET_COMMAND_END:
        connection = net_connection_find(net, command->id);
        if (connection != NULL) {
            run_on_connection(connection, command);
        }
        break;
    }
    drop(command);
}

static net_commands take(struct net *net, net_commands empty)
{
    (void)pthread_mutex_lock(&net->lock);
    const net_commands taken = net->commands;
    net->commands = empty;
    (void)pthread_mutex_unlock(&net->lock);
    return taken;
}

void net_commands_run(struct net *net)
{
    net_commands commands = take(net, net->done);
    VEC_FOREACH (&commands, command) {
        run(net, command);
    }
    flush(net);
    vec_clear(&commands);
    net->done = commands;

    /* Events that were called here may have asked for more. */
    (void)pthread_mutex_lock(&net->lock);
    const bool has_more = net->commands.count > 0;
    (void)pthread_mutex_unlock(&net->lock);
    if (has_more) {
        lws_cancel_service(net->context);
    }
}

void net_commands_drop(struct net *net)
{
    net_commands commands = take(net, (net_commands){0});
    VEC_FOREACH (&commands, command) {
        drop(command);
    }
    vec_release(&commands);
    vec_release(&net->done);
}
