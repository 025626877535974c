/** Tests the commands `listen` and `trigger` with a real API and a real receiver (LSN-8, LSN-9). */
import { expect } from 'chai';
import { startApi } from '../../../api/server.ts';
import { fanOut } from '../../../domain/webhooks/events/fan-out.ts';
import { KnownIds } from '../../../sdk/src/commands/listen/known-ids.ts';
import { secretOf } from '../../../sdk/src/commands/listen/secret.ts';
import { main } from '../../../sdk/src/commands/main.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { eventRow } from '../../toolkit/assert/webhooks.ts';
import { buildApiKey } from '../../toolkit/builders/api-keys.ts';
import { buildClub, buildStudent, type TestClub } from '../../toolkit/builders/clubs.ts';
import { factAbout } from '../../toolkit/builders/webhooks.ts';
import { call, clock, testApi, testConfig } from '../../toolkit/drive/api.ts';
import { recordedIo } from '../../toolkit/drive/command-io.ts';
import { until } from '../../toolkit/drive/until.ts';
import { startJudge, type WebhookJudge } from '../../toolkit/fakes/webhook-judge.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

const second = 1_000;
const minute = 60 * second;

describe('the command listen', function () {
  this.timeout(60 * second);
  let club: TestClub;
  let studentId: Id;
  let key: { id: Id; token: string };
  let judge: WebhookJudge;
  const runs: { end: () => void; code: Promise<number> }[] = [];
  beforeEach(async () => {
    club = await buildClub();
    ({ id: studentId } = await buildStudent(club.id));
    key = await buildApiKey(club.id, ['events:read']);
    judge = await startJudge(secretOf(key.token));
  });
  afterEach(async () => {
    for (const { end } of runs) end();
    await Promise.all(runs.splice(0).map(({ code }) => code.catch(() => undefined)));
    await judge.stop();
  });

  const record = async (type: EventType = 'student.updated', at = clock.now()): Promise<Id> => {
    const { db } = await testDeps();
    const fact = { ...factAbout({ clubId: club.id, studentId }, type, at), id: newId() };
    await fanOut(db, fact, at);
    return fact.id;
  };
  const start = async (
    args: readonly string[] = [],
    { base, forwardTo }: { base?: string; forwardTo?: string } = {},
  ) => {
    const io = recordedIo({ CLUB_LEARNING_API_KEY: key.token });
    const address = base ?? `http://127.0.0.1:${(await testApi()).port}`;
    const service = ['--api-url', address, '--club', club.id, '--forward-to', forwardTo ?? judge.url];
    const code = main(['listen', ...service, ...args], io);
    const run = { ...io, written: io.written, code };
    runs.push(run);
    return run;
  };
  const listening = async (...args: Parameters<typeof start>) => {
    const run = await start(...args);
    await until('the stream', { timeoutMs: 10 * second }, async () => run.written.error.includes('Listening'));
    return run;
  };
  const untilReceived = (count: number) =>
    until(`${count} deliveries`, { timeoutMs: 15 * second }, async () => judge.received.length >= count);
  const withApi = async (work: (base: string, port: number) => Promise<void>, port = 0): Promise<void> => {
    const config = await testConfig({ API_PORT: String(port) });
    const api = await startApi(config, { clock: clock.now, readinessGraceMs: 0 });
    try {
      await work(`http://127.0.0.1:${api.port}`, api.port);
    } finally {
      await api.stop();
    }
  };

  it('forwards each event in order, with the bytes and a signature that the library accepts', async () => {
    const run = await listening(['--expect', '3', '--timeout', '30s']);
    const ids = [await record('student.created'), await record(), await record('student.created')];
    expect(await run.code).to.equal(0);
    expect(judge.received.map(({ id }) => id)).to.deep.equal(ids);
    expect(judge.received.every(({ isGenuine }) => isGenuine)).to.equal(true);
    for (const { id, body } of judge.received) expect(body).to.equal((await eventRow(id)).body);
    expect(run.written.error).to.contain(secretOf(key.token)).and.not.contain(key.token);
    const lines = run.written.out.trimEnd().split('\n');
    expect(lines).to.have.length(3);
    expect(lines[0]).to.match(new RegExp(`^student\\.created +${ids[0]} {2}204 {2}\\d+ ms$`));
  });

  it('prints lines of JSON, and only the types of --events', async () => {
    const run = await listening(['--json', '--events', 'student.created', '--expect', '1']);
    await record();
    const id = await record('student.created');
    expect(await run.code).to.equal(0);
    const { ms, ...line } = JSON.parse(run.written.out) as { ms: unknown };
    expect(line).to.deep.equal({ id, type: 'student.created', status: 204 });
    expect(ms).to.be.a('number');
  });

  it('exits with 1 if the expected events do not arrive in time or are refused', async () => {
    const late = await listening(['--expect', '1', '--timeout', '300ms']);
    expect(await late.code).to.equal(1);
    expect(late.written.error).to.contain('The receiver accepted 0 of 1 events.');
    await judge.stop();
    judge = await startJudge(secretOf(key.token), { statusOf: () => 500 });
    const refused = await listening(['--expect', '1', '--timeout', '3s']);
    await record();
    expect(await refused.code).to.equal(1);
    expect(refused.written.out).to.match(/ {2}500 {2}\d+ ms\n$/);
  });

  it('ends with 0 on Ctrl-C without --expect', async () => {
    const run = await listening();
    run.end();
    expect(await run.code).to.equal(0);
  });

  it('resumes after a restart of the service without losing or repeating an event', async () => {
    let port = 0;
    let run: Awaited<ReturnType<typeof start>> | undefined;
    const ids: Id[] = [];
    await withApi(async (base, at) => {
      port = at;
      run = await listening(['--expect', '4', '--timeout', '40s'], { base });
      ids.push(await record(), await record());
      await untilReceived(2);
    });
    ids.push(await record());
    await withApi(async () => {
      await untilReceived(3);
      ids.push(await record());
      expect(await run?.code).to.equal(0);
    }, port);
    expect(judge.received.map(({ id }) => id)).to.deep.equal(ids);
  });

  it('reads the events of a gap from the list, and forwards each once', async () => {
    let port = 0;
    let run: Awaited<ReturnType<typeof start>> | undefined;
    const ids: Id[] = [];
    await withApi(async (base, at) => {
      port = at;
      run = await listening(['--expect', '5', '--timeout', '40s'], { base });
      ids.push(await record());
      await untilReceived(1);
    });
    ids.push(await record(), await record());
    clock.advance(90 * minute);
    ids.push(await record());
    await withApi(async () => {
      await untilReceived(4);
      ids.push(await record());
      expect(await run?.code).to.equal(0);
    }, port);
    expect(judge.received.map(({ id }) => id)).to.deep.equal(ids);
    expect(run?.written.error).to.contain('The stream lacks events from');
  });

  it('waits for a receiver that restarts', async () => {
    const { url } = judge;
    await judge.stop();
    const run = await listening(['--expect', '1', '--timeout', '30s'], { forwardTo: url });
    const id = await record();
    await new Promise((resolve) => setTimeout(resolve, 400));
    judge = await startJudge(secretOf(key.token), { port: Number(new URL(url).port) });
    expect(await run.code).to.equal(0);
    expect(judge.received.map((event) => event.id)).to.deep.equal([id]);
  });

  it('ends with 1 and the message of the service if the stream is refused', async () => {
    key = await buildApiKey(club.id, ['students:read']);
    const refused = await start();
    expect(await refused.code).to.equal(1);
    expect(refused.written.error).to.contain('The service refused the stream (scope_not_granted)');
  });

  it('ends with 1 when its key is revoked', async () => {
    const run = await listening();
    await call('DELETE', `/v1/clubs/${club.id}/api-keys/${key.id}`, { token: club.owner.token });
    expect(await run.code).to.equal(1);
    expect(run.written.error).to.contain('The service refused the stream (unauthenticated)');
  });

  it('ends with 2 for wrong arguments, and never shows the key', async () => {
    const service = ['--api-url', 'http://127.0.0.1:9', '--club', club.id];
    const usages: readonly (readonly [readonly string[], RegExp])[] = [
      [['listen'], /Give the address of the service/],
      [['listen', ...service], /Give the address of the receiver with --forward-to/],
      [['listen', ...service, '--forward-to', 'ftp://x'], /must be an address of http or https/],
      [
        ['listen', ...service, '--forward-to', judge.url, '--events', 'webhook.test'],
        /There is no event "webhook.test"/,
      ],
      [['listen', ...service, '--forward-to', judge.url, '--expect', '0'], /--expect must be a number/],
      [['listen', ...service, '--forward-to', judge.url, '--timeout', '5s'], /--timeout needs --expect/],
      [['listen', ...service, '--forward-to', judge.url, '--expect', '1', '--timeout', '5h'], /must be a duration/],
      [['trigger', 'student.sneezed', '--forward-to', judge.url], /Name one event/],
      [['trigger', 'student.created'], /--forward-to/],
    ];
    for (const [args, message] of usages) {
      const io = recordedIo({ CLUB_LEARNING_API_KEY: key.token });
      expect(await main(args, io), args.join(' ')).to.equal(2);
      expect(io.written.error).to.match(message).and.not.contain(key.token);
    }
    const io = recordedIo();
    expect(await main(['listen', ...service, '--forward-to', judge.url], io)).to.equal(2);
    expect(io.written.error).to.contain('Set the variable CLUB_LEARNING_API_KEY');
  });

  it('prints the secret alone with --print-secret; it depends on the key only', async () => {
    const io = recordedIo({ CLUB_LEARNING_API_KEY: key.token });
    expect(await main(['listen', '--print-secret'], io)).to.equal(0);
    expect(io.written).to.deep.equal({ out: `${secretOf(key.token)}\n`, error: '' });
    expect(secretOf(key.token)).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(secretOf(`${key.token}x`)).not.to.equal(secretOf(key.token));
  });

  it('remembers known ids up to a bound, and forgets the oldest ones', () => {
    const known = new KnownIds(2);
    expect(['a', 'b', 'a', 'c', 'a'].map((id) => known.add(id))).to.deep.equal([true, true, false, true, true]);
  });

  it('sends the example of an event by trigger, signed with the same secret', async () => {
    const io = recordedIo({ CLUB_LEARNING_API_KEY: key.token });
    expect(await main(['trigger', 'student.created', '--forward-to', judge.url], io)).to.equal(0);
    expect(judge.received.map(({ type, isGenuine }) => [type, isGenuine])).to.deep.equal([['student.created', true]]);
    await judge.stop();
    judge = await startJudge('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', {
      statusOf: (event) => (event.isGenuine ? 204 : 401),
    });
    expect(await main(['trigger', 'access.granted', '--forward-to', judge.url, '--json'], io)).to.equal(1);
    expect(io.written.out).to.contain('"status":401');
  });
});
