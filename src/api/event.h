/* Handlers and tickets, for the files beside. */

#ifndef API_EVENT_H
#define API_EVENT_H

#include "api/cell.h"
#include "api/node.h"
#include "sched/events.h"

/* Cancels the handler of a callback. */
void handler_remove(struct sched *sched, struct callback *callback);

/* Sends to a stream, as hd_cell_send. */
MUST_CHECK enum err event_send(hd_runtime *runtime,
                               struct stream *stream,
                               const hd_value *payload,
                               const hd_send_options *options,
                               hd_ticket **ticket,
                               struct err_detail *detail);

/* What error->limit is for that. */
void event_report_limit(const hd_runtime *runtime, hd_error *error);

#endif
