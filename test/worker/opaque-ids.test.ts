import { Database } from '../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import type { Receiver } from '../../dev/clients/receiver.ts';
import { createNotifier } from '../../platform/infra/postgres/notifications.ts';
import { removeStudent, updateStudent } from '../../domain/students/students.ts';
import { call } from '../toolkit/drive/api.ts';
import { testDatabase, testDeps, depsOn } from '../toolkit/stack/database.ts';
import { everyText } from '../toolkit/assert/histories.ts';
import { deliveryRow } from '../toolkit/assert/webhooks.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import { buildEndpoint, type TestEndpoint } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { wakeDelivery, endLease } from '../toolkit/drive/deliveries.ts';
import { until } from '../toolkit/drive/until.ts';
import { useDeliveries } from '../toolkit/stack/receivers.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { useTemporal, useWorkerProcesses, type WorkerProcess } from '../toolkit/stack/worker.ts';

const second = 1_000;

/** A student is removed after two endpoints refused events, and after two steps failed with an error that quotes the row. */
describe('the data of a student in Temporal (ENG-12)', function () {
  this.timeout(60 * second);
  const startWorker = useWorkerProcesses();
  const temporal = useTemporal();
  const delivering = useDeliveries();

  const name = 'Rosalind Quenby-Vale';
  const email = 'rosalind.quenby@example.com';
  const password = 'ten green turtles';
  const responseBody = `Row of ${name} was refused`;
  const secretPath = '/hooks/k3y-in-the-path';
  let worker: WorkerProcess;
  let receiver: Receiver;
  let endpoints: TestEndpoint[];
  let token: string;
  let text: string;

  before('run the scenario', async function () {
    this.timeout(120 * second);
    worker = await startWorker();
    receiver = await delivering().receiver((_, number) => ({ status: number <= 2 ? 500 : 200, body: responseBody }));
    const { id: clubId } = await buildClub();
    endpoints = await Promise.all([1, 2].map(() => buildEndpoint(clubId, receiver.url + secretPath)));

    await call('POST', `/v1/clubs/${clubId}/classroom/sign-up`, { body: { name, email, password } });
    const mail = await (await testStack()).mailbox?.waitFor(({ to }) => to.includes(email), 10 * second);
    token = /token=([\w-]+)/.exec(mail?.text ?? '')?.[1] ?? '';
    const session = await call('POST', '/v1/auth/verify-email', { body: { token } });
    const studentId: string = session.body.data.student.id;
    await receiver.waitFor(4, 20 * second); // two requests that fail, and their two repetitions after 5 s
    await untilAllHaveEnded(clubId);

    const deps = await testDeps();
    const db = new Database(
      deps.db.source,
      createNotifier(deps.db.source, () => {}),
    );
    await failWhileRecording(async () => {
      await updateStudent({ ...deps, db }, clubId, studentId, { name: `${name} II` }, 'owner', new Date());
      await receiver.waitFor(6, 10 * second);
      await until('two failed steps', { timeoutMs: 10 * second }, async () => (await refusals()) >= 2);
    });
    for (const id of await pendingOf(clubId)) {
      await endLease(id);
      const { endpointId, eventId } = await deliveryRow(id);
      await wakeDelivery({ id, clubId, eventId, studentId, endpoint: { id: endpointId, secret: '' } });
    }
    await receiver.waitFor(8, 10 * second);
    await untilAllHaveEnded(clubId);
    await removeStudent(depsOn(db), clubId, studentId, new Date());
    await receiver.waitFor(10, 10 * second);
    await untilAllHaveEnded(clubId);
    text = await everythingOf(clubId);

    /** Deliveries to the first endpoint use local activities, to the second endpoint ordinary activities. */
    async function failWhileRecording(work: () => Promise<void>): Promise<void> {
      await alter('webhook_endpoints', endpoints[1]?.id ?? '', { consecutive_failures: 1 });
      const source = await testDatabase();
      await source.query(
        `ALTER TABLE webhook_attempts ADD CONSTRAINT refused_by_a_test CHECK (outcome <> 'succeeded') NOT VALID`,
      );
      try {
        await work();
      } finally {
        await source.query(`ALTER TABLE webhook_attempts DROP CONSTRAINT refused_by_a_test`);
      }
    }
  });

  const pendingOf = async (clubId: string) => {
    const rows = await (
      await testDatabase()
    ).query<{ id: string }[]>(`SELECT id FROM webhook_deliveries WHERE club_id = $1 AND status = 'pending'`, [clubId]);
    return rows.map(({ id }) => id);
  };
  const untilAllHaveEnded = (clubId: string) =>
    until('the end of all deliveries', { timeoutMs: 10 * second }, async () => (await pendingOf(clubId)).length === 0);
  /** Counts steps that failed on the check constraint, by the worker's log. */
  const refusals = async () => worker.log().split('"constraint":"refused_by_a_test"').length - 1;

  /** The list, descriptions and histories of the club's runs. */
  async function everythingOf(clubId: string): Promise<string> {
    const { workflow } = temporal();
    const runs = await until('seven ended runs', { timeoutMs: 10 * second }, async () => {
      const listed = [];
      for await (const run of workflow.list({ query: `ClubId = '${clubId}'` })) listed.push(run);
      return listed.length >= 7 && listed.every(({ status }) => status.name === 'COMPLETED') && listed;
    });
    const texts = await Promise.all(
      runs.map(async (run) => {
        const handle = workflow.getHandle(run.workflowId, run.runId);
        const { raw } = await handle.describe();
        return everyText({ listed: run.raw, described: raw, history: await handle.fetchHistory() });
      }),
    );
    return texts.join('\n');
  }

  it('contains a mail, failed deliveries and failed steps', () => {
    expect(receiver.requests).to.have.length(10);
    expect(token).to.have.length(43);
    expect(text).to.contain('transactionalMail').and.to.contain('webhookDelivery');
    expect(text).to.contain('attempt 2 of 8 in about');
    expect(text, 'a step that failed').to.match(/fault\(s\) of ours, the last one \S*23514/);
  });

  const secrets: { what: string; value: () => string }[] = [
    { what: 'the student’s name', value: () => 'Rosalind' },
    { what: 'the student’s e-mail', value: () => email },
    { what: 'the student’s password', value: () => password },
    { what: 'the token of the mail', value: () => token },
    { what: 'the secret of an endpoint', value: () => endpoints[0]?.secret.replace('whsec_', '') ?? '' },
    { what: 'the address of an endpoint', value: () => secretPath },
    { what: 'a body', value: () => '"data"' },
    { what: 'a signature', value: () => 'v1,' },
    { what: 'the answer of a receiver', value: () => 'was refused' },
    { what: 'a statement of SQL', value: () => 'UPDATE ' },
    { what: 'a row that Postgres quotes', value: () => 'Failing row' },
  ];
  for (const { what, value } of secrets) {
    it(`does not contain ${what}`, () => {
      expect(value()).to.not.equal('');
      expect(text).not.to.contain(value());
    });
    if (what.startsWith('the student') || what.startsWith('the token') || what.startsWith('a row')) {
      it(`is not in the worker’s log: ${what}`, () => {
        expect(worker.log()).not.to.contain(value());
      });
    }
  }

  it('contains the ids and results of payloads', () => {
    const [request] = receiver.requests;
    const delivery = JSON.parse(request?.body.toString() ?? '{}');
    expect(text).to.contain(delivery.club_id);
    expect(text).to.contain('"succeeded"');
  });
});
