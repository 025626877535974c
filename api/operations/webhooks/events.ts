/** The log of a club's events, and their replay. */
import * as events from '../../../domain/webhooks/log/events.ts';
import { replayEvent as replay } from '../../../domain/webhooks/log/replay.ts';
import type { Operation } from '../../operation.ts';
import { data } from '../answers.ts';

export const listEvents: Operation<'listEvents'> = async ({ params, query, deps, now }) =>
  events.listEvents(deps, params.clubId, query, now);

export const replayEvent: Operation<'replayEvent'> = async ({ params, body, deps, now }) =>
  data(await replay(deps, params.clubId, params.eventId, body.endpoint_id, now));
