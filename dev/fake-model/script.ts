/**
 * Instructions by which a test determines the fake model's answer to a request. They are plain data, so that another process can also send
 * them. Events
 * are counted in the order of sending: 1 is message_start, 2 the first content_block_start, 3 a ping, 4 the first delta. If the model
 * thinks, it sends four further events after event 1.
 */
import type { RefusalStatus } from './refusals.ts';
import type { ModelRequest } from './request.ts';

/** @param question the text of the last turn @returns the script for a request; if undefined, the next script of the queue is used */
export type Rule = (request: ModelRequest, question: string) => Script | undefined;

export type StopReason =
  | 'end_turn'
  | 'max_tokens'
  | 'stop_sequence'
  | 'tool_use'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded';

/**
 * The target of a citation. If the script leaves a value out, the fake model takes the value from the request. Values in the script are
 * sent unchanged, even if they are wrong.
 */
export interface ScriptedCitation {
  readonly result: number;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  readonly citedText?: string;
}

export interface Script {
  /** Refuses with this status before a stream begins. */
  readonly refuse?: RefusalStatus;
  /** Adds the header `retry-after`, in seconds. */
  readonly retryAfterS?: number;
  /** Sends nothing, not even a status. */
  readonly neverAnswer?: boolean;
  /** Cuts the connection instead of sending an answer. */
  readonly drop?: boolean;

  /** The deltas of the only text block, instead of the librarian's deltas. Incomplete characters and empty deltas are sent unchanged. */
  readonly answer?: readonly string[];
  /** The deltas of several text blocks, instead of `answer`. */
  readonly blocks?: readonly { readonly deltas: readonly string[]; readonly citations?: readonly ScriptedCitation[] }[];
  /** For load tests: sends this number of deltas, each with this number of characters. The text is different for each request. */
  readonly recite?: { readonly deltas: number; readonly characters: number };
  readonly stopReason?: StopReason;

  /** The pause before the status and the first event. */
  readonly beginAfterMs?: number;
  /** The pause between two deltas; 0 sends everything immediately. */
  readonly delayMs?: number;
  /** Sends the stream in pieces of this many bytes, so that events and characters arrive divided. */
  readonly bytesAPiece?: number;

  /** Cuts the connection after this many events; 0 cuts it after the status. */
  readonly cutAfter?: number;
  /** Whether half of the next event is also sent before the cut. */
  readonly cutInside?: boolean;
  /** Ends the response normally after this number of events, as if it were complete. */
  readonly endAfter?: number;
  /** Sends nothing more after this many events, and keeps the connection open. */
  readonly silentAfter?: number;
  /** The interval of pings during the silence. */
  readonly pingEveryMs?: number;
  /** The delay between the last event and the end of the response. */
  readonly endsAfterMs?: number;
  /** Sends an `error` event after this many events, and ends. */
  readonly errorAfter?: number;
  /** The type of the `error` event; `overloaded_error` if absent. */
  readonly errorType?: string;
}
