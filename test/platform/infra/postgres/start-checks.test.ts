import { randomBytes } from 'node:crypto';
import net from 'node:net';
import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../../../config.ts';
import { limitsOfTime } from '../../../../entities/data-source.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import { limitRole } from '../../../../platform/infra/postgres/checks/role-limits.ts';
import { databaseMistakes, mixesStatements } from '../../../../platform/infra/postgres/checks/start-checks.ts';
import { scratchDatabase, testDatabase } from '../../../toolkit/stack/database.ts';

describe('the checks of Postgres before a start', () => {
  const role = `club_role_${randomBytes(4).toString('hex')}`;
  let source: DataSource;
  let other: DataSource;
  let ofRole: Secret;
  const database = () => readConfig().database;
  const nameOf = (of: DataSource) =>
    String(of.options.database ?? new URL((of.options as { url: string }).url).pathname.slice(1));
  const addressOf = (change: (url: URL) => void) => {
    const url = new URL(database().url.reveal());
    change(url);
    return new Secret(url.href);
  };

  before('a database role and a second database', async () => {
    source = await testDatabase();
    other = await scratchDatabase();
    await source.query(
      `CREATE ROLE ${role} LOGIN PASSWORD 'p'; GRANT SELECT ON migrations, schema_contractions TO ${role}`,
    );
    ofRole = addressOf((url) => {
      url.username = role;
      url.password = 'p';
    });
  });
  after(async () => {
    await source.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await other.destroy();
  });

  const mistakes = (settings: Partial<ReturnType<typeof database>> = {}) =>
    databaseMistakes({ ...database(), ...settings });
  const statement = (name: keyof typeof limitsOfTime) =>
    `ALTER ROLE ${role} IN DATABASE ${nameOf(source)} SET ${name} = '${limitsOfTime[name]}ms';`;

  it('find no mistake in the development stack', async () => {
    expect(await mistakes()).to.deep.equal([]);
    expect(await mistakes({ directUrl: database().url })).to.deep.equal([]);
  });

  it('report a role without time limits or with longer limits', async () => {
    const [missing, ...more] = await mistakes({ url: ofRole });
    expect(more).to.deep.equal([]);
    expect(missing).to.contain('The role of DATABASE_URL has no time limits, or longer ones');
    for (const name of Object.keys(limitsOfTime) as (keyof typeof limitsOfTime)[])
      expect(missing).to.contain(statement(name));

    await limitRole(ofRole.reveal());
    expect(await mistakes({ url: ofRole })).to.deep.equal([]);

    await source.query(`ALTER ROLE ${role} IN DATABASE ${nameOf(source)} SET lock_timeout = '6s'`);
    const [longer] = await mistakes({ url: ofRole });
    expect(longer).to.contain(statement('lock_timeout')).and.not.contain(statement('statement_timeout'));
    await limitRole(ofRole.reveal());
  });

  it('report a direct address that leads to a different database or to no server', async () => {
    const elsewhere = addressOf((url) => (url.pathname = nameOf(other)));
    expect(await mistakes({ directUrl: elsewhere })).to.deep.equal([
      'A listener at DATABASE_DIRECT_URL does not receive the notifications of DATABASE_URL: a transaction pooler is in between, or it is another database. Set DATABASE_DIRECT_URL to the address of Postgres itself, or of a session pooler.',
    ]);
    const nowhere = addressOf((url) => (url.port = '9'));
    expect(await mistakes({ directUrl: nowhere })).to.deep.equal([
      'Postgres cannot be used (ECONNREFUSED): is DATABASE_DIRECT_URL right, and is the server up?',
    ]);
    expect(await mistakes({ url: nowhere })).to.deep.equal([
      'Postgres cannot be used (ECONNREFUSED): is DATABASE_URL right, and is the server up?',
    ]);
  });

  it('report a role that may not read the tables', async () => {
    const rights = `SELECT ON migrations, schema_contractions`;
    await source.query(`REVOKE ${rights} FROM ${role}; ALTER ROLE ${role} IN DATABASE ${nameOf(source)} RESET ALL`);
    try {
      const problems = await mistakes({ url: ofRole, directUrl: addressOf((url) => (url.port = '9')) });
      expect(problems[0]).to.equal(
        'The role of DATABASE_URL lacks a right in Postgres (42501): take the role that owns the database and its tables.',
      );
      expect(problems.slice(1).map((one) => one.slice(0, 24))).to.deep.equal([
        'The role of DATABASE_URL',
        'Postgres cannot be used ',
      ]);
    } finally {
      await source.query(`GRANT ${rights} TO ${role}`);
      await limitRole(ofRole.reveal());
    }
  });

  it('wait for each connection only as long as the caller allows', async () => {
    const { hostname, port } = new URL(database().url.reveal());
    let connections = 0;
    const lead = (near: net.Socket) => {
      const far = net.connect(Number(port), hostname).on('error', () => near.destroy());
      near.on('close', () => far.destroy()).pipe(far);
      far.pipe(near);
    };
    const slow = net.createServer((near) => {
      near.on('error', () => undefined);
      // The first two connections are for this check and for the clock.
      if (++connections > 2) setTimeout(lead, 2_000, near).unref();
      else lead(near);
    });
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
    const away = (name: string) => `Postgres cannot be used (Error): is ${name} right, and is the server up?`;
    try {
      const url = addressOf((address) => {
        address.hostname = '127.0.0.1';
        address.port = String((slow.address() as net.AddressInfo).port);
      });
      expect(await mistakes({ url, directUrl: url, connectWithinMs: 200 })).to.deep.equal([
        away('DATABASE_URL'),
        away('DATABASE_DIRECT_URL'),
      ]);
    } finally {
      slow.close();
    }
  });

  it('report to an old build that the schema lacks its columns', async () => {
    await source.query(`INSERT INTO schema_contractions (migration, needs) VALUES ('Contracting1', '99.1.0')`);
    const mistakesOfBuild = (version: string) => databaseMistakes(database(), { version, buildId: 'a' });
    try {
      expect(await mistakesOfBuild('99.0.9')).to.deep.equal([
        'The schema is contracted: it lacks columns or tables that version 99.0.9 reads. Run version 99.1.0 or a later one.',
      ]);
      expect([await mistakesOfBuild('99.1.0'), await mistakes()]).to.deep.equal([[], []]);
    } finally {
      await source.query(`DELETE FROM schema_contractions WHERE migration = 'Contracting1'`);
    }
  });

  it('report a schema without the newest migrations', async () => {
    const url = addressOf((address) => {
      address.pathname = nameOf(other);
      address.username = role;
      address.password = 'p';
    });
    const problems = await mistakes({ url, directUrl: database().url });
    expect(problems.map((one) => one.slice(0, 24))).to.deep.equal([
      'The schema is behind thi',
      'The role of DATABASE_URL',
      'A listener at DATABASE_D',
    ]);
  });
});

