/**
 * Draws certificates in threads. Each club has a share of the threads (ENG-20). The first certificate of a process takes 300 ms, because
 * fonts are read and code is compiled. In the API's main thread, all other requests would wait for this first certificate.
 */
import { moduleAt } from '../../../platform/core/modules.ts';
import { createClubPermits, type PermitHolder } from '../../../platform/engine/club-permits.ts';
import { createThreads } from '../../../platform/infra/threads/bounded-thread.ts';
import type { Printed } from './pdf.ts';

const pdfThreadRules = {
  threads: 3,
  /** The CPU time limit of a certificate: several times the time that the longest names need on a slow machine. */
  workMs: 5_000,
  maxHeapMb: 256,
  /** 100 MB of it are unused address space of WebAssembly. The longest names, in Han characters, need 160 MB more. */
  maxBuffersMb: 384,
  /** The number of certificates that a thread draws before a new thread replaces it. */
  uses: 250,
  /**
   * The limits of the queue: how many certificates of a club and of a person may wait, and how long. A whole class may print its
   * certificates at the same time, and each certificate takes 15 to 50 ms.
   */
  line: { ofAClub: 100, ofAPerson: 2, patienceMs: 10_000 },
} as const;

const threads = createThreads(moduleAt('./pdf-thread.ts', import.meta.url), pdfThreadRules, {
  uses: pdfThreadRules.uses,
});
const permits = createClubPermits(pdfThreadRules.threads, { line: pdfThreadRules.line });

/**
 * @param holder the club, and the person who asks, who may use only a part of the club's share
 * @returns the bytes of a PDF
 * @throws DomainError busy, if the club or the person has too much work of this kind; Error, if the thread exceeds its limits
 */
export async function drawCertificate(holder: PermitHolder, certificate: Printed): Promise<Buffer> {
  const { code, studentName, courseTitle, clubName, language, timeZone, lessonCount } = certificate;
  const { hours, version, issuedAt, completedAt, verifyUrl, accentColor, logo } = certificate;
  const names = { code, studentName, courseTitle, clubName, language, timeZone };
  const data = {
    ...names,
    lessonCount,
    hours,
    version,
    issuedAt,
    completedAt,
    verifyUrl,
    accentColor,
    logo,
  } satisfies Printed;
  const { signal } = new AbortController();
  const drawn = await permits.run(holder, () => threads.run<{ bytes: Uint8Array }>({ data, signal }));
  if (typeof drawn === 'string') throw new Error(`The certificate could not be drawn: ${drawn}.`);
  return Buffer.from(drawn.bytes);
}
