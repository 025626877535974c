import { expect } from 'chai';
import type { Activities } from '../../activities/index.ts';
import type { fetchReports } from '../../workflows/fetch-reports.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

type Page = Awaited<ReturnType<Activities['fetchReports']['fetchReports']>>;

describe('a scheduled run that fetches reports (BNC-7)', function () {
  this.timeout(60_000);
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the worker, before its server', () => Promise.all(workers.map((worker) => worker.stop())));
  const environment = useTimeSkipping();
  /** In order. The last result is repeated. */
  let pages: (Page | Error)[] = [];
  let calls = 0;

  before('start the worker', async () => {
    const activities: Activities['fetchReports'] = {
      async fetchReports() {
        calls += 1;
        const [page] = pages.length > 1 ? pages.splice(0, 1) : pages;
        if (page instanceof Error) throw page;
        return page ?? { recorded: 0, left: 0, more: false };
      },
    };
    workers.push(await runWorkerHere(environment().nativeConnection, { taskQueue: 'upkeep', activities }));
  });
  beforeEach(() => {
    calls = 0;
  });
  const run = (workflowId: string) =>
    environment().client.workflow.execute<typeof fetchReports>('fetchReports', { workflowId, taskQueue: 'upkeep' });

  it('reads pages while more messages remain', async () => {
    pages = [
      { recorded: 150, left: 50, more: true },
      { recorded: 1, left: 0, more: false },
    ];
    expect(await run('in-two-pages')).to.deep.equal({ recorded: 151, left: 50 });
    expect(calls).to.equal(2);
  });

  it('ends after 20 pages, even if more messages remain', async () => {
    pages = [{ recorded: 0, left: 200, more: true }];
    expect(await run('endless')).to.deep.equal({ recorded: 0, left: 4_000 });
    expect(calls).to.equal(20);
  });

  it('asks a server that fails twice, and then leaves it to the next run', async () => {
    pages = [new Error('mailbox_unreachable')];
    const fault = await run('failing').catch((error: unknown) => error);
    expect((fault as Error).name).to.equal('WorkflowFailedError');
    expect(calls).to.equal(2);
  });
});
