import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../../../config.ts';
import { describeError } from '../../../../platform/infra/describe-error.ts';
import { listen } from '../../../../platform/infra/postgres/notifications.ts';
import { until } from '../../../toolkit/drive/until.ts';
import { scratchDatabase, testDatabase } from '../../../toolkit/stack/database.ts';

const wait = { timeoutMs: 10_000 };

describe('a listener', () => {
  let source: DataSource;
  let other: DataSource;
  before('The test database, and a second database.', async () => {
    source = await testDatabase();
    other = await scratchDatabase();
  });
  after(() => other.destroy());

  /** The listener tests its connection with a NOTIFY over the pool `notifying`. */
  const listening = (notifying: DataSource) => {
    const heard: string[] = [];
    const failures: unknown[] = [];
    const listener = listen({
      databaseUrl: readConfig().database.url.reveal(),
      source: notifying,
      name: 'club-listening',
      channel: 'tested',
      onNotify: (payload) => heard.push(payload),
      onFailure: (error) => failures.push(describeError(error).code),
      proveWithinMs: 300,
    });
    return { heard, failures, listener };
  };
  const connections = async () => {
    const rows = await source.query<unknown[]>(
      `SELECT 1 FROM pg_stat_activity WHERE application_name = 'club-listening' AND datname = current_database()`,
    );
    return rows.length;
  };

  it('forwards only notifications of its channel', async () => {
    const { heard, failures, listener } = listening(source);
    await until('the connection', wait, async () => heard.length > 0);
    await source.query(`NOTIFY tested, 'one'; NOTIFY untested, 'two'; NOTIFY tested, 'three'`);
    await until('both', wait, async () => heard.length === 3);
    expect(heard).to.deep.equal(['', 'one', 'three']);
    expect(failures).to.deep.equal([]);
    await listener.stop();
  });

  it('reports an error and reconnects if it does not receive its own NOTIFY', async () => {
    const { heard, failures, listener } = listening(other);
    await until('two failures', wait, async () => failures.length === 2);
    expect(failures).to.deep.equal(['not_heard', 'not_heard']);
    expect(heard).to.deep.equal(['', '']);
    await until('the end of the first connection', wait, async () => (await connections()) <= 1);
    await listener.stop();
  });
});
