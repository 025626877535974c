/** The log of a club's events, their replay, and the stream of new events. */
import { EventStream } from '../../../contract/contract.ts';
import { openEventStream } from '../../../domain/webhooks/listeners/stream.ts';
import * as events from '../../../domain/webhooks/log/events.ts';
import { replayEvent as replay } from '../../../domain/webhooks/log/replay.ts';
import type { Operation } from '../../operation.ts';
import { data } from '../answers.ts';

export const listEvents: Operation<'listEvents'> = async ({ params, query, deps, now }) =>
  events.listEvents(deps, params.clubId, query, now);

export const replayEvent: Operation<'replayEvent'> = async ({ params, body, deps, now }) =>
  data(await replay(deps, params.clubId, params.eventId, body.endpoint_id, now));

/** A HEAD request gets no stream, so it registers no listener. */
export const streamWebhookEvents: Operation<'streamWebhookEvents'> = async ({
  params: { clubId },
  query,
  actor,
  header,
  method,
  deps,
  now,
}) => {
  if (method === 'HEAD') return new EventStream(async function* () {});
  const lastEventId = header('last-event-id');
  const request = {
    clubId,
    caller: { kind: actor.kind, id: actor.id },
    types: query.type,
    lastEventId: lastEventId === '' ? undefined : lastEventId,
  };
  const { db, vault, eventStreams } = deps;
  return new EventStream(await openEventStream({ db, vault, ...eventStreams }, request, now));
};
