/** The thread's side of bounded-thread.ts: a module serves one piece of work after another, each over a port of its own. */
import { parentPort, type MessagePort } from 'node:worker_threads';

/** What begins a piece of work. */
export interface Order {
  data: unknown;
  port: MessagePort;
}

/** What the thread says over the port of a piece of work. */
export type Word = { tells: unknown } | { asks: unknown; number: number } | { ends: object };

/** What comes back over it. */
export interface Answer {
  number: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Who ordered a piece of work. */
export interface Orderer {
  tell: (message: unknown) => void;
  /** @returns bytes that are freed when the work has ended. They never come where the orderer has none: the thread is ended then */
  ask: (question: unknown) => Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * Serves a module's thread. What `work` throws ends the thread.
 * @param work does one piece with nothing but its arguments: the module must keep nothing of it
 */
export function serveThread(work: (data: unknown, orderer: Orderer) => Promise<object>): void {
  const parent = parentPort;
  if (!parent) throw new Error('This module is for a thread');
  parent.on('message', ({ data, port }: Order) => void serve(port, (orderer) => work(data, orderer)));
  parent.postMessage('ready', []);
}

async function serve(port: MessagePort, work: (orderer: Orderer) => Promise<object>): Promise<void> {
  const asked = new Map<number, (bytes: Answer['bytes']) => void>();
  const lent: ArrayBuffer[] = [];
  let questions = 0;
  const say = (word: Word) => port.postMessage(word, []); // nothing is given away
  port.on('message', ({ number, bytes }: Answer) => {
    lent.push(bytes.buffer);
    asked.get(number)?.(bytes);
    asked.delete(number);
  });
  const ends = await work({
    tell: (message) => say({ tells: message }),
    ask(question) {
      const number = ++questions;
      say({ asks: question, number });
      return new Promise((resolve) => asked.set(number, resolve));
    },
  });
  // Freed at once: the next piece of work finds none of these bytes, and does not pay for them.
  for (const buffer of lent) buffer.transfer(0);
  say({ ends });
}
