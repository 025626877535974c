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
  /** The first request has the number 1. */
  readonly number: number;
  /** The header `request-id`. */
  readonly id: string;
  /** Headers by name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON, or the text of the body if it is no JSON. */
  readonly body: unknown;
  readonly receivedAt = new Date();
  outcome: Outcome = 'open';
  events = 0;
  text = '';
  /** The time of each text delta, in milliseconds of {@link steadyMs}. */
  readonly deltasAt: number[] = [];
  /** The characters (UTF-16 units) up to the end of each delta. */
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

/** A clock that all processes of the machine share and that never jumps. @returns milliseconds */
export function steadyMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
