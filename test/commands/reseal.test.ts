import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { readConfig } from '../../config.ts';
import { resealAll } from '../../commands/reseal.ts';
import { Secret } from '../../platform/core/secret.ts';
import { StartProblem } from '../../platform/core/start-problem.ts';
import { addressKeyOf } from '../../platform/infra/keys/address-keys.ts';
import { idOf, readVault } from '../../platform/infra/keys/open-vault.ts';
import { sealedColumns } from '../../platform/infra/keys/sealed-columns.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { createVault } from '../../platform/infra/keys/vault.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import {
  buildSealedValues,
  readSealedValues,
  removeSealedValues,
  sealedValues,
} from '../toolkit/builders/sealed-values.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';

/** The bytea columns that contain no sealed (encrypted) values, with a description of their content. */
const notSealed: Readonly<Record<string, string>> = {
  'administrator_sessions.token_hash': 'hash',
  'api_keys.previous_secret_hash': 'hash',
  'api_keys.secret_hash': 'hash',
  'code_failure_counts.address_key': 'hash of an address',
  'identity_joins.token_hash': 'hash',
  'idempotency_keys.fingerprint': 'hash',
  'idempotency_keys.key_hash': 'hash',
  'mail_notice_receipts.body_digest': 'hash',
  'mail_notice_receipts.key': 'hash',
  'mail_suppressions.address_key': 'hash of an address',
  'mails.address_key': 'hash of an address',
  'media.sha256': 'hash',
  'one_time_tokens.key_id': 'id of a key',
  'one_time_tokens.token_hash': 'hash',
  'passkeys.credential_id': 'id that an authenticator chose',
  'passkeys.public_key': 'public key',
  'recovery_codes.code_hash': 'hash',
  'report_mailboxes.key': 'hash',
  'phone_codes.key_id': 'id of a key',
  'phone_codes.number_key': 'hash of a number',
  'sales_connections.token_hash': 'hash',
  'sales_notices.body': 'as it came',
  'sign_in_challenges.token_hash': 'hash',
  'session_links.token_hash': 'hash',
  'spent_passkey_challenges.challenge_hash': 'hash',
  'sign_up_networks.network_key': 'hash of a network',
  'student_import_addresses.address_key': 'hash of an address',
  'student_sessions.token_hash': 'hash',
  'students.email_key': 'hash of an address',
  'transactional_mails.address_key': 'hash of an address',
};

const [before, now] = [new Secret(randomBytes(32)), new Secret(randomBytes(32))];

describe('the columns with sealed values', () => {
  it('are all bytea columns, except the columns in `notSealed`', async () => {
    const { entityMetadatas } = await testDatabase();
    const bytes = entityMetadatas.flatMap(({ tableName, columns }) =>
      columns.filter(({ type }) => type === 'bytea').map(({ databaseName }) => `${tableName}.${databaseName}`),
    );
    const known = [...sealedColumns.map(({ name }) => name), ...Object.keys(notSealed)];
    expect(bytes.toSorted()).to.deep.equal(known.toSorted());
  });

  it('have an index on the key id, to find values of an older key', async () => {
    const rows = await (
      await testDatabase()
    ).query<{ table: string; definition: string }[]>(
      `SELECT tablename AS table, indexdef AS definition FROM pg_indexes WHERE indexdef LIKE '%substr(%, 1, 5), id)%'`,
    );
    const indexed = rows.map(({ table, definition }) => `${table}.${/substr\((\w+),/.exec(definition)?.[1]}`);
    const all = sealedColumns.map(({ name }) => name).filter((name) => name !== 'vault_secrets.sealed');
    expect(indexed.toSorted()).to.deep.equal(all.toSorted());
  });
});

describe('the command reseal', () => {
  beforeEach('delete all sealed values and all students', async () => {
    const { db } = await testDeps();
    await removeSealedValues(db);
    await db.run(sql`DELETE FROM students`);
  });

  const run = async () => {
    await testDatabase();
    const lines: string[] = [];
    const keys = { masterKey: now, formerMasterKeys: [before] };
    const code = await resealAll({ ...readConfig(), ...keys }, (line) => lines.push(line), {
      pause: async () => {},
    });
    return { code, lines };
  };

  it('reports the number of values for each column, exits with 0, and keeps the key for address hashes', async () => {
    const { db } = await testDeps();
    const lasting = (await readVault(db, { masterKey: before, formerMasterKeys: [] })).deriveLasting('x');
    await buildSealedValues(createVault(before));
    const { code, lines } = await run();
    expect(code).to.equal(0);
    expect(lines).to.deep.equal([
      `the current key is ${idOf(now)}; others: ${idOf(before)}`,
      'webhook_endpoints.secret: 1',
      'webhook_endpoints.previous_secret: 1',
      'sales_connections.secret: 1',
      'sales_notices.proof: 1',
      'mail_domains.sealed_private_key: 1',
      'transactional_mails.sealed_address: 1',
      'identity_providers.sealed_client_secret: 1',
      'idempotency_keys.answer: 1',
      'second_factors.secret: 1',
      'vault_secrets.sealed: 1',
      'resealed 10, left 0, unreadable 0',
    ]);
    expect(Object.keys(await readSealedValues(db, createVault(now)))).to.have.length(10);
    expect((await readVault(db, { masterKey: now, formerMasterKeys: [] })).deriveLasting('x')).to.deep.equal(lasting);
  });

  it('exits with 1 and names each row that it cannot read, but does not print the row’s value', async () => {
    const { db } = await testDeps();
    await readVault(db, { masterKey: before, formerMasterKeys: [] });
    const { endpointId } = await buildSealedValues(createVault(before));
    await db.run(sql`UPDATE webhook_endpoints SET secret = 'whsec_altered'::bytea WHERE id = ${endpointId}`);
    const { code, lines } = await run();
    expect(code).to.equal(1);
    expect(lines.slice(-2)).to.deep.equal([
      `unreadable: webhook_endpoints.secret of ${endpointId}`,
      'resealed 9, left 0, unreadable 1',
    ]);
    expect(lines.join('\n')).to.not.contain('whsec');
  });

  it('still reseals the columns if it cannot read the key for address hashes', async () => {
    const { db } = await testDeps();
    await readVault(db, { masterKey: new Secret(randomBytes(32)), formerMasterKeys: [] });
    await buildSealedValues(createVault(before));
    const { code, lines } = await run();
    expect(code).to.equal(1);
    expect(lines[0]).to.match(/^vault_secrets\.sealed: the service's own key is sealed under another key/);
    expect(lines.slice(-2)).to.deep.equal([
      'unreadable: vault_secrets.sealed of lasting key',
      'resealed 9, left 0, unreadable 1',
    ]);
  });

  it('changes nothing if the database has no hash key and no master key matches the address hashes', async () => {
    const { db } = await testDeps();
    await buildSealedValues(createVault(before));
    const { email, id } = await buildStudent((await buildClub()).id);
    const hash = addressKeyOf(createVault(new Secret(randomBytes(32))), email);
    await db.run(sql`UPDATE students SET email_key = ${hash} WHERE id = ${id}`);
    const sealed = await sealedValues(db);
    const error = await run().catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(StartProblem);
    expect((error as StartProblem).message.split('\n')).to.deep.equal([
      `MASTER_KEY is ${idOf(now)}, with ${idOf(before)} of MASTER_KEYS_OLD; the database needs other keys, or more:`,
      '  - students.email_key: addresses are hashed with another key. Add that to MASTER_KEYS_OLD.',
    ]);
    expect(await sealedValues(db)).to.deep.equal(sealed);
  });
});
