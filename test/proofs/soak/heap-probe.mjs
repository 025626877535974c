// The API and the worker of a soak preload this module. At SIGUSR2 each thread collects its garbage, and the main thread writes the heap
// sizes to a file.
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
      if (data === 'collect') tell(channel, collectedHeaps());
    });
  }
}

function answerSignals(channel, place) {
  let threads = [];
  channel.addEventListener('message', ({ data }) => {
    if (data !== 'collect') threads.push(data);
  });
  process.on('SIGUSR2', () => {
    threads = [];
    tell(channel, 'collect');
    const own = collectedHeaps();
    setTimeout(() => {
      const sum = (key) => threads.reduce((total, heaps) => total + heaps[key], own[key]);
      const heaps = { used: sum('used'), reserved: sum('reserved'), external: sum('external') };
      writeFileSync(`${place}/${process.pid}.json`, JSON.stringify(heaps));
    }, gatheredWithinMs).unref();
  });
}

function collectedHeaps() {
  globalThis.gc?.();
  const { heapUsed, heapTotal, external } = process.memoryUsage();
  return { used: heapUsed, reserved: heapTotal, external };
}

function tell(channel, message) {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
  channel.postMessage(message);
}
