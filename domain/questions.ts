/**
 * The questions that concern every context, such as the removal of a student. Each context answers them in its `parts.ts`, and
 * `domain/contexts.ts` lists the answers (ADR 67).
 */
import type { RecordOf } from '../contract/contract.ts';
import type { Id } from '../platform/core/ids.ts';
import type { Vault } from '../platform/infra/keys/vault.ts';
import type { Database, Queries, Transaction } from '../platform/infra/postgres/database.ts';
import { foldOldNames, type FoldedTable } from '../platform/infra/postgres/lists/folded-names.ts';
import type { Entity, Sql } from '../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../platform/infra/store/object-store.ts';

/**
 * Erases a context's data about a student, in the transaction of the removal. The caller has locked the student's row.
 * @param student `email` is the former address, and `addressKey` its keyed hash
 */
export type EraseStudent = (
  tx: Transaction,
  student: { clubId: Id; studentId: Id; email: string; addressKey: Buffer },
  now: Date,
) => Promise<void>;

/**
 * Writes a student's new e-mail address to the context's rows, in the transaction of the correction. The caller has locked the student's
 * row.
 */
export type ChangeEmail = (
  tx: Transaction,
  vault: Vault,
  change: { clubId: Id; studentId: Id; before: string; after: string },
) => Promise<void>;

/**
 * Ends what is under way in a club that is erased, one batch at a time. Repeated or simultaneous calls do no harm.
 * @returns whether another batch may be due immediately
 */
export type CloseClub = (
  deps: { db: Database; vault: Vault; storage: ObjectStore },
  clubId: Id,
  now: Date,
) => Promise<{ more: boolean }>;

/** A student or an administrator whose rows are erased. */
export interface ErasedPerson {
  kind: 'student' | 'administrator';
  subjectId: Id;
  /** The club of the student; null for an administrator. */
  clubId: Id | null;
  /** When the rows were erased. */
  requestedAt: Date;
}

/**
 * Counts what remains of a person after the erasure of the rows: files that the bucket has not erased yet, and receivers that the service
 * still tells about the erasure.
 */
export type RemainsOfPerson = (
  deps: { db: Queries; storage: Pick<ObjectStore, 'list'> },
  person: ErasedPerson,
  now: Date,
) => Promise<{ files?: number; receivers?: number }>;

/** A member of a club who leaves it, is removed from it, or erases the account. */
export interface LeavingMember {
  clubId: Id;
  administratorId: Id;
  /** Another member removes this member, and can find replacements first. */
  isRemoved: boolean;
}

/**
 * Ends what a member has in a club, in the transaction that ends the membership (ERS-41). The caller has locked the club, and deletes the
 * membership afterwards.
 */
export type EndMembership = (tx: Transaction, member: LeavingMember, now: Date) => Promise<void>;

/**
 * Erases a context's data about an administrator, in the transaction that erases the account (ERS-44). The memberships have ended, and the
 * caller has locked the administrator's row, which still has its address.
 * @param administrator `addressKey` is the keyed hash of `email`
 */
export type EraseAdministrator = (
  tx: Transaction,
  administrator: { administratorId: Id; email: string; addressKey: Buffer; clubIds: readonly Id[] },
  now: Date,
) => Promise<void>;

/** The rows of a club in one table. */
export interface ClubRows {
  of: Entity;
  /**
   * How an index finds the rows: by the column `club_id`, or by a column that refers to rows of another table of the club. `empty` finds
   * rows of the club by an index on a column that is null. `scan` reads the whole table, which is cheap only if the table is small or its
   * rows are short-lived. If no single way finds all rows, the table has several answers.
   */
  by: 'club' | 'scan' | { parent: Entity; column: string } | { empty: string };
  /** Tables that the rows refer to without a foreign key. The rows are erased before them. */
  refersTo?: readonly Entity[];
  /**
   * No foreign key protects the rows, but each insertion of a row first locks its parent. The erasure locks the parents before it deletes
   * them, and looks again for such rows: without its parent, nothing would find a row.
   */
  mayArrive?: true;
}

