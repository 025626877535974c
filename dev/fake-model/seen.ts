/** What the fake model remembers of a request. */
import type { StreamEvent } from './events.ts';

export type Outcome =
  /** Still under way, or silent. */
  | 'open'
  | 'answered'
  | 'refused'
  /** Ended before its time, by a script. */
  | 'cut'
  | 'closed_by_client';

export class SeenRequest {
  /** 1 for the first. */
  readonly number: number;
  /** As in the header `request-id`. */
  readonly id: string;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON of the body; its text where it is none. */
  readonly body: unknown;
  readonly receivedAt = new Date();
  outcome: Outcome = 'open';
  /** How many events were sent. */
  events = 0;
  /** The text that was sent. */
  text = '';
  /** When each text delta was sent, in milliseconds of the machine's steady clock ({@link steadyMs}). */
  readonly deltasAt: number[] = [];
  /** The characters (UTF-16 units) of the text up to the end of each delta. */
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

/** Milliseconds of a clock that every process of the machine shares and nobody sets. */
export function steadyMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
