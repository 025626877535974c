/** A student who asks and does not give up: sends again under the same id, reattaches where the stream broke off. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import type { Id } from '../../../../platform/core/ids.ts';

interface Class {
  clubId: Id;
  /** Of the agent. */
  publicId: string;
  apiUrl: string;
}

/** What a student has seen of one question. */
export interface Seen {
  questionId: Id;
  /** The text, put together from every stream that was read. */
  received: string;
  /** The content of the last event; undefined if it never came. */
  final: string | undefined;
  status: string | undefined;
  /** How often the question was sent, and the answer reattached to. */
  sent: number;
  reattached: number;
}

const pauseMs = 300;
/** An API that is killed says nothing: longer than any silence of one that lives, whose heartbeats come every 15 s. */
const silenceMs = 20_000;

interface StreamEvent {
  event: string;
  data: { text?: string; answer?: Answer; conversation?: { id: Id } };
}
interface Answer {
  id: Id;
  content: string;
  status: string;
  reply_to?: Id;
}

/** Asks, and reads until the answer has ended or the time is over. @param signal when it is over */
export async function askOnce(
  { clubId, publicId, apiUrl }: Class,
  token: string,
  words: string,
  signal: AbortSignal,
): Promise<Seen> {
  const classroom = `${apiUrl}/v1/clubs/${clubId}/classroom`;
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  // The words carry the id, so that the model's side can tell which question it is asked.
  const questionId = crypto.randomUUID();
  const seen: Seen = { questionId, received: '', final: undefined, status: undefined, sent: 0, reattached: 0 };
  let place: { conversationId: Id; answerId: Id } | undefined;

  const call = (url: string, init: RequestInit = {}) => fetch(url, { headers, ...init });

  /** @returns once the stream has ended, in order or not */
  async function read(response: Response, abort: AbortController): Promise<void> {
    const parser = createParser({
      onEvent({ event = '', data }) {
        take({ event, data: JSON.parse(data) as StreamEvent['data'] });
      },
    });
    const decoder = new TextDecoder();
    let timer = setTimeout(() => abort.abort(), silenceMs);
    try {
      for await (const chunk of response.body ?? []) {
        clearTimeout(timer);
        timer = setTimeout(() => abort.abort(), silenceMs);
        parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
      }
    } catch {
      // Whoever wrote it is dead: what came is kept.
    } finally {
      clearTimeout(timer);
    }
  }

  function take({ event, data }: StreamEvent): void {
    if (event === 'accepted' && data.conversation && data.answer)
      place = { conversationId: data.conversation.id, answerId: data.answer.id };
    if (event === 'delta') seen.received += data.text ?? '';
    if ((event === 'done' || event === 'error') && data.answer) {
      seen.final = data.answer.content;
      seen.status = data.answer.status;
    }
  }

  async function send(): Promise<void> {
    const abort = new AbortController();
    const response = await call(`${classroom}/agents/${publicId}/messages`, {
      method: 'POST',
      body: JSON.stringify({ id: questionId, content: `${words} ${questionId}` }),
      signal: abort.signal,
    });
    seen.sent++;
    if (response.status === 200) return read(response, abort);
    const { error } = (await response.json()) as { error: { code: string } };
    if (error.code === 'message_exists') place = await find();
    else if (response.status < 500) throw new Refused(`${response.status} ${error.code}`);
  }

  /** Where the question stands that was accepted although its stream was lost. */
  async function find(): Promise<typeof place> {
    const list = (await (await call(`${classroom}/agents/${publicId}/conversations?page_size=100`)).json()) as {
      data: { id: Id }[];
    };
    for (const { id } of list.data) {
      const { data } = (await (await call(`${classroom}/conversations/${id}`)).json()) as {
        data: { messages: Answer[] };
      };
      const answer = data.messages.find((message) => message.reply_to === questionId);
      if (answer) return { conversationId: id, answerId: answer.id };
    }
    throw new Refused('a question that exists is in no conversation');
  }

  async function reattach({ conversationId, answerId }: NonNullable<typeof place>): Promise<void> {
    const abort = new AbortController();
    const from = Array.from(seen.received).length;
    const url = `${classroom}/conversations/${conversationId}/messages/${answerId}/stream?from=${from}`;
    const response = await call(url, { signal: abort.signal });
    seen.reattached++;
    if (response.status === 200) return read(response, abort);
    if (response.status < 500) throw new Refused(`${response.status} to a student who reattaches`);
  }

  while (seen.final === undefined && !signal.aborted) {
    try {
      await (place ? reattach(place) : send());
    } catch (error) {
      if (error instanceof Refused) throw error;
    }
    if (seen.final === undefined) await sleep(pauseMs);
  }
  return seen;
}

/** An answer that no fault explains. */
class Refused extends Error {
  override name = 'Refused';
}
