// Loaded into the API and the worker of a soak: at SIGUSR2 each thread collects its garbage, and the main thread writes what is left.
import { writeFileSync } from 'node:fs';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';

const gatheredWithinMs = 2_000;

const directory = process.env.SOAK_HEAP_DIRECTORY;
if (directory) {
  const channel = new BroadcastChannel('soak-heap');
  channel.unref();
  if (isMainThread) answerSignals(channel, directory);
  else {
    channel.addEventListener('message', ({ data }) => {
      if (data === 'collect') tell(channel, collectedHeap());
    });
  }
}

function answerSignals(channel, place) {
  let threads = 0;
  channel.addEventListener('message', ({ data }) => {
    if (typeof data === 'number') threads += data;
  });
  process.on('SIGUSR2', () => {
    threads = 0;
    tell(channel, 'collect');
    const heap = collectedHeap();
    setTimeout(() => {
      writeFileSync(`${place}/${process.pid}.json`, JSON.stringify({ heap: heap + threads }));
    }, gatheredWithinMs).unref();
  });
}

/** Bytes of the heap of this thread. */
function collectedHeap() {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function tell(channel, message) {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
  channel.postMessage(message);
}
