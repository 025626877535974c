/** Asks an agent, and continues the answer after a broken connection (SDK-6). */
import type { AgentMessageCreation, AgentStreamEvent } from './generated/client.schemas.ts';
import type { AskAgentPath } from './generated/client.ts';
import { sleep } from './generated/runtime/retry.ts';
import type { ServerSentEvent } from './generated/runtime/types.ts';
import type { ClubLearningClient } from './client.ts';
import { ApiError, isRefusal } from './errors.ts';
import { retryAfterOf } from './retries.ts';

export interface Question {
  readonly path: AskAgentPath;
  /** Without `id`, the question gets a new id. */
  readonly body: Omit<AgentMessageCreation, 'id'> & { readonly id?: string };
}

export interface AskOptions {
  /** Ends the iteration with its reason. The service still finishes the answer. */
  readonly signal?: AbortSignal;
  /** After this many connections in a row without new text, the error is thrown; 5 if absent. */
  readonly maxCuts?: number;
  /** In milliseconds; 60 s if absent. A longer `Retry-After` ends the call. */
  readonly maxRetryAfterMs?: number;
}

interface Progress {
  readonly id: string;
  conversationId: string | undefined;
  /** In code points. */
  received: number;
}

/**
 * Yields the events of the answer: `accepted`, then `delta` for each piece of text, then `done` or `error`. If the connection breaks, it
 * continues after the last piece. If no answer arrives at all, it sends the question again under the same `id`. The service answers it only
 * once. Then `accepted` may be absent.
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

/** Yields the events, counts the text, and leaves out events of later versions. */
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

/** @returns the conversation of a question that the service already has, from the `Location` of its refusal */
function conversationIn(error: unknown): string | undefined {
  if (!isRefusal(error, 'message_exists')) return undefined;
  return error.headers.get('location')?.split('/').pop();
}
