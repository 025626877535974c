/** The fake model's record of a request. */
import type { StreamEvent } from './events.ts';

export type Outcome =
  /** The answer is not complete yet, or the fake model stays silent. */
  | 'open'
  | 'answered'
  | 'refused'
  /** A script ended the answer early. */
  | 'cut'
  | 'closed_by_client';

export class SeenRequest {
  /** The number of the request; the first request has the number 1. */
  readonly number: number;
  /** The value of the header `request-id`. */
  readonly id: string;
  /** Headers by name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON of the body, or the text of the body if it is not JSON. */
  readonly body: unknown;
  readonly receivedAt = new Date();
  outcome: Outcome = 'open';
  /** The number of events that were sent. */
  events = 0;
  /** The text of the answer that was sent. */
  text = '';
  /** The time of each text delta, in milliseconds of the machine's steady clock ({@link steadyMs}). */
  readonly deltasAt: number[] = [];
  /** The number of characters (UTF-16 units) up to the end of each delta. */
  readonly deltaEnds: number[] = [];

  constructor(number: number, id: string, headers: Readonly<Record<string, string>>, body: unknown) {
    this.number = number;
    this.id = id;
    this.headers = headers;
    this.body = body;
  }

  noteEvent({ delta }: StreamEvent): void {
    this.events += 1;
    if (delta === undefined) return;
    this.text += delta;
    this.deltasAt.push(steadyMs());
    this.deltaEnds.push(this.text.length);
  }
}

/** Reads a clock that all processes of the machine share. No process can set this clock, so it never jumps. @returns milliseconds */
export function steadyMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
