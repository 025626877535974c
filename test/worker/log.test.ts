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

/** One worker process with everything in its log, which sends a mail, is refused another, and finds a third to have no sense any more. */
describe('the metrics and the log of a worker process', function () {
  this.timeout(60 * second);
  const startWorker = useWorkerProcesses();
  let recipients: Recipient[];
  let worker: WorkerProcess;
  let counted: Record<'sent' | 'failed' | 'canceled', number>;
  let lines: string[];

  before('run it and end it', async () => {
    const { mailbox } = await testStack();
    if (!mailbox) throw new Error('These tests tell the mailbox of the stack to refuse.');
    const [accepted, refused, senseless] = await Promise.all([recipient(), recipient(), recipient()]);
    recipients = [accepted, refused, senseless];
    // Without a bundle at hand it makes its own, as `npm start` does.
    worker = await startWorker({ LOG_LEVEL: 'debug', WORKFLOW_BUNDLE_FILE: '' });
    mailbox.failNext({ at: 'rcpt', reply: 451, to: refused.email });
    await Promise.all([askForMail(accepted), askForMail(refused), askForMail(senseless, { tokenLeft: false })]);
    await until('three outcomes', { timeoutMs: 20 * second }, async () => (await worker.metric('mails_total')) >= 3);
    const count = (outcome: string) => worker.metric(`mails_total{outcome="${outcome}"}`);
    counted = { sent: await count('sent'), failed: await count('failed'), canceled: await count('canceled') };
    await worker.end('SIGTERM'); // which also writes what its log has not yet written
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

  async function askForMail({ clubId, studentId, email }: Recipient, { tokenLeft = true } = {}): Promise<void> {
    const { db, vault } = await testDeps();
    const notifier = createNotifier(db.source, () => {});
    await new Database(db.source, notifier).transaction(async (tx) => {
      const about = { clubId, recipient: { studentId }, email };
      await requestMail(tx, vault, { template: 'student_verify_email', ...about }, new Date());
      if (!tokenLeft) await tx.manager.query(`DELETE FROM one_time_tokens WHERE student_id = $1`, [studentId]);
    });
  }

  it('mails_total counts attempts by outcome', () => {
    expect(counted).to.deep.equal({ sent: 1, failed: 1, canceled: 1 });
  });

  it('logs a refused mail with the reply of the server', () => {
    const told = lines
      .filter((line) => line.includes('a mail was not accepted'))
      .map((line): unknown => JSON.parse(line));
    expect(told).to.have.length(1);
    expect(told[0]).to.deep.include({ level: 40, name: 'worker', msg: 'a mail was not accepted; it is tried again' });
    expect(told[0]).to.have.nested.property('error.code', 'EENVELOPE 451');
  });

  it('logs no e-mail address', async () => {
    await eachCase(recipients, ({ email }) =>
      expect(worker.log()).to.not.include(email).and.to.not.include(email.split('@')[0]),
    );
  });

  it('writes every line as JSON, also those of the bundler and of the engine', async () => {
    const parsed = lines.map((line) => {
      try {
        return JSON.parse(line) as { name: string; level: number; time: number; msg: string };
      } catch {
        return expect.fail(`a line that is no JSON: ${line}`);
      }
    });
    await eachCase(parsed, ({ name, level, time, msg }) => {
      expect(['worker', 'temporal']).to.include(name);
      expect([typeof level, typeof time, typeof msg]).to.deep.equal(['number', 'number', 'string']);
    });
    const said = (name: string) => parsed.filter((line) => line.name === name).map(({ msg }) => msg);
    expect(said('worker'), 'the bundler').to.satisfy((all: string[]) => all.some((msg) => /bundle/i.test(msg)));
    expect(said('temporal'), 'the engine').to.satisfy((all: string[]) => all.some((msg) => /worker/i.test(msg)));
  });
});
