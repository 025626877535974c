/** Scenarios: mails that are sent immediately, that the mail server refuses for a while, or that it never accepts. Also a mail domain. */
import type { WorkflowHandle } from '@temporalio/client';
import type { Id } from '../../../platform/core/ids.ts';
import { requestMail } from '../../../domain/mail/transactional/requests.ts';
import { removeMailDomain, setMailDomain } from '../../../domain/mail/domains/domains.ts';
import { MailDomain } from '../../../entities/mail/mail-domain.ts';
import { TransactionalMail } from '../../../entities/mail/transactional-mail.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import { testStack } from '../../toolkit/stack/stack.ts';
import type { Recorder, Scenarios } from '../recorder.ts';

/** Requests a mail to a student at the time `now`. The mail server refuses this mail the given number of times. */
async function requestedMail(refusals: number, now: Date): Promise<{ id: Id; clubId: Id }> {
  const { db, vault } = await testDeps();
  const { id: clubId } = await buildClub();
  const student = await buildStudent(clubId, { verified: false });
  const recipient = { studentId: student.id };
  const request = { template: 'student_verify_email', clubId, recipient, email: student.email } as const;
  await db.transaction((tx) => requestMail(tx, vault, request, now));
  const { mailbox } = await testStack();
  if (refusals > 0) mailbox.failNext({ at: 'rcpt', reply: 451, to: student.email, times: refusals });
  const { id } = await db.source.manager.findOneByOrFail(TransactionalMail, { studentId: student.id });
  return { id, clubId };
}

async function refused({ skipped }: Recorder, refusals: number): Promise<WorkflowHandle> {
  const { id } = await requestedMail(refusals, await skipped.now());
  return skipped.start('transactionalMail', 'mail', id);
}

/** A club publishes the DNS records of a mail domain after two checks, removes them after five, and then removes the domain. */
async function mailDomain(recorder: Recorder): Promise<WorkflowHandle> {
  const deps = await testDeps();
  const { id: clubId } = await buildClub();
  const now = await recorder.skipped.now();
  const mailDomains = {
    resolveText: async () => [],
    platformAddress: 'news@platform.example',
    spfInclude: undefined,
    warmUps: { clubs: [], domains: [] },
  };
  const set = await setMailDomain({ ...deps, mailDomains }, clubId, { domain: 'knots.example' }, now);
  const { id } = await deps.db.manager.findOneByOrFail(MailDomain, { clubId });
  const published = new Map(set.records.map(({ name, value }) => [name, value]));
  let checks = 0;
  recorder.injected.resolveText = async (name) => {
    if (name.includes('_domainkey') && ++checks === 8) await removeMailDomain(deps, clubId, new Date());
    return checks > 2 && checks < 6 ? [published.get(name) ?? ''] : [];
  };
  return recorder.skipped.start('mailDomain', 'domains', id);
}

export const mailScenarios: Scenarios = {
  fetchReports: {
    'two-pages': async ({ temporal, injected }) => {
      injected.pages = [
        { recorded: 150, left: 50, more: true },
        { recorded: 3, left: 0, more: false },
      ];
      return temporal.start('fetchReports', { workflowId: 'mail-reports-recorded', taskQueue: 'upkeep' });
    },
  },
  mailDomain: { 'proven-lapsed-removed': mailDomain },
  transactionalMail: {
    sent: async ({ by }) => by.start('transactionalMail', await requestedMail(0, new Date())),
    'refused-then-sent': (recorder) => refused(recorder, 2),
    failed: (recorder) => refused(recorder, 8),
  },
};
