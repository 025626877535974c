import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { readConfig } from '../../../config.ts';
import { workflowTypeNames } from '../../../platform/engine/workflow-types.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';
import { testStack } from '../../toolkit/stack/stack.ts';
import { replayOf, schedulesOf, simulationArguments } from './command.ts';
import { openStand, shorten, type Schedule, type Stand } from './playing.ts';
import regressions from './regressions.json' with { type: 'json' };
import { removedRules } from './removed-rules.ts';
import { engines, playedBy } from './scenarios/index.ts';

/** The schedules are short, so that the test run can play many. `npm run prove -- simulate` plays long schedules. */
const schedules = 100;
const commands = 5;

describe('simulation of the real engine', function () {
  this.timeout(240_000);
  let stand: Stand;
  before('opens a database for the schedules', async () => {
    await testStack();
    const { database, masterKey } = readConfig();
    stand = await openStand(database.url.reveal(), createVault(masterKey));
  });
  after('restores the real time', () => stand.close());

  const expectHeld = async (schedule: Schedule) => {
    const { broken, trace } = await stand.play(schedule);
    expect(broken, `${replayOf(schedule)}\n${trace.slice(-60).join('\n')}`).to.equal(undefined);
  };

  it(`keeps every invariant in ${schedules} short schedules`, async () => {
    for (const schedule of schedulesOf({ seed: 1, engines, schedules, commands })) await expectHeld(schedule);
  });

  for (const { why, ...schedule } of regressions as (Schedule & { why: string })[]) {
    it(`keeps every invariant if ${why}`, () => expectHeld(schedule));
  }

  it('repeats the same steps if it plays a schedule with recorded decisions', async () => {
    const first = await stand.play({ engine: 'add-ons', seed: 3, commands });
    const again = await stand.play({ engine: 'add-ons', seed: 3, commands, decisions: first.decisions });
    expect(first.trace.length).to.be.greaterThan(50);
    expect(again.trace).to.deep.equal(first.trace);
  });

  it('makes the same trace from the same seed, unless several statements wait for one row', async () => {
    let compared = 0;
    for (const schedule of schedulesOf({ seed: 11, engines, schedules: 18, commands })) {
      const first = await stand.play(schedule);
      if (first.trace.some((line) => line.endsWith('waits for a lock'))) continue;
      const again = await stand.play(schedule);
      expect(again.trace, `--engine ${schedule.engine} --seed ${schedule.seed}`).to.deep.equal(first.trace);
      compared++;
    }
    expect(compared).to.be.greaterThan(5);
  });

  it('shortens a failed schedule to a schedule that breaks the same invariant', async () => {
    const failing: Stand = {
      ...stand,
      play: async (schedule) => {
        const played = await stand.play(schedule);
        const killed = played.trace.some((line) => line.endsWith('is killed'));
        return killed ? { ...played, broken: { invariant: 'no process is killed', details: '' } } : played;
      },
    };
    let seed = 1;
    let failed = await failing.play({ engine: 'add-ons', seed, commands });
    while (!failed.broken) failed = await failing.play({ engine: 'add-ons', seed: ++seed, commands });
    const { schedule, played } = await shorten(failing, { engine: 'add-ons', seed, commands }, failed);
    expect(played.broken?.invariant).to.equal('no process is killed');
    expect(schedule.decisions?.length).to.be.lessThan(failed.decisions.length);
  });
});

describe('scenarios of the simulation', () => {
  it('cover each workflow type', () => {
    expect(Object.keys(playedBy).toSorted()).to.deep.equal(workflowTypeNames.toSorted());
  });
});

describe('npm run prove -- simulate --without', () => {
  for (const [name, { file, changes }] of Object.entries(removedRules)) {
    it(`finds the text of the rule ${name} exactly once in ${file}`, () => {
      const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
      for (const [find] of changes) expect(text.split(find)).to.have.length(2);
    });
  }
});

describe('npm run prove -- simulate', () => {
  it('refuses an unknown engine and an invalid seed, and prints the usage', () => {
    expect(() => simulationArguments(['--engine', 'unknown'])).to.throw(/No engine has the name unknown[^]*webhooks/);
    expect(() => simulationArguments(['--seed', 'x'])).to.throw(/--seed takes a whole number, not x\./);
    expect(() => simulationArguments(['--sed', '1'])).to.throw(/Unknown option '--sed'/);
  });

  it('gives each schedule its own seed, and paces every second schedule', () => {
    const options = simulationArguments(['--seed', '7', '--schedules', '2', '--engine', 'mails']);
    const [first, second] = schedulesOf(options);
    expect([first, second]).to.deep.equal([
      { engine: 'mails', seed: 7, commands: 14 },
      { engine: 'mails', seed: 8, commands: 14, paced: true },
    ]);
    expect(schedulesOf({ ...options, isPaced: true })).to.deep.equal([{ ...first, paced: true }, second]);
  });

  it('divides the schedules among processes without a gap or a repetition', () => {
    const options = simulationArguments(['--seed', '7', '--schedules', '100', '--processes', '3']);
    const parts = [0, 1, 2].map((part) => schedulesOf({ ...options, part }));
    const seeds = parts.flat().map(({ seed }) => seed);
    expect(seeds.toSorted((a, b) => a - b)).to.deep.equal(Array.from({ length: 100 }, (_, position) => 7 + position));
    for (const part of parts) expect(new Set(part.map(({ engine }) => engine))).to.have.length(engines.length);
  });
});
