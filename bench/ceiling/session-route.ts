/** The ceiling for GET /v1/auth/session: Koa with one route and one prepared query on a bare pool. */
import Koa from 'koa';
import pg from 'pg';
import { readConfig } from '../../config.ts';
import { sha256 } from '../../platform/infra/keys/vault.ts';

const { database } = readConfig();
const pool = new pg.Pool({ connectionString: database.url.reveal(), max: database.poolSize });
const sessionSql = `
  SELECT student.id, student.name, student.email, student.verified_at AS "verifiedAt",
         student.password_hash IS NOT NULL AS "hasPassword", student.created_at AS "createdAt",
         student.avatar_key AS "avatarKey", student.club_id AS "clubId", club.slug AS "clubSlug"
    FROM student_sessions session
    JOIN students student ON student.id = session.student_id
    JOIN clubs club ON club.id = student.club_id
   WHERE session.token_hash = $1 AND session.expires_at > $2 AND student.removed_at IS NULL`;
const app = new Koa();

app.use(async (context) => {
  if (context.path === '/readyz') {
    context.body = 'ready';
    return;
  }
  const token = context.get('authorization').slice('Bearer '.length);
  const values = [sha256(token), new Date()];
  const { rows } = await pool.query({ name: 'session', text: sessionSql, values });
  context.body = { data: rows[0] as unknown };
});

app.listen(Number(process.env['CEILING_PORT']), '127.0.0.1');
