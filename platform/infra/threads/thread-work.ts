/**
 * The code of bounded-thread.ts that runs inside the thread. A module does one piece of work after another, and uses a separate port for
 * each.
 */
import { parentPort, type MessagePort } from 'node:worker_threads';

/** The message that begins a piece of work. */
export interface Order {
  data: unknown;
  port: MessagePort;
}

/** The messages that the thread sends over the port of a piece of work. */
export type Word = { tells: unknown } | { asks: unknown; number: number } | { ends: object };

/** The answer to a question of the thread. */
export interface Answer {
  number: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/** The caller that requested a piece of work. */
export interface Orderer {
  tell: (message: unknown) => void;
  /**
   * @returns the bytes of the answer. Their memory is freed when the work ends. If the caller cannot answer, it ends the thread, and this
   * promise never settles.
   */
  ask: (question: unknown) => Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * Serves a module's thread. An error of `work` ends the thread.
 * @param work the function that does a piece of work. It uses only its arguments, and the module must store no state of the work
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
  // Freed immediately, so that the next piece of work does not pay for these bytes.
  for (const buffer of lent) buffer.transfer(0);
  say({ ends });
}
