import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createThreads } from '../../../platform/infra/threads/bounded-thread.ts';

const moduleUrl = (name: string) => new URL(`../../../platform/infra/threads/${name}`, import.meta.url).href;

/** `does` is the body of a function that can use `data`, `tell` and `ask`. */
const moduleThat = (does: string) =>
  new URL(
    `data:text/javascript,${encodeURIComponent(
      `import { threadId } from 'node:worker_threads';
       import { serveThread } from ${JSON.stringify(moduleUrl('thread-work.ts'))};
       serveThread(async (data, { tell, ask }) => { ${does} });`,
    )}`,
  );
const spinFor = (ms: number) => `for (const end = performance.now() + ${ms}; performance.now() < end;);`;

describe('a worker thread with limits', function () {
  this.timeout(20_000);
  const { signal } = new AbortController();
  const run = (does: string, workMs: number) => threadsThat(does, { workMs, uses: 1 }).run({ data: undefined, signal });

  /** The limit is as long as a test may last, because threads get little CPU time on a busy machine. */
  function threadsThat(does: string, { workMs = 5_000, uses = 100 } = {}) {
    return createThreads(moduleThat(does), { workMs, clockMs: 15_000, maxHeapMb: 64, maxBuffersMb: 64 }, { uses });
  }

  it('does not reach its limit of CPU time while it gets no CPU time', async () => {
    const outcome = await run("await new Promise((done) => setTimeout(done, 900)); return { told: 'done' };", 600);
    expect(outcome).to.deep.equal({ told: 'done' });
  });

  it('ends when it has used all its CPU time', async () => {
    expect(await run(spinFor(60_000), 300)).to.equal('took_too_long');
  });

  it('fails with a retryable error if it got too little CPU time', async () => {
    const idle = 'await new Promise(() => setInterval(() => {}, 1_000));';
    const bounds = { workMs: 400, maxHeapMb: 64, maxBuffersMb: 64 };
    const threads = createThreads(moduleThat(idle), bounds, { uses: 1 });
    const outcome = await threads.run({ data: undefined, signal }).catch((error: Error) => error.message);
    expect(outcome).to.match(/^The thread has had \d+ ms of CPU in 1600 ms$/);
  });

  describe('with several pieces of work', () => {
    /** The work returns the number of the thread. */
    const obedient = `
      if (data === 'spin') ${spinFor(200)}
      if (data === 'spin on') ${spinFor(60_000)}
      if (data === 'throw') throw new Error('It cannot');
      if (data === 'fill') { const all = []; for (;;) all.push(new Array(100_000).fill(all.length)); }
      if (data === 'ask') globalThis.first = await ask('bytes');
      if (data === 'ask on') void ask('bytes');
      if (data === 'tell') return { size: globalThis.first.buffer.byteLength, thread: threadId };
      return { thread: threadId };`;
    type Threads = ReturnType<typeof threadsThat>;
    const threadOf = async (threads: Threads, data = '') => {
      const ended = await threads.run<{ thread: number }>({ data, signal });
      if (typeof ended === 'string') throw new Error(ended);
      return ended.thread;
    };

    it('is replaced after the configured number of pieces', async () => {
      const threads = threadsThat(obedient, { uses: 3 });
      const first = await threadOf(threads);
      expect([await threadOf(threads), await threadOf(threads)]).to.deep.equal([first, first]);
      expect(await threadOf(threads)).to.be.above(first);
    });

    it('does one piece of work at a time', async () => {
      const threads = threadsThat(obedient);
      const both = await Promise.all([threadOf(threads), threadOf(threads)]);
      expect(new Set(both).size).to.equal(2);
      expect(both).to.include(await threadOf(threads));
    });

    it('counts only the CPU time of the current work', async () => {
      const threads = threadsThat(obedient, { workMs: 450 });
      const first = await threadOf(threads);
      for (let count = 0; count < 3; count++) expect(await threadOf(threads, 'spin')).to.equal(first);
    });

    it('frees the memory of each piece of work at its end', async () => {
      const threads = threadsThat(obedient);
      const answer = () => Promise.resolve(new Uint8Array(1_000));
      await threads.run({ data: 'ask', signal, answer });
      expect(await threads.run({ data: 'tell', signal })).to.include({ size: 0 });
    });

    it('is replaced after an error, an exceeded limit or an abort', async () => {
      const stopped = new AbortController();
      const never = () => new Promise<never>(() => stopped.abort(new Error('stopped')));
      const outcomes: readonly [data: string, outcome: string, work?: object][] = [
        ['throw', 'It cannot'],
        ['spin on', 'took_too_long'],
        ['fill', 'too_large'],
        ['ask', 'away', { answer: () => Promise.reject(new Error('away')) }],
        ['ask', 'The work asked a question, but no answerer was given'],
        ['ask on', 'a result', { answer: () => new Promise(() => {}) }],
        ['ask', 'stopped', { signal: stopped.signal, answer: never }],
      ];
      const threads = threadsThat(obedient, { workMs: 1_000 });
      for (const [data, outcome, work] of outcomes) {
        const before = await threadOf(threads);
        const ended = await threads.run({ data, signal, ...work }).catch((error: Error) => error.message);
        expect(typeof ended === 'string' ? ended : 'a result', data).to.equal(outcome);
        expect(await threadOf(threads), data).to.be.above(before);
      }
    });

    it('does not keep the process alive', async () => {
      const program = `
        const { createThreads } = await import(${JSON.stringify(moduleUrl('bounded-thread.ts'))});
        const bounds = { workMs: 5_000, maxHeapMb: 64, maxBuffersMb: 64 };
        const threads = createThreads(new URL(${JSON.stringify(moduleThat('return {};').href)}), bounds, { uses: 100 });
        await threads.run({ data: undefined, signal: new AbortController().signal });
        process.on('exit', (code) => process.stdout.write('ended with ' + code));`;
      const programArguments = ['--import', moduleUrl('../../load.mjs'), '--input-type=module', '--eval', program];
      const { stdout } = await promisify(execFile)(process.execPath, programArguments, { timeout: 15_000 });
      expect(stdout).to.equal('ended with 0');
    });
  });
});
