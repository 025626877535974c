/** Sets, reads and removes a club's own mail domain, and lists the DNS records that prove it (CAMP-40). */
import { generateKeyPair, randomBytes } from 'node:crypto';
import { domainToASCII } from 'node:url';
import { promisify } from 'node:util';
import type { RecordOf } from '../../../contract/contract.ts';
import { MailDomain } from '../../../entities/mail/mail-domain.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { ResolveText } from '../../../platform/infra/dns-text.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { WarmUps } from '../bounds/pace.policy.ts';
import type { VaultDeps } from '../../deps.ts';
import { recordsOf, type DomainRecordKind, type DomainRecordState } from './records.policy.ts';

/** The settings that apply to the mail domains of all clubs. */
export interface MailDomainSettings {
  resolveText: ResolveText;
  /** A club cannot use the domain of this address as its own. */
  platformAddress: string;
  /** The daily limits of mails for a new club and for a new domain. */
  warmUps: WarmUps;
  /** The name for `include:` in SPF records, which lists the platform's mail servers; absent if there is no such name. */
  spfInclude: string | undefined;
  /** A function that creates the key pair of a domain. Only tests set it. If it is absent, the service creates an RSA key pair. */
  makeKeys?: () => Promise<DomainKeys>;
}

export interface DomainKeys {
  /** SPKI in DER. */
  publicKey: Buffer;
  /** PKCS#8 in PEM. */
  privateKey: string;
}

export type MailDomainDeps = VaultDeps & { mailDomains: MailDomainSettings };

type Record = RecordOf<'MailDomain'>;

/** @throws DomainError not_found, if the club has no mail domain */
export async function readMailDomain(
  { db, mailDomains }: { db: Queries; mailDomains: MailDomainSettings },
  clubId: Id,
): Promise<Record> {
  const domain = await db.manager.findOneBy(MailDomain, { clubId });
  if (!domain) throw notFound('mail domain');
  return presentDomain(domain, mailDomains);
}

function presentDomain(row: MailDomain, { spfInclude }: Pick<MailDomainSettings, 'spfInclude'>): Record {
  const found = row.found as Partial<{ [Kind in DomainRecordKind]: DomainRecordState }>;
  return {
    domain: row.domain,
    from_address: `${row.localPart}@${row.domain}`,
    status: row.status,
    status_since: row.statusSince.toISOString(),
    records: recordsOf(row, spfInclude).map(({ kind, name, value }) => ({
      kind,
      type: 'TXT',
      name,
      value,
      state: found[kind] ?? 'unchecked',
    })),
    ...(row.firstProvenAt !== null && { first_proven_at: row.firstProvenAt.toISOString() }),
    ...(row.checkedAt !== null && { checked_at: row.checkedAt.toISOString() }),
    next_check_at: row.looksAt.toISOString(),
  };
}

/** Creates an RSA key pair, because not every mail server accepts Ed25519. */
export const makeDomainKeys = (): Promise<DomainKeys> =>
  promisify(generateKeyPair)('rsa', {
    modulusLength: 2_048,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });

/**
 * Sets the club's domain. A new domain gets its own key and must be proven. If the domain does not change, its key and status stay.
 * @throws DomainError invalid_request, for a domain that a club cannot have
 */
export async function setMailDomain(
  { db, vault, mailDomains }: MailDomainDeps,
  clubId: Id,
  { domain: input, local_part: localPart = 'news' }: { domain: string; local_part?: string },
  now: Date,
): Promise<Record> {
  const domain = domainName(input, mailDomains.platformAddress.split('@')[1]?.toLowerCase() ?? '');
  const isSet = await db.manager.existsBy(MailDomain, { clubId, domain });
  const makeKeys = mailDomains.makeKeys ?? makeDomainKeys;
  const newKeys = isSet ? undefined : await makeKeys();
  return db.transaction(async (tx) => {
    await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
    const current = await tx.manager.findOne(MailDomain, {
      select: { id: true, domain: true },
      where: { clubId },
      lock: { mode: 'for_no_key_update' },
    });
    if (current?.domain === domain) await tx.manager.update(MailDomain, { id: current.id }, { localPart });
    else {
      await removeFrom(tx, clubId, now);
      const id = newId();
      const keys = newKeys ?? (await makeKeys()); // the domain was removed after the first read
      await tx.manager.insert(MailDomain, {
        id,
        clubId,
        domain,
        localPart,
        selector: `k${randomBytes(4).toString('hex')}`,
        publicKey: keys.publicKey.toString('base64'),
        sealedPrivateKey: vault.seal(keys.privateKey, id),
        statusSince: now,
        looksAt: now,
      });
      await wake(tx, 'mailDomain', [{ id, clubId }], now);
    }
    return readMailDomain({ db: tx, mailDomains }, clubId);
  });
}

/** Removes the club's domain. Its mails then come from the platform's domain again. @throws DomainError not_found */
export async function removeMailDomain({ db }: Pick<VaultDeps, 'db'>, clubId: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    if (!(await removeFrom(tx, clubId, now))) throw notFound('mail domain');
  });
}

async function removeFrom(tx: Transaction, clubId: Id, now: Date): Promise<boolean> {
  const removed = await tx.one<{ id: Id }>(sql`DELETE FROM mail_domains WHERE club_id = ${clubId} RETURNING id`);
  if (removed) await wake(tx, 'mailDomain', [{ id: removed.id, clubId }], now); // the woken run finds no row and ends
  return removed !== undefined;
}

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Top-level names that are never in public DNS (RFC 6761, 6762, 8375). */
const reserved: ReadonlySet<string> = new Set(['localhost', 'local', 'internal', 'invalid', 'onion', 'arpa']);

/** @returns the name in lower-case ASCII, as in DNS @throws DomainError invalid_request */
function domainName(input: string, platformDomain: string): string {
  // `domainToASCII` removes some of these characters. So without this check, the result could be a different domain from the domain that
  // the caller typed.
  if (/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(input))
    throw new DomainError('invalid_request', '`domain` must not contain control characters or invisible characters.');
  const name = domainToASCII(input.trim().replace(/\.$/, '')).toLowerCase();
  const labels = name.split('.');
  const last = labels.at(-1) ?? '';
  if (
    name.length > 200 ||
    labels.length < 2 ||
    labels.length > 8 ||
    !labels.every((part) => label.test(part)) ||
    /^\d+$/.test(last)
  )
    throw new DomainError('invalid_request', '`domain` must be a domain name, such as knots.example.');
  if (reserved.has(last) || name === platformDomain || name.endsWith(`.${platformDomain}`))
    throw new DomainError('invalid_request', "`domain` must be a domain of the club's own.");
  return name;
}
