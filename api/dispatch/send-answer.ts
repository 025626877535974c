/** Turns the result of a handler into the answer: JSON, a file, a redirect or a stream of events. */
import { Binary, EventStream, Redirect, type ContractOperation } from '../../contract/contract.ts';
import type { Context } from '../middleware/context.ts';
import { answerWithEvents, type StreamSettings } from '../middleware/event-stream.ts';
import type { StreamPermit } from '../open-streams.ts';

/** @param permit the permit of the stream, for an operation that answers with events */
export function sendAnswer(
  context: Context,
  { successStatus }: ContractOperation,
  answer: unknown,
  { streams, permit }: { streams: StreamSettings; permit: StreamPermit | undefined },
): void {
  context.status = successStatus;
  if (typeof answer === 'string') context.type = 'json'; // a text answer is already JSON
  if (answer instanceof Binary) answerWithFile(context, answer);
  else if (answer instanceof Redirect) leadTo(context, answer);
  else if (answer instanceof EventStream && permit) answerWithEvents(context, answer, permit, streams);
  else if (answer !== undefined) context.body = answer;
}

/** The browser shows the file, and saves it under this name. */
function answerWithFile(context: Context, { type, bytes, fileName }: Binary): void {
  context.attachment(fileName, { type: 'inline' });
  context.type = type;
  context.body = bytes;
}

/** The redirect has no body, because callers follow it to its target. */
function leadTo(context: Context, { location }: Redirect): void {
  context.set('Location', location);
  context.body = null;
  context.status = 302; // set again, because the null body has set the status 204
}
