import { Database } from '../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { createNotifier } from '../../platform/infra/postgres/notifications.ts';
import type { Id } from '../../platform/core/ids.ts';
import { requestMail } from '../../domain/mail/transactional/requests.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { until } from '../toolkit/drive/until.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { useWorkerProcesses, type WorkerProcess } from '../toolkit/stack/worker.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const second = 1_000;

interface Recipient {
  clubId: Id;
  studentId: Id;
  email: string;
}

/** The mail server accepts the first mail and refuses the second. The worker cancels the third, because its token was deleted. */
describe('the metrics and the log of a worker process', function () {
  this.timeout(60 * second);
  const startWorker = useWorkerProcesses();
  let recipients: Recipient[];
  let worker: WorkerProcess;
  let counted: Record<'sent' | 'failed' | 'canceled', number>;
  let lines: string[];

  before('send three mails, and end the worker', async () => {
    const { mailbox } = await testStack();
    if (!mailbox) throw new Error('The stack has no mailbox, which these tests set to refuse a mail.');
    const [accepted, refused, obsolete] = await Promise.all([recipient(), recipient(), recipient()]);
    recipients = [accepted, refused, obsolete];
    // Without a bundle file, the worker bundles the workflows.
    worker = await startWorker({ LOG_LEVEL: 'debug', WORKFLOW_BUNDLE_FILE: '' });
    mailbox.failNext({ at: 'rcpt', reply: 451, to: refused.email });
    await Promise.all([requestMailTo(accepted), requestMailTo(refused), requestMailTo(obsolete, { tokenLeft: false })]);
    await until('three outcomes', { timeoutMs: 20 * second }, async () => (await worker.metric('mails_total')) >= 3);
    const count = (outcome: string) => worker.metric(`mails_total{outcome="${outcome}"}`);
    counted = { sent: await count('sent'), failed: await count('failed'), canceled: await count('canceled') };
    await worker.end('SIGTERM'); // also writes the buffered lines of the log
    lines = worker
      .log()
      .split('\n')
      .map((line) => line.replace(/^ {2}\| /, ''));
  });

  async function recipient(): Promise<Recipient> {
    const { id: clubId } = await buildClub();
    const { id: studentId, email } = await buildStudent(clubId, { verified: false });
    return { clubId, studentId, email };
  }

  async function requestMailTo(
    { clubId, studentId, email }: Recipient,
    { tokenLeft: hasToken = true } = {},
  ): Promise<void> {
    const { db, vault } = await testDeps();
    const notifier = createNotifier(db.source, () => {});
    await new Database(db.source, notifier).transaction(async (tx) => {
      const about = { clubId, recipient: { studentId }, email };
      await requestMail(tx, vault, { template: 'student_verify_email', ...about }, new Date());
      if (!hasToken) await tx.manager.query(`DELETE FROM one_time_tokens WHERE student_id = $1`, [studentId]);
    });
  }

  it('count the mails by their outcome in mails_total', () => {
    expect(counted).to.deep.equal({ sent: 1, failed: 1, canceled: 1 });
  });

  it('contain the reply of the mail server to a refused mail', () => {
    const logged = lines
      .filter((line) => line.includes('a mail was not accepted'))
      .map((line): unknown => JSON.parse(line));
    expect(logged).to.have.length(1);
    expect(logged[0]).to.deep.include({ level: 40, name: 'worker', msg: 'a mail was not accepted; it is tried again' });
    expect(logged[0]).to.have.nested.property('error.code', 'EENVELOPE 451');
  });

  it('contain no e-mail address', async () => {
    await eachCase(recipients, ({ email }) =>
      expect(worker.log()).to.not.include(email).and.to.not.include(email.split('@')[0]),
    );
  });

  it('contain only JSON lines, even from the bundler and the Temporal SDK', async () => {
    const parsed = lines.map((line) => {
      try {
        return JSON.parse(line) as { name: string; level: number; time: number; msg: string };
      } catch {
        return expect.fail(`A line is not JSON: ${line}`);
      }
    });
    await eachCase(parsed, ({ name, level, time, msg }) => {
      expect(['worker', 'temporal']).to.include(name);
      expect([typeof level, typeof time, typeof msg]).to.deep.equal(['number', 'number', 'string']);
    });
    const messagesOf = (name: string) => parsed.filter((line) => line.name === name).map(({ msg }) => msg);
    expect(messagesOf('worker'), 'the bundler').to.satisfy((all: string[]) => all.some((msg) => /bundle/i.test(msg)));
    expect(messagesOf('temporal'), 'the engine').to.satisfy((all: string[]) => all.some((msg) => /worker/i.test(msg)));
  });
});
