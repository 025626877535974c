import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { rotateSecret } from '../../../../domain/webhooks/endpoints/rotation.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import { reseal } from '../../../../platform/infra/keys/reseal.ts';
import { sealedColumns } from '../../../../platform/infra/keys/sealed-columns.ts';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { createVault, SealUnreadable, type Vault } from '../../../../platform/infra/keys/vault.ts';
import {
  buildSealedValues,
  readSealedValues,
  removeSealedValues,
  sealedValues,
} from '../../../toolkit/builders/sealed-values.ts';
import { within, withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { observing } from '../../../toolkit/fakes/databases.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

const [before, now] = [new Secret(randomBytes(32)), new Secret(randomBytes(32))];
/** Before, during and after the key change. */
const [old, changing, changed] = [createVault(before), createVault(now, { former: [before] }), createVault(now)];

const noPause = async () => {};

/** The number of sealed values, one in each column. */
const all = sealedColumns.length;

describe('reseal', () => {
  let db: Database;
  beforeEach('no sealed value', async () => {
    db = (await testDeps()).db;
    await removeSealedValues(db);
  });

  const endsWith = async (vault: Vault = changing, on = db, options = {}) => {
    const { resealed, remaining, unreadable } = await reseal(on, vault, { batch: 2, pause: noPause, ...options });
    return { resealed, remaining, unreadable: unreadable.map(({ column }) => column) };
  };
  const nothing = { resealed: 0, remaining: 0, unreadable: [] };
  const expectAllUnderCurrent = async () => {
    for (const { column, sealed } of await sealedValues(db))
      expect(sealed.subarray(0, 5), column).to.deep.equal(changed.headers[0]);
  };
  /** Also creates the lasting key, which is a sealed value, too. */
  const buildAll = async (vault: Vault) => {
    const values = await buildSealedValues(vault);
    await db.run(sql`INSERT INTO vault_secrets (name, sealed) VALUES ('lasting key', ${vault.seal('lasting', 'lasting key')})
      ON CONFLICT DO NOTHING`);
    return values;
  };

  it('seals each kind of value with the new key', async () => {
    await buildAll(old);
    const texts = await readSealedValues(db, old);
    const columns = new Set((await sealedValues(db)).map(({ column }) => column));
    expect([...columns]).to.deep.equal(sealedColumns.map(({ name }) => name));
    expect(await endsWith()).to.deep.equal({ ...nothing, resealed: all });
    expect(await readSealedValues(db, changed)).to.deep.equal(texts);
    await expectAllUnderCurrent();
  });

  it('reseals values of releases that wrote no key ids, even if the key did not change', async () => {
    await buildAll(changed);
    expect(await endsWith(createVault(now, { namesKeys: true }))).to.deep.equal({ ...nothing, resealed: all });
    await expectAllUnderCurrent();
  });

  it('skips values that are under the current key, so a second run changes nothing', async () => {
    await buildAll(old);
    await buildAll(changing);
    expect(await endsWith()).to.deep.equal({ ...nothing, resealed: all });
    const sealed = await sealedValues(db);
    expect(await endsWith()).to.deep.equal(nothing);
    expect(await sealedValues(db)).to.deep.equal(sealed);
  });

  it('reports altered values and values of a missing key as unreadable, and continues', async () => {
    const { endpointId } = await buildAll(old);
    await buildSealedValues(createVault(new Secret(randomBytes(32)), { namesKeys: true }));
    await db.run(sql`UPDATE webhook_endpoints SET secret = secret || 'x'::bytea WHERE id = ${endpointId}`);
    const ended = await reseal(db, changing, { batch: 2, pause: noPause });
    expect({ resealed: ended.resealed, remaining: ended.remaining }).to.deep.equal({ resealed: all - 1, remaining: 0 });
    const columns = ended.unreadable.map(({ column }) => column);
    const named = sealedColumns.map(({ name }) => name).filter((name) => name !== 'vault_secrets.sealed');
    expect(columns.toSorted()).to.deep.equal(['webhook_endpoints.secret', ...named].toSorted());
    expect(ended.unreadable).to.deep.include({ column: 'webhook_endpoints.secret', id: endpointId });
    expect(await endsWith())
      .to.deep.include({ resealed: 0, remaining: 0 })
      .and.have.property('unreadable')
      .with.length(all);
  });

  /** Reseals while the transaction of `work` is open. It commits before the second pass. */
  const resealBeside = async (work: Parameters<typeof withOpenTransaction>[0]) => {
    const [passed, committed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let resealing: ReturnType<typeof endsWith> | undefined;
    const pause = async () => {
      passed.resolve();
      await committed.promise;
    };
    await withOpenTransaction(work, async () => {
      resealing = endsWith(changing, db, { pause });
      await Promise.race([passed.promise, resealing]);
    });
    committed.resolve();
    return resealing;
  };

  it('counts locked rows as remaining, and reseals them in a later run', async () => {
    const { endpointId } = await buildAll(old);
    await withOpenTransaction(
      (tx) => tx.run(sql`SELECT FROM webhook_endpoints WHERE id = ${endpointId} FOR UPDATE`),
      async () => {
        expect(await endsWith(changing, db, { passes: 2 })).to.deep.equal({
          resealed: all - 3,
          remaining: 3,
          unreadable: [],
        });
      },
    );
    expect(await endsWith()).to.deep.equal({ ...nothing, resealed: 3 });
  });

  it('skips a row that another transaction locked', async () => {
    const { endpointId } = await buildAll(old);
    await buildAll(old);
    await withOpenTransaction(
      (tx) => tx.run(sql`SELECT FROM webhook_endpoints WHERE id = ${endpointId} FOR UPDATE`),
      async () => {
        const ended = await endsWith(changing, db, { passes: 1, batch: 200 });
        expect(ended).to.deep.equal({ resealed: all - 3 + all - 1, remaining: 3, unreadable: [] });
      },
    );
  });

  it('seals the service’s own key only after a pass that found no other value', async () => {
    const own = () => sealedValues(db).then((values) => values.find(({ column }) => column === 'vault_secrets.sealed'));
    await buildAll(old);
    const owners: Vault[] = [];
    await endsWith(changing, db, {
      pause: async () => {
        const { id, sealed } = (await own()) ?? expect.fail('no lasting key');
        owners.push([old, changed].find((vault) => opens(vault, sealed, id)) ?? expect.fail('unreadable'));
        if (owners.length === 1) await buildAll(old);
      },
    });
    expect(owners.map((vault) => (vault === old ? 'former' : 'current'))).to.deep.equal([
      'former',
      'former',
      'current',
    ]);
  });

  it('repeats its pass until it finds no value under the former key', async () => {
    await buildAll(old);
    let pauses = 0;
    const pause = async () => {
      pauses += 1;
      if (pauses <= 3) await buildSealedValues(old);
    };
    expect(await endsWith(changing, db, { pause })).to.deep.equal({ ...nothing, resealed: all + 3 * (all - 1) });
    // Three passes find values. One pause comes before each of them, one before the lasting key, and one before the empty pass.
    expect(pauses).to.equal(5);
  });

  it('never reports completion while a process writes under the former key', async () => {
    await buildAll(old);
    const pause = () => buildSealedValues(old);
    expect(await endsWith(changing, db, { passes: 3, pause })).to.deep.equal({
      resealed: 3 * (all - 1),
      remaining: all,
      unreadable: [],
    });
  });

  it('keeps the secrets of a rotation that commits during the first pass', async () => {
    const { clubId, endpointId } = await buildAll(old);
    const texts = await readSealedValues(db, old);
    let secret = '';
    const ended = await resealBeside(async (tx) => {
      const deps = { db: within(tx), vault: old };
      ({ secret } = await rotateSecret(deps, clubId, endpointId, { expirePrevious: true }, new Date()));
    });
    expect(ended).to.deep.equal({ ...nothing, resealed: all });
    const [current, previous] = ['secret', 'previous_secret'].map((name) => `webhook_endpoints.${name} ${endpointId}`);
    expect(await readSealedValues(db, changed)).to.deep.equal({
      ...texts,
      [previous ?? '']: texts[current ?? ''],
      [current ?? '']: secret,
    });
  });

  it('does not overwrite a secret that is rotated at the same time', async () => {
    const { clubId, endpointId } = await buildAll(old);
    let secret: string | undefined;
    const rotating = observing(db, async (statement) => {
      if (secret !== undefined || !statement.render([]).includes('UPDATE webhook_endpoints')) return;
      const deps = { db, vault: old };
      ({ secret } = await rotateSecret(deps, clubId, endpointId, { expirePrevious: true }, new Date()));
    });
    expect(await endsWith(changing, rotating)).to.deep.equal({ ...nothing, resealed: all });
    const texts = await readSealedValues(db, changed);
    expect(texts[`webhook_endpoints.secret ${endpointId}`]).to.equal(secret);
  });

  it('skips a row that is deleted during the run', async () => {
    const { endpointId } = await buildAll(old);
    const ended = await resealBeside((tx) => tx.run(sql`DELETE FROM webhook_endpoints WHERE id = ${endpointId}`));
    expect(ended).to.deep.equal({ ...nothing, resealed: all - 2 });
  });

  it('seals each value only once if two runs work simultaneously', async () => {
    for (let count = 0; count < 4; count++) await buildAll(old);
    const texts = await readSealedValues(db, old);
    const [one, two] = await Promise.all([endsWith(), endsWith()]);
    expect(one.resealed + two.resealed).to.equal(4 * (all - 1) + 1);
    expect([one.remaining, two.remaining, ...one.unreadable, ...two.unreadable]).to.deep.equal([0, 0]);
    expect(await readSealedValues(db, changed)).to.deep.equal(texts);
  });

  it('loses nothing if it is killed before any statement', async () => {
    await buildAll(old);
    await buildAll(old);
    const texts = await readSealedValues(db, old);
    let kills = 0;
    let resealed = 0;
    for (let statement = 0; ; statement++) {
      const ended = await endsWith(changing, endingAt(db, statement)).catch((error: unknown) => error);
      if (!(ended instanceof Killed)) {
        resealed = (ended as { resealed: number }).resealed;
        break;
      }
      kills += 1;
      expect(await readSealedValues(db, changing)).to.deep.equal(texts);
    }
    // Each run executed one more statement, and skipped the values that were already resealed.
    expect(kills).to.be.greaterThan(10);
    expect(resealed).to.equal(0);
    expect(await readSealedValues(db, changed)).to.deep.equal(texts);
  });

  it('finds the remaining values through an index', async () => {
    await buildAll(old);
    await db.run(sql`INSERT INTO sales_notices (id, club_id, connection_id, platform, body, proof, received_at, next_attempt_at)
      SELECT gen_random_uuid(), club_id, connection_id, platform, body, ${changing.headers[0]}::bytea || proof, received_at, next_attempt_at
        FROM sales_notices, generate_series(1, 5000)`);
    await db.run(sql`ANALYZE sales_notices`);
    const statements: { text: string; values: unknown[] }[] = [];
    await endsWith(changing, listening(db, statements), { batch: 200 });
    const looks = statements.filter(({ text }) => text.includes('FROM sales_notices') && text.startsWith('SELECT'));
    expect(looks.length).to.be.greaterThan(1);
    for (const { text, values } of looks) {
      const rows = await db.source.query<{ 'QUERY PLAN': { Plan: object }[] }[]>(
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
        values,
      );
      const plan = rows[0]?.['QUERY PLAN'][0]?.Plan as { 'Shared Hit Blocks': number; 'Shared Read Blocks': number };
      expect(JSON.stringify(plan)).to.contain('sales_notices_proof_key');
      expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], text).to.be.lessThan(20);
    }
  });

  it('changes no text in any sequence of changes to values and keys', async () => {
    const keys = Array.from({ length: 3 }, () => new Secret(randomBytes(32)));
    const act = fc.record({
      act: fc.constantFrom('write', 'rotate', 'promote', 'reseal', 'kill', 'drop'),
      at: fc.nat(30),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: 10 }), async (acts) => {
        await removeSealedValues(db);
        let current = 0;
        let needed = new Set([0]);
        const ring = () =>
          createVault(keys[current] ?? before, {
            former: [...needed].filter((index) => index !== current).map((index) => keys[index] ?? before),
            namesKeys: true,
          });
        const endpoints: Awaited<ReturnType<typeof buildSealedValues>>[] = [];
        for (const { act: what, at } of acts) {
          const texts = await readSealedValues(db, ring());
          const endpoint = endpoints[at % Math.max(1, endpoints.length)];
          if (what === 'write') {
            endpoints.push(await buildSealedValues(ring()));
            continue;
          }
          if (what === 'rotate') {
            if (endpoint)
              await rotateSecret(
                { db, vault: ring() },
                endpoint.clubId,
                endpoint.endpointId,
                { expirePrevious: true },
                new Date(),
              );
            continue;
          }
          if (what === 'promote') {
            current = at % keys.length;
            needed = new Set([...needed, current]);
          } else if (what === 'kill')
            await reseal(endingAt(db, at), ring(), { batch: 3, pause: noPause }).catch(killedOnly);
          else {
            const { remaining, unreadable } = await reseal(db, ring(), { batch: 3, pause: noPause });
            expect([remaining, ...unreadable]).to.deep.equal([0]);
            if (what === 'drop') needed = new Set([current]);
          }
          expect(await readSealedValues(db, ring())).to.deep.equal(texts);
        }
        const { remaining, unreadable } = await reseal(db, ring(), { pause: noPause });
        expect([remaining, ...unreadable]).to.deep.equal([0]);
        await readSealedValues(db, createVault(keys[current] ?? before));
      }),
      { numRuns: 12 },
    );
  });

  it('leaves no value that opens under the former key', async () => {
    await buildAll(old);
    await endsWith();
    for (const { id, sealed } of await sealedValues(db)) expect(() => old.open(sealed, id)).to.throw(SealUnreadable);
  });
});

function opens(vault: Vault, sealed: Buffer, id: string): boolean {
  try {
    vault.open(sealed, id);
    return true;
  } catch {
    return false;
  }
}

class Killed extends Error {}

function killedOnly(error: unknown): void {
  if (!(error instanceof Killed)) throw error;
}

/** The connection fails after this number of statements. */
function endingAt(db: Database, statements: number): Database {
  let remaining = statements;
  return observing(db, () => {
    if (remaining === 0) throw new Killed();
    remaining -= 1;
  });
}

/** Notes every statement. */
function listening(db: Database, log: { text: string; values: unknown[] }[]): Database {
  return observing(db, (statement) => {
    const values: unknown[] = [];
    log.push({ text: statement.render(values), values });
  });
}
