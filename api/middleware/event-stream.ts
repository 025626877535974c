/** Answers with events (AGT-13): blocks of an `event` and a `data` line, and comments during a silence (DEC-22). */
import { once, setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { EventStream, StreamEvent } from '../../contract/contract.ts';
import { eventStreams } from '../metrics.ts';
import type { OpenStreams, StreamPlace } from '../open-streams.ts';
import type { Context } from './context.ts';

/** What streams need of the process. */
export interface StreamSettings {
  /** After so long a silence a comment is sent, so that nobody on the way takes the connection for dead. */
  heartbeatMs: number;
  /** Aborted when the process stops: streams end then, and who wants the rest comes again. */
  stopping: AbortSignal;
  /** Those that are open; each takes a place. */
  open: OpenStreams;
  /** Called with a stream that broke for a reason of ours. */
  onFailure: (error: unknown) => void;
}

/** Of a connection without traffic: a client that has vanished without a word is found out. */
const keepAliveMs = 60_000;

const headers = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store, no-transform', // nobody on the way may keep it, nor compress it and so hold it back
  'X-Accel-Buffering': 'no',
};

/**
 * Sends the headers at once, and the events from then on, beside the chain of middleware: the request counts as answered.
 * @param place given back when the stream has ended
 */
export function answerWithEvents(
  context: Context,
  stream: EventStream,
  place: StreamPlace,
  settings: StreamSettings,
): void {
  context.set(headers);
  if (context.method === 'HEAD') return place.release();
  context.respond = false;
  context.req.socket.setKeepAlive(true, keepAliveMs);
  context.res.flushHeaders();
  void sendEvents(context.res, stream, place, settings);
}

async function sendEvents(
  response: ServerResponse,
  stream: EventStream,
  place: StreamPlace,
  { heartbeatMs, stopping, onFailure }: StreamSettings,
): Promise<void> {
  const closing = new AbortController();
  const close = () => closing.abort();
  setMaxListeners(0, stopping);
  stopping.addEventListener('abort', close);
  place.sessionEnded.addEventListener('abort', close);
  response.once('close', close);
  if (stopping.aborted || place.sessionEnded.aborted || response.destroyed) close();
  // A response that is full has things to say, and takes no comment beside them.
  const heartbeat = setInterval(() => !response.writableNeedDrain && response.write(comment), heartbeatMs);
  eventStreams.inc();
  try {
    for await (const event of stream.open(closing.signal)) {
      heartbeat.refresh();
      // The next event is asked for when this one is on its way: a slow reader holds one, and nothing piles up behind it.
      if (!response.write(blockOf(event))) await once(response, 'drain', { signal: closing.signal });
    }
    response.end();
  } catch (error) {
    if (!closing.signal.aborted) onFailure(error);
    response.destroy();
  } finally {
    eventStreams.dec();
    place.release();
    clearInterval(heartbeat);
    stopping.removeEventListener('abort', close);
  }
}

const comment = ': still here\n\n';

/** JSON has no line break of its own, so that an event's data is one line. */
function blockOf({ event, data }: StreamEvent): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
