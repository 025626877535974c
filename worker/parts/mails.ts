/** Builds the dependencies of the activities that send mails and fetch reports, with their metrics and log lines. */
import { readFileSync } from 'node:fs';
import type { ActivityDeps } from '../../activities/index.ts';
import type { Config } from '../../config.ts';
import { mailDomainSettings } from '../../domain/mail/domains/settings.ts';
import type { MailboxAddress } from '../../platform/infra/imap/mailbox.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import { addressIn, type SmtpSender } from '../../platform/infra/smtp/smtp.ts';
import {
  automationMails,
  automationRunsEnded,
  automationSteps,
  campaignMails,
  digestMails,
  mailReports,
  mails,
} from '../reports/metrics.ts';
import type { Parts } from './parts.ts';

/** @returns the dependencies of transactional mails through this SMTP server */
export function transactionalMailDeps(
  { config, resources: { db, vault }, failpoint, log }: Parts,
  smtp: SmtpSender,
): ActivityDeps['mails'] {
  return {
    db,
    vault,
    async sendMail(mail) {
      await failpoint('transactional_claimed');
      await smtp.sendMail(mail);
      await failpoint('transactional_handed_over');
    },
    links: {
      classroomUrl: config.classroomUrl,
      dashboardUrl: config.dashboardUrl,
      publicUrl: config.api.publicUrl,
    },
    warmUp: config.mail.warmUp,
    onOutcome(outcome, error) {
      mails.inc({ outcome });
      if (error) log.warn({ error: describeError(error) }, 'a mail was not accepted; it is tried again');
    },
  };
}

/** @returns the dependencies of campaigns, digests and automations, which send through the bulk SMTP server */
export function bulkMailDeps({
  config,
  resources: { db, vault, smtp, storage, publicStorage },
  failpoint,
}: Parts): Pick<ActivityDeps, 'campaigns' | 'digests' | 'automations' | 'mailDomains' | 'reports'> {
  const sending = {
    db,
    vault,
    fromAddress: addressIn(config.mail.from),
    marks: { providers: config.mail.providers, returnAddress: config.mail.reports.returnAddress },
    warmUps: { clubs: config.mail.warmUp, domains: config.mail.domainWarmUp },
    publicUrl: config.api.publicUrl,
    failpoint,
  };
  return {
    campaigns: {
      ...sending,
      smtp: smtp.campaigns,
      images: { storage, publicStorage, publicFilesUrl: config.storage.publicFilesUrl },
      onOutcome: (status) => campaignMails.inc({ status }),
    },
    digests: {
      ...sending,
      smtp: smtp.campaigns,
      classroomUrl: config.classroomUrl,
      onOutcome: (status) => digestMails.inc({ status }),
    },
    automations: {
      ...sending,
      smtp: smtp.automations,
      waitSpeed: config.automations.waitSpeed,
      onMail: (status) => automationMails.inc({ status }),
      onStep(step) {
        if (step.completedKind !== undefined) automationSteps.inc({ kind: step.completedKind });
        if (step.ended !== undefined) automationRunsEnded.inc({ status: step.ended });
      },
    },
    mailDomains: mailDomainSettings(config.mail),
    reports: {
      mailbox: mailboxOf(config),
      onMessage: (outcome) => mailReports.inc({ outcome }),
    },
  };
}

function mailboxOf({ mail, egress: { extraCaFile } }: Config): MailboxAddress | undefined {
  const { mailboxUrl } = mail.reports;
  if (mailboxUrl === undefined) return undefined;
  return { url: mailboxUrl, ...(extraCaFile !== undefined && { extraCa: readFileSync(extraCaFile, 'utf8') }) };
}
