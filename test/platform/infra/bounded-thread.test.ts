import { expect } from 'chai';
import { runInThread } from '../../../platform/infra/bounded-thread.ts';

describe('a thread within bounds', function () {
  this.timeout(20_000);
  const signal = new AbortController().signal;
  /** @param does what the thread runs; `tell` sends its result, which waits a while for the thread to come to it */
  const run = (does: string, workMs: number) =>
    runInThread<{ told: unknown }>(
      new URL(
        `data:text/javascript,${encodeURIComponent(
          `import { parentPort } from 'node:worker_threads'; const tell = (word) => parentPort.postMessage(word); ${does}`,
        )}`,
      ),
      {
        data: undefined,
        bounds: { workMs, maxHeapMb: 64, maxBuffersMb: 64 },
        signal,
        onMessage: (told) => ({ result: { told } }),
      },
    );
  const spinFor = (ms: number) => `for (const end = performance.now() + ${ms}; performance.now() < end;);`;

  it('is not judged by the clock: one that gets no CPU for longer than its work may take is waited for', async () => {
    expect(await run("setTimeout(() => tell('done'), 900)", 600)).to.deep.equal({ told: 'done' });
  });

  it('ends when it has used its CPU', async () => {
    expect(await run(spinFor(60_000), 300)).to.equal('took_too_long');
  });

  it('that has not had its CPU after four times as long is a fault of ours, which is tried again', async () => {
    const outcome = await run('setInterval(() => {}, 1_000)', 400).catch((error: Error) => error.message);
    expect(outcome).to.match(/^The thread has had \d+ ms of CPU in 1600 ms$/);
  });
});
