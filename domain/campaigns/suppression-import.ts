/** Imports addresses to which a club must not write, from a file that another provider has exported (CAMP-44). */
import type { RecordOf } from '../../contract/contract.ts';
import type { FileFormat } from '../../entities/access/values.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { readHeader } from '../access/imports/header.ts';
import { importRules } from '../access/imports/imports.policy.ts';
import { readRows } from '../access/imports/rows.ts';
import type { VaultDeps } from '../deps.ts';
import { suppressAll } from '../mail/suppressions/suppressions.ts';
import { addressKeyOf } from '../../platform/infra/keys/address-keys.ts';

/** Reading this many rows takes some seconds, and a person waits for it. */
export const maxRows = 50_000;
const maxFaults = 1_000;

type Fault = RecordOf<'SuppressionImport'>['errors'][number];

/**
 * Suppresses all addresses in the column `email`, or none if the import fails. Only keyed hashes of the addresses are stored. A file can be
 * imported again.
 * @param body the file, read piece by piece
 * @throws DomainError invalid_request (the header line is unreadable, or the file has more than 50,000 rows or a line of more than 128 KB),
 *   suppression_limit_reached
 */
export async function importSuppressions(
  { db, vault }: VaultDeps,
  clubId: Id,
  body: AsyncIterable<Buffer>,
  now: Date,
): Promise<RecordOf<'SuppressionImport'>> {
  const keys = new Map<string, Buffer>();
  const faults: Fault[] = [];
  let failed = 0;
  const file = new File();
  const readPiece = (bytes: Buffer, isLast: boolean) => {
    for (const row of file.rowsOf(bytes, isLast)) {
      if ('person' in row) {
        const key = addressKeyOf(vault, row.person.email);
        keys.set(key.toString('hex'), key);
      } else {
        failed += 1;
        if (faults.length < maxFaults) faults.push({ row: row.row, ...row.fault } as Fault); // safe cast: only `email` is read
      }
      if (keys.size + failed > maxRows)
        throw new DomainError('invalid_request', `The file has more than ${maxRows} rows. Send it in several parts.`);
    }
  };
  for await (const chunk of body) readPiece(chunk, false);
  readPiece(Buffer.alloc(0), true);
  const addedCount = await db.transaction((tx) => suppressAll(tx, clubId, [...keys.values()], now));
  return { added: addedCount, existing: keys.size - addedCount, failed, errors: faults };
}

/** The part of a file that has arrived but was not read yet. */
class File {
  #left: Buffer = Buffer.alloc(0);
  #format: FileFormat | undefined;
  #nextRow = 1;

  /** @returns the rows that have arrived completely */
  *rowsOf(bytes: Buffer, isLast: boolean): Generator<ReturnType<typeof readRows>['rows'][number]> {
    this.#left = Buffer.concat([this.#left, bytes]);
    if (!isLast && this.#left.length < importRules.pieceBytes) return;
    if (this.#format === undefined) {
      const header = readHeader(
        this.#left.subarray(0, importRules.headBytes),
        isLast && this.#left.length <= importRules.headBytes,
        ['email'],
      );
      this.#format = header.format;
      this.#nextRow = header.nextRow;
      this.#left = this.#left.subarray(header.end);
    }
    // A row may be split between two pieces. The first part of such a row is kept and read together with the next piece.
    const minBytes = isLast ? 1 : importRules.pieceBytes;
    while (this.#left.length >= minBytes) {
      const read = readRows({ bytes: this.#left, isLast }, this.#format, this.#nextRow, importRules.batchRows, [
        'email',
      ]);
      if (read.endsInsideLine || read.endsInsideQuotes)
        throw new DomainError(
          'invalid_request',
          `Row ${this.#nextRow} of the file is longer than 128 KB, or has an unclosed quote.`,
        );
      if (read.consumed === 0) return;
      this.#left = this.#left.subarray(read.consumed);
      this.#nextRow = read.nextRow;
      yield* read.rows;
    }
  }
}
