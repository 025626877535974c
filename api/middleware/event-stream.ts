/** Answers with events (AGT-13): blocks of an `event` line and a `data` line, and comments during silence (DEC-22). */
import { once, setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { EventStream, StreamEvent } from '../../contract/contract.ts';
import { eventStreams } from '../metrics.ts';
import type { OpenStreams, StreamPermit } from '../open-streams.ts';
import type { Context } from './context.ts';

export interface StreamSettings {
  /** After this silence the stream sends a comment, so that proxies do not close the connection. */
  heartbeatMs: number;
  /** Aborts when the process stops. The streams end, and the clients connect again. */
  stopping: AbortSignal;
  open: OpenStreams;
  /** For internal errors. */
  onFailure: (error: unknown) => void;
}

/** Detects vanished clients on connections without traffic. */
const keepAliveMs = 60_000;

const headers = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store, no-transform', // no proxy may store, compress or delay the stream
  'X-Accel-Buffering': 'no',
};

/**
 * Sends the headers immediately, and then the events, outside the chain of middleware.
 * @param permit returned when the stream has ended
 */
export function answerWithEvents(
  context: Context,
  stream: EventStream,
  permit: StreamPermit,
  settings: StreamSettings,
): void {
  context.set(headers);
  if (context.method === 'HEAD') return permit.release();
  context.respond = false;
  context.req.socket.setKeepAlive(true, keepAliveMs);
  context.res.flushHeaders();
  void sendEvents(context.res, stream, permit, settings);
}

async function sendEvents(
  response: ServerResponse,
  stream: EventStream,
  permit: StreamPermit,
  { heartbeatMs, stopping, onFailure }: StreamSettings,
): Promise<void> {
  const closing = new AbortController();
  const close = () => closing.abort();
  setMaxListeners(0, stopping);
  stopping.addEventListener('abort', close);
  permit.sessionEnded.addEventListener('abort', close);
  response.once('close', close);
  if (stopping.aborted || permit.sessionEnded.aborted || response.destroyed) close();
  // While data waits to be sent, no comment is needed.
  const heartbeat = setInterval(() => !response.writableNeedDrain && response.write(comment), heartbeatMs);
  eventStreams.inc();
  try {
    for await (const event of stream.open(closing.signal)) {
      heartbeat.refresh();
      // The next event is read after this event is written, so a slow reader costs one event of memory.
      if (!response.write(blockOf(event))) await once(response, 'drain', { signal: closing.signal });
    }
    response.end();
  } catch (error) {
    if (!closing.signal.aborted) onFailure(error);
    response.destroy();
  } finally {
    eventStreams.dec();
    permit.release();
    clearInterval(heartbeat);
    stopping.removeEventListener('abort', close);
  }
}

const comment = ': still here\n\n';

/** The JSON has no line breaks, so the data is one line. */
function blockOf({ event, data }: StreamEvent): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
