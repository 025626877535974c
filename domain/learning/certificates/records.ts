/** Converts certificates into the contract's form, for their club and student, and for anyone who has the code. */
import type { RecordOf } from '../../../contract/contract.ts';
import { formatCode } from './code.policy.ts';
import { presentPublicBranding, type Branding } from '../../branding/branding.ts';
import { languageOf } from '../../language/languages.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { removedStudentName } from '../../../entities/identity/student.ts';
import type { CertificateWarning } from '../../../entities/learning/values.ts';

export interface CertificateRow {
  id: Id;
  clubId: Id;
  code: string;
  studentId: Id;
  /** Null after the student is removed, like the e-mail. */
  studentName: string | null;
  studentEmail: string | null;
  courseId: Id;
  courseTitle: string;
  coursePublicId: string;
  clubName: string;
  /** A BCP 47 tag: the club's language when the certificate was first issued. */
  language: string;
  warnings: CertificateWarning[];
  /** The IANA name of the club's time zone, in which the days on the certificate are printed. */
  timeZone: string;
  lessonCount: number;
  hours: number | null;
  version: number;
  issuedAt: Date;
  completedAt: Date | null;
  revokedAt: Date | null;
  revokedReason: string | null;
  withdrawnAt: Date | null;
  verifyUrl: string;
}

export function presentCertificate(certificate: CertificateRow): RecordOf<'Certificate'> {
  const { completedAt, revokedAt, revokedReason, hours, warnings } = certificate;
  return {
    id: certificate.id,
    code: certificate.code,
    code_formatted: formatCode(certificate.code),
    student_id: certificate.studentId,
    student_name: certificate.studentName ?? removedStudentName,
    student_email: certificate.studentEmail ?? '',
    course_id: certificate.courseId,
    course_title: certificate.courseTitle,
    course_public_id: certificate.coursePublicId,
    club_name: certificate.clubName,
    lesson_count: certificate.lessonCount,
    version: certificate.version,
    issued_at: certificate.issuedAt.toISOString(),
    ...(completedAt !== null && { completed_at: completedAt.toISOString() }),
    revoked: revokedAt !== null,
    ...(revokedAt !== null && { revoked_at: revokedAt.toISOString() }),
    ...(revokedReason !== null && { revoked_reason: revokedReason }),
    verify_url: certificate.verifyUrl,
    ...(hours !== null && { hours }),
    ...(warnings.length > 0 && { warnings }),
  };
}

export type CertificateVerification = RecordOf<'CertificateVerification'>;

/** @returns the public data of a certificate; a withdrawn certificate is always shown as withdrawn */
export function presentVerification(certificate: CertificateRow, branding: Branding): CertificateVerification {
  const { studentName, completedAt, revokedAt, withdrawnAt, hours } = certificate;
  const state = withdrawnAt !== null ? 'withdrawn' : revokedAt !== null ? 'revoked' : 'valid';
  return {
    code: certificate.code,
    code_formatted: formatCode(certificate.code),
    state,
    ...(studentName !== null && { student_name: studentName }),
    course_title: certificate.courseTitle,
    club_name: certificate.clubName,
    branding: presentPublicBranding(branding),
    language: languageOf(certificate.language),
    time_zone: certificate.timeZone,
    lesson_count: certificate.lessonCount,
    ...(hours !== null && { hours }),
    version: certificate.version,
    issued_at: certificate.issuedAt.toISOString(),
    ...(completedAt !== null && { completed_at: completedAt.toISOString() }),
    ...(state === 'revoked' && revokedAt !== null && { revoked_at: revokedAt.toISOString() }),
    verify_url: certificate.verifyUrl,
  };
}
