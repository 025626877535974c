/** The response body of an operation with a stream of events (AGT-13). */
export interface StreamEvent {
  /** The value of its `event` line. */
  event: string;
  /** The JSON value of its `data` line. */
  data: unknown;
}

/** A sequence of events. The next event is created only after the reader has taken the previous event. */
export class EventStream<Event extends StreamEvent = StreamEvent> {
  readonly open: (closed: AbortSignal) => AsyncIterable<Event>;

  /** @param open starts the stream. When the signal aborts, the reader has gone and the events end. */
  constructor(open: (closed: AbortSignal) => AsyncIterable<Event>) {
    this.open = open;
  }
}
