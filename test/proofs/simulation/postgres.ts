/**
 * The real Postgres of a simulation. A statement of a simulated process waits until the schedule sends it. The simulation also sets the
 * time and random numbers of statements: a schema before `pg_catalog` has functions with the names of the Postgres functions.
 */
import { EventEmitter } from 'node:events';
import pg from 'pg';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../../../entities/data-source.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { LocksOfTransaction } from './lock-order.ts';
import { runningNow, type SimulatedProcess } from './simulated-process.ts';

/** After this time in real milliseconds, the simulation asks the server whether a statement waits for a lock. */
const lookForLocksAfterMs = 8;
/** The deadlock timeout is shorter, so that Postgres finds a deadlock before the next statement is sent. */
const deadlockTimeoutMs = 4;

/**
 * Each time that a schedule is played, Postgres must return rows in the same order. The ids differ between two plays, but the order of the
 * ids does not. These settings therefore prevent query plans that hash ids.
 */
const sameOrder = '-c enable_hashjoin=off -c enable_hashagg=off -c plan_cache_mode=force_custom_plan';

interface Line {
  client: pg.Client;
  pid: number;
  inTransaction: boolean;
  locks: LocksOfTransaction;
}

/** A statement that waits until the schedule sends it, or that waits for a lock. */
export interface Statement {
  process: SimulatedProcess;
  text: string;
  values: readonly unknown[];
  /** The result; undefined after a failure or before the answer. */
  readonly result: pg.QueryResult | undefined;
  /** Sends the statement. @returns false if the statement waits for a lock */
  send(): Promise<boolean>;
  /** Whether the transaction of the statement continues, so that it releases no lock. */
  readonly keepsLocks: boolean;
  deliver(): void;
  timeOut(): Promise<void>;
  /** @param isSent whether the server runs the statement before the connection breaks */
  cut(isSent: boolean): Promise<void>;
}

type Answer = { result: pg.QueryResult } | { error: unknown };
type Query = string | (pg.QueryConfig & { values?: unknown[] });

/** The error of the driver for a lost connection. */
const lostConnection = () => Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });

export class SimulatedPostgres {
  readonly source: DataSource;
  /** The pool calls this function with each statement that a simulated process wants to send. */
  onStatement: (statement: Statement) => void = () => {};
  /** The statements that Postgres canceled because of a deadlock. The order of locks should prevent deadlocks. */
  deadlocks: string[] = [];
  /** Transactions that locked rows in a different order than the documentation states. */
  misordered: string[] = [];

  readonly #url: string;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #idle: Line[] = [];
  readonly #held = new Map<SimulatedProcess, Set<SimulatedConnection>>();
  #control: Line | undefined;
  #tables: readonly string[] = [];

  private constructor(url: string) {
    this.#url = url;
    // oxlint-disable-next-line typescript/no-this-alias -- the inner class needs it
    const postgres = this;
    class Pool extends EventEmitter {
      connect(callback?: (error: Error | undefined, client?: unknown, release?: () => void) => void) {
        const connecting = postgres.connect();
        if (callback === undefined) return connecting;
        const answer = (client: SimulatedConnection) => callback(undefined, client, () => client.release());
        void connecting.then((client) => {
          answer(client);
        }, callback);
      }
      async query(query: Query, values?: unknown[]) {
        const client = await postgres.connect();
        try {
          return await client.query(query, values);
        } finally {
          client.release();
        }
      }
      end(callback?: () => void) {
        callback?.();
      }
    }
    this.source = createDataSource({ url: new Secret(url), poolSize: 1 }, 'club-simulation', {
      Pool: Pool as unknown as typeof pg.Pool,
    });
  }

  static async open(url: string): Promise<SimulatedPostgres> {
    const postgres = new SimulatedPostgres(url);
    await postgres.#makeClock();
    postgres.#control = await postgres.#line();
    await postgres.source.initialize();
    postgres.#tables = postgres.source.entityMetadatas.map(({ tableName }) => tableName);
    return postgres;
  }

