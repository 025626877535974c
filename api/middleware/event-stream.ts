/**
 * Answers with events (AGT-13, LSN-1): blocks of an `id`, an `event` and a `data` line, and comments during silence (DEC-22). Ends the
 * stream of a reader that does not read (LSN-7).
 */
import { once, setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { EventStream, StreamEvent, StreamPosition } from '../../contract/contract.ts';
import { eventStreams } from '../metrics.ts';
import type { OpenStreams, StreamPermit } from '../open-streams.ts';
import type { Context } from './context.ts';

export interface StreamSettings {
  /** After this silence the stream sends a comment, so that proxies do not close the connection. */
  heartbeatMs: number;
  /** Aborts when the process stops. The streams end, and the clients connect again. */
  stopping: AbortSignal;
  /** A reader that reads nothing for this time is disconnected, because others may need its permit. In milliseconds. */
  drainWithinMs: number;
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
  { heartbeatMs, drainWithinMs, stopping, onFailure }: StreamSettings,
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
      if (!response.write(blockOf(event))) await untilDrained(response, drainWithinMs, closing);
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

/** Aborts `closing` if the reader reads nothing for too long. */
async function untilDrained(response: ServerResponse, drainWithinMs: number, closing: AbortController): Promise<void> {
  const tooLate = setTimeout(() => closing.abort(), drainWithinMs);
  try {
    await once(response, 'drain', { signal: closing.signal });
  } finally {
    clearTimeout(tooLate);
  }
}

const comment = ': still here\n\n';

/** The JSON has no line breaks, so the data is one line. */
function blockOf(block: StreamEvent | StreamPosition): string {
  const id = block.id === undefined ? '' : `id: ${block.id}\n`;
  return 'event' in block ? `${id}event: ${block.event}\ndata: ${JSON.stringify(block.data)}\n\n` : `${id}\n`;
}
