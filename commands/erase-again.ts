/**
 * `node dist/main.js erase-again --since TIME` erases again what a restore of Postgres brought back (ERS-25, ADR 89). It reads the markers in
 * the private bucket since the restore point. The command may run while the service runs, may be killed, and is safe to repeat.
 */
import { eraseAccountAgain } from '../domain/administrators/erasure.ts';
import { parseArgs } from 'node:util';
import { readConfig, type Config } from '../config.ts';
import { recordEntry } from '../domain/audit/entries.ts';
import type { VaultDeps } from '../domain/deps.ts';
import { readAlive } from '../domain/erasures/alive.ts';
import { beginClubErasureAgain } from '../domain/erasures/begin-again.ts';
import type { MarkedErasure } from '../domain/erasures/markers.ts';
import { removeStudentIn } from '../domain/students/students.ts';
import type { ErasureKind } from '../entities/erasures/values.ts';
import { DomainError } from '../platform/core/errors.ts';
import { newId, type Id } from '../platform/core/ids.ts';
import { StartProblem } from '../platform/core/start-problem.ts';
import { describeError } from '../platform/infra/describe-error.ts';
import { readVault } from '../platform/infra/keys/open-vault.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { createNotifier } from '../platform/infra/postgres/notifications.ts';
import { openDatabase, runOnce } from '../platform/infra/process.ts';
import { createObjectStore } from '../platform/infra/store/object-store.ts';

type Settings = Pick<Config, 'database' | 'masterKey' | 'formerMasterKeys' | 'storage'>;

const erasedPerLine = 100;

/**
 * Erases a record with the function that erased it before. A record that is gone meanwhile counts as erased.
 * @throws DomainError if the record cannot be erased now, for example because the administrator is the last owner of a club
 */
export type EraseAgain = (deps: VaultDeps, erasure: MarkedErasure, now: Date) => Promise<void>;

/** @param operationId the id of the command's run, which the audit logs of the clubs name */
export const erasersOf = (operationId: Id): Readonly<Record<ErasureKind, EraseAgain>> => ({
  async student(deps, { subjectId: studentId, clubId }, now) {
    if (clubId === null) throw new Error(`The marker of student ${studentId} names no club.`);
    await deps.db.transaction(async (tx) => {
      await removeStudentIn(tx, deps, { clubId, studentId }, null, now);
      const actor = { kind: 'operator', id: operationId } as const;
      const records = [{ kind: 'student', id: studentId }];
      const request = { requestId: operationId, network: 'unknown' };
      await recordEntry(tx, { clubId, actor, operation: 'erase-again', records, fields: [], ...request }, now);
    });
  },
  async club({ db }, { subjectId }, now) {
    await beginClubErasureAgain(db, subjectId, now);
  },
  async administrator(deps, { subjectId: administratorId }, now) {
    const actor = { kind: 'operator', id: operationId } as const;
    const request = { actor, operation: 'erase-again', requestId: operationId, network: 'unknown' };
    await eraseAccountAgain(deps, { administratorId, request }, now);
  },
});

/**
 * @param options.since the restore point
 * @param options.isDry lists what would be erased, and changes nothing
 * @returns the exit code: 1 if something could not be erased
 * @throws StartProblem if Postgres cannot be used; the error of the store
 */
export async function eraseAllAgain(
  { storage: settings, ...config }: Settings,
  { since, isDry = false }: { since: Date; isDry?: boolean },
  print: (line: string) => void,
  erasers = erasersOf(newId()),
): Promise<number> {
  const source = await openDatabase(config.database, 'club-erase-again');
  const storage = createObjectStore(settings);
  try {
    const ignoreLostNotifications = () => {}; // the relay polls
    const db = new Database(source, createNotifier(source, ignoreLostNotifications));
    const deps = { db, vault: await readVault(db, config) };
    const counts = { markers: 0, alive: 0, erased: 0, clubs: 0, failed: 0 };
    const knownIds = new Set<Id>();
    for await (const page of readAlive({ db, storage }, since)) {
      counts.markers += page.markers;
      for (const key of page.unknown) print(`${key} is no marker; it was skipped`);
      for (const erasure of page.alive) {
        const { kind, subjectId } = erasure;
        if (knownIds.has(subjectId)) continue; // it has a marker on two days
        knownIds.add(subjectId);
        counts.alive += 1;
        if (isDry) {
          print(`${kind} ${subjectId} would be erased`);
          continue;
        }
        try {
          await erasers[kind](deps, erasure, new Date()).catch(ignoreMissing);
          if (kind === 'club') counts.clubs += 1;
          else counts.erased += 1;
          if ((counts.erased + counts.clubs) % erasedPerLine === 0) print(`${counts.erased + counts.clubs} so far`);
        } catch (error) {
          counts.failed += 1;
          print(`${kind} ${subjectId} could not be erased: ${reasonOf(error)}`);
        }
      }
    }
    const { markers, alive, erased, clubs, failed } = counts;
    print(
      `markers ${markers}, alive ${alive}, erased ${erased}, clubs begun ${clubs}${failed > 0 ? `, failed ${failed}` : ''}`,
    );
    return failed > 0 ? 1 : 0;
  } finally {
    storage.close();
    await source.destroy();
  }
}

/** Another run of the command, or a person, may have erased the record meanwhile. @throws any other error */
function ignoreMissing(error: unknown): void {
  if (error instanceof DomainError && (error.code === 'not_found' || error.code === 'unauthenticated')) return;
  throw error;
}

/** The message of a domain error has no personal data. Other errors are shown by their code. */
function reasonOf(error: unknown): string {
  if (error instanceof DomainError) return `${error.code} (${error.message})`;
  const { code, name } = describeError(error);
  return code ?? name;
}

const usage = 'write erase-again --since 2026-03-01T00:00:00Z, with --dry-run to change nothing';

/** @throws StartProblem */
export function optionsOf(args: readonly string[], now: Date): { since: Date; isDry: boolean } {
  let values: { since?: string; 'dry-run'?: boolean };
  try {
    const options = { since: { type: 'string' }, 'dry-run': { type: 'boolean' } } as const;
    ({ values } = parseArgs({ args: [...args], options, strict: true, allowPositionals: false }));
  } catch {
    throw new StartProblem(usage);
  }
  if (values.since === undefined) throw new StartProblem(usage);
  const since = new Date(values.since);
  if (Number.isNaN(since.getTime())) throw new StartProblem(`${values.since} is not a time; ${usage}`);
  if (since > now) throw new StartProblem(`${values.since} is in the future; name the time to which you restored`);
  return { since, isDry: values['dry-run'] ?? false };
}

/** The command `erase-again`. */
export async function main(args: readonly string[]): Promise<void> {
  await runOnce('Not erased', () =>
    eraseAllAgain(readConfig(), optionsOf(args, new Date()), (line) => process.stdout.write(`${line}\n`)),
  );
}
