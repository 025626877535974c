/** Sends the events of an answer as its script says: with pauses, in pieces, cut, silent or with an error. */
import type { ServerResponse } from 'node:http';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { eventOf, ping, type StreamEvent } from './events.ts';
import { errorBody } from './refusals.ts';
import type { Script } from './script.ts';
import type { SeenRequest } from './seen.ts';

/**
 * @param seen records the events that were sent
 * @returns a promise that resolves when the stream has ended or the client has closed it
 */
export async function sendEvents(
  response: ServerResponse,
  events: readonly StreamEvent[],
  script: Script,
  seen: SeenRequest,
): Promise<void> {
  const stop = whereItStops(script, events.length);
  const begunAt = performance.now();
  let deltas = 0;
  for (const event of events.slice(0, stop.after)) {
    if (event.delta !== undefined) {
      // Counted from the beginning of the stream, so that one late timer does not slow down the rest.
      await pause(begunAt + deltas * (script.delayMs ?? 0));
      deltas += 1;
    }
    if (response.closed) return;
    await write(response, event.text, script.bytesAPiece);
    seen.noteEvent(event);
  }
  if (stop.how === 'silent') return staySilent(response, script.pingEveryMs);
  seen.outcome = stop.how === 'answered' ? 'answered' : 'cut';
  if (stop.how === 'cut') {
    const next = script.cutInside ? events[stop.after]?.text : undefined;
    if (next !== undefined) response.write(next.slice(0, next.length / 2));
    // Waits until the written data are sent.
    response.socket?.destroySoon();
    return;
  }
  if (stop.how === 'error') {
    const body = errorBody(script.errorType ?? 'overloaded_error', 'Overloaded', seen.id);
    await write(response, eventOf(body).text, script.bytesAPiece);
  }
  if (script.endsAfterMs !== undefined) await sleep(script.endsAfterMs);
  response.end();
}

type Stop = { readonly how: 'answered' | 'cut' | 'end' | 'silent' | 'error'; readonly after: number };

function whereItStops({ cutAfter, endAfter, silentAfter, errorAfter }: Script, count: number): Stop {
  if (cutAfter !== undefined) return { how: 'cut', after: cutAfter };
  if (endAfter !== undefined) return { how: 'end', after: endAfter };
  if (silentAfter !== undefined) return { how: 'silent', after: silentAfter };
  if (errorAfter !== undefined) return { how: 'error', after: errorAfter };
  return { how: 'answered', after: count };
}

async function pause(until: number): Promise<void> {
  const remaining = until - performance.now();
  await (remaining > 0 ? sleep(remaining) : turn());
}

async function write(response: ServerResponse, text: string, bytesAPiece: number | undefined): Promise<void> {
  if (bytesAPiece === undefined) {
    response.write(text);
    return;
  }
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length && !response.closed; at += bytesAPiece) {
    response.write(bytes.subarray(at, at + bytesAPiece));
    await turn();
  }
}

async function staySilent(response: ServerResponse, pingEveryMs: number | undefined): Promise<void> {
  while (pingEveryMs !== undefined && !response.closed) {
    response.write(ping.text);
    await sleep(pingEveryMs);
  }
}
