/** Asking DNS whether a club's mail domain is the club's: when it is asked for, and by `mail-domain/<id>` each day (CAMP-40). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordOf } from '../../../contract/contract.ts';
import { MailDomain } from '../../../entities/mail/mail-domain.ts';
import type { DomainStatus } from '../../../entities/mail/values.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { afterCheck } from './checks.policy.ts';
import { readMailDomain, type MailDomainDeps, type MailDomainSettings } from './domains.ts';
import { dkimState, dmarcNames, dmarcState, recordsOf, spfState, type DomainRecordState } from './records.policy.ts';

export type MailDomainStep = { done: true; outcome: 'removed' } | { done: false; at: number; status: DomainStatus };

/** The step of `mail-domain/<id>`. @param now Unix milliseconds */
export async function lookAtMailDomain(deps: MailDomainDeps, id: Id, now: number): Promise<MailDomainStep> {
  const { db } = deps;
  const domain = await db.manager.findOneBy(MailDomain, { id });
  if (domain && domain.looksAt.getTime() <= now) await check(deps, domain, new Date(now));
  const current = await db.manager.findOneBy(MailDomain, { id });
  if (!current) return { done: true, outcome: 'removed' };
  return { done: false, at: current.looksAt.getTime(), status: current.status };
}

/** Asks now. @throws DomainError not_found */
export async function checkMailDomain(deps: MailDomainDeps, clubId: Id, now: Date): Promise<RecordOf<'MailDomain'>> {
  const domain = await deps.db.manager.findOneBy(MailDomain, { clubId });
  if (!domain) throw notFound('mail domain');
  await check(deps, domain, now);
  await deps.db.transaction((tx) => wake(tx, 'mailDomain', [domain], now)); // the time of its next check is another
  return readMailDomain(deps, clubId);
}

/** Asks without a connection to Postgres, and records what was found unless a later check was faster. */
async function check({ db, mailDomains }: MailDomainDeps, { id }: MailDomain, now: Date): Promise<void> {
  const asked = await db.manager.findOneBy(MailDomain, { id });
  const found = asked && (await statesOf(mailDomains, asked));
  await db.transaction(async (tx) => {
    const [domain] = await tx.manager.find(MailDomain, { where: { id }, lock: { mode: 'for_no_key_update' } });
    if (!domain || (domain.checkedAt !== null && domain.checkedAt > now)) return;
    const isProven = found && Object.values(found).every((state) => state === 'ok');
    const after = afterCheck(domain, found ? (isProven ? 'proven' : 'not proven') : 'unanswered', now);
    await tx.run(sql`UPDATE mail_domains
         SET status = ${after.status}, status_since = ${after.statusSince}, first_proven_at = ${after.firstProvenAt}, answered_at = ${after.answeredAt},
             found = ${JSON.stringify(found ?? domain.found)}, checked_at = ${now}, looks_at = ${after.looksAt}
       WHERE id = ${id}`);
  });
}

/** For all records together: somebody may wait for the answer. */
const allRecordsMs = 10_000;

/** @returns the state of each record by its kind; undefined where a name server did not answer */
async function statesOf(
  { resolveText, spfInclude }: MailDomainSettings,
  domain: MailDomain,
): Promise<{ [kind: string]: DomainRecordState } | undefined> {
  const limit = new AbortController();
  const tooLate = sleep(allRecordsMs, undefined, { signal: limit.signal, ref: false });
  tooLate.catch(() => undefined);
  try {
    const states = recordsOf(domain, spfInclude).map(async ({ kind, name }) => {
      if (kind === 'dkim') return [kind, dkimState(await resolveText(name), domain.publicKey)] as const;
      if (kind === 'spf') return [kind, spfState(await resolveText(name), spfInclude ?? '')] as const;
      return [kind, await nearestPolicy(resolveText, domain.domain)] as const;
    });
    const found = await Promise.race([Promise.all(states), tooLate]);
    return found && Object.fromEntries(found);
  } catch {
    return undefined;
  } finally {
    limit.abort();
  }
}

/** The policy of the domain, or else of the nearest domain above it that has one. */
async function nearestPolicy(
  resolveText: MailDomainSettings['resolveText'],
  domain: string,
): Promise<DomainRecordState> {
  for (const name of dmarcNames(domain)) {
    const state = dmarcState(await resolveText(name));
    if (state !== 'missing') return state;
  }
  return 'missing';
}
