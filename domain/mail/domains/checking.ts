/**
 * Checks in DNS whether a mail domain belongs to its club. A check runs on request, and each day in the run `mail-domain/<id>` (CAMP-40).
 */
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

/** The step of the run `mail-domain/<id>`, which checks the domain if a check is due. @param now Unix milliseconds */
export async function lookAtMailDomain(deps: MailDomainDeps, id: Id, now: number): Promise<MailDomainStep> {
  const { db } = deps;
  const domain = await db.manager.findOneBy(MailDomain, { id });
  if (domain && domain.looksAt.getTime() <= now) await check(deps, domain, new Date(now));
  const current = await db.manager.findOneBy(MailDomain, { id });
  if (!current) return { done: true, outcome: 'removed' };
  return { done: false, at: current.looksAt.getTime(), status: current.status };
}

/** Checks the club's domain immediately. @throws DomainError not_found */
export async function checkMailDomain(deps: MailDomainDeps, clubId: Id, now: Date): Promise<RecordOf<'MailDomain'>> {
  const domain = await deps.db.manager.findOneBy(MailDomain, { clubId });
  if (!domain) throw notFound('mail domain');
  await check(deps, domain, now);
  await deps.db.transaction((tx) => wake(tx, 'mailDomain', [domain], now)); // wakes the run, because the time of the next check has changed
  return readMailDomain(deps, clubId);
}

/**
 * Queries DNS without holding a connection to Postgres. Then it records the result, unless a later check has already recorded its result.
 */
async function check({ db, mailDomains }: MailDomainDeps, { id }: MailDomain, now: Date): Promise<void> {
  const current = await db.manager.findOneBy(MailDomain, { id });
  const states = current && (await statesOf(mailDomains, current));
  await db.transaction(async (tx) => {
    const [domain] = await tx.manager.find(MailDomain, { where: { id }, lock: { mode: 'for_no_key_update' } });
    if (!domain || (domain.checkedAt !== null && domain.checkedAt > now)) return;
    const isProven = states && Object.values(states).every((state) => state === 'ok');
    const after = afterCheck(domain, states ? (isProven ? 'proven' : 'not proven') : 'unanswered', now);
    await tx.run(sql`UPDATE mail_domains
         SET status = ${after.status}, status_since = ${after.statusSince}, first_proven_at = ${after.firstProvenAt}, answered_at = ${after.answeredAt},
             found = ${JSON.stringify(states ?? domain.found)}, checked_at = ${now}, looks_at = ${after.looksAt}
       WHERE id = ${id}`);
  });
}

/** The time limit for all records together. It is short, because a caller may wait for the result. */
const allRecordsMs = 10_000;

/** @returns the state of each DNS record, by the kind of the record; undefined if a name server did not answer */
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
    const entries = await Promise.race([Promise.all(states), tooLate]);
    return entries && Object.fromEntries(entries);
  } catch {
    return undefined;
  } finally {
    limit.abort();
  }
}

/**
 * Returns the state of the domain's own DMARC policy. If the domain has no policy, returns the state of the policy of its nearest parent
 * domain.
 */
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
