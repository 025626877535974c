/**
 * What a test tells the fake model to do with a request; plain data, so that another process can tell it too. Events are counted
 * as they are sent: 1 is message_start, 2 the first content_block_start, 3 a ping, 4 the first delta; a model that thinks sends
 * four more after the first.
 */
import type { RefusalStatus } from './refusals.ts';
import type { ModelRequest } from './request.ts';

/** @param question the words of the last turn @returns what to do with a request; undefined leaves it to the queue */
export type Rule = (request: ModelRequest, question: string) => Script | undefined;

export type StopReason =
  | 'end_turn'
  | 'max_tokens'
  | 'stop_sequence'
  | 'tool_use'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded';

/** Where a citation points; what is left out is taken from the request, and what is given is sent however wrong it is. */
export interface ScriptedCitation {
  readonly result: number;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  readonly citedText?: string;
}

export interface Script {
  /** Refused with this status before a stream begins. */
  readonly refuse?: RefusalStatus;
  /** With it, what the header `retry-after` says, in seconds. */
  readonly retryAfterS?: number;
  /** Nothing comes, not even a status. */
  readonly neverAnswer?: boolean;
  /** The connection is cut instead of an answer. */
  readonly drop?: boolean;

  /** The deltas of the only text block, instead of what the librarian says; halves of characters and empty ones are sent as they are. */
  readonly answer?: readonly string[];
  /** The same for an answer of several text blocks. */
  readonly blocks?: readonly { readonly deltas: readonly string[]; readonly citations?: readonly ScriptedCitation[] }[];
  /** So many deltas of so many characters, other ones for each request; for load. */
  readonly recite?: { readonly deltas: number; readonly characters: number };
  readonly stopReason?: StopReason;

  /** Before the status and the first event. */
  readonly beginAfterMs?: number;
  /** Between two deltas; 0 sends all that there is at once. */
  readonly delayMs?: number;
  /** Sends the bytes of the stream in pieces of this size, so that events and characters come in parts. */
  readonly bytesAPiece?: number;

  /** The connection is cut after so many events; 0: after the status. */
  readonly cutAfter?: number;
  /** With it, half of the next event goes out before the cut. */
  readonly cutInside?: boolean;
  /** The response ends in order after so many events, as though it were whole. */
  readonly endAfter?: number;
  /** Nothing more comes after so many events, and the connection stays open. */
  readonly silentAfter?: number;
  /** While it is silent, a ping comes this often. */
  readonly pingEveryMs?: number;
  /** The end of the response comes so much later than its last event. */
  readonly endsAfterMs?: number;
  /** After so many events comes an `error` event, and the end. */
  readonly errorAfter?: number;
  /** The type of that error; `overloaded_error` when absent. */
  readonly errorType?: string;
}