  async close(): Promise<void> {
    await this.source.destroy();
    const lines = [...this.#idle, ...(this.#control ? [this.#control] : [])];
    await Promise.all(lines.map(({ client }) => client.end()));
  }

  /** Waits for work outside the schedule, such as connecting and rolling back. */
  async quiet(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  watch(work: Promise<unknown>): void {
    const watched = work
      .then(
        () => {},
        () => {},
      )
      .finally(() => this.#underWay.delete(watched));
    this.#underWay.add(watched);
  }

  /** The last unscheduled query. Such queries run one after another. */
  #asked: Promise<unknown> = Promise.resolve();

  async ask<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    if (!this.#control) throw new Error('Not open');
    const { client } = this.#control;
    const answer = this.#asked.catch(() => {}).then(() => client.query<Row & pg.QueryResultRow>(text, values));
    this.#asked = answer;
    this.watch(answer); // if a command sent this query, quiet() also waits for the query
    return (await answer).rows;
  }

  async setClock(now: number): Promise<void> {
    await this.ask(`SELECT setval('simulation.clock', $1)`, [Math.round(now)]);
  }

  /** Empties every table and vacuums its pages, because dead rows would change the order in which Postgres finds living rows. */
  async empty(): Promise<void> {
    this.deadlocks = [];
    this.misordered = [];
    this.#held.clear();
    const [row] = await this.ask<{ emptied: string[] }>(`SELECT simulation.empty($1) AS emptied`, [this.#tables]);
    const emptied = row?.emptied ?? [];
    if (emptied.length > 0) await this.ask(`VACUUM ${emptied.map((table) => `"${table}"`).join(', ')}`);
  }

  async drop(process: SimulatedProcess): Promise<void> {
    const connections = this.#held.get(process);
    this.#held.delete(process);
    for (const connection of connections ?? []) await connection.abandon();
  }

  /** @returns the waiting statements that got their lock or were ended */
  async freed(waiting: readonly Statement[]): Promise<Statement[]> {
    // When a statement finishes, it may release others. The loop therefore ends only when a round finds no released statement.
    const freed = new Set<Statement>();
    for (let before = -1; freed.size > before;) {
      before = freed.size;
      for (const statement of waiting) {
        if (!freed.has(statement) && (await (statement as Sending).hasComeBack())) freed.add(statement);
      }
    }
    return waiting.filter((statement) => freed.has(statement));
  }

  isInTransaction(process: SimulatedProcess): boolean {
    return [...(this.#held.get(process) ?? [])].some(({ line }) => line.inTransaction);
  }

  async isBlocked(pid: number): Promise<boolean> {
    const [row] = await this.ask<{ blocked: boolean }>(
      `SELECT cardinality(pg_catalog.pg_blocking_pids($1)) > 0 AS blocked`,
      [pid],
    );
    return row?.blocked ?? false;
  }

  async cancel(pid: number): Promise<void> {
    await this.ask('SELECT pg_catalog.pg_cancel_backend($1)', [pid]);
  }

  giveBack(line: Line): void {
    this.#idle.push(line);
  }

  /** Whether another connection has an open transaction, so that a statement can wait for its locks. */
  othersOpen(than: Line): boolean {
    return [...this.#held.values()].some((set) => [...set].some(({ line }) => line !== than && line.inTransaction));
  }

  async connect(): Promise<SimulatedConnection> {
    const line = this.#idle.pop() ?? (await this.#newLine());
    const process = runningNow()?.process;
    const connection = new SimulatedConnection(this, line, process, () => {
      if (process) this.#held.get(process)?.delete(connection);
    });
    if (process) {
      const connections = this.#held.get(process) ?? new Set();
      this.#held.set(process, connections.add(connection));
    }
    return connection;
  }

  #newLine(): Promise<Line> {
    const connecting = this.#line();
    this.watch(connecting);
    return connecting;
  }

  async #line(): Promise<Line> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'club-simulation',
      options: `-c search_path=simulation,pg_catalog,public -c deadlock_timeout=${deadlockTimeoutMs} -c synchronous_commit=off ${sameOrder}`,
    });
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return { client, pid: rows[0]?.pid ?? 0, inTransaction: false, locks: new LocksOfTransaction() };
  }

  async #makeClock(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#url });
    await client.connect();
    try {
      await client.query(clockSchema);
      await client.query('SET search_path = simulation, pg_catalog, public');
      await client.query(rebindDefaults);
      await client.query(keepPlans);
      await client.query('VACUUM');
    } finally {
      await client.end();
    }
  }
}

class SimulatedConnection extends EventEmitter {
  readonly line: Line;
  readonly #postgres: SimulatedPostgres;
  readonly #process: SimulatedProcess | undefined;
  readonly #forget: () => void;
  #sending: Sending | undefined;
  #released = false;

  constructor(postgres: SimulatedPostgres, line: Line, process: SimulatedProcess | undefined, forget: () => void) {
    super();
    this.#postgres = postgres;
    this.line = line;
    this.#process = process;
    this.#forget = forget;
    this.on('error', () => {}); // the data source does this for each of its connections
  }

  query(
    query: Query,
    valuesOrCallback?: unknown[] | ((error: unknown, result?: pg.QueryResult) => void),
  ): Promise<pg.QueryResult> {
    if (typeof valuesOrCallback === 'function') {
      const answer = this.query(query);
      answer.then((result) => valuesOrCallback(undefined, result), valuesOrCallback);
      return answer;
    }
    const values = valuesOrCallback;
    const config = typeof query === 'string' ? { text: query, ...(values && { values }) } : query;
    if (!this.#process) return this.line.client.query(config);
    if (this.#released) return Promise.reject(lostConnection()); // the connection broke or was released
    const sending = new Sending(this.#postgres, this, this.#process, config);
    this.#sending = sending;
    this.#postgres.onStatement(sending);
    return sending.answered;
  }

  get isOver(): boolean {
    return this.#released;
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#forget();
    // The connection broke inside a transaction, which must not continue.
    if (this.line.inTransaction) this.#postgres.watch(this.#rollBack());
    else this.#postgres.giveBack(this.line);
  }

  async abandon(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    this.#forget();
    await this.#sending?.end();
    await this.#rollBack();
  }

  async #rollBack(): Promise<void> {
    if (this.line.inTransaction) await this.line.client.query('ROLLBACK');
    this.line.inTransaction = false;
    this.#postgres.giveBack(this.line);
  }
}

class Sending implements Statement {
  readonly process: SimulatedProcess;
  readonly text: string;
  readonly values: readonly unknown[];
  readonly answered: Promise<pg.QueryResult>;
  readonly #postgres: SimulatedPostgres;
  readonly #connection: SimulatedConnection;
  readonly #config: pg.QueryConfig;
  readonly #settle: PromiseWithResolvers<pg.QueryResult>;
  #done: Promise<void> | undefined;
  #answer: Answer | undefined;

  constructor(
    postgres: SimulatedPostgres,
    connection: SimulatedConnection,
    process: SimulatedProcess,
    config: pg.QueryConfig,
  ) {
    this.process = process;
    this.text = config.text;
    this.values = config.values ?? [];
    this.#postgres = postgres;
    this.#connection = connection;
    this.#config = config;
    this.#settle = Promise.withResolvers<pg.QueryResult>();
    this.answered = this.#settle.promise;
  }

  get result(): pg.QueryResult | undefined {
    return this.#answer && 'result' in this.#answer ? this.#answer.result : undefined;
  }

  get keepsLocks(): boolean {
    return this.#connection.line.inTransaction;
  }

  async send(): Promise<boolean> {
    const { line, isOver } = this.#connection;
    if (isOver) {
      // The statement was created during a restart of Postgres. A different simulated connection now uses the real connection.
      this.#answer = { error: lostConnection() };
      return true;
    }
    const canWait = this.#postgres.othersOpen(line);
    this.#done = line.client.query(this.#config).then(
      (result) => {
        this.#answer = { result };
      },
      (error: unknown) => {
        this.#answer = { error };
      },
    );
    const word = /^\s*(\w+)/.exec(this.text)?.[1]?.toUpperCase();
    if (word === 'START' || word === 'BEGIN') {
      line.inTransaction = true;
      line.locks = new LocksOfTransaction();
    }
    const wrong = line.inTransaction ? line.locks.next(this.text) : undefined;
    if (wrong !== undefined) this.#postgres.misordered.push(`${this.process.name}: ${wrong}: ${this.text}`);
    if (!canWait) await this.#done;
    else await Promise.race([this.#done, realPause(lookForLocksAfterMs)]);
    const isBack = await this.hasComeBack();
    if (word === 'COMMIT' || word === 'ROLLBACK') line.inTransaction = false;
    return isBack;
  }

  async hasComeBack(): Promise<boolean> {
    while (!this.#answer) {
      if (await this.#postgres.isBlocked(this.#connection.line.pid)) {
        if (!this.#answer) return false;
        break;
      }
      await Promise.race([this.#done, realPause(lookForLocksAfterMs)]);
    }
    const answer: Answer = this.#answer;
    if ('error' in answer && (answer.error as { code?: string }).code === '40P01') {
      this.#postgres.deadlocks.push(`${this.process.name}: ${this.text}`);
    }
    return true;
  }

  deliver(): void {
    const answer = this.#answer;
    if (!answer) throw new Error('The statement has no answer yet');
    if ('error' in answer) this.#settle.reject(answer.error);
    else this.#settle.resolve(answer.result);
  }

  async cut(isSent: boolean): Promise<void> {
    if (isSent) await this.#done;
    await this.#connection.abandon();
    this.#connection.emit('error', lostConnection());
    this.#settle.reject(lostConnection());
  }

  async timeOut(): Promise<void> {
    await this.end();
    if (this.#answer && 'error' in this.#answer) Object.assign(this.#answer.error as object, { code: '55P03' });
  }

  async end(): Promise<void> {
    if (!this.#done || this.#answer) return;
    await this.#postgres.cancel(this.#connection.line.pid);
    await this.#done;
  }
}

/** The real timers, also while simulated timers are installed. */
const { setTimeout: afterReal } = globalThis;
const realPause = (ms: number) => new Promise<void>((resolve) => void afterReal(resolve, ms));

const clockSchema = `
  CREATE SCHEMA IF NOT EXISTS simulation;
  CREATE SEQUENCE IF NOT EXISTS simulation.clock;
  CREATE SEQUENCE IF NOT EXISTS simulation.chance;
  CREATE OR REPLACE FUNCTION simulation.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    $$ SELECT pg_catalog.to_timestamp(last_value / 1000.0) FROM simulation.clock $$;
  CREATE OR REPLACE FUNCTION simulation.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS
    $$ SELECT pg_catalog.to_timestamp(last_value / 1000.0) FROM simulation.clock $$;
  CREATE OR REPLACE FUNCTION simulation.now() RETURNS timestamptz LANGUAGE sql STABLE AS
    $$ SELECT pg_catalog.to_timestamp(last_value / 1000.0) FROM simulation.clock $$;
  CREATE OR REPLACE FUNCTION simulation.random() RETURNS double precision LANGUAGE sql VOLATILE AS
    $$ SELECT pg_catalog.nextval('simulation.chance') * 0.61803398875 % 1 $$;
  CREATE OR REPLACE FUNCTION simulation.empty(tables text[]) RETURNS text[] LANGUAGE plpgsql AS $$
    DECLARE named text; emptied text[] := '{}';
    BEGIN
      PERFORM pg_catalog.set_config('session_replication_role', 'replica', true);
      PERFORM pg_catalog.setval('simulation.chance', 1);
      FOREACH named IN ARRAY tables LOOP
        IF pg_catalog.pg_relation_size(named::regclass) > 0
           OR EXISTS (SELECT FROM pg_catalog.pg_partition_tree(named::regclass) WHERE pg_catalog.pg_relation_size(relid) > 0) THEN
          EXECUTE pg_catalog.format('DELETE FROM %I', named);
          emptied := emptied || named;
        END IF;
      END LOOP;
      RETURN emptied;
    END $$`;

/** Turns autovacuum off. Its row counts would change query plans, and a different plan can return rows in a different order. */
const keepPlans = `
  DO $$
  DECLARE found regclass;
  BEGIN
    FOR found IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' LOOP
      EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', found);
    END LOOP;
  END $$`;

/** The defaults were bound to the clock of the server when the tables were created. */
const rebindDefaults = `
  DO $$
  DECLARE found record;
  BEGIN
    FOR found IN
      SELECT c.oid::regclass AS of_table, a.attname AS of_column
        FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.adnum
       WHERE c.relnamespace = 'public'::regnamespace AND pg_get_expr(d.adbin, d.adrelid) ~ 'clock_timestamp|now\\(\\)'
    LOOP
      EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT simulation.clock_timestamp()', found.of_table, found.of_column);
    END LOOP;
  END $$`;
