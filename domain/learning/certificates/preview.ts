/** A sample certificate. It shows the look of a club's certificates in a language before a certificate is issued (DEC-187). */
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { findPrintedLook } from '../../branding/printed-look.ts';
import { requireOffered } from '../../language/chosen.ts';
import { wordingIn } from '../../language/wording.ts';
import { logoSize, readLook } from './logo.ts';
import { drawCertificate } from './pdf-work.ts';

interface PreviewDeps {
  db: Queries;
  storage: Pick<ObjectStore, 'stream'>;
  /** The address of the API, without a slash at the end. */
  publicUrl: string;
}

/** No real code has zeros, so the verification page says that this certificate does not exist. */
const code = '0'.repeat(12);
const day = new Date('2026-03-02T12:00:00Z');

/**
 * Draws a certificate with the club's name, time zone and look, and an example student and course from the catalogue. Stores nothing.
 * @param tag BCP 47
 * @param personId the administrator or the program. Each may have two waiting previews, so that other certificates can still be printed
 * @returns the bytes of the PDF, and its language
 * @throws DomainError invalid_request (the language is not offered), not_found (no such club), busy
 */
export async function previewCertificate(
  { db, storage, publicUrl }: PreviewDeps,
  { clubId, language: tag }: { clubId: Id; language: string },
  personId: Id,
): Promise<{ bytes: Buffer; language: string }> {
  const language = requireOffered(tag);
  const club = await db.one<{ clubName: string; timeZone: string }>(
    sql`SELECT name AS "clubName", time_zone AS "timeZone" FROM clubs WHERE id = ${clubId}`,
  );
  if (!club) throw notFound('club');
  const look = await readLook(storage, clubId, await findPrintedLook(db, clubId, logoSize));
  const { say } = wordingIn(language);
  const bytes = await drawCertificate(
    { clubId, personId },
    {
      ...club,
      ...look,
      language,
      code,
      studentName: say('certificate.sample.student'),
      courseTitle: say('certificate.sample.course'),
      lessonCount: 12,
      hours: 9,
      version: 1,
      issuedAt: day,
      completedAt: day,
      verifyUrl: `${publicUrl}/certificates/${code}`,
    },
  );
  return { bytes, language };
}
