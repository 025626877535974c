/** The answer of an operation that responds with a stream of events (AGT-13). */
export interface StreamEvent {
  /** What its `event` line says. */
  event: string;
  /** What its `data` line says, as JSON. */
  data: unknown;
}

/** Events that come one after another, each when the one before it was taken. */
export class EventStream<Event extends StreamEvent = StreamEvent> {
  readonly open: (closed: AbortSignal) => AsyncIterable<Event>;

  /** @param open begins the stream; the signal says that nobody takes events any more, and the events then end */
  constructor(open: (closed: AbortSignal) => AsyncIterable<Event>) {
    this.open = open;
  }
}