type ExportDocument = RecordOf<'StudentExport'>;

/** The sections of the export of a student, by their names in the contract. */
export type ExportSectionName = Exclude<keyof ExportDocument, 'format' | 'exported_at' | 'club'>;

/** A section of the export of a student. */
export interface ExportSection {
  /**
   * The records, the oldest first. Each column has the name of its field in the contract. A null field is left out, and times become
   * RFC 3339. It contains no names of other people, no secrets and no internal notes (EXP-3).
   */
  records: Sql;
  /** Converts a row to a record, if SQL cannot do it. */
  present?: (row: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
}

/** The data that a context has about a student, for the student (`StudentExport` in the contract). */
export interface StudentPart {
  sections: Readonly<Partial<Record<ExportSectionName, ExportSection>>>;
  /** The student's files: rows of {@link ExportedFile}. */
  files?: Sql;
}

/** A file of the student in the object store. */
export interface ExportedFile {
  id: Id;
  name: string;
  objectKey: string;
  /** In bytes. */
  size: number;
  /** Null until it is known. */
  crc32: number | null;
  createdAt: Date;
}

/** Returns the queries for everything that the context has about a student. The export runs them in one snapshot (EXP-2). */
export type ExportStudent = (student: { clubId: Id; studentId: Id }) => StudentPart;

/**
 * Removes one batch of expired rows, or adds one batch of changes to stored counts. Repeated or simultaneous calls do no harm.
 */
export interface RetentionJob {
  /** @returns the number of changed rows of each kind, and whether more may be due now */
  run: (
    deps: { db: Database; vault: Vault; storage: ObjectStore; readsScans?: boolean },
    now: Date,
  ) => Promise<{ rows: Readonly<Record<string, number>>; more: boolean }>;
  /** The job waits for an external service. Such jobs run last. */
  waitsForOthers?: true;
}

export interface ContextQuestions {
  /** Null if nothing of the context is under way in a club, or if it ends by itself when its rows are gone. */
  closeClub: CloseClub | null;
  /** Null if the context stores no data about students. */
  eraseStudent: EraseStudent | null;
  /** Null if the context stores no data about students. */
  exportStudent: ExportStudent | null;
  /** Absent if the context has neither files of people nor receivers. */
  remainsOfPerson?: RemainsOfPerson;
  /** Null if the context stores no addresses. */
  changeEmail: ChangeEmail | null;
  /** Every table with rows of clubs. */
  clubRows: readonly ClubRows[];
  retention: readonly RetentionJob[];
  /** Absent if a member has nothing in the context that must end with the membership. */
  endMembership?: EndMembership;
  /** Absent if the context has no data about administrators, except their ids. */
  eraseAdministrator?: EraseAdministrator;
}

/** The answers of a context that stores nothing of clubs or students. */
export const noParts = {
  closeClub: null,
  eraseStudent: null,
  exportStudent: null,
  changeEmail: null,
  clubRows: [],
  retention: [],
} as const satisfies ContextQuestions;

/** @returns the job that writes the folded spelling of names that an earlier version stored without it */
export const folding = (table: FoldedTable, columns: readonly string[]): RetentionJob => ({
  async run({ db }) {
    const { folded, more } = await foldOldNames(db, table, columns);
    return { rows: { [`${table}Folded`]: folded }, more };
  },
});

const rolledUpPerBatch = 5_000;

/** @returns the job that adds changes to stored counts */
export const rollingUp = (name: string, rollUp: (db: Database, limit: number) => Promise<number>): RetentionJob => ({
  async run({ db }) {
    const count = await rollUp(db, rolledUpPerBatch);
    return { rows: { [name]: count }, more: count >= rolledUpPerBatch };
  },
});
