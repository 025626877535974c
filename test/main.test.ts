/** Tests main.ts, the only entry point of the service. Each test starts a process. */
import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { projectDirectory, scriptArguments } from '../dev/project.ts';
import { eachCase } from './toolkit/assert/each-case.ts';

const run = (args: readonly string[]) => {
  const command = [...scriptArguments('main.ts'), ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, {
    encoding: 'utf8',
    env: {},
    cwd: projectDirectory,
  });
  return { status, stdout, stderr };
};

const list = `Name one of these commands:
  migrate                      migrates the database to the newest schema, and ends
  setup                        creates namespace, search attributes and schedules in Temporal, sets the limits of the role in Postgres, and ends
  doctor                       tries every connection, says what to do about each problem, and ends
  api                          serves the API until it gets a stop signal
  reseal                       seals all values under a key of MASTER_KEYS_OLD again under MASTER_KEY, and ends
  amounts                      lists purchases whose stored amount may be wrong, changes nothing, and ends
  reconcile-add-ons SINCE      restores the paid add-ons that a failover lost since a time such as 2026-03-01T00:00:00Z, and ends
  erase-again --since TIME     erases again what a restore of Postgres brought back, and ends
  reset-factors ADMINISTRATOR  removes all second factors of an administrator, named by id or e-mail, who has lost them, and ends
  rotate-erasure-key           makes the next key that signs certificates of erasure, and ends
  worker                       runs workflows and activities until it gets a stop signal
  promote                      makes this build the current build, once its workers poll all task queues, and ends
`;

describe('main', () => {
  it('lists the commands and exits with code 2, unless the arguments name exactly one known command', async () => {
    await eachCase([[], ['serve'], ['toString'], ['migrate', 'api'], ['reconcile-add-ons']], (args) =>
      expect(run(args)).to.deep.equal({ status: 2, stdout: '', stderr: list }),
    );
  });

  it('runs the given command, and exits with code 1 if the configuration has mistakes', () => {
    const { status, stdout, stderr } = run(['migrate']);
    expect({ status, stdout }).to.deep.equal({ status: 1, stdout: '' });
    const begin = 'Migration failed: The configuration has 6 mistake(s):\n  - DATABASE_URL is missing\n';
    expect(stderr.slice(0, begin.length)).to.equal(begin);
  });

  it('refuses an invalid time, and exits with code 1', () => {
    expect(run(['reconcile-add-ons', 'yesterday'])).to.deep.equal({
      status: 1,
      stdout: '',
      stderr: 'Not reconciled: yesterday is not a time; write a time such as 2026-03-01T00:00:00Z\n',
    });
  });
});
