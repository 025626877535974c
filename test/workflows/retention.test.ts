import { expect } from 'chai';
import type { Activities } from '../../activities/index.ts';
import type { retention } from '../../workflows/retention.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const nothing = {
  bodies: 0,
  attempts: 0,
  events: 0,
  deliveries: 0,
  endpoints: 0,
  secrets: 0,
  notices: 0,
  changes: 0,
  listChanges: 0,
  mediaErased: 0,
  mediaRefused: 0,
  wordChanges: 0,
  sourcesReadAgain: 0,
};

describe('a scheduled run of retention', function () {
  this.timeout(60_000);
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the worker, before its server', () => Promise.all(workers.map((worker) => worker.stop())));
  const environment = useTimeSkipping();
  /** In order. The last result is repeated. */
  let rounds: Awaited<ReturnType<Activities['retention']['retain']>>[] = [];
  let times: number[] = [];

  before('start the worker', async () => {
    const activities: Activities['retention'] = {
      async retain(now) {
        times.push(now);
        const [round = { ...nothing, more: false }] = rounds.length > 1 ? rounds.splice(0, 1) : rounds;
        return round;
      },
    };
    workers.push(await runWorkerHere(environment().nativeConnection, { taskQueue: 'upkeep', activities }));
  });
  beforeEach(() => {
    times = [];
  });
  const run = (workflowId: string) =>
    environment().client.workflow.execute<typeof retention>('retention', { workflowId, taskQueue: 'upkeep' });

  it('makes rounds while more rows remain, and returns the total number of removed rows', async () => {
    rounds = [
      { ...nothing, bodies: 1_000, attempts: 10, more: true },
      { ...nothing, events: 1_000, more: true },
      { ...nothing, bodies: 5, more: false },
    ];
    const before = await environment().currentTimeMs();
    expect(await run('in-three-rounds')).to.deep.equal({ rounds: 3, rows: 2_015 });
    expect(times).to.have.length(3);
    await eachCase(times, (time) => expect(time).to.be.at.least(before - 1_000));
  });

  it('makes one round if there is nothing to remove', async () => {
    rounds = [{ ...nothing, more: false }];
    expect(await run('idle')).to.deep.equal({ rounds: 1, rows: 0 });
  });

  it('ends after 60 rounds, even if more rows remain', async () => {
    rounds = [{ ...nothing, attempts: 1_000, more: true }];
    expect(await run('endless')).to.deep.equal({ rounds: 60, rows: 60_000 });
    expect(times).to.have.length(60);
  });
});
