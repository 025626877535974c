/**
 * Draws certificates of erasure in a thread, so that other requests do not wait. Each club has a share of the thread (ENG-20). A certificate
 * of a club has a row for each table, on about four pages.
 */
import { moduleAt } from '../../../platform/core/modules.ts';
import { createClubPermits } from '../../../platform/engine/club-permits.ts';
import { createThreads } from '../../../platform/infra/threads/bounded-thread.ts';
import type { SignedCertificate } from './certificates.ts';

const pdfThreadRules = {
  threads: 2,
  /** The CPU time limit: several times the time that a club with every table needs on a slow machine. */
  workMs: 10_000,
  maxHeapMb: 256,
  maxBuffersMb: 384,
  /** The number of certificates that a thread draws before a new thread replaces it. */
  uses: 250,
  /** The limits of the queue: how many certificates of a club may wait, and how long. */
  line: { ofAClub: 20, ofAPerson: 20, patienceMs: 10_000 },
} as const;

const threads = createThreads(moduleAt('./pdf-thread.ts', import.meta.url), pdfThreadRules, {
  uses: pdfThreadRules.uses,
});
const permits = createClubPermits(pdfThreadRules.threads, { line: pdfThreadRules.line });

/**
 * @returns the bytes of a PDF
 * @throws DomainError busy, if too many certificates of the club wait; Error, if the thread exceeds its limits
 */
export async function drawErasureCertificate(signed: SignedCertificate): Promise<Buffer> {
  const { certificate, signature, address, language } = signed;
  const holder = { clubId: certificate.club_id ?? certificate.subject_id };
  const data = { certificate, signature, address, language } satisfies SignedCertificate;
  const { signal } = new AbortController();
  const drawn = await permits.run(holder, () => threads.run<{ bytes: Uint8Array }>({ data, signal }));
  if (typeof drawn === 'string') throw new Error(`The certificate of erasure could not be drawn: ${drawn}.`);
  return Buffer.from(drawn.bytes);
}
