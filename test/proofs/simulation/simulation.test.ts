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

/** Short ones, so that many fit into the time of the suite; `npm run prove -- simulate` plays long ones. */
const schedules = 100;
const commands = 5;

describe('simulated schedules of the real engine', function () {
  this.timeout(240_000);
  let stand: Stand;
  before('a database of their own', async () => {
    await testStack();
    const { database, masterKey } = readConfig();
    stand = await openStand(database.url.reveal(), createVault(masterKey));
  });
  after('the time of this process again', () => stand.close());

  const expectHeld = async (schedule: Schedule) => {
    const { broken, trace } = await stand.play(schedule);
    expect(broken, `${replayOf(schedule)}\n${trace.slice(-60).join('\n')}`).to.equal(undefined);
  };

  it(`hold every invariant in ${schedules} short schedules`, async () => {
    for (const schedule of schedulesOf({ seed: 1, engines, schedules, commands })) await expectHeld(schedule);
  });

  for (const { why, ...schedule } of regressions as (Schedule & { why: string })[]) {
    it(`hold every invariant where one was broken: ${why}`, () => expectHeld(schedule));
  }

  it('repeat a schedule from its decisions, step by step', async () => {
    const first = await stand.play({ engine: 'add-ons', seed: 3, commands });
    const again = await stand.play({ engine: 'add-ons', seed: 3, commands, decisions: first.decisions });
    expect(first.trace.length).to.be.greaterThan(50);
    expect(again.trace).to.deep.equal(first.trace);
  });

  it('are the same for the same seed, step by step, unless several statements wait for one row', async () => {
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

  it('make a failing schedule shorter, and it breaks the same invariant', async () => {
    const failing: Stand = {
      ...stand,
      play: async (schedule) => {
        const played = await stand.play(schedule);
        const killed = played.trace.some((line) => line.endsWith('is killed'));
        return killed ? { ...played, broken: { invariant: 'nobody is killed', details: '' } } : played;
      },
    };
    let seed = 1;
    let failed = await failing.play({ engine: 'add-ons', seed, commands });
    while (!failed.broken) failed = await failing.play({ engine: 'add-ons', seed: ++seed, commands });
    const { schedule, played } = await shorten(failing, { engine: 'add-ons', seed, commands }, failed);
    expect(played.broken?.invariant).to.equal('nobody is killed');
    expect(schedule.decisions?.length).to.be.lessThan(failed.decisions.length);
  });
});

describe('scenarios of the simulation', () => {
  it('exist for each workflow type', () => {
    expect(Object.keys(playedBy).toSorted()).to.deep.equal(workflowTypeNames.toSorted());
  });
});

describe('rules that a simulation can do without', () => {
  for (const [name, { file, changes }] of Object.entries(removedRules)) {
    it(`${name}: what is taken out stands once in ${file}`, () => {
      const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
      for (const [find] of changes) expect(text.split(find)).to.have.length(2);
    });
  }
});

describe('npm run prove -- simulate', () => {
  it('refuses an unknown engine and a seed that is no number, and says what there is', () => {
    expect(() => simulationArguments(['--engine', 'nobody'])).to.throw(/There is no engine nobody\.[^]*webhooks/);
    expect(() => simulationArguments(['--seed', 'x'])).to.throw(/--seed takes a whole number, not x\./);
    expect(() => simulationArguments(['--sed', '1'])).to.throw(/Unknown option '--sed'/);
  });

  it('gives each schedule a seed of its own, lets the engines take turns, and paces every other one', () => {
    const wanted = simulationArguments(['--seed', '7', '--schedules', '2', '--engine', 'mails']);
    const [first, second] = schedulesOf(wanted);
    expect([first, second]).to.deep.equal([
      { engine: 'mails', seed: 7, commands: 14 },
      { engine: 'mails', seed: 8, commands: 14, paced: true },
    ]);
    expect(schedulesOf({ ...wanted, isPaced: true })).to.deep.equal([{ ...first, paced: true }, second]);
  });

  it('divides the schedules among processes: none is missing, and none is played twice', () => {
    const wanted = simulationArguments(['--seed', '7', '--schedules', '100', '--processes', '3']);
    const parts = [0, 1, 2].map((part) => schedulesOf({ ...wanted, part }));
    const seeds = parts.flat().map(({ seed }) => seed);
    expect(seeds.toSorted((a, b) => a - b)).to.deep.equal(Array.from({ length: 100 }, (_, place) => 7 + place));
    for (const part of parts) expect(new Set(part.map(({ engine }) => engine))).to.have.length(engines.length);
  });
});
