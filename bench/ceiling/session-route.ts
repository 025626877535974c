/** The least that GET /v1/auth/session can be: Koa, one route, the one query, prepared as ours is, on a bare pool, and JSON. */
import Koa from 'koa';
import pg from 'pg';
import { readConfig } from '../../config.ts';
import { sha256 } from '../../platform/infra/vault.ts';
import { studentSessionSql } from '../../domain/identity/sessions.ts';

const { database } = readConfig();
const pool = new pg.Pool({ connectionString: database.url.reveal(), max: database.poolSize });
const app = new Koa();

app.use(async (context) => {
  if (context.path === '/readyz') {
    context.body = 'ready';
    return;
  }
  const token = context.get('authorization').slice('Bearer '.length);
  const values = [sha256(token), new Date()];
  const { rows } = await pool.query({ name: 'session', text: studentSessionSql, values });
  context.body = { data: rows[0] as unknown };
});

app.listen(Number(process.env['CEILING_PORT']), '127.0.0.1');
