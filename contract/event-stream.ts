/** The response body of an operation with a stream of events (AGT-13). */
export interface StreamEvent {
  /** The value of its `event` line. */
  event: string;
  /** The JSON value of its `data` line. */
  data: unknown;
  /** The value of its `id` line. If absent, the event has no such line. */
  id?: string;
}

/** A block with an `id` line alone. It moves the position from which the reader resumes, and is no event. */
export interface StreamPosition {
  id: string;
}

/** A sequence of events. The next event is created only after the reader has taken the previous event. */
export class EventStream<Event extends StreamEvent = StreamEvent> {
  readonly open: (closed: AbortSignal) => AsyncIterable<Event | StreamPosition>;

  /** @param open starts the stream. When the signal aborts, the reader has gone and the events end. */
  constructor(open: (closed: AbortSignal) => AsyncIterable<Event | StreamPosition>) {
    this.open = open;
  }
}
