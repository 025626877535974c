/** Reads the events of a `text/event-stream` as they arrive. The tour and the bench use this. */
import { EventSourceParserStream } from 'eventsource-parser/stream';

export interface ServerEvent {
  readonly event: string;
  /** The value of the JSON in the event's `data` lines. */
  readonly data: unknown;
}

/** When the caller leaves the loop, the connection is closed. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent, void, undefined> {
  const text = body.pipeThrough(new TextDecoderStream());
  for await (const { event = 'message', data } of text.pipeThrough(new EventSourceParserStream()))
    yield { event, data: JSON.parse(data) as unknown };
}
