import { fileEnded } from '../../../run/lifecycle.ts';
import { startRunServer } from '../../../run/server.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
const server = await startRunServer(1);
process.env['TEST_RUN_URL'] = server.url;
try {
  const source = await testDatabase();
  const { buildProofClub } = await import('./clubs.ts');
  process.env['FILL_DEBUG'] = '1';
  const t = Date.now();
  const { club, empty } = await buildProofClub(source);
  console.log('EMPTY', empty.join(' '), Date.now() - t);
  const { readTables } = await import('./tables.ts');
  const { rowsAbout, copyStudent } = await import('./copies.ts');
  const tables = await readTables(source);
  const base = await rowsAbout(source, tables, club.student.id);
  const { readConfig } = await import('../../../../config.ts');
  console.log('rows about', base.rows.length, base.rows.map((r) => r.table.name).join(' '));
  const t2 = Date.now();
  const counts = await copyStudent(readConfig().database.url.reveal(), base, 0, 2000);
  console.log(JSON.stringify(counts), Date.now() - t2);
} finally {
  await fileEnded();
  await server.stop();
}
