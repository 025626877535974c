/**
 * A test's instructions for the answer to a request. They are plain data, so that another process can send them. Events are counted as they
 * are sent: 1 is message_start, 2 the first content_block_start, 3 a ping, 4 the first delta. If the model thinks, four more events follow
 * event 1.
 */
import type { RefusalStatus } from './refusals.ts';
import type { ModelRequest } from './request.ts';

/** @param question the text of the last turn @returns the script for a request; undefined takes the next script of the queue */
export type Rule = (request: ModelRequest, question: string) => Script | undefined;

export type StopReason =
  | 'end_turn'
  | 'max_tokens'
  | 'stop_sequence'
  | 'tool_use'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded';

/** The fake model takes absent values from the request. It sends values of the script unchanged, even if they are wrong. */
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
  /** The seconds in the header `retry-after`. */
  readonly retryAfterS?: number;
  /** Sends nothing, not even a status. */
  readonly neverAnswer?: boolean;
  /** Cuts the connection instead of sending an answer. */
  readonly drop?: boolean;

  /** The deltas of the only text block. Incomplete characters and empty deltas are sent unchanged. */
  readonly answer?: readonly string[];
  /** The deltas of several text blocks, instead of `answer`. */
  readonly blocks?: readonly { readonly deltas: readonly string[]; readonly citations?: readonly ScriptedCitation[] }[];
  /** For load tests: this number of deltas, each with this number of characters. Each request gets another text. */
  readonly recite?: { readonly deltas: number; readonly characters: number };
  readonly stopReason?: StopReason;

  /** The pause before the status and the first event. */
  readonly beginAfterMs?: number;
  /** The pause between two deltas; 0 sends everything immediately. */
  readonly delayMs?: number;
  /** Sends the stream in pieces of this many bytes, which divide events and characters. */
  readonly bytesAPiece?: number;

  /** Cuts the connection after this many events; 0 cuts it after the status. */
  readonly cutAfter?: number;
  /** Also sends half of the next event before the cut. */
  readonly cutInside?: boolean;
  /** Ends the response after this many events, as if it were complete. */
  readonly endAfter?: number;
  /** Sends nothing more after this many events, and keeps the connection open. */
  readonly silentAfter?: number;
  /** The interval of pings during the silence. */
  readonly pingEveryMs?: number;
  /** The time from the last event to the end of the response. */
  readonly endsAfterMs?: number;
  /** Sends an `error` event after this many events, and ends. */
  readonly errorAfter?: number;
  /** The type of the `error` event; `overloaded_error` if absent. */
  readonly errorType?: string;
}
