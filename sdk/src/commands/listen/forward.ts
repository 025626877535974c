/** Forwards an event to the receiver on this machine, signed as the service signs it (LSN-8, LSN-9). */
import { sleep } from '../../generated/runtime/retry.ts';
import { signed, type SentEvent } from '../conformance/deliveries.ts';
import { post } from '../conformance/post.ts';

/** The service ends an attempt after this time (DEL-1). */
const timeLimitMs = 15_000;
/** The waits before further tries if the receiver cannot be reached, in milliseconds. A receiver that restarts needs a moment. */
const waitsMs = [250, 500, 1_000, 2_000];

/** One forwarded event, as it is reported. */
export interface Forwarded {
  readonly id: string;
  readonly type: string;
  /** The status of the receiver. Undefined if it did not answer. */
  readonly status?: number;
  /** Why the receiver did not answer. */
  readonly problem?: string;
  /** Milliseconds of the last try. */
  readonly ms: number;
}

export interface Target {
  readonly url: URL;
  readonly secret: string;
  readonly signal: AbortSignal;
}

/**
 * Posts the event. If the receiver cannot be reached, it tries some times more. An answer of the receiver ends the tries, whatever it is.
 * @throws the reason of the signal if it aborts
 */
export async function forward(event: SentEvent, { url, secret, signal }: Target): Promise<Forwarded> {
  for (let tries = 0; ; tries += 1) {
    const { headers, ...delivery } = signed(event, { secrets: [secret] });
    const named = { ...delivery, headers: { 'user-agent': 'club-learning-listen-webhooks/1', ...headers } };
    const { status, problem, ms } = await post(url, named, { timeLimitMs, signal });
    const waitMs = waitsMs[tries];
    const { id, type } = event;
    if (status !== undefined) return { id, type, status, ms };
    if (problem === 'timeout' || waitMs === undefined) return { id, type, problem: problem ?? 'no answer', ms };
    await sleep(waitMs, signal);
  }
}

/** @returns whether the receiver accepted the event */
export const isAccepted = ({ status = 0 }: Forwarded): boolean => status >= 200 && status < 300;

/** @returns the report of an event: a line for people, or a line of JSON */
export function lineOf(forwarded: Forwarded, isJson: boolean): string {
  if (isJson) return `${JSON.stringify(forwarded)}\n`;
  const { id, type, status, problem, ms } = forwarded;
  return `${type.padEnd(24)}${id}  ${status ?? problem ?? ''}  ${ms} ms\n`;
}
