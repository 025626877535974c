/** Certificates of erasure: the state of an erasure, what was erased, and the signature over it (ERS-30, ERS-31). */
import { CompactSign, importJWK } from 'jose';
import type { RecordOf } from '../../../contract/contract.ts';
import type { ErasureCounts, ErasureReceiver } from '../../../entities/erasures/erasure.ts';
import type { ErasureKind, ErasureStatus } from '../../../entities/erasures/values.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { AddressedDeps } from '../../deps.ts';
import { certificateAddress, readErasureToken } from '../certificate-address.ts';
import { mergeReceivers, readReceivers } from '../receivers.ts';
import { signingKeyOf } from './signing-keys.ts';

export type ErasureCertificate = RecordOf<'ErasureCertificate'>;
export type ErasureProof = RecordOf<'ErasureProof'>;

/** A certificate is available for this time after the end of the erasure. Afterwards nothing shows that there was one. */
const certificateKeptMs = 400 * 86_400_000;

/** Raise this number if the meaning of a field changes. New fields do not need it. */
const format = 1;

interface ErasureRow {
  id: Id;
  kind: ErasureKind;
  subjectId: Id;
  clubId: Id | null;
  requestedBy: Id | null;
  requestedAt: Date;
  erasesAt: Date;
  status: ErasureStatus;
  closedAt: Date | null;
  completedAt: Date | null;
  counts: ErasureCounts;
  receivers: ErasureReceiver[];
}

type Deps = Pick<AddressedDeps, 'db' | 'vault' | 'publicUrl'>;

/** A signed certificate, as its PDF prints it. */
export interface SignedCertificate {
  certificate: ErasureCertificate;
  /** A compact JSON Web Signature whose payload is the certificate. */
  signature: string;
  /** The public address of the certificate. */
  address: string;
  /** The BCP 47 tag of the language of the PDF. */
  language: string;
}

/**
 * @param token the last part of the public address
 * @returns the state of the erasure, with certificate and signature if it is completed
 * @throws DomainError not_found, after the same work for every unknown token
 */
export async function readErasureProof(deps: Deps, token: string, now: Date): Promise<ErasureProof> {
  const erasure = await requireErasure(deps, token, now);
  const signed = await signedOf(deps, erasure);
  return {
    kind: erasure.kind,
    status: progressOf(erasure.status),
    requested_at: erasure.requestedAt.toISOString(),
    begins_at: erasure.erasesAt.toISOString(),
    ...(signed && { certificate: signed.certificate, signature: signed.signature }),
  };
}

/**
 * @returns the certificate for its PDF, in the language of the student's club; in English for clubs and administrators
 * @throws DomainError not_found; erasure_not_completed
 */
export async function requireSignedCertificate(deps: Deps, token: string, now: Date): Promise<SignedCertificate> {
  const erasure = await requireErasure(deps, token, now);
  const signed = await signedOf(deps, erasure);
  if (!signed) throw new DomainError('erasure_not_completed', 'The erasure is not completed yet.');
  const club =
    erasure.kind === 'student'
      ? await deps.db.one<{ language: string }>(sql`SELECT language FROM clubs WHERE id = ${erasure.clubId}`)
      : undefined;
  return {
    ...signed,
    address: certificateAddress(deps.vault, deps.publicUrl, erasure.id),
    language: club?.language ?? 'en',
  };
}

/** @throws DomainError not_found, also for a student who was not removed and for the student of another club (ERS-34) */
export async function readStudentErasure(
  { db, vault, publicUrl }: Deps,
  { clubId, studentId }: { clubId: Id; studentId: Id },
  now: Date,
): Promise<RecordOf<'StudentErasure'>> {
  const erasure = await findErasure(
    db,
    sql`kind = 'student' AND subject_id = ${studentId} AND club_id = ${clubId}`,
    now,
  );
  if (!erasure) throw notFound('removed student');
  const { requestedAt, completedAt, status } = erasure;
  return {
    student_id: studentId,
    status: progressOf(status),
    requested_at: requestedAt.toISOString(),
    ...(completedAt && { completed_at: completedAt.toISOString() }),
    receivers: await receiversOf(db, erasure),
    certificate_url: certificateAddress(vault, publicUrl, erasure.id),
  };
}

