import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { startApi } from '../../../../api/server.ts';
import { fillEmailKeys } from '../../../../domain/identity/accounts/email-keys.ts';
import { addSuppression, listSuppressions } from '../../../../domain/mail/suppressions/suppressions.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import { StartProblem } from '../../../../platform/core/start-problem.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { addressKeyOf } from '../../../../platform/infra/keys/address-keys.ts';
import { idOf, keyMistakes, readVault } from '../../../../platform/infra/keys/open-vault.ts';
import { reseal } from '../../../../platform/infra/keys/reseal.ts';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { createVault, type Vault } from '../../../../platform/infra/keys/vault.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { buildSealedValues, removeSealedValues, sealedValues } from '../../../toolkit/builders/sealed-values.ts';
import { testConfig } from '../../../toolkit/drive/api.ts';
import { observing } from '../../../toolkit/fakes/databases.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

const [one, two, three] = [1, 2, 3].map(() => new Secret(randomBytes(32))) as [
  Secret<Buffer>,
  Secret<Buffer>,
  Secret<Buffer>,
];
const keysOf = (masterKey: Secret<Buffer>, ...formerMasterKeys: Secret<Buffer>[]) => ({ masterKey, formerMasterKeys });

describe('the key vault at process start', () => {
  let db: Database;
  beforeEach('deletes students and sealed values', async () => {
    db = (await testDeps()).db;
    await removeSealedValues(db);
    for (const table of ['mail_suppressions', 'mails']) await db.source.query(`DELETE FROM ${table}`);
    await db.run(sql`UPDATE students SET email_key = NULL`);
  });

  const problemsOf = async (keys: ReturnType<typeof keysOf>): Promise<string[]> => {
    try {
      await readVault(db, keys);
    } catch (error) {
      if (error instanceof StartProblem) return error.message.split('\n').slice(1);
      throw error;
    }
    return [];
  };
  /** Creates a student with an address that an old release hashed with this key. */
  const hashedUnder = async (key: Secret<Buffer>) => {
    const { id: clubId } = await buildClub();
    const { id, email } = await buildStudent(clubId);
    await db.run(sql`UPDATE students SET email_key = ${addressKeyOf(createVault(key), email)} WHERE id = ${id}`);
    return { clubId, id, email };
  };
  const reseals = async (keys: ReturnType<typeof keysOf>) => {
    const { remaining, unreadable } = await reseal(
      db,
      createVault(keys.masterKey, { former: keys.formerMasterKeys, namesKeys: true }),
      { pause: async () => {} },
    );
    expect([remaining, ...unreadable]).to.deep.equal([0]);
  };
  const namesItsKey = (vault: Vault) => vault.seal('', '').length === 5 + 12 + 16;

  describe('the lasting key for address hashes', () => {
    it('stays unchanged when the master key changes', async () => {
      const { clubId, email } = await hashedUnder(one);
      const hash = addressKeyOf(createVault(one), email);
      const suppressed = `${newId()}@example.com`;
      await addSuppression({ db, vault: await readVault(db, keysOf(one)) }, clubId, suppressed, new Date());
      for (const keys of [keysOf(one), keysOf(one, two), keysOf(two, one)])
        expect(addressKeyOf(await readVault(db, keys), email)).to.deep.equal(hash);
      await reseals(keysOf(two, one));
      const after = await readVault(db, keysOf(two));
      expect(addressKeyOf(after, email)).to.deep.equal(hash);
      const found = await listSuppressions({ db, vault: after }, clubId, { page: 1, page_size: 20, q: suppressed });
      expect(found.total).to.equal(1);
    });

    it('gives an address the same hash in all processes', async () => {
      const { clubId } = await hashedUnder(one);
      const email = `${newId()}@example.com`;
      const vaults = [
        await readVault(db, keysOf(one)),
        await readVault(db, keysOf(one, two)),
        await readVault(db, keysOf(two, one)),
      ];
      await Promise.all(vaults.map((vault) => addSuppression({ db, vault }, clubId, email, new Date())));
      const rows = await db.rows(sql`SELECT 1 FROM mail_suppressions WHERE club_id = ${clubId}`);
      expect(rows).to.have.length(1);
    });

    it('is used to fill in missing hashes', async () => {
      const { id, email } = await hashedUnder(one);
      await readVault(db, keysOf(one));
      await db.run(sql`UPDATE students SET email_key = NULL WHERE id = ${id}`);
      await fillEmailKeys({ db, vault: await readVault(db, keysOf(two, one)) });
      const row = await db.one<{ key: Buffer }>(sql`SELECT email_key AS key FROM students WHERE id = ${id}`);
      expect(row?.key).to.deep.equal(addressKeyOf(createVault(one), email));
    });

    it('is derived from the key that made the hashes of existing students', async () => {
      const { email } = await hashedUnder(two);
      const vault = await readVault(db, keysOf(one, three, two));
      expect(addressKeyOf(vault, email)).to.deep.equal(addressKeyOf(createVault(two), email));
    });

    it('is derived from the key of the newest students if the key changed before', async () => {
      await hashedUnder(three);
      const { email } = await hashedUnder(one);
      expect(addressKeyOf(await readVault(db, keysOf(one)), email)).to.deep.equal(
        addressKeyOf(createVault(one), email),
      );
    });

    it('is chosen only once if several processes start at the same time', async () => {
      const vaults = await Promise.all(
        [keysOf(one, two), keysOf(two, one), keysOf(one, two)].map((keys) => readVault(db, keys)),
      );
      expect(new Set(vaults.map((vault) => addressKeyOf(vault, 'a@b.cd').toString('hex'))).size).to.equal(1);
      expect(await sealedValues(db)).to.have.length(1);
    });

    it('is not chosen if no student shows which key hashed the suppressions', async () => {
      const { clubId } = await hashedUnder(one);
      await addSuppression({ db, vault: createVault(one) }, clubId, 'gone@example.com', new Date());
      await db.run(sql`UPDATE students SET email_key = NULL`);
      expect(await problemsOf(keysOf(two, one))).to.deep.equal([
        '  - mail_suppressions.address_key: the rows of students do not show which key hashed these addresses. Start a worker once with only the former key, without MASTER_KEYS_OLD.',
      ]);
      await readVault(db, keysOf(one));
      expect(await problemsOf(keysOf(two, one))).to.deep.equal([]);
    });
  });

  describe('key ids in sealed values', () => {
    it('are written only with several keys or after a reseal', async () => {
      await buildClub();
      expect(namesItsKey(await readVault(db, keysOf(one)))).to.equal(false);
      expect(namesItsKey(await readVault(db, keysOf(one, two)))).to.equal(true);
      expect(namesItsKey(await readVault(db, keysOf(one)))).to.equal(false);
      await reseals(keysOf(one));
      expect(namesItsKey(await readVault(db, keysOf(one)))).to.equal(true);
    });

    it('are written from the beginning in a database without a club', async () => {
      await db.transaction(async (tx) => {
        await tx.run(sql`TRUNCATE clubs CASCADE`);
        expect(namesItsKey(await readVault(tx, keysOf(one)))).to.equal(true);
      });
    });
  });

  describe('reported problems', () => {
    it('name each column with values of a missing key', async () => {
      await hashedUnder(one);
      await buildSealedValues(await readVault(db, keysOf(one, three)));
      await reseals(keysOf(one, three));
      const rows = Object.groupBy(await sealedValues(db), ({ column }) => column);
      const id = idOf(one);
      const line = (column: string) =>
        `  - ${column}: 1 value is under the key ${id}, which is not given (${rows[column]?.[0]?.id}). Add it to MASTER_KEYS_OLD.`;
      expect(await problemsOf(keysOf(two))).to.deep.equal([
        `  - vault_secrets.sealed: the service's own key is sealed under another key (${id}). Add that to MASTER_KEYS_OLD.`,
        line('webhook_endpoints.secret'),
        line('webhook_endpoints.previous_secret'),
        line('sales_connections.secret'),
        line('sales_notices.proof'),
        line('mail_domains.sealed_private_key'),
        line('transactional_mails.sealed_address'),
        line('identity_providers.sealed_client_secret'),
        line('idempotency_keys.answer'),
        line('second_factors.secret'),
      ]);
      expect(await problemsOf(keysOf(two, one))).to.deep.equal([]);
    });

    it('state how many values are under a missing key', async () => {
      await hashedUnder(two);
      await readVault(db, keysOf(two));
      for (let count = 0; count < 6; count++) await buildSealedValues(createVault(one, { namesKeys: true }));
      const [first] = await problemsOf(keysOf(two));
      expect(first).to.match(
        /webhook_endpoints\.secret: 6 values are under the key [0-9a-f]{8}, .*\((?:[0-9a-f-]{36}, ){4}[0-9a-f-]{36} …\)/,
      );
    });

    it('name a column if none of the given keys made its hashes', async () => {
      await hashedUnder(three);
      expect(await problemsOf(keysOf(one, two))).to.deep.equal([
        '  - students.email_key: addresses are hashed with another key. Add that to MASTER_KEYS_OLD.',
      ]);
      expect(await sealedValues(db)).to.deep.equal([]);
    });

    it('name a column if none of the given keys opens its newest values', async () => {
      await buildSealedValues(sealingUnnamed(one, { seemsNamed: true }));
      await db.run(sql`UPDATE students SET email_key = NULL`);
      const rows = Object.groupBy(await sealedValues(db), ({ column }) => column);
      const line = (column: string) =>
        `  - ${column}: the newest values open under no key that is given (${rows[column]?.[0]?.id}). Add their key to MASTER_KEYS_OLD.`;
      for (const keys of [keysOf(two), keysOf(two, three)])
        expect(await problemsOf(keys)).to.deep.equal([
          line('webhook_endpoints.secret'),
          line('webhook_endpoints.previous_secret'),
          line('sales_connections.secret'),
          line('sales_notices.proof'),
          line('mail_domains.sealed_private_key'),
          line('transactional_mails.sealed_address'),
          line('identity_providers.sealed_client_secret'),
          line('idempotency_keys.answer'),
          line('second_factors.secret'),
        ]);
      const lasting = await db.rows(sql`SELECT 1 FROM vault_secrets`);
      expect(lasting).to.deep.equal([]);
      expect(addressKeyOf(await readVault(db, keysOf(one)), 'a@b.cd')).to.deep.equal(
        addressKeyOf(createVault(one), 'a@b.cd'),
      );
    });

    it('do not name a column that no given key opens if the key opens another', async () => {
      await buildSealedValues(sealingUnnamed(one, { seemsNamed: false }));
      for (let count = 0; count < 3; count++) await buildSealedValues(sealingUnnamed(three, { seemsNamed: false }));
      await db.run(sql`UPDATE students SET email_key = NULL`);
      const proof = 'sales_notices.proof';
      const notices = (await sealedValues(db)).filter(({ column }) => column === proof).map(({ id }) => id);
      expect((await problemsOf(keysOf(one)))[3]).to.equal(
        `  - ${proof}: the newest values open under no key that is given (${notices.slice(1).toReversed().join(', ')}). Add their key to MASTER_KEYS_OLD.`,
      );
      await buildSealedValues(sealingUnnamed(one, { seemsNamed: false }));
      await db.run(sql`UPDATE students SET email_key = NULL`);
      await db.run(sql`UPDATE mail_domains SET sealed_private_key = 'altered'::bytea`);
      expect(await problemsOf(keysOf(one))).to.deep.equal([]);
    });

    it('ignore old values that begin like a key id by chance', async () => {
      await hashedUnder(one);
      const vault = await readVault(db, keysOf(one));
      const { endpointId } = await buildSealedValues(vault);
      let sealed = vault.seal('whsec_secret', endpointId);
      while (sealed[0] !== 1) sealed = vault.seal('whsec_secret', endpointId);
      await db.run(sql`UPDATE webhook_endpoints SET secret = ${sealed}`);
      expect(await problemsOf(keysOf(one))).to.deep.equal([]);
      await db.run(sql`UPDATE webhook_endpoints SET secret = ${sealed.subarray(0, -1)}`);
      expect(await problemsOf(keysOf(one))).to.have.length(1);
    });
  });

  describe('the check of old values that begin like a key id', () => {
    /** The random nonces begin like different key ids. The table stores these values before the values of real keys. */
    const fill = async (vault: Vault, count: number) => {
      const { clubId } = await buildSealedValues(vault);
      const ids = Array.from({ length: count }, () => newId());
      const values = ids.map((id, index) => {
        const nonce = Buffer.alloc(12);
        nonce.writeUInt8(1, 0);
        nonce.writeUInt16BE(index, 3);
        return sealedWith(one, nonce, id);
      });
      await db.run(sql`INSERT INTO sales_notices (id, club_id, connection_id, platform, body, proof, received_at, next_attempt_at)
        SELECT given.id, club_id, connection_id, platform, body, given.proof, received_at, next_attempt_at
          FROM sales_notices notice, unnest(${ids}::uuid[], ${values}::bytea[]) AS given (id, proof) WHERE notice.club_id = ${clubId}`);
    };

    it('reads a thousand values in each query', async () => {
      await hashedUnder(one);
      await fill(await readVault(db, keysOf(one)), 2_100);
      const looks: string[] = [];
      const observed = observing(db, (statement) => looks.push(statement.render([])));
      await readVault(observed, keysOf(one));
      expect(looks.filter((text) => text.includes('FROM sales_notices'))).to.have.length(3);
    });

    it('finds values of a missing key after many old values', async () => {
      await hashedUnder(one);
      await fill(await readVault(db, keysOf(one)), 2_100);
      const { clubId } = await buildSealedValues(createVault(two, { namesKeys: true }));
      const notice = await db.one<{ id: string }>(sql`SELECT id FROM sales_notices WHERE club_id = ${clubId}`);
      expect(await problemsOf(keysOf(one))).to.include(
        `  - sales_notices.proof: 1 value is under the key ${idOf(two)}, which is not given (${notice?.id}). Add it to MASTER_KEYS_OLD.`,
      );
    });

    it('names some of the missing keys if no value opens', async () => {
      await hashedUnder(three);
      await readVault(db, keysOf(three));
      await fill(createVault(three), 1_100);
      const problems = await problemsOf(keysOf(three));
      expect(problems).to.have.length(21);
      expect(problems.at(-1)).to.equal('  - sales_notices.proof: there are values under more keys that are not given.');
    });
  });

  it('can be checked without a change to the database', async () => {
    await hashedUnder(one);
    const { database } = await testConfig();
    expect(await keyMistakes({ database, ...keysOf(one) })).to.deep.equal([]);
    expect(await keyMistakes({ database, ...keysOf(two) })).to.deep.equal([
      `MASTER_KEY is ${idOf(two)}; the database needs other keys, or more:\n` +
        '  - students.email_key: addresses are hashed with another key. Add that to MASTER_KEYS_OLD.',
    ]);
    expect(await db.rows(sql`SELECT 1 FROM vault_secrets`)).to.deep.equal([]);
    const nowhere = { ...database, url: new Secret('postgres://nobody@127.0.0.1:9/none') };
    expect(await keyMistakes({ database: nowhere, ...keysOf(two) }), 'told by others').to.deep.equal([]);
  });

  it('stops a process that lacks a key before it serves', async () => {
    await hashedUnder(one);
    await readVault(db, keysOf(one, three));
    const keys = { masterKey: two, formerMasterKeys: [three] };
    const error = await startApi({ ...(await testConfig()), ...keys }).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(StartProblem);
    expect((error as StartProblem).message.split('\n')).to.deep.equal([
      `MASTER_KEY is ${idOf(two)}, with ${idOf(three)} of MASTER_KEYS_OLD; the database needs other keys, or more:`,
      `  - vault_secrets.sealed: the service's own key is sealed under another key (${idOf(one)}). Add that to MASTER_KEYS_OLD.`,
    ]);
  });
});

/** Old releases sealed without a key id. */
function sealedWith(key: Secret<Buffer>, nonce: Buffer, context: string): Buffer {
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(hkdfSync('sha256', key.reveal(), '', 'seal', 32)), nonce);
  cipher.setAAD(Buffer.from(context));
  const text = Buffer.concat([cipher.update('the proof'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]);
}

/** Seals values without key ids, as an old release did. If `seemsNamed` is true, the nonces begin like a key id. */
function sealingUnnamed(key: Secret<Buffer>, { seemsNamed }: { seemsNamed: boolean }): Vault {
  const vault = createVault(key);
  return {
    ...vault,
    seal(text, context) {
      for (;;) {
        const sealed = vault.seal(text, context);
        if ((sealed[0] === 1) === seemsNamed) return sealed;
      }
    },
  };
}
