import { expect } from 'chai';
import { afterWarmUp, lineThrough, percentAnHour } from './growth.ts';
import { growthOf, type Sample } from './samples.ts';
import { isPassedThrough } from './database.ts';

const points = (values: readonly number[]) => values.map((y, index) => ({ x: index / 60, y }));

describe('growth report of the soak', () => {
  it('computes the slope by least squares, with its standard error', () => {
    const line = lineThrough([
      { x: 0, y: 1 },
      { x: 1, y: 3 },
      { x: 2, y: 2 },
      { x: 3, y: 5 },
    ]);
    expect(line.slope).to.be.closeTo(1.1, 1e-12);
    expect(line.error).to.be.closeTo(Math.sqrt(2.7 / 2 / 5), 1e-12);
    expect(line.mean).to.equal(2.75);
  });

  it('returns the hourly change in percent of the mean, and 0 for constant values', () => {
    expect(percentAnHour(points([100, 100, 100, 100])).percent).to.equal(0);
    expect(percentAnHour(points([99, 100, 101])).percent).to.be.closeTo(60, 1e-9);
    expect(percentAnHour(points([101, 100, 99])).percent).to.be.closeTo(-60, 1e-9);
  });

  it('returns an infinite error for fewer than three points', () => {
    expect(lineThrough(points([1, 9]))).to.deep.equal({ slope: 0, error: Number.POSITIVE_INFINITY, mean: 5 });
    expect(lineThrough([])).to.deep.equal({ slope: 0, error: Number.POSITIVE_INFINITY, mean: 0 });
  });

  it('ignores the first quarter of the time as warm-up, but never more than half an hour', () => {
    const all = Array.from({ length: 5 }, (_, index) => ({ x: index / 4 }));
    expect(afterWarmUp(all, 1).map(({ x }) => x)).to.deep.equal([0.25, 0.5, 0.75, 1]);
    expect(afterWarmUp(all, 8).map(({ x }) => x)).to.deep.equal([0.5, 0.75, 1]);
  });

  it('counts the growth of a table only if the product removes its rows after a while', () => {
    const storingTables = ['students', 'purchases', 'webhook_events'];
    const passingTables = ['facts', 'wakes', 'webhook_tally_changes', 'student_sessions', 'one_time_tokens'];
    expect([...storingTables, ...passingTables].filter(isPassedThrough)).to.deep.equal(passingTables);
  });

  it('finds a simulated leak of memory, of a table and of handles', () => {
    const sample = (minute: number, leak: number): Sample => ({
      x: minute / 60,
      processes: {
        worker: {
          rss: 1_000 + leak * minute,
          file: 100,
          handles: 100 + leak * minute,
          heaps: { used: 500 + leak * minute, reserved: 600, external: 10 },
        },
        API: { rss: 1_000, file: 100, handles: 100, heaps: { used: 500, reserved: 600, external: 10 } },
      },
      tables: [
        { name: 'wakes', bytes: 2_000 + leak * minute, rows: 1 },
        { name: 'students', bytes: 3_000 + 9 * minute, rows: minute },
      ],
      waiting: { connections: 1, facts: 0, factsLag: 0, wakes: 0, deliveries: 0, notices: 0 },
      histories: { open: 0, longest: 0 },
      cores: 0,
    });
    const run = (leak: number) =>
      growthOf(
        Array.from({ length: 121 }, (_, minute) => sample(minute, leak)),
        2,
      );
    const quiet = run(0);
    expect([quiet.memory.percent, quiet.heap.percent, quiet.tables.percent, quiet.handles]).to.deep.equal([0, 0, 0, 0]);
    const leaking = run(1);
    expect(leaking.memory.percent).to.be.closeTo(6_000 / 2_075, 1e-9);
    expect(leaking.heap.percent).to.be.closeTo(6_000 / 1_075, 1e-9);
    expect(leaking.tables.percent).to.be.closeTo(6_000 / 2_075, 1e-9);
    expect(leaking.handles).to.equal(90);
  });
});
