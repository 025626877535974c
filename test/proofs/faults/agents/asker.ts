/**
 * Plays a student who asks a question and reads the answer. If a call fails, the student sends the question again with the same id. If a
 * stream breaks, the student opens the stream again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import type { Id } from '../../../../platform/core/ids.ts';

interface Class {
  clubId: Id;
  publicId: string;
  apiUrl: string;
}

export interface Seen {
  questionId: Id;
  /** The text of all the streams that the student read, joined. */
  received: string;
  /** The content of the last event; undefined if that event never arrived. */
  final: string | undefined;
  status: string | undefined;
  sent: number;
  reattached: number;
}

const pauseMs = 300;
/** A killed API sends nothing. A live API sends a heartbeat every 15 s, so this silence means that the API is dead. */
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

/** @param signal ends the waiting */
export async function askOnce(
  { clubId, publicId, apiUrl }: Class,
  token: string,
  words: string,
  signal: AbortSignal,
): Promise<Seen> {
  const classroom = `${apiUrl}/v1/clubs/${clubId}/classroom`;
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  // The question contains this id, so that the proof finds the requests to the model that belong to it.
  const questionId = crypto.randomUUID();
  const question: Seen = { questionId, received: '', final: undefined, status: undefined, sent: 0, reattached: 0 };
  let place: { conversationId: Id; answerId: Id } | undefined;

  const call = (url: string, init: RequestInit = {}) => fetch(url, { headers, ...init });

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
      // The API that wrote the stream is dead. The student keeps the text that has arrived.
    } finally {
      clearTimeout(timer);
    }
  }

  function take({ event, data }: StreamEvent): void {
    if (event === 'accepted' && data.conversation && data.answer)
      place = { conversationId: data.conversation.id, answerId: data.answer.id };
    if (event === 'delta') question.received += data.text ?? '';
    if ((event === 'done' || event === 'error') && data.answer) {
      question.final = data.answer.content;
      question.status = data.answer.status;
    }
  }

  async function send(): Promise<void> {
    const abort = new AbortController();
    const response = await call(`${classroom}/agents/${publicId}/messages`, {
      method: 'POST',
      body: JSON.stringify({ id: questionId, content: `${words} ${questionId}` }),
      signal: abort.signal,
    });
    question.sent++;
    if (response.status === 200) return read(response, abort);
    const { error } = (await response.json()) as { error: { code: string } };
    if (error.code === 'message_exists') place = await find();
    else if (response.status < 500) throw new Refused(`${response.status} ${error.code}`);
  }

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
    throw new Refused(`No conversation contains question ${questionId}, although the API says that it exists`);
  }

  async function reattach({ conversationId, answerId }: NonNullable<typeof place>): Promise<void> {
    const abort = new AbortController();
    const from = Array.from(question.received).length;
    const url = `${classroom}/conversations/${conversationId}/messages/${answerId}/stream?from=${from}`;
    const response = await call(url, { signal: abort.signal });
    question.reattached++;
    if (response.status === 200) return read(response, abort);
    if (response.status < 500) throw new Refused(`${response.status} to a student who reattaches`);
  }

  while (question.final === undefined && !signal.aborted) {
    try {
      await (place ? reattach(place) : send());
    } catch (error) {
      if (error instanceof Refused) throw error;
    }
    if (question.final === undefined) await sleep(pauseMs);
  }
  return question;
}

/** A refusal that no injected fault explains. */
class Refused extends Error {
  override name = 'Refused';
}