describe('prepared statements of two sessions', () => {
  type Statements = Map<string, number>;
  const refused = (code: string) => Object.assign(new Error('refused'), { code });
  /** The pooler gives this client the server sessions in rotation. */
  const client = (...servers: Statements[]) => {
    const known = new Set<string>();
    let calls = 0;
    const query = async ({ name, text }: { name: string; text: string }) => {
      const server = servers[calls++ % servers.length] ?? new Map();
      if (!known.has(name)) {
        if (server.has(name)) throw refused('42P05');
        server.set(name, Number(/\d/.exec(text)?.[0]));
      }
      known.add(name);
      const answer = server.get(name);
      if (answer === undefined) throw refused('26000');
      return { rows: [{ answer }] };
    };
    return { query: query as never };
  };

  it('count as mixed up if a statement is missing or belongs to the other client', async () => {
    const servers = () => [new Map(), new Map(), new Map()] as [Statements, Statements, Statements];
    const looks = {
      'each client has its own session': ([a, b]: Statements[]) => [[a], [b]],
      'both have one': ([a]: Statements[]) => [[a], [a]],
      'the first client gets the second client’s session': ([a, b]: Statements[]) => [[a, b], [b]],
      'the first client gets a third session': ([a, b, c]: Statements[]) => [[a, c], [b]],
    };
    const found: Record<string, boolean> = {};
    for (const [how, given] of Object.entries(looks)) {
      const [first = [], second = []] = given(servers()) as Statements[][];
      found[how] = await mixesStatements(client(...first), client(...second));
    }
    expect(found).to.deep.equal({
      'each client has its own session': false,
      'both have one': true,
      'the first client gets the second client’s session': true,
      'the first client gets a third session': true,
    });
  });
});
