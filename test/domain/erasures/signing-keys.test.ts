/** Tests the keys that sign certificates of erasure (ERS-31). */
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { resealAll } from '../../../commands/reseal.ts';
import { rotateErasureKey } from '../../../commands/rotate-erasure-key.ts';
import { publishedKeys, rotateSigningKey, signingKeyOf } from '../../../domain/erasures/certificates/signing-keys.ts';
import { readConfig } from '../../../config.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { readVault } from '../../../platform/infra/keys/open-vault.ts';
import { createVault, type Vault } from '../../../platform/infra/keys/vault.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { withOpenTransaction } from '../../toolkit/drive/races.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

describe('the keys of certificates of erasure', () => {
  let db: Database;
  let vault: Vault;
  beforeEach('no key', async () => {
    ({ db, vault } = await testDeps());
    await db.run(sql`DELETE FROM vault_secrets WHERE name LIKE 'erasure key %'`);
  });
  const stored = () =>
    db.rows<{ name: string; sealed: Buffer }>(sql`SELECT name, sealed FROM vault_secrets
    WHERE name LIKE 'erasure key %' ORDER BY name`);
  const kids = async () => (await publishedKeys(db, vault)).keys.map(({ kid }) => kid);

  it('are one if two processes need the first key at the same time', async () => {
    const name = 'erasure key 1';
    const ofOther = { kid: 'other', x: 'x', d: 'd' };
    let ours: Promise<{ kid: string }> | undefined;
    // The other process has inserted its key, and has not committed yet. Our insertion waits for its commit.
    await withOpenTransaction(
      (tx) =>
        tx.run(
          sql`INSERT INTO vault_secrets (name, sealed) VALUES (${name}, ${vault.seal(JSON.stringify(ofOther), name)})`,
        ),
      async () => {
        ours = signingKeyOf(db, vault);
        await new Promise((resolve) => setTimeout(resolve, 200));
      },
    );
    expect(await ours).to.deep.equal(ofOther);
    expect(await stored()).to.have.length(1);
  });

  it('are one if eight calls need the first key at the same time', async () => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => signingKeyOf(db, vault)));
    expect(new Set(keys.map(({ kid }) => kid)).size).to.equal(1);
    expect(await stored()).to.have.length(1);
  });

  it('are sealed, so that the database alone does not show the private part', async () => {
    const { d } = await signingKeyOf(db, vault);
    const [row] = await stored();
    expect(row?.sealed.toString('latin1')).to.not.contain(d);
  });

  it('lose their private part when the next key is made, and stay published', async () => {
    const before = await signingKeyOf(db, vault);
    const next = await rotateSigningKey(db, vault);
    expect(await kids()).to.deep.equal([next, before.kid]);
    const [former] = await stored();
    expect(JSON.parse(vault.open(former?.sealed ?? Buffer.alloc(0), 'erasure key 1'))).to.deep.equal({
      kid: before.kid,
      x: before.x,
    });
    expect((await signingKeyOf(db, vault)).kid).to.equal(next);
  });

  it('are three after two rotations of the first key at the same time', async () => {
    const { kid } = await signingKeyOf(db, vault);
    const newKids = await Promise.all([rotateSigningKey(db, vault), rotateSigningKey(db, vault)]);
    expect((await kids()).toSorted()).to.deep.equal([kid, ...newKids].toSorted());
    expect((await signingKeyOf(db, vault)).kid).to.equal((await kids())[0]);
  });

  it('are in order after the tenth key', async () => {
    const newestFirst: string[] = [];
    for (let count = 0; count < 11; count++) newestFirst.unshift(await rotateSigningKey(db, vault));
    expect((await kids()).slice(0, 11)).to.deep.equal(newestFirst);
  });

  it('are rotated by the command rotate-erasure-key, which prints the id of the new key', async () => {
    const config = readConfig();
    const before = await kids();
    const lines: string[] = [];
    expect(await rotateErasureKey(config, (line) => lines.push(line))).to.equal(0);
    const [kid] = await kids();
    expect(before).to.not.include(kid);
    expect(lines).to.deep.equal([`certificates of erasure are signed with the key ${kid}`]);
  });

  it('are sealed again under the new master key by the command reseal', async () => {
    const [before, now] = [new Secret(randomBytes(32)), new Secret(randomBytes(32))];
    await db.run(sql`DELETE FROM vault_secrets`);
    const former = await readVault(db, { masterKey: before, formerMasterKeys: [] });
    const key = await signingKeyOf(db, former);
    const keys = { ...readConfig(), masterKey: now, formerMasterKeys: [before] };
    expect(await resealAll(keys, () => {}, { pause: async () => {} })).to.equal(0);
    expect(await signingKeyOf(db, createVault(now))).to.deep.equal(key);
    await db.run(sql`DELETE FROM vault_secrets`);
  });
});
