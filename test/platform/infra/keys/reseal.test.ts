import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { rotateSecret } from '../../../../domain/webhooks/endpoints/rotation.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import { reseal } from '../../../../platform/infra/keys/reseal.ts';
import { sealedColumns } from '../../../../platform/infra/keys/sealed-columns.ts';
import type { Database, Transaction } from '../../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../../platform/infra/postgres/sql.ts';
import { createVault, SealUnreadable, type Vault } from '../../../../platform/infra/vault.ts';
import {
  buildSealedValues,
  readSealedValues,
  removeSealedValues,
  sealedValues,
} from '../../../toolkit/builders/sealed-values.ts';
import { untilWaitingForLocks, within, withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

const [before, now] = [new Secret(randomBytes(32)), new Secret(randomBytes(32))];
/** The keys of a process before, during and after the change. */
const [old, changing, changed] = [createVault(before), createVault(now, { former: [before] }), createVault(now)];

describe('reseal', () => {
  let db: Database;
  beforeEach('no sealed value', async () => {
    db = (await testDeps()).db;
    await removeSealedValues(db);
  });

  const endsWith = async (vault: Vault = changing, on = db, options = {}) => {
    const { resealed, left, unreadable } = await reseal(on, vault, { batch: 2, pauseMs: 0, ...options });
    return { resealed, left, unreadable: unreadable.map(({ column }) => column) };
  };
  const nothing = { resealed: 0, left: 0, unreadable: [] };
  /** Every value begins with the id of the current key. */
  const expectAllUnderCurrent = async () => {
    for (const { column, sealed } of await sealedValues(db))
      expect(sealed.subarray(0, 5), column).to.deep.equal(changed.headers[0]);
  };
  /** One of the service's own, too. */
  const buildAll = async (vault: Vault) => {
    const built = await buildSealedValues(vault);
    await db.run(sql`INSERT INTO vault_secrets (name, sealed) VALUES ('lasting key', ${vault.seal('lasting', 'lasting key')})
      ON CONFLICT DO NOTHING`);
    return built;
  };

  it('seals each kind of value anew: it opens under the new key alone, and says what it said', async () => {
    await buildAll(old);
    const texts = await readSealedValues(db, old);
    const columns = new Set((await sealedValues(db)).map(({ column }) => column));
    expect([...columns]).to.deep.equal(sealedColumns.map(({ name }) => name));
    expect(await endsWith()).to.deep.equal({ ...nothing, resealed: 7 });
    expect(await readSealedValues(db, changed)).to.deep.equal(texts);
    await expectAllUnderCurrent();
  });

  it('seals values of releases that named no key anew, where the key is still the same', async () => {
    await buildAll(changed);
    expect(await endsWith(createVault(now, { namesKeys: true }))).to.deep.equal({ ...nothing, resealed: 7 });
    await expectAllUnderCurrent();
  });

  it('leaves what is under the current key, and so does nothing when it comes again', async () => {
    await buildAll(old);
    await buildAll(changing);
    expect(await endsWith()).to.deep.equal({ ...nothing, resealed: 7 });
    const sealed = await sealedValues(db);
    expect(await endsWith()).to.deep.equal(nothing);
    expect(await sealedValues(db)).to.deep.equal(sealed);
  });

  it('names what it cannot read and goes on: altered values, and those of a key that is not given', async () => {
    const { endpointId } = await buildAll(old);
    await buildSealedValues(createVault(new Secret(randomBytes(32)), { namesKeys: true }));
    await db.run(sql`UPDATE webhook_endpoints SET secret = secret || 'x'::bytea WHERE id = ${endpointId}`);
    const ended = await reseal(db, changing, { batch: 2, pauseMs: 0 });
    expect({ resealed: ended.resealed, left: ended.left }).to.deep.equal({ resealed: 6, left: 0 });
    const columns = ended.unreadable.map(({ column }) => column);
    const named = sealedColumns.map(({ name }) => name).filter((name) => name !== 'vault_secrets.sealed');
    expect(columns.toSorted()).to.deep.equal(['webhook_endpoints.secret', ...named].toSorted());
    expect(ended.unreadable).to.deep.include({ column: 'webhook_endpoints.secret', id: endpointId });
    expect(await endsWith())
      .to.deep.include({ resealed: 0, left: 0 })
      .and.have.property('unreadable')
      .with.length(7);
  });

  it('counts as left what others hold, and does it when it comes again', async () => {
    const { endpointId } = await buildAll(old);
    await withOpenTransaction(
      (tx) => tx.run(sql`SELECT FROM webhook_endpoints WHERE id = ${endpointId} FOR UPDATE`),
      async () => {
        expect(await endsWith(changing, db, { passes: 1 })).to.deep.equal({ resealed: 5, left: 2, unreadable: [] });
      },
    );
    expect(await endsWith()).to.deep.equal({ ...nothing, resealed: 2 });
  });

  it('does not undo a rotation of the secret that it waited for, and seals what moved in it', async () => {
    const { clubId, endpointId } = await buildAll(old);
    const texts = await readSealedValues(db, old);
    let secret = '';
    let resealing: ReturnType<typeof endsWith> | undefined;
    await withOpenTransaction(
      async (tx) => {
        const deps = { db: within(tx), vault: old };
        ({ secret } = await rotateSecret(deps, clubId, endpointId, { expirePrevious: true }, new Date()));
      },
      async () => {
        resealing = endsWith();
        await untilWaitingForLocks(1);
      },
    );
    expect(await resealing).to.deep.equal({ ...nothing, resealed: 7 });
    const [current, previous] = ['secret', 'previous_secret'].map((name) => `webhook_endpoints.${name} ${endpointId}`);
    expect(await readSealedValues(db, changed)).to.deep.equal({
      ...texts,
      [previous ?? '']: texts[current ?? ''],
      [current ?? '']: secret,
    });
  });

  it('passes over a row that is removed meanwhile', async () => {
    const { endpointId } = await buildAll(old);
    let resealing: ReturnType<typeof endsWith> | undefined;
    await withOpenTransaction(
      (tx) => tx.run(sql`DELETE FROM webhook_endpoints WHERE id = ${endpointId}`),
      async () => {
        resealing = endsWith();
        await untilWaitingForLocks(1);
      },
    );
    expect(await resealing).to.deep.equal({ ...nothing, resealed: 5 });
  });

  it('run twice at once seals each value once', async () => {
    for (let count = 0; count < 4; count++) await buildAll(old);
    const texts = await readSealedValues(db, old);
    const [one, two] = await Promise.all([endsWith(), endsWith()]);
    expect(one.resealed + two.resealed).to.equal(4 * 6 + 1);
    expect([one.left, two.left, ...one.unreadable, ...two.unreadable]).to.deep.equal([0, 0]);
    expect(await readSealedValues(db, changed)).to.deep.equal(texts);
  });

  it('killed before any of its statements loses nothing, and the next goes on from there', async () => {
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
    // Each run got one statement further than the one before it, and found what was done already.
    expect(kills).to.be.greaterThan(10);
    expect(resealed).to.equal(0);
    expect(await readSealedValues(db, changed)).to.deep.equal(texts);
  });

  it('finds what is left without reading what is done, however often it runs', async () => {
    await buildAll(old);
    await db.run(sql`INSERT INTO sales_notices (id, club_id, connection_id, platform, body, proof, received_at, next_attempt_at)
      SELECT gen_random_uuid(), club_id, connection_id, platform, body, ${changing.headers[0]}::bytea || proof, received_at, next_attempt_at
        FROM sales_notices, generate_series(1, 5000)`);
    await db.run(sql`ANALYZE sales_notices`);
    const asked: { text: string; values: unknown[] }[] = [];
    await endsWith(changing, listening(db, asked), { batch: 200 });
    const looks = asked.filter(({ text }) => text.includes('FROM sales_notices') && text.startsWith('SELECT'));
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

  it('leaves every text as it was, whatever happens to values and keys between its runs (generated)', async () => {
    const keys = Array.from({ length: 3 }, () => new Secret(randomBytes(32)));
    const act = fc.record({
      act: fc.constantFrom('write', 'rotate', 'promote', 'reseal', 'kill', 'drop'),
      at: fc.nat(30),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: 10 }), async (acts) => {
        await removeSealedValues(db);
        let current = 0;
        /** Keys that some value may be under. */
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
          } else if (what === 'kill') await reseal(endingAt(db, at), ring(), { batch: 3 }).catch(killedOnly);
          else {
            const { left, unreadable } = await reseal(db, ring(), { batch: 3 });
            expect([left, ...unreadable]).to.deep.equal([0]);
            if (what === 'drop') needed = new Set([current]);
          }
          expect(await readSealedValues(db, ring())).to.deep.equal(texts);
        }
        const { left, unreadable } = await reseal(db, ring());
        expect([left, ...unreadable]).to.deep.equal([0]);
        await readSealedValues(db, createVault(keys[current] ?? before));
      }),
      { numRuns: 12 },
    );
  });

  it('opens nothing under the former key once that is gone', async () => {
    await buildAll(old);
    await endsWith();
    for (const { id, sealed } of await sealedValues(db)) expect(() => old.open(sealed, id)).to.throw(SealUnreadable);
  });
});

class Killed extends Error {}

function killedOnly(error: unknown): void {
  if (!(error instanceof Killed)) throw error;
}

/** A database whose client is gone after so many statements; one in a transaction is then undone. */
function endingAt(db: Database, statements: number): Database {
  let left = statements;
  return observed(db, () => {
    if (left === 0) throw new Killed();
    left -= 1;
  });
}

/** Notes every statement. */
function listening(db: Database, asked: { text: string; values: unknown[] }[]): Database {
  return observed(db, (statement) => {
    const values: unknown[] = [];
    asked.push({ text: statement.render(values), values });
  });
}

function observed(db: Database, onStatement: (statement: Sql) => void): Database {
  const watch = <Q extends object>(queries: Q): Q =>
    new Proxy(queries, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (name === 'rows' || name === 'one' || name === 'run') onStatement(args[0] as Sql);
          if (name === 'transaction') {
            const work = args[0] as (tx: Transaction) => Promise<unknown>;
            return db.transaction((tx) => work(watch(tx)));
          }
          return (value as (...given: unknown[]) => unknown).apply(target, args);
        };
      },
    });
  return watch(db);
}
