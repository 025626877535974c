/** The part of bounded-thread.ts that runs inside the thread. Each piece of work has its own port. */
import { parentPort, type MessagePort } from 'node:worker_threads';

/** Begins a piece of work. */
export interface Order {
  data: unknown;
  port: MessagePort;
}

export type Word = { tells: unknown } | { asks: unknown; number: number } | { ends: object };

export interface Answer {
  number: number;
  bytes: Uint8Array<ArrayBuffer>;
}

export interface Orderer {
  tell: (message: unknown) => void;
  /** @returns bytes that are freed when the work ends. If the caller cannot answer, it ends the thread, and this promise never settles. */
  ask: (question: unknown) => Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * An error of `work` ends the thread.
 * @param work uses only its arguments; the module must store no state of the work
 */
export function serveThread(work: (data: unknown, orderer: Orderer) => Promise<object>): void {
  const parent = parentPort;
  if (!parent) throw new Error('This module must run in a worker thread');
  parent.on('message', ({ data, port }: Order) => void serve(port, (orderer) => work(data, orderer)));
  parent.postMessage('ready', []);
}

async function serve(port: MessagePort, work: (orderer: Orderer) => Promise<object>): Promise<void> {
  const openQuestions = new Map<number, (bytes: Answer['bytes']) => void>();
  const lent: ArrayBuffer[] = [];
  let questions = 0;
  const say = (word: Word) => port.postMessage(word, []); // nothing is transferred
  port.on('message', ({ number, bytes }: Answer) => {
    lent.push(bytes.buffer);
    openQuestions.get(number)?.(bytes);
    openQuestions.delete(number);
  });
  const ends = await work({
    tell: (message) => say({ tells: message }),
    ask(question) {
      const number = ++questions;
      say({ asks: question, number });
      return new Promise((resolve) => openQuestions.set(number, resolve));
    },
  });
  // The next piece of work must not pay for these bytes.
  for (const buffer of lent) buffer.transfer(0);
  say({ ends });
}