async function requireErasure({ db, vault }: Deps, token: string, now: Date): Promise<ErasureRow> {
  const { erasureId, isOurs } = readErasureToken(vault, token);
  const erasure = await findErasure(db, sql`id = ${erasureId}`, now);
  if (!erasure || !isOurs) throw new DomainError('not_found', 'There is no certificate of erasure at this address.');
  return erasure;
}

const findErasure = (db: Queries, condition: Sql, now: Date): Promise<ErasureRow | undefined> =>
  db.one<ErasureRow>(sql`
    SELECT id, kind, subject_id AS "subjectId", club_id AS "clubId", requested_by AS "requestedBy", requested_at AS "requestedAt",
           erases_at AS "erasesAt", status, closed_at AS "closedAt", completed_at AS "completedAt", counts, receivers
      FROM erasures
     WHERE ${condition} AND (completed_at IS NULL OR completed_at > ${new Date(now.getTime() - certificateKeptMs)})`);

/** The states of the run are its own affair. */
function progressOf(status: ErasureStatus): ErasureProof['status'] {
  return status === 'planned' || status === 'completed' ? status : 'running';
}

async function signedOf(
  { db, vault, publicUrl }: Deps,
  erasure: ErasureRow,
): Promise<{ certificate: ErasureCertificate; signature: string } | undefined> {
  if (!erasure.completedAt) return undefined;
  const receivers = erasure.kind === 'student' ? await receiversOf(db, erasure) : undefined;
  const certificate = certificateOf(erasure, erasure.completedAt, { issuer: publicUrl, receivers });
  return { certificate, signature: await sign({ db, vault }, certificate) };
}

/** The order of the fields is the order of the signed text. */
function certificateOf(
  erasure: ErasureRow,
  completedAt: Date,
  { issuer, receivers }: { issuer: string; receivers: RecordOf<'ErasureReceiver'>[] | undefined },
): ErasureCertificate {
  const { counts, clubId, requestedBy, closedAt } = erasure;
  return {
    format,
    issuer,
    erasure_id: erasure.id,
    kind: erasure.kind,
    subject_id: erasure.subjectId,
    ...(clubId !== null && { club_id: clubId }),
    ...(requestedBy !== null && { requested_by: requestedBy }),
    requested_at: erasure.requestedAt.toISOString(),
    began_at: erasure.erasesAt.toISOString(),
    ...(closedAt && { closed_at: closedAt.toISOString() }),
    completed_at: completedAt.toISOString(),
    tables: sorted(counts.tables).map(([table, rows]) => ({ table, rows })),
    buckets: sorted(counts.buckets).map(([bucket, objects]) => ({ bucket, objects })),
    runs: counts.runs ?? 0,
    ...(receivers && { receivers }),
  };
}

const sorted = (counts: Record<string, number> = {}): [string, number][] =>
  Object.entries(counts).toSorted(([one], [other]) => (one < other ? -1 : 1));

/** ERS-33. */
async function receiversOf(
  db: Queries,
  { clubId, subjectId, receivers }: ErasureRow,
): Promise<RecordOf<'ErasureReceiver'>[]> {
  const live = clubId === null ? [] : await readReceivers(db, clubId, subjectId);
  return mergeReceivers(receivers, live).map(({ endpointId, deliveryId, status, acknowledgedAt }) => ({
    endpoint_id: endpointId,
    delivery_id: deliveryId,
    status,
    ...(acknowledgedAt !== null && { acknowledged_at: acknowledgedAt }),
  }));
}

async function sign(deps: { db: Deps['db']; vault: Vault }, certificate: ErasureCertificate): Promise<string> {
  const { kid, x, d } = await signingKeyOf(deps.db, deps.vault);
  const key = await importJWK({ kty: 'OKP', crv: 'Ed25519', x, d }, 'EdDSA');
  return new CompactSign(Buffer.from(JSON.stringify(certificate)))
    .setProtectedHeader({ alg: 'EdDSA', kid, typ: 'erasure-certificate+json' })
    .sign(key);
}
