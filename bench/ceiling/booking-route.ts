/** The ceiling for bookings: Koa reads the body, and a bare pool inserts the row in its own transaction. */
import { json } from 'node:stream/consumers';
import Koa from 'koa';
import pg from 'pg';
import { readConfig } from '../../config.ts';
import { insertAlone, type SessionRow } from '../community/bare-sessions.ts';

const { database } = readConfig();
const pool = new pg.Pool({ connectionString: database.url.reveal(), max: database.poolSize });
const app = new Koa();

app.use(async (context) => {
  if (context.path === '/readyz') {
    context.body = 'ready';
    return;
  }
  const row = (await json(context.req)) as SessionRow;
  await insertAlone(pool, row);
  context.status = 201;
  context.body = { data: row };
});

app.listen(Number(process.env['CEILING_PORT']), '127.0.0.1');
