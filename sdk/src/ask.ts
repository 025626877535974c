/** Asks an agent, and continues the stream of the answer after a cut connection (SDK-6). */
import type { AgentMessageCreation, AgentStreamEvent } from './generated/client.schemas.ts';
import type { AskAgentPath } from './generated/client.ts';
import { sleep } from './generated/runtime/retry.ts';
import type { ServerSentEvent } from './generated/runtime/types.ts';
import type { ClubLearningClient } from './client.ts';
import { ApiError, isRefusal } from './errors.ts';
import { retryAfterOf } from './retries.ts';

export interface Question {
  readonly path: AskAgentPath;
  /** Without `id`, the question gets a new one. */
  readonly body: Omit<AgentMessageCreation, 'id'> & { readonly id?: string };
}

export interface AskOptions {
  /** Ends the iteration with its reason. The service finishes the answer. */
  readonly signal?: AbortSignal;
  /** The number of connections in a row that may bring nothing new before the error is thrown; 5 if absent. */
  readonly maxCuts?: number;
  /** The longest `Retry-After` that is waited for, in milliseconds; 60 s if absent. */
  readonly maxRetryAfterMs?: number;
}

/** The question as the service has it, and the part of the answer that the caller has. */
interface Progress {
  readonly id: string;
  conversationId: string | undefined;
  /** In code points. */
  received: number;
}

/**
 * Yields the events of the answer: `accepted`, then `delta` for each piece of text, then `done` or `error`. After a cut it continues behind
 * the last piece, and no piece comes twice. If the answer to the question itself is lost, it sends the question again under the same `id`,
 * which the service never asks twice. In this case `accepted` may be absent.
 * @throws ApiError if the question or its continuation is refused; a refused question is never sent again
 */
export async function* ask(
  client: ClubLearningClient,
  { path, body }: Question,
  { signal, maxCuts = 5, maxRetryAfterMs = 60_000 }: AskOptions = {},
): AsyncGenerator<AgentStreamEvent, void, undefined> {
  const progress: Progress = { id: body.id ?? crypto.randomUUID(), conversationId: undefined, received: 0 };
  const init = signal ? { signal } : {};
  let isSent = false;
  let cuts = 0;
  for (;;) {
    const before = progress.received;
    let waitMs = 0;
    try {
      const stream =
        progress.conversationId === undefined
          ? client.askAgent({ path, body: { ...body, id: progress.id } }, init)
          : client.reattachAnswer(
              {
                path: { clubId: path.clubId, conversationId: progress.conversationId, messageId: progress.id },
                query: { from: progress.received },
              },
              init,
            );
      for await (const event of eventsOf(stream, progress)) {
        yield event;
        if (event.event === 'done' || event.event === 'error') return;
      }
    } catch (error) {
      const conversationId = isSent && progress.conversationId === undefined ? conversationIn(error) : undefined;
      if (conversationId !== undefined) progress.conversationId = conversationId;
      else if (error instanceof ApiError) {
        waitMs = retryAfterOf(error);
        const isTemporary = error.status === 503 || error.status === 429;
        if (progress.conversationId === undefined || !isTemporary || waitMs > maxRetryAfterMs) throw error;
      }
      if (cuts >= maxCuts) throw error;
    }
    signal?.throwIfAborted();
    if (progress.received > before) cuts = 0;
    else if (cuts >= maxCuts) throw new Error(`The stream of the answer ended ${cuts + 1} times without an event.`);
    cuts += 1;
    isSent = true;
    await sleep(waitMs + Math.random() * Math.min(250 * 2 ** cuts, 10_000), signal);
  }
}

/** Adds the name of each event to its data, and counts the text. Events of later versions are left out. */
async function* eventsOf(
  stream: AsyncIterable<ServerSentEvent<unknown>>,
  progress: Progress,
): AsyncGenerator<AgentStreamEvent, void, undefined> {
  for await (const { event, data } of stream) {
    const next = { event, data } as AgentStreamEvent;
    if (next.event === 'accepted') progress.conversationId = next.data.conversation.id;
    else if (next.event === 'delta') progress.received += Array.from(next.data.text).length;
    else if (next.event !== 'done' && next.event !== 'error') continue;
    yield next;
  }
}

/** @returns the conversation of a question that the service has already, from the `Location` of its refusal */
function conversationIn(error: unknown): string | undefined {
  if (!isRefusal(error, 'message_exists')) return undefined;
  return error.headers.get('location')?.split('/').pop();
}
