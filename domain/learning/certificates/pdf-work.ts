/**
 * Draws certificates in threads, of which each club has its share (ENG-20). The first one of a process takes 300 ms, because fonts are
 * read and code is compiled: in the thread of the API every other request would wait for it.
 */
import { moduleAt } from '../../../platform/core/modules.ts';
import { createClubPermits, type PermitHolder } from '../../../platform/engine/club-permits.ts';
import { createThreads } from '../../../platform/infra/bounded-thread.ts';
import type { Printed } from './pdf.ts';

const pdfThreadRules = {
  /** At a time, of all clubs. */
  threads: 3,
  /** CPU of one certificate: several times what one with the longest names needs on a slow machine. */
  workMs: 5_000,
  maxHeapMb: 256,
  /** 100 MB are address space of WebAssembly that nothing fills. The longest names, of Han characters alone, need 160 MB more. */
  maxBuffersMb: 384,
  /** Certificates that a thread draws before another one takes its place. */
  uses: 250,
  /** A whole class may print its certificates at the same time: each takes 15 to 50 ms. */
  line: { ofAClub: 100, ofAPerson: 2, patienceMs: 10_000 },
} as const;

const threads = createThreads(moduleAt('./pdf-thread.ts', import.meta.url), pdfThreadRules, {
  uses: pdfThreadRules.uses,
});
const permits = createClubPermits(pdfThreadRules.threads, { line: pdfThreadRules.line });

/**
 * @param holder the club, and a person who may have no more than their share of its work
 * @returns the bytes of a PDF
 * @throws DomainError busy if the club, or the person, has too much of such work; Error beyond what a thread may use
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
  if (typeof drawn === 'string') throw new Error(`A certificate was not drawn: ${drawn}.`);
  return Buffer.from(drawn.bytes);
}
