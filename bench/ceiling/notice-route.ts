/** The ceiling for POST /webhooks/{platform}/{token}: Koa reads the bytes, and a bare pool inserts the row of the notice. */
import Koa from 'koa';
import pg from 'pg';
import { readConfig } from '../../config.ts';
import { newId } from '../../platform/core/ids.ts';
import { sha256 } from '../../platform/infra/keys/vault.ts';

const { database } = readConfig();
const pool = new pg.Pool({ connectionString: database.url.reveal(), max: database.poolSize });
const app = new Koa();

app.use(async (context) => {
  if (context.path === '/readyz') {
    context.body = 'ready';
    return;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of context.req) chunks.push(chunk as Buffer);
  const token = context.path.split('/').at(-1) ?? '';
  await pool.query(
    `INSERT INTO sales_notices (id, club_id, connection_id, platform, body, next_attempt_at, received_at)
     SELECT $1, club_id, id, platform, $3, $4, $4 FROM sales_connections WHERE token_hash = $2 AND deleted_at IS NULL`,
    [newId(), sha256(token), Buffer.concat(chunks), new Date()],
  );
  context.status = 202;
  context.body = { data: { accepted: true } };
});

app.listen(Number(process.env['CEILING_PORT']), '127.0.0.1');
