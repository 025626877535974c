/**
 * `npm run prove -- verify export` verifies that the export of a club has everything, and can be imported. A furnished club is exported and
 * downloaded with interruptions. The archive is imported into an empty club by the public API, and the export of that club is compared with
 * the first.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { readConfig } from '../../../config.ts';
import { Problem } from '../../../dev/problem.ts';
import { createOrganization } from '../../../domain/clubs/organizations.ts';
import { hashPassword } from '../../../domain/identity/passwords/passwords.ts';
import { openSession } from '../../../domain/identity/sessions/sessions.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { newId } from '../../../platform/core/ids.ts';
import { Transaction } from '../../../platform/infra/postgres/database.ts';
import { until } from '../../toolkit/drive/until.ts';
import { progress } from '../faults/progress.ts';
import { onGround, type Ground } from '../faults/victims.ts';
import { ownerAt, type Owner } from './export/api.ts';
import { compare } from './export/compare.ts';
import { download, type Downloaded } from './export/download.ts';
import { furnish } from './export/furnish.ts';
import { importClub, isCompared, notImportable } from './export/importer.ts';
import type { Site } from './site.ts';

const shownDifferences = 20;

/** @returns the last line of the proof @throws Problem with the fault */
export async function verifyExport(site: Site): Promise<string> {
  const never = new Promise<never>(() => undefined);
  const line = await onGround(never, (ground) => measure(ground, site), {}, ['temporal', 'postgres', 'storage']);
  return line ?? '';
}

async function measure(ground: Ground, site: Site): Promise<string> {
  const first = await insertClub(ground);
  await furnish(first);
  progress('the first club is furnished');
  const exported = await exportOf(ground, first, path.join(site.directory, 'first'));
  progress(`downloaded with ${exported.interruptions} interruptions`);
  const second = await insertClub(ground);
  const ids = await importClub(second, exported, first.administratorId);
  progress(`imported ${ids.size} records`);
  const copy = await exportOf(ground, second, path.join(site.directory, 'second'));
  const { compared, differences } = compare(exported, copy, ids);
  let notImported = 0;
  for (const [type, lines] of Object.entries(exported.lines)) {
    if (isCompared(type) || lines.length === 0) continue;
    const reason = notImportable[type];
    if (reason === undefined) throw new Problem(`${type} is neither imported nor explained`);
    notImported += lines.length;
    progress(`not importable ${lines.length} ${type}: ${reason}`);
  }
  const line = `records ${exported.records}, compared ${compared}, not importable ${notImported}, differences ${differences.length}`;
  if (differences.length > 0) throw new Problem(`${line}\n${differences.slice(0, shownDifferences).join('\n')}`);
  return line;
}

async function exportOf(ground: Ground, owner: Owner, directory: string): Promise<Downloaded> {
  await mkdir(directory);
  const { data } = await owner.ask('POST', '/exports');
  await until('the archive', { timeoutMs: 300_000 }, async () => {
    const { status } = (await owner.ask('GET', `/exports/${data.id}`)).data;
    if (status === 'failed' || status === 'expired') throw new Problem(`The export is ${status}`);
    return status === 'ready';
  });
  return download(owner, data.id, directory, ground.urls.API);
}

/** A club of an owner with a session. Both are inserted, because the stack of the proof has no mailbox for a confirmation. */
async function insertClub(ground: Ground): Promise<Owner> {
  const source = await createDataSource(readConfig(ground.env).database, 'club-proof').initialize();
  try {
    const administratorId = newId();
    const now = new Date();
    await source.query(
      `INSERT INTO administrators (id, name, email, password_hash, verified_at, created_at) VALUES ($1, 'Olga', $2, $3, $4, $4)`,
      [administratorId, `owner-${administratorId}@example.com`, await hashPassword(newId()), now],
    );
    const { token, clubId } = await source.transaction(async (manager) => {
      const tx = new Transaction(manager);
      const club = await createOrganization(tx, administratorId, { name: 'Club', plan: 'professional' }, now);
      const session = await openSession(tx, 'admin', administratorId, now);
      return { token: session.token, clubId: club.organization_id };
    });
    return ownerAt(ground.urls.API, { clubId, administratorId, token });
  } finally {
    await source.destroy();
  }
}
