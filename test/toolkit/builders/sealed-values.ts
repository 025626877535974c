/** Builds a sealed value of each kind. The functions of the domain write the values, with the keys of the tests. */
import { receivedBody } from './received-bodies.ts';
import { setMailDomain, type MailDomainSettings } from '../../../domain/mail/domains/domains.ts';
import { claimKey, keepAnswer } from '../../../domain/idempotency/repetitions.ts';
import { requestMail } from '../../../domain/mail/transactional/requests.ts';
import { createNoticeReceiver } from '../../../domain/sales/notices/notices.ts';
import { createConnection } from '../../../domain/sales/platforms/connections.ts';
import { rotateSecret } from '../../../domain/webhooks/endpoints/rotation.ts';
import { newSecret } from '../../../domain/webhooks/endpoints/secrets.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { sealedColumns } from '../../../platform/infra/keys/sealed-columns.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import { sha256, type Vault } from '../../../platform/infra/keys/vault.ts';
import { testDeps } from '../stack/database.ts';
import { buildClub, buildStudent } from './clubs.ts';
import { buildSecondFactor } from './second-factors.ts';

const settings: MailDomainSettings = {
  resolveText: async () => [],
  platformAddress: 'news@platform.example',
  spfInclude: undefined,
  warmUps: { clubs: [], domains: [] },
  makeKeys: async () => ({ publicKey: Buffer.from('public'), privateKey: 'private' }),
};

/**
 * Builds a club with each kind of sealed value: an endpoint with a rotated secret, a sales connection, a notice and a mail domain. It also
 * has a stored answer for an idempotency key, a mail to a student's former address, and the authenticator app of the owner.
 */
export async function buildSealedValues(vault: Vault): Promise<{ clubId: Id; endpointId: Id }> {
  const deps = { ...(await testDeps()), vault, mailDomains: settings };
  const { db } = deps;
  const now = new Date();
  const { id: clubId, owner } = await buildClub();
  await buildSecondFactor(owner.id, vault);
  const endpointId = newId();
  await db.run(sql`INSERT INTO webhook_endpoints (id, club_id, url, event_types, secret, created_at, updated_at)
    VALUES (${endpointId}, ${clubId}, 'https://93.184.216.34/hook', '{student.created}', ${vault.seal(newSecret(), endpointId)}, ${now}, ${now})`);
  await rotateSecret(deps, clubId, endpointId, { expirePrevious: false }, now);
  const connection = await createConnection(
    deps,
    clubId,
    { platform: 'generic', name: 'Shop', secret: 'the secret' },
    now,
  );
  const notice = {
    platform: 'generic',
    token: connection.token,
    receiveBody: receivedBody({ event: 'unknown' }),
    header: () => 'the proof',
    signature: 'the proof',
  };
  await createNoticeReceiver(deps)(notice, now);
  await setMailDomain(deps, clubId, { domain: `${newId()}.example` }, now);
  const providerId = newId();
  await db.run(sql`
    INSERT INTO identity_providers (id, club_id, name, issuer, client_id, sealed_client_secret, email_domains, created_at, updated_at)
    VALUES (${providerId}, ${clubId}, 'Ours', 'https://login.example.com', 'client', ${vault.seal('secret', providerId)}, '{example.com}', ${now}, ${now})`);
  const student = await buildStudent(clubId);
  const mail = { template: 'student_address_changed', clubId, recipient: { studentId: student.id } } as const;
  await db.transaction((tx) => requestMail(tx, vault, { ...mail, email: `former-${student.email}` }, now));
  const keyedRequest = {
    caller: `student:${student.id}`,
    keyHash: sha256('key'),
    fingerprint: sha256('body'),
    clubId,
    isAboutStudent: true,
  };
  await db.transaction(async (tx) => {
    const id = await claimKey(tx, keyedRequest, now);
    await keepAnswer(tx, vault, keyedRequest, { id, erasures: 0 }, { status: 200, headers: {}, body: 'the answer' });
  });
  return { clubId, endpointId };
}

export async function removeSealedValues(db: Database): Promise<void> {
  for (const table of new Set(sealedColumns.map(({ name }) => name.split('.')[0] ?? '')))
    await db.run(sql`DELETE FROM ${raw(table)}`);
}

export async function readSealedValues(db: Database, vault: Vault): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const { id, sealed, column } of await sealedValues(db)) texts[`${column} ${id}`] = vault.open(sealed, id);
  return texts;
}

/** Sorted by column. */
export async function sealedValues(db: Database): Promise<{ column: string; id: string; sealed: Buffer }[]> {
  const found = await Promise.all(
    sealedColumns.map(async ({ name, table, id, column }) => {
      const rows = await db.rows<{ id: string; sealed: Buffer }>(
        sql`SELECT ${id} AS id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL ORDER BY 1`,
      );
      return rows.map((row) => ({ column: name, ...row }));
    }),
  );
  return found.flat();
}
